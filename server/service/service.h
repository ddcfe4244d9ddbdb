/* The service: decodes messages, calls verbs and encodes replies. It does everything before and after the
 * verb: request ids, deadlines, conversion of names to field numbers, errors for callers, metrics.
 *
 * One kw_service for the process, with a kw_service_worker per loop. Tasks posted to each loop replace the
 * policy, the cursor keys and the gate. A call keeps the policy and the keys that it began with, unless it is
 * held (kw_service_hold), or drops them because it waits for the gateway (kw_exchange_drop_policy).
 */
#pragma once

#include "access/audit.h"
#include "advise/seen.h"
#include "base/cell.h"
#include "base/fence.h"
#include "base/metrics.h"
#include "gather/cursor.h"
#include "net/net.h"
#include "path/call.h"
#include "schema/policy.h"
#include "sequence/sequence.h"
#include "store/store.h"

typedef struct kw_service kw_service;

typedef struct kw_forget_command {
    const char *table;
    const char *path;
    bool drop_rows;
} kw_forget_command;
/* All rows of a placement were read, and fit. */
typedef struct kw_verified_rows {
    const char *table, *path;
    const char *fingerprint; /* of the key rule */
    const char *store_table;
    int64_t rows;
} kw_verified_rows;
typedef void (*kw_verified_done)(void *user, const kw_error *error);

typedef void (*kw_forget_done)(void *user, const char *const *emptied, size_t count, const kw_error *error);

/* A new version of a policy that the catalog keeps. */
typedef struct kw_apply_command {
    kw_policy *policy; /* compiled from the text and the settings in service; the receiver takes a reference
                          of its own */
    kw_bytes text;
    int64_t expected; /* the version that must be current */
    const char *author;
    const char *reason;
    bool dry_run;
    bool only_writer; /* the caller states that no other program writes the store tables */
} kw_apply_command;

/* How long a change takes is not known before it has begun. */
typedef struct kw_copy_guess {
    uint32_t reads;                          /* of each row: the copy, the comparison, the pass */
    int64_t wait_ms;                         /* before the copy begins (store.late) */
    uint64_t rows_per_second;                /* of one of these reads, without callers */
    uint64_t rows_per_second_beside_callers; /* with the pauses */
} kw_copy_guess;

typedef struct kw_applied {
    int64_t version; /* the number of the new version; after a dry run, the number that it would have */
    const char *plan;
    const char *const *copied; /* tables whose rows are copied */
    size_t copied_count;
    kw_copy_guess guess; /* if rows are copied */
    bool refused;        /* only after a dry run */
    bool changed;
} kw_applied;
typedef void (*kw_apply_done)(void *user, const kw_applied *applied, const kw_error *error);

typedef struct kw_stored_version {
    int64_t number;
    const char *author;
    const char *reason;
    int64_t at_ms;
    kw_bytes text; /* empty in a history */
} kw_stored_version;
typedef void (*kw_versions_done)(void *user, const kw_stored_version *versions, size_t count,
                                 const kw_error *error);

/* --- backups of the catalog (catalog/transfer.h, sequence/backup.h) --------------------------------- */

typedef enum kw_transfer_step {
    KW_TRANSFER_EXPORT, /* one page */
    KW_TRANSFER_BEGIN,
    KW_TRANSFER_ADD,
    KW_TRANSFER_END
} kw_transfer_step;

/* One page of an export, or one part of an import. */
typedef struct kw_transfer {
    kw_transfer_step step;
    kw_bytes cursor;       /* EXPORT: of the page; of a page that was read: of the next one; empty: none */
    const char *export_id; /* of an import */
    const kw_saved_cell *cells;
    size_t cells_count;
    const kw_saved_cell *counters;
    size_t counters_count;
    const char *counters_table; /* "": the store has no counters */
    int64_t counters_keep_ms;   /* sequences.keep */
} kw_transfer;
/* page: what was read; empty after a part of an import. NULL exactly if error is set. */
typedef void (*kw_transfer_done)(void *user, const kw_transfer *page, const kw_error *error);

