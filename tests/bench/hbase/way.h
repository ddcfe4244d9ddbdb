/* The ways to the same rows that are held against each other. All write rows of three 100-byte cells under
 * one byte of bucket (16 of them) and an id, in tables of 16 regions each. */
#pragma once

#include "link.h"

#define BENCH_BUCKETS 16
#define BENCH_FAMILY "d"

typedef struct way {
    const char *name;
    /* The table must be there. */
    void (*prepare)(const place *where);
    void (*put)(link_to *link, uint64_t number);
    void (*get)(link_to *link, uint64_t number);
    void (*put_many)(link_to *link, uint64_t first, size_t count);
    /* Threads of a whole scan, and what each reads: rows. */
    unsigned scanners;
    uint64_t (*scan)(link_to *link, unsigned scanner);
} way;

extern const way way_direct;  /* Thrift2 itself */
extern const way way_gateway; /* keywayd in front of it */

/* "n%09" of the number, 10 bytes and NUL. */
void bench_id(uint64_t number, char to[16]);
extern const char bench_value[100];
