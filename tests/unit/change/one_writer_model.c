#include "one_writer_world.h"

#include <string.h>

/* --- versions --------------------------------------------------------------------------------- */

/* No call of another version than the present one runs. */
static bool
is_drained(const world *in)
{
    for (int i = 0; i < SLOTS; i++)
        if (in->calls[i].state != CALL_NONE && in->calls[i].version != in->at)
            return false;
    return true;
}

static void
drain(const search *with, const world *in)
{
    world next = *in;
    if (!in->moving || !(is_drained(in) || with->model->no_drain))
        return;
    next.moving = next.from = 0;
    step(with, &next, "the version before is drained", -1);
}

/* The store drops the rows of a placement that is not in the policy. */
static void
forget(const search *with, const world *in)
{
    world next = *in;
    int retired = in->at == KW_OLD(UNSTAMPED) ? NEW : OLD;
    if (in->moving || (in->at != KW_OLD(UNSTAMPED) && in->at != KW_NEW(UNSTAMPED)))
        return;
    if (retired == NEW && with->model->reuses_rows)
        return;
    memset(&next.rows[retired], 0, sizeof next.rows[retired]);
    step(with, &next, retired == NEW ? "the rows of N are dropped" : "the rows of O are dropped", -1);
}

static bool
is_met(const world *in, unsigned needs)
{
    return (!(needs & KW_CHANGE_NEEDS_COPY) || (in->copied && in->compared)) &&
           (!(needs & KW_CHANGE_NEEDS_CURSOR_EXPIRY) || !(in->cursors & BIT(OLD)));
}

static bool
is_idle(const world *in)
{
    for (int i = 0; i < SLOTS; i++)
        if (in->calls[i].state != CALL_NONE)
            return false;
    return true;
}

static kw_change_move
next_step(const search *with, const world *in)
{
    const place_copy *version = version_of(with, in->at);
    bool drops = in->at == KW_OLD(FILLED) && in->back, can = is_idle(in) || with->model->drops_beside;
    if (drops)
        return (kw_change_move){can ? KW_OLD(UNSTAMPED) : KW_PLACE_NONE, 0};
    return in->back ? version->back : version->forward;
}

static void
advance(const search *with, const world *in)
{
    kw_change_move to = next_step(with, in);
    if (in->moving || in->copying || in->comparing || to.to == KW_PLACE_NONE || !is_met(in, to.needs))
        return;
    world next = *in;
    next.from = in->at;
    next.at = (uint8_t)to.to;
    next.moving = in->at != KW_OLD(FILLED) || with->model->drops_beside;
    if (in->at == KW_OLD(UNSTAMPED)) {
        next.copied = next.compared = 0;
        if (!with->model->adds)
            next.cursors &= BIT(OLD); /* the new placement has another layout number each time */
        if (!with->model->reuses_rows)
            memset(&next.rows[NEW], 0, sizeof next.rows[NEW]);
    }
    step(with, &next, kw_change_place_name(next.at), -1);
}

static void
turn(const search *with, const world *in)
{
    world next = *in;
    if (in->turns_left == 0 || in->moving || in->at == KW_NEW(UNSTAMPED) || in->at == KW_NEW(CLOSING))
        return;
    next.turns_left--;
    next.back = !in->back;
    step(with, &next, next.back ? "goes back" : "goes forward", -1);
}

static void
expire_cursors(const search *with, const world *in)
{
    world next = *in;
    if (!in->cursors)
        return;
    next.cursors = 0;
    step(with, &next, "cursors expire", -1);
}

/* --- the copier ------------------------------------------------------------------------------- */

static void
write_copy(const search *with, const world *in, const row *copied)
{
    world next = *in;
    for (unsigned i = 0; i < CELLS; i++)
        if (copied->cells[i].stamp)
            put_cell(&next.rows[NEW], i, copied->cells[i]);
    if (!with->model->copies_no_floor)
        next.floor[NEW] = MAX(next.floor[NEW], next.floor[OLD]);
    memset(&next.copy, 0, sizeof next.copy);
    next.copying = 0;
    next.copied = 1;
    next.compared = with->model->no_comparison;
    step(with, &next, with->model->copies_torn ? "the copier writes N" : "the row is copied", -1);
}

static bool
is_filled_in(uint8_t version)
{
    return version == KW_OLD(BOTH);
}

static void
copy_row(const search *with, const world *in)
{
    bool ready = is_filled_in(in->at) && (!in->moving || with->model->copies_early);
    if (in->comparing)
        return;
    if (in->copying) {
        write_copy(with, in, &in->copy);
        return;
    }
    if (!ready || (in->copied && in->copies_left == 0))
        return;
    world next = *in;
    next.copies_left -= in->copied;
    if (!with->model->copies_torn) {
        write_copy(with, &next, &in->rows[OLD]);
        return;
    }
    memcpy(next.copy.cells, in->rows[OLD].cells, sizeof next.copy.cells);
    next.copying = 1;
    step(with, &next, "the copier reads O", -1);
}

static void
remove_extra(const search *with, const world *in)
{
    world next = *in;
    row *new = &next.rows[NEW];
    for (unsigned i = 0; i < CELLS; i++)
        if (in->copy.cells[i].stamp &&
            (new->cells[i].stamp <= in->copy.cells[i].stamp || with->model->repairs_blind))
            new->cells[i] = (cell){0, 0};
    memset(&next.copy, 0, sizeof next.copy);
    next.comparing = 0;
    next.compared = 1;
    step(with, &next, "the comparison removes cells from N", -1);
}

