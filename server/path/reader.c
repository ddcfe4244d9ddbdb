/* See reader.h. Cells are sorted by column, so one pass over the sorted columns finds every field of a row.
 */
#include "path/reader.h"

#include "base/utf8.h"
#include "path/cells.h"
#include "path/reply_size.h"
#include "rule/splits.h"

#include <glib.h>

typedef enum want { WANT_NOT, WANT_READ, WANT_RETURN } want;

/* Wanted entries of a map, by name; count 0: all entries, if the field is wanted at all. */
typedef struct chosen {
    const kw_bytes *names;
    size_t count;
} chosen;

struct kw_reader {
    kw_call *call;
    const kw_table *table;
    const kw_path *path;
    kw_arena *scratch;
    bool whole;       /* true if every field is returned */
    bool omits_empty; /* kw_reader_omit_empty */
    want *wants;
    size_t *name_bytes;  /* bytes of each field's name in a reply */
    chosen *chosen;      /* per map field */
    size_t chosen_count; /* over all maps */
    size_t *columns;     /* stored fields, sorted by column */
    size_t columns_count;
    kw_record record; /* the record decoded last */
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
    const kw_field *a = &table->fields[*(const size_t *)left], *b = &table->fields[*(const size_t *)right];
    int order = compare_column(a, b->family, b->qualifier);
    /* a column that is exactly the prefix of a map sorts before the entries of the map */
    return order ? order : (a->entry != NULL) - (b->entry != NULL);
}

static int
compare_names(const void *left, const void *right)
{
    return kw_bytes_compare(*(const kw_bytes *)left, *(const kw_bytes *)right);
}

/* A map that is picked as a whole returns all its entries, even if entries are picked, too. */
static void
choose_entries(kw_reader *reader, size_t field, const kw_pick *picks, size_t picks_count)
{
    size_t count = 0;
    for (size_t i = 0; i < picks_count; i++) {
        if (picks[i].field == field && picks[i].entry.size == 0)
            return;
        count += picks[i].field == field;
    }
    kw_bytes *names = KW_ARENA_ARRAY(reader->call->arena, kw_bytes, count);
    count = 0;
    for (size_t i = 0; i < picks_count; i++)
        if (picks[i].field == field)
            names[count++] = picks[i].entry;
    if (count > 1)
        qsort(names, count, sizeof *names, compare_names);
    reader->chosen[field] = (chosen){names, count};
    reader->chosen_count += count;
}

kw_reader *
kw_reader_new(kw_call *call, const kw_table *table, const kw_path *path, const kw_pick *picks,
              size_t picks_count, kw_arena *scratch)
{
    g_assert(path->table == table);
    kw_reader *reader = KW_ARENA_NEW(call->arena, kw_reader);
    *reader = (kw_reader){
        .call = call, .table = table, .path = path, .whole = picks_count == 0, .scratch = scratch};
    reader->record = kw_record_new(table, call->arena);
    reader->wants = KW_ARENA_ARRAY(call->arena, want, table->fields_count);
    reader->name_bytes = KW_ARENA_ARRAY(call->arena, size_t, table->fields_count);
    reader->chosen = KW_ARENA_ARRAY(call->arena, chosen, table->fields_count);
    reader->columns = KW_ARENA_ARRAY(call->arena, size_t, table->fields_count);
    for (size_t i = 0; i < table->fields_count; i++) {
        reader->name_bytes[i] = KW_REPLY_NAME_BYTES + strlen(table->fields[i].name);
        if (reader->whole || table->fields[i].identity)
            reader->wants[i] = WANT_RETURN;
        if (table->fields[i].stored)
            reader->columns[reader->columns_count++] = i;
        if (table->fields[i].entry)
            choose_entries(reader, i, picks, picks_count);
    }
    for (size_t i = 0; i < picks_count; i++)
        reader->wants[picks[i].field] = WANT_RETURN;
    g_qsort_with_data(reader->columns, (gint)reader->columns_count, sizeof(size_t), by_column,
                      (gpointer)table);
    return reader;
}

kw_reader *
kw_reader_new_identity(kw_call *call, const kw_table *table, const kw_path *path)
{
    kw_pick picks[] = {{.field = 0}};
    while (picks->field + 1 < table->fields_count && !table->fields[picks->field].identity)
        picks->field++;
    return kw_reader_new(call, table, path, picks, G_N_ELEMENTS(picks), NULL);
}

void
kw_reader_need(kw_reader *reader, size_t field)
{
    g_assert(field < reader->table->fields_count);
    if (reader->wants[field] == WANT_NOT)
        reader->wants[field] = WANT_READ;
}

void
kw_reader_omit_empty(kw_reader *reader)
{
    reader->omits_empty = true;
}

/* True if the cell shows only that its column exists. */
static bool
is_omitted(const kw_reader *reader, const kw_cell *cell)
{
    return reader->omits_empty && cell->value.size == 0;
}

static kw_arena *
scratch_of(const kw_reader *reader)
{
    return reader->scratch ? reader->scratch : reader->call->arena;
}

