/* Drops all rows of a store table: it is dropped and created again with the same families and regions. */
#pragma once

#include "catalog/inside.h"

/* A missing table is fine. After an error the table may be missing. Nothing is dropped once the lease has
 * ended. The arena must live until done. */
void kw_catalog_empty(kw_catalog *catalog, kw_bytes store_table, kw_arena *arena, kw_deadline deadline,
                      kw_simple_done done, void *user);
