#include "scrub_fixture.h"

#include "comparison.h"
#include "path/cells.h"
#include "store/embedded/embedded.h"

#include <glib/gstdio.h>

static const char policy[] =
    "store: {kind: embedded}\n"
    "limits: {batch_records: 500, page_rows: 1000, frame: 1048576}\n"
    "tables:\n"
    "  visits:\n"
    "    fields:\n"
    "      id: {type: string, max_bytes: 40}\n"
    "      ts: {type: timestamp, unit: ms}\n"
    "      city: {type: string, max_bytes: 40}\n"
    "      note: string\n"
    "      more: string\n"
    "      amount: int\n"
    "      tags: {type: map, of: int}\n"
    "    key:\n"
    "      - hash: {algorithm: md5, of: [id], take: 4, as: hex}\n"
    "      - field: id\n"
    "      - field: {name: ts, order: desc}\n"
    "      - field: city\n"
    "    paths:\n"
    "      by_time:\n"
    "        key: [{salt: {buckets: 4, of: [id]}}, {field: ts}, {field: id}, {field: city}]\n"
    "      by_city:\n"
    "        key: [{field: city}, {field: ts}, {field: id}]\n"
    "  alone:\n"
    "    fields: {id: string, note: string}\n"
    "    key: [{field: id}]\n"
    "  chosen:\n"
    "    updates: false\n"
    "    fields: {id: string, ts: timestamp}\n"
    "    key: [{field: id}, {field: ts}]\n"
    "    paths:\n"
    "      spread: {key: [{salt: {algorithm: random, buckets: 4}}, {field: ts}, {field: id}]}\n";

void
scrub_fixture_open(scrub_fixture *self)
{
    kw_error error;
    *self = (scrub_fixture){.text = g_string_new(NULL)};
    g_autofree char *folder = g_dir_make_tmp("scrub-XXXXXX", NULL);
    self->folder = g_build_filename(folder, "data", NULL);
    kw_model_embedded settings = {.path = self->folder, .cache_bytes = 8 << 20};
    kw_store *store = kw_embedded_open(&settings, &error);
    if (!store)
        g_error("%s", error.text);
    self->desk = desk_new_over(kw_fault_store_new(store, &self->plan), policy);
    desk_create(self->desk, "visits");
    self->request = (kw_scrub_request){.table = desk_table(self->desk, "visits"),
                                       .max_records = 1000,
                                       .max_differences = 1000,
                                       .settle_ms = 1};
}

static void
remove_folder(const char *folder)
{
    g_autoptr(GDir) files = g_dir_open(folder, 0, NULL);
    for (const char *name = NULL; files && (name = g_dir_read_name(files));) {
        g_autofree char *path = g_build_filename(folder, name, NULL);
        if (g_file_test(path, G_FILE_TEST_IS_DIR))
            remove_folder(path);
        else
            g_unlink(path);
    }
    g_rmdir(folder);
}

void
scrub_fixture_close(scrub_fixture *self)
{
    desk_free(self->desk);
    g_autofree char *above = g_path_get_dirname(self->folder);
    remove_folder(above);
    g_free(self->folder);
    g_string_free(self->text, TRUE);
}

/* --- scrubs -------------------------------------------------------------------------------------- */

bool
scrub_one_slice(scrub_fixture *self, kw_scrub_result *ret_result)
{
    return comparison_slice(self->desk, &self->request, ret_result, &self->error);
}

static void
add(scrub_fixture *self, const kw_scrub_result *slice)
{
    comparison_add(self->desk, &self->request, slice, &self->sum, self->text);
    g_assert_cmpfloat(slice->progress, >=, self->sum.progress);
    self->sum.progress = slice->progress;
    self->slices++;
}

bool
scrub_table(scrub_fixture *self, bool repair)
{
    g_autofree uint8_t *cursor = NULL;
    kw_scrub_result slice;
    self->request.repair = repair;
    self->request.cursor = KW_BYTES_NONE;
    self->sum = (kw_scrub_result){0};
    self->slices = 0;
    g_string_truncate(self->text, 0);
    do {
        if (!scrub_one_slice(self, &slice))
            return false;
        add(self, &slice);
        g_free(cursor);
        cursor = g_memdup2(slice.cursor.data, slice.cursor.size);
        self->request.cursor = kw_bytes_of(cursor, slice.cursor.size);
        desk_clear(self->desk);
    } while (self->request.cursor.size);
    g_assert_cmpfloat(self->sum.progress, ==, 1);
    self->request.cursor = KW_BYTES_NONE;
    return true;
}

