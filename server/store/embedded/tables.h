/* The tables of the embedded store: their families, options and regions, kept under table id 0 of the
 * engine and whole in memory.
 *
 * A kw_stored_table never changes and is reference counted: who read it may use it after it was dropped.
 * Ids are never given twice, so entries of a dropped table can be dropped by compaction whenever it comes
 * by. Finding is for any thread; creating and dropping are for one thread at a time (the committer).
 */
#pragma once

#include "store/store.h"

#include <rocksdb/c.h>

typedef struct kw_stored_family {
    kw_bytes name;
    kw_family_spec spec; /* as given at creation */
    int32_t max_versions;
    int32_t min_versions;
    int64_t ttl_ms; /* 0: for ever */
    bool keep_deleted;
} kw_stored_family;

typedef struct kw_stored_table {
    _Atomic unsigned references;
    kw_arena *arena;
    uint32_t id;
    kw_bytes name;
    const kw_stored_family *families; /* sorted by name; the place is the family's number in keys */
    size_t families_count;
    const kw_bytes *split_keys;
    size_t split_keys_count;
} kw_stored_table;

/* The place of the family, or -1. */
int kw_stored_table_family(const kw_stored_table *table, kw_bytes name);
kw_stored_table *kw_stored_table_ref(kw_stored_table *table);
void kw_stored_table_unref(kw_stored_table *table); /* NULL is fine */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(kw_stored_table, kw_stored_table_unref)

/* Reference counted, since compactions use it on threads of RocksDB's. */
typedef struct kw_embedded_tables kw_embedded_tables;

kw_embedded_tables *kw_embedded_tables_new(void);
kw_embedded_tables *kw_embedded_tables_ref(kw_embedded_tables *catalog);
void kw_embedded_tables_unref(kw_embedded_tables *catalog); /* NULL is fine */

/* Reads every table. CORRUPT when an entry is not what it must be. */
bool kw_embedded_tables_load(kw_embedded_tables *catalog, rocksdb_t *db, kw_error *ret_error);

/* A reference of the caller's, or NULL. "default:name" is "name". */
kw_stored_table *kw_embedded_tables_find(kw_embedded_tables *catalog, kw_bytes name);

/* For compaction: true with the table in ret_table (a reference of the caller's), or with NULL when the id
 * belonged to a table that was dropped; false while that is not known. */
bool kw_embedded_tables_find_id(kw_embedded_tables *catalog, uint32_t id, kw_stored_table **ret_table);

/* Durable when it returns true. The spec was checked at the store handle. ret_created is false when the table
 * was there. */
bool kw_embedded_tables_create(kw_embedded_tables *catalog, rocksdb_t *db, const kw_table_spec *spec,
                               bool *ret_created, kw_error *ret_error);

/* NOT_FOUND when there is no such table; ret_id is the dropped one's. */
bool kw_embedded_tables_drop(kw_embedded_tables *catalog, rocksdb_t *db, kw_bytes name, uint32_t *ret_id,
                             kw_error *ret_error);
