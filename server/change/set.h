/* The records of changes that the catalog has (change/record.h), with the models that
 * have the old key rules. Immutable, reference counted, main thread only. */
#pragma once

#include "change/record.h"
#include "schema/policy.h"

typedef struct kw_change_set {
    unsigned references;
    kw_arena *arena;
    const kw_change_record *records;
    size_t count;
    kw_model **old_models; /* parallel; NULL: no change is under way, or the model was not loaded yet */
} kw_change_set;

/* Copies the records. Takes over the models of `before` (NULL: none) for records with the same old version.
 */
kw_change_set *kw_change_set_new(const kw_change_record *records, size_t count, const kw_change_set *before);
/* A copy of `theirs` in which each record is merged with those of the same path in `base` and `mine`, which
 * can be NULL; see merge.h. */
kw_change_set *kw_change_set_merge(const kw_change_set *base, const kw_change_set *mine,
                                   const kw_change_set *theirs);
/* The present set after a step that turned `before` into `after`: it has the records that the step has
 * changed or added, and `present` (NULL: no records) keeps its own records of all other changes. They can
 * have other progress than in `before`. The caller owns the new set. */
kw_change_set *kw_change_set_with_step(const kw_change_set *present, const kw_change_set *before,
                                       const kw_change_set *after);
/* A copy of the set in which this record replaces the one with the same table and path. If the change has
 * ended, and the policy's text names the placement that the path now has, no record is needed and the copy
 * has none. The caller owns the new set. */
kw_change_set *kw_change_set_replace(const kw_change_set *set, const kw_change_record *record);
kw_change_set *kw_change_set_ref(kw_change_set *set);
void kw_change_set_unref(kw_change_set *set); /* NULL is ignored */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(kw_change_set, kw_change_set_unref)

/* Index of the first record whose model is missing; set->count: none. */
size_t kw_change_set_find_missing(const kw_change_set *set);
/* References the model. Only allowed before others use the set. */
void kw_change_set_add_model(kw_change_set *set, size_t index, kw_model *old_model);

/* As kw_changes_differ. */
bool kw_change_set_differs(const kw_change_set *a, const kw_change_set *b);
/* True if the set has this change, under way and with the same `step`. */
bool kw_change_set_has_step(const kw_change_set *set, const kw_change_record *record);
/* True if a change with several writers is under way. */
bool kw_change_set_has_several_writers(const kw_change_set *set);
/* True if the next place of a change with several writers probably follows soon: the change has another
 * place or goal than in `before` (NULL: no changes), and does not wait for `switch`. */
bool kw_change_set_expects_step(const kw_change_set *set, const kw_change_set *before);
/* True if all changes with several writers that are under way wait for `switch`. */
bool kw_change_set_waits_for_switch(const kw_change_set *set);

/* Index of the record with the change of the table that is under way; set->count: none. */
size_t kw_change_set_find_under_way(const kw_change_set *set, const char *table);

/* Changes the record to that of a cancelled change: the path has only its old placement. A path that was
 * being added or dropped has none. */
void kw_change_cancel_record(kw_change_record *record);

/* Compiles the model with the placements of all records. Every model must be there. */
kw_policy *kw_change_set_compile(const kw_change_set *set, kw_model *model, kw_diagnostics *diagnostics);
