/* The files of a store that is not open, for tests that damage them. */
#pragma once

#include "embedded_fixture.h"

/* A copy of the store's folder. Remove it with temporary_folder_remove. */
char *store_copy_of(const char *folder);

/* Checks the files as at a start, and removes incomplete records at the ends of logs. */
bool store_check(const char *folder, kw_error *ret_error);

/* A file in rows/. */
typedef struct store_file {
    char *name;
    char *data;
    gsize size;
} store_file;

/* Reads the file in rows/ with this prefix and suffix; of several, one of them. */
store_file store_file_read(const char *folder, const char *prefix, const char *suffix);
void store_file_clear(store_file *file);
/* Writes the first `size` bytes of `file`. */
void store_file_write(const char *folder, const store_file *file, gsize size);
/* Removes a file or folder; its name is relative to the store's folder. */
void store_file_remove(const char *folder, const char *name);

/* Appends a record to a log, in fragments if it does not fit into its block. */
void store_log_append(GByteArray *log, kw_bytes record);
