/* Private to the comparison: paths whose key rule is being changed (changes.h). */
#pragma once

#include "catalog/compare.h"

/* What a step does with the placements of a path. The steps of a change of atomics (kw_change_record.atomics)
 * leave them as they are. */
typedef enum kw_path_step {
    KW_PATH_STEP_NONE,
    KW_PATH_STEP_BEGIN, /* the path gets a second placement, is added, or begins to be dropped */
    KW_PATH_STEP_NEXT,  /* the next place: states of placements change */
    KW_PATH_STEP_END /* the path keeps one placement, or none if it was dropped or its addition cancelled */
} kw_path_step;

/* step: can be NULL. recorded->table and wanted->table differ if the table was renamed. */
kw_path_step kw_change_step_of_path(const kw_change_step *step, const kw_facts *recorded,
                                    const kw_facts *wanted, const char *path);

/* kw_placement_facts.retired_by, at the end of a change of the path. */
int64_t kw_change_retires_as(const kw_change_step *step, const kw_facts *recorded, const char *path);

/* Checks a step (not NONE) of a path that the policy has. old: NULL if the catalog does not have it. REFUSED
 * if `path` does not have the placements that the step requires, if the placement to fill is not empty,
 * or if the ladder for several writers (change/ladder.h) has no such step. */
bool kw_change_check_step(kw_path_step kind, const kw_change_step *step, const kw_facts *recorded,
                          const kw_path_facts *old, const kw_facts *wanted, const kw_path_facts *path,
                          const kw_evidence *evidence, kw_error *ret_error);

/* At the end of a drop, or of an addition that was cancelled: REFUSED if a change with several writers cannot
 * end at its present place. */
bool kw_change_check_cancelled(const kw_change_step *step, const kw_facts *recorded, const kw_facts *wanted,
                               const kw_path_facts *old, kw_error *ret_error);

/* For a path without a step. path: NULL if the policy does not have it. REFUSED or UNAVAILABLE if a change is
 * under way and the policy was not loaded at its present place, or if the policy was loaded with a change
 * that is not under way. */
bool kw_change_check_same(const kw_facts *wanted, const kw_path_facts *old, const kw_path_facts *path,
                          kw_error *ret_error);

/* While a path is added in a store with several writers, the policy already has the order of writes that
 * applies after the addition. The rows still have the earlier order, and the catalog keeps the earlier order
 * until the path has all records. Whether atomic operations are allowed stays the same: calls of the place
 * before rely on the control cells of all writes. The same applies while a path is dropped. False: no path is
 * added or dropped. recorded can be NULL. */
bool kw_change_merge_order(const kw_facts *recorded, const kw_facts *wanted, kw_facts *merged);

/* While a change allows or forbids atomic operations (kw_change_record.atomics), and at its beginning and
 * end: sets the order, and whether atomic operations are allowed. *ret_changing: false: no such change is
 * under way. REFUSED or UNAVAILABLE if the policy is not that of the change, or says the opposite of it.
 * recorded and step can be NULL. */
bool kw_change_merge_atomics(const kw_change_step *step, const kw_facts *recorded, const kw_facts *wanted,
                             kw_facts *merged, bool *ret_changing, kw_error *ret_error);

/* REFUSED if a change of the recorded table, which gets another name, is under way. */
bool kw_change_check_rename(const kw_facts *recorded, const kw_facts *wanted, kw_error *ret_error);

/* At the end of a change: true if the rows of the placement that is kept (as recorded) were compared. */
bool kw_change_is_verified(const kw_change_step *step, const kw_facts *recorded, const char *path,
                           const kw_placement_facts *kept);
