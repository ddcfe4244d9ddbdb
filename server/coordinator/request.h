/* Private to the coordinator: a command of the operator or of the gateway itself, while it is carried out. */
#pragma once

#include "coordinator/coordinator_internal.h"

struct kw_change_request {
    kw_control_request request;
    kw_coordinator *coordinator;
    kw_change_command command;
    kw_change_done done;
    kw_change_status *changes; /* the result */
    size_t changes_count;
    /* SHOW */
    uint64_t revision; /* control->stored_revision when the records were read */
    bool waits;        /* until this gateway serves what the catalog has */
    uint64_t until_ns; /* when it stops waiting, without an error; a step: with one */
    /* the gateway's own command; automatic.c */
    void (*ended)(kw_change_request *request, const kw_error *error); /* can be NULL */
    bool as_holder;      /* as the holder of a change with several writers */
    const char *path;    /* of the change */
    kw_change_next next; /* the step */
    /* goals.c */
    kw_error refusal; /* why the record that was read does not allow the command */
    bool saved_mine;  /* the edited record has the progress of this gateway */
    /* a step */
    bool stepping;           /* it no longer waits */
    kw_change_record record; /* as the command changes it */
    kw_change_set *before, *after;
    kw_change_step step;
    kw_policy *policy;
    kw_version_draft draft; /* of a cancellation */
};

/* --- request.c ---------------------------------------------------------------------------------------- */

kw_change_request *kw_change_request_new(const kw_control_request_kind *kind, kw_control *control,
                                         kw_loop *loop, void *user);
/* Answers the caller with the changes that are then under way, or with the error, and frees the request. */
void kw_change_request_finish(kw_change_request *request, const kw_error *error);
/* The same with an error that begins with the name of the table. */
void kw_change_request_refuse(kw_change_request *request, kw_code code, const char *text);
/* For the kinds of requests: ends a step that waits; frees what the request has. */
void kw_change_request_stop(kw_control_request *request);
void kw_change_request_clear(kw_control_request *request);

/* --- steps.c ------------------------------------------------------------------------------------------ */

/* Takes the next step of the change as soon as no call uses an earlier policy. */
void kw_change_step_wait(kw_change_request *request);
/* Continues a request that waits. */
void kw_change_step_tick(kw_change_request *request);

/* --- goals.c, commands.c ------------------------------------------------------------------------------ */

/* Sets the limit and the share that a THROTTLE has. */
void kw_change_throttle(const kw_change_command *command, kw_change_record *record);
/* For several writers: reads the record from the catalog, changes it as the command says, writes it, and
 * finishes the request. */
void kw_change_goal_run_command(kw_change_request *request);
/* Changes a record as the command says. Pure. `current`: the current policy version, read together with the
 * record. False: the command is refused. Texts are in the arena. */
bool kw_change_goal_edit(const kw_change_command *command, int64_t current, kw_change_record *record,
                         kw_arena *arena, kw_error *ret_error);

/* Carries out a command that is not SHOW. */
void kw_change_command_run(kw_control_request *request);
