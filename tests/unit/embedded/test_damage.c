/* Damage on disk is noticed: whatever byte of a store's files changes after kill -9, each acknowledged put is
 * there, or the store does not start (or, in a file of rows, the read fails). Only a log that ends inside a
 * record loses it, and no other.
 *
 * This program is its own child, which puts the rows and is killed: test_embedded_damage --child FOLDER.
 */
#include "contract/fixture.h"
#include "opened.h"
#include "store/embedded/crc32c.h"
#include "store/embedded/wal.h"
#include "store/embedded/wal_batch.h"
#include "store/embedded/wal_reader.h"
#include "support/seeded.h"
#include "support/slow_build.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROWS = 40, LARGE = 37000 };

static const char *program;
static char *made; /* a store whose writer was killed; nothing of it is changed */

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
be_the_child(const char *folder)
{
    kw_opened opened = {.folder = (char *)(uintptr_t)folder};
    kw_error error;
    opened.store = kw_opened_store(folder, &error);
    if (!opened.store)
        g_error("%s", error.text);
    kw_sync_open(&opened.sync, opened.store);
    const kw_family_spec family = kw_plain_family("d");
    kw_opened_create(&opened, "t", &family, 1);
    for (int row = 0; row < ROWS; row++) {
        g_autofree char *name = name_of(row), *value = value_of(row);
        kw_opened_put(&opened, "t", name, "d", "q", value, 5); /* acknowledged when it returns */
    }
    kill(getpid(), SIGKILL);
}

static char *
make_store(void)
{
    char *folder = kw_folder_make();
    const char *const command[] = {program, "--child", folder, NULL};
    int status;
    g_assert_true(
        g_spawn_sync(NULL, (char **)(uintptr_t)command, NULL, 0, NULL, NULL, NULL, NULL, &status, NULL));
    g_assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    return folder;
}

static char *
copy_of(const char *folder)
{
    char *copy = kw_folder_make();
    g_autofree char *from = g_strdup_printf("%s/.", folder);
    const char *const command[] = {"cp", "-a", from, copy, NULL};
    g_assert_true(g_spawn_sync(NULL, (char **)(uintptr_t)command, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL,
                               NULL, NULL, NULL));
    return copy;
}

/* The greatest file below rows/ with this ending; the name is the caller's. */
static char *
find_file(const char *folder, const char *prefix, const char *suffix)
{
    g_autofree char *rows = g_build_filename(folder, "rows", NULL);
    g_autoptr(GDir) names = g_dir_open(rows, 0, NULL);
    char *found = NULL;
    for (const char *name; (name = g_dir_read_name(names));)
        if (g_str_has_prefix(name, prefix) && g_str_has_suffix(name, suffix)) {
            g_free(found);
            found = g_strdup(name);
        }
    g_assert_nonnull(found);
    return found;
}

typedef struct file {
    char *name;
    char *data;
    gsize size;
} file;

static file
read_file(const char *folder, const char *prefix, const char *suffix)
{
    file found = {.name = find_file(folder, prefix, suffix)};
    g_autofree char *path = g_build_filename(folder, "rows", found.name, NULL);
    g_assert_true(g_file_get_contents(path, &found.data, &found.size, NULL));
    return found;
}

static void
file_clear(file *found)
{
    g_free(found->name);
    g_free(found->data);
}

/* Over the old bytes: some file systems wait for the disk when a truncated file is written again. */
static void
write_file(const char *folder, const file *written, gsize size)
{
    g_autofree char *path = g_build_filename(folder, "rows", written->name, NULL);
    int to = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    g_assert_cmpint(to, >=, 0);
    g_assert_cmpint(pwrite(to, written->data, size, 0), ==, (gssize)size);
    g_assert_cmpint(ftruncate(to, (off_t)size), ==, 0);
    g_assert_cmpint(close(to), ==, 0);
}

/* --- verdicts ------------------------------------------------------------------------------------- */

typedef enum verdict { REFUSED, ALL_THERE, FAILS, LOST } verdict;

