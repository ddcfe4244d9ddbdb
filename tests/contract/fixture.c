#include "contract/fixture.h"

#include "contract/contract.h"

#include <stdio.h>

static char *table_prefix;
static kw_contract_factory open_store;
static GPtrArray *tables_made;

kw_bytes
kw_fixture_table(const char *name)
{
    g_autofree char *full = g_strdup_printf("%s_%s", table_prefix, name);
    for (guint i = 0; i < tables_made->len; i++)
        if (strcmp(tables_made->pdata[i], full) == 0)
            return B(tables_made->pdata[i]);
    g_ptr_array_add(tables_made, g_steal_pointer(&full));
    return B(tables_made->pdata[tables_made->len - 1]);
}

#define DEFAULTS .block_cache = -1, .in_memory = -1, .replication_scope = -1

static const kw_family_spec all_families[] = {
    {.name = "d", .keep_deleted_cells = -1, DEFAULTS},
    {.name = "v", .max_versions = 3, .keep_deleted_cells = -1, DEFAULTS},
    {.name = "k", .max_versions = 5, .keep_deleted_cells = 1, DEFAULTS},
    {.name = "t", .ttl_seconds = 3600, .keep_deleted_cells = -1, DEFAULTS},
    {.name = "m",
     .ttl_seconds = 3600,
     .max_versions = 2,
     .min_versions = 1,
     .keep_deleted_cells = -1,
     DEFAULTS},
};

kw_bytes
kw_fixture_make_table(kw_fixture *fixture, const char *name, const char *letters)
{
    kw_family_spec families[G_N_ELEMENTS(all_families)];
    kw_table_spec spec = {
        .name = kw_fixture_table(name), .families = families, .deadline = kw_deadline_in_ms(120000)};
    for (size_t i = 0; i < G_N_ELEMENTS(all_families); i++)
        if (strchr(letters, all_families[i].name[0]))
            families[spec.families_count++] = all_families[i];
    kw_error error;
    if (!kw_sync_create(&fixture->sync, &spec, NULL, &error))
        g_error("cannot create the table: %s %s", kw_code_name(error.code), error.text);
    return spec.name;
}

static void
run_test(gconstpointer data)
{
    kw_contract_test test = *(const kw_contract_test *)data;
    static bool table_made;
    kw_fixture fixture = {.table = kw_fixture_table("shared")};
    kw_store *store = open_store();
    kw_sync_open(&fixture.sync, store);
    if (!table_made)
        kw_fixture_make_table(&fixture, "shared", "dvktm");
    table_made = true;
    test(&fixture);
    kw_sync_close(&fixture.sync);
    kw_store_free(store);
}

void
kw_fixture_add(const char *group, const char *name, kw_contract_test test)
{
    g_autofree char *path = g_strdup_printf("/contract/%s/%s", group, name);
    g_test_add_data_func_full(path, g_memdup2(&test, sizeof test), run_test, g_free);
}

static void
begin(const char *prefix, kw_contract_factory factory)
{
    table_prefix = g_strdup(prefix);
    open_store = factory;
    tables_made = g_ptr_array_new_with_free_func(g_free);
}

void
kw_contract_add_tests_of_order(const char *prefix, kw_contract_factory factory)
{
    begin(prefix, factory);
    kw_contract_add_ordered_copies();
    kw_contract_add_ordered_atomics();
    kw_contract_add_ordered_derived();
}

void
kw_contract_add_tests(const char *prefix, kw_contract_factory factory)
{
    begin(prefix, factory);
    kw_contract_add_points();
    kw_contract_add_versions();
    kw_contract_add_deletes();
    kw_contract_add_conditions();
    kw_contract_add_record_rows();
    kw_contract_add_derived();
    kw_contract_add_copies();
    kw_contract_add_range_scans();
    kw_contract_add_patterns();
    kw_contract_add_tables();
    kw_contract_add_refusals();
    kw_contract_add_concurrent();
}

void
kw_contract_finish(void)
{
    kw_store *store = open_store();
    kw_sync sync;
    kw_sync_open(&sync, store);
    for (guint i = 0; i < tables_made->len; i++) {
        kw_error error;
        if (!kw_sync_drop(&sync, B(tables_made->pdata[i]), &error) && error.code != KW_NOT_FOUND)
            g_printerr("# table %s stays: %s\n", (char *)tables_made->pdata[i], error.text);
    }
    kw_sync_close(&sync);
    kw_store_free(store);
    g_ptr_array_free(tables_made, TRUE);
    g_free(table_prefix);
}

/* --- writes ------------------------------------------------------------------------------------------ */

static kw_column
column_of(const char *text)
{
    const char *colon = strchr(text, ':');
    if (!colon)
        return (kw_column){.family = B(text), .whole_family = true};
    return (kw_column){.family = kw_bytes_of(text, (size_t)(colon - text)), .qualifier = B(colon + 1)};
}

static void
assert_ok(const kw_sync_written *result)
{
    if (result->outcome != KW_OUTCOME_OK)
        g_test_message("%s: %s", kw_code_name(result->error.code), result->error.text);
    g_assert_cmpint(result->outcome, ==, KW_OUTCOME_OK);
}

