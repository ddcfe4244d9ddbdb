/* See primary_model.h. Stamps are exact, and no two writes have the same. A removal is a cell without a
 * tuple. */
#include "primary_model.h"

#include <glib.h>
#include <string.h>

#define TUPLES 2 /* 1 and 2; 0: none */
#define CALLERS_MAX 2
#define LATE CALLERS_MAX
#define CALLS (LATE + 2)
#define PLACEMENTS 2

typedef struct cell {
    uint8_t at, tuple;
} cell;

typedef enum stage { IDLE, BEGUN, HINTED, WRITES } stage;

typedef struct call {
    uint8_t stage, tuple, stamp;
    uint8_t place;
    uint8_t compares;   /* a partial put */
    uint8_t seen;       /* what a compare has read: the timestamp, which stands for kw:w */
    uint8_t sent, todo; /* bits: the placements to which it was sent, and those still to be sent to */
} call;

typedef struct cleaner {
    uint8_t tuple; /* 0: idle */
    uint8_t id;    /* of the hint */
    uint8_t stale, place;
} cleaner;

/* The copy, or a pass. */
typedef struct pass {
    uint8_t step;
    uint8_t next;
    cell read[PLACEMENTS];
} pass;

typedef struct world {
    cell rows[PLACEMENTS];
    uint8_t hints[TUPLES + 1]; /* the id of the newest one; 0: none */
    call calls[CALLS];
    cleaner cleaner;
    pass pass;
    uint8_t at, from, worked, next_stamp, next_id;
    uint8_t calls_left, unknown_left, cleans_left;
} world;

typedef struct search {
    const primary_model *model;
    explorer *of;
} search;

static kw_change_rules
rules_at(uint8_t place)
{
    return kw_change_rules_at(KW_LADDER_MOVE, place);
}

static void
step(const search *with, const world *next, const char *action, int index)
{
    explore_step(with->of, next, action, index);
}

/* --- writes ------------------------------------------------------------------------------------------- */

static unsigned
order_in(const call *of, unsigned placement)
{
    const kw_change_rules rules = rules_at(of->place);
    const kw_role role = placement ? rules.new_role : rules.old_role;
    return of->tuple ? role.put : role.remove;
}

static void
send(call *of, unsigned order)
{
    for (unsigned i = 0; i < PLACEMENTS; i++)
        if (order_in(of, i) == order) {
            of->sent |= (uint8_t)(1u << i);
            of->todo &= (uint8_t) ~(1u << i);
        }
}

/* The placement that compares write first. */
static unsigned
authority_of(const call *of)
{
    return !rules_at(of->place).old_role.get;
}

static bool
is_held(const call *of)
{
    return of->compares && rules_at(of->place).regime.atomics != KW_ATOMICS_CAS;
}

static void
begin_calls(const search *with, const world *in)
{
    int index = 0;
    while (index < with->model->callers && in->calls[index].stage)
        index++;
    if (index == with->model->callers || !in->calls_left)
        return;
    for (uint8_t tuple = 0; tuple <= TUPLES; tuple++)
        for (int before = 0; before <= (in->at != in->from); before++) {
            world next = *in;
            next.calls_left--;
            next.calls[index] = (call){.stage = BEGUN, .tuple = tuple, .place = before ? in->from : in->at};
            step(with, &next, tuple ? "puts" : "removes", index);
            next.calls[index].compares = 1;
            if (tuple && with->model->partial && !is_held(&next.calls[index]))
                step(with, &next, "puts in part", index);
        }
}

static void
write_hint(const search *with, const world *in, int index)
{
    world next = *in;
    call *of = &next.calls[index];
    if (of->tuple)
        next.hints[of->tuple] = next.next_id++;
    if (of->stage == BEGUN && of->compares)
        of->seen = in->rows[authority_of(of)].at;
    if (of->stage == BEGUN)
        of->stage = HINTED;
    else
        memset(of, 0, sizeof *of);
    step(with, &next, "hint is written", index);
}

static void
begin_writes(const search *with, const world *in, int index)
{
    world next = *in;
    call *of = &next.calls[index];
    of->stage = WRITES;
    of->stamp = next.next_stamp++;
    for (unsigned i = 0; i < PLACEMENTS; i++)
        if (order_in(of, i))
            of->todo |= (uint8_t)(1u << i);
    if (of->compares)
        of->sent = (uint8_t)(1u << authority_of(of));
    else
        send(of, 1);
    of->todo &= (uint8_t)~of->sent;
    step(with, &next, "takes a stamp", index);
}

