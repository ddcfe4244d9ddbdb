/* A call inside the gateway: what every verb is given. One file per verb; each tells its story on one
 * screen: check, key, store, answer. Verbs know nothing of Thrift or sockets.
 *
 * A verb is started on the call's loop and its completion is called there, exactly once, either later or from
 * inside the start (for errors found at once). Requests and everything in them live in the call's arena until
 * then.
 */
#pragma once

#include "base/arena.h"
#include "base/loop.h"
#include "base/workers.h"
#include "gather/cursor.h"
#include "plan/plan.h"
#include "schema/policy.h"
#include "sequence/sequence.h"
#include "store/store.h"

typedef struct kw_call {
    kw_arena *arena;
    kw_account *account;     /* of whoever made the call; NULL: nobody. Outlives the call */
    uint64_t number;         /* among the account's calls: older ones have smaller numbers */
    const kw_policy *policy; /* a reference is held by the caller of the verb until completion */
    kw_store *store;
    kw_door *door;
    kw_loop *loop;
    kw_keyring *keyring;
    kw_maker *maker; /* of the loop; makes missing values of records */
    kw_worker_port
        *compiler;     /* of the loop; compiles filters' expressions. NULL: they are compiled at once */
    kw_bytes identity; /* who calls; empty: anonymous */
    kw_deadline deadline;
    const char *request_id;
} kw_call;

/* A call like this one that outlives it: an arena of its own, references to account, policy and keyring, a
 * copy of the identity, no request id. */
kw_call kw_call_hold(const kw_call *like);
/* Gives up what kw_call_hold took; the call may lie in its own arena. */
void kw_call_release(const kw_call *call);
/* The same, but what lies in the call's arena lives on in another one. */
void kw_call_release_into(const kw_call *call, kw_arena *arena);

typedef struct kw_write_options {
    kw_durability durability;
    bool has_timestamp;
    int64_t timestamp;
} kw_write_options;

/* What became of one record's write. */
typedef struct kw_written_record {
    kw_outcome outcome;
    kw_error error; /* set unless OK */
    kw_record made; /* fields the gateway made; values NULL when none, or when nothing was written */
} kw_written_record;

/* A record to write or a key to look up, with an error the service already found in it (a wrong type in
 * one record of many must not fail its neighbours); error.code KW_OK: none. */
typedef struct kw_item {
    kw_record record;
    kw_error error;
} kw_item;
