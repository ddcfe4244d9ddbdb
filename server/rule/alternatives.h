/* Looks for another form of a key rule that fits sample keys which the rule does not fit.
 *
 * The other forms change one or two settings of one component (buckets, algorithm, encoding, width, order,
 * ...), or omit a component that holds no field. Pure, but not quick: compiles up to some thousand rules.
 */
#pragma once

#include "rule/layout.h"

typedef struct kw_key_sample {
    const kw_bytes *keys; /* those that the rule does not fit come first, so that wrong forms fail early */
    size_t count;
    /* True if these can be the fields of a key. */
    bool (*accepts)(void *user, const kw_record *record);
    void *user;
} kw_key_sample;

/* With fewer keys, a wrong form would fit too often by chance. */
#define KW_ALTERNATIVE_KEYS 8

/* The changed settings of the first form that fits all keys, for example "salt: {buckets: 16}"; in the arena.
 * NULL: none of the forms fits, or there are too few keys. `component`: the one to change first
 * (kw_dissected_key.wrong). */
const char *kw_rule_find_alternative(const kw_layout *layout, const kw_key_sample *sample, size_t component,
                                     kw_arena *arena);
