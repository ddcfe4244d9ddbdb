/* The policy in service, and the changes of its tables: the state that policy/ and coordinator/ share.
 *
 *   policy/        prepares a policy, applies a new version, follows the catalog --.
 *                                                                                   >-- control --> gateway/
 *   coordinator/   carries out changes of key rules: steps and work ---------------'     serves
 *
 * gateway/ owns it, and opens and closes what it points to. Main thread only, except for atomics and members
 * that the lock guards. */
#pragma once

#include "base/thread.h"
#include "catalog/catalog.h"
#include "change/set.h"
#include "policy/control_request.h"
#include "policy/jobs.h"
#include "service/service.h"

typedef enum kw_control_state {
    KW_CONTROL_STARTING,
    KW_CONTROL_WAITING, /* cannot serve yet */
    KW_CONTROL_SERVING,
    KW_CONTROL_FENCED, /* its registration in the catalog was lost: calls fail until it is admitted again */
    KW_CONTROL_DRAINING,
    KW_CONTROL_DONE
} kw_control_state;

typedef struct kw_control kw_control;
typedef struct kw_follower kw_follower;
typedef struct kw_coordinator kw_coordinator;

/* What policy/ needs of modules above it. */
typedef struct kw_control_calls {
    /* Begins to serve a policy that was prepared. */
    void (*serve)(kw_control *control, kw_policy *policy, kw_keyring *keyring);
    /* The same for a version of the policy that was applied here; also ends WAITING. */
    void (*serve_version)(kw_control *control, kw_policy *policy);
    /* See coordinator.h. */
    bool (*earlier_in_use)(const kw_coordinator *coordinator);
    kw_copy_guess (*guess)(const kw_coordinator *coordinator);
    void (*note_stored)(kw_coordinator *coordinator, kw_change_set *stored);
} kw_control_calls;

struct kw_control {
    const kw_control_calls *calls;
    _Atomic kw_control_state state;
    bool open; /* the loops of callers run */
    bool lost; /* the registration in the catalog was lost since the gateway last prepared to serve */
    kw_loop *loop;
    kw_store *store;
    kw_store_handle *handle; /* of the main loop */
    kw_sequences *sequences;
    kw_catalog *catalog;
    kw_audit *audit; /* NULL: none */
    kw_service *service;
    char *id; /* unique among the gateways of the store */

    kw_policy *policy; /* the policy in service; before the gateway serves, the one that is being prepared */
    kw_keyring *keyring;
    kw_change_set *changes;    /* the records of changes that `policy` was compiled with; NULL: the catalog
                                  does not keep the policy, or was not read yet */
    uint64_t changes_revision; /* incremented when `changes` is replaced */
    kw_change_set *stored_changes; /* the records that the catalog had when this gateway last read or wrote
                                      them; NULL: it has done neither */
    uint64_t stored_revision;      /* incremented when `stored_changes` is replaced */
    kw_change_set *served_changes; /* the records when `policy` began to be served */

    kw_jobs jobs;                                       /* changes of the policy or the catalog */
    kw_control_request *requests;                       /* that have begun and not ended */
    _Atomic unsigned requests_count[KW_REQUEST_GROUPS]; /* that have not ended */
    struct kw_preparing *present_preparation;           /* prepare.c */
    struct kw_row_checks *row_checks;                   /* row_checks.c */
    kw_follower *follower;                              /* NULL unless the catalog keeps the policy */
    kw_coordinator *coordinator;

    kw_mutex lock;            /* guards the rest */
    GPtrArray *zone_warnings; /* texts about time zones whose data in the system differ from the catalog's, or
                                 NULL */
    GPtrArray *unserved;      /* tables that are not served, and why; NULL: not known yet; table_states.c */
    GPtrArray *unverified;    /* texts about paths with rows that were not verified, or NULL */
    GPtrArray *differing;     /* texts about store tables that differ from the policy, or NULL */
    bool checking_all;        /* no table is served, because the rows of new tables are being checked */
    struct kw_change_publication *published; /* coordinator/publication.c */
    kw_error not_followed;                   /* why the current version of the policy is not in service */
};

/* How long a step of a change waits for calls under earlier policies, and the error when they have not ended
 * by then. */
#define KW_EARLIER_WAIT_NS (UINT64_C(10) * 1000 * 1000 * 1000)
#define KW_EARLIER_IN_USE                                                                                    \
    "calls that began before the last step of the change still run; try again when they have ended"

void kw_control_init(kw_control *control, const kw_control_calls *calls, kw_policy *policy);
/* Frees what the control owns: records of changes, texts, the policy and the keyring. */
void kw_control_clear(kw_control *control);

/* True if calls use `policy`: SERVING, or FENCED, when those that began before still do. */
bool kw_control_is_in_service(const kw_control *control);
/* True if it also has a valid lease in the catalog, so that it can work on rows without a caller. */
bool kw_control_has_lease(const kw_control *control);

const kw_model *kw_control_model(const kw_control *control);
/* For a call that begins now: timeouts.call. */
kw_deadline kw_control_call_deadline(const kw_control *control);
/* A call of the gateway's own, on the main loop, with an arena and a reference to the policy in service. */
kw_call kw_control_begin_call(const kw_control *control, const char *request_id);
/* Frees them. `call` becomes all zero. */
void kw_control_end_call(kw_call *call);
/* True if the catalog keeps the tables. */
bool kw_control_policy_is_stored(const kw_control *control);
/* The settings of the gateway's file. */
kw_model *kw_control_own_model(const kw_control *control);

/* Replaces the records of changes; references them. */
void kw_control_set_changes(kw_control *control, kw_change_set *changes);
/* Notes that the catalog has these records. References them. */
void kw_control_set_stored(kw_control *control, kw_change_set *stored);
/* The same, if they have the versions of `policy`. control->changes becomes a copy of them with the newest
 * progress of this gateway. */
void kw_control_note_stored(kw_control *control, kw_change_set *stored);
/* Notes which records `policy` is served with. */
void kw_control_set_served(kw_control *control);
