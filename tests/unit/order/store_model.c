/* See store_model.h. A step is an event at the server or at a caller. Messages take any time, because other
 * steps can happen in between. */
#include "store_model.h"

#include "monitor.h"

#include <glib.h>
#include <string.h>

#define OPS 5 /* three callers, and calls whose reply was lost */
#define CALLERS_MAX 3
#define A 0
#define B 1
#define C 2
#define BIT(field) ((uint8_t)(1u << (field)))

typedef struct cell {
    uint8_t stamp; /* 0: none */
    uint8_t value;
} cell;

typedef enum phase { IDLE, BEGUN, HAS_READ, APPLIED, REFUSED, REFUSED_LATE } phase;

typedef struct op {
    uint16_t kind;
    uint8_t phase;
    uint8_t value;    /* to write; unique */
    uint8_t believed; /* conditions */
    uint8_t stamp;    /* removals: the timestamp of the delete; puts of counters: the newest timestamp read */
    uint8_t seen;     /* the value of kw:g or the counter that was read */
    uint8_t id;       /* the value that it writes to kw:g */
    uint8_t repeated;
    uint8_t applied; /* conditions: the answer */
    uint16_t read;
    int8_t specs[2]; /* -1: none */
} op;

typedef struct world {
    uint8_t now, ticks_left, calls_left, unknown_left, next_value, next_id, moves_left, wrong;
    cell cells[FIELDS];
    cell generation; /* kw:g */
    uint8_t row_marker, a_marker;
    op ops[OPS];
    spec_ops specs;
    monitor monitors[FIELDS];
} world;

typedef struct search {
    const store_model *model;
    explorer *of;
} search;

/* --- the server ------------------------------------------------------------------------------- */

static uint8_t
marker_of(const world *in, unsigned field)
{
    return field == A ? MAX(in->row_marker, in->a_marker) : in->row_marker;
}

static cell
visible(const world *in, unsigned field)
{
    cell found = in->cells[field];
    return found.stamp > marker_of(in, field) ? found : (cell){0, 0};
}

static cell
visible_generation(const world *in)
{
    return in->generation.stamp > in->row_marker ? in->generation : (cell){0, 0};
}

/* Of two cells with the same timestamp the later one is visible. */
static void
store(cell *to, uint8_t stamp, uint8_t value)
{
    if (stamp >= to->stamp)
        *to = (cell){stamp, value};
}

static uint16_t
read_all(const world *in)
{
    uint16_t values = 0;
    for (unsigned i = 0; i < FIELDS; i++)
        values |= (uint16_t)(visible(in, i).value << (4 * i));
    return values;
}

static uint8_t
add_one(const world *in, cell *to, cell seen)
{
    uint8_t stamp = seen.stamp ? MAX(seen.stamp + 1, in->now) : in->now;
    uint8_t value = (uint8_t)(seen.value + 1);
    store(to, stamp, value);
    return value;
}

/* --- what operations mean --------------------------------------------------------------------- */

static uint8_t
fields_written(unsigned kind)
{
    switch (kind) {
    case STORE_PUT:
    case STORE_PUT_IF:
    case STORE_PUT_IF_COUNTER:
    case STORE_REMOVE_FIELD:
        return BIT(A);
    case STORE_PUT_BOTH:
        return BIT(A) | BIT(B);
    case STORE_PUT_COUNTER:
    case STORE_PUT_IF_TO_COUNTER:
        return BIT(C);
    case STORE_PUT_WITH_COUNTER:
        return BIT(A) | BIT(C);
    case STORE_REMOVE:
        return BIT(A) | BIT(B) | BIT(C);
    default:
        return 0;
    }
}

static bool
is_removal(unsigned kind)
{
    return kind == STORE_REMOVE || kind == STORE_REMOVE_FIELD;
}

static bool
is_condition(unsigned kind)
{
    return kind == STORE_PUT_IF || kind == STORE_PUT_IF_COUNTER || kind == STORE_PUT_IF_TO_COUNTER;
}

