/* Repairs the logs: see wal.h. */
#include "store/embedded/wal_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <unistd.h>

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
truncate_at_damage(const kw_log_file *log, size_t size, kw_error *ret_error)
{
    g_autofree char *fresh = g_strconcat(log->path, ".new", NULL);
    kw_bytes content;
    if (!kw_files_read(log->path, &content, ret_error))
        return false;
    bool good = write_prefix(fresh, kw_bytes_of(content.data, MIN(size, content.size)), ret_error) &&
                (g_rename(fresh, log->path) == 0 || cannot(log->path, ret_error));
    g_free((void *)(uintptr_t)content.data);
    return good;
}

static bool
keep_copy(const char *path, const char *copies, kw_error *ret_error)
{
    g_autofree char *name = g_path_get_basename(path);
    g_autofree char *copy = g_build_filename(copies, name, NULL);
    return link(path, copy) == 0 || cannot(copy, ret_error);
}

/* Keeps the logs from the damaged one on. If commits are missing, it also keeps the table files that the
 * manifest does not list: if the manifest was truncated, they contain these commits, and RocksDB will delete
 * them. */
static bool
keep_copies(const kw_wal_findings *findings, const char *copies, kw_error *ret_error)
{
    if (g_mkdir_with_parents(copies, 0700) < 0)
        return cannot(copies, ret_error);
    bool good = true;
    for (guint log = findings->damaged_log; good && findings->is_damaged && log < findings->logs->len; log++)
        good = keep_copy(g_array_index(findings->logs, kw_log_file, log).path, copies, ret_error);
    g_autoptr(GPtrArray) unlisted = kw_files_list_unlisted(findings->files);
    for (guint i = 0; good && findings->missing && i < unlisted->len; i++) {
        g_autofree char *path = g_build_filename(findings->files->rows, unlisted->pdata[i], NULL);
        good = keep_copy(path, copies, ret_error);
    }
    return good && sync_folder(copies, ret_error);
}

static bool
drop_damaged_records(const kw_wal_findings *findings, kw_error *ret_error)
{
    if (!truncate_at_damage(&g_array_index(findings->logs, kw_log_file, findings->damaged_log),
                            findings->offset, ret_error))
        return false;
    for (guint log = findings->damaged_log + 1; log < findings->logs->len; log++)
        if (unlink(g_array_index(findings->logs, kw_log_file, log).path) < 0)
            return cannot(g_array_index(findings->logs, kw_log_file, log).path, ret_error);
    return sync_folder(findings->files->rows, ret_error);
}

static void
append_loss(kw_buffer *to, const char *what, const kw_wal_loss *lost, const char *least)
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
describe(const kw_wal_findings *findings, const char *copies, kw_buffer *to)
{
    kw_wal_loss in_damaged = findings->in_damaged;
    in_damaged.commits = MAX(in_damaged.commits, findings->missing ? 0 : 1);
    kw_buffer_printf(to, "%s is damaged at byte %zu: %s\nDropped:\n",
                     g_array_index(findings->logs, kw_log_file, findings->damaged_log).path, findings->offset,
                     findings->why);
    append_loss(to, "damaged", &in_damaged, "at least ");
    append_loss(to, "whole, after the damage", &findings->after_damage, "");
    kw_buffer_printf(to, "The original logs are in %s\n", copies);
}

static void
describe_missing(const kw_wal_findings *findings, const char *copies, kw_buffer *to)
{
    uint64_t count = findings->missing_entries;
    kw_buffer_printf(to,
                     "Acknowledged writes are missing after the last commit: at most %" G_GUINT64_FORMAT
                     " cell%s or removal%s. The logs that exist are not damaged: nothing was dropped.\n"
                     "Table files that are not in use, if there are any, are in %s\n",
                     count, count == 1 ? "" : "s", count == 1 ? "" : "s", copies);
}

static bool
repair(const kw_wal_findings *findings, const char *copies, kw_buffer *report, kw_error *ret_error)
{
    if (!findings->is_damaged && !findings->missing) {
        kw_buffer_append_text(report, "The write-ahead logs are not damaged: nothing was dropped.\n");
        return true;
    }
    if (!keep_copies(findings, copies, ret_error) ||
        (findings->is_damaged && !drop_damaged_records(findings, ret_error)))
        return false;
    if (findings->is_damaged)
        describe(findings, copies, report);
    else
        describe_missing(findings, copies, report);
    return true;
}

bool
kw_wal_repair(const kw_files *files, const char *copies, kw_buffer *report, kw_error *ret_error)
{
    kw_wal_findings findings;
    if (!kw_wal_scan(files, &findings, ret_error))
        return false;
    bool good = repair(&findings, copies, report, ret_error);
    kw_wal_findings_clear(&findings);
    return good;
}
