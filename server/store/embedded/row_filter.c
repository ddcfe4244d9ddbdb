#include "store/embedded/row_filter.h"

/* A reference to the compiled filter of the request. Compiles the text if the request has none. */
static kw_prepared *
prepare(const kw_read_request *request, kw_error *ret_error)
{
    if (request->prepared)
        return kw_prepared_ref(request->prepared);
    kw_prepared *prepared = kw_prepared_new(request->filter, ret_error);
    if (!prepared || kw_prepared_compile(prepared, ret_error))
        return prepared;
    kw_prepared_unref(prepared);
    return NULL;
}

bool
kw_row_filter_init(kw_row_filter *row_filter, const kw_read_request *request, bool reversed,
                   kw_account *account, kw_effort *effort, kw_error *ret_error)
{
    *row_filter = (kw_row_filter){0};
    if (request->filter.size == 0)
        return true;
    row_filter->prepared = prepare(request, ret_error);
    if (row_filter->prepared)
        row_filter->machine = kw_filter_machine_prepared(row_filter->prepared, reversed, effort, ret_error);
    if (!row_filter->machine) {
        kw_row_filter_clear(row_filter);
        return false;
    }
    row_filter->scratch.arena = kw_arena_new_for(account, KW_MEMORY_ROWS);
    row_filter->versions = MAX(request->max_versions, 1);
    return true;
}

void
kw_row_filter_clear(kw_row_filter *row_filter)
{
    kw_filter_machine_free(row_filter->machine);
    kw_arena_free(row_filter->scratch.arena);
    kw_prepared_unref(row_filter->prepared);
    *row_filter = (kw_row_filter){0};
}

void
kw_row_filter_begin_row(kw_row_filter *row_filter, kw_version_filter *version_filter)
{
    g_assert(kw_row_filter_is_active(row_filter));
    kw_arena_reset(row_filter->scratch.arena);
    kw_version_filter_set_output(version_filter, &row_filter->scratch);
}

void
kw_row_filter_rest(kw_row_filter *row_filter)
{
    if (kw_row_filter_is_active(row_filter))
        kw_arena_reset(row_filter->scratch.arena);
}

static void
copy_row(const kw_row *row, size_t count, kw_rows *rows, kw_row *ret_row)
{
    ret_row->key = kw_arena_copy(rows->arena, row->key);
    ret_row->cells = kw_arena_alloc(rows->arena, count * sizeof(kw_cell));
    ret_row->cells_count = (uint32_t)count;
    rows->bytes += row->key.size;
    for (size_t i = 0; i < count; i++) {
        kw_cell *to = &ret_row->cells[i];
        *to = row->cells[i];
        bool same_family = i > 0 && kw_bytes_equal(to->family, to[-1].family);
        to->family = same_family ? to[-1].family : kw_arena_copy(rows->arena, to->family);
        to->qualifier = kw_arena_copy(rows->arena, to->qualifier);
        to->value = kw_arena_copy(rows->arena, to->value);
        rows->bytes += to->qualifier.size + to->value.size;
    }
}

kw_filter_verdict
kw_row_filter_apply(kw_row_filter *row_filter, kw_row *row, kw_rows *rows, kw_row *ret_row,
                    kw_error *ret_error)
{
    g_assert(kw_row_filter_is_active(row_filter));
    size_t count = row->cells_count;
    kw_filter_verdict verdict = kw_filter_machine_row(row_filter->machine, row->key, row->cells, &count,
                                                      row_filter->versions, ret_error);
    if (verdict == KW_FILTER_ROW_KEPT)
        copy_row(row, count, rows, ret_row);
    return verdict;
}
