#include "advise/changes.h"

#include <string.h>

static bool
same_text(const char *a, const char *b)
{
    return g_strcmp0(a ? a : "", b ? b : "") == 0;
}

/* --- fields ---------------------------------------------------------------------------------------- */

static bool
has_field(const kw_table *table, const char *name)
{
    return kw_table_find_field(table, kw_bytes_of_text(name)) >= 0;
}

static bool
same_column(const kw_field *a, const kw_field *b)
{
    return a->stored == b->stored && (!a->stored || (kw_bytes_equal(a->family, b->family) &&
                                                     kw_bytes_equal(a->qualifier, b->qualifier)));
}

static bool
same_type(const kw_field *a, const kw_field *b)
{
    return a->type == b->type && a->unit == b->unit && a->form == b->form &&
           (a->type != KW_FIELD_MAP || a->entry->type == b->entry->type);
}

/* The field of `other` that has the same column and type as `field`, under a name that the table `in` does
 * not have; NULL: there is none. */
static const kw_field *
find_renamed(const kw_table *in, const kw_field *field, const kw_table *other)
{
    for (size_t i = 0; i < other->fields_count; i++) {
        const kw_field *found = &other->fields[i];
        if (field->stored && same_column(found, field) && found->type == field->type &&
            !has_field(in, found->name))
            return found;
    }
    return NULL;
}

static bool
same_values(const kw_model_field *a, const kw_model_field *b)
{
    if (a->values_count != b->values_count)
        return false;
    for (size_t i = 0; i < a->values_count; i++)
        if (!same_text(a->values[i], b->values[i]))
            return false;
    return true;
}

static bool
same_generate(const kw_model_generate *a, const kw_model_generate *b)
{
    if (!a->enabled || !b->enabled)
        return a->enabled == b->enabled;
    return a->kind == b->kind && a->refuse_given == b->refuse_given && a->from == b->from && a->to == b->to &&
           a->wrap == b->wrap && a->per == b->per && same_text(a->of, b->of) && same_text(a->zone, b->zone) &&
           a->partitioned == b->partitioned && a->epoch_ms == b->epoch_ms;
}

static void
list_field(const kw_field *old, const kw_field *fresh, kw_buffer *out)
{
    const kw_model_field *a = old->model, *b = fresh->model;
    const char *name = fresh->name;
    if (strcmp(old->name, name) != 0)
        kw_buffer_printf(out, "  field %s: renamed to %s; its column stays\n", old->name, name);
    if (!same_type(old, fresh))
        kw_buffer_printf(out, "  field %s: another type, unit or encoding\n", name);
    if (!same_column(old, fresh))
        kw_buffer_printf(out, "  field %s: another column\n", name);
    if (!same_text(a->about, b->about))
        kw_buffer_printf(out, "  field %s: new description\n", name);
    if (a->max_bytes != b->max_bytes || !same_values(a, b))
        kw_buffer_printf(out, "  field %s: other values are accepted in new puts\n", name);
    if (!same_generate(&a->generate, &b->generate))
        kw_buffer_printf(out, "  field %s: values are generated in another way\n", name);
    if (a->counter != b->counter)
        kw_buffer_printf(out, "  field %s: %s be incremented\n", name,
                         b->counter ? "can now" : "can no longer");
}

static void
list_fields(const kw_table *old, const kw_table *fresh, kw_buffer *out)
{
    for (size_t i = 0; i < fresh->fields_count; i++) {
        const kw_field *field = &fresh->fields[i];
        int index = kw_table_find_field(old, kw_bytes_of_text(field->name));
        const kw_field *before = index >= 0 ? &old->fields[index] : find_renamed(fresh, field, old);
        if (before)
            list_field(before, field, out);
        else
            kw_buffer_printf(out, "  field %s: new (%s)\n", field->name, kw_field_type_names[field->type]);
    }
    for (size_t i = 0; i < old->fields_count; i++) {
        const kw_field *field = &old->fields[i];
        if (!has_field(fresh, field->name) && !find_renamed(old, field, fresh))
            kw_buffer_printf(out, "  field %s: removed; its stored values stay\n", field->name);
    }
}

/* --- paths ----------------------------------------------------------------------------------------- */

static bool
same_splits(const kw_model_splits *a, const kw_model_splits *b)
{
    if (!same_text(a->algorithm, b->algorithm) || a->regions != b->regions ||
        a->keys_count != b->keys_count || !same_text(a->file, b->file))
        return false;
    for (size_t i = 0; i < a->keys_count; i++)
        if (!same_text(a->keys[i], b->keys[i]))
            return false;
    return true;
}

