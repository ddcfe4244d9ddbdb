/* Damage on disk is detected. Whichever byte of a store's files changes after SIGKILL, all acknowledged puts
 * are still readable, or the store does not start (or, if the byte is in a table file, the read fails). If a
 * log ends inside a record, only this record is lost.
 *
 * A child process, which is this program, puts the rows and is killed: test_embedded_damage --child FOLDER.
 */
#include "contract/fixture.h"
#include "embedded_fixture.h"
#include "store/embedded/crc32c.h"
#include "store/embedded/wal_batch.h"
#include "store/embedded/wal_reader.h"
#include "store_files.h"
#include "support/seeded.h"
#include "support/slow_build.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROWS = 40, LARGE = 37000 };

static const char *program;
static char *original; /* the folder of a store whose writer was killed; the tests change copies of it */

/* --- a store -------------------------------------------------------------------------------------- */

/* One value is longer than a block of the log. */
static char *
value_of(int row)
{
    return g_strnfill(row == 20 ? LARGE : 5 + (gsize)row, (char)('a' + row % 26));
}

static char *
name_of(int row)
{
    return g_strdup_printf("row-%03d", row);
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

/* --- verdicts ------------------------------------------------------------------------------------- */

typedef enum verdict { REJECTED, INTACT, READ_FAILED, ROWS_LOST } verdict;

/* The number of rows, from the first one on, that exist unchanged. -1 if a read failed with CORRUPT. */
static int
count_intact_rows(kw_store *store)
{
    embedded_fixture fixture = {.store = store};
    int intact = 0;
    kw_sync_open(&fixture.sync, store);
    for (int row = 0; row < ROWS && intact == row; row++) {
        g_autofree char *name = name_of(row), *value = value_of(row);
        kw_error error = KW_ERROR_NONE;
        const kw_get get = {.table = B("t"), .row = B(name), .deadline = KW_DEADLINE_NONE};
        kw_rows *rows = kw_sync_get(&fixture.sync, &get, &error);
        if (!rows && error.code == KW_NOT_FOUND)
            break; /* the table does not exist */
        if (!rows) {
            g_assert_cmpint(error.code, ==, KW_CORRUPT);
            intact = -1;
            break;
        }
        const kw_row *found = rows->rows;
        intact += found->cells_count == 1 && kw_bytes_equal(found->cells[0].value, B(value));
        kw_rows_free(rows);
    }
    kw_sync_close(&fixture.sync);
    return intact;
}

/* Opens the store in the folder and reads all rows. */
static verdict
open_and_read_all(const char *folder, kw_error *ret_error)
{
    kw_store *store = embedded_fixture_open_store(folder, ret_error);
    if (!store)
        return REJECTED;
    int intact = count_intact_rows(store);
    kw_store_free(store);
    return intact == ROWS ? INTACT : intact < 0 ? READ_FAILED : ROWS_LOST;
}

/* Writes the log to the copied folder. True if the check finds no damage. */
static bool
passes_check(const char *folder, const store_file *log, kw_error *ret_error)
{
    store_file_write(folder, log, log->size);
    return store_check(folder, ret_error);
}

static void
flip_bits(store_file *changed, gsize at, int pattern)
{
    changed->data[at] = (char)(changed->data[at] ^ pattern);
}

/* --- the log -------------------------------------------------------------------------------------- */

static void
test_checksum(void)
{
    static const uint8_t zeros[32];
    g_assert_cmphex(kw_crc32c(0, KW_BYTES_LITERAL("123456789")), ==, 0xe3069283); /* RFC 3720, B.4 */
    g_assert_cmphex(kw_crc32c(0, kw_bytes_of(zeros, sizeof zeros)), ==, 0x8a9136aa);
    for (size_t cut = 0; cut <= 9; cut++)
        g_assert_cmphex(
            kw_crc32c(kw_crc32c(0, kw_bytes_of("123456789", cut)), kw_bytes_of("123456789" + cut, 9 - cut)),
            ==, 0xe3069283);
}

static void
test_undamaged(void)
{
    g_autofree char *copy = store_copy_of(original);
    kw_error error;
    g_assert_cmpint(open_and_read_all(copy, &error), ==, INTACT);
    temporary_folder_remove(copy);
}

/* True if all bytes near `at` are bytes of the large value, which are all equal. */
static bool
is_inside_large(const store_file *log, gsize at)
{
    for (gsize i = at < 32 ? 0 : at - 32; i < MIN(at + 64, log->size); i++)
        if (log->data[i] != 'a' + 20)
            return false;
    return true;
}

/* Changes every byte of the log, one at a time. If the check finds no damage, opens the store with
 * RocksDB. */
static void
flip_every_byte(int pattern)
{
    g_autofree char *copy = store_copy_of(original);
    store_file log = store_file_read(copy, "", ".log");
    int passed = 0;
    for (gsize at = 0; at < log.size; at += is_inside_large(&log, at) ? 29 : KW_TEST_STEP(5)) {
        kw_error error = KW_ERROR_NONE;
        flip_bits(&log, at, pattern);
        if (passes_check(copy, &log, &error)) {
            g_autofree char *trial = store_copy_of(copy);
            if (open_and_read_all(trial, &error) != INTACT)
                g_error("byte %zu ^ %02x of %s loses rows, which is not detected", at, (unsigned)pattern,
                        log.name);
            temporary_folder_remove(trial);
            passed++;
        } else {
            g_assert_cmpint(error.code, ==, KW_CORRUPT);
            g_assert_nonnull(strstr(error.text, log.name));
            g_assert_nonnull(strstr(error.text, "is damaged at byte "));
            g_assert_nonnull(strstr(error.text, "--repair"));
        }
        flip_bits(&log, at, pattern);
    }
    g_test_message("%zu bytes, %d of them in unused space between blocks", log.size, passed);
    g_assert_cmpint(passed, <, 7 * (int)(log.size / 32768 + 1));
    store_file_clear(&log);
    temporary_folder_remove(copy);
}

static void
test_every_byte(void)
{
    flip_every_byte(0xff);
}

/* Changes each bit of the heads of records, for example those of the length and the type. For some records
 * it also opens the store, as keywayd does. */
static void
test_every_bit_of_heads(void)
{
    g_autofree char *copy = store_copy_of(original);
    store_file log = store_file_read(copy, "", ".log");
    kw_wal_reader reader;
    g_autofree char *whole = g_memdup2(log.data, log.size);
    kw_wal_reader_init(&reader, kw_bytes_of(whole, log.size));
    int records = 0;
    for (; kw_wal_reader_next(&reader) == KW_WAL_RECORD; records++)
        for (gsize bit = 0; bit < (gsize)8 * 7; bit += KW_TEST_STEP(5)) {
            kw_error error;
            gsize at = reader.start + bit / 8;
            flip_bits(&log, at, 1 << bit % 8);
            g_assert_false(passes_check(copy, &log, &error));
            if (records % 8 == 0 || records >= ROWS - 1) {
                g_autofree char *trial = store_copy_of(copy);
                g_assert_cmpint(open_and_read_all(trial, &error), ==, REJECTED);
                temporary_folder_remove(trial);
            }
            flip_bits(&log, at, 1 << bit % 8);
        }
    g_assert_cmpint(records, >=, ROWS);
    kw_wal_reader_clear(&reader);
    store_file_clear(&log);
    temporary_folder_remove(copy);
}

/* Fills regions of the log, up to its end, with zeros, ones, or random bytes. */
static void
test_regions(void)
{
    g_autofree char *copy = store_copy_of(original);
    store_file log = store_file_read(copy, "", ".log");
    g_autofree char *whole = g_memdup2(log.data, log.size);
    static const gsize sizes[] = {2, 16, 100, 512, 4096, 40000};
    for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++)
        for (gsize at = 0; at < log.size; at += 1 + sizes[i] / 2 + (gsize)g_test_rand_int_range(0, 197)) {
            gsize size = MIN(sizes[i], log.size - at);
            kw_error error;
            for (int fill = 0; fill < 3; fill++) {
                for (gsize j = 0; j < size; j++)
                    log.data[at + j] = fill == 0   ? 0
                                       : fill == 1 ? (char)0xff
                                                   : (char)g_test_rand_int_range(0, 256);
                bool same = memcmp(log.data, whole, log.size) == 0;
                bool between = size < 7 && at % 32768 > 32768 - 7 - size;
                if (passes_check(copy, &log, &error) && !same && !between)
                    g_error("a change of %zu bytes at byte %zu is not detected", size, at);
                memcpy(log.data, whole, log.size);
            }
        }
    store_file_clear(&log);
    temporary_folder_remove(copy);
}

