#include "policy/zone_warnings.h"

#include "base/log.h"
#include "base/metrics.h"
#include "catalog/zones.h"
#include "policy/file.h"
#include "rule/zone_pins.h"

kw_policy *
kw_zones_compile_again(kw_policy *policy, kw_error *ret_error)
{
    kw_model *model = kw_policy_model(policy);
    g_autoptr(kw_diagnostics) problems = kw_diagnostics_new(model->tables_file);
    kw_policy *fresh = kw_policy_new(model, problems);
    if (!fresh)
        kw_policy_file_report(problems, ret_error);
    return fresh;
}

/* NULL: no difference. */
static char *
warning_text(const kw_zone *zone, kw_arena *arena)
{
    const char *years = kw_zone_difference(zone, arena);
    return years ? g_strdup_printf("time zone %s: the system's data differ from the data in the catalog in "
                                   "%s. Row keys are "
                                   "made with the catalog's data, as before. To move the rows to the "
                                   "system's data, name an "
                                   "edition (zone_data) in the calendar and run keyway policy apply",
                                   zone->key, years)
                 : NULL;
}

static GPtrArray *
find_warnings(const kw_policy *policy)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    GPtrArray *texts = g_ptr_array_new_with_free_func(g_free);
    const kw_zone *const *zones;
    size_t count = kw_catalog_zones_of(policy, arena, &zones);
    for (size_t i = 0; i < count; i++) {
        char *text = warning_text(zones[i], arena);
        if (text)
            g_ptr_array_add(texts, text);
    }
    return texts;
}

void
kw_zone_warnings_serve(kw_control *control, const kw_policy *policy)
{
    GPtrArray *fresh = find_warnings(policy);
    kw_mutex_lock(&control->lock);
    g_autoptr(GPtrArray) old = control->zone_warnings;
    control->zone_warnings = fresh;
    kw_mutex_unlock(&control->lock);
    kw_metrics_add(KW_METRIC_zone_differences, (int64_t)fresh->len - (old ? (int64_t)old->len : 0));
    for (guint i = 0; i < fresh->len; i++)
        if (!old || !g_ptr_array_find_with_equal_func(old, fresh->pdata[i], g_str_equal, NULL))
            kw_log(KW_LOG_WARN, "gateway", "the system's time zone data changed",
                   KW_LOG_FACT("problem", (const char *)fresh->pdata[i]));
}
