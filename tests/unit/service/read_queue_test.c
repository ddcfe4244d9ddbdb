/* The queue of a connection's reads: what starts at once, what waits, and what never starts. The linker
 * replaces the connection, and the end of a failed call, by functions of this file. */
#include "service/read_queue.h"

#include "unit/service/caller.h"
#include "unit/service/fixture.h"

#include <glib.h>

#define CALLS 8

uint64_t __wrap_kw_request_emptied(const kw_request *request);
size_t __wrap_kw_request_unsent(const kw_request *request);
void __wrap_kw_exchange_fail(kw_exchange *exchange, const kw_error *error);

/* The connection. */
static uint64_t emptied;
static size_t unsent;

/* Numbers of the calls, in the order in which they started. */
static GArray *started;

typedef struct read_call {
    kw_exchange exchange;
    uint64_t number;
    kw_code failed;
} read_call;

uint64_t
__wrap_kw_request_emptied(const kw_request *request)
{
    (void)request;
    return emptied;
}

size_t
__wrap_kw_request_unsent(const kw_request *request)
{
    (void)request;
    return unsent;
}

static read_call *
call_of(kw_exchange *exchange)
{
    return (read_call *)(void *)exchange;
}

static void
end(kw_exchange *exchange)
{
    bool waited = exchange->state == KW_EXCHANGE_QUEUED;
    kw_exchange_move(exchange, KW_EXCHANGE_ENDED, NULL);
    kw_read_queue_leave(exchange, waited);
}

void
__wrap_kw_exchange_fail(kw_exchange *exchange, const kw_error *error)
{
    call_of(exchange)->failed = error->code;
    end(exchange);
}

static void
start(kw_exchange *exchange)
{
    g_assert_cmpint(exchange->state, ==, KW_EXCHANGE_RUNNING);
    g_array_append_val(started, call_of(exchange)->number);
}

static void
start_and_end(kw_exchange *exchange)
{
    start(exchange);
    end(exchange);
}

/* --- the scene -------------------------------------------------------------------------------------------
 */

typedef struct scene {
    service_fixture *fix;
    kw_account *account;
    read_call calls[CALLS];
} scene;

static void
scene_init(scene *self)
{
    *self = (scene){.fix = service_fixture_new(), .account = kw_account_new()};
    self->fix->worker.loop = self->fix->loop;
    self->fix->worker.read_queues = kw_read_queues_new(self->fix->loop);
    started = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    emptied = unsent = 0;
    for (uint64_t i = 0; i < CALLS; i++) {
        self->calls[i].number = i;
        self->calls[i].exchange = (kw_exchange){.worker = &self->fix->worker,
                                                .snapshot = &self->fix->snapshot,
                                                .account = self->account,
                                                .method = &kw_api_methods[KW_API_Data_scan],
                                                .call = {.number = i, .arena = kw_arena_new()}};
        kw_exchange_move(&self->calls[i].exchange, KW_EXCHANGE_RUNNING, NULL);
    }
}

/* Every call has ended, so no queue is left. */
static void
scene_clear(scene *self)
{
    for (size_t i = 0; i < CALLS; i++) {
        if (self->calls[i].exchange.state != KW_EXCHANGE_ENDED)
            end(&self->calls[i].exchange);
        kw_arena_free(self->calls[i].exchange.call.arena);
    }
    g_assert_cmpuint(self->fix->worker.active.length, ==, 0);
    kw_read_queues_free(self->fix->worker.read_queues);
    g_array_unref(started);
    kw_account_unref(self->account);
    service_fixture_free(self->fix);
}

static void
enter(scene *self, size_t at, bool large)
{
    kw_read_queue_enter(&self->calls[at].exchange, large, start);
}

/* Runs the loop for so many iterations that everything that can start has started. */
static void
settle(scene *self)
{
    for (int i = 0; i < 2 * CALLS; i++)
        uv_run(kw_loop_uv(self->fix->loop), UV_RUN_NOWAIT);
}

