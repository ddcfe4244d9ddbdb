#include "service/outcome.h"

#include "base/log.h"
#include "service/methods.h"
#include "service/show.h"

#include <stdatomic.h>

/* Mistakes of callers and overload have a level below warning, because the callers get the reason. */
static kw_log_level
level_of(kw_code code)
{
    switch (code) {
    case KW_INTERNAL:
    case KW_CORRUPT:
        return KW_LOG_ERROR;
    case KW_UNAVAILABLE:
    case KW_TIMEOUT:
    case KW_REFUSED:
        return KW_LOG_WARN;
    case KW_OK:
    case KW_INVALID:
    case KW_NOT_FOUND:
    case KW_DENIED:
    case KW_LIMIT:
    case KW_BUSY:
        return KW_LOG_INFO;
    }
    g_assert_not_reached();
}

/* True if a line of this level can be logged now. */
static bool
can_log(kw_service_worker *worker, kw_log_level level)
{
    uint64_t unlogged;
    kw_log_limit *limit = level == KW_LOG_INFO ? &worker->logged_mistakes : &worker->logged_failures;
    if (!kw_log_enabled(level))
        return false;
    if (!kw_log_limit_allows(limit, KW_OUTCOME_LOG_MAX, &unlogged)) {
        kw_metrics_add(KW_METRIC_calls_failed_unlogged, 1);
        return false;
    }
    if (unlogged > 0)
        kw_log(level, "service", "failed calls, not logged", KW_LOG_FACT("count", unlogged));
    return true;
}

const char *
kw_outcome_log_failure(kw_exchange *exchange, const kw_error *error)
{
    kw_log_level level = level_of(error->code);
    exchange->outcomes = (kw_record_outcomes){0};
    if (kw_account_client_is_gone(exchange->account) || !can_log(exchange->worker, level))
        return NULL;
    bool logged =
        kw_log(level, "service", "call failed", KW_LOG_FACT("request", exchange->request_id),
               KW_LOG_FACT("method", exchange->method->name), KW_LOG_FACT("code", kw_code_name(error->code)),
               KW_LOG_FACT("peer", kw_request_peer(exchange->request)), KW_LOG_FACT("reason", error->text));
    return logged ? exchange->request_id : NULL;
}

void
kw_outcome_log_refusal(kw_service_worker *worker, const kw_request *request, kw_bytes method,
                       const char *reason)
{
    char shown[KW_SHOWN_MAX];
    kw_metrics_add(KW_METRIC_calls_failed, 1);
    if (can_log(worker, KW_LOG_INFO))
        kw_log(KW_LOG_INFO, "service", "message refused", KW_LOG_FACT("method", kw_show_name(method, shown)),
               KW_LOG_FACT("peer", kw_request_peer(request)), KW_LOG_FACT("reason", reason));
}

/* --- records ------------------------------------------------------------------------------------- */

void
kw_outcome_note_record(kw_exchange *exchange, const kw_error *error)
{
    kw_record_outcomes *outcomes = &exchange->outcomes;
    if (exchange->state == KW_EXCHANGE_ANSWERED)
        return; /* the reply was sent without them */
    if (!error) {
        outcomes->good++;
        return;
    }
    if (!outcomes->first) {
        kw_error *first = KW_EXCHANGE_ALLOC(exchange, kw_error);
        *first = *error;
        outcomes->first = first;
    }
    outcomes->failed[error->code]++;
    outcomes->failed_sum++;
}

static void
log_records(const kw_exchange *exchange)
{
    const kw_record_outcomes *outcomes = &exchange->outcomes;
    const kw_error *first = outcomes->first;
    if (!can_log(exchange->worker, level_of(first->code)))
        return;
    kw_log(level_of(first->code), "service", "records failed", KW_LOG_FACT("request", exchange->request_id),
           KW_LOG_FACT("method", exchange->method->name), KW_LOG_FACT("code", kw_code_name(first->code)),
           KW_LOG_FACT("peer", kw_request_peer(exchange->request)),
           KW_LOG_FACT("records", outcomes->good + outcomes->failed_sum),
           KW_LOG_FACT("failed", outcomes->failed_sum), KW_LOG_FACT("first_reason", first->text));
}

static void
count_records(const kw_exchange *exchange, kw_method_metrics *metrics)
{
    const kw_record_outcomes *outcomes = &exchange->outcomes;
    atomic_fetch_add_explicit(&metrics->records[KW_OK], outcomes->good, memory_order_relaxed);
    for (int code = KW_OK + 1; code <= KW_INTERNAL; code++)
        atomic_fetch_add_explicit(&metrics->records[code], outcomes->failed[code], memory_order_relaxed);
}

/* --- calls --------------------------------------------------------------------------------------- */

/* If all records of a call failed, the call counts with the code of the first record. */
static kw_code
code_of_call(const kw_exchange *exchange, kw_code code)
{
    const kw_record_outcomes *outcomes = &exchange->outcomes;
    return code == KW_OK && outcomes->failed_sum > 0 && outcomes->good == 0 ? outcomes->first->code : code;
}

void
kw_outcome_count(kw_exchange *exchange, kw_code code)
{
    kw_method_metrics *metrics = &exchange->worker->metrics[exchange->method - kw_api_methods];
    code = code_of_call(exchange, code);
    kw_histogram_add_us(&metrics->latency, (kw_clock_mono_ns() - exchange->started_ns) / 1000);
    atomic_fetch_add_explicit(&metrics->codes[code], 1, memory_order_relaxed);
    count_records(exchange, metrics);
    if (exchange->outcomes.failed_sum > 0)
        log_records(exchange);
    kw_metrics_add(KW_METRIC_calls_in_flight, -1);
    if (code != KW_OK)
        kw_metrics_add(KW_METRIC_calls_failed, 1);
}
