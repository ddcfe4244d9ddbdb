/* See reader.h. Cells come in the order of their columns, so one walk along the sorted columns finds every
 * field of a row. */
#include "verb/reader.h"

#include "rule/splits.h"
#include "verb/cells.h"

#include <glib.h>

typedef enum want { WANT_NOT, WANT_READ, WANT_RETURN } want;

struct kw_reader {
    kw_call *call;
    const kw_table *table;
    const kw_path *path;
    kw_arena *scratch;
    bool whole; /* every field is returned */
    want *wants;
    size_t *columns; /* stored fields, sorted by column */
    size_t columns_count;
    kw_record record; /* decoded last */
};

static int
compare_column(const kw_field *field, kw_bytes family, kw_bytes qualifier)
{
    int order = kw_bytes_compare(field->family, family);
    return order ? order : kw_bytes_compare(field->qualifier, qualifier);
}

static int
by_column(gconstpointer left, gconstpointer right, gpointer user)
{
    const kw_table *table = user;
    const kw_field *b = &table->fields[*(const size_t *)right];
    return compare_column(&table->fields[*(const size_t *)left], b->family, b->qualifier);
}

kw_reader *
kw_reader_new(kw_call *call, const kw_table *table, const kw_path *path, const size_t *fields,
              size_t fields_count, kw_arena *scratch)
{
    kw_reader *reader = KW_ARENA_NEW(call->arena, kw_reader);
    *reader = (kw_reader){
        .call = call, .table = table, .path = path, .whole = fields_count == 0, .scratch = scratch};
    reader->record = kw_record_new(table, call->arena);
    reader->wants = KW_ARENA_ARRAY(call->arena, want, table->fields_count);
    reader->columns = KW_ARENA_ARRAY(call->arena, size_t, table->fields_count);
    for (size_t i = 0; i < table->fields_count; i++) {
        if (reader->whole || table->fields[i].identity)
            reader->wants[i] = WANT_RETURN;
        if (table->fields[i].stored)
            reader->columns[reader->columns_count++] = i;
    }
    for (size_t i = 0; i < fields_count; i++)
        reader->wants[fields[i]] = WANT_RETURN;
    g_qsort_with_data(reader->columns, (gint)reader->columns_count, sizeof(size_t), by_column,
                      (gpointer)table);
    return reader;
}

void
kw_reader_need(kw_reader *reader, size_t field)
{
    if (reader->wants[field] == WANT_NOT)
        reader->wants[field] = WANT_READ;
}

static kw_arena *
scratch_of(const kw_reader *reader)
{
    return reader->scratch ? reader->scratch : reader->call->arena;
}

/* Does a column have to be read for this field? */
static bool
needs_column(const kw_reader *reader, size_t field)
{
    return reader->table->fields[field].stored && reader->wants[field] != WANT_NOT &&
           !kw_layout_holds_field(reader->path->layout, field);
}

const kw_column *
kw_reader_columns(const kw_reader *reader, size_t *ret_count)
{
    const kw_table *table = reader->table;
    *ret_count = 0;
    if (reader->whole)
        return NULL;
    kw_column *columns = KW_ARENA_ARRAY(reader->call->arena, kw_column, table->fields_count + 1);
    size_t count = 0;
    for (size_t i = 0; i < reader->columns_count; i++)
        if (needs_column(reader, reader->columns[i]))
            columns[count++] = kw_field_column(&table->fields[reader->columns[i]]);
    if (count == 0)
        return NULL; /* only the key is wanted: any cell shows that the row exists */
    columns[count++] = kw_marker_column(table);
    *ret_count = count;
    return columns;
}

bool
kw_reader_reads_all(const kw_reader *reader)
{
    size_t needed = 0;
    for (size_t i = 0; i < reader->columns_count; i++)
        needed += needs_column(reader, reader->columns[i]);
    return reader->whole || needed == reader->columns_count;
}

static bool
in_row(const kw_reader *reader, const kw_row *row, kw_error *error)
{
    kw_bytes shown = kw_bytes_of(row->key.data, MIN(row->key.size, 64));
    return kw_error_prefix(error, "table %s, path %s, row %s%s", reader->table->name, reader->path->name,
                           kw_bytes_to_binary_text(shown, reader->call->arena),
                           shown.size < row->key.size ? "..." : "");
}

/* A field that the key holds and a column, too. */
static bool
check_agrees(const kw_reader *reader, size_t number, kw_value stored, kw_error *ret_error)
{
    kw_value held = reader->record.values[number];
    if (held.kind == KW_VALUE_NONE || kw_value_equal(held, stored))
        return true;
    char in_key[80], in_column[80];
    kw_value_print(held, in_key, sizeof in_key);
    kw_value_print(stored, in_column, sizeof in_column);
    return kw_error_set(ret_error, KW_CORRUPT, "field %s is %s in the row key and %s in its column",
                        reader->table->fields[number].name, in_key, in_column);
}

static bool
decode_cell(kw_reader *reader, size_t number, kw_bytes cell, kw_error *ret_error)
{
    kw_value value;
    if (!kw_field_decode_cell(reader->table, &reader->table->fields[number], cell, scratch_of(reader), &value,
                              ret_error) ||
        !check_agrees(reader, number, value, ret_error))
        return false;
    reader->record.values[number] = value;
    return true;
}

static bool
decode_cells(kw_reader *reader, const kw_row *row, kw_error *ret_error)
{
    size_t at = 0;
    for (uint32_t i = 0; i < row->cells_count && at < reader->columns_count; i++) {
        const kw_cell *cell = &row->cells[i];
        int order = -1;
        while (at < reader->columns_count &&
               (order = compare_column(&reader->table->fields[reader->columns[at]], cell->family,
                                       cell->qualifier)) < 0)
            at++;
        if (order != 0)
            continue;
        size_t number = reader->columns[at++]; /* older versions find the next column */
        if (reader->wants[number] != WANT_NOT && !decode_cell(reader, number, cell->value, ret_error))
            return in_row(reader, row, ret_error);
    }
    return true;
}

static void
forget(kw_reader *reader)
{
    if (reader->scratch)
        kw_arena_reset(reader->scratch);
    memset(reader->record.values, 0, reader->table->fields_count * sizeof(kw_value));
}

bool
kw_reader_decode(kw_reader *reader, const kw_row *row, const kw_record **ret_record, kw_error *ret_error)
{
    forget(reader);
    if (!kw_layout_decode(reader->path->layout, row->key, scratch_of(reader), &reader->record, ret_error))
        return in_row(reader, row, ret_error);
    *ret_record = &reader->record;
    return decode_cells(reader, row, ret_error);
}

bool
kw_reader_decode_cells(kw_reader *reader, const kw_row *row, const kw_record **ret_record,
                       kw_error *ret_error)
{
    forget(reader);
    *ret_record = &reader->record;
    return decode_cells(reader, row, ret_error);
}

kw_record
kw_reader_borrow(kw_reader *reader)
{
    g_assert(!reader->scratch);
    kw_record lent = kw_record_new(reader->table, reader->call->arena);
    for (size_t i = 0; i < reader->table->fields_count; i++)
        if (reader->wants[i] == WANT_RETURN)
            lent.values[i] = reader->record.values[i];
    return lent;
}

kw_record
kw_reader_keep(kw_reader *reader, kw_arena *arena)
{
    kw_record kept = kw_record_new(reader->table, arena);
    for (size_t i = 0; i < reader->table->fields_count; i++)
        if (reader->wants[i] == WANT_RETURN)
            kept.values[i] = kw_value_copy(reader->record.values[i], arena);
    return kept;
}
