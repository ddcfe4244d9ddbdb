#include "plan/world.h"

#include "rule/policies.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

const char *world_attempt = "";

static void
print_attempt(int signal_number)
{
    (void)signal_number;
    ssize_t written = write(STDERR_FILENO, world_attempt, strlen(world_attempt));
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

kw_value
world_in_unit(kw_value value, const kw_component *component)
{
    if (component->unit > 1) {
        int64_t rest = value.number % component->unit;
        value.number = value.number / component->unit - (rest < 0);
    }
    return value;
}

/* True if GLib can print the time. */
static bool
is_date(kw_value value)
{
    return value.number > INT64_C(-62135000000000) && value.number < INT64_C(253402000000000);
}

/* True if the component encodes both values alike. */
static bool
same_in_piece(const kw_component *component, kw_value a, kw_value b, kw_arena *arena)
{
    if (!component->grain)
        return kw_value_equal(world_in_unit(a, component), world_in_unit(b, component));
    return is_date(a) && is_date(b) &&
           strcmp(random_parts(component->grain, a.number, false, arena),
                  random_parts(component->grain, b.number, false, arena)) == 0;
}

/* True if the row keys hold both values of the field alike. */
static bool
same_in_key(const kw_table *table, size_t field, kw_value a, kw_value b, kw_arena *arena)
{
    const kw_layout *layout = table->paths[0].layout;
    if (!table->fields[field].identity || kw_layout_holds_field(layout, field))
        return kw_value_equal(a, b);
    for (size_t index = 0; index < kw_layout_component_count(layout); index++) {
        const kw_component *component = kw_layout_component(layout, index);
        if (component->field == (int)field && !same_in_piece(component, a, b, arena))
            return false;
    }
    return true;
}

static bool
same_identity(const kw_test_world *world, size_t a, size_t b)
{
    for (size_t field = 0; field < world->table->fields_count; field++)
        if (world->table->fields[field].identity &&
            !same_in_key(world->table, field, world->records[a].values[field],
                         world->records[b].values[field], world->arena))
            return false;
    return true;
}

/* Two records have the same key if and only if they have the same identity. Decoding a key returns the fields
 * that it holds. */
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
            g_error("%s\n%s", error.text, world->rules.yaml);
        for (size_t field = 0; field < world->table->fields_count; field++) {
            if (kw_layout_holds_field(layout, field))
                g_assert_true(kw_value_equal(back.values[field], world->records[a].values[field]));
            else
                g_assert_cmpint(back.values[field].kind, ==, KW_VALUE_NONE);
        }
    }
}

static int
compare_keys(const void *a, const void *b)
{
    return kw_bytes_compare(*(const kw_bytes *)a, *(const kw_bytes *)b);
}

static void
fill_store_table(kw_test_world *world, size_t path)
{
    kw_bytes keys[WORLD_RECORDS];
    for (size_t index = 0; index < world->count; index++) {
        bool done = encode(world, path, &world->records[index], &keys[index]);
        g_assert_true(done);
    }
    check_keys(world, path, keys);
    kw_test_store_table *stored = &world->store_tables[path];
    stored->count = world->count;
    memcpy(stored->keys, keys, sizeof keys);
    qsort(stored->keys, stored->count, sizeof *stored->keys, compare_keys);
    for (size_t position = 0; position < stored->count; position++) {
        for (size_t index = 0; index < world->count; index++) {
            if (kw_bytes_equal(stored->keys[position], keys[index]))
                stored->records[position] = index;
        }
    }
}

/* Adds records that every path can encode, each with another identity. */
static void
fill_world(kw_test_world *world)
{
    for (size_t tries = 0; tries < 4 * WORLD_RECORDS && world->count < WORLD_RECORDS; tries++) {
        kw_record record = kw_record_new(world->table, world->arena);
        for (size_t field = 0; field < world->table->fields_count; field++)
            record.values[field] = random_value(&world->rules, field, world->arena);
        kw_bytes key;
        bool fits = true;
        for (size_t path = 0; fits && path < world->table->queried_paths_count; path++)
            fits = encode(world, path, &record, &key);
        if (!fits)
            continue;
        world->records[world->count] = record;
        bool fresh = true;
        for (size_t other = 0; fresh && other < world->count; other++)
            fresh = !same_identity(world, world->count, other);
        world->count += fresh;
    }
    for (size_t path = 0; path < world->table->queried_paths_count; path++)
        fill_store_table(world, path);
}

