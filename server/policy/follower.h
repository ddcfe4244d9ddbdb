/* Follows the policy that the catalog keeps, and the places of changes of key rules.
 *
 *   each second, more often during a change: what is current?
 *     another version, or place ----------------> load it -> prepare -> serve
 *                                                    |          |
 *                                                    +----------+--> cannot be served: keep the old one, retry
 *     the same, other records of changes -------> note the goal, holder and progress
 *
 * Only on stores that other processes use: otherwise only this gateway changes the policy. Main thread only.
 */
#pragma once

#include "policy/control.h"

/* Begins to poll, after a second. NULL if there is nothing to follow; the other functions ignore NULL. */
kw_follower *kw_follower_new(kw_control *control);
/* Polls in the next loop iteration, unless a poll is in progress or a policy is being loaded. Call it when
 * this gateway finds that its copy of the records of changes is out of date. */
void kw_follower_wake(kw_follower *self);
/* Stops polling. Call it when draining begins. */
void kw_follower_stop(kw_follower *self);
/* Call it before the loop is freed. */
void kw_follower_close(kw_follower *self);
/* Call it after the loop was freed. */
void kw_follower_free(kw_follower *self);
