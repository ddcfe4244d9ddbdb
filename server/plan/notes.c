/* Sentences for explain. The estimates are rules of thumb, because the planner has no statistics about the
 * data. */
#include "plan/notes.h"

#include <stdarg.h>

/* Estimate: one of this many rows meets a condition that the ranges do not express. */
#define ROWS_PER_EQUALITY 10
#define ROWS_PER_RANGE 3
/* If an end of a range can lie inside a unit of the key (such as a second), a few more rows are read. */
#define ROWS_PER_LOOSE_END 1.05

static void __attribute__((format(printf, 2, 3))) note(kw_notes *notes, const char *format, ...)
{
    char text[KW_ERROR_TEXT_MAX];
    va_list arguments;
    va_start(arguments, format);
    g_vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (notes->count == notes->capacity) {
        size_t capacity = notes->capacity ? notes->capacity * 2 : 8;
        const char **texts = KW_ARENA_ARRAY(notes->arena, const char *, capacity);
        if (notes->count > 0)
            memcpy(texts, notes->texts, notes->count * sizeof *texts);
        notes->texts = texts;
        notes->capacity = capacity;
    }
    notes->texts[notes->count++] = kw_arena_text(notes->arena, kw_bytes_of_text(text));
}

/* True if the prefix contains the field, but only in a coarser unit. */
static bool
is_coarse_in_prefix(const kw_path_analysis *analysis, size_t field)
{
    size_t end = analysis->stop == KW_STOP_RUNS ? analysis->used + 1 : analysis->used;
    for (size_t index = 0; index < end; index++) {
        const kw_component *component = kw_layout_component(analysis->layout, index);
        if (component->field == (int)field)
            return component->unit > 1;
    }
    return false;
}

static double
rows_of_bound(const kw_normalized_query *normalized, size_t field)
{
    const kw_model_field *model = normalized->table->fields[field].model;
    double choices = model && model->values_count ? (double)model->values_count : ROWS_PER_EQUALITY;
    return MAX(1.0, choices / (double)normalized->bounds[field].count);
}

static bool
note_bounds(kw_notes *notes, const kw_path_analysis *analysis, const kw_normalized_query *normalized,
            double *reads_per_row)
{
    bool residual = false;
    for (size_t field = 0; field < normalized->table->fields_count; field++) {
        if (normalized->bounds[field].count == 0 || analysis->covered[field])
            continue;
        residual = true;
        const char *name = normalized->table->fields[field].name;
        if (is_coarse_in_prefix(analysis, field)) {
            note(notes, "%s is checked for each row: the key stores it only in a coarser unit", name);
            *reads_per_row *= ROWS_PER_LOOSE_END;
        } else {
            note(notes, "%s is checked for each row: it is not in the part of the key that the ranges cover",
                 name);
            *reads_per_row *= rows_of_bound(normalized, field);
        }
    }
    return residual;
}

/* True if the path stops at an int field whose bits contain the time of the clock field. */
static bool
is_named_by_another(const kw_path_analysis *analysis)
{
    const kw_component *stop = kw_layout_component(analysis->layout, analysis->used);
    return stop->clock != stop->field;
}

static bool
note_span(kw_notes *notes, const kw_path_analysis *analysis, const kw_normalized_query *normalized,
          bool loose, double *reads_per_row)
{
    bool runs = analysis->stop == KW_STOP_RUNS;
    if (runs && loose && !analysis->span_on_clock) {
        note(notes, "the time is checked for each row: a key can belong to more than one time");
        *reads_per_row *= ROWS_PER_LOOSE_END;
    }
    if (normalized->span.field < 0 || analysis->span_fans_out)
        return runs && loose;
    const char *name = normalized->table->fields[normalized->span.field].name;
    bool pieces = analysis->span_on_clock && analysis->listed && !runs && analysis->stop != KW_STOP_RANGE;
    loose = loose || pieces;
    if (analysis->stop != KW_STOP_RANGE && !pieces && !(runs && analysis->span_on_clock)) {
        note(notes, "the range of %s is checked for each row: it is not the field after the bound ones",
             name);
        *reads_per_row *= ROWS_PER_RANGE;
        return true;
    }
    if (loose) {
        note(notes, "the range of %s is checked for each row: %s", name,
             runs && is_named_by_another(analysis) ? "records may lack it"
                                                   : "its ends can lie inside a unit of the key");
        *reads_per_row *= ROWS_PER_LOOSE_END;
    }
    return loose;
}

