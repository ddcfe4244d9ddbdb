/* Fields by name. */
#include "rule/field.h"

#include <glib.h>

int
kw_field_set_find(const kw_field_set *set, kw_bytes name)
{
    for (size_t index = 0; index < set->fields_count; index++) {
        if (kw_bytes_equal(kw_bytes_of_text(set->fields[index].name), name))
            return (int)index;
    }
    return -1;
}

const char *
kw_field_set_nearest(const kw_field_set *set, kw_bytes name)
{
    if (name.size > KW_GUESS_MAX)
        return NULL;
    g_autofree char *wrong = g_strndup((const char *)name.data, name.size);
    g_autofree const char **names = g_new0(const char *, set->fields_count + 1);
    for (size_t index = 0; index < set->fields_count; index++)
        names[index] = set->fields[index].name;
    return kw_nearest_name(wrong, names);
}

kw_record
kw_record_over(const kw_field_set *set, kw_arena *arena)
{
    return (kw_record){kw_arena_alloc0(arena, MAX(set->fields_count, 1) * sizeof(kw_value))};
}