static void
apply(const search *with, const world *in, int index, unsigned placement)
{
    world next = *in;
    call *of = &next.calls[index];
    if (of->compares && placement == authority_of(of) && in->rows[placement].at != of->seen) {
        *of = (call){.stage = index < LATE ? BEGUN : IDLE,
                     .tuple = index < LATE ? of->tuple : 0,
                     .place = index < LATE ? of->place : 0,
                     .compares = index < LATE};
        step(with, &next, "compare is not met", index);
        return;
    }
    if (of->stamp > in->rows[placement].at)
        next.rows[placement] = (cell){of->stamp, of->tuple};
    of->sent &= (uint8_t) ~(1u << placement);
    if (!of->sent && index < LATE && of->todo && of->compares) {
        of->sent = of->todo;
        of->todo = 0;
    }
    if (!of->sent && index < LATE && of->todo)
        send(of, 2);
    if (!of->sent && (index >= LATE || !with->model->row_first))
        memset(of, 0, sizeof *of);
    step(with, &next, placement ? "new row is written" : "old row is written", index);
}

static void
give_up(const search *with, const world *in, int index)
{
    world next = *in;
    int to = LATE;
    while (to < CALLS && in->calls[to].stage)
        to++;
    if (!in->unknown_left || to == CALLS || in->calls[index].stage != WRITES)
        return;
    next.unknown_left--;
    next.calls[to] = in->calls[index];
    next.calls[to].todo = 0;
    memset(&next.calls[index], 0, sizeof next.calls[index]);
    step(with, &next, "is given up", index);
}

/* What a call that was given up has sent never arrives. */
static void
lose(const search *with, const world *in, int index)
{
    world next = *in;
    memset(&next.calls[index], 0, sizeof next.calls[index]);
    step(with, &next, "is lost", index);
}

static void
expand_call(const search *with, const world *in, int index)
{
    const call *of = &in->calls[index];
    bool hint_last = with->model->row_first && of->stage == WRITES && !of->sent && !of->todo;
    if (hint_last || (of->stage == BEGUN && !with->model->row_first && of->tuple))
        write_hint(with, in, index);
    else if (of->stage == BEGUN || of->stage == HINTED)
        begin_writes(with, in, index);
    for (unsigned i = 0; i < PLACEMENTS; i++)
        if (of->sent >> i & 1)
            apply(with, in, index, i);
    if (of->stage && index < LATE)
        give_up(with, in, index);
    else if (of->stage)
        lose(with, in, index);
}

/* --- the cleaner -------------------------------------------------------------------------------------- */

static bool
cleans_at(const search *with, uint8_t place)
{
    const kw_change_rules rules = rules_at(place);
    const kw_role old = rules.old_role, new = rules.new_role;
    switch (with->model->where) {
    case CLEANS_ALONE:
        return !(old.put || old.remove || old.get) || !(new.put || new.remove || new.get);
    case CLEANS_MIDDLE:
        return !old.put || !new.put;
    case CLEANS_ALWAYS:
        return true;
    }
    g_assert_not_reached();
}

/* Older than G: no put that has written this hint can still write its row. */
static bool
is_old(const world *in, uint8_t tuple)
{
    for (int i = 0; i < CALLS; i++)
        if (in->calls[i].stage > BEGUN && in->calls[i].tuple == tuple)
            return false;
    return true;
}

/* What a get at this place returns. */
static cell
read_at(const world *in, uint8_t place)
{
    const kw_change_rules rules = rules_at(place);
    cell old = rules.old_role.get ? in->rows[0] : (cell){0},
         new = rules.new_role.get ? in->rows[1] : (cell){0};
    return old.at > new.at ? old : new;
}

static void
begin_clean(const search *with, const world *in, uint8_t place)
{
    for (uint8_t tuple = 1; tuple <= TUPLES; tuple++) {
        world next = *in;
        if (in->cleaner.tuple || !in->cleans_left || !cleans_at(with, place) || !in->hints[tuple] ||
            !is_old(in, tuple))
            continue;
        next.cleans_left--;
        next.cleaner = (cleaner){.tuple = tuple, .id = in->hints[tuple], .place = place};
        step(with, &next, "cleaner reads an old hint", -1);
    }
}

