/* Inside of the room: what must be true in the store before a policy goes into service. First the
 * missing tables are made, where the policy asks for that, then the layout guard compares every rule
 * with the one that rows were written under, then what fields with generate need is seen to. */
#pragma once

#include "gateway/inside.h"

/* Calls done on the main loop, later; error NULL: prepared. Keeps a reference on the policy until then. */
void kw_prepare(kw_gateway *gateway, kw_policy *policy, void (*done)(void *user, const kw_error *error),
                void *user);
