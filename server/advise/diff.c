/* See diff.h.
 *
 *   table -> fields -> paths: rule, layout number, store table -> keys that move -> queries
 */
#include "advise/diff_internal.h"

/* Digits of a fingerprint to print. */
#define FINGERPRINT_DIGITS 12

/* --- fields ---------------------------------------------------------------------------------------- */

static const char *
column_of(const kw_field *field, kw_arena *arena)
{
    if (!field->stored)
        return "in the row key only";
    return kw_arena_printf(arena, "in column%s %.*s:%.*s%s", field->entry ? "s" : "", (int)field->family.size,
                           (const char *)field->family.data, (int)field->qualifier.size,
                           (const char *)field->qualifier.data, field->entry ? "*" : "");
}

static void
diff_field(const kw_field *old, const kw_field *fresh, kw_arena *arena, kw_buffer *out)
{
    const char *before = column_of(old, arena), *after = column_of(fresh, arena);
    if (old->type != fresh->type)
        kw_buffer_printf(out, "  field %s: %s -> %s: stored values are read as another type\n", old->name,
                         kw_field_type_names[old->type], kw_field_type_names[fresh->type]);
    else if (old->unit != fresh->unit)
        kw_buffer_printf(out, "  field %s: another unit: stored times are read as other times\n", old->name);
    else if (old->type == KW_FIELD_MAP && old->entry->type != fresh->entry->type)
        kw_buffer_printf(out, "  field %s: map of %s -> of %s: stored values are read as another type\n",
                         old->name, kw_field_type_names[old->entry->type],
                         kw_field_type_names[fresh->entry->type]);
    if (strcmp(before, after) != 0)
        kw_buffer_printf(out, "  field %s: stored %s -> %s: existing rows do not have it there\n", old->name,
                         before, after);
    else if (old->stored && old->form != fresh->form)
        kw_buffer_printf(out, "  field %s: another form of its cells: existing cells cannot be read\n",
                         old->name);
    if (old->identity != fresh->identity)
        kw_buffer_printf(out, "  field %s: %s\n", old->name,
                         fresh->identity ? "is now part of a record's identity"
                                         : "is no longer part of a record's identity");
}

static void
diff_fields(const kw_table *old, const kw_table *fresh, kw_arena *arena, kw_buffer *out)
{
    for (size_t index = 0; index < old->fields_count; index++) {
        int other = kw_table_find_field(fresh, kw_bytes_of_text(old->fields[index].name));
        if (other < 0)
            kw_buffer_printf(out, "  field %s is removed\n", old->fields[index].name);
        else
            diff_field(&old->fields[index], &fresh->fields[other], arena, out);
    }
    for (size_t index = 0; index < fresh->fields_count; index++) {
        if (kw_table_find_field(old, kw_bytes_of_text(fresh->fields[index].name)) < 0)
            kw_buffer_printf(out, "  field %s is new (%s)\n", fresh->fields[index].name,
                             kw_field_type_names[fresh->fields[index].type]);
    }
    if (old->model->updates != fresh->model->updates)
        kw_buffer_printf(out, "  updates: %s -> %s\n", old->model->updates ? "true" : "false",
                         fresh->model->updates ? "true" : "false");
}

/* --- paths ----------------------------------------------------------------------------------------- */

static void
print_rule(const kw_layout *layout, char sign, kw_buffer *out)
{
    for (size_t index = 0; index < kw_layout_component_count(layout); index++)
        kw_buffer_printf(out, "    %c %s\n", sign, kw_layout_component_text(layout, index));
}

#define DEPENDS "`keyway policy apply --dry-run` says whether "

/* False if the path is an association, has chosen buckets, or fields that can change: then its key rule
 * cannot be changed while its table has rows. Nor can that of the primary path, if another path has fields
 * that can change. Does not check the other conditions of a change. */
static bool
can_change_online(const kw_path *path)
{
    bool followed = path == path->table->paths && path->table->hint_paths_count;
    return path->content == KW_CONTENT_RECORDS && !followed &&
           kw_layout_choice(path->layout).kind == KW_CHOICE_NONE;
}

/* Prints what happens if the table has rows. `online`: what policy.source store does then; NULL: it rejects
 * the policy as well. */
static void
print_consequence(const char *online, kw_buffer *out)
{
    static const char rejected[] = "rejected if the table holds rows";
    kw_buffer_printf(out, "    policy.source file: %s\n    policy.source store: %s\n", rejected,
                     online ? online : rejected);
}

static void
print_move(const kw_path *old, const kw_path *fresh, kw_buffer *out)
{
    static const char online[] = DEPENDS "the rows can be moved while the table is served";
    print_consequence(can_change_online(old) && can_change_online(fresh) ? online : NULL, out);
}

/* What policy.source store does with a new path if the table has rows; NULL: it rejects the policy. A path
 * cannot be added online if it is an association or unique, or if any path of the table has chosen buckets.
 * Beside a path with fields that can change, it depends on the store. */
static const char *
consequence_of_adding(const kw_path *path)
{
    const kw_table *table = path->table;
    bool beside_hints = path->content == KW_CONTENT_RECORDS && table->hint_paths_count > 0;
    if (path->content == KW_CONTENT_LOCATORS || path->unique)
        return NULL;
    for (size_t index = 0; index < table->queried_paths_count; index++)
        if (kw_layout_choice(table->paths[index].layout).kind != KW_CHOICE_NONE)
            return NULL;
    return beside_hints ? DEPENDS "the path can be added while the table is served"
                        : "`keyway policy apply` copies the rows while the table is served";
}

