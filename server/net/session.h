/* Inside of the module: one connection of a caller.
 *
 *              (TLS)
 *   accepted --------> HANDSHAKE --+
 *       |                  |       |
 *       +-------> OPEN <---+       |       reads, parses, hands out messages
 *                  |               |
 *                  v               |       peer said goodbye, draining, or broken input:
 *              FINISHING           |       no more input, replies in flight still go out
 *                  |               |
 *                  v               |       all was sent, but the peer may be sending: what it sends is
 *              LINGERING           |       dropped, since closing now would make it lose the last replies
 *                  |               |
 *                  v               v
 *               CLOSING <----------+       the socket is being closed
 *                  |
 *                  v
 *                GONE                      freed as soon as its last request ended
 *
 * session.c: states, input, order of work; output.c: replies; request.c: messages in flight;
 * entry.c: who may come in; ending.c: time limits, draining, shortage of memory.
 */
#pragma once

#include "net/worker.h"

typedef enum kw_session_state {
    KW_SESSION_HANDSHAKE,
    KW_SESSION_OPEN,
    KW_SESSION_FINISHING,
    KW_SESSION_LINGERING,
    KW_SESSION_CLOSING,
    KW_SESSION_GONE
} kw_session_state;

struct kw_session {
    uv_tcp_t handle;
    kw_net_worker *worker;
    kw_session *next, *previous; /* in worker->sessions */
    kw_session *next_dirty;
    kw_session_state state;
    bool dirty;
    bool reading;
    bool dispatching; /* inside the parse loop: flushing waits */
    bool sending_now; /* `sending` is with libuv */
    bool held_back;   /* whole messages may wait in the frame for room in flight */
    bool input_over;  /* the peer sends no more */
    bool input_ended; /* nothing more is read; what was read is answered */
    bool counted;     /* among the net's connections and its peer's */
    bool paused;      /* not read from because memory is short */
    bool was_paused;  /* ... at least for a part of the time that it was not read from */

    kw_tls *tls;
    kw_wire_reader *reader;
    kw_frame *frame; /* NULL while nothing is buffered */
    size_t start;    /* of the present message in the frame */

    kw_request *first, *last; /* not answered yet, in order of arrival */
    uint32_t requests;        /* not released yet */
    size_t held_bytes;        /* payloads of the requests */

    kw_buffer output;  /* replies, plain; the bytes before output_at were encrypted already */
    kw_buffer sending; /* being written; the bytes before sending_at were */
    size_t output_at, sending_at;
    uv_write_t write;
    size_t writing;   /* bytes that libuv was given */
    uint64_t drained; /* how often all replies that there were had been taken */
    size_t queued;    /* bytes libuv still held when the clock looked last */

    kw_account *account;
    size_t held_replies;    /* memory of replies that wait for their turn */
    size_t charged_replies; /* of what the account was charged for replies */

    const kw_error *refusal; /* calls are answered with it; NULL: they are served */
    kw_error *own_refusal;   /* what refusal points at, when it is this session's own */
    char *peer_name;         /* that it is counted for */

    uint64_t active_ms;  /* loop time of the last byte in either direction */
    uint64_t taken_ms;   /* loop time when the peer last took bytes, or was first offered them */
    uint64_t message_ms; /* the present message's first byte, or since when it lingers; 0: none */
    uint64_t end_ms;     /* it is finished then at the latest; 0: no such time */
    char peer[56];
};

struct kw_request {
    kw_session *session;
    kw_request *next;
    kw_frame *frame;
    kw_bytes payload;
    kw_wire_form form;
    kw_buffer held; /* a reply that waits for its turn */
    bool done;      /* answered */
    bool popped;    /* its reply, if any, was handed on */
    bool released;
};

/* --- session.c ---------------------------------------------------------------------------------- */

/* A session that nothing is known of yet, without a socket. */
kw_session *kw_session_new(kw_net_worker *worker);

void kw_session_take_tls(kw_session *session, kw_tls *tls);

/* Starts to read. */
void kw_session_start(kw_session *session);

/* No more input; closes when nothing is in flight. */
void kw_session_finish(kw_session *session);

/* The same, but messages that were read as a whole are handed out first. */
void kw_session_stop_input(kw_session *session);

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

/* Reads what the system has already received, as far as it may be handed out. */
void kw_session_read_rest(kw_session *session);

/* --- entry.c ------------------------------------------------------------------------------------ */

/* Takes over a connection; one beyond a limit is answered where that is possible, else closed. */
void kw_session_accept(kw_net_worker *worker, int accepted, kw_tls_context *tls);

/* The TLS handshake is done: from now on it is counted for its certificate, if it has one. */
void kw_session_identify(kw_session *session);

/* It counts no more. */
void kw_session_discount(kw_session *session);

/* --- ending.c ----------------------------------------------------------------------------------- */

/* Time limits; called by the worker's sweep. */
void kw_session_check_time(kw_session *session, uint64_t now_ms);

/* The worker drains: what has arrived is answered, further calls are refused, it is closed when it is quiet.
 */
void kw_session_drain(kw_session *session);

/* Is it kept from reading because memory is short and it holds more than its share? */
bool kw_session_is_paused(kw_session *session);

/* Looks again at a session that is paused, or that takes no replies; called while memory is short. */
void kw_session_relieve(kw_session *session, uint64_t now_ms);

/* All was sent: could the peer lose some of it if the socket were closed now? */
bool kw_session_must_linger(const kw_session *session);

/* --- request.c ---------------------------------------------------------------------------------- */

/* Hands replies whose turn has come on to `output`. */
void kw_request_hand_on(kw_session *session);

/* A message becomes a request, the last of the session. */
kw_request *kw_request_take(kw_session *session, kw_bytes payload);
