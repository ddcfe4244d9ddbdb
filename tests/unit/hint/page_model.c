/* See page_model.h. Record 0 moves, record 1 stays at its place. A hint is at place 2 * tuple + record. */
#include "page_model.h"

#include <glib.h>
#include <string.h>

#define RECORDS 2
#define WRITERS 2
#define OUT PAGE_PLACES
#define KEYS (RECORDS * PAGE_PLACES)
#define START 10
#define STAYS 1 /* the place of record 1 */

typedef struct writer {
    uint8_t to; /* 0: idle; else the tuple plus 1 */
    uint8_t hinted;
} writer;

typedef enum reader_phase { SCANS, READS, ENDED } reader_phase;

typedef struct world {
    uint8_t now, moves_left, lost_left, cleans_left, ticks_left;
    uint8_t at;      /* the tuple of record 0 */
    uint8_t newest;  /* its timestamp */
    uint8_t version; /* how often it was written */
    uint8_t hints;   /* bits: the hints of record 0 */
    uint8_t seen;    /* the same when the range scan was opened */
    writer writers[WRITERS];
    uint8_t left; /* record 0 was outside of the ranges while the query ran */
    /* the reader */
    uint8_t phase, key;   /* the next key to scan */
    uint8_t last;         /* the key after the last hint */
    uint8_t batch, early; /* hints in this batch; bits: the records that were read before it was complete */
    uint8_t batch_hints;  /* bits: the hints of record 0 in the batch */
    uint8_t has[RECORDS]; /* the record is in the batch, and was not read yet */
    uint8_t first;        /* 1 + the key of the first hint in the batch; 0: none */
    uint8_t reopen;       /* a record was dropped because its place is read later */
    uint8_t cut;  /* records that are judged with a hint of this key or a later one are not returned */
    uint8_t ends; /* the ranges have no further hints */
    uint8_t on_page[RECORDS], page_count, remembered[RECORDS], returned[RECORDS];
    uint8_t last_version; /* of record 0, when it was returned */
    uint8_t wrong;
} world;

typedef struct search {
    const page_model *model;
    explorer *of;
} search;

static void
step(const search *with, const world *next, const char *action)
{
    explore_step(with->of, next, action, -1);
}

/* --- writers and the cleaner ------------------------------------------------------------------------- */

static void
begin_move(const search *with, const world *in)
{
    int i = 0;
    while (i < with->model->writers && in->writers[i].to)
        i++;
    if (i == with->model->writers || !in->moves_left)
        return;
    for (uint8_t to = 0; to < PAGE_PLACES + (with->model->leaves ? 1 : 0); to++) {
        world next = *in;
        next.moves_left--;
        next.writers[i].to = (uint8_t)(to + 1);
        step(with, &next, "a write begins");
    }
}

static void
write_row(const search *with, const world *in, int i)
{
    for (uint8_t lag = 0; lag <= with->model->may_lag; lag++) {
        world next = *in;
        next.at = (uint8_t)(in->writers[i].to - 1);
        next.newest = (uint8_t)MAX(in->now - lag, in->newest);
        next.version++;
        next.left |= next.at == OUT;
        memset(&next.writers[i], 0, sizeof next.writers[i]);
        step(with, &next, lag ? "a row is written with an old timestamp" : "a row is written");
    }
}

static void
expand_writers(const search *with, const world *in)
{
    for (int i = 0; i < WRITERS; i++) {
        const writer *at = &in->writers[i];
        world next = *in;
        if (!at->to)
            continue;
        if (at->hinted || at->to - 1 == OUT) {
            write_row(with, in, i);
            if (!in->lost_left || !at->hinted)
                continue;
            next.lost_left--;
            memset(&next.writers[i], 0, sizeof next.writers[i]);
            step(with, &next, "a writer dies");
            continue;
        }
        next.writers[i].hinted = 1;
        next.hints |= (uint8_t)(1u << (at->to - 1));
        step(with, &next, "a hint is written");
    }
}

/* A hint that is being written again is too young to be cleaned. */
static bool
is_young(const world *in, uint8_t tuple)
{
    for (int i = 0; i < WRITERS; i++)
        if (in->writers[i].hinted && in->writers[i].to - 1 == tuple)
            return true;
    return false;
}

