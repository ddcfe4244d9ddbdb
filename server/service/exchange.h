/* Internal to service: one call, from its message to its reply.
 *
 *   begin: head -> method -> memory check -> arguments -> hold (hold.h) -> access -> gate -> lease -> table served
 *          -> atomic hold (atomic_hold.h) -> the method's function (methods.h)
 *   end:   exactly one of the functions that reply or fail
 *
 *   BEGINNING <-----> HELD, HELD_ATOMIC   waits, without its policy, until its table is released
 *       |
 *       v
 *    RUNNING <------> QUEUED              a read that waits for other reads of its connection
 *       |
 *       | kw_exchange_give_up
 *       v
 *   ANSWERED                              its work continues
 *
 * Each state can also move to ENDED, and HELD_ATOMIC to HELD.
 *
 * A call is given up when its deadline has passed, when its caller has left and the call would only read, and
 * when the gateway shuts down. If it waits, it ends at once and never runs. If it runs, it is ANSWERED until
 * the method's function ends it; that result is dropped. All memory of the call, including the exchange, is
 * in its arena.
 */
#pragma once

#include "base/fine_timer.h"
#include "service/worker.h"

typedef struct kw_read_queue kw_read_queue;

typedef enum kw_exchange_state {
    KW_EXCHANGE_BEGINNING,   /* being checked; in no list */
    KW_EXCHANGE_HELD,        /* waits in a queue of hold.h */
    KW_EXCHANGE_HELD_ATOMIC, /* waits in the queue of atomic_hold.h */
    KW_EXCHANGE_RUNNING,     /* in its worker's list of active calls, like the two states below */
    KW_EXCHANGE_QUEUED,      /* waits in a queue of read_queue.h */
    KW_EXCHANGE_ANSWERED,
    KW_EXCHANGE_ENDED
} kw_exchange_state;

/* How the records of a putMany, removeMany or getMany ended. Empty for other calls, and for a call that fails
 * as a whole. */
typedef struct kw_record_outcomes {
    uint32_t good, failed_sum;
    uint32_t failed[KW_INTERNAL + 1]; /* by code */
    const kw_error *first;            /* of the failures; in the call's arena */
} kw_record_outcomes;

typedef struct kw_exchange {
    kw_call call;
    kw_service_worker *worker;
    kw_request *request;
    kw_account *account; /* of the connection; a reference */
    kw_snapshot *snapshot;
    const kw_wire_method *method; /* a row of kw_api_methods */
    const void *args;             /* a struct of the method's C type */
    kw_bytes name;                /* of the method, as the caller wrote it */
    int32_t sequence_id;
    bool oneway;
    kw_exchange_state state; /* only kw_exchange_move changes this and the next three */
    GList active;            /* in worker->active */
    GList waiting;           /* in `queue` */
    GQueue *queue;           /* the queue that it waits in, or NULL */
    uint32_t held_peer;      /* if HELD_ATOMIC: whose call it is */
    bool awaited_by_hold;    /* worker->hold waits until this call has ended; only hold.c uses it */
    uint64_t era;            /* worker->era when the call began */
    kw_fine_timer timer;
    kw_read_queue *read_queue; /* or NULL; only read_queue.c uses this and the next two */
    bool large;
    void (*start_read)(struct kw_exchange *exchange);
    void *prepared; /* data of the method for its start function */
    uint64_t started_ns;
    kw_record_outcomes outcomes; /* only outcome.c uses this */
    char request_id[40];
} kw_exchange;

/* Begins the call in a message. The request is ended now or later. */
void kw_exchange_begin(kw_service_worker *worker, kw_request *request);

/* The only function that changes the state of an exchange, and with it the lists that contain it. `queue`
 * belongs to a waiting state; it is NULL for the others. Asserts that the move is allowed. */
void kw_exchange_move(kw_exchange *exchange, kw_exchange_state to, GQueue *queue);

/* Begins a call that was held, under the present policy. */
void kw_exchange_resume(kw_exchange *exchange);

/* Answers a call that is neither answered nor being checked with the error, whose maybe_applied this function
 * sets. */
void kw_exchange_give_up(kw_exchange *exchange, kw_error *error);

/* The caller of the request has left: gives up a call that changes nothing. */
void kw_exchange_note_left(kw_request *request);

/* Gives up all calls of the loop, because the gateway shuts down. Later calls must not begin. */
void kw_exchange_give_up_all(kw_service_worker *worker);

/* Drops the policy under which the call began. A call that waits for the gateway, and uses no table, must
 * drop it: otherwise a change of the policy that waits for calls under the earlier one would wait for this
 * call. */
void kw_exchange_drop_policy(kw_exchange *exchange);

/* Runs a part of the call in a guard (base/guard.h): if there is no memory for it, the call fails with LIMIT
 * or BUSY. The part must be the last thing that its caller does. The methods' functions run in a guard. */
void kw_exchange_guard(kw_exchange *exchange, void (*part)(kw_exchange *exchange));

/* Called by the timer of an exchange when its deadline has passed. */
void kw_exchange_on_deadline(void *exchange);

/* Answers with the method's result struct (kw_api_..._result), or with LIMIT if it exceeds the maximum size
 * of a reply, BUSY if memory is short, or UNAVAILABLE if the gateway has lost its lease. NULL: nothing is
 * sent, because no reply is needed (the client has disconnected, for example). Frees the exchange. */
void kw_exchange_reply(kw_exchange *exchange, const void *result);

/* Answers with the method's KeywayError. Frees the exchange. */
void kw_exchange_fail(kw_exchange *exchange, const kw_error *error);

/* Logs the error, and returns the method's result struct with it, in the call's arena. */
const void *kw_exchange_failure(kw_exchange *exchange, const kw_error *error);

const kw_model *kw_exchange_model(const kw_exchange *exchange);

/* Sets the deadline, and *ret_write unless ret_write is NULL. options can be NULL. INVALID names the wrong
 * option. */
bool kw_exchange_read_options(kw_exchange *exchange, const kw_api_Options *options,
                              kw_write_options *ret_write, kw_error *ret_error);
/* Sets the deadline from an argument of the call, in milliseconds after its arrival. INVALID unless
 * positive. */
bool kw_exchange_read_deadline(kw_exchange *exchange, bool given, int32_t deadline_ms, kw_error *ret_error);

/* Sets the deadline, counted from the arrival of the call, and its timer. */
void kw_exchange_set_deadline(kw_exchange *exchange, int64_t timeout_ms);

/* True if the caller is allowed to do this with the table; otherwise DENIED. The call itself was allowed
 * before its method runs; methods ask for the tables that they list. ret_error can be NULL. */
bool kw_exchange_may(const kw_exchange *exchange, kw_operation operation, kw_bytes table,
                     kw_error *ret_error);

/* Finds the table with this name. INVALID if the argument is missing; NOT_FOUND suggests a similar name that
 * the caller can see; UNAVAILABLE if the catalog has no policy yet. */
bool kw_exchange_find_table(const kw_exchange *exchange, bool given, kw_bytes name,
                            const kw_table **ret_table, kw_error *ret_error);

/* REFUSED with a hint if the gateway has its policy from a file, not from the catalog. */
bool kw_exchange_has_stored_policy(const kw_exchange *exchange, kw_error *ret_error);

/* The caller, for records of its commands: the name of its principal, or "anonymous". In the call's
 * arena. */
const char *kw_exchange_author(const kw_exchange *exchange);

#define KW_EXCHANGE_ALLOC(exchange, type) KW_ARENA_NEW((exchange)->call.arena, type)
