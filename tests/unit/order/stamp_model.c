/* See stamp_model.h. The clock's error is chosen at each use: a stamp is between the store's time and `error`
 * more. A gateway can know that a stamp has surely passed as soon as the store's time has reached it. */
#include "stamp_model.h"

#include "monitor.h"

#include <glib.h>
#include <string.h>

#define OPS 5
#define CALLERS_MAX 3
#define PLACES 2
#define WATCHED 2
#define A 0
#define B 1
#define BIT(field) ((uint8_t)(1u << (field)))

typedef struct cell {
    uint8_t stamp; /* 0: none */
    uint8_t value;
} cell;

/* One row. The gone cells are written one millisecond after the stamp of the removal. */
typedef struct place {
    cell cells[WATCHED];
    uint8_t row_marker, a_marker;
    uint8_t row_gone, a_gone;
} place;

typedef enum phase { IDLE, BEGUN, READ, ANSWERED } phase;

typedef struct op {
    uint8_t kind;
    uint8_t phase;
    uint8_t value;
    uint8_t stamp;
    uint8_t pending;  /* bits: placements where it has not arrived yet */
    uint8_t second;   /* bits: the same for a second attempt */
    uint8_t known;    /* bits: placements known to have it, or a newer value */
    uint8_t from;     /* reads: the placement */
    uint8_t newest;   /* reads: the newest stamp read */
    uint8_t repeated; /* it was sent twice */
    uint16_t read;
    int8_t spec;
} op;

typedef struct world {
    uint8_t now, ticks_left, calls_left, unknown_left, next_value, repeats_left, purges_left, doubts_left;
    uint8_t wrong;
    uint8_t can_differ; /* two concurrent writes had the same stamp, or an outcome is unknown */
    place places[PLACES];
    op ops[OPS];
    spec_ops specs;
    monitor monitors[PLACES * WATCHED];
} world;

typedef struct search {
    const stamp_model *model;
    explorer *of;
} search;

static void
step(const search *with, const world *next, const char *action, int index)
{
    explore_step(with->of, next, action, index);
}

static bool
is_read(const op *of)
{
    return of->kind == STAMP_GET || of->kind == STAMP_GET_FIELD;
}

static bool
is_removal(const op *of)
{
    return of->kind == STAMP_REMOVE || of->kind == STAMP_REMOVE_FIELD;
}

static uint8_t
fields_of(const op *of)
{
    bool both = of->kind == STAMP_PUT_BOTH || of->kind == STAMP_REMOVE || of->kind == STAMP_GET;
    return both ? BIT(A) | BIT(B) : BIT(A);
}

/* --- one row ---------------------------------------------------------------------------------- */

static cell
visible(const place *in, unsigned field)
{
    cell found = in->cells[field];
    uint8_t hidden = field == A ? MAX(in->row_marker, in->a_marker) : in->row_marker;
    uint8_t gone = field == A ? MAX(in->row_gone, in->a_gone) : in->row_gone;
    return found.stamp > hidden && found.stamp >= gone ? found : (cell){0, 0};
}

/* The newest timestamp among the cells that a read of these fields returns. */
static uint8_t
newest_in(const search *with, const place *in, const op *of)
{
    uint8_t newest = 0;
    for (unsigned i = 0; i < WATCHED; i++)
        if (fields_of(of) >> i & 1)
            newest = MAX(newest, visible(in, i).stamp);
    if (of->kind == STAMP_GET || !with->model->short_read)
        newest = MAX(newest, in->row_gone);
    return MAX(newest, in->a_gone);
}

static void
remove_from(const search *with, place *from, const op *of, uint8_t stamp)
{
    bool row = of->kind == STAMP_REMOVE;
    uint8_t *marker = row ? &from->row_marker : &from->a_marker;
    uint8_t *gone = row ? &from->row_gone : &from->a_gone;
    *marker = MAX(*marker, stamp);
    if (row && from->row_gone <= stamp) /* the row's marker hides the older gone cells */
        from->row_gone = 0;
    if (row && from->a_gone <= stamp)
        from->a_gone = 0;
    if (!with->model->no_gone && !with->model->gone_too_low && stamp + 1 > from->row_marker)
        *gone = (uint8_t)MAX(*gone, stamp + 1);
}

