/* Prepares the store for a policy before it is served.
 *
 *   compare with the catalog -> check rows that the catalog does not know (row_checks.h)
 *     -> create missing store tables -> prepare sequences -> hold the calls of tables whose rows change -> write the facts -> done: the policy is served
 *
 * A step of a change does not look up the store tables that the policy in service has. There are many steps,
 * and atomic operations can be held meanwhile.
 *
 * If the comparison rejects the policy, no store table was created for it, and the facts did not change. If a
 * later step fails, store tables that were created remain.
 *
 * Calls are held only if gateways with the old policy and with the new one must not serve a table at the same
 * time, for example because a path or a column of an empty table changes. New calls on the table then
 * wait, and the facts are written only after the running calls have ended. So no call writes a row under the
 * old policy after that. */
#pragma once

#include "policy/control.h"

/* Calls done on the main loop, later. If error is NULL the policy is admitted, and done must begin to serve
 * it before it returns. References the policy until then. One at a time.
 *
 * If the catalog keeps the policy, its version must still be the current one; with `next`, which must live
 * until done, the version before it must be current, and this policy becomes the current version.
 *
 * step: the step of a change of a key rule, which the policy was compiled for, or NULL; it must live
 * until done.
 *
 * begins: the gateway begins to serve, or serves again after it lost its registration. Then, and for tables
 * that are not served before, tables that cannot be served are left out (table_states.h). */
void kw_prepare(kw_control *control, kw_policy *policy, const kw_version_draft *next,
                const kw_change_step *step, bool begins, void (*done)(void *user, const kw_error *error),
                void *user);

/* The pause before another attempt, after `tries` of them (at least 1) found that another gateway was
 * changing the catalog. Gateways follow a step of a change at the same time, and atomic operations can be
 * held meanwhile. One of them succeeds each time, after some 20 ms. So the first pauses are short, and
 * further ones are longer, in case there are many gateways. `random` makes them differ between gateways. */
uint64_t kw_prepare_pause_ms(unsigned tries, uint64_t random);

/* Call this when draining begins: ends a waiting preparation now, and any other one at its next step. */
void kw_prepare_end(kw_control *control);
