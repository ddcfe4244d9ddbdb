/* One connection to a Thrift2 server: TCP by libuv, TLS if configured, requests and replies.
 *
 *   NEW --> RESOLVING --> CONNECTING --> GREETING --> READY --> RETIRED
 *           (uv_getaddrinfo)  (TCP)    (TLS, first    (calls)   (a deadline passed: no new calls; late
 *                                       ping answered)           replies and closeScanner only)
 *   all but NEW --> LOST --> GONE (freed)
 *
 * A channel is READY only after the server has answered a ping: a server at its connection limit accepts
 * connections and never answers, and the server can use another form (forms.h). Thrift2 answers in order. A
 * reply with an unexpected sequence id or name means that the connection is out of step, so it is closed. One
 * loop, one thread.
 */
#pragma once

#include "base/loop.h"
#include "store/hbase/link/call.h"
#include "tls/tls.h"

#define KW_HBASE_PIPELINE_MAX 64
#define KW_HBASE_REPLY_MAX ((size_t)64 * 1024 * 1024)
/* hbase.regionserver.thrift.framed.max_frame_size_in_mb is 2: after a longer request HBase disconnects. */
#define KW_HBASE_FRAME_MAX ((size_t)2 * 1024 * 1024)

typedef struct kw_hbase_server kw_hbase_server;

typedef enum kw_hbase_channel_state { /* only kw_hbase_channel_move (move.h) changes it */
                                      KW_HBASE_CHANNEL_NEW,
                                      KW_HBASE_RESOLVING,
                                      KW_HBASE_CONNECTING,
                                      KW_HBASE_GREETING,
                                      KW_HBASE_READY,
                                      KW_HBASE_RETIRED,
                                      KW_HBASE_CHANNEL_LOST, /* the socket is being closed */
                                      KW_HBASE_CHANNEL_GONE
} kw_hbase_channel_state;

typedef struct kw_hbase_channel_settings {
    const char *host;
    uint16_t port;
    kw_tls_context *tls; /* NULL: no TLS */
    size_t reply_max;    /* KW_HBASE_REPLY_MAX */
} kw_hbase_channel_settings;

typedef struct kw_hbase_expected_reply {
    int32_t sequence_id;
    kw_hb_method method;
    kw_hbase_call *call; /* NULL: a ping, or a forgotten call */
} kw_hbase_expected_reply;

/* Why a channel was lost. */
typedef enum kw_hbase_loss {
    KW_HBASE_LOSS_CLOSED,    /* by the server or the network */
    KW_HBASE_LOSS_SILENT,    /* a ping was not answered in time */
    KW_HBASE_LOSS_BROKEN,    /* a message is not the expected reply */
    KW_HBASE_LOSS_TOO_LARGE, /* the expected reply is larger than the limit */
    KW_HBASE_LOSS_FOREIGN,   /* the server is not a Thrift2 server */
    KW_HBASE_LOSS_OURS       /* we closed it */
} kw_hbase_loss;

struct kw_hbase_channel {
    const kw_hbase_channel_settings *settings;
    kw_hbase_server *server;
    GList link;            /* in the server's channels */
    GQueue pinned;         /* used by the pool: calls that wait for this channel */
    GQueue pins;           /* used by the pool: kw_hbase_pin */
    bool last_sent_pinned; /* used by the pool: the last call sent was a pinned one */

    uint8_t form_number; /* see forms.h */
    kw_wire_form form;
    bool asked; /* LOST: the first ping was sent, and not answered */

    kw_hbase_channel_state state;
    kw_deadline open_deadline; /* for becoming READY; RETIRED: the time at which it is closed at the latest */
    kw_deadline address_deadline; /* CONNECTING: for the address in use */
    uint64_t opened_ns;           /* when kw_hbase_channel_open was called */
    uint64_t used_ns;             /* last sent or received */
    uint64_t ping_sent_ns;        /* 0: no ping in flight */
    uint64_t overdue_ns; /* used by the pool: since when a reply is overdue; 0: no reply is overdue */
    kw_hbase_loss loss;  /* LOST */
    char why[200];       /* LOST: the reason as text */

    uv_tcp_t tcp;
    uv_connect_t connect;
    uv_getaddrinfo_t resolve;
    struct addrinfo *addresses; /* of the name */
    struct addrinfo *address;   /* the one in use */
    bool resolving;
    bool tcp_open; /* the handle must be closed before the memory is freed */

    kw_tls *tls;
    kw_buffer plain_out; /* TLS only: one encoded message */
    kw_buffer out;       /* waits for the socket */
    kw_buffer writing;   /* libuv writes it */
    uv_write_t write;
    kw_buffer network_in; /* TLS only: encrypted input */
    kw_buffer in;
    size_t charged; /* to the memory budget, for the buffers */
    kw_wire_reader *reader;

    kw_hbase_expected_reply expected[KW_HBASE_PIPELINE_MAX + 1]; /* a ring, oldest first */
    uint32_t first_expected;
    uint32_t in_flight; /* calls and pings without a reply: the used part of the ring */
    int32_t next_sequence_id;
};

/* Starts to connect. */
void kw_hbase_channel_open(kw_hbase_server *server, kw_deadline open_deadline);

/* CONNECTING: gives up the address in use and tries the next one. False if there is no other. */
bool kw_hbase_channel_try_next_address(kw_hbase_channel *channel);

/* Encodes and sends the call; in_flight must be below KW_HBASE_PIPELINE_MAX. LIMIT if the request is longer
 * than the server accepts; nothing is sent then. If the socket fails, the channel is lost in a later loop
 * iteration. */
bool kw_hbase_channel_send(kw_hbase_channel *channel, kw_hbase_call *call, kw_error *ret_error);

/* False if the socket is closed or has unexpected input, even if the loop has not read it yet. Call
 * it only if nothing is in flight. */
bool kw_hbase_channel_is_open(const kw_hbase_channel *channel);

/* Drops the reply to this call when it arrives. */
void kw_hbase_channel_forget(kw_hbase_channel *channel, const kw_hbase_call *call);

/* Sends getThriftServerType, which a Thrift2 server answers without a request to HBase. Only if nothing is in
 * flight. */
void kw_hbase_channel_ping(kw_hbase_channel *channel);

/* Changes the state from READY to RETIRED. The channel is closed at `deadline` at the latest. */
void kw_hbase_channel_retire(kw_hbase_channel *channel, kw_deadline deadline);

/* Closes the channel, which is GONE in a later loop iteration. Only the first reason is kept. */
void kw_hbase_channel_close(kw_hbase_channel *channel, kw_hbase_loss loss, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Of a lost channel: removes and returns the oldest call in flight, NULL if there is no more. */
kw_hbase_call *kw_hbase_channel_pop_call(kw_hbase_channel *channel);
