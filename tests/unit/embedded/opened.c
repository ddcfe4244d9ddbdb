#include "opened.h"

#include "contract/fixture.h"

char *
kw_folder_make(void)
{
    char *folder = g_dir_make_tmp("keyway-test-XXXXXX", NULL);
    g_assert_nonnull(folder);
    return folder;
}

void
kw_folder_remove(const char *folder)
{
    const char *const command[] = {"rm", "-rf", folder, NULL};
    g_assert_true(g_spawn_sync(NULL, (char **)(uintptr_t)command, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL,
                               NULL, NULL, NULL));
}

kw_store *
kw_opened_store(const char *folder, kw_error *ret_error)
{
    kw_model_embedded settings = {.path = folder, .cache_bytes = 8 << 20, .readers = 2};
    return kw_embedded_open(&settings, ret_error);
}

static void
open_again(kw_opened *opened)
{
    kw_error error;
    opened->store = kw_opened_store(opened->folder, &error);
    if (!opened->store)
        g_error("%s", error.text);
    kw_sync_open(&opened->sync, opened->store);
}

void
kw_opened_init(kw_opened *opened)
{
    opened->folder = kw_folder_make();
    open_again(opened);
}

void
kw_opened_reopen(kw_opened *opened)
{
    kw_sync_close(&opened->sync);
    kw_store_free(opened->store);
    open_again(opened);
}

void
kw_opened_clear(kw_opened *opened)
{
    kw_sync_close(&opened->sync);
    kw_store_free(opened->store);
    kw_folder_remove(opened->folder);
    g_free(opened->folder);
}

kw_family_spec
kw_plain_family(const char *name)
{
    return (kw_family_spec){
        .name = name, .block_cache = -1, .in_memory = -1, .keep_deleted_cells = -1, .replication_scope = -1};
}

void
kw_opened_create(kw_opened *opened, const char *table, const kw_family_spec *families, size_t count)
{
    kw_table_spec spec = {
        .name = B(table), .families = families, .families_count = count, .deadline = KW_DEADLINE_NONE};
    bool created = false;
    g_assert_true(kw_sync_create(&opened->sync, &spec, &created, NULL));
    g_assert_true(created);
}

void
kw_opened_put(kw_opened *opened, const char *table, const char *row, const char *family,
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
    g_assert_cmpint(kw_sync_write(&opened->sync, &write).outcome, ==, KW_OUTCOME_OK);
}

void
kw_opened_remove_row(kw_opened *opened, const char *table, const char *row, int64_t timestamp)
{
    kw_write write = {.kind = KW_WRITE_DELETE,
                      .table = B(table),
                      .row = B(row),
                      .timestamp = timestamp,
                      .deadline = KW_DEADLINE_NONE};
    g_assert_cmpint(kw_sync_write(&opened->sync, &write).outcome, ==, KW_OUTCOME_OK);
}

void
kw_opened_expect(kw_opened *opened, const char *table, const char *row, const char *text)
{
    kw_get get = {.table = B(table), .row = B(row), .max_versions = 100, .deadline = KW_DEADLINE_NONE};
    kw_rows *rows = kw_sync_get(&opened->sync, &get, NULL);
    g_assert_nonnull(rows);
    g_autofree char *seen = kw_row_text(&rows->rows[0]);
    g_assert_cmpstr(seen, ==, text);
    kw_rows_free(rows);
}
