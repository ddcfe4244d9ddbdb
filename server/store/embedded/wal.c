/* See wal.h. */
#include "store/embedded/wal.h"

#include "base/log.h"
#include "store/embedded/wal_batch.h"
#include "store/embedded/wal_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct log_file {
    uint64_t number; /* in its name; the logs are sorted by it */
    char *path;
    bool is_truncated; /* it ends inside a record */
    size_t end;        /* offset of the incomplete record */
} log_file;

typedef struct loss {
    uint64_t commits, rows, tables;
} loss;

/* The result of scanning the logs. */
typedef struct wal_findings {
    GArray *logs;        /* log_file */
    uint64_t sequence;   /* the sequence number that the next commit must have; 0: any */
    guint truncated_log; /* the last log that ends inside a record; logs->len: none, or a later log
                            continues the sequence */

    bool is_damaged;
    guint damaged_log; /* the log with the first damaged record */
    size_t offset;     /* of that record */
    const char *why;
    loss in_damaged;   /* the readable part of the damaged commit */
    loss after_damage; /* the whole commits after it */
} wal_findings;

/* --- files ---------------------------------------------------------------------------------------- */

static void
log_file_clear(void *log)
{
    g_free(((log_file *)log)->path);
}

static int
compare_numbers(const void *a, const void *b)
{
    uint64_t left = ((const log_file *)a)->number, right = ((const log_file *)b)->number;
    return (left > right) - (left < right);
}

static bool
is_log(const char *name, uint64_t *ret_number)
{
    char *end;
    *ret_number = g_ascii_strtoull(name, &end, 10);
    return end != name && strcmp(end, ".log") == 0;
}

/* The logs of the folder, sorted by number; none if the folder is missing. NULL if it cannot be read. */
static GArray *
list_logs(const char *rows, kw_error *ret_error)
{
    g_autoptr(GError) failed = NULL;
    g_autoptr(GDir) folder = g_dir_open(rows, 0, &failed);
    if (!folder && !g_error_matches(failed, G_FILE_ERROR, G_FILE_ERROR_NOENT)) {
        kw_error_set(ret_error, KW_UNAVAILABLE, "%s", failed->message);
        return NULL;
    }
    GArray *logs = g_array_new(FALSE, FALSE, sizeof(log_file));
    g_array_set_clear_func(logs, log_file_clear);
    for (const char *name = NULL; folder && (name = g_dir_read_name(folder));) {
        log_file found = {0};
        if (!is_log(name, &found.number))
            continue;
        found.path = g_build_filename(rows, name, NULL);
        g_array_append_val(logs, found);
    }
    g_array_sort(logs, compare_numbers);
    return logs;
}

static bool
read_file(const char *path, kw_bytes *ret_content, kw_error *ret_error)
{
    g_autoptr(GError) failed = NULL;
    char *content;
    size_t size;
    if (!g_file_get_contents(path, &content, &size, &failed))
        return kw_error_set(ret_error, KW_UNAVAILABLE, "%s", failed->message);
    *ret_content = kw_bytes_of(content, size);
    return true;
}

static void
free_content(kw_bytes content)
{
    g_free((void *)(uintptr_t)content.data);
}

/* --- scanning the logs ---------------------------------------------------------------------------- */

static void
add_loss(loss *sum, const kw_wal_batch *batch)
{
    sum->commits++;
    sum->rows += batch->rows;
    sum->tables += batch->tables;
}

static bool
note_damage(wal_findings *findings, guint log, size_t offset, const char *why)
{
    findings->is_damaged = true;
    findings->damaged_log = log;
    findings->offset = offset;
    findings->why = why;
    return false;
}

/* Checks a record with a correct checksum. False if it is no commit, or does not continue the sequence. */
static bool
check_record(wal_findings *findings, guint log, const kw_wal_reader *reader)
{
    kw_wal_batch batch;
    if (!kw_wal_batch_read(reader->record, &batch))
        return note_damage(findings, log, reader->start, "a record is too short for a commit");
    if (findings->sequence && batch.sequence != findings->sequence) {
        guint from = MIN(findings->truncated_log, log);
        size_t offset = from < log ? g_array_index(findings->logs, log_file, from).end : reader->start;
        return note_damage(findings, from, offset,
                           "commits are missing between this place and the next commit");
    }
    findings->truncated_log = findings->logs->len;
    findings->sequence = batch.sequence + batch.entries;
    return true;
}

