/* Private to the output: one output form. */
#pragma once

#include "cli/output.h"

struct kw_output {
    kw_output_format format;
    bool raw;
    const kw_output_column *columns;
    gsize count;
    gsize rows;      /* so far */
    GPtrArray *held; /* tables: rows (char **) buffered until the widths are known */
    gsize *widths;   /* tables: NULL while rows are buffered */
};

void kw_output_table_row(kw_output *output, const kw_value *cells);
void kw_output_table_end(kw_output *output, const char *footer);
void kw_output_json_row(kw_output *output, const kw_value *cells);
void kw_output_json_end(kw_output *output);
void kw_output_csv_row(kw_output *output, const kw_value *cells);
void kw_output_csv_end(kw_output *output);
