/* See write_model.h: the world around the calls. */
#include "write_world.h"

bool
is_timed(const search *with)
{
    return with->model->cleans > 0 || with->model->hint_ttl;
}

static size_t
monitors_of(const search *with)
{
    return with->model->each_field ? 2 : 1;
}

/* --- the end of a call ------------------------------------------------------------------------------ */

void
answer(const search *with, const world *in, int index, uint16_t result, const char *action)
{
    world next = *in;
    call *of = &next.calls[index];
    bool right = true;
    /* An exempt write stays in the monitors: it has an effect at any time, or never. */
    if (of->spec >= 0 && !of->exempt) {
        for (size_t i = 0; i < monitors_of(with); i++)
            right = monitor_end(&next.monitors[i], &next.specs, of->spec, result) && right;
        spec_end(&next.specs, of->spec);
    }
    memset(of, 0, sizeof *of);
    next.wrong = !right;
    take_step(with, &next, action, index);
}

static void
fail(const search *with, world *next, int index)
{
    call *of = &next->calls[index];
    bool right = true;
    for (size_t i = 0; i < monitors_of(with); i++)
        right = monitor_failed(&next->monitors[i], &next->specs, of->spec) && right;
    spec_end(&next->specs, of->spec);
    next->wrong = !right;
}

/* The gateway dies, or the call's time is over. What was sent can arrive later. */
static void
give_up(const search *with, const world *in, int index)
{
    const call *of = &in->calls[index];
    world next = *in;
    kw_hint_step step = call_step(with, of);
    if (!in->unknown_left || of->kind >= CALL_GET || step == KW_HINT_STEP_END)
        return;
    next.unknown_left--;
    kw_hint_next outcome = of->sent ? kw_hint_next_after(step, KW_HINT_REPLY_DOUBTFUL) : KW_HINT_NEXT_FAILED;
    if (outcome == KW_HINT_NEXT_FAILED)
        fail(with, &next, index);
    int to = LATE;
    while (to < CALLS && in->calls[to].kind)
        to++;
    if (to == CALLS)
        return;
    if (of->sent) {
        next.calls[to] = *of;
        next.calls[to].spec = -1;
    }
    memset(&next.calls[index], 0, sizeof next.calls[index]);
    take_step(with, &next, "is given up", index);
}

/* --- calls ------------------------------------------------------------------------------------------ */

static const char *
name_of(const call *of)
{
    static const char *const names[][8] = {
        [CALL_PUT] = {"", "puts a", "puts b", "puts a, b", "puts c", "puts a, c", "puts b, c",
                      "puts a, b, c"},
        [CALL_PUT_IF] = {"", "putIf a", "putIf b", "putIf a, b", "putIf c", "putIf a, c", "putIf b, c",
                         "putIf a, b, c"},
        [CALL_REMOVE] = {"", "removes a", "removes b", "removes a, b", "removes c", "removes a, c",
                         "removes b, c", "removes the record"},
        [CALL_GET] = {"gets"},
        [CALL_FIND] = {"finds"},
    };
    return names[of->kind][of->given];
}

static spec_op
spec_of(const search *with, const call *of)
{
    spec_op spec = {0};
    if (of->kind == CALL_GET) {
        spec.reads = ABC;
        return spec;
    }
    for (unsigned i = 0; i < FIELDS; i++)
        spec.values[i] = of->values[i];
    if (of->kind == CALL_FIND)
        spec.matches = (uint8_t)with->model->tuples[0];
    else
        spec.writes = of->given;
    if (of->kind == CALL_PUT_IF) {
        spec.conditional = 1;
        spec.equals = of->believed;
    }
    return spec;
}

