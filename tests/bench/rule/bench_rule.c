/* The cost of encoding and decoding a row key, and of planning.
 *
 * Targets: a key of the order-tracking rule in 0.5 us and of a calendar rule in 0.6 us, both without malloc;
 * a plan over 256 buckets in 50 us, and over a day of 1,440 minutes in 1 ms.
 *
 * Prints the best of several rounds; one result per line: name, value, unit. With --check it fails if a
 * target is missed by more than a factor of two (benchmarks run on shared machines).
 */
#include "base/clock.h"
#include "config/reader.h"
#include "plan/plan.h"

#include <stdio.h>
#include <stdlib.h>

#define ROUNDS 7

/* Counts every allocation of the process. */
static size_t allocations;
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);

void *
malloc(size_t size)
{
    allocations++;
    return __libc_malloc(size);
}

void *
calloc(size_t count, size_t size)
{
    allocations++;
    return __libc_calloc(count, size);
}

void *
realloc(void *old, size_t size)
{
    allocations++;
    return __libc_realloc(old, size);
}

static const char policy_text[] = "tables:\n"
                                  "  events:\n"
                                  "    fields: {order_id: string, ts: timestamp, status: string}\n"
                                  "    key:\n"
                                  "      - hash: {of: order_id, algorithm: md5, take: 4}\n"
                                  "      - field: {name: order_id, encoding: raw}\n"
                                  "      - field: {name: ts, order: desc}\n"
                                  "    paths:\n"
                                  "      by_time:\n"
                                  "        key:\n"
                                  "          - salt: {of: order_id, buckets: 256}\n"
                                  "          - field: ts\n"
                                  "          - field: order_id\n"
                                  "  archive:\n"
                                  "    fields:\n"
                                  "      seq: int\n"
                                  "      ts: {type: timestamp, column: \"d:ts\"}\n"
                                  "      text: string\n"
                                  "    key:\n"
                                  "      - calendar: {of: ts, parts: [mm, HH, dd, MM, yyyy], sequence: seq,\n"
                                  "                   zone: Europe/Berlin, as: packed, width: 7}\n";

typedef struct kw_bench {
    kw_policy *policy;
    const kw_table *table;
    kw_arena *arena;
    kw_record record;
    kw_bound *bounds;
    kw_buffer key;
    const kw_table *archive;
    kw_record text;
} kw_bench;

static void
encode(kw_bench *bench, size_t path)
{
    bench->key.size = 0;
    bench->record.values[1].number++;
    bool done = kw_layout_encode(bench->table->paths[path].layout, &bench->record, &bench->key, NULL);
    g_assert(done);
}

static void
encode_primary(kw_bench *bench)
{
    encode(bench, 0);
}

static void
encode_by_time(kw_bench *bench)
{
    encode(bench, 1);
}

static void
encode_calendar(kw_bench *bench)
{
    bench->key.size = 0;
    bench->text.values[0].number = (bench->text.values[0].number + 1) % 100000;
    bench->text.values[1].number += 60001;
    bool done = kw_layout_encode(bench->archive->paths[0].layout, &bench->text, &bench->key, NULL);
    g_assert(done);
}

static void
plan_day(kw_bench *bench)
{
    static const kw_bound unbound[3];
    kw_record_query query = {
        .table = bench->archive,
        .path = -1,
        .bounds = unbound,
        .range_field = 1,
        .from = {.kind = KW_VALUE_NUMBER, .number = 1620000000000 / 86400000 * 86400000},
        .to = {.kind = KW_VALUE_NUMBER, .number = (1620000000000 / 86400000 + 1) * 86400000},
        .from_inclusive = true,
        .range_limit = 10000,
    };
    const kw_plan *made;
    bool done = kw_plan_make(&query, bench->arena, &made, NULL);
    g_assert(done && made->ranges_count == 1440 && made->groups_count == 1440);
    kw_arena_reset(bench->arena);
}

static void
decode_primary(kw_bench *bench)
{
    kw_value values[3] = {KW_VALUE_ABSENT};
    kw_record record = {.values = values};
    bool done = kw_layout_decode(bench->table->paths[0].layout, kw_buffer_bytes(&bench->key), bench->arena,
                                 &record, NULL);
    g_assert(done);
}

