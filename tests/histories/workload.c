/* The table of all workloads; see workload.h. */
#include "histories/workload.h"

#include <string.h>

static const workload workloads[] = {
    {"records", "plain", NULL, 4, JUDGE_IN_STEP, {[STEP_PUT] = 4, [STEP_REMOVE] = 2, [STEP_GET] = 5}},
    {"parts",
     "plain",
     NULL,
     3,
     JUDGE_FIELDS,
     {[STEP_PUT] = 2,
      [STEP_PUT_A] = 2,
      [STEP_PUT_B] = 2,
      [STEP_REMOVE] = 2,
      [STEP_REMOVE_A] = 2,
      [STEP_GET] = 4,
      [STEP_GET_A] = 2}},
    {"put_if", "plain", NULL, 3, JUDGE_IN_STEP, {[STEP_PUT_IF] = 5, [STEP_GET] = 4}},
    {"put_if_put", "plain", NULL, 3, JUDGE_IN_STEP, {[STEP_PUT_IF] = 4, [STEP_PUT] = 3, [STEP_GET] = 4}},
    {"put_if_remove",
     "plain",
     NULL,
     3,
     JUDGE_IN_STEP,
     {[STEP_PUT_IF] = 5, [STEP_REMOVE] = 2, [STEP_GET] = 4}},
    {"put_if_all",
     "plain",
     NULL,
     3,
     JUDGE_IN_STEP,
     {[STEP_PUT_IF] = 4, [STEP_PUT] = 2, [STEP_REMOVE] = 2, [STEP_GET] = 4}},
    {"counters", "counted", NULL, 3, JUDGE_FIELDS, {[STEP_ADD] = 4, [STEP_ADD_BOTH] = 2, [STEP_GET] = 3}},
    {"counters_hot", "counted", NULL, 1, JUDGE_FIELDS, {[STEP_ADD] = 8, [STEP_GET] = 1}},
    {"counters_all",
     "counted",
     NULL,
     3,
     JUDGE_FIELDS,
     {[STEP_ADD] = 4,
      [STEP_ADD_BOTH] = 1,
      [STEP_PUT_COUNTER] = 1,
      [STEP_PUT_MIXED] = 1,
      [STEP_PUT_A] = 2,
      [STEP_REMOVE] = 1,
      [STEP_GET] = 4}},
    {"scans",
     "salted",
     NULL,
     40,
     JUDGE_FIELDS,
     {[STEP_PUT] = 8, [STEP_PUT_A] = 2, [STEP_REMOVE] = 4, [STEP_SCAN] = 2, [STEP_SCAN_FILTER] = 1}},
    {"paths",
     "pair",
     "by_part",
     3,
     JUDGE_IN_STEP,
     {[STEP_PUT] = 4, [STEP_REMOVE] = 2, [STEP_GET] = 3, [STEP_GET_PATH] = 3}},
    {"paths_parts",
     "pair",
     "by_part",
     3,
     JUDGE_FIELDS,
     {[STEP_PUT] = 2,
      [STEP_PUT_A] = 2,
      [STEP_PUT_B] = 2,
      [STEP_REMOVE] = 2,
      [STEP_REMOVE_A] = 2,
      [STEP_GET] = 2,
      [STEP_GET_A] = 1,
      [STEP_GET_PATH] = 3}},
    {"stamped", "stamped", NULL, 3, JUDGE_IN_STEP, {[STEP_PUT] = 4, [STEP_REMOVE] = 2, [STEP_GET] = 5}},
    {"numbers", "made", NULL, 1000000, JUDGE_FIELDS, {[STEP_NUMBER] = 1}},
};

const workload *
workload_find(const char *name)
{
    for (size_t i = 0; i < G_N_ELEMENTS(workloads); i++)
        if (strcmp(workloads[i].name, name) == 0)
            return &workloads[i];
    g_error("unknown workload: %s", name);
}
