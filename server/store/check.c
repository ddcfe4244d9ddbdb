/* HBase reports most of these mistakes as "internal error" or closes the connection; here each has its own
 * error text. The rules for names are HBase's (TableName, ColumnFamilyDescriptor), restricted to ASCII. */
#include "store/check.h"

#include "filter/filter.h"
#include "store/columns.h"

#include <stdio.h>

static bool
is_word(uint8_t byte)
{
    return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           byte == '_';
}

static bool
name_is_legal(kw_bytes name)
{
    const uint8_t *colon = name.size ? memchr(name.data, ':', name.size) : NULL;
    size_t space = colon ? (size_t)(colon - name.data) : 0;
    if (colon && space == 0)
        return false;
    for (size_t i = 0; i < space; i++)
        if (!is_word(name.data[i]))
            return false;
    kw_bytes own = colon ? kw_bytes_skip(name, space + 1) : name;
    if (own.size == 0 || own.data[0] == '.' || own.data[0] == '-')
        return false;
    for (size_t i = 0; i < own.size; i++)
        if (!is_word(own.data[i]) && own.data[i] != '.' && own.data[i] != '-')
            return false;
    return true;
}

bool
kw_check_table_name(kw_bytes name, kw_error *ret_error)
{
    if (name.size == 0)
        return kw_error_set(ret_error, KW_INVALID, "the table name is empty");
    if (name.size > KW_STORE_TABLE_NAME_MAX)
        return kw_error_set(ret_error, KW_INVALID, "table name of %zu bytes is longer than %d", name.size,
                            KW_STORE_TABLE_NAME_MAX);
    if (!name_is_legal(name))
        return kw_error_set(
            ret_error, KW_INVALID,
            "illegal table name \"%s\": use letters, digits, '_', '-' and '.', after an optional "
            "namespace and ':'",
            kw_show(name).text);
    return true;
}

static bool
check_row(kw_bytes table, kw_bytes row, kw_error *ret_error)
{
    if (!kw_check_table_name(table, ret_error))
        return false;
    if (row.size == 0)
        return kw_error_set(ret_error, KW_INVALID, "table %s: the row key is empty", kw_show(table).text);
    if (row.size > KW_STORE_ROW_KEY_MAX)
        return kw_error_set(ret_error, KW_INVALID, "table %s: row key of %zu bytes is longer than %d",
                            kw_show(table).text, row.size, KW_STORE_ROW_KEY_MAX);
    return true;
}

/* row_keys_bytes: of all rows of a record, to each of which that many cells are written. */
static bool
check_row_keys(kw_bytes table, size_t rows, size_t row_keys_bytes, size_t cells, kw_error *ret_error)
{
    if (cells <= KW_STORE_ROW_KEYS_MAX / MAX(row_keys_bytes, 1u))
        return true;
    return kw_error_set(
        ret_error, KW_LIMIT,
        "table %s: the call writes %zu cells to each of %zu row%s of a record; each cell is "
        "stored with its row key, and these keys would have %zu bytes, which is more than %d; "
        "write fewer cells in one call",
        kw_show(table).text, cells, rows, rows == 1 ? "" : "s", cells * row_keys_bytes,
        KW_STORE_ROW_KEYS_MAX);
}

static bool
check_column(kw_bytes table, kw_bytes family, kw_bytes qualifier, kw_error *ret_error)
{
    if (family.size == 0)
        return kw_error_set(ret_error, KW_INVALID, "table %s: a column has no family name",
                            kw_show(table).text);
    if (family.size > KW_STORE_FAMILY_NAME_MAX)
        return kw_error_set(ret_error, KW_INVALID, "table %s: family name of %zu bytes is longer than %d",
                            kw_show(table).text, family.size, KW_STORE_FAMILY_NAME_MAX);
    if (qualifier.size > KW_STORE_QUALIFIER_MAX)
        return kw_error_set(
            ret_error, KW_INVALID, "table %s: qualifier of %zu bytes in family %s is longer than %d",
            kw_show(table).text, qualifier.size, kw_show(family).text, KW_STORE_QUALIFIER_MAX);
    return true;
}

static bool
check_columns(kw_bytes table, const kw_column *columns, size_t count, kw_error *ret_error)
{
    for (size_t i = 0; i < count; i++) {
        kw_bytes qualifier = columns[i].whole_family ? KW_BYTES_NONE : columns[i].qualifier;
        if (!check_column(table, columns[i].family, qualifier, ret_error))
            return false;
    }
    return true;
}