void
repair_table(scrub_fixture *self)
{
    g_assert_true(scrub_table(self, true));
    kw_scrub_result first = self->sum;
    g_assert_cmpuint(first.repaired, ==, first.missing + first.different + first.extra);
    g_autofree char *text = g_strdup(self->text->str);
    g_assert_true(scrub_table(self, false));
    g_assert_cmpstr(self->text->str, ==, "");
    g_assert_cmpuint(self->sum.unsettled, ==, first.unsettled);
    g_string_assign(self->text, text);
    self->sum = first;
}

/* --- writing ------------------------------------------------------------------------------------- */

void
put_record(scrub_fixture *self, const char *record, int64_t timestamp)
{
    self->desk->options = (kw_write_options){.has_timestamp = timestamp > 0, .timestamp = timestamp};
    g_assert_cmpstr(desk_put(self->desk, "visits", record)->error.text, ==, "");
    self->desk->options = (kw_write_options){0};
}

static void
written(void *user, kw_outcome outcome, const kw_error *error)
{
    desk *self = user;
    g_assert_null(error);
    g_assert_cmpint(outcome, ==, KW_OUTCOME_OK);
    self->done = true;
}

static void
write_row(scrub_fixture *self, kw_write *write)
{
    write->deadline = KW_DEADLINE_NONE;
    self->desk->done = false;
    kw_store_handle_write(self->desk->handle, write, written, self->desk);
    desk_wait(self->desk);
}

static kw_write
start_write(scrub_fixture *self, kw_write_kind kind, size_t path, const kw_record *record, int64_t timestamp)
{
    const kw_path *of = &self->request.table->paths[path];
    kw_write write = {.kind = kind, .table = of->store_table, .timestamp = timestamp};
    kw_buffer scratch = KW_BUFFER_EMPTY;
    kw_error error;
    if (!kw_row_key(of->placements, record, &scratch, self->desk->call.arena, &write.row, &error))
        g_error("%s", error.text);
    kw_buffer_clear(&scratch);
    return write;
}

kw_write
make_write(scrub_fixture *self, size_t path, const char *text, int64_t timestamp)
{
    kw_record record = desk_record(self->desk, "visits", text);
    kw_write put = start_write(self, KW_WRITE_PUT, path, &record, timestamp);
    kw_record_cells(self->request.table, &record, self->desk->call.arena, &put);
    put.deadline = KW_DEADLINE_NONE;
    return put;
}

void
write_one_path(scrub_fixture *self, size_t path, const char *text, int64_t timestamp)
{
    kw_write put = make_write(self, path, text, timestamp);
    write_row(self, &put);
}

void
delete_one_path(scrub_fixture *self, size_t path, const char *key, const char *column, int64_t timestamp)
{
    kw_record record = desk_record(self->desk, "visits", key);
    kw_write removal = start_write(self, KW_WRITE_DELETE, path, &record, timestamp);
    kw_column one;
    if (column) {
        one = kw_pick_column(self->request.table, desk_pick(self->desk, "visits", column),
                             self->desk->call.arena);
        removal.columns = &one;
        removal.columns_count = 1;
    }
    write_row(self, &removal);
}

static void
write_key(scrub_fixture *self, size_t path, kw_bytes row_key)
{
    kw_cell cell = {KW_BYTES_LITERAL("d"), KW_BYTES_LITERAL("note"), KW_BYTES_LITERAL("x"), 0};
    kw_write put = {.kind = KW_WRITE_PUT,
                    .table = self->request.table->paths[path].store_table,
                    .row = row_key,
                    .cells = &cell,
                    .cells_count = 1,
                    .timestamp = 1000};
    write_row(self, &put);
}

void
write_raw_row(scrub_fixture *self, size_t path, const char *row_key)
{
    write_key(self, path, kw_bytes_of_text(row_key));
}

void
write_in_other_bucket(scrub_fixture *self, size_t path, const char *text)
{
    kw_record record = desk_record(self->desk, "visits", text);
    kw_write put = start_write(self, KW_WRITE_PUT, path, &record, 1000);
    uint8_t *bucket = (uint8_t *)(uintptr_t)put.row.data;
    *bucket = *bucket ? 0 : 1;
    write_key(self, path, put.row);
}

/* --- reading ------------------------------------------------------------------------------------- */

static int
by_text(gconstpointer a, gconstpointer b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

char *
records_of_path(scrub_fixture *self, size_t path)
{
    g_autofree char *query =
        g_strdup_printf("visits full path=%s", path ? self->request.table->paths[path].name : "primary");
    g_autofree char *text = desk_scan_all(self->desk, query);
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    qsort(lines, g_strv_length(lines), sizeof *lines, by_text);
    return g_strstrip(g_strjoinv("\n", lines));
}

void
assert_records(scrub_fixture *self, const char *records)
{
    for (size_t path = 0; path < SCRUB_PATHS; path++) {
        g_autofree char *found = records_of_path(self, path);
        g_assert_cmpstr(found, ==, records);
    }
}
