/* The store's folder:
 *
 *   DIR/format   one line that identifies the format of the other files
 *   DIR/lock     locked by the process that uses the folder; contains its pid
 *   DIR/rows/    RocksDB's files
 *   DIR/filled   exists if rows/ was initialized
 *   DIR/acknowledged   how far writes were acknowledged (acknowledged.h)
 */
#pragma once

#include "base/error.h"

/* Locks a folder that exists: creates the file lock. UNAVAILABLE if another process has locked it. Close
 * ret_lock to unlock it. */
bool kw_folder_lock(const char *path, int *ret_lock, kw_error *ret_error);
/* Syncs the names of the files in the folder. */
bool kw_folder_sync(const char *path, kw_error *ret_error);
/* Writes and syncs the file format. */
bool kw_folder_write_format(const char *path, kw_error *ret_error);

/* Creates the folder if it is missing, locks it, and checks its format. UNAVAILABLE if another process uses
 * it or it cannot be written, CORRUPT if it contains something else. Close ret_lock to unlock the folder. */
bool kw_folder_claim(const char *path, int *ret_lock, kw_error *ret_error);

/* CORRUPT if the folder is marked as filled but rows/ is empty, for example because the file system of rows/
 * is not mounted. */
bool kw_folder_check_rows(const char *path, kw_error *ret_error);
/* Marks the folder as filled. */
bool kw_folder_mark_filled(const char *path, kw_error *ret_error);
