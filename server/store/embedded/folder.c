#include "store/embedded/folder.h"

#include "base/log.h"
#include "config/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define FORMAT_LINE "keyway embedded store, format 1\n"
#define FORMAT_BYTES_MAX 4096

static bool
set_errno_error(const char *path, const char *what, kw_error *ret_error)
{
    return kw_error_set(ret_error, KW_UNAVAILABLE, "folder %s: cannot %s: %s", path, what, g_strerror(errno));
}

bool
kw_folder_lock(const char *path, int *ret_lock, kw_error *ret_error)
{
    g_autofree char *name = g_build_filename(path, "lock", NULL);
    int lock = open(name, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    struct stat facts;
    if (lock < 0 && errno == ELOOP)
        return kw_error_set(
            ret_error, KW_UNAVAILABLE,
            "folder %s: its file named lock is a symbolic link, but keywayd never creates one; remove it",
            path);
    if (lock < 0)
        return set_errno_error(path, "open the file lock", ret_error);
    if (fstat(lock, &facts) != 0 || !S_ISREG(facts.st_mode)) {
        close(lock);
        return kw_error_set(ret_error, KW_UNAVAILABLE,
                            "folder %s: its file named lock is not a regular file; remove it", path);
    }
    char holder[32] = "";
    if (flock(lock, LOCK_EX | LOCK_NB) < 0) {
        ssize_t size = pread(lock, holder, sizeof holder - 1, 0);
        holder[size > 0 ? strspn(holder, "0123456789") : 0] = '\0';
        close(lock);
        return kw_error_set(ret_error, KW_UNAVAILABLE, "folder %s is in use by %s%s", path,
                            holder[0] ? "process " : "another process", holder);
    }
    int length = snprintf(holder, sizeof holder, "%d\n", (int)getpid());
    if (ftruncate(lock, 0) < 0 || pwrite(lock, holder, (size_t)length, 0) != length) {
        close(lock);
        return set_errno_error(path, "write the file lock", ret_error);
    }
    *ret_lock = lock;
    return true;
}

/* Files that a folder can contain before it is a store: Keyway's own, hidden ones, those of a file system's
 * root. */
static bool
may_be_in_new_folder(const char *name)
{
    return name[0] == '.' || strcmp(name, "lock") == 0 || strcmp(name, "lost+found") == 0 ||
           g_str_has_prefix(name, "cursor") || g_str_has_prefix(name, "keyway");
}

/* Without the file format, names of a store's other files show that it is the rest of a store. */
static bool
refuse_filled(const char *path, const char *name, kw_error *ret_error)
{
    static const char *const own[] = {"rows", "acknowledged", NULL};
    if (g_strv_contains(own, name))
        return kw_error_set(
            ret_error, KW_CORRUPT,
            "folder %s: its file named format is missing, but it contains \"%s\", a part of a "
            "Keyway store: restore the whole folder from a backup (docs/backup.md)",
            path, name);
    return kw_error_set(ret_error, KW_CORRUPT,
                        "folder %s is not a Keyway store: it contains \"%s\"; use an empty folder", path,
                        name);
}

static bool
check_empty(const char *path, kw_error *ret_error)
{
    DIR *folder = opendir(path);
    if (!folder)
        return set_errno_error(path, "list its files", ret_error);
    bool empty = true;
    for (struct dirent *entry; empty && (entry = readdir(folder));) {
        empty = may_be_in_new_folder(entry->d_name);
        if (!empty)
            refuse_filled(path, entry->d_name, ret_error);
    }
    closedir(folder);
    return empty;
}

bool
kw_folder_sync(const char *path, kw_error *ret_error)
{
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool good = folder >= 0 && fsync(folder) == 0;
    if (!good)
        set_errno_error(path, "sync the folder", ret_error);
    if (folder >= 0)
        close(folder);
    return good;
}

static bool
write_synced(int file, const char *text)
{
    size_t size = strlen(text);
    ssize_t written = write(file, text, size);
    if (written >= 0 && (size_t)written < size)
        errno = ENOSPC;
    return written == (ssize_t)size && fsync(file) == 0;
}

bool
kw_folder_write_format(const char *path, kw_error *ret_error)
{
    g_autofree char *name = g_build_filename(path, "format", NULL);
    g_autofree char *fresh = g_strconcat(path, "/.format.new", NULL);
    unlink(fresh);
    int file = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file < 0)
        return set_errno_error(path, "write into it", ret_error);
    bool good = write_synced(file, FORMAT_LINE) && rename(fresh, name) == 0;
    if (!good)
        set_errno_error(path, "write into it", ret_error);
    close(file);
    return good && kw_folder_sync(path, ret_error);
}

