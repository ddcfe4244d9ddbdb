/* See entry_model.h. As in the models of tests/unit/order, the error of the clock is chosen at each use, and
 * a gateway can know that a time has passed as soon as the store's clock has passed it. */
#include "entry_model.h"

#include "monitor.h"

#include <glib.h>
#include <string.h>

#define SLOTS 5
#define VALUES_MAX 15

typedef struct cell {
    uint8_t stamp; /* 0: none */
    uint8_t value;
} cell;

typedef enum call_state { CALL_NONE, CALL_BEGUN, CALL_READY, CALL_APPLIED, CALL_LATE } call_state;

typedef struct call {
    uint8_t kind;
    uint8_t state;
    uint8_t version;
    uint8_t stamp;      /* of the write; unstamped removals: up to where they delete */
    uint8_t value;      /* to write; gets: what was read */
    uint8_t believed;   /* atomics: the value that is replaced */
    uint8_t generation; /* unstamped removals: that of the row when it was read */
    uint8_t read_at;    /* unstamped removals: when the row was read */
    uint8_t result;
    int8_t spec;
} call;

typedef struct world {
    uint8_t now, ticks_left, calls_left, unknown_left, purges_left, next_value;
    uint8_t at, from, moving, reported_at, swept, wrong;
    uint8_t set_at;      /* when the version was set */
    uint8_t swept_until; /* gone cells with lower timestamps have been swept */
    cell cell;
    uint8_t marker, gone; /* gone: the stamp of a removal; its cell is one millisecond later */
    uint8_t generation;   /* kw:g: the number of atomic operations that were applied */
    call calls[SLOTS];
    spec_ops specs;
    monitor monitor;
} world;

typedef struct search {
    const entry_model *model;
    explorer *of;
} search;

/* --- the row ---------------------------------------------------------------------------------- */

static uint8_t
server_clock(const search *with, const world *in)
{
    return (uint8_t)(in->now + with->model->offset);
}

static void
hide(world *in)
{
    if (in->cell.stamp <= in->marker)
        in->cell = (cell){0, 0};
    if (in->gone + 1 <= in->marker)
        in->gone = 0;
}

static void
store(world *in, uint8_t stamp, uint8_t value)
{
    if (stamp > in->marker && stamp >= in->cell.stamp)
        in->cell = (cell){stamp, value};
}

static void
delete_until(world *in, uint8_t stamp)
{
    in->marker = MAX(in->marker, stamp);
    hide(in);
}

/* Under versions without stamps gateways do not read gone cells. */
static uint8_t
visible(const search *with, const world *in, uint8_t version)
{
    bool reads_gone = with->model->places[version].rules.regime.order != KW_WRITE_ORDER_STORE;
    return reads_gone && in->cell.stamp <= in->gone ? 0 : in->cell.value;
}

static uint8_t
newest(const world *in)
{
    return in->gone ? (uint8_t)MAX(in->cell.stamp, in->gone + 1) : in->cell.stamp;
}

/* --- steps ------------------------------------------------------------------------------------ */

static const place_copy *
version_of(const search *with, uint8_t version)
{
    return &with->model->places[version];
}

static void
step(const search *with, const world *next, const char *action, int index)
{
    explore_step(with->of, next, action, index);
}

static void
answer(const search *with, const world *in, int index)
{
    world next = *in;
    call *of = &next.calls[index];
    next.wrong = !monitor_end(&next.monitor, &next.specs, of->spec, of->result);
    spec_end(&next.specs, of->spec);
    memset(of, 0, sizeof *of);
    step(with, &next, "is answered", index);
}

static void
reject(const search *with, world *next, int index)
{
    call *of = &next->calls[index];
    next->wrong = !monitor_failed(&next->monitor, &next->specs, of->spec);
    spec_end(&next->specs, of->spec);
    memset(of, 0, sizeof *of);
    step(with, next, "is rejected", index);
}

/* The call was applied. If it was given up before, it is forgotten, because nobody waits for its answer. */
static void
applied(const search *with, world *next, int index, const char *action)
{
    call *of = &next->calls[index];
    bool late = of->state == CALL_LATE;
    of->state = CALL_APPLIED;
    if (late)
        memset(of, 0, sizeof *of);
    step(with, next, action, index);
}

