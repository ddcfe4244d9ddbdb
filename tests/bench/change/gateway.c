/* Starts gateways, and drives their change through libkeyway. */
#include "bench.h"

#include "keyway.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#define TABLE "rows"

static const char settings[] =
    "listen: 127.0.0.1:0\nadmin: off\nlog: {level: error}\npolicy: {source: store}\n"
    "store: {kind: embedded, path: '%s/data'}\n";
static const char fields[] =
    "tables:\n  " TABLE ":\n    fields: {id: string, ts: timestamp, a: bytes, b: bytes, c: bytes}\n"
    "    key:\n      - salt: {of: [id], buckets: 16}\n";
static const char by_id[] = "      - field: id\n      - field: {name: ts, order: desc}\n";
static const char by_time[] = "      - field: ts\n      - field: id\n";

static void
must(bool fine, const char *what, const GError *error)
{
    if (fine)
        return;
    fprintf(stderr, "bench_change: %s: %s\n", what, error ? error->message : g_strerror(errno));
    exit(1);
}

static kw_client *
open_client(const bench_gateway *gateway)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *address = g_strdup_printf("127.0.0.1:%u", gateway->port);
    kw_client *client = kw_client_open(address, NULL, &error);
    must(client, "connect", error);
    return client;
}

static void
apply(const bench_gateway *gateway, const char *key, gint64 expected_version)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(kw_client) client = open_client(gateway);
    g_autofree char *text = g_strconcat(fields, key, NULL);
    g_autoptr(kw_applied_policy) applied =
        kw_client_policy_apply(client, text, expected_version, NULL, &error);
    must(applied, "apply a policy", error);
}

/* --- start and stop ------------------------------------------------------------------------------- */

static uint16_t
spawn(const char *keywayd, const char *file, GPid *ret_process)
{
    g_autoptr(GError) error = NULL;
    const char *const command[] = {keywayd, "--config", file, NULL};
    int out;
    char line[256];
    must(g_spawn_async_with_pipes(NULL, (char **)(uintptr_t)command, NULL, G_SPAWN_DO_NOT_REAP_CHILD, NULL,
                                  NULL, ret_process, NULL, &out, NULL, &error),
         keywayd, error);
    FILE *from = fdopen(out, "r"); /* stays open */
    const char *colon = fgets(line, sizeof line, from) ? strrchr(line, ':') : NULL;
    must(colon && atoi(colon + 1) > 0, "keywayd prints no port", NULL);
    return (uint16_t)atoi(colon + 1);
}

void
bench_gateway_start(bench_gateway *gateway, const char *keywayd, const char *folder)
{
    g_autoptr(GError) error = NULL;
    *gateway = (bench_gateway){.folder = g_build_filename(folder, "XXXXXX", NULL)};
    must(g_mkdtemp(gateway->folder), gateway->folder, NULL);
    g_autofree char *file = g_build_filename(gateway->folder, "keyway.yaml", NULL);
    g_autofree char *text = g_strdup_printf(settings, gateway->folder);
    must(g_file_set_contents(file, text, -1, &error), file, error);
    gateway->port = spawn(keywayd, file, &gateway->process);
    apply(gateway, by_id, 0);
    gateway->callers = bench_callers_open(gateway->port, BENCH_CALLERS);
}

void
bench_gateway_stop(bench_gateway *gateway)
{
    bench_callers_close(gateway->callers);
    kill(gateway->process, SIGTERM);
    waitpid(gateway->process, NULL, 0);
    g_free(gateway->folder);
}

/* --- the change ----------------------------------------------------------------------------------- */

void
bench_begin_change(const bench_gateway *gateway)
{
    apply(gateway, by_time, 1);
}

bool
bench_order_change(const bench_gateway *gateway, bench_order order)
{
    static const kw_change_action actions[] = {[BENCH_SWITCH] = KW_CHANGE_SWITCH,
                                               [BENCH_COMPLETE] = KW_CHANGE_COMPLETE,
                                               [BENCH_PAUSE] = KW_CHANGE_PAUSE,
                                               [BENCH_RESUME] = KW_CHANGE_RESUME};
    const kw_change_options options = {.expire_cursors = order == BENCH_COMPLETE};
    g_autoptr(GError) error = NULL;
    g_autoptr(kw_client) client = open_client(gateway);
    g_autoptr(GPtrArray) after = kw_client_order_change(client, TABLE, actions[order],
                                                        order == BENCH_COMPLETE ? &options : NULL, &error);
    must(after || g_error_matches(error, KW_CLIENT_ERROR, KW_CLIENT_REFUSED), "order a change", error);
    return after != NULL;
}

bench_progress
bench_change_progress(const bench_gateway *gateway)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(kw_client) client = open_client(gateway);
    g_autoptr(GPtrArray) changes = kw_client_changes(client, TABLE, &error);
    must(changes && changes->len == 1, "the status of the change", error);
    const kw_change_status *status = changes->pdata[0];
    must(!status->problem[0], status->problem, NULL);
    return (bench_progress){.copied = status->rows_copied,
                            .compared = status->rows_compared,
                            .all_copied = status->copied,
                            .all_compared = status->compared};
}

/* --- CPU time and memory
 * --------------------------------------------------------------------------------------- */

double
bench_cpu_us(const bench_gateway *gateway)
{
    clockid_t clock;
    struct timespec taken;
    must(!clock_getcpuclockid(gateway->process, &clock) && !clock_gettime(clock, &taken), "CPU time", NULL);
    return (double)taken.tv_sec * 1e6 + (double)taken.tv_nsec / 1e3;
}

double
bench_peak_mib(const bench_gateway *gateway)
{
    g_autofree char *text = NULL;
    g_autofree char *file = g_strdup_printf("/proc/%d/status", (int)gateway->process);
    must(g_file_get_contents(file, &text, NULL, NULL), file, NULL);
    const char *line = strstr(text, "VmHWM:");
    must(line, "no VmHWM", NULL);
    return atof(line + strlen("VmHWM:")) / 1024;
}

void
bench_reset_peak(const bench_gateway *gateway)
{
    g_autofree char *name = g_strdup_printf("/proc/%d/clear_refs", (int)gateway->process);
    FILE *file = fopen(name, "w");
    must(file && fputs("5", file) >= 0 && fclose(file) == 0, name, NULL);
}
