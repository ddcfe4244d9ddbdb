#include "policy/table_states.h"

#include "base/log.h"
#include "base/metrics.h"
#include "schema/progress.h"

#include <glib.h>

/* Most paths with unverified rows that /readyz lists, and most store tables that differ. */
#define UNVERIFIED_MOST 100
#define DIFFERING_MOST 100

/* --- which tables can be left out ---------------------------------------------------------------- */

static bool
is_same(const kw_table *a, const kw_table *b, kw_arena *arena)
{
    return kw_bytes_equal(kw_facts_print(kw_facts_of_table(a, arena), arena),
                          kw_facts_print(kw_facts_of_table(b, arena), arena));
}

/* True if the policy in service has the same table and does not serve it. */
static bool
is_unserved_before(const kw_control *control, const kw_table *table, kw_arena *arena)
{
    const kw_table *before = kw_policy_find_table(control->policy, kw_bytes_of_text(table->name));
    return before && kw_table_why_not_served(before) && is_same(before, table, arena);
}

const bool *
kw_table_states_optional(const kw_control *control, const kw_policy *policy, bool begins, kw_arena *arena)
{
    size_t count = kw_policy_table_count(policy);
    bool *optional = KW_ARENA_ARRAY(arena, bool, count);
    bool all = begins && !kw_policy_model(policy)->strict_start;
    for (size_t i = 0; i < count; i++)
        optional[i] = all || is_unserved_before(control, kw_policy_table(policy, i), arena);
    return optional;
}

/* --- the states ---------------------------------------------------------------------------------- */

static void
set_served(kw_policy *policy, const kw_admission *admission, const kw_table *table)
{
    size_t number = table->number;
    kw_policy_set_order(policy, number, kw_admission_order(admission, number),
                        kw_admission_atomics(admission, number));
    for (size_t i = 0; i < table->paths_count; i++) {
        const kw_placement_facts *placement = kw_admission_placement(admission, number, i);
        kw_path_state state = {.name = kw_placement_state_name(placement->state),
                               .verified = placement->verified,
                               .checked_rows = placement->checked_rows,
                               .checked_at_ms = placement->checked_at_ms};
        kw_policy_set_path_state(policy, number, i, &state);
    }
    kw_policy_set_served(policy, number, NULL);
}

void
kw_table_states_set(kw_policy *policy, const kw_admission *admission)
{
    for (size_t i = 0; i < kw_policy_table_count(policy); i++) {
        const kw_error *refusal = kw_admission_refusal(admission, i);
        if (!refusal) {
            set_served(policy, admission, kw_policy_table(policy, i));
            continue;
        }
        kw_error why = *refusal;
        kw_error_prefix(&why, "not served");
        why.retry_after_ms = why.retry_after_ms ? why.retry_after_ms : KW_TABLES_RETRY_MS;
        kw_policy_set_served(policy, i, &why);
    }
}

/* --- what people see ----------------------------------------------------------------------------- */

typedef struct unserved {
    char *table;
    char *why;
    bool checking; /* its rows are being checked */
} unserved;

static void
unserved_free(gpointer pointer)
{
    unserved *self = pointer;
    g_free(self->table);
    g_free(self->why);
    g_free(self);
}

static GPtrArray *
list_unserved(const kw_policy *policy)
{
    GPtrArray *list = g_ptr_array_new_with_free_func(unserved_free);
    for (size_t i = 0; i < kw_policy_table_count(policy); i++) {
        const kw_table *table = kw_policy_table(policy, i);
        const kw_error *why = kw_table_why_not_served(table);
        if (!why)
            continue;
        unserved *each = g_new(unserved, 1);
        *each = (unserved){g_strdup(table->name), g_strdup(why->text), why->code == KW_BUSY};
        g_ptr_array_add(list, each);
    }
    return list;
}

static const unserved *
find(const GPtrArray *list, const char *table)
{
    for (guint i = 0; list && i < list->len; i++) {
        const unserved *each = list->pdata[i];
        if (g_str_equal(each->table, table))
            return each;
    }
    return NULL;
}

static void
log_changes(const kw_policy *policy, const GPtrArray *old, const GPtrArray *fresh)
{
    for (guint i = 0; i < fresh->len; i++) {
        const unserved *each = fresh->pdata[i], *before = find(old, each->table);
        if (!before || !g_str_equal(before->why, each->why))
            kw_log(each->checking ? KW_LOG_INFO : KW_LOG_ERROR, "gateway",
                   each->checking ? "a table is not served yet" : "a table is not served; the others are",
                   KW_LOG_FACT("table", (const char *)each->table),
                   KW_LOG_FACT("reason", (const char *)each->why));
    }
    for (guint i = 0; old && i < old->len; i++) {
        const unserved *each = old->pdata[i];
        if (!find(fresh, each->table) && kw_policy_find_table(policy, kw_bytes_of_text(each->table)))
            kw_log(KW_LOG_INFO, "gateway", "a table is served now",
                   KW_LOG_FACT("table", (const char *)each->table));
    }
}

/* "2026-11-28" */
static char *
day_of(int64_t wall_ms)
{
    g_autoptr(GDateTime) at = g_date_time_new_from_unix_utc(wall_ms / 1000);
    return at ? g_date_time_format(at, "%Y-%m-%d") : g_strdup("an unknown day");
}

