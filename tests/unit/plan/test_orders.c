/* The answer to a query does not depend on the length of its time range or on the limit of ranges per plan.
 *
 * - A query for an interval and a query for a longer interval return the same rows of the shorter one in the
 *   same order, or both are rejected.
 * - The same holds for queries with low and with high limits of ranges, and for exact and wide windows.
 * - If the time field directly follows a calendar of it, rows of an ordered query are exactly in its order.
 */
#include "plan/world.h"
#include "support/slow_build.h"

#include <stdlib.h>

#define TABLES (300 / KW_TEST_STEP(5))
#define QUERIES 8
#define ATTEMPTS 3 /* longer queries with other limits, for each query */

/* The limit on the ranges to read of one query, in all its windows. */
#define RANGES_MAX 8000

typedef enum kw_test_end { ANSWERED, REJECTED, LIMITED } kw_test_end;

typedef struct kw_test_answer {
    kw_test_end end;
    size_t records[WORLD_RECORDS]; /* in the order of the rows */
    size_t count;
    const char *text; /* of the first plan, or the error */
} kw_test_answer;

typedef struct kw_test_tally {
    size_t queries, answered, rejected, limited, rows, exact;
} kw_test_tally;

static size_t wide_windows, rows_in_wide_windows;

static size_t time_field;

/* Adds the rows of one plan to the answer. */
static void
add_rows(const kw_test_world *world, const kw_plan *plan, kw_test_answer *answer)
{
    static kw_test_row rows[64 * WORLD_RECORDS];
    size_t count = world_read_plan(world, plan, rows, G_N_ELEMENTS(rows));
    for (size_t index = 0; index < count; index++) {
        g_assert_cmpuint(answer->count, <, WORLD_RECORDS);
        answer->records[answer->count++] = rows[index].record;
    }
}

/* A scan chooses exact or wide windows of any size. */
static void
choose_next(const kw_plan *plan, kw_record_query *query)
{
    query->window = plan->rest;
    query->wide_ranges = random_below(2) ? 0 : random_below(100000);
    if (plan->rest.form == KW_WINDOW_OPEN && random_below(4) == 0)
        query->window.form = KW_WINDOW_EXACT;
}

static kw_test_answer
plan_and_read(const kw_test_world *world, kw_record_query query, size_t range_limit)
{
    kw_test_answer answer = {.end = ANSWERED};
    kw_error error = KW_ERROR_NONE;
    const kw_plan *plan;
    g_autoptr(kw_arena) arena = kw_arena_new();
    query.range_limit = range_limit;
    for (size_t ranges = 0, count = 0;; ranges += count + 1) {
        if (!kw_plan_make(&query, arena, &plan, &error)) {
            answer.end = error.code == KW_LIMIT ? LIMITED : REJECTED;
            answer.text = kw_arena_text(world->arena, kw_bytes_of_text(error.text));
            return answer;
        }
        if (ranges == 0)
            answer.text = kw_plan_text(plan, world->arena);
        size_t before = answer.count;
        add_rows(world, plan, &answer);
        wide_windows += plan->replaces > 0;
        rows_in_wide_windows += plan->replaces > 0 ? answer.count - before : 0;
        count = plan->ranges_count;
        if (plan->rest.limit == 0)
            return answer;
        choose_next(plan, &query);
        kw_arena_reset(arena);
        if (ranges > RANGES_MAX) {
            answer.end = LIMITED;
            return answer;
        }
    }
}

/* --- queries ------------------------------------------------------------------------------------- */

/* The length of the shortest cell of the path's clocks, in milliseconds. */
static int64_t
cell_of(const kw_layout *layout)
{
    int64_t cell_s = 86400;
    for (size_t index = 0; index < kw_layout_component_count(layout); index++) {
        const kw_component *component = kw_layout_component(layout, index);
        if (component->clock >= 0)
            cell_s = MIN(cell_s, component->cell_s);
    }
    return cell_s * 1000;
}

static void
set_span(kw_record_query *query, size_t field, int64_t from, int64_t to)
{
    query->range_field = (int)field;
    query->from = (kw_value){.kind = KW_VALUE_NUMBER, .number = from};
    query->to = (kw_value){.kind = KW_VALUE_NUMBER, .number = to};
    query->from_inclusive = query->to_inclusive = true;
}

