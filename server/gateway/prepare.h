/* Inside of the module: what must be true in the store before a policy goes into service.
 *
 *   compare with the catalog -> create missing store tables -> what fields with generate need
 *     -> hold the calls of tables whose rows change -> write the facts -> done: the policy serves
 *
 * A policy that is refused has created and changed nothing. Calls are held at a reload only, and only where a
 * path or a column of an empty table changes, so that no row is written by the old policy in between. */
#pragma once

#include "gateway/gateway_internal.h"

/* Calls done on the main loop, later. error NULL: the policy is admitted, and done must take it into service
 * before it returns. Keeps a reference on the policy until then. One at a time. */
void kw_prepare(kw_gateway *gateway, kw_policy *policy, void (*done)(void *user, const kw_error *error),
                void *user);

/* The gateway begins to drain: a preparation that waits ends now, any other one with its next step. */
void kw_prepare_end(kw_gateway *gateway);
