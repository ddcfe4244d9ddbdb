/* Drops all rows of a store table: it is dropped and created again with the same families and regions. */
#pragma once

#include "store/store.h"

/* A missing table is fine. After an error the table may be missing; the same call again completes it only
 * while the table is there. The arena must live until done. */
void kw_catalog_empty(kw_door *door, kw_bytes store_table, kw_arena *arena, kw_deadline deadline,
                      kw_simple_done done, void *user);
