/* Finds out which store tables hold rows: reads one row of each, one store table after the other. */
#pragma once

#include "catalog/compare.h"
#include "store/store.h"

/* evidence lives in the arena. */
typedef void (*kw_probed)(void *user, const kw_evidence *evidence, const kw_error *error);

/* store_tables: without duplicates, must live until done. done can be called before this returns.
 *
 * lenient: a store table that cannot be read gets an error in the evidence. Each store table then gets only a
 * part of the time that is left. Otherwise the first error ends the probe. */
void kw_catalog_probe(kw_store_handle *handle, const char *const *store_tables, size_t count, bool lenient,
                      kw_arena *arena, kw_deadline deadline, kw_probed done, void *user);
