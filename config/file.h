/* Files that an operator names: policies, keys, certificates, split keys.
 *
 * A daemon must not wait for a file, nor read one without end: only regular files are read (through symbolic
 * links), and only up to a size. A FIFO, a socket, a device and a folder are refused with a text that says
 * so.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define KW_FILE_WHY_MAX 160

/* The content, with a NUL behind it that the size does not count; the caller frees it with g_free. NULL:
 * `ret_why` says why, to go behind "FILE: ". */
char *kw_file_read(const char *path, size_t bytes_max, size_t *ret_size, char ret_why[KW_FILE_WHY_MAX]);

/* True when kw_file_read would read it now: for files that a library opens by their name. */
bool kw_file_is_readable(const char *path, size_t bytes_max, char ret_why[KW_FILE_WHY_MAX]);

/* Permissions (0644) of the file or folder; 0 when it is not there. */
unsigned kw_file_permissions(const char *path);
