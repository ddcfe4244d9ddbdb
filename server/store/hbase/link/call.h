/* One Thrift2 call: its arguments, its state and its callback.
 *
 * The owner embeds it in the struct of an operation. From kw_hbase_pool_start until `done`, the pool and the
 * channels use it. `done` is called exactly once, on the loop, never from inside kw_hbase_pool_start. `args`
 * must live until then, because the call is encoded each time it is sent.
 */
#pragma once

#include "base/clock.h"
#include "base/error.h"
#include "base/fair.h"
#include "thrift/hbase2_wire.h"

#include <glib.h>

typedef struct kw_hbase_call kw_hbase_call;
typedef struct kw_hbase_channel kw_hbase_channel;

/* Keeps one channel open: Thrift2 knows an open scanner only on the connection that opened it. `channel`
 * becomes NULL when the channel is lost. */
typedef struct kw_hbase_pin {
    kw_hbase_channel *channel;
    GList link; /* in the channel's pins */
} kw_hbase_pin;

/* The kind of a failure, for code that handles some kinds in a special way. */
typedef enum kw_hbase_failure_kind {
    KW_HBASE_OTHER,
    KW_HBASE_LOST,        /* the connection was lost; a pinned call: it was lost before the call was sent */
    KW_HBASE_TIMED_OUT,   /* the call's deadline passed */
    KW_HBASE_UNREACHABLE, /* not sent (again): no server, too many calls waiting, or closing */
    KW_HBASE_REPLY_TOO_LARGE,  /* larger than our limit for replies */
    KW_HBASE_TEMPORARY,        /* a temporary failure of HBase (TIOError with canRetry) */
    KW_HBASE_INTERNAL_ERROR,   /* the server's "internal error", without a reason */
    KW_HBASE_TABLE_MISSING,    /* the store table does not exist */
    KW_HBASE_TABLE_EXISTS,     /* createTable: the table exists already */
    KW_HBASE_TABLE_DISABLED,   /* the table is disabled */
    KW_HBASE_NAMESPACE_EXISTS, /* createNamespace: the namespace exists already */
    KW_HBASE_SCANNER_GONE      /* the server does not know the scanner */
} kw_hbase_failure_kind;

typedef struct kw_hbase_failure {
    kw_hbase_failure_kind kind;
    kw_error error; /* for callers; maybe_applied: the server may have applied the call */
} kw_hbase_failure;

/* Exactly one of result (the method's kw_hb_..._result, without an exception) and failure is set. Both, and
 * every slice in them, are invalid after this returns, except slices in call->keep. */
typedef void (*kw_hbase_done)(kw_hbase_call *call, const void *result, const kw_hbase_failure *failure);

typedef enum kw_hbase_call_state {
    KW_HBASE_CALL_IDLE,      /* not started, or done */
    KW_HBASE_CALL_QUEUED,    /* waits for a channel: any, or the pinned one */
    KW_HBASE_CALL_WAITING,   /* waits until not_before_ns */
    KW_HBASE_CALL_IN_FLIGHT, /* sent, or partly sent */
    KW_HBASE_CALL_REJECTED,  /* failed before it was sent; done is called in the next loop iteration */
    KW_HBASE_CALL_ABANDONED  /* its deadline passed and done was called; the call waits for its late reply */
} kw_hbase_call_state;

struct kw_hbase_call {
    /* set by the owner */
    kw_hb_method method;
    const void *args; /* kw_hb_THBaseService_<method>_args */
    kw_bytes table;   /* for error texts; empty: none */
    kw_deadline deadline;
    bool repeatable;         /* sending the call twice has the same effect as sending it once */
    bool whole;              /* a multi-call: it is not sent again as a whole after a TIOError */
    bool changes;            /* a write: if it is sent and not answered, it may have been applied */
    bool fenced;             /* not sent while the store's fence is shut, or in another era of it */
    uint64_t era;            /* the earliest one of its writes; see kw_write */
    const kw_hbase_pin *pin; /* scanners: use only this channel, never send again; NULL: use any channel */
    /* Reads of one caller: its account; otherwise NULL. The call is not sent if the caller has disconnected
     * or memory is exhausted. */
    kw_account *account;
    uint64_t number; /* number of the call in its account, see base/fair.h */
    kw_arena
        *keep; /* if not NULL, the reply is copied to this arena, so that its slices stay valid after done */
    kw_hbase_done done;
    /* If set, the channel keeps the call after its deadline. It calls this once: with the late result, or
     * with NULL if the channel was lost. */
    void (*late)(kw_hbase_call *call, const void *result);
    bool *ret_sent; /* becomes true when bytes of the call may have reached a server; can be NULL */
    void *user;

    /* used by the pool */
    kw_hbase_call_state state;  /* only kw_hbase_call_move (move.h) changes it */
    kw_hbase_channel *channel;  /* IN_FLIGHT, ABANDONED; pinned calls: QUEUED */
    uint32_t attempts;          /* how often it was sent */
    bool sent;                  /* bytes of it may have reached a server */
    bool doubtful;              /* an earlier attempt may have been applied */
    uint64_t since_ns;          /* when it was sent */
    uint64_t not_before_ns;     /* WAITING */
    kw_hbase_failure *rejected; /* REJECTED: the failure that done will get */
    GList queue_link;           /* pinned calls: in the queue of the state; REJECTED */
    kw_fair_item queue_item;    /* other calls: in the pool's queue */
    GList active_link;          /* in the pool's list of all calls */
};
