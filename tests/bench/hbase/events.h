/* Tables of events (policy.yaml.in): a byte of bucket, the time descending, the id. Queries about them on
 * both ways: through the gateway as one query, straight to Thrift2 as a client asks that knows the key
 * rule and has one connection: bucket after bucket, merged by itself. One caller each. */
#pragma once

#include "bench.h"

typedef struct events {
    const bench *all;
    const char *table;       /* for keywayd */
    const char *store_table; /* the same one for Thrift2 */
    unsigned buckets;
    uint64_t count;   /* loaded: numbers 0 .. count - 1, each a millisecond later */
    kw_arena *arena;  /* of the sample */
    kw_bytes *sample; /* row keys of events from anywhere */
    size_t sample_count;
} events;

/* Loads until there are so many. */
void events_load(events *of, uint64_t count);
/* Row keys for events_get, read from the table. */
void events_sample(events *of);
void events_forget_sample(events *of);

/* Side 0: direct, 1: gateway; for so long. Ends the program when an answer is not what was loaded. */
asked events_latest(const events *of, int side, int ms); /* the 20 newest */
asked events_get(const events *of, int side, int ms);    /* one of the sample */
