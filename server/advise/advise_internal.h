/* Private to advise: time windows, the sample under one path, and how writes spread. */
#pragma once

#include "advise/advise.h"
#include "rule/component.h"

/* Records grouped by the time of their writes. */
typedef struct kw_windows {
    int64_t window_ms;
    const uint32_t *of_record; /* consecutive numbers, in the order of time */
    size_t count;
    const uint32_t *column_of; /* per window */
    const int64_t *columns;
    size_t columns_count;
    const bool *later_half; /* per record: true if it belongs to the later half */
} kw_windows;

void kw_windows_make(const kw_advise_settings *settings, kw_arena *arena, kw_windows *ret_windows);

/* The sample under one path. */
typedef struct kw_keyed {
    const kw_path *path;
    kw_effort *effort;
    size_t count;             /* records with a key */
    const kw_record *records; /* all records of the candidate */
    const size_t *record_of;  /* per key: the number of its record */
    const kw_bytes *keys;
    const kw_bytes *sorted;
} kw_keyed;

/* place_of has the place of each key, a number below `places`. later_half: counts only keys of the later half
 * of the sample. */
void kw_spread_make(const kw_windows *windows, const kw_keyed *keyed, const uint32_t *place_of, size_t places,
                    bool later_half, kw_arena *arena, kw_spread *ret_spread);

/* The number of keys in `sorted` that are less than the bound. */
size_t kw_keyed_before(const kw_keyed *keyed, kw_bytes bound);

/* Sets the members from `bucket` to `heat`. */
void kw_advise_places(const kw_windows *windows, const kw_keyed *keyed, uint32_t regions, kw_arena *arena,
                      kw_advised_path *path);

void kw_advise_order(const kw_layout *layout, kw_advised_path *path);

/* keyed: one per path of the table. The result is incomplete if the effort is used up. */
void kw_advise_run_query(const kw_candidate_query *candidate_query, const kw_keyed *keyed, kw_arena *arena,
                         kw_advised_query *ret_query);

void kw_advise_words(const kw_candidate *candidates, size_t count, const kw_advise_settings *settings,
                     kw_arena *arena, kw_advice *advice);
