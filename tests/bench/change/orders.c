/* Orders to a change while callers use the gateway. */
#include "bench.h"

#include "base/clock.h"

#include <string.h>

/* How long callers get before the order is given. */
#define GETS_BEFORE_US 500000

typedef struct order_run {
    const bench_gateway *gateway;
    bench_order order;
    gulong delay_us;
    uint64_t given_ns;
    double took_s;
    bool good;
    gint done;
} order_run;

static gpointer
run_order(gpointer data)
{
    order_run *self = data;
    g_usleep(self->delay_us);
    self->given_ns = kw_clock_mono_ns();
    self->good = bench_order_change(self->gateway, self->order);
    self->took_s = (double)(kw_clock_mono_ns() - self->given_ns) / 1e9;
    g_atomic_int_set(&self->done, 1);
    return NULL;
}

/* --- versions during a switch --------------------------------------------------------------------- */

static gpointer
run_watch(gpointer data)
{
    order_run *self = data;
    return bench_watch_versions(self->gateway, &self->done);
}

/* When the version began and ended; false: it was not seen. */
static bool
find_version(const GArray *versions, const char *name, uint64_t *ret_from_ns, uint64_t *ret_until_ns)
{
    for (guint i = 0; i + 1 < versions->len; i++) {
        const bench_version *version = &g_array_index(versions, bench_version, i);
        if (!g_str_equal(version->name, name))
            continue;
        *ret_from_ns = version->since_ns;
        *ret_until_ns = g_array_index(versions, bench_version, i + 1).since_ns;
        return true;
    }
    return false;
}

static double
seconds_in(const GArray *versions, const char *name)
{
    uint64_t from_ns, until_ns;
    return find_version(versions, name, &from_ns, &until_ns) ? (double)(until_ns - from_ns) / 1e9 : 0;
}

/* Versions that were too short to be seen do not count. */
static void
measure_versions(const GArray *versions, const order_run *run, bench_ordered *ordered)
{
    static const char *const held[] = {"last-pass-old", "get-both-old", "get-both-new", "last-pass-new"};
    uint64_t from_ns, until_ns;
    for (size_t i = 0; i < G_N_ELEMENTS(held); i++)
        ordered->held_s += seconds_in(versions, held[i]);
    if (find_version(versions, "last-pass-old", &from_ns, &until_ns))
        ordered->passes_s = (double)(from_ns - run->given_ns) / 1e9;
}

/* Of the gets that began and ended between two times. */
static double
p50_between_us(const GArray *replies, uint64_t from_ns, uint64_t until_ns, unsigned *ret_count)
{
    GArray *chosen = g_array_new(FALSE, FALSE, sizeof(bench_reply));
    for (guint i = 0; i < replies->len; i++) {
        bench_reply reply = g_array_index(replies, bench_reply, i);
        uint64_t took_ns = (uint64_t)(reply.took_us * 1000);
        if (reply.at_ns - took_ns >= from_ns && reply.at_ns <= until_ns)
            g_array_append_val(chosen, reply);
    }
    double p50_us = bench_percentile_us(chosen, 0.5);
    *ret_count = chosen->len;
    g_array_unref(chosen);
    return p50_us;
}

/* Gets before the order, and in the version in which they read both rows. */
static void
measure_gets(const GArray *versions, const GArray *replies, const order_run *run, bench_ordered *ordered)
{
    uint64_t from_ns, until_ns;
    unsigned ignored;
    ordered->before_us = p50_between_us(replies, 0, run->given_ns, &ignored);
    if (find_version(versions, run->order == BENCH_SWITCH ? "get-both-old" : "get-both-new", &from_ns,
                     &until_ns))
        ordered->both_us = p50_between_us(replies, from_ns, until_ns, &ordered->both_gets);
}

bench_ordered
bench_order_under_gets(bench_gateway *gateway, bench_order order, uint64_t rows)
{
    order_run run = {.gateway = gateway, .order = order, .delay_us = GETS_BEFORE_US};
    GThread *watch = g_thread_new("versions", run_watch, &run);
    GThread *thread = g_thread_new("order", run_order, &run);
    bench_work work = {.call = BENCH_GET,
                       .callers = 1,
                       .seconds = 3600,
                       .stop = &run.done,
                       .number = &gateway->next_put,
                       .random_below = rows};
    bench_slice gets = bench_callers_run(gateway->callers, &work);
    g_thread_join(thread);
    GArray *versions = g_thread_join(watch);
    bench_ordered ordered = {.took_s = run.took_s, .good = run.good};
    measure_versions(versions, &run, &ordered);
    measure_gets(versions, gets.replies, &run, &ordered);
    g_array_unref(gets.replies);
    g_array_unref(versions);
    return ordered;
}

/* --- under puts ----------------------------------------------------------------------------------- */

bench_ordered
bench_order_under_puts(bench_gateway *gateway, bench_order order)
{
    order_run run = {.gateway = gateway, .order = order};
    GThread *watch = g_thread_new("versions", run_watch, &run);
    GThread *thread = g_thread_new("order", run_order, &run);
    bench_work work = {.call = BENCH_PUT,
                       .callers = BENCH_CALLERS,
                       .seconds = 3600,
                       .stop = &run.done,
                       .number = &gateway->next_put};
    bench_slice puts = bench_callers_run(gateway->callers, &work);
    g_thread_join(thread);
    GArray *versions = g_thread_join(watch);
    bench_ordered ordered = {.took_s = run.took_s,
                             .good = run.good,
                             .longest_us = bench_percentile_us(puts.replies, 1),
                             .puts_per_s = puts.calls_per_s};
    measure_versions(versions, &run, &ordered);
    g_array_unref(puts.replies);
    g_array_unref(versions);
    return ordered;
}