/* How many rows from the first on are there as they were put; -1: a read failed as it should. */
static int
rows_there(kw_store *store)
{
    kw_opened opened = {.store = store};
    int there = 0;
    kw_sync_open(&opened.sync, store);
    for (int row = 0; row < ROWS && there == row; row++) {
        g_autofree char *name = name_of(row), *value = value_of(row);
        kw_error error = KW_ERROR_NONE;
        const kw_get get = {.table = B("t"), .row = B(name), .deadline = KW_DEADLINE_NONE};
        kw_rows *rows = kw_sync_get(&opened.sync, &get, &error);
        if (!rows && error.code == KW_NOT_FOUND)
            break; /* not even the table */
        if (!rows) {
            g_assert_cmpint(error.code, ==, KW_CORRUPT);
            there = -1;
            break;
        }
        const kw_row *found = rows->rows;
        there += found->cells_count == 1 && kw_bytes_equal(found->cells[0].value, B(value));
        kw_rows_free(rows);
    }
    kw_sync_close(&opened.sync);
    return there;
}

/* Opens the store in the folder and looks for every row. */
static verdict
open_and_look(const char *folder, kw_error *ret_error)
{
    kw_store *store = kw_opened_store(folder, ret_error);
    if (!store)
        return REFUSED;
    int there = rows_there(store);
    kw_store_free(store);
    return there == ROWS ? ALL_THERE : there < 0 ? FAILS : LOST;
}

/* The log of the copy is what the file says; does the check let it pass? */
static bool
passes_check(const char *folder, const file *log, kw_error *ret_error)
{
    g_autofree char *rows = g_build_filename(folder, "rows", NULL);
    write_file(folder, log, log->size);
    return kw_wal_check(rows, ret_error);
}

static void
flip(file *changed, gsize at, int pattern)
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
test_whole(void)
{
    g_autofree char *copy = copy_of(made);
    kw_error error;
    g_assert_cmpint(open_and_look(copy, &error), ==, ALL_THERE);
    kw_folder_remove(copy);
}

/* Far from anything but the large value's bytes, which are all alike. */
static bool
is_inside_large(const file *log, gsize at)
{
    for (gsize i = at < 32 ? 0 : at - 32; i < MIN(at + 64, log->size); i++)
        if (log->data[i] != 'a' + 20)
            return false;
    return true;
}

/* Every byte of the log, one after the other. Where the check finds nothing, RocksDB is asked. */
static void
flip_every_byte(int pattern)
{
    g_autofree char *copy = copy_of(made);
    file log = read_file(copy, "", ".log");
    int passed = 0;
    for (gsize at = 0; at < log.size; at += is_inside_large(&log, at) ? 29 : KW_TEST_STEP(5)) {
        kw_error error = KW_ERROR_NONE;
        flip(&log, at, pattern);
        if (passes_check(copy, &log, &error)) {
            g_autofree char *trial = copy_of(copy);
            if (open_and_look(trial, &error) != ALL_THERE)
                g_error("byte %zu ^ %02x of %s loses rows without a word", at, (unsigned)pattern, log.name);
            kw_folder_remove(trial);
            passed++;
        } else {
            g_assert_cmpint(error.code, ==, KW_CORRUPT);
            g_assert_nonnull(strstr(error.text, log.name));
            g_assert_nonnull(strstr(error.text, "is damaged at byte "));
            g_assert_nonnull(strstr(error.text, "--repair"));
        }
        flip(&log, at, pattern);
    }
    g_test_message("%zu bytes, %d of them between the blocks", log.size, passed);
    g_assert_cmpint(passed, <, 7 * (int)(log.size / 32768 + 1));
    file_clear(&log);
    kw_folder_remove(copy);
}

static void
test_every_byte(void)
{
    flip_every_byte(0xff);
}

/* Bits of the heads: a length that grows, a type that is another one. Whole starts, as an operator would see
 * them. */
