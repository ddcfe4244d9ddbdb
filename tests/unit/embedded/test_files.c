/* A store's files that are missing, cut or doubled. Either the start is refused, the error names the file,
 * and no file has changed; or all acknowledged rows are there.
 *
 * A child process, which is this program, puts the rows and is killed: test_embedded_files --child FOLDER.
 */
#include "contract/fixture.h"
#include "embedded_fixture.h"
#include "store/embedded/wal_batch.h"
#include "store/embedded/wal_reader.h"
#include "store_files.h"
#include "support/seeded.h"
#include "support/slow_build.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* RocksDB flushes commits when it has 16 MiB of them: two times here. */
enum { ROWS = 160, VALUE = 256 * 1024, FLUSHES = 2 };

static const char *program;
static char *original; /* the folder of a store whose writer was killed; the tests change copies of it */

/* --- a store -------------------------------------------------------------------------------------- */

static char *
value_of(int row)
{
    return g_strnfill(VALUE, (char)('a' + row % 26));
}

static char *
name_of(int row)
{
    return g_strdup_printf("row-%03d", row);
}

static int
count_tables(const char *folder)
{
    g_autofree char *rows = g_build_filename(folder, "rows", NULL);
    g_autoptr(GDir) names = g_dir_open(rows, 0, NULL);
    int count = 0;
    for (const char *name; (name = g_dir_read_name(names));)
        count += g_str_has_suffix(name, ".sst");
    return count;
}

static void
run_child(const char *folder)
{
    embedded_fixture fixture = {.folder = (char *)(uintptr_t)folder};
    kw_error error;
    fixture.store = embedded_fixture_open_store(folder, &error);
    if (!fixture.store)
        g_error("%s", error.text);
    kw_sync_open(&fixture.sync, fixture.store);
    const kw_family_spec family = default_family("d");
    embedded_fixture_create_table(&fixture, "t", &family, 1);
    for (int row = 0; row < ROWS; row++) {
        g_autofree char *name = name_of(row), *value = value_of(row);
        embedded_fixture_put(&fixture, "t", name, "d", "q", value, 5); /* waits for the acknowledgement */
    }
    while (count_tables(folder) < FLUSHES)
        g_usleep(10000);
    g_usleep(2500000); /* the idle store notes the numbers of its files */
    kill(getpid(), SIGKILL);
}

static char *
make_store(void)
{
    char *folder = temporary_folder_new();
    const char *const command[] = {program, "--child", folder, NULL};
    int status;
    g_assert_true(
        g_spawn_sync(NULL, (char **)(uintptr_t)command, NULL, 0, NULL, NULL, NULL, NULL, &status, NULL));
    g_assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    return folder;
}

static bool
has_all_rows(kw_store *store)
{
    embedded_fixture fixture = {.store = store};
    bool all = true;
    kw_sync_open(&fixture.sync, store);
    for (int row = 0; row < ROWS && all; row++) {
        g_autofree char *name = name_of(row), *value = value_of(row);
        kw_error error = KW_ERROR_NONE;
        const kw_get get = {.table = B("t"), .row = B(name), .deadline = KW_DEADLINE_NONE};
        kw_rows *rows = kw_sync_get(&fixture.sync, &get, &error);
        all = rows && rows->rows->cells_count == 1 && kw_bytes_equal(rows->rows->cells[0].value, B(value));
        kw_rows_free(rows);
    }
    kw_sync_close(&fixture.sync);
    return all;
}

/* --- the files of a folder --------------------------------------------------------------------------- */

static int
compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Names, sizes, times of change and checksums of all files, one per line, except for the file `lock`, which
 * gets the number of the process. */
