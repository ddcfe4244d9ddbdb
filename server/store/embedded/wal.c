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

/* One log, in the order of the numbers in their names. */
typedef struct log_file {
    uint64_t number;
    char *path;
    bool is_cut; /* it ends inside a record, */
    size_t end;  /* which begins here */
} log_file;

typedef struct lost {
    uint64_t commits, rows, tables;
} lost;

/* What the logs hold. */
typedef struct look {
    GArray *logs;      /* log_file */
    uint64_t sequence; /* that the next commit must have; 0: any */
    guint cut; /* the log that is cut, and that only a log that goes on there may follow; or their number */

    bool is_damaged;
    guint at;      /* in which log, */
    size_t offset; /* and where the record begins that is the first to go */
    const char *why;
    lost inside; /* what can be read of the damaged commit itself */
    lost behind; /* whole ones that follow it */
} look;

/* --- files ---------------------------------------------------------------------------------------- */

static void
log_file_clear(void *log)
{
    g_free(((log_file *)log)->path);
}

static int
by_number(const void *a, const void *b)
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

/* The logs of the folder; NULL: it cannot be read. A folder that is missing has none. */
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
    g_array_sort(logs, by_number);
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

/* --- looking -------------------------------------------------------------------------------------- */

static void
add_lost(lost *sum, const kw_wal_batch *batch)
{
    sum->commits++;
    sum->rows += batch->rows;
    sum->tables += batch->tables;
}

static bool
note_damage(look *self, guint log, size_t offset, const char *why)
{
    self->is_damaged = true;
    self->at = log;
    self->offset = offset;
    self->why = why;
    return false;
}

/* A record that is as it was written. False: it does not follow the one before. */
static bool
take_record(look *self, guint log, const kw_wal_reader *reader)
{
    kw_wal_batch batch;
    if (!kw_wal_batch_read(reader->record, &batch))
        return note_damage(self, log, reader->start, "a record is too short for a commit");
    if (self->sequence && batch.sequence != self->sequence) {
        guint from = MIN(self->cut, log);
        size_t offset = from < log ? g_array_index(self->logs, log_file, from).end : reader->start;
        return note_damage(self, from, offset, "commits are missing between this place and what follows");
    }
    self->cut = self->logs->len;
    self->sequence = batch.sequence + batch.entries;
    return true;
}

/* Died its writer here? Then the commit is not whole, and it is the one that was due. */
static bool
is_torn(const look *self, const kw_wal_reader *reader)
{
    kw_wal_batch batch;
    kw_buffer all = KW_BUFFER_EMPTY;
    kw_buffer_append(&all, reader->record);
    kw_buffer_append(&all, reader->rest);
    bool has_head = kw_wal_batch_read(kw_buffer_bytes(&all), &batch);
    kw_buffer_clear(&all);
    return !has_head || (!batch.complete && (!self->sequence || batch.sequence == self->sequence));
}

static bool
take_end(look *self, guint log, const kw_wal_reader *reader, kw_wal_step step)
{
    log_file *file = &g_array_index(self->logs, log_file, log);
    if (step == KW_WAL_END)
        return true;
    if (step == KW_WAL_BROKEN)
        return note_damage(self, log, reader->start, reader->why);
    if (!is_torn(self, reader))
        return note_damage(self, log, reader->start, "the length of the last record is wrong");
    file->is_cut = true;
    file->end = reader->start;
    self->cut = log;
    return true;
}

/* What goes with the damage. The reader stands where it was found. */
static void
count_lost(look *self, kw_wal_reader *reader, bool found)
{
    kw_wal_batch batch;
    kw_buffer inside = KW_BUFFER_EMPTY;
    kw_buffer_append(&inside, reader->record);
    kw_buffer_append(&inside, reader->rest);
    if (kw_wal_batch_read(kw_buffer_bytes(&inside), &batch))
        add_lost(found ? &self->behind : &self->inside, &batch);
    kw_buffer_clear(&inside);
    for (;;) {
        kw_wal_step step = kw_wal_reader_next(reader);
        if (step == KW_WAL_END || (step != KW_WAL_RECORD && !kw_wal_reader_find(reader)))
            return;
        if (kw_wal_batch_read(reader->record, &batch))
            add_lost(&self->behind, &batch);
    }
}

/* False: the file cannot be read. */
static bool
look_into(look *self, guint log, kw_error *ret_error)
{
    kw_bytes content;
    kw_wal_reader reader;
    kw_wal_step step = KW_WAL_RECORD;
    if (!read_file(g_array_index(self->logs, log_file, log).path, &content, ret_error))
        return false;
    kw_wal_reader_init(&reader, content);
    bool was_damaged = self->is_damaged;
    while (!self->is_damaged && (step = kw_wal_reader_next(&reader)) == KW_WAL_RECORD)
        take_record(self, log, &reader);
    if (!self->is_damaged)
        take_end(self, log, &reader, step);
    if (self->is_damaged)
        count_lost(self, &reader, was_damaged || step == KW_WAL_RECORD);
    kw_wal_reader_clear(&reader);
    free_content(content);
    return true;
}

static void
look_clear(look *self)
{
    if (self->logs)
        g_array_free(self->logs, TRUE);
    *self = (look){0};
}

/* False: something cannot be read. */
static bool
look_at_logs(const char *rows, look *self, kw_error *ret_error)
{
    *self = (look){.logs = list_logs(rows, ret_error)};
    if (!self->logs)
        return false;
    self->cut = self->logs->len;
    for (guint log = 0; log < self->logs->len; log++)
        if (!look_into(self, log, ret_error)) {
            look_clear(self);
            return false;
        }
    return true;
}

/* --- the manifest --------------------------------------------------------------------------------- */

