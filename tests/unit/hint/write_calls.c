/* The steps of writes in write_model, as server/hint/program.h gives them. See write_world.h. */
#include "write_world.h"

/* --- what a call is ------------------------------------------------------------------------------- */

static kw_hint_put
put_of(const search *with, const call *of)
{
    const write_model *model = with->model;
    kw_hint_fields tuples[PATHS_MAX];
    for (size_t i = 0; i < model->paths; i++)
        tuples[i] = place_hints(with, of->place) >> i & 1 ? model->tuples[i] : 0;
    kw_hint_put put = kw_hint_put_of(tuples, model->paths, of->given);
    if (!model->no_closure)
        return put;
    put.touched = 0;
    for (size_t i = 0; i < model->paths; i++)
        if (tuples[i] & of->given)
            put.touched |= tuples[i];
    if (put.touched)
        put.part = kw_hint_part_of(put.touched, of->given);
    return put;
}

const kw_hint_program *
call_program(const search *with, const call *of)
{
    static const kw_hint_operation puts[] = {KW_HINT_PUT_OUTSIDE, KW_HINT_PUT_PARTIAL, KW_HINT_PUT_FULL};
    static const kw_hint_operation put_ifs[] = {KW_HINT_PUT_IF_OUTSIDE, KW_HINT_PUT_IF_PARTIAL,
                                                KW_HINT_PUT_IF_FULL};
    if (of->kind == CALL_REMOVE)
        return &with->model->programs[KW_HINT_REMOVE];
    kw_hint_part part = put_of(with, of).part;
    return &with->model->programs[of->kind == CALL_PUT ? puts[part] : put_ifs[part]];
}

kw_hint_step
call_step(const search *with, const call *of)
{
    return call_program(with, of)->steps[of->step];
}

static uint8_t
seen_fields(const call *of)
{
    uint8_t fields = 0;
    for (unsigned i = 0; i < FIELDS; i++)
        if (of->seen[i])
            fields |= (uint8_t)(1u << i);
    return fields;
}

static uint8_t
changed_fields(const call *of)
{
    uint8_t fields = 0;
    for (unsigned i = 0; i < FIELDS; i++)
        if (of->given >> i & 1 && of->seen[i] != of->values[i])
            fields |= (uint8_t)(1u << i);
    return fields;
}

static uint8_t
paths_to_hint(const search *with, const call *of)
{
    uint8_t paths = 0;
    bool expires = with->model->hint_ttl && !with->model->same_no_hint;
    for (size_t i = 0; i < with->model->paths; i++)
        if (place_hints(with, of->place) >> i & 1 && with->model->tuples[i] & put_of(with, of).touched &&
            kw_hint_is_needed(with->model->tuples[i], seen_fields(of), of->given, changed_fields(of),
                              expires))
            paths |= (uint8_t)(1u << i);
    return paths;
}

/* --- from step to step ---------------------------------------------------------------------------- */

static bool
is_message(kw_hint_step step)
{
    return step != KW_HINT_STEP_END && step != KW_HINT_STEP_READ && step != KW_HINT_STEP_STAMP;
}

static bool
is_skipped(const search *with, const call *of)
{
    return call_step(with, of) == KW_HINT_STEP_HINTS && !of->hints;
}

void
call_begin_step(const search *with, const world *in, call *of, unsigned step)
{
    (void)in;
    of->step = (uint8_t)step;
    of->hints = paths_to_hint(with, of);
    while (is_skipped(with, of))
        of->step++;
    of->pending = call_step(with, of) == KW_HINT_STEP_HINTS ? of->hints : 0;
    of->sent_at = 0;
    of->sent = is_message(call_step(with, of)) && !is_timed(with) && of->kind != CALL_REMOVE;
    if (of->kind == CALL_REMOVE && with->model->order == KW_WRITE_ORDER_STAMP)
        of->sent = call_step(with, of) == KW_HINT_STEP_REMOVE;
}

static void
begin_again(const search *with, const world *in, int index, const char *action)
{
    world next = *in;
    call *of = &next.calls[index];
    if (index >= LATE) {
        memset(of, 0, sizeof *of);
    } else {
        memset(of->seen, 0, sizeof of->seen);
        of->seen_writer = of->seen_generation = of->newest = of->stamp = of->hinted_at = 0;
        call_begin_step(with, &next, of, 0);
    }
    take_step(with, &next, action, index);
}

