/* remove: removes whole rows, or single columns of them (and whole families that belong to one map), under
 * every path. A record that loses its last cell no longer exists, because no cell shows its row. */
#include "path/cells.h"
#include "path/write.h"
#include "verb/verb.h"

/* True if the map has a column family to itself, which can then be removed as a whole. */
static bool
is_alone(const kw_table *table, const kw_field *map)
{
    bool alone = map->qualifier.size == 0 && !kw_bytes_equal(table->marker_family, map->family);
    for (size_t i = 0; alone && i < table->fields_count; i++)
        alone = &table->fields[i] == map || !table->fields[i].stored ||
                !kw_bytes_equal(table->fields[i].family, map->family);
    return alone;
}

static bool
check_pick(const kw_table *table, kw_pick pick, kw_error *ret_error)
{
    const kw_field *field = &table->fields[pick.field];
    if (field->entry && pick.entry.size == 0 && !is_alone(table, field))
        return kw_error_set(
            ret_error, KW_INVALID,
            "table %s: map %s is not all of a column family, so it cannot be removed as a whole; "
            "name its entries (%s.NAME), or remove the record",
            table->name, field->name, field->name);
    if (field->identity)
        return kw_error_set(ret_error, KW_INVALID,
                            "table %s: field %s is part of the key and cannot be removed alone", table->name,
                            field->name);
    if (!field->stored)
        return kw_error_set(ret_error, KW_INVALID, "table %s: field %s has no column to remove", table->name,
                            field->name);
    return true;
}

static bool
make_columns(kw_call *call, const kw_table *table, const kw_pick *picks, size_t count, kw_write *write,
             kw_error *ret_error)
{
    kw_column *columns = KW_ARENA_ARRAY(call->arena, kw_column, count);
    for (size_t i = 0; i < count; i++) {
        if (!check_pick(table, picks[i], ret_error))
            return false;
        columns[i] = kw_pick_column(table, picks[i], call->arena);
        columns[i].whole_family = table->fields[picks[i].field].entry && picks[i].entry.size == 0;
    }
    write->columns = columns;
    write->columns_count = count;
    return true;
}

void
kw_verb_remove(kw_call *call, const kw_table *table, const kw_item *keys, size_t count, const kw_pick *picks,
               size_t picks_count, kw_write_options options, kw_written_done done, void *user)
{
    kw_batch *batch = kw_batch_begin(call, table, keys, count, &options, done, user);
    if (!batch)
        return;
    kw_write delete = {.kind = KW_WRITE_DELETE};
    kw_error of_all = KW_ERROR_NONE;
    bool good = make_columns(call, table, picks, picks_count, &delete, &of_all);
    for (size_t i = 0; i < count; i++) {
        kw_error error = good ? keys[i].error : of_all;
        if (error.code == KW_OK && kw_key_check(table, &keys[i].record, &error))
            kw_batch_add(batch, i, &delete);
        else
            kw_batch_refuse(batch, i, &error);
    }
    kw_batch_send(batch, kw_batch_answer);
}
