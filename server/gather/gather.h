/* Gather: opens the runs of a plan, reads ahead within a byte budget, merges or concatenates them in
 * logical order, stops at the limit, and knows where to continue.
 *
 *   plan ranges -> runs (parallel fetches) -> k-way merge by key behind `skip` -> rows
 *
 * A gather belongs to one loop. Its page completion is called on the loop, later, never inside the call.
 */
#pragma once

#include "plan/plan.h"
#include "store/store.h"

typedef struct kw_gather kw_gather;

/* Where a scan stands: behind the last row that was returned, or looked at and dropped. Constant size
 * whatever the number of ranges. */
typedef struct kw_position {
    bool started; /* false: nothing was returned yet */
    bool at_head; /* ... of this group: `suffix` says nothing, and range is the group's first */
    uint32_t group;
    uint32_t range;  /* index in the plan: decides among equal suffixes */
    kw_bytes suffix; /* the row key behind the range's skip */
} kw_position;

/* What accept makes of a row. */
typedef enum kw_acceptance {
    KW_ROW_DROPPED, /* scanned, not returned */
    KW_ROW_ACCEPTED,
    KW_ROW_NEXT_PAGE /* it does not fit into this page, which ends before it; not for a page's first row */
} kw_acceptance;

typedef struct kw_gather_spec {
    const kw_plan *plan; /* must live until the gather is freed */
    kw_position position;
    const kw_column *columns; /* to read; none: all */
    size_t columns_count;
    kw_bytes filter;
    kw_prepared *prepared; /* the same filter, compiled; NULL: the text alone */
    bool narrows;          /* see kw_get */
    bool by_patterns;      /* the store may leave out rows that do not match the plan's patterns */
    size_t buffer_bytes;   /* read-ahead of all runs together */
    uint64_t limit;        /* rows still wanted over all pages; 0: no limit */
    bool more_pages;  /* this gather will be asked for the next ones as well: read on behind a page's end */
    size_t row_bytes; /* a row with more is LIMIT; 0: no limit */
    kw_account *account; /* of whoever asks; must outlive the gather. Memory is charged to it; when it has
                            left, or when memory is used up, pages fail */
    uint64_t call;       /* of the account */
    /* Called for every row of a range, in order, once but for KW_ROW_NEXT_PAGE. An error ends the page. NULL:
     * every row counts. */
    bool (*accept)(void *user, kw_row *row, kw_acceptance *ret_accepted, kw_error *ret_error);
    void *accept_user;
    /* accept keeps nothing of the row: batches go as soon as they were read, and pages have no rows, only a
     * count. */
    bool accept_copies;
} kw_gather_spec;

/* While accept looks at a row: the range of the plan that it was read from. */
size_t kw_gather_range(const kw_gather *gather);

/* Everything in spec is borrowed until kw_gather_free. */
kw_gather *kw_gather_new(kw_door *door, const kw_gather_spec *spec);

typedef struct kw_gathered {
    kw_row **rows; /* in order; borrowed until the next page call or kw_gather_free */
    size_t count;
    bool end;             /* nothing comes after these */
    kw_position position; /* to continue behind the last row; borrowed likewise */
    uint64_t scanned;     /* rows the store looked at for this page */
    size_t bytes;         /* of the rows, as max_bytes counts them */
} kw_gathered;

/* error set: no rows. A deadline that passes when some rows are there already gives a short page; one that
 * passes when groups were read to their end, an empty page with the position behind those. */
typedef void (*kw_gather_done)(void *user, const kw_gathered *page, const kw_error *error);

/* The next page: at most max_rows rows and about max_bytes; while memory is short it may be shorter. BUSY
 * when memory is used up. One at a time. */
void kw_gather_page(kw_gather *gather, uint32_t max_rows, size_t max_bytes, kw_deadline deadline,
                    kw_gather_done done, void *user);

/* Closes the runs; a page in flight stays silent. NULL is fine. */
void kw_gather_free(kw_gather *gather);
