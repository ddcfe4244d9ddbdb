/* See judge.h. */
#include "histories/judge_private.h"

#include "histories/linear.h"

#include <inttypes.h>
#include <string.h>

#define VIEWS LINEAR_VIEWS_MOST
#define TEXT_FIELDS 3u

void
judge_complain(bench *at, const operation *of, const char *what)
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

static bool
is_read(const operation *of)
{
    return of->kind == OPERATION_GET || of->kind == OPERATION_VERSIONS ||
           (of->kind == OPERATION_ROW && of->view) || (of->kind == OPERATION_FIND && of->applied);
}

/* A query of a hint path that can show that the record did not match: it was not returned. */
static bool
can_miss(const bench *at, const operation *of, uint32_t record)
{
    if (of->outcome != OPERATION_OK)
        return false;
    if (of->kind == OPERATION_FIND)
        return of->record == record && !of->applied;
    bool is_long = at->keep_ms && of->end_ns - of->begin_ns > (uint64_t)at->keep_ms * 1000000;
    return of->kind == OPERATION_SCAN && of->view && !is_long &&
           !g_hash_table_contains(at->shown, judge_shown_key(of->scan, record));
}

/* A put that compares (judge_rules.rewrites). */
static bool
is_rewrite(const bench *at, const operation *of)
{
    return at->rewrites && of->kind == OPERATION_PUT && (of->fields & TEXT_FIELDS) != TEXT_FIELDS;
}

/* --- effects of operations ------------------------------------------------------------------------------ */

/* True if a read returned this value, or a write used it. */
static bool
is_seen(const operations *all, uint32_t record, unsigned field, int64_t value)
{
    for (guint i = 0; i < all->len; i++) {
        const operation *of = operation_at(all, i);
        bool read = is_read(of) && of->outcome == OPERATION_OK && of->fields >> field & 1;
        bool compared = (of->kind == OPERATION_PUT_IF && of->on == field) ||
                        (of->kind == OPERATION_INCREMENT && of->fields >> field & 1);
        if (of->record == record && ((read && of->values[field] == value) || compared))
            return true;
    }
    return false;
}

/* True if a query after the put did not return the record: the put can be the reason. */
static bool
is_missed(const bench *at, const operation *put)
{
    for (guint i = 0; i < at->all->len; i++) {
        const operation *of = operation_at(at->all, i);
        if (of->end_ns > put->begin_ns && can_miss(at, of, put->record))
            return true;
    }
    return false;
}

/* True for a put of unknown outcome whose value no read returned: it need not have happened. */
static bool
is_idle(const bench *at, const operation *of, uint8_t fields)
{
    const operations *all = at->all;
    if (of->kind != OPERATION_PUT || of->outcome != OPERATION_UNKNOWN)
        return false;
    if ((at->exempt && is_rewrite(at, of)) || is_missed(at, of))
        return false;
    for (unsigned field = 0; field < OPERATION_FIELDS; field++)
        if (of->fields & fields & 1u << field && is_seen(all, of->record, field, of->values[field]))
            return false;
    return true;
}

