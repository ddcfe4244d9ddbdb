#include "plan/refusal.h"

static bool
reads(const kw_layout *layout, size_t field)
{
    for (size_t index = 0; index < kw_layout_component_count(layout); index++) {
        const kw_component *component = kw_layout_component(layout, index);
        for (size_t input = 0; input < component->inputs_count; input++) {
            if (component->inputs[input] == field)
                return true;
        }
    }
    return false;
}

static bool
is_in_some_key(const kw_path_analysis *analyses, size_t count, size_t field)
{
    for (size_t index = 0; index < count; index++) {
        if (reads(analyses[index].layout, field))
            return true;
    }
    return false;
}

/* The component at which a path stops, if it reads the range's field and is not a clock: the path could use
 * values of this field, but not a range. NULL: there is none. */
static const kw_component *
scattering(const kw_normalized_query *normalized, const kw_path_analysis *analyses, size_t count)
{
    for (size_t index = 0; index < count; index++) {
        const kw_layout *layout = analyses[index].layout;
        if (analyses[index].used == kw_layout_component_count(layout))
            continue;
        const kw_component *stop = kw_layout_component(layout, analyses[index].used);
        for (size_t input = 0; input < stop->inputs_count && stop->clock < 0; input++) {
            if ((int)stop->inputs[input] == normalized->span.field)
                return stop;
        }
    }
    return NULL;
}

typedef struct names {
    const char *text; /* for example "a, b" */
    size_t count;
} names;

/* Fields that the query has conditions on. in_key: those that are in some key; otherwise those in none. Omits
 * the field with the range if another part of the text explains it (scattering). */
static names
asked_fields(const kw_normalized_query *normalized, const kw_path_analysis *analyses, size_t count,
             bool in_key, kw_arena *arena)
{
    names found = {.text = ""};
    bool range = scattering(normalized, analyses, count) == NULL;
    for (size_t field = 0; field < normalized->table->fields_count; field++) {
        if (normalized->bounds[field].count == 0 && !(range && normalized->span.field == (int)field))
            continue;
        if (is_in_some_key(analyses, count, field) == in_key)
            found.text = kw_arena_printf(arena, "%s%s%s", found.text, found.count++ ? ", " : "",
                                         normalized->table->fields[field].name);
    }
    return found;
}

/* True if a calendar or bits could be used if the range had both ends. */
static bool
lacks_end(const kw_normalized_query *normalized, const kw_path_analysis *analyses, size_t count)
{
    bool open = normalized->span.from.kind == KW_VALUE_NONE || normalized->span.to.kind == KW_VALUE_NONE;
    for (size_t index = 0; index < count && open && normalized->span.field >= 0; index++) {
        const kw_path_analysis *analysis = &analyses[index];
        size_t last = MIN(analysis->used, kw_layout_component_count(analysis->layout) - 1);
        if (kw_layout_component(analysis->layout, last)->clock == normalized->span.field ||
            (last > 0 && kw_layout_component(analysis->layout, last - 1)->clock == normalized->span.field))
            return true;
    }
    return false;
}

/* A clock that would give the order of time if the query had a range with both ends; NULL: none. */
static const kw_component *
clock_without_range(const kw_path_analysis *analysis, const kw_normalized_query *normalized)
{
    const kw_value_span *span = &normalized->span;
    for (size_t index = 0; index < kw_layout_component_count(analysis->layout); index++) {
        const kw_component *component = kw_layout_component(analysis->layout, index);
        if (index < analysis->used && (component->clock < 0 || !analysis->fan_out[index]))
            continue;
        bool ranged = component->clock == span->field && span->from.kind != KW_VALUE_NONE &&
                      span->to.kind != KW_VALUE_NONE;
        if (component->clock >= 0)
            return ranged || normalized->bounds[component->clock].count > 0 ? NULL : component;
        if (component->field >= 0 && !component->buckets)
            return NULL;
    }
    return NULL;
}

const char *
kw_refusal_explain_disorder(const kw_path_analysis *analysis, const kw_normalized_query *normalized,
                            kw_arena *arena)
{
    const kw_component *clock = clock_without_range(analysis, normalized);
    if (clock)
        return kw_arena_printf(
            arena, "path %s has %s, which gives the order of time only within a range of %s with both ends",
            analysis->path->name, clock->text, normalized->table->fields[clock->clock].name);
    size_t last = kw_layout_component_count(analysis->layout) - 1;
    return kw_arena_printf(arena, "path %s continues with %s, which has no order", analysis->path->name,
                           kw_layout_component_text(analysis->layout, MIN(analysis->used, last)));
}

const char *
kw_refusal_unbound(const kw_record_query *query, const kw_path *path, kw_arena *arena)
{
    const char *unbound = "";
    const kw_placement *scanned = kw_path_scanned(path);
    for (size_t i = 0; i < scanned->tuple_count; i++)
        if (!kw_record_query_has_condition(query, scanned->tuple[i]))
            unbound = kw_arena_printf(arena, "%s%s%s", unbound, *unbound ? ", " : "",
                                      path->table->fields[scanned->tuple[i]].name);
    return unbound;
}

