/* The step of a scan from the hints of a hint path to records. hint/page.h has the rules.
 *
 *   gather --> kw_hinted_add, for each hint of a batch
 *              kw_hinted_read: one multi-get of the rows of their records
 *              kw_hinted_judge, for each hint in order --> the page
 *
 * Each record of a batch is judged with one of its hints: the one of its tuple, or else its first one. So the
 * page can end after any hint of a batch: the records of later hints belong to the next page.
 */
#pragma once

#include "base/key_set.h"
#include "hint/page.h"
#include "path/reader.h"

/* The most hints of a batch. */
#define KW_HINTED_MOST 1024

typedef struct kw_hinted kw_hinted;

typedef struct kw_hinted_spec {
    const kw_call *call;           /* of the scan */
    const kw_placement *placement; /* whose hints are read */
    kw_reader *reader;    /* of the primary path; it has a scratch arena, and reads the fields of the tuple */
    kw_hint_query *query; /* of the scan; changes while records are returned */
    size_t row_bytes;     /* a larger row is not read */
    size_t batch_bytes;   /* of the rows of a batch, unless one row is larger */
} kw_hinted_spec;

/* What spec points to must live until kw_hinted_free. */
kw_hinted *kw_hinted_new(const kw_hinted_spec *spec);
/* Calls no completion any more. NULL is ignored. */
void kw_hinted_free(kw_hinted *hinted);

typedef void (*kw_hinted_done)(void *user, const kw_error *error);

/* Sets the start of the query: call it before the first hint is read. Waits until the store's time is known;
 * UNAVAILABLE if that takes too long. done can be called before this returns. */
void kw_hinted_begin_query(kw_hinted *hinted, kw_deadline deadline, kw_hinted_done done, void *user);

/* The call is that of the page. */
void kw_hinted_begin_page(kw_hinted *hinted, kw_call *call);
/* Call it when the page is answered: begins to delete the stale hints that it has met. */
void kw_hinted_end_page(kw_hinted *hinted);

/* Drops the batch, and begins one of this plan, with at most `most` hints. */
void kw_hinted_begin_batch(kw_hinted *hinted, const kw_plan *plan, size_t most);

typedef enum kw_hinted_added {
    KW_HINTED_ADDED,
    KW_HINTED_SKIPPED, /* it cannot lead to a record that the query wants */
    KW_HINTED_FULL,    /* the batch is full; it has hints */
    KW_HINTED_FOREIGN /* CORRUPT: the key does not follow the path's rule, or the owner of a claim that of the
                         primary path */
} kw_hinted_added;

/* Adds a hint, which was read from this range of the plan. Copies the row. */
kw_hinted_added kw_hinted_add(kw_hinted *hinted, size_t range, const kw_row *row, kw_error *ret_error);
size_t kw_hinted_count(const kw_hinted *hinted);
kw_bytes kw_hinted_key(const kw_hinted *hinted, size_t index);
size_t kw_hinted_range(const kw_hinted *hinted, size_t index);

/* Reads the rows of the batch, which must have hints. */
void kw_hinted_read(kw_hinted *hinted, kw_hinted_done done, void *user);

/* The rows of the batch that exist. */
size_t kw_hinted_rows_found(const kw_hinted *hinted);

typedef enum kw_hinted_verdict {
    KW_HINTED_DROPPED,
    KW_HINTED_RETURNED,
    KW_HINTED_LARGE,       /* the row is too large to be read */
    KW_HINTED_NOT_READ,    /* the rows before used up batch_bytes: the next batch begins with this hint */
    KW_HINTED_UNDECODABLE, /* CORRUPT or LIMIT: see kw_reader_decode */
} kw_hinted_verdict;

typedef struct kw_hinted_row {
    const kw_placement *placement;
    const kw_row *row;
} kw_hinted_row;

/* The end of a batch. */
typedef struct kw_hinted_end {
    const kw_gather *gather; /* that read it */
    const kw_position *position;
    bool is_last; /* the ranges have no further hints */
} kw_hinted_end;

/* Call it once for each hint, in order. ret_row: of the record; not set if it is
 * dropped. RETURNED: the reader has decoded it. */
kw_hinted_verdict kw_hinted_judge(kw_hinted *hinted, size_t index, const kw_hinted_end *end,
                                  kw_hinted_row *ret_row, kw_error *ret_error);
/* True if a record was dropped because the query reads its place later: the range scans must then be opened
 * again after the batch, so that they return its hint. */
bool kw_hinted_must_reopen(const kw_hinted *hinted);
/* Call it if the record of a hint was RETURNED and is on the page, before the next one is judged. */
void kw_hinted_returned(kw_hinted *hinted, size_t index);