/* The number of rows whose records are whole within the first `size` bytes of the log. */
static int
rows_within(const store_file *log, gsize size)
{
    kw_wal_reader reader;
    kw_wal_batch batch;
    int rows = 0;
    kw_wal_reader_init(&reader, kw_bytes_of(log->data, size));
    while (kw_wal_reader_next(&reader) == KW_WAL_RECORD) {
        g_assert_true(kw_wal_batch_read(reader.record, &batch) && batch.complete);
        rows += (int)batch.rows;
    }
    kw_wal_reader_clear(&reader);
    return rows;
}

/* If a log ends inside a record, the store removes only this record and starts, unless it knows that later
 * ones were acknowledged. */
static void
test_truncated_log(void)
{
    g_autofree char *copy = store_copy_of(original);
    store_file log = store_file_read(copy, "", ".log");
    store_file_remove(copy, "acknowledged");
    g_autofree char *rows = g_build_filename(copy, "rows", NULL);
    g_autofree char *path = g_build_filename(rows, log.name, NULL);
    int fixture = 0;
    for (gsize size = log.size; size > 1; size--) {
        kw_error error = KW_ERROR_NONE;
        store_file_write(copy, &log, size);
        if (!store_check(copy, &error))
            g_error("cut to %zu bytes: %s", size, error.text);
        g_autofree char *left = NULL;
        gsize kept;
        g_assert_true(g_file_get_contents(path, &left, &kept, NULL));
        g_assert_cmpuint(kept, <=, size);
        g_assert_cmpint(rows_within(&log, kept), ==, rows_within(&log, size));
        gsize less =
            (gsize)g_test_rand_int_range(0, 40) * KW_TEST_STEP(4); /* MIN evaluates its arguments twice */
        if (size % 997 != 0 && size < log.size - 60)
            size -= MIN(size - 2, less);
        if (size % 997 > 5 && size < log.size - 20)
            continue;
        g_autofree char *trial = store_copy_of(copy);
        kw_store *store = embedded_fixture_open_store(trial, &error);
        if (!store)
            g_error("cut to %zu bytes: %s", size, error.text);
        g_assert_cmpint(count_intact_rows(store), ==, rows_within(&log, kept));
        kw_store_free(store);
        temporary_folder_remove(trial);
        fixture++;
    }
    g_assert_cmpint(fixture, >, 20);
    store_file_clear(&log);
    temporary_folder_remove(copy);
}