static void
plan(kw_bench *bench, int range_field)
{
    kw_record_query query = {
        .table = bench->table,
        .path = -1,
        .bounds = bench->bounds,
        .range_field = range_field,
        .from = {.kind = KW_VALUE_NUMBER, .number = 1000},
        .to = {.kind = KW_VALUE_NUMBER, .number = 2000},
        .range_limit = 10000,
    };
    const kw_plan *made;
    bool done = kw_plan_make(&query, bench->arena, &made, NULL);
    g_assert(done);
    kw_arena_reset(bench->arena);
}

static void
plan_of_order(kw_bench *bench)
{
    bench->bounds[0] = (kw_bound){.values = &bench->record.values[0], .count = 1};
    plan(bench, 1);
    bench->bounds[0] = (kw_bound){.count = 0};
}

static void
plan_256_buckets(kw_bench *bench)
{
    plan(bench, 1);
}

/* Nanoseconds per call in the best round. */
static double
measure(kw_bench *bench, void (*work)(kw_bench *bench), unsigned calls)
{
    double best = 1e18;
    for (unsigned round = 0; round < ROUNDS; round++) {
        uint64_t start = kw_clock_mono_ns();
        for (unsigned call = 0; call < calls; call++)
            work(bench);
        double each = (double)(kw_clock_mono_ns() - start) / calls;
        best = each < best ? each : best;
    }
    return best;
}

static bool
report(const char *name, double value_ns, double aim_ns)
{
    printf("%-34s %10.1f ns", name, value_ns);
    if (aim_ns > 0)
        printf("   aim %.0f ns", aim_ns);
    putchar('\n');
    return aim_ns <= 0 || value_ns <= 2 * aim_ns;
}

static bool
allocates_nothing(kw_bench *bench, void (*work)(kw_bench *bench))
{
    work(bench); /* the buffer grows to its final size */
    size_t before = allocations;
    for (unsigned call = 0; call < 1000; call++)
        work(bench);
    size_t made = allocations - before;
    printf("%-34s %10zu\n", "key: allocations of 1000", made);
    return made == 0;
}

static void
open_bench(kw_bench *bench)
{
    size_t count;
    const kw_component_schema *const *schemas = kw_rule_schemas(&count);
    g_autoptr(kw_diagnostics) diagnostics = kw_diagnostics_new("bench");
    g_autoptr(kw_model) model =
        kw_model_read_text("bench", policy_text, strlen(policy_text), schemas, count, diagnostics);
    bench->policy = model ? kw_policy_new(model, diagnostics) : NULL;
    if (!bench->policy) {
        g_autofree char *text = kw_diagnostics_text(diagnostics);
        g_error("%s", text);
    }
    bench->table = kw_policy_find_table(bench->policy, KW_BYTES_LITERAL("events"));
    bench->arena = kw_arena_new();
    static kw_value values[3];
    values[0] = (kw_value){.kind = KW_VALUE_TEXT, .bytes = KW_BYTES_LITERAL("SF177814904")};
    values[1] = (kw_value){.kind = KW_VALUE_NUMBER, .number = 1588154450767};
    bench->record = (kw_record){.values = values};
    static kw_bound bounds[3];
    bench->bounds = bounds;
    bench->archive = kw_policy_find_table(bench->policy, KW_BYTES_LITERAL("archive"));
    static kw_value text[3];
    text[0] = text[1] = values[1];
    text[0].number = 0;
    bench->text = (kw_record){.values = text};
}

int
main(int argc, char **argv)
{
    bool check = argc > 1 && strcmp(argv[1], "--check") == 0;
    kw_bench bench = {.policy = NULL};
    open_bench(&bench);
    bool good = allocates_nothing(&bench, encode_primary);
    good = allocates_nothing(&bench, encode_calendar) && good;
    good = report("key: md5 prefix, id, time", measure(&bench, encode_primary, 200000), 500) && good;
    good = report("key: salt, time, id", measure(&bench, encode_by_time, 200000), 0) && good;
    good = report("key: calendar and sequence", measure(&bench, encode_calendar, 200000), 600) && good;
    encode_primary(&bench);
    good = report("key read back and checked (md5)", measure(&bench, decode_primary, 200000), 0) && good;
    good = report("plan: one order, range in time", measure(&bench, plan_of_order, 50000), 0) && good;
    good = report("plan: 256 buckets, range in time", measure(&bench, plan_256_buckets, 2000), 50000) && good;
    good = report("plan: a day of 1440 minutes", measure(&bench, plan_day, 500), 1000000) && good;
    kw_buffer_clear(&bench.key);
    kw_arena_free(bench.arena);
    kw_policy_unref(bench.policy);
    return check && !good ? EXIT_FAILURE : EXIT_SUCCESS;
}
