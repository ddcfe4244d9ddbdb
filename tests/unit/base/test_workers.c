/* Jobs run on worker threads and come back to their loop; the queue is bounded; a port closes when its last
 * job is back, and jobs that wait are not run once the workers are shut. */
#include "base/thread.h"
#include "base/workers.h"

#include <glib.h>
#include <stdatomic.h>

typedef struct counted_job {
    kw_worker_job job;
    _Atomic bool *released; /* NULL: it does not wait */
    bool ran;
    bool done;
} counted_job;

static GThread *loop_thread;

static void
run(kw_worker_job *job)
{
    counted_job *self = (counted_job *)job;
    g_assert_true(g_thread_self() != loop_thread);
    while (self->released && !atomic_load(self->released))
        g_usleep(1000);
    self->ran = true;
}

static void
done(kw_worker_job *job)
{
    counted_job *self = (counted_job *)job;
    g_assert_true(g_thread_self() == loop_thread);
    g_assert_false(self->done);
    self->done = true;
}

static void
closed(void *user)
{
    *(bool *)user = true;
}

static counted_job
job_that_waits(_Atomic bool *released)
{
    return (counted_job){.job = {.run = run, .done = done}, .released = released};
}

/* One worker is busy, so a queue of three takes three more; the port closes after all of them. */
static void
check_queue(bool shut)
{
    _Atomic bool released = false;
    bool is_closed = false;
    loop_thread = g_thread_self();
    kw_loop *loop = kw_loop_new();
    kw_workers *workers = kw_workers_start(1, 3, "test");
    kw_worker_port *port = kw_worker_port_open(workers, loop);
    counted_job jobs[6];
    for (size_t i = 0; i < G_N_ELEMENTS(jobs); i++)
        jobs[i] = job_that_waits(&released);
    size_t taken = 0;
    while (!kw_worker_port_submit(port, &jobs[0].job))
        g_usleep(1000);
    for (taken = 1; taken < G_N_ELEMENTS(jobs) && kw_worker_port_submit(port, &jobs[taken].job); taken++)
        ;
    g_assert_cmpuint(taken, >=, 3); /* the worker may not have begun */
    g_assert_cmpuint(taken, <=, 4);
    if (shut)
        kw_workers_shut(workers);
    kw_worker_port_close(port, closed, &is_closed);
    g_assert_false(is_closed);
    g_assert_false(kw_worker_port_submit(port, &jobs[5].job));
    atomic_store(&released, true);
    while (!is_closed)
        uv_run(kw_loop_uv(loop), UV_RUN_ONCE);
    for (size_t i = 0; i < G_N_ELEMENTS(jobs); i++) {
        g_assert_true(jobs[i].done == (i < taken));
        g_assert_true(shut || jobs[i].ran == (i < taken));
    }
    g_assert_true(!shut || !jobs[taken - 1].ran);
    kw_worker_port_free(port);
    kw_workers_stop(workers);
    kw_loop_free(loop);
}

static void
test_queue(void)
{
    check_queue(false);
}

static void
test_shut(void)
{
    check_queue(true);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/workers/queue", test_queue);
    g_test_add_func("/workers/shut", test_shut);
    return g_test_run();
}
