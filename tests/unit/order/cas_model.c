/* See cas_model.h. The clock's error is chosen at each use: a stamp is between the store's time and `error`
 * more. A gateway can know that a stamp has surely passed as soon as the store's time has reached it. */
#include "cas_model.h"

#include "cas_world.h"

#include "change/ladder.h"

#include <glib.h>
#include <string.h>

typedef struct search {
    const cas_model *model;
    explorer *of;
} search;

static void
step(const search *with, const world *next, const char *action, int index)
{
    explore_step(with->of, next, action, index);
}

static bool
is_late(int index)
{
    return index >= CALLERS_MAX;
}

static uint8_t
all_placements(const search *with)
{
    return (uint8_t)((1u << with->model->placements) - 1);
}

static size_t
monitors_of(const search *with)
{
    return (with->model->whole ? 1 : WATCHED) * (size_t)with->model->placements;
}

/* --- the end of a call ------------------------------------------------------------------------ */

static bool
was_applied(const op *of)
{
    return of->phase >= READ && !(of->pending & FIRST);
}

static int
free_entry(const world *in)
{
    for (int to = CALLERS_MAX; to < OPS; to++)
        if (in->ops[to].phase == IDLE)
            return to;
    return -1;
}

/* An exempt write and one of unknown outcome stay in the monitors: they have an effect at any time, or
 * never. */
static void
end_specs(world *in, op *of)
{
    for (size_t i = 0; i < 2; i++)
        if (of->specs[i] >= 0)
            spec_end(&in->specs, of->specs[i]);
    memset(of, 0, sizeof *of);
}

static void
answer(const search *with, const world *in, int index, uint16_t result, const char *action)
{
    world next = *in;
    op *of = &next.ops[index];
    bool right = true;
    if (of->exempt && op_is_plain(of)) {
        memset(of, 0, sizeof *of);
        step(with, &next, action, index);
        return;
    }
    for (size_t i = 0; i < monitors_of(with); i++)
        for (size_t j = 0; j < 2; j++)
            if (of->specs[j] >= 0)
                right = monitor_end(&next.monitors[i], &next.specs, of->specs[j], j ? 0 : result) && right;
    end_specs(&next, of);
    next.wrong = !right;
    step(with, &next, action, index);
}

static void
fail(const search *with, const world *in, int index)
{
    world next = *in;
    op *of = &next.ops[index];
    bool right = true;
    for (size_t i = 0; i < monitors_of(with); i++)
        for (size_t j = 0; j < 2; j++)
            if (of->specs[j] >= 0)
                right = monitor_failed(&next.monitors[i], &next.specs, of->specs[j]) && right;
    end_specs(&next, of);
    next.wrong = !right;
    step(with, &next, "is answered FAILED", index);
}

static void
answer_unknown(const search *with, const world *in, int index)
{
    world next = *in;
    int to = free_entry(in);
    if (was_applied(&in->ops[index]) && to < 0)
        return;
    if (was_applied(&in->ops[index])) {
        next.ops[to] = in->ops[index];
        next.ops[to].phase = APPLIED;
    }
    memset(&next.ops[index], 0, sizeof next.ops[index]);
    step(with, &next, "is answered UNKNOWN", index);
}

/* The caller gets no reply; what was sent can arrive later. */
static void
lose_reply(const search *with, const world *in, int index)
{
    int to = free_entry(in);
    const op *of = &in->ops[index];
    bool sent = op_is_plain(of) || of->phase == APPLIED || (of->phase == READ && of->met);
    if (in->unknown_left == 0 || to < 0 || is_late(index) || of->kind == CAS_GET || !sent)
        return;
    world next = *in;
    next.ops[to] = *of;
    memset(&next.ops[index], 0, sizeof next.ops[index]);
    for (int i = 0; i < OPS; i++)
        if (next.ops[i].unseen >> index & 1)
            next.ops[i].unseen |= BIT(to);
    next.unknown_left--;
    step(with, &next, "gets no answer", index);
}

/* --- plain writes ----------------------------------------------------------------------------- */

/* Marks each atomic operation that has read the row and cannot notice this write, because the row already has
 * a write with a later stamp. */
