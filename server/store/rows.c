/* Creates and frees results. Rows, table facts and regions are allocated in the arena that they contain. */
#include "store/store.h"

kw_rows *
kw_rows_new_for(kw_account *account)
{
    kw_arena *arena = kw_arena_new_for(account, KW_MEMORY_ROWS);
    kw_rows *rows = KW_ARENA_NEW(arena, kw_rows);
    rows->arena = arena;
    return rows;
}

kw_rows *
kw_rows_new(void)
{
    return kw_rows_new_for(NULL);
}

void
kw_rows_free(kw_rows *rows)
{
    if (rows)
        kw_arena_free(rows->arena);
}

size_t
kw_row_bytes(const kw_row *row)
{
    size_t bytes = row->key.size;
    for (uint32_t i = 0; i < row->cells_count; i++)
        bytes += row->cells[i].qualifier.size + row->cells[i].value.size;
    return bytes;
}

void
kw_table_facts_free(kw_table_facts *facts)
{
    if (facts)
        kw_arena_free(facts->arena);
}

void
kw_regions_free(kw_regions *regions)
{
    if (regions)
        kw_arena_free(regions->arena);
}
