/* The queue of atomic operations that a change holds: order, end, deadlines, and the share of each peer. The
 * linker replaces what begins and ends calls by functions of this file. */
#include "service/atomic_hold.h"

#include "unit/service/fixture.h"

#include <glib.h>

#define CALLS 6

typedef struct held_call {
    kw_exchange exchange;
    kw_api_Data_increment_args args;
    kw_api_Options options;
    uint32_t peer;
    bool ended; /* failed with the error, or resumed */
    kw_error error;
} held_call;

void __wrap_kw_exchange_fail(kw_exchange *exchange, const kw_error *error);
void __wrap_kw_exchange_resume(kw_exchange *exchange);
void __wrap_kw_exchange_drop_policy(kw_exchange *exchange);
uint32_t __wrap_kw_request_peer_number(const kw_request *request);

static GPtrArray *resumed;
static unsigned let_go;
static bool hold_again; /* the table of a call holds it again when it is resumed */

static held_call *
call_of(kw_exchange *exchange)
{
    return (held_call *)(void *)exchange;
}

static void
hold(const kw_policy *policy, const char *table, bool held)
{
    const kw_table *found = kw_policy_find_table(policy, kw_bytes_of_text(table));
    kw_table *edited = (kw_table *)(uintptr_t)found;
    edited->ordering.regime.atomics = held ? KW_ATOMICS_HELD : KW_ATOMICS_NATIVE;
}

void
__wrap_kw_exchange_fail(kw_exchange *exchange, const kw_error *error)
{
    g_assert_false(call_of(exchange)->ended);
    kw_exchange_move(exchange, KW_EXCHANGE_ENDED, NULL);
    call_of(exchange)->ended = true;
    call_of(exchange)->error = *error;
    kw_fine_timer_cancel(exchange->worker->timers, &exchange->timer);
}

void
__wrap_kw_exchange_resume(kw_exchange *exchange)
{
    g_assert_false(call_of(exchange)->ended);
    g_ptr_array_add(resumed, exchange);
    kw_exchange_move(exchange, KW_EXCHANGE_BEGINNING, NULL);
    exchange->call.policy = exchange->worker->snapshot->policy;
    if (hold_again) {
        hold(exchange->call.policy, "events", true);
        g_assert_true(kw_atomic_hold_try_queue(exchange));
        hold(exchange->worker->snapshot->policy, "events", false);
        return;
    }
    call_of(exchange)->ended = true;
    kw_fine_timer_cancel(exchange->worker->timers, &exchange->timer);
}

void
__wrap_kw_exchange_drop_policy(kw_exchange *exchange)
{
    exchange->call.policy = NULL;
    let_go++;
}

uint32_t
__wrap_kw_request_peer_number(const kw_request *request)
{
    return ((const held_call *)(const void *)request)->peer;
}

/* --- the scene ------------------------------------------------------------------------------------ */

typedef struct scene {
    service_fixture *fix;
    kw_snapshot snapshot;
} scene;

static scene
scene_new(void)
{
    scene self = {.fix = service_fixture_new()};
    resumed = g_ptr_array_new();
    let_go = 0;
    hold_again = false;
    hold(self.fix->policy, "events", true);
    hold(self.fix->policy, "scores", true);
    kw_atomic_hold_open(&self.fix->worker);
    return self;
}

static void
scene_free(scene *self)
{
    kw_atomic_hold_close(&self->fix->worker);
    g_ptr_array_unref(resumed);
    service_fixture_free(self->fix);
}

static held_call
call_at(scene *self, const char *table, uint32_t peer)
{
    return (held_call){.exchange = {.worker = &self->fix->worker,
                                    .method = &kw_api_methods[KW_API_Data_increment],
                                    .started_ns = kw_clock_mono_ns(),
                                    .call = {.policy = self->fix->policy, .deadline = KW_DEADLINE_NONE}},
                       .args = {.has_table = true, .table = kw_bytes_of_text(table)},
                       .peer = peer};
}

static bool
hold_call(held_call *call)
{
    call->exchange.args = &call->args;
    call->exchange.request = (kw_request *)(void *)call;
    return kw_atomic_hold_try_queue(&call->exchange);
}

