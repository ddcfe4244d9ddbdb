/* Private to the source: one file format. */
#pragma once

#include "cli/source.h"
#include "cli/source_input.h"

typedef struct kw_csv_reader kw_csv_reader;

struct kw_source {
    kw_source_input input;
    FILE *file; /* reads the input; NULL: not open */
    const char *path;
    const char *null_text; /* or NULL */
    const kw_table_info *table;
    guint64 missing;    /* see kw_source_missing */
    char *missing_text; /* the first such text; NULL: none */
    char *line;         /* with its line end, or an element of the array; followed by a NUL */
    gsize capacity;     /* allocated bytes of line */
    gsize length;       /* bytes of line */
    guint64 number;     /* of the line where `line` begins, from 1 */
    guint64 size;       /* of the file, in bytes */
    kw_csv_reader *csv; /* NULL: JSON */
    bool is_array;      /* JSON: the file is an array of records */
    bool array_begun;
    guint64 line_ends; /* in the array so far */
};

/* Reads the next line, with its line end. False at the end or on an error. */
bool kw_source_line(kw_source *source, GError **error);

/* Adds a byte to the line. */
void kw_source_add(kw_source *source, char byte);
/* False with an error if the last read failed, or the line is too long. */
bool kw_source_check(const kw_source *source, GError **error);

/* Reads the next element of the array as a line. False at the end or on an error. */
bool kw_source_element(kw_source *source, GError **error);

/* Reads the header line at once. */
kw_csv_reader *kw_csv_reader_new(kw_source *source, GError **error);
void kw_csv_reader_free(kw_csv_reader *reader);
bool kw_csv_reader_next(kw_csv_reader *reader, kw_source *source, kw_source_item *ret_item, GError **error);

/* Parses one JSON line into the item. */
void kw_json_line_parse(const kw_source *source, kw_source_item *ret_item);

/* Parses a field's or an entry's text into the record, as on the command line. */
bool kw_source_set(const kw_table_info *table, kw_record *record, const char *name, const char *text,
                   GError **error);
