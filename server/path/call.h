/* A call inside the gateway: the argument of every verb. Each verb has one file that shows its steps on one
 * screen: check, build keys, access the store, answer. Verbs do not depend on Thrift or sockets.
 *
 * A verb starts on the call's loop. It calls its completion there exactly once, either later or before it
 * returns (for errors found at once). The request and everything in it live in the call's arena until then.
 * Only if there is no memory for a step of the verb, the call ends through `refuse` instead.
 */
#pragma once

#include "base/arena.h"
#include "base/loop.h"
#include "base/workers.h"
#include "gather/cursor.h"
#include "plan/plan.h"
#include "schema/policy.h"
#include "store/store.h"

typedef struct kw_generator kw_generator; /* sequence/sequence.h */

typedef struct kw_call kw_call;

struct kw_call {
    kw_arena *arena;
    kw_account *account; /* account of the caller; NULL: none. Outlives the call */
    uint32_t peer;       /* number of the caller's peer (kw_worker_job.peer) */
    uint64_t number;     /* number of the call on its loop; older calls of the account have smaller numbers */
    const kw_policy *policy; /* the caller of the verb holds a reference until completion */
    kw_store *store;
    kw_store_handle *handle;
    kw_loop *loop;
    kw_keyring *keyring;
    kw_generator *generator;  /* of the loop; generates missing values of records */
    kw_worker_port *compiler; /* of the loop; compiles filter expressions. NULL: they are compiled at once */
    kw_bytes identity;        /* the caller's identity; empty: anonymous */
    kw_deadline deadline;
    const char *request_id;
    uint64_t era; /* of the gateway's fence (base/fence.h) when the call began; 0 without one */
    /* Ends the call with LIMIT or BUSY. NULL: memory for the call is never refused, because its arena has no
     * account.
     */
    void (*refuse)(kw_call *call, const kw_error *error);
};

/* Runs a step of a verb in a guard (base/guard.h) of the call's arena. If there is no memory for it, the call
 * ends: the step must be the last thing that its caller does. For steps that run later than the verb's start,
 * which the caller of the verb guards. */
void kw_call_guard(kw_call *call, void (*step)(void *user), void *user);

/* Returns a copy of the call that outlives it: with its own arena, references to account, policy and keyring,
 * a copy of the identity, and no request id. */
kw_call kw_call_copy(const kw_call *like);
/* Releases what kw_call_copy acquired. The kw_call itself can be in its own arena. */
void kw_call_release(const kw_call *call);
/* Like kw_call_release, but moves the memory of the call's arena to another arena. */
void kw_call_release_into(const kw_call *call, kw_arena *arena);

typedef struct kw_write_options {
    kw_durability durability;
    bool has_timestamp;
    int64_t timestamp;
} kw_write_options;

/* The result of writing one record. */
typedef struct kw_written_record {
    kw_outcome outcome;
    kw_error error;      /* set unless OK */
    kw_record generated; /* generated fields; values NULL if there are none or nothing was written */
} kw_written_record;

/* A record to write or a key to look up, with an error that the service already found in it (one wrong type
 * must not fail the other records of a call). error.code KW_OK: no error. */
typedef struct kw_item {
    kw_record record;
    kw_error error;
} kw_item;
