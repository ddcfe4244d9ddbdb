/* The records of changes in an admission (changes.h): checks the step, and decides which records the commit
 * puts. */
#include "catalog/admission_internal.h"

#include <string.h>

static bool
is_of_several(const kw_change_record *record)
{
    return record->under_way && record->writers == KW_CHANGE_SEVERAL_WRITERS;
}

/* True if the records agree in what gateways write between two steps. Does not compare the progress of the
 * holder. */
static bool
same_commands(const kw_change_record *a, const kw_change_record *b)
{
    return a->goal == b->goal && a->completing == b->completing && a->paused == b->paused &&
           a->rows_per_second == b->rows_per_second && a->share_percent == b->share_percent &&
           g_str_equal(a->holder, b->holder);
}

static const kw_change_record *
find_in_base(const kw_change_step *step, const kw_change_record *record)
{
    return kw_changes_find(step->base, step->base_count, record->table, record->path);
}

/* Refuses a step that would undo a command of the operator, or the takeover by another holder. */
static bool
check_commands(const kw_admission *admission, const kw_change_record *base, kw_error *ret_error)
{
    const kw_catalog_image *image = admission->image;
    const kw_catalog *catalog = admission->catalog;
    const kw_change_step *step = admission->step;
    const kw_change_record *next = kw_changes_find(step->records, step->count, base->table, base->path);
    if (!is_of_several(base) || !kw_change_record_differs(base, next))
        return true;
    if (!same_commands(base, kw_changes_find(image->changes, image->changes_count, base->table, base->path)))
        return kw_error_set(ret_error, KW_UNAVAILABLE,
                            "table %s, path %s: a command for the change was run, or its holder has "
                            "changed since they were read; try again",
                            base->table, base->path);
    return !catalog->settings.shared || g_str_equal(base->holder, catalog->instance) ||
           kw_error_set(ret_error, KW_UNAVAILABLE, "table %s, path %s: another gateway holds the change",
                        base->table, base->path);
}

bool
kw_admission_take_step(kw_admission *admission, kw_error *ret_error)
{
    const kw_catalog_image *image = admission->image;
    const kw_change_step *step = admission->step;
    if (!step)
        return true;
    if (kw_changes_differ(step->base, step->base_count, image->changes, image->changes_count))
        return kw_error_set(ret_error, KW_UNAVAILABLE,
                            "a change of a table has had another step since it was read; try again");
    for (size_t i = 0; i < step->base_count; i++)
        if (!check_commands(admission, &step->base[i], ret_error))
            return false;
    admission->taken = *step;
    admission->taken.base = image->changes; /* with the newest progress */
    admission->taken.base_count = image->changes_count;
    return true;
}

const kw_change_step *
kw_admission_step(const kw_admission *admission)
{
    return admission->step ? &admission->taken : NULL;
}

/* --- the place of a change ------------------------------------------------------------------------- */

static bool
same_role(const kw_role *a, const kw_role *b)
{
    return a->put == b->put && a->remove == b->remove && a->get == b->get && a->scan == b->scan;
}

/* A table to which hint paths are added keeps its own regime. */
static bool
has_regime_of(const kw_table *table, const kw_change_record *record)
{
    const kw_regime *regime = table->regime_of_change;
    return record->hints ? !regime : regime && kw_regime_equal(*regime, kw_change_regime_of(record));
}

/* True if the table is compiled for the place. Another place for which it would be compiled in the same way
 * is as good. */
static bool
is_compiled_for(const kw_path *path, const kw_change_record *record)
{
    const kw_table *table = path->table;
    kw_change_rules rules = kw_change_rules_of(record);
    bool adds = record->adds;
    if (record->atomics)
        return table->change == KW_TABLE_TURNS_ATOMICS && path->placements_count == 1;
    const kw_placement *old = adds ? table->paths->placements : &path->placements[1];
    return path->placements_count == (adds ? 1 : 2) &&
           same_role(&path->placements[0].role, &rules.new_role) && same_role(&old->role, &rules.old_role) &&
           has_regime_of(table, record);
}

/* Finds the path by its placement, because a path that is being dropped is not among the paths of the table.
 */
static const kw_path *
find_path(const kw_table *table, const char *name)
{
    for (size_t i = 0; i < table->placements_count; i++)
        if (g_str_equal(table->placements[i].path->name, name))
            return table->placements[i].path;
    return NULL;
}

