#include "service/exchange.h"

#include "base/log.h"
#include "config/diagnostic.h"
#include "service/errors.h"
#include "service/hold.h"
#include "service/methods.h"
#include "service/show.h"
#include "wire/table.h"

#include <glib.h>
#include <stdatomic.h>

/* Failed calls that are logged per loop and second. */
#define LOG_MAX 20
#define FENCED_RETRY_MS 1000

const kw_model *
kw_exchange_model(const kw_exchange *exchange)
{
    return kw_policy_model(exchange->call.policy);
}

static const kw_method *
serving(const kw_exchange *exchange)
{
    return kw_method_of((size_t)(exchange->method - kw_api_methods));
}

/* --- calls under way -------------------------------------------------------------------------- */

static void
add_active(kw_exchange *exchange)
{
    kw_part *part = exchange->part;
    exchange->is_active = true;
    exchange->next_active = part->active;
    if (part->active)
        part->active->previous_active = exchange;
    part->active = exchange;
}

static void
remove_active(kw_exchange *exchange)
{
    if (!exchange->is_active)
        return;
    if (exchange->previous_active)
        exchange->previous_active->next_active = exchange->next_active;
    else
        exchange->part->active = exchange->next_active;
    if (exchange->next_active)
        exchange->next_active->previous_active = exchange->previous_active;
    exchange->is_active = false;
    kw_hold_note_end(exchange);
}

/* --- the fence: may this gateway still answer? ------------------------------------------------- */

static bool
is_fenced(const kw_exchange *exchange, kw_error *ret_error)
{
    const kw_fence *fence = exchange->part->service->settings.fence;
    if (!fence || !serving(exchange)->needs_store)
        return false;
    if (kw_fence_is_open(fence) && exchange->era == kw_fence_era(fence))
        return false;
    kw_error_set(ret_error, KW_UNAVAILABLE,
                 "this gateway's lease in the catalog has ended; it serves again once the lease is renewed");
    ret_error->retry_after_ms = FENCED_RETRY_MS;
    return true;
}

/* --- the end ---------------------------------------------------------------------------------- */

static void
count_call(const kw_exchange *exchange, kw_code code)
{
    kw_method_figures *figures = &exchange->part->figures[exchange->method - kw_api_methods];
    kw_histogram_add_us(&figures->latency, (kw_clock_mono_ns() - exchange->started_ns) / 1000);
    atomic_fetch_add_explicit(&figures->codes[code], 1, memory_order_relaxed);
    if (serving(exchange)->writes)
        atomic_fetch_add(&exchange->part->service->writes, 1);
    kw_counters_add(KW_FIGURE_calls_in_flight, -1);
    if (code != KW_OK)
        kw_counters_add(KW_FIGURE_calls_failed, 1);
}

static void
finish(kw_exchange *exchange, const void *result)
{
    kw_request *request = exchange->request;
    remove_active(exchange);
    if (exchange->oneway) {
        kw_request_drop(request);
    } else {
        kw_wire_form form = kw_request_form(request);
        kw_buffer *out = kw_request_reply(request);
        size_t mark = kw_wire_frame_begin(out, form);
        kw_wire_message_encode(out, form.protocol, exchange->name, KW_WIRE_REPLY, exchange->sequence_id);
        kw_wire_struct_encode(out, form.protocol, exchange->method->result, result);
        kw_wire_frame_end(out, form, mark);
        kw_request_replied(request);
    }
    kw_snapshot_unref(exchange->snapshot);
    kw_arena_free(exchange->call.arena);
}

/* What was read or written after the lease ended may be what another policy made of the rows: it is not
 * answered. */
void
kw_exchange_reply(kw_exchange *exchange, const void *result)
{
    kw_error fenced;
    if (is_fenced(exchange, &fenced)) {
        fenced.maybe_applied = serving(exchange)->writes;
        kw_exchange_fail(exchange, &fenced);
        return;
    }
    count_call(exchange, KW_OK);
    finish(exchange, result);
}

/* Callers' own mistakes are no news for the operator. */
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
        return KW_LOG_DEBUG;
    }
    g_assert_not_reached();
}

static void
log_failure(const kw_exchange *exchange, const kw_error *error)
{
    kw_part *part = exchange->part;
    kw_log_level level = level_of(error->code);
    uint64_t second = kw_clock_mono_ns() / 1000000000;
    if (!kw_log_enabled(level))
        return;
    if (second != part->log_second) {
        part->log_second = second;
        part->logged = 0;
    }
    if (part->logged++ >= LOG_MAX)
        return;
    kw_log(level, "service", "call failed", "request=%s method=%s code=%s peer=%s reason=\"%s\"",
           exchange->request_id, exchange->method->name, kw_code_name(error->code),
           kw_request_peer(exchange->request), error->text);
}

/* Every result has its exception as field 1. */
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

