/* The conditional put of the row of facts: the one way in which the catalog changes. */
#pragma once

#include "catalog/inside.h"

/* What the catalog is to say of a table: NULL facts for a table that is forgotten. */
typedef struct kw_facts_put {
    const char *table;
    const kw_facts *facts;
} kw_facts_put;

typedef struct kw_catalog_changes {
    const kw_facts_put *facts;
    size_t facts_count;
    const char *const *made; /* store tables that Keyway created */
    size_t made_count;
} kw_catalog_changes;

/* Puts the changes if the catalog is still what `image` says. It always puts a new id, even without changes:
 * that takes the id away from an earlier put that is still on its way to the store. BUSY: another gateway
 * changed the catalog since. An answer that leaves open whether the put was applied is followed by the same
 * put until it is certain, however long that takes. The image must live until done. */
void kw_catalog_put(kw_catalog *catalog, const kw_catalog_image *image, const kw_catalog_changes *changes,
                    void (*done)(void *user, const kw_error *error), void *user);
