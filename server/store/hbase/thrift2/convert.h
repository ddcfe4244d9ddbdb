/* Conversion between the store's structs and Thrift2's. The conversions copy only arrays; they borrow the
 * bytes from the operation, or, for rows, from the reply. Only kw_hbase_copy_cells copies bytes.
 */
#pragma once

#include "store/store.h"
#include "thrift/hbase2_wire.h"

#include <glib.h>

/* The Thrift2 struct for a write: TPut, TDelete, or TRowMutations. The last one is for a write with extra
 * cells, a put with markers, and a delete of both columns and whole families. */
typedef enum kw_hbase_shape {
    KW_HBASE_SHAPE_PUT,
    KW_HBASE_SHAPE_DELETE,
    KW_HBASE_SHAPE_MUTATIONS
} kw_hbase_shape;

kw_hbase_shape kw_hbase_shape_of(const kw_write *write);

/* durability is a parameter because all writes of a batch use the durability of the first one. */
void kw_hbase_to_put(kw_arena *arena, const kw_write *write, kw_durability durability, kw_hb_TPut *ret_put);

/* The write must have the shape DELETE. Without columns, the cells of every family up to the timestamp are
 * deleted. Columns use DELETE_COLUMNS (all versions up to the timestamp), families DELETE_FAMILY. */
void kw_hbase_to_delete(kw_arena *arena, const kw_write *write, kw_durability durability,
                        kw_hb_TDelete *ret_delete);

/* The write can have any shape. */
const kw_hb_TRowMutations *kw_hbase_to_mutations(kw_arena *arena, const kw_write *write,
                                                 kw_durability durability);

/* An estimate of the size of the write's Thrift2 struct on the wire. It is never too low. */
size_t kw_hbase_write_bytes(const kw_write *write);

/* LIMIT if a cell is larger than HBase's client accepts (hbase.client.keyvalue.maxsize, which includes the
 * key). The error names table and column. */
bool kw_hbase_check_write(const kw_write *write, kw_error *ret_error);

void kw_hbase_to_get(kw_arena *arena, const kw_get *get, kw_hb_TGet *ret_get);

/* Copies the cells and their bytes. */
kw_cell *kw_hbase_copy_cells(kw_arena *arena, const kw_cell *cells, size_t count);

/* Names a row of a table. Used as the key of a GHashTable; the structs in that hash table begin with it. */
typedef struct kw_hbase_row_key {
    kw_bytes table, row;
} kw_hbase_row_key;

guint kw_hbase_row_key_hash(gconstpointer key);
gboolean kw_hbase_row_key_equal(gconstpointer a, gconstpointer b);

kw_hb_TColumn *kw_hbase_to_columns(kw_arena *arena, const kw_column *columns, size_t count);

/* The row of a result. Its slices point to the same bytes as those of `result`. CORRUPT if a cell has a
 * timestamp that no cell can have: negative, or KW_TIMESTAMP_NONE. */
bool kw_hbase_from_result(kw_rows *rows, kw_bytes table, const kw_hb_TResult *result, kw_row *ret_row,
                          kw_error *ret_error);

void kw_hbase_to_table_name(kw_bytes table, kw_hb_TTableName *ret_name);

/* The setting with this name that HBase uses: an attribute of a family overrides its configuration. NULL:
 * none. */
const kw_family_setting *kw_hbase_find_setting(const kw_family_setting *settings, size_t count,
                                               kw_bytes name);

/* Adds to the configuration of a family, which must not have this name. */
void kw_hbase_add_configuration(kw_arena *arena, kw_bytes name, kw_bytes value,
                                kw_hb_TColumnFamilyDescriptor *family);

/* How long HBase keeps delete markers according to the settings of a family; 0: they do not say. */
int64_t kw_hbase_to_markers_ms(const kw_family_setting *settings, size_t count);
bool kw_hbase_is_markers_setting(const kw_family_setting *setting);
/* Adds the setting with which HBase keeps delete markers for markers_ms. */
void kw_hbase_set_markers(kw_arena *arena, int64_t markers_ms, kw_hb_TColumnFamilyDescriptor *family);

bool kw_hbase_is_in_memory_setting(const kw_family_setting *setting);
/* Adds the configuration for in-memory compaction: that of `from`, or BASIC if it has none. */
void kw_hbase_set_in_memory(kw_arena *arena, const kw_family_spec *from, kw_hb_TColumnFamilyDescriptor *to);

/* The names of a family option's values and their numbers in Thrift2; the last name is NULL. */
typedef struct kw_hbase_choices {
    const char *names[8];
    int32_t numbers[8];
} kw_hbase_choices;

extern const kw_hbase_choices kw_hbase_compressions;
extern const kw_hbase_choices kw_hbase_blooms;
extern const kw_hbase_choices kw_hbase_encodings;
