/* Is there an order of these operations, each at one moment between its begin and end, in which every answer
 * is right? (Wing and Gong, 1993; "just in time", Lowe, 2017.)
 *
 * The search goes along the times of begins and ends and keeps every way in which the operations so far may
 * have taken effect: the fields' values, and which of the operations under way have happened already. When
 * one ends, only the ways in which it has happened go on. An operation of unknown outcome is under way for
 * ever.
 */
#pragma once

#include "histories/operation.h"

typedef enum effect_kind {
    EFFECT_WRITE,   /* fields = values */
    EFFECT_READ,    /* fields have these values */
    EFFECT_MET,     /* field `on` is `expected`; then fields = values */
    EFFECT_NOT_MET, /* field `on` is not `expected` */
    EFFECT_IF,      /* fields = values if field `on` is `expected`; nobody was told */
    EFFECT_ADD      /* fields += values; told: they are results then */
} effect_kind;

/* One step on one object. */
typedef struct effect {
    effect_kind kind;
    uint8_t fields;
    uint8_t on;
    bool told; /* ADD: results are known */
    int64_t expected;
    int64_t values[OPERATION_FIELDS];
    int64_t results[OPERATION_FIELDS];
    uint64_t begin_ns;
    uint64_t end_ns; /* OPERATION_NEVER: unknown */
    const operation *of;
} effect;

typedef enum linear_verdict { LINEAR_RIGHT, LINEAR_WRONG, LINEAR_TOO_MANY } linear_verdict;

/* All fields are absent at first. ret_at (NULL: not wanted): WRONG: the operation whose answer no order
 * gives. */
linear_verdict linear_judge(const effect *effects, size_t count, const operation **ret_at);
