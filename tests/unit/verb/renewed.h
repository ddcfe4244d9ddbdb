/* A play over any store: what an association tells of records that end by a ttl. Keys that records have by
 * themselves may end there; those that are only known there are renewed before a record would outlive them.
 */
#pragma once

#include "store/store.h"

/* Takes the store over. name: of the store tables that it makes there. */
void renewed_play(kw_store *store, const char *name);

/* The same while days pass, which move_clock makes; for stores that tell the time by base/clock.h. */
void renewed_days_play(kw_store *store, const char *name, void (*move_clock)(int64_t by_ms));