static void
describe(const char *folder, const char *under, GString *to)
{
    g_autofree char *path = g_build_filename(folder, under, NULL);
    g_autoptr(GDir) names = g_dir_open(path, 0, NULL);
    GPtrArray *sorted = g_ptr_array_new_with_free_func(g_free);
    for (const char *name; (name = g_dir_read_name(names));)
        g_ptr_array_add(sorted, g_strdup(name));
    g_ptr_array_sort(sorted, compare_texts);
    for (guint i = 0; i < sorted->len; i++) {
        g_autofree char *name = g_build_filename(under, sorted->pdata[i], NULL);
        g_autofree char *full = g_build_filename(folder, name, NULL);
        g_autofree char *data = NULL;
        struct stat facts;
        gsize size = 0;
        g_assert_cmpint(stat(full, &facts), ==, 0);
        if (S_ISDIR(facts.st_mode)) {
            describe(folder, name, to);
            continue;
        }
        g_assert_true(g_file_get_contents(full, &data, &size, NULL));
        g_autofree char *sum = g_compute_checksum_for_data(G_CHECKSUM_MD5, (guchar *)data, size);
        if (!g_str_has_suffix(name, "lock"))
            g_string_append_printf(to, "%s %zu %lld.%09ld %s\n", name, size, (long long)facts.st_mtim.tv_sec,
                                   facts.st_mtim.tv_nsec, sum);
    }
    g_ptr_array_free(sorted, TRUE);
}

/* --- trials ----------------------------------------------------------------------------------------- */

static int refusals, starts;

/* Opens the damaged store. named: the file that a refusal must name. must_refuse: rows are missing for
 * certain. what: of the damage, for messages. */
static void
try_to_open(const char *folder, const char *named, bool must_refuse, const char *what)
{
    g_autoptr(GString) before = g_string_new(NULL), after = g_string_new(NULL);
    kw_error error = KW_ERROR_NONE;
    describe(folder, "", before);
    kw_store *store = embedded_fixture_open_store(folder, &error);
    if (store) {
        if (must_refuse)
            g_error("%s, %s: the store starts", named, what);
        if (!has_all_rows(store))
            g_error("%s, %s: rows are lost, and the store starts", named, what);
        kw_store_free(store);
        starts++;
        return;
    }
    if (!strstr(error.text, named))
        g_error("%s, %s: the error does not name the file: %s", named, what, error.text);
    describe(folder, "", after);
    if (strcmp(before->str, after->str) != 0)
        g_error("%s, %s: the refused start has changed the folder\n%s---\n%s", named, what, before->str,
                after->str);
    refusals++;
}

static void
try_file(const store_file *file, const char *data, gsize size, const char *named, bool must_refuse,
         const char *what)
{
    g_autofree char *copy = store_copy_of(original);
    store_file changed = {.name = file->name, .data = (char *)(uintptr_t)data, .size = size};
    store_file_write(copy, &changed, size);
    try_to_open(copy, named, must_refuse, what);
    temporary_folder_remove(copy);
}

static void
try_without(const store_file *file, bool must_refuse)
{
    g_autofree char *copy = store_copy_of(original);
    g_autofree char *name = g_build_filename("rows", file->name, NULL);
    store_file_remove(copy, name);
    try_to_open(copy, file->name, must_refuse, "removed");
    temporary_folder_remove(copy);
}

static void
try_doubled(const store_file *file, const char *named, bool must_refuse)
{
    g_autofree char *twice = g_malloc(2 * file->size);
    memcpy(twice, file->data, file->size);
    memcpy(twice + file->size, file->data, file->size);
    try_file(file, twice, 2 * file->size, named, must_refuse, "doubled");
}

static void
try_cut(const store_file *file, gsize size, bool must_refuse)
{
    g_autofree char *what = g_strdup_printf("cut to %zu of %zu bytes", size, file->size);
    try_file(file, file->data, size, file->name, must_refuse, what);
}

/* --- tests ------------------------------------------------------------------------------------------ */

static void
test_undamaged(void)
{
    g_autofree char *copy = store_copy_of(original);
    starts = 0;
    try_to_open(copy, "-", false, "undamaged");
    g_assert_cmpint(starts, ==, 1);
    temporary_folder_remove(copy);
}

static void
test_manifest(void)
{
    store_file manifest = store_file_read(original, "MANIFEST-", "");
    kw_wal_reader reader;
    kw_wal_reader_init(&reader, kw_bytes_of(manifest.data, manifest.size));
    int records = 0;
    for (; kw_wal_reader_next(&reader) == KW_WAL_RECORD; records++)
        try_cut(&manifest, reader.start, false);
    kw_wal_reader_clear(&reader);
    g_assert_cmpint(records, >=, 4);
    for (int i = 0; i < 60 / KW_TEST_STEP(4); i++)
        try_cut(&manifest, (gsize)g_test_rand_int_range(0, (gint32)manifest.size), false);
    try_doubled(&manifest, manifest.name, true);
    try_without(&manifest, true);
    store_file_clear(&manifest);
}

