/* keyway catalog: exports of the catalog as text files.
 *
 *   keyway catalog export 1
 *   counters TAB store table TAB sequences.keep in ms
 *   cell TAB row TAB column TAB value            one line for each cell
 *   counter TAB name TAB family TAB value        one line for each counter
 *   end TAB SHA-256 of all lines before          a file that was cut is refused
 *
 * Bytes that are not printable ASCII are written as \xNN. The hash also identifies the export. */
#pragma once

#include "keyway.h"

typedef struct kw_catalog_file {
    GPtrArray *cells;    /* kw_saved_cell, in the order of the rows */
    GPtrArray *counters; /* kw_saved_cell */
    char *counters_table;
    gint64 counters_keep_ms;
    char *export_id; /* NULL: it was not written to a file yet */
} kw_catalog_file;

/* Reads the whole catalog of the gateway. */
kw_catalog_file *kw_catalog_file_export(kw_client *client, GError **error);
/* Replaces the file at once. */
bool kw_catalog_file_write(const kw_catalog_file *self, const char *path, GError **error);
kw_catalog_file *kw_catalog_file_read(const char *path, GError **error);
void kw_catalog_file_free(kw_catalog_file *self); /* NULL is ignored */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(kw_catalog_file, kw_catalog_file_free)
