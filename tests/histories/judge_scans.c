/* Judges scans: they are complete and in order, and return no record twice and no value from before or after
 * the scan. */
#include "histories/judge_private.h"

/* --- filters ---------------------------------------------------------------------------------- */

static bool
is_either(int64_t value)
{
    return value >= JUDGE_EITHER;
}

static bool
surely_matches(int64_t value)
{
    return judge_matches(value) && !is_either(value);
}

static bool
can_match(int64_t value)
{
    return judge_matches(value) || is_either(value);
}

/* True if another put has certainly replaced the value of this one before the scan. */
static bool
is_replaced(const operations *all, const operation *put, const operation *scan)
{
    for (guint i = 0; i < all->len && put->outcome == OPERATION_OK; i++) {
        const operation *of = operation_at(all, i);
        if (of->record == put->record && of->kind == OPERATION_PUT && of->outcome == OPERATION_OK &&
            of->fields & 1 && of->begin_ns > put->end_ns && of->end_ns < scan->begin_ns)
            return true;
    }
    return false;
}

/* True if the first text matched during the whole scan, if it existed. */
static bool
all_match(const operations *all, uint32_t record, const operation *scan)
{
    for (guint i = 0; i < all->len; i++) {
        const operation *of = operation_at(all, i);
        if (of->record == record && of->kind == OPERATION_PUT && of->outcome != OPERATION_FAILED &&
            of->fields & 1 && of->begin_ns < scan->end_ns && !surely_matches(of->values[0]) &&
            !is_replaced(all, of, scan))
            return false;
    }
    return true;
}

/* --- rows ------------------------------------------------------------------------------------- */

/* True if the scan must return the record: it existed during the whole scan. */
static bool
must_show(const operations *all, uint32_t record, const operation *scan)
{
    const operation *there = NULL;
    for (guint i = 0; i < all->len; i++) {
        const operation *of = operation_at(all, i);
        bool puts = of->kind == OPERATION_PUT && of->outcome == OPERATION_OK && of->fields & 1;
        if (of->record == record && puts && of->end_ns < scan->begin_ns &&
            (!there || of->begin_ns > there->begin_ns))
            there = of;
    }
    for (guint i = 0; there && i < all->len; i++) {
        const operation *of = operation_at(all, i);
        bool ended = of->outcome == OPERATION_OK && of->end_ns < there->begin_ns;
        if (of->record == record && of->kind == OPERATION_REMOVE && of->outcome != OPERATION_FAILED &&
            !ended && of->begin_ns < scan->end_ns)
            return false;
    }
    return there != NULL && (!scan->applied || all_match(all, record, scan));
}

/* True if the field can have had this value at some moment of the scan. */
static bool
could_show(const operations *all, const operation *row, unsigned field, const operation *scan)
{
    const operation *by = NULL;
    for (guint i = 0; i < all->len && !by; i++) {
        const operation *of = operation_at(all, i);
        bool writes = of->kind == OPERATION_PUT || (of->kind == OPERATION_PUT_IF && of->applied) ||
                      (of->kind == OPERATION_PUT_IF && of->outcome == OPERATION_UNKNOWN);
        if (of->record == row->record && writes && of->outcome != OPERATION_FAILED &&
            of->fields >> field & 1 && of->values[field] == row->values[field])
            by = of;
    }
    if (!by || by->begin_ns > scan->end_ns)
        return false;
    for (guint i = 0; i < all->len && by->outcome == OPERATION_OK; i++) {
        const operation *of = operation_at(all, i);
        bool writes = of->kind == OPERATION_PUT || of->kind == OPERATION_REMOVE;
        if (of->record == row->record && writes && of->outcome == OPERATION_OK && of->fields >> field & 1 &&
            of->begin_ns > by->end_ns && of->end_ns < scan->begin_ns)
            return false;
    }
    return true;
}

static void
judge_row(bench *at, const operation *row, const operation *scan)
{
    for (unsigned field = 0; field < 2; field++)
        if (row->fields >> field & 1 && row->values[field] != OPERATION_ABSENT &&
            !could_show(at->all, row, field, scan))
            judge_complain(at, row, "a scan returns a value that was not stored during the scan");
    if (row->values[0] == OPERATION_ABSENT && row->values[1] == OPERATION_ABSENT &&
        row->values[2] == OPERATION_ABSENT && row->values[3] == OPERATION_ABSENT)
        judge_complain(at, row, "a scan returns a record without fields");
    if (scan->applied && !can_match(row->values[0]))
        judge_complain(at, row, "a scan returns a record that does not match its filter");
}

static void
judge_scan(bench *at, const operation *scan, GHashTable *records)
{
    g_autoptr(GHashTable) shown = g_hash_table_new(NULL, NULL);
    GHashTableIter iter;
    gpointer record;
    bool begun = false;
    uint32_t last = 0;
    for (guint i = 0; i < at->all->len; i++) {
        const operation *row = operation_at(at->all, i);
        if (row->kind != OPERATION_ROW || row->scan != scan->scan)
            continue;
        if (!g_hash_table_add(shown, GUINT_TO_POINTER(row->record)))
            judge_complain(at, row, "a scan returns a record twice");
        else if (begun && row->record < last)
            judge_complain(at, row, "a scan returns records out of order");
        last = row->record;
        begun = true;
        judge_row(at, row, scan);
    }
    g_hash_table_iter_init(&iter, records);
    while (g_hash_table_iter_next(&iter, &record, NULL))
        if (!g_hash_table_contains(shown, record) && must_show(at->all, GPOINTER_TO_UINT(record), scan)) {
            g_autofree char *what =
                g_strdup_printf("a scan does not return record %u", GPOINTER_TO_UINT(record));
            judge_complain(at, scan, what);
        }
}

void
judge_scans(bench *at, GHashTable *records)
{
    for (guint i = 0; i < at->all->len; i++) {
        const operation *of = operation_at(at->all, i);
        if (of->kind == OPERATION_SCAN && of->outcome == OPERATION_OK && !of->view)
            judge_scan(at, of, records);
    }
}