/* A call of the version before can remove from O what a call of BOTH_OLD has put in both. */
static void
compare_rows(const search *with, const world *in)
{
    const row *old = &in->rows[OLD], *new = &in->rows[NEW];
    world next = *in;
    bool extra = false;
    if (in->comparing) {
        remove_extra(with, in);
        return;
    }
    if (!is_filled_in(in->at) || in->moving || !in->copied || in->compared || in->copying)
        return;
    for (unsigned i = 0; i < CELLS; i++) {
        if (!new->cells[i].stamp || old->cells[i].stamp)
            continue;
        next.copy.cells[i] = new->cells[i];
        extra = true;
    }
    next.comparing = extra;
    next.compared = !extra;
    step(with, &next, extra ? "the comparison finds cells in N" : "the comparison finds nothing", -1);
}

/* --- the world -------------------------------------------------------------------------------- */

/* What the calls have done stays. Their callers do not know whether it was done. */
static void
kill_gateway(const search *with, const world *in)
{
    world next = *in;
    if (in->kills_left == 0)
        return;
    next.kills_left--;
    memset(next.calls, 0, sizeof next.calls);
    memset(&next.copy, 0, sizeof next.copy);
    next.moving = next.from = next.copying = next.comparing = 0;
    step(with, &next, "the gateway is killed and restarted", -1);
}

static void
compact(const search *with, const world *in)
{
    for (int place = 0; in->purges_left && place < PLACES; place++) {
        world next = *in;
        next.purges_left--;
        next.rows[place].row_marker = next.rows[place].a_marker = 0;
        step(with, &next, place == OLD ? "a compaction of O" : "a compaction of N", -1);
    }
}

static void
check_place(const search *with, const world *in, int place)
{
    for (int i = 0; i < MONITORS; i++)
        if (!monitor_could_read(&in->monitors[i], &in->specs, values_of(&in->rows[place])))
            explore_wrong(with->of, place == OLD ? "a read of O now returns a result that no order has"
                                                 : "a read of N now returns a result that no order has");
}

/* Checks what gets and scans can read now. When N is complete, both placements must have the same cells. */
static void
check(const search *with, const world *in)
{
    const place_copy *version = version_of(with, in->at);
    const row *rows = in->rows;
    bool both = !in->moving && version->rules.old_role.put && version->rules.new_role.put && in->copied &&
                in->compared;
    if (in->wrong)
        explore_wrong(with->of, "an answer that no order of the operations has");
    check_place(with, in, version->rules.old_role.get ? OLD : NEW);
    if (version->rules.new_role.scan && !version->rules.new_role.get)
        check_place(with, in, NEW);
    if (both && !with->model->writes_torn &&
        memcmp(rows[OLD].cells, rows[NEW].cells, sizeof rows->cells) != 0)
        explore_wrong(with->of, "the placements have different cells");
}

static void
expand(explorer *of, const void *state, void *user)
{
    const world *in = state;
    const search with = {.model = user, .of = of};
    check(&with, in);
    for (int i = 0; i < SLOTS && !explore_over(of); i++)
        if (in->calls[i].state != CALL_NONE)
            one_writer_call_expand(&with, in, i);
    one_writer_calls_begin(&with, in);
    drain(&with, in);
    advance(&with, in);
    forget(&with, in);
    turn(&with, in);
    expire_cursors(&with, in);
    copy_row(&with, in);
    compare_rows(&with, in);
    kill_gateway(&with, in);
    compact(&with, in);
    world next = *in;
    next.now++;
    if (in->ticks_left && next.ticks_left--)
        step(&with, &next, "a millisecond passes", -1);
}

one_writer_model
one_writer_model_new(void)
{
    one_writer_model model = {.kinds = 0};
    ladder_copy(KW_LADDER_MOVE_ONE_WRITER, model.places);
    return model;
}

one_writer_model
one_writer_model_adding(void)
{
    one_writer_model model = {.adds = true};
    ladder_copy(KW_LADDER_ADD_ONE_WRITER, model.places);
    return model;
}

/* The record exists before the change. */
explored
one_writer_model_explore(const one_writer_model *model, uint64_t states_max)
{
    static const struct {
        uint8_t fields, view;
    } watched[MONITORS] = {{BIT(A) | BIT(B), VIEW_RECORD}, {BIT(A), VIEW_FIELDS}, {BIT(B), VIEW_FIELDS}};
    g_autofree world *first = g_new0(world, 1);
    for (unsigned i = 0; i < CELLS; i++)
        first->rows[OLD].cells[i] = (cell){INITIAL, INITIAL};
    first->now = INITIAL;
    first->next_value = INITIAL + 1;
    first->ticks_left = (uint8_t)model->ticks;
    first->calls_left = (uint8_t)model->calls;
    first->turns_left = (uint8_t)model->turns;
    first->kills_left = (uint8_t)model->kills;
    first->purges_left = (uint8_t)model->purges;
    first->copies_left = (uint8_t)model->copies;
    first->at = KW_OLD(UNSTAMPED);
    for (int i = 0; i < MONITORS; i++) {
        monitor_init(&first->monitors[i], watched[i].fields, watched[i].view);
        first->monitors[i].linearizations[0] = (linearization)(watched[i].fields & BIT(A) ? INITIAL : 0) |
                                               (linearization)(watched[i].fields & BIT(B) ? INITIAL << 4 : 0);
    }
    return explore(first, sizeof *first, expand, (void *)model, states_max);
}