static spec_op
spec_of(const op *of, uint8_t fields)
{
    spec_op spec = {.writes = fields_written(of->kind) & fields};
    for (unsigned i = 0; i < FIELDS; i++)
        spec.values[i] = is_removal(of->kind) ? 0 : of->value;
    spec.conditional = is_condition(of->kind);
    spec.on = of->kind == STORE_PUT_IF_COUNTER ? C : A;
    spec.equals = of->believed;
    spec.increments = of->kind == STORE_INCREMENT ? BIT(C) : 0;
    spec.reads = of->kind == STORE_GET ? 7 : 0;
    return spec;
}

/* If a removal need not be atomic, it counts as one removal of field a and one of the others. */
static bool
begin_specs(const search *with, world *in, op *of)
{
    bool split = with->model->promise == STORE_RECORD && of->kind == STORE_REMOVE;
    of->specs[0] = (int8_t)spec_begin(&in->specs, spec_of(of, split ? BIT(A) : 7));
    of->specs[1] = -1;
    if (split)
        of->specs[1] = (int8_t)spec_begin(&in->specs, spec_of(of, BIT(B) | BIT(C)));
    return of->specs[0] >= 0 && (!split || of->specs[1] >= 0);
}

static size_t
monitors_of(const search *with)
{
    return with->model->promise == STORE_EACH_FIELD ? FIELDS : 1;
}

static void
step(const search *with, const world *next, const char *action, int index)
{
    explore_step(with->of, next, action, index);
}

/* --- answers ---------------------------------------------------------------------------------- */

static void
answer(const search *with, const world *in, int index, uint16_t result, const char *action)
{
    world next = *in;
    op *of = &next.ops[index];
    bool right = true;
    for (size_t spec = 0; spec < 2; spec++) {
        if (of->specs[spec] < 0)
            continue;
        for (size_t i = 0; i < monitors_of(with); i++)
            right = monitor_end(&next.monitors[i], &next.specs, of->specs[spec], result) && right;
    }
    for (size_t spec = 0; spec < 2; spec++)
        if (of->specs[spec] >= 0)
            spec_end(&next.specs, of->specs[spec]);
    memset(of, 0, sizeof *of);
    next.wrong = !right;
    step(with, &next, action, index);
}

static uint16_t
result_of(const op *of)
{
    return is_condition(of->kind) ? of->applied : of->read;
}

/* The caller gets no reply; the operation continues. */
static void
lose_reply(const search *with, const world *in, int index)
{
    int to = CALLERS_MAX;
    while (to < OPS && in->ops[to].phase != IDLE)
        to++;
    if (in->unknown_left == 0 || to == OPS || index >= CALLERS_MAX || in->ops[index].kind == STORE_GET)
        return;
    world next = *in;
    next.ops[to] = next.ops[index];
    memset(&next.ops[index], 0, sizeof next.ops[index]);
    next.unknown_left--;
    step(with, &next, "gets no answer", index);
}

/* --- puts, increments, native comparisons ----------------------------------------------------- */

static void
write_fields(world *in, const op *of, uint8_t stamp)
{
    for (unsigned i = 0; i < FIELDS; i++)
        if (fields_written(of->kind) >> i & 1)
            store(&in->cells[i], stamp, of->value);
}

static void
apply_put(const search *with, const world *in, int index)
{
    world next = *in;
    op *of = &next.ops[index];
    write_fields(&next, of, next.now);
    of->phase = APPLIED;
    step(with, &next, "put is applied", index);
}

static void
apply_increment(const search *with, const world *in, int index)
{
    world next = *in;
    op *of = &next.ops[index];
    uint8_t sum = add_one(&next, &next.cells[C], visible(&next, C));
    if (!with->model->no_generation) {
        cell seen = visible_generation(&next);
        add_one(&next, &next.generation, seen);
        next.generation.value = next.next_id++; /* a random increment: no value is used twice */
    }
    of->read = (uint16_t)(sum << 4 * C);
    of->phase = APPLIED;
    step(with, &next, "increment is applied", index);
}

