/* See several_writers_model.h: versions, the beginning of calls, and what is checked in every state. */
#include "several_writers_world.h"

#include <glib.h>
#include <string.h>

#define EVENTS_OF(kind)                                                                                      \
    {                                                                                                        \
        kind " begins", kind " begins under the version before", kind " reads O", kind " reads N",           \
            kind " writes O", kind " writes N", kind " is given up", kind " is sent again", kind " fails",   \
            kind " is paused"                                                                                \
    }

static const char *const names[CALL_KINDS][EVENTS] = {
    [CALL_PUT] = EVENTS_OF("put"),
    [CALL_PUT_BOTH] = EVENTS_OF("put of both fields"),
    [CALL_PUT_OWN] = EVENTS_OF("put with an own timestamp"),
    [CALL_REMOVE] = EVENTS_OF("removal"),
    [CALL_REMOVE_FIELD] = EVENTS_OF("removal of a"),
    [CALL_GET] = EVENTS_OF("get"),
    [CALL_SCAN] = EVENTS_OF("scan"),
    [CALL_ATOMIC] = EVENTS_OF("atomic operation"),
    [CALL_COPY] = EVENTS_OF("copier"),
    [CALL_PASS] = EVENTS_OF("pass"),
    [CALL_SWEEP] = EVENTS_OF("sweep"),
};

/* --- states ----------------------------------------------------------------------------------- */

static void
sort_calls(world *in)
{
    for (size_t i = 1; i < SLOTS; i++) {
        call moved = in->calls[i];
        size_t to = i;
        for (; to > 0 && memcmp(&in->calls[to - 1], &moved, sizeof moved) < 0; to--)
            in->calls[to] = in->calls[to - 1];
        in->calls[to] = moved;
    }
}

void
world_step(const search *with, world *next, const call *of, event what)
{
    const char *action = names[of->kind][what];
    int stamp = of->write ? STAMP_OF(of->write) : -1;
    sort_calls(next);
    explore_step(with->of, next, action, stamp);
}

static void
world_event(const search *with, world *next, const char *what)
{
    sort_calls(next);
    explore_step(with->of, next, what, -1);
}

bool
world_uses_stamp(const world *in, unsigned stamp)
{
    return in->in_use[stamp / 8] >> (stamp % 8) & 1;
}

void
world_use_stamp(world *in, unsigned stamp, bool used)
{
    g_assert_cmpuint(stamp, <=, STAMPS_MAX);
    uint8_t bit = BIT(stamp % 8), *byte = &in->in_use[stamp / 8];
    *byte = used ? *byte | bit : (uint8_t)(*byte & ~bit);
}

static bool
any_call(const world *in, bool (*is)(const world *in, const call *of))
{
    for (int i = 0; i < SLOTS; i++)
        if (in->calls[i].state != CALL_NONE && is(in, &in->calls[i]))
            return true;
    return false;
}

static bool
is_active_work(const world *in, const call *of)
{
    (void)in;
    return is_work(of) && of->state == CALL_ACTIVE;
}

static bool
is_of_version_before(const world *in, const call *of)
{
    bool before = in->from == in->at ? of->outdated : of->version == in->from;
    return before && of->state == CALL_ACTIVE;
}

call *
world_free_slot(world *in)
{
    for (int i = 0; i < SLOTS; i++)
        if (in->calls[i].state == CALL_NONE)
            return &in->calls[i];
    g_assert_not_reached();
}

/* --- what is checked in every state ----------------------------------------------------------- */

int
version_authority(const place_copy *version)
{
    return version->rules.old_role.scan ? OLD : NEW;
}

/* If a gone cell is missing and nothing is visible, the record can have been removed by any removal. */
static rank
rank_without_gone(const world *in, const row *read, unsigned field, rank before)
{
    rank found = row_rank(read, field);
    bool can_be = found < before && !row_has(read, field) && in->removed[field] >= before;
    return can_be ? before : found;
}

rank
world_rank(const search *with, const world *in, const row *read, unsigned field, rank before)
{
    if (with->model->gone_can_miss || in->swept)
        return rank_without_gone(in, read, field, before);
    return row_rank(read, field);
}

