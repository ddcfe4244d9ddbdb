/* Properties of plans, over random rules, records and queries:
 *
 * - A plan finds each record that meets the query exactly once and no other record. Key patterns do not drop
 *   such a record.
 * - If a plan is not residual, its ranges hold only records that meet the query.
 * - Rows are in the order that the query requests, or in the order of the path.
 * - No range is empty. Ranges overlap only if row_size separates their rows.
 * - Two ranges that could be joined are joined.
 * - Decoding an encoded query returns the same query.
 * - The windows of an interval, read one after the other, find the same rows as one plan, whether they are
 * exact or
 *   wide.
 * - A plan has at most as many ranges as the limit. If its ranges were widened, rows are in the same order as
 * without
 *   the limit.
 * - A plan can be made again from its encoded query, with another limit.
 */
#include "plan/normalized_query.h"
#include "plan/pace.h"
#include "plan/world.h"
#include "support/slow_build.h"

#define TABLES (KW_SLOW_BUILD ? 200 : 1000)
#define QUERIES 40

typedef struct kw_test_tally {
    size_t rejected_rules, plans, residual, points, merges, concats, rows, reversed;
    size_t windowed, windows, cut_short;
    size_t widened, wide_windows, compared, too_many;
} kw_test_tally;

/* --- checks -------------------------------------------------------------------------------------- */

static void
check_ranges(const kw_plan *plan)
{
    for (size_t index = 0; index < plan->ranges_count; index++) {
        const kw_range *range = &plan->ranges[index];
        g_assert_true(range->stop.size == 0 || kw_bytes_compare(range->start, range->stop) < 0);
        for (size_t other = 0; plan->ranges_count < 200 && other < index; other++) {
            const kw_range *before = &plan->ranges[other];
            bool separate = (before->stop.size && kw_bytes_compare(before->stop, range->start) <= 0) ||
                            (range->stop.size && kw_bytes_compare(range->stop, before->start) <= 0);
            bool other_times =
                range->timed && before->timed && (range->least > before->most || range->most < before->least);
            g_assert_true(separate || other_times || (range->row_size && before->row_size));
        }
    }
}

/* Two adjacent ranges that are read one after the other must have been joined. Ranges of a merge stay
 * separate, because their rows interleave, and so do ranges with different row sizes. */
static void
check_joined(const kw_plan *plan)
{
    for (size_t index = 1; index < plan->groups_count; index++) {
        const kw_merge_group *before = &plan->groups[index - 1], *here = &plan->groups[index];
        if (before->count != 1 || here->count != 1)
            continue;
        const kw_range *low = &plan->ranges[plan->reversed ? here->first : before->first];
        const kw_range *high = &plan->ranges[plan->reversed ? before->first : here->first];
        bool adjacent = low->stop.size > 0 && kw_bytes_equal(low->stop, high->start);
        bool single =
            low->row_size && low->row_size == low->start.size; /* at most one row, as in a point read */
        g_assert_false(adjacent && low->row_size == high->row_size && !single);
    }
}

static void
check_set(const kw_test_world *world, const kw_record_query *query, const kw_test_row *rows, size_t count)
{
    size_t found[WORLD_RECORDS] = {0};
    for (size_t index = 0; index < count; index++)
        found[rows[index].record]++;
    for (size_t record = 0; record < world->count; record++)
        g_assert_cmpuint(found[record], ==, world_meets(query, &world->records[record]));
}

/* The first component that holds an unbound field which is not enumerable, or NULL. ret_reached: everything
 * before it is known or enumerable. */
static const kw_component *
order_component(const kw_plan *plan, bool *ret_reached, int *ret_field)
{
    const kw_bound *bounds = plan->query->bounds;
    bool listed[RANDOM_FIELDS] = {false};
    *ret_reached = true;
    for (size_t index = 0; index < kw_layout_component_count(plan->placements[0]->layout); index++) {
        const kw_component *component = kw_layout_component(plan->placements[0]->layout, index);
        bool clock = component->clock >= 0;
        if (component->buckets && component->field >= 0 && !clock)
            listed[component->field] = true;
        if (component->buckets && !clock)
            continue;
        *ret_field = component->field;
        if (component->field >= 0 && bounds[component->field].count == 0)
            return component;
        for (size_t also = 0; also < component->also_count; also++) {
            *ret_field = (int)component->also[also];
            if (bounds[component->also[also]].count == 0)
                return component;
        }
        for (size_t input = 0; input < component->inputs_count; input++)
            *ret_reached = *ret_reached &&
                           (bounds[component->inputs[input]].count > 0 || listed[component->inputs[input]]);
    }
    return NULL;
}

