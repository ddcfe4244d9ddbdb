/* See adopt.h. */
#include "catalog/adopt.h"

/* Splits "orders/by_time/2" into its three parts. False if it is not such a row of this table. */
static bool
cut_row(const char *row, const char *table, kw_arena *arena, const char **ret_path, uint32_t *ret_layout)
{
    size_t size = strlen(table);
    if (!g_str_has_prefix(row, table) || row[size] != '/')
        return false;
    const char *path = row + size + 1;
    const char *slash = strchr(path, '/');
    guint64 layout;
    if (!slash || slash == path || !g_ascii_string_to_unsigned(slash + 1, 10, 1, UINT32_MAX, &layout, NULL))
        return false;
    *ret_path = kw_arena_text(arena, kw_bytes_of(path, (size_t)(slash - path)));
    *ret_layout = (uint32_t)layout;
    return true;
}

/* The store table whose row names this row (TABLE/PATH/LAYOUT); NULL if there is none. */
static const char *
find_store_table(const kw_catalog_image *image, const char *layout_row)
{
    for (size_t i = 0; i < image->legacy_count; i++)
        if (g_str_has_prefix(image->legacy[i].row, "store/") &&
            g_str_equal(image->legacy[i].description, layout_row))
            return kw_store_table_name(image->legacy[i].row + strlen("store/"));
    return NULL;
}

static kw_path_facts *
path_named(kw_facts *facts, const char *name, size_t most, const kw_facts *wanted, kw_arena *arena)
{
    kw_path_facts *found = (kw_path_facts *)kw_facts_find_path(facts, name);
    if (found)
        return found;
    const kw_path_facts *like = kw_facts_find_path(wanted, name);
    kw_path_facts *path = &facts->paths[facts->paths_count++];
    *path = (kw_path_facts){.name = name,
                            .association = like && like->association,
                            .placements = KW_ARENA_ARRAY(arena, kw_placement_facts, most)};
    return path;
}

/* Marks one placement of the path as complete: that with the policy's layout, or else the one with the
 * highest layout. The others become retired. */
static void
choose_serving(kw_path_facts *path, const kw_facts *wanted)
{
    const kw_path_facts *like = kw_facts_find_path(wanted, path->name);
    kw_placement_facts *serving = &path->placements[0];
    for (size_t i = 0; i < path->placements_count; i++) {
        kw_placement_facts *each = &path->placements[i];
        each->state = KW_PLACEMENT_RETIRED;
        bool chosen = like && serving->layout == like->placements[0].layout;
        if (!chosen &&
            (each->layout > serving->layout || (like && each->layout == like->placements[0].layout)))
            serving = each;
    }
    serving->state = KW_PLACEMENT_COMPLETE;
}

/* The primary path comes first, as in every kw_facts. */
static bool
move_primary_first(kw_facts *facts, const kw_facts *wanted)
{
    for (size_t i = 0; i < facts->paths_count; i++) {
        if (!g_str_equal(facts->paths[i].name, wanted->paths[0].name))
            continue;
        kw_path_facts primary = facts->paths[i];
        facts->paths[i] = facts->paths[0];
        facts->paths[0] = primary;
        return true;
    }
    return false;
}

kw_facts *
kw_catalog_adopt(const kw_catalog_image *image, const kw_facts *wanted, kw_arena *arena)
{
    kw_facts *facts = KW_ARENA_NEW(arena, kw_facts);
    *facts = *wanted;
    facts->paths = KW_ARENA_ARRAY(arena, kw_path_facts, image->legacy_count);
    facts->paths_count = 0;
    for (size_t i = 0; i < image->legacy_count; i++) {
        const kw_legacy_row *row = &image->legacy[i];
        const char *name, *store_table = find_store_table(image, row->row);
        uint32_t layout;
        if (!store_table || !cut_row(row->row, wanted->table, arena, &name, &layout))
            continue;
        kw_path_facts *path = path_named(facts, name, image->legacy_count, wanted, arena);
        path->placements[path->placements_count++] = (kw_placement_facts){.layout = layout,
                                                                          .fingerprint = row->fingerprint,
                                                                          .rule = row->description,
                                                                          .store_table = store_table};
    }
    for (size_t i = 0; i < facts->paths_count; i++)
        choose_serving(&facts->paths[i], wanted);
    return facts->paths_count && move_primary_first(facts, wanted) ? facts : NULL;
}

/* --- store tables under another name --------------------------------------------------------------- */

static const kw_legacy_row *
find_store_row(const kw_catalog_image *image, const char *store_table)
{
    for (size_t i = 0; i < image->legacy_count; i++) {
        const char *row = image->legacy[i].row;
        if (g_str_has_prefix(row, "store/") &&
            g_str_equal(kw_store_table_name(row + strlen("store/")), store_table))
            return &image->legacy[i];
    }
    return NULL;
}

bool
kw_catalog_check_legacy(const kw_catalog_image *image, const kw_facts *wanted, const kw_evidence *evidence,
                        kw_error *ret_error)
{
    for (size_t i = 0; i < wanted->paths_count; i++) {
        const kw_placement_facts *placement = &wanted->paths[i].placements[0];
        const kw_legacy_row *row = find_store_row(image, placement->store_table);
        if (row && !g_str_equal(row->fingerprint, placement->fingerprint) &&
            kw_evidence_find(evidence, placement->store_table) == KW_ROWS_SOME)
            return kw_error_set(
                ret_error, KW_REFUSED,
                "table %s, path %s: the store table %s holds rows of %s (table/path/layout), which have "
                "another key rule; name another store table",
                wanted->table, wanted->paths[i].name, placement->store_table, row->description);
    }
    return true;
}
