/* Carries out changes of key rules. In a store that only this gateway writes:
 *
 *   policy applied, or a command of the operator --> step: compile the policy with the next roles
 *        --> prepare (the catalog gets facts and records) --> serve --> earlier calls end ("drained")
 *                                                                          |
 *                            copy all rows, then compare them, in slices <-+-> the next command
 *
 * The records of changes in the catalog say what to do. After a restart, the gateway continues from them.
 * After each slice, the coordinator updates its copy of the records, control->changes. It writes the copy to
 * the catalog about every two seconds. So slices can be repeated after a restart, which is harmless.
 *
 * In a store that several gateways write, each of them serves the places that it finds in the catalog, and
 * reports them. One of them, the holder, sets the places and does the work:
 *
 *   commands (any gateway) --> goal in the catalog --> holder: decision --> step, or a slice of work
 *                                                       ^
 *   every gateway: place served, calls before ended --> its registration says so
 *
 * Main thread only, except for kw_coordinator_run_command. */
#pragma once

#include "change/set.h"
#include "policy/control.h"

typedef struct kw_coordinator kw_coordinator;

kw_coordinator *kw_coordinator_new(kw_control *control);

/* Call it when a policy has replaced `old` in service. */
void kw_coordinator_note_served(kw_coordinator *self, kw_policy *old);

/* Call it when the catalog was read and its records do not differ (kw_changes_differ) from those of the
 * policy in service. Ignored while another place is being loaded or set. */
void kw_coordinator_note_stored(kw_coordinator *self, struct kw_change_set *stored);

/* Looks for work in `in_ms`. Call it when the gateway begins to serve, and when work can continue. */
void kw_coordinator_wake(kw_coordinator *self, uint64_t in_ms);

/* What a guess of the duration of a copy assumes. */
kw_copy_guess kw_coordinator_guess(const kw_coordinator *self);

/* True if calls can still run under a policy before the one in service. */
bool kw_coordinator_earlier_in_use(const kw_coordinator *self);
/* True if no call runs under an earlier policy, and no slice is in progress. */
bool kw_coordinator_is_drained(const kw_coordinator *self);

/* Admin.changes and orderChange: the signature is that of kw_service_settings, `user` is the kw_control. Any
 * thread. */
void kw_coordinator_run_command(void *user, const kw_change_command *command, kw_loop *loop,
                                kw_change_done done, void *done_user);

/* Call it when draining begins: ends the work after the slice in progress. */
void kw_coordinator_stop(kw_coordinator *self);
/* Call it once, after kw_coordinator_stop. Calls done later, when no slice is in progress, so that the store
 * handle can be closed. */
void kw_coordinator_when_idle(kw_coordinator *self, void (*done)(void *user), void *user);
/* Call kw_coordinator_close before the loop is freed, and kw_coordinator_free after that. */
void kw_coordinator_close(kw_coordinator *self);
void kw_coordinator_free(kw_coordinator *self);
