/* What the files of this room share; nobody outside includes it. */
#pragma once

#include "filter/filter.h"

/* A text being parsed. */
typedef struct kw_filter_text {
    const uint8_t *data;
    size_t size;
    kw_arena *arena;
    kw_error *error;
} kw_filter_text;

/* INVALID: "filter, position 7: expected WHAT". Returns false. `at` from 0. */
bool kw_filter_expected(const kw_filter_text *text, size_t at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* One filter with its arguments, text[start..end), which ends with its closing parenthesis. NULL after an
 * error. */
kw_filter *kw_filter_parse_one(const kw_filter_text *text, size_t start, size_t end);

/* Is the quote at `at` not followed by another (which would make the two an escaped quote)? */
static inline bool
kw_filter_quote_ends(const kw_filter_text *text, size_t at, size_t end)
{
    return at + 1 >= end || text->data[at + 1] != '\'';
}

/* Tells a regular expression that neither HBase nor we could take. */
bool kw_filter_check_regex(const kw_filter_text *text, size_t at, kw_filter_comparator comparator,
                           kw_bytes expression);
