/* Requests of other threads to the main thread: their order, the maximum of each group, and what happens to
 * them when draining begins. The test runs the iterations of both loops itself. */
#include "policy/control.h"

#include "base/container.h"

#include <glib.h>

#define ITERATIONS 10
#define REQUESTS_MAX 32

typedef struct scene {
    kw_control control;
    kw_loop *callers;
    GString *begun;                         /* numbers of the requests, in the order in which they began */
    kw_control_request *open[REQUESTS_MAX]; /* begun and not finished */
    unsigned replies[REQUESTS_MAX];
    kw_code codes[REQUESTS_MAX];
    unsigned results[REQUESTS_MAX];
    unsigned cleared;
} scene;

typedef struct asking {
    kw_control_request request;
    scene *scene;
    unsigned number;
    unsigned result;
} asking;

static asking *
of(kw_control_request *request)
{
    return KW_CONTAINER(request, asking, request);
}

/* --- requests that the test finishes ------------------------------------------------------------------- */

static void
run(kw_control_request *request)
{
    const asking *self = of(request);
    g_string_append_printf(self->scene->begun, "%u ", self->number);
    self->scene->open[self->number] = request;
}

static void
reply(kw_control_request *request, const kw_error *error)
{
    const asking *self = of(request);
    scene *at = request->user;
    at->replies[self->number]++;
    at->codes[self->number] = error ? error->code : KW_OK;
    at->results[self->number] = error ? 0 : self->result;
    if (error && error->code == KW_BUSY)
        g_assert_cmpuint(error->retry_after_ms, >, 0);
}

static void
finish(scene *self, unsigned number)
{
    kw_control_request *request = g_steal_pointer(&self->open[number]);
    g_assert_nonnull(request);
    of(request)->result = 100 + number;
    kw_control_request_finish(request, NULL);
}

static void
stop(kw_control_request *request)
{
    scene *at = of(request)->scene;
    if (at->open[of(request)->number])
        finish(at, of(request)->number);
}

static void
clear(kw_control_request *request)
{
    of(request)->scene->cleared++;
}

static const kw_control_request_kind job = {
    .group = KW_REQUESTS_OTHER, .is_job = true, .run = run, .reply = reply, .clear = clear};
static const kw_control_request_kind read_kind = {
    .group = KW_REQUESTS_TRANSFER, .run = run, .reply = reply, .clear = clear};
static const kw_control_request_kind waiting_kind = {
    .group = KW_REQUESTS_OTHER, .run = run, .reply = reply, .stop = stop, .clear = clear};

/* --- the scene ---------------------------------------------------------------------------------------- */

static scene *
scene_new(void)
{
    scene *self = g_new0(scene, 1);
    self->control.state = KW_CONTROL_SERVING;
    self->control.loop = self->control.jobs.loop = kw_loop_new();
    self->callers = kw_loop_new();
    self->begun = g_string_new(NULL);
    return self;
}

static void
run_loops(const scene *self)
{
    for (int i = 0; i < ITERATIONS; i++) {
        uv_run(kw_loop_uv(self->control.loop), UV_RUN_NOWAIT);
        uv_run(kw_loop_uv(self->callers), UV_RUN_NOWAIT);
    }
}

static void
scene_free(scene *self)
{
    run_loops(self);
    g_assert_null(self->control.requests);
    g_assert_false(self->control.jobs.busy);
    for (size_t group = 0; group < KW_REQUEST_GROUPS; group++)
        g_assert_cmpuint(self->control.requests_count[group], ==, 0);
    kw_loop_free(self->control.loop);
    kw_loop_free(self->callers);
    g_string_free(self->begun, TRUE);
    g_free(self);
}

static asking *
asking_new(scene *self, const kw_control_request_kind *kind, unsigned number, kw_loop *loop)
{
    asking *request = kw_control_request_new(sizeof *request, kind, &self->control, loop, self);
    request->scene = self;
    request->number = number;
    return request;
}

static void
ask(scene *self, const kw_control_request_kind *kind, unsigned number)
{
    kw_control_request_send(&asking_new(self, kind, number, self->callers)->request);
}

/* --- tests -------------------------------------------------------------------------------------------- */

