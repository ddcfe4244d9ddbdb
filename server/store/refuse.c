#include "store/refuse.h"

#include "base/metrics.h"
#include "store/class.h"

typedef struct refusal_task {
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
        kw_backup_done backup;
        void (*later)(void *user);
    } done;
} refusal_task;

static refusal_task *
refusal_new(const kw_error *error, void *user, void (*run)(kw_task *task))
{
    refusal_task *refusal = g_new0(refusal_task, 1);
    refusal->task.run = run;
    refusal->user = user;
    if (error) {
        refusal->error = *error;
        kw_metrics_add(KW_METRIC_store_errors, 1);
    }
    return refusal;
}

#define DEFINE_COMPLETE(name, ...)                                                                           \
    static void complete_##name(kw_task *task)                                                               \
    {                                                                                                        \
        refusal_task *refusal = (refusal_task *)task;                                                        \
        refusal->done.name(refusal->user, __VA_ARGS__);                                                      \
        g_free(refusal);                                                                                     \
    }

DEFINE_COMPLETE(write, KW_OUTCOME_FAILED, &refusal->error)
DEFINE_COMPLETE(write_if, KW_OUTCOME_FAILED, false, &refusal->error)
DEFINE_COMPLETE(increment, KW_OUTCOME_FAILED, NULL, &refusal->error)
DEFINE_COMPLETE(get, refusal->rows, refusal->rows ? NULL : &refusal->error)
DEFINE_COMPLETE(create, false, &refusal->error)
DEFINE_COMPLETE(facts, NULL, &refusal->error)
DEFINE_COMPLETE(simple, &refusal->error)
DEFINE_COMPLETE(regions, NULL, &refusal->error)
DEFINE_COMPLETE(backup, 0, &refusal->error)

#define DEFINE_REFUSE(name, type)                                                                            \
    void kw_refuse_##name(kw_store_handle *handle, const kw_error *error, type done, void *user)             \
    {                                                                                                        \
        refusal_task *refusal = refusal_new(error, user, complete_##name);                                   \
        refusal->done.name = done;                                                                           \
        kw_loop_post(handle->loop, &refusal->task);                                                          \
    }

DEFINE_REFUSE(write, kw_write_done)
DEFINE_REFUSE(write_if, kw_write_if_done)
DEFINE_REFUSE(increment, kw_increment_done)
DEFINE_REFUSE(create, kw_create_done)
DEFINE_REFUSE(facts, kw_table_facts_done)
DEFINE_REFUSE(simple, kw_simple_done)
DEFINE_REFUSE(regions, kw_regions_done)
DEFINE_REFUSE(backup, kw_backup_done)

void
kw_complete_get_later(kw_store_handle *handle, kw_rows *rows, const kw_error *error, kw_get_done done,
                      void *user)
{
    refusal_task *refusal = refusal_new(rows ? NULL : error, user, complete_get);
    refusal->rows = rows;
    refusal->done.get = done;
    kw_loop_post(handle->loop, &refusal->task);
}

static void
complete_later(kw_task *task)
{
    refusal_task *refusal = (refusal_task *)task;
    refusal->done.later(refusal->user);
    g_free(refusal);
}

void
kw_complete_later(kw_store_handle *handle, void (*done)(void *user), void *user)
{
    refusal_task *refusal = refusal_new(NULL, user, complete_later);
    refusal->done.later = done;
    kw_loop_post(handle->loop, &refusal->task);
}

void
kw_refuse_copies(kw_store_handle *handle, const kw_error *error, kw_written *results, size_t count,
                 void (*done)(void *user), void *user)
{
    for (size_t i = 0; i < count; i++)
        results[i] = (kw_written){KW_OUTCOME_FAILED, *error};
    kw_metrics_add(KW_METRIC_store_errors, (int64_t)count);
    kw_complete_later(handle, done, user);
}

void
kw_count_failed_writes(const kw_written *results, size_t count)
{
    int64_t failed = 0;
    for (size_t i = 0; i < count; i++)
        failed += results[i].outcome != KW_OUTCOME_OK;
    kw_metrics_add(KW_METRIC_store_errors, failed);
}

bool
kw_store_handle_is_closing(const kw_store_handle *handle, kw_error *ret_error)
{
    if (handle->closing)
        *ret_error = kw_error_shutting_down;
    return handle->closing;
}
