/* Tests loops: posted tasks, stopping, timers and work. Every loop runs on a thread of its own, so that a
 * loop that never stops fails the test instead of blocking it. */
#include "base/loop.h"

#include "base/thread.h"

#include <glib.h>
#include <stdatomic.h>

#define POSTERS 4
#define EACH 20000
#define STOP_DEADLINE_MS 100000

/* --- running a loop until it stops --------------------------------------------------------------- */

typedef struct runner {
    kw_loop *loop;
    kw_thread thread;
    kw_mutex lock;
    kw_condition stopped_signal;
    bool stopped;
} runner;

static _Thread_local const kw_loop *running; /* the loop that this thread runs */

static void
run_loop(void *user)
{
    runner *self = user;
    running = self->loop;
    kw_loop_run(self->loop);
    kw_mutex_lock(&self->lock);
    self->stopped = true;
    kw_condition_signal(&self->stopped_signal);
    kw_mutex_unlock(&self->lock);
}

static void
runner_start(runner *self, kw_loop *loop)
{
    *self = (runner){.loop = loop};
    kw_mutex_init(&self->lock);
    kw_condition_init(&self->stopped_signal);
    kw_thread_start(&self->thread, "loop", run_loop, self);
}

/* Waits until the loop has stopped. Fails the test if it does not stop before the deadline. */
static void
runner_join(runner *self)
{
    kw_deadline deadline = kw_deadline_in_ms(STOP_DEADLINE_MS);
    bool in_time = true;
    kw_mutex_lock(&self->lock);
    while (!self->stopped && in_time)
        in_time = kw_condition_wait_until(&self->stopped_signal, &self->lock, deadline);
    g_assert_true(self->stopped);
    kw_mutex_unlock(&self->lock);
    kw_thread_join(&self->thread);
    kw_condition_clear(&self->stopped_signal);
    kw_mutex_clear(&self->lock);
}

static void
run_until_stopped(kw_loop *loop)
{
    runner self;
    runner_start(&self, loop);
    runner_join(&self);
}

/* --- tasks of other threads ---------------------------------------------------------------------- */

typedef struct mail {
    kw_task task;
    int poster;
    int number;
} mail;

static struct {
    kw_loop *loop;
    int next[POSTERS];
    int arrived;
    mail mails[POSTERS][EACH];
} post;

static void
arrive(kw_task *task)
{
    mail *got = (mail *)(void *)task;
    g_assert_true(running == post.loop);
    g_assert_cmpint(got->number, ==, post.next[got->poster]);
    post.next[got->poster]++;
    if (++post.arrived == POSTERS * EACH)
        kw_loop_stop(post.loop);
}

static void
post_all(void *user)
{
    int poster = *(int *)user;
    for (int i = 0; i < EACH; i++) {
        mail *sent = &post.mails[poster][i];
        *sent = (mail){.task.run = arrive, .poster = poster, .number = i};
        kw_loop_post(post.loop, &sent->task);
    }
}

KW_TEST(tasks_run_in_the_order_of_their_thread, "/base/loop/order")
{
    post.loop = kw_loop_new();
    kw_thread threads[POSTERS];
    int numbers[POSTERS];
    for (int i = 0; i < POSTERS; i++) {
        numbers[i] = i;
        kw_thread_start(&threads[i], "post", post_all, &numbers[i]);
    }
    run_until_stopped(post.loop);
    for (int i = 0; i < POSTERS; i++)
        kw_thread_join(&threads[i]);
    g_assert_cmpint(post.arrived, ==, POSTERS * EACH);
    kw_loop_free(post.loop);
}

/* --- a task that posts from the loop itself ------------------------------------------------------ */

typedef struct repeated {
    kw_task task;
    kw_loop *loop;
    int left;
    bool inside;
} repeated;

static void
run_again(kw_task *task)
{
    repeated *self = (repeated *)(void *)task;
    g_assert_false(self->inside); /* it never runs before kw_loop_post returned */
    self->inside = true;
    if (--self->left > 0)
        kw_loop_post(self->loop, &self->task);
    else
        kw_loop_stop(self->loop);
    self->inside = false;
}

KW_TEST(a_task_can_post_itself_again, "/base/loop/again")
{
    repeated self = {.task.run = run_again, .loop = kw_loop_new(), .left = 1000};
    kw_loop_post(self.loop, &self.task);
    run_until_stopped(self.loop);
    g_assert_cmpint(self.left, ==, 0);
    kw_loop_free(self.loop);
}

/* --- a task that alternates between two loops ---------------------------------------------------- */

typedef struct ball {
    kw_task task;
    kw_loop *loops[2];
    int hits;
} ball;

static void
hit(kw_task *task)
{
    ball *self = (ball *)(void *)task;
    if (++self->hits == 5000) {
        kw_loop_stop(self->loops[0]);
        kw_loop_stop(self->loops[1]);
        return;
    }
    kw_loop_post(self->loops[self->hits % 2], &self->task);
}

KW_TEST(a_task_alternates_between_loops, "/base/loop/between")
{
    ball self = {.task.run = hit, .loops = {kw_loop_new(), kw_loop_new()}};
    runner runners[2];
    for (int i = 0; i < 2; i++)
        runner_start(&runners[i], self.loops[i]);
    kw_loop_post(self.loops[0], &self.task);
    for (int i = 0; i < 2; i++)
        runner_join(&runners[i]);
    g_assert_cmpint(self.hits, ==, 5000);
    for (int i = 0; i < 2; i++)
        kw_loop_free(self.loops[i]);
}

