/* Values of any table, for property tests: random ones, and whether two are equal. Works on the
 * tables alone, so it covers whatever the IDL has. Not for production. */
#pragma once

#include "wire/table.h"

typedef struct test_random {
    uint64_t state;
} test_random;

uint32_t test_random_below(test_random *random, uint32_t bound);

/* Fills *ret_value. Nesting ends at `depth`; required structs are always there. */
void test_value_fill(const kw_wire_struct *table, test_random *random, unsigned depth, kw_arena *arena,
                     void *ret_value);

/* A member without flag set must be absent on both sides. Floats are compared by their bits. */
bool test_value_equal(const kw_wire_struct *table, const void *a, const void *b);
