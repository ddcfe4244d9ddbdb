#include "embedded_fixture.h"

#include "contract/fixture.h"

char *
temporary_folder_new(void)
{
    char *folder = g_dir_make_tmp("keyway-test-XXXXXX", NULL);
    g_assert_nonnull(folder);
    return folder;
}

void
temporary_folder_remove(const char *folder)
{
    const char *const command[] = {"rm", "-rf", folder, NULL};
    g_assert_true(g_spawn_sync(NULL, (char **)(uintptr_t)command, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL,
                               NULL, NULL, NULL));
}

kw_store *
embedded_fixture_open_store(const char *folder, kw_error *ret_error)
{
    kw_model_embedded settings = {.path = folder, .cache_bytes = 8 << 20};
    return kw_embedded_open(&settings, ret_error);
}

static void
open_again(embedded_fixture *fixture)
{
    kw_error error;
    fixture->store = embedded_fixture_open_store(fixture->folder, &error);
    if (!fixture->store)
        g_error("%s", error.text);
    kw_sync_open(&fixture->sync, fixture->store);
}

void
embedded_fixture_init(embedded_fixture *fixture)
{
    fixture->folder = temporary_folder_new();
    open_again(fixture);
}

void
embedded_fixture_reopen(embedded_fixture *fixture)
{
    kw_sync_close(&fixture->sync);
    kw_store_free(fixture->store);
    open_again(fixture);
}

void
embedded_fixture_clear(embedded_fixture *fixture)
{
    kw_sync_close(&fixture->sync);
    kw_store_free(fixture->store);
    temporary_folder_remove(fixture->folder);
    g_free(fixture->folder);
}

kw_family_spec
default_family(const char *name)
{
    return (kw_family_spec){
        .name = name, .block_cache = -1, .in_memory = -1, .keep_deleted_cells = -1, .replication_scope = -1};
}

void
embedded_fixture_create_table(embedded_fixture *fixture, const char *table, const kw_family_spec *families,
                              size_t count)
{
    kw_table_spec spec = {
        .name = B(table), .families = families, .families_count = count, .deadline = KW_DEADLINE_NONE};
    bool created = false;
    g_assert_true(kw_sync_create(&fixture->sync, &spec, &created, NULL));
    g_assert_true(created);
}

void
embedded_fixture_put(embedded_fixture *fixture, const char *table, const char *row, const char *family,
                     const char *qualifier, const char *value, int64_t timestamp)
{
    kw_cell cell = {.family = B(family), .qualifier = B(qualifier), .value = B(value)};
    kw_write write = {.kind = KW_WRITE_PUT,
                      .table = B(table),
                      .row = B(row),
                      .cells = &cell,
                      .cells_count = 1,
                      .timestamp = timestamp,
                      .deadline = KW_DEADLINE_NONE};
    g_assert_cmpint(kw_sync_write(&fixture->sync, &write).outcome, ==, KW_OUTCOME_OK);
}

void
embedded_fixture_delete_row(embedded_fixture *fixture, const char *table, const char *row, int64_t timestamp)
{
    kw_write write = {.kind = KW_WRITE_DELETE,
                      .table = B(table),
                      .row = B(row),
                      .timestamp = timestamp,
                      .deadline = KW_DEADLINE_NONE};
    g_assert_cmpint(kw_sync_write(&fixture->sync, &write).outcome, ==, KW_OUTCOME_OK);
}

void
embedded_fixture_expect_row(embedded_fixture *fixture, const char *table, const char *row, const char *text)
{
    kw_get get = {.table = B(table), .row = B(row), .max_versions = 100, .deadline = KW_DEADLINE_NONE};
    kw_rows *rows = kw_sync_get(&fixture->sync, &get, NULL);
    g_assert_nonnull(rows);
    g_autofree char *seen = kw_row_text(&rows->rows[0]);
    g_assert_cmpstr(seen, ==, text);
    kw_rows_free(rows);
}