/* What was sent was executed. */
static void
go_on(const search *with, world *next, int index, const char *action)
{
    call *of = &next->calls[index];
    if (index >= LATE)
        memset(of, 0, sizeof *of);
    else
        call_begin_step(with, next, of, of->step + 1u);
    take_step(with, next, action, index);
}

/* --- writes that others cannot notice (order: stamp) ---------------------------------------------- */

/* A plain write is in progress beside a compare and has a lower stamp. It is lost in fields that the
 * compare's caller did not give, or is not seen by the condition of the compare. */
static bool
is_lost(const world *in, const call *plain)
{
    for (unsigned i = 0; i < FIELDS; i++) {
        bool copied = in->row.copied[i] & COPIED_CELL && in->row.fields[i].at > plain->stamp;
        bool marker = in->row.copied[i] & COPIED_MARKER && in->row.markers[i] >= plain->stamp;
        if (plain->given >> i & 1 && (copied || marker))
            return true;
    }
    return false;
}

/* A plain write was applied under a newer kw:w after the compare had read, and the compare replaces it. */
static bool
replaces_unnoticed(const search *with, const world *in, const call *compare)
{
    for (unsigned i = 0; i < FIELDS; i++) {
        uint8_t at = MAX(in->row.fields[i].at, (uint8_t)(in->row.markers[i] + 1));
        if (put_of(with, compare).touched >> i & 1 && at < in->row.writer.at &&
            row_value(with, in, i) != compare->seen[i])
            return true;
    }
    return false;
}

/* --- messages arrive ------------------------------------------------------------------------------ */

static uint8_t
timestamp(const search *with, const world *in, const call *of)
{
    return with->model->order == KW_WRITE_ORDER_STORE ? (uint8_t)(in->now - in->slow[ROW]) : of->stamp;
}

static void
leave_control_cells(const search *with, world *in, const call *of, uint8_t at)
{
    const kw_hint_program *program = call_program(with, of);
    bool plain = call_step(with, of) == KW_HINT_STEP_PUT;
    if (program->leaves_writer && place_marks(with, of->place) && !(plain && with->model->no_writer))
        cell_put(&in->row.writer, at, of->id);
    if (program->leaves_generation)
        cell_put(&in->row.generation, at, of->id);
}

static void
write_cell(const search *with, world *in, unsigned field, cell what, bool copied)
{
    if (what.at < in->row.fields[field].at)
        return;
    in->row.fields[field] = what;
    if (with->model->order == KW_WRITE_ORDER_STAMP)
        in->row.copied[field] =
            (uint8_t)((in->row.copied[field] & COPIED_MARKER) | (copied ? COPIED_CELL : 0));
}

static void
put_fields(const search *with, world *in, const call *of, bool all)
{
    uint8_t at = timestamp(with, in, of), seen = seen_fields(of);
    kw_hint_put put = put_of(with, of);
    for (unsigned i = 0; i < FIELDS; i++) {
        uint8_t until = (uint8_t)kw_hint_gone_until(at);
        kw_hint_mutation what = kw_hint_mutation_of(put, i, of->given, seen, with->model->order);
        if (!all && what != KW_HINT_WRITE_GIVEN)
            what = KW_HINT_LEAVE;
        if (with->model->gone_up_to)
            until++;
        if (with->model->gone_short)
            until--;
        if (what == KW_HINT_WRITE_GIVEN)
            write_cell(with, in, i, (cell){at, of->values[i]}, of->kind == CALL_PUT_IF);
        if (what == KW_HINT_WRITE_SEEN)
            write_cell(with, in, i, (cell){at, of->seen[i]}, true);
        if (what == KW_HINT_WRITE_GONE && !with->model->no_gone && in->row.markers[i] < until) {
            in->row.markers[i] = until;
            in->row.copied[i] |= COPIED_MARKER;
        }
    }
    leave_control_cells(with, in, of, at);
}

