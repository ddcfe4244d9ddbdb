/* Properties of plans, over random rules, records and questions:
 *
 *   every record that meets the question is found exactly once, and no other; no pattern leaves it out
 *   without `residual`, the ranges hold nothing but answers
 *   rows come in the order that was asked for, or in the path's own
 *   no range is empty; ranges do not overlap unless row_size tells their rows apart
 *   two ranges that could be one are one
 *   a question survives its byte form
 *   windows of an interval are, one behind the other, as good as one plan; each is made again from its
 * question
 */
#include "plan/normalized_query.h"
#include "plan/world.h"
#include "support/slow_build.h"

#define TABLES (KW_SLOW_BUILD ? 200 : 1000)
#define QUESTIONS 40

/* --- checks ---------------------------------------------------------------------------------------- */

static void
check_ranges(const kw_plan *plan)
{
    for (size_t index = 0; index < plan->ranges_count; index++) {
        const kw_range *range = &plan->ranges[index];
        g_assert_true(range->stop.size == 0 || kw_bytes_compare(range->start, range->stop) < 0);
        for (size_t other = 0; plan->ranges_count < 200 && other < index; other++) {
            const kw_range *before = &plan->ranges[other];
            bool apart = (before->stop.size && kw_bytes_compare(before->stop, range->start) <= 0) ||
                         (range->stop.size && kw_bytes_compare(range->stop, before->start) <= 0);
            bool other_times =
                range->timed && before->timed && (range->least > before->most || range->most < before->least);
            g_assert_true(apart || other_times || (range->row_size && before->row_size));
        }
    }
}

/* Two ranges that are read one after the other and touch could be one. Those of a merge cannot: their rows
 * interleave; nor can two of which row_size tells the rows apart. */
static void
check_fewest(const kw_plan *plan)
{
    for (size_t index = 1; index < plan->groups_count; index++) {
        const kw_merge_group *before = &plan->groups[index - 1], *here = &plan->groups[index];
        if (before->count != 1 || here->count != 1)
            continue;
        const kw_range *low = &plan->ranges[plan->reversed ? here->first : before->first];
        const kw_range *high = &plan->ranges[plan->reversed ? before->first : here->first];
        bool touch = low->stop.size > 0 && kw_bytes_equal(low->stop, high->start);
        bool single =
            low->row_size && low->row_size == low->start.size; /* one row at most: as good as points */
        g_assert_false(touch && low->row_size == high->row_size && !single);
    }
}

static void
check_set(const kw_test_world *world, const kw_question *question, const kw_test_row *rows, size_t count)
{
    size_t found[WORLD_RECORDS] = {0};
    for (size_t index = 0; index < count; index++)
        found[rows[index].record]++;
    for (size_t record = 0; record < world->count; record++)
        g_assert_cmpuint(found[record], ==, world_meets(question, &world->records[record]));
}

/* The first component that holds an unbound field that is not enumerable; NULL when there is none.
 * ret_reached: everything before it is known or enumerable. */
