/* How long the work of a change will take. Pure.
 *
 *   end of a slice: progress, time --> progress per time, with the pauses between slices; late slices count more
 *       --> the rest of the present task, and the tasks after it, by their weights
 *
 * Tasks are the copy, the comparison and the pass. Each of them reads all rows. A task with twice the weight
 * takes about twice the time. Before two slices of a task have ended, only the tasks before it tell how long
 * it takes. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef struct kw_change_estimate {
    uint64_t at_ns; /* when the last slice of this task ended; 0: none has */
    double at;      /* the progress then: 0 to 1 */
    double ns;      /* the time of the measured slices, each with the pause before it */
    double progress;
    unsigned slices; /* measured since the older ones were halved */
    double unit_ns;  /* how long a whole task of the weight 1 takes; 0: unknown */
} kw_change_estimate;

/* Call it when a slice has ended. progress: of the task, which has this weight. */
void kw_change_estimate_note(kw_change_estimate *estimate, double progress, unsigned weight, uint64_t now_ns);
/* The next slice is the first one of another task. */
void kw_change_estimate_end_task(kw_change_estimate *estimate);
/* How long the rest of the task and the tasks after it take, in milliseconds; -1: nothing was measured.
 * weight_after: of all tasks after it. */
int64_t kw_change_estimate_left_ms(const kw_change_estimate *estimate, unsigned weight,
                                   unsigned weight_after);