/* A manifest without the record of the last flush is an earlier state: RocksDB has deleted its logs. */
static void
test_manifest_without_last_flush(void)
{
    store_file manifest = store_file_read(original, "MANIFEST-", "");
    kw_wal_reader reader;
    kw_wal_reader_init(&reader, kw_bytes_of(manifest.data, manifest.size));
    int records = 0, refused_before = refusals;
    gsize ends[64];
    for (; kw_wal_reader_next(&reader) == KW_WAL_RECORD && records < 64; records++)
        ends[records] = reader.start;
    kw_wal_reader_clear(&reader);
    for (int i = records - 1; i > records - 4; i--)
        try_cut(&manifest, ends[i], false);
    g_assert_cmpint(refusals, >, refused_before);
    store_file_clear(&manifest);
}

static void
test_current(void)
{
    store_file current = store_file_read(original, "CURRENT", "");
    for (gsize size = 0; size < current.size; size++)
        try_cut(&current, size, true);
    try_doubled(&current, current.name, true);
    try_without(&current, true);
    const char other[] = "MANIFEST-000999\n";
    try_file(&current, other, sizeof other - 1, current.name, true, "other manifest");
    store_file_clear(&current);
}

/* RocksDB does not need it to open the store. */
static void
test_options(void)
{
    store_file options = store_file_read(original, "OPTIONS-", "");
    try_cut(&options, 0, false);
    try_cut(&options, options.size / 2, false);
    try_doubled(&options, options.name, false);
    try_without(&options, false);
    store_file_clear(&options);
}

static void
test_log(void)
{
    store_file log = store_file_read(original, "", ".log");
    g_assert_cmpuint(log.size, >, VALUE);
    for (int i = 0; i < 30 / KW_TEST_STEP(3); i++)
        try_cut(&log, (gsize)g_test_rand_int_range(0, (gint32)log.size), true);
    try_cut(&log, 0, true);
    try_cut(&log, log.size - 1, true);
    try_doubled(&log, log.name, true);
    try_without(&log, true);
    store_file_clear(&log);
}

static void
test_tables(void)
{
    g_autofree char *rows = g_build_filename(original, "rows", NULL);
    g_autoptr(GDir) names = g_dir_open(rows, 0, NULL);
    int tables = 0;
    for (const char *name; (name = g_dir_read_name(names)); tables += g_str_has_suffix(name, ".sst")) {
        if (!g_str_has_suffix(name, ".sst"))
            continue;
        store_file table = store_file_read(original, name, "");
        try_cut(&table, 0, true);
        try_cut(&table, table.size / 2, true);
        try_cut(&table, table.size - 1, true);
        try_doubled(&table, table.name, true);
        try_without(&table, true);
        store_file_clear(&table);
    }
    g_assert_cmpint(tables, >=, FLUSHES);
}

/* Keyway's own files protect others: without them, nothing is lost. The format is required. */
static void
test_own_files(void)
{
    static const struct {
        const char *name;
        bool must_refuse;
    } files[] = {{"../acknowledged", false}, {"../filled", false}, {"../lock", false}, {"../format", true}};
    for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
        store_file own = store_file_read(original, "CURRENT", "");
        g_free(own.name);
        g_free(own.data);
        own.name = g_strdup(files[i].name);
        g_autofree char *path = g_build_filename(original, own.name + 3, NULL);
        g_assert_true(g_file_get_contents(path, &own.data, &own.size, NULL));
        const char *named = own.name + 3;
        for (gsize size = 0; size < own.size; size += 1 + own.size / 3)
            try_file(&own, own.data, size, named, files[i].must_refuse, "cut");
        if (own.size)
            try_doubled(&own, named, files[i].must_refuse);
        g_autofree char *copy = store_copy_of(original);
        store_file_remove(copy, named);
        try_to_open(copy, named, files[i].must_refuse, "removed");
        temporary_folder_remove(copy);
        store_file_clear(&own);
    }
}

/* A copy of the store with two logs, as if the process had died before the commits of the first one were
 * flushed. ret_first: the first log before it was divided. */
