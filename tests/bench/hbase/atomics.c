/* Atomic operations of tables with order: stamp and atomics: true, and what this setting costs puts.
 *
 * With order: store, increment and putIf are HBase's own operations. With order: stamp they are a read and a
 * conditional write, and writes of the record's other rows. The sides are tables of one gateway, and direct
 * calls to Thrift2. */
#include "bench.h"
#include "table.h"

#include <glib.h>

#define MANY 64
#define SIDES_MOST 4
#define LOADED 500

#define P50_MOST 2.6
#define SUMS_LEAST 5
#define PUT_P50_MOST 1.1
#define PUT_RATE_LEAST (1 / 1.1)

typedef struct atomic_side {
    const char *name;
    bench_side side;
    int64_t counted_before; /* the sum of the counters when the benchmark began */
} atomic_side;

typedef struct atomics {
    bench *all;
    atomic_side direct, native, stamped, atomic, atomic_paths;
} atomics;

typedef struct measured {
    slice_result of[SIDES_MOST][ROUNDS_MOST];
    int rounds;
} measured;

/* --- tables ------------------------------------------------------------------------------------- */

static void
load_side(bench_side *side)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    link_to *link = link_open(&side->place);
    for (uint64_t first = 0; first < side->rows; first += LOADED) {
        kw_arena_reset(arena);
        bench_call call =
            side->way->put_many(arena, side->table, first, (size_t)MIN(side->rows - first, LOADED), 1);
        side->way->check_put_many(link_call(link, call.method, call.args));
    }
    for (uint64_t row = 0; row < side->rows; row++)
        side->generations[row] = 1;
    link_close(link);
}

/* Returns the sum of the counters. */
static int64_t
increment_all(bench_side *side)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    link_to *link = link_open(&side->place);
    int64_t sum = 0;
    for (uint64_t i = 0; i < BENCH_COUNTERS; i++) {
        bench_call call = side->way->increment(arena, side->table, i);
        sum += side->way->check_increment(link_call(link, call.method, call.args));
    }
    link_close(link);
    return sum;
}

/* `from`: the side of the same server in the benchmark. */
static void
open_side(atomic_side *to, const char *name, const bench_side *from, bench_table table, bool counts)
{
    *to = (atomic_side){.name = name, .side = *from};
    to->side.table = table;
    to->side.generations = g_new0(uint32_t, from->rows);
    to->side.doubtful = g_new0(bool, from->rows);
    load_side(&to->side);
    if (counts)
        to->counted_before = increment_all(&to->side);
}

/* Each row has the last acknowledged put, and the counters the sum of the acknowledged increments. */
static void
verify_side(atomic_side *of)
{
    bench_side *side = &of->side;
    g_autoptr(kw_arena) arena = kw_arena_new();
    link_to *link = link_open(&side->place);
    for (uint64_t row = 0; row < side->rows; row++) {
        kw_arena_reset(arena);
        bench_call call = side->way->get(arena, side->table, row);
        if (!side_is_right(side, row, side->way->check_get(link_call(link, call.method, call.args), row)))
            caller_group_fail(of->name, KW_BYTES_LITERAL("a row does not have the last put"));
    }
    link_close(link);
    if (of->counted_before && increment_all(side) != of->counted_before + side->counted + BENCH_COUNTERS)
        caller_group_fail(of->name, KW_BYTES_LITERAL("the counters are not the sum of their increments"));
}

/* --- slices ------------------------------------------------------------------------------------- */

static measured
alternate(const bench *all, atomic_side *const *sides, int count, work what, unsigned callers)
{
    measured got = {.rounds = all->rounds};
    for (int round = 0; round < all->rounds; round++)
        for (int turn = 0; turn < count; turn++) {
            int at = (round + turn) % count;
            got.of[at][round] = slice_run(&sides[at]->side, what, callers, all->slice_ms);
        }
    return got;
}

static double
median_of(const measured *got, int side, rounds_member which)
{
    double values[ROUNDS_MOST];
    for (int i = 0; i < got->rounds; i++)
        values[i] = which(&got->of[side][i]);
    return rounds_median(values, got->rounds);
}

static double
calls_of(const slice_result *of)
{
    return of->store_calls;
}

static const char *
text_of(kw_arena *arena, const char *name, const measured *got, int side)
{
    const char *text = kw_arena_printf(arena, "%s: %.0f /s, p50 %.0f us", name,
                                       median_of(got, side, rounds_rate), median_of(got, side, rounds_p50));
    double calls = median_of(got, side, calls_of);
    return calls > 0 ? kw_arena_printf(arena, "%s, %.2f calls to Thrift2 each", text, calls) : text;
}

