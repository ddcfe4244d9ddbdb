/* Advice: how key rules would behave for given records and questions. Nothing is read or written.
 *
 *   records --rule--> keys --+--> buckets, regions: who gets how many writes, in all and per window of time
 *                            +--> sorted: which keys lie in the ranges of each question's plan
 *
 * Several candidates (tables of policies that are only compiled) are judged on the same records, and the
 * trade between them is put into words. Knows components by their members only, none by name. Pure: no clock,
 * lock, log or I/O; any thread. Results live in the arena and borrow the candidates.
 */
#pragma once

#include "base/effort.h"
#include "plan/plan.h"

/* Most regions that are advised about, and most columns of a heat map. */
#define KW_ADVISE_REGIONS_MAX 256
#define KW_ADVISE_COLUMNS_MAX 96
#define KW_ADVISE_REGIONS_DEFAULT 16

typedef struct kw_asked {
    const char *name;
    kw_question question;
    const char *refusal; /* not NULL: the table does not even know what is asked */
} kw_asked;

/* One policy's table. */
typedef struct kw_candidate {
    const char *name;
    const kw_table *table;
    const kw_record
        *records;          /* values NULL: the table does not take this one; one per record of the sample */
    const char *rejection; /* why the first of those was not taken */
    const kw_asked *questions;
} kw_candidate;

typedef struct kw_advise_settings {
    size_t records_count;
    size_t questions_count;
    const int64_t *times_ms; /* one per record; NULL: the records' order stands for time */
    int64_t window_ms;       /* 0: a minute, or more where a minute holds hardly any record */
    uint32_t regions;        /* of each store table; 0: as the policy splits it, else 16 */
    kw_effort *effort;       /* bounds the work and the arena; NULL: no bound */
} kw_advise_settings;

/* How writes share themselves out over places (buckets or regions). Shares are 0 to 1. */
typedef struct kw_spread {
    size_t places;
    size_t reached;
    const uint64_t *counts; /* per place, in key order */
    double hottest_to_mean; /* over the whole sample */
    double window_share;  /* of the hottest place of a window; half of the records are in windows with less */
    double worst_share;   /* ... of the worst window with at least two records */
    double window_places; /* how many equal places would take a window's writes alike; 0: no window has two */
} kw_spread;

typedef struct kw_advised_path {
    const kw_path *path;
    size_t records; /* that got a key */
    size_t rejected;
    const char *rejection; /* of the first one; NULL: none */
    size_t duplicates;     /* records whose key another one has, too */
    size_t key_bytes_min, key_bytes_max;
    double key_bytes_mean;
    const char *bucket; /* text of the component that scatters; NULL: none does */
    kw_spread buckets;  /* when there is one */
    kw_spread regions;
    const kw_bytes *region_starts;
    const char *cut; /* where the regions come from: "by the rule", ...; when cut by the older half of the
                        sample, `regions` counts the younger half only */
    const uint32_t *heat; /* columns x places of regions */
    int order_field;      /* that one read of everything can be ordered by; -1: none */
    bool order_descending;
    uint64_t order_ranges; /* merged for it */
    const size_t *lost;    /* fields whose order the rule gives up */
    size_t lost_count;
} kw_advised_path;

typedef struct kw_advised_question {
    const char *refusal; /* NULL: there is a plan */
    const kw_path *path;
    size_t ranges;
    size_t groups;
    bool point;
    bool ordered; /* rows can come in the order of the field behind the bound ones */
    double expected_efficiency;
    size_t scanned;  /* sampled rows that are read: those in the ranges, or as many as the limit needs, when
                        those  that are asked for lie evenly among them */
    size_t matching; /* sampled rows that are returned */
} kw_advised_question;

typedef struct kw_advised {
    const kw_advised_path *paths; /* of the candidate's table */
    const kw_advised_question *questions;
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

/* Where a field that the gateway makes stands; one per table->generated, zero at first. */
typedef struct kw_made_state {
    int64_t period;
    uint64_t count;
} kw_made_state;

/* Gives record number `number` values for the fields that a gateway would make and that it lacks. */
void kw_advise_stand_in(const kw_table *table, size_t number, kw_made_state *states, kw_arena *arena,
                        kw_record *record);

/* A timestamp field's value as milliseconds since 1970. */
int64_t kw_advise_time_ms(const kw_field *field, kw_value value);

/* candidates_count, records_count >= 1; regions at most KW_ADVISE_REGIONS_MAX. False once the effort is over:
 * no advice. */
bool kw_advise(const kw_candidate *candidates, size_t candidates_count, const kw_advise_settings *settings,
               kw_arena *arena, kw_advice *ret_advice);
