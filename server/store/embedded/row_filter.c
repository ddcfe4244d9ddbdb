#include "store/embedded/row_filter.h"

/* A reference on what is prepared already, else the text as it is. */
static kw_prepared *
prepare(const kw_asked *asked, kw_error *ret_error)
{
    if (asked->prepared)
        return kw_prepared_ref(asked->prepared);
    kw_prepared *made = kw_prepared_new(asked->filter, ret_error);
    if (!made || kw_prepared_compile(made, ret_error))
        return made;
    kw_prepared_unref(made);
    return NULL;
}

bool
kw_row_filter_init(kw_row_filter *row_filter, const kw_asked *asked, bool reversed, kw_effort *effort,
                   kw_error *ret_error)
{
    *row_filter = (kw_row_filter){0};
    if (asked->filter.size == 0)
        return true;
    row_filter->prepared = prepare(asked, ret_error);
    if (row_filter->prepared)
        row_filter->machine = kw_filter_machine_prepared(row_filter->prepared, reversed, effort, ret_error);
    if (!row_filter->machine) {
        kw_row_filter_clear(row_filter);
        return false;
    }
    row_filter->scratch.arena = kw_arena_new();
    row_filter->versions = MAX(asked->max_versions, 1);
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
kw_row_filter_begin(kw_row_filter *row_filter, kw_version_filter *view)
{
    kw_arena_reset(row_filter->scratch.arena);
    kw_version_filter_direct(view, &row_filter->scratch);
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
kw_row_filter_row(kw_row_filter *row_filter, kw_row *row, kw_rows *rows, kw_row *ret_row, kw_error *ret_error)
{
    size_t count = row->cells_count;
    kw_filter_verdict verdict = kw_filter_machine_row(row_filter->machine, row->key, row->cells, &count,
                                                      row_filter->versions, ret_error);
    if (verdict == KW_FILTER_ROW_KEPT)
        copy_row(row, count, rows, ret_row);
    return verdict;
}
