/* How calls and their records are counted and logged. */
#include "service/outcome.h"

#include "base/log.h"
#include "unit/service/fixture.h"

#include <glib.h>
#include <stdio.h>
#include <unistd.h>

const char *__wrap_kw_request_peer(const kw_request *request);

const char *
__wrap_kw_request_peer(const kw_request *request)
{
    (void)request;
    return "peer";
}

static uint64_t mono_ns = UINT64_C(7000000000);

static uint64_t
fixed_mono(void)
{
    return mono_ns;
}

static service_fixture *
open_fixture(void)
{
    service_fixture *fix = service_fixture_new();
    fix->exchange.method = &kw_api_methods[KW_API_Data_putMany];
    fix->worker.metrics = g_new0(kw_method_metrics, KW_API_METHOD_COUNT);
    g_strlcpy(fix->exchange.request_id, "id-1", sizeof fix->exchange.request_id);
    kw_clock_inject(NULL, fixed_mono);
    mono_ns += UINT64_C(1000000000);
    return fix;
}

static void
close_fixture(service_fixture *fix)
{
    kw_clock_inject(NULL, NULL);
    g_free(fix->worker.metrics);
    service_fixture_free(fix);
}

static void
note(service_fixture *fix, kw_code code)
{
    kw_error error;
    kw_error_set(&error, code, "why"); /* does not live longer than this call */
    kw_outcome_note_record(&fix->exchange, code == KW_OK ? NULL : &error);
}

static uint64_t
calls(const service_fixture *fix, kw_code code)
{
    return fix->worker.metrics[KW_API_Data_putMany].codes[code];
}

static uint64_t
records(const service_fixture *fix, kw_code code)
{
    return fix->worker.metrics[KW_API_Data_putMany].records[code];
}

KW_TEST(some_records_fail, "/service/outcome/some")
{
    service_fixture *fix = open_fixture();
    int64_t failed = kw_metrics_read(KW_METRIC_calls_failed);
    note(fix, KW_INVALID);
    note(fix, KW_OK);
    note(fix, KW_LIMIT);
    kw_outcome_count(&fix->exchange, KW_OK);
    g_assert_cmpuint(calls(fix, KW_OK), ==, 1);
    g_assert_cmpuint(records(fix, KW_OK), ==, 1);
    g_assert_cmpuint(records(fix, KW_INVALID), ==, 1);
    g_assert_cmpuint(records(fix, KW_LIMIT), ==, 1);
    g_assert_cmpint(kw_metrics_read(KW_METRIC_calls_failed), ==, failed);
    close_fixture(fix);
}

KW_TEST(all_records_fail, "/service/outcome/all")
{
    service_fixture *fix = open_fixture();
    int64_t failed = kw_metrics_read(KW_METRIC_calls_failed);
    note(fix, KW_LIMIT);
    note(fix, KW_INVALID);
    kw_outcome_count(&fix->exchange, KW_OK);
    g_assert_cmpuint(calls(fix, KW_OK), ==, 0);
    g_assert_cmpuint(calls(fix, KW_LIMIT), ==, 1);
    g_assert_cmpint(kw_metrics_read(KW_METRIC_calls_failed), ==, failed + 1);
    close_fixture(fix);
}

/* The call was answered at its deadline, with TIMEOUT for each record; what it finds later does not count. */
KW_TEST(records_of_a_late_call, "/service/outcome/late")
{
    service_fixture *fix = open_fixture();
    note(fix, KW_TIMEOUT);
    note(fix, KW_TIMEOUT);
    kw_outcome_count(&fix->exchange, KW_TIMEOUT);
    fix->exchange.state = KW_EXCHANGE_ANSWERED;
    note(fix, KW_OK);
    g_assert_cmpuint(calls(fix, KW_TIMEOUT), ==, 1);
    g_assert_cmpuint(records(fix, KW_TIMEOUT), ==, 2);
    g_assert_cmpuint(fix->exchange.outcomes.good, ==, 0);
    close_fixture(fix);
}

/* The reply is an error without records. */
KW_TEST(a_call_that_fails_has_no_records, "/service/outcome/failure")
{
    service_fixture *fix = open_fixture();
    kw_error error;
    kw_error_set(&error, KW_UNAVAILABLE, "fenced");
    note(fix, KW_OK);
    note(fix, KW_INVALID);
    g_assert_cmpstr(kw_outcome_log_failure(&fix->exchange, &error), ==, "id-1");
    kw_outcome_count(&fix->exchange, KW_UNAVAILABLE);
    g_assert_cmpuint(calls(fix, KW_UNAVAILABLE), ==, 1);
    g_assert_cmpuint(records(fix, KW_OK) + records(fix, KW_INVALID), ==, 0);
    close_fixture(fix);
}

static const char *
log_failure(service_fixture *fix, kw_code code)
{
    kw_error error;
    kw_error_set(&error, code, "why");
    return kw_outcome_log_failure(&fix->exchange, &error);
}

/* What log_failure logs. The caller frees the text. */
static char *
logged_failure(service_fixture *fix, kw_code code)
{
    int saved = dup(STDERR_FILENO);
    FILE *file = tmpfile();
    char *text = g_malloc0(1000);
    dup2(fileno(file), STDERR_FILENO);
    g_assert_cmpstr(log_failure(fix, code), ==, "id-1");
    dup2(saved, STDERR_FILENO);
    close(saved);
    rewind(file);
    g_assert_cmpuint(fread(text, 1, 999, file), >, 0);
    fclose(file);
    return text;
}

/* The id of an error is in the log at the default level, whatever the code is. */
KW_TEST(every_code_is_logged, "/service/outcome/codes")
{
    service_fixture *fix = open_fixture();
    for (int code = KW_OK + 1; code <= KW_INTERNAL; code++) {
        g_autofree char *text = logged_failure(fix, (kw_code)code);
        g_autofree char *part = g_strdup_printf("request=id-1 method=putMany code=%s peer=peer reason=why",
                                                kw_code_name((kw_code)code));
        g_assert_nonnull(strstr(text, part));
    }
    close_fixture(fix);
}

KW_TEST(an_id_only_if_it_was_logged, "/service/outcome/id")
{
    service_fixture *fix = open_fixture();
    kw_log_configure(KW_LOG_ERROR, false);
    g_assert_null(log_failure(fix, KW_INVALID));
    g_assert_null(log_failure(fix, KW_TIMEOUT));
    g_assert_cmpstr(log_failure(fix, KW_INTERNAL), ==, "id-1");
    kw_log_configure(KW_LOG_INFO, false);
    close_fixture(fix);
}

/* Mistakes of callers do not use up the lines for failures of the gateway. */
KW_TEST(a_limit_for_each_kind, "/service/outcome/limit")
{
    service_fixture *fix = open_fixture();
    int64_t unlogged = kw_metrics_read(KW_METRIC_calls_failed_unlogged);
    for (int i = 0; i < KW_OUTCOME_LOG_MAX; i++)
        g_assert_nonnull(log_failure(fix, KW_NOT_FOUND));
    g_assert_null(log_failure(fix, KW_NOT_FOUND));
    g_assert_null(log_failure(fix, KW_BUSY));
    g_assert_cmpint(kw_metrics_read(KW_METRIC_calls_failed_unlogged), ==, unlogged + 2);
    g_assert_nonnull(log_failure(fix, KW_INTERNAL));
    mono_ns += UINT64_C(1000000000);
    g_assert_nonnull(log_failure(fix, KW_NOT_FOUND));
    close_fixture(fix);
}
