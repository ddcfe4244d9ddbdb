/* Which store tables hold rows? One row of each is asked for, one store table after the other. */
#pragma once

#include "catalog/compare.h"
#include "store/store.h"

/* evidence lives in the arena. */
typedef void (*kw_probed)(void *user, const kw_evidence *evidence, const kw_error *error);

/* store_tables: each once, alive until done is called. done may be called from inside. */
void kw_catalog_probe(kw_door *door, const char *const *store_tables, size_t count, kw_arena *arena,
                      kw_deadline deadline, kw_probed done, void *user);
