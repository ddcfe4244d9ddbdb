/* Checks store tables beside the calls that are served: whether the table and its
 * families are as the policy says (verb/store_table.h), and if the table is new to the catalog, its existing
 * rows (verb/sample.h).
 *
 *   an admission
 *     -> kw_row_checks_start: the checks that have no result yet begin; a few run at the same time
 *     -> kw_row_checks_apply: results go into the admission; a table is refused if a check of its rows, or of the
 *        families of a circular calendar, is open or has failed, or refuses it
 *   the policy begins to serve
 *     -> kw_row_checks_serve: the other store tables are described
 *     -> kw_row_checks_show: differences become warnings
 *
 * When a gateway begins to serve, it leaves out tables with such open checks, and admits them when the checks
 * have ended. A reload, and a new policy version, wait for these checks first. Results are kept in memory;
 * once the facts of a table are in the catalog, its rows are not checked again. A store table that differs is
 * described again every few seconds, until it does not differ. Main thread only. */
#pragma once

#include "policy/control.h"

typedef struct kw_row_checks kw_row_checks;

/* ended is called with the gateway when a check has ended. */
kw_row_checks *kw_row_checks_new(kw_control *control, void (*ended)(void *control));
/* No further check begins. Call it when draining begins. */
void kw_row_checks_stop(kw_row_checks *checks);
/* Before the loop is freed. */
void kw_row_checks_close(kw_row_checks *checks);
/* After the store handle was closed. */
void kw_row_checks_free(kw_row_checks *checks);

/* Begins the checks that the tables of the admission need and that have no result. recent: the result is for
 * a reload or a new policy version, so it must be recent. Returns the number of open checks of tables that
 * are not optional, and of those that check only the families. */
size_t kw_row_checks_start(kw_row_checks *checks, const kw_policy *policy, const kw_admission *admission,
                           bool recent);
/* The policy begins to serve, and its store tables were created: those of served tables without a recent
 * result are described. */
void kw_row_checks_serve(kw_row_checks *checks, kw_policy *policy);
bool kw_row_checks_are_open(const kw_row_checks *checks);
/* Sets the differences of the paths of the policy in service from the checks that have ended. A table whose
 * store table is refused since then is not served any more. */
void kw_row_checks_show(kw_row_checks *checks, kw_policy *policy);
/* Calls done when no check of a table that must be checked before it is served is open. One caller at a time.
 */
void kw_row_checks_wait(kw_row_checks *checks, void (*done)(void *user), void *user);
/* done of kw_row_checks_wait will not be called. */
void kw_row_checks_cancel_wait(kw_row_checks *checks);

/* Notes in the admission which rows were checked. Refuses each table whose check is open (UNAVAILABLE), has
 * failed, or has found a row that does not fit: leaves it out if it is optional; otherwise returns false with
 * the first reason. `preview`: leaves out all of them and returns true. */
bool kw_row_checks_apply(const kw_row_checks *checks, const kw_policy *policy, kw_admission *admission,
                         bool preview, kw_error *ret_error);
