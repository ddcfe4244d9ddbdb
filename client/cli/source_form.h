/* Private to the source: one file format. */
#pragma once

#include "cli/source.h"

typedef struct kw_csv_reader kw_csv_reader;

struct kw_source {
    int fd;     /* -1: not open */
    FILE *file; /* reads fd */
    const char *path;
    const kw_table_info *table;
    char *line;       /* with its line end, followed by a NUL */
    gsize capacity;   /* allocated bytes of line */
    gsize length;     /* bytes of line */
    bool pending;     /* the line was read to determine the format, and is still to be returned */
    guint64 number;   /* of the line, from 1 */
    guint64 position; /* bytes */
    guint64 size;
    kw_csv_reader *csv; /* NULL: JSON lines */
};

/* Reads the next line, with its line end. False at the end or on an error. */
bool kw_source_line(kw_source *source, GError **error);

/* Reads the header line at once. */
kw_csv_reader *kw_csv_reader_new(kw_source *source, GError **error);
void kw_csv_reader_free(kw_csv_reader *reader);
bool kw_csv_reader_next(kw_csv_reader *reader, kw_source *source, kw_source_item *ret_item, GError **error);

/* Parses one JSON line into the item. */
void kw_json_line_parse(const kw_source *source, kw_source_item *ret_item);

/* Parses a field's or an entry's text into the record, as on the command line. */
bool kw_source_set(const kw_table_info *table, kw_record *record, const char *name, const char *text,
                   GError **error);
