/* Finds out which store tables hold rows: reads one row of each, one store table after the other. */
#pragma once

#include "catalog/compare.h"
#include "store/store.h"

/* evidence lives in the arena. */
typedef void (*kw_probed)(void *user, const kw_evidence *evidence, const kw_error *error);

/* store_tables: without duplicates, must live until done. done can be called before this returns. */
void kw_catalog_probe(kw_store_handle *handle, const char *const *store_tables, size_t count, kw_arena *arena,
                      kw_deadline deadline, kw_probed done, void *user);
