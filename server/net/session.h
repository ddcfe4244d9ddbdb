/* Internal to net: one connection of a client.
 *
 *              (TLS)
 *   accepted --------> HANDSHAKE --+
 *       |                  |       |
 *       +-------> OPEN <---+       |       reads, parses, passes messages to the handler
 *                  |               |
 *                  v               |       the peer closed its side, draining, or malformed input:
 *              FINISHING           |       reads no more, still sends the replies in flight
 *                  |               |
 *                  v               |       all replies are sent, but closing now could make the peer
 *              LINGERING           |       lose them: drops input until the peer has closed its side
 *                  |               |
 *                  v               v
 *               CLOSING <----------+       the socket is being closed
 *                  |
 *                  v
 *                GONE                      freed as soon as its last request ends
 *
 * Every state before CLOSING can also move to CLOSING directly, for example when the connection fails.
 *
 * session.c: states; input.c: reading, parsing, order of work; output.c: replies; request.c: messages in
 * flight; entry.c: admission of connections; ending.c: time limits, draining; relief.c: shortage of memory.
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
    bool dispatching; /* the handler is being called, which delays flushing */
    bool sending_now; /* libuv is writing `sending` */
    bool held_back; /* input is not parsed yet: too much is in flight, memory is short, or others are next */
    bool peer_closed;   /* the peer has closed its side, and everything before that was read */
    bool left;          /* the peer has closed its side or the connection */
    bool input_stopped; /* reading has stopped; messages already read are still answered */
    bool counted;       /* included in the connection counts of the process and of its peer */
    bool paused;        /* not read from because memory is short */
    bool was_paused;    /* was paused at some time since reading stopped */

    kw_tls *tls;
    kw_principal *principal; /* NULL: anonymous. Set at most once, before the first request */
    kw_grants *grants;       /* the handler's; NULL until it decides about a call */
    bool has_grants;         /* their memory is charged to the account */
    kw_wire_reader *reader;
    kw_frame *frame; /* NULL while nothing is buffered */
    size_t start;    /* where the present message starts in the frame */

    kw_request *first, *last; /* whose replies are not in `output` yet, in order of arrival */
    uint32_t requests;        /* not released yet */
    size_t held_bytes;        /* payloads of the requests */

    kw_buffer output;  /* plain replies; the bytes before output_at are already encrypted */
    kw_buffer sending; /* bytes for the socket; those before sending_at are already written */
    size_t output_at, sending_at;
    uv_write_t write;
    size_t writing;   /* size of the piece that libuv writes */
    uint64_t emptied; /* number of writes to the socket that left no pending reply */
    size_t queued;    /* bytes that libuv still held at the last time check */

    uint64_t finished_bytes; /* of messages that have arrived completely */
    size_t message_bytes;    /* lower bound of the size of the unfinished message */
    size_t lacks;            /* bytes of memory that the unfinished message waits for (relief.h) */
    size_t unfinished;       /* size of its block, if that is counted in net->unfinished */
    size_t progress_bytes;   /* how much of it had arrived at progress_ms */
    uint64_t progress_ms; /* loop time at which a part of it arrived that counts as progress, or when reading
                             resumed */

    kw_account *account;
    size_t held_replies;    /* memory of replies that wait for earlier ones */
    size_t charged_replies; /* bytes charged to the account for replies */

    const kw_error *refusal; /* if not NULL, calls are answered with this error */
    kw_error *own_refusal;   /* owned by this session; refusal can point to it */
    char *counted_peer;      /* the peer whose connections include this one; NULL: not counted */

    uint64_t active_ms; /* loop time of the last byte in either direction, or when reading resumed or a write
                           began */
    uint64_t peer_read_ms; /* loop time when the peer last read bytes, or when a pending write began */
    uint64_t message_ms; /* loop time of the present message's first byte, or of the start of the handshake or
                            of lingering; 0: none */
    uint64_t end_ms;     /* loop time at which it finishes at the latest; 0: unset */
    char peer[56];       /* address and port, or the name of a Unix peer; for the log */
};