static void
note_unnoticed(world *in, int index, uint8_t newest)
{
    const op *of = &in->ops[index];
    if (of->stamp + op_is_removal(of) >= newest)
        return;
    for (int i = 0; i < OPS; i++) {
        op *other = &in->ops[i];
        uint8_t touched = op_writes(other) | (op_is_condition(other) ? BIT(A) : 0);
        if (other->phase == READ && other->unseen >> index & 1 && op_writes(of) & touched)
            other->exempt = 1;
    }
}

static void
arrive(const search *with, const world *in, int index, unsigned where)
{
    static const char *const names[PLACES] = {"is applied to the first placement",
                                              "is applied to the second placement"};
    world next = *in;
    op *of = &next.ops[index];
    uint8_t newest = place_writer(&in->places[where]).stamp;
    place_apply(with->model, &next.places[where], of);
    of->pending &= (uint8_t)~BIT(where);
    if (where == 0 && op_is_plain(of))
        note_unnoticed(&next, index, newest);
    bool nobodys = of->specs[0] < 0 && of->specs[1] < 0;
    if (is_late(index) && !of->pending && (op_is_plain(of) || nobodys))
        memset(of, 0, sizeof *of);
    step(with, &next, names[where], index);
}

static void
expand_plain(const search *with, const world *in, int index)
{
    const op *of = &in->ops[index];
    for (unsigned where = 0; where < (unsigned)with->model->placements; where++)
        if (of->pending >> where & 1)
            arrive(with, in, index, where);
    if (!of->pending && !is_late(index) && in->now >= of->stamp + op_is_removal(of))
        answer(with, in, index, 0, "is answered");
}

/* --- gets ------------------------------------------------------------------------------------- */

static void
expand_get(const search *with, const world *in, int index)
{
    const op *of = &in->ops[index];
    if (of->phase == READ) {
        if (in->now >= of->newest)
            answer(with, in, index, of->read, "is answered");
        return;
    }
    world next = *in;
    op *get = &next.ops[index];
    get->read = place_read(&in->places[of->from]);
    get->newest = place_newest(&in->places[of->from], false);
    get->phase = READ;
    step(with, &next, of->from ? "reads the second placement" : "reads the first placement", index);
}

/* --- atomic operations ------------------------------------------------------------------------ */

static bool
is_taken(const search *with, const world *in, uint8_t stamp)
{
    for (int i = 0; i < CALLERS_MAX; i++)
        if (with->model->no_ties && in->ops[i].phase != IDLE && in->ops[i].stamp == stamp)
            return true;
    return false;
}

static uint8_t
unseen_by(const world *in)
{
    uint8_t unseen = 0;
    for (int i = 0; i < OPS; i++)
        if (in->ops[i].phase != IDLE && op_is_plain(&in->ops[i]) && in->ops[i].pending & FIRST)
            unseen |= BIT(i);
    return unseen;
}

/* In the other placement the operation is a write of its result, from the moment at which it has a stamp. */
static bool
begin_second_spec(const search *with, world *in, op *of)
{
    spec_op spec = {.writes = op_writes(of), .values = {of->value, of->value}, .view = 2};
    if (with->model->placements == 1)
        return true;
    of->specs[1] = (int8_t)spec_begin(&in->specs, spec);
    return of->specs[1] >= 0;
}

static void
end_second_spec(const search *with, world *in, op *of)
{
    if (of->specs[1] < 0)
        return;
    for (size_t i = 0; i < monitors_of(with); i++)
        in->wrong |= !monitor_failed(&in->monitors[i], &in->specs, of->specs[1]);
    spec_end(&in->specs, of->specs[1]);
    of->specs[1] = -1;
}

static void
begin_again(const search *with, const world *in, int index, const char *action)
{
    world next = *in;
    op *of = &next.ops[index];
    end_second_spec(with, &next, of);
    of->phase = BEGUN;
    of->exempt = of->asked = 0;
    step(with, &next, action, index);
}

