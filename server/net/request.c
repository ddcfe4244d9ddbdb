/* Messages in flight. A session queues its requests in order of arrival. The reply of the first request is
 * encoded directly into the session's output. Any other reply waits in the request's own buffer until all
 * earlier requests are answered. A reply that is too large to be combined with the output also waits until
 * the output is empty. A reply of more than COMBINED_MAX bytes becomes the output without a copy. */
#include "net/output.h"
#include "net/session.h"

#include <glib.h>

/* Replies are combined in one buffer up to this size. */
#define COMBINED_MAX ((size_t)128 * 1024)

kw_request *
kw_request_new(kw_session *session, kw_bytes payload)
{
    kw_net_worker *worker = session->worker;
    kw_request *request = worker->spare_requests;
    g_assert(session->state == KW_SESSION_OPEN && session->frame && !session->first == !session->last);
    if (request)
        worker->spare_requests = request->next;
    else
        request = g_new(kw_request, 1);
    *request = (kw_request){.session = session,
                            .frame = kw_frame_ref(session->frame),
                            .payload = payload,
                            .form = kw_wire_reader_form(session->reader),
                            .held = KW_BUFFER_EMPTY};
    if (session->last)
        session->last->next = request;
    else
        session->first = request;
    session->last = request;
    session->requests++;
    session->held_bytes += payload.size;
    worker->requests++;
    return request;
}

kw_bytes
kw_request_payload(const kw_request *request)
{
    return request->payload;
}

kw_wire_form
kw_request_form(const kw_request *request)
{
    return request->form;
}

const char *
kw_request_peer(const kw_request *request)
{
    return request->session->peer;
}

uint32_t
kw_request_peer_number(const kw_request *request)
{
    const char *name = request->session->counted_peer;
    return name ? g_str_hash(name) : 0;
}

const kw_principal *
kw_request_principal(const kw_request *request)
{
    const kw_principal *principal = request->session->principal;
    return principal ? principal : &kw_principal_anonymous;
}

kw_grants **
kw_request_grants(const kw_request *request)
{
    kw_session *session = request->session;
    if (!session->has_grants)
        kw_account_charge(session->account, KW_MEMORY_FRAMES, KW_GRANTS_BYTES);
    session->has_grants = true;
    return &session->grants;
}

void
kw_request_set_call(kw_request *request, void *call)
{
    request->call = call;
}

void *
kw_request_call(const kw_request *request)
{
    return request->call;
}

kw_account *
kw_request_account(const kw_request *request)
{
    return request->session->account;
}

const kw_error *
kw_request_refusal(const kw_request *request)
{
    return request->session->refusal;
}

size_t
kw_request_unsent(const kw_request *request)
{
    return kw_output_unsent(request->session) + request->session->held_replies;
}

uint64_t
kw_request_emptied(const kw_request *request)
{
    return request->session->emptied;
}

static bool
can_send(const kw_session *session)
{
    return session->state == KW_SESSION_OPEN || session->state == KW_SESSION_FINISHING;
}

bool
kw_request_can_reply(const kw_request *request)
{
    return can_send(request->session);
}

kw_buffer *
kw_request_reply(kw_request *request)
{
    kw_session *session = request->session;
    g_assert(!request->done);
    if (request != session->first || !can_send(session) || session->output.size > COMBINED_MAX)
        return &request->held;
    kw_output_prepare(session);
    return &session->output;
}

void
kw_request_pass_reply(kw_request *request, kw_buffer *reply)
{
    g_assert(!request->done && request->held.capacity == 0);
    request->held = *reply;
    *reply = KW_BUFFER_EMPTY;
}

/* True if the reply can be appended to the output: if both are small, or the output is empty. */
static bool
can_append(const kw_session *session, const kw_buffer *held)
{
    return session->output.size == 0 || held->size == 0 || !can_send(session) ||
           session->output.size + held->size <= COMBINED_MAX;
}

static void
append_held(kw_session *session, kw_buffer *held)
{
    g_assert(session->held_replies >= held->capacity);
    session->held_replies -= held->capacity;
    if (held->size > 0 && can_send(session)) {
        if (session->output.capacity == 0 || held->size > COMBINED_MAX) {
            kw_buffer_clear(&session->output);
            session->output = *held;
            *held = KW_BUFFER_EMPTY;
        } else {
            kw_buffer_append(&session->output, kw_buffer_bytes(held));
        }
    }
    kw_buffer_clear(held);
}

static void
recycle_ended(kw_net_worker *worker, kw_request *request)
{
    if (!request->popped || !request->released)
        return;
    request->next = worker->spare_requests;
    worker->spare_requests = request;
}

void
kw_request_move_replies(kw_session *session)
{
    while (session->first && session->first->done && can_append(session, &session->first->held)) {
        kw_request *request = session->first;
        append_held(session, &request->held);
        session->first = request->next;
        if (!session->first)
            session->last = NULL;
        request->popped = true;
        recycle_ended(session->worker, request);
    }
}

static void
answer(kw_request *request)
{
    kw_session *session = request->session;
    g_assert(!request->done);
    request->done = true;
    if (!can_send(session))
        kw_buffer_clear(&request->held);
    session->held_replies += request->held.capacity;
    if (request == session->first)
        kw_request_move_replies(session);
}

static void
release(kw_request *request)
{
    kw_session *session = request->session;
    kw_net_worker *worker = session->worker;
    g_assert(request->done && !request->released);
    g_assert(session->requests > 0 && session->held_bytes >= request->payload.size && worker->requests > 0);
    session->requests--;
    session->held_bytes -= request->payload.size;
    worker->requests--;
    kw_frame_unref(&worker->frames, request->frame);
    request->released = true;
    recycle_ended(worker, request);
}

static void
update_session(kw_session *session)
{
    kw_net_worker *worker = session->worker;
    kw_output_charge(session);
    if (session->state == KW_SESSION_GONE)
        kw_session_release(session);
    else
        kw_session_answered(session);
    kw_net_worker_settle(worker);
}

void
kw_request_answered(kw_request *request)
{
    kw_session *session = request->session;
    answer(request);
    update_session(session);
}

void
kw_request_release(kw_request *request)
{
    kw_session *session = request->session;
    g_assert(request->done);
    release(request);
    update_session(session);
}

void
kw_request_replied(kw_request *request)
{
    kw_session *session = request->session;
    answer(request);
    release(request);
    update_session(session);
}

/* The handler can end the request, and with it the answered ones after it. So the search begins at the first
 * one each time. */
static kw_request *
first_unnotified(const kw_session *session)
{
    kw_request *request = session->first;
    while (request && (request->done || request->notified))
        request = request->next;
    return request;
}

void
kw_request_notify_left(kw_session *session)
{
    kw_net_worker *worker = session->worker;
    const kw_net_handler *handler = &worker->net->handler;
    session->dispatching = true;
    for (kw_request *request; (request = first_unnotified(session));) {
        request->notified = true;
        if (handler->left)
            handler->left(worker->state, request);
    }
    session->dispatching = false;
}

void
kw_request_drop(kw_request *request)
{
    kw_request_replied(request);
}

void
kw_request_refuse(kw_request *request, const char *reason)
{
    kw_session *session = request->session;
    if (session->state <= KW_SESSION_FINISHING)
        kw_session_break(session, reason);
    kw_request_replied(request);
}
