/* The zone data that the row keys in the store were made with.
 *
 *   system's data  --kw_zone_make-->  steps  --catalog-->  kw_zone_pin  -->  kw_zone_make of every gateway
 *
 * A correction of the system's zone data must not change the keys of rows that exist. So the catalog keeps
 * the steps of each zone, and a gateway pins them: kw_zone_make then returns the pinned steps, whatever the
 * system's data say. Pins belong to the process, as the system's data do. Any thread.
 */
#pragma once

#include "base/error.h"
#include "rule/zone.h"

/* Maximum size of the steps of a zone as text. */
#define KW_ZONE_TEXT_MAX ((size_t)16 * 1024)

/* "OFFSET FROM:OFFSET FROM:OFFSET ...", in seconds; FROM is UTC. In the arena. */
const char *kw_zone_print(const kw_zone *zone, kw_arena *arena);

/* From now on, kw_zone_make returns these steps for the key (kw_zone.key). CORRUPT if the text is not what
 * kw_zone_print prints. */
bool kw_zone_pin(const char *key, const char *steps, kw_error *ret_error);

/* True if the steps are those that kw_zone_make returns now. */
bool kw_zone_is_current(const kw_zone *zone);

/* The years in which the system's offsets differ from the zone's, such as "1921, 2027 to 2199", in the arena.
 * NULL if they never differ, or if the system has no such zone. */
const char *kw_zone_difference(const kw_zone *zone, kw_arena *arena);

/* Forgets all pins, for tests. */
void kw_zone_unpin_all(void);
