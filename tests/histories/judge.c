/* See judge.h. */
#include "histories/judge.h"

#include "histories/linear.h"

#include <inttypes.h>
#include <string.h>

#define VIEWS 2
#define ALL_FIELDS ((uint8_t)((1u << OPERATION_FIELDS) - 1))

typedef struct bench {
    const operations *all;
    GString *wrong;
    judgement result;
} bench;

static void
complain(bench *at, const operation *of, const char *what)
{
    g_autofree char *text = of ? operation_text(of) : NULL;
    g_string_append_printf(at->wrong, "%s%s%s\n", what, text ? ": " : "", text ? text : "");
}

static bool
is_write(const operation *of)
{
    return of->kind == OPERATION_PUT || of->kind == OPERATION_REMOVE || of->kind == OPERATION_PUT_IF ||
           of->kind == OPERATION_INCREMENT;
}

/* --- effects of operations ------------------------------------------------------------------------------ */

/* True if a read returned this value, or a write used it. */
static bool
is_seen(const operations *all, uint32_t record, unsigned field, int64_t value)
{
    for (guint i = 0; i < all->len; i++) {
        const operation *of = operation_at(all, i);
        bool read = of->kind == OPERATION_GET && of->outcome == OPERATION_OK && of->fields >> field & 1;
        bool compared = (of->kind == OPERATION_PUT_IF && of->on == field) ||
                        (of->kind == OPERATION_INCREMENT && of->fields >> field & 1);
        if (of->record == record && ((read && of->values[field] == value) || compared))
            return true;
    }
    return false;
}

/* True for a put of unknown outcome whose value no read returned: it need not have happened. */
static bool
is_idle(const operations *all, const operation *of, uint8_t fields)
{
    if (of->kind != OPERATION_PUT || of->outcome != OPERATION_UNKNOWN)
        return false;
    for (unsigned field = 0; field < OPERATION_FIELDS; field++)
        if (of->fields & fields & 1u << field && is_seen(all, of->record, field, of->values[field]))
            return false;
    return true;
}

static effect
effect_of(const operation *of, uint8_t fields)
{
    effect made = {.kind = EFFECT_WRITE,
                   .fields = of->fields & fields,
                   .on = of->on,
                   .known = of->outcome == OPERATION_OK,
                   .expected = of->expected,
                   .begin_ns = of->begin_ns,
                   .end_ns = of->outcome == OPERATION_UNKNOWN ? OPERATION_NEVER : of->end_ns,
                   .of = of};
    memcpy(made.values, of->values, sizeof made.values);
    memcpy(made.results, of->results, sizeof made.results);
    for (int i = 0; i < OPERATION_FIELDS; i++)
        if (of->kind == OPERATION_REMOVE || !(made.fields >> i & 1))
            made.values[i] = OPERATION_ABSENT;
    if (of->kind == OPERATION_GET)
        made.kind = EFFECT_READ;
    else if (of->kind == OPERATION_INCREMENT)
        made.kind = EFFECT_ADD;
    else if (of->kind == OPERATION_PUT_IF && fields >> of->on & 1)
        made.kind = of->outcome == OPERATION_UNKNOWN ? EFFECT_IF : of->applied ? EFFECT_MET : EFFECT_NOT_MET;
    return made;
}

/* True if the operation affects these fields in this view. */
static bool
concerns(const operation *of, uint32_t record, uint32_t view, uint8_t fields)
{
    if (of->record != record || of->outcome == OPERATION_FAILED)
        return false;
    if (of->kind == OPERATION_GET)
        return of->view == view && of->outcome == OPERATION_OK && of->fields & fields;
    if (of->kind == OPERATION_PUT_IF && !(fields >> of->on & 1))
        return of->fields & fields && (of->applied || of->outcome == OPERATION_UNKNOWN);
    return is_write(of) && (of->fields & fields || (of->kind == OPERATION_PUT_IF && fields >> of->on & 1));
}

/* Adds the effect of an operation; if `split`, a removal of a whole record is added field by field. */
static void
add_effects(GArray *to, const operation *of, uint8_t fields, bool split)
{
    if (!split || of->kind != OPERATION_REMOVE) {
        effect made = effect_of(of, fields);
        g_array_append_val(to, made);
        return;
    }
    for (uint8_t i = 0; i < OPERATION_FIELDS; i++) {
        effect made = effect_of(of, (uint8_t)(1u << i) & fields);
        if (made.fields)
            g_array_append_val(to, made);
    }
}

