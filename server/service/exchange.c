#include "service/exchange_internal.h"

#include "base/container.h"
#include "base/guard.h"
#include "base/units.h"
#include "config/diagnostic.h"
#include "schema/progress.h"
#include "service/atomic_hold.h"
#include "service/hold.h"
#include "service/methods.h"
#include "service/outcome.h"
#include "service/read_queue.h"
#include "service/show.h"
#include "service/watch.h"
#include "wire/table.h"

#include <glib.h>

#define FENCED_RETRY_MS 1000
/* Estimated memory that a call needs, as a multiple of the size of its message. */
#define WORK_FACTOR 4
/* How long the timer waits after the deadline, so that the call itself can report a more precise result. */
#define LATE_MS 12

const kw_model *
kw_exchange_model(const kw_exchange *exchange)
{
    return kw_policy_model(exchange->call.policy);
}

const kw_method *
kw_exchange_method(const kw_exchange *exchange)
{
    return kw_method_of((size_t)(exchange->method - kw_api_methods));
}

/* --- the fence: whether this gateway still holds its lease --------------------------------------- */

bool
kw_exchange_is_fenced(const kw_exchange *exchange, kw_error *ret_error)
{
    const kw_fence *fence = exchange->worker->service->settings.fence;
    if (!fence || !kw_exchange_method(exchange)->needs_store)
        return false;
    if (kw_fence_is_open(fence) && exchange->era == kw_fence_era(fence))
        return false;
    bool reachable = kw_store_ready(exchange->worker->service->settings.store, ret_error);
    kw_error_set(ret_error, KW_UNAVAILABLE,
                 reachable
                     ? "this gateway's lease in the catalog has expired; it will serve again when the lease "
                       "is renewed"
                     : "the store cannot be reached; the gateway will serve again when it can");
    ret_error->retry_after_ms = FENCED_RETRY_MS;
    return true;
}

/* --- beginning ----------------------------------------------------------------------------------- */

static void
begin_counting(void)
{
    kw_metrics_add(KW_METRIC_calls_started, 1);
    kw_metrics_add(KW_METRIC_calls_in_flight, 1);
}

void
kw_exchange_set_deadline(kw_exchange *exchange, int64_t timeout_ms)
{
    kw_deadline now = kw_clock_mono_ns(), deadline = kw_deadline_in_ms(timeout_ms);
    if (deadline != KW_DEADLINE_NONE)
        deadline -= now - exchange->started_ns;
    exchange->call.deadline = deadline;
    if (deadline == KW_DEADLINE_NONE || kw_exchange_method(exchange)->ignores_deadline)
        kw_fine_timer_cancel(exchange->worker->timers, &exchange->timer);
    else
        kw_fine_timer_set(exchange->worker->timers, &exchange->timer, deadline + LATE_MS * KW_NS_PER_MS,
                          kw_exchange_on_deadline, exchange);
}