/* --- changes of a key rule ------------------------------------------------------------------------ */

typedef enum kw_change_action {
    KW_CHANGE_SHOW,     /* changes nothing */
    KW_CHANGE_SWITCH,   /* reads use the new placement */
    KW_CHANGE_REVERSE,  /* reads use the old placement again */
    KW_CHANGE_COMPLETE, /* only the new placement is written */
    KW_CHANGE_CANCEL,   /* only the old placement is written; the old key rule is applied again */
    KW_CHANGE_PAUSE,    /* copying and comparing stop */
    KW_CHANGE_RESUME,
    KW_CHANGE_THROTTLE,
    KW_CHANGE_COMPARE /* compares all rows again */
} kw_change_action;

typedef struct kw_change_command {
    kw_change_action action;
    const char *table;    /* SHOW: NULL for all tables */
    const char *expected; /* the place that the caller saw, for example "both-old"; NULL: any */
    const char *author;
    bool has_rows_per_second, has_share; /* THROTTLE: which of the next two are set */
    uint64_t rows_per_second;            /* 0: no limit */
    uint64_t share_percent;              /* 0: the default */
    bool leave_undecodable;              /* SWITCH: even if some rows could not be copied */
    bool expire_cursors; /* COMPLETE: does not wait until cursors of the old key rule have expired */
} kw_change_command;

/* The state of one change, for people. */
typedef struct kw_change_status {
    const char *table;
    const char *path;    /* of several paths: the first one */
    const char *version; /* of the change (change/ladder.h), for example "both-old" */
    const char
        *phase; /* what happens now, or what it waits for: "copying", "comparing", "ready to switch", ... */
    const char
        *next; /* the commands that the operator can give now, for example "switch, cancel"; can be "" */
    const char *author;
    const char *reason;
    int64_t policy_version; /* the one that began the change */
    int64_t started_ms;     /* wall clock */
    int64_t version_at_ms;  /* when `version` was set */
    uint32_t old_layout, layout;
    const char *old_store_table, *store_table;
    bool reads_new; /* reads use the new placement */
    bool paused;
    bool waiting;                   /* only a command lets the change proceed */
    uint64_t limit_rows_per_second; /* 0: none */
    uint64_t share_percent;         /* 0: the default */
    double rows_per_second;         /* of the present copy, comparison, pass or sweep; 0: none runs */
    double progress;                /* of the same: 0 to 1 */
    int64_t left_ms;                /* estimated until it ends; -1: unknown */
    bool copied, compared;
    uint64_t rows_copied;
    uint64_t rows_compared;
    uint64_t missing, different, extra; /* rows that the last comparison found, before repairs */
    uint64_t repaired;
    uint64_t undecodable;     /* rows that could not be copied: one of the two key rules does not fit them */
    const char *example;      /* the first of them; "": none */
    int64_t cursors_until_ms; /* in both-new: when the last cursor of the old key rule
                                 expires, by the wall clock; else 0 */
    const char *problem;      /* why the last step or slice of work failed; "": it did not */
    const char
        *goal; /* several writers: the last goal that was set, for example "switched"; "": one writer */
    size_t unreported;  /* several writers, if this gateway is the holder: number of gateways that it waits
                           for */
    const char *holder; /* several writers: id of the gateway that carries it out; "": unknown */
    const char *const *paths; /* names of the paths that are added or dropped */
    size_t paths_count;       /* 0: a key rule is changed */
    bool drops;
} kw_change_status;
typedef void (*kw_change_done)(void *user, const kw_change_status *changes, size_t count,
                               const kw_error *error);