static void
expand_cleaner(const search *with, const world *in)
{
    for (uint8_t tuple = 0; tuple < PAGE_PLACES && in->cleans_left; tuple++) {
        kw_hint_limits limits = with->model->limits;
        world next = *in;
        kw_hint_facts facts = {
            .hint_ms = -1000, .earliest_ms = in->now, .has_tuple = in->at == tuple, .newest_ms = in->newest};
        if (with->model->no_keep)
            limits.keep_ms = -1000;
        if (with->model->cleans_no_lag)
            limits.lag_ms = 0;
        if (!(in->hints >> tuple & 1) || is_young(in, tuple) || !kw_hint_can_be_cleaned(&facts, &limits))
            continue;
        next.cleans_left--;
        next.hints &= (uint8_t) ~(1u << tuple);
        step(with, &next, "a hint is cleaned");
    }
}

/* --- the reader --------------------------------------------------------------------------------------- */

static bool
has_hint(const search *with, const world *in, uint8_t key)
{
    uint8_t hints = with->model->snapshot ? in->seen : in->hints;
    return key % RECORDS ? key / RECORDS == STAYS : hints >> key / RECORDS & 1;
}

static bool
is_after(const search *with, const world *in, int key)
{
    return key >= in->last && (!in->ends || with->model->end_is_last);
}

static int64_t
start_of(const search *with)
{
    kw_hint_limits limits = with->model->limits;
    if (with->model->starts_no_lag)
        limits.lag_ms = 0;
    return kw_hint_query_start_ms(START, &limits);
}

static bool
is_returned(const search *with, const world *in, int record)
{
    const page_model *model = with->model;
    uint8_t at = record ? STAYS : in->at;
    kw_hint_row row = {
        .has_tuple = record ? true : in->at != OUT && in->batch_hints >> in->at & 1,
        .is_in_ranges = at != OUT,
        .is_after = is_after(with, in, RECORDS * at + record),
        .newest_ms = model->any_time ? INT64_MAX
                     : record        ? 0
                                     : in->newest,
        .is_remembered = in->remembered[record],
        .is_on_page = in->on_page[record] && !model->no_page_set,
    };
    if (model->only_hints)
        row.is_in_ranges = false;
    if (model->any_time)
        row.is_remembered = false;
    return kw_hint_is_returned(&row, start_of(with));
}

/* The key of the hint with which a record is judged: that of its tuple, or else its first one in the batch.
 */
static int
judged_at(const search *with, const world *in, int record)
{
    int tuple = 0;
    if (record)
        return RECORDS * STAYS + record;
    if (in->at != OUT && in->batch_hints >> in->at & 1 && !with->model->judged_first)
        return RECORDS * in->at;
    while (!(in->batch_hints >> tuple & 1))
        tuple++;
    return RECORDS * tuple;
}

/* The rows of a multi-get are read one after the other. */
static void
read_row(const search *with, const world *in, int record)
{
    world next = *in;
    next.has[record] = 0;
    if (in->phase == SCANS)
        next.early |= (uint8_t)(1u << record);
    bool within = !with->model->cuts || judged_at(with, in, record) < in->cut;
    if (within && is_returned(with, in, record)) {
        next.returned[record]++;
        next.page_count++;
        next.on_page[record] = 1;
        next.remembered[record] =
            !with->model->no_memory && kw_hint_is_recent(record ? 0 : in->newest, start_of(with));
        if (record == 0) {
            next.wrong |= in->at == OUT || (in->returned[0] && next.version == in->last_version);
            next.last_version = in->version;
        }
    }
    next.reopen |= !record && in->at != OUT && is_after(with, in, RECORDS * in->at);
    step(with, &next, record ? "reads the other row" : "reads the row");
}

static void
end_batch(const search *with, const world *in)
{
    world next = *in;
    next.batch = next.batch_hints = next.early = next.first = next.cut = next.reopen = 0;
    if (in->reopen && !with->model->begun_is_after)
        next.seen = in->hints;
    next.phase = in->ends ? ENDED : SCANS;
    if (with->model->cuts && in->cut < in->key) {
        next.phase = SCANS;
        next.key = in->cut;
        next.ends = 0;
        next.seen = in->hints;
        step(with, &next, "a batch ends early");
        memset(next.on_page, 0, sizeof next.on_page);
        next.page_count = 0;
        if (with->model->limit)
            step(with, &next, "a page ends within a batch");
        return;
    }
    if (with->model->limit && in->page_count >= with->model->limit) {
        memset(next.on_page, 0, sizeof next.on_page);
        next.page_count = 0;
        next.seen = in->hints;
        if (with->model->snapshot)
            step(with, &next, "a page ends, and its range scan is opened again");
        next.seen = in->reopen && !with->model->begun_is_after ? in->hints : in->seen;
    }
    step(with, &next, "a batch ends");
}

