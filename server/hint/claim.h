/* The steps of a put on a table with a unique path: no two records hold the same tuple X at any moment. Pure.
 *
 * The store table of a unique path has claims in place of hints: one row for each tuple, with two cells: the
 * owner (an identity) and an id of the write that no other write has. It has no TTL.
 *
 *   read --> claim --> write the row --> OK
 *    |         ^
 *    |         '------- fence
 *    |                   ^  the other record does not hold X
 *    '-----> look -------|
 *                        '--> REFUSED  it holds X
 *
 * A step that was not met begins again with the read. kw_hint_claim_next is only for certain answers. If ROW
 * gets another one, the outcome is UNKNOWN; if another step does, it is FAILED, because the row was not sent.
 */
#pragma once

#include "hint/clean.h"

typedef enum kw_hint_claim_step {
    /* Reads the claim, and the record's own kw:w (with atomics: true) and tuple (if the put is partial), in
     * any order. Both before the claim is written. */
    KW_HINT_CLAIM_READ,
    KW_HINT_CLAIM_LOOK,  /* reads the row of the other record that the claim names */
    KW_HINT_CLAIM_FENCE, /* checkAndMutate: its kw:w as seen by LOOK -> a new one. A put of this record in
                            progress then is not met */
    KW_HINT_CLAIM_WRITE, /* checkAndPut: the claim as seen (owner and id, or absent) -> own, with a new id.
                            Also where it was one's own already */
    KW_HINT_CLAIM_ROW, /* at most KW_HINT_WINDOW_MS after the claim was sent; later: from READ again. atomics:
                          true: the compare of a partial put, on the kw:w of READ. Otherwise a plain put */
    KW_HINT_CLAIM_OK,
    KW_HINT_CLAIM_REFUSED, /* another record held X at a moment of the call */
    KW_HINT_CLAIM_BUSY /* atomics: false. The value has moved, but the claim is too young: after the grace,
                          it can be taken over */
} kw_hint_claim_step;

typedef struct kw_hint_claim_facts {
    bool atomics;
    bool met;      /* the step was executed; its condition was met */
    bool is_other; /* READ: the claim names another record */
    /* With atomics: false: the claim was old (kw_hint_is_old) before LOOK. */
    bool is_old;
    bool holds; /* LOOK: the other record holds X */
} kw_hint_claim_facts;

kw_hint_claim_step kw_hint_claim_next(kw_hint_claim_step step, const kw_hint_claim_facts *facts);

/* When a claim can be deleted, by a checkAndDelete on its owner and id: like a hint, but hints.keep does not
 * matter. facts: of the claim, and of the row of its owner. */
bool kw_hint_claim_can_be_cleaned(const kw_hint_facts *facts, const kw_hint_limits *limits);
