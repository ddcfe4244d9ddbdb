/* Deletes all rows of a store table: drops it, and creates it again with the same families and regions. */
#pragma once

#include "catalog/catalog_internal.h"

/* A missing table is not an error. After an error, the table can be missing. Drops nothing once the lease has
 * expired. The arena must live until done. */
void kw_catalog_empty(kw_catalog *catalog, kw_bytes store_table, kw_arena *arena, kw_deadline deadline,
                      kw_simple_done done, void *user);
