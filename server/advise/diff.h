/* What one policy changes against another: rules and fingerprints, which rows must be written anew, which
 * share of the keys moves, and which questions get other ranges. Text for people; nothing is read or written.
 *
 * Pure but for the arena; takes some 100 ms, so call it off the loops.
 */
#pragma once

#include "base/effort.h"
#include "schema/policy.h"

/* Records of one table of the old policy, to be counted instead of random ones. */
typedef struct kw_diff_sample {
    const kw_table *table; /* NULL: none */
    const kw_record *records;
    size_t count;
    kw_effort *effort; /* bounds the work; NULL: no bound. The text is of no use once it is over */
} kw_diff_sample;

/* In the arena. "no difference ..." when there is none. */
const char *kw_policy_diff(const kw_policy *old, const kw_policy *fresh, const kw_diff_sample *sample,
                           kw_arena *arena);
