/* A test for any store: associations of records that expire by a TTL. A row key that is derived from the
 * record may expire in the association. A row key that only the association holds is renewed before the
 * record could outlive it. */
#pragma once

#include "store/store.h"

/* Takes ownership of the store. name: the prefix of the store tables that the test creates. */
void renewed_integration_test(kw_store *store, const char *name);

/* The same over several days. move_clock advances the clock; the store must use base/clock.h. */
void renewed_days_integration_test(kw_store *store, const char *name, void (*move_clock)(int64_t by_ms));