static void
test_every_bit_of_heads(void)
{
    g_autofree char *copy = copy_of(made);
    file log = read_file(copy, "", ".log");
    kw_wal_reader reader;
    g_autofree char *whole = g_memdup2(log.data, log.size);
    kw_wal_reader_init(&reader, kw_bytes_of(whole, log.size));
    int records = 0;
    for (; kw_wal_reader_next(&reader) == KW_WAL_RECORD; records++)
        for (gsize bit = 0; bit < (gsize)8 * 7; bit += KW_TEST_STEP(5)) {
            kw_error error;
            gsize at = reader.start + bit / 8;
            flip(&log, at, 1 << bit % 8);
            g_assert_false(passes_check(copy, &log, &error));
            if (records % 8 == 0 || records >= ROWS - 1) {
                g_autofree char *trial = copy_of(copy);
                g_assert_cmpint(open_and_look(trial, &error), ==, REFUSED);
                kw_folder_remove(trial);
            }
            flip(&log, at, 1 << bit % 8);
        }
    g_assert_cmpint(records, >=, ROWS);
    kw_wal_reader_clear(&reader);
    file_clear(&log);
    kw_folder_remove(copy);
}

/* Sectors that became zeros, ones, or something else; also the last ones. */
static void
test_regions(void)
{
    g_autofree char *copy = copy_of(made);
    file log = read_file(copy, "", ".log");
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
                    g_error("%zu bytes from %zu on are changed, which nobody notices", size, at);
                memcpy(log.data, whole, log.size);
            }
        }
    file_clear(&log);
    kw_folder_remove(copy);
}

/* Rows whose records are whole in the log's first bytes. */
static int
rows_within(const file *log, gsize size)
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

/* A log that ends inside a record loses that one, and says so; the store starts. */
static void
test_torn_end(void)
{
    g_autofree char *copy = copy_of(made);
    file log = read_file(copy, "", ".log");
    g_autofree char *rows = g_build_filename(copy, "rows", NULL);
    g_autofree char *path = g_build_filename(rows, log.name, NULL);
    int opened = 0;
    for (gsize size = log.size; size > 1; size--) {
        kw_error error = KW_ERROR_NONE;
        write_file(copy, &log, size);
        if (!kw_wal_check(rows, &error))
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
        g_autofree char *trial = copy_of(copy);
        kw_store *store = kw_opened_store(trial, &error);
        if (!store)
            g_error("cut to %zu bytes: %s", size, error.text);
        g_assert_cmpint(rows_there(store), ==, rows_within(&log, kept));
        kw_store_free(store);
        kw_folder_remove(trial);
        opened++;
    }
    g_assert_cmpint(opened, >, 20);
    file_clear(&log);
    kw_folder_remove(copy);
}

/* --- several logs --------------------------------------------------------------------------------- */

/* The log in two, as when the writer went on in a new one: records from `records` on are the second's. */
static void
split_log(const char *folder, const file *log, int records)
{
    kw_wal_reader reader;
    kw_wal_reader_init(&reader, kw_bytes_of(log->data, log->size));
    for (int i = 0; i <= records; i++)
        g_assert_cmpint(kw_wal_reader_next(&reader), ==, KW_WAL_RECORD);
    file second = {.name = (char *)"000009.log"};
    GByteArray *bytes = g_byte_array_new();
    gsize cut = reader.start;
    do { /* small records only, so that none of them has to be split by blocks */
        g_assert_cmpuint(reader.record.size, <, 1000);
        uint8_t head[7] = {0};
        uint8_t type = 1;
        uint32_t crc = kw_crc32c(kw_crc32c(0, kw_bytes_of(&type, 1)), reader.record);
        crc = ((crc >> 15) | (crc << 17)) + 0xa282ead8;
        memcpy(head, &crc, 4);
        head[4] = (uint8_t)reader.record.size;
        head[5] = (uint8_t)(reader.record.size >> 8);
        head[6] = type;
        g_byte_array_append(bytes, head, 7);
        g_byte_array_append(bytes, reader.record.data, (guint)reader.record.size);
    } while (kw_wal_reader_next(&reader) == KW_WAL_RECORD);
    second.data = (char *)bytes->data;
    write_file(folder, &second, bytes->len);
    write_file(folder, log, cut);
    g_byte_array_free(bytes, TRUE);
    kw_wal_reader_clear(&reader);
}

