#include "schema/hazards.h"

#include "rule/clock_changes.h"
#include "rule/unique.h"
#include "schema/generated.h"

#include <stdarg.h>

static kw_hazard *
next_slot(kw_hazards *hazards)
{
    if (hazards->count == hazards->capacity) {
        size_t capacity = hazards->capacity ? 2 * hazards->capacity : 8;
        kw_hazard *items = KW_ARENA_ARRAY(hazards->arena, kw_hazard, capacity);
        if (hazards->count > 0)
            memcpy(items, hazards->items, hazards->count * sizeof *items);
        hazards->items = items;
        hazards->capacity = capacity;
    }
    return &hazards->items[hazards->count++];
}

void
kw_hazards_add(kw_hazards *hazards, const kw_table *table, const kw_path *path, kw_mark mark,
               const char *hint, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *text = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    *next_slot(hazards) = (kw_hazard){.table = table,
                                      .path = path,
                                      .mark = mark,
                                      .text = kw_arena_text(hazards->arena, kw_bytes_of_text(text)),
                                      .hint = kw_arena_text(hazards->arena, kw_bytes_of_text(hint))};
}

/* Reports what a component found in its own settings. */
static void
report_component(kw_hazards *hazards, const kw_path *path, const kw_component *component)
{
    const kw_component_hazard *found = component->hazard;
    if (found)
        kw_hazards_add(hazards, path->table, path, found->mark, found->hint, "path %s: %s", path->name,
                       found->text);
}

/* --- the same field twice ------------------------------------------------------------------------------ */

/* True if the piece encodes the field, other than as the time of its clock. */
static bool
encodes(const kw_component *component, size_t field)
{
    if (component->field == (int)field && component->clock != (int)field)
        return true;
    for (size_t also = 0; also < component->also_count; also++)
        if (component->also[also] == field)
            return true;
    return false;
}

static void
check_repeated(kw_hazards *hazards, const kw_table *table, const kw_path *path, size_t field)
{
    const kw_component *first = NULL;
    for (size_t index = 0; index < path->layout->count; index++) {
        const kw_component *component = path->layout->components[index];
        if (first && encodes(component, field))
            kw_hazards_add(hazards, table, path, component->mark, "remove one of them",
                           "path %s: field %s is in the key twice, in %s and in %s", path->name,
                           table->fields[field].name, first->text, component->text);
        else if (encodes(component, field))
            first = component;
    }
}

/* --- numbers that restart ------------------------------------------------------------------------------ */

static const char *const period_names[] = {"ever", "second", "minute", "hour", "day", "month", "year"};

static void
add_lost(kw_hazards *hazards, const kw_path *path, const kw_field *field, const char *why, const char *hint)
{
    kw_hazards_add(hazards, path->table, path, field->model->generate.mark, hint,
                   "path %s: the numbers of field %s start again %s, so two records could share a row key",
                   path->name, field->name, why);
}

static void
add_lost_period(kw_hazards *hazards, const kw_path *path, const kw_field *field)
{
    const kw_model_generate *how = &field->model->generate;
    const char *period = period_names[how->per];
    g_autofree char *why = g_strdup_printf("in each %s of %s in %s, which the key does not distinguish",
                                           period, how->of, kw_unique_zone(how));
    g_autofree char *hint = g_strdup_printf(
        "let the key hold %s to the %s or finer, in the same zone, or remove per", how->of, period);
    add_lost(hazards, path, field, why, hint);
}

static void
add_lost_range(kw_hazards *hazards, const kw_path *path, const kw_field *field)
{
    const kw_model_generate *how = &field->model->generate;
    bool periodic = how->per != KW_PERIOD_EVER;
    g_autofree char *why =
        g_strdup_printf("after %" G_GINT64_FORMAT " (at_end: wrap), and the key holds no time%s%s", how->to,
                        periodic ? " finer than the " : "", periodic ? period_names[how->per] : "");
    add_lost(hazards, path, field, why,
             "remove at_end: wrap, or let the key hold a time that changes more often");
}

static void
check_numbers(kw_hazards *hazards, const kw_path *path)
{
    const kw_table *table = path->table;
    bool unique = kw_unique_any(path->layout, false, hazards->arena);
    for (size_t index = 0; !unique && index < table->generated_count; index++) {
        const kw_field *field = &table->fields[table->generated[index]];
        kw_unique found = kw_unique_of(path->layout, table->generated[index], false, hazards->arena);
        if (found == KW_UNIQUE_LOST_PERIOD)
            add_lost_period(hazards, path, field);
        else if (found == KW_UNIQUE_LOST_RANGE)
            add_lost_range(hazards, path, field);
    }
}