/* A query for some cells of time around a record, with random other conditions. */
static kw_record_query
short_query(const kw_test_world *world, int64_t *ret_cell)
{
    kw_record_query query;
    world_random_query(world, &query);
    query.path = (int)random_below((unsigned)world->table->queried_paths_count);
    query.full_scan = true;
    ((kw_bound *)query.bounds)[time_field].count = 0;
    *ret_cell = cell_of(world->table->paths[query.path].layout);
    if (query.order != KW_ORDER_PATH && random_below(2) == 0)
        query.path = -1; /* selected by the planner; the selection does not depend on the length either */
    int64_t about = world_likely_value(world, time_field).number;
    about = CLAMP(about, INT64_C(946684800000), INT64_C(1700000000000));
    int64_t from = about - (int64_t)random_below(40) * *ret_cell - random_below(2000);
    set_span(&query, time_field, from, about + (int64_t)random_below(40) * *ret_cell + random_below(2000));
    return query;
}

/* The same query for a longer interval, within the years that every calendar supports. */
static kw_record_query
widen_time(const kw_record_query *query, int64_t cell)
{
    static const int64_t cells[] = {0, 30, 500, 2500};
    kw_record_query more = *query;
    int64_t before = cells[random_below(G_N_ELEMENTS(cells))] * cell;
    int64_t after = cells[random_below(G_N_ELEMENTS(cells))] * cell;
    set_span(&more, time_field, MAX(query->from.number - before, INT64_C(946684800000)),
             MIN(query->to.number + after, INT64_C(4000000000000)));
    return more;
}

/* A query for a range of numbers. */
static kw_record_query
query_about_numbers(const kw_test_world *world, size_t field)
{
    kw_record_query query;
    world_random_query(world, &query);
    query.path = (int)random_below((unsigned)world->table->queried_paths_count);
    query.full_scan = true;
    ((kw_bound *)query.bounds)[field].count = 0;
    int64_t about = world_likely_value(world, field).number;
    about = CLAMP(about, -1000000, 1000000);
    set_span(&query, field, about - (int64_t)random_below(4), about + (int64_t)random_below(4));
    return query;
}

static kw_record_query
widen_numbers(const kw_record_query *query)
{
    static const int64_t steps[] = {0, 1, 5, 1000};
    kw_record_query more = *query;
    set_span(&more, (size_t)query->range_field, query->from.number - steps[random_below(G_N_ELEMENTS(steps))],
             query->to.number + steps[random_below(G_N_ELEMENTS(steps))]);
    return more;
}

/* --- checks -------------------------------------------------------------------------------------- */

/* Removes the records that do not meet the query. */
static void
drop_other_records(const kw_test_world *world, const kw_record_query *query, kw_test_answer *answer)
{
    size_t kept = 0;
    for (size_t index = 0; index < answer->count; index++)
        if (world_meets(query, &world->records[answer->records[index]]))
            answer->records[kept++] = answer->records[index];
    answer->count = kept;
}

static void
check_same(const kw_test_world *world, const kw_test_answer *one, const kw_test_answer *other)
{
    bool same = one->end == other->end && one->count == other->count &&
                memcmp(one->records, other->records, one->count * sizeof *one->records) == 0;
    if (same || one->end == LIMITED || other->end == LIMITED)
        return;
    GString *text = g_string_new("");
    const kw_test_answer *answers[] = {one, other};
    for (size_t at = 0; at < 2; at++) {
        g_string_append_printf(text, "%s\n%s\n",
                               answers[at]->end == REJECTED ? "rejected:" : "rows:", answers[at]->text);
        for (size_t index = 0; index < answers[at]->count; index++)
            g_string_append_printf(text, " %" G_GINT64_FORMAT,
                                   world->records[answers[at]->records[index]].values[time_field].number);
        g_string_append_c(text, '\n');
    }
    g_error("two answers to one query:\n%s\n%s", world->rules.yaml, text->str);
}

/* True if the time field follows the first clock of the rule, and only known or merged components are between
 * them. */
static bool
is_exact(const kw_record_query *query)
{
    const kw_layout *layout = query->table->paths[query->path].layout;
    bool clock = false;
    for (size_t index = 0; index < kw_layout_component_count(layout); index++) {
        const kw_component *component = kw_layout_component(layout, index);
        bool bound = component->field >= 0 && query->bounds[component->field].count == 1;
        if (clock && component->field == (int)time_field && component->clock < 0)
            return component->unit == 1 && component->direction != 0;
        if (component->clock >= 0 && (clock || !component->kind->enumerate || component->also_count > 0))
            return false;
        clock = clock || component->clock >= 0;
        if (component->clock < 0 && !bound && !(component->buckets && component->field < 0))
            return false;
    }
    return false;
}

