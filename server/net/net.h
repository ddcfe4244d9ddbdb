/* Listeners, loops and sessions: reads bytes from clients, passes whole messages to a handler and sends the
 * replies in order.
 *
 * One thread per loop. Each loop has its own socket for every listener (SO_REUSEPORT), and shares nothing
 * with the other loops but the counts of connections. This module finds the end and the form of each message
 * and enforces limits. The handler (service) interprets messages.
 */
#pragma once

#include "access/access.h"
#include "base/budget.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/loop.h"
#include "tls/tls.h"
#include "wire/wire.h"

typedef struct kw_net kw_net;

/* One message of a client. The handler must end it exactly once with one of the kw_request_* functions below.
 * The payload and every slice of it live until then, even if the connection is lost. */
typedef struct kw_request kw_request;

typedef struct kw_net_limits {
    size_t connections;      /* of all loops; further ones are refused */
    size_t peer_connections; /* of one peer (net/peers.h) */
    size_t frame_bytes;      /* of one message; reading pauses while a connection has more in flight */
    uint32_t in_flight;      /* messages per connection; at this number reading pauses */
    /* The time within which a message must arrive, from its first to its last byte, and for a TLS handshake.
     * Also the time within which a peer must read at least one byte of a pending reply. */
    uint64_t frame_ms;
    uint64_t idle_ms; /* of a connection without calls or partial messages; 0: no limit */
} kw_net_limits;

typedef struct kw_net_handler {
    void *user;
    /* Called before the loop runs. Returns that loop's state, which is passed to the two functions below. */
    void *(*loop_open)(void *user, kw_loop *loop, unsigned index);
    /* Called on the loop's thread for each whole message. Can end the request before it returns. */
    void (*request)(void *state, kw_request *request);
    /* Called at most once for each request that is not answered, when its peer has closed the connection or
     * its sending side: probably nobody reads the reply. Can end the request. Can be NULL. */
    void (*left)(void *state, kw_request *request);
    /* Called on the loop's thread when the time for draining is over. Must answer every request that is not
     * answered, now; its work can go on. Can be NULL. */
    void (*answer_all)(void *state);
    /* Called on the loop's thread while draining, after the last session closed. Must end every open request,
     * then call closed on the loop. The loop's state is not used after that. */
    void (*loop_close)(void *state, void (*closed)(void *closed_user), void *closed_user);
} kw_net_handler;

/* loops >= 1. */
kw_net *kw_net_new(unsigned loops, kw_net_limits limits, const kw_net_handler *handler);

/* Adds a listener to every loop, before kw_net_start. Port 0 selects any free port. tls can be NULL, and must
 * outlive the kw_net. A name can have several addresses: those that the machine does not have are skipped
 * with a warning. Fails with NOT_FOUND if no address is left, and with UNAVAILABLE, which names the address,
 * if the port of one is in use. This includes a port that SO_REUSEPORT would let this process share with
 * another one of the same user. */
bool kw_net_listen(kw_net *net, const char *host, uint16_t port, kw_tls_context *tls, uint16_t *ret_port,
                   kw_error *ret_error);

/* The same for a Unix socket at an absolute path, whose file gets these permissions. The loops share the
 * socket. A socket that a process has left there is replaced. Its connections have a principal of the kind
 * KW_PRINCIPAL_UNIX. */
bool kw_net_listen_unix(kw_net *net, const char *path, mode_t mode, kw_error *ret_error);

/* Starts the threads and accepts connections. */
void kw_net_start(kw_net *net);

/* Sets the limits of later connections and messages. Any thread, before kw_net_drain. */
void kw_net_set_limits(kw_net *net, kw_net_limits limits);

/* True if every loop ran its periodic timer within the last max_age_ms. For watchdogs. Any thread. */
bool kw_net_alive(const kw_net *net, uint64_t max_age_ms);

/* Shuts down. Stops accepting connections, lets calls that have arrived finish, rejects further calls with
 * UNAVAILABLE and closes each connection when it is idle. After drain_ms, lets the handler answer the
 * remaining calls, sends these replies for at most KW_NET_LAST_REPLIES_MS, and closes the remaining
 * connections. Then closes the loops' states, and finally calls drained on drained_loop. Call this once, on
 * the thread of drained_loop. */
#define KW_NET_LAST_REPLIES_MS 2000
void kw_net_drain(kw_net *net, uint64_t drain_ms, kw_loop *drained_loop, void (*drained)(void *user),
                  void *user);

/* While draining: closes the remaining connections now. Further calls have no effect. */
void kw_net_close_now(kw_net *net);

/* Stops the threads. Call this after drained was called. NULL is allowed. */
void kw_net_free(kw_net *net);

/* --- a message ----------------------------------------------------------------------------------- */

kw_bytes kw_request_payload(const kw_request *request);
kw_wire_form kw_request_form(const kw_request *request);
/* Address of the peer, or the name of a Unix peer; for the log. */
const char *kw_request_peer(const kw_request *request);
/* A number that all connections of a peer share (the peer that limits.peer_connections counts); 0:
 * unknown. */
uint32_t kw_request_peer_number(const kw_request *request);
/* Who has opened the connection. Never NULL; lives until the request has ended. */
const kw_principal *kw_request_principal(const kw_request *request);

/* What the handler keeps with the connection to decide about its calls; NULL at first. Freed with it. */
kw_grants **kw_request_grants(const kw_request *request);

/* What the handler keeps with the request; NULL at first. */
void kw_request_set_call(kw_request *request, void *call);
void *kw_request_call(const kw_request *request);
/* False once the connection is closed: then the reply is dropped. */
bool kw_request_can_reply(const kw_request *request);

/* The account that the connection's memory is charged to. It lives until the request has ended.
 * kw_account_client_is_gone is true for it once the peer has closed the connection or its sending side. */
kw_account *kw_request_account(const kw_request *request);
/* If not NULL, the call must be answered with this error and not be executed. It lives as long as the
 * request. */
const kw_error *kw_request_refusal(const kw_request *request);

/* Bytes of the connection's replies that are not written to its socket yet. */
size_t kw_request_unsent(const kw_request *request);
/* How many times a write to the connection's socket has left no pending reply. */
uint64_t kw_request_emptied(const kw_request *request);

/* Returns the buffer for the reply: append exactly one message (with its frame if the form is framed), then
 * call kw_request_replied. Do nothing else on the loop in between. */
kw_buffer *kw_request_reply(kw_request *request);
void kw_request_replied(kw_request *request);

/* Passes a whole message as the reply (with its frame if the form is framed), instead of kw_request_reply.
 * Moves the buffer: *reply is empty afterwards. */
void kw_request_pass_reply(kw_request *request, kw_buffer *reply);

/* kw_request_replied in two steps, for a call that is answered before its work is finished.
 * kw_request_answered sends the reply; the payload lives, and the request counts as in flight, until
 * kw_request_release. */
void kw_request_answered(kw_request *request);
void kw_request_release(kw_request *request);

/* Ends a message that gets no reply (oneway). */
void kw_request_drop(kw_request *request);

/* Ends a message that cannot be answered, closes its connection and logs the reason. */
void kw_request_refuse(kw_request *request, const char *reason);