static bool
has_all(const search *with, const world *in, const row *read, const rank *least)
{
    for (unsigned i = 0; i < CELLS; i++)
        if (world_rank(with, in, read, i, least[i]) < least[i])
            return false;
    return true;
}

/* The copier copies no gone cells. */
static bool
is_complete(const world *in, const row *placement)
{
    for (unsigned i = 0; i < CELLS; i++)
        if (rank_without_gone(in, placement, i, in->acked[i]) < in->acked[i])
            return false;
    return true;
}

static bool
shows_failed(const world *in, const row *read)
{
    for (unsigned i = 0; i < CELLS; i++)
        if (in->failed && row_rank(read, i) == in->failed)
            return true;
    return false;
}

static bool
scans_are_right(const search *with, const world *in, const row *placement)
{
    return has_all(with, in, placement, in->acked) && !shows_failed(in, placement);
}

static bool
reads_are_right(const search *with, const world *in, const place_copy *version)
{
    int authority = version_authority(version);
    row merged = row_merge(&in->rows[authority], &in->rows[!authority]);
    const row *get = &merged;
    if (!(version->rules.old_role.get && version->rules.new_role.get))
        get = &in->rows[version->rules.old_role.get ? OLD : NEW];
    return has_all(with, in, get, in->seen) && !shows_failed(in, get) &&
           (!version->rules.old_role.scan || scans_are_right(with, in, &in->rows[OLD])) &&
           (!version->rules.new_role.scan || scans_are_right(with, in, &in->rows[NEW]));
}

/* True if readers of both placements see the same. */
static bool
show_same(const world *in)
{
    for (unsigned i = 0; i < CELLS; i++) {
        bool old = row_has(&in->rows[OLD], i), new = row_has(&in->rows[NEW], i);
        if (old != new || (old && in->rows[OLD].cells[i] != in->rows[NEW].cells[i]))
            return false;
    }
    return true;
}

static bool
is_any(const world *in, const call *of)
{
    (void)in;
    (void)of;
    return true;
}

static void
check(const search *with, const world *in)
{
    const place_copy *version = version_of(with, in->at);
    bool quiet = !in->moving && in->at == with->model->last && !any_call(in, is_any);
    if (with->model->alone && quiet && !show_same(in))
        explore_wrong(with->of, "the placements show different cells");
    if (in->wrong)
        explore_wrong(with->of, "an answer is wrong");
    if (!reads_are_right(with, in, version) ||
        (in->moving && !reads_are_right(with, in, version_of(with, in->from))))
        explore_wrong(with->of, "a read now returns a wrong value");
    if (version->rules.both_complete && !(is_complete(in, &in->rows[OLD]) && is_complete(in, &in->rows[NEW])))
        explore_wrong(with->of, "a placement lacks an acknowledged write");
}

/* --- calls begin ------------------------------------------------------------------------------ */

uint8_t
world_number(const search *with, const world *in, const call *of, uint8_t stamp)
{
    uint8_t number = 0;
    for (unsigned i = 0; i < CELLS && !with->model->ties; i++)
        if (fields_of(of) >> i & 1 && STAMP_OF(in->seen[i]) == stamp)
            number = (uint8_t)MAX(number, NUMBER_OF(in->seen[i]) + 1);
    return number;
}

static uint8_t
places_to_write(const search *with, const call *of)
{
    const place_copy *version = version_of(with, of->version);
    uint8_t places = 0;
    for (int place = 0; place < PLACES; place++) {
        const kw_role *role = place == OLD ? &version->rules.old_role : &version->rules.new_role;
        if (is_removal(of) ? role->remove : role->put)
            places |= BIT(place);
    }
    return places;
}

static void
begin_write(const search *with, const world *in, const call *sample, event what)
{
    for (uint8_t stamp = in->floor; stamp <= in->floor + with->model->spread; stamp++) {
        world next = *in;
        call *of = world_free_slot(&next);
        uint8_t number = world_number(with, in, sample, stamp);
        if (number > (with->model->distinct ? 0 : 3) || (!with->model->ties && world_uses_stamp(in, stamp)))
            continue;
        *of = *sample;
        of->write = RANK(stamp, number);
        of->todo = places_to_write(with, of);
        world_use_stamp(&next, stamp, true);
        for (unsigned i = 0; i < CELLS; i++)
            if (is_removal(of) && fields_of(of) >> i & 1)
                next.removed[i] = MAX(next.removed[i], of->write);
        world_step(with, &next, &(call){.kind = of->kind, .write = of->write}, what);
    }
}

