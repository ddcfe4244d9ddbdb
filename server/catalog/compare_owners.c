/* Refuses store tables that belong to other tables of the catalog; see compare.h. */
#include "catalog/compare.h"

/* The first placement in this store table, and its path; NULL: none. */
static const kw_placement_facts *
find_owner(const kw_facts *facts, const char *store_table, const kw_path_facts **ret_path)
{
    for (size_t i = 0; i < facts->paths_count; i++)
        for (size_t j = 0; j < facts->paths[i].placements_count; j++) {
            const kw_placement_facts *each = &facts->paths[i].placements[j];
            if (each->state == KW_PLACEMENT_ABSENT || !g_str_equal(each->store_table, store_table))
                continue;
            *ret_path = &facts->paths[i];
            return each;
        }
    return NULL;
}

static bool
refuse_served(const kw_facts *other, const kw_path_facts *owner, const kw_facts *wanted,
              const kw_path_facts *path, const char *store_table, kw_error *ret_error)
{
    if (kw_path_facts_is_changing(owner))
        return kw_error_set(
            ret_error, KW_REFUSED,
            "table %s, path %s: the store table %s belongs to table %s, and a change of table "
            "%s, path %s is under way; name another one, or rename the table after the "
            "change has ended: see keyway change status %s",
            wanted->table, path->name, store_table, other->table, other->table, owner->name, other->table);
    return kw_error_set(ret_error, KW_REFUSED,
                        "table %s, path %s: the store table %s belongs to table %s; name another one, or "
                        "run keyway forget %s once no policy has that table",
                        wanted->table, path->name, store_table, other->table, other->table);
}

static bool
refuse_retired(const kw_facts *other, const kw_path_facts *owner, const kw_facts *wanted,
               const kw_path_facts *path, const char *store_table, kw_error *ret_error)
{
    const char *why =
        kw_path_facts_serving(owner) ? "which used it under an earlier key rule" : "which was dropped";
    return kw_error_set(ret_error, KW_REFUSED,
                        "table %s, path %s: the store table %s belongs to the path %s of table %s, %s; name "
                        "another one, or run keyway forget %s --path %s",
                        wanted->table, path->name, store_table, owner->name, other->table, why, other->table,
                        owner->name);
}

static bool
check_path(const kw_facts *other, const kw_facts *wanted, const kw_path_facts *path, kw_error *ret_error)
{
    for (size_t i = 0; i < path->placements_count; i++) {
        const kw_path_facts *owner;
        const char *store_table = path->placements[i].store_table;
        const kw_placement_facts *placement = find_owner(other, store_table, &owner);
        if (!placement)
            continue;
        return kw_placement_facts_is_live(placement)
                   ? refuse_served(other, owner, wanted, path, store_table, ret_error)
                   : refuse_retired(other, owner, wanted, path, store_table, ret_error);
    }
    return true;
}

bool
kw_facts_check_owner(const kw_facts *other, const kw_facts *wanted, kw_error *ret_error)
{
    for (size_t i = 0; i < wanted->paths_count; i++)
        if (!check_path(other, wanted, &wanted->paths[i], ret_error))
            return false;
    return true;
}
