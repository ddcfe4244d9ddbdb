#include "store/embedded/sieve.h"

bool
kw_sieve_init(kw_sieve *sieve, const kw_asked *asked, bool reversed, kw_error *ret_error)
{
    *sieve = (kw_sieve){0};
    if (asked->filter.size == 0)
        return true;
    sieve->arena = kw_arena_new();
    const kw_filter *filter = kw_filter_parse(asked->filter, sieve->arena, ret_error);
    if (filter)
        sieve->machine = kw_filter_machine_new(filter, reversed, ret_error);
    if (!sieve->machine) {
        kw_sieve_clear(sieve);
        return false;
    }
    sieve->scratch.arena = kw_arena_new();
    sieve->versions = MAX(asked->max_versions, 1);
    return true;
}

void
kw_sieve_clear(kw_sieve *sieve)
{
    kw_filter_machine_free(sieve->machine);
    kw_arena_free(sieve->scratch.arena);
    kw_arena_free(sieve->arena);
    *sieve = (kw_sieve){0};
}

void
kw_sieve_begin(kw_sieve *sieve, kw_view *view)
{
    kw_arena_reset(sieve->scratch.arena);
    kw_view_direct(view, &sieve->scratch);
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
kw_sieve_row(kw_sieve *sieve, kw_row *row, kw_rows *rows, kw_row *ret_row, kw_error *ret_error)
{
    size_t count = row->cells_count;
    kw_filter_verdict verdict =
        kw_filter_machine_row(sieve->machine, row->key, row->cells, &count, sieve->versions, ret_error);
    if (verdict == KW_FILTER_ROW_KEPT)
        copy_row(row, count, rows, ret_row);
    return verdict;
}
