/* See cells.h. A record without stored values is written as a marker cell, so that its row exists. Tables
 * whose policy names a marker write it with every record. */
#include "path/cells.h"

#include <glib.h>

const char *
kw_identity_names(const kw_table *table, kw_arena *arena)
{
    g_autoptr(GString) names = g_string_new(NULL);
    for (size_t i = 0; i < table->fields_count; i++)
        if (table->fields[i].identity)
            g_string_append_printf(names, "%s%s", names->len ? ", " : "", table->fields[i].name);
    return kw_arena_text(arena, kw_bytes_of(names->str, names->len));
}

/* What a get can use in place of the identity; empty: nothing. */
static const char *
unique_names(const kw_table *table, kw_arena *arena)
{
    const char *names = "";
    for (size_t i = 1; i < table->queried_paths_count; i++) {
        const kw_path *path = &table->paths[i];
        if (path->unique)
            names = kw_arena_printf(arena, "%s%s%s", names, *names ? ", or " : "; get also accepts ",
                                    kw_placement_tuple_names(path->placements, arena));
    }
    return names;
}

static bool
missing(const kw_table *table, size_t field, kw_error *ret_error)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    bool made = table->fields[field].model->generate.enabled;
    return kw_error_set(ret_error, KW_INVALID, "table %s: field %s is missing%s; the identity fields are %s",
                        table->name, table->fields[field].name, made ? " (only puts generate it)" : "",
                        kw_identity_names(table, arena));
}

bool
kw_record_check(const kw_table *table, const kw_record *record, kw_error *ret_error)
{
    for (size_t i = 0; i < table->fields_count; i++) {
        bool present = record->values[i].kind != KW_VALUE_NONE;
        if (!present && table->fields[i].identity)
            return missing(table, i, ret_error);
        if (present && !kw_table_check_value(table, i, record->values[i], ret_error))
            return false;
    }
    return true;
}

bool
kw_key_check(const kw_table *table, const kw_record *key, kw_error *ret_error)
{
    for (size_t i = 0; i < table->fields_count; i++) {
        if (table->fields[i].identity || key->values[i].kind == KW_VALUE_NONE)
            continue;
        g_autoptr(kw_arena) arena = kw_arena_new();
        kw_error_set(ret_error, KW_INVALID,
                     "table %s: field %s is not part of the key; the identity fields are %s", table->name,
                     table->fields[i].name, kw_identity_names(table, arena));
        return kw_error_suffix(ret_error, unique_names(table, arena));
    }
    return kw_record_check(table, key, ret_error);
}

bool
kw_row_key(const kw_placement *placement, const kw_record *record, kw_buffer *scratch, kw_arena *arena,
           kw_bytes *ret_key, kw_error *ret_error)
{
    scratch->size = 0;
    if (!kw_layout_encode(placement->layout, record, scratch, ret_error))
        return false;
    *ret_key = kw_arena_copy(arena, kw_buffer_bytes(scratch));
    return true;
}

static kw_cell
cell_of(const kw_table *table, kw_pick pick, kw_value value, kw_arena *arena)
{
    return (kw_cell){.family = table->fields[pick.field].family,
                     .qualifier = kw_pick_qualifier(table, pick, arena),
                     .value = kw_field_encode_cell(kw_pick_field(table, pick), value, arena)};
}

static size_t
count_cells(const kw_table *table, const kw_record *record)
{
    size_t count = 1; /* for the marker */
    for (size_t i = 0; i < table->fields_count; i++)
        count += record->values[i].kind == KW_VALUE_MAP ? record->values[i].entries_count : 1;
    return count;
}

static size_t
add_cells(const kw_table *table, const kw_record *record, bool counters, kw_arena *arena, kw_cell *cells)
{
    size_t count = 0;
    for (size_t i = 0; i < table->fields_count; i++) {
        kw_value value = record->values[i];
        const kw_field *field = &table->fields[i];
        if (!field->stored || field->counter != counters || value.kind == KW_VALUE_NONE)
            continue;
        if (value.kind != KW_VALUE_MAP)
            cells[count++] = cell_of(table, (kw_pick){.field = i}, value, arena);
        for (size_t at = 0; value.kind == KW_VALUE_MAP && at < value.entries_count; at++)
            cells[count++] =
                cell_of(table, (kw_pick){i, value.entries[at].name}, value.entries[at].value, arena);
    }
    return count;
}

void
kw_record_cells(const kw_table *table, const kw_record *record, kw_arena *arena, kw_write *put)
{
    kw_cell *cells = KW_ARENA_ARRAY(arena, kw_cell, count_cells(table, record));
    size_t counters = add_cells(table, record, true, arena, cells);
    size_t count = counters + add_cells(table, record, false, arena, cells + counters);
    if (count == 0 || table->marks_all)
        cells[count++] = (kw_cell){.family = table->marker_family,
                                   .qualifier = table->marker_qualifier,
                                   .value = table->marker_value};
    put->cells = cells;
    put->cells_count = count;
    put->counters = counters;
}

kw_column
kw_pick_column(const kw_table *table, kw_pick pick, kw_arena *arena)
{
    g_assert(pick.field < table->fields_count);
    return (kw_column){.family = table->fields[pick.field].family,
                       .qualifier = kw_pick_qualifier(table, pick, arena)};
}

kw_column
kw_marker_column(const kw_table *table)
{
    return (kw_column){.family = table->marker_family, .qualifier = table->marker_qualifier};
}