static void
judge_object(bench *at, uint32_t record, uint32_t view, uint8_t fields, bool split)
{
    g_autoptr(GArray) effects = g_array_new(FALSE, FALSE, sizeof(effect));
    const operation *where = NULL;
    for (guint i = 0; i < at->all->len; i++) {
        const operation *of = operation_at(at->all, i);
        if (concerns(of, record, view, fields) && !is_idle(at->all, of, fields))
            add_effects(effects, of, fields, split);
    }
    g_autofree char *name = g_strdup_printf("record %u, fields %u, view %u: no order of the operations gives "
                                            "this answer",
                                            record, fields, view);
    switch (linear_judge((const effect *)(void *)effects->data, effects->len, &where)) {
    case LINEAR_RIGHT:
        return;
    case LINEAR_WRONG:
        complain(at, where, name);
        return;
    case LINEAR_TOO_MANY:
        at->result.undecided++;
        return;
    }
}

/* --- records ---------------------------------------------------------------------------------- */

static bool
has_view(const operations *all, uint32_t record, uint32_t view)
{
    for (guint i = 0; i < all->len; i++) {
        const operation *of = operation_at(all, i);
        if (of->record == record && of->view == view && of->kind == OPERATION_GET)
            return true;
    }
    return false;
}

static uint8_t
fields_of(const operations *all, uint32_t record)
{
    uint8_t fields = 0;
    for (guint i = 0; i < all->len; i++) {
        const operation *of = operation_at(all, i);
        if (of->record == record && (is_write(of) || of->kind == OPERATION_GET))
            fields |= of->fields;
    }
    return fields;
}

static void
judge_record(bench *at, uint32_t record, judge_whole whole)
{
    uint8_t fields = fields_of(at->all, record);
    for (uint32_t view = 0; view < VIEWS; view++) {
        if (view && !has_view(at->all, record, view))
            continue;
        for (uint8_t i = 0; i < OPERATION_FIELDS; i++)
            if (fields >> i & 1)
                judge_object(at, record, view, (uint8_t)(1u << i), false);
        if (whole != JUDGE_FIELDS)
            judge_object(at, record, view, fields, whole == JUDGE_RECORD);
    }
}

static GHashTable *
records_of(const operations *all)
{
    GHashTable *records = g_hash_table_new(NULL, NULL);
    for (guint i = 0; i < all->len; i++) {
        const operation *of = operation_at(all, i);
        if (of->kind != OPERATION_SCAN && of->kind != OPERATION_NUMBER)
            g_hash_table_add(records, GUINT_TO_POINTER(of->record));
    }
    return records;
}

/* Finds gets that return a record without any field. */
static void
judge_gets(bench *at)
{
    for (guint i = 0; i < at->all->len; i++) {
        const operation *of = operation_at(at->all, i);
        bool shows = false;
        for (int field = 0; field < OPERATION_FIELDS; field++)
            shows = shows || of->values[field] != OPERATION_ABSENT;
        if (of->kind == OPERATION_GET && of->outcome == OPERATION_OK && of->applied && !shows)
            complain(at, of, "a get returns a record without fields");
    }
}

/* --- scans ------------------------------------------------------------------------------------ */

/* True if the record certainly existed during the whole scan. */
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
    return there != NULL;
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
            complain(at, row, "a scan returns a value that was not stored during the scan");
    if (row->values[0] == OPERATION_ABSENT && row->values[1] == OPERATION_ABSENT &&
        row->values[2] == OPERATION_ABSENT && row->values[3] == OPERATION_ABSENT)
        complain(at, row, "a scan returns a record without fields");
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
            complain(at, row, "a scan returns a record twice");
        else if (begun && row->record < last)
            complain(at, row, "a scan returns records out of order");
        last = row->record;
        begun = true;
        judge_row(at, row, scan);
    }
    g_hash_table_iter_init(&iter, records);
    while (g_hash_table_iter_next(&iter, &record, NULL))
        if (!g_hash_table_contains(shown, record) && must_show(at->all, GPOINTER_TO_UINT(record), scan)) {
            g_autofree char *what =
                g_strdup_printf("a scan does not return record %u", GPOINTER_TO_UINT(record));
            complain(at, scan, what);
        }
}

/* --- numbers, counters, views ----------------------------------------------------------------- */

static void
judge_numbers(bench *at)
{
    g_autoptr(GHashTable) seen = g_hash_table_new(g_int64_hash, g_int64_equal);
    for (guint i = 0; i < at->all->len; i++) {
        operation *of = operation_at(at->all, i);
        if (of->kind == OPERATION_NUMBER && of->outcome == OPERATION_OK &&
            !g_hash_table_add(seen, &of->values[0]))
            complain(at, of, "a number was generated twice");
    }
}

