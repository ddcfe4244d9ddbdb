/* Listeners, loops and sessions: bytes of callers in, whole messages out, replies back in order.
 *
 * One thread per loop; each loop has a listening socket of its own for every listener (SO_REUSEPORT)
 * and shares nothing with the others but the count of connections. What a message means is the
 * handler's business (service); net knows where messages end, which form they have, and the limits.
 */
#pragma once

#include "base/bytes.h"
#include "base/error.h"
#include "base/loop.h"
#include "net/tls.h"
#include "wire/wire.h"

typedef struct kw_net kw_net;

/* One message of a caller, to be finished exactly once with one of the kw_request_* endings. The
 * payload and every slice of it live until then, whatever becomes of the connection. */
typedef struct kw_request kw_request;

typedef struct kw_net_limits {
    size_t connections; /* over all loops; what comes beyond is accepted and closed at once */
    size_t frame_bytes; /* of one message; also of the messages in flight of one connection */
    uint32_t in_flight; /* messages per connection; then it is not read from */
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

/* For connections and messages to come; any thread, until drain. */
void kw_net_set_limits(kw_net *net, kw_net_limits limits);

/* Has every loop turned within the last max_age_ms? For watchdogs; any thread. */
bool kw_net_alive(const kw_net *net, uint64_t max_age_ms);

/* Stops accepting, closes idle connections, lets calls in flight be answered for drain_ms, then closes what
 * is left and the loops' states. drained is called on the loop `tell` when all is done. Once; from tell's
 * thread. */
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
/* Subject of the verified client certificate, NULL without one. */
const char *kw_request_subject(const kw_request *request);

/* Where the reply goes: append exactly one message (with its frame when the form is framed), then
 * kw_request_replied. Nothing else may happen on the loop in between. */
kw_buffer *kw_request_reply(kw_request *request);
void kw_request_replied(kw_request *request);

/* Ends a message that gets no reply (oneway). */
void kw_request_drop(kw_request *request);

/* Ends a message that cannot be answered and the connection with it; the reason goes to the log. */
void kw_request_refuse(kw_request *request, const char *reason);