/* An old timestamp: see several_writers_model_explore. */
#define OWN_STAMP 2

static void
begin_own(const search *with, const world *in, const call *sample, event what)
{
    world next = *in;
    call *of = world_free_slot(&next);
    if (world_uses_stamp(in, OWN_STAMP))
        return;
    *of = *sample;
    of->write = RANK(OWN_STAMP, 0);
    of->todo = places_to_write(with, of);
    of->touch = with->model->no_trace ? 0 : in->floor;
    world_use_stamp(&next, OWN_STAMP, true);
    world_step(with, &next, &(call){.kind = of->kind, .write = of->write}, what);
}

static void
begin_read(const search *with, const world *in, const call *sample, event what)
{
    world next = *in;
    call *of = world_free_slot(&next);
    *of = *sample;
    memcpy(of->before, of->kind == CALL_SCAN ? in->acked : in->seen, sizeof of->before);
    world_step(with, &next, sample, what);
}

/* A page of a scan of each placement that scans read, or of which cursors are accepted. */
static void
begin_scan(const search *with, const world *in, const call *sample, event what)
{
    const place_copy *version = version_of(with, sample->version);
    for (int place = 0; place < PLACES; place++) {
        call scan = *sample;
        scan.place = (uint8_t)place;
        if (version->rules.both_complete ||
            (place == OLD ? version->rules.old_role.scan : version->rules.new_role.scan))
            begin_read(with, in, &scan, what);
    }
}

static bool
runs_atomics(const place_copy *version)
{
    return version->rules.regime.atomics == KW_ATOMICS_CAS;
}

static void
begin_under(const search *with, const world *in, uint8_t version, bool before)
{
    event what = before ? BEGINS_BEFORE : BEGINS;
    for (uint8_t kind = CALL_PUT; kind <= CALL_ATOMIC; kind++) {
        call sample = {.kind = kind, .state = CALL_ACTIVE, .version = version};
        sample.outdated = before && in->from == in->at;
        if (!(with->model->kinds >> kind & 1))
            continue;
        if (kind == CALL_PUT_OWN)
            begin_own(with, in, &sample, what);
        else if (is_write(&sample))
            begin_write(with, in, &sample, what);
        else if (kind == CALL_SCAN)
            begin_scan(with, in, &sample, what);
        else if (kind != CALL_ATOMIC || runs_atomics(version_of(with, version)))
            begin_read(with, in, &sample, what);
    }
}

static void
begin_calls(const search *with, const world *in)
{
    int active = 0;
    for (int i = 0; i < SLOTS; i++)
        active += in->calls[i].state == CALL_ACTIVE && !is_work(&in->calls[i]);
    if (in->calls_left == 0 || active >= with->model->callers)
        return;
    world next = *in;
    next.calls_left--;
    begin_under(with, &next, in->at, false);
    if (in->moving)
        begin_under(with, &next, in->from, true);
}

/* --- versions --------------------------------------------------------------------------------- */

#define WORK ((unsigned)(KW_CHANGE_NEEDS_COPY | KW_CHANGE_NEEDS_PASS))

static kw_change_move
step_from(const search *with, const world *in)
{
    const place_copy *version = version_of(with, in->at);
    return in->back ? version->back : version->forward;
}

static void
drop_late_calls(world *in)
{
    for (int i = 0; i < SLOTS; i++)
        if (in->calls[i].state == CALL_LATE)
            memset(&in->calls[i], 0, sizeof in->calls[i]);
}

/* When all gateways have reported, no call is under way with a lower stamp than `set_at`. */
static uint8_t
until_of(const search *with, const world *in, call_kind kind)
{
    if (kind == CALL_SWEEP)
        return with->model->sweeps_young ? in->floor : in->set_at;
    bool limited = kind == CALL_PASS && !kw_change_rules_at(KW_LADDER_MOVE, in->at).regime.waits_for_next_ms;
    return limited && !with->model->passes_young ? in->set_at : 0;
}

