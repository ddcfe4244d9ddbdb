#include "base/workers.h"

#include "base/guard.h"
#include "base/thread.h"
#include "base/units.h"

#include <glib.h>
#include <stdatomic.h>

struct kw_workers {
    kw_mutex lock; /* guards the queue and the running jobs; innermost lock */
    kw_condition filled;
    kw_worker_job *first; /* the next waiting job; by round. The list is short, so it is searched linearly */
    uint64_t round;       /* of the job that was started last */
    _Atomic size_t queued;
    size_t queue_most;
    kw_worker_job *running; /* linked by next, like the waiting jobs */
    _Atomic bool shut;
    bool stopping;
    unsigned count;
    kw_thread *threads;
};

struct kw_worker_port {
    kw_workers *workers;
    kw_loop *loop;
    size_t in_flight;
    bool shut;
    void (*closed)(void *user); /* set by close until it is called */
    void *user;
};

/* --- choice of the next job: with the lock held -------------------------------------------------- */

static void
unlink_job(kw_worker_job **list, const kw_worker_job *job)
{
    while (*list != job)
        list = &(*list)->next;
    *list = job->next;
}

static size_t
count_peer(const kw_worker_job *list, uint32_t peer)
{
    size_t count = 0;
    for (; list; list = list->next)
        count += list->peer == peer;
    return count;
}

static size_t
count_caller(const kw_worker_job *list, const void *caller)
{
    size_t count = 0;
    for (; list; list = list->next)
        count += list->caller == caller;
    return count;
}

/* True if a's peer has fewer running jobs than b's. Jobs of the same peer are compared by caller. */
static bool
has_fewer(const kw_workers *workers, const kw_worker_job *a, const kw_worker_job *b)
{
    const kw_worker_job *running = workers->running;
    return a->peer != b->peer ? count_peer(running, a->peer) < count_peer(running, b->peer)
                              : count_caller(running, a->caller) < count_caller(running, b->caller);
}

static kw_worker_job *
choose(const kw_workers *workers)
{
    kw_worker_job *best = workers->first;
    for (kw_worker_job *job = best; job; job = job->next)
        if (has_fewer(workers, job, best))
            best = job;
    return best;
}

/* The oldest running job that must yield to the waiting one; NULL if there is none, or if a job is already
 * yielding. */
static kw_worker_job *
choose_to_yield(const kw_workers *workers, const kw_worker_job *waiting)
{
    kw_worker_job *oldest = NULL;
    for (kw_worker_job *job = workers->running; job; job = job->next) {
        if (job->yielded)
            return NULL;
        if (has_fewer(workers, waiting, job) && (!oldest || job->started_ns < oldest->started_ns))
            oldest = job;
    }
    return oldest;
}

bool
kw_worker_job_must_yield(kw_worker_job *job)
{
    kw_workers *workers = job->port->workers;
    if (job->yielded || atomic_load_explicit(&workers->queued, memory_order_relaxed) == 0 ||
        kw_clock_mono_ns() < job->started_ns + KW_WORKER_SLICE_MS * KW_NS_PER_MS)
        return job->yielded;
    kw_mutex_lock(&workers->lock);
    const kw_worker_job *waiting = choose(workers);
    job->yielded = waiting && choose_to_yield(workers, waiting) == job;
    kw_mutex_unlock(&workers->lock);
    return job->yielded;
}

bool
kw_workers_are_busy(kw_workers *workers)
{
    unsigned running = 0;
    kw_mutex_lock(&workers->lock);
    for (const kw_worker_job *job = workers->running; job; job = job->next)
        running++;
    kw_mutex_unlock(&workers->lock);
    return running == workers->count;
}

/* The job to drop for a new one of this peer: one whose deadline has passed, else the last job, by round, of
 * the peer with the most waiting jobs. NULL if no peer has more than this one with the new job. */
static kw_worker_job *
choose_to_drop(const kw_workers *workers, uint32_t peer)
{
    kw_worker_job *found = NULL;
    size_t most = count_peer(workers->first, peer) + 1;
    for (kw_worker_job *job = workers->first; job; job = job->next) {
        if (job->deadline && kw_deadline_passed(job->deadline))
            return job;
        size_t count = count_peer(workers->first, job->peer);
        if (count > most || (found && count == most)) {
            most = count;
            found = job;
        }
    }
    return found;
}

/* --- the threads --------------------------------------------------------------------------------- */

