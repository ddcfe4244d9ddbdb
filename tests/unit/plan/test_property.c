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
#include "plan/plan.h"
#include "plan/terms.h"
#include "rule/component.h"
#include "rule/policies.h"
#include "rule/random_rules.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#define RECORDS 70
#define TABLES 1000
#define QUESTIONS 40

/* A store table as the test keeps it. */
typedef struct kw_test_shelf {
    kw_bytes keys[RECORDS];
    size_t records[RECORDS];
    size_t count;
} kw_test_shelf;

typedef struct kw_test_world {
    random_table made;
    kw_policy *policy;
    const kw_table *table;
    kw_arena *arena;
    kw_record records[RECORDS];
    size_t count;
    kw_test_shelf shelves[2];
} kw_test_world;

/* What is being tried, told when a check fails. */
static const char *trying = "";

static void
tell(int signal_number)
{
    (void)signal_number;
    ssize_t written = write(STDERR_FILENO, trying, strlen(trying));
    (void)written;
}

static bool
encode(const kw_test_world *world, size_t path, const kw_record *record, kw_bytes *ret_key)
{
    kw_buffer key = KW_BUFFER_EMPTY;
    kw_error error = KW_ERROR_NONE;
    const kw_layout *layout = world->table->paths[path].layout;
    uint32_t bucket = random_below(kw_layout_choice(layout).buckets);
    bool done = kw_layout_encode_chosen(layout, record, bucket, &key, &error);
    g_assert_true(done || error.code == KW_INVALID);
    if (done)
        *ret_key = kw_arena_copy(world->arena, kw_buffer_bytes(&key));
    kw_buffer_clear(&key);
    return done;
}

static kw_value
in_unit(kw_value value, const kw_component *component)
{
    if (component->unit > 1) {
        int64_t rest = value.number % component->unit;
        value.number = value.number / component->unit - (rest < 0);
    }
    return value;
}

static bool
same_identity(const kw_test_world *world, size_t a, size_t b)
{
    const kw_layout *layout = world->table->paths[0].layout;
    for (size_t index = 0; index < kw_layout_component_count(layout); index++) {
        const kw_component *component = kw_layout_component(layout, index);
        if (component->field < 0)
            continue;
        kw_value left = world->records[a].values[component->field],
                 right = world->records[b].values[component->field];
        for (size_t also = 0; also < component->also_count; also++)
            if (!kw_value_equal(world->records[a].values[component->also[also]],
                                world->records[b].values[component->also[also]]))
                return false;
        bool same = component->grain
                        ? strcmp(random_parts(component->grain, left.number, false, world->arena),
                                 random_parts(component->grain, right.number, false, world->arena)) == 0
                        : kw_value_equal(in_unit(left, component), in_unit(right, component));
        if (!same)
            return false;
    }
    return true;
}

/* Two records share a key if and only if they share the identity; the key gives the fields back. */
static void
check_keys(const kw_test_world *world, size_t path, const kw_bytes *keys)
{
    const kw_layout *layout = world->table->paths[path].layout;
    for (size_t a = 0; a < world->count; a++) {
        for (size_t b = 0; b < a; b++)
            g_assert_true(kw_bytes_equal(keys[a], keys[b]) == same_identity(world, a, b));
        kw_record back = kw_record_new(world->table, world->arena);
        kw_error error = KW_ERROR_NONE;
        if (!kw_layout_decode(layout, keys[a], world->arena, &back, &error))
            g_error("%s\n%s", error.text, world->made.yaml);
        for (size_t field = 0; field < world->table->fields_count; field++) {
            if (kw_layout_holds_field(layout, field))
                g_assert_true(kw_value_equal(back.values[field], world->records[a].values[field]));
            else
                g_assert_cmpint(back.values[field].kind, ==, KW_VALUE_NONE);
        }
    }
}

static int
compare_slots(const void *a, const void *b)
{
    return kw_bytes_compare(*(const kw_bytes *)a, *(const kw_bytes *)b);
}