/* True if the writer can have died inside this record: it is too short to contain a sequence number, or the
 * commit is incomplete and has the expected sequence number. */
static bool
is_torn(const wal_findings *findings, const kw_wal_reader *reader)
{
    kw_wal_batch batch;
    kw_buffer all = KW_BUFFER_EMPTY;
    kw_buffer_append(&all, reader->record);
    kw_buffer_append(&all, reader->rest);
    bool has_head = kw_wal_batch_read(kw_buffer_bytes(&all), &batch);
    kw_buffer_clear(&all);
    return !has_head || (!batch.complete && (!findings->sequence || batch.sequence == findings->sequence));
}

static bool
check_end(wal_findings *findings, guint log, const kw_wal_reader *reader, kw_wal_step step)
{
    log_file *file = &g_array_index(findings->logs, log_file, log);
    if (step == KW_WAL_END)
        return true;
    if (step == KW_WAL_BROKEN)
        return note_damage(findings, log, reader->start, reader->why);
    if (!is_torn(findings, reader))
        return note_damage(findings, log, reader->start, "the length of the last record is wrong");
    file->is_truncated = true;
    file->end = reader->start;
    findings->truncated_log = log;
    return true;
}

/* Counts the commits that a repair drops. The reader is at the damage, or at the start of a later log.
 * `found`: the reader's current record is whole and after the damage. */
static void
count_loss(wal_findings *findings, kw_wal_reader *reader, bool found)
{
    kw_wal_batch batch;
    kw_buffer in_damaged = KW_BUFFER_EMPTY;
    kw_buffer_append(&in_damaged, reader->record);
    kw_buffer_append(&in_damaged, reader->rest);
    if (kw_wal_batch_read(kw_buffer_bytes(&in_damaged), &batch))
        add_loss(found ? &findings->after_damage : &findings->in_damaged, &batch);
    kw_buffer_clear(&in_damaged);
    for (;;) {
        kw_wal_step step = kw_wal_reader_next(reader);
        if (step == KW_WAL_END || (step != KW_WAL_RECORD && !kw_wal_reader_find(reader)))
            return;
        if (kw_wal_batch_read(reader->record, &batch))
            add_loss(&findings->after_damage, &batch);
    }
}

/* False if the file cannot be read. */
static bool
scan_log(wal_findings *findings, guint log, kw_error *ret_error)
{
    kw_bytes content;
    kw_wal_reader reader;
    kw_wal_step step = KW_WAL_RECORD;
    if (!read_file(g_array_index(findings->logs, log_file, log).path, &content, ret_error))
        return false;
    kw_wal_reader_init(&reader, content);
    bool was_damaged = findings->is_damaged;
    while (!findings->is_damaged && (step = kw_wal_reader_next(&reader)) == KW_WAL_RECORD)
        check_record(findings, log, &reader);
    if (!findings->is_damaged)
        check_end(findings, log, &reader, step);
    if (findings->is_damaged)
        count_loss(findings, &reader, was_damaged || step == KW_WAL_RECORD);
    kw_wal_reader_clear(&reader);
    free_content(content);
    return true;
}

static void
findings_clear(wal_findings *findings)
{
    if (findings->logs)
        g_array_free(findings->logs, TRUE);
    *findings = (wal_findings){0};
}

/* False if the folder or a file cannot be read. */
static bool
scan_logs(const char *rows, wal_findings *findings, kw_error *ret_error)
{
    *findings = (wal_findings){.logs = list_logs(rows, ret_error)};
    if (!findings->logs)
        return false;
    findings->truncated_log = findings->logs->len;
    for (guint log = 0; log < findings->logs->len; log++)
        if (!scan_log(findings, log, ret_error)) {
            findings_clear(findings);
            return false;
        }
    return true;
}

/* --- the manifest --------------------------------------------------------------------------------- */

/* The manifest that CURRENT names. NULL if it names none; RocksDB reports that. */
static char *
find_manifest(const char *rows)
{
    g_autofree char *current = g_build_filename(rows, "CURRENT", NULL);
    g_autofree char *name = NULL;
    if (!g_file_get_contents(current, &name, NULL, NULL))
        return NULL;
    g_strchomp(name);
    return g_str_has_prefix(name, "MANIFEST-") && !strchr(name, '/') ? g_build_filename(rows, name, NULL)
                                                                     : NULL;
}

