/* One Thrift2 call on its way: who asked, what to send, where it is, what came back.
 *
 * The memory is the asker's (a member of an operation's struct). From kw_hbase_pool_start until
 * `done` the pool and the channels move it around; `done` is called exactly once, on the loop, never
 * from inside kw_hbase_pool_start. `args` must live until then: the call is encoded each time it is
 * sent.
 */
#pragma once

#include "base/clock.h"
#include "base/error.h"
#include "base/fair.h"
#include "thrift/hbase2_wire.h"

#include <glib.h>

typedef struct kw_hbase_call kw_hbase_call;
typedef struct kw_hbase_channel kw_hbase_channel;

/* Holds on to one channel (an opened scanner lives in one connection's server). channel becomes NULL
 * when the channel is lost. */
typedef struct kw_hbase_pin {
    kw_hbase_channel *channel;
    GList link; /* in the channel's pins */
} kw_hbase_pin;

/* What a failure was, for the few who treat one specially. */
typedef enum kw_hbase_failure_kind {
    KW_HBASE_OTHER,
    KW_HBASE_LOST,             /* the connection went, or was not there any more (pinned calls) */
    KW_HBASE_TIMED_OUT,        /* the call's deadline passed */
    KW_HBASE_UNREACHABLE,      /* no server, too many calls waiting, closing: it was not sent (again) */
    KW_HBASE_REPLY_TOO_LARGE,  /* beyond our limit of a reply */
    KW_HBASE_TROUBLE,          /* HBase could not, but may later (TIOError with canRetry) */
    KW_HBASE_INTERNAL_ERROR,   /* the server's "internal error", without a reason */
    KW_HBASE_TABLE_MISSING,    /* the store table does not exist */
    KW_HBASE_TABLE_EXISTS,     /* createTable: it is there already */
    KW_HBASE_TABLE_DISABLED,   /* somebody disabled it */
    KW_HBASE_NAMESPACE_EXISTS, /* createNamespace: it is there already */
    KW_HBASE_SCANNER_GONE      /* the server does not know the scanner (any more) */
} kw_hbase_failure_kind;

typedef struct kw_hbase_failure {
    kw_hbase_failure_kind kind;
    kw_error error; /* for callers; maybe_applied: the server may have done it */
} kw_hbase_failure;

/* Exactly one of result (the method's kw_hb_..._result without an exception in it) and failure is
 * set. Both, and every slice in them, are gone when this returns, except slices of call->keep. */
typedef void (*kw_hbase_done)(kw_hbase_call *call, const void *result, const kw_hbase_failure *failure);

typedef enum kw_hbase_call_state {
    KW_HBASE_CALL_IDLE,      /* not started, or done */
    KW_HBASE_CALL_QUEUED,    /* waits for a channel (any, or the pinned one) */
    KW_HBASE_CALL_WAITING,   /* waits for its time to be tried again */
    KW_HBASE_CALL_IN_FLIGHT, /* sent, or partly sent */
    KW_HBASE_CALL_REJECTED,  /* failed before it was sent; done comes in the loop's next turn */
    KW_HBASE_CALL_ABANDONED  /* its deadline passed, done was called, its late reply is awaited */
} kw_hbase_call_state;

struct kw_hbase_call {
    /* the asker's */
    kw_hb_method method;
    const void *args; /* kw_hb_THBaseService_<method>_args */
    kw_bytes table;   /* for texts; empty: none */
    kw_deadline deadline;
    bool repeatable;         /* sending it twice is the same as once */
    bool whole;              /* a multi-call: its TIOError is not tried again as a whole */
    bool changes;            /* a write: it may have been applied when it was sent and not answered */
    const kw_hbase_pin *pin; /* only on this channel (scanners); never sent again; NULL: any */
    /* Of whoever asked for a read, NULL: of several or nobody. It is not sent when the account has left, nor
     * when memory is used up. */
    kw_account *account;
    uint64_t number; /* of the account's call, see base/fair.h */
    kw_arena *keep;  /* the reply is copied here, so that its slices outlive done; NULL: not */
    kw_hbase_done done;
    /* When set, the call stays with its channel after its deadline: called once with the late
     * result, or NULL when the channel was lost. */
    void (*late)(kw_hbase_call *call, const void *result);
    bool *ret_left; /* when set: becomes true when bytes of the call may have reached a server */
    void *user;

    /* the pool's */
    kw_hbase_call_state state;
    kw_hbase_channel *channel;  /* IN_FLIGHT, ABANDONED */
    uint32_t attempts;          /* times sent */
    bool left;                  /* bytes of it may have reached the server */
    bool doubtful;              /* it was sent before, and may have been applied then */
    uint64_t since_ns;          /* queued or sent at */
    uint64_t not_before_ns;     /* WAITING */
    kw_hbase_failure *rejected; /* REJECTED: what done will get */
    GList queue_link;           /* in the queue of its state; pinned calls */
    kw_fair_item turn;          /* in the pool's queue; others */
    GList active_link;          /* in the pool's list of all calls */
};
