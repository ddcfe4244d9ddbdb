/* A random table with random records, stored as a store would store them, and random queries. Used by
 * property tests of plans. */
#pragma once

#include "plan/plan.h"
#include "rule/component.h"
#include "rule/random_rules.h"

#define WORLD_RECORDS 70

/* The rows of one store table, sorted by row key. */
typedef struct kw_test_store_table {
    kw_bytes keys[WORLD_RECORDS];
    size_t records[WORLD_RECORDS];
    size_t count;
} kw_test_store_table;

typedef struct kw_test_world {
    random_table rules;
    kw_policy *policy;
    const kw_table *table;
    kw_arena *arena;
    kw_record records[WORLD_RECORDS];
    size_t count;
    kw_test_store_table store_tables[2]; /* for each path */
} kw_test_world;

/* Returns false if the policy rejects the rules. Call world_clear in both cases. */
bool world_make(kw_test_world *world);
/* The same for the given rules; takes ownership of them. */
bool world_make_from(kw_test_world *world, random_table *rules);
void world_clear(kw_test_world *world);

/* The table and plan of the present check; printed if the check fails. */
extern const char *world_attempt;
void world_report_crashes(void);

/* Usually a value of one of the records, sometimes a random one. */
kw_value world_likely_value(const kw_test_world *world, size_t field);

void world_random_query(const kw_test_world *world, kw_record_query *ret_query);

/* True if the record meets the query; compares every field, without a plan. */
bool world_meets(const kw_record_query *query, const kw_record *record);

/* Converts a time to the unit of the component. */
kw_value world_in_unit(kw_value value, const kw_component *component);

typedef struct kw_test_row {
    kw_bytes key;
    kw_bytes rest; /* without the first `skip` bytes of the range */
    size_t range;
    size_t record;
} kw_test_row;

/* Reads the rows of a plan in the order of the plan; at most `capacity` rows. */
size_t world_read_plan(const kw_test_world *world, const kw_plan *plan, kw_test_row *rows, size_t capacity);

/* Numbers of rows that do not meet their query: those that the key patterns of a plan drop, and the
 * others. */
extern size_t world_filtered, world_unfiltered;
