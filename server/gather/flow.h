/* The flow of a gather: how many rows the page still needs from the store, how large rows are, and how much
 * memory its fetches and batches hold. Decides the size of each fetch. Arithmetic only: it reads nothing and
 * knows no streams.
 */
#pragma once

#include "base/budget.h"
#include "gather/demand.h"

#define KW_FLOW_FETCHES_MAX 64 /* in flight per gather */

typedef struct kw_flow {
    /* set once */
    kw_account *account;
    size_t budget_bytes; /* limit of read-ahead */
    uint64_t limit;      /* of rows over all pages; 0: no limit */
    bool more_pages;     /* read ahead across the end of a page */
    bool drops_rows;     /* true if some rows read are not returned */
    /* the page */
    uint32_t max_rows;
    size_t max_bytes;
    uint64_t page_rows;
    size_t page_bytes;
    /* all pages */
    uint64_t returned; /* rows of all pages */
    uint64_t examined; /* rows that were taken in order, returned or not */
    uint64_t read_rows;
    uint64_t read_bytes;  /* as the store counts: without the overhead of keys and values */
    uint64_t read_memory; /* in arenas */
    /* now */
    size_t held_bytes; /* memory of batches, and reserved for fetches in flight */
    size_t fetches;    /* in flight */
} kw_flow;

/* The size of one fetch. */
typedef struct kw_chunk {
    uint32_t rows;
    size_t bytes; /* as the store counts */
} kw_chunk;

void kw_flow_begin_page(kw_flow *flow, uint32_t max_rows, size_t max_bytes);

/* A row of this size was added to the page. */
void kw_flow_keep(kw_flow *flow, size_t bytes);

bool kw_flow_limit_reached(const kw_flow *flow);
/* True if the page has all its rows or bytes. */
bool kw_flow_page_full(const kw_flow *flow);

/* Rows that the page still needs from the store. If more pages will follow, counts the rows of the next one,
 * too. */
uint64_t kw_flow_wanted(const kw_flow *flow);

/* True if memory is short, so that nothing is read ahead and pages are shorter. */
bool kw_flow_is_short(const kw_flow *flow);

/* Rows arrived: for the estimates. */
void kw_flow_count(kw_flow *flow, uint64_t rows, size_t bytes, size_t memory);
/* Memory of a row, estimated; `unknown` until rows have arrived. */
size_t kw_flow_row_memory(const kw_flow *flow, size_t unknown);

/* The next fetch of a stream: what the page needs, within the stream's share of the budget. */
kw_chunk kw_flow_chunk(const kw_flow *flow, const kw_demand *demand, uint64_t buffered);
/* True if so many more rows fit into the budget. */
bool kw_flow_has_space(const kw_flow *flow, uint32_t rows);
/* True if fewer than KW_FLOW_FETCHES_MAX fetches are in flight. */
bool kw_flow_may_fetch(const kw_flow *flow);
/* Returns the bytes reserved for a fetch; pass them to kw_flow_end_fetch. */
size_t kw_flow_begin_fetch(kw_flow *flow, kw_chunk chunk);
void kw_flow_end_fetch(kw_flow *flow, size_t reserved);
/* A batch of rows exists, or exists no longer. */
void kw_flow_hold(kw_flow *flow, size_t bytes);
void kw_flow_release(kw_flow *flow, size_t bytes);
