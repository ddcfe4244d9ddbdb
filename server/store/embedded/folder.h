/* The store's folder:
 *
 *   DIR/format   one line that names the form of everything else
 *   DIR/lock     held by the process that uses the folder; says its pid
 *   DIR/rows/    RocksDB's
 *   DIR/filled   says that there is something in rows/
 */
#pragma once

#include "base/error.h"

/* Makes the folder when it is missing, locks it, checks the form. UNAVAILABLE when another process has it or
 * it cannot be written, CORRUPT when it holds something else. ret_lock is closed to unlock. */
bool kw_folder_claim(const char *path, int *ret_lock, kw_error *ret_error);

/* CORRUPT when the rows that were there are gone, such as when rows/ is a file system that is not mounted. */
bool kw_folder_check_rows(const char *path, kw_error *ret_error);
/* From now on they must be there. */
bool kw_folder_note_rows(const char *path, kw_error *ret_error);
