/* A queue of jobs that change the policy or the catalog (start, reload, keyway forget, ...), executed one
 * after another. Main thread only. */
#pragma once

#include "base/loop.h"

#include <stdbool.h>

typedef struct kw_job {
    struct kw_job *next; /* owned by the queue */
    void (*run)(struct kw_job *job);
} kw_job;

typedef struct kw_jobs {
    kw_loop *loop;
    kw_task task; /* starts the next job */
    bool busy;
    kw_job *first;
    kw_job *last;
} kw_jobs;

/* Runs the job when earlier jobs have ended, which can be at once. A job must call kw_jobs_next when it
 * ends. */
void kw_jobs_add(kw_jobs *jobs, kw_job *job);
/* Ends the running job. The next one starts in a later iteration of the loop. */
void kw_jobs_next(kw_jobs *jobs);
