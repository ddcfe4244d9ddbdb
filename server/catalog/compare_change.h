/* Private to the comparison: paths whose key rule is being changed (changes.h). */
#pragma once

#include "catalog/compare.h"

/* What a step does with the placements of a path. */
typedef enum kw_path_step {
    KW_PATH_STEP_NONE,
    KW_PATH_STEP_BEGIN, /* the path gets a second placement */
    KW_PATH_STEP_NEXT,  /* the next version: states of placements change */
    KW_PATH_STEP_END    /* the path keeps one of two placements */
} kw_path_step;

/* step: can be NULL. The two names differ if the table was renamed. */
kw_path_step kw_change_step_of_path(const kw_change_step *step, const kw_facts *recorded,
                                    const kw_facts *wanted, const char *path);

/* Checks a step (not NONE) of a path with live placements. REFUSED if `path` does not have the placements
 * that it has after the step, if the placement to fill is not empty, or if the chain of several writers has
 * no such step. */
bool kw_change_check_step(kw_path_step kind, const kw_change_step *step, const kw_facts *recorded,
                          const kw_path_facts *old, const kw_facts *wanted, const kw_path_facts *path,
                          const kw_evidence *evidence, kw_error *ret_error);

/* Checks a path without a step. path: that of the policy; NULL: the policy does not have it. REFUSED or
 * UNAVAILABLE if a change of the path is under way and the policy was not compiled for its version, or if
 * only the policy has a change. */
bool kw_change_check_same(const kw_facts *wanted, const kw_path_facts *old, const kw_path_facts *path,
                          kw_error *ret_error);

/* REFUSED if a change of the recorded table, which gets another name, is under way. */
bool kw_change_check_rename(const kw_facts *recorded, const kw_facts *wanted, kw_error *ret_error);

/* At the end of a change: true if the rows of the placement that is kept (as recorded) were compared. */
bool kw_change_is_verified(const kw_change_step *step, const kw_facts *recorded, const char *path,
                           const kw_placement_facts *kept);