static void
read_first(const search *with, const world *in, int index, int error)
{
    world next = *in;
    op *of = &next.ops[index];
    const place *from = &in->places[0];
    uint8_t above = (uint8_t)(place_newest(from, true) + !with->model->equal);
    of->phase = READ;
    of->newest = place_newest(from, false);
    of->met = !op_is_condition(of) || place_visible(from, A).value == of->believed;
    of->seen = place_writer(from).value;
    of->unseen = unseen_by(in);
    of->stamp = (uint8_t)(in->now + error);
    if (!with->model->low_stamps)
        of->stamp = MAX(of->stamp, above);
    of->pending = all_placements(with);
    of->id = next.next_id++;
    if (of->kind == CAS_INCREMENT)
        of->value = (uint8_t)(place_visible(from, B).value + 1);
    if (!of->met)
        of->stamp = 0;
    if (of->met && is_taken(with, in, of->stamp))
        return;
    if (of->met ? begin_second_spec(with, &next, of) : error == 0)
        step(with, &next, of->met ? "reads the first placement" : "reads that the condition is not met",
             index);
}

/* Exempts the plain writes in progress that the operation replaces without having seen them. */
static void
exempt_replaced(world *in, const op *of)
{
    for (int i = 0; i < CALLERS_MAX; i++) {
        op *other = &in->ops[i];
        if (other->phase != IDLE && op_is_plain(other) && of->unseen >> i & 1 && other->pending & FIRST &&
            op_writes(other) & op_writes(of) && other->stamp < of->stamp)
            other->exempt = 1;
    }
}

static void
apply_compared(const search *with, const world *in, int index)
{
    world next = *in;
    op *of = &next.ops[index];
    if (of->exempt)
        return;
    exempt_replaced(&next, of);
    place_apply(with->model, &next.places[0], of);
    for (int i = 0; i < OPS; i++)
        if (next.ops[i].phase == READ && next.ops[i].id == of->id)
            next.ops[i].pending &= (uint8_t)~FIRST;
    of->pending &= (uint8_t)~FIRST;
    of->phase = APPLIED;
    if (of->specs[0] < 0) /* an attempt that was given up */
        memset(of, 0, sizeof *of);
    step(with, &next, "compare is applied", index);
}

static void
refuse_compared(const search *with, const world *in, int index)
{
    world next = *in;
    if (is_late(index)) {
        if (next.ops[index].specs[0] >= 0 && was_applied(&next.ops[index])) /* by the other attempt */
            next.ops[index].phase = APPLIED;
        else
            memset(&next.ops[index], 0, sizeof next.ops[index]);
        step(with, &next, "compare is rejected", index);
        return;
    }
    bool asked = in->ops[index].asked;
    if (!asked || with->model->believes_refusals)
        begin_again(with, in, index, "compare is rejected");
    if (!asked && !in->slow_left)
        return;
    next.ops[index].phase = REFUSED_LATE;
    next.slow_left -= !asked;
    step(with, &next, "compare is rejected late", index);
}

static void
write_second_first(const search *with, const world *in, int index)
{
    world next = *in;
    op *of = &next.ops[index];
    place_apply(with->model, &next.places[1], of);
    of->pending &= (uint8_t)~SECOND;
    step(with, &next, "is applied to the second placement", index);
}

static void
leave_attempt(const search *with, const world *in, int index)
{
    int to = free_entry(in);
    if (to < 0 || !in->unknown_left || is_late(index))
        return;
    world next = *in;
    next.ops[to] = in->ops[index];
    next.ops[to].specs[0] = next.ops[to].specs[1] = -1;
    next.unknown_left--;
    begin_again(with, &next, index, "begins again without an answer");
}

/* The same compare again: at most one of the two is applied. */
static void
ask_again(const search *with, const world *in, int index)
{
    int to = free_entry(in);
    if (to < 0 || !in->asks_left || is_late(index))
        return;
    world next = *in;
    next.asks_left--;
    next.ops[index].asked = 1;
    next.ops[to] = in->ops[index];
    next.ops[to].specs[0] = next.ops[to].specs[1] = -1;
    step(with, &next, "compare is sent again", index);
}

static void
expand_compare(const search *with, const world *in, int index)
{
    const op *of = &in->ops[index];
    if (with->model->follower_first && of->pending & SECOND) {
        write_second_first(with, in, index);
        return;
    }
    bool same = place_writer(&in->places[0]).value == of->seen;
    if (same || with->model->no_compare)
        apply_compared(with, in, index);
    else
        refuse_compared(with, in, index);
    if (with->model->begins_again)
        leave_attempt(with, in, index);
    ask_again(with, in, index);
    if (with->model->fails && !is_late(index) && !of->asked)
        fail(with, in, index);
}