/* True if the row keys of every placement hold the field. */
static bool
keys_hold(const kw_path *path, size_t field)
{
    bool hold = true;
    for (size_t i = 0; hold && i < path->placements_count; i++)
        hold = kw_layout_holds_field(path->placements[i].layout, field);
    return hold;
}

/* True if this field has a column to read. */
static bool
needs_column(const kw_reader *reader, size_t field)
{
    return reader->table->fields[field].stored && reader->wants[field] != WANT_NOT &&
           !keys_hold(reader->path, field);
}

/* True if a map is needed as a whole: its columns cannot be listed. */
static bool
needs_whole_map(const kw_reader *reader)
{
    for (size_t i = 0; i < reader->columns_count; i++) {
        size_t field = reader->columns[i];
        if (reader->table->fields[field].entry && reader->chosen[field].count == 0 &&
            reader->wants[field] != WANT_NOT)
            return true;
    }
    return false;
}

const kw_column *
kw_reader_columns(const kw_reader *reader, size_t *ret_count)
{
    const kw_table *table = reader->table;
    kw_arena *arena = reader->call->arena;
    *ret_count = 0;
    if (reader->whole || needs_whole_map(reader))
        return NULL;
    kw_column *columns = KW_ARENA_ARRAY(arena, kw_column, table->fields_count + reader->chosen_count + 1);
    size_t count = 0;
    for (size_t i = 0; i < reader->columns_count; i++) {
        size_t field = reader->columns[i];
        const chosen *entries = &reader->chosen[field];
        if (!needs_column(reader, field))
            continue;
        if (entries->count == 0)
            columns[count++] = kw_pick_column(table, (kw_pick){.field = field}, arena);
        for (size_t entry = 0; entry < entries->count; entry++)
            columns[count++] = kw_pick_column(table, (kw_pick){field, entries->names[entry]}, arena);
    }
    if (count == 0)
        return NULL; /* only the key is needed: any cell shows that the row exists */
    columns[count++] = kw_marker_column(table);
    *ret_count = count;
    return columns;
}

bool
kw_reader_reads_all(const kw_reader *reader)
{
    size_t needed = 0;
    for (size_t i = 0; i < reader->columns_count; i++)
        needed += needs_column(reader, reader->columns[i]) && reader->chosen[reader->columns[i]].count == 0;
    return reader->whole || needed == reader->columns_count || needs_whole_map(reader);
}

bool
kw_reader_name_row(const kw_reader *reader, kw_bytes row_key, kw_error *error)
{
    kw_bytes shown = kw_bytes_of(row_key.data, MIN(row_key.size, 64));
    return kw_error_prefix(error, "table %s, path %s, row %s%s", reader->table->name, reader->path->name,
                           kw_bytes_to_binary_text(shown, reader->call->arena),
                           shown.size < row_key.size ? "..." : "");
}

/* Checks that a field that both key and column hold has one value. */
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

/* --- maps ------------------------------------------------------------------------------------------ */

/* True if this entry is wanted. Names arrive in order: `at` advances along the chosen ones. */
static bool
is_chosen(const chosen *entries, kw_bytes name, size_t *at)
{
    int order = -1;
    while (*at < entries->count && (order = kw_bytes_compare(entries->names[*at], name)) < 0)
        ++*at;
    return entries->count == 0 || order == 0;
}

static bool
decode_entry(const kw_reader *reader, const kw_field *map, const kw_cell *cell, kw_entry *ret_entry,
             kw_error *ret_error)
{
    kw_entry entry = {.name = kw_bytes_skip(cell->qualifier, map->qualifier.size)};
    kw_arena *arena = reader->call->arena;
    kw_bytes shown = kw_bytes_of(entry.name.data, MIN(entry.name.size, 64));
    if (!kw_utf8_valid(entry.name))
        return kw_error_set(ret_error, KW_CORRUPT, "field %s: the name of the entry %s is not UTF-8",
                            map->name, kw_bytes_to_binary_text(shown, arena));
    if (!kw_field_decode_cell(reader->table, map->entry, cell->value, arena, &entry.value, ret_error))
        return kw_error_prefix(ret_error, "entry %s", kw_bytes_to_binary_text(shown, arena));
    *ret_entry = entry;
    return true;
}

/* Limits what one record can add to an answer. */
static bool
check_size(const kw_reader *reader, const kw_field *map, size_t bytes, kw_error *ret_error)
{
    size_t most = (size_t)kw_policy_model(reader->call->policy)->limits.frame_bytes;
    if (bytes <= most)
        return true;
    return kw_error_set(
        ret_error, KW_LIMIT,
        "the entries of field %s have more than %zu bytes, the limit of a record in an answer "
        "(limits.frame); choose entries as columns (%s.NAME), or read them in parts by a scan with a "
        "filter such as ColumnPaginationFilter (1000, 0)",
        map->name, most, map->name);
}

