/* See slice.h. */
#include "slice.h"

#include "zipf.h"

#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#define OPEN_MS 20000
/* How long to wait for replies after the end, plus 1 ms per caller. A caller without a reply by then is not
 * served. */
#define LINGER_MS 3000
#define SCAN_MOST 100
#define FILES_MORE 200 /* in addition to the callers' connections */

typedef enum kind {
    KIND_PUT,
    KIND_GET,
    KIND_PAGE,
    KIND_INSERT,
    KIND_REMOVE,
    KIND_INCREMENT,
    KIND_PUT_IF
} kind;

typedef struct slice {
    bench_side *side;
    work what;
    unsigned callers;
    uint64_t from_ns, to_ns;
    bool measuring, over;
    double cpu_us, servers_cpu_us, own_us;
    kw_arena *arena;
    zipf popular;
    bool *answered;
    uint64_t *putting; /* by caller: the number of its outstanding put, plus 1; 0: no put */
    slice_samples samples;
    slice_result result;
} slice;

/* --- samples and processes -------------------------------------------------------------------- */

void
slice_samples_add(slice_samples *to, uint64_t ns)
{
    if (to->count == to->capacity) {
        to->capacity = MAX(to->capacity * 2, 4096);
        to->ns = g_renew(uint32_t, to->ns, to->capacity);
    }
    to->ns[to->count++] = (uint32_t)MIN(ns, UINT32_MAX);
}

static int
by_size(const void *a, const void *b)
{
    uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;
    return (one > other) - (one < other);
}

void
slice_samples_summarize(slice_samples *of, slice_result *to)
{
    if (of->count == 0)
        return;
    double sum = 0;
    for (size_t i = 0; i < of->count; i++)
        sum += of->ns[i] / 1e3;
    to->mean_us = sum / (double)of->count;
    qsort(of->ns, of->count, sizeof *of->ns, by_size);
    to->p50_us = of->ns[of->count / 2] / 1e3;
    to->p99_us = of->ns[of->count * 99 / 100] / 1e3;
}

void
slice_samples_clear(slice_samples *of)
{
    g_free(of->ns);
    *of = (slice_samples){0};
}

