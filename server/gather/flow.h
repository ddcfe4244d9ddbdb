/* The flow of a gather: counts how many rows the page still needs from the store, how large rows are, and
 * how much memory fetches and batches hold, and computes the size of each fetch from that. Only arithmetic:
 * it does not access streams or the store.
 */
#pragma once

#include "base/budget.h"
#include "gather/demand.h"

#define KW_FLOW_FETCHES_MAX 64 /* in flight per gather */

typedef struct kw_flow {
    /* set once */
    kw_account *account;
    size_t budget_bytes; /* maximum memory for read-ahead */
    uint64_t limit;      /* maximum number of rows of all pages together; 0: no limit */
    bool more_pages;     /* read ahead across the end of a page */
    bool drops_rows;     /* true if the gather can drop rows that it has read */
    /* the page */
    uint32_t max_rows;
    size_t max_bytes;
    uint64_t page_rows;
    uint64_t page_skipped; /* rows that count as rows of the page, but are not in it */
    size_t page_bytes;
    /* all pages */
    uint64_t returned; /* rows returned */
    uint64_t examined; /* rows taken in order: returned or dropped */
    uint64_t read_rows;
    uint64_t read_bytes;  /* as the store counts: without the overhead of keys and values */
    uint64_t read_memory; /* size of the arenas that hold the rows read */
    /* now */
    size_t held_bytes; /* memory of batches, plus memory reserved for fetches in flight */
    size_t fetches;    /* in flight */
} kw_flow;

/* The size of one fetch. */
typedef struct kw_chunk {
    uint32_t rows;
    size_t bytes; /* as the store counts */
} kw_chunk;

void kw_flow_begin_page(kw_flow *flow, uint32_t max_rows, size_t max_bytes);

/* Counts a row of this size, which was added to the page. */
void kw_flow_keep(kw_flow *flow, size_t bytes);

bool kw_flow_limit_reached(const kw_flow *flow);
/* True if the page has reached max_rows or max_bytes, or the gather its limit. */
bool kw_flow_page_full(const kw_flow *flow);

/* Rows still to read from the store for the page, and for the next page if more pages will follow. */
uint64_t kw_flow_wanted(const kw_flow *flow);

/* True if memory is short. Then read-ahead stops, and pages are shorter. */
bool kw_flow_is_short(const kw_flow *flow);

/* Counts rows that have arrived from the store. The estimates are computed from these counts. */
void kw_flow_count(kw_flow *flow, uint64_t rows, size_t bytes, size_t memory);
/* Estimated memory of a row. Returns `unknown` while no rows have arrived. */
size_t kw_flow_row_memory(const kw_flow *flow, size_t unknown);

/* The next fetch of a stream: what the page needs, within the stream's share of the budget. */
kw_chunk kw_flow_chunk(const kw_flow *flow, const kw_demand *demand, uint64_t buffered);
/* True if this many more rows fit into the budget. */
bool kw_flow_has_space(const kw_flow *flow, uint32_t rows);
/* True if fewer than KW_FLOW_FETCHES_MAX fetches are in flight. */
bool kw_flow_may_fetch(const kw_flow *flow);
/* Reserves memory for a fetch. Returns the number of bytes, which kw_flow_end_fetch needs. */
size_t kw_flow_begin_fetch(kw_flow *flow, kw_chunk chunk);
void kw_flow_end_fetch(kw_flow *flow, size_t reserved);
/* Adds the memory of a new batch of rows, or subtracts that of a freed one. */
void kw_flow_hold(kw_flow *flow, size_t bytes);
void kw_flow_release(kw_flow *flow, size_t bytes);
