/* The steps of calls. A call that is answered is removed in the step that answers it. */
#include "one_writer_world.h"

#include <string.h>

/* --- operations ------------------------------------------------------------------------------- */

static bool
is_removal(uint8_t kind)
{
    return kind == ONE_WRITER_REMOVE || kind == ONE_WRITER_REMOVE_FIELD;
}

static bool
is_read(uint8_t kind)
{
    return kind == ONE_WRITER_GET || kind == ONE_WRITER_SCAN || kind == ONE_WRITER_CURSOR;
}

static uint8_t
fields_written(uint8_t kind)
{
    switch (kind) {
    case ONE_WRITER_PUT_BOTH:
    case ONE_WRITER_REMOVE:
        return BIT(A) | BIT(B);
    case ONE_WRITER_PUT_OTHER:
        return BIT(B);
    default:
        return BIT(A);
    }
}

static spec_op
spec_of(const call *of)
{
    spec_op spec = {.view = of->kind == ONE_WRITER_SCAN || of->kind == ONE_WRITER_CURSOR ? VIEW_FIELDS : 0};
    if (is_read(of->kind)) {
        spec.reads = BIT(A) | BIT(B);
        return spec;
    }
    spec.writes = fields_written(of->kind);
    for (unsigned i = 0; i < CELLS; i++)
        if (spec.writes >> i & 1)
            spec.values[i] = of->value;
    spec.conditional = of->kind == ONE_WRITER_ATOMIC;
    spec.on = A;
    spec.equals = of->believed;
    return spec;
}

/* --- steps of calls --------------------------------------------------------------------------- */

static void
answer(const search *with, const world *in, int index)
{
    world next = *in;
    call *of = &next.calls[index];
    for (int i = 0; i < MONITORS; i++)
        next.wrong |= !monitor_end(&next.monitors[i], &next.specs, of->spec, of->result);
    spec_end(&next.specs, of->spec);
    memset(of, 0, sizeof *of);
    step(with, &next, "is answered", index);
}

/* One timestamp for all rows of a write, as in server/store/embedded/stamps.c. */
static uint8_t
allocate_stamp(const search *with, world *in, const call *of)
{
    uint8_t stamp = in->now;
    for (int place = 0; place < PLACES; place++)
        if (role_in(with, of->version, place).put)
            stamp = MAX(stamp, in->floor[place]);
    for (int place = 0; place < PLACES; place++)
        if (role_in(with, of->version, place).put)
            in->floor[place] = (uint8_t)(stamp + is_removal(of->kind));
    return stamp;
}

static void
write_row(row *to, const call *of)
{
    if (is_removal(of->kind)) {
        delete_cells(to, of->kind == ONE_WRITER_REMOVE, of->stamp);
        return;
    }
    for (unsigned i = 0; i < CELLS; i++)
        if (fields_written(of->kind) >> i & 1)
            put_cell(to, i, (cell){of->stamp, of->value});
}

static void
expand_write(const search *with, const world *in, int index)
{
    world next = *in;
    call *of = &next.calls[index];
    kw_role old = role_in(with, of->version, OLD), new = role_in(with, of->version, NEW);
    bool second = of->state == CALL_HALF, torn = with->model->writes_torn && old.put && new.put && !second;
    if (!second)
        of->stamp = allocate_stamp(with, &next, of);
    if (is_removal(of->kind) ? old.remove && !second : old.put && !second)
        write_row(&next.rows[OLD], of);
    if ((is_removal(of->kind) ? new.remove : new.put) && !torn)
        write_row(&next.rows[NEW], of);
    of->state = torn ? CALL_HALF : CALL_APPLIED;
    step(with, &next, torn ? "is committed to O" : "is committed", index);
}

static void
expand_read(const search *with, const world *in, int index)
{
    world next = *in;
    call *of = &next.calls[index];
    of->result = values_of(&in->rows[of->place]);
    of->state = CALL_APPLIED;
    if (of->kind == ONE_WRITER_SCAN)
        next.cursors |= BIT(of->place);
    step(with, &next, of->place == OLD ? "reads O" : "reads N", index);
}

/* The second step of an atomic operation, if its writes are torn. */
static void
expand_half_atomic(const search *with, const world *in, int index)
{
    world next = *in;
    call *of = &next.calls[index];
    write_row(&next.rows[!of->place], of);
    of->state = CALL_APPLIED;
    step(with, &next, "is committed to the other placement", index);
}

/* One operation of the store: it compares in the placement that get operations read, and writes to all
 * placements. */