static void
apply_put_if(const search *with, const world *in, int index)
{
    world next = *in;
    op *of = &next.ops[index];
    cell compared = visible(&next, of->kind == STORE_PUT_IF_COUNTER ? C : A);
    of->applied = compared.value == of->believed;
    if (of->applied && of->repeated && !with->model->repeats_put)
        return;
    of->phase = of->applied ? APPLIED : of->repeated ? REFUSED_LATE : REFUSED;
    if (of->applied) {
        uint8_t stamp = MAX(next.now, compared.stamp);
        write_fields(&next, of, stamp);
        if (!with->model->no_generation)
            store(&next.generation, stamp, of->id);
    }
    step(with, &next, of->applied ? "comparison is met" : "comparison is not met", index);
}

/* --- removals --------------------------------------------------------------------------------- */

static uint8_t
newest_removed(const search *with, const world *in, const op *of)
{
    uint8_t newest = 0;
    for (unsigned i = 0; i < FIELDS; i++)
        if (fields_written(of->kind) >> i & 1)
            newest = MAX(newest, visible(in, i).stamp);
    if (newest && !with->model->no_generation &&
        !(of->kind == STORE_REMOVE_FIELD && with->model->short_removal))
        newest = MAX(newest, visible_generation(in).stamp);
    return newest;
}

static void
read_newest(const search *with, const world *in, int index)
{
    world next = *in;
    op *of = &next.ops[index];
    of->stamp = newest_removed(with, in, of);
    of->seen = visible_generation(in).value;
    of->phase = of->stamp ? HAS_READ : APPLIED;
    step(with, &next, "removal reads the newest timestamp", index);
}

static void
mark(world *in, const op *of, uint8_t stamp)
{
    uint8_t *marker = of->kind == STORE_REMOVE ? &in->row_marker : &in->a_marker;
    *marker = MAX(*marker, stamp);
}

static void
apply_delete(const search *with, const world *in, int index)
{
    world next = *in;
    op *of = &next.ops[index];
    if (!with->model->no_generation && visible_generation(in).value != of->seen) {
        of->phase = of->repeated ? REFUSED_LATE : REFUSED;
        step(with, &next, "delete is refused", index);
        return;
    }
    mark(&next, of, with->model->delete_unstamped ? next.now : of->stamp);
    of->phase = APPLIED;
    step(with, &next, "delete is applied", index);
}

/* --- puts of counters ------------------------------------------------------------------------- */

static void
read_counter(const search *with, const world *in, int index)
{
    world next = *in;
    op *of = &next.ops[index];
    cell counter = visible(in, C), generation = visible_generation(in);
    if (of->kind == STORE_PUT_IF_COUNTER && counter.value != of->believed) {
        of->applied = 0;
        of->phase = APPLIED;
        step(with, &next, "comparison reads another value", index);
        return;
    }
    of->stamp = MAX(counter.stamp, generation.stamp);
    of->seen = with->model->value_counter_put ? counter.value : generation.value;
    of->phase = HAS_READ;
    step(with, &next, "put of a counter reads it", index);
}

static void
apply_compared_put(const search *with, const world *in, int index)
{
    world next = *in;
    op *of = &next.ops[index];
    cell compared = with->model->value_counter_put ? visible(in, C) : visible_generation(in);
    if (compared.value != of->seen) {
        of->phase = of->repeated ? REFUSED_LATE : REFUSED;
        step(with, &next, "put of a counter is refused", index);
        return;
    }
    if (of->repeated && !with->model->repeats_put)
        return;
    uint8_t stamp = MAX(next.now, compared.stamp);
    write_fields(&next, of, stamp);
    store(&next.generation, stamp, of->id);
    of->applied = 1;
    of->phase = APPLIED;
    step(with, &next, "put of a counter is applied", index);
}

/* True if it also writes a field whose puts are stamped with the server's clock. */
static bool
must_wait(const search *with, const op *of)
{
    return !with->model->eager_counter_put && of->kind != STORE_PUT_COUNTER;
}

/* --- one call --------------------------------------------------------------------------------- */