/* The loop gets a policy that still holds `table` (NULL: no table). */
static void
release(scene *self, const char *held)
{
    hold(self->fix->policy, "events", g_strcmp0(held, "events") == 0);
    hold(self->fix->policy, "scores", g_strcmp0(held, "scores") == 0);
    self->snapshot.policy = self->fix->policy;
    self->fix->worker.snapshot = &self->snapshot;
    kw_atomic_hold_release(&self->fix->worker);
}

static void
expect_resumed(held_call *const *calls, size_t count)
{
    g_assert_cmpuint(resumed->len, ==, count);
    for (size_t i = 0; i < count; i++)
        g_assert_true(resumed->pdata[i] == calls[i]);
    g_ptr_array_set_size(resumed, 0);
}

#define EXPECT_RESUMED(...)                                                                                  \
    expect_resumed((held_call *[]){__VA_ARGS__}, sizeof((held_call *[]){__VA_ARGS__}) / sizeof(held_call *))

/* --- tests ---------------------------------------------------------------------------------------- */

/* Other operations, and tables that hold nothing, do not wait. */
KW_TEST(test_not_held, "/service/atomic_hold/not_held")
{
    scene self = scene_new();
    held_call put = call_at(&self, "events", 1), free_call = call_at(&self, "scores", 1);
    put.exchange.method = &kw_api_methods[KW_API_Data_put];
    g_assert_false(hold_call(&put));
    hold(self.fix->policy, "scores", false);
    g_assert_false(hold_call(&free_call));
    g_assert_cmpuint(let_go, ==, 0);
    scene_free(&self);
}

/* Calls of a table that is not held any more begin in the order of their arrival. Those of another table
 * keep their order, and wait. */
KW_TEST(test_order, "/service/atomic_hold/order")
{
    scene self = scene_new();
    held_call calls[CALLS];
    for (size_t i = 0; i < CALLS; i++) {
        calls[i] = call_at(&self, i % 2 ? "scores" : "events", (uint32_t)i / 3);
        g_assert_true(hold_call(&calls[i]));
        g_assert_true(calls[i].exchange.state == KW_EXCHANGE_HELD_ATOMIC && !calls[i].ended);
    }
    g_assert_cmpuint(let_go, ==, CALLS); /* the next place does not wait for them */
    release(&self, "scores");
    EXPECT_RESUMED(&calls[0], &calls[2], &calls[4]);
    release(&self, "scores");
    g_assert_cmpuint(resumed->len, ==, 0);
    release(&self, NULL);
    EXPECT_RESUMED(&calls[1], &calls[3], &calls[5]);
    for (size_t i = 0; i < CALLS; i++)
        g_assert_true(calls[i].ended && calls[i].error.code == KW_OK &&
                      calls[i].exchange.state != KW_EXCHANGE_HELD_ATOMIC);
    scene_free(&self);
}

/* A call that is released and held again while the queue is released is not considered twice. */
KW_TEST(test_held_again, "/service/atomic_hold/held_again")
{
    scene self = scene_new();
    held_call calls[2] = {call_at(&self, "events", 1), call_at(&self, "events", 1)};
    g_assert_true(hold_call(&calls[0]) && hold_call(&calls[1]));
    hold_again = true;
    release(&self, NULL);
    EXPECT_RESUMED(&calls[0], &calls[1]);
    g_assert_true(calls[0].exchange.state == KW_EXCHANGE_HELD_ATOMIC &&
                  calls[1].exchange.state == KW_EXCHANGE_HELD_ATOMIC);
    hold_again = false;
    release(&self, NULL);
    EXPECT_RESUMED(&calls[0], &calls[1]);
    scene_free(&self);
}