static bool
is_filled(const char *path)
{
    g_autofree char *filled = g_build_filename(path, "filled", NULL);
    return g_file_test(filled, G_FILE_TEST_EXISTS);
}

static bool
check_format(const char *path, kw_error *ret_error)
{
    g_autofree char *name = g_build_filename(path, "format", NULL);
    char why[KW_FILE_WHY_MAX];
    size_t size;
    g_autofree char *text = kw_file_read(name, FORMAT_BYTES_MAX, &size, why);
    if (text) {
        if (strcmp(text, FORMAT_LINE) == 0)
            return true;
        g_strdelimit(text, "\n", '\0');
        return kw_error_set(ret_error, KW_CORRUPT,
                            "folder %s: its file named format contains \"%.60s\"; this release of keywayd "
                            "reads \"%.*s\"",
                            path, text, (int)strlen(FORMAT_LINE) - 1, FORMAT_LINE);
    }
    if (g_file_test(name, G_FILE_TEST_EXISTS | G_FILE_TEST_IS_SYMLINK))
        return kw_error_set(ret_error, KW_UNAVAILABLE, "folder %s: cannot read its file named format: %s",
                            path, why);
    if (is_filled(path))
        return kw_error_set(
            ret_error, KW_CORRUPT,
            "%s is missing, but rows were stored here: restore the whole folder from a backup "
            "(docs/backup.md)",
            name);
    return check_empty(path, ret_error) && kw_folder_write_format(path, ret_error);
}

/* A user who can write to the folder can replace every file in it, including the cursor key. */
static void
warn_if_shared(const char *path)
{
    char permissions[KW_FILE_PERMISSIONS_SIZE];
    if (!kw_file_permits(path, 0027, permissions))
        return;
    g_autofree char *hint = g_strdup_printf("chmod 700 %s", path);
    kw_log(KW_LOG_WARN, "embedded", "other users can use the data folder", KW_LOG_FACT("folder", path),
           KW_LOG_FACT("permissions", permissions), KW_LOG_FACT("hint", hint));
}

bool
kw_folder_claim(const char *path, int *ret_lock, kw_error *ret_error)
{
    if (g_mkdir_with_parents(path, 0700) < 0)
        return set_errno_error(path, "create it", ret_error);
    int lock = -1;
    if (!kw_folder_lock(path, &lock, ret_error))
        return false;
    if (!check_format(path, ret_error)) {
        close(lock);
        return false;
    }
    warn_if_shared(path);
    *ret_lock = lock;
    return true;
}

/* --- the rows ------------------------------------------------------------------------------------- */

bool
kw_folder_check_rows(const char *path, kw_error *ret_error)
{
    g_autofree char *current = g_build_filename(path, "rows", "CURRENT", NULL);
    return !is_filled(path) || g_file_test(current, G_FILE_TEST_EXISTS) ||
           kw_error_set(
               ret_error, KW_CORRUPT,
               "%s is missing, but rows were stored here: mount the folder rows, or restore the whole folder "
               "%s from "
               "a backup (docs/backup.md); to start with an empty store instead, remove the file filled",
               current, path);
}

bool
kw_folder_mark_filled(const char *path, kw_error *ret_error)
{
    g_autofree char *filled = g_build_filename(path, "filled", NULL);
    if (is_filled(path))
        return true;
    int file = open(filled, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file < 0)
        return set_errno_error(path, "write into it", ret_error);
    close(file);
    return kw_folder_sync(path, ret_error);
}
