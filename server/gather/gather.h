/* Gather: opens the range scans of a plan, reads ahead within a byte budget, merges or concatenates them in
 * logical order, stops at the limit, and returns the position to continue from.
 *
 *   plan ranges -> range scans (parallel fetches) -> k-way merge by the key after `skip` -> rows
 *
 * A gather belongs to one loop. It calls the completion of a page on that loop, always after kw_gather_page
 * has returned.
 */
#pragma once

#include "plan/plan.h"
#include "store/store.h"

typedef struct kw_gather kw_gather;

/* The position of a scan: after the last row returned, or examined and dropped. Its size does not depend on
 * the number of ranges. */
typedef struct kw_position {
    bool started; /* false: nothing was returned yet */
    bool at_head; /* true: at the beginning of this group; suffix is unused, and range is the group's first */
    uint32_t group;
    uint32_t range;  /* index in the plan; breaks ties of equal suffixes */
    kw_bytes suffix; /* the row key after the range's skip */
} kw_position;

/* The decision of accept about a row. */
typedef enum kw_acceptance {
    KW_ROW_DROPPED, /* scanned, not returned */
    KW_ROW_ACCEPTED,
    KW_ROW_SKIPPED,  /* like dropped, but counts as a row of the page, so that many such rows end the page */
    KW_ROW_NEXT_PAGE /* the page ends before the row; not allowed for the first row of a page */
} kw_acceptance;

typedef struct kw_gather_spec {
    const kw_plan *plan; /* must live until the gather is freed */
    kw_position position;
    const kw_column *columns; /* to read; none: all */
    size_t columns_count;
    kw_bytes filter;
    kw_prepared *prepared;   /* the same filter, compiled; NULL: only the text exists */
    bool filters_cells_only; /* see kw_get */
    bool by_patterns;        /* the store may omit rows that do not match the plan's patterns */
    size_t buffer_bytes;     /* limit of read-ahead for all range scans together */
    uint64_t limit;          /* rows still wanted over all pages; 0: no limit */
    bool more_pages;         /* more pages will follow: read ahead across the end of a page */
    size_t row_bytes;        /* a larger row is omitted (see accept); 0: no limit */
    kw_account *account; /* the caller's; must outlive the gather. Memory is charged to it; pages fail when
                          * its client has disconnected or memory is used up */
    uint64_t call;       /* as in kw_get */
    /* Called once for every row, in order, and again for the same row after KW_ROW_NEXT_PAGE. Not called for
     * rows whose keys do not have the size that their range requires. A row larger than row_bytes has no
     * cells and is marked as omitted: accept ends the page before it, or fails. An error ends the page. NULL:
     * accepts every row, and a row larger than row_bytes is a LIMIT error. */
    bool (*accept)(void *user, kw_row *row, kw_acceptance *ret_accepted, kw_error *ret_error);
    void *accept_user;
    /* True if accept keeps no reference to the row. Then batches are freed as soon as they are read, and
     * pages have a count but no rows. */
    bool accept_copies;
} kw_gather_spec;

/* The plan's range that the current row was read from; valid while accept runs. */
size_t kw_gather_range(const kw_gather *gather);

/* True if rows of the plan's range were requested from the store already. A row that is written now is
 * possibly not among those that follow, because the store can return the range as it was. */
bool kw_gather_has_begun(const kw_gather *gather, size_t range);

/* Everything in spec is borrowed until kw_gather_free. */
kw_gather *kw_gather_new(kw_store_handle *handle, const kw_gather_spec *spec);

typedef struct kw_gathered {
    kw_row **rows; /* in order; borrowed until the next page or kw_gather_free */
    size_t count;
    bool end;             /* no rows follow */
    kw_position position; /* to continue after the last row; borrowed likewise */
    uint64_t scanned;     /* rows that the store examined for this page */
    size_t bytes;         /* of the rows, as max_bytes counts them */
} kw_gathered;

/* No rows if error is set. A deadline that passes after some rows were found or skipped gives a short page. A
 * deadline that passes after whole groups were read gives an empty page, with a position after those groups.
 */
typedef void (*kw_gather_done)(void *user, const kw_gathered *page, const kw_error *error);

/* Reads the next page: at most max_rows rows and about max_bytes; fewer while memory is short. BUSY when
 * memory is used up. One page at a time. */
void kw_gather_page(kw_gather *gather, uint32_t max_rows, size_t max_bytes, kw_deadline deadline,
                    kw_gather_done done, void *user);

/* Closes the range scans. The completion of a page in progress is not called. NULL is ignored. */
void kw_gather_free(kw_gather *gather);
