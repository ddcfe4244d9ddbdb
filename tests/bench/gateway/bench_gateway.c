/* The cost of the gateway itself: keywayd with a null store (null_store.c), compared with a server that
 * echoes the same frames on the same kind of loop. Both have one loop. The callers have a core of their own
 * if there are two.
 *
 *   bench_gateway [--keywayd FILE] [--echo FILE] [--method put|get] [--seconds N] [--rounds N]
 *                 [--connections N] [--check]
 *
 * A round is one slice of each server; which one is first alternates. The result is the median of the rounds'
 * ratios, so a temporary slowdown of the machine affects both. --check fails if the gateway reaches less than
 * 60 % of the echo server's calls per second.
 */
#include "load.h"

#include "thrift/keyway_wire.h"

#include <glib.h>
#include <glib/gstdio.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define WANTED 0.6
#define ROUNDS_MAX 99

static const char policy[] =
    "listen: 127.0.0.1:0\nadmin: off\nloops: 1\nlog: {level: warn}\n"
    "cursor: {keys: [a key for benchmarks only]}\n"
    "store: {path: '%s/data'}\n"
    "tables:\n  rows:\n    fields: {id: string, ts: timestamp, a: bytes, b: bytes, c: bytes}\n"
    "    key:\n      - hash: {algorithm: md5, of: [id], take: 4, as: hex}\n      - field: id\n"
    "      - field: {name: ts, order: desc}\n";

typedef struct options {
    char *keywayd;
    char *echo;
    char *method;
    double seconds;
    int rounds;
    int connections;
    gboolean check;
} options;

typedef struct server {
    GPid process;
    uint16_t port;
} server;

/* --- the servers ------------------------------------------------------------------------------ */

/* The first core is for the servers, the others are for the callers. */
static void
take_core(void *unused)
{
    cpu_set_t set;
    (void)unused;
    CPU_ZERO(&set);
    CPU_SET(0, &set);
    if (sysconf(_SC_NPROCESSORS_ONLN) > 1)
        sched_setaffinity(0, sizeof set, &set);
}

static void
leave_core(void)
{
    cpu_set_t set;
    sched_getaffinity(0, sizeof set, &set);
    if (CPU_COUNT(&set) < 2)
        return;
    CPU_CLR(0, &set);
    sched_setaffinity(0, sizeof set, &set);
}

static server
start(char **command)
{
    server made;
    int out;
    g_autoptr(GError) failed = NULL;
    char line[256] = "";
    if (!g_spawn_async_with_pipes(NULL, command, NULL, G_SPAWN_DO_NOT_REAP_CHILD, take_core, NULL,
                                  &made.process, NULL, &out, NULL, &failed)) {
        fprintf(stderr, "%s: %s\n", command[0], failed->message);
        exit(1);
    }
    FILE *from = fdopen(out, "r");
    const char *port = fgets(line, sizeof line, from) ? strpbrk(line, "0123456789") : NULL;
    const char *colon = port ? strchr(port, ':') : NULL;
    made.port = port ? (uint16_t)atoi(colon ? colon + 1 : port) : 0;
    if (made.port == 0) {
        fprintf(stderr, "%s does not print its port\n", command[0]);
        exit(1);
    }
    return made; /* its output stays open; it writes no more */
}

static void
stop(server *running)
{
    kill(running->process, SIGTERM);
    waitpid(running->process, NULL, 0);
}

/* --- the frames ------------------------------------------------------------------------------- */

static void
set(kw_api_Record *record, const char *name, kw_api_Value value)
{
    record->items[record->count].key = kw_bytes_of_text(name);
    record->items[record->count++].value = value;
}

