/* Private to the coordinator: the state that its files share.
 *
 *   coordinator.c   the timer: starts work, and waiting commands when calls under earlier policies have ended
 *   state.c         what the other files read and change
 *   times.c         the times that decide when a change can continue
 *   save.c          the progress, in the catalog
 *   work.c          slices of the copy and of the comparison
 *   passes.c        slices of passes and sweeps
 *   key_range.c     the first and the last row key, which a slice passes to the next one
 *   parts.c         which path or placement a slice is for, if there are several
 *   estimate.c      how long the work will take
 *   request.c       a command while it is carried out
 *   commands.c      commands of the operator
 *   automatic.c     commands that the gateway gives itself
 *   steps.c         the steps that commands make: the next place of a change
 *   status.c        the state of a change, for people
 *   publication.c   the same for other threads
 *
 * In a store that several gateways write:
 *   reports.c       what this gateway reports about the places that it serves
 *   holder.c        one gateway, the holder, sets the places and does the work; another one replaces it
 *   goals.c         commands: they set the goal that the holder works for
 *   phase.c         the state of such a change, for people
 *
 * change/ decides what to do next (planner.h), how fast (pace.h), and how records are merged (merge.h).
 */
#pragma once

#include "change/callers.h"
#include "change/pace.h"
#include "change/planner.h"
#include "coordinator/coordinator.h"
#include "coordinator/estimate.h"
#include "coordinator/hint_sweep.h"
#include "reconcile/reconcile.h"

/* The work of one change: the part of its state that is not in the catalog. */
typedef struct kw_change_work {
    char *table, *path;
    int64_t started_ms;            /* of the change */
    double progress;               /* of the present copy, comparison, pass or sweep */
    uint64_t began_ns;             /* of the same, on this gateway; 0: none runs */
    uint64_t rows;                 /* since then */
    double progress_before;        /* at that time */
    uint64_t not_before_ns;        /* the next slice starts no earlier: after a failure */
    uint64_t slice_ended_ns;       /* the last slice; 0: none has ended on this gateway */
    uint64_t slice_ns, slice_rows; /* its duration and its rows */
    kw_change_estimate estimate;
    unsigned tries;   /* comparisons of the present slice */
    kw_error problem; /* of the last slice or step; KW_OK: none */
    /* the first and the last row key of the copy, pass or sweep when it began on this gateway; NULL: unknown
     */
    GBytes *first, *last;
    /* in a store with several writers */
    /* The step and part in which a scan that selects rows was too slow. The slices of this pass or sweep then
     * visit all rows of the placement. slow_step is 0: no scan was. */
    uint64_t slow_step, slow_part;
    kw_change_pass slow_pass;
    /* What the pass of this step has scanned; NULL: nothing. It is only in memory, so a gateway that becomes
     * the holder begins the pass again. */
    kw_copy_seen *seen;
    kw_copy_seen_use seen_use; /* of the next slice */
    uint64_t seen_step;
    kw_change_place seen_goal;
    kw_change_pass seen_pass; /* where the last slice has ended: `pass` and `copied_to` of the record */
    GBytes *seen_to;
    int64_t round_ms; /* how long the last pass or sweep took since its place was set; 0: unknown */
    bool is_holder;   /* this gateway is the holder; else the next two are unused */
    kw_change_planner planner;
    kw_change_next next;      /* what the holder does next */
    uint64_t read_ns;         /* when registrations were last read; 0: never */
    bool others_have_callers; /* of the holder: callers use other gateways that have the table */
    char *holder;             /* id of the holder's gateway, when it was last read; NULL: unknown */
} kw_change_work;

typedef struct kw_change_request kw_change_request;