/* Jobs run one after another; other requests do not wait for them. */
KW_TEST(test_order, "/policy/control_request/order")
{
    scene *self = scene_new();
    ask(self, &job, 0);
    ask(self, &job, 1);
    ask(self, &waiting_kind, 2);
    g_assert_cmpstr(self->begun->str, ==, ""); /* not on the caller's thread */
    run_loops(self);
    g_assert_cmpstr(self->begun->str, ==, "0 2 ");
    finish(self, 0);
    g_assert_cmpuint(self->replies[0], ==, 0); /* not on the main thread */
    run_loops(self);
    g_assert_cmpuint(self->results[0], ==, 100);
    g_assert_cmpstr(self->begun->str, ==, "0 2 1 ");
    finish(self, 2);
    finish(self, 1);
    run_loops(self);
    for (unsigned i = 0; i < 3; i++) {
        g_assert_cmpuint(self->replies[i], ==, 1);
        g_assert_cmpuint(self->results[i], ==, 100 + i);
    }
    g_assert_cmpuint(self->cleared, ==, 3);
    scene_free(self);
}

/* The third request of a group with a maximum of two is BUSY, and does not reach the main thread. */
KW_TEST(test_busy, "/policy/control_request/busy")
{
    scene *self = scene_new();
    for (unsigned i = 0; i < 3; i++)
        ask(self, &read_kind, i);
    ask(self, &waiting_kind, 3); /* another group */
    run_loops(self);
    g_assert_cmpstr(self->begun->str, ==, "0 1 3 ");
    g_assert_cmpint(self->codes[2], ==, KW_BUSY);
    g_assert_cmpuint(self->cleared, ==, 1);
    finish(self, 0);
    ask(self, &read_kind, 4);
    run_loops(self);
    g_assert_cmpstr(self->begun->str, ==, "0 1 3 4 ");
    finish(self, 1);
    finish(self, 3);
    finish(self, 4);
    run_loops(self);
    g_assert_cmpuint(self->results[4], ==, 104);
    scene_free(self);
}

/* When draining begins, each caller is answered once. A job that has begun continues; one that is queued, or
 * arrives later, does not begin. */
KW_TEST(test_draining, "/policy/control_request/draining")
{
    scene *self = scene_new();
    ask(self, &job, 0);
    ask(self, &job, 1);
    ask(self, &waiting_kind, 2);
    ask(self, &read_kind, 3);
    run_loops(self);
    self->control.state = KW_CONTROL_DRAINING;
    kw_control_requests_stop(&self->control);
    g_assert_cmpuint(self->cleared, ==, 1); /* the one that only waits */
    ask(self, &job, 4);
    ask(self, &read_kind, 5);
    run_loops(self);
    for (unsigned i = 0; i < 6; i++) {
        g_assert_cmpuint(self->replies[i], ==, 1);
        g_assert_cmpint(self->codes[i], ==, KW_UNAVAILABLE);
    }
    g_assert_cmpuint(self->cleared, ==, 3);
    finish(self, 0);
    finish(self, 3);
    run_loops(self);
    g_assert_cmpstr(self->begun->str, ==, "0 2 3 ");
    g_assert_cmpuint(self->replies[0], ==, 1);
    g_assert_cmpuint(self->replies[3], ==, 1);
    g_assert_cmpuint(self->cleared, ==, 6);
    scene_free(self);
}

/* A request that ends before the early answer was delivered lives until then. */
KW_TEST(test_draining_and_finished, "/policy/control_request/draining_and_finished")
{
    scene *self = scene_new();
    ask(self, &job, 0);
    run_loops(self);
    self->control.state = KW_CONTROL_DRAINING;
    kw_control_requests_stop(&self->control);
    finish(self, 0);
    g_assert_cmpuint(self->cleared, ==, 1);
    run_loops(self);
    g_assert_cmpuint(self->replies[0], ==, 1);
    g_assert_cmpint(self->codes[0], ==, KW_UNAVAILABLE);
    scene_free(self);
}

/* The main thread's own request has no caller, and a job with an error is the end of a job, too. */
KW_TEST(test_without_caller, "/policy/control_request/without_caller")
{
    scene *self = scene_new();
    kw_control_request_begin(&asking_new(self, &job, 0, NULL)->request);
    g_assert_cmpstr(self->begun->str, ==, "0 ");
    ask(self, &job, 1);
    run_loops(self);
    finish(self, 0);
    run_loops(self);
    g_assert_cmpuint(self->replies[0], ==, 0);
    g_assert_cmpstr(self->begun->str, ==, "0 1 ");
    static const kw_error failed = {.code = KW_INVALID, .text = "the test's"};
    kw_control_request_finish(g_steal_pointer(&self->open[1]), &failed);
    run_loops(self);
    g_assert_cmpint(self->codes[1], ==, KW_INVALID);
    scene_free(self);
}