static void
fill_record(kw_api_Record *record, kw_arena *arena)
{
    static uint8_t cell[100];
    kw_bytes bytes = kw_bytes_of(cell, sizeof cell);
    record->items = kw_arena_alloc0(arena, 5 * sizeof *record->items);
    set(record, "id", (kw_api_Value){.has_text = true, .text = KW_BYTES_LITERAL("order-0000000042")});
    set(record, "ts", (kw_api_Value){.has_number = true, .number = 1700000000000});
    set(record, "a", (kw_api_Value){.has_bytes = true, .bytes = bytes});
    set(record, "b", (kw_api_Value){.has_bytes = true, .bytes = bytes});
    set(record, "c", (kw_api_Value){.has_bytes = true, .bytes = bytes});
}

static void
add_message(kw_buffer *frame, size_t method, const void *args)
{
    kw_wire_form form = {KW_WIRE_BINARY, true};
    size_t mark = kw_wire_frame_begin(frame, form);
    kw_wire_message_encode(frame, KW_WIRE_BINARY, kw_bytes_of_text(kw_api_methods[method].name), KW_WIRE_CALL,
                           1);
    kw_wire_struct_encode(frame, KW_WIRE_BINARY, kw_api_methods[method].args, args);
    kw_wire_frame_end(frame, form, mark);
}

static kw_buffer
make_frame(const char *method)
{
    kw_buffer frame = KW_BUFFER_EMPTY;
    g_autoptr(kw_arena) arena = kw_arena_new();
    kw_bytes table = KW_BYTES_LITERAL("rows");
    if (strcmp(method, "put") == 0) {
        kw_api_Data_put_args args = {.has_table = true, .table = table, .has_record = true};
        fill_record(&args.record, arena);
        add_message(&frame, KW_API_Data_put, &args);
    } else {
        kw_api_Data_get_args args = {.has_table = true, .table = table, .has_key = true};
        fill_record(&args.key, arena);
        args.key.count = 2; /* id and ts */
        add_message(&frame, KW_API_Data_get, &args);
    }
    return frame;
}

/* --- the rounds ------------------------------------------------------------------------------- */

static int
compare(const void *a, const void *b)
{
    double one = *(const double *)a, other = *(const double *)b;
    return (one > other) - (one < other);
}

static double
median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, compare);
    return values[count / 2];
}

/* One of the two servers, with its results of all rounds. */
typedef struct side {
    const char *name;
    load *load;
    double rates[ROUNDS_MAX], costs[ROUNDS_MAX]; /* calls/s, us of CPU a call */
} side;

static void
slice(side *of, int round, double seconds)
{
    load_result result = load_slice(of->load, seconds);
    of->rates[round] = result.calls_per_second;
    of->costs[round] = result.server_us;
}

static void
print(side *of, unsigned connections, int rounds)
{
    printf("%-8s %5u connections  %8.0f calls/s  p50 %6.0f us  p99 %6.0f us  %5.2f us of CPU per call\n",
           of->name, connections, median(of->rates, rounds), load_latency_us(of->load, 0.5),
           load_latency_us(of->load, 0.99), median(of->costs, rounds));
}

static void
run_rounds(side *echo, side *gateway, const options *wanted)
{
    for (int warm = 1; warm >= 0; warm--) {
        load_forget(echo->load);
        load_forget(gateway->load);
        for (int i = 0; i < (warm ? 1 : wanted->rounds); i++) {
            slice(i % 2 ? gateway : echo, i, wanted->seconds);
            slice(i % 2 ? echo : gateway, i, wanted->seconds);
        }
    }
}

/* True if the gateway reaches its target. */
static bool
measure(const options *wanted, unsigned connections, const server *echo_server, const server *keywayd,
        kw_bytes frame)
{
    double ratios[ROUNDS_MAX], cpu_ratios[ROUNDS_MAX];
    int rounds = wanted->rounds;
    side echo = {.name = "echo",
                 .load = load_open(echo_server->port, connections, frame, echo_server->process)};
    side gateway = {.name = "keywayd",
                    .load = load_open(keywayd->port, connections, frame, keywayd->process)};
    run_rounds(&echo, &gateway, wanted);
    for (int i = 0; i < rounds; i++) {
        ratios[i] = gateway.rates[i] / echo.rates[i];
        cpu_ratios[i] = echo.costs[i] / gateway.costs[i];
    }
    print(&echo, connections, rounds);
    print(&gateway, connections, rounds);
    double ratio = median(ratios, rounds);
    printf("%-8s %5u connections  %.0f %% of the echo's calls (rounds %.0f to %.0f), %.0f %% by CPU time; "
           "wanted %.0f %%\n\n",
           wanted->method, connections, ratio * 100, ratios[0] * 100, ratios[rounds - 1] * 100,
           median(cpu_ratios, rounds) * 100, WANTED * 100);
    load_close(echo.load);
    load_close(gateway.load);
    return ratio >= WANTED;
}