static void
expand_cleaner(const search *with, const world *in)
{
    world next = *in;
    cleaner *of = &next.cleaner;
    begin_clean(with, in, in->at);
    if (in->from != in->at)
        begin_clean(with, in, in->from);
    if (!of->tuple)
        return;
    if (of->stale) {
        if (in->hints[of->tuple] == of->id)
            next.hints[of->tuple] = 0;
        memset(of, 0, sizeof *of);
        step(with, &next, "cleaner deletes the hint", -1);
        return;
    }
    bool other = in->rows[0].tuple == of->tuple || in->rows[1].tuple == of->tuple;
    of->stale = read_at(in, of->place).tuple != of->tuple && !(with->model->asks_both && other);
    if (!of->stale)
        memset(of, 0, sizeof *of);
    step(with, &next, "cleaner reads the row", -1);
}

/* --- the copy, passes, and the places ------------------------------------------------------------------- */

static unsigned
needs_of(const world *in)
{
    return kw_change_move_from(KW_LADDER_MOVE, in->at, KW_CHANGE_FORWARD).needs;
}

static bool
is_after_grace(const world *in)
{
    for (int i = LATE; i < CALLS; i++)
        if (in->calls[i].stage)
            return false;
    return true;
}

static bool
has_calls_of(const search *with, const world *in, uint8_t place)
{
    for (int i = 0; i < LATE; i++)
        if (in->calls[i].stage && in->calls[i].place == place)
            return true;
    return in->cleaner.tuple && in->cleaner.place == place && !with->model->no_drain;
}

static void
expand_pass(const search *with, const world *in)
{
    static const char *const names[] = {"pass reads the old row", "pass reads the new row",
                                        "pass writes the new row", "pass writes the old row"};
    world next = *in;
    pass *of = &next.pass;
    unsigned needs = needs_of(in), work = needs & (KW_CHANGE_NEEDS_COPY | KW_CHANGE_NEEDS_PASS);
    if (in->from != in->at || in->worked || !work || !is_after_grace(in))
        return;
    const uint8_t at = of->step++;
    unsigned placement = at == 1 || at == 2;
    if (at < 2)
        of->read[placement] = in->rows[placement];
    else if (of->read[!placement].at > in->rows[placement].at)
        next.rows[placement] = of->read[!placement];
    if (at == 3) {
        memset(of, 0, sizeof *of);
        next.worked = 1;
    }
    step(with, &next, names[at], -1);
}

static void
expand_places(const search *with, const world *in)
{
    world next = *in;
    if (in->from != in->at) {
        next.from = in->at;
        if (!has_calls_of(with, in, in->from))
            step(with, &next, "all gateways have reported", -1);
        return;
    }
    unsigned needs = needs_of(in), work = needs & (KW_CHANGE_NEEDS_COPY | KW_CHANGE_NEEDS_PASS);
    if (in->at == with->model->last || (work && !in->worked) ||
        (needs & KW_CHANGE_NEEDS_GRACE && !is_after_grace(in)))
        return;
    next.at = (uint8_t)kw_change_move_from(KW_LADDER_MOVE, in->at, KW_CHANGE_FORWARD).to;
    next.worked = 0;
    step(with, &next, kw_change_place_name(next.at), -1);
}

static void
expand(explorer *of, const void *state, void *user)
{
    const world *in = state;
    const search with = {.model = user, .of = of};
    cell at = read_at(in, in->at), from = read_at(in, in->from);
    if (!in->hints[at.tuple] || !in->hints[from.tuple])
        explore_wrong(of, "a hint is missing");
    for (int i = 0; i < CALLS && !explore_over(of); i++)
        expand_call(&with, in, i);
    begin_calls(&with, in);
    expand_cleaner(&with, in);
    expand_pass(&with, in);
    expand_places(&with, in);
}

primary_model
primary_model_new(void)
{
    return (primary_model){
        .calls = 2, .callers = 2, .unknown = 1, .cleans = 1, .first = KW_OLD(ALONE), .last = KW_NEW(ALONE)};
}

explored
primary_model_explore(const primary_model *model, uint64_t states_max)
{
    g_autofree world *first = g_new0(world, 1);
    first->hints[0] = 1; /* a record without a tuple needs no hint */
    first->hints[1] = 1;
    first->next_id = 2;
    first->next_stamp = 2;
    first->rows[0] = (cell){1, 1};
    first->at = first->from = (uint8_t)model->first;
    first->calls_left = (uint8_t)model->calls;
    first->unknown_left = (uint8_t)model->unknown;
    first->cleans_left = (uint8_t)model->cleans;
    return explore(first, sizeof *first, expand, (void *)model, states_max);
}
