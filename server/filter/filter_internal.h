/* Internal to filter: declarations that its files share. */
#pragma once

#include "filter/expression.h"
#include "filter/filter.h"
#include "filter/prepared.h"

/* Totals over all filters of a text. */
typedef struct kw_filter_sums {
    uint32_t expressions;
    size_t expression_bytes;
} kw_filter_sums;

/* The text being parsed. */
typedef struct kw_filter_text {
    const uint8_t *data;
    size_t size;
    kw_arena *arena;
    kw_error *error;
    kw_filter_sums *sums;
    bool escapes; /* \xNN within quotes is a byte */
} kw_filter_text;

/* Sets INVALID with a text such as "filter, position 7: expected WHAT". Returns false. `at` counts from 0. */
bool kw_filter_syntax_error(const kw_filter_text *text, size_t at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Parses one filter with its arguments, text[start..end), including its closing parenthesis. NULL on
 * error. */
kw_filter *kw_filter_parse_one(const kw_filter_text *text, size_t start, size_t end);

/* True if the quote at `at` ends a quoted string; two quotes in a row are an escaped quote. */
static inline bool
kw_filter_quote_ends(const kw_filter_text *text, size_t at, size_t end)
{
    return at + 1 >= end || text->data[at + 1] != '\'';
}

bool kw_filter_is_regex(const kw_filter *filter);

/* A filter's expression for error texts: printable, and truncated if it is long. */
#define KW_FILTER_SHOWN_BYTES 60
typedef struct kw_filter_shown {
    char text[KW_FILTER_SHOWN_BYTES + 8];
} kw_filter_shown;
kw_filter_shown kw_filter_show_expression(const kw_filter *filter);

/* Sets INVALID: the filter's expression cannot be compiled. Returns false. */
bool kw_filter_expression_error(const kw_filter *filter, const kw_expression *expression,
                                kw_error *ret_error);

/* The compiled expression of a filter in the tree. */
const kw_expression *kw_prepared_expression(const kw_prepared *prepared, const kw_filter *filter);
