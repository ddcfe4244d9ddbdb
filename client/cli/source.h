/* Records from a file, for import and for samples: CSV with a header line, JSON lines, or a JSON array of
 * objects; in UTF-8, or in UTF-16 with a byte order mark.
 *
 * A record that cannot be read does not end the source: it is returned as an item with an error and its
 * original text, so that it can be corrected and imported again.
 */
#pragma once

#include "keyway.h"

#include <stdio.h>

#define KW_SOURCE_LINE_MAX (16 << 20)

typedef struct kw_source kw_source;

typedef struct kw_source_item {
    guint64 line;      /* where the record begins, from 1 */
    kw_record *record; /* NULL: error has the reason */
    GError *error;
    char *json; /* the record as JSON for a reject file, with the values as they are in the file */
} kw_source_item;

void kw_source_item_clear(kw_source_item *item);

/* path "-" is standard input. format: csv, jsonl, or NULL to use the name's extension (otherwise the first
 * character: a brace or bracket begins JSON). null_text: cells of CSV that are this text are absent fields;
 * NULL: such cells are only the empty ones, and \N is an error. Borrows path, null_text and table. */
kw_source *kw_source_open(const char *path, const char *format, const char *null_text,
                          const kw_table_info *table, GError **error);

/* False at the end, and if nothing more can be read: check `error`. */
bool kw_source_next(kw_source *source, kw_source_item *ret_item, GError **error);

/* Number of the next line to read. */
guint64 kw_source_next_line(const kw_source *source);

/* How many cells of string fields have a text that programs write for a missing value, such as NULL or NA,
 * and the first such text. None with a null_text. */
guint64 kw_source_missing(const kw_source *source, const char **ret_first);

/* Bytes of the file that were read so far, and of the whole file (0: unknown). */
guint64 kw_source_position(const kw_source *source);
guint64 kw_source_size(const kw_source *source);

void kw_source_close(kw_source *source);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(kw_source, kw_source_close)
