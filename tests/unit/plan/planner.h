/* Queries from text, for tests of the planner. */
#pragma once

#include "plan/plan.h"

/* A query of the only table of a policy. */
typedef struct kw_test_planner {
    kw_policy *policy;
    const kw_table *table;
    kw_arena *arena;
    kw_record_query query;
    kw_bound *bounds;
} kw_test_planner;

/* table_yaml: as for test_policy; rules with hazards are accepted. */
kw_test_planner *planner_new(const char *table_yaml);
void planner_free(kw_test_planner *planner);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(kw_test_planner, planner_free)

/* Resets the query: no bounds, no range, no full scan; the planner selects the path, and rows are in the
 * order of the path. */
void planner_reset(kw_test_planner *planner);

/* Adds to the query. Example: "id=a kind=x,y n>=5 n<9 order=desc path=primary full limit=3". Values of int
 * and timestamp fields are numbers, others are text. */
void planner_set_query(kw_test_planner *planner, const char *words);

/* The plan of the query as text, in the form that planner.c describes, or "CODE: message". */
const char *planner_plan_text(kw_test_planner *planner, const char *words);