static void
expect_started(size_t count)
{
    g_assert_cmpuint(started->len, ==, count);
    for (size_t i = 0; i < count; i++)
        g_assert_cmpuint(g_array_index(started, uint64_t, i), ==, i);
}

/* --- tests -----------------------------------------------------------------------------------------------
 */

/* Small reads start at once as long as none waits. They wait for a large one that waits. */
KW_TEST(test_small, "/service/read_queue/small")
{
    scene self;
    scene_init(&self);
    enter(&self, 0, false);
    enter(&self, 1, false);
    expect_started(2);
    enter(&self, 2, true);
    enter(&self, 3, false);
    expect_started(4);
    enter(&self, 4, true);
    enter(&self, 5, false);
    settle(&self);
    expect_started(4);
    g_assert_cmpint(self.calls[4].exchange.state, ==, KW_EXCHANGE_QUEUED);
    end(&self.calls[2].exchange);
    expect_started(4); /* not inside the end of another call */
    settle(&self);
    expect_started(6);
    scene_clear(&self);
}

/* One large read at a time, until the client has read all replies once. */
KW_TEST(test_large, "/service/read_queue/large")
{
    scene self;
    scene_init(&self);
    for (size_t i = 0; i < CALLS; i++)
        enter(&self, i, true);
    settle(&self);
    expect_started(1);
    emptied = 1;
    end(&self.calls[0].exchange);
    settle(&self);
    expect_started(3);
    emptied = 100;
    end(&self.calls[1].exchange);
    settle(&self);
    expect_started(2 + KW_READ_QUEUE_LARGE_MAX);
    scene_clear(&self);
}

/* Nothing starts while the client does not read; all start when it has read. */
KW_TEST(test_unsent, "/service/read_queue/unsent")
{
    scene self;
    scene_init(&self);
    unsent = KW_READ_QUEUE_UNSENT_MAX + 1;
    for (size_t i = 0; i < CALLS; i++)
        enter(&self, i, false);
    settle(&self);
    expect_started(0);
    unsent = 0;
    while (started->len < CALLS)
        uv_run(kw_loop_uv(self.fix->loop), UV_RUN_ONCE);
    expect_started(CALLS);
    scene_clear(&self);
}

/* --- what never starts ------------------------------------------------------------------------------------
 */

/* A read that ends while it waits is not started, and does not keep the next one from starting. */
KW_TEST(test_ended, "/service/read_queue/ended")
{
    scene self;
    scene_init(&self);
    enter(&self, 0, true);
    enter(&self, 7, true);
    enter(&self, 1, true);
    end(&self.calls[7].exchange);
    end(&self.calls[0].exchange);
    settle(&self);
    expect_started(2);
    scene_clear(&self);
}

/* All calls end while the next start is pending. */
KW_TEST(test_all_ended, "/service/read_queue/all_ended")
{
    scene self;
    scene_init(&self);
    enter(&self, 0, true);
    enter(&self, 1, true);
    end(&self.calls[0].exchange);
    end(&self.calls[1].exchange);
    settle(&self);
    expect_started(1);
    scene_clear(&self);
}

/* The calls from `first` on. */
static void
expect_never_started(scene *self, size_t first, kw_code code)
{
    for (size_t i = first; i < CALLS; i++)
        enter(self, i, true);
    settle(self);
    for (size_t i = first; i < CALLS; i++)
        g_assert_cmpint(self->calls[i].failed, ==, code);
    expect_started(1);
    scene_clear(self);
}

/* The reads of a client that has left do not start, whether they wait or come later. */
KW_TEST(test_left, "/service/read_queue/left")
{
    scene self;
    scene_init(&self);
    enter(&self, 0, true);
    enter(&self, 1, true);
    kw_account_set_client_gone(self.account);
    end(&self.calls[0].exchange);
    settle(&self);
    g_assert_cmpint(self.calls[1].failed, ==, KW_UNAVAILABLE);
    expect_never_started(&self, 2, KW_UNAVAILABLE);
}

