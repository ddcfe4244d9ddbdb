/* The methods check, reload, forget, backup and stats. */
#include "config/reader.h"
#include "service/methods.h"
#include "service/methods/candidate.h"
#include "service/offload.h"
#include "service/show.h"

/* --- check --------------------------------------------------------------------------------------- */

typedef struct checking {
    kw_offload offload;
    kw_diagnostics *found;
} checking;

static bool
check_policy(kw_offload *offload)
{
    kw_diagnostics *found = ((checking *)offload)->found;
    const kw_api_Admin_check_args *args = offload->exchange->args;
    size_t count;
    const kw_component_schema *const *schemas = kw_rule_schemas(&count);
    kw_candidate_bound(found, &offload->effort);
    g_autoptr(kw_model) model =
        kw_model_check_text("policy", (const char *)args->text.data, args->text.size, schemas, count, found);
    if (model)
        kw_policy_unref(kw_policy_check(model, found));
    return true;
}

static void
reply_problems(kw_exchange *exchange, const kw_diagnostics *found)
{
    size_t count = kw_diagnostics_kept(found);
    kw_api_Admin_check_result result = {.has_success = true};
    result.success.items = KW_ARENA_ARRAY(exchange->call.arena, kw_api_Problem, count);
    result.success.count = (uint32_t)count;
    for (size_t i = 0; i < count; i++) {
        const kw_problem *problem = kw_diagnostics_get(found, i);
        result.success.items[i] = (kw_api_Problem){.line = (int32_t)problem->mark.line,
                                                   .column = (int32_t)problem->mark.column,
                                                   .message = kw_bytes_of_text(problem->message),
                                                   .has_hint = problem->hint != NULL,
                                                   .hint = kw_bytes_of_text(problem->hint)};
    }
    kw_exchange_reply(exchange, &result);
}

static void
reply_check(kw_offload *offload, const kw_error *error)
{
    checking *self = (checking *)offload;
    if (error)
        kw_exchange_fail(offload->exchange, error);
    else
        reply_problems(offload->exchange, self->found);
    kw_diagnostics_free(self->found);
    g_free(self);
}

void
kw_serve_check(kw_exchange *exchange)
{
    const kw_api_Admin_check_args *args = exchange->args;
    if (!args->has_text) {
        kw_error error;
        kw_error_set(&error, KW_INVALID, "the argument text is missing");
        kw_exchange_fail(exchange, &error);
        return;
    }
    checking *self = g_new0(checking, 1);
    self->found = kw_diagnostics_new("policy");
    kw_offload_start(&self->offload, exchange, check_policy, reply_check);
}

/* --- reload -------------------------------------------------------------------------------------- */

static void
reply_reload(void *user, const kw_error *error)
{
    kw_exchange *exchange = user;
    if (error)
        kw_exchange_fail(exchange, error);
    else
        kw_exchange_reply(exchange, &(kw_api_Admin_reload_result){0});
}

void
kw_serve_reload(kw_exchange *exchange)
{
    const kw_service_settings *settings = &exchange->worker->service->settings;
    kw_exchange_drop_policy(exchange);
    settings->reload(settings->user, exchange->call.loop, reply_reload, exchange);
}

/* --- forget -------------------------------------------------------------------------------------- */

static void
reply_forgotten(void *user, const char *const *emptied, size_t count, const kw_error *error)
{
    kw_exchange *exchange = user;
    if (error) {
        kw_exchange_fail(exchange, error);
        return;
    }
    kw_api_Admin_forget_result result = {.has_success = true};
    result.success.items = KW_ARENA_ARRAY(exchange->call.arena, kw_bytes, count);
    result.success.count = (uint32_t)count;
    for (size_t i = 0; i < count; i++)
        result.success.items[i] = kw_bytes_of_text(emptied[i]);
    kw_exchange_reply(exchange, &result);
}

/* Rejects names with NUL bytes, because the catalog compares NUL-terminated texts. */
static bool
check_name(kw_bytes name, const char *what, kw_error *ret_error)
{
    char shown[KW_SHOWN_MAX];
    if (name.size > 0 && !memchr(name.data, '\0', name.size))
        return true;
    return kw_error_set(ret_error, KW_INVALID, "%s is not the name of a %s", kw_show_name(name, shown), what);
}

