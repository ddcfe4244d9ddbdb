/* Internal to gateway: follows the versions of a policy that the catalog keeps.
 *
 *   each second: which version is current? -- another one --> load it -> prepare -> serve
 *                                                               |          |
 *                                          keep the old one, try again later
 *
 * Only on stores that other processes use: otherwise only this gateway changes the policy. Main thread only.
 */
#pragma once

#include "gateway/gateway_internal.h"

/* NULL if there is nothing to follow. It begins at once. The other functions ignore NULL. */
kw_follower *kw_follower_new(kw_gateway *gateway);
/* Ends the polls: when draining begins. */
void kw_follower_stop(kw_follower *self);
/* Call it before the loop is freed. */
void kw_follower_close(kw_follower *self);
/* Call it after the loop was freed. */
void kw_follower_free(kw_follower *self);
