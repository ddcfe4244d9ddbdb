/* Opens a file without waiting for a writer, checks the opened file, then reads it. */
#include "config/file.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool
fail(char why[KW_FILE_WHY_MAX], const char *reason)
{
    g_strlcpy(why, reason, KW_FILE_WHY_MAX);
    return false;
}

static bool
fail_size(char why[KW_FILE_WHY_MAX], size_t bytes_max)
{
    g_snprintf(why, KW_FILE_WHY_MAX, "is longer than %zu bytes", bytes_max);
    return false;
}

/* Opens a regular file of at most bytes_max bytes. Returns the descriptor, or -1 with the reason in
 * ret_why. */
static int
open_regular(const char *path, size_t bytes_max, char ret_why[KW_FILE_WHY_MAX])
{
    struct stat facts;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file < 0) {
        fail(ret_why, g_strerror(errno));
        return -1;
    }
    bool good = true;
    if (fstat(file, &facts) != 0)
        good = fail(ret_why, g_strerror(errno));
    else if (!S_ISREG(facts.st_mode))
        good = fail(ret_why, "is not a regular file, but a FIFO, a device, a folder or a socket");
    else if (facts.st_size < 0 || (uint64_t)facts.st_size > bytes_max)
        good = fail_size(ret_why, bytes_max);
    if (good)
        return file;
    close(file);
    return -1;
}

/* Files in /proc have a size of 0, so the content is read up to its end. Leaves one byte of the buffer
 * unused. */
static bool
read_all(int file, char *to, size_t bytes_max, size_t *ret_size, char ret_why[KW_FILE_WHY_MAX])
{
    size_t size = 0;
    while (size <= bytes_max) {
        ssize_t got = read(file, to + size, bytes_max + 1 - size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return fail(ret_why, g_strerror(errno));
        if (got == 0) {
            *ret_size = size;
            return true;
        }
        size += (size_t)got;
    }
    return fail_size(ret_why, bytes_max);
}

char *
kw_file_read(const char *path, size_t bytes_max, size_t *ret_size, char ret_why[KW_FILE_WHY_MAX])
{
    int file = open_regular(path, bytes_max, ret_why);
    if (file < 0)
        return NULL;
    char *text = g_malloc(bytes_max + 2);
    bool good = read_all(file, text, bytes_max, ret_size, ret_why);
    close(file);
    if (!good) {
        g_free(text);
        return NULL;
    }
    text[*ret_size] = '\0';
    return g_realloc(text, *ret_size + 1);
}

bool
kw_file_is_readable(const char *path, size_t bytes_max, char ret_why[KW_FILE_WHY_MAX])
{
    int file = open_regular(path, bytes_max, ret_why);
    if (file >= 0)
        close(file);
    return file >= 0;
}

bool
kw_file_permits(const char *path, unsigned bits, char ret_permissions[KW_FILE_PERMISSIONS_SIZE])
{
    struct stat facts;
    if (stat(path, &facts) < 0 || !(facts.st_mode & 0777 & bits))
        return false;
    g_snprintf(ret_permissions, KW_FILE_PERMISSIONS_SIZE, "%04o", (unsigned)(facts.st_mode & 0777));
    return true;
}
