#include "rule/unique.h"

#include "rule/civil.h"

/* As in kw_component.cell_s. */
static const double period_seconds[] = {
    [KW_PERIOD_SECOND] = 1,  [KW_PERIOD_MINUTE] = 60,     [KW_PERIOD_HOUR] = 3600,
    [KW_PERIOD_DAY] = 86400, [KW_PERIOD_MONTH] = 2419200, [KW_PERIOD_YEAR] = 31536000,
};

static const double units_per_second[] = {
    [KW_UNIT_S] = 1, [KW_UNIT_MS] = 1e3, [KW_UNIT_US] = 1e6, [KW_UNIT_NS] = 1e9};

/* The duration of one piece's cell, in seconds. */
static double
cell_of(const kw_component *component, size_t field)
{
    if (component->offsets)
        return component->millis ? 0.001 : (double)component->cell_s;
    if (component->field != (int)field)
        return 1; /* bits of a number generated elsewhere */
    return (double)component->unit / units_per_second[component->table->fields[field].unit];
}

static bool
same_zone(const kw_zone *a, const kw_zone *b)
{
    return a->count == b->count && kw_zone_hash(a) == kw_zone_hash(b);
}

/* True if the offsets of two zones at a moment differ by whole cells. */
static bool
differ_by_cells(const kw_zone *a, const kw_zone *b, int64_t at, int64_t cell_s)
{
    int64_t shift = a->steps[kw_zone_find(a, at)].offset - b->steps[kw_zone_find(b, at)].offset;
    return shift % cell_s == 0;
}

/* True if every cell of a clock is within one period of another zone: the two offsets always differ by whole
 * cells, the clock of the cells is only set forward, so that no cell occurs twice, and the other clock
 * changes only where a cell begins. */
static bool
cells_nest(const kw_zone *cells, int64_t cell_s, const kw_zone *periods, bool ever)
{
    int64_t from = ever ? INT64_MIN / 2 : KW_CLOCKS_FROM;
    bool good = differ_by_cells(cells, periods, from, cell_s);
    for (size_t index = 1; good && index < cells->count; index++) {
        const kw_zone_step *step = &cells->steps[index];
        if (step->from >= from)
            good = step->offset > step[-1].offset && differ_by_cells(cells, periods, step->from, cell_s);
    }
    for (size_t index = 1; good && index < periods->count; index++) {
        int64_t at = periods->steps[index].from;
        int64_t local = at + cells->steps[kw_zone_find(cells, at)].offset;
        if (at >= from)
            good = local % cell_s == 0 && differ_by_cells(cells, periods, at, cell_s);
    }
    return good;
}

const char *
kw_unique_zone(const kw_model_generate *how)
{
    return *how->zone ? how->zone : "UTC";
}

/* True if this piece determines the period of a record's time. */
static bool
determines_period(const kw_component *component, size_t field, const kw_model_generate *how, bool ever,
                  kw_arena *arena)
{
    if (component->clock != (int)field && component->field != (int)field)
        return false;
    if (cell_of(component, field) > period_seconds[how->per])
        return false;
    if (!component->offsets)
        return true;
    const kw_zone *zone = kw_zone_make(kw_unique_zone(how), NULL, arena);
    g_assert(zone); /* the reader checked it */
    if (same_zone(component->offsets, zone))
        return true;
    return component->cell_s <= 3600 && cells_nest(component->offsets, component->cell_s, zone, ever);
}

static bool
key_determines_period(const kw_layout *layout, const kw_model_generate *how, bool ever, kw_arena *arena)
{
    int of = kw_field_set_find(layout->table, kw_bytes_of_text(how->of));
    for (size_t index = 0; of >= 0 && index < layout->count; index++)
        if (determines_period(layout->components[index], (size_t)of, how, ever, arena))
            return true;
    return false;
}

/* True if the key stores the period's time in smaller steps than the period. */
static bool
key_is_finer(const kw_layout *layout, const kw_model_generate *how)
{
    int of = kw_field_set_find(layout->table, kw_bytes_of_text(how->of));
    for (size_t index = 0; of >= 0 && index < layout->count; index++) {
        const kw_component *component = layout->components[index];
        bool reads = component->clock == of || component->field == of;
        if (reads && cell_of(component, (size_t)of) < period_seconds[how->per])
            return true;
    }
    return false;
}

static bool
holds_time(const kw_layout *layout)
{
    bool holds = false;
    for (size_t field = 0; field < layout->table->fields_count; field++)
        holds = holds || (layout->units[field] && layout->table->fields[field].type == KW_FIELD_TIMESTAMP);
    return holds;
}

static kw_unique
of_sequence(const kw_layout *layout, const kw_model_generate *how, bool ever, kw_arena *arena)
{
    bool periodic = how->per != KW_PERIOD_EVER;
    if (periodic && !key_determines_period(layout, how, ever, arena))
        return KW_UNIQUE_LOST_PERIOD;
    if (!how->wrap)
        return KW_UNIQUE_ALWAYS;
    bool moves_on = periodic ? key_is_finer(layout, how) : holds_time(layout);
    return moves_on ? KW_UNIQUE_A_WHILE : KW_UNIQUE_LOST_RANGE;
}

kw_unique
kw_unique_of(const kw_layout *layout, size_t field, bool ever, kw_arena *arena)
{
    const kw_model_generate *how = &layout->table->fields[field].model->generate;
    if (!how->enabled || !kw_layout_holds(layout, field))
        return KW_UNIQUE_NOT;
    switch (how->kind) {
    case KW_GENERATE_SEQUENCE:
        return of_sequence(layout, how, ever, arena);
    case KW_GENERATE_SNOWFLAKE:
    case KW_GENERATE_UUID4:
    case KW_GENERATE_UUID7:
    case KW_GENERATE_OBJECTID:
        return KW_UNIQUE_ALWAYS;
    case KW_GENERATE_NOW:
        return KW_UNIQUE_NOT;
    }
    g_assert_not_reached();
}

bool
kw_unique_any(const kw_layout *layout, bool ever, kw_arena *arena)
{
    for (size_t field = 0; field < layout->table->fields_count; field++)
        if (kw_unique_of(layout, field, ever, arena) == KW_UNIQUE_ALWAYS)
            return true;
    return false;
}
