/* Costs and benefits of the gateway in front of HBase: runs the same work directly on Thrift2 and through
 * keywayd, alternating, in one process.
 *
 *   bench_hbase --thrift PORT --gateway PORT [--gateway-pid PID] [--framed] [--only LIST] [--callers LIST]
 *               [--proxy PORT] [--proxy-pid PID] [--server-pids LIST] [--rounds N] [--slice-ms MS]
 *               [--rows N] [--warm SECONDS] [--settings TEXT] [--generated] [--check]
 *
 * With --before PORT, the port of a keywayd of an earlier build, it compares the two gateways instead. Both
 * use the same HBase and have their own tables.
 *
 * With --atomics, it compares atomic operations of tables with order: stamp with those of HBase instead.
 *
 * run.sh starts everything and runs this program. A slice is a closed loop of callers with one connection
 * each. Slices of the two ways alternate, and so does which one is first. Results are medians over the
 * rounds; ratios are medians of the rounds' ratios. After each round of puts, both tables are read back and
 * compared with the acknowledged puts. --check: exits with 1 if a measure misses its target.
 */
#include "bench.h"
#include "table.h"

#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define SERVERS_MOST 8

static const struct {
    const char *name;
    void (*measure)(bench *all);
} others[] = {{"hot", measure_hot},     {"connected", measure_connected}, {"latest", measure_latest},
              {"order", measure_order}, {"window", measure_window},       {"scan", measure_scan},
              {"mixes", measure_mixes}};

static gint thrift, gateway, gateway_pid, proxy, proxy_pid, before, before_pid, rounds = 7, slice_ms = 1000,
                                                                                rows = 50000, warm = 12;
static gboolean framed, check, generated, stamped, atomics;
static gint growth_rows = 1000000;
static char *grown_table = "kw_bench_grown";
static char *only, *callers = "1,8,64,256,1000", *growth, *server_pids = "", *settings = "unknown";
static const char everything[] = "put,get,remove,increment,hot,connected,latest,order,window,scan,mixes",
                  every_atomic[] = "increment,put_if,sums,put";
static pid_t servers[SERVERS_MOST + 1];

static const GOptionEntry options[] = {
    {"thrift", 0, 0, G_OPTION_ARG_INT, &thrift, "port of Thrift2", "PORT"},
    {"gateway", 0, 0, G_OPTION_ARG_INT, &gateway, "port of keywayd", "PORT"},
    {"gateway-pid", 0, 0, G_OPTION_ARG_INT, &gateway_pid, "keywayd's process, to measure its CPU time",
     "PID"},
    {"proxy", 0, 0, G_OPTION_ARG_INT, &proxy, "port of a bare proxy to Thrift2", "PORT"},
    {"proxy-pid", 0, 0, G_OPTION_ARG_INT, &proxy_pid, "that proxy", "PID"},
    {"server-pids", 0, 0, G_OPTION_ARG_STRING, &server_pids,
     "processes of HBase and Thrift2, to measure their CPU time", "LIST"},
    {"settings", 0, 0, G_OPTION_ARG_STRING, &settings, "keywayd's settings, for the output", "TEXT"},
    {"before", 0, 0, G_OPTION_ARG_INT, &before, "port of a keywayd to compare with, instead of Thrift2",
     "PORT"},
    {"before-pid", 0, 0, G_OPTION_ARG_INT, &before_pid, "that keywayd", "PID"},
    {"stamped", 0, 0, G_OPTION_ARG_NONE, &stamped, "the tables of keywayd have order: stamp", NULL},
    {"atomics", 0, 0, G_OPTION_ARG_NONE, &atomics, "only atomic operations, and the cost of atomics: true",
     NULL},
    {"framed", 0, 0, G_OPTION_ARG_NONE, &framed, "Thrift2 is framed compact (default: buffered binary)",
     NULL},
    {"only", 0, 0, G_OPTION_ARG_STRING, &only,
     "put,get,hot,connected,latest,order,window,scan,mixes; with --before: put,get,remove,increment,calls; "
     "with --atomics: increment,put_if,sums,put",
     "LIST"},
    {"callers", 0, 0, G_OPTION_ARG_STRING, &callers, "numbers of callers for put and get (1,8,64,256,1000)",
     "LIST"},
    {"rounds", 0, 0, G_OPTION_ARG_INT, &rounds, "rounds (7)", "N"},
    {"slice-ms", 0, 0, G_OPTION_ARG_INT, &slice_ms, "length of a slice (1000)", "MS"},
    {"rows", 0, 0, G_OPTION_ARG_INT, &rows, "rows of each table (50000)", "N"},
    {"warm", 0, 0, G_OPTION_ARG_INT, &warm, "seconds to warm the JVMs (12)", "SECONDS"},
    {"generated", 0, 0, G_OPTION_ARG_NONE, &generated, "put and get by generated Thrift C GLib clients",
     NULL},
    {"growth", 0, 0, G_OPTION_ARG_STRING, &growth, "print CSV instead, by callers, buckets, size or rows",
     "KIND"},
    {"growth-rows", 0, 0, G_OPTION_ARG_INT, &growth_rows,
     "largest number of rows of growth by rows (1000000)", "N"},
    {"grown-table", 0, 0, G_OPTION_ARG_STRING, &grown_table, "store table of table grown (kw_bench_grown)",
     "NAME"},
    {"check", 0, 0, G_OPTION_ARG_NONE, &check, "a missed target is a failure", NULL},
    G_OPTION_ENTRY_NULL};

