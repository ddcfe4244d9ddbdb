#include "catalog/import_cells.h"

#include "catalog/version_internal.h"
#include "store/check.h"

#include <string.h>

/* Steps of a time zone are shorter (zones.h). */
#define ZONE_BYTES_MAX ((size_t)16 * 1024)
#define NAME_BYTES_MAX ((size_t)1000)

static bool
refuse(const kw_saved_cell *cell, const char *why, kw_error *ret_error)
{
    return kw_error_set(ret_error, KW_INVALID, "row %s, column %s: %s", kw_show(cell->row).text,
                        kw_show(cell->column).text, why);
}

static bool
is_text(kw_bytes bytes, size_t most)
{
    return bytes.size <= most && g_utf8_validate_len((const char *)bytes.data, bytes.size, NULL) &&
           (bytes.size == 0 || !memchr(bytes.data, 0, bytes.size));
}

/* --- the row of facts ------------------------------------------------------------------------------- */

static bool
check_table(const kw_saved_cell *cell, kw_bytes name, kw_arena *arena, kw_error *ret_error)
{
    kw_facts *facts;
    if (cell->value.size == 0) /* a table that was forgotten */
        return true;
    if (!kw_facts_parse(cell->value, arena, &facts, ret_error)) /* REFUSED: of a later release */
        return ret_error->code != KW_REFUSED && refuse(cell, "these are no facts of a table", ret_error);
    return kw_bytes_equal(kw_bytes_of_text(facts->table), name) ||
           refuse(cell, "these are the facts of another table", ret_error);
}

static bool
check_version_name(const kw_saved_cell *cell, kw_import_step step, kw_error *ret_error)
{
    kw_version_name name;
    if (step != KW_IMPORT_END)
        return refuse(cell, "the current policy version belongs to the end of the import", ret_error);
    return kw_version_parse(cell->value, &name, ret_error) ||
           refuse(cell, "this is no name of a policy version", ret_error);
}

static bool
check_facts(const kw_saved_cell *cell, kw_import_step step, kw_arena *arena, kw_error *ret_error)
{
    kw_bytes table = KW_BYTES_LITERAL(KW_CATALOG_TABLE_PREFIX);
    kw_bytes created = KW_BYTES_LITERAL(KW_CATALOG_CREATED_PREFIX);
    kw_bytes zone = KW_BYTES_LITERAL(KW_CATALOG_ZONE_PREFIX);
    kw_change_record *records;
    size_t count;
    if (kw_bytes_starts_with(cell->column, table))
        return check_table(cell, kw_bytes_skip(cell->column, table.size), arena, ret_error);
    if (kw_bytes_equal(cell->column, KW_CATALOG_CHANGES))
        return kw_changes_parse(cell->value, arena, &records, &count, ret_error) ||
               refuse(cell, "these are no records of changes", ret_error);
    if (kw_bytes_equal(cell->column, KW_CATALOG_POLICY))
        return check_version_name(cell, step, ret_error);
    bool known = kw_bytes_starts_with(cell->column, created) || kw_bytes_starts_with(cell->column, zone);
    return (known && is_text(cell->column, NAME_BYTES_MAX) && is_text(cell->value, ZONE_BYTES_MAX)) ||
           refuse(cell, "Keyway writes no such cell", ret_error);
}

/* --- other rows ------------------------------------------------------------------------------------- */

static bool
check_version(const kw_saved_cell *cell, kw_error *ret_error)
{
    if (kw_bytes_equal(cell->column, KW_VERSION_TEXT))
        return is_text(cell->value, KW_VERSION_TEXT_MAX) ||
               refuse(cell, "this is no text of a policy", ret_error);
    bool known =
        kw_bytes_equal(cell->column, KW_VERSION_AUTHOR) || kw_bytes_equal(cell->column, KW_VERSION_REASON) ||
        kw_bytes_equal(cell->column, KW_VERSION_AT) || kw_bytes_equal(cell->column, KW_VERSION_PREVIOUS);
    return (known && is_text(cell->value, ZONE_BYTES_MAX)) ||
           refuse(cell, "Keyway writes no such cell", ret_error);
}

static bool
check_cell(const kw_saved_cell *cell, kw_import_step step, kw_arena *arena, kw_error *ret_error)
{
    kw_version_name name;
    if (kw_bytes_equal(cell->row, KW_CATALOG_FACTS_ROW))
        return check_facts(cell, step, arena, ret_error);
    if (kw_version_parse_row(cell->row, arena, &name))
        return check_version(cell, ret_error);
    return refuse(cell, "Keyway writes no such row", ret_error);
}

bool
kw_import_check(const kw_catalog_import *import, kw_arena *arena, kw_error *ret_error)
{
    const char *id = import->export_id;
    if (strlen(id) != 64 || strspn(id, "0123456789abcdef") != 64)
        return kw_error_set(ret_error, KW_INVALID, "export_id must have 64 hexadecimal digits");
    for (size_t i = 0; i < import->count; i++)
        if (!check_cell(&import->cells[i], import->step, arena, ret_error))
            return false;
    return true;
}