/* All callers are equal, so the first idle one begins. */
static void
begin_at(const search *with, const world *in, const call *what, uint8_t place)
{
    world next = *in;
    int index = 0;
    while (index < with->model->callers && in->calls[index].kind)
        index++;
    if (index == with->model->callers || !in->calls_left)
        return;
    call *of = &next.calls[index];
    *of = *what;
    of->place = place;
    next.calls_left--;
    of->spec = (int8_t)spec_begin(&next.specs, spec_of(with, of));
    if (of->spec < 0)
        return;
    if (of->kind < CALL_GET) {
        of->id = next.next_id++;
        call_begin_step(with, &next, of, 0);
    }
    take_step(with, &next, name_of(of), index);
}

/* At the present place, or at the one before if not all gateways have reported. */
static void
begin(const search *with, const world *in, const call *what)
{
    begin_at(with, in, what, in->at);
    if (in->from != in->at)
        begin_at(with, in, what, in->from);
}

/* Puts of all values of these fields. */
static void
begin_puts(const search *with, const world *in, uint8_t kind, unsigned given, uint8_t believed)
{
    unsigned count = 1u << __builtin_popcount(given);
    for (unsigned number = 0; number < count && !explore_over(with->of); number++) {
        call put = {.kind = kind, .given = (uint8_t)given, .believed = believed};
        tuple_values(given, number, put.values);
        begin(with, in, &put);
    }
}

static void
begin_calls(const search *with, const world *in)
{
    const write_model *model = with->model;
    for (unsigned given = 1; given <= ABC; given++) {
        if (model->puts & GIVES(given))
            begin_puts(with, in, CALL_PUT, given, 0);
        for (uint8_t believed = 1; model->put_ifs & GIVES(given) && believed <= 2; believed++)
            begin_puts(with, in, CALL_PUT_IF, given, believed);
        if (model->removals & GIVES(given))
            begin(with, in, &(call){.kind = CALL_REMOVE, .given = (uint8_t)given});
    }
    if (model->gets)
        begin(with, in, &(call){.kind = CALL_GET});
    for (unsigned tuple = 0; model->finds && tuple < 1u << __builtin_popcountll(model->tuples[0]); tuple++) {
        call find = {.kind = CALL_FIND, .tuple = (uint8_t)tuple};
        tuple_values(model->tuples[0], tuple, find.values);
        begin(with, in, &find);
    }
}

/* --- the world -------------------------------------------------------------------------------------- */

/* A message arrives within `late` of being sent, or never. Callers whose message is under way end first. */
static void
tick(const search *with, const world *in)
{
    world next = *in;
    if (!in->ticks_left)
        return;
    next.now++;
    next.ticks_left--;
    for (int i = 0; i < CALLS && is_timed(with); i++) {
        call *of = &next.calls[i];
        bool over = of->kind && of->kind < CALL_GET && of->sent && next.now > of->sent_at + with->model->late;
        if (of->kind == CALL_REMOVE || !over)
            continue;
        if (i < LATE)
            return;
        memset(of, 0, sizeof *of);
    }
    take_step(with, &next, "the clock ticks", -1);
}

static void
move(const search *with, const world *in, unsigned which)
{
    world next = *in;
    uint8_t *left = which == ROW ? &next.row_moves_left : &next.moves_left;
    if (!*left)
        return;
    (*left)--;
    next.slow[which] = in->slow[which] ? 0 : (uint8_t)with->model->slow;
    take_step(with, &next,
              which == ROW ? "the row's region moves to another clock"
                           : "the hint's region moves to another clock",
              -1);
}

/* A get that reads now, while no call of a caller is in progress. */
static void
check_get(const search *with, const world *in)
{
    uint16_t values = read_all(with, in);
    bool answered = with->model->order == KW_WRITE_ORDER_STORE || in->now >= row_newest(with, in, ABC);
    for (int i = 0; i < CALLERS_MAX; i++)
        if (in->calls[i].kind)
            return;
    for (size_t i = 0; i < monitors_of(with) && answered && !in->lost; i++)
        if (!monitor_could_read(&in->monitors[i], &in->specs, values))
            explore_wrong(with->of, "a get now returns a result that no order of the operations has");
}

