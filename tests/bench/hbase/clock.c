/* What the heartbeats of HBase's clock cost the servers, and how exactly the clock is known.
 *
 *   bench_clock --thrift PORT [--framed] [--server-pids LIST] [--uses N] [--rounds N] [--seconds N]
 *
 * In each round, the servers do nothing for some seconds, and then serve heartbeats for as long, while the
 * clock is used `uses` times per second. The difference of their CPU time is the cost.
 */
#include "base/metrics.h"
#include "store/hbase/hbase.h"
#include "store/store.h"

#include "bench.h"

#include <glib.h>
#include <stdio.h>
#include <stdlib.h>

#define SERVERS_MOST 8
#define SAMPLES_MOST 2000000
#define WARM_SECONDS 3

static gint thrift, uses = 250, rounds = 5, seconds = 10;
static gboolean framed;
static char *server_pids = "";
static pid_t servers[SERVERS_MOST + 1];

static const GOptionEntry options[] = {
    {"thrift", 0, 0, G_OPTION_ARG_INT, &thrift, "port of Thrift2", "PORT"},
    {"framed", 0, 0, G_OPTION_ARG_NONE, &framed, "Thrift2 is framed compact (default: buffered binary)",
     NULL},
    {"server-pids", 0, 0, G_OPTION_ARG_STRING, &server_pids, "processes of HBase and Thrift2", "LIST"},
    {"uses", 0, 0, G_OPTION_ARG_INT, &uses, "uses of the clock per second (250)", "N"},
    {"rounds", 0, 0, G_OPTION_ARG_INT, &rounds, "rounds (5)", "N"},
    {"seconds", 0, 0, G_OPTION_ARG_INT, &seconds, "seconds of each half of a round (10)", "N"},
    G_OPTION_ENTRY_NULL};

/* One open store whose clock is used. */
typedef struct user {
    kw_store *store;
    kw_loop *loop;
    kw_store_handle *handle;
    kw_timer *timer;
    uint64_t end_ns, measure_ns;
    double cpu_us;
    int64_t calls;
    bool closed;
} user;

static double *widths_us;
static size_t widths_count;
static uint64_t unknown;

static double
servers_cpu_us(void)
{
    double sum = 0;
    for (const pid_t *at = servers; *at; at++)
        sum += slice_cpu_us(*at);
    return sum;
}

static kw_store *
open_store(void)
{
    static const kw_model_tls tls = {.certificate = "", .key = "", .ca = "", .server_name = ""};
    kw_model_server server = {.host = "127.0.0.1", .port = (uint16_t)thrift};
    kw_model_hbase settings = {.servers = &server,
                               .servers_count = 1,
                               .framed = framed,
                               .compact = framed,
                               .tls = tls,
                               .channels = 8,
                               .client_pause_ms = 100};
    kw_error error;
    kw_store *store = kw_hbase_open(&settings, &error);
    if (!store)
        caller_group_fail("open", kw_bytes_of_text(error.text));
    return store;
}

static void
handle_closed(void *data)
{
    user *of = data;
    of->closed = true;
    kw_loop_stop(of->loop);
}

static void
finish(user *of)
{
    of->cpu_us = servers_cpu_us() - of->cpu_us;
    of->calls = kw_metrics_read(KW_METRIC_store_calls) - of->calls;
    kw_timer_free(of->timer);
    kw_store_handle_close(of->handle, handle_closed, of);
}

static void
use(void *data)
{
    user *of = data;
    uint64_t now_ns = kw_clock_mono_ns();
    kw_span span;
    if (now_ns >= of->end_ns) {
        finish(of);
        return;
    }
    if (!of->calls && now_ns >= of->measure_ns) {
        of->cpu_us = servers_cpu_us();
        of->calls = kw_metrics_read(KW_METRIC_store_calls);
    }
    kw_store_keep_time_known(of->store);
    bool known = kw_store_time(of->store, &span);
    if (of->calls && known && widths_count < SAMPLES_MOST)
        widths_us[widths_count++] = (double)(span.latest_ns - span.earliest_ns) / 1e3;
    unknown += of->calls && !known;
    kw_timer_start_ms(of->timer, 1000 / (uint64_t)uses);
}

static user
use_for(int measured_seconds)
{
    user of = {.store = open_store(), .loop = kw_loop_new()};
    of.handle = kw_store_open_handle(of.store, of.loop);
    of.measure_ns = kw_clock_mono_ns() + (uint64_t)WARM_SECONDS * 1000000000;
    of.end_ns = of.measure_ns + (uint64_t)measured_seconds * 1000000000;
    of.timer = kw_timer_new(of.loop, use, &of);
    kw_timer_start_ms(of.timer, 1);
    while (!of.closed)
        kw_loop_run(of.loop);
    kw_loop_free(of.loop);
    kw_store_free(of.store);
    return of;
}

static int
by_value(const void *a, const void *b)
{
    double one = *(const double *)a, other = *(const double *)b;
    return (one > other) - (one < other);
}

static void
print_widths(void)
{
    if (!widths_count)
        return;
    qsort(widths_us, widths_count, sizeof *widths_us, by_value);
    printf(
        "known to within: p10 %.0f us, p50 %.0f us, p90 %.0f us, p99 %.0f us; unknown at %llu of %zu uses\n",
        widths_us[widths_count / 10], widths_us[widths_count / 2], widths_us[widths_count * 9 / 10],
        widths_us[widths_count * 99 / 100], (unsigned long long)unknown, widths_count + unknown);
}

static void
parse(int argc, char **argv)
{
    g_autoptr(GOptionContext) context = g_option_context_new(NULL);
    g_autoptr(GError) error = NULL;
    g_option_context_add_main_entries(context, options, NULL);
    if (!g_option_context_parse(context, &argc, &argv, &error) || !thrift || uses < 1)
        caller_group_fail("usage", kw_bytes_of_text(error ? error->message : "--thrift is required"));
    g_auto(GStrv) pids = g_strsplit(server_pids, ",", SERVERS_MOST);
    for (size_t i = 0; pids[i]; i++)
        servers[i] = atoi(pids[i]);
    rounds = CLAMP(rounds, 1, ROUNDS_MOST);
}

int
main(int argc, char **argv)
{
    double costs[ROUNDS_MOST], idle[ROUNDS_MOST], calls[ROUNDS_MOST];
    parse(argc, argv);
    widths_us = g_new(double, SAMPLES_MOST);
    use_for(1); /* creates the table */
    widths_count = unknown = 0;
    for (int i = 0; i < rounds; i++) {
        double before_us = servers_cpu_us();
        g_usleep((gulong)seconds * 1000000);
        idle[i] = (servers_cpu_us() - before_us) / seconds / 1e4;
        user of = use_for(seconds);
        costs[i] = of.cpu_us / seconds / 1e4 - idle[i];
        calls[i] = (double)of.calls / seconds;
    }
    interval cost = rounds_interval(costs, rounds), without = rounds_interval(idle, rounds);
    printf(
        "%d uses per second: %.0f calls per second; servers: %.2f %% of a core (%.2f to %.2f), and %.2f %% "
        "(%.2f to %.2f) without heartbeats\n",
        uses, rounds_median(calls, rounds), cost.median, cost.low, cost.high, without.median, without.low,
        without.high);
    print_widths();
    return 0;
}
