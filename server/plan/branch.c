/* Multiplies the branches, component by component, with the values and buckets that an analysis found.
 *
 *   one branch  --list of 3-->  3 branches  --16 buckets-->  48 branches
 */
#include "plan/branch.h"

#include "plan/refusal.h"

typedef struct kw_growth {
    const kw_path_analysis *analysis;
    const kw_normalized_query *normalized;
    size_t limit;
    kw_arena *arena;
    kw_branches now;
    size_t values_count; /* fields up to the last one that the rule reads: branches copy these */
    kw_buffer *scratch;
    kw_error *error;
} kw_growth;

/* Allocates space for `factor` times as many branches. */
static kw_branch *
space_for(kw_growth *growing, size_t factor)
{
    size_t count;
    if (!__builtin_mul_overflow(growing->now.count, factor, &count) && count <= growing->limit) {
        if (kw_normalized_query_can_hold(growing->normalized, growing->arena, count * sizeof(kw_branch)))
            return KW_ARENA_ARRAY(growing->arena, kw_branch, count);
        kw_normalized_query_fail(growing->normalized, growing->error);
        return NULL;
    }
    kw_refuse_ranges(growing->analysis, growing->normalized, growing->limit, growing->error);
    return NULL;
}

static bool
may_go_on(kw_growth *growing)
{
    return kw_normalized_query_can_continue(growing->normalized, growing->arena) ||
           kw_normalized_query_fail(growing->normalized, growing->error);
}

static const kw_value *
with_value(kw_growth *growing, const kw_value *values, size_t field, kw_value value)
{
    kw_value *copy = KW_ARENA_ARRAY(growing->arena, kw_value, growing->values_count);
    memcpy(copy, values, growing->values_count * sizeof *copy);
    copy[field] = value;
    return copy;
}

/* Copies each branch for every value of a field bound to a list. */
static bool
spread_list(kw_growth *growing, size_t field)
{
    const kw_bound *bound = &growing->normalized->bounds[field];
    if (bound->count < 2 || growing->now.count == 0 ||
        growing->now.items[0].values[field].kind != KW_VALUE_NONE)
        return true;
    kw_branch *items = space_for(growing, bound->count);
    if (!items)
        return false;
    size_t count = 0;
    for (size_t index = 0; index < growing->now.count; index++) {
        for (size_t value = 0; value < bound->count; value++) {
            if (!may_go_on(growing))
                return false;
            items[count] = growing->now.items[index];
            items[count].values = with_value(growing, items[count].values, field, bound->values[value]);
            count++;
        }
    }
    growing->now.items = items;
    growing->now.count = count;
    return true;
}

static bool
spread_inputs(kw_growth *growing, const kw_component *component)
{
    for (size_t index = 0; index < component->inputs_count; index++) {
        if (!spread_list(growing, component->inputs[index]))
            return false;
    }
    return true;
}

static kw_bytes
joined(kw_growth *growing, kw_bytes prefix, kw_bytes piece)
{
    uint8_t *bytes = kw_arena_alloc(growing->arena, prefix.size + piece.size);
    if (prefix.size > 0)
        memcpy(bytes, prefix.data, prefix.size);
    if (piece.size > 0)
        memcpy(bytes + prefix.size, piece.data, piece.size);
    return kw_bytes_of(bytes, prefix.size + piece.size);
}

/* The branch in one bucket; false if no record of the query can be there. */
static bool
enter_bucket(kw_growth *growing, const kw_branch *from, const kw_bucket *bucket, kw_branch *ret_branch)
{
    kw_branch branch = *from;
    if (bucket->narrowed) {
        branch.least = branch.narrowed ? MAX(branch.least, bucket->least) : bucket->least;
        branch.most = branch.narrowed ? MIN(branch.most, bucket->most) : bucket->most;
        branch.narrowed = true;
        if (branch.least > branch.most)
            return false;
    }
    branch.timed = branch.timed || bucket->timed;
    branch.prefix = joined(growing, from->prefix, bucket->bytes);
    if (bucket->field >= 0)
        branch.values = with_value(growing, from->values, (size_t)bucket->field, bucket->value);
    *ret_branch = branch;
    return true;
}

static bool
fan_out(kw_growth *growing, size_t at)
{
    const kw_component *component = kw_layout_component(growing->analysis->layout, at);
    const kw_bucket *buckets;
    const kw_value_span every = {.field = -1};
    const kw_value_span *span = growing->analysis->all_pieces[at] ? &every : &growing->normalized->span;
    size_t buckets_count = component->kind->enumerate(component, span, growing->arena, &buckets);
    growing->now.fanned[at] = buckets_count;
    kw_branch *items = space_for(growing, buckets_count);
    if (!items)
        return false;
    size_t count = 0;
    for (size_t index = 0; index < growing->now.count; index++) {
        for (size_t bucket = 0; bucket < buckets_count; bucket++) {
            if (!may_go_on(growing))
                return false;
            if (!enter_bucket(growing, &growing->now.items[index], &buckets[bucket], &items[count]))
                continue;
            if (component->choice)
                items[count].choice = (uint32_t)bucket;
            count++;
        }
    }
    growing->now.items = items;
    growing->now.count = count;
    return true;
}

