#include "store/refuse.h"

#include "base/metrics.h"
#include "store/class.h"

typedef struct refusal {
    kw_task task;
    kw_error error;
    kw_rows *rows;
    void *user;
    union {
        kw_write_done write;
        kw_write_if_done write_if;
        kw_increment_done increment;
        kw_get_done get;
        kw_create_done create;
        kw_table_facts_done facts;
        kw_simple_done simple;
        kw_regions_done regions;
        void (*later)(void *user);
    } done;
} refusal;

static refusal *
refusal_new(const kw_error *error, void *user, void (*run)(kw_task *task))
{
    refusal *made = g_new0(refusal, 1);
    made->task.run = run;
    made->user = user;
    if (error) {
        made->error = *error;
        kw_metrics_add(KW_METRIC_store_errors, 1);
    }
    return made;
}

#define TELL(name, ...)                                                                                      \
    static void tell_##name(kw_task *task)                                                                   \
    {                                                                                                        \
        refusal *said = (refusal *)task;                                                                     \
        said->done.name(said->user, __VA_ARGS__);                                                            \
        g_free(said);                                                                                        \
    }

TELL(write, KW_OUTCOME_FAILED, &said->error)
TELL(write_if, KW_OUTCOME_FAILED, false, &said->error)
TELL(increment, KW_OUTCOME_FAILED, NULL, &said->error)
TELL(get, said->rows, said->rows ? NULL : &said->error)
TELL(create, false, &said->error)
TELL(facts, NULL, &said->error)
TELL(simple, &said->error)
TELL(regions, NULL, &said->error)

#define REFUSE(name, type)                                                                                   \
    void kw_refuse_##name(kw_store_handle *handle, const kw_error *error, type done, void *user)             \
    {                                                                                                        \
        refusal *said = refusal_new(error, user, tell_##name);                                               \
        said->done.name = done;                                                                              \
        kw_loop_post(handle->loop, &said->task);                                                             \
    }

REFUSE(write, kw_write_done)
REFUSE(write_if, kw_write_if_done)
REFUSE(increment, kw_increment_done)
REFUSE(create, kw_create_done)
REFUSE(facts, kw_table_facts_done)
REFUSE(simple, kw_simple_done)
REFUSE(regions, kw_regions_done)

void
kw_refuse_get(kw_store_handle *handle, kw_rows *rows, const kw_error *error, kw_get_done done, void *user)
{
    refusal *said = refusal_new(rows ? NULL : error, user, tell_get);
    said->rows = rows;
    said->done.get = done;
    kw_loop_post(handle->loop, &said->task);
}

static void
tell_later(kw_task *task)
{
    refusal *said = (refusal *)task;
    said->done.later(said->user);
    g_free(said);
}

void
kw_refuse_later(kw_store_handle *handle, void (*done)(void *user), void *user)
{
    refusal *said = refusal_new(NULL, user, tell_later);
    said->done.later = done;
    kw_loop_post(handle->loop, &said->task);
}

bool
kw_store_handle_is_shut(const kw_store_handle *handle, kw_error *ret_error)
{
    if (handle->closing)
        kw_error_set(ret_error, KW_UNAVAILABLE, "the gateway is shutting down");
    return handle->closing;
}