/* --- puts ------------------------------------------------------------------------------------- */

static void
raise_stamp(const search *with, const world *in, int index)
{
    const entry_model *model = with->model;
    for (int error = 0; error <= model->error; error++) {
        world next = *in;
        int latest = in->now + error;
        int above = model->raised_blind ? 0 : newest(in) + 1;
        next.calls[index].stamp = (uint8_t)MAX(latest, above);
        next.calls[index].state = CALL_READY;
        step(with, &next, "reads the newest timestamp", index);
    }
}

static bool
can_send_put(const search *with, const world *in, const call *of)
{
    bool raised = version_of(with, of->version)->rules.regime.order == KW_WRITE_ORDER_RAISED;
    return !raised || with->model->raised_early || in->now >= of->stamp + with->model->skew;
}

static void
expand_put(const search *with, const world *in, int index)
{
    const call *of = &in->calls[index];
    kw_write_order stamp = version_of(with, of->version)->rules.regime.order;
    world next = *in;
    if (of->state == CALL_BEGUN && stamp == KW_WRITE_ORDER_RAISED) {
        raise_stamp(with, in, index);
    } else if (of->state == CALL_APPLIED) {
        if (stamp != KW_WRITE_ORDER_STAMP || in->now >= of->stamp)
            answer(with, in, index);
    } else if (can_send_put(with, in, of)) {
        store(&next, stamp == KW_WRITE_ORDER_STORE ? server_clock(with, in) : of->stamp, of->value);
        applied(with, &next, index, "puts");
    }
}

/* --- removals --------------------------------------------------------------------------------- */

static void
expand_stamped_removal(const search *with, const world *in, int index)
{
    const call *of = &in->calls[index];
    world next = *in;
    if (of->state == CALL_APPLIED) {
        if (in->now > of->stamp)
            answer(with, in, index);
        return;
    }
    delete_until(&next, of->stamp);
    if (of->stamp + 1 > next.marker)
        next.gone = MAX(next.gone, of->stamp);
    applied(with, &next, index, "deletes and leaves a gone cell");
}

/* That of `order: store`: a read, a wait until the store's and the server's clock are past what was read, and
 * a delete of that, on condition that no atomic operation came in between. Under RAISED, what was read can
 * have a gateway's stamp, which the server's clock has passed for certain only after the skew. */
static void
expand_unstamped_removal(const search *with, const world *in, int index)
{
    const call *of = &in->calls[index];
    bool raised = version_of(with, of->version)->rules.regime.order == KW_WRITE_ORDER_RAISED;
    int ahead = raised && !with->model->raised_early_removal ? with->model->skew : 0;
    world next = *in;
    if (of->state == CALL_BEGUN) {
        next.calls[index].stamp = newest(in);
        next.calls[index].generation = in->generation;
        next.calls[index].read_at = in->now;
        next.calls[index].state = visible(with, in, of->version) ? CALL_READY : CALL_APPLIED;
        step(with, &next, "reads", index);
    } else if (of->state == CALL_APPLIED) {
        answer(with, in, index);
    } else if (in->now > of->read_at && in->now > of->stamp + ahead) {
        if (in->generation != of->generation) {
            reject(with, &next, index);
            return;
        }
        delete_until(&next, of->stamp);
        applied(with, &next, index, "deletes");
    }
}

/* --- other calls ------------------------------------------------------------------------------ */

static void
expand_get(const search *with, const world *in, int index)
{
    const call *of = &in->calls[index];
    bool waits = version_of(with, of->version)->rules.regime.order != KW_WRITE_ORDER_STORE;
    waits = waits && !(with->model->raised_no_wait &&
                       version_of(with, of->version)->rules.regime.order == KW_WRITE_ORDER_RAISED);
    if (of->state == CALL_APPLIED) {
        if (!waits || in->now >= of->stamp)
            answer(with, in, index);
        return;
    }
    world next = *in;
    next.calls[index].result = visible(with, in, of->version);
    next.calls[index].stamp = waits ? newest(in) : 0;
    applied(with, &next, index, "reads");
}

