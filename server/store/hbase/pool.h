/* The calls of one store handle, and the servers that they are sent to.
 *
 *   kw_hbase_pool_start --> QUEUED --> IN_FLIGHT --> done(result)
 *                             ^           |
 *                             |           +--> lost, trouble: WAITING (repeatable calls, within the
 *                             '-----------'    deadline and the retry budget), else done(failure)
 *
 * A call is sent on a channel with fewer calls in flight than the pipeline allows, of the server with the
 * fewest calls outstanding. If there is no such channel, the call waits in one queue, which is fair to
 * accounts, and each server opens at most one more channel at a time. Calls of an open scanner wait for the
 * scanner's own channel. A call that cannot be answered before its deadline, estimated from how long recent
 * calls took (pace.h), is rejected with BUSY, either at once or when it leaves the queue; it has not been
 * sent then.
 *
 * A channel with a call past its deadline gets no other calls until the late reply arrives. If that takes
 * longer than KW_HBASE_OVERDUE_MS, the channel is retired and another one can replace it.
 *
 * After a channel could not be opened, its server is not tried for some time, which doubles with each
 * failure. A server that is silent while calls are outstanding is pinged; if the ping is not answered either,
 * its channels are closed. While no server is reachable, calls wait for KW_HBASE_PATIENCE_MS; later calls
 * fail at once.
 *
 * One loop, one thread.
 */
#pragma once

#include "store/hbase/channel.h"
#include "store/hbase/hbase_store.h"
#include "store/hbase/pace.h"

#define KW_HBASE_CALL_MS 60000 /* a call without a deadline gets this one */
#define KW_HBASE_PATIENCE_MS 10000
#define KW_HBASE_OVERDUE_MS 1000
#define KW_HBASE_LINGER_MS 60000 /* a retired channel: Thrift2 forgets scanners after as long */
#define KW_HBASE_ATTEMPTS_MAX 8
#define KW_HBASE_BUDGET_MAX 50.0 /* retries that may be saved up */
#define KW_HBASE_QUEUE_MAX 20000
#define KW_HBASE_TICK_MS 200
#define KW_HBASE_REST_MAX_MS 30000

/* A deadline for what has none. */
static inline kw_deadline
kw_hbase_deadline(kw_deadline deadline)
{
    return deadline == KW_DEADLINE_NONE ? kw_deadline_in_ms(KW_HBASE_CALL_MS) : deadline;
}

typedef struct kw_hbase_pool kw_hbase_pool;

typedef struct kw_hbase_server {
    kw_hbase_pool *pool;
    size_t index; /* in the settings */
    kw_hbase_channel_settings settings;
    char *name;      /* "host:port" */
    GQueue channels; /* all that are not gone */
    kw_hbase_channel *opening;
    uint32_t outstanding; /* calls in flight that somebody waits for */
    bool suspect;         /* silent too long; others are asked first */
    uint32_t losses;      /* channels lost under a call since the last reply */
    uint64_t heard_ns;    /* last reply, or the first call after a quiet time */
    uint64_t rest_until_ns;
    int64_t rest_ms; /* the next rest */
} kw_hbase_server;

struct kw_hbase_pool {
    kw_hbase_store *store;
    kw_loop *loop;
    kw_hbase_server *servers;
    size_t servers_count;
    size_t turn;        /* among equals: which server is asked first */
    GQueue active;      /* every call between start and done */
    kw_fair *queue;     /* QUEUED, not pinned */
    kw_hbase_flow flow; /* of the queue */
    kw_hbase_pace paces[KW_HB_METHOD_COUNT];
    GQueue rejected; /* REJECTED */
    kw_task reject_task;
    bool reject_posted;
    kw_timer *sweep; /* next deadline or next try */
    uint64_t sweep_ns;
    kw_timer *tick;
    void (*ticked)(void *user); /* the store handle's, after the pool's own */
    void *user;
    kw_arena *scratch; /* what the present reply is decoded into */
    double budget;
    uint32_t ready;         /* channels READY or RETIRED */
    uint64_t down_since_ns; /* while ready == 0 */
    uint64_t ticked_ns;     /* the last tick */
    bool late;              /* it came late */
    uint64_t logged_ns;     /* the last HBase error that was logged */
    uint32_t not_logged;
    bool closing;
    uint64_t close_by_ns;
    void (*closed)(void *user);
};

void kw_hbase_pool_init(kw_hbase_pool *pool, kw_hbase_store *store, kw_loop *loop, void (*ticked)(void *user),
                        void *user);

/* See call.h. The asker has filled its part; the rest must be zero or as done left it. */
void kw_hbase_pool_start(kw_hbase_pool *pool, kw_hbase_call *call);

/* The same, but it is sent in delay_ms at the earliest. */
void kw_hbase_pool_start_after(kw_hbase_pool *pool, kw_hbase_call *call, uint64_t delay_ms);

/* The call fails before it is sent: done comes with this error in the loop's next turn. The asker's
 * way to answer what it refuses itself. */
void kw_hbase_pool_reject(kw_hbase_pool *pool, kw_hbase_call *call, const kw_error *error);

/* One more try, if the retry budget and the deadline allow it: takes it from the budget and gives
 * the time to wait before. */
bool kw_hbase_pool_may_repeat(kw_hbase_pool *pool, kw_deadline deadline, uint32_t attempts,
                              uint64_t *ret_delay_ms);

void kw_hbase_pool_pin(kw_hbase_pin *pin, kw_hbase_channel *channel);
void kw_hbase_pool_unpin(kw_hbase_pin *pin);

/* Completes everything with UNAVAILABLE, closes the channels (scanners first), then calls closed. */
void kw_hbase_pool_close(kw_hbase_pool *pool, void (*closed)(void *user));
