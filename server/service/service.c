#include "service/service.h"
#include "service/offload.h"

#include "service/atomic_hold.h"
#include "service/exchange.h"
#include "service/hold.h"
#include "service/methods.h"
#include "service/read_queue.h"
#include "service/seen_queries.h"
#include "service/watch.h"
#include "service/worker.h"

#include <glib.h>
#include <stdatomic.h>

/* Maximum number of filters that wait to be compiled, which takes milliseconds each. */
#define COMPILATIONS_MAX 256

/* --- snapshots ----------------------------------------------------------------------------------- */

static kw_snapshot *
snapshot_new(kw_policy *policy, kw_keyring *keyring)
{
    kw_snapshot *snapshot = g_new0(kw_snapshot, 1);
    *snapshot = (kw_snapshot){.refs = 1,
                              .policy = kw_policy_ref(policy),
                              .keyring = kw_keyring_ref(keyring),
                              .access = kw_access_rules_new(&kw_policy_model(policy)->access)};
    return snapshot;
}

kw_snapshot *
kw_snapshot_first(const kw_service *service)
{
    return snapshot_new(service->first_policy, service->first_keyring);
}

void
kw_snapshot_unref(kw_snapshot *snapshot)
{
    g_assert(snapshot->refs > 0);
    if (--snapshot->refs > 0)
        return;
    kw_access_rules_free(snapshot->access);
    kw_policy_unref(snapshot->policy);
    kw_keyring_unref(snapshot->keyring);
    g_free(snapshot);
}

/* A change posted to one loop: of the policy, or of the gate. */
typedef struct change {
    kw_task task;
    kw_service_worker *worker;
    kw_snapshot *snapshot; /* NULL if the gate changes */
    bool gate_open;
    uint64_t era; /* of an open gate */
    kw_error gate;
} change;

static void
apply_change(kw_task *task)
{
    change *given = (change *)task;
    kw_service_worker *worker = given->worker;
    if (given->snapshot) {
        kw_snapshot_unref(worker->snapshot);
        worker->snapshot = given->snapshot;
        kw_atomic_hold_release(worker);
    } else {
        worker->gate_open = given->gate_open;
        worker->era = given->era;
        worker->gate = given->gate;
    }
    g_free(given);
}

void
kw_service_set_policy(kw_service *service, kw_policy *policy, kw_keyring *keyring)
{
    for (unsigned i = 0; i < service->settings.loops; i++) {
        change *given = g_new0(change, 1);
        given->task.run = apply_change;
        given->worker = &service->workers[i];
        given->snapshot = snapshot_new(policy, keyring);
        kw_loop_post(given->worker->loop, &given->task);
    }
}

static void
set_gate(kw_service *service, bool open, const kw_error *why)
{
    const kw_fence *fence = service->settings.fence;
    uint64_t era = open && fence ? kw_fence_era(fence) : 0;
    for (unsigned i = 0; i < service->settings.loops; i++) {
        change *given = g_new0(change, 1);
        given->task.run = apply_change;
        given->worker = &service->workers[i];
        given->gate_open = open;
        given->era = era;
        if (why)
            given->gate = *why;
        kw_loop_post(given->worker->loop, &given->task);
    }
}

void
kw_service_shut_gate(kw_service *service, const kw_error *why)
{
    g_assert(why->code != KW_OK);
    set_gate(service, false, why);
}

void
kw_service_open_gate(kw_service *service)
{
    set_gate(service, true, NULL);
}

/* --- loops --------------------------------------------------------------------------------------- */

static void *
on_loop_open(void *user, kw_loop *loop, unsigned index)
{
    kw_service *service = user;
    kw_service_worker *worker = &service->workers[index];
    worker->service = service;
    worker->loop = loop;
    worker->index = index;
    kw_atomic_hold_open(worker);
    worker->handle = kw_store_open_handle(service->settings.store, loop);
    worker->generator = kw_generator_new(service->settings.sequences, loop, worker->handle);
    worker->prefetcher = kw_page_prefetcher_new(loop, &service->writes);
    worker->timers = kw_fine_timers_new(loop);
    worker->read_queues = kw_read_queues_new(loop);
    worker->compiler = kw_worker_port_open(service->compilers, loop);
    worker->offload = kw_worker_port_open(service->offloads, loop);
    worker->snapshot = kw_snapshot_first(service);
    kw_service_watch(worker);
    kw_error_set(&worker->gate, KW_UNAVAILABLE, "the gateway is starting");
    return worker;
}