/* The end of a log with acknowledged commits is missing. */
static void
test_missing_end(void)
{
    g_autofree char *copy = store_copy_of(original);
    store_file log = store_file_read(copy, "", ".log");
    kw_error error;
    for (gsize size = 0; size < log.size;
         size += MIN(log.size - size, 1 + (gsize)g_test_rand_int_range(0, 300) * KW_TEST_STEP(5))) {
        store_file_write(copy, &log, size);
        g_assert_false(store_check(copy, &error));
        g_assert_cmpint(error.code, ==, KW_CORRUPT);
        if (!strstr(error.text, log.name) || !strstr(error.text, "ends too early"))
            g_error("cut to %zu bytes: %s", size, error.text);
    }
    kw_buffer report = KW_BUFFER_EMPTY;
    kw_model_embedded settings = {.path = copy, .cache_bytes = 8 << 20};
    store_file_write(copy, &log, log.size - 1);
    g_assert_true(kw_embedded_repair(&settings, &report, &error));
    kw_buffer_append_byte(&report, 0);
    g_test_message("%s", (const char *)report.data);
    g_assert_nonnull(strstr((const char *)report.data, "are missing after the last commit: at most "));
    kw_store *store = embedded_fixture_open_store(copy, &error);
    g_assert_cmpint(count_intact_rows(store), ==, ROWS - 1);
    kw_store_free(store);
    kw_buffer_clear(&report);
    store_file_clear(&log);
    temporary_folder_remove(copy);
}

/* --- several logs --------------------------------------------------------------------------------- */

/* Splits the log in two, as if the writer had continued in a new one: the first `records` records stay. */
static void
split_log(const char *folder, const store_file *log, int records)
{
    kw_wal_reader reader;
    kw_wal_reader_init(&reader, kw_bytes_of(log->data, log->size));
    for (int i = 0; i <= records; i++)
        g_assert_cmpint(kw_wal_reader_next(&reader), ==, KW_WAL_RECORD);
    store_file second = {.name = (char *)"000009.log"};
    GByteArray *bytes = g_byte_array_new();
    gsize cut = reader.start;
    do
        store_log_append(bytes, reader.record);
    while (kw_wal_reader_next(&reader) == KW_WAL_RECORD);
    second.data = (char *)bytes->data;
    store_file_write(folder, &second, bytes->len);
    store_file_write(folder, log, cut);
    g_byte_array_free(bytes, TRUE);
    kw_wal_reader_clear(&reader);
}