static const kw_component *
order_component(const kw_plan *plan, bool *ret_reached, int *ret_field)
{
    const kw_bound *bounds = plan->question->bounds;
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

/* Rows of one cell of a calendar, or of bits, come in no order. */
static bool
in_one_cell(const kw_component *component, int64_t a, int64_t b, kw_arena *arena)
{
    int64_t apart = (a > b ? a - b : b - a) / 1000;
    if (!component->grain)
        return kw_value_equal(world_in_unit((kw_value){.kind = KW_VALUE_NUMBER, .number = a}, component),
                              world_in_unit((kw_value){.kind = KW_VALUE_NUMBER, .number = b}, component));
    if (apart >= component->cell_s && component->cell_s < 3600)
        return false; /* the same minute an hour later */
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

/* When every field is bound, rows are ordered by row key: which way is up, the first field with several
 * values tells. */
static int
key_direction(const kw_test_world *world, const kw_plan *plan)
{
    const kw_normalized_query *normalized = NULL;
    kw_error error = KW_ERROR_NONE;
    g_assert_true(kw_normalized_query_make(plan->question, NULL, world->arena, &normalized, &error));
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
    kw_order order = plan->question->order;
    int sign = order == KW_ORDER_PATH        ? (component ? component->direction : 1)
               : order == KW_ORDER_ASCENDING ? 1
                                             : -1;
    if (order == KW_ORDER_PATH)
        g_assert_false(plan->reversed);
    else if (!component)
        sign *= key_direction(world, plan);
    bool within = clock && field != component->field; /* of one moment only, unless an order is asked */
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

/* Everything in the plan's text and byte form can be made; the question comes back. */
static void
check_forms(const kw_test_world *world, const kw_plan *plan)
{
    g_assert_cmpuint(strlen(kw_plan_text(plan, world->arena)), >, 0);
    kw_buffer bytes = KW_BUFFER_EMPTY, again = KW_BUFFER_EMPTY;
    kw_question_encode(plan->question, &bytes);
    kw_question back;
    size_t used;
    kw_error error = KW_ERROR_NONE;
    bool done = kw_question_decode(world->table, kw_buffer_bytes(&bytes), world->arena, &back, &used, &error);
    g_assert_cmpstr(error.text, ==, "");
    g_assert_true(done);
    g_assert_cmpuint(used, ==, bytes.size);
    kw_question_encode(&back, &again);
    g_assert_true(kw_bytes_equal(kw_buffer_bytes(&bytes), kw_buffer_bytes(&again)));
    for (size_t index = 0; index < world->count; index++)
        g_assert_true(world_meets(&back, &world->records[index]) ==
                      world_meets(plan->question, &world->records[index]));
    kw_buffer_clear(&bytes);
    kw_buffer_clear(&again);
}

/* Can lists and buckets multiply to more ranges than are allowed? */
static bool
multiplies(const kw_test_world *world, const kw_question *question)
{
    double lists = 1, buckets = 1;
    for (size_t field = 0; field < world->table->fields_count; field++)
        lists *= (double)MAX(1, question->bounds[field].count);
    for (size_t path = 0; path < world->table->paths_count; path++)
        buckets = MAX(buckets, (double)kw_layout_buckets(world->table->paths[path].layout));
    return lists * buckets > (double)question->range_limit;
}

/* A refusal must have a reason: an order, a whole table, or a value that no record can have. */
static void
check_refusal(const kw_test_world *world, const kw_question *question, const kw_error *error)
{
    if (error->code == KW_LIMIT && (world->made.zone || multiplies(world, question)))
        return; /* too many minutes or buckets, multiplied out */
    g_assert_cmpint(error->code, ==, KW_INVALID);
    if (question->order != KW_ORDER_PATH || !question->full_scan)
        return;
    for (size_t field = 0; field < world->table->fields_count; field++) {
        for (size_t index = 0; index < question->bounds[field].count; index++) {
            bool known = false;
            for (size_t record = 0; record < world->count; record++)
                known = known || kw_value_equal(world->records[record].values[field],
                                                question->bounds[field].values[index]);
            if (!known)
                return;
        }
    }
    g_error("refused without a reason: %s\n%s", error->text, world->made.yaml);
}

typedef struct kw_test_tally {
    size_t refused_rules, plans, residual, points, merges, concats, rows, reversed;
    size_t windowed, windows, cut_short;
} kw_test_tally;

/* Windows of one question that are read; random times may lie decades apart. */
#define WINDOWS 40

/* A cursor has nothing but the question and where in the plan it stands. */
static void
check_made_again(const kw_plan *plan, kw_arena *arena)
{
    const kw_plan *again;
    kw_question asked = *plan->question;
    asked.path = (int)(plan->path - asked.table->paths);
    asked.range_limit = 7;
    bool done = kw_plan_make(&asked, arena, &again, NULL);
    g_assert_true(done && again->ranges_count == plan->ranges_count);
    g_assert_true(again->rest.limit == plan->rest.limit && again->rest.least == plan->rest.least &&
                  again->rest.most == plan->rest.most);
    for (size_t index = 0; index < plan->ranges_count; index++) {
        g_assert_true(kw_bytes_equal(again->ranges[index].start, plan->ranges[index].start));
        g_assert_true(kw_bytes_equal(again->ranges[index].stop, plan->ranges[index].stop));
        g_assert_cmpuint(again->ranges[index].group, ==, plan->ranges[index].group);
    }
}

/* Reads on behind the first window. What is not read any more is left out of the question. */
static size_t
read_windows(const kw_test_world *world, const kw_plan *plan, kw_question *question, kw_test_row *rows,
             size_t count, size_t room, kw_test_tally *tally)
{
    size_t windows = 1;
    kw_question asked = *question;
    for (; plan->rest.limit > 0 && windows < WINDOWS; windows++) {
        check_made_again(plan, world->arena);
        g_assert_cmpuint(plan->rest.limit, ==, question->range_limit);
        asked.window = plan->rest;
        kw_error error = KW_ERROR_NONE;
        if (!kw_plan_make(&asked, world->arena, &plan, &error))
            g_error("window %zu: %s\n%s", windows, error.text, world_trying);
        world_trying =
            kw_arena_printf(world->arena, "%s%s", world->made.yaml, kw_plan_text(plan, world->arena));
        g_assert_cmpuint(plan->ranges_count, <=, question->range_limit);
        check_ranges(plan);
        check_forms(world, plan);
        count += world_read_plan(world, plan, rows + count, room - count);
    }
    tally->windowed += windows > 1;
    tally->windows += windows;
    if (plan->rest.limit == 0)
        return count;
    tally->cut_short++;
    bool rising = plan->question->window.most < plan->rest.least;
    kw_value *end = rising ? &question->to : &question->from;
    *end = (kw_value){.kind = KW_VALUE_NUMBER,
                      .number = rising ? plan->question->window.most : plan->question->window.least};
    question->to_inclusive = question->to_inclusive || rising;
    question->from_inclusive = question->from_inclusive || !rising;
    return count;
}

static void
ask(const kw_test_world *world, kw_test_tally *tally)
{
    static kw_test_row rows[64 * WORLD_RECORDS];
    kw_question question;
    world_question(world, &question);
    const kw_plan *plan;
    kw_error error = KW_ERROR_NONE;
    if (!kw_plan_make(&question, world->arena, &plan, &error)) {
        check_refusal(world, &question, &error);
        return;
    }
    world_trying = kw_arena_printf(world->arena, "%s%s", world->made.yaml, kw_plan_text(plan, world->arena));
    check_ranges(plan);
    check_fewest(plan);
    size_t count = world_read_plan(world, plan, rows, G_N_ELEMENTS(rows));
    if (plan->rest.limit > 0)
        count = read_windows(world, plan, &question, rows, count, G_N_ELEMENTS(rows), tally);
    else if (plan->question->window.limit > 0)
        check_made_again(plan, world->arena);
    check_set(world, &question, rows, count);
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
    bool made = world_make(&world);
    tally->refused_rules += !made;
    for (unsigned index = 0; made && index < QUESTIONS; index++)
        ask(&world, tally);
    world_clear(&world);
}

static void
test_random_rules(void)
{
    kw_test_tally tally = {0};
    for (unsigned index = 0; index < TABLES; index++)
        try_table(&tally);
    g_print("# %zu of %d rules refused; %zu plans: %zu residual, %zu points, %zu merges, %zu concats, %zu "
            "reversed; %zu rows; %zu questions in %zu windows, %zu of them not to the end\n",
            tally.refused_rules, TABLES, tally.plans, tally.residual, tally.points, tally.merges,
            tally.concats, tally.reversed, tally.rows, tally.windowed, tally.windows, tally.cut_short);
    /* The generator must reach every form. */
    g_assert_cmpuint(tally.refused_rules, <, TABLES * 3 / 4);
    g_assert_cmpuint(tally.points, >, 0);
    g_assert_cmpuint(tally.merges, >, 0);
    g_assert_cmpuint(tally.concats, >, 0);
    g_assert_cmpuint(tally.reversed, >, 0);
    g_assert_cmpuint(tally.residual, <, tally.plans);
    g_assert_cmpuint(tally.rows, >, tally.plans);
    g_assert_cmpuint(tally.windowed, >, 40);
    g_assert_cmpuint(tally.cut_short, <, tally.windowed);
    g_print("# of rows that meet no question, patterns leave out %zu, and not %zu\n", world_sifted,
            world_unsifted);
    g_assert_cmpuint(world_sifted, >, world_unsifted / 20);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    random_seed();
    world_report_crashes();
    g_test_add_func("/plan/property/random_rules", test_random_rules);
    return g_test_run();
}