bool
world_make(kw_test_world *world)
{
    random_table rules;
    random_table_make(&rules);
    return world_make_from(world, &rules);
}

bool
world_make_from(kw_test_world *world, random_table *rules)
{
    *world = (kw_test_world){.rules = *rules};
    world->policy = test_policy_maybe(world->rules.yaml);
    world->arena = kw_arena_new();
    if (!world->policy)
        return false;
    world->table = kw_policy_table(world->policy, 0);
    world_attempt = world->rules.yaml;
    fill_world(world);
    return true;
}

void
world_clear(kw_test_world *world)
{
    world_attempt = "";
    kw_arena_free(world->arena);
    kw_policy_unref(world->policy);
    random_table_clear(&world->rules);
}

void
world_report_crashes(void)
{
    signal(SIGABRT, print_attempt);
}

/* --- queries ------------------------------------------------------------------------------------- */

/* Usually a value of one of the records, sometimes a random one. */
kw_value
world_likely_value(const kw_test_world *world, size_t field)
{
    if (world->count == 0 || random_chance(15))
        return random_value(&world->rules, field, world->arena);
    return world->records[random_below((unsigned)world->count)].values[field];
}

/* The sum of `number` and `step`, or the nearest int64_t. */
static int64_t
add_saturated(int64_t number, int64_t step)
{
    int64_t sum;
    if (__builtin_add_overflow(number, step, &sum))
        return step < 0 ? INT64_MIN : INT64_MAX;
    return sum;
}

/* Sets a range from an hour to some days around the time of a record: it has many pieces of time, but a
 * limited number. */
static void
set_time_range(const kw_test_world *world, kw_record_query *query)
{
    static const int64_t lengths_ms[] = {3600000, 86400000, 300000000};
    size_t field = (size_t)kw_table_find_field(world->table, KW_BYTES_LITERAL("t0"));
    int64_t length = lengths_ms[random_below(G_N_ELEMENTS(lengths_ms))];
    query->range_field = (int)field;
    query->from = world_likely_value(world, field);
    query->from.number = add_saturated(query->from.number, random_below(2) ? -length / 2 : 0);
    query->to = query->from;
    query->to.number = add_saturated(query->to.number, length);
    ((kw_bound *)query->bounds)[field].count = 0;
}

/* Small limits make plans that are read in windows, widened, or rejected. */
static size_t
random_limit(const kw_test_world *world)
{
    static const size_t limits[] = {1, 2, 3, 5, 8, 13};
    if (random_chance(30))
        return limits[random_below(G_N_ELEMENTS(limits))];
    return !world->rules.zone ? 100000 : random_chance(50) ? 150 : 25;
}

void
world_random_query(const kw_test_world *world, kw_record_query *ret_query)
{
    size_t fields = world->table->fields_count;
    kw_bound *bounds = KW_ARENA_ARRAY(world->arena, kw_bound, fields);
    for (size_t field = 0; field < fields; field++) {
        size_t count = random_chance(world->table->fields[field].identity ? 60 : 90) ? 0
                       : random_chance(60)                                           ? 1
                                                                                     : 1 + random_below(3);
        kw_value *values = KW_ARENA_ARRAY(world->arena, kw_value, count);
        for (size_t index = 0; index < count; index++)
            values[index] = world_likely_value(world, field);
        bounds[field] = (kw_bound){.values = values, .count = count};
    }
    kw_record_query query = {
        .table = world->table,
        .path = random_chance(50) ? -1 : (int)random_below((unsigned)world->table->queried_paths_count),
        .bounds = bounds,
        .range_field = random_chance(50) ? -1 : (int)random_below((unsigned)fields),
        .from_inclusive = random_chance(60),
        .to_inclusive = random_chance(40),
        .order = (kw_order)random_below(3),
        .full_scan = random_chance(85),
        .range_limit = random_limit(world),
    };
    if (query.range_field >= 0 && random_chance(80))
        query.from = world_likely_value(world, (size_t)query.range_field);
    if (query.range_field >= 0 && random_chance(80))
        query.to = world_likely_value(world, (size_t)query.range_field);
    if (world->rules.zone && random_chance(35))
        set_time_range(world, &query);
    *ret_query = query;
}

