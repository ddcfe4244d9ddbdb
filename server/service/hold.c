#include "service/hold.h"

#include "base/container.h"
#include "service/methods.h"

#include <glib.h>
#include <stdatomic.h>

/* How long queued calls begin before other work of the loop is done. */
#define RELEASE_NS UINT64_C(1000000)

/* One hold over all loops. The gateway, each loop, and the task while it is posted hold a reference. */
typedef struct holding {
    _Atomic unsigned references;
    char **tables;
    _Atomic unsigned loops_left; /* number of loops that can have calls of the tables in flight */
    kw_task task;                /* on the gateway's loop */
    kw_loop *loop;
    bool released; /* the gateway's loop only */
    void (*done)(void *user);
    void *user;
} holding;

/* The hold on one loop. */
struct kw_hold {
    kw_service_worker *worker;
    holding *whole;
    size_t busy; /* number of calls in flight */
    bool reported;
    GQueue queued;   /* kw_exchange */
    kw_work release; /* after the release: begins queued calls */
};

typedef struct hold_task {
    kw_task task;
    kw_service_worker *worker;
    holding *whole; /* NULL: release */
} hold_task;

/* True if the call reads or writes rows of one of the tables. */
static bool
is_held(const kw_exchange *exchange, char *const *tables)
{
    if (!kw_exchange_method(exchange)->uses_rows)
        return false;
    kw_bytes table = kw_subject_of(exchange).table;
    for (; *tables; tables++)
        if (kw_bytes_equal(table, kw_bytes_of_text(*tables)))
            return true;
    return false;
}

static void
holding_unref(holding *whole)
{
    unsigned before = atomic_fetch_sub(&whole->references, 1);
    g_assert(before > 0);
    if (before > 1)
        return;
    g_strfreev(whole->tables);
    g_free(whole);
}

/* --- counting down ------------------------------------------------------------------------------- */

static void
report_held(kw_task *task)
{
    holding *whole = KW_CONTAINER(task, holding, task);
    if (!whole->released)
        whole->done(whole->user);
    holding_unref(whole);
}

static void
report_when_idle(kw_hold *hold)
{
    if (hold->busy > 0 || hold->reported)
        return;
    hold->reported = true;
    unsigned before = atomic_fetch_sub(&hold->whole->loops_left, 1);
    g_assert(before > 0);
    if (before > 1)
        return;
    atomic_fetch_add(&hold->whole->references, 1);
    hold->whole->task.run = report_held;
    kw_loop_post(hold->whole->loop, &hold->whole->task);
}

void
kw_hold_note_end(kw_exchange *exchange)
{
    kw_hold *hold = exchange->worker->hold;
    if (!hold || !exchange->awaited_by_hold)
        return;
    g_assert(hold->busy > 0);
    hold->busy--;
    report_when_idle(hold);
}

/* --- the queue ----------------------------------------------------------------------------------- */

bool
kw_hold_catch(kw_exchange *exchange)
{
    kw_hold *hold = exchange->worker->hold;
    if (!hold || !is_held(exchange, hold->whole->tables))
        return false;
    kw_subject subject = kw_subject_of(exchange);
    if (subject.deadline_ms > 0)
        kw_exchange_set_deadline(exchange, subject.deadline_ms);
    kw_exchange_move(exchange, KW_EXCHANGE_HELD, &hold->queued);
    return true;
}

/* --- on each loop -------------------------------------------------------------------------------- */

static void
hold_free(kw_hold *hold)
{
    g_assert(g_queue_is_empty(&hold->queued));
    if (kw_work_waits(&hold->release))
        kw_loop_cancel_work(hold->worker->loop, &hold->release);
    holding_unref(hold->whole);
    g_free(hold);
}

/* Begins queued calls for RELEASE_NS. When none is left, ends the hold. */
static void
release_some(kw_work *work)
{
    kw_hold *hold = KW_CONTAINER(work, kw_hold, release);
    uint64_t until_ns = kw_clock_mono_ns() + RELEASE_NS;
    for (kw_exchange *next; (next = g_queue_peek_head(&hold->queued));) {
        kw_exchange_resume(next);
        if (kw_clock_mono_ns() >= until_ns) {
            kw_loop_work(hold->worker->loop, work);
            return;
        }
    }
    hold->worker->hold = NULL;
    hold_free(hold);
}

static void
release(kw_service_worker *worker)
{
    if (!worker->hold)
        return; /* the loop was closed in between */
    for (const GList *at = worker->active.head; at; at = at->next)
        ((kw_exchange *)at->data)->awaited_by_hold = false;
    kw_loop_work(worker->loop, &worker->hold->release);
}

/* The next hold begins before the calls of the previous one have begun. */
static void
release_rest(kw_service_worker *worker)
{
    for (kw_exchange *next; (next = g_queue_peek_head(&worker->hold->queued));)
        kw_exchange_resume(next);
    hold_free(g_steal_pointer(&worker->hold));
}

static void
begin(kw_service_worker *worker, holding *whole)
{
    if (worker->hold)
        release_rest(worker);
    kw_hold *hold = g_new0(kw_hold, 1);
    worker->hold = hold;
    hold->worker = worker;
    hold->whole = whole;
    hold->release.run = release_some;
    g_queue_init(&hold->queued);
    for (const GList *at = worker->active.head; at; at = at->next) {
        kw_exchange *exchange = at->data;
        exchange->awaited_by_hold = is_held(exchange, whole->tables);
        hold->busy += exchange->awaited_by_hold;
    }
    report_when_idle(hold);
}

void
kw_hold_close(kw_service_worker *worker)
{
    kw_hold *hold = g_steal_pointer(&worker->hold);
    if (!hold)
        return;
    for (kw_exchange *next; (next = g_queue_peek_head(&hold->queued));)
        kw_exchange_fail(next, &kw_error_shutting_down);
    hold_free(hold);
}

static void
run_task(kw_task *task)
{
    hold_task *given = (hold_task *)task;
    if (given->whole)
        begin(given->worker, given->whole);
    else
        release(given->worker);
    g_free(given);
}

static void
post_all(kw_service *service, holding *whole)
{
    for (unsigned i = 0; i < service->settings.loops; i++) {
        hold_task *given = g_new0(hold_task, 1);
        *given = (hold_task){.task.run = run_task, .worker = &service->workers[i], .whole = whole};
        kw_loop_post(given->worker->loop, &given->task);
    }
}

/* --- called by the gateway ----------------------------------------------------------------------- */

void
kw_service_hold(kw_service *service, const char *const *tables, kw_loop *loop, void (*done)(void *user),
                void *user)
{
    g_assert(!service->holding);
    holding *whole = g_new0(holding, 1);
    *whole = (holding){.references = 1 + service->settings.loops,
                       .tables = g_strdupv((char **)(uintptr_t)tables),
                       .loops_left = service->settings.loops,
                       .loop = loop,
                       .done = done,
                       .user = user};
    service->holding = whole;
    post_all(service, whole);
}

void
kw_service_release(kw_service *service)
{
    if (!service->holding)
        return;
    post_all(service, NULL);
    kw_hold_drop(service);
}

void
kw_hold_drop(kw_service *service)
{
    holding *whole = g_steal_pointer(&service->holding);
    if (!whole)
        return;
    whole->released = true;
    holding_unref(whole);
}
