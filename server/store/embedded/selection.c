#include "store/embedded/selection.h"

#include "store/check.h"
#include "store/embedded/key.h"

bool
kw_unknown_family(const kw_stored_table *table, kw_bytes family, kw_error *ret_error)
{
    return kw_error_set(ret_error, KW_INVALID, "table %s has no family %s", kw_show(table->name).text,
                        kw_show(family).text);
}

bool
kw_unknown_table(kw_bytes table, kw_error *ret_error)
{
    return kw_error_set(ret_error, KW_NOT_FOUND, "table %s does not exist", kw_show(table).text);
}

void
kw_selection_refresh(kw_selection *selection)
{
    int64_t now_ms = kw_clock_wall_ms();
    for (size_t i = 0; i < selection->table->families_count; i++) {
        int64_t ttl_ms = selection->table->families[i].ttl_ms;
        selection->families[i].expired_before = ttl_ms ? now_ms - ttl_ms : INT64_MIN;
    }
}

typedef struct wanted_column {
    int family;
    kw_bytes qualifier; /* not escaped */
} wanted_column;

static int
compare_wanted(const void *a, const void *b)
{
    const wanted_column *left = a, *right = b;
    if (left->family != right->family)
        return left->family < right->family ? -1 : 1;
    return kw_bytes_compare(left->qualifier, right->qualifier);
}

static bool
mark_families(kw_selection *selection, const kw_read_request *request, wanted_column *wanted,
              size_t *ret_count, kw_error *ret_error)
{
    size_t count = 0;
    for (size_t i = 0; i < request->columns_count; i++) {
        const kw_column *column = &request->columns[i];
        int family = kw_stored_table_family(selection->table, column->family);
        if (family < 0)
            return kw_unknown_family(selection->table, column->family, ret_error);
        selection->families[family].wanted = true;
        if (column->whole_family)
            selection->families[family].whole = true;
        else
            wanted[count++] = (wanted_column){family, column->qualifier};
    }
    *ret_count = count;
    return true;
}

/* Stores the qualifiers sorted, without duplicates and without those of families selected as a whole.
 * Reserves all bytes first, because a growing buffer moves and the qualifiers point into it. */
static void
keep_qualifiers(kw_selection *selection, wanted_column *wanted, size_t count)
{
    qsort(wanted, count, sizeof *wanted, compare_wanted);
    selection->qualifiers = g_new(kw_bytes, count);
    size_t bytes_max = 0;
    for (size_t i = 0; i < count; i++)
        bytes_max += wanted[i].qualifier.size * 2 + 2;
    kw_buffer_reserve(&selection->bytes, bytes_max);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        kw_selected_family *family = &selection->families[wanted[i].family];
        if (family->whole || (i > 0 && compare_wanted(&wanted[i - 1], &wanted[i]) == 0))
            continue;
        size_t start = selection->bytes.size;
        kw_key_escape(&selection->bytes, wanted[i].qualifier);
        selection->qualifiers[kept] =
            kw_bytes_of(selection->bytes.data + start, selection->bytes.size - start - 2);
        if (family->count++ == 0)
            family->first = kept;
        kept++;
    }
}

static bool
select_columns(kw_selection *selection, const kw_read_request *request, kw_error *ret_error)
{
    if (request->columns_count == 0) {
        for (size_t i = 0; i < selection->table->families_count; i++)
            selection->families[i].wanted = selection->families[i].whole = true;
        return true;
    }
    wanted_column *wanted = g_new(wanted_column, request->columns_count);
    size_t count = 0;
    bool good = mark_families(selection, request, wanted, &count, ret_error);
    if (good)
        keep_qualifiers(selection, wanted, count);
    g_free(wanted);
    return good;
}

bool
kw_selection_init_on(kw_selection *selection, kw_stored_table *table, const kw_read_request *request,
                     kw_error *ret_error)
{
    g_assert(request->max_versions >= 0 && request->time_from <= request->time_to);
    *selection = (kw_selection){0};
    bool all_times = request->time_from == 0 && request->time_to == 0;
    selection->table = kw_stored_table_ref(table);
    selection->versions = request->max_versions ? request->max_versions : 1;
    selection->time_from = request->time_from;
    selection->time_to = all_times ? INT64_MAX : request->time_to;
    selection->filtered = request->filter.size > 0;
    selection->first_only = kw_bytes_equal(request->filter, KW_STORE_FIRST_CELL);
    selection->families = g_new0(kw_selected_family, table->families_count);
    kw_selection_refresh(selection);
    if (select_columns(selection, request, ret_error))
        return true;
    kw_selection_clear(selection);
    return false;
}

bool
kw_selection_init(kw_selection *selection, kw_embedded_tables *tables, const kw_read_request *request,
                  kw_error *ret_error)
{
    *selection = (kw_selection){0};
    g_autoptr(kw_stored_table) table = kw_embedded_tables_find(tables, request->table);
    if (!table)
        return kw_unknown_table(request->table, ret_error);
    return kw_selection_init_on(selection, table, request, ret_error);
}

void
kw_selection_clear(kw_selection *selection)
{
    kw_stored_table_unref(selection->table);
    g_free(selection->families);
    g_free(selection->qualifiers);
    kw_buffer_clear(&selection->bytes);
    *selection = (kw_selection){0};
}