static bool
is_within_end(kw_value value, kw_value end, bool inclusive, int sign)
{
    int order = kw_value_compare(value, end) * sign;
    return end.kind == KW_VALUE_NONE || order > 0 || (order == 0 && inclusive);
}

/* A bound has the same meaning as in a get: the keys hold the record's time and the bound time alike. */
static bool
is_bound_to(const kw_table *table, size_t field, kw_value asked, kw_value value)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    return same_in_key(table, field, asked, value, arena);
}

bool
world_meets(const kw_record_query *query, const kw_record *record)
{
    for (size_t field = 0; field < query->table->fields_count; field++) {
        const kw_bound *bound = &query->bounds[field];
        bool among = bound->count == 0;
        for (size_t index = 0; index < bound->count && !among; index++)
            among = is_bound_to(query->table, field, bound->values[index], record->values[field]);
        if (!among)
            return false;
    }
    if (query->range_field < 0)
        return true;
    kw_value value = record->values[query->range_field];
    return is_within_end(value, query->from, query->from_inclusive, 1) &&
           is_within_end(value, query->to, query->to_inclusive, -1);
}

/* --- reading a plan ------------------------------------------------------------------------------ */

static bool reversed;

static int
compare_rows(const void *a, const void *b)
{
    const kw_test_row *left = a, *right = b;
    int order = kw_bytes_compare(left->rest, right->rest);
    if (order == 0) /* in both directions, as in the tree of a merge */
        return (left->range > right->range) - (left->range < right->range);
    return reversed ? -order : order;
}

size_t world_filtered, world_unfiltered;

static size_t
first_position(const kw_test_store_table *stored, kw_bytes start)
{
    size_t low = 0, high = stored->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (kw_bytes_compare(stored->keys[middle], start) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static size_t
read_range(const kw_test_world *world, const kw_plan *plan, size_t number, kw_test_row *rows)
{
    const kw_range *range = &plan->ranges[number];
    const kw_test_store_table *stored = &world->store_tables[plan->path - world->table->paths];
    kw_patterns patterns = kw_plan_patterns(plan, number);
    size_t count = 0;
    for (size_t position = first_position(stored, range->start); position < stored->count; position++) {
        kw_bytes key = stored->keys[position];
        if (range->stop.size > 0 && kw_bytes_compare(key, range->stop) >= 0)
            break;
        if (range->row_size != 0 && range->row_size != key.size)
            continue;
        const kw_record *record = &world->records[stored->records[position]];
        if (!plan->residual)
            g_assert_true(world_meets(plan->query, record));
        if (!kw_patterns_match(&patterns, key)) { /* a store can drop it */
            world_filtered++;
            continue;
        }
        world_unfiltered += plan->residual && !kw_plan_matches_in(plan, number, record);
        if (plan->residual && !kw_plan_matches_in(plan, number, record))
            continue;
        g_assert_cmpuint(range->skip, <=, key.size);
        g_assert_true(kw_bytes_starts_with(key, kw_bytes_of(range->start.data, range->skip)));
        rows[count++] =
            (kw_test_row){key, kw_bytes_skip(key, range->skip), number, stored->records[position]};
    }
    return count;
}

size_t
world_read_plan(const kw_test_world *world, const kw_plan *plan, kw_test_row *rows, size_t capacity)
{
    size_t count = 0;
    for (size_t index = 0; index < plan->groups_count; index++) {
        const kw_merge_group *group = &plan->groups[index];
        size_t first = count;
        for (size_t number = group->first; number < group->first + group->count; number++) {
            g_assert_cmpuint(plan->ranges[number].group, ==, index);
            g_assert_cmpuint(count + world->count, <=, capacity);
            count += read_range(world, plan, number, rows + count);
        }
        reversed = plan->reversed;
        qsort(rows + first, count - first, sizeof *rows, compare_rows);
    }
    return count;
}
