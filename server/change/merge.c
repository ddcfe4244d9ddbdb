#include "change/merge.h"

#include <glib.h>

static bool
same_counts(const kw_change_record *a, const kw_change_record *b)
{
    return a->rows_copied == b->rows_copied && a->rows_compared == b->rows_compared &&
           a->missing == b->missing && a->different == b->different && a->extra == b->extra &&
           a->repaired == b->repaired && a->undecodable == b->undecodable;
}

bool
kw_change_same_progress(const kw_change_record *a, const kw_change_record *b)
{
    return a->pass == b->pass && a->part == b->part && a->settled_ms == b->settled_ms &&
           a->swept_ms == b->swept_ms && a->short_round == b->short_round && a->copied == b->copied &&
           a->compared == b->compared && same_counts(a, b) && g_str_equal(a->example, b->example) &&
           kw_bytes_equal(a->copied_to, b->copied_to) && kw_bytes_equal(a->compare_cursor, b->compare_cursor);
}

static void
take_progress(const kw_change_record *from, kw_change_record *to)
{
    to->pass = from->pass;
    to->part = from->part;
    to->settled_ms = from->settled_ms;
    to->swept_ms = from->swept_ms;
    to->short_round = from->short_round;
    to->copied = from->copied;
    to->compared = from->compared;
    to->rows_copied = from->rows_copied;
    to->rows_compared = from->rows_compared;
    to->missing = from->missing;
    to->different = from->different;
    to->extra = from->extra;
    to->repaired = from->repaired;
    to->undecodable = from->undecodable;
    to->example = from->example;
    to->work_ppm = from->work_ppm;
    to->work_rows_per_second = from->work_rows_per_second;
    to->work_left_ms = from->work_left_ms;
    to->copied_to = from->copied_to;
    to->compare_cursor = from->compare_cursor;
}

/* True if nobody has changed the progress since the catalog had `base`. */
static bool
is_progress_of(const kw_change_record *base, const kw_change_record *theirs)
{
    return base && !kw_change_record_differs(base, theirs) && kw_change_same_progress(base, theirs);
}

kw_change_record
kw_change_merge(const kw_change_record *base, const kw_change_record *mine, const kw_change_record *theirs)
{
    kw_change_record merged = *theirs;
    if (!mine || !theirs->under_way || kw_change_record_differs(mine, theirs))
        return merged;
    if (theirs->writers == KW_CHANGE_ONE_WRITER || is_progress_of(base, theirs))
        take_progress(mine, &merged);
    return merged;
}
