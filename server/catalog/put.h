/* The conditional put of the row of facts: the one way in which the catalog changes. */
#pragma once

#include "catalog/inside.h"

/* What the catalog is to say of a table: NULL facts for a table that is forgotten. */
typedef struct kw_facts_put {
    const char *table;
    const kw_facts *facts;
} kw_facts_put;

/* Puts them if the catalog is still what `image` says. It always puts a new id, also without any facts: that
 * takes the id away from an earlier put that is still on its way to the store. BUSY: another gateway changed
 * the catalog since. An answer that leaves open whether the put was applied is followed by the same put until
 * it is certain, however long that takes. The image must live until done. */
void kw_catalog_put(kw_catalog *catalog, const kw_catalog_image *image, const kw_facts_put *puts,
                    size_t count, void (*done)(void *user, const kw_error *error), void *user);
