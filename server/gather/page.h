/* A page of a gather: the rows that it returns, the batches that these rows are slices of, and the position
 * after the last row.
 *
 * A batch with rows in the page is kept ("retired") until the next page; other batches are freed as soon as
 * they have been read. So the position copies its suffix before the row that contains it is freed.
 */
#pragma once

#include "gather/gather.h"

typedef struct kw_page {
    kw_row **rows; /* in order; not filled if accept copies rows */
    size_t count;
    size_t capacity;
    kw_rows **retired;
    size_t retired_count;
    size_t retired_capacity;
    size_t retired_bytes;
    kw_position position; /* after the last row examined, unless `last` is set */
    const kw_row *last;   /* the last row examined, if position does not include it yet; else NULL */
    uint32_t last_range;
    kw_buffer suffix; /* holds position.suffix after its row is freed */
} kw_page;

/* Drops the rows of the page before. The position stays. */
void kw_page_begin(kw_page *page);
void kw_page_clear(kw_page *page);

/* Adds a row, which must be in a batch that is retired later. */
void kw_page_add(kw_page *page, kw_row *row);
/* Records that the row, from this range of the plan, is the last one examined. */
void kw_page_pass(kw_page *page, const kw_row *row, uint32_t range);
/* The position; borrows a suffix from the row or from the page. */
const kw_position *kw_page_position(kw_page *page, const kw_plan *plan);
/* Copies the suffix of the position, before the row that contains it is freed. */
void kw_page_hold_position(kw_page *page, const kw_plan *plan);
/* Moves the position to the head of a group, unless it is there already or after it. */
void kw_page_pass_group(kw_page *page, const kw_plan *plan, uint32_t group);

/* Takes a batch that was read to its end. kept: the page has rows of it. */
void kw_page_retire(kw_page *page, const kw_plan *plan, kw_rows *batch, bool kept);