static void
test_missing_log(void)
{
    g_autofree char *copy = store_copy_of(original);
    store_file log = store_file_read(copy, "", ".log");
    kw_error error;
    split_log(copy, &log, ROWS - 3);
    g_autofree char *whole = store_copy_of(copy);
    g_assert_cmpint(open_and_read_all(whole, &error), ==, INTACT);
    temporary_folder_remove(whole);
    /* Shorten the first log, so that it ends inside a record or lacks whole records before those of the
     * second. */
    for (gsize less = 1; less < 400; less += 7) {
        g_autofree char *rows = g_build_filename(copy, "rows", NULL);
        g_autofree char *path = g_build_filename(rows, log.name, NULL);
        split_log(copy, &log, ROWS - 3);
        g_autofree char *data = NULL;
        gsize size;
        g_assert_true(g_file_get_contents(path, &data, &size, NULL));
        store_file_write(copy, &log, size - less);
        g_assert_false(store_check(copy, &error));
        g_assert_nonnull(strstr(error.text, log.name));
        g_assert_nonnull(strstr(error.text, "missing"));
    }
    store_file_clear(&log);
    temporary_folder_remove(copy);
}

/* --- repair --------------------------------------------------------------------------------------- */

static void
test_repair(void)
{
    g_autofree char *copy = store_copy_of(original);
    store_file log = store_file_read(copy, "", ".log");
    kw_wal_reader reader;
    kw_wal_reader_init(&reader, kw_bytes_of(log.data, log.size));
    enum { DAMAGED = 30 }; /* the two commits of the table, then rows */
    for (int record = 0; record <= DAMAGED; record++)
        g_assert_cmpint(kw_wal_reader_next(&reader), ==, KW_WAL_RECORD);
    int before = rows_within(&log, reader.start);
    flip_bits(&log, reader.at - 1, 0x10); /* the last byte of the value */
    store_file_write(copy, &log, log.size);
    kw_error error;
    g_assert_cmpint(open_and_read_all(copy, &error), ==, REJECTED);
    kw_buffer report = KW_BUFFER_EMPTY;
    kw_model_embedded settings = {.path = copy, .cache_bytes = 8 << 20};
    g_assert_true(kw_embedded_repair(&settings, &report, &error));
    kw_buffer_append_byte(&report, 0);
    g_autofree char *offset = g_strdup_printf("at byte %zu: ", reader.start);
    g_autofree char *whole = g_strdup_printf("whole, after the damage: %d commits with %d rows\n",
                                             ROWS - before - 1, ROWS - before - 1);
    const char *text = (const char *)report.data;
    g_test_message("%s", text);
    g_assert_nonnull(strstr(text, offset));
    g_assert_nonnull(strstr(text, "damaged: 1 commit with at least 1 row\n"));
    g_assert_nonnull(strstr(text, whole));
    kw_store *store = embedded_fixture_open_store(copy, &error);
    g_assert_nonnull(store);
    g_assert_cmpint(count_intact_rows(store), ==, before);
    kw_store_free(store);
    report.size = 0;
    g_assert_true(kw_embedded_repair(&settings, &report, &error)); /* a second repair has nothing to do */
    kw_buffer_append_byte(&report, 0);
    g_assert_nonnull(strstr((const char *)report.data, "nothing was dropped"));
    kw_buffer_clear(&report);
    kw_wal_reader_clear(&reader);
    store_file_clear(&log);
    temporary_folder_remove(copy);
}

/* --- other files ---------------------------------------------------------------------------------- */

/* A copy whose rows are in a table file, because the store was opened again. */
static char *
flushed_copy(void)
{
    char *copy = store_copy_of(original);
    kw_error error;
    g_assert_cmpint(open_and_read_all(copy, &error), ==, INTACT);
    g_assert_cmpint(open_and_read_all(copy, &error), ==, INTACT);
    return copy;
}

static void
test_manifest(void)
{
    g_autofree char *flushed = flushed_copy();
    store_file manifest = store_file_read(flushed, "MANIFEST-", "");
    static const int patterns[] = {0xff, 0x01, 0x40};
    int rejected = 0;
    const gsize step = KW_TEST_STEP(7);
    for (gsize at = 0; at < manifest.size; at += step)
        for (size_t i = 0; i < G_N_ELEMENTS(patterns); i++) {
            if (i > 0 && at % 11 != 0)
                continue;
            g_autofree char *copy = store_copy_of(flushed);
            kw_error error;
            flip_bits(&manifest, at, patterns[i]);
            store_file_write(copy, &manifest, manifest.size);
            verdict found = open_and_read_all(copy, &error);
            if (found != REJECTED && found != INTACT)
                g_error("byte %zu of %s loses rows, which is not detected", at, manifest.name);
            rejected += found == REJECTED;
            flip_bits(&manifest, at, patterns[i]);
            temporary_folder_remove(copy);
        }
    g_assert_cmpint(rejected, >, (int)(manifest.size / step));
    store_file_clear(&manifest);
    temporary_folder_remove(flushed);
}

