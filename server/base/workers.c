#include "base/workers.h"

#include "base/thread.h"

#include <glib.h>
#include <stdatomic.h>

struct kw_workers {
    kw_mutex lock; /* guards the queue; a leaf */
    kw_condition filled;
    kw_worker_job *first, *last;
    size_t queued, queue_most;
    _Atomic bool shut;
    bool stopping;
    unsigned count;
    kw_thread *threads;
};

struct kw_worker_port {
    kw_workers *workers;
    kw_loop *loop;
    size_t under_way;
    bool shut;
    void (*closed)(void *user); /* from close until it is called */
    void *user;
};

/* --- the threads ---------------------------------------------------------------------------------- */

/* NULL: the end. */
static kw_worker_job *
take(kw_workers *workers)
{
    kw_mutex_lock(&workers->lock);
    while (!workers->first && !workers->stopping)
        kw_condition_wait(&workers->filled, &workers->lock);
    kw_worker_job *job = workers->first;
    if (job) {
        workers->first = job->next;
        workers->queued--;
    }
    kw_mutex_unlock(&workers->lock);
    return job;
}

static void
serve(void *user)
{
    kw_workers *workers = user;
    for (kw_worker_job *job; (job = take(workers));) {
        if (!kw_workers_are_shut(workers))
            job->run(job);
        kw_loop_post(job->port->loop, &job->task);
    }
}

kw_workers *
kw_workers_start(unsigned threads, size_t queue_most, const char *name)
{
    kw_workers *workers = g_new0(kw_workers, 1);
    kw_mutex_init(&workers->lock);
    kw_condition_init(&workers->filled);
    workers->queue_most = queue_most;
    workers->count = threads;
    workers->threads = g_new0(kw_thread, threads);
    for (unsigned i = 0; i < threads; i++)
        kw_thread_start(&workers->threads[i], name, serve, workers);
    return workers;
}

void
kw_workers_stop(kw_workers *workers)
{
    if (!workers)
        return;
    kw_workers_shut(workers);
    kw_mutex_lock(&workers->lock);
    workers->stopping = true;
    kw_condition_broadcast(&workers->filled);
    kw_mutex_unlock(&workers->lock);
    for (unsigned i = 0; i < workers->count; i++)
        kw_thread_join(&workers->threads[i]);
    kw_condition_clear(&workers->filled);
    kw_mutex_clear(&workers->lock);
    g_free(workers->threads);
    g_free(workers);
}

void
kw_workers_shut(kw_workers *workers)
{
    atomic_store(&workers->shut, true);
}

bool
kw_workers_are_shut(const kw_workers *workers)
{
    return atomic_load_explicit(&workers->shut, memory_order_relaxed);
}

/* --- ports ---------------------------------------------------------------------------------------- */

static bool
enqueue(kw_workers *workers, kw_worker_job *job)
{
    kw_mutex_lock(&workers->lock);
    bool taken = workers->queued < workers->queue_most;
    if (taken) {
        if (workers->first)
            workers->last->next = job;
        else
            workers->first = job;
        workers->last = job;
        workers->queued++;
        kw_condition_signal(&workers->filled);
    }
    kw_mutex_unlock(&workers->lock);
    return taken;
}

static void
settle(kw_worker_port *port)
{
    if (!port->closed || port->under_way > 0)
        return;
    void (*closed)(void *user) = port->closed;
    port->closed = NULL;
    closed(port->user); /* may free the port */
}

static void
run_done(kw_task *task)
{
    kw_worker_job *job = (kw_worker_job *)task;
    kw_worker_port *port = job->port;
    job->done(job); /* may submit again */
    port->under_way--;
    settle(port);
}

kw_worker_port *
kw_worker_port_open(kw_workers *workers, kw_loop *loop)
{
    kw_worker_port *port = g_new0(kw_worker_port, 1);
    port->workers = workers;
    port->loop = loop;
    return port;
}

bool
kw_worker_port_submit(kw_worker_port *port, kw_worker_job *job)
{
    job->task.run = run_done;
    job->port = port;
    job->next = NULL;
    if (port->shut || !enqueue(port->workers, job))
        return false;
    port->under_way++;
    return true;
}

void
kw_worker_port_close(kw_worker_port *port, void (*closed)(void *user), void *user)
{
    port->shut = true;
    port->closed = closed;
    port->user = user;
    settle(port);
}

void
kw_worker_port_free(kw_worker_port *port)
{
    g_assert(!port || (port->under_way == 0 && !port->closed));
    g_free(port);
}