static bool
check_cells(const kw_write *write, kw_error *ret_error)
{
    if (write->cells_count == 0 && write->markers_count == 0)
        return kw_error_set(ret_error, KW_INVALID, "table %s: the put has no cells",
                            kw_show(write->table).text);
    for (size_t i = 0; i < write->cells_count; i++) {
        const kw_cell *cell = &write->cells[i];
        if (!check_column(write->table, cell->family, cell->qualifier, ret_error))
            return false;
        if (cell->value.size > KW_STORE_VALUE_MAX)
            return kw_error_set(ret_error, KW_INVALID,
                                "table %s: value of %zu bytes in column %s:%s is larger than %d",
                                kw_show(write->table).text, cell->value.size, kw_show(cell->family).text,
                                kw_show(cell->qualifier).text, KW_STORE_VALUE_MAX);
    }
    return true;
}

static bool
check_markers(const kw_write *write, kw_error *ret_error)
{
    for (size_t i = 0; i < write->markers_count; i++)
        if (!write->markers[i].whole_row &&
            !check_columns(write->table, &write->markers[i].column, 1, ret_error))
            return false;
    return true;
}

static size_t
cells_of(const kw_write *write)
{
    return write->kind == KW_WRITE_PUT ? write->cells_count + write->markers_count : write->columns_count;
}

static bool
check_one_write(const kw_write *write, kw_error *ret_error)
{
    if (!check_row(write->table, write->row, ret_error))
        return false;
    if (write->timestamp < 0)
        return kw_error_set(ret_error, KW_INVALID, "table %s: timestamp %lld is negative",
                            kw_show(write->table).text, (long long)write->timestamp);
    if (write->kind == KW_WRITE_PUT)
        return check_cells(write, ret_error) && check_markers(write, ret_error);
    return check_columns(write->table, write->columns, write->columns_count, ret_error);
}

static bool
check_row_write(const kw_write *write, kw_error *ret_error)
{
    if (write->others_count > 0)
        return kw_error_set(ret_error, KW_INVALID,
                            "table %s: only a conditional write can name further rows of its record",
                            kw_show(write->table).text);
    return check_one_write(write, ret_error);
}

bool
kw_check_write(const kw_write *write, kw_error *ret_error)
{
    return check_row_write(write, ret_error) &&
           check_row_keys(write->table, 1, write->row.size, cells_of(write), ret_error);
}

bool
kw_check_write_of_many(const kw_write *const *writes, size_t count, size_t index, kw_error *ret_error)
{
    const kw_write *write = writes[index];
    size_t first = index, end = index + 1, row_keys_bytes = 0, cells = 0;
    while (write->record && first > 0 && writes[first - 1]->record == write->record)
        first--;
    while (write->record && end < count && writes[end]->record == write->record)
        end++;
    for (size_t i = first; i < end; i++) {
        row_keys_bytes += writes[i]->row.size;
        cells = MAX(cells, cells_of(writes[i]));
    }
    return check_row_write(write, ret_error) &&
           check_row_keys(write->table, end - first, row_keys_bytes, cells, ret_error);
}

static bool
same_row(kw_bytes table, kw_bytes row, const kw_row_target *other)
{
    return kw_bytes_equal(table, other->table) && kw_bytes_equal(row, other->row);
}

/* Checks the rows of a record after the first one, and the row keys of all of them. cells: written to each
 * row. */
static bool
check_others(kw_bytes table, kw_bytes row, const kw_row_target *others, size_t count, size_t cells,
             kw_error *ret_error)
{
    size_t row_keys_bytes = row.size;
    if (count >= KW_STORE_RECORD_ROWS_MAX)
        return kw_error_set(ret_error, KW_INVALID,
                            "table %s: the record has %zu rows, at most %d are allowed", kw_show(table).text,
                            count + 1, KW_STORE_RECORD_ROWS_MAX);
    for (size_t i = 0; i < count; i++) {
        if (!check_row(others[i].table, others[i].row, ret_error))
            return false;
        bool repeated = same_row(table, row, &others[i]);
        for (size_t before = 0; before < i; before++)
            repeated = repeated || same_row(others[before].table, others[before].row, &others[i]);
        if (repeated)
            return kw_error_set(ret_error, KW_INVALID, "table %s: the record has the same row twice",
                                kw_show(others[i].table).text);
        row_keys_bytes += others[i].row.size;
    }
    return check_row_keys(table, 1 + count, row_keys_bytes, cells, ret_error);
}

