#include "path/claims.h"

#include "path/cells.h"
#include "store/control.h"

#include <glib.h>

/* --- rows ------------------------------------------------------------------------------------------ */

static kw_column
column_of_owner(const kw_table *table)
{
    return (kw_column){.family = table->default_family, .qualifier = KW_BYTES_NONE};
}

kw_write
kw_claim_write(const kw_call *call, const kw_table *table, const kw_hint *claim, kw_bytes owner,
               kw_durability durability, kw_arena *arena)
{
    kw_cell *cell = KW_ARENA_NEW(arena, kw_cell);
    kw_column column = column_of_owner(table);
    kw_write write = kw_hint_write(call, table, claim, durability, arena);
    *cell = (kw_cell){.family = column.family, .qualifier = column.qualifier, .value = owner};
    write.cells = cell;
    return write;
}

kw_bytes
kw_claim_owner(const kw_table *table, const kw_row *row)
{
    kw_column column = column_of_owner(table);
    const kw_cell *cell = kw_row_find_cell(row, column.family, column.qualifier);
    return cell ? cell->value : KW_BYTES_NONE;
}

bool
kw_claim_decode_owner(const kw_table *table, const kw_row *row, kw_arena *arena, kw_record *record,
                      kw_error *ret_error)
{
    return kw_layout_decode(kw_path_scanned(&table->paths[0])->layout, kw_claim_owner(table, row), arena,
                            record, ret_error);
}

bool
kw_claim_is_of(const kw_placement *placement, kw_bytes key, const kw_record *record)
{
    g_auto(kw_buffer) encoded = KW_BUFFER_EMPTY;
    kw_error ignored;
    return kw_placement_has_record(placement, record) &&
           kw_layout_encode(placement->layout, record, &encoded, &ignored) &&
           kw_bytes_equal(kw_buffer_bytes(&encoded), key);
}

/* --- checks of a put ------------------------------------------------------------------------------- */

/* The fields of the tuple that a row of the primary path has. */
static bool
decode_tuple(const kw_path *path, const kw_row *row, kw_arena *arena, kw_record *record, kw_error *ret_error)
{
    bool good = true;
    for (size_t i = 0; good && i < path->placements->tuple_count; i++) {
        const kw_field *field = &path->table->fields[path->placements->tuple[i]];
        const kw_cell *cell = kw_row_find_cell(row, field->family, field->qualifier);
        good = !cell || kw_field_decode_cell(path->table, field, cell->value, arena,
                                             &record->values[path->placements->tuple[i]], ret_error);
    }
    return good;
}

static bool
refuse_taken(const kw_path *path, kw_arena *arena, kw_error *ret_error)
{
    return kw_error_set(ret_error, KW_REFUSED,
                        "table %s, path %s: another record has the same %s, and this path is unique",
                        path->table->name, path->name, kw_placement_tuple_names(path->placements, arena));
}

/* False if another record, whose row this is, has the tuple of the claim. */
static bool
check_other(const kw_hint *claim, const kw_row *row, kw_arena *arena, kw_error *ret_error)
{
    const kw_path *path = claim->placement->path;
    kw_record record = kw_record_new(path->table, arena);
    if (!decode_tuple(path, row, arena, &record, ret_error))
        return kw_error_prefix(ret_error, "table %s, path %s: another record can have the same values",
                               path->table->name, path->name);
    return !kw_claim_is_of(claim->placement, claim->key, &record) || refuse_taken(path, arena, ret_error);
}

static bool
is_of_other(const kw_claims *claims, const kw_row *claim)
{
    kw_bytes owner = kw_claim_owner(claims->table, claim);
    return owner.size > 0 && !kw_bytes_equal(owner, claims->owner);
}

/* Lookups: the claims, then the rows of the other owners. */
bool
kw_claims_check(const kw_claims *claims, const kw_seen *seen, kw_arena *arena, kw_derived *derived,
                kw_error *ret_error)
{
    bool good = true;
    kw_lookup *lookups = KW_ARENA_ARRAY(arena, kw_lookup, 2 * claims->count);
    kw_column *owner = KW_ARENA_NEW(arena, kw_column);
    *owner = column_of_owner(claims->table);
    for (size_t i = 0; i < claims->count; i++)
        lookups[i] = (kw_lookup){claims->items[i].placement->store_table, claims->items[i].key, owner, 1};
    derived->lookups = lookups;
    derived->lookups_count = claims->count;
    for (size_t i = 0; good && seen->others_count >= claims->count && i < claims->count; i++) {
        const kw_path *path = claims->items[i].placement->path;
        size_t at = derived->lookups_count;
        if (!is_of_other(claims, &seen->others[i]))
            continue;
        lookups[derived->lookups_count++] =
            (kw_lookup){claims->table->paths[0].store_table, kw_claim_owner(claims->table, &seen->others[i]),
                        kw_hints_columns(path->placements, arena), path->placements->tuple_count};
        good =
            at >= seen->others_count || check_other(&claims->items[i], &seen->others[at], arena, ret_error);
    }
    return good;
}
