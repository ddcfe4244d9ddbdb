#include "service/exchange_internal.h"

#include "base/guard.h"
#include "base/shortage.h"
#include "service/atomic_hold.h"
#include "service/errors.h"
#include "service/hold.h"
#include "service/methods.h"
#include "service/outcome.h"
#include "service/read_queue.h"
#include "service/watch.h"
#include "wire/table.h"

#include <glib.h>
#include <stdatomic.h>

/* --- ending --------------------------------------------------------------------------------------- */

/* Counts a write, which makes earlier prefetched pages outdated. */
static void
note_write(const kw_exchange *exchange)
{
    if (kw_exchange_method(exchange)->writes)
        atomic_fetch_add(&exchange->worker->service->writes, 1);
}

/* Every result struct has the exception as field 1. */
static void
set_failure(const kw_wire_struct *table, void *result, const kw_api_KeywayError *failure)
{
    for (uint32_t i = 0; i < table->field_count; i++) {
        const kw_wire_field *field = &table->fields[i];
        if (field->id != 1)
            continue;
        memcpy((char *)result + field->flag, &(bool){true}, sizeof(bool));
        memcpy((char *)result + field->offset, &failure, sizeof failure);
        return;
    }
    g_assert_not_reached();
}

const void *
kw_exchange_failure(kw_exchange *exchange, const kw_error *error)
{
    const kw_wire_struct *table = exchange->method->result;
    void *result = kw_arena_alloc0(exchange->call.arena, table->size);
    const char *logged_id = kw_outcome_log_failure(exchange, error);
    set_failure(table, result, kw_errors_exception(error, logged_id, exchange->call.arena));
    return result;
}

/* --- the reply ----------------------------------------------------------------------------------- */

size_t
kw_exchange_max_reply_bytes(const kw_exchange *exchange)
{
    return (size_t)kw_exchange_model(exchange)->limits.frame_bytes;
}

size_t
kw_exchange_begin_message(const kw_exchange *exchange, kw_buffer *out)
{
    kw_wire_form form = kw_request_form(exchange->request);
    size_t mark = kw_wire_frame_begin(out, form);
    kw_wire_message_encode(out, form.protocol, exchange->name, KW_WIRE_REPLY, exchange->sequence_id);
    return mark;
}

/* Encodes the reply. False if it is too large; then nothing was appended. */
static bool
encode(kw_exchange *exchange, const void *result)
{
    kw_request *request = exchange->request;
    kw_wire_form form = kw_request_form(request);
    kw_buffer *out = kw_request_reply(request);
    size_t mark = kw_exchange_begin_message(exchange, out);
    size_t left = kw_exchange_max_reply_bytes(exchange) - (out->size - mark);
    if (!kw_wire_struct_encode_within(out, form.protocol, exchange->method->result, result, left)) {
        out->size = mark;
        return false;
    }
    kw_wire_frame_end(out, form, mark);
    return true;
}

static const void *
too_large(kw_exchange *exchange)
{
    kw_error error;
    const kw_method *method = kw_exchange_method(exchange);
    kw_metrics_add(KW_METRIC_replies_too_large, 1);
    kw_error_set(&error, KW_LIMIT, "%sthe reply would have more than %zu bytes (limits.frame); %s",
                 method->changes ? "the call was carried out, but " : "",
                 kw_exchange_max_reply_bytes(exchange), method->smaller);
    error.maybe_applied = method->changes;
    return kw_exchange_failure(exchange, &error);
}

/* True for a reply for which memory is short. The reply of a call that changed something is sent anyway. */
bool
kw_exchange_lacks_memory(const kw_exchange *exchange)
{
    return !kw_exchange_method(exchange)->changes &&
           kw_arena_used(exchange->call.arena) > KW_EXCHANGE_SMALL &&
           kw_budget_pressure(exchange->account) == KW_PRESSURE_FULL;
}

static kw_error
short_of_memory(void)
{
    kw_error error;
    kw_shortage_refuse(&error);
    return error;
}

/* Encodes the reply, unless it is not needed. The caller must end the request next. */
static void
answer(kw_exchange *exchange, const void *result, kw_code code)
{
    kw_fine_timer_cancel(exchange->worker->timers, &exchange->timer);
    if (!exchange->oneway && kw_request_can_reply(exchange->request)) {
        if (code == KW_OK && kw_exchange_lacks_memory(exchange)) {
            kw_error short_of = short_of_memory();
            result = kw_exchange_failure(exchange, &short_of);
            code = KW_BUSY;
        }
        if (!encode(exchange, result)) {
            code = KW_LIMIT;
            bool fits = encode(exchange, too_large(exchange));
            g_assert(fits); /* the minimum of limits.frame is much larger than an error */
        }
    }
    note_write(exchange);
    kw_outcome_count(exchange, code);
}

/* The call is ended before its request: the end of the last request can close the loop, which gives up all
 * active calls. The read queue follows the request, whose reply it then counts as unsent. */
void
kw_exchange_leave(kw_exchange *exchange, void (*end_request)(kw_request *request))
{
    kw_account *account = exchange->account;
    kw_service_worker *worker = exchange->worker;
    bool waited = exchange->state == KW_EXCHANGE_QUEUED;
    kw_exchange_unwatch(exchange);
    kw_exchange_move(exchange, KW_EXCHANGE_ENDED, NULL);
    if (end_request)
        end_request(exchange->request);
    kw_read_queue_leave(exchange, waited);
    kw_snapshot_unref(exchange->snapshot);
    kw_arena_free(exchange->call.arena);
    kw_account_unref(account);
    kw_service_worker_note_end(worker);
}

