#include "fixture.h"

#include "base/log.h"
#include "store/hbase/hbase_store.h"
#include "store/hbase/link/forms.h"

const kw_wire_form fixture_forms[4] = {
    {KW_WIRE_BINARY, false}, {KW_WIRE_BINARY, true}, {KW_WIRE_COMPACT, false}, {KW_WIRE_COMPACT, true}};

static bool
is_form(uint8_t number, kw_wire_form form)
{
    return kw_hbase_form(number).framed == form.framed && kw_hbase_form(number).protocol == form.protocol;
}

kw_model_hbase
fixture_init(fixture *on, size_t fakes, kw_wire_form form)
{
    *on = (struct fixture){0};
    if (!g_test_verbose())
        kw_log_configure(KW_LOG_ERROR, false);
    for (size_t i = 0; i < fakes; i++) {
        on->fakes[i] = thrift2_fake_start(form, 0, NULL);
        on->servers[i] = (kw_model_server){.host = "127.0.0.1", .port = thrift2_fake_port(on->fakes[i])};
    }
    on->bed.tuning = bed_tuning;
    on->bed.tuning.connect_timeout_ms = 60000;
    while (!is_form(on->bed.form, form))
        on->bed.form++;
    return bed_settings(on->servers, fakes);
}

void
fixture_open(fixture *on, const kw_model_hbase *settings)
{
    bed_open(&on->bed, settings);
}

void
fixture_open_quiet(fixture *on, const kw_model_hbase *settings)
{
    fixture_open(on, settings);
    atomic_store(&((kw_hbase_store *)on->bed.store)->clock.measuring, true);
}

void
fixture_start(fixture *on, size_t fakes, kw_wire_form form)
{
    kw_model_hbase settings = fixture_init(on, fakes, form);
    fixture_open(on, &settings);
    bed_await_ready(&on->bed);
}

void
fixture_stop(fixture *on)
{
    bed_close(&on->bed);
    for (size_t i = 0; i < G_N_ELEMENTS(on->fakes) && on->fakes[i]; i++)
        thrift2_fake_stop(on->fakes[i]);
}

void
fixture_apply_rule(const fake_call *call, fake_answer *to, void *user)
{
    const fixture_rule *rule = user;
    if (call->method != rule->method || call->nth > rule->count)
        return;
    *to = rule->answer;
    if (rule->io_message) {
        to->result = fake_io_error(call, rule->io_message, rule->io_can_retry);
        to->do_nothing = true;
    }
}

void
fixture_await_calls(fixture *on, kw_hb_method method, uint32_t count)
{
    BED_UNTIL(&on->bed, thrift2_fake_calls(on->fakes[0], method) >= count);
}

void
fixture_ok(answer got)
{
    g_assert_cmpstr(got.error.text, ==, "");
    g_assert_cmpint(got.outcome, ==, KW_OUTCOME_OK);
    answer_clear(&got);
}

void
fixture_failed(answer got, kw_outcome outcome, kw_code code)
{
    g_assert_cmpstr(kw_code_name(got.error.code), ==, kw_code_name(code));
    g_assert_cmpint(got.outcome, ==, outcome);
    g_assert_cmpint(got.error.maybe_applied, ==, outcome == KW_OUTCOME_UNKNOWN);
    g_assert_cmpstr(got.error.text, !=, "");
    answer_clear(&got);
}

void
fixture_value(answer got, const char *value)
{
    g_assert_cmpstr(got.error.text, ==, "");
    g_assert_cmpuint(got.rows->count, ==, 1);
    g_assert_cmpuint(got.rows->rows[0].cells_count, ==, 1);
    kw_bytes cell = got.rows->rows[0].cells[0].value;
    g_assert_true(kw_bytes_equal(cell, kw_bytes_of_text(value)));
    answer_clear(&got);
}

answer
fixture_put(fixture *on, const char *row, int64_t timestamp, int64_t timeout_ms)
{
    return bed_put(&on->bed, "t", row, "f", "q", "v", timestamp, timeout_ms);
}

answer
fixture_get(fixture *on, const char *row, int64_t timeout_ms)
{
    return bed_get(&on->bed, "t", row, timeout_ms);
}

static bool
was_sent(const answer *got)
{
    return strstr(got->error.text, "before the store answered") != NULL;
}

void
fixture_put_times_out(fixture *on, const char *row, int64_t timestamp, int64_t timeout_ms)
{
    uint32_t before = thrift2_fake_calls(on->fakes[0], KW_HB_THBaseService_put);
    answer got = fixture_put(on, row, timestamp, timeout_ms);
    while (!was_sent(&got)) {
        fixture_failed(got, KW_OUTCOME_FAILED, KW_TIMEOUT);
        got = fixture_put(on, row, timestamp, timeout_ms *= 2);
    }
    fixture_failed(got, KW_OUTCOME_UNKNOWN, KW_TIMEOUT);
    fixture_await_calls(on, KW_HB_THBaseService_put, before + 1);
}

void
fixture_get_times_out(fixture *on, const char *row, int64_t timeout_ms)
{
    uint32_t before = thrift2_fake_calls(on->fakes[0], KW_HB_THBaseService_get);
    answer got = fixture_get(on, row, timeout_ms);
    while (!was_sent(&got)) {
        fixture_failed(got, 0, KW_TIMEOUT);
        got = fixture_get(on, row, timeout_ms *= 2);
    }
    fixture_failed(got, 0, KW_TIMEOUT);
    fixture_await_calls(on, KW_HB_THBaseService_get, before + 1);
}