static bool
is_compared_put(const search *with, const op *of)
{
    if (of->kind == STORE_PUT_IF_COUNTER)
        return !with->model->native_counter_if;
    return (of->kind == STORE_PUT_COUNTER || of->kind == STORE_PUT_WITH_COUNTER) &&
           !with->model->plain_counter_put;
}

static void
begin_again(const search *with, const world *in, int index)
{
    world next = *in;
    next.ops[index].phase = BEGUN;
    next.ops[index].repeated = 0;
    next.ops[index].id = next.next_id++;
    step(with, &next, "begins again", index);
}

static void
expand_begun(const search *with, const world *in, int index)
{
    const op *of = &in->ops[index];
    if (is_removal(of->kind)) {
        read_newest(with, in, index);
    } else if (of->kind == STORE_GET) {
        world next = *in;
        next.ops[index].read = read_all(in);
        next.ops[index].phase = APPLIED;
        step(with, &next, "get is answered by the server", index);
    } else if (of->kind == STORE_INCREMENT) {
        apply_increment(with, in, index);
    } else if (is_compared_put(with, of)) {
        read_counter(with, in, index);
    } else if (is_condition(of->kind)) {
        apply_put_if(with, in, index);
    } else {
        apply_put(with, in, index);
    }
}

static void
expand_has_read(const search *with, const world *in, int index)
{
    const op *of = &in->ops[index];
    bool passed = in->now > of->stamp;
    if (is_removal(of->kind) && (passed || with->model->no_wait || with->model->delete_unstamped))
        apply_delete(with, in, index);
    else if (!is_removal(of->kind) && (passed || !must_wait(with, of)))
        apply_compared_put(with, in, index);
}

/* HBase's client or ours sends an applied call again. */
static void
repeat(const search *with, const world *in, int index)
{
    const op *of = &in->ops[index];
    const store_model *model = with->model;
    bool compares = is_condition(of->kind) || is_compared_put(with, of) ||
                    (is_removal(of->kind) && !model->no_generation && of->stamp);
    bool has_read = is_removal(of->kind) || is_compared_put(with, of);
    if (of->repeated || (has_read && !of->stamp && is_removal(of->kind)))
        return;
    world next = *in;
    next.ops[index].repeated = 1;
    next.ops[index].phase = has_read ? HAS_READ : BEGUN;
    if (model->repeats_put && (of->kind == STORE_PUT || of->kind == STORE_PUT_BOTH))
        step(with, &next, "put is sent again", index);
    if (model->repeats_compare && compares && (!is_condition(of->kind) || of->applied))
        step(with, &next, "comparison is sent again", index);
    if (is_removal(of->kind) && !compares)
        step(with, &next, "delete is sent again", index);
    if (is_removal(of->kind) && model->repeat_from_get)
        begin_again(with, &next, index);
}

static void
expand_applied(const search *with, const world *in, int index)
{
    const op *of = &in->ops[index];
    if (index < CALLERS_MAX)
        answer(with, in, index, result_of(of), "is answered");
    repeat(with, in, index);
}

/* A late rejection can follow an earlier attempt that was applied. Only the operation's own id in kw:g shows
 * that it was. */
static void
expand_refused_late(const search *with, const world *in, int index)
{
    const op *of = &in->ops[index];
    if (with->model->believe_refusals) {
        if (is_condition(of->kind) && index < CALLERS_MAX)
            answer(with, in, index, 0, "is answered: not met");
        else
            begin_again(with, in, index);
        return;
    }
    if (index >= CALLERS_MAX)
        return;
    if (!is_removal(of->kind) && visible_generation(in).value == of->id)
        answer(with, in, index, is_condition(of->kind) ? 1 : 0, "finds its own id");
    else
        lose_reply(with, in, index);
}