/* Decodes the map's cells, starting at `from`; ret_next is the first cell that is not the map's. */
static bool
decode_map(kw_reader *reader, const kw_row *row, size_t number, uint32_t from, uint32_t *ret_next,
           kw_error *ret_error)
{
    const kw_field *map = &reader->table->fields[number];
    uint32_t to = from;
    while (to < row->cells_count && kw_field_has_column(map, row->cells[to].family, row->cells[to].qualifier))
        to++;
    *ret_next = to;
    if (reader->wants[number] == WANT_NOT)
        return true;
    kw_entry *entries = KW_ARENA_ARRAY(scratch_of(reader), kw_entry, to - from);
    size_t count = 0, bytes = 0, at = 0;
    for (uint32_t i = from; i < to; i++) {
        const kw_cell *cell = &row->cells[i];
        kw_bytes name = kw_bytes_skip(cell->qualifier, map->qualifier.size);
        bool older = i > from && kw_bytes_equal(cell->qualifier, cell[-1].qualifier);
        if (older || !is_chosen(&reader->chosen[number], name, &at) || is_omitted(reader, cell))
            continue;
        bytes += name.size + cell->value.size + sizeof(int64_t);
        if (!check_size(reader, map, bytes, ret_error) ||
            !decode_entry(reader, map, cell, &entries[count++], ret_error))
            return false;
    }
    if (count)
        reader->record.values[number] =
            (kw_value){.kind = KW_VALUE_MAP, .entries = entries, .entries_count = count};
    return true;
}

/* --- rows ------------------------------------------------------------------------------------------ */

/* True if the field's column, or all columns of a map, sort before the cell. ret_order: the field's column
 * compared with the cell's. False with ret_order < 0: the cell is an entry of the map. */
static bool
is_passed(const kw_field *field, const kw_cell *cell, int *ret_order)
{
    *ret_order = compare_column(field, cell->family, cell->qualifier);
    return *ret_order < 0 && !(field->entry && kw_field_has_column(field, cell->family, cell->qualifier));
}

static bool
decode_cells(kw_reader *reader, const kw_row *row, kw_error *ret_error)
{
    size_t at = 0;
    for (uint32_t i = 0; i < row->cells_count;) {
        const kw_cell *cell = &row->cells[i];
        int order = -1;
        while (at < reader->columns_count &&
               is_passed(&reader->table->fields[reader->columns[at]], cell, &order))
            at++;
        if (at == reader->columns_count)
            return true;
        size_t number = reader->columns[at];
        bool map = reader->table->fields[number].entry;
        if (map ? order >= 0 : order != 0) { /* no field's column, or an entry with an empty name */
            i++;
            continue;
        }
        at++; /* the next iteration compares older versions with the next column */
        bool good = map ? decode_map(reader, row, number, i, &i, ret_error)
                        : reader->wants[number] == WANT_NOT || is_omitted(reader, cell) ||
                              decode_cell(reader, number, cell->value, ret_error);
        if (!good)
            return kw_reader_name_row(reader, row->key, ret_error);
        i += !map;
    }
    return true;
}

static void
clear_record(kw_reader *reader)
{
    if (reader->scratch)
        kw_arena_reset(reader->scratch);
    memset(reader->record.values, 0, reader->table->fields_count * sizeof(kw_value));
}

bool
kw_reader_decode(kw_reader *reader, const kw_placement *placement, const kw_row *row,
                 const kw_record **ret_record, kw_error *ret_error)
{
    g_assert(placement->path == reader->path);
    clear_record(reader);
    if (!kw_layout_decode(placement->layout, row->key, scratch_of(reader), &reader->record, ret_error))
        return kw_reader_name_row(reader, row->key, ret_error);
    *ret_record = &reader->record;
    return decode_cells(reader, row, ret_error);
}

bool
kw_reader_decode_cells(kw_reader *reader, const kw_row *row, const kw_record **ret_record,
                       kw_error *ret_error)
{
    clear_record(reader);
    *ret_record = &reader->record;
    return decode_cells(reader, row, ret_error);
}

bool
kw_reader_name_record(kw_reader *reader, const kw_placement *placement, kw_bytes row_key, kw_error *error)
{
    kw_error ignored;
    g_autoptr(GString) identity = g_string_new(NULL);
    clear_record(reader);
    if (!kw_layout_decode(placement->layout, row_key, scratch_of(reader), &reader->record, &ignored))
        return kw_reader_name_row(reader, row_key, error);
    for (size_t i = 0; i < reader->table->fields_count; i++) {
        char value[48];
        kw_value_print(reader->record.values[i], value, sizeof value);
        if (reader->table->fields[i].identity && reader->record.values[i].kind != KW_VALUE_NONE)
            g_string_append_printf(identity, " %s=%s", reader->table->fields[i].name, value);
    }
    return kw_error_prefix(error, "table %s, path %s, record%s", reader->table->name, reader->path->name,
                           identity->str);
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

size_t
kw_reader_reply_bytes(const kw_reader *reader)
{
    size_t bytes = KW_REPLY_RECORD_BYTES;
    for (size_t i = 0; i < reader->table->fields_count; i++)
        if (reader->wants[i] == WANT_RETURN && reader->record.values[i].kind != KW_VALUE_NONE)
            bytes += reader->name_bytes[i] + kw_value_reply_bytes(reader->record.values[i]);
    return bytes;
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
