#include "path/repeated.h"

#include "path/cells.h"

#include <stdlib.h>

typedef struct entry {
    kw_bytes key;
    size_t index;
} entry;

static int
compare_entries(const void *a, const void *b)
{
    const entry *left = a, *right = b;
    int order = kw_bytes_compare(left->key, right->key);
    return order ? order : (left->index > right->index) - (left->index < right->index);
}

/* False if the key rule cannot encode the record: its put is refused. */
static bool
key_of(const kw_table *table, const kw_listed_put *put, kw_buffer *scratch, kw_arena *arena, entry *ret_entry)
{
    kw_error error;
    *ret_entry = (entry){.index = put->index};
    return kw_row_key(&table->placements[0], put->record, scratch, arena, &ret_entry->key, &error);
}

/* The entries are sorted: of those with the same key, the one with the lowest index comes first. */
static bool
has_earlier(const entry *entries, size_t count, const entry *of)
{
    size_t from = 0, to = count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (kw_bytes_compare(entries[middle].key, of->key) < 0)
            from = middle + 1;
        else
            to = middle;
    }
    return from < count && kw_bytes_equal(entries[from].key, of->key) && entries[from].index < of->index;
}

void
kw_puts_find_followers(const kw_table *table, const kw_listed_put *first, size_t first_count,
                       const kw_listed_put *puts, size_t count, kw_arena *arena, bool *follows)
{
    g_auto(kw_buffer) scratch = KW_BUFFER_EMPTY;
    entry *entries = KW_ARENA_ARRAY(arena, entry, first_count);
    size_t entries_count = 0;
    for (size_t i = 0; i < first_count; i++)
        entries_count += key_of(table, &first[i], &scratch, arena, &entries[entries_count]);
    qsort(entries, entries_count, sizeof *entries, compare_entries);
    for (size_t i = 0; i < count; i++) {
        entry of;
        follows[i] =
            key_of(table, &puts[i], &scratch, arena, &of) && has_earlier(entries, entries_count, &of);
    }
}
