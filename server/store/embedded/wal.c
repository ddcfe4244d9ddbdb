#include "store/embedded/wal_internal.h"

#include "base/log.h"
#include "store/embedded/wal_batch.h"
#include "store/embedded/wal_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static void
log_file_clear(void *log)
{
    g_free(((kw_log_file *)log)->path);
}

/* The logs with commits that are not in tables, sorted by number. NULL if the folder cannot be read. */
static GArray *
list_logs(const kw_files *files, kw_error *ret_error)
{
    GArray *numbers = kw_files_list_logs(files->rows, ret_error);
    if (!numbers)
        return NULL;
    GArray *logs = g_array_new(FALSE, FALSE, sizeof(kw_log_file));
    g_array_set_clear_func(logs, log_file_clear);
    for (guint i = 0; i < numbers->len; i++) {
        kw_log_file found = {.number = g_array_index(numbers, uint64_t, i)};
        if (found.number < files->manifest.log_number)
            continue; /* RocksDB will delete it */
        found.path = kw_files_log_path(files->rows, found.number);
        g_array_append_val(logs, found);
    }
    g_array_free(numbers, TRUE);
    return logs;
}

static void
free_content(kw_bytes content)
{
    g_free((void *)(uintptr_t)content.data);
}

/* --- logs that are not there ---------------------------------------------------------------------- */

static bool
is_there(const kw_wal_findings *findings, uint64_t number)
{
    bool found = false;
    for (guint i = 0; i < findings->logs->len && !found; i++)
        found = g_array_index(findings->logs, kw_log_file, i).number == number;
    return found;
}

/* The first log with a lower number that was there when the last commit was acknowledged, can contain commits
 * that are not in tables, and is not there now; 0: none is known. */
static uint64_t
find_missing_log(const kw_wal_findings *findings, uint64_t before)
{
    const kw_files *files = findings->files;
    for (size_t i = 0; i < KW_ACKNOWLEDGED_LOGS; i++) {
        uint64_t number = files->marks.logs[i];
        if (number >= MAX(files->manifest.log_number, 1) && number < before && !is_there(findings, number))
            return number;
    }
    return 0;
}

/* --- scanning the logs ---------------------------------------------------------------------------- */

static void
add_loss(kw_wal_loss *sum, const kw_wal_batch *batch)
{
    sum->commits++;
    sum->rows += batch->rows;
    sum->tables += batch->tables;
}

static bool
note_damage(kw_wal_findings *findings, guint log, size_t offset, const char *why)
{
    findings->is_damaged = true;
    findings->damaged_log = log;
    findings->offset = offset;
    findings->why = why;
    return false;
}

/* True if this commit, the first one in the logs, does not follow those in the tables. The manifest can
 * contain a later sequence number than the tables: that of the commits that arrived during the flush. Their
 * log can be missing as well. It had synced commits before the next log was created, so it was not lost with
 * a power failure. */
static bool
begins_too_late(const kw_wal_findings *findings, guint log, const kw_wal_batch *batch)
{
    return findings->files->known &&
           (batch->sequence > findings->files->manifest.last_sequence + 1 ||
            find_missing_log(findings, g_array_index(findings->logs, kw_log_file, log).number));
}

