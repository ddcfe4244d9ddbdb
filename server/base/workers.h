/* Threads for work that would block an event loop: compiling the expressions of a filter, compiling a policy
 * text. They are not libuv's threads, which resolve names and read files. The queue is bounded. A job is
 * embedded in its owner's struct:
 *
 *   loop: kw_worker_port_submit --> queue --> a worker: run --> the same loop: done
 *
 * Each loop has its own port and closes it before the loop ends, so that no job returns to a loop that is
 * gone.
 */
#pragma once

#include "base/loop.h"

typedef struct kw_workers kw_workers;
typedef struct kw_worker_port kw_worker_port;
typedef struct kw_worker_job kw_worker_job;

struct kw_worker_job {
    kw_task task;
    kw_worker_port *port;
    kw_worker_job *next;
    void (*run)(kw_worker_job *job);  /* on a worker; skipped once the workers are shut */
    void (*done)(kw_worker_job *job); /* on the loop, later, exactly once; the job is its owner's again */
};

/* name: of the threads, at most 15 bytes. */
kw_workers *kw_workers_start(unsigned threads, size_t queue_most, const char *name);
/* Jobs that wait are no longer run. A job that runs should ask kw_workers_are_shut from time to time and end.
 * Any thread. */
void kw_workers_shut(kw_workers *workers);
bool kw_workers_are_shut(const kw_workers *workers);
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