static void
fill_shelf(kw_test_world *world, size_t path)
{
    kw_bytes keys[RECORDS];
    for (size_t index = 0; index < world->count; index++) {
        bool done = encode(world, path, &world->records[index], &keys[index]);
        g_assert_true(done);
    }
    check_keys(world, path, keys);
    kw_test_shelf *shelf = &world->shelves[path];
    shelf->count = world->count;
    memcpy(shelf->keys, keys, sizeof keys);
    qsort(shelf->keys, shelf->count, sizeof *shelf->keys, compare_slots);
    for (size_t slot = 0; slot < shelf->count; slot++) {
        for (size_t index = 0; index < world->count; index++) {
            if (kw_bytes_equal(shelf->keys[slot], keys[index]))
                shelf->records[slot] = index;
        }
    }
}

/* Records that every path can hold, with identities of their own. */
static void
fill_world(kw_test_world *world)
{
    for (size_t tries = 0; tries < 4 * RECORDS && world->count < RECORDS; tries++) {
        kw_record record = kw_record_new(world->table, world->arena);
        for (size_t field = 0; field < world->table->fields_count; field++)
            record.values[field] = random_value(&world->made, field, world->arena);
        kw_bytes key;
        bool fits = true;
        for (size_t path = 0; fits && path < world->table->paths_count; path++)
            fits = encode(world, path, &record, &key);
        if (!fits)
            continue;
        world->records[world->count] = record;
        bool fresh = true;
        for (size_t other = 0; fresh && other < world->count; other++)
            fresh = !same_identity(world, world->count, other);
        world->count += fresh;
    }
    for (size_t path = 0; path < world->table->paths_count; path++)
        fill_shelf(world, path);
}

/* --- questions ------------------------------------------------------------------------------------- */

/* Mostly a value that some record has. */
static kw_value
likely_value(const kw_test_world *world, size_t field)
{
    if (world->count == 0 || random_chance(15))
        return random_value(&world->made, field, world->arena);
    return world->records[random_below((unsigned)world->count)].values[field];
}

/* `number` moved by `step`, held at the ends of what a field can be. */
static int64_t
moved(int64_t number, int64_t step)
{
    int64_t sum;
    if (__builtin_add_overflow(number, step, &sum))
        return step < 0 ? INT64_MIN : INT64_MAX;
    return sum;
}

/* An hour to some days from a time that some record has: many pieces, but not without end. */
static void
ask_about_time(const kw_test_world *world, kw_question *question)
{
    static const int64_t lengths_ms[] = {3600000, 86400000, 300000000};
    size_t field = (size_t)kw_table_find_field(world->table, KW_BYTES_LITERAL("t0"));
    int64_t length = lengths_ms[random_below(G_N_ELEMENTS(lengths_ms))];
    question->range_field = (int)field;
    question->from = likely_value(world, field);
    question->from.number = moved(question->from.number, random_below(2) ? -length / 2 : 0);
    question->to = question->from;
    question->to.number = moved(question->to.number, length);
    ((kw_bound *)question->bounds)[field].count = 0;
}

static void
random_question(const kw_test_world *world, kw_question *ret_question)
{
    size_t fields = world->table->fields_count;
    kw_bound *bounds = KW_ARENA_ARRAY(world->arena, kw_bound, fields);
    for (size_t field = 0; field < fields; field++) {
        size_t count = random_chance(world->table->fields[field].identity ? 60 : 90) ? 0
                       : random_chance(60)                                           ? 1
                                                                                     : 1 + random_below(3);
        kw_value *values = KW_ARENA_ARRAY(world->arena, kw_value, count);
        for (size_t index = 0; index < count; index++)
            values[index] = likely_value(world, field);
        bounds[field] = (kw_bound){.values = values, .count = count};
    }
    kw_question question = {
        .table = world->table,
        .path = random_chance(50) ? -1 : (int)random_below((unsigned)world->table->paths_count),
        .bounds = bounds,
        .range_field = random_chance(50) ? -1 : (int)random_below((unsigned)fields),
        .from_inclusive = random_chance(60),
        .to_inclusive = random_chance(40),
        .order = (kw_order)random_below(3),
        .full_scan = random_chance(85),
        .range_limit = !world->made.zone   ? 100000
                       : random_chance(50) ? 150
                                           : 25,
    };
    if (question.range_field >= 0 && random_chance(80))
        question.from = likely_value(world, (size_t)question.range_field);
    if (question.range_field >= 0 && random_chance(80))
        question.to = likely_value(world, (size_t)question.range_field);
    if (world->made.zone && random_chance(35))
        ask_about_time(world, &question);
    *ret_question = question;
}