static void
finish(kw_exchange *exchange, const void *result, kw_code code)
{
    bool answered = exchange->state == KW_EXCHANGE_ANSWERED;
    if (answered)
        note_write(exchange);
    else
        answer(exchange, result, code);
    kw_exchange_leave(exchange, answered ? kw_request_release : kw_request_replied);
}

/* A result of a call whose lease was lost is not sent: after the lease expires, rows can be changed under
 * another policy. */
void
kw_exchange_reply(kw_exchange *exchange, const void *result)
{
    kw_error fenced;
    kw_guard_end();
    if (!kw_exchange_is_fenced(exchange, &fenced)) {
        finish(exchange, result, KW_OK);
        return;
    }
    fenced.maybe_applied = kw_exchange_method(exchange)->writes;
    kw_exchange_fail(exchange, &fenced);
}

void
kw_exchange_fail(kw_exchange *exchange, const kw_error *error)
{
    kw_guard_end();
    if (exchange->state == KW_EXCHANGE_ANSWERED) {
        finish(exchange, NULL, KW_OK);
        return;
    }
    finish(exchange, kw_exchange_failure(exchange, error), error->code == KW_OK ? KW_INTERNAL : error->code);
}

void
kw_exchange_reply_encoded(kw_exchange *exchange, kw_buffer *message)
{
    kw_error fenced;
    kw_guard_end();
    g_assert(exchange->state != KW_EXCHANGE_ANSWERED && !exchange->oneway);
    if (kw_exchange_is_fenced(exchange, &fenced)) {
        kw_buffer_clear(message);
        kw_exchange_fail(exchange, &fenced);
        return;
    }
    kw_fine_timer_cancel(exchange->worker->timers, &exchange->timer);
    kw_request_pass_reply(exchange->request, message);
    note_write(exchange);
    kw_outcome_count(exchange, KW_OK);
    kw_exchange_leave(exchange, kw_request_replied);
}

void
kw_exchange_fail_for_size(kw_exchange *exchange)
{
    kw_guard_end();
    const void *result = too_large(exchange);
    finish(exchange, result, KW_LIMIT);
}

void
kw_exchange_fail_for_memory(kw_exchange *exchange)
{
    kw_error error = short_of_memory();
    kw_exchange_fail(exchange, &error);
}

/* --- giving up ------------------------------------------------------------------------------------ */

static const void *
late_result(kw_exchange *exchange, kw_error *error)
{
    const kw_method *method = kw_exchange_method(exchange);
    bool brief = kw_exchange_is_fenced(exchange, error) || kw_exchange_is_unwanted(exchange);
    error->maybe_applied = method->changes;
    return method->late && !brief ? method->late(exchange, error) : kw_exchange_failure(exchange, error);
}

static void
answer_early(kw_exchange *exchange, kw_error *error)
{
    const void *result = late_result(exchange, error);
    answer(exchange, result, error->code);
    kw_exchange_move(exchange, KW_EXCHANGE_ANSWERED, NULL);
    kw_request_answered(exchange->request);
}

void
kw_exchange_give_up(kw_exchange *exchange, kw_error *error)
{
    kw_exchange_watch(exchange);
    switch (exchange->state) {
    case KW_EXCHANGE_HELD:
    case KW_EXCHANGE_HELD_ATOMIC:
    case KW_EXCHANGE_QUEUED:
        kw_exchange_fail(exchange, error);
        return;
    case KW_EXCHANGE_RUNNING:
        answer_early(exchange, error);
        return;
    case KW_EXCHANGE_BEGINNING:
    case KW_EXCHANGE_ANSWERED:
    case KW_EXCHANGE_ENDED:
        break;
    }
    g_assert_not_reached();
}

/* What a call in this state waited for when its deadline passed. */
static const char *
timeout_text(kw_exchange_state state)
{
    if (state == KW_EXCHANGE_HELD)
        return "the deadline passed while the policy of the table was being changed; try again";
    if (state == KW_EXCHANGE_QUEUED)
        return "the deadline passed before the call started";
    return "the deadline passed before the call finished";
}

void
kw_exchange_on_deadline(void *user)
{
    kw_exchange *exchange = user;
    kw_error error;
    if (exchange->state == KW_EXCHANGE_HELD_ATOMIC) {
        kw_atomic_hold_expire(exchange);
        return;
    }
    kw_error_set(&error, KW_TIMEOUT, "%s", timeout_text(exchange->state));
    kw_exchange_give_up(exchange, &error);
}

const kw_error kw_exchange_caller_left = {
    .code = KW_UNAVAILABLE,
    .text =
        "the caller closed its side of the connection before the reply; a caller that wants the reply must "
        "keep it open"};

bool
kw_exchange_is_unwanted(const kw_exchange *exchange)
{
    return kw_account_client_is_gone(exchange->account) && !kw_exchange_method(exchange)->changes;
}

void
kw_exchange_note_left(kw_request *request)
{
    kw_exchange *exchange = kw_request_call(request);
    kw_error error = kw_exchange_caller_left;
    if (!kw_exchange_is_unwanted(exchange))
        return;
    kw_metrics_add(KW_METRIC_calls_abandoned, 1);
    kw_exchange_give_up(exchange, &error);
}

/* The calls in worker->active: what runs stays there until it ends. */
static void
give_up_active(kw_service_worker *worker)
{
    for (GList *at = worker->active.head, *next; at; at = next) {
        kw_exchange *exchange = at->data;
        kw_error error = {.code = KW_UNAVAILABLE, .text = "the gateway shut down before the call finished"};
        next = at->next;
        if (exchange->state != KW_EXCHANGE_ANSWERED)
            kw_exchange_give_up(exchange, &error);
    }
}

void
kw_exchange_give_up_all(kw_service_worker *worker)
{
    kw_hold_close(worker);
    kw_atomic_hold_close(worker);
    give_up_active(worker);
}
