/* Starts gateways, and drives their change through libkeyway. */
#include "bench.h"

#include "base/clock.h"
#include "keyway.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TABLE "rows"

#define POLL_US 5000

static const char settings[] = "listen: 127.0.0.1:0\nadmin: off\nlog: {level: %s}\npolicy: {source: store}\n";
static const char embedded[] = "store: {kind: embedded, path: '%s/data'}\n";
static const char hbase[] = "gateway_id: %s_%zu\nstore:\n  kind: hbase\n  servers: ['%s']\n"
                            "  create_missing: true\n  catalog: %s_catalog\n  late: 2s\n";
static const char fields[] =
    "tables:\n  " TABLE ":\n    fields: {id: string, ts: timestamp, a: bytes, b: bytes, c: bytes}\n";
static const char placed[] = "    store_table: %s\n    splits: {algorithm: rule, regions: 16}\n";
/* For direct.c; the gateway only creates it. */
static const char direct[] =
    "  direct:\n    fields: {id: string, ts: timestamp, a: bytes, b: bytes, c: bytes}\n"
    "    key:\n      - salt: {of: [id], buckets: 16}\n      - field: id\n      - field: ts\n"
    "    store_table: %s_direct\n    splits: {algorithm: rule, regions: 16}\n";
static const char buckets[] = "    key:\n      - salt: {of: [id], buckets: 16}\n";
static const char by_id[] = "      - field: id\n      - field: {name: ts, order: desc}\n";
static const char by_time[] = "      - field: ts\n      - field: id\n";
/* By a field that changes. */
static const char by_a[] =
    "      - field: id\n      - field: {name: ts, order: desc}\n"
    "    paths: {by_a: {key: [{hash: {of: [a], take: 2}}, field: id, field: ts, field: a]}}\n";

static void
must(bool fine, const char *what, const GError *error)
{
    if (fine)
        return;
    fprintf(stderr, "bench_change: %s: %s\n", what, error ? error->message : g_strerror(errno));
    exit(1);
}

static kw_client *
open_client(const bench_gateway *gateway, size_t which)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *address = g_strdup_printf("127.0.0.1:%u", gateway->ports[which]);
    kw_client *client = kw_client_open(address, NULL, &error);
    must(client, "connect", error);
    return client;
}

static void
apply_text(kw_client *client, const bench_gateway *gateway, const char *text, gint64 expected_version)
{
    g_autoptr(GError) error = NULL;
    const kw_apply_options options = {.only_writer = gateway->on_hbase};
    g_autoptr(kw_applied_policy) applied =
        kw_client_policy_apply(client, text, expected_version, &options, &error);
    must(applied, "apply a policy", error);
}

static void
apply(const bench_gateway *gateway, const char *key, gint64 expected_version)
{
    g_autoptr(kw_client) client = open_client(gateway, 0);
    g_autofree char *where = gateway->on_hbase ? g_strdup_printf(placed, gateway->name) : g_strdup("");
    g_autofree char *more = gateway->on_hbase ? g_strdup_printf(direct, gateway->name) : g_strdup("");
    g_autofree char *text = g_strconcat(fields, where, buckets, key, more, NULL);
    apply_text(client, gateway, text, expected_version);
}

/* --- start and stop ------------------------------------------------------------------------------- */

/* The gateways do not outlive a benchmark that fails. */
static void
end_with_parent(gpointer unused)
{
    (void)unused;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
}

static uint16_t
spawn(const char *keywayd, const char *file, GPid *ret_process)
{
    g_autoptr(GError) error = NULL;
    const char *const command[] = {keywayd, "--config", file, NULL};
    int out;
    char line[256];
    must(g_spawn_async_with_pipes(NULL, (char **)(uintptr_t)command, NULL, G_SPAWN_DO_NOT_REAP_CHILD,
                                  end_with_parent, NULL, ret_process, NULL, &out, NULL, &error),
         keywayd, error);
    FILE *from = fdopen(out, "r"); /* stays open */
    const char *colon = fgets(line, sizeof line, from) ? strrchr(line, ':') : NULL;
    must(colon && atoi(colon + 1) > 0, "keywayd prints no port", NULL);
    return (uint16_t)atoi(colon + 1);
}

