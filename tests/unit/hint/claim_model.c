/* See claim_model.h. */
#include "claim_model.h"

#include <glib.h>
#include <string.h>

#define RECORDS 2
#define CALLERS_MAX 3
#define CLEANER CALLERS_MAX
#define COPIER (CLEANER + 1)
#define LATE (COPIER + 1)
#define CALLS (LATE + 2)
#define X 1
#define OTHER 2
#define BEGINNING 20

typedef struct row {
    uint8_t value, writer; /* 0: absent */
} row;

typedef struct claim {
    uint8_t owner, id, at; /* owner: the record plus 1; 0: absent */
} claim;

typedef enum call_kind { NONE, PUT, PUT_OTHER, REMOVE, PUT_UNCLAIMED, CLEAN, COPY } call_kind;

typedef struct call {
    uint8_t kind, record;
    uint8_t step; /* kw_hint_claim_step; of the cleaner: how far it is */
    uint8_t sent; /* its message is under way */
    uint8_t sent_at, claimed_at;
    uint8_t read;       /* bits: what READ has read; 1: the claim, 2: the own row */
    uint8_t writer;     /* the own kw:w */
    uint8_t seen_fence; /* the other record's kw:w */
    claim seen;
    uint8_t is_old;
    uint8_t held; /* another record held X at a moment of the call */
} call;

typedef struct world {
    row rows[RECORDS];
    claim claim;
    call calls[CALLS];
    uint8_t now, slow, next_id, filled, wrong;
    uint8_t calls_left, retries_left, unknown_left, cleans_left, ticks_left, moves_left;
} world;

typedef struct search {
    const claim_model *model;
    explorer *of;
} search;

static bool
is_timed(const claim_model *model)
{
    return model->cleans || !model->atomics;
}

static void
note_held(world *in)
{
    for (int i = 0; i < CALLERS_MAX; i++)
        if (in->calls[i].kind == PUT && in->rows[!in->calls[i].record].value == X)
            in->calls[i].held = 1;
}

static void
step(const search *with, world *next, const char *action, int index)
{
    note_held(next);
    explore_step(with->of, next, action, index);
}

static bool
is_message(uint8_t step)
{
    return step == KW_HINT_CLAIM_FENCE || step == KW_HINT_CLAIM_WRITE || step == KW_HINT_CLAIM_ROW;
}

/* --- from step to step -------------------------------------------------------------------------------- */

static void
begin_step(const search *with, call *of, kw_hint_claim_step at)
{
    of->step = (uint8_t)at;
    of->sent_at = 0;
    of->sent = is_message(of->step) && !is_timed(with->model);
    if (at == KW_HINT_CLAIM_READ) {
        of->read = of->writer = of->seen_fence = of->is_old = of->claimed_at = 0;
        of->seen = (claim){0};
    }
}

/* The order of the steps without a safeguard. */
static kw_hint_claim_step
next_of(const search *with, const call *of, kw_hint_claim_step next)
{
    bool own = of->seen.owner == of->record + 1;
    if (with->model->row_first && of->step == KW_HINT_CLAIM_ROW)
        return KW_HINT_CLAIM_WRITE;
    if (with->model->row_first && next == KW_HINT_CLAIM_ROW)
        return KW_HINT_CLAIM_OK;
    if (with->model->row_first && next == KW_HINT_CLAIM_WRITE)
        return KW_HINT_CLAIM_ROW;
    if (with->model->no_renewal && next == KW_HINT_CLAIM_WRITE && own)
        return KW_HINT_CLAIM_ROW;
    if (with->model->no_fence && next == KW_HINT_CLAIM_FENCE)
        return KW_HINT_CLAIM_WRITE;
    return next;
}

static void
go_on(const search *with, world *next, int index, const kw_hint_claim_facts *facts, const char *action)
{
    call *of = &next->calls[index];
    if (index >= LATE) {
        memset(of, 0, sizeof *of);
    } else if (of->kind == COPY && facts->met &&
               (of->step == KW_HINT_CLAIM_WRITE || (of->step == KW_HINT_CLAIM_LOOK && facts->holds))) {
        memset(of, 0, sizeof *of);
        next->filled = 1;
    } else {
        if (!facts->met && !next->retries_left)
            return;
        if (!facts->met)
            next->retries_left--;
        begin_step(with, of, next_of(with, of, kw_hint_claim_next((kw_hint_claim_step)of->step, facts)));
    }
    step(with, next, action, index);
}

static kw_hint_claim_facts
facts_of(const search *with, bool met)
{
    return (kw_hint_claim_facts){.atomics = with->model->atomics, .met = met};
}