bool
kw_notes_residual(kw_notes *notes, const kw_path_analysis *analysis, const kw_normalized_query *normalized,
                  bool loose, double *ret_reads_per_row)
{
    *ret_reads_per_row = 1;
    bool residual = note_bounds(notes, analysis, normalized, ret_reads_per_row);
    if (normalized->also.field >= 0) {
        note(notes, "the range of %s is checked for each row, in addition to its values",
             normalized->table->fields[normalized->also.field].name);
        residual = true;
    }
    residual = note_span(notes, analysis, normalized, loose, ret_reads_per_row) || residual;
    if (analysis->has_other_keys)
        note(notes, "rows with longer or shorter values can lie within the ranges and are dropped, because "
                    "the key continues after a raw string; encoding: terminated would keep them apart");
    return residual || analysis->has_other_keys;
}

static const char *
field_name(const kw_path_analysis *analysis, int field)
{
    return kw_layout_fields(analysis->layout)->fields[field].name;
}

static void
note_order(kw_notes *notes, const kw_path_analysis *analysis, const kw_ranges *ranges)
{
    if (analysis->stop == KW_STOP_COMPLETE) {
        note(notes, "every key is known: %zu point read%s", ranges->count, ranges->count == 1 ? "" : "s");
        return;
    }
    if (analysis->stop == KW_STOP_RUNS && !analysis->concat && !analysis->known[ranges->clock]) {
        note(notes, "rows are ordered by %s %s, to the unit of the key's pieces",
             field_name(analysis, ranges->clock), analysis->reversed ? "descending" : "ascending");
        return;
    }
    if (analysis->stop != KW_STOP_RANGE && analysis->stop != KW_STOP_ORDERED)
        return;
    const kw_component *stop = kw_layout_component(analysis->layout, analysis->used);
    const char *name = stop->table->fields[stop->field].name;
    bool rising = (stop->direction > 0) != analysis->reversed;
    bool by_another = analysis->listed && analysis->stop == KW_STOP_ORDERED;
    if (by_another || (analysis->listed && rising == analysis->descending)) {
        note(notes, "rows are ordered by the pieces of %s, those of one piece by %s %s",
             by_another ? field_name(analysis, ranges->clock) : name, name,
             rising ? "ascending" : "descending");
        return;
    }
    note(notes, "rows are ordered by %s %s%s", name, rising ? "ascending" : "descending",
         stop->unit > 1 ? ", to the key's coarser unit" : "");
}

/* Why the bucket of a component is unknown: the names of the unbound fields. */
static const char *
why_fanned(const kw_normalized_query *normalized, const kw_component *component, kw_arena *arena)
{
    const char *names = "";
    size_t missing = 0;
    if (component->choice)
        return "the bucket was chosen when the record was put";
    for (size_t input = 0; input < component->inputs_count; input++) {
        size_t field = component->inputs[input];
        if (normalized->bounds[field].count > 0)
            continue;
        names = kw_arena_printf(arena, "%s%s%s", names, missing++ ? " and " : "",
                                normalized->table->fields[field].name);
    }
    if (missing > 0)
        return kw_arena_printf(arena, "%s %s not bound", names, missing > 1 ? "are" : "is");
    return component->of_rest ? "not all of the key after it is known" : "no condition determines it";
}

