/* Private to the coordinator: a command of the operator or of the gateway itself, while it is carried out. */
#pragma once

#include "coordinator/coordinator_internal.h"

struct kw_change_request {
    kw_task task;
    kw_job job;
    kw_coordinator *coordinator;
    kw_change_request *next_open;
    kw_arena *arena;
    kw_change_command command;
    kw_loop *loop; /* the caller's loop; NULL: there is no caller, or it was answered */
    kw_change_done done;
    void *user;
    /* a step */
    bool continues;      /* the gateway's own command; automatic.c */
    bool as_holder;      /* the gateway's own command, as the holder of a change with several writers */
    const char *path;    /* of a change that the gateway continues by itself */
    kw_change_next next; /* the step */
    uint64_t revision;   /* control->stored_revision when the records were read */
    kw_error refusal;    /* why the record that was read does not allow the command */
    bool saved_mine;     /* the edited record has the progress of this gateway */
    uint64_t until_ns;   /* when it stops waiting, with an error; SHOW: without one */
    bool waits;          /* SHOW: until this gateway serves what the catalog has */
    bool stepping;
    kw_change_record record; /* as the command changes it */
    kw_change_set *before, *after;
    kw_change_step step;
    kw_policy *policy;
    kw_version_draft draft; /* of a cancellation */
};

/* Carries out a command: the job of a request. */
void kw_change_request_run(kw_job *job);
/* Answers the caller, ends the job of the command and frees the request. */
void kw_change_request_finish(kw_change_request *request, const kw_error *error);
/* The same with an error that begins with the name of the table. */
void kw_change_request_refuse(kw_change_request *request, kw_code code, const char *text);
/* Writes request->record to the catalog, then finishes the request. */
void kw_change_request_write_record(kw_change_request *request);

/* automatic.c: continues changes whose time has come. Returns in how many milliseconds it must be
 * called again. */
uint64_t kw_change_start_automatic(kw_coordinator *coordinator);
/* The command that the gateway gave itself has ended; error can be NULL. */
void kw_change_own_end(kw_change_request *request, const kw_error *error);

/* Sets the limit and the share that a THROTTLE has. */
void kw_change_throttle(const kw_change_command *command, kw_change_record *record);

/* For several writers: reads the record from the catalog, changes it as the command says, writes it, and
 * finishes the request. */
void kw_change_goal_run_command(kw_change_request *request);
/* Changes a record as the command says. Pure. `current`: the current policy version, read together with the
 * record. False: the command is refused. Texts are in the arena. */
bool kw_change_goal_edit(const kw_change_command *command, int64_t current, kw_change_record *record,
                         kw_arena *arena, kw_error *ret_error);

/* Takes the next step of the change as soon as no call uses an earlier policy; steps.c. */
void kw_change_step_wait(kw_change_request *request);
/* Continues a request that waits. */
void kw_change_step_tick(kw_change_request *request);