static void
expand_atomic(const search *with, const world *in, int index)
{
    const call *of = &in->calls[index];
    if (of->state == CALL_APPLIED) {
        answer(with, in, index);
        return;
    }
    world next = *in;
    if (visible(with, in, of->version) == of->believed) {
        store(&next, MAX(server_clock(with, in), in->cell.stamp), of->value);
        next.generation++;
        next.calls[index].result = 1;
    }
    applied(with, &next, index, "compares");
}

static void
give_up(const search *with, const world *in, int index)
{
    const call *of = &in->calls[index];
    bool unsent = of->state == CALL_APPLIED || of->kind == ENTRY_GET;
    if (of->kind == ENTRY_REMOVE ||
        version_of(with, of->version)->rules.regime.order == KW_WRITE_ORDER_RAISED)
        unsent = unsent || of->state != CALL_READY;
    if (in->unknown_left == 0 || unsent || of->state == CALL_LATE)
        return;
    world next = *in;
    next.unknown_left--;
    next.calls[index].state = CALL_LATE;
    step(with, &next, "is given up", index);
}

static void
expand_call(const search *with, const world *in, int index)
{
    const call *of = &in->calls[index];
    if (of->kind == ENTRY_PUT)
        expand_put(with, in, index);
    else if (of->kind == ENTRY_REMOVE &&
             version_of(with, of->version)->rules.regime.order == KW_WRITE_ORDER_STAMP)
        expand_stamped_removal(with, in, index);
    else if (of->kind == ENTRY_REMOVE)
        expand_unstamped_removal(with, in, index);
    else if (of->kind == ENTRY_GET)
        expand_get(with, in, index);
    else
        expand_atomic(with, in, index);
    give_up(with, in, index);
}

/* --- calls begin ------------------------------------------------------------------------------ */

static spec_op
spec_of(const call *of)
{
    spec_op spec = {0};
    if (of->kind == ENTRY_GET)
        spec.reads = 1;
    else
        spec.writes = 1;
    spec.values[0] = of->value;
    spec.conditional = of->kind == ENTRY_ATOMIC;
    spec.equals = of->believed;
    return spec;
}

static void
begin_call(const search *with, const world *in, uint8_t kind, uint8_t version, int error)
{
    static const char *const actions[ENTRY_KINDS] = {"", "begins put", "begins removal", "begins get",
                                                     "begins atomic operation"};
    world next = *in;
    int index = 0;
    while (index < SLOTS && in->calls[index].state != CALL_NONE)
        index++;
    g_assert_cmpint(index, <, SLOTS);
    call *of = &next.calls[index];
    *of = (call){.kind = kind, .state = CALL_BEGUN, .version = version};
    if (version_of(with, version)->rules.regime.order == KW_WRITE_ORDER_STAMP && kind != ENTRY_GET)
        of->stamp = (uint8_t)(in->now + error);
    if (kind == ENTRY_PUT || kind == ENTRY_ATOMIC)
        of->value = next.next_value++;
    if (kind == ENTRY_ATOMIC)
        of->believed = visible(with, in, version);
    of->spec = (int8_t)spec_begin(&next.specs, spec_of(of));
    next.calls_left--;
    if (of->spec >= 0)
        step(with, &next, actions[kind], index);
}

static void
begin_under(const search *with, const world *in, uint8_t version)
{
    bool stamped = version_of(with, version)->rules.regime.order == KW_WRITE_ORDER_STAMP;
    for (uint8_t kind = ENTRY_PUT; kind <= ENTRY_ATOMIC; kind++) {
        if (!(with->model->kinds >> kind & 1) ||
            (kind == ENTRY_ATOMIC && version_of(with, version)->rules.regime.atomics != KW_ATOMICS_NATIVE))
            continue;
        int errors = stamped && kind != ENTRY_GET ? with->model->error : 0;
        for (int error = 0; error <= errors; error++)
            begin_call(with, in, kind, version, error);
    }
}

static void
begin_calls(const search *with, const world *in)
{
    int active = 0;
    for (int i = 0; i < SLOTS; i++)
        active += in->calls[i].state != CALL_NONE && in->calls[i].state != CALL_LATE;
    if (in->calls_left == 0 || active >= with->model->callers)
        return;
    begin_under(with, in, in->at);
    if (in->moving)
        begin_under(with, in, in->from);
}