void
kw_put(kw_fixture *fixture, const char *row, const char *column, const char *value, int64_t timestamp)
{
    kw_column place = column_of(column);
    kw_cell cell = {.family = place.family, .qualifier = place.qualifier, .value = B(value)};
    kw_write write = {.kind = KW_WRITE_PUT,
                      .table = fixture->table,
                      .row = B(row),
                      .cells = &cell,
                      .cells_count = 1,
                      .timestamp = timestamp,
                      .deadline = kw_deadline_in_ms(60000)};
    kw_sync_written result = kw_sync_write(&fixture->sync, &write);
    assert_ok(&result);
}

void
kw_remove(kw_fixture *fixture, const char *row, const char *column, int64_t timestamp)
{
    kw_column place = column ? column_of(column) : (kw_column){0};
    kw_write write = {.kind = KW_WRITE_DELETE,
                      .table = fixture->table,
                      .row = B(row),
                      .columns = &place,
                      .columns_count = column ? 1 : 0,
                      .timestamp = timestamp,
                      .deadline = kw_deadline_in_ms(60000)};
    kw_sync_written result = kw_sync_write(&fixture->sync, &write);
    assert_ok(&result);
}

/* --- text -------------------------------------------------------------------------------------------- */

static void
append_bytes(GString *text, kw_bytes bytes)
{
    for (size_t i = 0; i < bytes.size; i++) {
        if (bytes.data[i] > 0x20 && bytes.data[i] < 0x7f)
            g_string_append_c(text, (char)bytes.data[i]);
        else
            g_string_append_printf(text, "\\x%02x", bytes.data[i]);
    }
}

static void
append_row(GString *text, const kw_row *row)
{
    for (uint32_t i = 0; i < row->cells_count; i++) {
        const kw_cell *cell = &row->cells[i];
        g_string_append(text, i ? " " : "");
        append_bytes(text, cell->family);
        g_string_append_c(text, ':');
        append_bytes(text, cell->qualifier);
        g_string_append_printf(text, "@%lld=", (long long)cell->timestamp);
        append_bytes(text, cell->value);
    }
}

char *
kw_row_text(const kw_row *row)
{
    GString *text = g_string_new(NULL);
    append_row(text, row);
    return g_string_free(text, FALSE);
}

char *
kw_rows_text(const kw_rows *rows)
{
    GString *text = g_string_new(NULL);
    for (size_t i = 0; i < rows->count; i++) {
        g_string_append(text, i ? " " : "");
        append_bytes(text, rows->rows[i].key);
        g_string_append_c(text, '{');
        append_row(text, &rows->rows[i]);
        g_string_append_c(text, '}');
    }
    return g_string_free(text, FALSE);
}

/* --- reads ------------------------------------------------------------------------------------------- */

kw_asking *
kw_ask(kw_asking *asking, const kw_fixture *fixture, const char *row, const char *const *columns)
{
    *asking =
        (kw_asking){.get = {.table = fixture->table, .row = B(row), .deadline = kw_deadline_in_ms(60000)}};
    for (size_t i = 0; columns && columns[i]; i++) {
        g_assert_cmpuint(i, <, G_N_ELEMENTS(asking->columns));
        asking->columns[i] = column_of(columns[i]);
        asking->get.columns_count = i + 1;
    }
    asking->get.columns = asking->columns;
    return asking;
}

void
kw_expect(kw_fixture *fixture, const kw_get *get, const char *text)
{
    kw_error error = {0};
    kw_rows *rows = kw_sync_get(&fixture->sync, get, &error);
    if (!rows)
        g_test_message("%s: %s", kw_code_name(error.code), error.text);
    g_assert_nonnull(rows);
    g_assert_cmpuint(rows->count, ==, 1);
    g_assert_true(kw_bytes_equal(rows->rows[0].key, get->row));
    g_autofree char *seen = kw_row_text(&rows->rows[0]);
    g_assert_cmpstr(seen, ==, text);
    kw_rows_free(rows);
}

void
kw_expect_row(kw_fixture *fixture, const char *row, const char *text)
{
    kw_asking asking;
    kw_expect(fixture, &kw_ask(&asking, fixture, row, NULL)->get, text);
}

void
kw_expect_range_scan(kw_fixture *fixture, kw_range_scan_spec spec, uint32_t page, const char *text)
{
    spec.table = fixture->table;
    kw_range_scan *run = kw_store_handle_open_range_scan(fixture->sync.handle, &spec);
    GString *seen = g_string_new(NULL);
    for (bool end = false; !end;) {
        kw_error error = {0};
        kw_rows *rows = kw_sync_fetch(&fixture->sync, run, page, 1 << 20, true, &error);
        if (!rows)
            g_test_message("%s: %s", kw_code_name(error.code), error.text);
        g_assert_nonnull(rows);
        g_assert_cmpuint(rows->count, <=, page);
        g_assert_cmpuint(rows->scanned, >=, rows->count);
        g_assert_true(rows->end || rows->count > 0);
        g_autofree char *part = kw_rows_text(rows);
        g_string_append_printf(seen, "%s%s", seen->len && *part ? " " : "", part);
        end = rows->end;
        kw_rows_free(rows);
    }
    g_assert_cmpstr(seen->str, ==, text);
    g_string_free(seen, TRUE);
    kw_range_scan_close(run);
}

void
kw_expect_error(const kw_error *error, kw_code code, const char *names)
{
    if (error->code != code || !strstr(error->text, names))
        g_test_message("expected %s naming \"%s\", got %s: %s", kw_code_name(code), names,
                       kw_code_name(error->code), error->text);
    g_assert_cmpint(error->code, ==, code);
    g_assert_nonnull(strstr(error->text, names));
}
