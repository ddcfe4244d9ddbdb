#include "model_row.h"

#include <glib.h>
#include <string.h>

static uint8_t
marker_of(const row *in, unsigned field)
{
    return field == A ? MAX(in->row_marker, in->a_marker) : in->row_marker;
}

static rank
newer(rank mine, rank other)
{
    return STAMP_OF(other) > STAMP_OF(mine) ? other : mine;
}

static rank
gone_of(const row *in, unsigned field)
{
    return field == A ? newer(in->row_gone, in->a_gone) : in->row_gone;
}

static void
set_writer(row *in, rank write, uint8_t at)
{
    if (at < in->writer_at || at <= in->row_marker)
        return;
    in->writer = write;
    in->writer_at = at;
}

void
row_put(row *to, uint8_t fields, rank write, row_rules rules)
{
    uint8_t stamp = STAMP_OF(write);
    for (unsigned i = 0; i < CELLS; i++)
        if (fields >> i & 1 && stamp > marker_of(to, i) && stamp >= STAMP_OF(to->cells[i]))
            to->cells[i] = write;
    if (rules.control && !rules.no_writer)
        set_writer(to, write, stamp);
}

/* Drops what the markers hide. */
static void
hide(row *in)
{
    for (unsigned i = 0; i < CELLS; i++)
        if (STAMP_OF(in->cells[i]) <= marker_of(in, i))
            in->cells[i] = 0;
    if (STAMP_OF(in->row_gone) + 1 <= in->row_marker)
        in->row_gone = 0;
    if (STAMP_OF(in->a_gone) + 1 <= in->row_marker)
        in->a_gone = 0;
    if (in->writer_at <= in->row_marker)
        in->writer = in->writer_at = 0;
    if (in->touched <= in->row_marker)
        in->touched = 0;
}

void
row_remove(row *from, bool whole, rank write, row_rules rules)
{
    uint8_t *marker = whole ? &from->row_marker : &from->a_marker;
    rank *gone = whole ? &from->row_gone : &from->a_gone;
    uint8_t stamp = STAMP_OF(write), control_at = (uint8_t)(stamp + !rules.gone_too_low);
    *marker = MAX(*marker, stamp);
    hide(from);
    if (!rules.control)
        return;
    if (!rules.no_gone && control_at > from->row_marker && stamp >= STAMP_OF(*gone))
        *gone = write;
    if (!rules.no_writer)
        set_writer(from, write, control_at);
}

void
row_apply(row *to, const row *cells, row_rules rules)
{
    const row_rules bare = {.control = false};
    if (cells->row_gone)
        row_remove(to, true, cells->row_gone, rules);
    if (cells->a_gone)
        row_remove(to, false, cells->a_gone, rules);
    for (unsigned i = 0; i < CELLS; i++)
        if (cells->cells[i])
            row_put(to, BIT(i), cells->cells[i], bare);
    if (cells->writer)
        set_writer(to, cells->writer, cells->writer_at);
}

void
row_purge(row *of, bool control)
{
    of->row_marker = of->a_marker = 0;
    if (control)
        of->row_gone = of->a_gone = of->writer = of->writer_at = 0;
}

row
row_older(const row *of, uint8_t stamp)
{
    row older = *of;
    if (STAMP_OF(older.row_gone) >= stamp)
        older.row_gone = 0;
    if (STAMP_OF(older.a_gone) >= stamp)
        older.a_gone = 0;
    return older;
}

void
row_sweep(row *of, const row *read, bool with_marker)
{
    if (with_marker) {
        of->row_marker = MAX(of->row_marker, STAMP_OF(read->row_gone));
        of->a_marker = MAX(of->a_marker, STAMP_OF(read->a_gone));
        hide(of);
    }
    if (of->row_gone == read->row_gone)
        of->row_gone = 0;
    if (of->a_gone == read->a_gone)
        of->a_gone = 0;
}

