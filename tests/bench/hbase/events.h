/* Tables of events (policy.yaml.in): a bucket byte, the time in descending order, the id. Runs queries in two
 * ways: through the gateway as one query; and directly on Thrift2, as a client with one connection does that
 * knows the key rule: it reads bucket after bucket and merges the rows. One caller each. */
#pragma once

#include "bench.h"

typedef struct events {
    const bench *all;
    const char *table;       /* for keywayd */
    const char *store_table; /* the same table, for Thrift2 */
    unsigned buckets;
    uint64_t count;   /* loaded events: numbers 0 .. count - 1, each a millisecond later */
    kw_arena *arena;  /* of the sample */
    kw_bytes *sample; /* row keys of random events */
    size_t sample_count;
} events;

/* Loads events until there are `count`. */
void events_load(events *of, uint64_t count);
/* Row keys for events_get, read from the table. */
void events_sample(events *of);
void events_forget_sample(events *of);

/* Side 0: direct, 1: gateway. Runs for `ms`. Ends the program if a result differs from the loaded events. */
asked events_latest(const events *of, int side, int ms); /* the 20 newest */
asked events_get(const events *of, int side, int ms);    /* one of the sample */