static const operation *
last_of(const operations *all, uint32_t record, uint32_t view)
{
    const operation *last = NULL;
    for (guint i = 0; i < all->len; i++) {
        const operation *of = operation_at(all, i);
        if (of->last && of->kind == OPERATION_GET && of->outcome == OPERATION_OK && of->record == record &&
            of->view == view)
            last = of;
    }
    return last;
}

static void
judge_counter(bench *at, uint32_t record, unsigned field)
{
    const operation *last = last_of(at->all, record, 0);
    int64_t least = 0, most = 0;
    for (guint i = 0; i < at->all->len; i++) {
        const operation *of = operation_at(at->all, i);
        if (of->record != record || !is_write(of) || !(of->fields >> field & 1) ||
            of->outcome == OPERATION_FAILED)
            continue;
        if (of->kind != OPERATION_INCREMENT)
            return;
        most += of->values[field];
        least += of->outcome == OPERATION_OK ? of->values[field] : 0;
    }
    if (!last || !(last->fields >> field & 1))
        return;
    int64_t value = last->values[field] == OPERATION_ABSENT ? 0 : last->values[field];
    if (value < least || value > most)
        complain(at, last, "the final value of a counter is not between its limits");
}

/* A write of this value that did not fail, other than `concurrent`; or NULL. */
static const operation *
writer_of(const operations *all, uint32_t record, unsigned field, int64_t value, const operation *concurrent)
{
    const operation *found = NULL;
    for (guint i = 0; i < all->len; i++) {
        const operation *of = operation_at(all, i);
        bool removes = of->kind == OPERATION_REMOVE && value == OPERATION_ABSENT;
        bool puts = of->kind == OPERATION_PUT && of->values[field] == value;
        if (of->record != record || of->outcome == OPERATION_FAILED || !(of->fields >> field & 1) ||
            !(removes || puts))
            continue;
        bool overlaps =
            concurrent && of->begin_ns <= concurrent->end_ns && concurrent->begin_ns <= of->end_ns;
        if (!found || overlaps || of->outcome == OPERATION_UNKNOWN)
            found = of;
        if (overlaps || of->outcome == OPERATION_UNKNOWN)
            return found;
    }
    return found;
}

static bool
may_differ(const operations *all, uint32_t record, unsigned field, int64_t a, int64_t b)
{
    const operation *one = writer_of(all, record, field, a, NULL);
    const operation *other = writer_of(all, record, field, b, one);
    one = writer_of(all, record, field, a, other);
    bool unknown =
        (one && one->outcome == OPERATION_UNKNOWN) || (other && other->outcome == OPERATION_UNKNOWN);
    return unknown || (one && other && one->begin_ns <= other->end_ns && other->begin_ns <= one->end_ns);
}

static void
judge_views(bench *at, uint32_t record)
{
    const operation *one = last_of(at->all, record, 0), *other = last_of(at->all, record, 1);
    bool differ = false;
    for (unsigned field = 0; one && other && field < OPERATION_FIELDS; field++) {
        if (!(one->fields & other->fields & 1u << field) || one->values[field] == other->values[field])
            continue;
        differ = true;
        if (!may_differ(at->all, record, field, one->values[field], other->values[field]))
            complain(at, other, "two paths return different values of a record in the end");
    }
    at->result.differing += differ;
}

judgement
judge(const operations *all, judge_whole whole)
{
    bench at = {.all = all, .wrong = g_string_new(NULL)};
    g_autoptr(GHashTable) records = records_of(all);
    GHashTableIter iter;
    gpointer record;
    g_hash_table_iter_init(&iter, records);
    while (g_hash_table_iter_next(&iter, &record, NULL)) {
        judge_record(&at, GPOINTER_TO_UINT(record), whole);
        for (unsigned field = 2; field < OPERATION_FIELDS; field++)
            judge_counter(&at, GPOINTER_TO_UINT(record), field);
        judge_views(&at, GPOINTER_TO_UINT(record));
    }
    for (guint i = 0; i < all->len; i++)
        if (operation_at(all, i)->kind == OPERATION_SCAN && operation_at(all, i)->outcome == OPERATION_OK)
            judge_scan(&at, operation_at(all, i), records);
    judge_numbers(&at);
    judge_gets(&at);
    at.result.wrong = g_string_free(at.wrong, at.wrong->len == 0);
    return at.result;
}

void
judgement_clear(judgement *of)
{
    g_clear_pointer(&of->wrong, g_free);
}
