/* Snowflakes: worker numbers leased from the store, taken over, lost and released; clocks that step back;
 * many loops and gateways. */
#include "bed.h"

#include "base/metrics.h"
#include "base/thread.h"
#include "sequence/worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SNOWFLAKE "id: {type: int, generate: {kind: snowflake, epoch: 0}}"
#define LEASE_MS 10000

static GHashTable *seen;

static int64_t
next(bed *self, size_t gateway)
{
    int64_t id = bed_number(self, gateway, "key=a", "id");
    g_assert_true(g_hash_table_add(seen, GSIZE_TO_POINTER((gsize)id))); /* no id occurs twice */
    return id;
}

static int64_t
time_of(int64_t id)
{
    return id >> 22;
}

static int64_t
worker_of(int64_t id)
{
    return id >> 12 & 1023;
}

/* Runs timers and the operations that they start. */
static void
settle(bed *self)
{
    for (int i = 0; i < 40; i++) {
        uv_run(kw_loop_uv(self->loop), UV_RUN_NOWAIT);
        g_usleep(500);
    }
}

static bed *
start(const char *more, const char *fields)
{
    seen = g_hash_table_new(g_direct_hash, g_direct_equal);
    return bed_new(more, fields);
}

static void
end(bed *self)
{
    bed_free(self);
    g_hash_table_unref(seen);
}

static void
set_lease(bed *self, int64_t worker, const char *owner, int64_t until_ms)
{
    char row[32], state[64];
    kw_cell cell = {.family = KW_BYTES_LITERAL("n"), .qualifier = KW_BYTES_LITERAL("lease")};
    snprintf(row, sizeof row, "worker/10/%04d", (int)worker);
    snprintf(state, sizeof state, "%s %" G_GINT64_FORMAT, owner, (gint64)until_ms);
    cell.value = kw_bytes_of_text(state);
    kw_write write = {.kind = KW_WRITE_PUT,
                      .table = KW_BYTES_LITERAL("keyway_sequences"),
                      .row = kw_bytes_of_text(row),
                      .cells = &cell,
                      .cells_count = 1,
                      .timestamp = KW_TIMESTAMP_NONE,
                      .deadline = KW_DEADLINE_NONE};
    bed_write(self, &write);
}

KW_TEST(test_ids, "/workers/ids")
{
    bed *self = start("", SNOWFLAKE);
    g_assert_true(bed_open(self, 0));
    int64_t before = 0;
    for (int i = 0; i < 3000; i++) {
        int64_t id = next(self, 0);
        g_assert_cmpint(id, >, before);
        g_assert_cmpint(time_of(id), ==, bed_wall_ms);
        before = id;
        if (i % 100 == 0)
            bed_pass_ms(1);
    }
    g_assert_cmpint(kw_metrics_read(KW_METRIC_worker_leases), ==, 1);
    end(self);
    g_assert_cmpint(kw_metrics_read(KW_METRIC_worker_leases), ==, 0);
}

/* More ids than fit into a millisecond: the next tick starts early, up to the stored time. No renewal
 * happens meanwhile. */
KW_TEST(test_faster_than_the_clock, "/workers/faster_than_the_clock")
{
    bed *self = start("", SNOWFLAKE);
    g_assert_true(bed_open(self, 0));
    self->control->never_answer = true;
    int64_t now = bed_wall_ms, id = 0;
    for (int i = 0; i < 10000; i++)
        id = next(self, 0);
    g_assert_cmpint(time_of(id), ==, now + 2);
    while (g_str_has_prefix(bed_allocate(self, 0, "id", 4096, ""), "7"))
        ;
    g_assert_cmpint(self->error.code, ==, KW_BUSY);
    g_assert_cmpuint(self->error.retry_after_ms, >, 0);
    self->control->never_answer = false;
    end(self);
}

KW_TEST(test_clock_steps_back, "/workers/clock_steps_back")
{
    bed *self = start("", SNOWFLAKE);
    g_assert_true(bed_open(self, 0));
    int64_t last = next(self, 0), began = bed_wall_ms;
    for (int i = 0; i < 10; i++) {
        bed_wall_ms -= 3600000;
        for (int j = 0; j < 2000; j++) {
            int64_t id = next(self, 0);
            g_assert_cmpint(id, >, last);
            last = id;
        }
    }
    g_assert_cmpint(time_of(last), >, began);
    bed_wall_ms = began + 60000;
    end(self);
}

/* The same with restarts: the next holder of the number starts after the issued ids, whatever its clock
 * says. With only two free numbers, the holders certainly share one. */