static void
apply_to(const search *with, world *in, const op *of, unsigned where)
{
    place *to = &in->places[where];
    uint8_t stamp = with->model->no_stamp ? in->now : of->stamp;
    if (is_removal(of)) {
        remove_from(with, to, of, stamp);
        return;
    }
    for (unsigned i = 0; i < WATCHED; i++)
        if (fields_of(of) >> i & 1 && stamp >= to->cells[i].stamp)
            to->cells[i] = (cell){stamp, of->value};
}

/* Drops the delete markers and the cells that they hide. */
static void
purge(place *in)
{
    for (unsigned i = 0; i < WATCHED; i++)
        if (in->cells[i].stamp <= (i == A ? MAX(in->row_marker, in->a_marker) : in->row_marker))
            in->cells[i] = (cell){0, 0};
    in->row_marker = in->a_marker = 0;
}

/* --- answers ---------------------------------------------------------------------------------- */

static size_t
monitors_per_place(const search *with)
{
    return with->model->whole ? 1 : WATCHED;
}

static int
free_entry(const world *in)
{
    for (int to = CALLERS_MAX; to < OPS; to++)
        if (in->ops[to].phase == IDLE)
            return to;
    return -1;
}

/* Frees the caller; an attempt that has not arrived yet continues in another entry. False: there is no free
 * entry. */
static bool
keep_pending(world *in, int index)
{
    op of = in->ops[index];
    memset(&in->ops[index], 0, sizeof of);
    int to = free_entry(in);
    if (!of.pending && !of.second)
        return true;
    if (to < 0)
        return false;
    of.phase = ANSWERED;
    of.spec = -1;
    in->ops[to] = of;
    return true;
}

static void
answer(const search *with, const world *in, int index)
{
    world next = *in;
    op *of = &next.ops[index];
    size_t count = monitors_per_place(with) * (size_t)with->model->placements;
    bool right = true;
    for (size_t i = 0; i < count; i++) {
        uint8_t view = next.monitors[i].view;
        if (!is_read(of) || view == of->from + 1)
            right = monitor_end(&next.monitors[i], &next.specs, of->spec, of->read) && right;
    }
    spec_end(&next.specs, of->spec);
    if (!keep_pending(&next, index))
        return;
    next.wrong = !right;
    step(with, &next, "is answered", index);
}

static void
lose_reply(const search *with, const world *in, int index)
{
    int to = free_entry(in);
    if (in->unknown_left == 0 || to < 0 || index >= CALLERS_MAX || is_read(&in->ops[index]))
        return;
    world next = *in;
    next.ops[to] = next.ops[index];
    memset(&next.ops[index], 0, sizeof next.ops[index]);
    next.unknown_left--;
    next.can_differ = 1;
    step(with, &next, "gets no answer", index);
}

/* --- calls ------------------------------------------------------------------------------------ */

static const char *const applied_names[PLACES] = {"is applied to the first placement",
                                                  "is applied to the second placement"};

/* An attempt arrives at a placement. */
static void
arrive(const search *with, const world *in, int index, unsigned where)
{
    world next = *in;
    op *of = &next.ops[index];
    uint8_t *tries = of->pending >> where & 1 ? &of->pending : &of->second;
    apply_to(with, &next, of, where);
    *tries &= (uint8_t)~BIT(where);
    of->known |= BIT(where);
    if (of->phase == ANSWERED && !of->pending && !of->second)
        memset(of, 0, sizeof *of);
    step(with, &next, applied_names[where], index);
}

static uint8_t
passed_by(const search *with, const op *of)
{
    return (uint8_t)(of->stamp + (is_removal(of) && !with->model->early_removal));
}

