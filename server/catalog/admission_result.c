/* What an admission has found out; see catalog.h. */
#include "catalog/admission_internal.h"

bool
kw_admission_has_path(const kw_admission *admission, size_t table, size_t path)
{
    g_assert(table < admission->count && path < admission->wanted[table]->paths_count);
    const kw_facts *recorded = admission->recorded[table];
    return recorded && kw_facts_has_path(recorded, &admission->wanted[table]->paths[path]);
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
