#include "policy/jobs.h"

#include "base/container.h"

#include <glib.h>

static void
run(kw_jobs *jobs, kw_job *job)
{
    jobs->busy = true;
    job->run(job);
}

void
kw_jobs_add(kw_jobs *jobs, kw_job *job)
{
    g_assert(job->run);
    job->next = NULL;
    if (!jobs->busy) {
        run(jobs, job);
        return;
    }
    if (jobs->last)
        jobs->last->next = job;
    else
        jobs->first = job;
    jobs->last = job;
}

static void
start_next(kw_task *task)
{
    kw_jobs *jobs = KW_CONTAINER(task, kw_jobs, task);
    kw_job *job = jobs->first;
    jobs->busy = false;
    if (!job)
        return;
    jobs->first = job->next;
    if (!jobs->first)
        jobs->last = NULL;
    run(jobs, job);
}

void
kw_jobs_next(kw_jobs *jobs)
{
    g_assert(jobs->busy);
    jobs->task.run = start_next;
    kw_loop_post(jobs->loop, &jobs->task);
}