/* True if both values are in one cell of a calendar or have the same bits; rows of one cell have no order. */
static bool
in_one_cell(const kw_component *component, int64_t a, int64_t b, kw_arena *arena)
{
    int64_t distance_s = (a > b ? a - b : b - a) / 1000;
    if (!component->grain)
        return kw_value_equal(world_in_unit((kw_value){.kind = KW_VALUE_NUMBER, .number = a}, component),
                              world_in_unit((kw_value){.kind = KW_VALUE_NUMBER, .number = b}, component));
    if (distance_s >= component->cell_s && component->cell_s < 3600)
        return false; /* the same minute, an hour later */
    return strcmp(random_parts(component->grain, a, true, arena),
                  random_parts(component->grain, b, true, arena)) == 0;
}

static int
step_between(const kw_component *component, int field, const kw_record *before, const kw_record *here,
             kw_arena *arena)
{
    kw_value a = before->values[field], b = here->values[field];
    if (field != component->clock)
        return field == component->field
                   ? kw_value_compare(world_in_unit(a, component), world_in_unit(b, component))
                   : kw_value_compare(a, b);
    return in_one_cell(component, a.number, b.number, arena) ? 0 : kw_value_compare(a, b);
}

/* If every field is bound, rows are in the order of their row keys. The first field with several values
 * determines which direction is ascending. */
static int
key_direction(const kw_test_world *world, const kw_plan *plan)
{
    const kw_normalized_query *normalized = NULL;
    kw_error error = KW_ERROR_NONE;
    g_assert_true(kw_normalized_query_make(plan->query, NULL, world->arena, &normalized, &error));
    for (size_t index = 0; index < kw_layout_component_count(plan->placements[0]->layout); index++) {
        const kw_component *component = kw_layout_component(plan->placements[0]->layout, index);
        if (component->field >= 0 && normalized->bounds[component->field].count > 1)
            return component->direction < 0 ? -1 : 1;
    }
    return 1;
}

static void
check_order(const kw_test_world *world, const kw_plan *plan, const kw_test_row *rows, size_t count)
{
    bool reached;
    int field = -1;
    const kw_component *component = order_component(plan, &reached, &field);
    bool clock = component && component->clock >= 0;
    kw_order order = plan->query->order;
    int sign = order == KW_ORDER_PATH        ? (component ? component->direction : 1)
               : order == KW_ORDER_ASCENDING ? 1
                                             : -1;
    if (order == KW_ORDER_PATH)
        g_assert_false(plan->reversed);
    else if (!component)
        sign *= key_direction(world, plan);
    bool within = clock && field != component->field; /* unless the query requests an order, rows are ordered
                                                         only within one moment */
    if (order == KW_ORDER_PATH && (!reached || sign == 0 || within))
        return;
    g_assert_true(!component || (reached && (component->direction != 0 || clock)));
    for (size_t index = 1; index < count; index++) {
        const kw_record *before = &world->records[rows[index - 1].record],
                        *here = &world->records[rows[index].record];
        int step = component ? step_between(component, field, before, here, world->arena)
                             : kw_bytes_compare(rows[index - 1].key, rows[index].key);
        g_assert_cmpint(step * sign, <=, 0);
    }
}