static uint16_t
result_of(const op *of)
{
    if (op_is_condition(of))
        return of->met;
    return of->kind == CAS_INCREMENT ? (uint16_t)(of->value << 4 * B) : 0;
}

/* The first attempt can be applied later. */
static void
send_again(const search *with, const world *in, int index)
{
    int to = free_entry(in);
    if (!in->resends_left || to < 0)
        return;
    world next = *in;
    next.resends_left--;
    next.ops[index].resent = 1;
    next.ops[to] = in->ops[index];
    next.ops[to].specs[0] = next.ops[to].specs[1] = -1;
    step(with, &next, "is sent again to the second placement", index);
}

static void
expand_applied(const search *with, const world *in, int index)
{
    const op *of = &in->ops[index];
    bool written = !of->pending || with->model->skips_follower;
    if (of->pending & SECOND)
        arrive(with, in, index, 1);
    if (is_late(index))
        return;
    if (of->pending & SECOND)
        send_again(with, in, index);
    bool spaced = of->resent && !with->model->eager_resends;
    if (written && (in->now >= of->stamp + spaced || with->model->eager_answers))
        answer(with, in, index, result_of(of), "is answered");
    if (of->pending && with->model->fails_late)
        fail(with, in, index);
    if (in->repeats_left && of->pending == (all_placements(with) & SECOND)) {
        world next = *in;
        next.repeats_left--;
        next.ops[index].phase = REFUSED_LATE;
        step(with, &next, "compare is sent again and rejected", index);
    }
}

/* The operation's own id in kw:w shows that the compare was applied. A kw:w with a lower stamp shows that it
 * was not applied and never will be: kw:w is no longer the value that the operation compares with. */
static void
expand_refused_late(const search *with, const world *in, int index)
{
    const op *of = &in->ops[index];
    cell writer = place_writer(&in->places[0]);
    if (with->model->believes_refusals) {
        begin_again(with, in, index, "believes the rejection");
    } else if (writer.value == of->id) {
        world next = *in;
        next.ops[index].phase = APPLIED;
        next.ops[index].pending &= (uint8_t)~FIRST;
        step(with, &next, "finds its own id", index);
    } else if (writer.stamp < of->stamp) {
        begin_again(with, in, index, "finds an older id");
    } else {
        answer_unknown(with, in, index);
    }
}

static void
expand_atomic(const search *with, const world *in, int index)
{
    const op *of = &in->ops[index];
    switch ((phase)of->phase) {
    case BEGUN:
        for (int error = -with->model->below; error <= with->model->error; error++)
            read_first(with, in, index, error);
        break;
    case READ:
        if (of->met)
            expand_compare(with, in, index);
        else if (in->now >= of->newest || with->model->eager_refusals)
            answer(with, in, index, 0, "is answered: not met");
        break;
    case APPLIED:
        expand_applied(with, in, index);
        break;
    case REFUSED_LATE:
        expand_refused_late(with, in, index);
        break;
    case IDLE:
        break;
    }
}

/* --- the world -------------------------------------------------------------------------------- */

static spec_op
spec_of(const op *of)
{
    spec_op spec = {.writes = op_writes(of), .values = {of->value, of->value}};
    if (of->kind == CAS_GET) {
        spec.reads = BIT(A) | BIT(B);
        spec.view = of->from + 1;
    } else if (!op_is_plain(of)) {
        spec.view = 1;
        spec.conditional = op_is_condition(of);
        spec.on = A;
        spec.equals = of->believed;
        spec.increments = of->kind == CAS_INCREMENT ? BIT(B) : 0;
        spec.writes = of->kind == CAS_INCREMENT ? 0 : spec.writes;
    }
    return spec;
}

