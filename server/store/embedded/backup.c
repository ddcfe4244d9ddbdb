/* A backup of the store, made while it serves: BACKUP_FOLDER/NAME, a folder with which keywayd can start.
 *
 *   lock BACKUP_FOLDER --> .partial/: format, rows/ (a checkpoint of RocksDB), filled, acknowledged
 *       --> check the files, as a start does --> sync --> rename .partial to NAME --> sync
 *
 * A checkpoint has hard links to RocksDB's table files, or copies of them if the folder is on another file
 * system, and copies of its manifest and its last log. RocksDB first flushes its write buffers, so that this
 * log is short. Commits go on meanwhile. The mark of acknowledged writes is the sequence number before the
 * checkpoint, so a backup that lacks a write of that time does not pass the check.
 *
 * A backup that was not completed leaves .partial, which the next backup removes. A thread of its own does
 * the work, and the loop joins it. */
#include "base/log.h"
#include "store/embedded/embedded_internal.h"
#include "store/embedded/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define PARTIAL ".partial"
#define TREE_DEPTH 8 /* descriptors that a walk over a backup uses; it has two levels */

typedef struct kw_backup {
    kw_task task;
    kw_embedded_handle *handle;
    kw_thread thread;
    char *name;
    kw_backup_done done;
    void *user;
    int64_t bytes;
    kw_error error; /* OK: the backup is complete */
} kw_backup;

/* --- files ------------------------------------------------------------------------------------------ */

static int
remove_one(const char *path, const struct stat *facts, int kind, struct FTW *at)
{
    (void)facts;
    (void)kind;
    (void)at;
    return remove(path);
}

static bool
remove_tree(const char *path)
{
    return nftw(path, remove_one, TREE_DEPTH, FTW_DEPTH | FTW_PHYS) == 0 || errno == ENOENT;
}

static int64_t
count_bytes(const char *folder)
{
    g_autoptr(GDir) files = g_dir_open(folder, 0, NULL);
    int64_t bytes = 0;
    struct stat facts;
    for (const char *name = NULL; files && (name = g_dir_read_name(files));) {
        g_autofree char *path = g_build_filename(folder, name, NULL);
        if (lstat(path, &facts) == 0 && S_ISREG(facts.st_mode))
            bytes += facts.st_size;
    }
    return bytes;
}

static bool
fail(const char *what, const char *path, kw_error *ret_error)
{
    return kw_error_set(ret_error, KW_UNAVAILABLE, "cannot %s %s: %s", what, path, g_strerror(errno));
}

/* --- the steps -------------------------------------------------------------------------------------- */

static bool
make_partial(const char *partial, kw_error *ret_error)
{
    if (!remove_tree(partial))
        return fail("remove the unfinished backup", partial, ret_error);
    return mkdir(partial, 0700) == 0 || fail("create", partial, ret_error);
}

static bool
make_checkpoint(kw_embedded *store, const char *rows, kw_error *ret_error)
{
    char *failed = NULL;
    rocksdb_checkpoint_t *checkpoint = rocksdb_checkpoint_object_create(store->engine.db, &failed);
    if (checkpoint) {
        rocksdb_checkpoint_create(checkpoint, rows, 0, &failed);
        rocksdb_checkpoint_object_destroy(checkpoint);
    }
    if (failed)
        kw_error_set(ret_error, KW_UNAVAILABLE, "%s", failed);
    bool good = !failed;
    rocksdb_free(failed);
    return good;
}

/* Writes the files beside rows/, without which a start would complain or notice less. */
static bool
add_marks(const char *partial, uint64_t sequence, kw_error *ret_error)
{
    kw_acknowledged mark;
    if (!kw_folder_mark_filled(partial, ret_error) ||
        !kw_acknowledged_open(&mark, partial, sequence, ret_error))
        return false;
    kw_acknowledged_close(&mark);
    return true;
}

static bool
fill_partial(kw_embedded *store, const char *partial, int64_t *ret_bytes, kw_error *ret_error)
{
    g_autofree char *rows = g_build_filename(partial, "rows", NULL);
    uint64_t sequence = rocksdb_get_latest_sequence_number(store->engine.db);
    if (!make_partial(partial, ret_error) || !kw_folder_write_format(partial, ret_error) ||
        !make_checkpoint(store, rows, ret_error) || !add_marks(partial, sequence, ret_error) ||
        !kw_embedded_check_files(partial, rows, ret_error) || !kw_folder_sync(rows, ret_error) ||
        !kw_folder_sync(partial, ret_error))
        return false;
    *ret_bytes = count_bytes(rows) + count_bytes(partial);
    return true;
}

