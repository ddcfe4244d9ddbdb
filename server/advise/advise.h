/* Advice: how key rules would behave for given records and queries. Neither reads nor writes the store.
 *
 *   records --rule--> keys --+--> buckets, regions: each one's share of writes, overall and per time window
 *                            +--> sorted: the keys in the ranges of each query's plan
 *
 * Evaluates several candidates (tables of policies that are only compiled) on the same records, and describes
 * the trade-offs in sentences. Uses components only through their members, without special cases. Pure: no
 * clock, lock, log or I/O; any thread. Results live in the arena and borrow the candidates.
 */
#pragma once

#include "base/effort.h"
#include "plan/plan.h"

/* Maximum number of regions in advice, and of columns of a heat map. */
#define KW_ADVISE_REGIONS_MAX 256
#define KW_ADVISE_COLUMNS_MAX 96
#define KW_ADVISE_REGIONS_DEFAULT 16

typedef struct kw_candidate_query {
    const char *name;
    kw_record_query query;
    const char *refusal; /* not NULL: the table rejects the query; why */
} kw_candidate_query;

/* One policy's table. */
typedef struct kw_candidate {
    const char *name;
    const kw_table *table;
    const kw_record *records; /* one per record of the sample; values NULL: the table rejects the record */
    const char *rejection;    /* why it rejected the first of those records */
    const kw_candidate_query *queries;
} kw_candidate;

typedef struct kw_advise_settings {
    size_t records_count;
    size_t queries_count;
    const int64_t *times_ms; /* one per record; NULL: the order of the records is used as time */
    int64_t window_ms;       /* 0: a minute, or longer if a minute contains hardly any records */
    uint32_t regions;        /* of each store table; 0: the policy's splits, or 16 if it has none */
    kw_effort *effort;       /* limits the work and the arena; NULL: no limit */
} kw_advise_settings;

/* How writes are distributed over places (buckets or regions). Shares are 0 to 1. */
typedef struct kw_spread {
    size_t places;
    size_t reached;
    const uint64_t *counts; /* per place, in key order */
    double hottest_to_mean; /* over the whole sample */
    double window_share;    /* share of the hottest place in a window: median of all windows, weighted by the
                               number of their records */
    double worst_share;     /* the greatest share of a place in a window with at least two records */
    double window_places; /* the number of equally used places that would spread a window's writes as evenly;
                             0: no window has two records */
} kw_spread;

typedef struct kw_advised_path {
    const kw_path *path;
    size_t records;        /* with a key */
    size_t rejected;       /* without one; not those that are not in the path (kw_placement_has_record) */
    const char *rejection; /* of the first rejected record; NULL: none */
    size_t duplicates;     /* records minus different keys: a later put overwrites an earlier one */
    size_t key_bytes_min, key_bytes_max;
    double key_bytes_mean;
    const char *bucket; /* text of the component that scatters; NULL: none */
    kw_spread buckets;  /* if there is one */
    kw_spread regions;
    const kw_bytes *region_starts;
    const char *cut; /* origin of the regions: "by the rule", ...; if split by the earlier half of the sample,
                      * `regions` counts only the later half */
    const uint32_t *heat; /* writes; columns x regions */
    int order_field;      /* the field by which one full read can be ordered; -1: none */
    bool order_descending;
    uint64_t order_ranges; /* ranges merged for that read */
    const size_t *lost;    /* fields whose order the rule does not keep */
    size_t lost_count;
} kw_advised_path;

typedef struct kw_advised_query {
    const char *refusal; /* NULL: there is a plan */
    const kw_path *path;
    size_t ranges;
    size_t groups;
    bool point;
    bool ordered; /* rows can be returned in the order of the field after the bound ones */
    double expected_reads_per_row;
    size_t scanned;  /* sampled rows that are read: those in the ranges, or as many as the limit needs if
                        matching rows are spread evenly */
    size_t matching; /* sampled rows that are returned */
} kw_advised_query;

typedef struct kw_advised {
    const kw_advised_path *paths; /* of the candidate's table */
    const kw_advised_query *queries;
} kw_advised;

typedef struct kw_advice {
    int64_t window_ms; /* 0: windows are slices of the sample, in its order */
    size_t windows;
    const int64_t *columns; /* of the heat maps: ms since 1970, or number of the first record */
    size_t columns_count;
    const kw_advised *candidates;
    const char *const *words; /* sentences */
    size_t words_count;
} kw_advice;

/* The state of a generated field; one per table->generated, initially zero. */
typedef struct kw_generated_state {
    int64_t period;
    uint64_t count;
} kw_generated_state;

/* Sets stand-ins for the generated fields that record `number` lacks. */
void kw_advise_fill_generated(const kw_table *table, size_t number, kw_generated_state *states,
                              kw_arena *arena, kw_record *record);

/* A timestamp field's value as milliseconds since 1970. */
int64_t kw_advise_time_ms(const kw_field *field, kw_value value);

/* candidates_count and records_count must be at least 1, regions at most KW_ADVISE_REGIONS_MAX. False if the
 * effort is used up: there is no advice. */
bool kw_advise(const kw_candidate *candidates, size_t candidates_count, const kw_advise_settings *settings,
               kw_arena *arena, kw_advice *ret_advice);
