/* The steps of calls, of the copier and of passes. A call that is answered, or whose work is done, is removed
 * in the step that ends it. */
#include "several_writers_world.h"

#include <glib.h>
#include <string.h>

static const call none;

static row_rules
rules_of(const search *with, const call *of)
{
    bool expired = with->model->gone_expires && of->version == KW_OLD(ALONE);
    return (row_rules){.control = version_of(with, of->version)->rules.regime.order == KW_WRITE_ORDER_STAMP,
                       .no_gone = with->model->no_gone || expired,
                       .no_writer = is_write(of) ? with->model->no_writer : of->kind != CALL_ATOMIC,
                       .gone_too_low = with->model->gone_too_low};
}

static void
raise_floor(world *in, unsigned stamp)
{
    in->floor = (uint8_t)MAX((unsigned)in->floor, stamp);
}

/* --- answers ---------------------------------------------------------------------------------- */

static bool
is_acknowledged(const search *with, const call *of)
{
    return of->state == CALL_ACTIVE || (of->state == CALL_PAUSED && with->model->acks_after_lease);
}

static void
acknowledge(const search *with, world *in, call *of)
{
    bool spaced = version_of(with, of->version)->rules.regime.waits_for_next_ms || is_removal(of);
    raise_floor(in, STAMP_OF(of->write) + spaced);
    if (of->kind != CALL_PUT_OWN) /* only one */
        world_use_stamp(in, STAMP_OF(of->write), false);
    for (unsigned i = 0; i < CELLS; i++) {
        if (!(fields_of(of) >> i & 1))
            continue;
        if (of->kind == CALL_ATOMIC && (of->replaced < of->before[i] || of->write <= of->replaced))
            in->wrong = 1;
        in->seen[i] = MAX(in->seen[i], of->write);
        in->acked[i] = MAX(in->acked[i], of->write);
    }
}

static void
answer_read(world *in, call *of)
{
    for (unsigned i = 0; i < CELLS; i++) {
        if (of->result[i] < of->before[i] || (in->failed && of->result[i] == in->failed))
            in->wrong = 1;
        if (of->kind == CALL_GET)
            in->seen[i] = MAX(in->seen[i], of->result[i]);
    }
    raise_floor(in, of->newest);
}

/* Every call with a lower stamp than `set_at` has ended before the pass began. */
void
world_end_pass(const search *with, world *in, uint8_t until)
{
    in->done |= KW_CHANGE_NEEDS_PASS;
    in->settled = with->model->settles_at_begin ? until : in->set_at;
}

static void
end_part_of_pass(const search *with, world *in, const call *of)
{
    bool visited = of->stage > 0; /* else its scan has not returned the record */
    in->done |= (uint8_t)(PASSED(of->place) | (visited ? VISITED : 0));
    if (with->model->passes_one_side || ((in->done & PASSED(OLD)) && (in->done & PASSED(NEW))))
        world_end_pass(with, in, of->counts_for);
}

/* The call has done all its work. */
static void
end_call(const search *with, world *in, call *of)
{
    if (of->kind == CALL_COPY && of->state == CALL_ACTIVE)
        in->done |= KW_CHANGE_NEEDS_COPY;
    else if (of->kind == CALL_PASS && of->state == CALL_ACTIVE)
        end_part_of_pass(with, in, of);
    else if (!is_work(of) && is_acknowledged(with, of)) {
        if (of->kind == CALL_GET || of->kind == CALL_SCAN)
            answer_read(in, of);
        else
            acknowledge(with, in, of);
    }
    *of = none;
}

/* True if the call ends as soon as what it has sent is applied, because it was given up. */
static bool
ends_after_sent(const search *with, const call *of)
{
    return of->state == CALL_LATE || (of->state == CALL_PAUSED && !with->model->acks_after_lease);
}

/* --- puts and removals ------------------------------------------------------------------------ */

/* When the call writes the placement: 1 first, and so on. */
static unsigned
order_of(const search *with, const call *of, int place)
{
    const place_copy *version = version_of(with, of->version);
    const kw_role *role = place == OLD ? &version->rules.old_role : &version->rules.new_role;
    return is_removal(of) ? role->remove : role->put;
}