struct kw_coordinator {
    kw_control *control;
    kw_timer *timer;
    uint64_t wake_ns; /* when the timer fires; 0: it does not run */
    bool stopped;
    GPtrArray *older; /* policies that were in service before, and that calls can still use */
    GPtrArray *works; /* of kw_change_work */
    kw_hint_sweep *sweep;
    kw_job save;        /* writes control->changes to the catalog */
    bool saving;        /* the job is queued or running */
    bool changed;       /* control->changes has progress that the catalog does not have */
    uint64_t saved_ns;  /* when the last save began */
    uint64_t published; /* control->changes_revision that /metrics shows */
    uint64_t published_ns;
    uint32_t cores; /* of the machine */
    kw_change_pace pace;
    uint64_t pace_until_ns; /* no slice starts before */
    /* the slice in progress */
    bool working;
    kw_change_act act;
    kw_change_pass pass; /* of the record, when the slice began */
    uint64_t step, part; /* the same */
    uint64_t slice_began_ns;
    kw_call call;
    size_t record; /* index of the next record to work for */
    kw_copy_request copy;
    kw_scrub_request compare;
    char *table, *path;         /* of the slice */
    int64_t started_ms;         /* of its change */
    bool continuing;            /* the gateway carries out a command that it gave itself (automatic.c) */
    uint64_t continue_ns;       /* the next such command starts no earlier than this */
    kw_change_request *running; /* the request that makes a step; no slice starts before it ends */
    /* reports */
    kw_change_callers callers;
    bool drained;      /* no call has used an earlier policy since the one in service was served */
    uint64_t doubt_ns; /* kw_store_last_doubt_ns when `drained` was set */
    /* followers, and who is the holder */
    bool reading;
    char *read_table, *read_path;
    kw_job takeover;  /* makes this gateway the holder in the record, or removes it as the holder */
    bool taking_over; /* the job is queued or running */
    char *takeover_table, *takeover_path;
    char *replaced_holder; /* the holder that is replaced, if the record still has it */
    kw_deadline leave_until;
    size_t leave_index; /* of the next change to give up */
    bool saved_mine;    /* the save wrote this gateway's progress */
    /* the end */
    kw_task idle; /* posted if idle.run is set */
    void (*idle_done)(void *user);
    void *idle_user;
};

/* The progress is saved this often at most. */
#define KW_COORDINATOR_SAVE_MS 2000

/* Replaces the record with the same table and path in control->changes. */
void kw_coordinator_update(kw_coordinator *self, const kw_change_record *record);
/* As the holder: gives a record of the catalog the progress of this gateway, if no other gateway has changed
 * it since this one read the catalog. True if the record has it then. Its new texts are in the arena. */
bool kw_coordinator_add_progress(const kw_coordinator *self, kw_change_record *record, kw_arena *arena);
/* Adopts the records that the catalog has after this gateway has edited one of them. saved: they have the
 * progress of this gateway. */
void kw_coordinator_take_edited(kw_coordinator *self, const kw_current *current, bool saved);
/* Writes the progress in control->changes to the catalog. Only from a job. */
void kw_coordinator_write(kw_coordinator *self, void (*done)(void *user, const kw_error *error), void *user);

/* Saves the progress in a job, if it has changed and the last save was long enough ago. */
void kw_coordinator_save_if_due(kw_coordinator *self);

/* True if this gateway is the holder of the change, by the last known record. */
bool kw_change_is_holder(const kw_coordinator *self, const kw_change_record *record);
/* Reads the registrations, decides what the holder does next, and starts its steps. Replaces a holder that
 * has disappeared. Returns in how many milliseconds it must be called again. */
uint64_t kw_change_holder_tick(kw_coordinator *self);
/* True if this gateway can do work: it serves the place of the change, and its lease is valid. */
bool kw_change_can_work(const kw_coordinator *self, const kw_change_record *record);
/* Call it when draining begins: other gateways become the holder of its changes. */
void kw_change_holder_leave(kw_coordinator *self);
/* The times that kw_change_planner_next needs, with the present one. */
kw_change_times kw_change_times_now(const kw_coordinator *self, const kw_change_record *record);

/* No call that begins from now on, on any gateway, gets a timestamp lower than this one. False while the
 * store's clock is unknown. */
bool kw_change_set_at(const kw_coordinator *self, int64_t *ret_set_at_ms);

/* Reports the places in service to the other gateways when no call uses an earlier one. Returns in how many
 * milliseconds it must be called again. */
uint64_t kw_change_reports_tick(kw_coordinator *self);
/* The same for callers: reports whether they use this gateway. */
uint64_t kw_change_callers_tick(kw_coordinator *self);
/* Latencies of all calls of callers since the start of the gateway. */
kw_histogram kw_change_latency_of_callers(const kw_coordinator *self);
/* Call it when another policy is in service. */
void kw_change_reports_restart(kw_coordinator *self);

