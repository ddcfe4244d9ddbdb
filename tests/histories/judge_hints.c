/* Judges what scans of hint paths return, beside what judge.c checks: there, each row is a read of its
 * record, and a record that was not returned did not match at one moment of the scan. */
#include "histories/judge_private.h"

GHashTable *
judge_shown_new(const operations *all)
{
    GHashTable *shown = g_hash_table_new(NULL, NULL);
    for (guint i = 0; i < all->len; i++) {
        const operation *of = operation_at(all, i);
        if (of->kind == OPERATION_ROW && of->view)
            g_hash_table_add(shown, judge_shown_key(of->scan, of->record));
    }
    return shown;
}

/* True if a query can return this row: the texts have the sides that it binds. */
static bool
is_asked_for(const operation *query, const operation *row)
{
    for (unsigned field = 0; field < 2; field++) {
        bool asks = operation_path_fields(query->view) >> field & 1, is_bound = query->on >> field & 1;
        int64_t value = row->values[field];
        bool is_there = operation_is_of_texts(query->view)
                            ? value == query->results[field]
                            : operation_side(value) == (query->expected >> field & 1);
        if (asks && (value == OPERATION_ABSENT || (is_bound && !is_there)))
            return false;
    }
    return true;
}

/* --- records that are returned twice ------------------------------------------------------------------ */

static const operation *
put_of(const operations *all, const operation *row, unsigned field)
{
    for (guint i = 0; i < all->len; i++) {
        const operation *of = operation_at(all, i);
        bool puts = of->kind == OPERATION_PUT || of->kind == OPERATION_PUT_IF;
        if (puts && of->record == row->record && of->fields >> field & 1 &&
            of->values[field] == row->values[field])
            return of;
    }
    return NULL;
}

/* True if no field of the second row can be newer than that of the first one. */
static bool
is_not_newer(const operations *all, const operation *first, const operation *second)
{
    for (unsigned field = 0; field < 2; field++) {
        if (first->values[field] == second->values[field])
            continue;
        const operation *one = put_of(all, first, field), *other = put_of(all, second, field);
        if (!one || !other || other->outcome == OPERATION_UNKNOWN || other->end_ns >= one->begin_ns)
            return false;
    }
    return true;
}

static void
judge_again(bench *at, const operation *first, const operation *again, unsigned times)
{
    if (first->results[0] == again->results[0])
        judge_complain(at, again, "a scan of a hint path returns a record twice on one page");
    else if (times > 2)
        judge_complain(at, again, "a scan of a hint path returns a record more than twice");
    else if (is_not_newer(at->all, first, again))
        judge_complain(at, again, "a scan of a hint path returns a record twice, not with newer values");
}

/* --- order -------------------------------------------------------------------------------------------- */

/* True if all puts of the record give it the same sides: it does not move. */
static bool
is_steady(const operations *all, const operation *row)
{
    for (guint i = 0; i < all->len; i++) {
        const operation *of = operation_at(all, i);
        bool puts = of->kind == OPERATION_PUT || of->kind == OPERATION_PUT_IF;
        for (unsigned field = 0; puts && of->record == row->record && field < 2; field++)
            if (of->fields >> field & 1 &&
                operation_side(of->values[field]) != operation_side(row->values[field]))
                return false;
    }
    return true;
}

/* The place of a row in the order of the path. */
static uint64_t
place_of(const operation *row)
{
    uint64_t sides = operation_side(row->values[0]);
    if (row->view == 2)
        sides = sides << 1 | operation_side(row->values[1]);
    return sides << 32 | row->record;
}

/* --- scans -------------------------------------------------------------------------------------------- */

static void
judge_hint_scan(bench *at, const operation *scan)
{
    g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL), times = g_hash_table_new(NULL, NULL);
    uint64_t last = 0;
    for (guint i = 0; i < at->all->len; i++) {
        const operation *row = operation_at(at->all, i);
        if (row->kind != OPERATION_ROW || row->scan != scan->scan)
            continue;
        gpointer record = GUINT_TO_POINTER(row->record);
        const operation *first = g_hash_table_lookup(seen, record);
        unsigned time = GPOINTER_TO_UINT(g_hash_table_lookup(times, record)) + 1;
        if (!is_asked_for(scan, row))
            judge_complain(at, row, "a scan of a hint path returns a record that does not match");
        if (first)
            judge_again(at, first, row, time);
        if (is_steady(at->all, row) && place_of(row) < last)
            judge_complain(at, row, "a scan of a hint path returns records out of order");
        last = is_steady(at->all, row) ? place_of(row) : last;
        g_hash_table_insert(seen, record, (gpointer)row);
        g_hash_table_insert(times, record, GUINT_TO_POINTER(time));
    }
}

void
judge_hint_scans(bench *at)
{
    for (guint i = 0; i < at->all->len; i++) {
        const operation *of = operation_at(at->all, i);
        if (of->kind == OPERATION_SCAN && of->outcome == OPERATION_OK && of->view)
            judge_hint_scan(at, of);
        if (of->kind == OPERATION_FIND && of->outcome == OPERATION_OK && of->applied && !is_asked_for(of, of))
            judge_complain(at, of, "a read by a hint path returns a record that does not match");
    }
}
