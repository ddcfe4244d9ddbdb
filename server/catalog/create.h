/* Creates the catalog's store table. */
#pragma once

#include "catalog/catalog_internal.h"

/* Creates the table unless it exists. The arena must live until done, which can be called before this
 * returns. */
void kw_catalog_create(kw_catalog *catalog, kw_arena *arena, kw_deadline deadline, kw_simple_done done,
                       void *user);