/* A row that compares the side `upper` with the side `lower`. */
static void
add_row(const char *measure, const measured *got, atomic_side *const *sides, int lower, int upper,
        rounds_member which, bound how, double must)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    double ratios[ROUNDS_MOST];
    for (int i = 0; i < got->rounds; i++)
        ratios[i] = which(&got->of[upper][i]) / which(&got->of[lower][i]);
    interval value = rounds_interval(ratios, got->rounds);
    table_add_spread(&(table_row){.measure = measure,
                                  .first = text_of(arena, sides[lower]->name, got, lower),
                                  .second = text_of(arena, sides[upper]->name, got, upper),
                                  .value = value.median,
                                  .unit = "x",
                                  .bound = how,
                                  .must = must,
                                  .aim = must},
                     value.low, value.high);
}

/* --- measures ----------------------------------------------------------------------------------- */

static void
measure_one_caller(atomics *self, work what, const char *name)
{
    atomic_side *const sides[] = {&self->native, &self->atomic, &self->atomic_paths, &self->direct};
    measured got = alternate(self->all, sides, 4, what, 1);
    add_row(name, &got, sides, 0, 1, rounds_p50, AT_MOST, P50_MOST);
    add_row(name, &got, sides, 0, 2, rounds_p50, AT_MOST, P50_MOST);
    add_row(name, &got, sides, 3, 0, rounds_p50, NO_BOUND, 0);
    add_row(name, &got, sides, 3, 1, rounds_p50, NO_BOUND, 0);
}

/* The increments of all callers are of one counter. Direct calls are not combined. */
static void
measure_sums(atomics *self)
{
    const char *name = "increments per second of one counter, 64 callers";
    atomic_side *const sides[] = {&self->direct, &self->atomic, &self->atomic_paths, &self->native};
    measured got = alternate(self->all, sides, 4, WORK_INCREMENT, MANY);
    add_row(name, &got, sides, 0, 1, rounds_rate, AT_LEAST, SUMS_LEAST);
    add_row(name, &got, sides, 0, 2, rounds_rate, AT_LEAST, SUMS_LEAST);
    add_row(name, &got, sides, 0, 3, rounds_rate, NO_BOUND, 0);
}

static void
measure_puts(atomics *self)
{
    atomic_side *const sides[] = {&self->stamped, &self->atomic};
    measured one = alternate(self->all, sides, 2, WORK_PUT, 1);
    add_row("put p50, 1 caller", &one, sides, 0, 1, rounds_p50, AT_MOST, PUT_P50_MOST);
    measured many = alternate(self->all, sides, 2, WORK_PUT, MANY);
    add_row("puts per second, 64 callers", &many, sides, 0, 1, rounds_rate, AT_LEAST, PUT_RATE_LEAST);
}

/* A new JVM runs at half its speed for a while. */
static void
warm_up(atomics *self)
{
    static const work works[] = {WORK_PUT, WORK_INCREMENT, WORK_PUT_IF};
    atomic_side *const sides[] = {&self->native, &self->atomic, &self->atomic_paths, &self->stamped};
    kw_deadline end = kw_deadline_in_ms(self->all->warm_ms);
    for (unsigned i = 0; self->all->warm_ms > 0 && !kw_deadline_passed(end); i++) {
        unsigned side = i % G_N_ELEMENTS(sides), what = i / G_N_ELEMENTS(sides) % G_N_ELEMENTS(works);
        if (sides[side] != &self->stamped || works[what] == WORK_PUT) /* the others are not allowed there */
            slice_run(&sides[side]->side, works[what], i / 12 % 2 ? 1 : MANY, 500);
    }
}

void
measure_atomics(bench *all, const char *const *only)
{
    const bench_side *thrift = &all->sides[SIDE_DIRECT], *gateway = &all->sides[SIDE_GATEWAY];
    atomics self = {.all = all};
    open_side(&self.direct, "direct", thrift, BENCH_NATIVE, true);
    open_side(&self.native, "order: store", gateway, BENCH_NATIVE, true);
    open_side(&self.stamped, "order: stamp", gateway, BENCH_STAMPED, false);
    open_side(&self.atomic, "atomics: true", gateway, BENCH_ATOMIC, true);
    open_side(&self.atomic_paths, "atomics: true, two paths", gateway, BENCH_ATOMIC_PATHS, true);
    warm_up(&self);
    if (g_strv_contains(only, "increment"))
        measure_one_caller(&self, WORK_INCREMENT, "increment p50, 1 caller");
    if (g_strv_contains(only, "put_if"))
        measure_one_caller(&self, WORK_PUT_IF, "putIf p50, 1 caller");
    if (g_strv_contains(only, "sums"))
        measure_sums(&self);
    if (g_strv_contains(only, "put"))
        measure_puts(&self);
    atomic_side *const sides[] = {&self.direct, &self.native, &self.stamped, &self.atomic,
                                  &self.atomic_paths};
    for (size_t i = 0; i < G_N_ELEMENTS(sides); i++) {
        verify_side(sides[i]);
        g_free(sides[i]->side.generations);
        g_free(sides[i]->side.doubtful);
    }
}