/* Checks a record with a correct checksum. False if it is no commit, or does not continue the sequence. */
static bool
check_record(kw_wal_findings *findings, guint log, const kw_wal_reader *reader)
{
    kw_wal_batch batch;
    if (!kw_wal_batch_read(reader->record, &batch))
        return note_damage(findings, log, reader->start, "a record is too short for a commit");
    if (findings->sequence ? batch.sequence != findings->sequence : begins_too_late(findings, log, &batch)) {
        guint from = MIN(findings->truncated_log, log);
        size_t offset = from < log ? g_array_index(findings->logs, kw_log_file, from).end : reader->start;
        findings->missing = findings->sequence ? KW_WAL_MISSING_BETWEEN : KW_WAL_MISSING_FIRST;
        findings->next_log = log;
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
is_torn(const kw_wal_findings *findings, const kw_wal_reader *reader)
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
check_end(kw_wal_findings *findings, guint log, const kw_wal_reader *reader, kw_wal_step step)
{
    kw_log_file *file = &g_array_index(findings->logs, kw_log_file, log);
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
count_loss(kw_wal_findings *findings, kw_wal_reader *reader, bool found)
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
scan_log(kw_wal_findings *findings, guint log, kw_error *ret_error)
{
    kw_bytes content;
    kw_wal_reader reader;
    kw_wal_step step = KW_WAL_RECORD;
    if (!kw_files_read(g_array_index(findings->logs, kw_log_file, log).path, &content, ret_error))
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

void
kw_wal_findings_clear(kw_wal_findings *findings)
{
    if (findings->logs)
        g_array_free(findings->logs, TRUE);
    *findings = (kw_wal_findings){0};
}

/* All entries up to the result are in the tables and logs. */
static uint64_t
last_sequence(const kw_wal_findings *findings)
{
    uint64_t in_logs = findings->sequence ? findings->sequence - 1 : 0;
    return MAX(in_logs, findings->files->manifest.last_sequence);
}

bool
kw_wal_scan(const kw_files *files, kw_wal_findings *ret_findings, kw_error *ret_error)
{
    *ret_findings = (kw_wal_findings){.files = files, .logs = list_logs(files, ret_error)};
    if (!ret_findings->logs)
        return false;
    ret_findings->truncated_log = ret_findings->logs->len;
    for (guint log = 0; log < ret_findings->logs->len; log++)
        if (!scan_log(ret_findings, log, ret_error)) {
            kw_wal_findings_clear(ret_findings);
            return false;
        }
    if (!ret_findings->is_damaged && files->known && files->marks.sequence > last_sequence(ret_findings)) {
        ret_findings->missing = KW_WAL_MISSING_LAST;
        ret_findings->missing_entries = files->marks.sequence - last_sequence(ret_findings);
    }
    return true;
}

/* --- check ---------------------------------------------------------------------------------------- */

static bool
truncate_log(const kw_log_file *log, kw_error *ret_error)
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
report_damage(const kw_wal_findings *findings, kw_error *ret_error)
{
    const kw_log_file *log = &g_array_index(findings->logs, kw_log_file, findings->damaged_log);
    return kw_error_set(
        ret_error, KW_CORRUPT,
        "%s is damaged at byte %zu (%s); %" G_GUINT64_FORMAT " whole commits with %" G_GUINT64_FORMAT
        " rows follow. Make a copy of the folder; then run keywayd --repair, which drops the damaged commit "
        "and all later ones and lists what it dropped",
        log->path, findings->offset, findings->why, findings->after_damage.commits,
        findings->after_damage.rows);
}

/* --- missing logs --------------------------------------------------------------------------------- */

/* The number of the log with the first commit after the missing ones. */
static uint64_t
first_log_after_gap(const kw_wal_findings *findings)
{
    return findings->missing == KW_WAL_MISSING_LAST
               ? UINT64_MAX
               : g_array_index(findings->logs, kw_log_file, findings->next_log).number;
}

/* The name of the file to report as missing or too short. Free it with g_free. */
static char *
name_missing(const kw_wal_findings *findings)
{
    const char *rows = findings->files->rows;
    uint64_t number = find_missing_log(findings, first_log_after_gap(findings));
    guint count = findings->logs->len;
    if (!number && findings->missing == KW_WAL_MISSING_LAST && count) {
        const char *last = g_array_index(findings->logs, kw_log_file, count - 1).path;
        return g_strdup_printf("%s ends too early", last);
    }
    number = number ? number : findings->files->manifest.log_number;
    g_autofree char *path = kw_files_log_path(rows, number);
    if (g_file_test(path, G_FILE_TEST_EXISTS)) {
        const char *next = g_array_index(findings->logs, kw_log_file, findings->next_log).path;
        return g_strdup_printf("a log before %s is missing", next);
    }
    return g_strdup_printf("%s is missing", path);
}

/* Names the manifest if it was truncated: then RocksDB has deleted the logs of commits that are in tables. */
static bool
report_missing(const kw_wal_findings *findings, kw_error *ret_error)
{
    if (kw_files_manifest_was_cut(findings->files, ret_error))
        return false;
    g_autofree char *name = name_missing(findings);
    g_autofree char *doubt = kw_files_doubt_manifest(findings->files);
    return kw_error_set(ret_error, KW_CORRUPT,
                        "%s%s, and acknowledged commits with it. Restore the folder from a backup "
                        "(docs/backup.md). Without one, "
                        "make a copy of the folder; then run keywayd --repair, which drops the commits after "
                        "the missing ones and lists what it dropped",
                        name, doubt);
}

/* Between two commits, the log before the missing ones can have been truncated. */
static bool
report(const kw_wal_findings *findings, kw_error *ret_error)
{
    bool inside = findings->missing == KW_WAL_MISSING_BETWEEN &&
                  !find_missing_log(findings, first_log_after_gap(findings));
    return findings->missing && !inside ? report_missing(findings, ret_error)
                                        : report_damage(findings, ret_error);
}

bool
kw_wal_check(const kw_files *files, kw_error *ret_error)
{
    kw_wal_findings findings;
    if (!kw_wal_scan(files, &findings, ret_error))
        return false;
    bool good = (!findings.missing && !findings.is_damaged) || report(&findings, ret_error);
    for (guint log = 0; good && log < findings.logs->len; log++)
        if (g_array_index(findings.logs, kw_log_file, log).is_truncated)
            good = truncate_log(&g_array_index(findings.logs, kw_log_file, log), ret_error);
    kw_wal_findings_clear(&findings);
    return good;
}