/* Compares the texts, but omits what only the text says in another way: after a change of the key rule, one
 * text can name the present layout and store table, and the other those before. */
static void
list_path(const kw_path *old, const kw_path *fresh, kw_buffer *out)
{
    const char *name = fresh->name;
    const kw_model_path *before = kw_path_text(old), *after = kw_path_text(fresh);
    bool moves = kw_layout_number(old->layout) != kw_layout_number(fresh->layout) ||
                 !kw_bytes_equal(old->store_table, fresh->store_table);
    if (strcmp(kw_layout_fingerprint(old->layout), kw_layout_fingerprint(fresh->layout)) != 0)
        kw_buffer_printf(out, "  path %s: another key rule\n", name);
    if (moves && before->layout != after->layout)
        kw_buffer_printf(out, "  path %s: layout %u instead of %u\n", name, (unsigned)after->layout,
                         (unsigned)before->layout);
    if (moves && strcmp(before->store_table, after->store_table) != 0)
        kw_buffer_printf(out, "  path %s: store table %s instead of %s\n", name, after->store_table,
                         before->store_table);
    if (!same_splits(&old->model->splits, &fresh->model->splits))
        kw_buffer_printf(out, "  path %s: other splits, used when its store table is created\n", name);
}

static void
list_paths(const kw_table *old, const kw_table *fresh, kw_buffer *out)
{
    for (size_t i = 0; i < fresh->paths_count; i++) {
        int index = kw_table_find_path(old, kw_bytes_of_text(fresh->paths[i].name));
        if (index >= 0)
            list_path(&old->paths[index], &fresh->paths[i], out);
        else
            kw_buffer_printf(out, "  path %s: new\n", fresh->paths[i].name);
    }
    for (size_t i = 0; i < old->paths_count; i++)
        if (kw_table_find_path(fresh, kw_bytes_of_text(old->paths[i].name)) < 0)
            kw_buffer_printf(out, "  path %s: dropped; its rows stay until `keyway forget %s --path %s`\n",
                             old->paths[i].name, fresh->name, old->paths[i].name);
}

/* --- the table ------------------------------------------------------------------------------------- */

static bool
same_family(const kw_model_family *a, const kw_model_family *b)
{
    return same_text(a->name, b->name) && same_text(a->compression, b->compression) &&
           same_text(a->bloom_filter, b->bloom_filter) && same_text(a->block_encoding, b->block_encoding) &&
           a->ttl_seconds == b->ttl_seconds && a->max_versions == b->max_versions &&
           a->min_versions == b->min_versions && a->block_size == b->block_size &&
           a->block_cache == b->block_cache && a->in_memory == b->in_memory &&
           a->keep_deleted_cells == b->keep_deleted_cells && a->replication_scope == b->replication_scope;
}

static bool
same_families(const kw_model_table *a, const kw_model_table *b)
{
    if (a->families_count != b->families_count)
        return false;
    for (size_t i = 0; i < a->families_count; i++)
        if (!same_family(&a->families[i], &b->families[i]))
            return false;
    return true;
}

static bool
same_marker(const kw_table *a, const kw_table *b)
{
    return kw_bytes_equal(a->marker_family, b->marker_family) &&
           kw_bytes_equal(a->marker_qualifier, b->marker_qualifier) &&
           kw_bytes_equal(a->marker_value, b->marker_value) && a->marks_all == b->marks_all;
}

void
kw_table_changes(const kw_table *old, const kw_table *fresh, kw_buffer *out)
{
    const kw_model_table *a = old->model, *b = fresh->model;
    if (!same_text(a->about, b->about))
        kw_buffer_append_text(out, "  new description\n");
    list_fields(old, fresh, out);
    list_paths(old, fresh, out);
    if (!same_marker(old, fresh))
        kw_buffer_append_text(out, "  another marker cell\n");
    if (!same_text(a->order, b->order))
        kw_buffer_printf(out, "  order: %s\n", b->order ? b->order : "not set");
    if (a->atomics != b->atomics)
        kw_buffer_printf(out, "  atomics: %s\n", b->atomics < 0 ? "not set" : b->atomics ? "true" : "false");
    if (a->updates != b->updates)
        kw_buffer_printf(out, "  updates: %s\n", b->updates ? "true" : "false");
    if (!same_families(a, b) || a->major_compaction_ms != b->major_compaction_ms)
        kw_buffer_append_text(out, "  other options of families; existing store tables keep theirs\n");
}
