/* See page.h. docs/design/paths.md gives the reasons. */
#include "hint/page.h"

#include <glib.h>
#include <string.h>

int64_t
kw_hint_query_start_ms(int64_t earliest_ms, const kw_hint_limits *limits)
{
    g_assert(earliest_ms != KW_HINT_NO_TIME);
    return earliest_ms - limits->lag_ms;
}

bool
kw_hint_is_recent(int64_t newest_ms, int64_t start_ms)
{
    return newest_ms >= start_ms;
}

bool
kw_hint_query_is_late(int64_t start_ms, int64_t earliest_ms, const kw_hint_limits *limits)
{
    return earliest_ms - limits->lag_ms - start_ms > limits->keep_ms;
}

bool
kw_hint_is_returned(const kw_hint_row *row, int64_t start_ms)
{
    bool recent = kw_hint_is_recent(row->newest_ms, start_ms);
    if (row->is_on_page || (recent && row->is_remembered))
        return false;
    return row->has_tuple || (recent && row->is_in_ranges && !row->is_after);
}

bool
kw_hint_memory_has(const kw_hint_memory *memory, uint64_t hash)
{
    for (unsigned i = 0; i < memory->count; i++)
        if (memory->hashes[i] == hash)
            return true;
    return false;
}

void
kw_hint_memory_add(kw_hint_memory *memory, uint64_t hash)
{
    if (kw_hint_memory_has(memory, hash))
        return;
    if (memory->count == KW_HINT_MEMORY) {
        memmove(memory->hashes, memory->hashes + 1, (KW_HINT_MEMORY - 1) * sizeof *memory->hashes);
        memory->count--;
    }
    memory->hashes[memory->count++] = hash;
}
