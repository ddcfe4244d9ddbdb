/* Threads for work that would block an event loop: compiling the expressions of a filter, compiling a policy
 * text. They are not libuv's threads, which resolve names and read files. The queue is bounded. A job is
 * embedded in its owner's struct:
 *
 *   loop: kw_worker_port_submit --> queue --> a worker: run --> the same loop: done
 *
 * Each loop has its own port and closes it before the loop ends, so that no job returns to a loop that is
 * gone.
 *
 * The threads are shared fairly. A job names its caller and its peer, which is the same for all callers from
 * one place. The next job is that of the peer, and of the caller, with the fewest running jobs. When all
 * threads are busy, a job that has run for KW_WORKER_SLICE_MS must yield to a waiting job whose peer, or
 * caller, has fewer. When the queue is full, the peer with the most waiting jobs loses its newest one to a
 * peer with fewer.
 */
#pragma once

#include "base/loop.h"

/* How long the jobs of one caller may keep all threads from the others. */
#define KW_WORKER_SLICE_MS 2000

typedef struct kw_workers kw_workers;
typedef struct kw_worker_port kw_worker_port;
typedef struct kw_worker_job kw_worker_job;

struct kw_worker_job {
    kw_task task;
    kw_worker_port *port;
    kw_worker_job *next;
    uint32_t peer;        /* set before it is submitted, and so the next two; 0: nobody */
    const void *caller;   /* only compared; NULL: nobody */
    kw_deadline deadline; /* a job that still waits then can be dropped; 0: there is no deadline */
    uint64_t started_ns;
    bool dropped;                     /* from the queue, for another peer's job: it was not run */
    bool yielded;                     /* kw_worker_job_must_yield was true */
    void (*run)(kw_worker_job *job);  /* on a worker; skipped once the workers are shut */
    void (*done)(kw_worker_job *job); /* on the loop, later, exactly once; the job is its owner's again */
};

/* name: of the threads, at most 15 bytes. */
kw_workers *kw_workers_start(unsigned threads, size_t queue_most, const char *name);
/* Jobs that wait are no longer run. A job that runs should ask kw_workers_are_shut from time to time and end.
 * Any thread. */
void kw_workers_shut(kw_workers *workers);
bool kw_workers_are_shut(const kw_workers *workers);
/* True while all threads run jobs. Any thread. */
bool kw_workers_are_busy(kw_workers *workers);
/* For a job that runs, to ask from time to time: true once it must end because others wait. On the worker. */
bool kw_worker_job_must_yield(kw_worker_job *job);
/* After all ports were closed. NULL is fine. */
void kw_workers_stop(kw_workers *workers);

/* --- on a loop's thread ----------------------------------------------------------------------- */

kw_worker_port *kw_worker_port_open(kw_workers *workers, kw_loop *loop);

/* False: the queue is full, or the port was closed; nothing was done. */
bool kw_worker_port_submit(kw_worker_port *port, kw_worker_job *job);

/* Refuses jobs from now on; calls closed, now or later, when no job of the loop is under way. */
void kw_worker_port_close(kw_worker_port *port, void (*closed)(void *user), void *user);
/* After closed was called. NULL is fine. */
void kw_worker_port_free(kw_worker_port *port);