void
kw_serve_forget(kw_exchange *exchange)
{
    const kw_api_Admin_forget_args *args = exchange->args;
    const kw_service_settings *settings = &exchange->worker->service->settings;
    const kw_api_ForgetOptions *options = args->has_options ? args->options : NULL;
    kw_arena *arena = exchange->call.arena;
    kw_error error;
    kw_bytes path = options && options->has_path ? options->path : KW_BYTES_NONE;
    if (!args->has_table) {
        kw_error_set(&error, KW_INVALID, "the argument table is missing");
        kw_exchange_fail(exchange, &error);
        return;
    }
    if (!check_name(args->table, "table", &error) ||
        (options && options->has_path && !check_name(path, "path", &error))) {
        kw_exchange_fail(exchange, &error);
        return;
    }
    kw_forget_command command = {.table = kw_arena_text(arena, args->table),
                                 .path = path.size ? kw_arena_text(arena, path) : NULL,
                                 .drop_rows = options && options->has_drop_rows && options->drop_rows};
    kw_exchange_drop_policy(exchange);
    settings->forget(settings->user, &command, exchange->call.loop, reply_forgotten, exchange);
}

/* --- backup -------------------------------------------------------------------------------------- */

static void
reply_backup(void *user, int64_t bytes, const kw_error *error)
{
    kw_exchange *exchange = user;
    if (error) {
        kw_exchange_fail(exchange, error);
        return;
    }
    kw_api_MadeBackup *made = KW_ARENA_NEW(exchange->call.arena, kw_api_MadeBackup);
    made->bytes = bytes;
    kw_exchange_reply(exchange, &(kw_api_Admin_backup_result){.has_success = true, .success = made});
}

void
kw_serve_backup(kw_exchange *exchange)
{
    const kw_api_Admin_backup_args *args = exchange->args;
    kw_error error;
    if (!args->has_name) {
        kw_error_set(&error, KW_INVALID, "the argument name is missing");
        kw_exchange_fail(exchange, &error);
        return;
    }
    kw_exchange_drop_policy(exchange);
    kw_store_handle_backup(exchange->call.handle, args->name, reply_backup, exchange);
}

/* --- stats --------------------------------------------------------------------------------------- */

typedef struct metrics {
    kw_api_Admin_stats_result result;
    uint32_t capacity;
    kw_arena *arena;
} metrics;

static void
add_metric(metrics *all, const char *name, double value)
{
    g_assert(all->result.success.count < all->capacity);
    uint32_t at = all->result.success.count++;
    all->result.success.items[at].key = kw_bytes_of_text(name);
    all->result.success.items[at].value = value;
}

static void
add_records(metrics *all, const kw_service *service, size_t method)
{
    const char *name = kw_service_method_name(method);
    double good = (double)kw_service_records(service, method, KW_OK), failed = 0;
    for (int code = KW_OK + 1; code <= KW_INTERNAL; code++)
        failed += (double)kw_service_records(service, method, (kw_code)code);
    if (good + failed == 0)
        return;
    add_metric(all, kw_arena_printf(all->arena, "%s.records", name), good + failed);
    add_metric(all, kw_arena_printf(all->arena, "%s.records_failed", name), failed);
}

static void
add_method(metrics *all, const kw_service *service, size_t method)
{
    const char *name = kw_service_method_name(method);
    double good = (double)kw_service_calls(service, method, KW_OK), failed = 0;
    for (int code = KW_OK + 1; code <= KW_INTERNAL; code++)
        failed += (double)kw_service_calls(service, method, (kw_code)code);
    if (good + failed == 0)
        return;
    kw_histogram *latency = KW_ARENA_NEW(all->arena, kw_histogram);
    kw_service_latency(service, method, latency);
    add_metric(all, kw_arena_printf(all->arena, "%s.calls", name), good + failed);
    add_metric(all, kw_arena_printf(all->arena, "%s.failed", name), failed);
    add_metric(all, kw_arena_printf(all->arena, "%s.p50_us", name),
               (double)kw_histogram_quantile_us(latency, 0.5));
    add_metric(all, kw_arena_printf(all->arena, "%s.p99_us", name),
               (double)kw_histogram_quantile_us(latency, 0.99));
    add_records(all, service, method);
}

void
kw_serve_stats(kw_exchange *exchange)
{
    kw_arena *arena = exchange->call.arena;
    metrics all = {.arena = arena, .capacity = KW_METRIC_COUNT + 6 * KW_API_METHOD_COUNT + 2};
    int64_t offset_ms;
    all.result.has_success = true;
    all.result.success.items = kw_arena_alloc(arena, all.capacity * sizeof *all.result.success.items);
    for (int i = 0; i < KW_METRIC_COUNT; i++)
        add_metric(&all, kw_metric_infos[i].name, (double)kw_metrics_read((kw_metric)i));
    for (size_t i = 0; i < KW_API_METHOD_COUNT; i++)
        add_method(&all, exchange->worker->service, i);
    add_metric(&all, "policy_loaded_at_ms", (double)kw_policy_loaded_at_ms(exchange->call.policy));
    if (kw_store_clock_offset_ms(exchange->call.store, &offset_ms))
        add_metric(&all, "store_clock_offset_ms", (double)offset_ms);
    kw_exchange_reply(exchange, &all.result);
}