/* While memory is used up, no read starts. */
KW_TEST(test_no_memory, "/service/read_queue/no_memory")
{
    scene self;
    scene_init(&self);
    enter(&self, 0, false);
    end(&self.calls[0].exchange);
    kw_budget_configure(1024 * 1024);
    kw_budget_charge(KW_MEMORY_CALLS, 2 * 1024 * 1024);
    expect_never_started(&self, 1, KW_BUSY);
    kw_budget_charge(KW_MEMORY_CALLS, -2 * 1024 * 1024);
    kw_budget_configure(0);
}

/* A read that waits while other rules begin to apply starts only if they allow it. */
KW_TEST(test_other_rules, "/service/read_queue/other_rules")
{
    static const char *const anonymous[] = {"anonymous"}, *const all[] = {"all"},
                             *const events[] = {"events"};
    static const kw_model_group groups[] = {{.name = "all", .members = anonymous, .members_count = 1}};
    static const kw_model_role roles[] = {
        {.who = all, .who_count = 1, .tables = events, .tables_count = 1, .operations = 1u << KW_MAY_READ}};
    kw_model_access section = {
        .enabled = true, .groups = groups, .groups_count = 1, .roles = roles, .roles_count = 1};
    kw_api_Query of_events = {.table = kw_bytes_of_text("events")},
                 of_scores = {.table = kw_bytes_of_text("scores")};
    kw_api_Data_scan_args allowed = {.has_query = true, .query = &of_events},
                          denied = {.has_query = true, .query = &of_scores};
    kw_service service = {.settings.audit = NULL};
    scene self;
    scene_init(&self);
    kw_snapshot later = {.policy = self.fix->policy, .access = kw_access_rules_new(&section)};
    self.fix->worker.service = &service;
    for (size_t i = 0; i < 3; i++) {
        self.calls[i].exchange.args = i == 1 ? &denied : &allowed;
        enter(&self, i, true);
    }
    self.fix->worker.snapshot = &later;
    end(&self.calls[0].exchange);
    settle(&self);
    g_assert_cmpint(self.calls[1].failed, ==, KW_DENIED);
    g_assert_cmpint(self.calls[2].failed, ==, KW_OK);
    g_assert_cmpuint(started->len, ==, 2);
    g_assert_cmpuint(g_array_index(started, uint64_t, 1), ==, 2);
    g_clear_pointer(&caller_grants, kw_grants_free);
    kw_access_rules_free(later.access);
    scene_clear(&self);
}

/* --- bursts -----------------------------------------------------------------------------------------------
 */

static void
start_slowly(kw_exchange *exchange)
{
    start(exchange);
    g_usleep(2000);
}

/* Reads that could all start do so in as many iterations of the loop, so that it serves others in between. */
KW_TEST(test_no_burst, "/service/read_queue/no_burst")
{
    scene self;
    scene_init(&self);
    unsent = KW_READ_QUEUE_UNSENT_MAX + 1;
    for (size_t i = 0; i < CALLS; i++)
        kw_read_queue_enter(&self.calls[i].exchange, false, start_slowly);
    unsent = 0;
    for (guint before = 0; started->len < CALLS; before = started->len) {
        uv_run(kw_loop_uv(self.fix->loop), UV_RUN_ONCE);
        g_assert_cmpuint(started->len, <=, before + 1);
    }
    expect_started(CALLS);
    scene_clear(&self);
}

/* Reads that end at once neither start in a burst nor disturb the queue. */
KW_TEST(test_quick, "/service/read_queue/quick")
{
    scene self;
    scene_init(&self);
    enter(&self, 0, true);
    for (size_t i = 1; i < CALLS; i++)
        kw_read_queue_enter(&self.calls[i].exchange, i % 2, start_and_end);
    expect_started(1);
    end(&self.calls[0].exchange);
    expect_started(1);
    settle(&self);
    expect_started(CALLS);
    scene_clear(&self);
}
