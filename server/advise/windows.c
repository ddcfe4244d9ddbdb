/* Time windows, and how writes spread over places within them. */
#include "advise/advise_internal.h"

#include <stdlib.h>

/* Mean number of records that a window needs to be meaningful. */
#define RECORDS_PER_WINDOW 4

/* Maximum number of slices of a sample without times. */
#define SLICES 60

static const int64_t sizes_ms[] = {60000,    300000,   900000,    3600000,
                                   21600000, 86400000, 604800000, INT64_C(2592000000)};

static int
compare_numbers(const void *a, const void *b)
{
    const int64_t *left = a, *right = b;
    return (*left > *right) - (*left < *right);
}

static int64_t
window_number(int64_t time_ms, int64_t window_ms)
{
    int64_t number = time_ms / window_ms;
    return number - (time_ms % window_ms < 0);
}

/* `times` must be sorted. */
static size_t
count_windows(const int64_t *times, size_t count, int64_t window_ms)
{
    size_t windows = 0;
    for (size_t index = 0; index < count; index++)
        windows += index == 0 ||
                   window_number(times[index], window_ms) != window_number(times[index - 1], window_ms);
    return windows;
}

static int64_t
choose_window(const int64_t *times, size_t count)
{
    for (size_t index = 0; index < G_N_ELEMENTS(sizes_ms); index++) {
        if (count_windows(times, count, sizes_ms[index]) * RECORDS_PER_WINDOW <= count)
            return sizes_ms[index];
    }
    return sizes_ms[G_N_ELEMENTS(sizes_ms) - 1];
}

/* Returns the start times of the windows that contain records, each once. */
static int64_t *
find_starts(const int64_t *sorted, size_t count, int64_t window_ms, size_t windows, kw_arena *arena)
{
    int64_t *starts = KW_ARENA_ARRAY(arena, int64_t, windows);
    size_t found = 0;
    for (size_t index = 0; index < count; index++) {
        int64_t number = window_number(sorted[index], window_ms), start;
        if (__builtin_mul_overflow(number, window_ms, &start))
            start = sorted[index];
        if (found == 0 || starts[found - 1] != start)
            starts[found++] = start;
        g_assert(found <= windows);
    }
    return starts;
}

