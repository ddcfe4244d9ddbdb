/* How long atomic operations are held while the key rule of a table changes again and again, and while
 * `atomics` changes. What counts is the longest atomic operation of a checker; the duration of the versions
 * that hold is printed, too. */
#include "bench.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>

#define CHECKERS 4
#define CHECKED_RECORDS 2000
#define ROUNDS_MAX 50
#define BEFORE_US 2000000 /* callers before a command, */
#define AFTER_US 500000   /* and after it was carried out */
#define POLL_US 10000

/* The moments at which atomic operations are held, once each. */
typedef enum moment { BEGIN, SWITCH, BACK, COMPLETE, MOMENTS } moment;

static const struct {
    const char *name;
    double limit_s;
} moments[MOMENTS] = {[BEGIN] = {"first hold: begin", 2},
                      [SWITCH] = {"second hold: switch", 4},
                      [BACK] = {"second hold: reverse", 4},
                      [COMPLETE] = {"third hold: complete", 2}};

typedef struct holds {
    const bench_options *options;
    bench_gateway *gateway;
    bench_checkers *checkers;
    gint stop; /* the callers */
    double puts, put_s, longest_put_us;
    double longest_s[MOMENTS][ROUNDS_MAX], held_s[MOMENTS][ROUNDS_MAX], write_s[MOMENTS][ROUNDS_MAX];
    int rounds;
    uint64_t wrong;
    unsigned missed;
} holds;

static void
target(holds *self, bool met)
{
    printf("  %s\n", met ? "met" : "MISSED");
    self->missed += !met;
    fflush(stdout);
}

/* --- one moment ----------------------------------------------------------------------------------- */

static gpointer
run_callers(gpointer data)
{
    holds *self = data;
    gint64 began_us = g_get_monotonic_time();
    bench_work work = {.call = BENCH_PUT,
                       .callers = (size_t)self->options->callers,
                       .seconds = 3600,
                       .stop = &self->stop,
                       .number = &self->gateway->next_put};
    bench_slice puts = bench_callers_run(self->gateway->callers, &work);
    self->puts += puts.replies->len;
    self->put_s += (double)(g_get_monotonic_time() - began_us) / 1e6;
    self->longest_put_us = MAX(self->longest_put_us, bench_percentile_us(puts.replies, 1));
    g_array_unref(puts.replies);
    return NULL;
}

/* Callers and checkers run only around the commands: rows are copied slowly beside calls. */
static GThread *
start_load(holds *self)
{
    g_atomic_int_set(&self->stop, 0);
    bench_checkers_pause(self->checkers, false);
    GThread *callers = self->options->callers ? g_thread_new("callers", run_callers, self) : NULL;
    g_usleep(BEFORE_US);
    return callers;
}

static void
end_load(holds *self, GThread *callers)
{
    g_usleep(AFTER_US);
    g_atomic_int_set(&self->stop, 1);
    bench_checkers_pause(self->checkers, true);
    if (callers)
        g_thread_join(callers);
}

typedef struct watch {
    const bench_gateway *gateway;
    gint done;
} watch;

static gpointer
run_watch(gpointer data)
{
    watch *self = data;
    return bench_watch_versions(self->gateway, &self->done);
}

static bool
holds_atomics(const char *version)
{
    static const char *const holding[] = {"held-old",     "raised-old",   "stamped-old",   "last-pass-old",
                                          "get-both-old", "get-both-new", "last-pass-new", "stamped-new",
                                          "raised-new",   "held-new"};
    for (size_t i = 0; i < G_N_ELEMENTS(holding); i++)
        if (g_str_equal(version, holding[i]))
            return true;
    return false;
}

/* The longest time without a version in which atomic operations run. */
static double
longest_held_s(const GArray *versions)
{
    double longest = 0, now = 0;
    for (guint i = 0; i + 1 < versions->len; i++) {
        const bench_version *at = &g_array_index(versions, bench_version, i);
        now = holds_atomics(at->name) ? now + (double)(at[1].since_ns - at->since_ns) / 1e9 : 0;
        longest = MAX(longest, now);
    }
    return longest;
}

static void
wait_until_ready(const bench_gateway *gateway)
{
    while (!bench_change_progress(gateway).ready)
        g_usleep(POLL_US);
}

static void
carry_out(holds *self, moment what)
{
    if (what == BEGIN)
        bench_begin_rule(self->gateway, self->rounds % 2 == 0);
    else if (!bench_order_change(self->gateway, what == SWITCH ? BENCH_SWITCH
                                                : what == BACK ? BENCH_REVERSE
                                                               : BENCH_COMPLETE)) {
        fprintf(stderr, "bench_change: the change is not ready\n");
        exit(1);
    }
}

static void
note(holds *self, const bench_checked *got)
{
    self->wrong += got->wrong;
}