/* --- puts in doubt ---------------------------------------------------------------------------- */

/* True if the placement, which did not answer, has the put's values or newer ones. Then the put counts as
 * answered. */
static bool
is_there(const place *in, const op *of)
{
    bool there = true;
    for (unsigned i = 0; i < WATCHED; i++) {
        cell found = visible(in, i);
        uint8_t gone = i == A ? MAX(in->row_gone, in->a_gone) : in->row_gone;
        bool own = found.stamp == of->stamp && found.value == of->value;
        there = there && (!(fields_of(of) >> i & 1) || found.stamp > of->stamp || own || gone > of->stamp);
    }
    return there;
}

static void
check_doubtful(const search *with, const world *in, int index, unsigned where)
{
    const op *of = &in->ops[index];
    world next = *in;
    if (of->known >> where & 1 || is_removal(of) || !is_there(&in->places[where], of))
        return;
    next.doubts_left--;
    next.ops[index].known |= BIT(where);
    step(with, &next, "finds its own values or newer ones", index);
}

static void
expand_write(const search *with, const world *in, int index)
{
    const op *of = &in->ops[index];
    uint8_t all = (uint8_t)((1u << with->model->placements) - 1);
    for (unsigned where = 0; where < (unsigned)with->model->placements; where++)
        if ((of->pending | of->second) >> where & 1)
            arrive(with, in, index, where);
    for (unsigned where = 0; where < (unsigned)with->model->placements; where++)
        if (in->doubts_left && of->phase == BEGUN && index < CALLERS_MAX)
            check_doubtful(with, in, index, where);
    if (in->repeats_left && !of->repeated && of->phase == BEGUN &&
        (is_removal(of) || with->model->repeats_puts)) {
        world next = *in;
        next.repeats_left--;
        next.ops[index].repeated = 1;
        next.ops[index].second = all;
        step(with, &next, "is sent again", index);
    }
    uint8_t passed = passed_by(with, of);
    if (of->known == all && of->phase == BEGUN && index < CALLERS_MAX &&
        (in->now >= passed || with->model->eager_writes))
        answer(with, in, index);
}

static void
expand_read(const search *with, const world *in, int index)
{
    const op *of = &in->ops[index];
    if (of->phase == READ) {
        if (in->now >= of->newest || with->model->eager_reads)
            answer(with, in, index);
        return;
    }
    const place *from = &in->places[of->from];
    world next = *in;
    op *read = &next.ops[index];
    read->read = 0;
    for (unsigned i = 0; i < WATCHED; i++)
        if (fields_of(of) >> i & 1)
            read->read |= (uint16_t)(visible(from, i).value << (4 * i));
    read->newest = newest_in(with, from, of);
    read->phase = READ;
    step(with, &next, of->from ? "reads the second placement" : "reads the first placement", index);
}

static void
note_ties(world *in, int index)
{
    const op *mine = &in->ops[index];
    for (int i = 0; i < OPS; i++)
        if (i != index && in->ops[i].phase != IDLE && !is_read(&in->ops[i]) &&
            in->ops[i].stamp == mine->stamp)
            in->can_differ = 1;
}

static void
begin_call(const search *with, const world *in, int index, unsigned kind, int error, uint8_t from)
{
    static const char *const names[] = {"begins put",    "begins put of both",
                                        "begins get",    "begins get of one",
                                        "begins remove", "begins remove of the field"};
    world next = *in;
    op *of = &next.ops[index];
    *of = (op){.kind = (uint8_t)kind, .phase = BEGUN, .from = from};
    spec_op spec = {0};
    if (is_read(of)) {
        spec.reads = fields_of(of);
        spec.view = from + 1;
    } else {
        of->stamp = (uint8_t)(next.now + error);
        of->pending = (uint8_t)((1u << with->model->placements) - 1);
        of->value = is_removal(of) ? 0 : next.next_value++;
        spec.writes = fields_of(of);
        spec.values[A] = spec.values[B] = of->value;
        note_ties(&next, index);
    }
    of->spec = (int8_t)spec_begin(&next.specs, spec);
    next.calls_left--;
    if (of->spec >= 0)
        step(with, &next, names[__builtin_ctz(kind)], index);
}

