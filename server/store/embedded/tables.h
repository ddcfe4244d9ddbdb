/* The list of tables of the embedded store: its tables with their families, options and regions. It is stored
 * under table id 0, and all of it is in memory.
 *
 * A kw_stored_table does not change and is reference counted: a reader can use it after the table was
 * dropped. Ids are never reused, so compaction can drop the entries of a dropped table at any time. Any
 * thread can look up tables. Only one thread at a time (the committer) creates and drops them.
 */
#pragma once

#include "store/store.h"

#include <rocksdb/c.h>

typedef struct kw_stored_family {
    kw_bytes name;
    kw_family_spec spec; /* as given at creation */
    int32_t max_versions;
    int32_t min_versions;
    int64_t ttl_ms; /* 0: cells do not expire */
    bool keep_deleted;
} kw_stored_family;

typedef struct kw_stored_table {
    _Atomic unsigned references;
    kw_arena *arena;
    uint32_t id;
    kw_bytes name;
    const kw_stored_family *families; /* sorted by name; the index is the family's number in keys */
    size_t families_count;
    const kw_bytes *split_keys;
    size_t split_keys_count;
} kw_stored_table;

/* The index of the family, or -1. */
int kw_stored_table_family(const kw_stored_table *table, kw_bytes name);
kw_stored_table *kw_stored_table_ref(kw_stored_table *table);
void kw_stored_table_unref(kw_stored_table *table); /* NULL is allowed */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(kw_stored_table, kw_stored_table_unref)

/* Reference counted, because compactions use it on RocksDB's threads. */
typedef struct kw_embedded_tables kw_embedded_tables;

kw_embedded_tables *kw_embedded_tables_new(void);
kw_embedded_tables *kw_embedded_tables_ref(kw_embedded_tables *tables);
void kw_embedded_tables_unref(kw_embedded_tables *tables); /* NULL is allowed */

/* Reads all tables. CORRUPT if an entry is malformed. */
bool kw_embedded_tables_load(kw_embedded_tables *tables, rocksdb_t *db, kw_error *ret_error);

/* The table with this name, as a new reference, or NULL. "default:name" is the same as "name". */
kw_stored_table *kw_embedded_tables_find(kw_embedded_tables *tables, kw_bytes name);

/* For compaction. True: ret_table is the table, as a new reference, or NULL if the table was dropped. False:
 * it is unknown whether the table exists, because the list is not loaded or does not have this id yet. */
bool kw_embedded_tables_find_id(kw_embedded_tables *tables, uint32_t id, kw_stored_table **ret_table);

/* Creates a table durably. The wrappers of store.h have checked the spec. ret_created is false if the table
 * existed. */
bool kw_embedded_tables_create(kw_embedded_tables *tables, rocksdb_t *db, const kw_table_spec *spec,
                               bool *ret_created, kw_error *ret_error);

/* Drops a table durably; ret_id is its id. NOT_FOUND if it does not exist. */
bool kw_embedded_tables_drop(kw_embedded_tables *tables, rocksdb_t *db, kw_bytes name, uint32_t *ret_id,
                             kw_error *ret_error);