/* Removes branches whose values contradict each other; they contain no records. */
static void
drop_contradictions(kw_growth *growing, const kw_component *component)
{
    size_t kept = 0;
    for (size_t index = 0; component->kind->agrees && index < growing->now.count; index++) {
        if (component->kind->agrees(component, growing->now.items[index].values))
            growing->now.items[kept++] = growing->now.items[index];
    }
    growing->now.count = component->kind->agrees ? kept : growing->now.count;
}

static bool
append_piece(kw_growth *growing, const kw_component *component)
{
    drop_contradictions(growing, component);
    for (size_t index = 0; index < growing->now.count; index++) {
        kw_branch *branch = &growing->now.items[index];
        growing->scratch->size = 0;
        if (!may_go_on(growing) || !component->kind->encode(component, branch->values, KW_BYTES_NONE,
                                                            growing->scratch, growing->error))
            return false;
        branch->prefix = joined(growing, branch->prefix, kw_buffer_bytes(growing->scratch));
    }
    return true;
}

/* The analysis stopped at a clock. Copies each branch for every listed value of the fields from which the
 * clock computes its runs. */
static bool
spread_stop(kw_growth *growing)
{
    const kw_component *clock = kw_layout_component(growing->analysis->layout, growing->analysis->used);
    bool held = growing->analysis->known[clock->clock];
    for (size_t index = 0; index < (held ? clock->also_count : clock->also_before); index++) {
        if (!spread_list(growing, clock->also[index]))
            return false;
    }
    return spread_list(growing, (size_t)clock->clock);
}

static bool
grow_prefixes(kw_growth *growing)
{
    for (size_t index = 0; index < growing->analysis->used; index++) {
        const kw_component *component = kw_layout_component(growing->analysis->layout, index);
        bool good = growing->analysis->fan_out[index]
                        ? fan_out(growing, index)
                        : spread_inputs(growing, component) && append_piece(growing, component);
        if (!good)
            return false;
    }
    return growing->analysis->stop != KW_STOP_RUNS || spread_stop(growing);
}

/* Every field is known in every branch: encodes whole keys at once instead of piece by piece. */
static bool
grow_keys(kw_growth *growing)
{
    const kw_layout *layout = growing->analysis->layout;
    for (size_t index = 0; index < growing->analysis->used; index++) {
        const kw_component *component = kw_layout_component(layout, index);
        bool good =
            growing->analysis->fan_out[index] ? fan_out(growing, index) : spread_inputs(growing, component);
        if (!good)
            return false;
        drop_contradictions(growing, component);
    }
    for (size_t index = 0; index < growing->now.count; index++) {
        kw_branch *branch = &growing->now.items[index];
        growing->scratch->size = 0;
        if (!may_go_on(growing) || !kw_layout_encode_values(layout, branch->values, branch->choice,
                                                            growing->scratch, growing->error))
            return false;
        branch->prefix = kw_arena_copy(growing->arena, kw_buffer_bytes(growing->scratch));
    }
    return true;
}

static size_t
count_values(const kw_layout *layout)
{
    size_t count = 0;
    for (size_t index = 0; index < kw_layout_component_count(layout); index++) {
        const kw_component *component = kw_layout_component(layout, index);
        for (size_t input = 0; input < component->inputs_count; input++)
            count = MAX(count, component->inputs[input] + 1);
        count = MAX(count, (size_t)(component->clock + 1));
    }
    return count;
}

static kw_branch
first_branch(const kw_normalized_query *normalized, kw_arena *arena)
{
    kw_value *values = KW_ARENA_ARRAY(arena, kw_value, normalized->table->fields_count);
    for (size_t field = 0; field < normalized->table->fields_count; field++) {
        if (normalized->bounds[field].count == 1)
            values[field] = normalized->bounds[field].values[0];
    }
    return (kw_branch){.values = values};
}

bool
kw_branches_make(const kw_path_analysis *analysis, const kw_normalized_query *normalized, size_t limit,
                 kw_arena *arena, kw_branches *ret_branches, kw_error *ret_error)
{
    g_assert(limit > 0);
    kw_branch *first = KW_ARENA_NEW(arena, kw_branch);
    *first = first_branch(normalized, arena);
    g_auto(kw_buffer) scratch = KW_BUFFER_EMPTY;
    kw_growth growing = {
        .analysis = analysis,
        .normalized = normalized,
        .limit = limit,
        .arena = arena,
        .now = {.items = first, .count = 1},
        .values_count = count_values(analysis->layout),
        .scratch = &scratch,
        .error = ret_error,
    };
    bool good = analysis->stop == KW_STOP_COMPLETE ? grow_keys(&growing) : grow_prefixes(&growing);
    *ret_branches = growing.now;
    return good;
}