void
kw_exchange_fail(kw_exchange *exchange, const kw_error *error)
{
    kw_arena *arena = exchange->call.arena;
    const kw_wire_struct *table = exchange->method->result;
    void *result = kw_arena_alloc0(arena, table->size);
    set_failure(table, result, kw_errors_exception(error, exchange->request_id, arena));
    log_failure(exchange, error);
    count_call(exchange, error->code == KW_OK ? KW_INTERNAL : error->code);
    finish(exchange, result);
}

/* --- the beginning ---------------------------------------------------------------------------- */

/* Thrift's own exception, for what has no method of ours to answer. */
static void
refuse_message(kw_request *request, const kw_wire_message *message, kw_wire_exception_type type,
               const char *text)
{
    kw_counters_add(KW_FIGURE_calls_failed, 1);
    if (message->type == KW_WIRE_ONEWAY) {
        kw_request_drop(request);
        return;
    }
    kw_wire_form form = kw_request_form(request);
    kw_buffer *out = kw_request_reply(request);
    size_t mark = kw_wire_frame_begin(out, form);
    kw_wire_message_encode(out, form.protocol, message->name, KW_WIRE_EXCEPTION, message->sequence_id);
    kw_wire_exception_encode(out, form.protocol, type, text);
    kw_wire_frame_end(out, form, mark);
    kw_request_replied(request);
}