static void
note_fan_out(kw_notes *notes, const kw_normalized_query *normalized, const kw_path_analysis *analysis,
             const kw_ranges *ranges)
{
    for (size_t index = 0; index < analysis->used; index++) {
        const kw_component *component = kw_layout_component(analysis->layout, index);
        if (!analysis->fan_out[index])
            continue;
        const char *why = why_fanned(normalized, component, notes->arena);
        if (component->clock >= 0 && component->clock == normalized->span.field)
            note(notes,
                 ranges->fanned[index] == 1 ? "%s: %zu piece contains the queried time"
                                            : "%s: %zu pieces contain the queried time",
                 component->text, ranges->fanned[index]);
        else if (ranges->fanned[index] < component->buckets)
            note(notes, "%s: %zu of %" G_GUINT64_FORMAT " can match (%s)", component->text,
                 ranges->fanned[index], component->buckets, why);
        else
            note(notes, "%s: all %" G_GUINT64_FORMAT " are visited, because %s", component->text,
                 component->buckets, why);
    }
}

/* Notes how the rows of several ranges are combined. */
static void
note_groups(kw_notes *notes, const kw_path_analysis *analysis, const kw_ranges *ranges)
{
    if (analysis->stop == KW_STOP_COMPLETE || ranges->count < 2)
        return;
    if (ranges->groups_count == 1)
        note(notes, "merge: the %zu ranges are read in parallel, because their rows interleave",
             ranges->count);
    else if (ranges->groups_count == ranges->count)
        note(notes, "concat: the %zu ranges are read one after the other", ranges->count);
    else
        note(notes, "concat of merges: %zu groups are read one after the other, the ranges of a group merged",
             ranges->groups_count);
}

/* "up to N" or "down to N" */
static const char *
reach_of(const kw_window *window, kw_arena *arena)
{
    bool falling = window->least > INT64_MIN;
    return kw_arena_printf(arena, "%s %" G_GINT64_FORMAT, falling ? "down to" : "up to",
                           falling ? window->least : window->most);
}

void
kw_notes_windows(kw_notes *notes, const kw_normalized_query *normalized, const kw_window *window,
                 uint64_t windows, bool exact)
{
    note(notes,
         "%s: the interval is read in windows; these are the ranges of the first of %s%" G_GUINT64_FORMAT
         " windows, %s; the next window is planned when its rows are needed",
         normalized->table->fields[normalized->span.field].name, exact ? "" : "about ", windows,
         reach_of(window, notes->arena));
}

void
kw_notes_wide(kw_notes *notes, const kw_path_analysis *exact, const kw_normalized_query *normalized,
              const kw_window *window)
{
    const char *name = normalized->table->fields[normalized->span.field].name;
    char text[KW_LIMIT_REASON_MAX];
    note(notes,
         "widened: a range for each piece would need up to %" G_GUINT64_FORMAT
         " ranges or point reads, more than limits.ranges allows (%zu%s); wider ranges are read instead, and "
         "other rows are dropped",
         exact->ranges, normalized->range_limit, kw_normalized_query_limit_reason(normalized, text));
    if (window)
        note(notes,
             "%s: the interval is read in windows; these are the ranges of the first one, %s; while few rows "
             "are dropped, the next windows are larger; otherwise they have a range for each piece",
             name, reach_of(window, notes->arena));
}

void
kw_notes_widened(kw_notes *notes, const kw_path_analysis *exact, const kw_normalized_query *normalized)
{
    char text[KW_LIMIT_REASON_MAX];
    note(notes,
         "widened: the exact plan would need up to %" G_GUINT64_FORMAT
         " ranges or point reads, more than limits.ranges allows (%zu%s); wider ranges are read instead, and "
         "other rows are dropped",
         exact->ranges, normalized->range_limit, kw_normalized_query_limit_reason(normalized, text));
}

void
kw_notes_ranges(kw_notes *notes, const kw_path_analysis *analysis, const kw_normalized_query *normalized,
                const kw_ranges *ranges)
{
    note_fan_out(notes, normalized, analysis, ranges);
    note_groups(notes, analysis, ranges);
    note_order(notes, analysis, ranges);
}
