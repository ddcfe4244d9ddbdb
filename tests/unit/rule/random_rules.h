/* Random tables, rules and records for property tests. The seed is printed; KW_SEED=n repeats a run. */
#pragma once

#include "schema/policy.h"

/* Reads KW_SEED or takes a seed from the system, prints it and makes kw_random_u64 repeatable. */
void random_seed(void);

/* 0 .. below-1. */
unsigned random_below(unsigned below);
bool random_chance(unsigned percent);

#define RANDOM_FIELDS 9

/* What the rules of one random table are like. */
typedef struct random_table {
    char *yaml;                /* for test_policy */
    int digits[RANDOM_FIELDS]; /* per field: values should be so many decimal digits; 0: need not */
    const char *zone;          /* of calendars of t0, whose values are times then; NULL: there are none */
    bool exact;                /* ... and t0 has a component of its own, too */
    bool together;             /* ... and n0 stands in the calendar or the bits */
    char *period; /* n0 is generated, and begins again with these parts of t0 (random_parts), "" never;
                     NULL: it is not generated */
    bool wraps;   /* ... and begins again when its range is used up */
} random_table;

/* Fields: s0 s1 strings, n0 int, t0 timestamp (ms, with a column), e0 string with declared values, b0 bytes,
 * d0 double, f0 bool, h0 string of hex digits.
 * A primary path, and often a second one. The rules may be refused. */
void random_table_make(random_table *ret_table);
void random_table_clear(random_table *table);

/* The parts that a component's grain names, of a moment in milliseconds, as GLib shows them: "2021 10 31 ".
 * With `whole`, all parts down to the finest one. NULL grain: "". */
const char *random_parts(const char *grain, int64_t ms, bool whole, kw_arena *arena);

/* Around the moments at which clocks are changed, and a few others, in milliseconds. */
int64_t random_time(void);

/* A value that the field may take; it need not fit its encoding. */
kw_value random_value(const random_table *table, size_t field, kw_arena *arena);