/* RocksDB mistakes a damaged length near the end of the manifest for its end. Then it ignores the last
 * changes of its list of files, and deletes the files that they name. So the store must not open a damaged
 * manifest. */
static bool
check_manifest(const char *rows, kw_error *ret_error)
{
    g_autofree char *path = find_manifest(rows);
    kw_bytes content;
    kw_wal_reader reader;
    kw_wal_step step;
    if (!path || !g_file_test(path, G_FILE_TEST_EXISTS))
        return true;
    if (!read_file(path, &content, ret_error))
        return false;
    kw_wal_reader_init(&reader, content);
    while ((step = kw_wal_reader_next(&reader)) == KW_WAL_RECORD)
        continue;
    size_t offset = reader.start;
    const char *why = reader.why;
    bool damaged = step == KW_WAL_BROKEN || (step == KW_WAL_TRUNCATED && kw_wal_reader_find(&reader));
    kw_wal_reader_clear(&reader);
    free_content(content);
    return !damaged ||
           kw_error_set(
               ret_error, KW_CORRUPT,
               "%s is damaged at byte %zu (%s): RocksDB's list of its files is not reliable; restore "
               "the folder from a backup",
               path, offset, why);
}

/* Without CURRENT RocksDB would create a new store and delete the existing files. */
static bool
check_current(const char *rows, kw_error *ret_error)
{
    g_autofree char *current = g_build_filename(rows, "CURRENT", NULL);
    g_autoptr(GDir) folder = g_dir_open(rows, 0, NULL);
    if (!folder || g_file_test(current, G_FILE_TEST_EXISTS))
        return true;
    for (const char *name; (name = g_dir_read_name(folder));)
        if (g_str_has_suffix(name, ".sst") || g_str_has_suffix(name, ".log"))
            return kw_error_set(ret_error, KW_CORRUPT,
                                "%s is missing, but the folder contains rows (%s): restore it from a backup",
                                current, name);
    return true;
}

/* --- check ---------------------------------------------------------------------------------------- */

static bool
truncate_log(const log_file *log, kw_error *ret_error)
{
    g_assert(log->is_truncated);
    int file = open(log->path, O_WRONLY | O_CLOEXEC);
    off_t size = file < 0 ? -1 : lseek(file, 0, SEEK_END);
    bool done = size >= 0 && ftruncate(file, (off_t)log->end) == 0 && fsync(file) == 0;
    int why = errno;
    if (file >= 0)
        close(file);
    if (!done)
        return kw_error_set(ret_error, KW_UNAVAILABLE, "%s: %s", log->path, g_strerror(why));
    kw_log(KW_LOG_WARN, "embedded",
           "dropped an incomplete write at the end of the log, which was never acknowledged",
           KW_LOG_FACT("file", log->path), KW_LOG_FACT("offset", log->end),
           KW_LOG_FACT("bytes", size - (off_t)log->end));
    return true;
}

static bool
report_damage(const wal_findings *findings, kw_error *ret_error)
{
    const log_file *log = &g_array_index(findings->logs, log_file, findings->damaged_log);
    return kw_error_set(
        ret_error, KW_CORRUPT,
        "%s is damaged at byte %zu (%s); %" G_GUINT64_FORMAT " whole commits with %" G_GUINT64_FORMAT
        " rows follow. Make a copy of the folder; then run keywayd --repair, which drops the damaged commit "
        "and all later ones and lists what it dropped",
        log->path, findings->offset, findings->why, findings->after_damage.commits,
        findings->after_damage.rows);
}

bool
kw_wal_check(const char *rows, kw_error *ret_error)
{
    wal_findings findings;
    if (!check_current(rows, ret_error) || !check_manifest(rows, ret_error) ||
        !scan_logs(rows, &findings, ret_error))
        return false;
    bool good = !findings.is_damaged || report_damage(&findings, ret_error);
    for (guint log = 0; good && log < findings.logs->len; log++)
        if (g_array_index(findings.logs, log_file, log).is_truncated)
            good = truncate_log(&g_array_index(findings.logs, log_file, log), ret_error);
    findings_clear(&findings);
    return good;
}

/* --- repair --------------------------------------------------------------------------------------- */

static bool
cannot(const char *path, kw_error *ret_error)
{
    return kw_error_set(ret_error, KW_UNAVAILABLE, "%s: %s", path, g_strerror(errno));
}