/* Call it on the holder: sets the next place of the change, if kw_change_planner_next still decides so. */
void kw_change_start_step(kw_coordinator *self, const kw_change_record *record);

/* For several writers, as texts in the arena: the phase, and the commands that are possible now. */
const char *kw_change_phase_of(const kw_change_record *record, const kw_change_work *work, kw_arena *arena);
const char *kw_change_next_of(const kw_change_record *record, kw_arena *arena);

/* Adopts the records that were read from the catalog. False if the catalog has another place of a change
 * than this gateway serves: that place is loaded first. */
bool kw_coordinator_take_current(kw_coordinator *self, const kw_current *current);

/* Keeps the first and the last row key, which only the first slice of a copy, pass or sweep looks up. */
void kw_change_key_range_keep(kw_change_work *work, const kw_copy_result *result);
/* Copies the kept keys to the request, whose `after` must be set. If a copy or sweep begins, forgets the kept
 * keys; passes.c does that where a pass begins. */
void kw_change_key_range_to_request(kw_change_work *work, kw_copy_request *request, kw_arena *arena);
void kw_change_key_range_forget(kw_change_work *work);

/* Finds the path of the change in the policy. If several paths are added together, finds the one that the
 * next slice is for. NULL: the policy does not have it, or the path does not change. */
const kw_path *kw_change_find_path(const kw_policy *policy, const kw_change_record *record);
/* Finds the placement that is the part of a sweep with this number. A sweep visits each placement that the
 * present place writes, because they can have control cells. NULL: there are no more. */
const kw_placement *kw_change_find_swept(const kw_table *table, uint64_t part);
/* Converts the progress of the present part to the progress of all parts. Call it during a slice. */
double kw_change_progress_of_parts(const kw_coordinator *self, const kw_change_record *record,
                                   double progress);
/* Call it during a slice, when the present part has ended: sets the next part. True if it was the last
 * one. */
bool kw_change_end_part(const kw_coordinator *self, kw_change_record *record);

/* The work of the change; created if there is none. */
kw_change_work *kw_change_work_of(kw_coordinator *self, const kw_change_record *record);
void kw_change_work_free(void *work);
/* Starts a slice if a change needs one now. Returns in how many milliseconds it must be called again;
 * UINT64_MAX: not before something has changed. */
uint64_t kw_change_work_start(kw_coordinator *self);

/* Reads the records again for each SHOW that waits until this gateway serves them. */
void kw_change_show_again(kw_coordinator *self);
/* Continues changes whose time has come (automatic.c). Returns what kw_change_work_start returns. */
uint64_t kw_change_start_automatic(kw_coordinator *self);

/* Fills in the state of a change that is under way. Texts are in the arena. */
void kw_change_status_of(kw_coordinator *self, const kw_change_record *record, kw_arena *arena,
                         kw_change_status *ret_status);
/* The rates of the present work, as this gateway does it; see kw_change_status. */
void kw_change_rates_of(kw_coordinator *self, const kw_change_record *record, double *ret_progress,
                        double *ret_rows_per_second, int64_t *ret_left_ms);
/* The weight of the comparison, for kw_change_estimate; that of other tasks is 1. */
unsigned kw_change_weight_of_comparison(const kw_change_record *record);
/* Until when the limit of rows per second lets no slice start; 0: the record has none. */
uint64_t kw_change_limit_until_ns(const kw_change_record *record, const kw_change_work *work);
/* For kw_path_progress.filled: the progress of one of the added paths. */
unsigned kw_change_filled_of(kw_coordinator *self, const kw_change_record *record, size_t path);
/* Why the operator cannot switch now; NULL: nothing prevents it. In the arena. */
const char *kw_change_why_not_switch(const kw_change_record *record, bool leave_undecodable, kw_arena *arena);
/* Why a change cannot be cancelled: another version of the policy is current. */
const char *kw_change_why_not_cancel(const kw_change_record *record, int64_t current, kw_arena *arena);
/* Why a command is refused: the change is at another place than its caller has seen. */
const char *kw_change_other_place(const char *place, const char *expected, kw_arena *arena);
/* When the last cursor of the old key rule expires, by the wall clock. */
int64_t kw_change_cursors_until_ms(const kw_coordinator *self, const kw_change_record *record);
