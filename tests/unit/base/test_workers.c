/* Jobs run on worker threads and return to their loop. The queue is bounded. A port closes when its last job
 * has returned, and waiting jobs are skipped once the workers are shut. Callers share the threads fairly. */
#include "base/thread.h"
#include "base/workers.h"

#include <glib.h>
#include <stdatomic.h>

typedef struct counted_job {
    kw_worker_job job;
    _Atomic bool *released; /* NULL: the job does not wait */
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

/* The only worker is busy, so a queue of three accepts three more jobs. The port closes after all of them. */
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
    g_assert_cmpuint(taken, >=, 3); /* the worker has possibly not begun */
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

KW_TEST(test_queue, "/workers/queue")
{
    check_queue(false);
}

KW_TEST(test_shut, "/workers/shut")
{
    check_queue(true);
}

/* A test of fairness with one worker: records the order in which its jobs ran. */
typedef struct fair_test {
    kw_loop *loop;
    kw_workers *workers;
    kw_worker_port *port;
    _Atomic bool released;
    char order[8]; /* names of jobs; used by the worker thread until all are done */
    size_t ran, done, submitted;
} fair_test;

typedef struct fair_job {
    kw_worker_job job;
    fair_test *test;
    char name;
    bool endless; /* runs until it must yield; else until the test releases it */
} fair_job;

static void
run_fair(kw_worker_job *job)
{
    fair_job *self = (fair_job *)job;
    while (self->endless ? !kw_worker_job_must_yield(job) : !atomic_load(&self->test->released))
        g_usleep(1000);
    self->test->order[self->test->ran++] = self->name;
}

static void
fair_done(kw_worker_job *job)
{
    ((fair_job *)job)->test->done++;
}

static void
fair_start(fair_test *test, size_t queue_most)
{
    *test = (fair_test){.loop = kw_loop_new(), .workers = kw_workers_start(1, queue_most, "test")};
    test->port = kw_worker_port_open(test->workers, test->loop);
}

static fair_job
fair_make(fair_test *test, char name, uint32_t peer, const void *caller)
{
    return (fair_job){.job = {.run = run_fair, .done = fair_done, .peer = peer, .caller = caller},
                      .test = test,
                      .name = name};
}

static bool
fair_submit(fair_job *self)
{
    bool taken = kw_worker_port_submit(self->test->port, &self->job);
    self->test->submitted += taken;
    return taken;
}

/* Makes the only worker run this job. */
static void
fair_occupy(fair_job *self)
{
    g_assert_true(fair_submit(self));
    while (!kw_workers_are_busy(self->test->workers))
        g_usleep(1000);
}

static void
fair_end(fair_test *test, const char *order)
{
    bool is_closed = false;
    atomic_store(&test->released, true);
    kw_worker_port_close(test->port, closed, &is_closed);
    while (!is_closed)
        uv_run(kw_loop_uv(test->loop), UV_RUN_ONCE);
    g_assert_cmpuint(test->done, ==, test->submitted);
    g_assert_cmpstr(test->order, ==, order);
    kw_worker_port_free(test->port);
    kw_workers_stop(test->workers);
    kw_loop_free(test->loop);
}

/* Caller 1 has queued many jobs. Jobs of caller 2 of the same peer, and then of caller 3 of another peer, are
 * preferred. */
KW_TEST(test_order, "/workers/order")
{
    fair_test test;
    fair_start(&test, 8);
    fair_job jobs[] = {fair_make(&test, 'a', 1, "1"), fair_make(&test, 'b', 1, "1"),
                       fair_make(&test, 'c', 1, "2"), fair_make(&test, 'd', 2, "3")};
    jobs[0].endless = true;
    fair_occupy(&jobs[0]);
    for (size_t i = 1; i < G_N_ELEMENTS(jobs); i++)
        g_assert_true(fair_submit(&jobs[i]));
    fair_end(&test, "adbc");
}

/* Two callers of one peer have queued many jobs. A job of a third caller waits for one of each. */
KW_TEST(test_rounds, "/workers/rounds")
{
    fair_test test;
    fair_start(&test, 8);
    fair_job jobs[] = {fair_make(&test, 'a', 2, "0"), fair_make(&test, 'b', 1, "1"),
                       fair_make(&test, 'c', 1, "1"), fair_make(&test, 'd', 1, "2"),
                       fair_make(&test, 'e', 1, "2"), fair_make(&test, 'f', 1, "3"),
                       fair_make(&test, 'g', 1, "1")};
    fair_occupy(&jobs[0]);
    for (size_t i = 1; i < G_N_ELEMENTS(jobs); i++)
        g_assert_true(fair_submit(&jobs[i]));
    fair_end(&test, "abdfceg");
}

/* The running job yields to another caller's, but not to one of its own caller. */
KW_TEST(test_yield, "/workers/yield")
{
    fair_test test;
    fair_start(&test, 8);
    fair_job first = fair_make(&test, 'a', 1, "1"), own = fair_make(&test, 'b', 1, "1"),
             other = fair_make(&test, 'c', 1, "2");
    fair_occupy(&first);
    g_assert_true(fair_submit(&own));
    first.job.started_ns = 0; /* long ago */
    g_assert_false(kw_worker_job_must_yield(&first.job));
    g_assert_true(fair_submit(&other));
    g_assert_true(kw_worker_job_must_yield(&first.job));
    g_assert_true(kw_worker_job_must_yield(&first.job));
    fair_end(&test, "acb");
}

/* A peer that fills the queue loses its newest job to another peer, never to itself. */
KW_TEST(test_full, "/workers/full")
{
    fair_test test;
    fair_start(&test, 3);
    fair_job jobs[] = {fair_make(&test, 'a', 1, "1"), fair_make(&test, 'b', 1, "1"),
                       fair_make(&test, 'c', 1, "2"), fair_make(&test, 'd', 1, "3"),
                       fair_make(&test, 'e', 1, "4"), fair_make(&test, 'f', 2, "5")};
    fair_occupy(&jobs[0]);
    for (size_t i = 1; i < 4; i++)
        g_assert_true(fair_submit(&jobs[i]));
    g_assert_false(fair_submit(&jobs[4]));
    g_assert_true(fair_submit(&jobs[5]));
    for (size_t i = 0; i < G_N_ELEMENTS(jobs); i++)
        g_assert_true(jobs[i].job.dropped == (i == 3));
    fair_end(&test, "afbc");
}

/* A job whose deadline has passed is dropped from a full queue for a job of any peer. */
KW_TEST(test_late, "/workers/late")
{
    fair_test test;
    fair_start(&test, 2);
    fair_job jobs[] = {fair_make(&test, 'a', 1, "1"), fair_make(&test, 'b', 1, "1"),
                       fair_make(&test, 'c', 1, "1"), fair_make(&test, 'd', 1, "1")};
    fair_occupy(&jobs[0]);
    jobs[1].job.deadline = 1;
    for (size_t i = 1; i < G_N_ELEMENTS(jobs); i++)
        g_assert_true(fair_submit(&jobs[i]));
    g_assert_true(jobs[1].job.dropped);
    fair_end(&test, "acd");
}