static bool
meets_end(kw_value value, kw_value end, bool inclusive, int sign)
{
    int order = kw_value_compare(value, end) * sign;
    return end.kind == KW_VALUE_NONE || order > 0 || (order == 0 && inclusive);
}

/* By brute force. */
static bool
meets(const kw_question *question, const kw_record *record)
{
    for (size_t field = 0; field < question->table->fields_count; field++) {
        const kw_bound *bound = &question->bounds[field];
        bool among = bound->count == 0;
        for (size_t index = 0; index < bound->count; index++)
            among = among || kw_value_equal(bound->values[index], record->values[field]);
        if (!among)
            return false;
    }
    if (question->range_field < 0)
        return true;
    kw_value value = record->values[question->range_field];
    return meets_end(value, question->from, question->from_inclusive, 1) &&
           meets_end(value, question->to, question->to_inclusive, -1);
}

/* --- reading a plan -------------------------------------------------------------------------------- */

typedef struct kw_test_row {
    kw_bytes key;
    kw_bytes rest; /* without the range's skip */
    size_t range;
    size_t record;
} kw_test_row;

static bool reversed;

static int
compare_rows(const void *a, const void *b)
{
    const kw_test_row *left = a, *right = b;
    int order = kw_bytes_compare(left->rest, right->rest);
    if (order == 0)
        order = (left->range > right->range) - (left->range < right->range);
    return reversed ? -order : order;
}

static bool
within(const kw_range *range, kw_bytes key)
{
    return kw_bytes_compare(range->start, key) <= 0 &&
           (range->stop.size == 0 || kw_bytes_compare(key, range->stop) < 0) &&
           (range->row_size == 0 || range->row_size == key.size);
}

/* Rows that meet no question: left out by patterns, or not. */
static size_t sifted, unsifted;

static size_t
read_range(const kw_test_world *world, const kw_plan *plan, size_t number, kw_test_row *rows)
{
    const kw_range *range = &plan->ranges[number];
    const kw_test_shelf *shelf = &world->shelves[plan->path - world->table->paths];
    kw_patterns patterns = kw_plan_patterns(plan, number);
    size_t count = 0;
    for (size_t slot = 0; slot < shelf->count; slot++) {
        kw_bytes key = shelf->keys[slot];
        if (!within(range, key))
            continue;
        const kw_record *record = &world->records[shelf->records[slot]];
        if (!plan->residual)
            g_assert_true(meets(plan->question, record));
        if (!kw_patterns_match(&patterns, key)) { /* a store may leave it out */
            sifted++;
            continue;
        }
        unsifted += plan->residual && !kw_plan_matches_in(plan, number, record);
        if (plan->residual && !kw_plan_matches_in(plan, number, record))
            continue;
        g_assert_cmpuint(range->skip, <=, key.size);
        g_assert_true(kw_bytes_starts_with(key, kw_bytes_of(range->start.data, range->skip)));
        rows[count++] = (kw_test_row){key, kw_bytes_skip(key, range->skip), number, shelf->records[slot]};
    }
    return count;
}