static void
test_a_log_that_is_missing(void)
{
    g_autofree char *copy = copy_of(made);
    file log = read_file(copy, "", ".log");
    kw_error error;
    split_log(copy, &log, ROWS - 3);
    g_autofree char *whole = copy_of(copy);
    g_assert_cmpint(open_and_look(whole, &error), ==, ALL_THERE);
    kw_folder_remove(whole);
    /* The first of the two ends earlier: whole records are missing, or it is cut where the other one goes on.
     */
    for (gsize less = 1; less < 400; less += 7) {
        g_autofree char *rows = g_build_filename(copy, "rows", NULL);
        g_autofree char *path = g_build_filename(rows, log.name, NULL);
        split_log(copy, &log, ROWS - 3);
        g_autofree char *data = NULL;
        gsize size;
        g_assert_true(g_file_get_contents(path, &data, &size, NULL));
        write_file(copy, &log, size - less);
        g_assert_false(kw_wal_check(rows, &error));
        g_assert_nonnull(strstr(error.text, log.name));
        g_assert_nonnull(strstr(error.text, "missing"));
    }
    file_clear(&log);
    kw_folder_remove(copy);
}

/* --- repair --------------------------------------------------------------------------------------- */

static void
test_repair(void)
{
    g_autofree char *copy = copy_of(made);
    file log = read_file(copy, "", ".log");
    kw_wal_reader reader;
    kw_wal_reader_init(&reader, kw_bytes_of(log.data, log.size));
    enum { DAMAGED = 30 }; /* the table's two commits, then rows */
    for (int record = 0; record <= DAMAGED; record++)
        g_assert_cmpint(kw_wal_reader_next(&reader), ==, KW_WAL_RECORD);
    int before = rows_within(&log, reader.start);
    flip(&log, reader.at - 1, 0x10); /* the end of its value */
    write_file(copy, &log, log.size);
    kw_error error;
    g_assert_cmpint(open_and_look(copy, &error), ==, REFUSED);
    kw_buffer report = KW_BUFFER_EMPTY;
    kw_model_embedded settings = {.path = copy, .cache_bytes = 8 << 20, .readers = 1};
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
    kw_store *store = kw_opened_store(copy, &error);
    g_assert_nonnull(store);
    g_assert_cmpint(rows_there(store), ==, before);
    kw_store_free(store);
    report.size = 0;
    g_assert_true(kw_embedded_repair(&settings, &report, &error)); /* once more: nothing is left to do */
    kw_buffer_append_byte(&report, 0);
    g_assert_nonnull(strstr((const char *)report.data, "nothing was dropped"));
    kw_buffer_clear(&report);
    kw_wal_reader_clear(&reader);
    file_clear(&log);
    kw_folder_remove(copy);
}

/* --- other files ---------------------------------------------------------------------------------- */

/* A store whose rows are in a file of their own: it was opened again. */
static char *
flushed_copy(void)
{
    char *copy = copy_of(made);
    kw_error error;
    g_assert_cmpint(open_and_look(copy, &error), ==, ALL_THERE);
    g_assert_cmpint(open_and_look(copy, &error), ==, ALL_THERE);
    return copy;
}

static void
test_manifest(void)
{
    g_autofree char *flushed = flushed_copy();
    file manifest = read_file(flushed, "MANIFEST-", "");
    static const int patterns[] = {0xff, 0x01, 0x40};
    int refused = 0;
    const gsize step = KW_TEST_STEP(7);
    for (gsize at = 0; at < manifest.size; at += step)
        for (size_t i = 0; i < G_N_ELEMENTS(patterns); i++) {
            if (i > 0 && at % 11 != 0)
                continue;
            g_autofree char *copy = copy_of(flushed);
            kw_error error;
            flip(&manifest, at, patterns[i]);
            write_file(copy, &manifest, manifest.size);
            verdict found = open_and_look(copy, &error);
            if (found != REFUSED && found != ALL_THERE)
                g_error("byte %zu of %s loses rows without a word", at, manifest.name);
            refused += found == REFUSED;
            flip(&manifest, at, patterns[i]);
            kw_folder_remove(copy);
        }
    g_assert_cmpint(refused, >, (int)(manifest.size / step));
    file_clear(&manifest);
    kw_folder_remove(flushed);
}