/* User and system time of the process in microseconds; 0 for process 0. */
static double
slice_cpu_us(pid_t process)
{
    unsigned long user = 0, system = 0;
    char path[64];
    if (!process)
        return 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)process);
    FILE *file = fopen(path, "r");
    if (!file ||
        fscanf(file, "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system) != 2)
        caller_group_fail(path, KW_BYTES_LITERAL("cannot be read"));
    fclose(file);
    return (double)(user + system) * 1e6 / (double)sysconf(_SC_CLK_TCK);
}

static double
servers_cpu_us(const bench_side *side)
{
    double sum = 0;
    for (const pid_t *at = side->servers; at && *at; at++)
        sum += slice_cpu_us(*at);
    return sum;
}

static double
own_cpu_us(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e6 +
           (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

static unsigned
connections_to(uint16_t port)
{
    char line[512];
    unsigned remote, state, count = 0;
    FILE *file = port ? fopen("/proc/net/tcp", "r") : NULL;
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "%*d: %*x:%*x %*x:%x %x", &remote, &state) == 2 && remote == port && state == 1)
            count++;
    if (file)
        fclose(file);
    return count;
}

bool
side_is_right(const bench_side *side, uint64_t number, uint32_t generation)
{
    uint32_t wanted = side->generations[number];
    return generation == wanted || !side->exact || (side->doubtful[number] && generation == wanted + 1);
}

/* --- the next call of a caller ---------------------------------------------------------------- */

/* In measured loops each caller puts only its own rows, so that the last write of each row is known. */
static uint64_t
own_row(const slice *of, unsigned caller)
{
    uint64_t rows = of->side->rows, mine = (rows - caller + of->callers - 1) / of->callers;
    return caller + of->callers * (kw_random_u64() % MAX(mine, 1));
}

static bench_call
choose_removal(slice *of, uint64_t *ret_number)
{
    bench_side *side = of->side;
    if (side->removed == side->rows)
        caller_group_fail("removals", KW_BYTES_LITERAL("every row is removed; use more --rows"));
    *ret_number = side->removed++;
    return side->way->remove(of->arena, BENCH_ORDERED, *ret_number);
}

static bench_call
choose(slice *of, unsigned caller, kind *ret_kind, uint64_t *ret_number)
{
    bench_side *side = of->side;
    if (of->what == WORK_REMOVE) {
        *ret_kind = KIND_REMOVE;
        return choose_removal(of, ret_number);
    }
    if (of->what == WORK_INCREMENT) {
        *ret_kind = KIND_INCREMENT;
        *ret_number = of->callers == 1 ? kw_random_u64() % BENCH_COUNTERS : 0;
        return side->way->increment(of->arena, side->table, *ret_number);
    }
    if (of->what == WORK_PUT_IF) {
        *ret_kind = KIND_PUT_IF;
        *ret_number = own_row(of, caller);
        return side->way->put_if(of->arena, side->table, *ret_number, side->generations[*ret_number]);
    }
    uint64_t dice = kw_random_u64() % 100;
    bool writes =
        of->what == WORK_PUT || (of->what == WORK_MIX_A && dice < 50) || (of->what == WORK_MIX_B && dice < 5);
    if (of->what == WORK_MIX_E) {
        *ret_kind = dice < 5 ? KIND_INSERT : KIND_PAGE;
        *ret_number = dice < 5 ? side->inserted++ : zipf_next(&of->popular);
        return dice < 5
                   ? side->way->put(of->arena, BENCH_ORDERED, *ret_number, 1)
                   : side->way->page(of->arena, *ret_number, 1 + (uint32_t)(kw_random_u64() % SCAN_MOST));
    }
    if (of->what == WORK_PUT)
        *ret_number = own_row(of, caller);
    else if (of->what == WORK_GET)
        *ret_number = kw_random_u64() % side->rows;
    else if (of->what == WORK_GET_ONE)
        *ret_number = 0;
    else if (of->what == WORK_GET_HOT)
        *ret_number = dice < 90 ? 0 : kw_random_u64() % side->rows;
    else
        *ret_number = zipf_next(&of->popular);
    *ret_kind = writes ? KIND_PUT : KIND_GET;
    return writes ? side->way->put(of->arena, side->table, *ret_number, side->generations[*ret_number] + 1)
                  : side->way->get(of->arena, side->table, *ret_number);
}

static void
send_next(group_caller *caller, void *user)
{
    slice *of = user;
    kind what;
    uint64_t number;
    kw_arena_reset(of->arena);
    bench_call call = choose(of, group_caller_number(caller), &what, &number);
    of->putting[group_caller_number(caller)] = what == KIND_PUT || what == KIND_PUT_IF ? number + 1 : 0;
    group_caller_send(caller, call.method, call.args, (uint64_t)what << 56 | number);
}

static void
check_answer(slice *of, const group_answer *answer)
{
    bench_side *side = of->side;
    uint64_t number = answer->tag & (((uint64_t)1 << 56) - 1);
    switch ((kind)(answer->tag >> 56)) {
    case KIND_PUT:
        side->way->check_put(answer->result);
        side->generations[number]++;
        break;
    case KIND_INSERT:
        side->way->check_put(answer->result);
        break;
    case KIND_GET:
        if (!side_is_right(side, number, side->way->check_get(answer->result, number)))
            caller_group_fail(side->way->name, KW_BYTES_LITERAL("a get does not return the last put"));
        break;
    case KIND_PAGE:
        side->way->check_page(answer->result);
        break;
    case KIND_REMOVE:
        side->way->check_remove(answer->result);
        break;
    case KIND_PUT_IF:
        side->way->check_put_if(answer->result);
        side->generations[number]++;
        break;
    case KIND_INCREMENT:
        side->way->check_increment(answer->result);
        side->counted++;
        break;
    }
}

static void
mark_time(slice *of, uint64_t now)
{
    if (!of->measuring && now >= of->from_ns) {
        of->measuring = true;
        of->cpu_us = slice_cpu_us(of->side->process);
        of->servers_cpu_us = servers_cpu_us(of->side);
        of->own_us = own_cpu_us();
    }
    if (!of->over && now >= of->to_ns) {
        of->over = true;
        of->cpu_us = slice_cpu_us(of->side->process) - of->cpu_us;
        of->servers_cpu_us = servers_cpu_us(of->side) - of->servers_cpu_us;
        of->own_us = own_cpu_us() - of->own_us;
    }
}

static void
on_answer(group_caller *caller, const group_answer *answer, void *user)
{
    slice *of = user;
    if (!answer->result)
        caller_group_fail(of->side->way->name, answer->text);
    check_answer(of, answer);
    of->result.answered++;
    of->result.served += !of->answered[group_caller_number(caller)];
    of->answered[group_caller_number(caller)] = true;
    of->putting[group_caller_number(caller)] = 0;
    mark_time(of, answer->end_ns);
    if (answer->end_ns >= of->from_ns && answer->end_ns < of->to_ns)
        slice_samples_add(&of->samples, answer->end_ns - answer->start_ns);
    if (!of->over)
        send_next(caller, of);
}

static void
on_lost(group_caller *caller, size_t outstanding, void *user)
{
    slice *of = user;
    (void)caller, (void)outstanding;
    of->result.lost++;
}

static const group_handlers handlers = {.start = send_next, .answer = on_answer, .lost = on_lost};

static void
finish_result(slice *of)
{
    slice_result *result = &of->result;
    result->calls = of->samples.count;
    double us = (double)(of->to_ns - of->from_ns) / 1e3;
    result->per_second = (double)result->calls * 1e6 / us;
    slice_samples_summarize(&of->samples, result);
    if (of->over && result->calls) {
        result->cpu_us = of->cpu_us / (double)result->calls;
        result->servers_cpu_us = of->servers_cpu_us / (double)result->calls;
        result->generator = of->own_us / us;
    }
    result->upstream = connections_to(of->side->thrift_port);
}

/* A put without a reply has an unknown outcome; it can be applied later. */
static void
note_doubts(const slice *of)
{
    bool any = false;
    for (unsigned i = 0; i < of->callers; i++) {
        if (of->putting[i])
            of->side->doubtful[of->putting[i] - 1] = any = true;
    }
    if (any)
        g_usleep(500000);
}

/* keywayd inherits the same limit and needs as many files. */
static void
check_file_limit(unsigned callers)
{
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    if (files.rlim_cur < callers + FILES_MORE) {
        fprintf(stderr, "%u callers need a limit of %u open files (ulimit -n); it is %llu\n", callers,
                callers + FILES_MORE, (unsigned long long)files.rlim_cur);
        exit(1);
    }
}

static double
store_calls(const bench_side *side)
{
    return side->way == &way_gateway ? gateway_stat(&side->place, "store_calls") : 0;
}

slice_result
slice_run(bench_side *side, work what, unsigned callers, int ms)
{
    slice of = {.side = side, .what = what, .callers = callers, .arena = kw_arena_new()};
    if (what >= WORK_MIX_A && what <= WORK_MIX_E)
        of.popular = zipf_of(side->rows);
    if (what == WORK_MIX_A || what == WORK_MIX_B)
        side->exact = false;
    of.answered = g_new0(bool, callers);
    of.putting = g_new0(uint64_t, callers);
    check_file_limit(callers);
    caller_group *all = caller_group_open(&side->place, callers, OPEN_MS, &handlers, &of);
    double calls = store_calls(side);
    uint64_t now = kw_clock_mono_ns();
    of.to_ns = now + (uint64_t)ms * 1000000;
    of.from_ns = now + (uint64_t)ms * 200000;
    of.result = (slice_result){.callers = callers, .connected = caller_group_size(all)};
    caller_group_start(all);
    caller_group_run(all, kw_deadline_in_ms(ms + LINGER_MS + (int)callers));
    of.result.store_calls = (store_calls(side) - calls) / (double)MAX(of.result.answered, 1);
    finish_result(&of);
    caller_group_close(all);
    note_doubts(&of);
    g_free(of.answered);
    g_free(of.putting);
    slice_samples_clear(&of.samples);
    kw_arena_free(of.arena);
    return of.result;
}