static void
load(bench *all)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    for (int i = 0; i < 2; i++) {
        bench_side *side = &all->sides[i];
        link_to *link = link_open(&side->place);
        for (uint64_t first = 0; first < side->rows; first += 500) {
            size_t count = (size_t)MIN(side->rows - first, 500);
            for (int table = 0; table < 2; table++) {
                kw_arena_reset(arena);
                bench_call call = side->way->put_many(arena, (bench_table)table, first, count, 1);
                side->way->check_put_many(link_call(link, call.method, call.args));
            }
        }
        for (uint64_t row = 0; row < side->rows; row++)
            side->generations[row] = 1;
        side->inserted = side->rows;
        link_close(link);
    }
}

/* A new JVM runs at half its speed for a while. */
static void
warm_up(bench *all)
{
    kw_deadline end = kw_deadline_in_ms(all->warm_ms);
    for (unsigned i = 0; all->warm_ms > 0 && !kw_deadline_passed(end); i++)
        slice_run(&all->sides[i % 2], i / 2 % 2 ? WORK_GET : WORK_PUT, i / 4 % 2 ? 8 : 64, 1000);
}

static void
print_configuration(const bench *all)
{
    printf("Configuration: %ld cores; Thrift2 %s; keywayd: %s; %d alternating rounds, slices of %d ms; %d "
           "rows.\n"
           "Values: median of the rounds (interval that contains the true median with 95 %% confidence).\n\n",
           sysconf(_SC_NPROCESSORS_ONLN), framed ? "framed compact" : "buffered binary", settings,
           all->rounds, all->slice_ms, (int)all->sides[SIDE_GATEWAY].rows);
}

static void
run(bench *all, char **wanted)
{
    const char *const *list = (const char *const *)wanted;
    print_configuration(all);
    if (atomics) {
        table_begin("compared with", "measured");
        measure_atomics(all, list);
        return;
    }
    if (before) {
        table_begin("gateway before", "gateway");
        measure_builds(all, stamped, list);
        if (!g_strv_contains(list, "calls"))
            return;
        measure_calls(all, WORK_PUT);
        measure_calls(all, WORK_GET);
        measure_hot(all);
        return;
    }
    table_begin("direct Thrift2", "through the gateway");
    if (g_strv_contains(list, "put"))
        measure_calls(all, WORK_PUT);
    if (g_strv_contains(list, "get"))
        measure_calls(all, WORK_GET);
    for (size_t i = 0; i < G_N_ELEMENTS(others); i++)
        if (g_strv_contains(list, others[i].name) && !generated)
            others[i].measure(all);
}

static void
prepare(bench *all)
{
    kw_wire_form form = {framed ? KW_WIRE_COMPACT : KW_WIRE_BINARY, framed};
    *all = (bench){.rounds = CLAMP(rounds, 1, ROUNDS_MOST), .slice_ms = slice_ms, .generated = generated};
    all->warm_ms = warm * 1000;
    all->growth_rows = (uint64_t)MAX(growth_rows, 1000);
    all->grown_table = grown_table;
    all->sides[0] = (bench_side){.way = &way_direct, .place = {"Thrift2", (uint16_t)thrift, form}};
    if (before)
        all->sides[0] = (bench_side){.way = &way_gateway,
                                     .place = {"keywayd before", (uint16_t)before, {KW_WIRE_COMPACT, true}},
                                     .process = before_pid};
    all->sides[1] = (bench_side){.way = &way_gateway,
                                 .place = {"keywayd", (uint16_t)gateway, {KW_WIRE_COMPACT, true}},
                                 .process = gateway_pid,
                                 .thrift_port = (uint16_t)thrift};
    for (int i = 0; i < 2; i++) {
        all->sides[i].rows = (uint64_t)MAX(rows, 10000);
        all->sides[i].generations = g_new0(uint32_t, all->sides[i].rows);
        all->sides[i].doubtful = g_new0(bool, all->sides[i].rows);
        all->sides[i].exact = true;
    }
    all->has_proxy = proxy != 0 && !before;
    all->sides[SIDE_PROXY] = all->sides[SIDE_DIRECT];
    all->sides[SIDE_PROXY].place.name = "the bare proxy";
    all->sides[SIDE_PROXY].place.port = (uint16_t)proxy;
    all->sides[SIDE_PROXY].process = proxy_pid;
    g_auto(GStrv) pids = g_strsplit(server_pids, ",", SERVERS_MOST);
    for (size_t i = 0; pids[i]; i++)
        servers[i] = atoi(pids[i]);
    for (int i = 0; i < SIDES; i++)
        all->sides[i].servers = servers;
    g_auto(GStrv) counts = g_strsplit(callers, ",", CALLERS_MOST);
    for (size_t i = 0; counts[i]; i++)
        all->callers[all->callers_count++] = (unsigned)CLAMP(atoi(counts[i]), 1, 10000);
}

int
main(int argc, char **argv)
{
    static bench all;
    g_autoptr(GOptionContext) context = g_option_context_new(NULL);
    g_autoptr(GError) error = NULL;
    g_option_context_add_main_entries(context, options, NULL);
    if (!g_option_context_parse(context, &argc, &argv, &error) || !thrift || !gateway)
        caller_group_fail("usage",
                          kw_bytes_of_text(error ? error->message : "--thrift and --gateway are required"));
    prepare(&all);
    if (!atomics) {
        load(&all);
        warm_up(&all);
    }
    if (growth)
        return growth_run(&all, growth) ? 0 : 2;
    g_auto(GStrv) wanted = g_strsplit(only ? only : atomics ? every_atomic : everything, ",", -1);
    run(&all, wanted);
    return table_met() || !check ? 0 : 1;
}
