/* Files named by the operator: policies, keys, certificates, split keys.
 *
 * A daemon must not wait for a file, nor read one without end. So only regular files are read (through
 * symbolic links), and only up to a maximum size. A FIFO, a socket, a device or a folder is rejected with
 * a text that names the reason. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define KW_FILE_WHY_MAX 160

/* Returns the content, followed by a NUL that is not part of the size; the caller frees it with g_free.
 * NULL: `ret_why` has the reason, to follow "FILE: ". */
char *kw_file_read(const char *path, size_t bytes_max, size_t *ret_size, char ret_why[KW_FILE_WHY_MAX]);

/* True if kw_file_read could read it now: for files that a library opens by name. */
bool kw_file_is_readable(const char *path, size_t bytes_max, char ret_why[KW_FILE_WHY_MAX]);

/* True if the file or folder exists and has one of these permission bits, for example 0007: what other users
 * can do. ret_permissions: all of its permissions as text, for example "0644". */
#define KW_FILE_PERMISSIONS_SIZE 8
bool kw_file_permits(const char *path, unsigned bits, char ret_permissions[KW_FILE_PERMISSIONS_SIZE]);
