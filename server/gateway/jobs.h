/* What changes the policy or the catalog happens one after the other: start, reload, keyway forget, ... A job
 * that comes while another one runs waits. Main thread only. */
#pragma once

#include "base/loop.h"

#include <stdbool.h>

typedef struct kw_job {
    struct kw_job *next; /* owned by the list while it waits */
    void (*run)(struct kw_job *job);
} kw_job;

typedef struct kw_jobs {
    kw_loop *loop;
    kw_task task; /* starts the next job */
    bool busy;
    kw_job *first;
    kw_job *last;
} kw_jobs;

/* Runs the job, now or when those before it have ended; a job ends with kw_jobs_next. */
void kw_jobs_add(kw_jobs *jobs, kw_job *job);
/* The job that runs has ended. The next one starts in a later iteration of the loop. */
void kw_jobs_next(kw_jobs *jobs);