static void
check_exact(const kw_test_world *world, const kw_record_query *query, const kw_test_answer *answer,
            kw_test_tally *tally)
{
    int sign = query->order == KW_ORDER_ASCENDING ? 1 : -1;
    if (query->order == KW_ORDER_PATH || query->path < 0 || !is_exact(query))
        return;
    tally->exact += answer->count > 1;
    for (size_t index = 1; index < answer->count; index++) {
        int64_t a = world->records[answer->records[index - 1]].values[time_field].number;
        int64_t b = world->records[answer->records[index]].values[time_field].number;
        if ((a - b) * sign > 0)
            g_error("%" G_GINT64_FORMAT " before %" G_GINT64_FORMAT ":\n%s\n%s", (gint64)a, (gint64)b,
                    world->rules.yaml, answer->text);
    }
}

static void
try_query(const kw_test_world *world, kw_test_tally *tally)
{
    static const size_t limits[] = {7, 30, 150, 100000};
    int64_t cell;
    kw_record_query query = short_query(world, &cell);
    kw_test_answer first = plan_and_read(world, query, 100000);
    tally->queries++;
    for (unsigned attempt = 0; attempt < ATTEMPTS; attempt++) {
        kw_record_query more = widen_time(&query, cell);
        kw_test_answer again = plan_and_read(world, more, limits[random_below(G_N_ELEMENTS(limits))]);
        tally->answered += again.end == ANSWERED;
        tally->rejected += again.end == REJECTED;
        tally->limited += again.end == LIMITED;
        if (again.end == ANSWERED)
            check_exact(world, &more, &again, tally);
        drop_other_records(world, &query, &again);
        tally->rows += again.count;
        check_same(world, &first, &again);
    }
}

static void
try_numbers(const kw_test_world *world, size_t field, kw_test_tally *tally)
{
    kw_record_query query = query_about_numbers(world, field);
    kw_test_answer first = plan_and_read(world, query, 100000);
    tally->queries++;
    for (unsigned attempt = 0; attempt < ATTEMPTS; attempt++) {
        kw_test_answer again = plan_and_read(world, widen_numbers(&query), 100000);
        tally->answered += again.end == ANSWERED;
        drop_other_records(world, &query, &again);
        tally->rows += again.count;
        check_same(world, &first, &again);
    }
}

static void
try_world(kw_test_world *world, bool usable, kw_test_tally *tally)
{
    bool timed = false;
    if (usable) {
        time_field = (size_t)kw_table_find_field(world->table, KW_BYTES_LITERAL("t0"));
        timed = world->table->fields[time_field].identity;
    }
    for (unsigned query = 0; timed && query < QUERIES; query++)
        try_query(world, tally);
    world_clear(world);
}

static void
print(const kw_test_tally *tally)
{
    g_print("# %zu queries; longer or with other limits: %zu answered with %zu rows, %zu rejected, %zu too "
            "long; %zu "
            "exactly by time\n",
            tally->queries, tally->answered, tally->rows, tally->rejected, tally->limited, tally->exact);
}

KW_TEST(test_random_rules, "/plan/orders/random_rules")
{
    kw_test_tally tally = {0};
    for (unsigned index = 0; index < TABLES; index++) {
        kw_test_world world;
        random_table rules;
        random_table_make(&rules);
        if (!rules.zone) {
            random_table_clear(&rules);
            continue;
        }
        bool usable = world_make_from(&world, &rules);
        try_world(&world, usable, &tally);
    }
    print(&tally);
    g_assert_cmpuint(tally.answered, >, 200 / KW_TEST_STEP(5));
    g_assert_cmpuint(tally.rows, >, 200 / KW_TEST_STEP(5));
}

/* A short range skips buckets; the order of the others does not change. */
KW_TEST(test_numbers, "/plan/orders/numbers")
{
    kw_test_tally tally = {0};
    for (unsigned index = 0; index < TABLES; index++) {
        kw_test_world world;
        bool usable = world_make(&world);
        size_t field = usable ? (size_t)kw_table_find_field(world.table, KW_BYTES_LITERAL("n0")) : 0;
        time_field = usable ? (size_t)kw_table_find_field(world.table, KW_BYTES_LITERAL("t0")) : 0;
        for (unsigned attempt = 0; usable && world.table->fields[field].identity && attempt < QUERIES;
             attempt++)
            try_numbers(&world, field, &tally);
        world_clear(&world);
    }
    print(&tally);
    g_assert_cmpuint(tally.answered, >, 500 / KW_TEST_STEP(5));
    g_assert_cmpuint(tally.rows, >, 500 / KW_TEST_STEP(5));
}

