/* Rows on standard output, as table, json (one array), jsonl or csv. Values are written as they come;
 * a table holds back its first rows to find its widths.
 *
 * An absent value is nothing in a table, empty in csv (an empty text is ""), and left out in json.
 */
#pragma once

#include "cli/cli.h"

typedef struct kw_column {
    const char *name;
    const kw_field_info *field; /* NULL: written by the value's kind alone */
    const char *entry;          /* of a map; NULL: the whole field */
    bool right;                 /* aligned in tables */
} kw_column;

typedef struct kw_output kw_output;

/* columns: count of them, borrowed while the output lives. */
kw_output *kw_output_new(kw_output_format format, bool raw, const kw_column *columns, gsize count);

/* One value per column. */
void kw_output_row(kw_output *output, const kw_value *cells);

/* The record's fields and entries, by the columns. */
void kw_output_record(kw_output *output, const kw_record *record);

/* footer: printed below tables; NULL none. Frees the output. False: writing failed, which was printed. */
bool kw_output_end(kw_output *output, const char *footer);

/* The columns of a table's records: fields in the order of `describe`, those of the key first; only
 * the key's and `chosen` ones when chosen (NULL-terminated; borrowed) names any. A chosen entry of a map has
 * a column of its own, but in JSON, where it stands within the map. The caller's. */
GArray *kw_columns_of_table(const kw_cli *cli, const kw_table_info *table, char *const *chosen);

/* One record with the fields that it has, as the command line chose. False: see kw_output_end. */
bool kw_output_one_record(const kw_cli *cli, const kw_table_info *table, char *const *chosen,
                          const kw_record *record);