/* --- versions --------------------------------------------------------------------------------- */

static void
drop_late_calls(world *in)
{
    for (int i = 0; i < SLOTS; i++)
        if (in->calls[i].state == CALL_LATE)
            memset(&in->calls[i], 0, sizeof in->calls[i]);
}

/* If removals of this version write gone cells, a sweep removes only gone cells from before the version. The
 * next sweep, in a version without gone cells, removes the others. */
static void
sweep(const search *with, const world *in)
{
    world next = *in;
    bool leaves = version_of(with, in->at)->rules.regime.order == KW_WRITE_ORDER_STAMP;
    uint8_t gone_at = (uint8_t)(in->gone + 1);
    drop_late_calls(&next); /* after the grace */
    if (in->gone && (leaves ? gone_at < in->set_at : gone_at >= in->swept_until)) {
        delete_until(&next, in->gone);
        next.gone = 0;
    }
    next.swept_until = leaves ? in->set_at : in->swept_until;
    next.swept = 1;
    step(with, &next, "control cells are swept", -1);
}

static void
advance(const search *with, const world *in)
{
    const place_copy *version = version_of(with, in->at);
    kw_change_move to = with->model->back ? version->back : version->forward;
    if (in->moving || in->at == with->model->last)
        return;
    if (to.needs & KW_CHANGE_NEEDS_SKEW && in->now < in->reported_at + with->model->skew)
        return;
    if (to.needs & KW_CHANGE_NEEDS_SWEEP && !in->swept) {
        sweep(with, in);
        return;
    }
    world next = *in;
    next.from = in->at;
    next.at = (uint8_t)to.to;
    next.moving = 1;
    next.reported_at = next.swept = 0;
    next.set_at = in->now;
    if (to.needs & KW_CHANGE_NEEDS_GRACE)
        drop_late_calls(&next);
    step(with, &next, kw_change_place_name(to.to), -1);
}

static void
report(const search *with, const world *in)
{
    if (!in->moving)
        return;
    for (int i = 0; i < SLOTS; i++)
        if (in->calls[i].version == in->from && in->calls[i].state != CALL_NONE &&
            in->calls[i].state != CALL_LATE)
            return;
    world next = *in;
    next.moving = next.from = 0;
    next.reported_at = in->now;
    step(with, &next, "all gateways have reported", -1);
}

/* --- the world -------------------------------------------------------------------------------- */

static void
expand(explorer *of, const void *state, void *user)
{
    const world *in = state;
    const search with = {.model = user, .of = of};
    if (in->wrong)
        explore_wrong(of, "an answer that no order of the operations has");
    else if (!monitor_could_read(&in->monitor, &in->specs, visible(&with, in, in->at)))
        explore_wrong(of, "a read now returns a result that no order of the operations has");
    for (int i = 0; i < SLOTS && !explore_over(of); i++)
        if (in->calls[i].state != CALL_NONE)
            expand_call(&with, in, i);
    begin_calls(&with, in);
    advance(&with, in);
    report(&with, in);
    world next = *in;
    next.now++;
    if (in->ticks_left && next.ticks_left--)
        step(&with, &next, "a millisecond passes", -1);
    next = *in;
    next.marker = 0;
    if (in->purges_left && next.purges_left--)
        step(&with, &next, "a compaction drops the markers", -1);
}

entry_model
entry_model_new(void)
{
    entry_model model = {.first = KW_OLD(UNSTAMPED), .last = KW_OLD(STAMPED)};
    ladder_copy(KW_LADDER_MOVE, model.places);
    return model;
}

explored
entry_model_explore(const entry_model *model, uint64_t states_max)
{
    g_autofree world *first = g_new0(world, 1);
    first->now = 3;
    first->ticks_left = (uint8_t)model->ticks;
    first->calls_left = (uint8_t)model->calls;
    first->unknown_left = (uint8_t)model->unknown;
    first->purges_left = (uint8_t)model->purges;
    first->next_value = 1;
    first->at = (uint8_t)model->first;
    first->reported_at = first->set_at = first->now;
    monitor_init(&first->monitor, 1, 0);
    return explore(first, sizeof *first, expand, (void *)model, states_max);
}
