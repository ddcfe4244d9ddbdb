/* Messages in flight. A session's requests stand in order of arrival; a reply goes straight to the session's
 * output when it is the first one's, else into its request's own buffer until all before it have ended. */
#include "net/output.h"
#include "net/session.h"

#include <glib.h>

kw_request *
kw_request_take(kw_session *session, kw_bytes payload)
{
    kw_lane *lane = session->lane;
    kw_request *request = lane->spare_requests;
    if (request)
        lane->spare_requests = request->next;
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
    lane->requests++;
    return request;
}

static void
request_pop(kw_session *session)
{
    kw_lane *lane = session->lane;
    kw_request *request = session->first;
    session->first = request->next;
    if (!session->first)
        session->last = NULL;
    session->requests--;
    request->next = lane->spare_requests;
    lane->spare_requests = request;
    lane->requests--;
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

const char *
kw_request_subject(const kw_request *request)
{
    return request->session->tls ? kw_tls_peer(request->session->tls) : NULL;
}

static bool
takes_replies(const kw_session *session)
{
    return session->state == KW_SESSION_OPEN || session->state == KW_SESSION_FINISHING;
}

kw_buffer *
kw_request_reply(kw_request *request)
{
    kw_session *session = request->session;
    g_assert(!request->done);
    if (request != session->first || !takes_replies(session))
        return &request->held;
    kw_output_prepare(session);
    return &session->output;
}

/* Hands on the replies whose turn has come. */
static void
pop_done(kw_session *session)
{
    while (session->first && session->first->done) {
        kw_request *request = session->first;
        if (request->held.size > 0 && takes_replies(session)) {
            kw_output_prepare(session);
            kw_buffer_append(&session->output, kw_buffer_bytes(&request->held));
        }
        kw_buffer_clear(&request->held);
        request_pop(session);
    }
}

void
kw_request_replied(kw_request *request)
{
    kw_session *session = request->session;
    kw_lane *lane = session->lane;
    request->done = true;
    session->held_bytes -= request->payload.size;
    kw_frame_unref(&lane->frames, request->frame);
    request->frame = NULL;
    if (request == session->first)
        pop_done(session);
    if (session->state == KW_SESSION_GONE)
        kw_session_release(session);
    else
        kw_session_answered(session);
    kw_lane_settle(lane);
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