/* The placements that were sent their writes: those left of the lowest order. Bits. */
static uint8_t
sent_now(const search *with, const call *of)
{
    unsigned least = UINT8_MAX;
    uint8_t sent = 0;
    for (int place = 0; place < PLACES; place++)
        if (of->todo >> place & 1)
            least = MIN(least, order_of(with, of, place));
    for (int place = 0; place < PLACES; place++)
        if (of->todo >> place & 1 && order_of(with, of, place) == least)
            sent |= BIT(place);
    return sent;
}

static void
write_target(const search *with, const world *in, int index, int target)
{
    world next = *in;
    call *of = &next.calls[index];
    row *to = &next.rows[target];
    bool last = sent_now(with, of) == BIT(target);
    if (is_removal(of))
        row_remove(to, of->kind == CALL_REMOVE, of->write, rules_of(with, of));
    else
        row_put(to, fields_of(of), of->write, rules_of(with, of));
    if (of->touch)
        row_touch(to, of->touch);
    of->stage++;
    of->todo &= (uint8_t)~BIT(target);
    if (of->todo == 0 || (last && ends_after_sent(with, of)))
        end_call(with, &next, of);
    world_step(with, &next, &in->calls[index], target == OLD ? WRITES_OLD : WRITES_NEW);
}

static void
expand_write(const search *with, const world *in, int index)
{
    uint8_t sent = sent_now(with, &in->calls[index]);
    for (int place = 0; place < PLACES; place++)
        if (sent >> place & 1)
            write_target(with, in, index, place);
}

/* --- atomic operations: get, checkAndMutate on kw:w, then the same cells to the other placement - */

static int
atomic_target(const search *with, const call *of)
{
    const place_copy *version = version_of(with, of->version);
    bool old_first = version->rules.old_role.scan != version->decides_in_other;
    bool two = version->rules.old_role.put && version->rules.new_role.put;
    if (of->stage >= 2)
        return two && of->stage == 2 ? (old_first ? NEW : OLD) : -1;
    return old_first ? OLD : NEW;
}

static void
read_for_atomic(const search *with, const world *in, int index, int target)
{
    row read = row_read(&in->rows[target]);
    uint8_t above = (uint8_t)(MAX(row_newest(&read), read.writer_at) + 1);
    uint8_t least = with->model->low_atomics ? in->floor : MAX(in->floor, above);
    for (uint8_t stamp = least; stamp <= MAX(least, in->floor + with->model->spread); stamp++) {
        world next = *in;
        call *of = &next.calls[index];
        if (world_uses_stamp(in, stamp))
            continue;
        of->rows[target] = read;
        of->replaced = world_rank(with, in, &read, A, of->before[A]);
        of->write = RANK(stamp, world_number(with, in, of, stamp));
        of->stage = 1;
        world_use_stamp(&next, stamp, true);
        world_step(with, &next, of, target == OLD ? READS_OLD : READS_NEW);
    }
}

/* An atomic operation is wrong if the interval from the value that it replaced to the value that it wrote
 * overlaps that of another one, or if it has not seen a value that a pass has copied and a get has
 * returned. */
static void
add_atomic(world *in, const call *of)
{
    int at = 0;
    for (; at < ATOMICS && in->atomics[at][1]; at++)
        if (of->replaced < in->atomics[at][1] && in->atomics[at][0] < of->write)
            in->wrong = 1;
    if (in->passed && in->seen[A] == in->passed && of->replaced < in->passed)
        in->wrong = 1;
    g_assert(at < ATOMICS);
    in->atomics[at][0] = of->replaced;
    in->atomics[at][1] = of->write;
}

static void
expand_atomic(const search *with, const world *in, int index)
{
    world next = *in;
    call *of = &next.calls[index];
    int target = atomic_target(with, of);
    if (of->stage == 0) {
        read_for_atomic(with, in, index, target);
        return;
    }
    if (of->stage == 1 && next.rows[target].writer != of->rows[target].writer) {
        world_use_stamp(&next, STAMP_OF(of->write), false);
        *of = none; /* not applied: it begins again as another call */
        world_step(with, &next, &in->calls[index], FAILS);
        return;
    }
    row_put(&next.rows[target], fields_of(of), of->write, rules_of(with, of));
    if (of->stage == 1)
        add_atomic(&next, of);
    of->stage++;
    memset(of->rows, 0, sizeof of->rows);
    if (ends_after_sent(with, of) || atomic_target(with, of) < 0)
        end_call(with, &next, of);
    world_step(with, &next, &in->calls[index], target == OLD ? WRITES_OLD : WRITES_NEW);
}

