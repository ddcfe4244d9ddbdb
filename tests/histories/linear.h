/* Checks whether there is an order of these operations, each at one moment between its begin and end, in
 * which every result is right (Wing and Gong, 1993; "just in time": Lowe, 2017).
 *
 * The search follows the times of begins and ends and keeps every way in which the operations so far can have
 * taken effect: the values of the fields, and which of the pending operations have taken effect. When an
 * operation ends, only the ways in which it has taken effect remain. An operation of unknown outcome is
 * pending forever.
 *
 * There can be two views of the same fields. All writes take effect in both of them, in the same order, each
 * between its begin and end. So one view can be ahead of the other one, by writes that are pending:
 *
 *   the order of the writes      w1  w2  w3  w4  w5
 *   view 0 shows                         ^            w4 and w5 are pending
 *   view 1 shows                                 ^
 *
 * The first view decides the operations that compare or add. In the second one, they write their results.
 */
#pragma once

#include "histories/operation.h"

typedef enum effect_kind {
    EFFECT_WRITE,   /* fields = values */
    EFFECT_READ,    /* fields have these values */
    EFFECT_MET,     /* field `on` is `expected`; then fields = values */
    EFFECT_NOT_MET, /* field `on` is not `expected`; always true if that is OPERATION_ANY */
    EFFECT_IF,      /* fields = values if field `on` is `expected`; the caller does not know */
    EFFECT_EXPIRES, /* if the field has this value, it becomes absent */
    EFFECT_ADD,     /* fields += values; if the outcome is known, they are the results */
    EFFECT_MISS,    /* one of the fields is absent; or is bound, and does not have its side of `sides` or, if
                       `exact`, its value */
    EFFECT_REWRITE  /* fields = values, by an operation that compares, and writes the other fields as it has
                       read them */
} effect_kind;

/* The effect of one operation on one object. */
typedef struct effect {
    effect_kind kind;
    uint8_t fields;
    uint8_t on;
    uint8_t bound, sides; /* MISS: bits */
    bool exact;           /* MISS */
    uint8_t view;         /* READ: which view it reads */
    bool known;           /* ADD: results are known */
    /* WRITE: an operation that compares, rewrites or adds can replace it without having seen it, if both were
     * in progress at the same time. Then it has no effect, or reads have seen it until then. */
    bool exempt;
    int64_t expected;
    int64_t values[OPERATION_FIELDS];
    int64_t results[OPERATION_FIELDS];
    int64_t shown[OPERATION_FIELDS]; /* MET, IF, ADD: what they write in the second view */
    uint64_t begin_ns;
    uint64_t end_ns; /* OPERATION_NEVER: unknown */
    const operation *of;
} effect;

typedef enum linear_verdict { LINEAR_RIGHT, LINEAR_WRONG, LINEAR_TOO_MANY } linear_verdict;

#define LINEAR_VIEWS_MOST 2

/* All fields are absent at first. `views` is the number of views. If the result is WRONG, *ret_at (unless
 * ret_at is NULL) is an operation whose result is impossible in every order. */
linear_verdict linear_judge(const effect *effects, size_t count, unsigned views, const operation **ret_at);