static void
measure(holds *self, moment what)
{
    watch versions = {.gateway = self->gateway};
    GThread *callers = start_load(self);
    bench_checked before = bench_checkers_so_far(self->checkers);
    note(self, &before);
    GThread *thread = what == BEGIN ? NULL : g_thread_new("versions", run_watch, &versions);
    carry_out(self, what);
    end_load(self, callers);
    g_atomic_int_set(&versions.done, 1);
    bench_checked got = bench_checkers_so_far(self->checkers);
    note(self, &got);
    self->longest_s[what][self->rounds] = got.longest_atomic_us / 1e6;
    self->write_s[what][self->rounds] = got.longest_write_us / 1e6;
    printf("round %d, %s: longest atomic operation %.2f s, longest plain write %.2f s\n", self->rounds + 1,
           moments[what].name, got.longest_atomic_us / 1e6, got.longest_write_us / 1e6);
    fflush(stdout);
    if (thread) {
        GArray *seen = g_thread_join(thread);
        self->held_s[what][self->rounds] = longest_held_s(seen);
        g_array_unref(seen);
    }
}

/* --- all ------------------------------------------------------------------------------------------ */

static void
one_round(holds *self)
{
    measure(self, BEGIN);
    wait_until_ready(self->gateway);
    measure(self, SWITCH);
    measure(self, BACK);
    wait_until_ready(self->gateway);
    carry_out(self, SWITCH);
    measure(self, COMPLETE);
}

static int
by_value(const void *a, const void *b)
{
    double one = *(const double *)a, other = *(const double *)b;
    return (one > other) - (one < other);
}

static void
print_moment(holds *self, moment what)
{
    double *longest = self->longest_s[what], *held = self->held_s[what], *write = self->write_s[what];
    int last = self->rounds - 1;
    qsort(longest, (size_t)self->rounds, sizeof *longest, by_value);
    qsort(held, (size_t)self->rounds, sizeof *held, by_value);
    qsort(write, (size_t)self->rounds, sizeof *write, by_value);
    printf("%-22s longest atomic operation %.2f s (%.2f to %.2f), at most %.0f s; longest plain write %.2f s "
           "(%.2f to "
           "%.2f)",
           moments[what].name, longest[self->rounds / 2], longest[0], longest[last], moments[what].limit_s,
           write[self->rounds / 2], write[0], write[last]);
    if (what != BEGIN) /* the change is not under way before */
        printf("; versions that hold %.2f s (%.2f to %.2f)", held[self->rounds / 2], held[0], held[last]);
    target(self, longest[last] <= moments[what].limit_s);
}

/* Turns `atomics` off and on. Atomic operations are not allowed before, so no checker runs. */
static void
measure_setting(holds *self)
{
    static const char off[] = "    order: stamp\n    atomics: false\n",
                      on[] = "    order: stamp\n    atomics: true\n";
    if (!g_str_equal(self->gateway->settings, on))
        return;
    for (int i = 0; i < 2; i++) {
        watch versions = {.gateway = self->gateway};
        gint64 began_us = g_get_monotonic_time();
        bench_apply_settings(self->gateway, i ? on : off);
        GThread *thread = g_thread_new("versions", run_watch, &versions);
        bench_wait_for_end(self->gateway);
        g_atomic_int_set(&versions.done, 1);
        GArray *seen = g_thread_join(thread);
        printf("atomics: %s: %.2f s, of which atomic operations were held for %.2f s (store.late is 2 s)\n",
               i ? "true" : "false", (double)(g_get_monotonic_time() - began_us) / 1e6, longest_held_s(seen));
        g_array_unref(seen);
    }
}

bool
bench_holds(const bench_options *options, bench_gateway *gateway)
{
    holds *self = g_new0(holds, 1);
    *self = (holds){.options = options, .gateway = gateway};
    printf("%d rows; %zu gateways, default configuration; %d changes of the key rule\n%s", options->rows,
           gateway->count, options->rounds, gateway->settings);
    self->checkers = bench_checkers_start(gateway, CHECKERS, CHECKED_RECORDS);
    bench_checkers_pause(self->checkers, true);
    for (; self->rounds < MIN(options->rounds, ROUNDS_MAX); self->rounds++)
        one_round(self);
    printf("%d callers that put, and %d checkers: %.0f puts/s, the longest took %.0f ms\n", options->callers,
           CHECKERS, self->put_s > 0 ? self->puts / self->put_s : 0, self->longest_put_us / 1000);
    for (moment what = 0; what < MOMENTS; what++)
        print_moment(self, what);
    bench_checkers_end(self->checkers);
    bench_checkers_read_all(self->checkers, (uint64_t)options->rows / 2, CHECKED_RECORDS);
    bench_checked last = bench_checkers_so_far(self->checkers);
    note(self, &last);
    printf("wrong answers of %d checkers: %llu (at most 0)", CHECKERS, (unsigned long long)self->wrong);
    target(self, self->wrong == 0);
    bench_checkers_free(self->checkers);
    measure_setting(self);
    bool good = self->missed == 0;
    g_free(self);
    return good;
}