/* --- gets, scans, the copier and passes ------------------------------------------------------- */

/* What a pass writes to the placement that atomic operations compare is written with the kw:w of the other
 * row, as the write itself would be. */
static void
add_writer(const search *with, const call *of, const row *from, const row *to, row *missing)
{
    if (of->kind != CALL_PASS || with->model->passes_no_writer || from->writer_at <= to->writer_at)
        return;
    missing->writer = from->writer;
    missing->writer_at = from->writer_at;
}

/* Everything was read. Prepares what must be written, in of->rows. */
static void
prepare(const search *with, const world *in, call *of, uint8_t read_places)
{
    const place_copy *version = version_of(with, of->version);
    int authority = version_authority(version);
    bool both = read_places == (BIT(OLD) | BIT(NEW));
    row merged = both ? row_merge(&of->rows[authority], &of->rows[!authority])
                      : of->rows[read_places == BIT(OLD) ? OLD : NEW];
    row read[PLACES];
    memcpy(read, of->rows, sizeof read);
    memset(of->rows, 0, sizeof of->rows);
    of->stage = 1;
    of->newest = row_newest(&merged);
    for (unsigned i = 0; i < CELLS && !is_work(of); i++)
        of->result[i] = world_rank(with, in, &merged, i, of->before[i]);
    for (int place = 0; both && place < PLACES; place++)
        if ((of->kind == CALL_PASS || !with->model->no_write_back) &&
            row_missing(&merged, &read[place], of->kind == CALL_PASS, &of->rows[place]))
            of->todo |= BIT(place);
        else
            memset(&of->rows[place], 0, sizeof of->rows[place]);
    if (of->todo & BIT(authority))
        add_writer(with, of, &read[!authority], &read[authority], &of->rows[authority]);
    if (of->kind == CALL_COPY) {
        bool all = !with->model->copies_no_gone;
        row to = {.row_gone = all ? 0 : merged.row_gone, .a_gone = all ? 0 : merged.a_gone};
        row_missing(&merged, &to, false, &of->rows[NEW]);
        of->rows[NEW].writer = of->rows[NEW].writer_at = 0;
        of->todo = BIT(NEW);
    }
    if (of->kind == CALL_SWEEP) {
        of->rows[of->place] = row_older(&read[of->place], of->until);
        of->todo = BIT(of->place);
    }
}

static uint8_t
places_to_read(const search *with, const call *of)
{
    const place_copy *version = version_of(with, of->version);
    switch (of->kind) {
    case CALL_GET:
        return (uint8_t)((version->rules.old_role.get ? BIT(OLD) : 0) |
                         (version->rules.new_role.get ? BIT(NEW) : 0));
    case CALL_COPY:
        return BIT(OLD);
    case CALL_SCAN:
    case CALL_SWEEP:
        return BIT(of->place);
    default:
        return BIT(OLD) | BIT(NEW);
    }
}

/* What a read of the placement returns. */
static row
view_of(const world *in, call *of, int place)
{
    row all = of->kind == CALL_PASS && of->until ? row_read_below(&in->rows[place], of->until)
                                                 : row_read(&in->rows[place]);
    row view = row_read_since(&all, of->since);
    if (of->kind == CALL_PASS && of->place == place && view.touched)
        of->since = 0; /* then the whole rows are read */
    return of->since ? view : all;
}

static void
read_place(const search *with, const world *in, int index, int place)
{
    world next = *in;
    call *of = &next.calls[index];
    uint8_t all = places_to_read(with, of);
    of->rows[place] = view_of(in, of, place);
    of->todo |= BIT(place);
    if (of->kind == CALL_PASS && of->place == place && row_is_empty(&of->rows[place])) {
        end_call(with, &next, of);
        world_step(with, &next, &in->calls[index], place == OLD ? READS_OLD : READS_NEW);
        return;
    }
    if (of->todo == all) {
        of->todo = 0;
        prepare(with, in, of, all);
        if (of->todo == 0)
            end_call(with, &next, of);
    }
    world_step(with, &next, &in->calls[index], place == OLD ? READS_OLD : READS_NEW);
}

