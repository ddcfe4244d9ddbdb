#include "path/judge.h"

#include "base/utf8.h"
#include "rule/splits.h"

#include <glib.h>
#include <math.h>

/* --- the key ------------------------------------------------------------------------------------- */

bool
kw_row_key_is_allowed(const kw_placement *placement, const kw_record *key, size_t *ret_field,
                      kw_error *ret_error)
{
    const kw_table *table = placement->path->table;
    for (size_t i = 0; i < table->fields_count; i++) {
        *ret_field = i;
        if (kw_layout_holds_field(placement->layout, i) && key->values[i].kind != KW_VALUE_NONE &&
            !kw_table_check_value(table, i, key->values[i], ret_error))
            return false;
    }
    return true;
}

bool
kw_row_key_has_no_negative_zero(const kw_table *table, const kw_record *key, kw_error *ret_error)
{
    for (size_t i = 0; i < table->fields_count; i++) {
        kw_value value = key->values[i];
        if (table->fields[i].identity && value.kind == KW_VALUE_REAL && value.real == 0.0 &&
            signbit(value.real))
            return kw_error_set(
                ret_error, KW_CORRUPT,
                "field %s is -0.0 in the row key, and Keyway writes 0.0: scans return the row, but gets do "
                "not "
                "find it; put the record again, and delete this row with a program that writes row keys",
                table->fields[i].name);
    }
    return true;
}

static bool
judge_key(const kw_placement *placement, kw_bytes key, kw_arena *arena, kw_row_verdict *to)
{
    const kw_layout *layout = placement->layout;
    kw_dissected_key judged;
    kw_error error;
    size_t field;
    kw_layout_judge(layout, key, arena, &to->key, &judged);
    to->pieces = judged.pieces;
    to->pieces_count = judged.pieces_count;
    if (judged.why && judged.wrong < kw_layout_component_count(layout)) {
        to->component = judged.wrong;
        to->why = kw_arena_printf(arena, "%s %s", kw_layout_component_text(layout, judged.wrong), judged.why);
        return false;
    }
    if (judged.why) {
        to->component = judged.wrong;
        to->why = kw_arena_printf(arena, "the key %s", judged.why);
        return false;
    }
    if (kw_row_key_is_allowed(placement, &to->key, &field, &error))
        return true;
    to->component = kw_layout_component_count(layout);
    to->why = kw_arena_text(arena, kw_bytes_of_text(error.text));
    return false;
}

/* --- the values ---------------------------------------------------------------------------------- */

/* True if the cell is the newest one of its column. Cells are in HBase's order. */
static bool
is_newest(const kw_row *row, uint32_t index)
{
    const kw_cell *cell = &row->cells[index];
    return index == 0 || !kw_bytes_equal(cell->qualifier, cell[-1].qualifier) ||
           !kw_bytes_equal(cell->family, cell[-1].family);
}

static bool
decode_value(const kw_table *table, size_t number, const kw_cell *cell, const kw_record *key, kw_arena *arena,
             kw_error *ret_error)
{
    const kw_field *field = &table->fields[number];
    kw_value value, held = key->values[number];
    if (field->entry && !kw_utf8_valid(kw_bytes_skip(cell->qualifier, field->qualifier.size)))
        return kw_error_set(ret_error, KW_CORRUPT, "the name of an entry of %s is not UTF-8", field->name);
    if (!kw_field_decode_cell(table, field->entry ? field->entry : field, cell->value, arena, &value,
                              ret_error))
        return false;
    if (field->entry || held.kind == KW_VALUE_NONE || kw_value_equal(held, value))
        return true;
    char in_key[80], in_column[80];
    kw_value_print(held, in_key, sizeof in_key);
    kw_value_print(value, in_column, sizeof in_column);
    return kw_error_set(ret_error, KW_CORRUPT, "field %s is %s in the row key and %s in its column",
                        field->name, in_key, in_column);
}

static void
judge_values(const kw_table *table, const kw_row *row, kw_arena *arena, uint64_t *undecodable,
             kw_row_verdict *to)
{
    int counted = -1; /* entries of a map are adjacent: the map counts once */
    for (uint32_t i = 0; i < row->cells_count; i++) {
        const kw_cell *cell = &row->cells[i];
        int field = is_newest(row, i) ? kw_table_find_column(table, cell->family, cell->qualifier) : -1;
        kw_error error;
        if (field < 0 || decode_value(table, (size_t)field, cell, &to->key, arena, &error))
            continue;
        if (to->fit == KW_ROW_FITS) {
            to->fit = KW_ROW_UNDECODABLE;
            to->field = (size_t)field;
            to->why = kw_arena_text(arena, kw_bytes_of_text(error.text));
        }
        if (undecodable && field != counted)
            undecodable[field]++;
        counted = field;
    }
}

void
kw_row_judge(const kw_placement *placement, const kw_row *row, kw_arena *arena, uint64_t *undecodable,
             kw_row_verdict *ret_verdict)
{
    const kw_table *table = placement->path->table;
    *ret_verdict = (kw_row_verdict){.fit = KW_ROW_FITS, .key = kw_record_new(table, arena)};
    if (judge_key(placement, row->key, arena, ret_verdict))
        judge_values(table, row, arena, undecodable, ret_verdict);
    else
        ret_verdict->fit = KW_ROW_FOREIGN;
}
