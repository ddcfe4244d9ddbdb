#include "store/derive.h"

#include "store/check.h"

#include <glib.h>

static bool
check_preceding(const kw_derived *derived, kw_error *ret_error)
{
    bool good = true;
    g_assert(derived->preceding_count <= KW_STORE_RECORD_ROWS_MAX);
    for (size_t i = 0; good && i < derived->preceding_count; i++) {
        const kw_write *put = &derived->preceding[i];
        g_assert(put->kind == KW_WRITE_PUT && !put->ordering && put->timestamp == KW_TIMESTAMP_NONE);
        good = kw_check_write(put, ret_error);
    }
    return good;
}

static const kw_cell *
join_cells(const kw_write *write, const kw_derived *derived, kw_arena *arena)
{
    kw_cell *cells = KW_ARENA_ARRAY(arena, kw_cell, write->cells_count + derived->cells_count);
    memcpy(cells, write->cells, write->cells_count * sizeof *cells);
    if (derived->cells_count)
        memcpy(cells + write->cells_count, derived->cells, derived->cells_count * sizeof *cells);
    return cells;
}

static bool
any_omitted(const kw_seen *seen)
{
    bool omitted = seen->row->omitted != KW_OMITTED_NOT;
    for (size_t i = 0; i < seen->others_count; i++)
        omitted = omitted || seen->others[i].omitted != KW_OMITTED_NOT;
    return omitted;
}

bool
kw_derive_write(const kw_write *write, const kw_derivation *derivation, const kw_seen *seen, kw_arena *arena,
                kw_write *ret_write, kw_derived *ret_derived, kw_error *ret_error)
{
    kw_derived derived = {0};
    if (any_omitted(seen))
        return kw_error_set(ret_error, KW_LIMIT,
                            "table %s: the write needs stored values that have more than %d bytes together",
                            kw_show(write->table).text, KW_STORE_DERIVED_BYTES_MAX);
    if (!derivation->derive(derivation->user, seen, arena, &derived, ret_error))
        return false;
    g_assert(derived.lookups_count <= KW_STORE_LOOKUPS_MAX);
    if (kw_derived_needs(&derived, seen)) {
        *ret_derived = derived;
        return true;
    }
    if (derived.is_met && !check_preceding(&derived, ret_error))
        return false;
    g_assert(derived.cells_count + derived.absent_count <= derivation->columns_count);
    *ret_write = *write;
    if (derived.is_met) {
        ret_write->cells = join_cells(write, &derived, arena);
        ret_write->cells_count = write->cells_count + derived.cells_count;
    }
    *ret_derived = derived;
    return true;
}