bool
kw_check_condition(const kw_write *write, const kw_check *check, kw_error *ret_error)
{
    if (!check_one_write(write, ret_error) ||
        !check_others(write->table, write->row, write->others, write->others_count, cells_of(write),
                      ret_error) ||
        !check_column(write->table, check->family, check->qualifier, ret_error))
        return false;
    if (!check->has_value && check->compare != KW_COMPARE_EQUAL && check->compare != KW_COMPARE_NOT_EQUAL)
        return kw_error_set(ret_error, KW_INVALID,
                            "table %s: a check of %s:%s without a value can only be EQUAL or NOT_EQUAL",
                            kw_show(write->table).text, kw_show(check->family).text,
                            kw_show(check->qualifier).text);
    if (check->has_value && check->value.size > KW_STORE_VALUE_MAX)
        return kw_error_set(ret_error, KW_INVALID,
                            "table %s: the value to compare %s:%s with has %zu bytes, which is more than %d",
                            kw_show(write->table).text, kw_show(check->family).text,
                            kw_show(check->qualifier).text, check->value.size, KW_STORE_VALUE_MAX);
    return true;
}

/* Each column that is read can become one cell. */
bool
kw_check_derivation(const kw_write *write, const kw_derivation *derivation, kw_error *ret_error)
{
    return check_one_write(write, ret_error) &&
           check_others(write->table, write->row, write->others, write->others_count,
                        cells_of(write) + derivation->columns_count, ret_error) &&
           check_columns(write->table, derivation->columns, derivation->columns_count, ret_error);
}

bool
kw_check_is_met(const kw_check *check, const kw_cell *stored)
{
    bool absent = !stored || stored->value.size == 0;
    if (!check->has_value || check->value.size == 0)
        return absent == (check->compare != KW_COMPARE_NOT_EQUAL);
    if (!stored)
        return false;
    int order = kw_bytes_compare(stored->value, check->value);
    switch (check->compare) {
    case KW_COMPARE_LESS:
        return order < 0;
    case KW_COMPARE_LESS_OR_EQUAL:
        return order <= 0;
    case KW_COMPARE_EQUAL:
        return order == 0;
    case KW_COMPARE_NOT_EQUAL:
        return order != 0;
    case KW_COMPARE_GREATER_OR_EQUAL:
        return order >= 0;
    case KW_COMPARE_GREATER:
        return order > 0;
    }
    g_assert_not_reached();
}

static bool
check_not_repeated(kw_bytes table, const kw_column *columns, size_t count, kw_error *ret_error)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    kw_sorted_columns sorted = kw_columns_sort(columns, count, arena);
    const kw_column *repeated = kw_columns_repeated(&sorted);
    return !repeated || kw_error_set(ret_error, KW_INVALID,
                                     "table %s: the increment names column %s:%s twice", kw_show(table).text,
                                     kw_show(repeated->family).text, kw_show(repeated->qualifier).text);
}

bool
kw_check_increment(const kw_increment *increment, kw_error *ret_error)
{
    const kw_column *columns = increment->columns;
    kw_bytes table = increment->table;
    if (!check_row(table, increment->row, ret_error) ||
        !check_others(table, increment->row, increment->others, increment->others_count,
                      increment->columns_count, ret_error) ||
        !check_columns(table, columns, increment->columns_count, ret_error))
        return false;
    if (increment->columns_count == 0)
        return kw_error_set(ret_error, KW_INVALID, "table %s: the increment has no columns",
                            kw_show(table).text);
    for (size_t i = 0; i < increment->columns_count; i++)
        if (columns[i].whole_family)
            return kw_error_set(ret_error, KW_INVALID,
                                "table %s: the increment names the whole family %s: name a column",
                                kw_show(table).text, kw_show(columns[i].family).text);
    return check_not_repeated(table, columns, increment->columns_count, ret_error);
}

bool
kw_check_sum(kw_bytes table, const kw_column *column, int64_t stored, int64_t amount, int64_t *ret_sum,
             kw_error *ret_error)
{
    if (!__builtin_add_overflow(stored, amount, ret_sum))
        return true;
    return kw_error_set(
        ret_error, KW_INVALID,
        "table %s: column %s:%s has the value %lld; with %lld added, it would not fit into 64 bits",
        kw_show(table).text, kw_show(column->family).text, kw_show(column->qualifier).text, (long long)stored,
        (long long)amount);
}

