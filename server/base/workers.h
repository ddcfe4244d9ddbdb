/* Threads for work that would block an event loop, for example compiling filter expressions or policy texts,
 * explain, advise. They are not libuv's threads, which resolve names and read files. The queue is bounded. A
 * job is embedded in its owner's struct:
 *
 *   loop: kw_worker_port_submit --> queue --> a worker: run --> the same loop: done
 *
 * Each loop has its own port, and closes it before the loop is freed, so that no job returns to a freed loop.
 *
 * The threads are shared fairly. A job names its caller (a connection) and its peer (the client certificate
 * or, without one, the address of the caller; see limits.peer_connections). The next job is one of the peer
 * with the fewest running jobs, and within that peer one of the caller with the fewest. Where these are
 * equal, each caller gets one job in each round. When all threads are busy, a job that has run for
 * KW_WORKER_SLICE_MS must yield to a waiting job whose peer (or caller, within one peer) has fewer running
 * jobs. When the queue is full, a new job replaces a waiting one: one whose deadline has passed, or else the
 * last job, by round, of the peer with the most waiting jobs. It is refused if no peer has more of them than
 * its own peer, with the new job.
 */
#pragma once

#include "base/loop.h"

/* How long the jobs of one caller can occupy all threads while others wait. */
#define KW_WORKER_SLICE_MS 2000

typedef struct kw_workers kw_workers;
typedef struct kw_worker_port kw_worker_port;
typedef struct kw_worker_job kw_worker_job;

struct kw_worker_job {
    kw_task task;
    kw_worker_port *port;
    kw_worker_job *next;
    uint64_t round;
    uint32_t peer;        /* the owner sets this and the next two before it submits the job; 0: no peer */
    const void *caller;   /* only compared; NULL: no caller */
    kw_deadline deadline; /* a job that still waits then can be dropped; 0: no deadline */
    uint64_t started_ns;
    bool dropped;                    /* removed from a full queue for a new job, without being run */
    bool yielded;                    /* kw_worker_job_must_yield was true */
    void (*run)(kw_worker_job *job); /* on a worker; skipped once the workers are shut */
    void (*done)(
        kw_worker_job *job); /* on the loop, later, exactly once; the owner can reuse or free the job */
};

/* name is the threads' name, at most 15 bytes. */
kw_workers *kw_workers_start(unsigned threads, size_t queue_most, const char *name);
/* Skips all waiting jobs. A running job should check kw_workers_are_shut periodically and return early. Any
 * thread. */
void kw_workers_shut(kw_workers *workers);
bool kw_workers_are_shut(const kw_workers *workers);
/* True while all threads run jobs. Any thread. */
bool kw_workers_are_busy(kw_workers *workers);
/* True once the running job must return early because others wait. The job should check this periodically, on
 * the worker. */
bool kw_worker_job_must_yield(kw_worker_job *job);
/* Stops the threads. All ports must be closed. NULL is allowed. */
void kw_workers_stop(kw_workers *workers);

/* --- on a loop's thread -------------------------------------------------------------------------- */

kw_worker_port *kw_worker_port_open(kw_workers *workers, kw_loop *loop);

/* False if the port is closed, or if the queue is full and no waiting job can be dropped for this one. Then
 * done is not called. */
bool kw_worker_port_submit(kw_worker_port *port, kw_worker_job *job);

/* Rejects further jobs. Calls closed, now or later, when no job of this port is waiting or running. */
void kw_worker_port_close(kw_worker_port *port, void (*closed)(void *user), void *user);
/* Call this after closed was called. NULL is allowed. */
void kw_worker_port_free(kw_worker_port *port);
