#include "service/watch.h"

#include "base/container.h"
#include "base/stall.h"
#include "service/methods.h"
#include "service/show.h"

static const kw_exchange *
find_exchange(const kw_service_worker *worker, uint64_t call)
{
    if (worker->watched && worker->watched->call.number == call)
        return worker->watched;
    for (const GList *at = worker->active.head; at; at = at->next) {
        const kw_exchange *exchange = at->data;
        if (exchange->call.number == call)
            return exchange;
    }
    return NULL;
}

static void
name_call(void *user, uint64_t call, char name[KW_STALL_NAME_MAX])
{
    char shown[KW_SHOWN_MAX];
    const kw_exchange *exchange = find_exchange(user, call);
    if (!exchange) {
        g_snprintf(name, KW_STALL_NAME_MAX, "a call that waits or has ended");
        return;
    }
    kw_bytes table = exchange->args ? kw_subject_of(exchange).table : KW_BYTES_NONE;
    g_snprintf(name, KW_STALL_NAME_MAX, "%s%s%s", exchange->method->name, table.size ? " of table " : "",
               table.size ? kw_show_name(table, shown) : "");
}

static void
watch(kw_task *task)
{
    kw_service_worker *worker = KW_CONTAINER(task, kw_service_worker, watching);
    kw_stall_watch(name_call, worker);
}

void
kw_service_watch(kw_service_worker *worker)
{
    worker->watching.run = watch;
    kw_loop_post(worker->loop, &worker->watching);
}

void
kw_exchange_watch(const kw_exchange *exchange)
{
    kw_stall_step();
    kw_stall_set_call(exchange->call.number);
    exchange->worker->watched = exchange;
}

void
kw_exchange_unwatch(const kw_exchange *exchange)
{
    exchange->worker->watched = exchange;
    kw_stall_set_call(exchange->call.number);
    kw_stall_step();
    exchange->worker->watched = NULL;
}