static void
begin_work(const search *with, const world *in, call_kind kind, int place, bool grace)
{
    world next = *in;
    const call work = {.kind = (uint8_t)kind,
                       .state = CALL_ACTIVE,
                       .version = in->at,
                       .place = (uint8_t)place,
                       .since = kind == CALL_PASS ? in->settled : 0,
                       .until = until_of(with, in, kind),
                       .counts_for = with->model->settles_at_begin ? in->floor : 0};
    if (grace && !in->graced)
        drop_late_calls(&next);
    next.graced = 1;
    *world_free_slot(&next) = work;
    world_step(with, &next, &work, BEGINS);
}

/* A copy counts, and both placements stay the same, for as long as puts go to both. */
static void
set_version(const search *with, const world *in, kw_change_move to)
{
    world next = *in;
    const place_copy *version = version_of(with, (uint8_t)to.to);
    bool both = version->rules.old_role.put && version->rules.new_role.put;
    if (!in->moving)
        next.from = in->at;
    next.at = (uint8_t)to.to;
    next.moving = 1;
    next.graced = 0;
    next.done = both && !with->model->copies_again ? in->done & KW_CHANGE_NEEDS_COPY : 0;
    next.settled = both ? in->settled : 0;
    if (both && with->model->no_whole_pass && in->settled == 0)
        next.settled = in->floor;
    next.set_at = in->floor;
    if (to.needs & KW_CHANGE_NEEDS_GRACE && !(to.needs & WORK))
        drop_late_calls(&next);
    world_event(with, &next, kw_change_place_name(to.to));
}

/* Calls that have begun before end before the next pass. */
static void
begin_round(const search *with, const world *in)
{
    world next = *in;
    next.rounds_left--;
    next.from = in->at;
    next.moving = 1;
    next.graced = 0;
    next.done = in->done & KW_CHANGE_NEEDS_COPY;
    next.set_at = in->floor;
    for (int i = 0; i < SLOTS; i++)
        next.calls[i].outdated = next.calls[i].state == CALL_ACTIVE;
    world_event(with, &next, "the version is set again");
}

/* A pass scans both placements. It visits a record that both scans return, once or twice: once if it has
 * compared what they return. */
static void
pass(const search *with, const world *in, bool grace)
{
    for (int place = 0; place < PLACES; place++)
        if (!(in->done & PASSED(place)))
            begin_work(with, in, CALL_PASS, place, grace);
    if (in->done & VISITED) {
        world next = *in;
        world_end_pass(with, &next, in->floor);
        world_event(with, &next, "the pass has visited the record");
    }
}

static void
advance(const search *with, const world *in)
{
    bool at_end = in->at == (in->back ? with->model->first : with->model->last);
    kw_change_move to = step_from(with, in);
    unsigned work = to.needs & WORK & ~(unsigned)in->done;
    if (with->model->no_copy)
        work &= ~(unsigned)KW_CHANGE_NEEDS_COPY;
    if ((in->moving && !with->model->far_apart) || at_end || to.to == KW_PLACE_NONE ||
        any_call(in, is_active_work))
        return;
    if (work & KW_CHANGE_NEEDS_COPY) {
        begin_work(with, in, CALL_COPY, OLD, to.needs & KW_CHANGE_NEEDS_GRACE);
        return;
    }
    if (work) {
        pass(with, in, to.needs & KW_CHANGE_NEEDS_GRACE);
        if (in->rounds_left && !in->moving && !(in->done & (PASSED(OLD) | PASSED(NEW))))
            begin_round(with, in);
        return;
    }
    set_version(with, in, to);
    if (to.needs & KW_CHANGE_NEEDS_PASS && in->rounds_left && !in->moving)
        begin_round(with, in);
}

static void
report(const search *with, const world *in)
{
    if (!in->moving || (any_call(in, is_of_version_before) && !with->model->no_drain))
        return;
    world next = *in;
    next.moving = next.from = 0;
    for (unsigned i = 0; i < CELLS && !with->model->no_gap; i++)
        next.floor = (uint8_t)MAX(next.floor, STAMP_OF(in->acked[i]) + 1);
    world_event(with, &next, "all gateways have reported");
}