/* True if the query has a condition on a field that the keys of the considered paths lack, and the key of
 * this path has. */
static bool
has_asked_field(const kw_record_query *query, const kw_path_analysis *analyses, size_t count,
                const kw_path *path)
{
    bool has = false;
    for (size_t field = 0; field < query->table->fields_count && !has; field++)
        has = kw_record_query_has_condition(query, field) && !is_in_some_key(analyses, count, field) &&
              reads(kw_path_scanned(path)->layout, field);
    return has;
}

/* Why conditions on fields outside the keys of the considered paths do not help. If the query names no path,
 * paths with hints are not considered if the query has a filter, or lacks a condition on one of their fields.
 */
static const char *
explain_outside(const kw_record_query *query, const kw_normalized_query *normalized,
                const kw_path_analysis *analyses, size_t count, kw_arena *arena)
{
    const kw_table *table = normalized->table;
    names outside = asked_fields(normalized, analyses, count, false, arena);
    if (outside.count == 0)
        return "";
    const char *why = "";
    for (size_t index = 0; query->path < 0 && index < table->queried_paths_count; index++) {
        const kw_path *path = &table->paths[index];
        if (kw_path_is_filling(path) || !has_asked_field(query, analyses, count, path))
            continue;
        const char *unbound = kw_refusal_unbound(query, path, arena);
        why = *unbound ? kw_arena_printf(arena, "%s; path %s needs conditions on %s, too", why, path->name,
                                         unbound)
                       : kw_arena_printf(arena, "%s; path %s cannot be used with a filter", why, path->name);
    }
    if (*why)
        return why;
    return kw_arena_printf(arena, "; %s %s %s%s", outside.text,
                           outside.count > 1 ? "do not help: they are" : "does not help: it is",
                           query->path < 0 ? "in no key" : "not in the key of path ",
                           query->path < 0 ? "" : table->paths[query->path].name);
}

bool
kw_refuse_whole_table(const kw_record_query *query, const kw_normalized_query *normalized,
                      const kw_path_analysis *analyses, size_t count, kw_arena *arena, kw_error *ret_error)
{
    const char *wishes = "";
    for (size_t index = 0; index < count; index++)
        wishes = kw_arena_printf(arena, "%s%s%s", wishes, index ? ", or " : "",
                                 kw_path_analysis_suggest(&analyses[index], arena));
    names after = asked_fields(normalized, analyses, count, true, arena);
    const kw_component *scatters = scattering(normalized, analyses, count);
    const char *why = "";
    if (scatters != NULL)
        why = kw_arena_printf(arena, "; a range of %s does not help, only values do: %s has no order",
                              normalized->table->fields[normalized->span.field].name, scatters->text);
    if (after.count > 0)
        why = kw_arena_printf(arena, "%s; %s alone %s in the key", why, after.text,
                              after.count > 1 ? "do not help: they come later"
                                              : "does not help: it comes later");
    why = kw_arena_printf(arena, "%s%s", why, explain_outside(query, normalized, analyses, count, arena));
    if (lacks_end(normalized, analyses, count))
        why = kw_arena_printf(arena, "; the range of %s needs both ends, then any length of time can be read",
                              normalized->table->fields[normalized->span.field].name);
    return kw_error_set(ret_error, KW_INVALID,
                        "table %s: this query would read the whole table; %s, or allow full_scan%s",
                        normalized->table->name, wishes, why);
}

/* --- too many ranges ------------------------------------------------------------------------------- */

static bool
refuse(const kw_path_analysis *analysis, const kw_normalized_query *normalized, uint64_t ranges,
       const char *each, size_t limit, kw_error *ret_error)
{
    char text[KW_LIMIT_REASON_MAX];
    return kw_error_set(ret_error, KW_LIMIT,
                        "table %s: the query needs up to %" G_GUINT64_FORMAT
                        " ranges or point reads of path %s%s%s; at most %zu are allowed%s (limits.ranges); "
                        "query fewer values at once",
                        normalized->table->name, ranges, analysis->path->name, *each ? " for each " : "",
                        each, limit, kw_normalized_query_limit_reason(normalized, text));
}

bool
kw_refuse_ranges(const kw_path_analysis *analysis, const kw_normalized_query *normalized, size_t limit,
                 kw_error *ret_error)
{
    return refuse(analysis, normalized, analysis->ranges, "", limit, ret_error);
}

bool
kw_refuse_ranges_of_moment(const kw_path_analysis *analysis, const kw_normalized_query *normalized,
                           kw_error *ret_error)
{
    return refuse(analysis, normalized, analysis->others,
                  normalized->table->fields[normalized->span.field].name, normalized->range_limit, ret_error);
}