static char *
make_two_logs(store_file *ret_first)
{
    char *copy = store_copy_of(original);
    store_file log = store_file_read(copy, "", ".log");
    g_autofree char *later =
        g_strdup_printf("%06" G_GINT64_FORMAT ".log", g_ascii_strtoll(log.name, NULL, 10) + 5);
    kw_wal_reader reader;
    kw_wal_reader_init(&reader, kw_bytes_of(log.data, log.size));
    g_assert_cmpint(kw_wal_reader_next(&reader), ==, KW_WAL_RECORD);
    GByteArray *second = g_byte_array_new();
    gsize cut = reader.at;
    while (kw_wal_reader_next(&reader) == KW_WAL_RECORD)
        store_log_append(second, reader.record);
    kw_wal_reader_clear(&reader);
    store_file other = {.name = later, .data = (char *)second->data, .size = second->len};
    store_file_write(copy, &other, other.size);
    store_file_write(copy, &log, cut);
    g_byte_array_free(second, TRUE);
    *ret_first = log;
    return copy;
}

static void
try_without_first_log(const char *folder, const store_file *log, const char *what)
{
    g_autofree char *whole = store_copy_of(folder);
    g_autofree char *name = g_build_filename("rows", log->name, NULL);
    try_to_open(whole, "-", false, "two logs");
    store_file_remove(folder, name);
    try_to_open(folder, log->name, true, what);
    temporary_folder_remove(whole);
}

static void
test_first_of_two_logs(void)
{
    store_file log;
    g_autofree char *copy = make_two_logs(&log);
    try_without_first_log(copy, &log, "first of two logs removed");
    store_file_clear(&log);
    temporary_folder_remove(copy);
}

/* The commits of the first log arrived during a flush, so the manifest contains their last sequence number,
 * but no table contains them. */
static void
test_first_of_two_logs_during_flush(void)
{
    store_file log, manifest;
    g_autofree char *copy = make_two_logs(&log);
    kw_wal_reader reader;
    kw_wal_batch batch;
    kw_wal_reader_init(&reader, kw_bytes_of(log.data, log.size));
    g_assert_true(kw_wal_reader_next(&reader) == KW_WAL_RECORD && kw_wal_batch_read(reader.record, &batch));
    uint64_t last = batch.sequence + batch.entries - 1;
    kw_wal_reader_clear(&reader);
    g_assert_cmpuint(last, <, 1 << 14);
    const uint8_t record[] = {4, (uint8_t)(last | 0x80), (uint8_t)(last >> 7)}; /* the last sequence number */
    manifest = store_file_read(copy, "MANIFEST-", "");
    GByteArray *longer = g_byte_array_new();
    g_byte_array_append(longer, (const guint8 *)manifest.data, (guint)manifest.size);
    store_log_append(longer, kw_bytes_of(record, sizeof record));
    g_free(manifest.data);
    manifest.size = longer->len;
    manifest.data = (char *)g_byte_array_free(longer, FALSE);
    store_file_write(copy, &manifest, manifest.size);
    try_without_first_log(copy, &log, "first of two logs removed, after a flush");
    store_file_clear(&manifest);
    store_file_clear(&log);
    temporary_folder_remove(copy);
}

int
main(int argc, char **argv)
{
    program = argv[0];
    if (argc == 3 && strcmp(argv[1], "--child") == 0)
        run_child(argv[2]);
    seeded_init(&argc, &argv);
    original = make_store();
    g_test_add_func("/files/undamaged", test_undamaged);
    g_test_add_func("/files/manifest", test_manifest);
    g_test_add_func("/files/manifest_without_last_flush", test_manifest_without_last_flush);
    g_test_add_func("/files/current", test_current);
    g_test_add_func("/files/options", test_options);
    g_test_add_func("/files/log", test_log);
    g_test_add_func("/files/first_of_two_logs", test_first_of_two_logs);
    g_test_add_func("/files/first_of_two_logs_during_flush", test_first_of_two_logs_during_flush);
    g_test_add_func("/files/tables", test_tables);
    g_test_add_func("/files/own", test_own_files);
    int failed = g_test_run();
    g_test_message("%d starts were refused, %d were not", refusals, starts);
    temporary_folder_remove(original);
    g_free(original);
    return failed;
}