static size_t
find_window(const int64_t *starts, size_t count, int64_t time_ms)
{
    size_t low = 0, high = count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (starts[middle] <= time_ms)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static void
make_columns(kw_windows *windows, const int64_t *starts, kw_arena *arena)
{
    size_t count = MIN(windows->count, (size_t)KW_ADVISE_COLUMNS_MAX);
    uint32_t *column_of = KW_ARENA_ARRAY(arena, uint32_t, windows->count);
    int64_t *columns = KW_ARENA_ARRAY(arena, int64_t, count);
    for (size_t window = windows->count; window > 0; window--) {
        size_t column = (window - 1) * count / windows->count;
        column_of[window - 1] = (uint32_t)column;
        columns[column] = starts[window - 1];
    }
    windows->column_of = column_of;
    windows->columns = columns;
    windows->columns_count = count;
}

/* Marks the records of the later half. `times` has the time of each record, and `sorted` the same times in
 * ascending order. If both are NULL, or if half of the records have the earliest time, the order of the
 * records decides. */
static const bool *
find_later_half(const int64_t *sorted, const int64_t *times, size_t records, kw_arena *arena)
{
    bool *later_half = KW_ARENA_ARRAY(arena, bool, records);
    bool by_time = sorted && sorted[records / 2] > sorted[0];
    for (size_t record = 0; record < records; record++)
        later_half[record] = by_time ? times[record] >= sorted[records / 2] : record >= records / 2;
    return later_half;
}

static void
make_slices(size_t records, kw_arena *arena, kw_windows *ret_windows)
{
    size_t count = CLAMP(records / RECORDS_PER_WINDOW, 1, SLICES);
    uint32_t *of_record = KW_ARENA_ARRAY(arena, uint32_t, records);
    int64_t *starts = KW_ARENA_ARRAY(arena, int64_t, count);
    for (size_t record = records; record > 0; record--) {
        size_t slice = (record - 1) * count / records;
        of_record[record - 1] = (uint32_t)slice;
        starts[slice] = (int64_t)record;
    }
    *ret_windows = (kw_windows){
        .of_record = of_record, .count = count, .later_half = find_later_half(NULL, NULL, records, arena)};
    make_columns(ret_windows, starts, arena);
}

void
kw_windows_make(const kw_advise_settings *settings, kw_arena *arena, kw_windows *ret_windows)
{
    size_t records = settings->records_count;
    if (!settings->times_ms) {
        make_slices(records, arena, ret_windows);
        return;
    }
    int64_t *sorted = KW_ARENA_ARRAY(arena, int64_t, records);
    uint32_t *of_record = KW_ARENA_ARRAY(arena, uint32_t, records);
    memcpy(sorted, settings->times_ms, records * sizeof *sorted);
    qsort(sorted, records, sizeof *sorted, compare_numbers);
    int64_t window_ms = settings->window_ms > 0 ? settings->window_ms : choose_window(sorted, records);
    size_t count = count_windows(sorted, records, window_ms);
    int64_t *starts = find_starts(sorted, records, window_ms, count, arena);
    for (size_t record = 0; record < records; record++)
        of_record[record] = (uint32_t)find_window(starts, count, settings->times_ms[record]);
    *ret_windows = (kw_windows){.window_ms = window_ms,
                                .of_record = of_record,
                                .count = count,
                                .later_half = find_later_half(sorted, settings->times_ms, records, arena)};
    make_columns(ret_windows, starts, arena);
}

/* --- spreads --------------------------------------------------------------------------------------- */

/* What one window contains. */
typedef struct window_share {
    double share; /* of the hottest place */
    size_t records;
} window_share;

static int
compare_codes(const void *a, const void *b)
{
    const uint64_t *left = a, *right = b;
    return (*left > *right) - (*left < *right);
}

static int
compare_shares(const void *a, const void *b)
{
    const window_share *left = a, *right = b;
    return (left->share > right->share) - (left->share < right->share);
}

/* The median: half of the records are in windows with at most this share. */
static double
middle_share(window_share *shares, size_t count, size_t records)
{
    qsort(shares, count, sizeof *shares, compare_shares);
    size_t passed = 0;
    for (size_t index = 0; index < count; index++) {
        passed += shares[index].records;
        if (passed * 2 >= records)
            return shares[index].share;
    }
    return 0;
}

/* codes: window and place of each record, sorted. window_places: with this many equal places, two records of
 * one window would be in the same place as often as measured. */
static void
measure_windows(const uint64_t *codes, size_t count, window_share *shares, kw_spread *spread)
{
    double pairs = 0, equal_pairs = 0;
    size_t windows = 0;
    for (size_t at = 0; at < count;) {
        size_t first = at, hottest = 0;
        uint64_t window = codes[at] >> 32;
        while (at < count && codes[at] >> 32 == window) {
            size_t begin = at;
            for (uint64_t code = codes[at]; at < count && codes[at] == code;)
                at++;
            hottest = MAX(hottest, at - begin);
            equal_pairs += (double)(at - begin) * (double)(at - begin - 1);
        }
        size_t records = at - first;
        pairs += (double)records * (double)(records - 1);
        shares[windows] = (window_share){.share = (double)hottest / (double)records, .records = records};
        if (records > 1)
            spread->worst_share = MAX(spread->worst_share, shares[windows].share);
        windows++;
    }
    spread->window_share = middle_share(shares, windows, count);
    if (pairs > 0)
        spread->window_places =
            equal_pairs > 0 ? MIN(pairs / equal_pairs, (double)spread->places) : (double)spread->places;
}

void
kw_spread_make(const kw_windows *windows, const kw_keyed *keyed, const uint32_t *place_of, size_t places,
               bool later_half, kw_arena *arena, kw_spread *ret_spread)
{
    uint64_t *counts = KW_ARENA_ARRAY(arena, uint64_t, places);
    uint64_t *codes = KW_ARENA_ARRAY(arena, uint64_t, keyed->count);
    window_share *shares = KW_ARENA_ARRAY(arena, window_share, keyed->count);
    kw_spread spread = {.places = places, .counts = counts};
    uint64_t hottest = 0;
    size_t judged = 0;
    for (size_t index = 0; index < keyed->count; index++) {
        size_t record = keyed->record_of[index];
        g_assert(place_of[index] < places);
        if (later_half && !windows->later_half[record])
            continue;
        spread.reached += counts[place_of[index]]++ == 0;
        hottest = MAX(hottest, counts[place_of[index]]);
        codes[judged++] = (uint64_t)windows->of_record[record] << 32 | place_of[index];
    }
    if (judged > 0)
        spread.hottest_to_mean = (double)hottest * (double)places / (double)judged;
    qsort(codes, judged, sizeof *codes, compare_codes);
    measure_windows(codes, judged, shares, &spread);
    *ret_spread = spread;
}
