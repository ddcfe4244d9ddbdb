/* Questions from text, for tests of the planner. */
#pragma once

#include "plan/plan.h"

/* A question about the one table of a policy. */
typedef struct kw_test_asking {
    kw_policy *policy;
    const kw_table *table;
    kw_arena *arena;
    kw_question question;
    kw_bound *bounds;
} kw_test_asking;

/* table_yaml: as test_policy takes it; rules with hazards are planned, too. */
kw_test_asking *asking_new(const char *table_yaml);
void asking_free(kw_test_asking *asking);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(kw_test_asking, asking_free)

/* Unbinds everything: path chosen by the planner, path's order, no range, no full scan. */
void asking_reset(kw_test_asking *asking);

/* "id=a kind=x,y n>=5 n<9 order=desc path=primary full limit=3": numbers for int and timestamp fields,
 * text for others. */
void asking_set(kw_test_asking *asking, const char *words);

/* The plan as text: "merge 61.. [\x00a,\x00b) ...", see asking.c; or "CODE: message". */
const char *asking_plan(kw_test_asking *asking, const char *words);