static void
expand(explorer *of, const void *state, void *user)
{
    const world *in = state;
    const search with = {.model = user, .of = of};
    if (in->wrong && !in->lost)
        explore_wrong(of, "an answer that no order of the operations has");
    if (row_lacks_hint(&with, in))
        explore_wrong(of, "a hint is missing");
    check_get(&with, in);
    for (int i = 0; i < CALLS && !explore_over(of); i++) {
        const call *at = &in->calls[i];
        if (at->kind == CALL_GET)
            get_expand(&with, in, i);
        else if (at->kind == CALL_FIND)
            find_expand(&with, in, i);
        else if (at->kind == CALL_CLEAN)
            clean_expand(&with, in, i);
        else if (at->kind == CALL_COPY)
            copy_expand(&with, in);
        else if (at->kind)
            write_expand(&with, in, i);
        if (at->kind && i < CALLERS_MAX)
            give_up(&with, in, i);
    }
    begin_calls(&with, in);
    clean_begin(&with, in);
    if (with.model->places) {
        copy_begin(&with, in);
        walk_expand(&with, in);
    }
    tick(&with, in);
    move(&with, in, ROW);
    move(&with, in, HINT);
}

/* --- the beginning ------------------------------------------------------------------------------------ */

#define BEGINNING 20 /* the time, so that earlier timestamps and slow clocks have space */

write_model
write_model_new(kw_write_order order, kw_hint_fields tuple)
{
    write_model model = {.order = order,
                         .tuples = {tuple},
                         .paths = 1,
                         .calls = 2,
                         .callers = 2,
                         .ticks = order == KW_WRITE_ORDER_STORE ? 1 : 2,
                         .spread = order == KW_WRITE_ORDER_STAMP,
                         .slow = 1,
                         .window = 1,
                         .late = 1,
                         .limits = {.window_ms = 1, .late_ms = 1, .clock_difference_ms = 1, .keep_ms = -100}};
    for (kw_hint_operation i = 0; i < KW_HINT_OPERATIONS; i++)
        model.programs[i] = kw_hint_program_of(order, i, true);
    return model;
}

static void
put_first(const search *with, world *in)
{
    uint16_t values = 0;
    for (unsigned i = 0; i < FIELDS; i++) {
        const uint8_t value = with->model->first[i];
        if (value)
            in->row.fields[i] = (cell){(uint8_t)(in->now - 1), value};
        values |= (uint16_t)(value << (4 * i));
    }
    if (values && !with->model->first_unmarked)
        in->row.writer = (cell){(uint8_t)(in->now - 1), in->next_id++};
    for (size_t i = 0; i < monitors_of(with); i++)
        in->monitors[i].linearizations[0] = values;
    unsigned number;
    for (size_t path = 0; path < with->model->paths; path++)
        if (place_hints(with, 0) >> path & 1 && row_tuple(with, in, path, &number))
            in->hints[path][number].at = (uint8_t)(in->now - 1);
}

explored
write_model_explore(const write_model *model, uint64_t states_max)
{
    g_autofree world *first = g_new0(world, 1);
    const search with = {.model = model};
    first->now = BEGINNING;
    first->next_id = 1;
    first->lost = model->hints_only;
    first->ticks_left = (uint8_t)model->ticks;
    first->calls_left = (uint8_t)model->calls;
    first->unknown_left = (uint8_t)model->unknown;
    first->cleans_left = (uint8_t)model->cleans;
    first->moves_left = (uint8_t)model->moves;
    first->row_moves_left = (uint8_t)model->row_moves;
    for (size_t i = 0; i < monitors_of(&with); i++)
        monitor_init(&first->monitors[i], model->each_field ? (uint8_t)(1u << i) : ABC, 0);
    put_first(&with, first);
    return explore(first, offsetof(world, monitors) + monitors_of(&with) * sizeof(monitor), expand,
                   (void *)model, states_max);
}
