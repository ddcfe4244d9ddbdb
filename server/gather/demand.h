/* How many rows to request from a stream: few enough that hardly any row is read in vain, and enough that the
 * merge does not wait for single rows. Pure arithmetic.
 *
 * A page still needs W rows, which k streams supply. How the next W rows are spread over the streams is
 * unknown. The best estimate is the distribution of the rows taken so far, starting with equal shares. The
 * margin is the square root of the expected rows, or one and a half times that from 16 rows on. A single
 * stream needs no margin.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct kw_demand {
    uint64_t wanted;       /* rows that the page still needs from the store */
    size_t streams;        /* streams that can still supply rows; at least 1 */
    uint64_t taken;        /* rows from this stream so far */
    uint64_t taken_by_all; /* rows from all of those streams so far */
} kw_demand;

/* Rows of the page expected from this stream; at least 1, and at most wanted (unless that is 0). */
uint64_t kw_demand_expected(const kw_demand *demand);
/* Rows to request when `buffered` rows are available: min(expected rows + margin, wanted, 2^20) minus the
 * buffered rows; at least 1. */
uint32_t kw_demand_rows(const kw_demand *demand, uint64_t buffered);
/* True if the stream will almost certainly need more rows, so that reading ahead now is not in vain. */
bool kw_demand_ahead(const kw_demand *demand, uint64_t buffered);

/* For groups read one after the other: how many of the next ones to open early, estimated from the rows of
 * the finished ones. */
size_t kw_demand_groups(uint64_t wanted, uint64_t finished_groups, uint64_t finished_rows);
