/* Requests of Admin calls about versions of the policy, and backups of the catalog. The
 * first four are for any thread; their signatures are those of kw_service_settings, and `user` is the
 * kw_gateway.
 *
 *   caller's loop -> main loop: executed, an apply as a job -> caller's loop: the reply
 */
#pragma once

#include "policy/control.h"

void kw_policy_requests_apply(void *user, const kw_apply_command *command, kw_loop *loop, kw_apply_done done,
                              void *done_user);
void kw_policy_requests_history(void *user, int64_t before, size_t limit, kw_loop *loop,
                                kw_versions_done done, void *done_user);
void kw_policy_requests_version(void *user, int64_t number, kw_loop *loop, kw_versions_done done,
                                void *done_user);
void kw_policy_requests_transfer(void *user, const kw_transfer *command, kw_loop *loop, kw_transfer_done done,
                                 void *done_user);

/* Call this on the main thread when draining begins: answers waiting callers with an error. */
void kw_policy_requests_end(kw_control *control);

/* --- for apply.c ---------------------------------------------------------------------------- */

typedef struct kw_policy_request {
    kw_task task; /* posts the request to the main loop */
    kw_job job;
    kw_control *control;
    struct kw_policy_request *next_open;
    kw_arena *arena;
    kw_apply_command command; /* policy NULL: a history, or one version */
    int64_t before;           /* of a history */
    size_t limit;             /* 0: one version */
    int64_t number;           /* of one version */
    kw_loop *loop;            /* the caller's; NULL: it was answered */
    kw_apply_done apply_done;
    kw_versions_done versions_done;
    kw_transfer_done transfer_done; /* of a transfer, which is neither of these */
    kw_transfer transfer;
    void *user;
    /* an apply */
    struct kw_change_set *base;    /* the records that the catalog has; NULL: no change begins or ends */
    struct kw_change_set *changes; /* those that it will have */
    kw_change_step step;           /* if `base` is set */
    kw_policy *policy;             /* with the placements of `changes` */
    const char *advice;            /* see targets.h; NULL: none */
    kw_admission *preview;         /* while the rows of new tables are checked; otherwise NULL */
    kw_timer *wait;                /* until calls under earlier policies have ended; NULL: it does not wait */
    uint64_t wait_until_ns;
    kw_policy *old; /* the current version; NULL: none, or this gateway cannot read it */
    kw_version_draft draft;
    kw_applied applied;
    kw_error failure;
    unsigned
        tries; /* how often it began again: another change had made a step, or a gateway did not follow yet */
} kw_policy_request;

/* Executes a transfer; see transfers.c. */
void kw_policy_request_transfer(kw_policy_request *request);
/* Answers a transfer with the page, or with the error. Frees the request. */
void kw_policy_request_finish_transfer(kw_policy_request *request, const kw_transfer *page,
                                       const kw_error *error);

/* Answers an apply with request->applied, or with the error, and ends its job. Frees the request. */
void kw_policy_request_finish(kw_policy_request *request, const kw_error *error);
