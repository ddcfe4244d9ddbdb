/* Rows on standard output, as table, json (one array), jsonl or csv. Values are printed as they arrive; a
 * table buffers its first rows to determine its widths.
 *
 * An absent value is empty in a table and in csv (an empty text is "" there), and omitted in json.
 */
#pragma once

#include "cli/cli.h"

typedef struct kw_output_column {
    const char *name;
    const kw_field_info *field; /* NULL: printed by the value's kind alone */
    const char *entry;          /* of a map; NULL: the whole field */
    bool right;                 /* aligned in tables */
} kw_output_column;

typedef struct kw_output kw_output;

/* columns: `count` columns, borrowed while the output lives. */
kw_output *kw_output_new(kw_output_format format, bool raw, const kw_output_column *columns, gsize count);

/* Prints one value per column. */
void kw_output_row(kw_output *output, const kw_value *cells);

/* A time in milliseconds since 1970 as a cell: a text, or a number with --raw. The cell borrows *ret_text,
 * which the caller frees. */
kw_value kw_output_stamp(const kw_cli *cli, gint64 at_ms, char **ret_text);

/* Prints the record's fields and entries, by the columns. */
void kw_output_record(kw_output *output, const kw_record *record);

/* footer: printed below tables; NULL: none. Frees the output. False: writing failed, which was reported. */
bool kw_output_end(kw_output *output, const char *footer);

/* The columns of a table's records: fields in the order of `describe`, the key's fields first. If `chosen`
 * (NULL-terminated; borrowed) has names, only the key's fields and the chosen ones. A chosen entry of a map
 * has its own column, except in JSON, where it is part of the map. The caller owns the array. */
GArray *kw_columns_of_table(const kw_cli *cli, const kw_table_info *table, char *const *chosen);

/* Prints one record with its fields, as chosen on the command line. False: see kw_output_end. */
bool kw_output_one_record(const kw_cli *cli, const kw_table_info *table, char *const *chosen,
                          const kw_record *record);
