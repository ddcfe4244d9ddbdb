/* Private to the coordinator: the state that its files share.
 *
 *   coordinator.c    starts work and waiting orders when calls under earlier policies have ended
 *   change_work.c    slices of the copy and of the comparison
 *   change_pace.c    how fast they follow each other
 *   change_orders.c  orders of the operator
 *   change_steps.c   the steps that orders make: the next version of a change
 *   change_status.c  the state of a change, for people
 */
#pragma once

#include "gateway/change_pace.h"
#include "gateway/coordinator.h"
#include "verb/verb.h"

/* The copy or comparison of one change, as far as the catalog does not need it. */
typedef struct kw_change_work {
    char *table, *path;
    int64_t started_ms;     /* of the change */
    double progress;        /* of the copy or comparison */
    uint64_t began_ns;      /* of the copy or comparison, on this gateway; 0: it does not run */
    uint64_t rows;          /* since then */
    double progress_before; /* at that time */
    uint64_t not_before_ns; /* the next slice starts then: the limit of rows per second, or after a failure */
    unsigned tries;         /* comparisons of the present slice */
    kw_error problem;       /* of the last slice; KW_OK: none */
} kw_change_work;

typedef struct kw_change_request kw_change_request;

struct kw_coordinator {
    kw_gateway *gateway;
    kw_timer *timer;
    uint64_t wake_ns; /* when it fires; 0: it does not run */
    bool stopped;
    GPtrArray *older;   /* policies that were in service before, and that calls may still use */
    GPtrArray *works;   /* of kw_change_work */
    kw_job save;        /* writes gateway->changes to the catalog */
    bool saving;        /* the job is queued or running */
    bool changed;       /* gateway->changes has progress that the catalog does not have */
    uint64_t saved_ns;  /* when the last save began */
    uint64_t published; /* gateway->changes_revision that /metrics shows */
    uint64_t published_ns;
    kw_change_pace pace;
    uint64_t pace_until_ns; /* no slice starts before */
    /* the slice in progress */
    bool working;
    bool comparing;
    kw_call call;
    size_t record; /* index of the next record to work for */
    kw_copy_request copy;
    kw_scrub_request compare;
    char *table, *path;          /* of the slice */
    int64_t started_ms;          /* of its change */
    kw_change_request *requests; /* without an answer */
    bool continuing;             /* a change that the operator has completed is being continued */
    uint64_t continue_ns;        /* no earlier than this, after a failure */
    kw_change_request *running;  /* the one that makes a step; no slice starts before it ends */
    _Atomic unsigned requests_count;
    /* the end */
    kw_task idle; /* run is set: it was posted */
    void (*idle_done)(void *user);
    void *idle_user;
};

/* Replaces the record with the same table and path in gateway->changes. */
void kw_coordinator_update(kw_coordinator *self, const kw_change_record *record);
/* Writes the progress in gateway->changes to the catalog. Only from a job. */
void kw_coordinator_write(kw_coordinator *self, void (*done)(void *user, const kw_error *error), void *user);

/* The work of the change; created if there is none. */
kw_change_work *kw_change_work_of(kw_coordinator *self, const kw_change_record *record);
/* Starts a slice if a change needs one now. Returns in how many milliseconds it must be called again;
 * UINT64_MAX: when something has changed. */
uint64_t kw_change_work_start(kw_coordinator *self);

/* Continues the order that waits if its time has come, and changes that the operator has completed.
 * Returns in how many milliseconds it must be called again, as kw_change_work_start does. */
uint64_t kw_change_orders_tick(kw_coordinator *self);
/* Answers all callers with an error. */
void kw_change_orders_end(kw_coordinator *self);

/* Fills in the state of a change that is under way. Texts are in the arena. */
void kw_change_status_of(kw_coordinator *self, const kw_change_record *record, kw_arena *arena,
                         kw_change_status *ret_status);
/* Why the operator cannot order a switch now; NULL: nothing prevents it. In the arena. */
const char *kw_change_why_not_switch(const kw_change_record *record, bool leave_foreign, kw_arena *arena);
/* When the last cursor of the old key rule expires, by the wall clock. */
int64_t kw_change_cursors_until_ms(const kw_coordinator *self, const kw_change_record *record);
