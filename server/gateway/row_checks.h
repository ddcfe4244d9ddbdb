/* Internal to gateway: checks the existing rows of tables that are new to the catalog (verb/sample.h), beside
 * the calls that are served.
 *
 *   an admission finds paths whose rows must be checked
 *     -> kw_row_checks_start: the checks that have no result yet begin; a few run at the same time
 *     -> kw_row_checks_apply: results go into the admission; a table with open checks, or with a row that does
 *        not fit, is refused
 *
 * When a gateway begins to serve, it leaves out tables with open checks, and admits them when the checks have
 * ended. A reload, and a new policy version, wait for the checks first. Results are kept in memory; once the
 * facts of a table are in the catalog, its rows are not checked again. Main thread only. */
#pragma once

#include "gateway/gateway_internal.h"

typedef struct kw_row_checks kw_row_checks;

/* ended is called with the gateway when a check has ended. */
kw_row_checks *kw_row_checks_new(kw_gateway *gateway, void (*ended)(void *gateway));
/* No further check begins. Call it when draining begins. */
void kw_row_checks_stop(kw_row_checks *checks);
/* After the store handle was closed. */
void kw_row_checks_free(kw_row_checks *checks);

/* Begins the checks that the tables of the admission need and that have no result. needed: the result is for
 * a reload or a new policy version, so it must be recent. Returns the number of open checks of tables that
 * are not optional. */
size_t kw_row_checks_start(kw_row_checks *checks, const kw_policy *policy, const kw_admission *admission,
                           bool recent);
/* Calls done when no check is open. One caller at a time. */
void kw_row_checks_wait(kw_row_checks *checks, void (*done)(void *user), void *user);
/* done of kw_row_checks_wait will not be called. */
void kw_row_checks_cancel_wait(kw_row_checks *checks);

/* Notes in the admission which rows were checked. Refuses each table whose check is open (UNAVAILABLE), has
 * failed, or has found a row that does not fit: leaves it out if it is optional; otherwise returns false with
 * the first reason. `preview`: leaves out all of them and returns true. */
bool kw_row_checks_apply(const kw_row_checks *checks, const kw_policy *policy, kw_admission *admission,
                         bool preview, kw_error *ret_error);
