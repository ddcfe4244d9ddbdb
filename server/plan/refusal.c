/* See refusal.h. */
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
is_in_some_key(const kw_sketch *sketches, size_t count, size_t field)
{
    for (size_t index = 0; index < count; index++) {
        if (reads(sketches[index].layout, field))
            return true;
    }
    return false;
}

/* "a, b" of the fields that the question says something about, and that are in a key or are not. */
static const char *
asked_fields(const kw_terms *terms, const kw_sketch *sketches, size_t count, bool in_key, kw_arena *arena)
{
    const char *names = "";
    for (size_t field = 0; field < terms->table->fields_count; field++) {
        if (terms->bounds[field].count == 0 && terms->span.field != (int)field)
            continue;
        if (is_in_some_key(sketches, count, field) == in_key)
            names =
                kw_arena_printf(arena, "%s%s%s", names, *names ? ", " : "", terms->table->fields[field].name);
    }
    return names;
}

/* A calendar or bits that would have answered about an interval with both ends. */
static bool
lacks_end(const kw_terms *terms, const kw_sketch *sketches, size_t count)
{
    bool open = terms->span.from.kind == KW_VALUE_NONE || terms->span.to.kind == KW_VALUE_NONE;
    for (size_t index = 0; index < count && open && terms->span.field >= 0; index++) {
        const kw_layout *layout = sketches[index].layout;
        if (sketches[index].used < kw_layout_component_count(layout) &&
            kw_layout_component(layout, sketches[index].used)->clock == terms->span.field)
            return true;
    }
    return false;
}

bool
kw_refuse_whole_table(const kw_terms *terms, const kw_sketch *sketches, size_t count, kw_arena *arena,
                      kw_error *ret_error)
{
    const char *wishes = "";
    for (size_t index = 0; index < count; index++)
        wishes = kw_arena_printf(arena, "%s%s%s", wishes, index ? ", or " : "",
                                 kw_sketch_wish(&sketches[index], arena));
    const char *behind = asked_fields(terms, sketches, count, true, arena);
    const char *outside = asked_fields(terms, sketches, count, false, arena);
    const char *why = "";
    if (*behind)
        why = kw_arena_printf(arena, "; %s alone does not help: it stands further back in the key", behind);
    if (*outside)
        why = kw_arena_printf(arena, "%s; %s does not help: it is in no key", why, outside);
    if (lacks_end(terms, sketches, count))
        why = kw_arena_printf(arena, "; the range of %s needs both ends, then any length of time can be read",
                              terms->table->fields[terms->span.field].name);
    return kw_error_set(ret_error, KW_INVALID,
                        "table %s: this question would read the whole table; %s, or allow full_scan%s",
                        terms->table->name, wishes, why);
}