/* --- reads ---------------------------------------------------------------------------------------------- */

static void
read_claim_and_row(const search *with, const world *in, int index)
{
    const call *of = &in->calls[index];
    uint8_t needed = with->model->atomics && !with->model->reads_late ? 3 : 1;
    for (uint8_t what = 1; what <= 2; what++) {
        world next = *in;
        call *at = &next.calls[index];
        if (of->read & what || !(needed & what))
            continue;
        at->read |= what;
        if (what == 1) {
            at->seen = in->claim;
            at->is_old = kw_hint_is_old(in->claim.at, in->now, &with->model->limits);
        } else {
            at->writer = in->rows[of->record].writer;
        }
        kw_hint_claim_facts facts = facts_of(with, true);
        facts.is_other = at->seen.owner && at->seen.owner != of->record + 1;
        if (at->read == needed)
            go_on(with, &next, index, &facts, what == 1 ? "reads the claim" : "reads its kw:w");
        else
            step(with, &next, what == 1 ? "reads the claim" : "reads its kw:w", index);
    }
}

static void
look(const search *with, const world *in, int index)
{
    world next = *in;
    call *of = &next.calls[index];
    kw_hint_claim_facts facts = facts_of(with, true);
    const row *other = &in->rows[of->seen.owner - 1];
    facts.holds = other->value == X;
    facts.is_old = of->is_old || with->model->takes_young;
    of->seen_fence = other->writer;
    if (with->model->age_after_look)
        facts.is_old = true;
    if (of->kind == COPY && facts.holds && !with->model->ignores_conflicts) {
        memset(of, 0, sizeof *of);
        step(with, &next, "lists a conflict", index);
        return;
    }
    go_on(with, &next, index, &facts,
          facts.holds ? "reads that the other row holds X" : "reads the other row");
}

/* --- messages ------------------------------------------------------------------------------------------- */

static void
send(const search *with, const world *in, int index)
{
    world next = *in;
    call *of = &next.calls[index];
    bool last = of->step == KW_HINT_CLAIM_ROW;
    bool old = kw_hint_is_old(of->seen.at, in->now, &with->model->limits);
    if (last && in->now > of->claimed_at + with->model->window && !with->model->no_window) {
        kw_hint_claim_facts again = facts_of(with, false);
        go_on(with, &next, index, &again, "begins again, because its claim is too old");
        return;
    }
    bool other = of->seen.owner && of->seen.owner != of->record + 1;
    if (with->model->age_after_look && of->step == KW_HINT_CLAIM_WRITE && other && !old)
        return;
    of->sent = 1;
    of->sent_at = in->now;
    if (of->step == KW_HINT_CLAIM_WRITE)
        of->claimed_at = in->now;
    step(with, &next, last ? "sends the row" : "sends the claim or fence", index);
}

static void
apply_fence(const search *with, const world *in, int index)
{
    world next = *in;
    const call *of = &in->calls[index];
    row *other = &next.rows[of->seen.owner - 1];
    kw_hint_claim_facts facts = facts_of(with, other->writer == of->seen_fence);
    if (facts.met)
        other->writer = next.next_id++;
    go_on(with, &next, index, &facts, facts.met ? "fences the other row" : "fence is not met");
}

static void
apply_claim(const search *with, const world *in, int index)
{
    world next = *in;
    const call *of = &in->calls[index];
    kw_hint_claim_facts facts =
        facts_of(with, in->claim.owner == of->seen.owner && in->claim.id == of->seen.id);
    bool own = of->seen.owner == of->record + 1;
    if (facts.met) {
        uint8_t id = own && with->model->same_id ? in->claim.id : next.next_id++;
        next.claim = (claim){(uint8_t)(of->record + 1), id,
                             is_timed(with->model) ? (uint8_t)MAX(in->claim.at, in->now - in->slow) : 0};
    }
    if (facts.met && with->model->reads_late)
        next.calls[index].writer = 0; /* it is read next: see read_late */
    go_on(with, &next, index, &facts, facts.met ? "claims X" : "claim is not met");
}

static void
apply_row(const search *with, const world *in, int index)
{
    world next = *in;
    const call *of = &in->calls[index];
    row *own = &next.rows[of->record];
    kw_hint_claim_facts facts = facts_of(with, !with->model->atomics || own->writer == of->writer);
    if (facts.met)
        *own = (row){X, next.next_id++};
    go_on(with, &next, index, &facts, facts.met ? "row holds X" : "compare of the row is not met");
}

