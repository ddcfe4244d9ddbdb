#include "schema/progress.h"

#include "schema/policy_internal.h"

#include <string.h>

/* The text that callers get is in the policy's arena, which only the main thread uses after the policy was
 * compiled. A text that is replaced stays there, because calls can be reading it. */
void
kw_policy_set_served(kw_policy *policy, size_t table, const kw_error *why_not)
{
    g_assert(table < policy->tables_count && (!why_not || why_not->code != KW_OK));
    kw_table_progress *changed = policy->tables[table].progress;
    const kw_error *old = atomic_load_explicit(&changed->why_not_served, memory_order_relaxed);
    kw_error *kept = NULL;
    if (old && why_not && strcmp(old->text, why_not->text) == 0 &&
        old->retry_after_ms == why_not->retry_after_ms)
        return;
    if (why_not) {
        kept = KW_ARENA_NEW(policy->arena, kw_error);
        *kept = *why_not;
    }
    atomic_fetch_add(&policy->unserved, (why_not != NULL) - (old != NULL));
    atomic_store_explicit(&changed->why_not_served, kept, memory_order_release);
}

const kw_error *
kw_table_why_not_served(const kw_table *table)
{
    return atomic_load_explicit(&table->progress->why_not_served, memory_order_acquire);
}

size_t
kw_policy_count_unserved(const kw_policy *policy)
{
    return (size_t)atomic_load_explicit(&policy->unserved, memory_order_acquire);
}

bool
kw_policy_check_served(const kw_policy *policy, kw_bytes name, kw_error *ret_error)
{
    if (kw_policy_count_unserved(policy) == 0)
        return true;
    const kw_table *table = kw_policy_find_table(policy, name);
    const kw_error *why = table ? kw_table_why_not_served(table) : NULL;
    if (!why)
        return true;
    kw_error_set(ret_error, KW_UNAVAILABLE, "%s", why->text);
    ret_error->retry_after_ms = why->retry_after_ms;
    return false;
}

/* --- paths ---------------------------------------------------------------------------------------------- */

static kw_path_progress *
progress_of(const kw_policy *policy, size_t table, size_t path)
{
    g_assert(table < policy->tables_count && path < policy->tables[table].paths_count);
    return policy->tables[table].paths[path].progress;
}

void
kw_policy_set_path_differences(kw_policy *policy, size_t table, size_t path, const char *differences)
{
    kw_path_progress *changed = progress_of(policy, table, path);
    if (g_strcmp0(changed->differences, differences) != 0)
        changed->differences = differences ? kw_arena_printf(policy->arena, "%s", differences) : NULL;
}

void
kw_policy_set_path_state(kw_policy *policy, size_t table, size_t path, const kw_path_state *state)
{
    kw_path_progress *changed = progress_of(policy, table, path);
    changed->verified = state->verified;
    changed->checked_rows = state->checked_rows;
    changed->checked_at_ms = state->checked_at_ms;
    changed->state = state->name;
}

void
kw_policy_set_path_filled(kw_policy *policy, const char *table, const char *path, unsigned filled)
{
    const kw_table *found = kw_policy_find_table(policy, kw_bytes_of_text(table));
    int index = found ? kw_table_find_path(found, kw_bytes_of_text(path)) : -1;
    if (index >= 0)
        found->paths[index].progress->filled = filled;
}

const char *
kw_path_filled_text(const kw_path *path, kw_arena *arena)
{
    unsigned filled = path->progress->filled;
    return filled < 100 ? kw_arena_printf(arena, "%u %% of its rows are copied", filled)
                        : kw_arena_printf(arena, "all of its rows are copied, and %u %% are compared",
                                          MIN(filled - 100, 100));
}
