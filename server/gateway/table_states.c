#include "gateway/table_states.h"

#include "base/log.h"
#include "base/metrics.h"

#include <glib.h>

/* --- which tables can be left out ---------------------------------------------------------------- */

const bool *
kw_table_states_optional(const kw_gateway *gateway, const kw_policy *policy, bool begins, kw_arena *arena)
{
    size_t count = kw_policy_table_count(policy);
    bool *optional = KW_ARENA_ARRAY(arena, bool, count);
    bool all = begins && !kw_policy_model(policy)->strict_start;
    for (size_t i = 0; i < count; i++) {
        kw_bytes name = kw_bytes_of_text(kw_policy_table(policy, i)->name);
        const kw_table *served = kw_policy_find_table(gateway->policy, name);
        optional[i] = all || (served && kw_table_why_not_served(served));
    }
    return optional;
}

/* --- the states ---------------------------------------------------------------------------------- */

static void
set_served(kw_policy *policy, const kw_admission *admission, const kw_table *table)
{
    size_t number = table->number;
    kw_policy_set_order(policy, number, kw_admission_order(admission, number),
                        kw_admission_atomics(admission, number));
    for (size_t i = 0; i < table->paths_and_association_count; i++) {
        const kw_placement_facts *placement = kw_admission_placement(admission, number, i);
        kw_policy_set_path_state(policy, number, i, kw_placement_state_name(placement->state),
                                 placement->verified);
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
        *each = (unserved){g_strdup(table->name), g_strdup(why->text)};
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
            kw_log(KW_LOG_ERROR, "gateway", "a table is not served; the others are",
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

void
kw_table_states_publish(kw_gateway *gateway)
{
    GPtrArray *fresh = list_unserved(gateway->policy);
    kw_mutex_lock(&gateway->lock);
    GPtrArray *old = gateway->unserved;
    gateway->unserved = fresh;
    kw_mutex_unlock(&gateway->lock);
    log_changes(gateway->policy, old, fresh);
    kw_metrics_add(KW_METRIC_tables_unserved, (int64_t)fresh->len - (old ? (int64_t)old->len : 0));
    if (old)
        g_ptr_array_unref(old);
}

void
kw_table_states_list(kw_gateway *gateway, void (*add)(void *list, const char *text), void *list)
{
    kw_mutex_lock(&gateway->lock);
    for (guint i = 0; gateway->unserved && i < gateway->unserved->len; i++)
        add(list, ((const unserved *)gateway->unserved->pdata[i])->why);
    kw_mutex_unlock(&gateway->lock);
}