static bool
read_options(int count, char **arguments, options *wanted)
{
    const GOptionEntry entries[] = {
        {"keywayd", 0, 0, G_OPTION_ARG_FILENAME, &wanted->keywayd, "The gateway", "FILE"},
        {"echo", 0, 0, G_OPTION_ARG_FILENAME, &wanted->echo, "The echo server", "FILE"},
        {"method", 0, 0, G_OPTION_ARG_STRING, &wanted->method, "put or get", "NAME"},
        {"seconds", 0, 0, G_OPTION_ARG_DOUBLE, &wanted->seconds, "Duration of a slice", "N"},
        {"rounds", 0, 0, G_OPTION_ARG_INT, &wanted->rounds, "Slices per server", "N"},
        {"connections", 0, 0, G_OPTION_ARG_INT, &wanted->connections, "Instead of 64 and 1,000", "N"},
        {"check", 0, 0, G_OPTION_ARG_NONE, &wanted->check, "Fail if the target is missed", NULL},
        {0}};
    g_autoptr(GOptionContext) context = g_option_context_new(NULL);
    g_autoptr(GError) failed = NULL;
    g_option_context_add_main_entries(context, entries, NULL);
    if (!g_option_context_parse(context, &count, &arguments, &failed)) {
        fprintf(stderr, "%s\n", failed->message);
        return false;
    }
    if (!wanted->method)
        wanted->method = g_strdup("put");
    if (strcmp(wanted->method, "put") != 0 && strcmp(wanted->method, "get") != 0) {
        fprintf(stderr, "--method must be put or get\n");
        return false;
    }
    wanted->rounds = CLAMP(wanted->rounds, 1, ROUNDS_MAX);
    return true;
}

int
main(int count, char **arguments)
{
    options wanted = {.keywayd = g_strdup(KEYWAYD), .echo = g_strdup(ECHO), .seconds = 0.25, .rounds = 20};
    if (!read_options(count, arguments, &wanted))
        return 2;
    g_autofree char *folder = g_dir_make_tmp("keyway-bench-XXXXXX", NULL);
    g_autofree char *file = g_build_filename(folder, "keyway.yaml", NULL);
    g_autofree char *text = g_strdup_printf(policy, folder);
    g_file_set_contents(file, text, -1, NULL);
    server echo = start((char *[]){wanted.echo, NULL});
    server gateway = start((char *[]){wanted.keywayd, "--config", file, NULL});
    leave_core();
    kw_buffer frame = make_frame(wanted.method);
    printf("%s: a request of %zu bytes\n", wanted.method, frame.size);
    bool good = true;
    if (wanted.connections > 0) {
        good = measure(&wanted, (unsigned)wanted.connections, &echo, &gateway, kw_buffer_bytes(&frame));
    } else {
        good = measure(&wanted, 64, &echo, &gateway, kw_buffer_bytes(&frame));
        good = measure(&wanted, 1000, &echo, &gateway, kw_buffer_bytes(&frame)) && good;
    }
    stop(&echo);
    stop(&gateway);
    kw_buffer_clear(&frame);
    g_spawn_sync(NULL, (char *[]){"rm", "-rf", folder, NULL}, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL,
                 NULL, NULL, NULL);
    g_free(wanted.keywayd);
    g_free(wanted.echo);
    g_free(wanted.method);
    return wanted.check && !good;
}