static void
diff_path(const kw_diff_records *records, const kw_path *old, const kw_path *fresh, kw_buffer *out)
{
    const kw_layout *before = old->layout, *after = fresh->layout;
    const kw_model_path *old_text = kw_path_text(old), *text = kw_path_text(fresh);
    if (strcmp(kw_layout_fingerprint(before), kw_layout_fingerprint(after)) != 0) {
        kw_buffer_printf(out, "  path %s: another key rule (layout %u, %.*s -> layout %u, %.*s)\n", old->name,
                         (unsigned)old_text->layout, FINGERPRINT_DIGITS, kw_layout_fingerprint(before),
                         (unsigned)text->layout, FINGERPRINT_DIGITS, kw_layout_fingerprint(after));
        print_rule(before, '-', out);
        print_rule(after, '+', out);
        print_move(old, fresh, out);
        kw_diff_moves(records, before, after, out);
    } else if (old_text->layout != text->layout) {
        kw_buffer_printf(out, "  path %s: layout %u -> %u, though the rule is the same\n", old->name,
                         (unsigned)old_text->layout, (unsigned)text->layout);
        print_move(old, fresh, out);
    } else if (strcmp(old_text->store_table, text->store_table) != 0) {
        kw_buffer_printf(out, "  path %s: store table %s -> %s\n", old->name, old_text->store_table,
                         text->store_table);
        print_consequence(can_change_online(old) && can_change_online(fresh)
                              ? "rejected if the table holds rows, unless the layout number changes as well"
                              : NULL,
                          out);
    }
}

static void
diff_paths(const kw_diff_records *records, kw_buffer *out)
{
    const kw_table *old = records->old, *fresh = records->fresh;
    for (size_t index = 0; index < old->paths_count; index++) {
        const kw_path *path = &old->paths[index];
        int other = kw_table_find_path(fresh, kw_bytes_of_text(path->name));
        if (other < 0)
            kw_buffer_printf(out, "  path %s is removed; its store table %.*s remains unchanged%s\n",
                             path->name, (int)path->store_table.size, (const char *)path->store_table.data,
                             path->content == KW_CONTENT_HINTS
                                 ? "; on HBase, policy.source file rejects this if the table holds rows"
                                 : "");
        else
            diff_path(records, path, &fresh->paths[other], out);
    }
    for (size_t index = 0; index < fresh->paths_count; index++) {
        const kw_path *path = &fresh->paths[index];
        if (kw_table_find_path(old, kw_bytes_of_text(path->name)) >= 0)
            continue;
        kw_buffer_printf(out, "  path %s is new (layout %u, %.*s)\n", path->name,
                         kw_layout_number(path->layout), FINGERPRINT_DIGITS,
                         kw_layout_fingerprint(path->layout));
        print_consequence(consequence_of_adding(path), out);
    }
}

/* --- tables ---------------------------------------------------------------------------------------- */

static void
diff_table(const kw_table *old, const kw_table *fresh, const kw_diff_sample *sample, kw_arena *arena,
           kw_buffer *out)
{
    g_auto(kw_buffer) body = KW_BUFFER_EMPTY, queries = KW_BUFFER_EMPTY;
    kw_diff_records records;
    kw_diff_records_make(old, fresh, sample, arena, &records);
    diff_fields(old, fresh, arena, &body);
    diff_paths(&records, &body);
    kw_diff_queries(&records, &queries);
    if (body.size + queries.size > 0)
        kw_buffer_printf(out, "table %s\n", old->name);
    kw_buffer_append(out, kw_buffer_bytes(&body));
    if (queries.size > 0)
        kw_buffer_printf(out, "  queries\n");
    kw_buffer_append(out, kw_buffer_bytes(&queries));
}

const char *
kw_policy_diff(const kw_policy *old, const kw_policy *fresh, const kw_diff_sample *sample, kw_arena *arena)
{
    static const kw_diff_sample none;
    g_auto(kw_buffer) out = KW_BUFFER_EMPTY;
    kw_effort *effort = sample ? sample->effort : NULL;
    for (size_t number = 0; number < kw_policy_table_count(old) && kw_effort_spend(effort, KW_EFFORT_LOOK);
         number++) {
        const kw_table *table = kw_policy_table(old, number);
        const kw_table *other = kw_policy_find_table(fresh, kw_bytes_of_text(table->name));
        if (other)
            diff_table(table, other, sample ? sample : &none, arena, &out);
        else
            kw_buffer_printf(&out, "table %s is removed; its store tables remain unchanged\n", table->name);
    }
    for (size_t number = 0; number < kw_policy_table_count(fresh); number++) {
        const kw_table *table = kw_policy_table(fresh, number);
        if (!kw_policy_find_table(old, kw_bytes_of_text(table->name)))
            kw_buffer_printf(&out, "table %s is new, with %zu store tables\n", table->name,
                             table->paths_count);
    }
    if (out.size == 0)
        kw_buffer_printf(&out, "no difference in tables, fields, rules and queries\n");
    return kw_arena_text(arena, kw_buffer_bytes(&out));
}
