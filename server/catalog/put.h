/* The conditional put of the row of facts: the only way to change that row. */
#pragma once

#include "catalog/catalog_internal.h"

/* The new facts of a table: NULL for a table to forget. */
typedef struct kw_facts_put {
    const char *table;
    const kw_facts *facts;
} kw_facts_put;

typedef struct kw_catalog_changes {
    const kw_facts_put *facts;
    size_t facts_count;
    const char *const *created; /* store tables that Keyway created */
    size_t created_count;
    const kw_zone_text *zones; /* to add or replace */
    size_t zones_count;
    const kw_version_name *version; /* the policy version that becomes current; NULL: unchanged */
    bool puts_records;              /* false: the records of changes stay as they are */
    const kw_change_record *records;
    size_t records_count;
} kw_catalog_changes;

/* Puts the changes if the catalog still equals `image`. Always puts a new id, even without changes, so that
 * an earlier put still in flight is rejected. BUSY: the catalog was changed since, or another put of this
 * gateway is in flight. If it is unknown whether the put was applied, the same put is repeated until it is
 * certain, however long that takes, or until kw_catalog_end_repeats or kw_catalog_close. done can be called
 * before this returns. The image must live until done. */
void kw_catalog_put(kw_catalog *catalog, const kw_catalog_image *image, const kw_catalog_changes *changes,
                    void (*done)(void *user, const kw_error *error), void *user);