/* The plan can be printed, and decoding its encoded query returns an equal query. */
static void
check_forms(const kw_test_world *world, const kw_plan *plan)
{
    g_assert_cmpuint(strlen(kw_plan_text(plan, world->arena)), >, 0);
    kw_buffer bytes = KW_BUFFER_EMPTY, again = KW_BUFFER_EMPTY;
    kw_record_query_encode(plan->query, &bytes);
    kw_record_query back;
    size_t used;
    kw_error error = KW_ERROR_NONE;
    bool done =
        kw_record_query_decode(world->table, kw_buffer_bytes(&bytes), world->arena, &back, &used, &error);
    g_assert_cmpstr(error.text, ==, "");
    g_assert_true(done);
    g_assert_cmpuint(used, ==, bytes.size);
    kw_record_query_encode(&back, &again);
    g_assert_true(kw_bytes_equal(kw_buffer_bytes(&bytes), kw_buffer_bytes(&again)));
    for (size_t index = 0; index < world->count; index++)
        g_assert_true(world_meets(&back, &world->records[index]) ==
                      world_meets(plan->query, &world->records[index]));
    kw_buffer_clear(&bytes);
    kw_buffer_clear(&again);
}

/* True if lists and buckets can multiply to more ranges than the limit. */
static bool
multiplies(const kw_test_world *world, const kw_record_query *query)
{
    double lists = 1, most = 1;
    for (size_t field = 0; field < world->table->fields_count; field++)
        lists *= (double)MAX(1, query->bounds[field].count);
    for (size_t path = 0; path < world->table->queried_paths_count; path++) {
        const kw_layout *layout = world->table->paths[path].layout;
        double buckets = 1;
        for (size_t index = 0; index < kw_layout_component_count(layout); index++)
            buckets *= (double)MAX(1, kw_layout_component(layout, index)->buckets);
        most = MAX(most, buckets);
    }
    return lists * most > (double)query->range_limit;
}

/* A rejected query must have a reason: its order, a scan of the whole table, or a value that no record can
 * have. */
static void
check_rejection(const kw_test_world *world, const kw_record_query *query, const kw_error *error)
{
    if (error->code == KW_LIMIT && (world->rules.zone || multiplies(world, query)))
        return; /* lists, minutes and buckets multiply to too many ranges */
    g_assert_cmpint(error->code, ==, KW_INVALID);
    if (query->order != KW_ORDER_PATH || !query->full_scan)
        return;
    for (size_t field = 0; field < world->table->fields_count; field++) {
        for (size_t index = 0; index < query->bounds[field].count; index++) {
            bool known = false;
            for (size_t record = 0; record < world->count; record++)
                known = known || kw_value_equal(world->records[record].values[field],
                                                query->bounds[field].values[index]);
            if (!known)
                return;
        }
    }
    g_error("rejected without a reason: %s\n%s", error->text, world->rules.yaml);
}

/* The limit on the windows to read of one query; random times can be decades apart. */
#define WINDOWS 40

/* A plan must be the same when it is made again, because a cursor holds only the query and a position in the
 * plan. */
static void
check_planned_again(const kw_plan *plan, kw_arena *arena)
{
    static const size_t limits[] = {1, 7, 150, 100000};
    const kw_plan *again;
    kw_record_query copy;
    kw_buffer bytes = KW_BUFFER_EMPTY;
    size_t used;
    kw_error error = KW_ERROR_NONE;
    kw_record_query_encode(plan->query, &bytes);
    bool done = kw_record_query_decode(plan->query->table, kw_arena_copy(arena, kw_buffer_bytes(&bytes)),
                                       arena, &copy, &used, &error);
    g_assert_true(done);
    kw_buffer_clear(&bytes);
    copy.path = (int)(plan->path - copy.table->paths);
    copy.range_limit = limits[random_below(G_N_ELEMENTS(limits))];
    copy.full_scan = plan->query->full_scan || plan->query->limit > 0;
    done = kw_plan_make(&copy, arena, &again, &error);
    g_assert_cmpstr(error.text, ==, "");
    g_assert_true(done && again->ranges_count == plan->ranges_count);
    g_assert_true(again->rest.limit == plan->rest.limit && again->rest.least == plan->rest.least &&
                  again->rest.most == plan->rest.most);
    for (size_t index = 0; index < plan->ranges_count; index++) {
        g_assert_true(kw_bytes_equal(again->ranges[index].start, plan->ranges[index].start));
        g_assert_true(kw_bytes_equal(again->ranges[index].stop, plan->ranges[index].stop));
        g_assert_cmpuint(again->ranges[index].group, ==, plan->ranges[index].group);
        g_assert_cmpuint(again->ranges[index].skip, ==, plan->ranges[index].skip);
    }
}

