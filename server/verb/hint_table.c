#include "verb/hint_table.h"

#include "hint/clean.h"

#include <inttypes.h>

int64_t
kw_hint_table_ttl_s(const kw_placement *placement, kw_arena *arena)
{
    const kw_table *table = placement->path->table;
    int64_t *ttls = KW_ARENA_ARRAY(arena, int64_t, placement->tuple_count);
    bool keeps = placement->path->unique; /* claims do not expire */
    for (size_t i = 0; i < placement->tuple_count; i++) {
        const kw_model_family *family =
            kw_table_find_family(table, table->fields[placement->tuple[i]].family);
        ttls[i] = family ? family->ttl_seconds : 0;
        keeps = keeps || (family && family->min_versions > 0);
    }
    int64_t ttl_s = kw_hint_ttl_s(ttls, (unsigned)placement->tuple_count, keeps);
    return ttl_s <= INT32_MAX ? ttl_s : 0;
}

static const char *
lifetime(int64_t ttl_s, kw_arena *arena)
{
    return ttl_s > 0 ? kw_arena_printf(arena, "for %" PRId64 " s", ttl_s) : "without a ttl";
}

static bool
is_shorter(int64_t ttl_s, int64_t than_s)
{
    return ttl_s > 0 && (than_s == 0 || ttl_s < than_s);
}

static bool
check_hints(const kw_placement *placement, const kw_family_spec *family, kw_arena *arena, kw_error *ret_error)
{
    const kw_path *path = placement->path;
    int64_t needed_s = kw_hint_table_ttl_s(placement, arena);
    kw_bytes name = placement->store_table;
    const char *remedy =
        needed_s > 0 ? kw_arena_printf(arena, "give the family a ttl of at least %" PRId64 " s", needed_s)
                     : "remove the ttl of the family";
    return !is_shorter(family->ttl_seconds, needed_s) ||
           kw_error_set(ret_error, KW_REFUSED,
                        "table %s, path %s: family %s of the store table %.*s keeps cells %s, so rows of the "
                        "path expire before the fields in their keys; in the store, %s",
                        path->table->name, path->name, family->name, (int)name.size, (const char *)name.data,
                        lifetime(family->ttl_seconds, arena), remedy);
}

static bool
has_field(const kw_placement *placement, const kw_family_spec *family)
{
    bool has = false;
    const kw_field *fields = placement->path->table->fields;
    for (size_t i = 0; !has && i < placement->tuple_count; i++)
        has = kw_bytes_equal(fields[placement->tuple[i]].family, kw_bytes_of_text(family->name));
    return has;
}

/* The first path whose hints expire and whose key has a field of the family that can change; NULL if there is
 * none. */
static const kw_path *
find_expiring(const kw_table *table, const kw_family_spec *family, kw_arena *arena)
{
    for (size_t i = 0; i < table->placements_count; i++)
        if (has_field(&table->placements[i], family) && kw_hint_table_ttl_s(&table->placements[i], arena) > 0)
            return table->placements[i].path;
    return NULL;
}

/* The TTL of hints was computed from the policy's settings of the family. */
static bool
check_records(const kw_placement *placement, const kw_family_spec *family, kw_arena *arena,
              kw_error *ret_error)
{
    const kw_table *table = placement->path->table;
    const kw_path *path = find_expiring(table, family, arena);
    const kw_model_family *policy = kw_table_find_family(table, kw_bytes_of_text(family->name));
    bool outlives =
        path && (is_shorter(policy->ttl_seconds, family->ttl_seconds) || family->min_versions > 0);
    kw_bytes name = placement->store_table;
    return !outlives ||
           kw_error_set(
               ret_error, KW_REFUSED,
               "table %s: family %s of the store table %.*s keeps cells %s%s, and the policy says %s; "
               "the rows of path %s, whose key has fields that can change, would expire before the "
               "records: give the family the same settings in the policy and in the store",
               table->name, family->name, (int)name.size, (const char *)name.data,
               lifetime(family->ttl_seconds, arena),
               family->min_versions > 0 ? " and some versions of them longer" : "",
               lifetime(policy->ttl_seconds, arena), path->name);
}

bool
kw_hint_table_check(const kw_placement *placement, const kw_family_spec *family, kw_arena *arena,
                    kw_error *ret_error)
{
    const kw_path *path = placement->path;
    switch (placement->content) {
    case KW_CONTENT_HINTS:
        return check_hints(placement, family, arena, ret_error);
    case KW_CONTENT_RECORDS:
        return path != path->table->paths || check_records(placement, family, arena, ret_error);
    case KW_CONTENT_LOCATORS:
        return true;
    }
    g_assert_not_reached();
}
