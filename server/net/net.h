/* Listeners, loops and sessions: bytes of callers in, whole messages out, replies back in order.
 *
 * One thread per loop; each loop has a listening socket of its own for every listener (SO_REUSEPORT)
 * and shares nothing with the others but the count of connections. What a message means is the
 * handler's business (service); net knows where messages end, which form they have, and the limits.
 */
#pragma once

#include "base/budget.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/loop.h"
#include "tls/tls.h"
#include "wire/wire.h"

typedef struct kw_net kw_net;

/* One message of a caller, to be ended exactly once with one of the kw_request_* endings. The payload and
 * every slice of it live until then, whatever becomes of the connection. */
typedef struct kw_request kw_request;

typedef struct kw_net_limits {
    size_t connections;      /* over all loops; further ones are refused */
    size_t peer_connections; /* of one peer (net/peers.h) */
    size_t frame_bytes;      /* of one message; also of the messages in flight of one connection */
    uint32_t in_flight;      /* messages per connection; then it is not read from */
    uint64_t
        frame_ms; /* from a message's first byte to its last; also for a peer that takes no byte of a reply */
    uint64_t idle_ms; /* nothing in flight, nothing half there; 0: for ever */
    uint64_t handshake_ms;
} kw_net_limits;

typedef struct kw_net_handler {
    void *user;
    /* Before the loop runs. The result is that loop's state, given to the two below. */
    void *(*loop_open)(void *user, kw_loop *loop, unsigned index);
    /* On the loop's thread: a whole message. May be finished inside. */
    void (*request)(void *state, kw_request *request);
    /* On the loop's thread, when draining, after the last session closed: lets every request that is still
     * open end, then calls closed (on the loop). The loop's state is not used after that. */
    void (*loop_close)(void *state, void (*closed)(void *closed_user), void *closed_user);
} kw_net_handler;

/* loops >= 1. */
kw_net *kw_net_new(unsigned loops, kw_net_limits limits, const kw_net_handler *handler);

/* Adds a listener to every loop, before start; nothing is accepted yet. port 0 takes any free one. tls may be
 * NULL; it must outlive the net. UNAVAILABLE naming host and port, also when another process listens there
 * already. */
bool kw_net_listen(kw_net *net, const char *host, uint16_t port, kw_tls_context *tls, uint16_t *ret_port,
                   kw_error *ret_error);

/* Starts the threads and accepts. */
void kw_net_start(kw_net *net);

/* Holds for connections and messages to come; any thread, until drain. */
void kw_net_set_limits(kw_net *net, kw_net_limits limits);

/* Has every loop turned within the last max_age_ms? For watchdogs; any thread. */
bool kw_net_alive(const kw_net *net, uint64_t max_age_ms);

/* Stops accepting; lets calls that have arrived be answered; refuses further calls with UNAVAILABLE and
 * closes each connection when it is quiet. After drain_ms it closes what is left, then the loops' states.
 * drained is called on the loop `tell` when all is done. Once; from tell's thread. */
void kw_net_drain(kw_net *net, uint64_t drain_ms, kw_loop *tell, void (*drained)(void *user), void *user);

/* Does not wait any longer; while draining. */
void kw_net_hurry(kw_net *net);

/* Ends the threads. After drained. NULL is fine. */
void kw_net_free(kw_net *net);

/* --- a message ------------------------------------------------------------------------------- */

kw_bytes kw_request_payload(const kw_request *request);
kw_wire_form kw_request_form(const kw_request *request);
/* Address of the peer, for the log. */
const char *kw_request_peer(const kw_request *request);
/* The same number for all connections of the peer that limits.peer_connections counts; 0: it is not known. */
uint32_t kw_request_peer_number(const kw_request *request);
/* Subject of the verified client certificate, NULL without one. */
const char *kw_request_subject(const kw_request *request);

/* What the connection holds is charged to this account; it lives until the request has ended. The account has
 * left (kw_account_has_left) when nobody can take a reply any more. */
kw_account *kw_request_account(const kw_request *request);
/* Set: the call must be answered with this error, nothing else of it counts. It stays as long as the request.
 */
const kw_error *kw_request_refusal(const kw_request *request);

/* Bytes of replies that the connection's peer has not taken yet. */
size_t kw_request_unsent(const kw_request *request);
/* How often the connection's peer has taken all replies that there were. */
uint64_t kw_request_drained(const kw_request *request);

/* Where the reply goes: append exactly one message (with its frame when the form is framed), then
 * kw_request_replied. Nothing else may happen on the loop in between. */
kw_buffer *kw_request_reply(kw_request *request);
void kw_request_replied(kw_request *request);

/* Gives a whole message as the reply, with its frame when the form is framed; *reply is empty afterwards. In
 * place of kw_request_reply. */
void kw_request_give_reply(kw_request *request, kw_buffer *reply);

/* The same in two steps, for a call that is answered while work for it goes on: after kw_request_answered the
 * reply leaves, while the payload stays and the request counts as in flight until kw_request_release. */
void kw_request_answered(kw_request *request);
void kw_request_release(kw_request *request);

/* Ends a message that gets no reply (oneway). */
void kw_request_drop(kw_request *request);

/* Ends a message that cannot be answered and the connection with it; the reason goes to the log. */
void kw_request_refuse(kw_request *request, const char *reason);