/* A plain write begins. Atomic operations in progress have not seen it, and can have a later stamp. */
static void
note_begun(world *in, int index)
{
    op *of = &in->ops[index];
    for (int i = 0; i < OPS; i++) {
        op *other = &in->ops[i];
        if (other->phase == READ && other->met && other->kind != CAS_GET)
            other->unseen |= BIT(index);
        if (was_applied(other) && op_writes(other) & op_writes(of) && of->stamp < other->stamp)
            of->exempt = 1;
    }
}

/* True if gateways begin atomic operations in this version. */
static bool
begins_atomics(const search *with, unsigned turn)
{
    if (with->model->turns_count == 0 || with->model->turns[turn] == CAS_ALLOWED)
        return true;
    return with->model->turns[turn] == CAS_HELD &&
           kw_change_rules_at(KW_LADDER_ATOMICS, KW_OLD(STAMPED)).regime.atomics != KW_ATOMICS_HELD;
}

static void
begin_call(const search *with, const world *in, int index, int gateway, unsigned kind, int choice)
{
    static const char *const names[] = {"begins put",
                                        "begins put of both",
                                        "begins get",
                                        "begins remove",
                                        "begins remove of a",
                                        "begins putIf",
                                        "begins putIf of the other field",
                                        "begins increment"};
    world next = *in;
    op *of = &next.ops[index];
    *of = (op){.kind = (uint16_t)kind,
               .phase = BEGUN,
               .specs = {-1, -1},
               .gateway = (uint8_t)gateway,
               .turn = in->serves[gateway]};
    of->from = kind == CAS_GET ? (uint8_t)choice : 0;
    of->believed = op_is_condition(of) ? (uint8_t)choice : 0;
    if (op_writes(of) && !op_is_removal(of) && kind != CAS_INCREMENT)
        of->value = next.next_value++;
    if (op_is_plain(of)) {
        of->stamp = (uint8_t)(next.now + choice);
        of->pending = all_placements(with);
        of->id = next.next_id++;
        note_begun(&next, index);
    }
    of->specs[0] = (int8_t)spec_begin(&next.specs, spec_of(of));
    next.calls_left--;
    if (of->specs[0] >= 0 && !(op_is_plain(of) && is_taken(with, in, of->stamp)))
        step(with, &next, names[__builtin_ctz(kind)], index);
}

static void
begin_calls_at(const search *with, const world *in, int index, int gateway)
{
    for (unsigned kind = 1; kind <= CAS_INCREMENT; kind <<= 1) {
        if (!(with->model->kinds & kind))
            continue;
        op sample = {.kind = (uint16_t)kind};
        bool atomic = kind != CAS_GET && !op_is_plain(&sample);
        if (atomic && !begins_atomics(with, in->serves[gateway]))
            continue;
        uint8_t now = place_visible(&in->places[0], A).value;
        int choices = kind == CAS_GET        ? with->model->placements
                      : op_is_plain(&sample) ? with->model->error + 1
                                             : 1;
        for (int choice = 0; choice < choices; choice++)
            begin_call(with, in, index, gateway, kind, op_is_condition(&sample) ? now : choice);
        if (op_is_condition(&sample) && now)
            begin_call(with, in, index, gateway, kind, 0);
    }
}

/* Gateways that serve the same version are alike. */
static void
begin_calls(const search *with, const world *in)
{
    int index = 0;
    while (index < with->model->callers && in->ops[index].phase != IDLE)
        index++;
    if (in->calls_left == 0 || index == with->model->callers)
        return;
    begin_calls_at(with, in, index, 0);
    if (in->serves[1] != in->serves[0])
        begin_calls_at(with, in, index, 1);
}

/* --- versions --------------------------------------------------------------------------------- */

/* True if the end of the change needs a grace (change/planner.c): unless no atomic operation has run
 * and none will. */
static bool
needs_grace(const search *with, unsigned turn)
{
    bool held = with->model->turns[turn] == CAS_HELD, ran = false;
    for (unsigned i = 0; i < turn + 2; i++)
        ran = ran || with->model->turns[i] == CAS_ALLOWED;
    return held && ran && !with->model->no_grace;
}

