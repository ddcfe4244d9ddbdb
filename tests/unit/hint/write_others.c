/* Reads and the cleaner in write_model. See write_world.h. */
#include "write_world.h"

/* --- reads ---------------------------------------------------------------------------------------- */

uint16_t
read_all(const search *with, const world *in)
{
    uint16_t values = 0;
    for (unsigned i = 0; i < FIELDS; i++)
        values |= (uint16_t)(row_value(with, in, i) << (4 * i));
    return values;
}

static bool
has_passed(const search *with, const world *in, uint8_t newest)
{
    return with->model->order == KW_WRITE_ORDER_STORE || in->now >= newest;
}

void
get_expand(const search *with, const world *in, int index)
{
    const call *of = &in->calls[index];
    world next = *in;
    call *get = &next.calls[index];
    if (of->step) {
        if (has_passed(with, in, of->newest))
            answer(with, in, index, of->result, "is answered");
        return;
    }
    get->result = read_all(with, in);
    get->newest = row_newest(with, in, ABC);
    get->step = 1;
    take_step(with, &next, "reads the row", index);
}

/* Reads the hint, then the row. */
void
find_expand(const search *with, const world *in, int index)
{
    const call *of = &in->calls[index];
    world next = *in;
    call *find = &next.calls[index];
    unsigned number;
    if (of->step == 2) {
        if (has_passed(with, in, of->newest))
            answer(with, in, index, of->result, "is answered");
        return;
    }
    bool found = of->step == 0 && hint_is_visible(with, in, 0, of->tuple);
    find->step = found ? 1 : 2;
    if (of->step == 1) {
        find->result = row_tuple(with, in, 0, &number) && number == of->tuple;
        find->newest = row_newest(with, in, ABC);
    }
    take_step(with, &next,
              of->step ? "reads the row of the hint"
              : found  ? "finds a hint"
                       : "finds no hint",
              index);
}

/* --- the copier ----------------------------------------------------------------------------------- */

void
copy_begin(const search *with, const world *in)
{
    world next = *in;
    bool begins = with->model->copies_first || in->from == in->at;
    bool graced = with->model->copies_before_grace ||
                  !(with->model->walk[in->at].needs & KW_CHANGE_NEEDS_GRACE) || is_after_grace(in);
    if (in->calls[CLEANER].kind || in->copied || !begins || !graced ||
        !(with->model->walk[in->at].needs & KW_CHANGE_NEEDS_COPY))
        return;
    next.calls[CLEANER] = (call){.kind = CALL_COPY, .spec = -1};
    take_step(with, &next, "the copy begins", CLEANER);
}

/* Reads the row, then writes its hint for the new path, without a timestamp. */
void
copy_expand(const search *with, const world *in)
{
    world next = *in;
    call *of = &next.calls[CLEANER];
    unsigned number = 0;
    bool reads = !of->step;
    if (reads && !has_passed(with, in, row_newest(with, in, ABC)))
        return;
    if (reads && row_tuple(with, in, 1, &number)) {
        of->step = 1;
        of->tuple = (uint8_t)number;
        take_step(with, &next, "reads the row", CLEANER);
        return;
    }
    if (!reads)
        hint_put(with, &next, 1, of->tuple);
    memset(of, 0, sizeof *of);
    next.copied = 1;
    take_step(with, &next, "the copy ends", CLEANER);
}

/* --- the cleaner ---------------------------------------------------------------------------------- */

static kw_hint_facts
facts_of(const search *with, const world *in, const call *of)
{
    unsigned number;
    const write_model *model = with->model;
    uint8_t newest = row_newest(with, in, (uint8_t)model->tuples[of->path]);
    return (kw_hint_facts){.hint_ms = model->no_age ? of->hint_at - 100 : of->hint_at,
                           .earliest_ms = model->age_after_read ? 200 : of->earliest,
                           .has_tuple = row_tuple(with, in, of->path, &number) && number == of->tuple,
                           .newest_ms = newest ? newest : KW_HINT_NO_TIME};
}

