/* One connection to a Thrift2 server: libuv's TCP, TLS when asked for, messages out and in.
 *
 *                           .--> LOST <--------------------------------.
 *                           |  (any failure, at any time; then freed)   |
 *   RESOLVING --> CONNECTING --> GREETING --> READY --> RETIRED --------'
 *   (uv_getaddrinfo)  (TCP)    (TLS, first    (calls)   (a deadline passed: no new calls; late
 *                               ping answered)           replies and closeScanner only)
 *
 * A channel is READY only after the server answered a ping: a server at its connection limit accepts
 * and stays silent. Thrift2 answers in order; a reply with another sequence id or name means that
 * the connection is out of step, and it is thrown away. One loop, one thread.
 */
#pragma once

#include "base/loop.h"
#include "store/hbase/call.h"
#include "tls/tls.h"

#define KW_HBASE_PIPELINE_MAX 64
#define KW_HBASE_REPLY_MAX ((size_t)64 * 1024 * 1024)
/* hbase.regionserver.thrift.framed.max_frame_size_in_mb is 2: a longer request gets the connection dropped.
 */
#define KW_HBASE_FRAME_MAX ((size_t)2 * 1024 * 1024)

typedef enum kw_hbase_channel_state {
    KW_HBASE_RESOLVING,
    KW_HBASE_CONNECTING,
    KW_HBASE_GREETING,
    KW_HBASE_READY,
    KW_HBASE_RETIRED,
    KW_HBASE_CHANNEL_LOST
} kw_hbase_channel_state;

/* How the owner hears of it. `answered` gets the call NULL when nobody waits for that reply any more;
 * after `lost` the channel is freed. */
typedef struct kw_hbase_channel_events {
    void (*ready)(kw_hbase_channel *channel);
    void (*answered)(kw_hbase_channel *channel, kw_hbase_call *call, const kw_wire_message *message);
    void (*lost)(kw_hbase_channel *channel);
} kw_hbase_channel_events;

typedef struct kw_hbase_channel_settings {
    const char *host;
    uint16_t port;
    kw_wire_form form;
    kw_tls_context *tls; /* NULL: none */
    size_t reply_max;    /* KW_HBASE_REPLY_MAX */
} kw_hbase_channel_settings;

typedef struct kw_hbase_slot {
    int32_t sequence_id;
    kw_hb_method method;
    kw_hbase_call *call; /* NULL: given up */
} kw_hbase_slot;

typedef enum kw_hbase_loss {
    KW_HBASE_LOSS_CLOSED,    /* the server's or the network's doing */
    KW_HBASE_LOSS_SILENT,    /* a ping was not answered in time */
    KW_HBASE_LOSS_BROKEN,    /* what came is not the reply that was due */
    KW_HBASE_LOSS_TOO_LARGE, /* the reply that was due is beyond the limit */
    KW_HBASE_LOSS_OURS       /* we closed it */
} kw_hbase_loss;

struct kw_hbase_channel {
    const kw_hbase_channel_settings *settings;
    const kw_hbase_channel_events *events;
    void *owner;
    GList link;       /* the owner's */
    GQueue pinned;    /* the owner's: calls that wait for this channel */
    GQueue pins;      /* the owner's: kw_hbase_pin, who holds on to it */
    bool took_pinned; /* the owner's: whose turn it is */

    kw_hbase_channel_state state;
    bool was_ready;
    kw_deadline open_deadline; /* until READY; RETIRED: until it is closed all the same */
    uint64_t opened_ns;        /* when kw_hbase_channel_open was called */
    uint64_t used_ns;          /* last sent or received */
    uint64_t ping_sent_ns;     /* 0: no ping in flight */
    uint64_t overdue_ns;       /* the owner's: since when it waits for a late reply; 0: it does not */
    kw_hbase_loss loss;        /* LOST: why */
    char why[200];

    uv_tcp_t tcp;
    uv_connect_t connect;
    uv_getaddrinfo_t resolve;
    struct addrinfo *addresses; /* what the name gave; */
    struct addrinfo *address;   /* the one that is tried */
    bool resolving;
    bool tcp_open; /* the handle must be closed before the memory goes */

    kw_tls *tls;
    kw_buffer plain_out; /* one encoded message, TLS only */
    kw_buffer out;       /* waits for the socket */
    kw_buffer writing;   /* libuv has it */
    uv_write_t write;
    kw_buffer network_in; /* TLS only */
    kw_buffer in;
    size_t charged; /* to the memory budget, for the buffers */
    kw_wire_reader *reader;

    kw_hbase_slot slots[KW_HBASE_PIPELINE_MAX + 1];
    uint32_t first_slot;
    uint32_t in_flight;
    int32_t next_sequence_id;
};

/* Starts to connect; ready or lost follows. Both strings and the settings are borrowed for its life. */
kw_hbase_channel *kw_hbase_channel_open(kw_loop *loop, const kw_hbase_channel_settings *settings,
                                        const kw_hbase_channel_events *events, void *owner,
                                        kw_deadline open_deadline);

/* Encodes and sends. LIMIT when the request is longer than the server takes (nothing is sent then). A
 * socket that fails here is reported as lost in a later turn. in_flight < KW_HBASE_PIPELINE_MAX. */
bool kw_hbase_channel_send(kw_hbase_channel *channel, kw_hbase_call *call, kw_error *ret_error);

/* Nobody waits for this call any more: its reply will be dropped. */
void kw_hbase_channel_forget(kw_hbase_channel *channel, const kw_hbase_call *call);

/* getThriftServerType, which the server answers by itself. Only with nothing in flight. */
void kw_hbase_channel_ping(kw_hbase_channel *channel);

/* READY -> RETIRED, until `deadline`. */
void kw_hbase_channel_retire(kw_hbase_channel *channel, kw_deadline deadline);

/* Ends it; `lost` follows in a later turn. The first reason counts. */
void kw_hbase_channel_close(kw_hbase_channel *channel, kw_hbase_loss loss, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* In `lost`: the oldest call that was in flight, NULL when none is left. */
kw_hbase_call *kw_hbase_channel_take(kw_hbase_channel *channel);