/* The time field follows a calendar of it, directly or after another component. */
KW_TEST(test_time_after_calendar, "/plan/orders/time_after_calendar")
{
    static const char *const keys[] = {
        "{calendar: {of: t0, parts: [yyyy, MM, dd, HH]}}, {field: {name: t0, order: desc}}, {field: s0}",
        "{calendar: {of: t0, parts: [yyyy, MM, dd, HH]}}, {field: t0}, {field: s0}",
        "{calendar: {of: t0, parts: [mm, HH, dd, MM, yyyy], zone: Asia/Shanghai}}, {field: {name: t0, order: "
        "desc}}",
        "{calendar: {of: t0, parts: [mm, HH, dd, MM, yyyy], as: packed}}, {field: t0}, {field: s0}",
        "{calendar: {of: t0, parts: [MM, yyyy, dd, HH]}}, {field: {name: t0, order: desc}}, {field: s0}",
        "{calendar: {of: t0, parts: [HH]}}, {field: {name: t0, order: desc}}, {field: s0}",
        "{calendar: {of: t0, parts: [yyyy, MM, dd, HH, mm], zone: Europe/Berlin}}, {field: {name: t0, order: "
        "desc}}, "
        "{field: s0}",
        "{salt: {of: s0, buckets: 3}}, {calendar: {of: t0, parts: [yyyy, MM, dd]}}, {field: {name: t0, "
        "order: desc}}, "
        "{field: s0}",
        "{calendar: {of: t0, parts: [yyyy, MM, dd, HH]}}, {salt: {of: s0, buckets: 3}}, {field: {name: t0, "
        "order: desc}}, "
        "{field: s0}",
        "{calendar: {of: t0, parts: [yyyy, MM, dd, HH]}}, {field: s0}, {field: {name: t0, order: desc}}, "
        "{field: n0}",
        "{calendar: {of: t0, parts: [yyyy, MM, dd, HH]}}, {hash: s0}, {field: s0}, {field: t0}, {field: n0}",
        "{enum: e0}, {calendar: {of: t0, parts: [yyyy, MM, dd, HH]}}, {field: {name: t0, order: desc}}",
        "{calendar: {of: t0, parts: [yyyy, MM, dd, HH]}}, {enum: e0}, {field: {name: t0, order: desc}}",
        "{calendar: {of: t0, parts: [yyyy, MM, dd, HH], zone: Europe/Berlin}}, {field: s0}, {field: {name: "
        "t0, order: desc}}",
    };
    kw_test_tally tally = {0};
    for (size_t index = 0; index < 4 / KW_TEST_STEP(2) * G_N_ELEMENTS(keys); index++) {
        random_table rules = {.zone = "UTC"};
        rules.yaml =
            g_strdup_printf("    fields:\n      s0: string\n      s1: string\n      n0: int\n"
                            "      t0: {type: timestamp, unit: ms, column: \"d:t0\"}\n"
                            "      e0: {type: string, values: [ab, ac, b]}\n      b0: bytes\n"
                            "      d0: double\n      f0: bool\n      h0: string\n    updates: false\n"
                            "    major_compaction: 1ms\n    families: {d: {ttl: 1s}}\n    key: [%s]\n",
                            keys[index % G_N_ELEMENTS(keys)]);
        kw_test_world world;
        bool usable = world_make_from(&world, &rules);
        g_assert_true(usable);
        try_world(&world, usable, &tally);
    }
    print(&tally);
    g_assert_cmpuint(tally.exact, >, 100 / KW_TEST_STEP(2));
}

/* Fields that the query binds follow a calendar, so a low limit of ranges makes wide windows, except where
 * these would return the rows in another order. */
