/* See hazards.h. */
#include "rule/hazards.h"

#include "rule/made.h"

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

/* What a component found out about its own settings. */
static void
take_component(kw_hazards *hazards, const kw_path *path, const kw_component *component)
{
    const kw_component_hazard *found = component->hazard;
    if (found)
        kw_hazards_add(hazards, component->table, path, found->mark, found->hint, "path %s: %s", path->name,
                       found->text);
}

void
kw_hazards_find(kw_hazards *hazards, const kw_table *table)
{
    for (size_t number = 0; number < table->stores_count; number++) {
        const kw_path *path = &table->paths[number];
        for (size_t index = 0; index < path->layout->count; index++)
            take_component(hazards, path, path->layout->components[index]);
    }
    kw_made_check(hazards, table);
}
