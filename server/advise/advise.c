/* Advice: computes the keys of the sample and evaluates them. See advise.h. */
#include "advise/advise.h"

#include "advise/advise_internal.h"
#include "rule/digest.h"

#include <stdlib.h>

/* Approximate cost of encoding a key, in units of an effort. */
#define KEY_COST 500

static int
compare_keys(const void *a, const void *b)
{
    return kw_bytes_compare(*(const kw_bytes *)a, *(const kw_bytes *)b);
}

size_t
kw_keyed_before(const kw_keyed *keyed, kw_bytes bound)
{
    size_t low = 0, high = keyed->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (kw_bytes_compare(keyed->sorted[middle], bound) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* A bucket that does not depend on the record: round robin or pseudorandom. */
static uint32_t
choose_bucket(kw_choice choice, size_t number)
{
    uint64_t position = number;
    if (choice.kind == KW_CHOICE_RANDOM)
        position = kw_xxh64(kw_bytes_of(&position, sizeof position));
    return (uint32_t)(position % choice.buckets);
}

static bool
may_continue(const kw_advise_settings *settings, uint64_t cost, const kw_arena *arena)
{
    return kw_effort_hold(settings->effort, kw_arena_used(arena)) && kw_effort_spend(settings->effort, cost);
}

/* Encodes the keys of the records that the table accepts. Counts the records with and without a key. */
static void
encode_keys(const kw_candidate *candidate, const kw_path *path, const kw_advise_settings *settings,
            kw_arena *arena, kw_keyed *ret_keyed, kw_advised_path *advised)
{
    size_t records_count = settings->records_count;
    kw_bytes *keys = KW_ARENA_ARRAY(arena, kw_bytes, records_count);
    size_t *record_of = KW_ARENA_ARRAY(arena, size_t, records_count);
    g_auto(kw_buffer) key = KW_BUFFER_EMPTY;
    size_t count = 0, absent = 0; /* absent: not in the path */
    kw_choice choice = kw_layout_choice(path->layout);
    advised->rejection = candidate->rejection;
    for (size_t index = 0; index < records_count && may_continue(settings, KEY_COST, arena); index++) {
        kw_error error = KW_ERROR_NONE;
        key.size = 0;
        if (!candidate->records[index].values)
            continue;
        if (!kw_placement_has_record(path->placements, &candidate->records[index])) {
            absent++;
            continue;
        }
        if (kw_layout_encode_chosen(path->layout, &candidate->records[index], choose_bucket(choice, index),
                                    &key, &error)) {
            record_of[count] = index;
            keys[count++] = kw_arena_copy(arena, kw_buffer_bytes(&key));
        } else if (!advised->rejection) {
            advised->rejection = kw_arena_printf(arena, "record %zu: %s", index + 1, error.text);
        }
    }
    *ret_keyed = (kw_keyed){.path = path,
                            .effort = settings->effort,
                            .count = count,
                            .records = candidate->records,
                            .record_of = record_of,
                            .keys = keys};
    advised->records = count;
    advised->rejected = records_count - absent - count;
}

static void
sort_keys(kw_keyed *keyed, kw_arena *arena)
{
    kw_bytes *sorted = KW_ARENA_ARRAY(arena, kw_bytes, keyed->count);
    if (keyed->count > 0)
        memcpy(sorted, keyed->keys, keyed->count * sizeof *sorted);
    qsort(sorted, keyed->count, sizeof *sorted, compare_keys);
    keyed->sorted = sorted;
}

static void
measure_keys(const kw_keyed *keyed, kw_advised_path *advised)
{
    size_t total = 0;
    for (size_t index = 0; index < keyed->count; index++) {
        size_t size = keyed->sorted[index].size;
        total += size;
        advised->key_bytes_min = index ? MIN(advised->key_bytes_min, size) : size;
        advised->key_bytes_max = MAX(advised->key_bytes_max, size);
        if (index && compare_keys(&keyed->sorted[index - 1], &keyed->sorted[index]) == 0)
            advised->duplicates++;
    }
    advised->key_bytes_mean = keyed->count ? (double)total / (double)keyed->count : 0;
}

static kw_advised
judge(const kw_candidate *candidate, const kw_advise_settings *settings, const kw_windows *windows,
      kw_arena *arena)
{
    const kw_table *table = candidate->table;
    kw_advised_path *paths = KW_ARENA_ARRAY(arena, kw_advised_path, table->queried_paths_count);
    kw_keyed *keyed = KW_ARENA_ARRAY(arena, kw_keyed, table->queried_paths_count);
    for (size_t index = 0;
         index < table->queried_paths_count && may_continue(settings, KW_EFFORT_LOOK, arena); index++) {
        paths[index].path = &table->paths[index];
        encode_keys(candidate, &table->paths[index], settings, arena, &keyed[index], &paths[index]);
        sort_keys(&keyed[index], arena);
        measure_keys(&keyed[index], &paths[index]);
        kw_advise_places(windows, &keyed[index], settings->regions, arena, &paths[index]);
        kw_advise_order(table->paths[index].layout, &paths[index]);
    }
    kw_advised_query *queries = KW_ARENA_ARRAY(arena, kw_advised_query, settings->queries_count);
    for (size_t index = 0; index < settings->queries_count && may_continue(settings, KW_EFFORT_LOOK, arena);
         index++)
        kw_advise_run_query(&candidate->queries[index], keyed, arena, &queries[index]);
    return (kw_advised){.paths = paths, .queries = queries};
}

bool
kw_advise(const kw_candidate *candidates, size_t candidates_count, const kw_advise_settings *settings,
          kw_arena *arena, kw_advice *ret_advice)
{
    g_assert(candidates_count > 0 && settings->records_count > 0);
    g_assert(settings->regions <= KW_ADVISE_REGIONS_MAX);
    kw_windows windows;
    kw_windows_make(settings, arena, &windows);
    kw_advised *advised = KW_ARENA_ARRAY(arena, kw_advised, candidates_count);
    for (size_t index = 0; index < candidates_count; index++)
        advised[index] = judge(&candidates[index], settings, &windows, arena);
    *ret_advice = (kw_advice){.window_ms = windows.window_ms,
                              .windows = windows.count,
                              .columns = windows.columns,
                              .columns_count = windows.columns_count,
                              .candidates = advised};
    if (!may_continue(settings, KW_EFFORT_LOOK, arena))
        return false;
    kw_advise_words(candidates, candidates_count, settings, arena, ret_advice);
    return true;
}
