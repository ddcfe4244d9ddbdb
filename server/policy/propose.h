/* Decides which changes of key rules, paths and atomics a new policy begins or cancels.
 * Pure. */
#pragma once

#include "catalog/catalog.h"
#include "change/set.h"

typedef struct kw_change_proposal {
    const kw_policy *old;         /* the current version */
    const kw_policy *fresh;       /* the new one, compiled with `changes` */
    const kw_change_set *changes; /* what the catalog has */
    const kw_admission *preview;  /* of `fresh` */
    const char *author;
    const char *reason;
    kw_change_writers writers; /* of the store */
    const char *holder;        /* the registration of this gateway */
    bool only_writer;          /* the operator states that only gateways write the store tables */
    bool late_given;           /* the operator has set store.late */
} kw_change_proposal;

/* Begins or cancels changes of tables that the preview refuses. It refuses a table if the key rule of one
 * path differs from that in the catalog, or if the table has rows and the policy adds a path, or allows or
 * forbids atomic operations. Begins a change of such a table, or cancels the one that is under way if the
 * path has its old key rule again. Returns the records that the catalog would have then, which the caller
 * owns; NULL: no change begins or is cancelled.
 *
 * In a store with several writers, also begins changes of tables that are not refused, for example because
 * the policy drops a path, if other gateways rule the policy out (kw_admission_conflict). A change of a key
 * rule or an addition of paths begins only with both statements of the operator (only_writer, late_given); a
 * change that allows or forbids atomic operations needs only late_given, and a drop needs neither. The
 * command `cancel` cancels a change; a policy does not. */
kw_change_set *kw_change_propose(const kw_change_proposal *proposal);

/* Explains the refusals of tables for which no change begins. Reasons are, for example: the key rules of
 * several paths differ, several tables change, a statement of the operator is missing, or the change must be
 * cancelled first. The preview is that of the proposal. */
void kw_change_explain(const kw_change_proposal *proposal, kw_admission *preview);