/* --- stop and free ------------------------------------------------------------------------------- */

static atomic_int ran;

static void
count_run(kw_task *task)
{
    (void)task;
    atomic_fetch_add(&ran, 1);
}

KW_TEST(tasks_posted_after_the_end_run_at_free, "/base/loop/free")
{
    kw_loop *loop = kw_loop_new();
    kw_loop_stop(loop);
    run_until_stopped(loop);
    kw_task tasks[3] = {{.run = count_run}, {.run = count_run}, {.run = count_run}};
    for (size_t i = 0; i < G_N_ELEMENTS(tasks); i++)
        kw_loop_post(loop, &tasks[i]);
    kw_loop_free(loop);
    g_assert_cmpint(atomic_load(&ran), ==, 3);
    kw_loop_free(NULL);
}

KW_TEST(another_thread_can_stop_a_loop, "/base/loop/stop")
{
    for (int i = 0; i < 50; i++) {
        kw_loop *loop = kw_loop_new();
        runner self;
        runner_start(&self, loop);
        kw_loop_stop(loop);
        runner_join(&self);
        kw_loop_free(loop);
    }
}

/* --- timers -------------------------------------------------------------------------------------- */

static struct {
    kw_loop *loop;
    kw_timer *first, *second, *never;
    int order[4];
    int fired;
} timers;

static void
first_fired(void *user)
{
    (void)user;
    timers.order[timers.fired++] = 1;
    if (timers.fired == 1)
        kw_timer_start_ms(timers.first, 20); /* one-shot: start it again, after the second */
    else
        kw_loop_stop(timers.loop);
}

static void
second_fired(void *user)
{
    g_assert_true(user == &timers);
    timers.order[timers.fired++] = 2;
    kw_timer_stop(timers.never);
}

static void
never_fired(void *user)
{
    (void)user;
    g_assert_not_reached();
}

KW_TEST(timers_fire_once_in_order, "/base/loop/timers")
{
    timers.loop = kw_loop_new();
    timers.first = kw_timer_new(timers.loop, first_fired, NULL);
    timers.second = kw_timer_new(timers.loop, second_fired, &timers);
    timers.never = kw_timer_new(timers.loop, never_fired, NULL);
    uint64_t begin = kw_clock_mono_ns();
    kw_timer_start_ms(
        timers.first,
        5); /* started in this order, so that they fire in it even if the thread pauses in between */
    kw_timer_start_ms(timers.second, 15);
    kw_timer_start_ms(timers.never, 25);
    run_until_stopped(timers.loop);
    g_assert_cmpint(timers.fired, ==, 3);
    g_assert_cmpint(timers.order[0], ==, 1);
    g_assert_cmpint(timers.order[1], ==, 2);
    g_assert_cmpint(timers.order[2], ==, 1);
    g_assert_cmpuint(kw_clock_mono_ns() - begin, >=, 24000000);
    kw_timer_free(timers.first);
    kw_timer_free(timers.second);
    kw_timer_free(timers.never);
    kw_timer_free(NULL);
    kw_loop_free(timers.loop);
}

static void
stop_loop(void *user)
{
    kw_loop_stop(user);
}

KW_TEST(a_started_timer_can_be_freed, "/base/loop/timer-freed")
{
    kw_loop *loop = kw_loop_new();
    kw_timer *freed = kw_timer_new(loop, never_fired, NULL);
    kw_timer *end = kw_timer_new(loop, stop_loop, loop);
    kw_timer_start_ms(freed, 1);
    kw_timer_start_ms(end, 10);
    kw_timer_free(freed);
    run_until_stopped(loop);
    kw_timer_free(end);
    kw_loop_free(loop);
}

/* --- work ---------------------------------------------------------------------------------------- */

#define PIECES 50

static struct {
    kw_loop *loop;
    kw_timer *ticking;
    kw_work pieces[PIECES];
    int done;
    int ticks_between;
} worker;

/* Runs for about two milliseconds. */
static void
work_a_while(kw_work *work)
{
    uint64_t until = kw_clock_mono_ns() + 2000000;
    g_assert_false(kw_work_waits(work));
    while (kw_clock_mono_ns() < until)
        continue;
    if (++worker.done == PIECES - 1)
        kw_loop_stop(worker.loop);
}

static void
tick(void *user)
{
    (void)user;
    worker.ticks_between += worker.done > 0;
    kw_timer_start_ms(worker.ticking, 1);
}

/* During a hundred milliseconds of work, a timer fires between its pieces. */
KW_TEST(events_are_handled_between_pieces_of_work, "/base/loop/work")
{
    worker.loop = kw_loop_new();
    worker.ticking = kw_timer_new(worker.loop, tick, NULL);
    for (size_t i = 0; i < PIECES; i++) {
        worker.pieces[i] = (kw_work){.item.call = i, .run = work_a_while};
        kw_loop_work(worker.loop, &worker.pieces[i]);
        g_assert_true(kw_work_waits(&worker.pieces[i]));
    }
    kw_loop_cancel_work(worker.loop, &worker.pieces[7]);
    kw_timer_start_ms(worker.ticking, 1);
    run_until_stopped(worker.loop);
    g_assert_cmpint(worker.done, ==, PIECES - 1);
    g_assert_cmpint(worker.ticks_between, >=, 20);
    kw_timer_free(worker.ticking);
    kw_loop_free(worker.loop);
}
