/* Verify reads all rows of a path, one slice per call, and judges each (path/judge.h): whether its key
 * follows the rule, byte for byte, and whether its values can be decoded. It also counts what helps to
 * understand rows of other programs. It changes nothing.
 *
 *   verify.c         a slice: reads rows in batches, and the next batch while it judges the one before
 *   verify_counts.c  what is counted. Pure
 *   verify_cursor.c  where the next slice begins. Pure
 *
 * A slice needs memory for its counts and examples and for two batches, however large the table is. Rows that
 * are written during the verification are read or not, depending on where they are. Keyway's own writes fit.
 */
#pragma once

#include "path/judge.h"
#include "verb/verb.h"

#define KW_VERIFY_ROWS_MAX 10000
#define KW_VERIFY_EXAMPLES_MAX 100

typedef struct kw_verify_request {
    const kw_path *path; /* complete; its rows are those that scans read */
    kw_bytes cursor;     /* of the previous slice; empty: begin with the first row */
    uint32_t max_rows;   /* 1 to KW_VERIFY_ROWS_MAX */
    uint32_t max_examples;
} kw_verify_request;

/* How many rows have these bytes. */
typedef struct kw_verify_count {
    kw_bytes bytes;
    uint64_t rows;
} kw_verify_count;

/* Classes of rows by the age of their newest cell: younger than an hour, a day, a week, 30 days, a year;
 * older. */
#define KW_VERIFY_AGES 6

typedef struct kw_verify_example {
    kw_bytes row_key;
    int field;        /* whose value cannot be decoded; -1: the key does not follow the rule */
    const char *text; /* why */
} kw_verify_example;

typedef struct kw_verify_result {
    uint64_t rows;
    uint64_t foreign;     /* rows whose key does not follow the rule */
    uint64_t undecodable; /* rows whose key does, but a value cannot be decoded */
    uint64_t large;       /* rows that are too large to be read as a whole; only their keys were judged */
    const uint64_t *undecodable_fields; /* rows per field */
    const kw_verify_count *first_bytes; /* of foreign rows, by the first two bytes of the key */
    size_t first_bytes_count;
    const kw_verify_count *buckets; /* of rows that fit, by the bytes of the component that scatters them */
    size_t buckets_count;
    uint64_t ages[KW_VERIFY_AGES]; /* rows that fit; so are all that follow */
    uint64_t expired;             /* rows with a cell older than the ttl that the policy has for its family */
    uint64_t future;              /* rows with a cell whose timestamp is more than a minute ahead */
    int64_t oldest_ms, newest_ms; /* timestamps of cells; 0: there is no row */
    uint64_t versioned;           /* rows with more than one version of a column */
    uint64_t most_versions;       /* of a column */
    const kw_verify_example *examples;
    size_t examples_count;
    kw_bytes cursor; /* empty: all rows were read */
    double progress; /* 0 to 1 */
    uint64_t rows_so_far;
    bool all_fit; /* after the last slice: every row of all slices fits */
} kw_verify_result;

/* INVALID if the cursor is not one of this path. REFUSED if the path lacks rows, because it is being added. A
 * slice can be repeated. Everything in the result is in the call's arena. */
typedef void (*kw_verify_done)(void *user, const kw_verify_result *result, const kw_error *error);
void kw_verify(kw_call *call, const kw_verify_request *request, kw_verify_done done, void *user);

/* --- verify_counts.c ----------------------------------------------------------------------------- */

typedef struct kw_verify_counts kw_verify_counts;

/* In the arena. scratch: cleared with each row. */
kw_verify_counts *kw_verify_counts_new(const kw_placement *placement, uint32_t max_examples, int64_t now_ms,
                                       kw_arena *arena, kw_arena *scratch);
/* large: the row has its first cell only. */
void kw_verify_counts_add(kw_verify_counts *self, const kw_row *row, bool large);
/* Rows so far. */
uint64_t kw_verify_counts_rows(const kw_verify_counts *self);
/* Sets all counts and the examples. */
void kw_verify_counts_end(kw_verify_counts *self, kw_verify_result *result);

/* --- verify_cursor.c ----------------------------------------------------------------------------- */

typedef struct kw_verify_position {
    kw_bytes first,
        last;       /* first and last row key when the verification began, for the progress; empty: unknown */
    kw_bytes after; /* the last row that was read; empty: none */
    uint64_t rows, misfits; /* in the slices before */
} kw_verify_position;

/* In the arena. A cursor is not secret and grants no rights. */
kw_bytes kw_verify_cursor(const kw_placement *placement, const kw_verify_position *position, kw_arena *arena);
/* INVALID if the cursor was made for another path, key rule or fields, or is damaged. ret_position holds
 * slices of the cursor. */
bool kw_verify_open_cursor(const kw_placement *placement, kw_bytes cursor, kw_verify_position *ret_position,
                           kw_error *ret_error);