/* --- clocks that are set back --------------------------------------------------------------------------- */

static void
check_clock_changes(kw_hazards *hazards, const kw_path *path, const kw_component *clock)
{
    if (!kw_clock_changes_collide(path->layout, clock, false, hazards->arena))
        return;
    g_autoptr(GDateTime) since = g_date_time_new_from_unix_utc(kw_clock_set_back_since(clock->offsets));
    g_autofree char *day = g_date_time_format(since, "%F");
    g_autofree char *hint =
        g_strdup_printf("use zone: UTC or an offset such as +01:00, or add the time to the key: - field: %s",
                        clock->table->fields[clock->field].name);
    kw_hazards_add(hazards, path->table, path, clock->mark, hint,
                   "path %s: the calendar of %s: clocks in %s are set back (as on %s), and the key does not "
                   "distinguish the hour that then repeats, so two records could share a row key",
                   path->name, clock->table->fields[clock->field].name, clock->zone, day);
}

/* --- cycles of a circular calendar ---------------------------------------------------------------------- */

/* The longest duration of one piece of a circular clock, in seconds: months vary, and pieces of a year are
 * not circular. Shifting a clock by whole cycles changes nothing. */
static int64_t
longest_cell(const kw_component *clock)
{
    int64_t longest = clock->cell_s == 28 * 86400 ? 31 * 86400 : clock->cell_s;
    return longest + kw_clock_set_back_most(clock->offsets) % clock->period_s;
}

/* check_circular (paths.c) measures from the beginning of a piece to the beginning of its repetition. But
 * rows are put until the piece ends, and some cycles are shorter because clocks are set forward. */
static void
check_rounds(kw_hazards *hazards, const kw_table *table, const kw_path *path)
{
    const kw_component *circular = kw_layout_circular(path->layout);
    if (!circular || kw_unique_any(path->layout, false, hazards->arena))
        return;
    int64_t forward_s = kw_clock_set_forward_most(circular->offsets, circular->period_s) % circular->period_s;
    int64_t apart_s = circular->period_s - longest_cell(circular) - forward_s;
    for (size_t index = 0; index < table->model->families_count; index++) {
        const kw_model_family *family = &table->model->families[index];
        g_autofree char *hint =
            g_strdup_printf("give the family a ttl of at most %" G_GINT64_FORMAT "s, or add "
                            "coarser parts",
                            MAX(apart_s, 1));
        if (family->ttl_seconds > apart_s)
            kw_hazards_add(hazards, table, path, circular->mark, hint,
                           "path %s: %s repeats %" G_GINT64_FORMAT
                           "s after its end, which is less than the ttl (%" G_GINT64_FORMAT
                           "s) of family %s, so two records could share a row key",
                           path->name, circular->text, apart_s, family->ttl_seconds, family->name);
    }
}

/* -------------------------------------------------------------------------------------------------------- */

static void
check_rule(kw_hazards *hazards, const kw_table *table, const kw_path *path)
{
    for (size_t index = 0; index < path->layout->count; index++)
        report_component(hazards, path, path->layout->components[index]);
    for (size_t index = 0; index < path->layout->count; index++)
        check_clock_changes(hazards, path, path->layout->components[index]);
    for (size_t field = 0; field < table->fields_count; field++)
        check_repeated(hazards, table, path, field);
}

static void
check_path(kw_hazards *hazards, const kw_table *table, const kw_path *path, bool whole)
{
    if (path->layout)
        check_rule(hazards, table, path);
    if (!whole)
        return;
    check_numbers(hazards, path);
    check_rounds(hazards, table, path);
}

bool
kw_hazards_find(kw_hazards *hazards, const kw_table *table, bool whole, kw_diagnostics *diagnostics)
{
    for (size_t number = 0; number < table->paths_count; number++) {
        if (!kw_diagnostics_may_continue(diagnostics, kw_arena_used(hazards->arena)))
            return false;
        check_path(hazards, table, &table->paths[number], whole);
    }
    if (whole)
        kw_generated_check(hazards, table);
    return true;
}
