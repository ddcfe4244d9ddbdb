/* A random table with random records, as a store would keep them, and random questions: for properties of
 * plans. */
#pragma once

#include "plan/plan.h"
#include "rule/component.h"
#include "rule/random_rules.h"

#define WORLD_RECORDS 70

/* A store table as the test keeps it. */
typedef struct kw_test_directory {
    kw_bytes keys[WORLD_RECORDS];
    size_t records[WORLD_RECORDS];
    size_t count;
} kw_test_directory;

typedef struct kw_test_world {
    random_table made;
    kw_policy *policy;
    const kw_table *table;
    kw_arena *arena;
    kw_record records[WORLD_RECORDS];
    size_t count;
    kw_test_directory shelves[2]; /* per path */
} kw_test_world;

/* False when the rules are refused. Clear it in any case. */
bool world_make(kw_test_world *world);
/* The same of a table that is given, which is taken over. */
bool world_make_of(kw_test_world *world, random_table *made);
void world_clear(kw_test_world *world);

/* What is being tried: printed when a check fails. */
extern const char *world_trying;
void world_report_crashes(void);

/* Mostly a value that some record has. */
kw_value world_likely_value(const kw_test_world *world, size_t field);

void world_question(const kw_test_world *world, kw_question *ret_question);

/* By brute force: does the record meet the question? */
bool world_meets(const kw_question *question, const kw_record *record);

/* A time in the unit of the component. */
kw_value world_in_unit(kw_value value, const kw_component *component);

typedef struct kw_test_row {
    kw_bytes key;
    kw_bytes rest; /* without the range's skip */
    size_t range;
    size_t record;
} kw_test_row;

/* The rows of a plan in their order; `capacity` of them at most. */
size_t world_read_plan(const kw_test_world *world, const kw_plan *plan, kw_test_row *rows, size_t capacity);

/* Rows that meet no question: left out by patterns, or not. */
extern size_t world_sifted, world_unsifted;