bool
kw_refuse_removal(kw_bytes table, kw_bytes row, int64_t newest_ms, int64_t left_ms, kw_error *ret_error)
{
    kw_error_set(
        ret_error, KW_REFUSED,
        "table %s, row %s: its timestamp %lld is %lld ms ahead of the store's clock, and later "
        "writes would be hidden; try again after this time, or remove it with a later timestamp of your own "
        "(keyway remove --timestamp)",
        kw_show(table).text, kw_show(row).text, (long long)newest_ms, (long long)left_ms);
    ret_error->retry_after_ms = (uint32_t)MIN(left_ms, 60000);
    return false;
}

bool
kw_check_row_copy(const kw_row_copy *copy, kw_error *ret_error)
{
    return check_row(copy->table, copy->row, ret_error) && check_row(copy->to_table, copy->to_row, ret_error);
}

bool
kw_check_row_sweep(const kw_row_sweep *sweep, kw_error *ret_error)
{
    return check_row(sweep->table, sweep->row, ret_error);
}

static bool
check_selection(kw_bytes table, int32_t max_versions, int64_t from, int64_t to, kw_error *ret_error)
{
    if (max_versions < 0)
        return kw_error_set(ret_error, KW_INVALID, "table %s: max versions %d is negative",
                            kw_show(table).text, max_versions);
    if (from < 0 || to < from)
        return kw_error_set(ret_error, KW_INVALID,
                            "table %s: time range [%lld, %lld) is negative or ends before it starts",
                            kw_show(table).text, (long long)from, (long long)to);
    return true;
}

/* A prepared filter was parsed before. One query can have thousands of ranges that share it. */
static bool
check_filter(kw_bytes table, kw_bytes filter, const kw_prepared *prepared, kw_error *ret_error)
{
    if (filter.size == 0 || prepared)
        return true;
    g_autoptr(kw_arena) arena = kw_arena_new();
    return kw_filter_parse(filter, arena, ret_error) ||
           kw_error_prefix(ret_error, "table %s", kw_show(table).text);
}

static bool
check_rows(const kw_get *get, kw_error *ret_error)
{
    return check_row(get->table, get->row, ret_error) &&
           (!get->other || check_row(get->other->table, get->other->row, ret_error));
}

bool
kw_check_get(const kw_get *get, kw_error *ret_error)
{
    return check_rows(get, ret_error) &&
           check_columns(get->table, get->columns, get->columns_count, ret_error) &&
           check_selection(get->table, get->max_versions, get->time_from, get->time_to, ret_error) &&
           check_filter(get->table, get->filter, get->prepared, ret_error);
}

static bool
same_bytes(kw_bytes a, kw_bytes b)
{
    return a.data == b.data && a.size == b.size;
}

bool
kw_check_get_like(const kw_get *get, const kw_get *checked, kw_error *ret_error)
{
    bool alike = checked && get->columns == checked->columns &&
                 get->columns_count == checked->columns_count && same_bytes(get->filter, checked->filter) &&
                 get->prepared == checked->prepared && get->max_versions == checked->max_versions &&
                 get->time_from == checked->time_from && get->time_to == checked->time_to;
    return alike ? check_rows(get, ret_error) : kw_check_get(get, ret_error);
}

bool
kw_check_range_scan_spec(const kw_range_scan_spec *spec, kw_error *ret_error)
{
    if (!kw_check_table_name(spec->table, ret_error) ||
        !check_columns(spec->table, spec->columns, spec->columns_count, ret_error) ||
        !check_selection(spec->table, spec->max_versions, spec->time_from, spec->time_to, ret_error))
        return false;
    size_t longest = spec->start.size > spec->stop.size ? spec->start.size : spec->stop.size;
    if (longest > KW_STORE_ROW_KEY_MAX)
        return kw_error_set(ret_error, KW_INVALID, "table %s: a range bound of %zu bytes is longer than %d",
                            kw_show(spec->table).text, longest, KW_STORE_ROW_KEY_MAX);
    return check_filter(spec->table, spec->filter, spec->prepared, ret_error);
}

/* --- tables ----------------------------------------------------------------------------------- */

static bool
is_one_of(const char *value, const char *const *choices)
{
    if (!value)
        return true;
    for (; *choices; choices++)
        if (strcmp(value, *choices) == 0)
            return true;
    return false;
}

static bool
family_name_is_legal(const char *name)
{
    size_t size = name ? strlen(name) : 0;
    if (size == 0 || size > KW_STORE_FAMILY_NAME_MAX || name[0] == '.' ||
        strcmp(name, "recovered.edits") == 0)
        return false;
    for (const char *at = name; *at; at++)
        if (*at <= 0x20 || *at >= 0x7f || *at == ':' || *at == '/' || *at == '\\')
            return false;
    return true;
}

