/* The calls of one store handle, and the servers that they are sent to.
 *
 *   kw_hbase_pool_start --> QUEUED --> IN_FLIGHT --> done(result)
 *                             ^           |
 *                             |           +--> lost, failed: WAITING (repeatable calls, within the
 *                             '-----------'    deadline and the retry budget), else done(failure)
 *
 * A call is sent to the server with the fewest outstanding calls, on a channel with fewer calls in flight
 * than the pipeline allows. If there is no such channel, the call waits in a queue, which is fair to
 * accounts. More channels are then opened, for each server one at a time. Calls of an open scanner wait for
 * the scanner's own channel. The durations of recent calls (pace.h) show whether a call can be answered
 * before its deadline. If it cannot, it is rejected with BUSY without being sent, either at once or when it
 * leaves the queue.
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

#include "store/hbase/hbase_store.h"
#include "store/hbase/link/channel.h"
#include "store/hbase/link/forms.h"
#include "store/hbase/link/pace.h"

#define KW_HBASE_CALL_MS 60000 /* a call without a deadline gets this one */
#define KW_HBASE_PATIENCE_MS 10000
#define KW_HBASE_OVERDUE_MS 1000
#define KW_HBASE_LINGER_MS 60000 /* of a retired channel: Thrift2's scanners expire after the same time */
#define KW_HBASE_ATTEMPTS_MAX 8
#define KW_HBASE_BUDGET_MAX 50.0 /* maximum of saved retries */
#define KW_HBASE_QUEUE_MAX 20000
#define KW_HBASE_TICK_MS 200
#define KW_HBASE_BACKOFF_MAX_MS 30000
#define KW_HBASE_PROBE_MS 1000 /* between attempts to connect while no server can be reached */

/* The default deadline for a call without one. */
static inline kw_deadline
kw_hbase_deadline(kw_deadline deadline)
{
    return deadline == KW_DEADLINE_NONE ? kw_deadline_in_ms(KW_HBASE_CALL_MS) : deadline;
}

typedef struct kw_hbase_pool kw_hbase_pool;

struct kw_hbase_server {
    kw_hbase_pool *pool;
    size_t index; /* in the settings */
    kw_hbase_channel_settings settings;
    char *name;      /* "host:port" */
    GQueue channels; /* all, including those that are closing */
    kw_hbase_channel *opening;
    kw_hbase_form_trial trial;
    uint32_t outstanding; /* calls in flight whose deadline has not passed */
    bool suspect;         /* silent for too long: other servers are preferred */
    uint32_t losses;      /* channels lost with a call in flight, since the last reply */
    uint64_t heard_ns;    /* the last reply, or the first call after a time without calls */
    uint64_t failed_ns;   /* the last failure */
    uint64_t backoff_until_ns;
    int64_t backoff_ms; /* the next backoff */
};

struct kw_hbase_pool {
    kw_hbase_store *store;
    kw_loop *loop;
    kw_hbase_server *servers;
    size_t servers_count;
    size_t rotation;    /* incremented with each choice; selects one of several equally good servers */
    GQueue active;      /* every call between start and done */
    kw_fair *queue;     /* QUEUED calls without a pin */
    kw_hbase_flow flow; /* of the queue */
    kw_hbase_pace paces[KW_HB_METHOD_COUNT];
    GQueue rejected; /* REJECTED calls */
    kw_task reject_task;
    bool reject_posted;
    kw_timer *sweep; /* for the next deadline or the next attempt */
    uint64_t sweep_ns;
    kw_timer *tick;
    void (*ticked)(void *user); /* the store handle's callback, after the pool's own work */
    void *user;
    kw_arena *scratch;      /* the present reply is decoded into it */
    double budget;          /* saved retries */
    uint32_t ready;         /* channels READY or RETIRED */
    uint64_t down_since_ns; /* while ready == 0 */
    uint64_t ticked_ns;     /* the last tick */
    bool late;              /* that tick was late */
    uint64_t logged_ns;     /* the last time an error of HBase was logged */
    uint32_t not_logged;    /* errors since then */
    uint64_t text_hash;     /* of the last error of HBase and its table */
    uint64_t text_ns;       /* when it occurred */
    bool closing;
    uint64_t close_by_ns;
    void (*closed)(void *user);
};

void kw_hbase_pool_init(kw_hbase_pool *pool, kw_hbase_store *store, kw_loop *loop, void (*ticked)(void *user),
                        void *user);

/* See call.h. The owner has set the members that call.h lists as the owner's; the others must be zero, or
 * unchanged since done. */
void kw_hbase_pool_start(kw_hbase_pool *pool, kw_hbase_call *call);

/* The same, but the call is sent after delay_ms at the earliest. */
void kw_hbase_pool_start_after(kw_hbase_pool *pool, kw_hbase_call *call, uint64_t delay_ms);

/* Fails the call without sending it: done gets this error in the next loop iteration. */
void kw_hbase_pool_reject(kw_hbase_pool *pool, kw_hbase_call *call, const kw_error *error);

/* True if the retry budget and the deadline allow another attempt. Subtracts it from the budget and returns
 * the delay before it. */
bool kw_hbase_pool_allow_retry(kw_hbase_pool *pool, kw_deadline deadline, uint32_t attempts,
                               uint64_t *ret_delay_ms);

void kw_hbase_pool_pin(kw_hbase_pin *pin, kw_hbase_channel *channel);
void kw_hbase_pool_unpin(kw_hbase_pin *pin);

/* Fails all calls with UNAVAILABLE, closes open scanners, then the channels, and calls closed. */
void kw_hbase_pool_close(kw_hbase_pool *pool, void (*closed)(void *user));