static bool
can_turn(const search *with, const world *in)
{
    const cas_model *model = with->model;
    bool can = in->turn + 1 < model->turns_count;
    for (int i = 0; i < GATEWAYS && !model->no_reports; i++)
        can = can && in->serves[i] == in->turn;
    for (int i = 0; i < OPS && can; i++)
        if (in->ops[i].phase != IDLE && in->ops[i].turn < in->turn)
            can = is_late(i) ? !in->ops[i].pending || !needs_grace(with, in->turn) : model->no_drain;
    return can;
}

static void
expand_turns(const search *with, const world *in)
{
    if (can_turn(with, in)) {
        world next = *in;
        next.turn++;
        step(with, &next, "the next version is set", -1);
    }
    for (int i = 0; i < GATEWAYS; i++) {
        world next = *in;
        next.serves[i] = in->turn;
        if (in->serves[i] < in->turn)
            step(with, &next, i ? "the second gateway loads it" : "the first gateway loads it", -1);
    }
    for (int i = CALLERS_MAX; with->model->turns_count && i < OPS; i++) {
        world next = *in;
        if (was_applied(&in->ops[i])) /* later writes with a lower stamp can still be ordered before it */
            next.ops[i].pending = 0;
        else
            memset(&next.ops[i], 0, sizeof next.ops[i]);
        if (in->ops[i].phase != IDLE && in->ops[i].pending)
            step(with, &next, "can no longer be applied", i);
    }
}

static void
check_end(const search *with, const world *in)
{
    for (int i = 0; i < CALLERS_MAX; i++)
        if (in->ops[i].phase != IDLE)
            return;
    for (size_t i = 0; i < monitors_of(with); i++) {
        const monitor *by = &in->monitors[i];
        if (!monitor_could_read(by, &in->specs, place_read(&in->places[by->view - 1])))
            explore_wrong(with->of, "a read now returns a result that no order of the operations has");
    }
}

/* What happens without a call. */
static void
expand_world(const search *with, const world *in)
{
    bool comparing = false;
    for (int i = 0; i < OPS; i++)
        comparing =
            comparing || (in->ops[i].phase == READ && in->ops[i].met) || in->ops[i].phase == REFUSED_LATE;
    if (in->ticks_left) {
        world next = *in;
        next.now++;
        next.ticks_left--;
        step(with, &next, "the clock ticks", -1);
    }
    for (int where = 0; in->purges_left && where < with->model->placements; where++) {
        world next = *in;
        next.purges_left--;
        place_purge(&next.places[where]);
        step(with, &next, "a compaction drops markers", -1);
    }
    if (in->expiries_left && in->places[0].writer_removes && (!comparing || with->model->expires_early)) {
        world next = *in;
        next.expiries_left--;
        next.places[0].writer = (cell){0, 0};
        next.places[0].writer_removes = 0;
        step(with, &next, "kw:w of a removal expires", -1);
    }
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
        if (op_is_plain(&in->ops[i]))
            expand_plain(&with, in, i);
        else if (in->ops[i].kind == CAS_GET)
            expand_get(&with, in, i);
        else
            expand_atomic(&with, in, i);
        lose_reply(&with, in, i);
    }
    begin_calls(&with, in);
    expand_turns(&with, in);
    expand_world(&with, in);
}

explored
cas_model_explore(const cas_model *model, uint64_t states_max)
{
    g_autofree world *first = g_new0(world, 1);
    first->now = (uint8_t)(2 + model->below);
    first->ticks_left = (uint8_t)model->ticks;
    first->calls_left = (uint8_t)model->calls;
    first->unknown_left = (uint8_t)model->unknown;
    first->asks_left = (uint8_t)model->asks;
    first->resends_left = (uint8_t)model->resends;
    first->repeats_left = (uint8_t)model->repeats;
    first->slow_left = (uint8_t)model->slow;
    first->purges_left = (uint8_t)model->purges;
    first->expiries_left = (uint8_t)model->expiries;
    first->next_value = first->next_id = 1;
    size_t count = 0;
    for (uint8_t where = 0; where < model->placements; where++) {
        if (model->whole)
            monitor_init(&first->monitors[count++], BIT(A) | BIT(B), where + 1);
        for (unsigned i = 0; i < WATCHED && !model->whole; i++)
            monitor_init(&first->monitors[count++], BIT(i), where + 1);
    }
    return explore(first, sizeof *first, expand, (void *)model, states_max);
}