static bool
sync_folder(const char *path, kw_error *ret_error)
{
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool good = folder >= 0 && fsync(folder) == 0;
    if (!good)
        cannot(path, ret_error);
    if (folder >= 0)
        close(folder);
    return good;
}

static bool
write_prefix(const char *path, kw_bytes content, kw_error *ret_error)
{
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    while (file >= 0 && content.size) {
        ssize_t written = write(file, content.data, content.size);
        if (written < 0)
            break;
        content = kw_bytes_skip(content, (size_t)written);
    }
    bool good = file >= 0 && content.size == 0 && fsync(file) == 0;
    if (!good)
        cannot(path, ret_error);
    if (file >= 0)
        close(file);
    return good;
}

/* Replaces the log atomically by its part before the damage. */
static bool
truncate_at_damage(const log_file *log, size_t size, kw_error *ret_error)
{
    g_autofree char *fresh = g_strconcat(log->path, ".new", NULL);
    kw_bytes content;
    if (!read_file(log->path, &content, ret_error))
        return false;
    bool good = write_prefix(fresh, kw_bytes_of(content.data, MIN(size, content.size)), ret_error) &&
                (g_rename(fresh, log->path) == 0 || cannot(log->path, ret_error));
    free_content(content);
    return good;
}

static bool
keep_copies(const wal_findings *findings, const char *copies, kw_error *ret_error)
{
    if (g_mkdir_with_parents(copies, 0700) < 0)
        return cannot(copies, ret_error);
    for (guint log = findings->damaged_log; log < findings->logs->len; log++) {
        const char *path = g_array_index(findings->logs, log_file, log).path;
        g_autofree char *name = g_path_get_basename(path);
        g_autofree char *copy = g_build_filename(copies, name, NULL);
        if (link(path, copy) < 0)
            return cannot(copy, ret_error);
    }
    return sync_folder(copies, ret_error);
}

static bool
drop_damaged_records(const wal_findings *findings, const char *rows, kw_error *ret_error)
{
    if (!truncate_at_damage(&g_array_index(findings->logs, log_file, findings->damaged_log), findings->offset,
                            ret_error))
        return false;
    for (guint log = findings->damaged_log + 1; log < findings->logs->len; log++)
        if (unlink(g_array_index(findings->logs, log_file, log).path) < 0)
            return cannot(g_array_index(findings->logs, log_file, log).path, ret_error);
    return sync_folder(rows, ret_error);
}

static void
append_loss(kw_buffer *to, const char *what, const loss *lost, const char *least)
{
    kw_buffer_printf(to, "  %s: %" G_GUINT64_FORMAT " commit%s with %s%" G_GUINT64_FORMAT " row%s", what,
                     lost->commits, lost->commits == 1 ? "" : "s", least, lost->rows,
                     lost->rows == 1 ? "" : "s");
    if (lost->tables)
        kw_buffer_printf(to, " and %" G_GUINT64_FORMAT " change%s of tables", lost->tables,
                         lost->tables == 1 ? "" : "s");
    kw_buffer_append_text(to, "\n");
}

static void
describe(const wal_findings *findings, const char *copies, kw_buffer *to)
{
    loss in_damaged = findings->in_damaged;
    in_damaged.commits = MAX(in_damaged.commits, strstr(findings->why, "missing") ? 0 : 1);
    kw_buffer_printf(to, "%s is damaged at byte %zu: %s\nDropped:\n",
                     g_array_index(findings->logs, log_file, findings->damaged_log).path, findings->offset,
                     findings->why);
    append_loss(to, "damaged", &in_damaged, "at least ");
    append_loss(to, "whole, after the damage", &findings->after_damage, "");
    kw_buffer_printf(to, "The original logs are in %s\n", copies);
}

bool
kw_wal_repair(const char *rows, const char *copies, kw_buffer *report, kw_error *ret_error)
{
    wal_findings findings;
    if (!check_current(rows, ret_error) || !check_manifest(rows, ret_error) ||
        !scan_logs(rows, &findings, ret_error))
        return false;
    bool good = true;
    if (!findings.is_damaged)
        kw_buffer_append_text(report, "The write-ahead logs are not damaged: nothing was dropped.\n");
    else if ((good = keep_copies(&findings, copies, ret_error) &&
                     drop_damaged_records(&findings, rows, ret_error)))
        describe(&findings, copies, report);
    findings_clear(&findings);
    return good;
}