static bool
check_choices(kw_bytes table, const kw_family_spec *family, kw_error *ret_error)
{
    static const char *const compressions[] = {"NONE", "SNAPPY", "LZ4", "ZSTD", "LZO", "GZ", NULL};
    static const char *const blooms[] = {"NONE", "ROW", "ROWCOL", NULL};
    static const char *const encodings[] = {"NONE", "PREFIX", "DIFF", "FAST_DIFF", "ROW_INDEX_V1", NULL};
    const struct {
        const char *what, *value;
        const char *const *choices;
    } options[] = {{"compression", family->compression, compressions},
                   {"bloom filter", family->bloom_filter, blooms},
                   {"block encoding", family->block_encoding, encodings}};
    for (size_t i = 0; i < G_N_ELEMENTS(options); i++)
        if (!is_one_of(options[i].value, options[i].choices))
            return kw_error_set(ret_error, KW_INVALID, "table %s: family %s: unknown %s \"%s\"",
                                kw_show(table).text, family->name, options[i].what,
                                kw_show(kw_bytes_of_text(options[i].value)).text);
    return true;
}

static bool
check_family(kw_bytes table, const kw_family_spec *family, kw_error *ret_error)
{
    if (!family_name_is_legal(family->name))
        return kw_error_set(ret_error, KW_INVALID,
                            "table %s: illegal family name \"%s\": use at most %d printable ASCII characters "
                            "except ':', '/' and '\\'; it must not start with '.'",
                            kw_show(table).text, kw_show(kw_bytes_of_text(family->name)).text,
                            KW_STORE_FAMILY_NAME_MAX);
    if (!check_choices(table, family, ret_error))
        return false;
    int32_t versions = family->max_versions ? family->max_versions : 1;
    if (family->ttl_seconds < 0 || versions < 0 || family->min_versions < 0 || family->block_size < 0)
        return kw_error_set(ret_error, KW_INVALID, "table %s: family %s: an option is negative",
                            kw_show(table).text, family->name);
    if (family->min_versions > versions)
        return kw_error_set(ret_error, KW_INVALID,
                            "table %s: family %s: min versions %d is above max versions %d",
                            kw_show(table).text, family->name, family->min_versions, versions);
    return true;
}

static bool
check_splits(const kw_table_spec *spec, kw_error *ret_error)
{
    for (size_t i = 0; i < spec->split_keys_count; i++) {
        kw_bytes key = spec->split_keys[i];
        if (key.size == 0 || key.size > KW_STORE_ROW_KEY_MAX)
            return kw_error_set(ret_error, KW_INVALID,
                                "table %s: split key %zu has %zu bytes instead of 1 to %d",
                                kw_show(spec->name).text, i + 1, key.size, KW_STORE_ROW_KEY_MAX);
        if (i > 0 && kw_bytes_compare(spec->split_keys[i - 1], key) >= 0)
            return kw_error_set(ret_error, KW_INVALID,
                                "table %s: split key %zu \"%s\" is not greater than the previous one",
                                kw_show(spec->name).text, i + 1, kw_show(key).text);
    }
    return true;
}

bool
kw_check_table_spec(const kw_table_spec *spec, kw_error *ret_error)
{
    if (!kw_check_table_name(spec->name, ret_error))
        return false;
    if (spec->families_count == 0 || spec->families_count > KW_STORE_FAMILIES_MAX)
        return kw_error_set(ret_error, KW_INVALID, "table %s: %zu families instead of 1 to %d",
                            kw_show(spec->name).text, spec->families_count, KW_STORE_FAMILIES_MAX);
    if (spec->split_keys_count >= KW_STORE_REGIONS_MAX)
        return kw_error_set(ret_error, KW_INVALID, "table %s: %zu split keys, which is more than %d",
                            kw_show(spec->name).text, spec->split_keys_count, KW_STORE_REGIONS_MAX - 1);
    for (size_t i = 0; i < spec->families_count; i++) {
        if (!check_family(spec->name, &spec->families[i], ret_error))
            return false;
        for (size_t k = 0; k < i; k++)
            if (strcmp(spec->families[i].name, spec->families[k].name) == 0)
                return kw_error_set(ret_error, KW_INVALID, "table %s: family %s is named twice",
                                    kw_show(spec->name).text, spec->families[i].name);
    }
    return check_splits(spec, ret_error);
}
