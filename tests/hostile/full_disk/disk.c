/* Simulates a full, failing or slow disk: preloaded into keywayd, between it and the C library.
 *
 * KW_DISK names a file of 16 bytes that the test also maps: what fails (int64), and after how many more
 * written bytes it fails, or how many milliseconds a sync takes (int64). Only files in rows/, those of
 * RocksDB, are affected, or those of an unfinished backup.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

enum { NOTHING = 0, WRITES = 1, SYNCS = 2, SLOW_SYNCS = 3, BACKUP_WRITES = 4, SLOW_BACKUP_SYNCS = 5 };

typedef struct control {
    _Atomic int64_t fails;
    _Atomic int64_t bytes_left;
} control;

static control *
find_control(void)
{
    static control *found;
    const char *name = found ? NULL : getenv("KW_DISK");
    if (name) {
        int file = open(name, O_RDWR | O_CLOEXEC);
        found = mmap(NULL, sizeof *found, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        close(file);
    }
    return found;
}

static int
concerns(int file, int64_t what)
{
    char link[64], path[4096];
    control *disk = find_control();
    if (!disk || disk == MAP_FAILED || disk->fails != what)
        return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t size = readlink(link, path, sizeof path - 1);
    path[size > 0 ? size : 0] = '\0';
    if (what == BACKUP_WRITES || what == SLOW_BACKUP_SYNCS)
        return strstr(path, "/.partial/") != NULL;
    return strstr(path, "/rows/") && !strstr(path, "/LOG");
}

/* Returns how many of `size` bytes can still be written. */
static size_t
take(size_t size)
{
    control *disk = find_control();
    int64_t left = disk->bytes_left;
    size_t taken = left < (int64_t)size ? (size_t)(left > 0 ? left : 0) : size;
    disk->bytes_left -= (int64_t)taken;
    return taken;
}

static ssize_t
full(void)
{
    errno = ENOSPC;
    return -1;
}

static int
is_full(int file)
{
    return concerns(file, WRITES) || concerns(file, BACKUP_WRITES);
}

ssize_t
write(int file, const void *data, size_t size)
{
    if (size && is_full(file) && (size = take(size)) == 0)
        return full();
    return syscall(SYS_write, file, data, size);
}

ssize_t
pwrite64(int file, const void *data, size_t size, off64_t at)
{
    if (size && is_full(file) && (size = take(size)) == 0)
        return full();
    return syscall(SYS_pwrite64, file, data, size, at);
}

ssize_t
pwrite(int file, const void *data, size_t size, off_t at)
{
    return pwrite64(file, data, size, at);
}

int
fallocate(int file, int mode, off_t at, off_t size)
{
    if (is_full(file))
        return (int)full();
    return (int)syscall(SYS_fallocate, file, mode, at, size);
}

int
fallocate64(int file, int mode, off64_t at, off64_t size)
{
    return fallocate(file, mode, at, size);
}

static void
be_slow(int file)
{
    if (concerns(file, SLOW_SYNCS) || concerns(file, SLOW_BACKUP_SYNCS))
        usleep((useconds_t)(1000 * find_control()->bytes_left));
}

int
fdatasync(int file)
{
    be_slow(file);
    if (concerns(file, SYNCS)) {
        errno = EIO;
        return -1;
    }
    return (int)syscall(SYS_fdatasync, file);
}

int
fsync(int file)
{
    be_slow(file);
    if (concerns(file, SYNCS)) {
        errno = EIO;
        return -1;
    }
    return (int)syscall(SYS_fsync, file);
}
