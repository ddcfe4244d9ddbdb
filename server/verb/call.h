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
#include "rule/policy.h"
#include "sequence/sequence.h"
#include "store/store.h"

/* Stamps writes: a hybrid clock, the store's time as far as it is known, never going back. Any thread. */
typedef struct kw_stamper kw_stamper;
kw_stamper *kw_stamper_new(kw_store *store);
void kw_stamper_free(kw_stamper *stamper);
/* A write's timestamp, or KW_TIMESTAMP_NONE while the store's clock is not known. */
int64_t kw_stamper_take(kw_stamper *stamper);
/* Who may have the stamp that a write of a row takes: other puts, too; nobody else, since the record has
 * several rows, and puts of one millisecond could reach each of them in another order; nobody else, since a
 * delete marker hides puts of its millisecond. */
typedef enum kw_stamp_use { KW_STAMP_ROW, KW_STAMP_ROWS, KW_STAMP_REMOVE } kw_stamp_use;
/* The stamp that a write of this row takes: `stamp`, or a little later when another write has it, also if
 * both are still under way. Puts of several rows run ahead of the clock by a few milliseconds at most. */
int64_t kw_stamper_order(kw_stamper *stamper, kw_bytes row, int64_t stamp, kw_stamp_use use);
/* The store stamped a cell itself: no later stamp is below it. One far ahead of the store's clock, such as an
 * increment keeps from a cell with a caller's timestamp, is passed over. */
void kw_stamper_saw(kw_stamper *stamper, int64_t stamp);
/* Milliseconds until the store's clock has certainly passed this stamp: the acknowledgement of a remove
 * waits that long, so that a put that follows it is not hidden by its delete marker. */
int64_t kw_stamper_wait_ms(kw_stamper *stamper, int64_t stamp);

typedef struct kw_call {
    kw_arena *arena;
    kw_account *account;     /* of whoever made the call; NULL: nobody. Outlives the call */
    uint64_t number;         /* among the account's calls: older ones have smaller numbers */
    const kw_policy *policy; /* a reference is held by the caller of the verb until completion */
    kw_store *store;
    kw_door *door;
    kw_loop *loop;
    kw_stamper *stamper;
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
