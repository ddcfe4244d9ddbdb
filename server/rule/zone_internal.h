/* Shared by zone.c, which reads the system's zone data, and zone_pins.c. */
#pragma once

#include "rule/zone.h"

#include <glib.h>

/* No zone has a step before 1800-01-01. Steps are searched up to 2200-01-01. */
#define KW_ZONE_BEGIN (-INT64_C(5364662400))
#define KW_ZONE_END INT64_C(7258118400)

/* Appends the steps that the system's data have for the name. False if there is no such zone. */
bool kw_zone_system_steps(const char *name, GArray *steps);

/* Appends the pinned steps; false if the key is not pinned. */
bool kw_zone_pinned_steps(const char *key, GArray *steps);