/* --- reads ------------------------------------------------------------------------------------ */

row
row_read(const row *from)
{
    row read = *from;
    read.row_marker = read.a_marker = 0;
    return read;
}

row
row_read_since(const row *from, uint8_t since)
{
    row read = row_read(from);
    for (unsigned i = 0; i < CELLS; i++)
        if (STAMP_OF(read.cells[i]) < since)
            read.cells[i] = 0;
    if (STAMP_OF(read.row_gone) + 1 < since)
        read.row_gone = 0;
    if (STAMP_OF(read.a_gone) + 1 < since)
        read.a_gone = 0;
    if (read.writer_at < since)
        read.writer = read.writer_at = 0;
    if (read.touched < since)
        read.touched = 0;
    return read;
}

row
row_read_below(const row *from, uint8_t until)
{
    row read = row_read(from);
    for (unsigned i = 0; i < CELLS; i++)
        if (STAMP_OF(read.cells[i]) >= until)
            read.cells[i] = 0;
    if (STAMP_OF(read.row_gone) + 1 >= until)
        read.row_gone = 0;
    if (STAMP_OF(read.a_gone) + 1 >= until)
        read.a_gone = 0;
    if (read.writer_at >= until)
        read.writer = read.writer_at = 0;
    if (read.touched >= until)
        read.touched = 0;
    return read;
}

bool
row_is_empty(const row *of)
{
    return !(of->cells[A] || of->cells[B] || of->row_gone || of->a_gone || of->touched);
}

void
row_touch(row *of, uint8_t at)
{
    if (at > of->row_marker)
        of->touched = MAX(of->touched, at);
}

row
row_merge(const row *authority, const row *other)
{
    row merged = row_read(authority);
    for (unsigned i = 0; i < CELLS; i++)
        merged.cells[i] = newer(authority->cells[i], other->cells[i]);
    merged.row_gone = newer(authority->row_gone, other->row_gone);
    merged.a_gone = newer(authority->a_gone, other->a_gone);
    if (other->writer_at > authority->writer_at) {
        merged.writer = other->writer;
        merged.writer_at = other->writer_at;
    }
    return merged;
}

bool
row_has(const row *of, unsigned field)
{
    return of->cells[field] && STAMP_OF(of->cells[field]) > STAMP_OF(gone_of(of, field));
}

rank
row_rank(const row *of, unsigned field)
{
    return row_has(of, field) ? of->cells[field] : gone_of(of, field);
}

static bool
is_missing(rank merged, rank mine, bool ties)
{
    return STAMP_OF(merged) > STAMP_OF(mine) ||
           (ties && STAMP_OF(merged) == STAMP_OF(mine) && merged != mine);
}

bool
row_missing(const row *merged, const row *to, bool ties, row *ret_missing)
{
    row missing = {.row_marker = 0};
    for (unsigned i = 0; i < CELLS; i++)
        if (row_has(merged, i) && is_missing(merged->cells[i], to->cells[i], ties))
            missing.cells[i] = merged->cells[i];
    if (is_missing(merged->row_gone, to->row_gone, ties))
        missing.row_gone = merged->row_gone;
    if (is_missing(merged->a_gone, gone_of(to, A), ties) &&
        STAMP_OF(merged->a_gone) > STAMP_OF(merged->row_gone))
        missing.a_gone = merged->a_gone;
    *ret_missing = missing;
    return missing.cells[A] || missing.cells[B] || missing.row_gone || missing.a_gone;
}

uint8_t
row_newest(const row *of)
{
    uint8_t newest = 0;
    for (unsigned i = 0; i < CELLS; i++)
        newest = MAX(newest, STAMP_OF(of->cells[i]));
    if (of->row_gone)
        newest = (uint8_t)MAX(newest, STAMP_OF(of->row_gone) + 1);
    if (of->a_gone)
        newest = (uint8_t)MAX(newest, STAMP_OF(of->a_gone) + 1);
    return newest;
}