/* With cuts, the batch can end after any of its hints. */
static void
end_scan(const search *with, world *next, const char *action)
{
    next->phase = READS;
    next->cut = next->key;
    step(with, next, action);
    for (next->cut = next->first; with->model->cuts && next->cut && next->cut < next->key; next->cut++)
        step(with, next, "only a part of the batch is judged");
}

static void
scan(const search *with, const world *in)
{
    int size = with->model->batch;
    world next = *in;
    if (with->model->limit)
        size = MIN(size, with->model->limit - in->page_count);
    if (in->key == KEYS) {
        next.ends = 1;
        end_scan(with, &next, "the ranges end");
        return;
    }
    next.key++;
    if (has_hint(with, in, in->key)) {
        next.batch++;
        next.first = in->first ? in->first : next.key;
        if (in->key % RECORDS == 0)
            next.batch_hints |= (uint8_t)(1u << in->key / RECORDS);
        next.last = next.key;
        if (!(in->early >> in->key % RECORDS & 1))
            next.has[in->key % RECORDS] = 1;
    }
    if (next.batch == size)
        end_scan(with, &next, "finds the last hint of the batch");
    else
        step(with, &next, has_hint(with, in, in->key) ? "finds a hint" : "finds no hint");
}

static void
expand_reader(const search *with, const world *in)
{
    if (in->phase == SCANS)
        scan(with, in);
    for (int record = 0; record < RECORDS; record++)
        if (in->has[record] && (in->phase == READS || with->model->rows_first))
            read_row(with, in, record);
    if (in->phase == READS && !in->has[0] && !in->has[1])
        end_batch(with, in);
}

/* --- the promises ------------------------------------------------------------------------------------- */

static const char *
fault_of(const search *with, const world *in)
{
    bool one_page = !with->model->limit;
    if (in->wrong)
        return "a record is returned as it was not, or twice with the same values";
    if (in->returned[0] > 2 || (one_page && in->returned[0] > 1))
        return "a record is returned too often";
    if (in->phase != ENDED)
        return NULL;
    if (in->returned[1] != 1)
        return "a record that was not written is not returned once";
    if (in->version == 0 && in->returned[0] != 1)
        return "a record that was not written while the query ran is not returned once";
    if (!in->left && in->returned[0] == 0)
        return "a record that has moved is missed";
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
    if (in->phase == ENDED || explore_over(of))
        return;
    expand_reader(&with, in);
    begin_move(&with, in);
    expand_writers(&with, in);
    expand_cleaner(&with, in);
    if (in->ticks_left) {
        world next = *in;
        next.now++;
        next.ticks_left--;
        step(&with, &next, "the clock ticks");
    }
}

page_model
page_model_new(void)
{
    return (page_model){.moves = 2,
                        .writers = 1,
                        .cleans = 1,
                        .ticks = 2,
                        .batch = 2,
                        .may_lag = true,
                        .limits = {.keep_ms = 2, .lag_ms = 1}};
}

/* In the beginning, record 0 is at each of the places in turn. */
explored
page_model_explore(const page_model *model, uint64_t states_max)
{
    explored found = {.complete = true};
    for (uint8_t at = 0; at < PAGE_PLACES && !found.wrong && found.complete; at++) {
        g_autofree world *first = g_new0(world, 1);
        first->now = START;
        first->at = at;
        first->newest = model->first_recent ? START : 1;
        first->hints =
            (uint8_t)(1u << at | (model->first_stale ? 1u << (PAGE_PLACES - 1) : 0) | model->stale_before);
        first->seen = first->hints;
        first->moves_left = (uint8_t)model->moves;
        first->lost_left = (uint8_t)model->lost_hints;
        first->cleans_left = (uint8_t)model->cleans;
        first->ticks_left = (uint8_t)model->ticks;
        explored one = explore(first, sizeof *first, expand, (void *)model, states_max);
        found = (explored){found.states + one.states, one.wrong, one.complete};
    }
    return found;
}
