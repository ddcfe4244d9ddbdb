/* RocksDB's files, as keywayd checks them before RocksDB opens them.
 *
 *   CURRENT --> MANIFEST-n --> NUMBER.sst: the entries of flushed commits, with sizes
 *                          '-> the first NUMBER.log with further commits (wal.h)
 *
 * RocksDB opens a store whose manifest was truncated as the earlier state that it describes, and deletes the
 * files that are not part of that state. So the store must not be opened if a file is missing or has another
 * size than it should have.
 */
#pragma once

#include "base/error.h"
#include "store/embedded/acknowledged.h"
#include "store/embedded/manifest.h"

typedef struct kw_files {
    const char *rows; /* borrowed */
    char *manifest_path;
    uint64_t manifest_number;
    uint64_t manifest_bytes;
    kw_manifest manifest;
    bool known;                  /* there is a manifest, and its form is known */
    kw_acknowledged_state marks; /* what DIR/acknowledged contains */
} kw_files;

/* Reads the manifest in RocksDB's folder `rows`, which can be missing or empty, and checks that its files are
 * there. Changes nothing. CORRUPT names the file that is damaged or missing; UNAVAILABLE: a file cannot be
 * read. Clear ret_files in every case. */
bool kw_files_check(const char *rows, const kw_acknowledged_state *marks, kw_files *ret_files,
                    kw_error *ret_error);
void kw_files_clear(kw_files *files);

/* True if the manifest is shorter than it was: it was truncated. Then ret_error names it. */
bool kw_files_manifest_was_cut(const kw_files *files, kw_error *ret_error);
/* The names of table files that the manifest does not list. They can be those of a flush during which the
 * process died, or the manifest was truncated. */
GPtrArray *kw_files_list_unlisted(const kw_files *files);

/* " (or MANIFEST-n was truncated: ...)" if there is such a file, otherwise "". Free it with g_free. */
char *kw_files_doubt_manifest(const kw_files *files);

/* The numbers of the logs in the folder, sorted; none if the folder is missing. NULL: it cannot be read. */
GArray *kw_files_list_logs(const char *rows, kw_error *ret_error);
char *kw_files_log_path(const char *rows, uint64_t number);
/* The path of the manifest that CURRENT names. NULL: there is no such file, or it has another form. */
char *kw_files_find_manifest(const char *rows, uint64_t *ret_number);

/* A file's content; free it with g_free. */
bool kw_files_read(const char *path, kw_bytes *ret_content, kw_error *ret_error);
