/* Between the store handle's words and Thrift2's structs. Nothing is copied but arrays: bytes are borrowed
 * from the operation, rows from the reply. */
#pragma once

#include "store/store.h"
#include "thrift/hbase2_wire.h"

#include <glib.h>

/* A write takes one of three shapes: TPut, TDelete, or TRowMutations: for a delete of columns and of whole
 * families at once, or with cells beside it. */
typedef enum kw_hbase_shape {
    KW_HBASE_SHAPE_PUT,
    KW_HBASE_SHAPE_DELETE,
    KW_HBASE_SHAPE_MUTATIONS
} kw_hbase_shape;

kw_hbase_shape kw_hbase_shape_of(const kw_write *write);

/* durability is given apart: many writes share the first one's. */
void kw_hbase_to_put(kw_arena *arena, const kw_write *write, kw_durability durability, kw_hb_TPut *ret_put);

/* A shape DELETE. Without columns every family's cells up to the timestamp go; a column's TDelete is
 * DELETE_COLUMNS (all versions up to the timestamp), a family's DELETE_FAMILY. */
void kw_hbase_to_delete(kw_arena *arena, const kw_write *write, kw_durability durability,
                        kw_hb_TDelete *ret_delete);

/* Any shape. */
const kw_hb_TRowMutations *kw_hbase_to_mutations(kw_arena *arena, const kw_write *write,
                                                 kw_durability durability);

/* About as many bytes as the write takes on the wire, or more. */
size_t kw_hbase_write_bytes(const kw_write *write);

/* LIMIT when a cell is larger than HBase's client lets pass (hbase.client.keyvalue.maxsize counts the
 * key with the value) or a row key leaves no room; names table and column. */
bool kw_hbase_check_write(const kw_write *write, kw_error *ret_error);

void kw_hbase_to_get(kw_arena *arena, const kw_get *get, kw_hb_TGet *ret_get);

/* A copy with its names in the arena. */
kw_column *kw_hbase_copy_columns(kw_arena *arena, const kw_column *columns, size_t count);

/* Of a row of a table, for GLib's tables. */
guint kw_hbase_row_hash(kw_bytes table, kw_bytes row);

kw_hb_TColumn *kw_hbase_to_columns(kw_arena *arena, const kw_column *columns, size_t count);

/* One row whose cells' slices point to where `result`'s do. */
void kw_hbase_from_result(kw_rows *rows, const kw_hb_TResult *result, kw_row *ret_row);

void kw_hbase_to_table_name(kw_bytes table, kw_hb_TTableName *ret_name);

/* Names of a family's options and their numbers in Thrift2; names end with NULL. */
typedef struct kw_hbase_choices {
    const char *names[8];
    int32_t numbers[8];
} kw_hbase_choices;

extern const kw_hbase_choices kw_hbase_compressions;
extern const kw_hbase_choices kw_hbase_blooms;
extern const kw_hbase_choices kw_hbase_encodings;