static size_t
read_plan(const kw_test_world *world, const kw_plan *plan, kw_test_row *rows, size_t room)
{
    size_t count = 0;
    for (size_t index = 0; index < plan->groups_count; index++) {
        const kw_merge_group *group = &plan->groups[index];
        size_t first = count;
        for (size_t number = group->first; number < group->first + group->count; number++) {
            g_assert_cmpuint(plan->ranges[number].group, ==, index);
            g_assert_cmpuint(count + world->count, <=, room);
            count += read_range(world, plan, number, rows + count);
        }
        reversed = plan->reversed;
        qsort(rows + first, count - first, sizeof *rows, compare_rows);
    }
    return count;
}

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
    size_t found[RECORDS] = {0};
    for (size_t index = 0; index < count; index++)
        found[rows[index].record]++;
    for (size_t record = 0; record < world->count; record++)
        g_assert_cmpuint(found[record], ==, meets(question, &world->records[record]));
}

/* The first component that holds an unbound field that is not enumerable; NULL when there is none.
 * ret_reached: everything before it is known or enumerable. */
static const kw_component *
order_component(const kw_plan *plan, bool *ret_reached, int *ret_field)
{
    const kw_bound *bounds = plan->question->bounds;
    bool listed[RANDOM_FIELDS] = {false};
    *ret_reached = true;
    for (size_t index = 0; index < kw_layout_component_count(plan->layout); index++) {
        const kw_component *component = kw_layout_component(plan->layout, index);
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
        return kw_value_equal(in_unit((kw_value){.kind = KW_VALUE_NUMBER, .number = a}, component),
                              in_unit((kw_value){.kind = KW_VALUE_NUMBER, .number = b}, component));
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
        return field == component->field ? kw_value_compare(in_unit(a, component), in_unit(b, component))
                                         : kw_value_compare(a, b);
    return in_one_cell(component, a.number, b.number, arena) ? 0 : kw_value_compare(a, b);
}

/* When every field is bound, rows come by row key: which way is up, the first field with several values
 * tells. */
static int
key_direction(const kw_test_world *world, const kw_plan *plan)
{
    const kw_terms *terms = NULL;
    kw_error error = KW_ERROR_NONE;
    g_assert_true(kw_terms_make(plan->question, world->arena, &terms, &error));
    for (size_t index = 0; index < kw_layout_component_count(plan->layout); index++) {
        const kw_component *component = kw_layout_component(plan->layout, index);
        if (component->field >= 0 && terms->bounds[component->field].count > 1)
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
        g_assert_true(meets(&back, &world->records[index]) == meets(plan->question, &world->records[index]));
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
            g_error("window %zu: %s\n%s", windows, error.text, trying);
        trying = kw_arena_printf(world->arena, "%s%s", world->made.yaml, kw_plan_text(plan, world->arena));
        g_assert_cmpuint(plan->ranges_count, <=, question->range_limit);
        check_ranges(plan);
        check_forms(world, plan);
        count += read_plan(world, plan, rows + count, room - count);
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
    static kw_test_row rows[64 * RECORDS];
    kw_question question;
    random_question(world, &question);
    const kw_plan *plan;
    kw_error error = KW_ERROR_NONE;
    if (!kw_plan_make(&question, world->arena, &plan, &error)) {
        check_refusal(world, &question, &error);
        return;
    }
    trying = kw_arena_printf(world->arena, "%s%s", world->made.yaml, kw_plan_text(plan, world->arena));
    check_ranges(plan);
    check_fewest(plan);
    size_t count = read_plan(world, plan, rows, G_N_ELEMENTS(rows));
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
    kw_test_world world = {.count = 0};
    random_table_make(&world.made);
    world.policy = test_policy_maybe(world.made.yaml);
    if (world.policy) {
        world.arena = kw_arena_new();
        world.table = kw_policy_table(world.policy, 0);
        trying = world.made.yaml;
        fill_world(&world);
        for (unsigned index = 0; index < QUESTIONS; index++)
            ask(&world, tally);
        kw_arena_free(world.arena);
        kw_policy_unref(world.policy);
    } else {
        tally->refused_rules++;
    }
    random_table_clear(&world.made);
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
    g_print("# of rows that meet no question, patterns leave out %zu, and not %zu\n", sifted, unsifted);
    g_assert_cmpuint(sifted, >, unsifted / 20);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    random_seed();
    signal(SIGABRT, tell);
    g_test_add_func("/plan/property/random_rules", test_random_rules);
    return g_test_run();
}
