/* Inside of the room: one connection of a caller.
 *
 *              (TLS)
 *   accepted --------> HANDSHAKE --+
 *       |                  |       |
 *       +-------> OPEN <---+       |       reads, parses, hands out messages
 *                  |               |
 *                  v               |       peer said goodbye, draining, or broken input:
 *              FINISHING           |       no more input, replies in flight still go out
 *                  |               |
 *                  v               v
 *               CLOSING <----------+       the socket is being closed
 *                  |
 *                  v
 *                GONE                      freed as soon as its last request ended
 */
#pragma once

#include "net/lane.h"

typedef enum kw_session_state {
    KW_SESSION_HANDSHAKE,
    KW_SESSION_OPEN,
    KW_SESSION_FINISHING,
    KW_SESSION_CLOSING,
    KW_SESSION_GONE
} kw_session_state;

struct kw_session {
    uv_tcp_t handle;
    kw_lane *lane;
    kw_session *next, *previous; /* in lane->sessions */
    kw_session *next_dirty;
    kw_session_state state;
    bool dirty;
    bool reading;
    bool dispatching; /* inside the parse loop: flushing waits */
    bool sending_now; /* `sending` is with libuv */
    bool held_back;   /* whole messages may wait in the frame for room in flight */
    bool input_over;  /* the peer sends no more */

    kw_tls *tls;
    kw_wire_reader *reader;
    kw_frame *frame; /* NULL while nothing is buffered */
    size_t start;    /* of the present message in the frame */

    kw_request *first, *last; /* in order of arrival */
    uint32_t requests;
    size_t held_bytes; /* payloads of the requests */

    kw_buffer output;  /* replies, plain */
    kw_buffer sending; /* being written */
    uv_write_t write;
    size_t queued; /* bytes libuv still held when the clock looked last */

    uint64_t active_ms;  /* loop time of the last byte in either direction */
    uint64_t message_ms; /* the present message's first byte; 0: none */
    char peer[56];
};

struct kw_request {
    kw_session *session;
    kw_request *next;
    kw_frame *frame;
    kw_bytes payload;
    kw_wire_form form;
    kw_buffer held; /* a reply that waits for its turn */
    bool done;
};

/* Takes the connection that waits on the listener; refuses and closes it beyond the limit. */
void kw_session_accept(kw_lane *lane, uv_stream_t *listener, kw_tls_context *tls);

/* Time limits; called by the lane's sweep. */
void kw_session_check_time(kw_session *session, uint64_t now_ms);

/* No more input; closes when nothing is in flight. */
void kw_session_finish(kw_session *session);

void kw_session_close(kw_session *session);

/* Malformed input or a limit: logs, counts and finishes. Replies to what came before still go out. */
void kw_session_break(kw_session *session, const char *reason);

/* A reply was handed on: it leaves now or before the loop sleeps. */
void kw_session_answered(kw_session *session);

/* kw_session_turn will be called before the loop sleeps. */
void kw_session_mark_dirty(kw_session *session);

/* Frees it when nothing needs it any more. */
void kw_session_release(kw_session *session);

/* What is due at the end of a turn: flush, resume or close. */
void kw_session_turn(kw_session *session);

/* request.c: a message becomes a request, the last of the session. */
kw_request *kw_request_take(kw_session *session, kw_bytes payload);