/* The same in a process of its own: RocksDB, as Debian builds it, asserts some things of a file's properties
 * before it compares their checksum. */
static verdict
open_and_look_apart(const char *folder)
{
    const char *const command[] = {program, "--look", folder, NULL};
    int status;
    g_assert_true(g_spawn_sync(NULL, (char **)(uintptr_t)command, NULL, G_SPAWN_STDERR_TO_DEV_NULL, NULL,
                               NULL, NULL, NULL, &status, NULL));
    if (WIFSIGNALED(status))
        g_assert_cmpint(WTERMSIG(status), ==, SIGABRT);
    return WIFEXITED(status) ? (verdict)WEXITSTATUS(status) : FAILS;
}

/* Checksums are compared when blocks are read. */
static void
test_rows_file(void)
{
    g_autofree char *flushed = flushed_copy();
    file rows = read_file(flushed, "", ".sst");
    int failed = 0, same = 0;
    for (gsize at = 0; at < rows.size; at += at + 200 < rows.size
                                                 ? (5 + (gsize)g_test_rand_int_range(0, 60)) * KW_TEST_STEP(4)
                                                 : KW_TEST_STEP(5)) {
        g_autofree char *copy = copy_of(flushed);
        flip(&rows, at, 0xff);
        write_file(copy, &rows, rows.size);
        verdict found = open_and_look_apart(copy);
        if (found == LOST)
            g_error("byte %zu of %s loses rows without a word", at, rows.name);
        failed += found == FAILS || found == REFUSED;
        same += found == ALL_THERE;
        flip(&rows, at, 0xff);
        kw_folder_remove(copy);
    }
    g_test_message("%d changes were noticed, %d concern no row", failed, same);
    g_assert_cmpint(failed, >, 10);
    file_clear(&rows);
    kw_folder_remove(flushed);
}

static void
expect_refused(const char *folder, const char *text)
{
    kw_error error;
    g_assert_cmpint(open_and_look(folder, &error), ==, REFUSED);
    g_assert_cmpint(error.code, ==, KW_CORRUPT);
    if (!strstr(error.text, text))
        g_error("%s", error.text);
}

static void
remove_file(const char *folder, const char *name)
{
    g_autofree char *path = g_build_filename(folder, name, NULL);
    kw_folder_remove(path);
}

/* RocksDB would begin anew. */
static void
test_files_that_are_missing(void)
{
    g_autofree char *copy = copy_of(made);
    remove_file(copy, "rows/CURRENT");
    expect_refused(copy, "CURRENT is missing");
    remove_file(copy, "rows");
    expect_refused(copy, "rows were stored here");
    remove_file(copy, "filled");
    kw_error error;
    g_assert_cmpint(open_and_look(copy, &error), ==, LOST); /* an empty store, as was asked for */
    kw_folder_remove(copy);
}

int
main(int argc, char **argv)
{
    program = argv[0];
    kw_error error;
    if (argc == 3 && strcmp(argv[1], "--child") == 0)
        be_the_child(argv[2]);
    if (argc == 3 && strcmp(argv[1], "--look") == 0)
        return (int)open_and_look(argv[2], &error);
    seeded_init(&argc, &argv);
    made = make_store();
    g_test_add_func("/damage/checksum", test_checksum);
    g_test_add_func("/damage/whole", test_whole);
    g_test_add_func("/damage/log/every byte", test_every_byte);
    g_test_add_func("/damage/log/every bit of heads", test_every_bit_of_heads);
    g_test_add_func("/damage/log/regions", test_regions);
    g_test_add_func("/damage/log/torn end", test_torn_end);
    g_test_add_func("/damage/log/missing", test_a_log_that_is_missing);
    g_test_add_func("/damage/repair", test_repair);
    g_test_add_func("/damage/manifest", test_manifest);
    g_test_add_func("/damage/rows file", test_rows_file);
    g_test_add_func("/damage/missing files", test_files_that_are_missing);
    int failed = g_test_run();
    kw_folder_remove(made);
    g_free(made);
    return failed;
}
