/* Random tables, rules and records for property tests. The seed is printed; KW_SEED=n repeats a run. */
#pragma once

#include "schema/policy.h"

/* Reads KW_SEED or gets a seed from the system, prints it and makes kw_random_u64 repeatable. */
void random_seed(void);

/* 0 .. below-1. */
unsigned random_below(unsigned below);
bool random_chance(unsigned percent);

#define RANDOM_FIELDS 9

/* Properties of the rules of one random table. */
typedef struct random_table {
    char *yaml;                /* for test_policy */
    unsigned first;            /* the field (in the order below) that the table declares first */
    int digits[RANDOM_FIELDS]; /* per field, in that order: values should have this number of decimal digits;
                                  0: any values */
    const char *zone;          /* of calendars of t0, whose values are then times; NULL: no calendars */
    bool exact;                /* ... and t0 also has a component of its own */
    bool together;             /* ... and n0 is part of the calendar or the bits */
    char *period; /* n0 is generated, and restarts with these parts of t0 (random_parts), "" never;
                     NULL: it is not generated */
    bool wraps;   /* ... and restarts when its range is used up */
} random_table;

/* Fields: s0 s1 strings, n0 int, t0 timestamp (ms, with a column), e0 string with declared values, b0 bytes,
 * d0 double, f0 bool, h0 string of hex digits; the table declares them in this order, but begins with any.
 * A primary path, and often a second one. The rules can be invalid. */
void random_table_make(random_table *ret_table);
void random_table_clear(random_table *table);

/* The parts named by a component's grain, of a moment in milliseconds, as GLib prints them: "2021 10 31 ".
 * With `whole`, all parts down to the finest one. NULL grain: "". */
const char *random_parts(const char *grain, int64_t ms, bool whole, kw_arena *arena);

/* A moment near a change of clocks, or one of a few others, in milliseconds. */
int64_t random_time(void);

/* A value that the field (an index in the table) accepts; it need not fit its encoding. */
kw_value random_value(const random_table *table, size_t field, kw_arena *arena);
