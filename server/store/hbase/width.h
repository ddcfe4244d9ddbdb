/* How many calls of one kind may be at the server at one time: learned from what it rewards.
 *
 * More calls at once keep the server busy; fewer leave more operations waiting, which then leave together
 * and cost it less. Where the best lies depends on the server, the rows and the callers, so it is
 * measured: while operations wait, every window of time gives a rate for the width that was used, each
 * width's rate is averaged over its windows, now and then a neighbour is tried, and the best of the three
 * stays. Pure: the time is given. One owner.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KW_HBASE_WIDTH_MAX 64

typedef struct kw_hbase_width {
    uint32_t now;  /* calls that may be at the server */
    uint32_t home; /* the best that is known; now differs while a neighbour is tried */
    uint32_t most;
    double rates[KW_HBASE_WIDTH_MAX + 1]; /* operations a second; 0: not known */
    uint64_t window_start_ns;             /* 0: no window is open */
    uint64_t operations;                  /* in this window (so the next two) */
    uint32_t calls;
    uint32_t pressed; /* calls behind which others waited */
    uint32_t windows;
    bool paused;   /* in this window there was a time when nobody waited */
    bool settling; /* the window before was of another width: this one shows both */
} kw_hbase_width;

void kw_hbase_width_init(kw_hbase_width *width, uint32_t most);

/* A call with so many operations was answered; waiting: others could not leave yet. */
void kw_hbase_width_answered(kw_hbase_width *width, uint64_t now_ns, size_t operations, bool waiting);