/* Without its safeguard, the kw:w is read when the row is about to be sent. */
static bool
read_late(const search *with, const world *in, int index)
{
    world next = *in;
    call *of = &next.calls[index];
    if (!with->model->reads_late || of->step != KW_HINT_CLAIM_ROW || of->read & 2)
        return false;
    of->read |= 2;
    of->writer = in->rows[of->record].writer;
    step(with, &next, "reads its kw:w", index);
    return true;
}

/* --- one call ---------------------------------------------------------------------------------------------
 */

static void
end(const search *with, const world *in, int index)
{
    world next = *in;
    call *of = &next.calls[index];
    static const char *const names[] = {"is answered OK", "is REFUSED", "is answered BUSY"};
    const char *name = names[of->step - KW_HINT_CLAIM_OK];
    if (of->step == KW_HINT_CLAIM_REFUSED && !of->held)
        next.wrong = 1;
    memset(of, 0, sizeof *of);
    step(with, &next, name, index);
}

static void
expand_put(const search *with, const world *in, int index)
{
    const call *of = &in->calls[index];
    if (is_message(of->step) && read_late(with, in, index))
        return;
    if (is_message(of->step) && !of->sent) {
        send(with, in, index);
        return;
    }
    switch ((kw_hint_claim_step)of->step) {
    case KW_HINT_CLAIM_READ:
        read_claim_and_row(with, in, index);
        return;
    case KW_HINT_CLAIM_LOOK:
        look(with, in, index);
        return;
    case KW_HINT_CLAIM_FENCE:
        apply_fence(with, in, index);
        return;
    case KW_HINT_CLAIM_WRITE:
        apply_claim(with, in, index);
        return;
    case KW_HINT_CLAIM_ROW:
        apply_row(with, in, index);
        return;
    case KW_HINT_CLAIM_OK:
    case KW_HINT_CLAIM_REFUSED:
    case KW_HINT_CLAIM_BUSY:
        end(with, in, index);
        return;
    }
}

/* Writes that need no claim, in one step. */
static void
expand_plain(const search *with, const world *in, int index)
{
    world next = *in;
    call *of = &next.calls[index];
    uint8_t value = of->kind == REMOVE ? 0 : of->kind == PUT_UNCLAIMED ? X : OTHER;
    next.rows[of->record] = (row){value, next.next_id++};
    const char *name = of->kind == REMOVE ? "removal is applied" : "another value is put";
    memset(of, 0, sizeof *of);
    step(with, &next, name, index);
}

static void
give_up(const search *with, const world *in, int index)
{
    world next = *in;
    int to = LATE;
    if (!in->unknown_left || in->calls[index].kind != PUT || in->calls[index].step >= KW_HINT_CLAIM_OK)
        return;
    while (to < CALLS && in->calls[to].kind)
        to++;
    if (to == CALLS)
        return;
    next.unknown_left--;
    if (in->calls[index].sent)
        next.calls[to] = in->calls[index];
    memset(&next.calls[index], 0, sizeof next.calls[index]);
    step(with, &next, "is given up", index);
}

/* --- the cleaner and the copier
 * ------------------------------------------------------------------------------ */

static void
clean_begin(const search *with, const world *in)
{
    world next = *in;
    call *of = &next.calls[CLEANER];
    bool old = with->model->no_age || kw_hint_is_old(in->claim.at, in->now, &with->model->limits);
    if (of->kind || !in->cleans_left || !in->claim.owner || !old)
        return;
    next.cleans_left--;
    *of = (call){.kind = CLEAN, .seen = in->claim, .is_old = in->now};
    step(with, &next, "reads an old claim", CLEANER);
}

static void
expand_clean(const search *with, const world *in)
{
    world next = *in;
    call *of = &next.calls[CLEANER];
    bool same =
        with->model->deletes_any || (in->claim.owner == of->seen.owner && in->claim.id == of->seen.id);
    if (of->step) {
        if (same)
            next.claim = (claim){0};
        memset(of, 0, sizeof *of);
        step(with, &next, same ? "deletes the claim" : "delete is not met", CLEANER);
        return;
    }
    kw_hint_facts facts = {.hint_ms = with->model->no_age ? -100 : of->seen.at,
                           .earliest_ms = of->is_old,
                           .has_tuple = in->rows[of->seen.owner - 1].value == X};
    of->step = 1;
    if (!kw_hint_claim_can_be_cleaned(&facts, &with->model->limits))
        memset(of, 0, sizeof *of);
    step(with, &next, "reads the owner's row", CLEANER);
}

