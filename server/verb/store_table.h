/* Compares a store table, as the store describes it, with the policy: whether it exists, its column families,
 * and how long and how often these keep cells. Pure. */
#pragma once

#include "schema/policy.h"
#include "store/store.h"

typedef struct kw_store_table_verdict {
    /* KW_OK: the path can be served. REFUSED: the key rule has a circular calendar, and cells of one cycle
     * are still there when the next one reuses their row keys; or hints can expire too early
     * (verb/hint_table.h). */
    kw_error refusal;
    const char *differences; /* all others, in one text that names table, path and store table; NULL: none */
} kw_store_table_verdict;

/* facts: of the placement's store table; `exists` can be false. */
void kw_store_table_judge(const kw_placement *placement, const kw_table_facts *facts, kw_arena *arena,
                          kw_store_table_verdict *ret_verdict);
