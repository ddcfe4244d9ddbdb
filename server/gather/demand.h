/* How many rows to ask a stream for: few enough that hardly any is read in vain, enough that the merge does
 * not wait for one row at a time. Pure arithmetic.
 *
 * A page still wants W rows and k streams feed it. Nobody knows how the next W rows lie over the
 * streams; what was taken so far is the best guess (starting from even shares), and the square root of a
 * share is room for luck. One stream alone needs no luck.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct kw_demand {
    uint64_t wanted;       /* rows that the page still wants from the store */
    size_t streams;        /* that may still bring rows; at least 1 */
    uint64_t taken;        /* from this stream so far */
    uint64_t taken_by_all; /* from all of those streams */
} kw_demand;

/* Rows expected from this stream for the page; at least 1, at most wanted (when that is not 0). */
uint64_t kw_demand_expected(const kw_demand *demand);
/* What to ask for when `buffered` rows are there already: expected + room for luck. */
uint32_t kw_demand_rows(const kw_demand *demand, uint64_t buffered);
/* Is it certain enough that the stream will run dry, so that reading ahead now is not in vain? */
bool kw_demand_ahead(const kw_demand *demand, uint64_t buffered);

/* Groups that are read one after the other: how many of the next to open early, from what the finished ones
 * brought. */
size_t kw_demand_groups(uint64_t wanted, uint64_t finished_groups, uint64_t finished_rows);