/* Moves the next job from the queue to the running jobs; NULL if the queue is empty. With the lock held. */
static kw_worker_job *
dequeue_next(kw_workers *workers)
{
    kw_worker_job *job = choose(workers);
    if (!job)
        return NULL;
    unlink_job(&workers->first, job);
    workers->queued--;
    job->started_ns = kw_clock_mono_ns();
    workers->round = MAX(workers->round, job->round);
    job->next = workers->running;
    workers->running = job;
    return job;
}

/* Chooses the job that follows one that ended. The ended job still counts as running in this choice, so that
 * other callers are preferred. */
static kw_worker_job *
end_and_dequeue(kw_workers *workers, kw_worker_job *ended)
{
    kw_mutex_lock(&workers->lock);
    kw_worker_job *next = dequeue_next(workers);
    unlink_job(&workers->running, ended);
    kw_mutex_unlock(&workers->lock);
    kw_loop_post(ended->port->loop, &ended->task);
    return next;
}

/* Waits for a job. NULL if the workers are stopping and the queue is empty. */
static kw_worker_job *
wait_for_job(kw_workers *workers)
{
    kw_mutex_lock(&workers->lock);
    while (!workers->first && !workers->stopping)
        kw_condition_wait(&workers->filled, &workers->lock);
    kw_worker_job *job = dequeue_next(workers);
    kw_mutex_unlock(&workers->lock);
    return job;
}

static void
serve(void *user)
{
    kw_workers *workers = user;
    for (kw_worker_job *job = wait_for_job(workers); job;) {
        if (!kw_workers_are_shut(workers))
            job->run(job);
        job = end_and_dequeue(workers, job);
        job = job ? job : wait_for_job(workers);
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

/* --- ports --------------------------------------------------------------------------------------- */

/* Adds the job to the round after that of its caller's last waiting job, else to the present round. */
static void
insert(kw_workers *workers, kw_worker_job *job)
{
    kw_worker_job **place = &workers->first;
    job->round = workers->round;
    for (const kw_worker_job *other = *place; other; other = other->next)
        if (other->peer == job->peer && other->caller == job->caller)
            job->round = other->round + 1;
    while (*place && (*place)->round <= job->round)
        place = &(*place)->next;
    job->next = *place;
    *place = job;
    workers->queued++;
    kw_condition_signal(&workers->filled);
}

/* Removes the job that choose_to_drop chooses from the full queue. Returns this job; NULL if there is none.
 */
static kw_worker_job *
drop_one(kw_workers *workers, uint32_t peer)
{
    kw_worker_job *dropped = choose_to_drop(workers, peer);
    if (dropped) {
        unlink_job(&workers->first, dropped);
        workers->queued--;
        dropped->dropped = true;
    }
    return dropped;
}

static bool
enqueue(kw_workers *workers, kw_worker_job *job)
{
    kw_worker_job *dropped = NULL;
    kw_mutex_lock(&workers->lock);
    if (workers->queued >= workers->queue_most)
        dropped = drop_one(workers, job->peer);
    bool taken = workers->queued < workers->queue_most;
    if (taken)
        insert(workers, job);
    kw_mutex_unlock(&workers->lock);
    if (dropped)
        kw_loop_post(dropped->port->loop, &dropped->task);
    return taken;
}

static void
call_closed_when_idle(kw_worker_port *port)
{
    if (!port->closed || port->in_flight > 0)
        return;
    void (*closed)(void *user) = port->closed;
    port->closed = NULL;
    closed(port->user); /* can free the port */
}

static void
run_done(kw_task *task)
{
    kw_worker_job *job = (kw_worker_job *)task;
    kw_worker_port *port = job->port;
    job->done(job); /* can submit the job again */
    port->in_flight--;
    call_closed_when_idle(port);
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
    kw_guard_end();
    job->task.run = run_done;
    job->port = port;
    job->next = NULL;
    job->dropped = job->yielded = false;
    if (port->shut || !enqueue(port->workers, job))
        return false;
    port->in_flight++;
    return true;
}

void
kw_worker_port_close(kw_worker_port *port, void (*closed)(void *user), void *user)
{
    port->shut = true;
    port->closed = closed;
    port->user = user;
    call_closed_when_idle(port);
}

void
kw_worker_port_free(kw_worker_port *port)
{
    g_assert(!port || (port->in_flight == 0 && !port->closed));
    g_free(port);
}