/* True if a plan has fewer ranges than the exact one, which would be too many. */
static bool
is_widened(const kw_plan *plan)
{
    return plan->replaces > 0 || plan->query->widened_for > 0;
}

/* The window after a plan's: of the form and size that a scan chooses, or of a random one. */
static void
choose_next(const kw_plan *plan, kw_pace *pace, kw_record_query *query)
{
    kw_pace_cost cost = {.partial = random_chance(10), .rows = random_below(5000)};
    kw_pace_next(pace, plan, &cost, query);
    if (query->window.form == KW_WINDOW_EXACT && plan->rest.form == KW_WINDOW_OPEN && random_chance(50))
        query->window.form = KW_WINDOW_OPEN;
    if (random_chance(50))
        query->wide_ranges = 1 + random_below(100000);
}

/* The records of an answer without a limit of ranges, in their order. Returns false if there are too many
 * ranges. */
static bool
read_without_limit(const kw_test_world *world, const kw_record_query *query, const kw_path *path,
                   kw_test_row *rows, size_t capacity, size_t *ret_count)
{
    kw_record_query all = *query;
    const kw_plan *plan;
    kw_error error = KW_ERROR_NONE;
    all.path = (int)(path - query->table->paths);
    all.range_limit = 0;
    all.window = (kw_window){.limit = 0};
    if (!kw_plan_make(&all, world->arena, &plan, &error)) {
        g_assert_true(error.code == KW_LIMIT || error.code == KW_INVALID); /* INVALID: a key would be empty */
        return false;
    }
    *ret_count = world_read_plan(world, plan, rows, capacity);
    return true;
}

static void
check_same_order(const kw_test_world *world, const kw_record_query *query, const kw_plan *plan,
                 const kw_test_row *rows, size_t count, kw_test_tally *tally)
{
    static kw_test_row expected[64 * WORLD_RECORDS];
    size_t expected_count;
    if (!read_without_limit(world, query, plan->path, expected, G_N_ELEMENTS(expected), &expected_count))
        return;
    tally->compared++;
    g_assert_cmpuint(count, ==, expected_count);
    for (size_t index = 0; index < count; index++)
        g_assert_cmpuint(rows[index].record, ==, expected[index].record);
}

/* Reads the windows after the first one. If some remain unread, shortens the interval of the query to the
 * part that was read. */
static size_t
read_windows(const kw_test_world *world, const kw_plan *plan, kw_record_query *query, kw_test_row *rows,
             size_t count, size_t capacity, kw_test_tally *tally)
{
    size_t windows = 1;
    kw_record_query copy = *query;
    kw_pace pace = {.wide_ranges = 0};
    for (; plan->rest.limit > 0 && windows < WINDOWS; windows++) {
        check_planned_again(plan, world->arena);
        g_assert_cmpuint(plan->rest.limit, ==, query->range_limit);
        choose_next(plan, &pace, &copy);
        kw_error error = KW_ERROR_NONE;
        if (!kw_plan_make(&copy, world->arena, &plan, &error))
            g_error("window %zu: %s\n%s", windows, error.text, world_attempt);
        world_attempt =
            kw_arena_printf(world->arena, "%s%s", world->rules.yaml, kw_plan_text(plan, world->arena));
        g_assert_cmpuint(plan->ranges_count, <=, query->range_limit);
        tally->wide_windows += plan->replaces > 0;
        check_ranges(plan);
        check_forms(world, plan);
        count += world_read_plan(world, plan, rows + count, capacity - count);
    }
    tally->windowed += windows > 1;
    tally->windows += windows;
    if (plan->rest.limit == 0)
        return count;
    tally->cut_short++;
    bool rising = plan->query->window.most < plan->rest.least;
    kw_value *end = rising ? &query->to : &query->from;
    *end = (kw_value){.kind = KW_VALUE_NUMBER,
                      .number = rising ? plan->query->window.most : plan->query->window.least};
    query->to_inclusive = query->to_inclusive || rising;
    query->from_inclusive = query->from_inclusive || !rising;
    return count;
}

