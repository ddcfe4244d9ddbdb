/* See compare_fields.h. A column keeps its type and encoding as long as the table holds rows, whichever field
 * uses it: fields can be added, removed and renamed, but no cell may change its meaning. */
#include "catalog/compare_fields.h"

static bool
same_cells(const kw_field_facts *a, const kw_field_facts *b)
{
    return g_str_equal(a->type, b->type) && g_str_equal(a->encoding, b->encoding) &&
           g_str_equal(a->family, b->family) && g_str_equal(a->qualifier, b->qualifier) && a->map == b->map;
}

/* True if `map` contains the column of `field`, or some of its columns. A map's own prefix is not one of its
 * columns. Qualifiers are compared as text with \xNN, which preserves prefixes. */
static bool
map_covers(const kw_field_facts *map, const kw_field_facts *field)
{
    return map->map && g_str_has_prefix(field->qualifier, map->qualifier) &&
           (field->map || strlen(field->qualifier) > strlen(map->qualifier));
}

static bool
share_cells(const kw_field_facts *a, const kw_field_facts *b)
{
    if (!a->family[0] || !g_str_equal(a->family, b->family))
        return false;
    return map_covers(a, b) || map_covers(b, a) ||
           (!a->map && !b->map && g_str_equal(a->qualifier, b->qualifier));
}

/* A map whose values have the type of the single column decodes that column correctly. */
static bool
reads_the_same(const kw_field_facts *a, const kw_field_facts *b)
{
    const char *type_a = a->map ? a->type + strlen("map of ") : a->type;
    const char *type_b = b->map ? b->type + strlen("map of ") : b->type;
    return g_str_equal(type_a, type_b) && g_str_equal(a->encoding, b->encoding);
}

static const char *
cells_text(const kw_field_facts *field, kw_arena *arena)
{
    return kw_arena_printf(arena, "%s in %s%s%s", field->type, kw_field_facts_column(field, arena),
                           field->encoding[0] ? ", encoding " : "", field->encoding);
}

static bool
refuse_changed(const char *table, const kw_field_facts *old, const kw_field_facts *new, kw_arena *arena,
               kw_error *ret_error)
{
    return kw_error_set(
        ret_error, KW_REFUSED,
        "table %s, field %s: its values were stored as %s, and this policy has %s; put the old form "
        "back, or add a field with another name and column",
        table, new->name, cells_text(old, arena), cells_text(new, arena));
}

static bool
refuse_reused(const char *table, const kw_field_facts *old, const kw_field_facts *new, kw_arena *arena,
              kw_error *ret_error)
{
    return kw_error_set(
        ret_error, KW_REFUSED,
        "table %s, field %s: its column holds values of the field %s, stored as %s, and this policy "
        "has %s; name another column",
        table, new->name, old->name, cells_text(old, arena), cells_text(new, arena));
}

/* Decides whether a field that the catalog does not contain under this name may have its column. */
static bool
check_new_field(const kw_facts *recorded, const kw_field_facts *new, const char *table, kw_arena *arena,
                kw_error *ret_error)
{
    for (size_t i = 0; i < recorded->fields_count; i++) {
        const kw_field_facts *old = &recorded->fields[i];
        if (share_cells(old, new) && !reads_the_same(old, new))
            return refuse_reused(table, old, new, arena, ret_error);
    }
    return true;
}

/* The recorded field under its present or its former name. NULL: it is new. */
static const kw_field_facts *
find_old(const kw_facts *recorded, const kw_field_facts *new)
{
    const kw_field_facts *same_name = kw_facts_find_field(recorded, new->name);
    if (same_name)
        return same_name;
    for (size_t i = 0; new->family[0] && i < recorded->fields_count; i++)
        if (same_cells(&recorded->fields[i], new))
            return &recorded->fields[i];
    return NULL;
}

static bool
compare_field(const kw_facts *recorded, const kw_facts *wanted, const kw_field_facts *new, bool has_rows,
              kw_arena *arena, bool *exclusive, kw_error *ret_error)
{
    const kw_field_facts *old = find_old(recorded, new);
    kw_error error;
    bool good = old ? same_cells(old, new) || refuse_changed(wanted->table, old, new, arena, &error)
                    : check_new_field(recorded, new, wanted->table, arena, &error);
    *exclusive = *exclusive || !good || (old ? old->counter : false) != new->counter;
    if (good)
        return true;
    if (has_rows)
        *ret_error = error;
    return !has_rows;
}

/* True if the policy no longer has the field, but its cells can still be in the store. */
static bool
is_left_over(const kw_facts *wanted, const kw_field_facts *old)
{
    if (!old->family[0] || kw_facts_find_field(wanted, old->name))
        return false;
    for (size_t i = 0; i < wanted->fields_count; i++)
        if (share_cells(&wanted->fields[i], old))
            return false;
    return true;
}

bool
kw_facts_compare_fields(const kw_facts *recorded, const kw_facts *wanted, bool has_rows, kw_arena *arena,
                        kw_facts *merged, bool *ret_exclusive, kw_error *ret_error)
{
    size_t most = wanted->fields_count + (recorded ? recorded->fields_count : 0);
    merged->fields = KW_ARENA_ARRAY(arena, kw_field_facts, most);
    for (size_t i = 0; i < wanted->fields_count; i++) {
        const kw_field_facts *new = &wanted->fields[i];
        if (recorded && !compare_field(recorded, wanted, new, has_rows, arena, ret_exclusive, ret_error))
            return false;
        merged->fields[merged->fields_count++] = *new;
    }
    for (size_t i = 0; recorded && i < recorded->fields_count; i++) {
        if (!is_left_over(wanted, &recorded->fields[i]))
            continue;
        merged->fields[merged->fields_count] = recorded->fields[i];
        merged->fields[merged->fields_count++].removed = true;
    }
    return true;
}
