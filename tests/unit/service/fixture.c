#include "unit/service/fixture.h"

#include "config/reader.h"

#include <glib.h>

static const char text[] = "limits: {ranges: 3, page_rows: 100, frame: 128KiB, batch_records: 2}\n"
                           "tables:\n"
                           "  events:\n"
                           "    fields:\n"
                           "      id: {type: string, max_bytes: 10}\n"
                           "      ts: {type: timestamp, unit: ms}\n"
                           "      status: {type: string, values: [paid, sent]}\n"
                           "      count: int\n"
                           "      weight: double\n"
                           "      done: bool\n"
                           "      blob: bytes\n"
                           "      shares: {type: map, of: double, column: 's:*'}\n"
                           "    key: [{field: id}, {field: {name: ts, order: desc}}]\n"
                           "    paths:\n"
                           "      by_time:\n"
                           "        key: [{field: ts}, {field: id}]\n"
                           "  scores:\n"
                           "    fields: {at: double}\n"
                           "    key: [{field: at}]\n";

service_fixture *
service_fixture_new(void)
{
    service_fixture *fix = g_new0(service_fixture, 1);
    g_autoptr(kw_diagnostics) found = kw_diagnostics_new("test");
    size_t count;
    const kw_component_schema *const *schemas = kw_rule_schemas(&count);
    g_autoptr(kw_model) model = kw_model_read_text("test", text, strlen(text), schemas, count, found);
    if (model)
        fix->policy = kw_policy_new(model, found);
    if (!fix->policy)
        g_error("the test's policy is wrong:\n%s", kw_diagnostics_text(found));
    fix->table = kw_policy_table(fix->policy, 0);
    fix->loop = kw_loop_new();
    fix->worker.timers = kw_fine_timers_new(fix->loop);
    fix->snapshot.policy = fix->policy;
    fix->worker.snapshot = fix->exchange.snapshot = &fix->snapshot;
    fix->exchange.worker = &fix->worker;
    fix->exchange.method = &kw_api_methods[KW_API_Data_scan];
    fix->exchange.started_ns = kw_clock_mono_ns();
    fix->exchange.call.arena = kw_arena_new();
    fix->exchange.call.policy = fix->policy;
    fix->exchange.call.deadline = KW_DEADLINE_NONE;
    return fix;
}

void
service_fixture_free(service_fixture *fix)
{
    kw_fine_timers_free(fix->worker.timers);
    kw_loop_free(fix->loop);
    kw_arena_free(fix->exchange.call.arena);
    kw_policy_unref(fix->policy);
    g_free(fix);
}