static void
expand_atomic(const search *with, const world *in, int index)
{
    world next = *in;
    call *of = &next.calls[index];
    bool met = in->rows[of->place].cells[A].value == of->believed;
    bool one_row = with->model->one_row_in >> of->version & 1;
    bool both = met && !one_row && role_in(with, of->version, !of->place).put;
    bool torn = both && with->model->writes_torn;
    if (met) {
        of->stamp = allocate_stamp(with, &next, of);
        write_row(&next.rows[of->place], of);
        of->result = 1;
    }
    if (both && !torn)
        write_row(&next.rows[!of->place], of);
    of->state = torn ? CALL_HALF : CALL_APPLIED;
    step(with, &next, of->place == OLD ? "compares in O" : "compares in N", index);
}

void
one_writer_call_expand(const search *with, const world *in, int index)
{
    const call *of = &in->calls[index];
    if (of->state == CALL_APPLIED)
        answer(with, in, index);
    else if (is_read(of->kind))
        expand_read(with, in, index);
    else if (of->kind == ONE_WRITER_ATOMIC && of->state == CALL_HALF)
        expand_half_atomic(with, in, index);
    else if (of->kind == ONE_WRITER_ATOMIC)
        expand_atomic(with, in, index);
    else
        expand_write(with, in, index);
}

/* --- calls begin ------------------------------------------------------------------------------ */

static void
begin_call(const search *with, const world *in, call new_call)
{
    static const char *const actions[ONE_WRITER_KINDS] = {"",
                                                          "begins put",
                                                          "begins put of both",
                                                          "begins put of b",
                                                          "begins removal",
                                                          "begins removal of a",
                                                          "begins get",
                                                          "begins scan",
                                                          "begins page",
                                                          "begins atomic"};
    world next = *in;
    int index = 0;
    while (index < SLOTS && in->calls[index].state != CALL_NONE)
        index++;
    g_assert_cmpint(index, <, SLOTS);
    call *of = &next.calls[index];
    *of = new_call;
    of->state = CALL_BEGUN;
    if (!is_read(of->kind) && !is_removal(of->kind))
        of->value = next.next_value++;
    g_assert_cmpint(of->value, <=, VALUES_MAX);
    next.calls_left--;
    of->spec = (int8_t)spec_begin(&next.specs, spec_of(of));
    if (of->spec >= 0)
        step(with, &next, actions[of->kind], index);
}

static bool
accepts_cursor(const search *with, uint8_t version, int place)
{
    kw_role role = role_in(with, version, place);
    return role.scan || version_of(with, version)->rules.both_complete ||
           (with->model->stale_cursors && role.put);
}

static void
begin_pages(const search *with, const world *in, uint8_t version)
{
    for (int place = 0; place < PLACES; place++)
        if (in->cursors >> place & 1 && accepts_cursor(with, version, place))
            begin_call(with, in,
                       (call){.kind = ONE_WRITER_CURSOR, .version = version, .place = (uint8_t)place});
}

/* A scan can use each path that has all rows. */
static void
begin_scans(const search *with, const world *in, uint8_t version)
{
    for (int place = 0; place < PLACES; place++)
        if (role_in(with, version, place).scan)
            begin_call(with, in,
                       (call){.kind = ONE_WRITER_SCAN, .version = version, .place = (uint8_t)place});
}

static void
begin_under(const search *with, const world *in, uint8_t version)
{
    const place_copy *as = version_of(with, version);
    for (uint8_t kind = ONE_WRITER_PUT; kind < ONE_WRITER_KINDS; kind++) {
        call new_call = {.kind = kind, .version = version};
        new_call.place = as->rules.new_role.get ? NEW : OLD;
        if (!(with->model->kinds >> kind & 1))
            continue;
        if (kind == ONE_WRITER_CURSOR) {
            begin_pages(with, in, version);
        } else if (kind == ONE_WRITER_SCAN) {
            begin_scans(with, in, version);
        } else if (kind != ONE_WRITER_ATOMIC) {
            new_call.place = is_read(kind) ? new_call.place : 0;
            begin_call(with, in, new_call);
        } else if (as->rules.regime.atomics == KW_ATOMICS_NATIVE) {
            if (with->model->compares_new && version == KW_OLD(BOTH))
                new_call.place = NEW;
            new_call.believed = in->rows[new_call.place].cells[A].value;
            begin_call(with, in, new_call);
        }
    }
}

void
one_writer_calls_begin(const search *with, const world *in)
{
    int active = 0;
    for (int i = 0; i < SLOTS; i++)
        active += in->calls[i].state != CALL_NONE;
    if (in->calls_left == 0 || active >= with->model->callers)
        return;
    begin_under(with, in, in->at);
    if (in->moving)
        begin_under(with, in, in->from);
}