static bool
make_backup(kw_embedded *store, const char *name, int64_t *ret_bytes, kw_error *ret_error)
{
    g_autofree char *partial = g_build_filename(store->backup_folder, PARTIAL, NULL);
    g_autofree char *final = g_build_filename(store->backup_folder, name, NULL);
    struct stat facts;
    if (lstat(final, &facts) == 0)
        return kw_error_set(ret_error, KW_REFUSED, "there is a backup named %s already; choose another name",
                            name);
    bool good = fill_partial(store, partial, ret_bytes, ret_error) &&
                (rename(partial, final) == 0 || fail("rename the backup to", final, ret_error));
    if (!good)
        remove_tree(partial);
    else if (!kw_folder_sync(store->backup_folder, ret_error)) {
        good = false;
        remove_tree(final);
    }
    return good;
}

/* --- the operation ---------------------------------------------------------------------------------- */

/* Logs a failure with the names of files. The caller reads only the reason, without them. */
static void
report_failure(const kw_backup *self, kw_error *error)
{
    bool full = strstr(error->text, g_strerror(ENOSPC)) != NULL;
    if (error->code == KW_REFUSED)
        return;
    kw_log(KW_LOG_ERROR, "embedded", "a backup failed", KW_LOG_FACT("name", self->name),
           KW_LOG_FACT("folder", self->handle->store->backup_folder), KW_LOG_FACT("reason", error->text));
    kw_error_set(error, error->code, "the backup %s failed%s; the gateway's log has the reason", self->name,
                 full ? ": the disk of backup_folder is full" : "");
}

static void
complete(kw_task *task)
{
    kw_backup *self = (kw_backup *)task;
    kw_embedded_handle *handle = self->handle;
    bool good = self->error.code == KW_OK;
    kw_thread_join(&self->thread);
    atomic_store(&handle->store->backing_up, false);
    self->done(self->user, self->bytes, good ? NULL : &self->error);
    g_free(self->name);
    g_free(self);
    kw_embedded_end_operation(handle);
}

static void
run(void *user)
{
    kw_backup *self = user;
    kw_embedded *store = self->handle->store;
    int lock = -1;
    uint64_t began_ns = kw_clock_mono_ns();
    self->error = KW_ERROR_NONE;
    bool good = kw_folder_lock(store->backup_folder, &lock, &self->error) &&
                make_backup(store, self->name, &self->bytes, &self->error);
    if (lock >= 0)
        close(lock);
    if (good)
        kw_log(KW_LOG_INFO, "embedded", "a backup is complete", KW_LOG_FACT("name", self->name),
               KW_LOG_FACT("folder", store->backup_folder), KW_LOG_FACT("bytes", self->bytes),
               KW_LOG_FACT("took_ms", (kw_clock_mono_ns() - began_ns) / 1000000));
    else
        report_failure(self, &self->error);
    kw_loop_post(self->handle->base.loop, &self->task);
}

void
kw_embedded_backup(kw_store_handle *base, kw_bytes name, kw_backup_done done, void *user)
{
    kw_embedded_handle *handle = (kw_embedded_handle *)base;
    kw_embedded *store = handle->store;
    kw_error error;
    if (!store->backup_folder) {
        kw_error_set(&error, KW_REFUSED,
                     "the gateway has no folder for backups: set store: backup_folder in its file and "
                     "restart it");
        kw_refuse_backup(base, &error, done, user);
        return;
    }
    if (atomic_exchange(&store->backing_up, true)) {
        kw_error_set(&error, KW_BUSY, "another backup is being made");
        kw_refuse_backup(base, &error, done, user);
        return;
    }
    kw_backup *self = g_new0(kw_backup, 1);
    *self = (kw_backup){.task.run = complete,
                        .handle = handle,
                        .name = g_strndup((const char *)name.data, name.size),
                        .done = done,
                        .user = user};
    kw_embedded_begin_operation(handle);
    kw_thread_start(&self->thread, "kw-backup", run, self);
}
