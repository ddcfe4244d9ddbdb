/* The states of a call: in every state it is in exactly the lists that belong to the state, and no move can
 * be made that the picture in exchange.h does not have. */
#include "service/atomic_hold.h"

#include "unit/service/fixture.h"

#include <glib.h>

uint32_t __wrap_kw_request_peer_number(const kw_request *request);

uint32_t
__wrap_kw_request_peer_number(const kw_request *request)
{
    (void)request;
    return 7;
}

typedef struct scene {
    service_fixture *fix;
    kw_exchange *exchange;
    GQueue held, reads; /* the queues of a hold and of a connection's reads */
} scene;

static scene
scene_new(void)
{
    scene self = {.fix = service_fixture_new(), .held = G_QUEUE_INIT, .reads = G_QUEUE_INIT};
    self.exchange = &self.fix->exchange;
    kw_atomic_hold_open(&self.fix->worker);
    return self;
}

static void
scene_free(scene *self)
{
    kw_atomic_hold_close(&self->fix->worker);
    service_fixture_free(self->fix);
}

static GQueue *
queue_of(scene *self, kw_exchange_state state)
{
    switch (state) {
    case KW_EXCHANGE_HELD:
        return &self->held;
    case KW_EXCHANGE_HELD_ATOMIC:
        return &self->fix->worker.held_atomics;
    case KW_EXCHANGE_QUEUED:
        return &self->reads;
    case KW_EXCHANGE_BEGINNING:
    case KW_EXCHANGE_RUNNING:
    case KW_EXCHANGE_ANSWERED:
    case KW_EXCHANGE_ENDED:
        return NULL;
    }
    g_assert_not_reached();
}

static void
expect_only_in(scene *self, kw_exchange_state state)
{
    const kw_service_worker *worker = &self->fix->worker;
    bool active = state >= KW_EXCHANGE_RUNNING && state <= KW_EXCHANGE_ANSWERED;
    g_assert_cmpint(self->exchange->state, ==, state);
    g_assert_cmpuint(self->held.length, ==, state == KW_EXCHANGE_HELD);
    g_assert_cmpuint(self->reads.length, ==, state == KW_EXCHANGE_QUEUED);
    g_assert_cmpuint(worker->held_atomics.length, ==, state == KW_EXCHANGE_HELD_ATOMIC);
    g_assert_cmpuint(g_hash_table_size(worker->held_peers), ==, state == KW_EXCHANGE_HELD_ATOMIC);
    g_assert_cmpuint(worker->active.length, ==, active);
    if (queue_of(self, state))
        g_assert_true(g_queue_peek_head(queue_of(self, state)) == self->exchange);
    if (active)
        g_assert_true(worker->active.head->data == self->exchange);
}

static void
move(scene *self, kw_exchange_state to)
{
    kw_exchange_move(self->exchange, to, queue_of(self, to));
    expect_only_in(self, to);
}

#define MOVE(self, ...)                                                                                      \
    do {                                                                                                     \
        static const kw_exchange_state to[] = {__VA_ARGS__};                                                 \
        for (size_t i = 0; i < sizeof to / sizeof to[0]; i++)                                                \
            move(self, to[i]);                                                                               \
    } while (0)

KW_TEST(test_lists, "/service/exchange_state/lists")
{
    scene self = scene_new();
    expect_only_in(&self, KW_EXCHANGE_BEGINNING);
    MOVE(&self, KW_EXCHANGE_HELD, KW_EXCHANGE_BEGINNING, KW_EXCHANGE_HELD_ATOMIC, KW_EXCHANGE_BEGINNING);
    MOVE(&self, KW_EXCHANGE_HELD_ATOMIC, KW_EXCHANGE_HELD, KW_EXCHANGE_BEGINNING);
    MOVE(&self, KW_EXCHANGE_RUNNING, KW_EXCHANGE_QUEUED, KW_EXCHANGE_RUNNING, KW_EXCHANGE_ANSWERED,
         KW_EXCHANGE_ENDED);
    scene_free(&self);
}

/* A call can end in every state, and is in no list afterwards. */
KW_TEST(test_ends, "/service/exchange_state/ends")
{
    static const kw_exchange_state path[][3] = {
        {KW_EXCHANGE_ENDED},
        {KW_EXCHANGE_HELD, KW_EXCHANGE_ENDED},
        {KW_EXCHANGE_HELD_ATOMIC, KW_EXCHANGE_ENDED},
        {KW_EXCHANGE_RUNNING, KW_EXCHANGE_ENDED},
        {KW_EXCHANGE_RUNNING, KW_EXCHANGE_QUEUED, KW_EXCHANGE_ENDED},
    };
    for (size_t i = 0; i < sizeof path / sizeof path[0]; i++) {
        scene self = scene_new();
        for (size_t at = 0; self.exchange->state != KW_EXCHANGE_ENDED; at++)
            move(&self, path[i][at]);
        scene_free(&self);
    }
}

static void
expect_abort(void (*forbidden)(scene *self))
{
    if (g_test_subprocess()) {
        scene self = scene_new();
        forbidden(&self);
        return;
    }
    g_test_trap_subprocess(NULL, 0, 0);
    g_test_trap_assert_failed();
}

static void
run_held(scene *self)
{
    MOVE(self, KW_EXCHANGE_HELD, KW_EXCHANGE_RUNNING);
}

static void
answer_queued(scene *self)
{
    MOVE(self, KW_EXCHANGE_RUNNING, KW_EXCHANGE_QUEUED, KW_EXCHANGE_ANSWERED);
}

static void
run_ended(scene *self)
{
    MOVE(self, KW_EXCHANGE_ENDED, KW_EXCHANGE_RUNNING);
}

static void
wait_nowhere(scene *self)
{
    kw_exchange_move(self->exchange, KW_EXCHANGE_HELD, NULL);
}

KW_TEST(test_run_held, "/service/exchange_state/run_held")
{
    expect_abort(run_held);
}

KW_TEST(test_answer_queued, "/service/exchange_state/answer_queued")
{
    expect_abort(answer_queued);
}

KW_TEST(test_run_ended, "/service/exchange_state/run_ended")
{
    expect_abort(run_ended);
}

KW_TEST(test_wait_nowhere, "/service/exchange_state/wait_nowhere")
{
    expect_abort(wait_nowhere);
}