static void
on_request(void *state, kw_request *request)
{
    kw_exchange_begin(state, request);
}

static void
on_left(void *state, kw_request *request)
{
    (void)state;
    kw_exchange_note_left(request);
}

static void
on_answer_all(void *state)
{
    kw_exchange_give_up_all(state);
}

/* --- the end of a loop ---------------------------------------------------------------------------- */

/*   give up all calls -> close the generator -> stop the worker threads -> close the store handle
 *   -> wait for the last call -> free everything
 */
struct kw_worker_closing {
    kw_task task;
    kw_service_worker *worker;
    void (*closed)(void *user);
    void *user;
    bool posted;
};

static void
end_closing(kw_task *task)
{
    kw_worker_closing ended = *(kw_worker_closing *)task;
    kw_service_worker *worker = ended.worker;
    g_assert(worker->active.length == 0);
    g_free(g_steal_pointer(&worker->closing));
    worker->handle = NULL;
    kw_generator_free(g_steal_pointer(&worker->generator));
    kw_page_prefetcher_free(g_steal_pointer(&worker->prefetcher));
    kw_fine_timers_free(g_steal_pointer(&worker->timers));
    kw_read_queues_free(g_steal_pointer(&worker->read_queues));
    kw_worker_port_free(g_steal_pointer(&worker->compiler));
    kw_worker_port_free(g_steal_pointer(&worker->offload));
    ended.closed(ended.user);
}

/* The code that ends the last call can use the parts of the worker afterwards. */
void
kw_service_worker_note_end(kw_service_worker *worker)
{
    kw_worker_closing *closing = worker->closing;
    if (!closing || closing->posted || worker->active.length > 0)
        return;
    closing->posted = true;
    closing->task.run = end_closing;
    kw_loop_post(worker->loop, &closing->task);
}

/* A call can outlive the store handle: its next step waits in the loop, or it waits for the gateway. */
static void
on_handle_closed(void *user)
{
    kw_worker_closing *self = user;
    self->worker->closing = self;
    kw_service_worker_note_end(self->worker);
}

/* Closes the store handle, when no worker thread can use it any more. */
static void
on_ports_closed(void *user)
{
    kw_worker_closing *self = user;
    kw_store_handle_close(self->worker->handle, on_handle_closed, self);
}

static void
on_offload_closed(void *user)
{
    kw_worker_closing *self = user;
    kw_worker_port_close(self->worker->compiler, on_ports_closed, self);
}

/* Stops the worker threads: the drain is over, so their results are not needed. */
static void
on_generator_closed(void *user)
{
    kw_worker_closing *self = user;
    kw_workers_shut(self->worker->service->offloads);
    kw_workers_shut(self->worker->service->compilers);
    kw_worker_port_close(self->worker->offload, on_offload_closed, self);
}

static void
on_loop_close(void *state, void (*closed)(void *closed_user), void *closed_user)
{
    kw_service_worker *worker = state;
    kw_worker_closing *self = g_new0(kw_worker_closing, 1);
    *self = (kw_worker_closing){.worker = worker, .closed = closed, .user = closed_user};
    kw_exchange_give_up_all(worker);
    kw_page_prefetcher_close(worker->prefetcher);
    kw_generator_close(worker->generator, on_generator_closed, self);
}

kw_net_handler
kw_service_handler(kw_service *service)
{
    return (kw_net_handler){.user = service,
                            .loop_open = on_loop_open,
                            .request = on_request,
                            .left = on_left,
                            .answer_all = on_answer_all,
                            .loop_close = on_loop_close};
}