static bool
check_path(const kw_admission *admission, const kw_change_record *record, const char *name,
           kw_error *ret_error)
{
    const kw_table *table = kw_policy_find_table(admission->policy, kw_bytes_of_text(record->table));
    const kw_path *path = table ? find_path(table, name) : NULL;
    return !path || is_compiled_for(path, record) ||
           kw_error_set(ret_error, KW_UNAVAILABLE,
                        "table %s, path %s: its change has another place than this policy was loaded with; "
                        "try again",
                        record->table, name);
}

static bool
check_served(const kw_admission *admission, const kw_change_record *record, kw_error *ret_error)
{
    for (size_t i = 0; i < kw_change_paths_count(record); i++)
        if (!check_path(admission, record, kw_change_path_name(record, i), ret_error))
            return false;
    return true;
}

bool
kw_admission_check_versions(const kw_admission *admission, kw_error *ret_error)
{
    const kw_change_step *step = admission->step;
    const kw_change_record *records = step ? step->records : admission->image->changes;
    size_t count = step ? step->count : admission->image->changes_count;
    for (size_t i = 0; i < count; i++)
        if (is_of_several(&records[i]) && !check_served(admission, &records[i], ret_error))
            return false;
    return true;
}

/* --- the records to put ------------------------------------------------------------------------------ */

static const char *
renamed_to(const kw_admission *admission, const char *table)
{
    for (size_t i = 0; i < admission->count; i++)
        if (g_strcmp0(admission->changes[i].renamed_from, table) == 0)
            return admission->changes[i].merged->table;
    return NULL;
}

/* The newest form of a record that the step does not change: with several writers, another gateway can have
 * edited it. */
static kw_change_record
newest(const kw_admission *admission, const kw_change_record *record)
{
    const kw_catalog_image *image = admission->image;
    const kw_change_record *base = admission->step ? find_in_base(admission->step, record) : NULL;
    if (!base || !is_of_several(record) || kw_change_record_differs(base, record))
        return *record;
    return *kw_changes_find(image->changes, image->changes_count, record->table, record->path);
}

bool
kw_admission_records(const kw_admission *admission, const kw_change_record **ret_records, size_t *ret_count)
{
    const kw_change_record *from = admission->step ? admission->step->records : admission->image->changes;
    size_t count = admission->step ? admission->step->count : admission->image->changes_count;
    kw_change_record *records = KW_ARENA_ARRAY(admission->arena, kw_change_record, count);
    bool renamed = false;
    for (size_t i = 0; i < count; i++) {
        const char *name = renamed_to(admission, from[i].table);
        records[i] = newest(admission, &from[i]);
        if (name && !kw_changes_find(from, count, name, from[i].path)) {
            records[i].table = name;
            renamed = true;
        }
    }
    *ret_records = records;
    *ret_count = count;
    return admission->step || renamed;
}

/* --- renamed tables ---------------------------------------------------------------------------------- */

static bool
is_given(const kw_facts *wanted, const kw_change_record *record)
{
    const char *store_table = kw_store_table_name(record->given.store_table);
    for (size_t i = 0; i < wanted->paths_count; i++) {
        const kw_placement_facts *placement = &wanted->paths[i].placements[0];
        if (placement->layout == record->given.layout && g_str_equal(placement->store_table, store_table))
            return true;
    }
    return false;
}

/* Refuses a renamed table whose text still names the placement from before its key rule was changed: there it
 * would begin without rows. */
bool
kw_admission_check_given(const kw_admission *admission, size_t table, kw_error *ret_error)
{
    g_assert(table < admission->count);
    const kw_catalog_image *image = admission->image;
    const kw_facts *wanted = admission->wanted[table];
    for (size_t i = 0; !admission->recorded[table] && i < image->changes_count; i++) {
        const kw_change_record *record = &image->changes[i];
        bool served = kw_policy_find_table(admission->policy, kw_bytes_of_text(record->table));
        if (!served && is_given(wanted, record))
            return kw_error_set(
                ret_error, KW_REFUSED,
                "table %s: this policy names the store table %s and layout %u, which path %s of table %s had "
                "before its key rule was changed; to rename table %s, set layout: %u and store_table: %s, or "
                "run keyway forget %s first",
                wanted->table, record->given.store_table, record->given.layout, record->path, record->table,
                record->table, record->now.layout, record->now.store_table, record->table);
    }
    return true;
}