struct kw_request {
    kw_session *session;
    kw_request *next;
    kw_frame *frame;
    kw_bytes payload;
    kw_wire_form form;
    kw_buffer held; /* a reply that waits for earlier ones */
    void *call;     /* the handler's */
    bool notified;  /* the handler knows that the peer has left */
    bool done;      /* answered */
    bool popped;    /* removed from the session's queue; its reply was moved to the output */
    bool released;
};

/* --- session.c ----------------------------------------------------------------------------------- */

/* Returns a session without a socket. */
kw_session *kw_session_new(kw_net_worker *worker);

void kw_session_set_tls(kw_session *session, kw_tls *tls);

/* Sets who has opened the connection, once, before its first request. Takes ownership. */
void kw_session_set_principal(kw_session *session, kw_principal *principal);

/* The only function that changes the state of a session after kw_session_accept has set the first one.
 * Asserts that the move is allowed. */
void kw_session_move(kw_session *session, kw_session_state to);

/* Stops reading at once, and closes the session when nothing is in flight. */
void kw_session_finish(kw_session *session);

/* Like kw_session_finish, but first passes complete messages that were already read to the handler. */
void kw_session_stop_input(kw_session *session);

void kw_session_close(kw_session *session);

/* The peer has closed its side or the connection: notifies the handler soon, which stops the reads for this
 * peer. */
void kw_session_note_left(kw_session *session);

/* Finishes a session because of malformed input or a limit; logs and counts this. Replies to earlier messages
 * are still sent. */
void kw_session_break(kw_session *session, const char *reason);

/* Makes the loop call kw_session_update before it sleeps. */
void kw_session_mark_dirty(kw_session *session);

/* Frees the session if its socket is closed and its requests have ended. */
void kw_session_release(kw_session *session);

/* Bytes of the frame that are not passed to the handler. */
size_t kw_session_unparsed(const kw_session *session);

/* --- input.c ------------------------------------------------------------------------------------- */

/* Starts or resumes reading. */
void kw_session_start(kw_session *session);

void kw_session_stop_reading(kw_session *session);

/* Call this after a reply was added: it is sent now or before the loop sleeps. */
void kw_session_answered(kw_session *session);

/* Does what is due: passes further messages to the handler, flushes replies, resumes or stops reading, or
 * closes. */
void kw_session_update(kw_session *session);

/* Reads the bytes that the system has already received, unless reading stops first. */
void kw_session_read_rest(kw_session *session);

/* Notices that the peer has closed its side or the connection although the session does not read. */
void kw_session_look_for_end(kw_session *session);

/* --- entry.c ------------------------------------------------------------------------------------- */

/* Creates a session for the accepted socket. The session owns the socket. A connection that exceeds a limit
 * gets an error as a reply if possible; otherwise it is closed. */
void kw_session_accept(kw_net_worker *worker, int accepted, kw_tls_context *tls);

/* Call this after the TLS handshake. If the client sent a certificate, the connection is counted for the
 * certificate's subject instead of the address. */
void kw_session_identify(kw_session *session);

/* Removes the connection from the connection counts. */
void kw_session_uncount(kw_session *session);

/* --- ending.c ------------------------------------------------------------------------------------ */

/* Closes the session if it exceeds a time limit or is idle. Stops its input if its end_ms has passed, or if
 * it is quiet while draining. Called by the worker's sweep timer. */
void kw_session_check_time(kw_session *session, uint64_t now_ms);

/* Drains the session: answers calls that have arrived, rejects further ones, and closes when it is quiet. */
void kw_session_drain(kw_session *session);

/* True if closing the socket now could make the peer lose replies that were already sent. */
bool kw_session_must_linger(const kw_session *session);

/* --- request.c ----------------------------------------------------------------------------------- */

/* Moves replies to `output`, in order, up to the first request that is not answered. */
void kw_request_move_replies(kw_session *session);

/* Creates a request for a message and appends it to the session's queue. */
kw_request *kw_request_new(kw_session *session, kw_bytes payload);

/* Notifies the handler, once for each request of the session that is not answered, that the peer has left. */
void kw_request_notify_left(kw_session *session);