static void
plan_and_check(const kw_test_world *world, kw_test_tally *tally)
{
    static kw_test_row rows[64 * WORLD_RECORDS];
    kw_record_query query;
    world_random_query(world, &query);
    const kw_plan *plan;
    kw_error error = KW_ERROR_NONE;
    if (!kw_plan_make(&query, world->arena, &plan, &error)) {
        check_rejection(world, &query, &error);
        tally->too_many += error.code == KW_LIMIT;
        return;
    }
    world_attempt =
        kw_arena_printf(world->arena, "%s%s", world->rules.yaml, kw_plan_text(plan, world->arena));
    check_ranges(plan);
    check_joined(plan);
    g_assert_cmpuint(plan->ranges_count, <=, query.range_limit);
    bool widened = is_widened(plan);
    size_t count = world_read_plan(world, plan, rows, G_N_ELEMENTS(rows));
    check_planned_again(plan, world->arena);
    tally->widened += widened;
    if (plan->rest.limit > 0)
        count = read_windows(world, plan, &query, rows, count, G_N_ELEMENTS(rows), tally);
    if (widened)
        check_same_order(world, &query, plan, rows, count, tally);
    check_set(world, &query, rows, count);
    if (plan->ranges_count > 0)
        check_order(world, plan, rows, count);
    check_forms(world, plan);
    tally->plans++;
    tally->residual += plan->residual;
    tally->points += plan->point;
    tally->merges += plan->groups_count > 0 && plan->groups[0].count > 1;
    tally->concats += plan->groups_count > 1;
    tally->rows += count;
    tally->reversed += plan->reversed;
}

static void
try_table(kw_test_tally *tally)
{
    kw_test_world world;
    bool usable = world_make(&world);
    tally->rejected_rules += !usable;
    for (unsigned index = 0; usable && index < QUERIES; index++)
        plan_and_check(&world, tally);
    world_clear(&world);
}

KW_TEST(test_random_rules, "/plan/property/random_rules")
{
    kw_test_tally tally = {0};
    for (unsigned index = 0; index < TABLES; index++)
        try_table(&tally);
    g_print("# %zu of %d rules rejected; %zu plans: %zu residual, %zu points, %zu merges, %zu concats, %zu "
            "reversed; %zu rows; %zu queries in %zu windows, %zu of them cut short; %zu queries widened, %zu "
            "wide "
            "windows, %zu compared with exact plans; %zu with too many ranges\n",
            tally.rejected_rules, TABLES, tally.plans, tally.residual, tally.points, tally.merges,
            tally.concats, tally.reversed, tally.rows, tally.windowed, tally.windows, tally.cut_short,
            tally.widened, tally.wide_windows, tally.compared, tally.too_many);
    /* The generator must have produced every form of plan. */
    g_assert_cmpuint(tally.rejected_rules, <, TABLES * 3 / 4);
    g_assert_cmpuint(tally.points, >, 0);
    g_assert_cmpuint(tally.merges, >, 0);
    g_assert_cmpuint(tally.concats, >, 0);
    g_assert_cmpuint(tally.reversed, >, 0);
    g_assert_cmpuint(tally.residual, <, tally.plans);
    g_assert_cmpuint(tally.rows, >, tally.plans);
    g_assert_cmpuint(tally.windowed, >, 40);
    g_assert_cmpuint(tally.cut_short, <, tally.windowed);
    g_assert_cmpuint(tally.widened, >, TABLES / 25);
    g_assert_cmpuint(tally.compared, >, TABLES / 25);
    g_assert_cmpuint(tally.too_many, >, TABLES / 25);
    g_print("# of rows that do not meet the query, patterns drop %zu and keep %zu\n", world_filtered,
            world_unfiltered);
    g_assert_cmpuint(world_filtered, >, world_unfiltered / 20);
}

KW_TEST_START(start)
{
    random_seed();
    world_report_crashes();
}