/* Calls open_and_read_all in a child process, because Debian's RocksDB asserts some properties of a file
 * before it checks their checksum. */
static verdict
open_and_read_all_in_child(const char *folder)
{
    const char *const command[] = {program, "--read", folder, NULL};
    int status;
    g_assert_true(g_spawn_sync(NULL, (char **)(uintptr_t)command, NULL, G_SPAWN_STDERR_TO_DEV_NULL, NULL,
                               NULL, NULL, NULL, &status, NULL));
    if (WIFSIGNALED(status))
        g_assert_cmpint(WTERMSIG(status), ==, SIGABRT);
    return WIFEXITED(status) ? (verdict)WEXITSTATUS(status) : READ_FAILED;
}

/* RocksDB checks the checksum of a block when it reads the block. */
static void
test_table_file(void)
{
    g_autofree char *flushed = flushed_copy();
    store_file rows = store_file_read(flushed, "", ".sst");
    int failed = 0, same = 0;
    for (gsize at = 0; at < rows.size; at += at + 200 < rows.size
                                                 ? (5 + (gsize)g_test_rand_int_range(0, 60)) * KW_TEST_STEP(4)
                                                 : KW_TEST_STEP(5)) {
        g_autofree char *copy = store_copy_of(flushed);
        flip_bits(&rows, at, 0xff);
        store_file_write(copy, &rows, rows.size);
        verdict found = open_and_read_all_in_child(copy);
        if (found == ROWS_LOST)
            g_error("byte %zu of %s loses rows, which is not detected", at, rows.name);
        failed += found == READ_FAILED || found == REJECTED;
        same += found == INTACT;
        flip_bits(&rows, at, 0xff);
        temporary_folder_remove(copy);
    }
    g_test_message("%d changes were detected, %d affect no row", failed, same);
    g_assert_cmpint(failed, >, 10);
    store_file_clear(&rows);
    temporary_folder_remove(flushed);
}

static void
expect_rejected(const char *folder, const char *text)
{
    kw_error error;
    g_assert_cmpint(open_and_read_all(folder, &error), ==, REJECTED);
    g_assert_cmpint(error.code, ==, KW_CORRUPT);
    if (!strstr(error.text, text))
        g_error("%s", error.text);
}

/* Without these checks RocksDB would create a new store. */
static void
test_missing_files(void)
{
    g_autofree char *copy = store_copy_of(original);
    store_file_remove(copy, "rows/CURRENT");
    expect_rejected(copy, "CURRENT is missing");
    store_file_remove(copy, "rows");
    expect_rejected(copy, "rows were stored here");
    store_file_remove(copy, "filled");
    kw_error error;
    /* The operator asked for an empty store. */
    g_assert_cmpint(open_and_read_all(copy, &error), ==, ROWS_LOST);
    temporary_folder_remove(copy);
}

int
main(int argc, char **argv)
{
    program = argv[0];
    kw_error error;
    if (argc == 3 && strcmp(argv[1], "--child") == 0)
        run_child(argv[2]);
    if (argc == 3 && strcmp(argv[1], "--read") == 0)
        return (int)open_and_read_all(argv[2], &error);
    seeded_init(&argc, &argv);
    original = make_store();
    g_test_add_func("/damage/checksum", test_checksum);
    g_test_add_func("/damage/undamaged", test_undamaged);
    g_test_add_func("/damage/log/every_byte", test_every_byte);
    g_test_add_func("/damage/log/every_bit_of_heads", test_every_bit_of_heads);
    g_test_add_func("/damage/log/regions", test_regions);
    g_test_add_func("/damage/log/truncated", test_truncated_log);
    g_test_add_func("/damage/log/missing_end", test_missing_end);
    g_test_add_func("/damage/log/missing", test_missing_log);
    g_test_add_func("/damage/repair", test_repair);
    g_test_add_func("/damage/manifest", test_manifest);
    g_test_add_func("/damage/table_file", test_table_file);
    g_test_add_func("/damage/missing_files", test_missing_files);
    int failed = g_test_run();
    temporary_folder_remove(original);
    g_free(original);
    return failed;
}
