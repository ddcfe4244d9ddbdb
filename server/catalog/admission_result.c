/* What an admission has found out; see catalog.h. */
#include "catalog/admission_internal.h"

bool
kw_admission_is_refused(const kw_admission *admission, size_t table)
{
    g_assert(table < admission->count);
    return admission->refusals[table] != NULL;
}

bool
kw_admission_is_optional(const kw_admission *admission, size_t table)
{
    g_assert(table < admission->count);
    return admission->optional[table];
}

bool
kw_admission_has_refusal(const kw_admission *admission)
{
    for (size_t i = 0; i < admission->count; i++)
        if (admission->refusals[i])
            return true;
    return false;
}

const kw_error *
kw_admission_refusal(const kw_admission *admission, size_t table)
{
    g_assert(table < admission->count);
    return admission->refusals[table];
}

void
kw_admission_leave_out(kw_admission *admission, size_t table, const kw_error *why)
{
    g_assert(table < admission->count && why->code != KW_OK);
    kw_error *kept = KW_ARENA_NEW(admission->arena, kw_error);
    *kept = *why;
    admission->refusals[table] = kept;
    admission->changes[table] = (kw_facts_change){0};
}

/* True for errors that end when the store, the catalog or another gateway has changed: the whole admission is
 * repeated then. */
static bool
is_passing(kw_code code)
{
    return code == KW_BUSY || code == KW_UNAVAILABLE || code == KW_TIMEOUT;
}

bool
kw_admission_refuse(kw_admission *admission, size_t table, const kw_error *why, kw_error *ret_error)
{
    g_assert(table < admission->count);
    if (!admission->preview && (!admission->optional[table] || is_passing(why->code))) {
        *ret_error = *why;
        return false;
    }
    kw_admission_leave_out(admission, table, why);
    return true;
}

size_t
kw_admission_list_exclusive(const kw_admission *admission, const char ***ret_tables)
{
    const char **tables = KW_ARENA_ARRAY(admission->arena, const char *, 2 * admission->count + 1);
    size_t count = 0;
    for (size_t i = 0; i < admission->count; i++) {
        const kw_facts_change *change = &admission->changes[i];
        if (!change->exclusive)
            continue;
        tables[count++] = change->merged->table;
        if (change->renamed_from)
            tables[count++] = change->renamed_from;
    }
    *ret_tables = tables;
    return count;
}

/* The placement of a path of a table that the catalog does not contain; NULL: another one. */
static kw_placement_facts *
find_new(const kw_admission *admission, size_t table, size_t path)
{
    g_assert(table < admission->count && path < admission->wanted[table]->paths_count);
    const kw_facts *merged = admission->changes[table].merged;
    bool is_new = merged && !admission->recorded[table] && !admission->wanted[table]->paths[path].association;
    return is_new ? &merged->paths[path].placements[0] : NULL;
}

bool
kw_admission_is_unchecked(const kw_admission *admission, size_t table, size_t path)
{
    const kw_placement_facts *placement = find_new(admission, table, path);
    return placement && !placement->verified && placement->checked_rows == 0;
}

void
kw_admission_note_checked(kw_admission *admission, size_t table, size_t path, int64_t rows, int64_t at_ms)
{
    kw_placement_facts *placement = find_new(admission, table, path);
    g_assert(placement);
    placement->checked_rows = rows;
    placement->checked_at_ms = at_ms;
}

int64_t
kw_admission_checked_rows(const kw_admission *admission, size_t table, size_t path)
{
    const kw_placement_facts *placement = find_new(admission, table, path);
    return placement ? placement->checked_rows : 0;
}

const kw_placement_facts *
kw_admission_placement(const kw_admission *admission, size_t table, size_t path)
{
    g_assert(table < admission->count && path < admission->wanted[table]->paths_count);
    return kw_path_facts_find_live(&admission->changes[table].merged->paths[path],
                                   &admission->wanted[table]->paths[path].placements[0]);
}

kw_write_order
kw_admission_order(const kw_admission *admission, size_t table)
{
    g_assert(table < admission->count);
    const char *order = admission->changes[table].merged->order;
    return g_str_equal(order, "stamp") ? KW_WRITE_ORDER_STAMP : KW_WRITE_ORDER_STORE;
}

bool
kw_admission_atomics(const kw_admission *admission, size_t table)
{
    g_assert(table < admission->count);
    return admission->changes[table].merged->atomics;
}

const kw_facts *
kw_admission_recorded(const kw_admission *admission, size_t table)
{
    g_assert(table < admission->count);
    return admission->recorded[table];
}

const kw_change_record *
kw_admission_change_records(const kw_admission *admission, size_t *ret_count)
{
    *ret_count = admission->image->changes_count;
    return admission->image->changes;
}