/* --- creation ------------------------------------------------------------------------------------ */

kw_service *
kw_service_new(const kw_service_settings *settings, kw_policy *policy, kw_keyring *keyring)
{
    kw_service *service = g_new0(kw_service, 1);
    service->settings = *settings;
    service->compilers = kw_workers_start(1, COMPILATIONS_MAX, "compiler");
    service->offloads = kw_workers_start(KW_OFFLOAD_THREADS, KW_OFFLOAD_QUEUE, "offload");
    service->workers = g_new0(kw_service_worker, settings->loops);
    for (unsigned i = 0; i < settings->loops; i++) {
        service->workers[i].metrics = g_new0(kw_method_metrics, KW_API_METHOD_COUNT);
        service->workers[i].seen = kw_seen_queries_new();
    }
    g_snprintf(service->id_prefix, sizeof service->id_prefix, "%08x", (unsigned)kw_random_u64());
    service->first_policy = kw_policy_ref(policy);
    service->first_keyring = kw_keyring_ref(keyring);
    return service;
}

void
kw_service_free(kw_service *service)
{
    if (!service)
        return;
    kw_hold_drop(service);
    for (unsigned i = 0; i < service->settings.loops; i++) {
        if (service->workers[i].snapshot)
            kw_snapshot_unref(service->workers[i].snapshot);
        g_free(service->workers[i].metrics);
        kw_seen_queries_free(service->workers[i].seen);
    }
    kw_policy_unref(service->first_policy);
    kw_keyring_unref(service->first_keyring);
    kw_workers_stop(service->compilers);
    kw_workers_stop(service->offloads);
    g_free(service->workers);
    g_free(service);
}

/* --- metrics ------------------------------------------------------------------------------------- */

size_t
kw_service_method_count(void)
{
    return KW_API_METHOD_COUNT;
}

const char *
kw_service_method_name(size_t method)
{
    return kw_api_methods[method].name;
}

uint64_t
kw_service_calls(const kw_service *service, size_t method, kw_code code)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < service->settings.loops; i++)
        sum += atomic_load_explicit(&service->workers[i].metrics[method].codes[code], memory_order_relaxed);
    return sum;
}

uint64_t
kw_service_records(const kw_service *service, size_t method, kw_code code)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < service->settings.loops; i++)
        sum += atomic_load_explicit(&service->workers[i].metrics[method].records[code], memory_order_relaxed);
    return sum;
}

void
kw_service_latency(const kw_service *service, size_t method, kw_histogram *ret_sum)
{
    for (unsigned i = 0; i < service->settings.loops; i++) {
        const kw_histogram *from = &service->workers[i].metrics[method].latency;
        for (size_t step = 0; step < KW_HISTOGRAM_STEPS; step++)
            ret_sum->counts[step] += atomic_load_explicit(&from->counts[step], memory_order_relaxed);
        ret_sum->sum_us += atomic_load_explicit(&from->sum_us, memory_order_relaxed);
    }
}

void
kw_service_latency_of_rows(const kw_service *service, kw_histogram *ret_sum)
{
    for (size_t method = 0; method < KW_API_METHOD_COUNT; method++)
        if (kw_method_of(method)->uses_rows)
            kw_service_latency(service, method, ret_sum);
}

/* --- queries seen lately ------------------------------------------------------------------------- */

const kw_seen_query *
kw_service_seen_queries(const kw_service *service, const char *table, kw_arena *arena, size_t *ret_count)
{
    g_autoptr(GArray) found = g_array_new(FALSE, FALSE, sizeof(kw_seen_query));
    for (unsigned i = 0; i < service->settings.loops; i++)
        kw_seen_queries_collect(service->workers[i].seen, table, kw_clock_mono_ns(), arena, found);
    *ret_count = found->len;
    kw_bytes bytes = kw_arena_copy(arena, kw_bytes_of(found->data, found->len * sizeof(kw_seen_query)));
    return (const kw_seen_query *)(const void *)bytes.data;
}