KW_TEST(test_clock_steps_back_over_restarts, "/workers/clock_steps_back_over_restarts")
{
    bed *self = start("", SNOWFLAKE);
    g_assert_true(bed_open(self, 0));
    int64_t began = bed_wall_ms, worker = worker_of(next(self, 0));
    /* Leave one number free: all others are leased for a long time. */
    for (int i = 0; i < 1024; i++)
        if (i != worker)
            set_lease(self, i, "other", began + 1000000000);
    for (int i = 0; i < 20; i++) {
        for (int j = 0; j < 100; j++)
            g_assert_cmpint(worker_of(next(self, 0)), ==, worker);
        bed_close(self, 0);
        bed_wall_ms -= 5000;
        g_assert_true(bed_open(self, 0));
    }
    /* A second gateway finds no free number. */
    g_assert_false(bed_open(self, 1));
    g_assert_cmpint(self->error.code, ==, KW_UNAVAILABLE);
    g_assert_cmpstr(self->error.text, ==,
                    "worker numbers in keyway_sequences: all 1024 are leased by other gateways");
    g_assert_cmpint(bed_wall_ms, <, began);
    bed_wall_ms = began + 60000;
    end(self);
}

/* --- leases ------------------------------------------------------------------------------------------- */

KW_TEST(test_one_number_per_gateway, "/workers/one_number_per_gateway")
{
    bed *self = start("", SNOWFLAKE);
    g_autoptr(GHashTable) workers = g_hash_table_new(g_direct_hash, g_direct_equal);
    for (size_t i = 0; i < BED_GATEWAYS; i++) {
        g_assert_true(bed_open(self, i));
        g_assert_true(g_hash_table_add(workers, GSIZE_TO_POINTER((gsize)worker_of(next(self, i)))));
    }
    for (int i = 0; i < 500; i++)
        next(self, (size_t)i % BED_GATEWAYS);
    end(self);
}

/* Without renewal in time, ids are refused with the reason; after a later renewal, they are issued again. */
KW_TEST(test_fencing, "/workers/fencing")
{
    bed *self = start("", SNOWFLAKE);
    g_assert_true(bed_open(self, 0));
    int64_t worker = worker_of(next(self, 0));
    self->control->never_answer = true;
    bed_pass_all_ms(self, LEASE_MS - 1);
    settle(self);
    g_assert_cmpint(worker_of(next(self, 0)), ==, worker);
    bed_pass_all_ms(self, 1);
    settle(self);
    g_assert_true(
        g_str_has_prefix(bed_fill(self, 0, "key=a"), "UNAVAILABLE: table t, field id: the lease of"));
    g_assert_cmpint(self->error.code, ==, KW_UNAVAILABLE);
    g_assert_cmpuint(self->error.retry_after_ms, >, 0);
    self->control->never_answer = false;
    set_lease(self, worker ^ 1, "other", 0); /* the next reply contains it */
    settle(self);
    g_assert_cmpint(worker_of(next(self, 0)), ==, worker);
    end(self);
}

/* Over several leases, with one renewal whose reply is lost. */
KW_TEST(test_renews, "/workers/renews")
{
    bed *self = start("", SNOWFLAKE);
    g_assert_true(bed_open(self, 0));
    int64_t worker = worker_of(next(self, 0));
    self->plan.fault = KW_FAULT_UNKNOWN_APPLIED; /* one renewal fails, the next ones succeed */
    self->plan.fail_at = 2;
    for (int i = 0; i < 10; i++) {
        bed_pass_all_ms(self, LEASE_MS / 3 + 100);
        settle(self);
        g_assert_cmpint(worker_of(next(self, 0)), ==, worker);
    }
    g_assert_cmpuint(self->plan.failed, ==, 1);
    end(self);
}

/* Another gateway takes over the number. The stored time of issued ids remains; the loser leases another
 * number. */
KW_TEST(test_taken_over, "/workers/taken_over")
{
    bed *self = start("", SNOWFLAKE);
    g_assert_true(bed_open(self, 0));
    int64_t lost = kw_metrics_read(KW_METRIC_worker_leases_lost);
    int64_t worker = worker_of(next(self, 0));
    set_lease(self, worker, "thief", bed_wall_ms + 1000000);
    bed_pass_all_ms(self, LEASE_MS / 2);
    while (kw_metrics_read(KW_METRIC_worker_leases_lost) == lost)
        uv_run(kw_loop_uv(self->loop), UV_RUN_ONCE);
    settle(self);
    g_assert_cmpint(worker_of(next(self, 0)), !=, worker);
    g_assert_cmpint(kw_metrics_read(KW_METRIC_worker_leases), ==, 1);
    end(self);
}

/* A gateway died: its number is free long after its lease expired, and its issued ids are never repeated. */
KW_TEST(test_dead_gateway, "/workers/dead_gateway")
{
    bed *self = start("", SNOWFLAKE);
    g_assert_true(bed_open(self, 0));
    int64_t worker = worker_of(next(self, 0));
    char row[32];
    snprintf(row, sizeof row, "worker/10/%04d", (int)worker);
    kw_bytes stored =
        kw_memory_store_cell(self->inner, "keyway_sequences", kw_bytes_of_text(row), "n", "lease");
    g_autofree char *state = g_strndup((const char *)stored.data, stored.size);
    int64_t until = g_ascii_strtoll(strchr(state, ' ') + 1, NULL, 10);
    g_assert_cmpint(until, >=, bed_wall_ms + LEASE_MS);
    bed_close(self, 0); /* releases it: the stored time is the last one used */
    stored = kw_memory_store_cell(self->inner, "keyway_sequences", kw_bytes_of_text(row), "n", "lease");
    g_autofree char *released = g_strndup((const char *)stored.data, stored.size);
    g_assert_true(g_str_has_prefix(released, "- "));
    g_assert_cmpint(g_ascii_strtoll(released + 2, NULL, 10), <, until);
    g_assert_cmpint(g_ascii_strtoll(released + 2, NULL, 10), >=, bed_wall_ms);
    end(self);
}

