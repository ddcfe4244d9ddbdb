/* What an online change of a key rule costs while it is under way:
 *
 *   bench_change [--rows N] [--seconds N] [--rounds N] [--folder DIR] [--keywayd FILE] [--hbase PLACE]
 *                [--check] [--orders | --puts | --hint-path] [--log LEVEL]
 *
 * Two gateways in the default configuration hold the same rows of three 100-byte cells in 16 buckets. One
 * keeps its key rule, the other changes it: first the records of a bucket are ordered by id, then by time. In
 * each version of the change, calls of both are measured in alternating slices; the median of the rounds'
 * ratios counts. Then the rate of the copy, the time of the orders, and the memory. --check fails on a missed
 * target.
 *
 * The store is an embedded one, or HBase: PLACE is the host:port of a Thrift2 server (framed, compact). Then
 * three gateways serve the table that is changed. run.sh measures both stores. --orders measures only the
 * orders, not the calls of each version; --puts only puts of these calls, so that slices can be longer.
 * --hint-path: the change adds a path over a field that changes; only its copy is measured, without callers
 * and beside puts.
 * --log: of the gateways, which write it to standard error.
 */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>

static void
read_options(int count, char **arguments, bench_options *options)
{
    const GOptionEntry entries[] = {
        {"keywayd", 0, 0, G_OPTION_ARG_FILENAME, &options->keywayd, "The gateway", "FILE"},
        {"folder", 0, 0, G_OPTION_ARG_FILENAME, &options->folder, "Folder for the stores", "DIR"},
        {"hbase", 0, 0, G_OPTION_ARG_STRING, &options->hbase, "A Thrift2 server", "HOST:PORT"},
        {"rows", 0, 0, G_OPTION_ARG_INT, &options->rows, "Rows before the change", "N"},
        {"seconds", 0, 0, G_OPTION_ARG_DOUBLE, &options->seconds, "Duration of a slice", "N"},
        {"rounds", 0, 0, G_OPTION_ARG_INT, &options->rounds, "Slices of a kind per gateway and stage", "N"},
        {"check", 0, 0, G_OPTION_ARG_NONE, &options->check, "Fail on a missed target", NULL},
        {"orders", 0, 0, G_OPTION_ARG_NONE, &options->orders, "Measure only the orders", NULL},
        {"puts", 0, 0, G_OPTION_ARG_NONE, &options->puts, "Measure only puts in each version", NULL},
        {"hint-path", 0, 0, G_OPTION_ARG_NONE, &options->hint_path, "Add a path over a field that changes",
         NULL},
        {"log", 0, 0, G_OPTION_ARG_STRING, &options->log, "Log level of the gateways", "LEVEL"},
        {0}};
    g_autoptr(GOptionContext) context = g_option_context_new("- measures a change of a key rule");
    g_autoptr(GError) failed = NULL;
    g_option_context_add_main_entries(context, entries, NULL);
    if (!g_option_context_parse(context, &count, &arguments, &failed)) {
        fprintf(stderr, "%s\n", failed->message);
        exit(2);
    }
    options->rounds = CLAMP(options->rounds, 1, 50);
    options->rows = MAX(options->rows / BENCH_BATCH, 2) * BENCH_BATCH;
}

static bool
run(const bench_options *options, const char *folder)
{
    bench_gateway changed, unchanged;
    bench_gateway *const all[] = {&changed, &unchanged};
    for (size_t i = 0; i < 2; i++)
        bench_gateway_start(all[i], options, folder, options->hbase && i == 0 ? BENCH_GATEWAYS : 1);
    bench_load(all, 2, (uint64_t)options->rows);
    bool good = bench_stages(options, &unchanged, &changed);
    bench_gateway_stop(&unchanged);
    bench_gateway_stop(&changed);
    return good;
}

int
main(int count, char **arguments)
{
    bench_options options = {
        .keywayd = g_strdup(KEYWAYD), .rows = 1000000, .seconds = 0.5, .rounds = 5, .log = g_strdup("error")};
    read_options(count, arguments, &options);
    g_autofree char *folder =
        g_build_filename(options.folder ? options.folder : g_get_tmp_dir(), "keyway-bench-XXXXXX", NULL);
    if (!g_mkdtemp(folder)) {
        perror(folder);
        return 1;
    }
    bool good = run(&options, folder);
    const char *const remove_folder[] = {"rm", "-rf", folder, NULL};
    g_spawn_sync(NULL, (char **)(uintptr_t)remove_folder, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL,
                 NULL, NULL);
    g_free(options.keywayd);
    g_free(options.folder);
    g_free(options.hbase);
    g_free(options.log);
    return options.check && !good;
}