/* The manifest that CURRENT names; NULL: it names none, which RocksDB reports. */
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

/* RocksDB takes a damaged length near the manifest's end for the end, forgets the files that the last changes
 * named, and deletes them. */
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
    bool damaged = step == KW_WAL_BROKEN || (step == KW_WAL_CUT && kw_wal_reader_find(&reader));
    kw_wal_reader_clear(&reader);
    free_content(content);
    return !damaged ||
           kw_error_set(ret_error, KW_CORRUPT,
                        "%s is damaged at byte %zu (%s): the list of the store's files cannot be trusted; "
                        "restore the folder from a copy",
                        path, offset, why);
}

/* RocksDB would begin a new store beside what is there, and delete it. */
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
                                "%s is missing, but there are rows (%s): restore the folder from a copy",
                                current, name);
    return true;
}

/* --- what is done about it ------------------------------------------------------------------------ */

static bool
cut_off(const log_file *log, kw_error *ret_error)
{
    int file = open(log->path, O_WRONLY | O_CLOEXEC);
    off_t size = file < 0 ? -1 : lseek(file, 0, SEEK_END);
    bool done = size >= 0 && ftruncate(file, (off_t)log->end) == 0 && fsync(file) == 0;
    int why = errno;
    if (file >= 0)
        close(file);
    if (!done)
        return kw_error_set(ret_error, KW_UNAVAILABLE, "%s: %s", log->path, g_strerror(why));
    kw_log(KW_LOG_WARN, "embedded",
           "the log ends inside a write that was never acknowledged, which is dropped",
           "file=%s offset=%zu bytes=%lld", log->path, log->end, (long long)size - (long long)log->end);
    return true;
}

static bool
refuse(const look *self, kw_error *ret_error)
{
    const log_file *log = &g_array_index(self->logs, log_file, self->at);
    return kw_error_set(
        ret_error, KW_CORRUPT,
        "%s is damaged at byte %zu (%s); %" G_GUINT64_FORMAT " whole commits with %" G_GUINT64_FORMAT
        " rows follow. Make a copy of the folder; then keywayd --repair drops the damaged commit "
        "and all that follow, and says what went",
        log->path, self->offset, self->why, self->behind.commits, self->behind.rows);
}

bool
kw_wal_check(const char *rows, kw_error *ret_error)
{
    look self;
    if (!check_current(rows, ret_error) || !check_manifest(rows, ret_error) ||
        !look_at_logs(rows, &self, ret_error))
        return false;
    bool good = !self.is_damaged || refuse(&self, ret_error);
    for (guint log = 0; good && log < self.logs->len; log++)
        if (g_array_index(self.logs, log_file, log).is_cut)
            good = cut_off(&g_array_index(self.logs, log_file, log), ret_error);
    look_clear(&self);
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

/* The log up to the damage takes the log's place at once. */
static bool
shorten(const log_file *log, size_t size, kw_error *ret_error)
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
keep_copies(const look *self, const char *copies, kw_error *ret_error)
{
    if (g_mkdir_with_parents(copies, 0700) < 0)
        return cannot(copies, ret_error);
    for (guint log = self->at; log < self->logs->len; log++) {
        const char *path = g_array_index(self->logs, log_file, log).path;
        g_autofree char *name = g_path_get_basename(path);
        g_autofree char *copy = g_build_filename(copies, name, NULL);
        if (link(path, copy) < 0)
            return cannot(copy, ret_error);
    }
    return sync_folder(copies, ret_error);
}

static bool
drop(const look *self, const char *rows, kw_error *ret_error)
{
    if (!shorten(&g_array_index(self->logs, log_file, self->at), self->offset, ret_error))
        return false;
    for (guint log = self->at + 1; log < self->logs->len; log++)
        if (unlink(g_array_index(self->logs, log_file, log).path) < 0)
            return cannot(g_array_index(self->logs, log_file, log).path, ret_error);
    return sync_folder(rows, ret_error);
}

static void
tell_lost(kw_buffer *to, const char *what, const lost *went, const char *least)
{
    kw_buffer_printf(to, "  %s: %" G_GUINT64_FORMAT " commit%s with %s%" G_GUINT64_FORMAT " row%s", what,
                     went->commits, went->commits == 1 ? "" : "s", least, went->rows,
                     went->rows == 1 ? "" : "s");
    if (went->tables)
        kw_buffer_printf(to, " and %" G_GUINT64_FORMAT " change%s of tables", went->tables,
                         went->tables == 1 ? "" : "s");
    kw_buffer_append_text(to, "\n");
}

static void
describe(const look *self, const char *copies, kw_buffer *to)
{
    lost inside = self->inside;
    inside.commits = MAX(inside.commits, strstr(self->why, "missing") ? 0 : 1);
    kw_buffer_printf(to, "%s is damaged at byte %zu: %s\nDropped:\n",
                     g_array_index(self->logs, log_file, self->at).path, self->offset, self->why);
    tell_lost(to, "damaged", &inside, "at least ");
    tell_lost(to, "whole, after the damage", &self->behind, "");
    kw_buffer_printf(to, "The logs as they were are in %s\n", copies);
}

bool
kw_wal_repair(const char *rows, const char *copies, kw_buffer *report, kw_error *ret_error)
{
    look self;
    if (!check_current(rows, ret_error) || !check_manifest(rows, ret_error) ||
        !look_at_logs(rows, &self, ret_error))
        return false;
    bool good = true;
    if (!self.is_damaged)
        kw_buffer_append_text(report, "The write-ahead logs are not damaged: nothing was dropped.\n");
    else if ((good = keep_copies(&self, copies, ret_error) && drop(&self, rows, ret_error)))
        describe(&self, copies, report);
    look_clear(&self);
    return good;
}