/* Claims the rows that hold X: a put of the value that the row has, without its last step. */
static void
copy_begin(const search *with, const world *in)
{
    world next = *in;
    if (!with->model->unfilled || in->filled || in->calls[COPIER].kind)
        return;
    if (in->rows[0].value != X) {
        next.filled = 1;
        step(with, &next, "finds nothing to copy", COPIER);
        return;
    }
    next.calls[COPIER] = (call){.kind = COPY, .record = 0};
    begin_step(with, &next.calls[COPIER], KW_HINT_CLAIM_READ);
    step(with, &next, "copies the row", COPIER);
}

/* --- the world
 * -------------------------------------------------------------------------------------------------- */

static void
begin_calls(const search *with, const world *in)
{
    static const char *const names[] = {[PUT] = "puts X",
                                        [PUT_OTHER] = "puts another value",
                                        [REMOVE] = "removes",
                                        [PUT_UNCLAIMED] = "puts X without a claim"};
    int index = 0;
    while (index < with->model->callers && in->calls[index].kind)
        index++;
    if (index == with->model->callers || !in->calls_left)
        return;
    for (uint8_t record = 0; record < RECORDS; record++)
        for (uint8_t kind = PUT; kind <= PUT_UNCLAIMED; kind++) {
            world next = *in;
            if ((kind == REMOVE && !with->model->removes) ||
                (kind == PUT_UNCLAIMED && !with->model->fills_early))
                continue;
            next.calls_left--;
            next.calls[index] = (call){.kind = kind, .record = record};
            step(with, &next, names[kind], index);
        }
}

static void
tick(const search *with, const world *in)
{
    world next = *in;
    if (!in->ticks_left)
        return;
    next.now++;
    next.ticks_left--;
    for (int i = 0; i < CALLS; i++) {
        call *of = &next.calls[i];
        if (of->kind != PUT || !of->sent || next.now <= of->sent_at + with->model->late)
            continue;
        if (i < LATE)
            return;
        memset(of, 0, sizeof *of);
    }
    step(with, &next, "the clock ticks", -1);
}

static const char *
fault_of(const search *with, const world *in)
{
    if (in->wrong)
        return "a put is REFUSED although no other record held X";
    if (with->model->unfilled && !in->filled) /* the promise begins when the path is filled */
        return NULL;
    if (in->rows[0].value == X && in->rows[1].value == X)
        return "two rows hold X";
    for (int i = 0; i < RECORDS; i++)
        if (in->rows[i].value == X && in->claim.owner != i + 1)
            return "a row holds X, and its claim is missing";
    return NULL;
}

static void
expand(explorer *of, const void *state, void *user)
{
    const world *in = state;
    const search with = {.model = user, .of = of};
    const char *fault = fault_of(&with, in);
    if (fault)
        explore_wrong(of, fault);
    for (int i = 0; i < CALLS && !explore_over(of); i++) {
        uint8_t kind = in->calls[i].kind;
        if (kind == PUT || kind == COPY)
            expand_put(&with, in, i);
        else if (kind == CLEAN)
            expand_clean(&with, in);
        else if (kind)
            expand_plain(&with, in, i);
        if (kind && i < CALLERS_MAX)
            give_up(&with, in, i);
    }
    begin_calls(&with, in);
    clean_begin(&with, in);
    copy_begin(&with, in);
    tick(&with, in);
    if (in->moves_left) {
        world next = *in;
        next.moves_left--;
        next.slow = !in->slow;
        step(&with, &next, "the claim's region moves to another clock", -1);
    }
}

claim_model
claim_model_new(void)
{
    return (claim_model){.atomics = true,
                         .calls = 3,
                         .callers = 2,
                         .retries = 2,
                         .removes = true,
                         .window = 1,
                         .late = 1,
                         .limits = {.window_ms = 1, .late_ms = 1, .clock_difference_ms = 1}};
}

explored
claim_model_explore(const claim_model *model, uint64_t states_max)
{
    g_autofree world *first = g_new0(world, 1);
    first->now = BEGINNING;
    first->next_id = 1;
    first->calls_left = (uint8_t)model->calls;
    first->retries_left = (uint8_t)model->retries;
    first->unknown_left = (uint8_t)model->unknown;
    first->cleans_left = (uint8_t)model->cleans;
    first->ticks_left = (uint8_t)model->ticks;
    first->moves_left = (uint8_t)model->moves;
    if (model->first_holds || model->unfilled)
        first->rows[0] = (row){X, first->next_id++};
    if (model->first_holds)
        first->claim = (claim){1, first->next_id++, is_timed(model) ? BEGINNING - 1 : 0};
    return explore(first, sizeof *first, expand, (void *)model, states_max);
}