typedef struct kw_service_settings {
    kw_store *store;         /* must outlive the service */
    kw_audit *audit;         /* the same; NULL: calls are not recorded */
    kw_sequences *sequences; /* must outlive the service */
    unsigned loops;
    /* Admin.reload: reads the policy file again, then calls done on `loop` with the error or NULL. */
    void (*reload)(void *user, kw_loop *loop, void (*done)(void *done_user, const kw_error *error),
                   void *done_user);
    /* Admin.forget: deletes the catalog's entries of a table, or of one of its paths (NULL: all paths). Calls
     * done on `loop` with the store tables that were emptied; the texts live until done returns. */
    void (*forget)(void *user, const kw_forget_command *command, kw_loop *loop, kw_forget_done done,
                   void *done_user);
    /* Admin.verify: records it in the catalog. Copies its argument, and calls done on `loop`. */
    void (*verified)(void *user, const kw_verified_rows *rows, kw_loop *loop, kw_verified_done done,
                     void *done_user);
    /* Called when createTable has created store tables; can be NULL. The texts live until it returns. */
    void (*created)(void *user, const char *const *store_tables, size_t count);
    /* Admin.policyApply, policyHistory and policyVersion (number 0: the current version). They copy their
     * arguments, and call done on `loop`; its texts live until it returns. */
    void (*apply)(void *user, const kw_apply_command *command, kw_loop *loop, kw_apply_done done,
                  void *done_user);
    void (*history)(void *user, int64_t before, size_t limit, kw_loop *loop, kw_versions_done done,
                    void *done_user);
    void (*version)(void *user, int64_t number, kw_loop *loop, kw_versions_done done, void *done_user);
    /* Admin.exportCatalog and importCatalog. The same. */
    void (*transfer)(void *user, const kw_transfer *command, kw_loop *loop, kw_transfer_done done,
                     void *done_user);
    /* Admin.changes and orderChange. Copies the command, carries it out, and calls done on `loop` with the
     * changes that are then under way, of the table or of all tables; everything lives until done returns. */
    void (*change)(void *user, const kw_change_command *command, kw_loop *loop, kw_change_done done,
                   void *done_user);
    void *user;
    const kw_fence
        *fence; /* while it is shut, calls that need the store fail with UNAVAILABLE; can be NULL */
} kw_service_settings;

/* References the policy and the keyring. The gate is shut until kw_service_open_gate. */
kw_service *kw_service_new(const kw_service_settings *settings, kw_policy *policy, kw_keyring *keyring);

/* Call this after the kw_net that uses the handler was freed. */
void kw_service_free(kw_service *service);

/* The handler for kw_net_new. */
kw_net_handler kw_service_handler(kw_service *service);

/* Replaces the policy and the keyring for new calls; calls in flight keep theirs. Call this on one thread,
 * not while draining. */
void kw_service_set_policy(kw_service *service, kw_policy *policy, kw_keyring *keyring);

/* While the gate is shut, calls that need the store fail with `why`, whose code must not be OK. */
void kw_service_shut_gate(kw_service *service, const kw_error *why);
void kw_service_open_gate(kw_service *service);

/* Holds new calls of these tables (a NULL-terminated list), and calls done on `loop` when the calls in flight
 * have ended. kw_service_release begins the held calls under the policy that is set by then, and cancels done
 * if it was not called yet. Call both on one thread, with one hold at a time, and not after the kw_net was
 * freed. */
void kw_service_hold(kw_service *service, const char *const *tables, kw_loop *loop, void (*done)(void *user),
                     void *user);
void kw_service_release(kw_service *service);

/* --- metrics; any thread ------------------------------------------------------------------------- */

size_t kw_service_method_count(void);
const char *kw_service_method_name(size_t method);
/* Calls of the method that ended with this code. If all records of a call failed, this is the code of the
 * first record. */
uint64_t kw_service_calls(const kw_service *service, size_t method, kw_code code);
/* Records of calls of the method that ended with this code; 0 for a method with one record. */
uint64_t kw_service_records(const kw_service *service, size_t method, kw_code code);
/* Latencies of the method over all loops, summed into *ret_sum. */
void kw_service_latency(const kw_service *service, size_t method, kw_histogram *ret_sum);
/* The same for all methods that read or write rows. */
void kw_service_latency_of_rows(const kw_service *service, kw_histogram *ret_sum);

/* The queries of the table that were answered in the last hour, one of each shape; in the arena. Any thread.
 */
const kw_seen_query *kw_service_seen_queries(const kw_service *service, const char *table, kw_arena *arena,
                                             size_t *ret_count);