static void
refuse_method(kw_request *request, const kw_wire_message *message)
{
    const char *names[KW_API_METHOD_COUNT + 1] = {0};
    char shown[KW_SHOWN_MAX], text[2 * KW_SHOWN_MAX];
    for (size_t i = 0; i < KW_API_METHOD_COUNT; i++)
        names[i] = kw_api_methods[i].name;
    g_autofree char *name = g_strndup((const char *)message->name.data, message->name.size);
    const char *near = kw_nearest_name(name, names);
    g_snprintf(text, sizeof text, "there is no method %s%s%s%s", kw_show_name(message->name, shown),
               near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
    refuse_message(request, message, KW_WIRE_EXCEPTION_UNKNOWN_METHOD, text);
}

static char *
put_hex(char *to, uint64_t number)
{
    char digits[16];
    size_t count = 0;
    do {
        digits[count++] = "0123456789abcdef"[number & 15];
        number >>= 4;
    } while (number);
    while (count)
        *to++ = digits[--count];
    return to;
}

/* PREFIX-LOOP-CALL; by hand, since every call has one. */
static void
name_request(kw_exchange *exchange)
{
    kw_part *part = exchange->part;
    char *at = exchange->request_id;
    memcpy(at, part->service->id_prefix, 8);
    at[8] = '-';
    at = put_hex(at + 9, part->index);
    *at++ = '-';
    at = put_hex(at, part->calls++);
    *at = '\0';
}

static kw_exchange *
exchange_new(kw_part *part, kw_request *request, const kw_wire_message *message, const kw_wire_method *method)
{
    kw_arena *arena = kw_arena_new();
    kw_exchange *exchange = kw_arena_alloc(arena, sizeof *exchange);
    const char *subject = kw_request_subject(request);
    *exchange = (kw_exchange){.part = part,
                              .request = request,
                              .snapshot = part->snapshot,
                              .method = method,
                              .name = message->name,
                              .sequence_id = message->sequence_id,
                              .oneway = message->type == KW_WIRE_ONEWAY || method->oneway,
                              .started_ns = kw_clock_mono_ns()};
    part->snapshot->refs++;
    name_request(exchange);
    exchange->call = (kw_call){.arena = arena,
                               .policy = part->snapshot->policy,
                               .store = part->service->settings.store,
                               .door = part->door,
                               .loop = part->loop,
                               .stamper = part->service->settings.stamper,
                               .keyring = part->snapshot->keyring,
                               .maker = part->maker,
                               .identity = subject ? kw_bytes_of_text(subject) : KW_BYTES_NONE,
                               .deadline = KW_DEADLINE_NONE,
                               .request_id = exchange->request_id};
    return exchange;
}

/* Arguments that cannot be read end the call, not the connection: where the message ends is known. */
static bool
decode_args(kw_exchange *exchange, const kw_wire_message *message)
{
    const kw_wire_struct *table = exchange->method->args;
    kw_wire_protocol protocol = kw_request_form(exchange->request).protocol;
    kw_wire_limits limits = {.decoded_bytes = (size_t)kw_exchange_model(exchange)->limits.decoded_bytes,
                             .depth = KW_WIRE_DEPTH_DEFAULT};
    void *args = kw_arena_alloc0(exchange->call.arena, table->size);
    kw_error error = KW_ERROR_NONE;
    exchange->args = args;
    if (kw_wire_struct_decode(table, protocol, message->body, limits, exchange->call.arena, args, &error))
        return true;
    refuse_message(exchange->request, message, KW_WIRE_EXCEPTION_PROTOCOL_ERROR, error.text);
    kw_snapshot_unref(exchange->snapshot);
    kw_arena_free(exchange->call.arena);
    return false;
}

static void
start(kw_exchange *exchange)
{
    const kw_part *part = exchange->part;
    const kw_fence *fence = part->service->settings.fence;
    kw_error fenced;
    if (fence)
        exchange->era = kw_fence_era(fence);
    if (serving(exchange)->needs_store && !part->gate_open) {
        kw_exchange_fail(exchange, &part->gate);
    } else if (is_fenced(exchange, &fenced)) {
        kw_exchange_fail(exchange, &fenced);
    } else {
        if (serving(exchange)->needs_store)
            add_active(exchange);
        serving(exchange)->run(exchange);
    }
}

void
kw_exchange_begin(kw_part *part, kw_request *request)
{
    kw_wire_message message;
    kw_error error = KW_ERROR_NONE;
    if (!kw_wire_message_decode(kw_request_form(request).protocol, kw_request_payload(request), &message,
                                &error)) {
        kw_request_refuse(request, error.text);
        return;
    }
    if (message.type != KW_WIRE_CALL && message.type != KW_WIRE_ONEWAY) {
        refuse_message(request, &message, KW_WIRE_EXCEPTION_INVALID_MESSAGE_TYPE,
                       "only calls are served here");
        return;
    }
    const kw_wire_method *method = kw_wire_method_find(kw_api_methods, KW_API_METHOD_COUNT, message.name);
    if (!method) {
        refuse_method(request, &message);
        return;
    }
    kw_exchange *exchange = exchange_new(part, request, &message, method);
    if (!decode_args(exchange, &message))
        return;
    kw_counters_add(KW_FIGURE_calls_started, 1);
    kw_counters_add(KW_FIGURE_calls_in_flight, 1);
    exchange->call.deadline = kw_deadline_in_ms(kw_exchange_model(exchange)->timeouts.call_ms);
    if (!kw_hold_catch(exchange))
        start(exchange);
}

void
kw_exchange_resume(kw_exchange *exchange)
{
    kw_snapshot *snapshot = exchange->part->snapshot;
    snapshot->refs++;
    kw_snapshot_unref(exchange->snapshot);
    exchange->snapshot = snapshot;
    exchange->call.policy = snapshot->policy;
    exchange->call.keyring = snapshot->keyring;
    start(exchange);
}

/* --- what methods ask for --------------------------------------------------------------------- */

bool
kw_exchange_take_deadline(kw_exchange *exchange, bool given, int32_t deadline_ms, kw_error *ret_error)
{
    if (!given)
        return true;
    if (deadline_ms <= 0)
        return kw_error_set(ret_error, KW_INVALID, "deadline_ms must be at least 1, not %d", deadline_ms);
    /* from its arrival: it may have been held since */
    exchange->call.deadline = exchange->started_ns + (uint64_t)deadline_ms * 1000000;
    return true;
}

bool
kw_exchange_take_options(kw_exchange *exchange, const kw_api_Options *options, kw_write_options *ret_write,
                         kw_error *ret_error)
{
    kw_write_options how = {.durability = KW_DURABILITY_DEFAULT};
    if (options &&
        !kw_exchange_take_deadline(exchange, options->has_deadline_ms, options->deadline_ms, ret_error))
        return false;
    if (options && options->has_durability) {
        if (options->durability < KW_DURABILITY_DEFAULT || options->durability > KW_DURABILITY_FSYNC_WAL)
            return kw_error_set(ret_error, KW_INVALID, "options.durability %d does not exist",
                                options->durability);
        how.durability = (kw_durability)options->durability;
    }
    if (options && options->has_timestamp) {
        if (options->timestamp < 0 || options->timestamp == KW_TIMESTAMP_NONE)
            return kw_error_set(ret_error, KW_INVALID,
                                "options.timestamp %" G_GINT64_FORMAT
                                " is not a time in milliseconds since 1970",
                                options->timestamp);
        how.has_timestamp = true;
        how.timestamp = options->timestamp;
    }
    if (ret_write)
        *ret_write = how;
    return true;
}

bool
kw_exchange_find_table(const kw_exchange *exchange, bool given, kw_bytes name, const kw_table **ret_table,
                       kw_error *ret_error)
{
    char shown[KW_SHOWN_MAX];
    if (!given)
        return kw_error_set(ret_error, KW_INVALID, "the argument table is missing");
    *ret_table = kw_policy_find_table(exchange->call.policy, name);
    if (*ret_table)
        return true;
    const char *near = kw_policy_nearest_table(exchange->call.policy, name);
    return kw_error_set(ret_error, KW_NOT_FOUND, "there is no table %s%s%s%s", kw_show_name(name, shown),
                        near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
}