static void
begin_calls(const search *with, const world *in)
{
    int index = 0;
    while (index < with->model->callers && in->ops[index].phase != IDLE)
        index++;
    if (in->calls_left == 0 || index == with->model->callers)
        return;
    for (unsigned kind = 1; kind <= STAMP_REMOVE_FIELD; kind <<= 1) {
        if (!(with->model->kinds & kind))
            continue;
        op sample = {.kind = (uint8_t)kind};
        int choices = is_read(&sample) ? with->model->placements : with->model->error + 1;
        for (int choice = 0; choice < choices; choice++)
            begin_call(with, in, index, kind, choice, (uint8_t)choice);
    }
}

/* --- the world -------------------------------------------------------------------------------- */

static uint16_t
read_place(const place *from)
{
    uint16_t values = 0;
    for (unsigned i = 0; i < WATCHED; i++)
        values |= (uint16_t)(visible(from, i).value << (4 * i));
    return values;
}

static void
check_end(const search *with, const world *in)
{
    for (int i = 0; i < CALLERS_MAX; i++)
        if (in->ops[i].phase != IDLE)
            return;
    size_t count = monitors_per_place(with) * (size_t)with->model->placements;
    for (size_t i = 0; i < count; i++) {
        const monitor *by = &in->monitors[i];
        if (!monitor_could_read(by, &in->specs, read_place(&in->places[by->view - 1])))
            explore_wrong(with->of, "a read now returns a result that no order of the operations has");
    }
    if (with->model->placements == 2 && !in->can_differ &&
        read_place(&in->places[0]) != read_place(&in->places[1]))
        explore_wrong(with->of, "the placements differ");
}

static void
expand(explorer *of, const void *state, void *user)
{
    const world *in = state;
    const search with = {.model = user, .of = of};
    if (in->wrong)
        explore_wrong(of, "an answer that no order of the operations has");
    check_end(&with, in);
    for (int i = 0; i < OPS && !explore_over(of); i++) {
        if (in->ops[i].phase == IDLE)
            continue;
        if (is_read(&in->ops[i]))
            expand_read(&with, in, i);
        else
            expand_write(&with, in, i);
        lose_reply(&with, in, i);
    }
    begin_calls(&with, in);
    if (in->ticks_left) {
        world next = *in;
        next.now++;
        next.ticks_left--;
        step(&with, &next, "the clock ticks", -1);
    }
    for (int where = 0; in->purges_left && where < with.model->placements; where++) {
        world next = *in;
        next.purges_left--;
        purge(&next.places[where]);
        step(&with, &next, "a compaction drops markers", -1);
    }
}

explored
stamp_model_explore(const stamp_model *model, uint64_t states_max)
{
    g_autofree world *first = g_new0(world, 1);
    first->now = 2;
    first->ticks_left = (uint8_t)model->ticks;
    first->calls_left = (uint8_t)model->calls;
    first->unknown_left = (uint8_t)model->unknown;
    first->repeats_left = (uint8_t)model->repeats;
    first->purges_left = (uint8_t)model->purges;
    first->doubts_left = (uint8_t)model->doubts;
    first->next_value = 1;
    size_t count = 0;
    for (uint8_t where = 0; where < model->placements; where++) {
        if (model->whole)
            monitor_init(&first->monitors[count++], BIT(A) | BIT(B), where + 1);
        for (unsigned i = 0; i < WATCHED && !model->whole; i++)
            monitor_init(&first->monitors[count++], BIT(i), where + 1);
    }
    return explore(first, sizeof *first, expand, (void *)model, states_max);
}