static void
note_passed(const search *with, world *in, const call *of, int place)
{
    bool authority = place == version_authority(version_of(with, of->version));
    if (with->model->notices && of->kind == CALL_PASS && authority)
        in->passed = row_rank(&of->rows[place], A);
}

static void
write_place(const search *with, const world *in, int index, int place)
{
    world next = *in;
    call *of = &next.calls[index];
    if (of->kind == CALL_SWEEP) {
        row_sweep(&next.rows[place], &of->rows[place], !with->model->sweeps_no_marker);
        next.swept = 1;
    } else {
        row_apply(&next.rows[place], &of->rows[place], rules_of(with, of));
        note_passed(with, &next, of, place);
    }
    of->todo &= (uint8_t)~BIT(place);
    memset(&of->rows[place], 0, sizeof of->rows[place]);
    if (of->todo == 0)
        end_call(with, &next, of);
    world_step(with, &next, &in->calls[index], place == OLD ? WRITES_OLD : WRITES_NEW);
}

static void
expand_read(const search *with, const world *in, int index)
{
    const call *of = &in->calls[index];
    uint8_t to_read = places_to_read(with, of) & (uint8_t)~of->todo;
    bool scans_first = of->kind == CALL_PASS && of->todo == 0;
    for (int place = 0; place < PLACES; place++) {
        if (of->stage == 0 && to_read >> place & 1 && !(scans_first && of->place != place))
            read_place(with, in, index, place);
        if (of->stage == 1 && of->todo >> place & 1)
            write_place(with, in, index, place);
    }
}

/* --- calls without an answer ------------------------------------------------------------------ */

/* A call that has sent nothing that can be applied is as if it had not begun. */
static bool
has_sent(const call *of)
{
    return is_write(of) || of->stage > 0;
}

/* True if the call writes one placement only. */
static bool
writes_one(const search *with, const call *of)
{
    const place_copy *version = version_of(with, of->version);
    return is_removal(of) ? !version->rules.old_role.remove || !version->rules.new_role.remove
                          : !version->rules.old_role.put || !version->rules.new_role.put;
}

static bool
can_be_given_up(const search *with, const world *in, const call *of)
{
    return in->unknown_left && of->state == CALL_ACTIVE && has_sent(of) &&
           (!with->model->alone || (is_write(of) && writes_one(with, of)));
}

static void
give_up(const search *with, const world *in, int index)
{
    world next = *in;
    call *of = &next.calls[index];
    next.unknown_left--;
    of->state = CALL_LATE;
    memset(of->before, 0, sizeof of->before);
    memset(of->result, 0, sizeof of->result);
    of->newest = 0;
    world_step(with, &next, &in->calls[index], IS_GIVEN_UP);
    if (with->model->fails_late && is_write(of) && of->stage > 0) {
        next.failed = of->write;
        *of = none;
        world_step(with, &next, &in->calls[index], FAILS);
    }
}

static void
send_again(const search *with, const world *in, int index)
{
    world next = *in;
    next.unknown_left--;
    *world_free_slot(&next) = next.calls[index];
    next.calls[index].state = CALL_LATE;
    world_step(with, &next, &in->calls[index], IS_SENT_AGAIN);
}

static void
pause_gateway(const search *with, const world *in, int index)
{
    world next = *in;
    next.unknown_left--;
    next.calls[index].state = CALL_PAUSED;
    world_step(with, &next, &in->calls[index], IS_PAUSED);
}

void
call_expand(const search *with, const world *in, int index)
{
    const call *of = &in->calls[index];
    bool pauses = with->model->acks_after_lease || (with->model->sends_after_lease && is_write(of));
    if (is_write(of))
        expand_write(with, in, index);
    else if (of->kind == CALL_ATOMIC)
        expand_atomic(with, in, index);
    else
        expand_read(with, in, index);
    if (can_be_given_up(with, in, of))
        give_up(with, in, index);
    if (in->unknown_left && of->state == CALL_ACTIVE && with->model->resends && is_write(of))
        send_again(with, in, index);
    if (in->unknown_left && of->state == CALL_ACTIVE && pauses && !is_work(of))
        pause_gateway(with, in, index);
}
