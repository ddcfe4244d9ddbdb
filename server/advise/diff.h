/* Compares two policies: rules and fingerprints, what happens if a table has rows, the share of keys that
 * move, and queries whose ranges change. Returns text for people; neither reads nor writes the store.
 *
 * Pure except for the arena. Takes about 100 ms, so do not call it on a loop.
 */
#pragma once

#include "base/effort.h"
#include "schema/policy.h"

/* Records of one table of the old policy, to use instead of random ones. */
typedef struct kw_diff_sample {
    const kw_table *table; /* NULL: none */
    const kw_record *records;
    size_t count;
    kw_effort *effort; /* limits the work; NULL: no limit. The text is incomplete if the effort is used up */
} kw_diff_sample;

/* In the arena. Begins with "no difference" if the policies do not differ. */
const char *kw_policy_diff(const kw_policy *old, const kw_policy *fresh, const kw_diff_sample *sample,
                           kw_arena *arena);
