/* Inside the source: one form of file. */
#pragma once

#include "cli/source.h"

typedef struct kw_csv_reader kw_csv_reader;

struct kw_source {
    FILE *file;
    const char *path;
    const kw_table_info *table;
    char *line;       /* with its end, and a NUL behind it */
    gsize room;       /* of line */
    gsize length;     /* of line */
    bool pending;     /* the line was read to look at it, and is still to come */
    guint64 number;   /* of the line, from 1 */
    guint64 position; /* bytes */
    guint64 size;
    kw_csv_reader *csv; /* NULL: JSON lines */
};

/* The next line, without its end being cut. False at the end or on an error. */
bool kw_source_line(kw_source *source, GError **error);

/* csv: the head is read at once. */
kw_csv_reader *kw_csv_reader_new(kw_source *source, GError **error);
void kw_csv_reader_free(kw_csv_reader *reader);
bool kw_csv_reader_next(kw_csv_reader *reader, kw_source *source, kw_source_item *ret_item, GError **error);

/* One JSON line into the item. */
void kw_json_line_parse(const kw_source *source, kw_source_item *ret_item);

/* A field's or an entry's text into the record, as on the command line. */
bool kw_source_set(const kw_table_info *table, kw_record *record, const char *name, const char *text,
                   GError **error);
