/* A derived write of a record with two fields, a and b, for tests. When it has both, a row "A/B" of another
 * table precedes it, as a hint does.
 *
 *   kw_toy toy = {.family = B("d"), .hints = table, .a = "1"};
 *   kw_derivation derivation = kw_toy_derivation(&toy);
 */
#pragma once

#include "store/store.h"

typedef struct kw_toy {
    kw_bytes family;     /* of the fields and of the hints */
    kw_bytes hints;      /* the table */
    const char *a, *b;   /* the values that the write gives; NULL: not given */
    const char *needs_a; /* the condition: a has this value; NULL: none */
    const char *takes;   /* one writer: a row of `hints` that the record has alone; NULL: none */
    bool fails;
    bool ordered;     /* the store has several writers */
    kw_cell cells[2]; /* those of kw_toy_write */
    kw_column columns[2];
    _Atomic unsigned derived; /* how often it was derived */
} kw_toy;

kw_derivation kw_toy_derivation(kw_toy *toy);
/* The write of the given values. */
kw_write kw_toy_write(kw_toy *toy, kw_bytes table, const char *row, const kw_ordering *ordering);