static void
apply_hint(const search *with, const world *in, int index, size_t path)
{
    world next = *in;
    call *of = &next.calls[index];
    uint8_t values[FIELDS];
    for (unsigned i = 0; i < FIELDS; i++)
        values[i] = of->given >> i & 1 ? of->values[i] : of->seen[i];
    hint_put(with, &next, path, tuple_number(with->model->tuples[path], values));
    of->pending &= (uint8_t) ~(1u << path);
    if (of->pending)
        take_step(with, &next, "a hint is written", index);
    else
        go_on(with, &next, index, "hints are written");
}

static void
apply_put(const search *with, const world *in, int index)
{
    world next = *in;
    next.calls[index].exempt = is_lost(in, &next.calls[index]);
    put_fields(with, &next, &next.calls[index], with->model->plain_fields);
    go_on(with, &next, index, "put is applied");
}

static void
apply_native(const search *with, const world *in, int index)
{
    world next = *in;
    call *of = &next.calls[index];
    of->result = row_value(with, in, 0) == of->believed;
    if (of->result)
        put_fields(with, &next, of, false);
    go_on(with, &next, index, of->result ? "putIf is applied" : "putIf is not met");
}

static void
apply_compare(const search *with, const world *in, int index)
{
    world next = *in;
    call *of = &next.calls[index];
    if (in->row.writer.value != of->seen_writer) {
        g_assert(kw_hint_next_after(KW_HINT_STEP_COMPARE, KW_HINT_REPLY_NOT_MET) == KW_HINT_NEXT_AGAIN);
        begin_again(with, in, index, "compare is not met");
        return;
    }
    of->result = 1;
    if (with->model->order == KW_WRITE_ORDER_STAMP)
        next.lost |= replaces_unnoticed(with, in, of);
    put_fields(with, &next, of, !with->model->given_alone);
    go_on(with, &next, index, "compare is applied");
}

/* --- removals ------------------------------------------------------------------------------------- */

/* The newest timestamp of what is removed; of the record, also of kw:w and kw:g. */
static uint8_t
newest_removed(const search *with, const world *in, const call *of)
{
    uint8_t newest = row_newest(with, in, of->given);
    if (newest && of->given == ABC)
        newest = MAX(newest, in->row.writer.at);
    return newest ? MAX(newest, in->row.generation.at) : 0;
}

static void
remove_cell(cell *from, uint8_t until)
{
    if (from->at <= until)
        *from = (cell){0};
}

static void
mark_field(world *in, unsigned field, uint8_t until)
{
    if (in->row.markers[field] >= until)
        return;
    in->row.markers[field] = until;
    in->row.copied[field] &= COPIED_CELL;
}

static void
mark_removed(const search *with, world *in, const call *of)
{
    bool store = with->model->order == KW_WRITE_ORDER_STORE, whole = of->given == ABC;
    for (unsigned i = 0; i < FIELDS; i++)
        if (of->given >> i & 1)
            mark_field(in, i, of->stamp);
    if (whole && store) {
        remove_cell(&in->row.generation, of->stamp);
        remove_cell(&in->row.writer, of->stamp);
    }
    if (place_marks(with, of->place) && !(whole ? with->model->record_unmarked : with->model->field_unmarked))
        cell_put(&in->row.writer, store ? timestamp(with, in, of) : (uint8_t)(of->stamp + 1), of->id);
}

static void
read_newest(const search *with, const world *in, int index)
{
    world next = *in;
    call *of = &next.calls[index];
    of->stamp = newest_removed(with, in, of);
    of->seen_generation = in->row.generation.value;
    if (of->stamp) {
        of->sent = 1;
        take_step(with, &next, "removal reads the newest timestamp", index);
    } else {
        go_on(with, &next, index, "removal finds nothing");
    }
}

static void
apply_removal(const search *with, const world *in, int index)
{
    world next = *in;
    bool store = with->model->order == KW_WRITE_ORDER_STORE;
    const call *of = &next.calls[index];
    if (store && in->now - in->slow[ROW] <= of->stamp)
        return;
    if (store && !with->model->no_generation && in->row.generation.value != of->seen_generation) {
        begin_again(with, in, index, "removal is not applied");
        return;
    }
    next.calls[index].exempt = !store && is_lost(in, &next.calls[index]);
    mark_removed(with, &next, of);
    go_on(with, &next, index, "removal is applied");
}