static char *
unverified_text(const kw_path *path)
{
    const char *table = path->table->name;
    g_autofree char *day = day_of(path->progress->checked_at_ms);
    if (path->progress->checked_rows == 0)
        return g_strdup_printf(
            "table %s, path %s: has rows that are older than its entry in the catalog, and "
            "none of them was checked",
            table, path->name);
    return g_strdup_printf("table %s, path %s: has rows that are older than its entry in the catalog; "
                           "%" G_GINT64_FORMAT " of them were checked on %s, not all",
                           table, path->name, (int64_t)path->progress->checked_rows, day);
}

static bool
is_unverified(const kw_path *path)
{
    return !kw_table_why_not_served(path->table) && g_strcmp0(path->progress->state, "complete") == 0 &&
           !path->progress->verified;
}

static GPtrArray *
list_unverified(const kw_policy *policy, int64_t *ret_count)
{
    GPtrArray *list = g_ptr_array_new_with_free_func(g_free);
    *ret_count = 0;
    for (size_t i = 0; i < kw_policy_table_count(policy); i++) {
        const kw_table *table = kw_policy_table(policy, i);
        for (size_t path = 0; path < table->queried_paths_count; path++)
            if (is_unverified(&table->paths[path]) && ++*ret_count <= UNVERIFIED_MOST)
                g_ptr_array_add(list, unverified_text(&table->paths[path]));
    }
    if (*ret_count > UNVERIFIED_MOST)
        g_ptr_array_add(list,
                        g_strdup_printf("%" G_GINT64_FORMAT " more paths have rows that were not verified",
                                        *ret_count - UNVERIFIED_MOST));
    return list;
}

static GPtrArray *
list_differing(const kw_policy *policy)
{
    GPtrArray *list = g_ptr_array_new_with_free_func(g_free);
    size_t count = 0;
    for (size_t i = 0; i < kw_policy_table_count(policy); i++) {
        const kw_table *table = kw_policy_table(policy, i);
        for (size_t path = 0; path < table->paths_count; path++) {
            const char *text = table->paths[path].progress->differences;
            if (text && ++count <= DIFFERING_MOST)
                g_ptr_array_add(list, g_strdup(text));
        }
    }
    if (count > DIFFERING_MOST)
        g_ptr_array_add(
            list, g_strdup_printf("%zu more store tables differ from the policy", count - DIFFERING_MOST));
    return list;
}

static void
log_differing(const GPtrArray *old, const GPtrArray *fresh)
{
    for (guint i = 0; i < fresh->len; i++)
        if (!old || !g_ptr_array_find_with_equal_func((GPtrArray *)(uintptr_t)old, fresh->pdata[i],
                                                      g_str_equal, NULL))
            kw_log(KW_LOG_WARN, "gateway", "a store table differs from the policy",
                   KW_LOG_FACT("problem", (const char *)fresh->pdata[i]));
}

/* True if the gateway does not serve any table yet, because the rows of all that it can serve are being
 * checked. */
static bool
is_checking_all(const kw_policy *policy, const GPtrArray *list)
{
    bool checking = false;
    for (guint i = 0; i < list->len; i++)
        checking = checking || ((const unserved *)list->pdata[i])->checking;
    return checking && list->len == kw_policy_table_count(policy);
}

void
kw_table_states_publish(kw_control *control)
{
    int64_t unverified;
    GPtrArray *fresh = list_unserved(control->policy);
    g_autoptr(GPtrArray) texts = list_unverified(control->policy, &unverified);
    GPtrArray *differing = list_differing(control->policy);
    kw_mutex_lock(&control->lock);
    GPtrArray *old = control->unserved;
    control->unserved = fresh;
    control->checking_all = is_checking_all(control->policy, fresh);
    g_clear_pointer(&control->unverified, g_ptr_array_unref);
    control->unverified = g_steal_pointer(&texts);
    g_autoptr(GPtrArray) differed = control->differing;
    control->differing = differing;
    kw_mutex_unlock(&control->lock);
    kw_metrics_add(KW_METRIC_paths_unverified, unverified - kw_metrics_read(KW_METRIC_paths_unverified));
    log_changes(control->policy, old, fresh);
    log_differing(differed, differing);
    kw_metrics_add(KW_METRIC_tables_unserved, (int64_t)fresh->len - (old ? (int64_t)old->len : 0));
    if (old)
        g_ptr_array_unref(old);
}

void
kw_table_states_list(kw_control *control, void (*add)(void *list, const char *text), void *list)
{
    kw_mutex_lock(&control->lock);
    for (guint i = 0; control->unserved && i < control->unserved->len; i++)
        add(list, ((const unserved *)control->unserved->pdata[i])->why);
    kw_mutex_unlock(&control->lock);
}

void
kw_table_states_list_warnings(kw_control *control, void (*add)(void *list, const char *text), void *list)
{
    kw_mutex_lock(&control->lock);
    for (guint i = 0; control->unverified && i < control->unverified->len; i++)
        add(list, control->unverified->pdata[i]);
    for (guint i = 0; control->differing && i < control->differing->len; i++)
        add(list, control->differing->pdata[i]);
    kw_mutex_unlock(&control->lock);
}