KW_TEST(test_damaged_lease, "/workers/damaged_lease")
{
    bed *self = start("", SNOWFLAKE);
    g_assert_true(bed_open(self, 0));
    kw_cell cell = {.family = KW_BYTES_LITERAL("n"),
                    .qualifier = KW_BYTES_LITERAL("lease"),
                    .value = KW_BYTES_LITERAL("nonsense")};
    for (int i = 0; i < 1024; i++) {
        char row[32];
        snprintf(row, sizeof row, "worker/10/%04d", i);
        kw_write write = {.kind = KW_WRITE_PUT,
                          .table = KW_BYTES_LITERAL("keyway_sequences"),
                          .row = kw_bytes_of_text(row),
                          .cells = &cell,
                          .cells_count = 1,
                          .timestamp = KW_TIMESTAMP_NONE,
                          .deadline = KW_DEADLINE_NONE};
        bed_write(self, &write);
    }
    g_assert_false(bed_open(self, 1));
    g_assert_cmpint(self->error.code, ==, KW_CORRUPT);
    g_assert_nonnull(strstr(self->error.text, "holds \"nonsense\", which is not a lease"));
    end(self);
}

/* Whichever operation fails while a worker number is leased: in the end there is a lease, and no id occurs
 * twice. */
KW_TEST(test_faults, "/workers/faults")
{
    static const kw_fault faults[] = {KW_FAULT_FAILED, KW_FAULT_UNKNOWN_APPLIED, KW_FAULT_UNKNOWN_LOST,
                                      KW_FAULT_TIMEOUT};
    for (size_t kind = 0; kind < G_N_ELEMENTS(faults); kind++) {
        bool failed = true;
        for (uint64_t n = 1; failed; n++) {
            bed *self = start("", SNOWFLAKE);
            self->plan.fault = (int)faults[kind];
            self->plan.fail_at = n;
            for (int i = 0; i < 3 && !bed_open(self, 0); i++)
                g_assert_cmpint(self->error.code, !=, KW_OK);
            next(self, 0);
            failed = self->plan.failed > 0;
            end(self);
        }
    }
}

/* --- loops -------------------------------------------------------------------------------------------- */

enum { THREADS = 4, IDS_PER_THREAD = 20000 };

typedef struct id_thread {
    kw_thread thread;
    kw_worker *worker;
    int64_t *ids;
    size_t count;
} id_thread;

static void
take(void *user)
{
    id_thread *self = user;
    for (int i = 0; i < IDS_PER_THREAD; i++) {
        uint32_t worker;
        kw_tick_part part;
        kw_error error;
        if (!kw_worker_allocate(self->worker, 3, &worker, &part, &error))
            continue;
        for (uint32_t j = 0; j < part.count; j++)
            self->ids[self->count++] = part.tick << 22 | (int64_t)worker << 12 | (part.first + j);
    }
}

static int
compare_ids(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void
started(void *user, const kw_error *error)
{
    g_assert_null(error);
    *(bool *)user = true;
}

static void
stopped(void *user)
{
    *(bool *)user = true;
}

KW_TEST(test_threads, "/workers/threads")
{
    bed *self = start("", SNOWFLAKE);
    g_assert_true(bed_open(self, 0));
    kw_worker *worker = kw_worker_new("keyway_sequences", kw_snowflake_form_of(false), 60000, self->loop,
                                      self->gateways[0].handle);
    bool done = false;
    kw_worker_start(worker, started, &done);
    bed_run_until(self, &done);
    id_thread threads[THREADS];
    size_t count = 0;
    g_autofree int64_t *ids = g_new(int64_t, THREADS * IDS_PER_THREAD * 3);
    for (int i = 0; i < THREADS; i++) {
        threads[i] = (id_thread){.worker = worker, .ids = g_new(int64_t, IDS_PER_THREAD * 3)};
        kw_thread_start(&threads[i].thread, "taker", take, &threads[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        kw_thread_join(&threads[i].thread);
        memcpy(ids + count, threads[i].ids, threads[i].count * sizeof *ids);
        count += threads[i].count;
        g_free(threads[i].ids);
    }
    qsort(ids, count, sizeof *ids, compare_ids);
    for (size_t i = 1; i < count; i++)
        g_assert_cmpint(ids[i - 1], <, ids[i]);
    g_assert_cmpuint(count, >, IDS_PER_THREAD);
    done = false;
    kw_worker_stop(worker, stopped, &done);
    bed_run_until(self, &done);
    kw_worker_free(worker);
    end(self);
}

KW_TEST_START(inject_clock)
{
    bed_inject_clock();
}
