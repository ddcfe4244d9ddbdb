/* Reader threads with one queue, which is fair to accounts (base/fair.h). */
#include "base/container.h"
#include "store/embedded/embedded_internal.h"

#include <stdatomic.h>

#define READERS_MAX 64

struct kw_pool {
    kw_mutex lock; /* guards `jobs`, `asleep` and `stopping` */
    kw_condition filled;
    kw_fair *jobs;
    _Atomic bool small_account_waits; /* a job of a small account is queued */
    size_t asleep;
    bool stopping;
    size_t readers;
    kw_thread threads[READERS_MAX];
};

/* Called with the lock held. Waits for a job. NULL if the pool stops and the queue is empty. */
static kw_pool_job *
take_locked(kw_pool *pool)
{
    while (kw_fair_count(pool->jobs) == 0) {
        if (pool->stopping)
            return NULL;
        pool->asleep++;
        kw_condition_wait(&pool->filled, &pool->lock);
        pool->asleep--;
    }
    kw_fair_item *item = kw_fair_pop(pool->jobs);
    g_assert(item);
    atomic_store_explicit(&pool->small_account_waits, kw_fair_has_small(pool->jobs), memory_order_relaxed);
    return KW_CONTAINER(item, kw_pool_job, fair_item);
}

bool
kw_pool_should_yield(const kw_pool *pool, const kw_account *account)
{
    return kw_account_is_large(account) &&
           atomic_load_explicit(&pool->small_account_waits, memory_order_relaxed);
}

static void
run_reader(void *user)
{
    kw_pool *pool = user;
    rocksdb_set_perf_level(rocksdb_disable); /* RocksDB's counters of comparisons cost time */
    for (;;) {
        kw_mutex_lock(&pool->lock);
        kw_pool_job *job = take_locked(pool);
        kw_mutex_unlock(&pool->lock);
        if (!job)
            return;
        job->work(job);
    }
}

kw_pool *
kw_pool_start(size_t readers, const char *name)
{
    kw_pool *pool = g_new0(kw_pool, 1);
    kw_mutex_init(&pool->lock);
    kw_condition_init(&pool->filled);
    pool->jobs = kw_fair_new();
    pool->readers = CLAMP(readers, 1, READERS_MAX);
    for (size_t i = 0; i < pool->readers; i++)
        kw_thread_start(&pool->threads[i], name, run_reader, pool);
    return pool;
}

void
kw_pool_stop(kw_pool *pool)
{
    if (!pool)
        return;
    kw_mutex_lock(&pool->lock);
    pool->stopping = true;
    kw_condition_broadcast(&pool->filled);
    kw_mutex_unlock(&pool->lock);
    for (size_t i = 0; i < pool->readers; i++)
        kw_thread_join(&pool->threads[i]);
    kw_fair_free(pool->jobs);
    kw_condition_clear(&pool->filled);
    kw_mutex_clear(&pool->lock);
    g_free(pool);
}

void
kw_pool_submit(kw_pool *pool, kw_pool_job *first, kw_pool_job *last)
{
    g_assert(first && last);
    kw_mutex_lock(&pool->lock);
    g_assert(!pool->stopping && pool->asleep <= pool->readers);
    last->next = NULL;
    for (kw_pool_job *job = first; job; job = job->next)
        kw_fair_push(pool->jobs, &job->fair_item);
    atomic_store_explicit(&pool->small_account_waits, kw_fair_has_small(pool->jobs), memory_order_relaxed);
    if (pool->asleep > 1 && first != last)
        kw_condition_broadcast(&pool->filled);
    else if (pool->asleep > 0)
        kw_condition_signal(&pool->filled);
    kw_mutex_unlock(&pool->lock);
}