/* --- the world -------------------------------------------------------------------------------- */

static void
turn(const search *with, const world *in)
{
    bool stale = in->back && version_of(with, in->at)->rules.new_role.remove == 0;
    if (in->turns_left == 0 || any_call(in, is_active_work) || (stale && !with->model->turns_late))
        return;
    world next = *in;
    next.turns_left--;
    next.back = !in->back;
    next.graced = 0;
    next.done = with->model->copies_again ? 0 : in->done & KW_CHANGE_NEEDS_COPY;
    world_event(with, &next, next.back ? "the change is reversed" : "the change goes forward again");
}

/* Sweeps the gone cells of those removals for which every call with a lower stamp has ended. */
static void
sweep(const search *with, const world *in)
{
    if (in->moving || in->at != with->model->last || any_call(in, is_active_work))
        return;
    if (in->rounds_left)
        begin_round(with, in);
    if (in->sweeps_left == 0)
        return;
    for (int place = 0; place < PLACES; place++) {
        const place_copy *version = version_of(with, in->at);
        world next = *in;
        next.sweeps_left--;
        next.graced = 0;
        if (place == OLD ? version->rules.old_role.put : version->rules.new_role.put)
            begin_work(with, &next, CALL_SWEEP, place, true);
    }
}

static void
compact(const search *with, const world *in)
{
    for (int place = 0; in->purges_left && place < PLACES; place++) {
        world next = *in;
        next.purges_left--;
        row_purge(&next.rows[place], with->model->compaction_drops_control);
        world_event(with, &next, place == OLD ? "a compaction of O" : "a compaction of N");
    }
}

static void
expand(explorer *of, const void *state, void *user)
{
    const world *in = state;
    const search with = {.model = user, .of = of};
    check(&with, in);
    for (int i = 0; i < SLOTS && !explore_over(of); i++)
        if (in->calls[i].state != CALL_NONE)
            call_expand(&with, in, i);
    begin_calls(&with, in);
    advance(&with, in);
    report(&with, in);
    turn(&with, in);
    sweep(&with, in);
    compact(&with, in);
}

several_writers_model
several_writers_model_adding(void)
{
    several_writers_model model = {.first = KW_OLD(ALONE), .last = KW_OLD(FILLED)};
    ladder_copy(KW_LADDER_ADD, model.places);
    return model;
}

several_writers_model
several_writers_model_new(void)
{
    several_writers_model model = {.first = KW_OLD(ALONE), .last = KW_NEW(ALONE)};
    ladder_copy(KW_LADDER_MOVE, model.places);
    return model;
}

/* The record exists before the first version, in every placement that has all rows. */
explored
several_writers_model_explore(const several_writers_model *model, uint64_t states_max)
{
    g_autofree world *first = g_new0(world, 1);
    kw_change_place start = model->drops ? model->last : model->first;
    const place_copy *version = &model->places[start];
    row initial = {.cells = {RANK(1, 0), RANK(1, 0)}, .writer = RANK(1, 0), .writer_at = 1};
    if (model->unwritten)
        initial.writer = initial.writer_at = 0;
    first->rows[version_authority(version)] = initial;
    first->back = model->drops;
    first->done = model->drops ? KW_CHANGE_NEEDS_COPY : 0;
    if (version->rules.both_complete)
        first->rows[OLD] = first->rows[NEW] = initial;
    first->at = (uint8_t)start;
    first->floor = model->kinds & CALL_BIT(PUT_OWN) ? OWN_STAMP + 1 : 2;
    first->settled = version->rules.both_complete ? first->floor : 0;
    first->set_at = first->floor;
    first->calls_left = (uint8_t)model->calls;
    first->unknown_left = (uint8_t)model->unknown;
    first->purges_left = (uint8_t)model->purges;
    first->turns_left = (uint8_t)model->turns;
    first->sweeps_left = (uint8_t)model->sweeps;
    first->rounds_left = (uint8_t)model->rounds;
    for (unsigned i = 0; i < CELLS; i++)
        first->seen[i] = first->acked[i] = RANK(1, 0);
    return explore(first, sizeof *first, expand, (void *)model, states_max);
}