static void
start_one(bench_gateway *gateway, const bench_options *options, size_t which)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *file = g_strdup_printf("%s/keyway%zu.yaml", gateway->folder, which);
    g_autofree char *store = gateway->on_hbase
                                 ? g_strdup_printf(hbase, gateway->name, which, options->hbase, gateway->name)
                                 : g_strdup_printf(embedded, gateway->folder);
    g_autofree char *common = g_strdup_printf(settings, options->log);
    g_autofree char *text = g_strconcat(common, store, NULL);
    must(g_file_set_contents(file, text, -1, &error), file, error);
    gateway->ports[which] = spawn(options->keywayd, file, &gateway->processes[which]);
    gateway->count++;
}

/* A gateway that joins is ready when it serves the table. */
static void
wait_for_table(const bench_gateway *gateway, size_t which)
{
    g_autoptr(kw_client) client = open_client(gateway, which);
    for (;;) {
        g_autoptr(GError) error = NULL;
        g_autoptr(GPtrArray) changes = kw_client_changes(client, TABLE, &error);
        if (changes)
            return;
        g_usleep(POLL_US);
    }
}

void
bench_gateway_start(bench_gateway *gateway, const bench_options *options, const char *folder, size_t count)
{
    *gateway = (bench_gateway){.folder = g_build_filename(folder, "XXXXXX", NULL),
                               .on_hbase = options->hbase != NULL,
                               .adds_path = options->hint_path};
    must(g_mkdtemp(gateway->folder), gateway->folder, NULL);
    gateway->name =
        g_strdup_printf("bench_change_%d_%s", (int)getpid(), gateway->folder + strlen(gateway->folder) - 6);
    start_one(gateway, options, 0);
    apply(gateway, by_id, 0);
    while (gateway->count < count)
        start_one(gateway, options, gateway->count);
    for (size_t i = 0; i < count; i++)
        wait_for_table(gateway, i);
    gateway->callers = bench_callers_open(gateway->ports[0], BENCH_CALLERS);
}

void
bench_gateway_stop(bench_gateway *gateway)
{
    bench_callers_close(gateway->callers);
    for (size_t i = 0; i < gateway->count; i++)
        kill(gateway->processes[i], SIGTERM);
    for (size_t i = 0; i < gateway->count; i++)
        waitpid(gateway->processes[i], NULL, 0);
    g_free(gateway->folder);
    g_free(gateway->name);
}

/* --- the change ----------------------------------------------------------------------------------- */

/* The changes of the table that are under way. */
static GPtrArray *
read_changes(kw_client *client)
{
    g_autoptr(GError) error = NULL;
    GPtrArray *changes = kw_client_changes(client, TABLE, &error);
    must(changes && changes->len <= 1, "the status of the change", error);
    const kw_change_status *status = changes->len ? changes->pdata[0] : NULL;
    if (status && status->problem[0])
        fprintf(stderr, "bench_change: %s\n", status->problem);
    return changes;
}

static void
wait_for_version(const bench_gateway *gateway, const char *version)
{
    g_autoptr(kw_client) client = open_client(gateway, 0);
    for (;;) {
        g_autoptr(GPtrArray) changes = read_changes(client);
        const kw_change_status *status = changes->len ? changes->pdata[0] : NULL;
        if (version ? status && g_str_equal(status->version, version) : !status)
            return;
        g_usleep(POLL_US);
    }
}

void
bench_begin_change(const bench_gateway *gateway)
{
    apply(gateway, gateway->adds_path ? by_a : by_time, 1);
    wait_for_version(gateway, "both-old");
}

