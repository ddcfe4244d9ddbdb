/* The steps of time zones that the catalog keeps, so that an update of the system's zone data changes no row
 * keys (rule/zone_pins.h). The row of facts has a cell zone/KEY for each zone of a calendar. The first
 * gateway that serves the zone writes the cell from its system's data. While a key rule in the facts uses the
 * zone, all gateways use the steps of the cell. */
#pragma once

#include "catalog/image.h"
#include "rule/zone.h"

/* The zones of the policy's calendars, each key once. In the arena. */
size_t kw_catalog_zones_of(const kw_policy *policy, kw_arena *arena, const kw_zone *const **ret_zones);

/* Pins the zones of the image that key rules in the facts use. UNAVAILABLE if the policy was compiled with
 * other steps than those pinned now: compile it again. */
bool kw_catalog_check_zones(const kw_catalog_image *image, const kw_policy *policy, kw_error *ret_error);

/* Lists the zones that the image lacks or has with other steps; these must be put. In the arena. */
size_t kw_catalog_new_zones(const kw_catalog_image *image, const kw_policy *policy, kw_arena *arena,
                            kw_zone_text **ret_zones);

/* True if the policy was compiled with other steps than those pinned now. */
bool kw_catalog_has_old_zones(const kw_policy *policy);