/* --- the steps ------------------------------------------------------------------------------------ */

static void
read_row(const search *with, const world *in, int index)
{
    world next = *in;
    call *of = &next.calls[index];
    for (unsigned i = 0; i < FIELDS; i++)
        of->seen[i] = row_value(with, in, i);
    of->seen_writer = in->row.writer.value;
    of->newest = MAX(row_newest(with, in, ABC), in->row.writer.at);
    if (of->kind == CALL_PUT_IF && of->seen[0] != of->believed) {
        unsigned end = 0;
        while (call_program(with, of)->steps[end])
            end++;
        of->stamp = of->newest;
        call_begin_step(with, &next, of, end);
    } else {
        call_begin_step(with, &next, of, of->step + 1u);
    }
    take_step(with, &next, "reads the row", index);
}

static void
take_stamp(const search *with, const world *in, int index)
{
    for (int error = 0; error <= with->model->spread; error++) {
        world next = *in;
        call *of = &next.calls[index];
        of->stamp = MAX((uint8_t)(in->now + error), of->newest);
        if (with->model->places)
            next.max_stamp[of->place] = MAX(next.max_stamp[of->place], of->stamp);
        call_begin_step(with, &next, of, of->step + 1u);
        take_step(with, &next, error ? "takes a stamp in the future" : "takes a stamp", index);
    }
}

static void
send(const search *with, const world *in, int index)
{
    world next = *in;
    call *of = &next.calls[index];
    kw_hint_step step = call_step(with, of);
    bool hints = step == KW_HINT_STEP_HINTS;
    if (!hints && of->hinted_at && in->now > of->hinted_at + with->model->window && !with->model->no_window) {
        begin_again(with, in, index, "begins again, because its hints are too old");
        return;
    }
    of->sent = 1;
    of->sent_at = in->now;
    if (hints)
        of->hinted_at = in->now;
    take_step(with, &next, hints ? "sends hints" : "sends the row", index);
}

static void
expand_hints(const search *with, const world *in, int index)
{
    const call *of = &in->calls[index];
    for (size_t path = 0; path < with->model->paths; path++)
        if (of->pending >> path & 1)
            apply_hint(with, in, index, path);
    if (!with->model->not_awaited || index >= LATE)
        return;
    for (int to = LATE; to < CALLS; to++) {
        world next = *in;
        if (in->calls[to].kind)
            continue;
        next.calls[to] = *of;
        next.calls[to].spec = -1;
        go_on(with, &next, index, "does not wait for its hints");
        return;
    }
}

static void
expand_end(const search *with, const world *in, int index)
{
    const call *of = &in->calls[index];
    bool removal = of->kind == CALL_REMOVE, stamped = with->model->order == KW_WRITE_ORDER_STAMP;
    if (!stamped || in->now >= of->stamp + removal)
        answer(with, in, index, of->kind == CALL_PUT_IF ? of->result : 0, "is answered");
}

void
write_expand(const search *with, const world *in, int index)
{
    const call *of = &in->calls[index];
    kw_hint_step step = call_step(with, of);
    if (is_message(step) && !of->sent) {
        if (step == KW_HINT_STEP_REMOVE)
            read_newest(with, in, index);
        else
            send(with, in, index);
        return;
    }
    switch (step) {
    case KW_HINT_STEP_END:
        expand_end(with, in, index);
        return;
    case KW_HINT_STEP_READ:
        read_row(with, in, index);
        return;
    case KW_HINT_STEP_HINTS:
        expand_hints(with, in, index);
        return;
    case KW_HINT_STEP_STAMP:
        take_stamp(with, in, index);
        return;
    case KW_HINT_STEP_PUT:
        apply_put(with, in, index);
        return;
    case KW_HINT_STEP_NATIVE:
        apply_native(with, in, index);
        return;
    case KW_HINT_STEP_COMPARE:
        apply_compare(with, in, index);
        return;
    case KW_HINT_STEP_REMOVE:
        apply_removal(with, in, index);
        return;
    }
}
