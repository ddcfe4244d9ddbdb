/* The records of changes in an admission (changes.h): the step that it is for, and what the commit puts. */
#include "catalog/admission_internal.h"

#include <string.h>

bool
kw_admission_take_step(kw_admission *admission, kw_error *ret_error)
{
    const kw_catalog_image *image = admission->image;
    const kw_change_step *step = admission->step;
    if (!step)
        return true;
    if (kw_changes_differ(step->base, step->base_count, image->changes, image->changes_count))
        return kw_error_set(ret_error, KW_BUSY,
                            "a change of a key rule has had another step since it was read; try again");
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

static const char *
renamed_to(const kw_admission *admission, const char *table)
{
    for (size_t i = 0; i < admission->count; i++)
        if (g_strcmp0(admission->changes[i].renamed_from, table) == 0)
            return admission->changes[i].merged->table;
    return NULL;
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
        records[i] = from[i];
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

/* A table under another name would begin without rows in the placement that it had before its key rule was
 * changed. */
bool
kw_admission_check_given(const kw_admission *admission, size_t table, kw_error *ret_error)
{
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