bool
bench_order_change(const bench_gateway *gateway, bench_order order)
{
    static const kw_change_action actions[] = {[BENCH_SWITCH] = KW_CHANGE_SWITCH,
                                               [BENCH_REVERSE] = KW_CHANGE_REVERSE,
                                               [BENCH_COMPLETE] = KW_CHANGE_COMPLETE,
                                               [BENCH_PAUSE] = KW_CHANGE_PAUSE,
                                               [BENCH_RESUME] = KW_CHANGE_RESUME};
    const kw_change_options options = {.expire_cursors = order == BENCH_COMPLETE};
    g_autoptr(GError) error = NULL;
    g_autoptr(kw_client) client = open_client(gateway, 0);
    g_autoptr(GPtrArray) after = kw_client_order_change(client, TABLE, actions[order],
                                                        order == BENCH_COMPLETE ? &options : NULL, &error);
    must(after || g_error_matches(error, KW_CLIENT_ERROR, KW_CLIENT_REFUSED), "order a change", error);
    if (after && order == BENCH_SWITCH)
        wait_for_version(gateway, "both-new");
    else if (after && order == BENCH_REVERSE)
        wait_for_version(gateway, "both-old");
    else if (after && order == BENCH_COMPLETE)
        wait_for_version(gateway, NULL);
    return after != NULL;
}

/* The gateway that copies knows the progress; the others know what the catalog has. */
bench_progress
bench_change_progress(const bench_gateway *gateway)
{
    bench_progress all = {0};
    for (size_t i = 0; i < gateway->count; i++) {
        g_autoptr(kw_client) client = open_client(gateway, i);
        g_autoptr(GPtrArray) changes = read_changes(client);
        if (changes->len == 0 && gateway->adds_path) /* it has ended by itself */
            return (bench_progress){.all_copied = true, .all_compared = true, .ready = true};
        must(changes->len == 1, "no change is under way", NULL);
        const kw_change_status *status = changes->pdata[0];
        all.copied = MAX(all.copied, status->rows_copied);
        all.compared = MAX(all.compared, status->rows_compared);
        all.all_copied |= status->copied;
        all.all_compared |= status->compared;
        all.ready |= status->copied && status->compared && status->waiting && !status->paused;
    }
    return all;
}

GArray *
bench_watch_versions(const bench_gateway *gateway, const gint *stop)
{
    GArray *versions = g_array_new(FALSE, FALSE, sizeof(bench_version));
    g_autoptr(kw_client) client = open_client(gateway, 0);
    bool under_way = true;
    while (under_way && !g_atomic_int_get(stop)) {
        g_autoptr(GPtrArray) changes = read_changes(client);
        bench_version now = {.since_ns = kw_clock_mono_ns()};
        under_way = changes->len > 0;
        g_strlcpy(now.name, under_way ? ((kw_change_status *)changes->pdata[0])->version : "after",
                  sizeof now.name);
        if (versions->len == 0 ||
            !g_str_equal(g_array_index(versions, bench_version, versions->len - 1).name, now.name))
            g_array_append_val(versions, now);
        g_usleep(POLL_US);
    }
    return versions;
}

/* --- CPU time and memory -------------------------------------------------------------------------- */

double
bench_cpu_us(const bench_gateway *gateway)
{
    clockid_t clock;
    struct timespec taken;
    must(!clock_getcpuclockid(gateway->processes[0], &clock) && !clock_gettime(clock, &taken), "CPU time",
         NULL);
    return (double)taken.tv_sec * 1e6 + (double)taken.tv_nsec / 1e3;
}

static double
peak_mib(GPid process)
{
    g_autofree char *text = NULL;
    g_autofree char *file = g_strdup_printf("/proc/%d/status", (int)process);
    must(g_file_get_contents(file, &text, NULL, NULL), file, NULL);
    const char *line = strstr(text, "VmHWM:");
    must(line, "no VmHWM", NULL);
    return atof(line + strlen("VmHWM:")) / 1024;
}

double
bench_peak_mib(const bench_gateway *gateway)
{
    double sum = 0;
    for (size_t i = 0; i < gateway->count; i++)
        sum += peak_mib(gateway->processes[i]);
    return sum;
}

void
bench_reset_peak(const bench_gateway *gateway)
{
    for (size_t i = 0; i < gateway->count; i++) {
        g_autofree char *name = g_strdup_printf("/proc/%d/clear_refs", (int)gateway->processes[i]);
        FILE *file = fopen(name, "w");
        must(file && fputs("5", file) >= 0 && fclose(file) == 0, name, NULL);
    }
}