static bool
is_old(const search *with, const call *of)
{
    return with->model->no_age || kw_hint_is_old(of->hint_at, of->earliest, &with->model->limits);
}

/* Reads a hint; it is only worth a step if the hint is old enough. */
static void
read_hint(const search *with, const world *in, const call *clean)
{
    world next = *in;
    call *of = &next.calls[CLEANER];
    if (!hint_is_visible(with, in, clean->path, clean->tuple))
        return;
    *of = *clean;
    of->hint_at = in->hints[of->path][of->tuple].at;
    of->earliest = in->now;
    of->step = clean->step ? 2 : 1;
    if (clean->step == 0)
        next.cleans_left--;
    if (is_old(with, of) || with->model->age_after_read)
        take_step(with, &next, "reads an old hint", CLEANER);
}

/* Without its safeguard, the cleaner reads the row first. */
static void
read_row_first(const search *with, const world *in, const call *clean)
{
    world next = *in;
    call *of = &next.calls[CLEANER];
    unsigned number;
    if (row_tuple(with, in, clean->path, &number) && number == clean->tuple)
        return;
    *of = *clean;
    of->step = 4;
    of->stale = 1;
    next.cleans_left--;
    take_step(with, &next, "reads the row", CLEANER);
}

void
clean_begin(const search *with, const world *in)
{
    if (in->calls[CLEANER].kind || !in->cleans_left)
        return;
    for (uint8_t path = 0; path < with->model->paths; path++)
        for (uint8_t tuple = 0; tuple < TUPLES; tuple++) {
            call clean = {.kind = CALL_CLEAN, .path = path, .tuple = tuple, .spec = -1};
            if (with->model->row_before_hint)
                read_row_first(with, in, &clean);
            else
                read_hint(with, in, &clean);
        }
}

static void
read_row(const search *with, const world *in)
{
    world next = *in;
    call *of = &next.calls[CLEANER];
    kw_hint_facts facts = facts_of(with, in, of);
    of->stale = kw_hint_can_be_cleaned(&facts, &with->model->limits);
    of->newest = row_newest(with, in, ABC);
    of->step = 2;
    if (!of->stale)
        memset(of, 0, sizeof *of);
    take_step(with, &next,
              of->stale ? "reads the row: the hint is stale" : "reads the row: the hint is not stale",
              CLEANER);
}

static void
delete_hint(const search *with, const world *in, int index)
{
    world next = *in;
    call *of = &next.calls[index];
    hint *at = &next.hints[of->path][of->tuple];
    uint8_t until = with->model->delete_unstamped ? (uint8_t)(in->now - in->slow[HINT]) : of->hint_at;
    at->marker = MAX(at->marker, until);
    memset(of, 0, sizeof *of);
    take_step(with, &next, "deletes the hint", index);
}

/* The delete is under way, and another cleaner can begin: the lease of a sweep can have ended. */
static void
send_delete(const search *with, const world *in)
{
    int to = LATE;
    while (to < CALLS && in->calls[to].kind)
        to++;
    if (to == CALLS)
        return;
    world next = *in;
    next.calls[to] = in->calls[CLEANER];
    next.calls[to].step = 3;
    memset(&next.calls[CLEANER], 0, sizeof next.calls[CLEANER]);
    take_step(with, &next, "sends the delete", CLEANER);
}

/* The delete can arrive at any time after the row was read. */
void
clean_expand(const search *with, const world *in, int index)
{
    const call *of = &in->calls[index];
    bool old = kw_hint_is_old(of->hint_at, in->now, &with->model->limits);
    if (of->step == 1)
        read_row(with, in);
    else if (of->step == 4)
        read_hint(with, in, of);
    else if (of->step == 2 && (with->model->cleaner_no_wait || has_passed(with, in, of->newest)) &&
             (!with->model->age_after_read || old))
        send_delete(with, in);
    else if (of->step == 3)
        delete_hint(with, in, index);
}