/* Rejects a message that is not a valid call of a known method, with Thrift's TApplicationException. */
static void
refuse_message(kw_service_worker *worker, kw_request *request, const kw_wire_message *message,
               kw_wire_exception_type type, const char *text)
{
    kw_outcome_log_refusal(worker, request, message->name, text);
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
refuse_method(kw_service_worker *worker, kw_request *request, const kw_wire_message *message)
{
    const char *names[KW_API_METHOD_COUNT + 1] = {0};
    char shown[KW_SHOWN_MAX], text[2 * KW_SHOWN_MAX];
    for (size_t i = 0; i < KW_API_METHOD_COUNT; i++)
        names[i] = kw_api_methods[i].name;
    g_autofree char *name = g_strndup((const char *)message->name.data, message->name.size);
    const char *near = kw_nearest_name(name, names);
    g_snprintf(text, sizeof text, "there is no method %s%s%s%s", kw_show_name(message->name, shown),
               near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
    refuse_message(worker, request, message, KW_WIRE_EXCEPTION_UNKNOWN_METHOD, text);
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

/* Writes the request id PREFIX-LOOP-CALL. Does not use printf, which is too slow to run in every call. */
static void
name_request(kw_exchange *exchange)
{
    kw_service_worker *worker = exchange->worker;
    char *at = exchange->request_id;
    memcpy(at, worker->service->id_prefix, 8);
    at[8] = '-';
    at = put_hex(at + 9, worker->index);
    *at++ = '-';
    at = put_hex(at, worker->calls++);
    *at = '\0';
}

/* --- guards -------------------------------------------------------------------------------------- */

static void
refuse(kw_call *call, const kw_error *error)
{
    kw_exchange_fail(KW_CONTAINER(call, kw_exchange, call), error);
}

typedef struct guarded {
    kw_exchange *exchange;
    void (*part)(kw_exchange *exchange);
} guarded;

static void
run_guarded(void *user)
{
    const guarded *self = user;
    self->part(self->exchange);
}

void
kw_exchange_guard(kw_exchange *exchange, void (*part)(kw_exchange *exchange))
{
    kw_call_guard(&exchange->call, run_guarded, &(guarded){exchange, part});
}

static kw_exchange *
exchange_new(kw_service_worker *worker, kw_request *request, const kw_wire_message *message,
             const kw_wire_method *method)
{
    kw_account *account = kw_account_ref(kw_request_account(request));
    kw_arena *arena = kw_arena_new_for(account, KW_MEMORY_CALLS);
    kw_exchange *exchange = kw_arena_alloc(arena, sizeof *exchange);
    *exchange = (kw_exchange){.worker = worker,
                              .request = request,
                              .account = account,
                              .snapshot = worker->snapshot,
                              .method = method,
                              .name = message->name,
                              .sequence_id = message->sequence_id,
                              .oneway = message->type == KW_WIRE_ONEWAY || method->oneway,
                              .started_ns = kw_clock_mono_ns()};
    worker->snapshot->refs++;
    kw_request_set_call(request, exchange);
    name_request(exchange);
    exchange->call = (kw_call){.arena = arena,
                               .account = account,
                               .peer = kw_request_peer_number(request),
                               .number = worker->calls,
                               .policy = worker->snapshot->policy,
                               .store = worker->service->settings.store,
                               .handle = worker->handle,
                               .loop = worker->loop,
                               .keyring = worker->snapshot->keyring,
                               .generator = worker->generator,
                               .compiler = worker->compiler,
                               .identity = kw_bytes_of_text(kw_principal_name(kw_request_principal(request))),
                               .deadline = KW_DEADLINE_NONE,
                               .request_id = exchange->request_id,
                               .refuse = refuse};
    return exchange;
}

/* --- arguments ----------------------------------------------------------------------------------- */

typedef struct decoding {
    kw_exchange *exchange;
    kw_bytes body;
    bool good;
    kw_error error;
} decoding;

static void
decode(void *user)
{
    decoding *self = user;
    kw_exchange *exchange = self->exchange;
    const kw_wire_struct *table = exchange->method->args;
    kw_wire_limits limits = {.decoded_bytes =
                                 (size_t)kw_limits_decoded_bytes(&kw_exchange_model(exchange)->limits),
                             .depth = KW_WIRE_DEPTH_DEFAULT};
    void *args = kw_arena_alloc0(exchange->call.arena, table->size);
    exchange->args = args;
    self->good = kw_wire_struct_decode(table, kw_request_form(exchange->request).protocol, self->body, limits,
                                       exchange->call.arena, args, &self->error);
}

/* Unreadable arguments fail the call but not the connection, because the end of the message is known. */
static bool
decode_args(kw_exchange *exchange, const kw_wire_message *message)
{
    kw_error refusal;
    decoding self;
    self.exchange = exchange;
    self.body = message->body;
    if (!kw_guard_run(exchange->call.arena, decode, &self, &refusal)) {
        begin_counting();
        kw_exchange_fail(exchange, &refusal);
        return false;
    }
    if (self.good)
        return true;
    refuse_message(exchange->worker, exchange->request, message, KW_WIRE_EXCEPTION_PROTOCOL_ERROR,
                   self.error.text);
    kw_exchange_leave(exchange, NULL);
    return false;
}

/* True if there is memory for the call. */
static bool
fits_memory(const kw_exchange *exchange, size_t payload)
{
    switch (kw_budget_pressure(exchange->account)) {
    case KW_PRESSURE_NONE:
        return true;
    case KW_PRESSURE_HIGH:
        return payload <= KW_EXCHANGE_SMALL / WORK_FACTOR ||
               (int64_t)payload * WORK_FACTOR <= kw_budget_left(exchange->account);
    case KW_PRESSURE_FULL:
        return false;
    }
    g_assert_not_reached();
}

/* Checks and decodes the call. False if the call was rejected and answered. */
static bool
admit(kw_exchange *exchange, const kw_wire_message *message)
{
    const kw_error *refusal = kw_request_refusal(exchange->request);
    if (!refusal && kw_exchange_is_unwanted(exchange)) {
        kw_metrics_add(KW_METRIC_calls_abandoned, 1);
        refusal = &kw_exchange_caller_left;
    }
    if (!refusal && fits_memory(exchange, message->body.size))
        return decode_args(exchange, message);
    begin_counting();
    if (refusal)
        kw_exchange_fail(exchange, refusal);
    else
        kw_exchange_fail_for_memory(exchange);
    return false;
}

/* `snapshot`: the one whose rules decide. */
static bool
may_under(const kw_exchange *exchange, const kw_snapshot *snapshot, kw_operation operation, kw_bytes table,
          kw_error *ret_error)
{
    const kw_request *request = exchange->request;
    return !snapshot->access || kw_access_check(snapshot->access, kw_request_principal(request),
                                                kw_request_grants(request), operation, table, ret_error);
}

bool
kw_exchange_may(const kw_exchange *exchange, kw_operation operation, kw_bytes table, kw_error *ret_error)
{
    return may_under(exchange, exchange->snapshot, operation, table, ret_error);
}

static bool
record(const kw_exchange *exchange, const kw_snapshot *snapshot, kw_audit_kind kind, kw_bytes table)
{
    const kw_request *request = exchange->request;
    return kw_audit_write(exchange->worker->service->settings.audit,
                          &(kw_audit_event){.kind = kind,
                                            .principal = kw_principal_name(kw_request_principal(request)),
                                            .peer = kw_request_peer(request),
                                            .method = exchange->method->name,
                                            .table = table,
                                            .request_id = exchange->request_id,
                                            .version = kw_policy_version(snapshot->policy)});
}

/* Decides about the call, under rules. Records the first call of its connection, and a denial. */
static bool
decide(const kw_exchange *exchange, const kw_snapshot *snapshot, kw_subject *ret_subject, kw_error *ret_error)
{
    bool first = *kw_request_grants(exchange->request) == NULL;
    if (!kw_method_read_subject(exchange, ret_subject, ret_error))
        return false;
    bool allowed =
        may_under(exchange, snapshot, kw_exchange_method(exchange)->operation, ret_subject->table, ret_error);
    if (first)
        record(exchange, snapshot, KW_AUDIT_LOGIN, KW_BYTES_NONE);
    if (!allowed)
        record(exchange, snapshot, KW_AUDIT_DENIED, ret_subject->table);
    return allowed;
}

bool
kw_exchange_may_still(const kw_exchange *exchange, kw_error *ret_error)
{
    kw_subject unused;
    const kw_snapshot *present = exchange->worker->snapshot;
    return present == exchange->snapshot || !present->access || decide(exchange, present, &unused, ret_error);
}

/* Only calls that are allowed wait for a held table: otherwise a caller could find out that a table exists.
 */
static bool
can_be_held(const kw_exchange *exchange, kw_error *ret_error)
{
    kw_subject unused;
    return !exchange->worker->hold || !exchange->snapshot->access ||
           decide(exchange, exchange->snapshot, &unused, ret_error);
}

static bool
must_be_recorded(const kw_exchange *exchange)
{
    kw_operation operation = kw_exchange_method(exchange)->operation;
    return operation == KW_OPERATION_OPERATE || operation == KW_OPERATION_CREATE;
}

/* A call whose subject has an error ends with it here, before access is decided: only a call with a subject
 * reaches its method. */
static bool
is_allowed(const kw_exchange *exchange, kw_error *ret_error)
{
    kw_subject subject;
    if (exchange->snapshot->access) {
        if (!decide(exchange, exchange->snapshot, &subject, ret_error))
            return false;
    } else if (must_be_recorded(exchange)) {
        subject = kw_subject_of(exchange);
    }
    return !must_be_recorded(exchange) ||
           record(exchange, exchange->snapshot, KW_AUDIT_ADMIN, subject.table) ||
           kw_error_set(
               ret_error, KW_UNAVAILABLE,
               "the audit log cannot be written, so methods that operate the gateway are not carried "
               "out; its log has the reason");
}

static bool
is_served(const kw_exchange *exchange, kw_error *ret_error)
{
    const kw_policy *policy = exchange->call.policy;
    return !kw_exchange_method(exchange)->uses_rows || kw_policy_count_unserved(policy) == 0 ||
           kw_policy_check_served(policy, kw_subject_of(exchange).table, ret_error);
}

static void
start(kw_exchange *exchange)
{
    const kw_service_worker *worker = exchange->worker;
    kw_error refusal;
    /* The era of the loop, not that of the fence: the loop possibly does not have the policy of the fence's
     * era yet. */
    exchange->era = exchange->call.era = worker->era;
    if (!is_allowed(exchange, &refusal)) {
        kw_exchange_fail(exchange, &refusal);
    } else if (kw_exchange_method(exchange)->needs_store && !worker->gate_open) {
        kw_exchange_fail(exchange, &worker->gate);
    } else if (kw_exchange_is_fenced(exchange, &refusal) || !is_served(exchange, &refusal) ||
               !kw_method_check_cells(exchange, &refusal)) {
        kw_exchange_fail(exchange, &refusal);
    } else if (!kw_atomic_hold_try_queue(exchange)) {
        kw_exchange_move(exchange, KW_EXCHANGE_RUNNING, NULL);
        kw_exchange_guard(exchange, kw_exchange_method(exchange)->run);
    }
}

void
kw_exchange_begin(kw_service_worker *worker, kw_request *request)
{
    kw_wire_message message;
    kw_error error = KW_ERROR_NONE;
    if (!kw_wire_message_decode(kw_request_form(request).protocol, kw_request_payload(request), &message,
                                &error)) {
        kw_request_refuse(request, error.text);
        return;
    }
    if (message.type != KW_WIRE_CALL && message.type != KW_WIRE_ONEWAY) {
        refuse_message(worker, request, &message, KW_WIRE_EXCEPTION_INVALID_MESSAGE_TYPE,
                       "the message is not a call");
        return;
    }
    const kw_wire_method *method = kw_wire_method_find(kw_api_methods, KW_API_METHOD_COUNT, message.name);
    if (!method) {
        refuse_method(worker, request, &message);
        return;
    }
    kw_exchange *exchange = exchange_new(worker, request, &message, method);
    kw_exchange_watch(exchange);
    if (!admit(exchange, &message))
        return;
    begin_counting();
    kw_exchange_set_deadline(exchange, kw_exchange_model(exchange)->timeouts.call_ms);
    if (!can_be_held(exchange, &error))
        kw_exchange_fail(exchange, &error);
    else if (!kw_hold_catch(exchange))
        start(exchange);
}

/* Takes over the caller's reference to the snapshot. */
static void
set_snapshot(kw_exchange *exchange, kw_snapshot *snapshot)
{
    kw_snapshot_unref(exchange->snapshot);
    exchange->snapshot = snapshot;
    exchange->call.policy = snapshot->policy;
    exchange->call.keyring = snapshot->keyring;
}

void
kw_exchange_resume(kw_exchange *exchange)
{
    kw_exchange_move(exchange, KW_EXCHANGE_BEGINNING, NULL);
    exchange->worker->snapshot->refs++;
    set_snapshot(exchange, exchange->worker->snapshot);
    start(exchange);
}

void
kw_exchange_drop_policy(kw_exchange *exchange)
{
    set_snapshot(exchange, kw_snapshot_first(exchange->worker->service));
}

/* --- functions for methods ----------------------------------------------------------------------- */

bool
kw_exchange_read_deadline(kw_exchange *exchange, bool given, int32_t deadline_ms, kw_error *ret_error)
{
    if (!given)
        return true;
    if (deadline_ms <= 0)
        return kw_error_set(ret_error, KW_INVALID, "deadline_ms must be at least 1, not %d", deadline_ms);
    kw_exchange_set_deadline(exchange, deadline_ms);
    return true;
}

bool
kw_exchange_read_options(kw_exchange *exchange, const kw_api_Options *options, kw_write_options *ret_write,
                         kw_error *ret_error)
{
    kw_write_options how = {.durability = KW_DURABILITY_DEFAULT};
    if (options &&
        !kw_exchange_read_deadline(exchange, options->has_deadline_ms, options->deadline_ms, ret_error))
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

static bool
is_shown(const kw_table *table, const void *exchange)
{
    return kw_exchange_may(exchange, KW_OPERATION_DESCRIBE, kw_bytes_of_text(table->name), NULL);
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
    if (kw_exchange_model(exchange)->policy_in_store && kw_policy_version(exchange->call.policy) == 0)
        return kw_error_set(ret_error, KW_UNAVAILABLE,
                            "the catalog has no policy yet; run `keyway policy import FILE`");
    const char *near = kw_policy_nearest_table(exchange->call.policy, name, is_shown, exchange);
    return kw_error_set(ret_error, KW_NOT_FOUND, "there is no table %s%s%s%s", kw_show_name(name, shown),
                        near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
}

bool
kw_exchange_has_stored_policy(const kw_exchange *exchange, kw_error *ret_error)
{
    const kw_model *model = kw_exchange_model(exchange);
    if (model->policy_in_store)
        return true;
    g_autofree char *name = g_path_get_basename(model->file); /* callers need not know the folder */
    return kw_error_set(ret_error, KW_REFUSED,
                        "this gateway has its policy from %s (policy.source: file): change the file and "
                        "run `keyway reload`, or move the policy to the store; see "
                        "keyway-changes(7), POLICY VERSIONS",
                        name);
}

const char *
kw_exchange_author(const kw_exchange *exchange)
{
    kw_bytes identity = exchange->call.identity;
    return identity.size > 0 ? kw_arena_text(exchange->call.arena, identity) : "anonymous";
}