KW_TEST(test_bound_after_calendar, "/plan/orders/bound_after_calendar")
{
    static const char *const keys[] = {
        "{salt: {of: s0, buckets: 3}}, {calendar: {of: t0, parts: [yyyy, MM, dd, HH, mm, ss]}}, {field: s0}, "
        "{field: n0}",
        "{calendar: {of: t0, parts: [yyyy, MM, dd, HH]}}, {field: s0}, {field: n0}",
        "{calendar: {of: t0, parts: [yyyy, MM, dd, HH, mm]}}, {enum: e0}, {field: {name: s0, encoding: "
        "terminated}}, "
        "{field: {name: n0, order: desc}}",
        "{calendar: {of: t0, parts: [yyyy, MM, dd, HH], zone: Europe/Berlin}}, {enum: e0}, {field: {name: "
        "t0, order: "
        "desc}}, {field: n0}",
        "{calendar: {of: t0, parts: [yyyy, MM, dd, HH], as: packed}}, {enum: e0}, {field: t0}, {field: n0}",
        "{enum: e0}, {calendar: {of: t0, parts: [yyyy, MM, dd, HH, mm]}}, {salt: {of: s0, buckets: 2}}, "
        "{field: s0}, "
        "{field: n0}",
        "{salt: {algorithm: random, buckets: 2}}, {calendar: {of: t0, parts: [yyyy, MM, dd, HH]}}, {field: "
        "n0}, "
        "{field: e0}",
    };
    kw_test_tally tally = {0};
    wide_windows = rows_in_wide_windows = 0;
    for (size_t index = 0; index < 8 / KW_TEST_STEP(2) * G_N_ELEMENTS(keys); index++) {
        random_table rules = {.zone = "UTC"};
        rules.yaml = g_strdup_printf(
            "    fields:\n      s0: string\n      s1: string\n      n0: int\n"
            "      t0: {type: timestamp, unit: ms, column: \"d:t0\"}\n"
            "      e0: {type: string, values: [ab, ac, b]}\n      b0: bytes\n"
            "      d0: double\n      f0: bool\n      h0: string\n    updates: false\n    key: [%s]\n",
            keys[index % G_N_ELEMENTS(keys)]);
        kw_test_world world;
        bool usable = world_make_from(&world, &rules);
        g_assert_true(usable);
        try_world(&world, usable, &tally);
    }
    print(&tally);
    g_print("# %zu wide windows with %zu rows\n", wide_windows, rows_in_wide_windows);
    g_assert_cmpuint(wide_windows, >, 200 / KW_TEST_STEP(5));
    g_assert_cmpuint(rows_in_wide_windows, >, 50 / KW_TEST_STEP(5));
}

/* Two paths support the order of a query. The number of ranges of one of them grows with the interval. */
KW_TEST(test_two_paths, "/plan/orders/two_paths")
{
    static const char *const keys[][2] = {
        {"{calendar: {of: t0, parts: [yyyy, MM, dd, HH]}}, {field: {name: t0, order: desc}}, {field: s0}, "
         "{field: n0}",
         "{salt: {of: s0, buckets: 20}}, {field: t0}, {field: n0}, {field: s0}"},
        {"{salt: {of: s0, buckets: 20}}, {field: t0}, {field: n0}, {field: s0}",
         "{calendar: {of: t0, parts: [HH, dd, MM, yyyy]}}, {field: {name: t0, order: desc}}, {field: s0}, "
         "{field: n0}"},
        {"{calendar: {of: t0, parts: [yyyy, MM, dd, HH]}}, {salt: {of: s0, buckets: 2}}, {field: {name: t0, "
         "order: desc}}, {field: s0}, {field: n0}",
         "{calendar: {of: t0, parts: [dd, MM, yyyy]}}, {field: t0}, {field: n0}, {field: s0}"},
        {"{calendar: {of: t0, parts: [yyyy, MM, dd, HH], zone: Europe/Berlin}}, {field: t0}, {field: s0}, "
         "{field: n0}",
         "{salt: {of: s0, buckets: 2}}, {field: t0}, {field: n0}, {field: s0}"},
    };
    kw_test_tally tally = {0};
    for (size_t index = 0; index < 12 / KW_TEST_STEP(3) * G_N_ELEMENTS(keys); index++) {
        random_table rules = {.zone = "UTC"};
        rules.yaml =
            g_strdup_printf("    fields:\n      s0: string\n      s1: string\n      n0: int\n"
                            "      t0: timestamp\n      e0: string\n      b0: bytes\n      d0: double\n"
                            "      f0: bool\n      h0: string\n    updates: false\n    key: [%s]\n"
                            "    paths: {second: {key: [%s]}}\n",
                            keys[index % G_N_ELEMENTS(keys)][0], keys[index % G_N_ELEMENTS(keys)][1]);
        kw_test_world world;
        bool usable = world_make_from(&world, &rules);
        g_assert_true(usable);
        try_world(&world, usable, &tally);
    }
    print(&tally);
    g_assert_cmpuint(tally.answered, >, 200 / KW_TEST_STEP(5));
}

KW_TEST_START(start)
{
    random_seed();
    world_report_crashes();
}