static effect
effect_of(const bench *at, const operation *of, uint8_t fields)
{
    effect made = {.kind = EFFECT_WRITE,
                   .fields = of->fields & fields,
                   .on = of->on,
                   .view = (uint8_t)(of->kind == OPERATION_GET ? of->view : 0),
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
    if (is_read(of))
        made.kind = EFFECT_READ;
    else if (is_rewrite(at, of))
        made.kind = EFFECT_REWRITE;
    else if (of->kind == OPERATION_INCREMENT)
        made.kind = EFFECT_ADD;
    else if (of->kind == OPERATION_PUT_IF && fields >> of->on & 1)
        made.kind = of->outcome == OPERATION_UNKNOWN ? EFFECT_IF : of->applied ? EFFECT_MET : EFFECT_NOT_MET;
    for (int i = 0; i < OPERATION_FIELDS; i++)
        made.shown[i] = made.kind != EFFECT_ADD ? made.values[i]
                        : made.known            ? of->results[i]
                                                : OPERATION_ANY;
    return made;
}

static bool
is_compared(const effect *of)
{
    return of->kind == EFFECT_MET || of->kind == EFFECT_IF || of->kind == EFFECT_ADD ||
           of->kind == EFFECT_REWRITE;
}

/* The fields that an operation compares and writes. */
static unsigned
compared_fields(const effect *of)
{
    if (of->kind == EFFECT_REWRITE)
        return TEXT_FIELDS;
    return of->kind == EFFECT_ADD ? of->fields : of->fields | 1u << of->on;
}

static void
mark_exempt(GArray *effects)
{
    for (guint i = 0; i < effects->len; i++) {
        effect *plain = &g_array_index(effects, effect, i);
        for (guint j = 0; plain->kind == EFFECT_WRITE && j < effects->len; j++) {
            const effect *each = &g_array_index(effects, effect, j);
            if (is_compared(each) && compared_fields(each) & plain->fields &&
                each->begin_ns < plain->end_ns && plain->begin_ns < each->end_ns)
                plain->exempt = true;
        }
    }
}

/* True if the operation affects or reads these fields. */
static bool
concerns(const bench *at, const operation *of, uint32_t record, uint8_t fields)
{
    if (of->record != record || of->outcome == OPERATION_FAILED)
        return false;
    if (at->exempt && is_rewrite(at, of)) /* of other fields, too: it can replace exempt writes */
        return fields & TEXT_FIELDS;
    if (is_read(of))
        return of->outcome == OPERATION_OK && of->fields & fields;
    if (of->kind == OPERATION_PUT_IF && !(fields >> of->on & 1))
        return of->fields & fields && (of->applied || of->outcome == OPERATION_UNKNOWN);
    return is_write(of) && (of->fields & fields || (of->kind == OPERATION_PUT_IF && fields >> of->on & 1));
}

/* Adds the effect of an operation; if `split`, a removal of a whole record is added field by field. */
static void
add_effects(const bench *at, GArray *to, const operation *of, uint8_t fields, bool split)
{
    if (!split || of->kind != OPERATION_REMOVE) {
        effect made = effect_of(at, of, fields);
        g_array_append_val(to, made);
        return;
    }
    for (uint8_t i = 0; i < OPERATION_FIELDS; i++) {
        effect made = effect_of(at, of, (uint8_t)(1u << i) & fields);
        if (made.fields)
            g_array_append_val(to, made);
    }
}

/* The record did not match at one moment of the query. */
static void
add_miss(GArray *to, const operation *query, uint8_t fields)
{
    effect made = {.kind = EFFECT_MISS,
                   .fields = operation_path_fields(query->view),
                   .bound = query->on,
                   .sides = (uint8_t)query->expected,
                   .exact = operation_is_of_texts(query->view),
                   .begin_ns = query->begin_ns,
                   .end_ns = query->end_ns,
                   .of = query};
    memcpy(made.values, query->results, sizeof made.values);
    if ((made.fields & ~fields) == 0)
        g_array_append_val(to, made);
}

/* --- cells that expire ---------------------------------------------------------------------------------- */

/* The store's clock and those of the region servers differ from this machine's by less. */
#define EXPIRY_SLACK_NS (UINT64_C(150) * 1000 * 1000)

/* True if another write has certainly replaced the put's value before it can expire. */
static bool
is_replaced_before(const operations *all, const operation *put, uint8_t field, uint64_t when_ns)
{
    for (guint i = 0; i < all->len && put->outcome == OPERATION_OK; i++) {
        const operation *of = operation_at(all, i);
        bool replaces = of->kind == OPERATION_PUT || of->kind == OPERATION_REMOVE;
        if (of->record == put->record && replaces && of->outcome == OPERATION_OK && of->fields & field &&
            of->begin_ns > put->end_ns && of->end_ns < when_ns)
            return true;
    }
    return false;
}

/* A put of one field also removes its value later, if that is still the field's value then. */
static void
add_expiry(const bench *at, GArray *to, const operation *put, uint8_t field)
{
    uint64_t ttl_ns = (uint64_t)at->expires_ms * 1000000;
    effect made = effect_of(at, put, field);
    made.begin_ns += ttl_ns - EXPIRY_SLACK_NS;
    if (!made.fields || is_replaced_before(at->all, put, field, made.begin_ns))
        return;
    made.kind = EFFECT_EXPIRES;
    made.end_ns += made.end_ns == OPERATION_NEVER ? 0 : ttl_ns + EXPIRY_SLACK_NS;
    g_array_append_val(to, made);
}

/* --- objects -------------------------------------------------------------------------------------------- */

#define ALL_VIEWS UINT32_MAX

/* Only what one view shows. If it is not the first one, atomic operations are writes there. */
static void
keep_view(GArray *effects, uint32_t view)
{
    for (guint i = effects->len; i > 0; i--) {
        effect *each = &g_array_index(effects, effect, i - 1);
        bool unmet = view > 0 && each->kind == EFFECT_NOT_MET;
        if (unmet || (each->kind == EFFECT_READ && each->view != view)) {
            g_array_remove_index(effects, i - 1);
            continue;
        }
        if (view > 0 && is_compared(each)) {
            each->kind = EFFECT_WRITE;
            memcpy(each->values, each->shown, sizeof each->values);
        }
        each->view = 0;
    }
}

static GArray *
effects_on(const bench *at, uint32_t record, uint8_t fields, bool split)
{
    GArray *effects = g_array_new(FALSE, FALSE, sizeof(effect));
    for (guint i = 0; i < at->all->len; i++) {
        const operation *of = operation_at(at->all, i);
        if (can_miss(at, of, record))
            add_miss(effects, of, fields);
        if (!concerns(at, of, record, fields) || is_idle(at, of, fields))
            continue;
        add_effects(at, effects, of, fields, split);
        if (at->expires_ms && of->kind == OPERATION_PUT)
            add_expiry(at, effects, of, fields);
    }
    return effects;
}

/* view: of the reads; or ALL_VIEWS. */
static void
judge_object(bench *at, uint32_t record, uint32_t view, uint8_t fields, bool split)
{
    g_autoptr(GArray) effects = effects_on(at, record, fields, split);
    const operation *where = NULL;
    if (view != ALL_VIEWS)
        keep_view(effects, view);
    for (guint i = 0; at->paths == JUDGE_PATHS_TOGETHER && i < effects->len; i++)
        g_array_index(effects, effect, i).view = 0;
    if (at->exempt)
        mark_exempt(effects);
    g_autofree char *one = g_strdup_printf("view %u", view);
    g_autofree char *name = g_strdup_printf("record %u, fields %u, %s: no order of the operations gives "
                                            "this answer",
                                            record, fields, view == ALL_VIEWS ? "all views" : one);
    unsigned views = view == ALL_VIEWS && at->paths != JUDGE_PATHS_TOGETHER ? VIEWS : 1;
    switch (linear_judge((const effect *)(void *)effects->data, effects->len, views, &where)) {
    case LINEAR_RIGHT:
        return;
    case LINEAR_WRONG:
        judge_complain(at, where, name);
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
        if (of->record == record && (is_write(of) || is_read(of)))
            fields |= of->fields;
    }
    return fields;
}

/* Counters that are also put. */
static bool
is_put_counter(const operations *all, uint32_t record, uint8_t fields)
{
    for (guint i = 0; i < all->len; i++) {
        const operation *of = operation_at(all, i);
        if (of->record == record && of->kind == OPERATION_PUT && of->fields & fields & ~TEXT_FIELDS)
            return true;
    }
    return false;
}

static void
judge_fields(bench *at, uint32_t record, uint8_t fields, bool split)
{
    bool two = has_view(at->all, record, 1);
    bool apart = at->paths == JUDGE_PATHS_APART ||
                 (at->paths == JUDGE_PATHS_TEXTS_IN_ORDER && is_put_counter(at->all, record, fields));
    if (two && !apart) {
        judge_object(at, record, ALL_VIEWS, fields, split);
        return;
    }
    for (uint32_t view = 0; view < (two ? VIEWS : 1); view++)
        judge_object(at, record, view, fields, split);
}

static void
judge_record(bench *at, uint32_t record, judge_whole whole)
{
    uint8_t fields = fields_of(at->all, record);
    for (uint8_t i = 0; i < OPERATION_FIELDS; i++)
        if (fields >> i & 1)
            judge_fields(at, record, (uint8_t)(1u << i), false);
    if (whole != JUDGE_FIELDS)
        judge_fields(at, record, fields, whole == JUDGE_RECORD);
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
            judge_complain(at, of, "a get returns a record without fields");
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
            judge_complain(at, of, "a number was generated twice");
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
        judge_complain(at, last, "the final value of a counter is not between its limits");
}

static bool
wrote(const operation *of, unsigned field, int64_t value)
{
    if (of->kind == OPERATION_REMOVE)
        return value == OPERATION_ABSENT;
    if (of->kind == OPERATION_INCREMENT)
        return of->outcome == OPERATION_UNKNOWN || of->results[field] == value;
    bool puts = of->kind == OPERATION_PUT ||
                (of->kind == OPERATION_PUT_IF && (of->applied || of->outcome == OPERATION_UNKNOWN));
    return puts && of->values[field] == value;
}

/* A write of this value that did not fail, other than `concurrent`; or NULL. */
static const operation *
writer_of(const operations *all, uint32_t record, unsigned field, int64_t value, const operation *concurrent)
{
    const operation *found = NULL;
    for (guint i = 0; i < all->len; i++) {
        const operation *of = operation_at(all, i);
        if (of->record != record || of->outcome == OPERATION_FAILED || !(of->fields >> field & 1) ||
            !wrote(of, field, value))
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
            judge_complain(at, other, "two paths return different values of a record in the end");
    }
    at->result.differing += differ;
}

judgement
judge(const operations *all, judge_rules rules)
{
    bench at = {.all = all,
                .paths = rules.paths,
                .expires_ms = rules.expires_ms,
                .exempt = rules.exempt,
                .rewrites = rules.rewrites,
                .keep_ms = rules.keep_ms,
                .shown = judge_shown_new(all),
                .wrong = g_string_new(NULL)};
    g_autoptr(GHashTable) records = records_of(all);
    GHashTableIter iter;
    gpointer record;
    g_hash_table_iter_init(&iter, records);
    while (g_hash_table_iter_next(&iter, &record, NULL)) {
        judge_record(&at, GPOINTER_TO_UINT(record), rules.whole);
        for (unsigned field = 2; field < OPERATION_FIELDS; field++)
            judge_counter(&at, GPOINTER_TO_UINT(record), field);
        judge_views(&at, GPOINTER_TO_UINT(record));
    }
    judge_scans(&at, records);
    judge_hint_scans(&at);
    if (rules.versions)
        judge_versions(&at, rules.versions);
    judge_numbers(&at);
    judge_gets(&at);
    at.result.wrong = g_string_free(at.wrong, at.wrong->len == 0);
    g_hash_table_unref(at.shown);
    return at.result;
}

void
judgement_clear(judgement *of)
{
    g_clear_pointer(&of->wrong, g_free);
}