/* A deadline in the arguments counts, although the call has not read its options yet. */
KW_TEST(test_deadline, "/service/atomic_hold/deadline")
{
    scene self = scene_new();
    held_call calls[2] = {call_at(&self, "events", 1), call_at(&self, "events", 1)};
    calls[0].options = (kw_api_Options){.has_deadline_ms = true, .deadline_ms = 1};
    calls[0].args.has_options = true;
    calls[0].args.options = &calls[0].options;
    g_assert_true(hold_call(&calls[0]) && hold_call(&calls[1]));
    while (!calls[0].ended)
        uv_run(kw_loop_uv(self.fix->loop), UV_RUN_ONCE);
    g_assert_cmpint(calls[0].error.code, ==, KW_UNAVAILABLE);
    g_assert_cmpint(calls[0].error.retry_after_ms, >, 0);
    g_assert_nonnull(strstr(calls[0].error.text,
                            "table events: its key rule, its paths or its setting atomics are being"));
    g_assert_false(calls[1].ended);
    release(&self, NULL);
    EXPECT_RESUMED(&calls[1]);
    scene_free(&self);
}

KW_TEST(test_close, "/service/atomic_hold/close")
{
    scene self = scene_new();
    held_call calls[2] = {call_at(&self, "events", 1), call_at(&self, "scores", 2)};
    g_assert_true(hold_call(&calls[0]) && hold_call(&calls[1]));
    kw_atomic_hold_close(&self.fix->worker);
    for (size_t i = 0; i < 2; i++) {
        g_assert_cmpint(calls[i].error.code, ==, KW_UNAVAILABLE);
        g_assert_cmpstr(calls[i].error.text, ==, "the gateway is shutting down");
    }
    scene_free(&self);
}

static held_call *
catch_many(scene *self, uint32_t peer, size_t count)
{
    held_call *calls = g_new(held_call, count);
    for (size_t i = 0; i < count; i++) {
        calls[i] = call_at(self, "events", peer);
        g_assert_true(hold_call(&calls[i]));
        g_assert_true(calls[i].exchange.state == KW_EXCHANGE_HELD_ATOMIC && !calls[i].ended);
    }
    return calls;
}

static void
expect_busy(scene *self, uint32_t peer)
{
    held_call more = call_at(self, "events", peer);
    g_assert_true(hold_call(&more));
    g_assert_true(more.ended && more.exchange.state != KW_EXCHANGE_HELD_ATOMIC);
    g_assert_cmpint(more.error.code, ==, KW_BUSY);
    g_assert_cmpint(more.error.retry_after_ms, >, 0);
    g_assert_nonnull(strstr(more.error.text, "1024 increments and conditional writes of this caller's"));
}

/* Calls beyond the share of a peer are busy, whichever way its earlier calls end; another peer's still
 * wait. */
KW_TEST(test_share, "/service/atomic_hold/share")
{
    scene self = scene_new();
    g_autofree held_call *calls = catch_many(&self, 7, KW_ATOMIC_HOLD_PEER_MAX);
    expect_busy(&self, 7);
    g_autofree held_call *other = catch_many(&self, 8, 1);
    kw_atomic_hold_expire(&calls[5].exchange);
    g_assert_cmpint(calls[5].error.code, ==, KW_UNAVAILABLE);
    g_autofree held_call *next = catch_many(&self, 7, 1);
    expect_busy(&self, 7);
    release(&self, NULL);
    g_assert_cmpuint(resumed->len, ==, KW_ATOMIC_HOLD_PEER_MAX + 1);
    hold(self.fix->policy, "events", true);
    g_autofree held_call *again = catch_many(&self, 7, KW_ATOMIC_HOLD_PEER_MAX);
    expect_busy(&self, 7);
    scene_free(&self);
}

/* The whole queue is full: as if the deadline had passed. */
KW_TEST(test_full, "/service/atomic_hold/full")
{
    scene self = scene_new();
    held_call *calls[4], last = call_at(&self, "events", 5);
    for (uint32_t i = 0; i < 4; i++)
        calls[i] = catch_many(&self, 1 + i, KW_ATOMIC_HOLD_MAX / 4);
    g_assert_true(hold_call(&last));
    g_assert_true(last.ended);
    g_assert_cmpint(last.error.code, ==, KW_UNAVAILABLE);
    g_assert_cmpint(last.error.retry_after_ms, >, 0);
    release(&self, NULL);
    g_assert_cmpuint(resumed->len, ==, KW_ATOMIC_HOLD_MAX);
    for (size_t i = 0; i < 4; i++)
        g_free(calls[i]);
    scene_free(&self);
}
