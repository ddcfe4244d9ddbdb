/* Values of any table, for property tests: creates random values, and compares two values. Uses only the
 * tables, so it covers everything in the IDL. */
#pragma once

#include "wire/table.h"

typedef struct test_random {
    uint64_t state;
} test_random;

uint32_t test_random_below(test_random *random, uint32_t bound);

/* Fills *ret_value. Nesting ends at `depth`; required structs are always present. */
void test_value_fill(const kw_wire_struct *table, test_random *random, unsigned depth, kw_arena *arena,
                     void *ret_value);

/* True if the values are equal. A member absent on one side must be absent on the other. Doubles are compared
 * by their bits. A text of `a` that is not valid UTF-8 equals every text, because it is encoded as another
 * one. */
bool test_value_equal(const kw_wire_struct *table, const void *a, const void *b);
