/* The stamper under many threads: no thread sees its stamps go back, and none gets the stamp of a remove
 * again. */
#include "base/thread.h"
#include "support/memory_store.h"
#include "verb/call.h"

#include <glib.h>
#include <stdatomic.h>

#define THREADS 4
#define TAKES 20000

typedef struct taker {
    kw_thread thread;
    kw_stamper *stamper;
    _Atomic int64_t *removed; /* the latest stamp that a remove has waited for */
    bool removes;
} taker;

static void
take(void *user)
{
    taker *self = user;
    int64_t last = 0;
    for (int i = 0; i < TAKES; i++) {
        int64_t removed = atomic_load(self->removed);
        int64_t stamp = kw_stamper_take(self->stamper);
        g_assert_cmpint(stamp, >=, last);
        g_assert_cmpint(stamp, >, removed);
        last = stamp;
        if (!self->removes || i % 1000)
            continue;
        kw_stamper_wait_ms(self->stamper, stamp);
        int64_t before = atomic_load(self->removed);
        while (before < stamp && !atomic_compare_exchange_weak(self->removed, &before, stamp))
            ;
    }
}

static void
test_threads(void)
{
    kw_store *store = kw_memory_store_open();
    kw_stamper *stamper = kw_stamper_new(store);
    _Atomic int64_t removed = 0;
    taker takers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        takers[i] = (taker){.stamper = stamper, .removed = &removed, .removes = i % 2};
        kw_thread_start(&takers[i].thread, "taker", take, &takers[i]);
    }
    for (int i = 0; i < THREADS; i++)
        kw_thread_join(&takers[i].thread);
    g_assert_cmpint(atomic_load(&removed), >, 0);
    kw_stamper_free(stamper);
    kw_store_free(store);
}

/* A row's writes in one millisecond: a put behind a remove is later than it, everything else may be equal,
 * and nothing goes back. */
static void
test_order(void)
{
    kw_store *store = kw_memory_store_open();
    kw_stamper *stamper = kw_stamper_new(store);
    kw_bytes row = KW_BYTES_LITERAL("row"), other = KW_BYTES_LITERAL("other row");
    g_assert_cmpint(kw_stamper_order(stamper, row, 1000, KW_STAMP_ROW), ==, 1000);
    g_assert_cmpint(kw_stamper_order(stamper, row, 1000, KW_STAMP_REMOVE), ==, 1000);
    g_assert_cmpint(kw_stamper_order(stamper, row, 1000, KW_STAMP_ROW), ==, 1001);
    g_assert_cmpint(kw_stamper_order(stamper, row, 1000, KW_STAMP_ROW), ==, 1001);
    g_assert_cmpint(kw_stamper_order(stamper, row, 1000, KW_STAMP_REMOVE), ==, 1001);
    g_assert_cmpint(kw_stamper_order(stamper, row, 1000, KW_STAMP_REMOVE), ==, 1002);
    g_assert_cmpint(kw_stamper_order(stamper, row, 1001, KW_STAMP_ROW), ==, 1003);
    g_assert_cmpint(kw_stamper_order(stamper, other, 1000, KW_STAMP_ROW), ==, 1000);
    g_assert_cmpint(kw_stamper_order(stamper, row, 2000, KW_STAMP_ROW), ==, 2000);
    g_assert_cmpint(kw_stamper_order(stamper, row, KW_TIMESTAMP_NONE, KW_STAMP_REMOVE), ==,
                    KW_TIMESTAMP_NONE);
    kw_stamper_free(stamper);
    kw_store_free(store);
}

/* Puts of a record with several rows have a millisecond each, until they would run too far ahead. */
static void
test_rows(void)
{
    kw_store *store = kw_memory_store_open();
    kw_stamper *stamper = kw_stamper_new(store);
    kw_bytes row = KW_BYTES_LITERAL("row");
    for (int64_t stamp = 1000; stamp <= 1010; stamp++)
        g_assert_cmpint(kw_stamper_order(stamper, row, 1000, KW_STAMP_ROWS), ==, stamp);
    g_assert_cmpint(kw_stamper_order(stamper, row, 1000, KW_STAMP_ROWS), ==, 1010);
    g_assert_cmpint(kw_stamper_order(stamper, row, 1000, KW_STAMP_REMOVE), ==, 1010);
    g_assert_cmpint(kw_stamper_order(stamper, row, 1000, KW_STAMP_ROWS), ==, 1011);
    g_assert_cmpint(kw_stamper_order(stamper, row, 2000, KW_STAMP_ROWS), ==, 2000);
    g_assert_cmpint(kw_stamper_order(stamper, row, 2000, KW_STAMP_ROW), ==, 2001);
    kw_stamper_free(stamper);
    kw_store_free(store);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/verb/stamps/threads", test_threads);
    g_test_add_func("/verb/stamps/order", test_order);
    g_test_add_func("/verb/stamps/rows", test_rows);
    return g_test_run();
}
