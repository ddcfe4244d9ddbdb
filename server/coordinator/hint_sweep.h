/* Deletes stale hints that no query meets: visits all hints of all hint paths, slowly, again and again. Of
 * the gateways that serve a table, the first one by the names of their registrations sweeps it. If two do so
 * for a moment, that does no harm; hint/clean.h says why. Main thread. */
#pragma once

#include "policy/control.h"

typedef struct kw_hint_sweep kw_hint_sweep;

kw_hint_sweep *kw_hint_sweep_new(kw_control *control);
/* No slice may be under way: see kw_hint_sweep_is_busy. */
void kw_hint_sweep_free(kw_hint_sweep *sweep);
bool kw_hint_sweep_is_busy(const kw_hint_sweep *sweep);

/* Starts a slice if it is time for one. Returns in how many milliseconds it must be called again; UINT64_MAX:
 * `wake` will be called. */
uint64_t kw_hint_sweep_tick(kw_hint_sweep *sweep, void (*wake)(void *user), void *user);
