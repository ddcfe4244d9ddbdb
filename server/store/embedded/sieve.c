#include "store/embedded/sieve.h"

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
kw_sieve_init(kw_sieve *sieve, const kw_asked *asked, bool reversed, kw_effort *effort, kw_error *ret_error)
{
    *sieve = (kw_sieve){0};
    if (asked->filter.size == 0)
        return true;
    sieve->prepared = prepare(asked, ret_error);
    if (sieve->prepared)
        sieve->machine = kw_filter_machine_prepared(sieve->prepared, reversed, effort, ret_error);
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
    kw_prepared_unref(sieve->prepared);
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