static void
expand_op(const search *with, const world *in, int index)
{
    const op *of = &in->ops[index];
    switch ((phase)of->phase) {
    case IDLE:
        return;
    case BEGUN:
        expand_begun(with, in, index);
        break;
    case HAS_READ:
        expand_has_read(with, in, index);
        break;
    case APPLIED:
        expand_applied(with, in, index);
        break;
    case REFUSED:
        if (is_condition(of->kind) && !is_compared_put(with, of)) {
            if (index < CALLERS_MAX)
                answer(with, in, index, 0, "is answered: not met");
        } else {
            begin_again(with, in, index);
        }
        break;
    case REFUSED_LATE:
        expand_refused_late(with, in, index);
        break;
    }
    lose_reply(with, in, index);
}

/* --- the world -------------------------------------------------------------------------------- */

static void
begin_call(const search *with, const world *in, int index, unsigned kind, uint8_t believed)
{
    world next = *in;
    op *of = &next.ops[index];
    *of = (op){.kind = (uint16_t)kind, .phase = BEGUN, .believed = believed};
    if (fields_written(kind) && !is_removal(kind))
        of->value = next.next_value++;
    if (is_condition(kind) || is_compared_put(with, of))
        of->id = next.next_id++;
    next.calls_left--;
    static const char *const names[] = {"begins put",
                                        "begins put of both",
                                        "begins get",
                                        "begins remove",
                                        "begins remove of the field",
                                        "begins putIf",
                                        "begins increment",
                                        "begins put of the counter",
                                        "begins put with the counter",
                                        "begins putIf of the counter",
                                        "begins putIf to the counter"};
    if (begin_specs(with, &next, of))
        step(with, &next, names[__builtin_ctz(kind)], index);
}

/* All callers are equal, so only the first idle one begins. */
static void
begin_calls(const search *with, const world *in)
{
    int index = 0;
    while (index < with->model->callers && in->ops[index].phase != IDLE)
        index++;
    if (in->calls_left == 0 || index == with->model->callers)
        return;
    for (unsigned kind = 1; kind <= STORE_PUT_IF_TO_COUNTER; kind <<= 1) {
        if (!(with->model->kinds & kind))
            continue;
        uint8_t now = visible(in, kind == STORE_PUT_IF_COUNTER ? C : A).value;
        begin_call(with, in, index, kind, is_condition(kind) ? now : 0);
        if (is_condition(kind) && now)
            begin_call(with, in, index, kind, 0);
    }
}

static void
check_end(const search *with, const world *in)
{
    for (int i = 0; i < CALLERS_MAX; i++)
        if (in->ops[i].phase != IDLE)
            return;
    for (size_t i = 0; i < monitors_of(with); i++)
        if (!monitor_could_read(&in->monitors[i], &in->specs, read_all(in)))
            explore_wrong(with->of, "a read now returns a result that no order of the operations has");
}

static void
expand(explorer *of, const void *state, void *user)
{
    const world *in = state;
    const search with = {.model = user, .of = of};
    if (in->wrong)
        explore_wrong(of, "an answer that no order of the operations has");
    check_end(&with, in);
    for (int i = 0; i < OPS && !explore_over(of); i++)
        expand_op(&with, in, i);
    begin_calls(&with, in);
    if (in->ticks_left) {
        world next = *in;
        next.now++;
        next.ticks_left--;
        step(&with, &next, "the clock ticks", -1);
    }
    if (in->moves_left) {
        world next = *in;
        next.now--;
        next.moves_left--;
        step(&with, &next, "the region moves to a server with a slow clock", -1);
    }
}

explored
store_model_explore(const store_model *model, uint64_t states_max)
{
    g_autofree world *first = g_new0(world, 1);
    first->now = 2;
    first->ticks_left = (uint8_t)model->ticks;
    first->calls_left = (uint8_t)model->calls;
    first->unknown_left = (uint8_t)model->unknown;
    first->moves_left = model->moves_back;
    first->next_value = first->next_id = 1;
    bool alone = model->promise == STORE_EACH_FIELD;
    for (unsigned i = 0; i < FIELDS; i++)
        monitor_init(&first->monitors[i], (uint8_t)(alone ? BIT(i) : 7), 0);
    return explore(first, sizeof *first, expand, (void *)model, states_max);
}
