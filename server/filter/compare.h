/* A comparator ready for use: an operator, how to compare, and with what. Inside of the room.
 *
 * Regular expressions and substrings are looked for in the bytes read as UTF-8 the way Java does it: what is
 * not UTF-8 becomes U+FFFD. Expressions run in PCRE2 with Java's defaults (a dot meets line ends, \d \w \s
 * are ASCII).
 */
#pragma once

#include "base/effort.h"
#include "filter/filter_internal.h"

typedef struct kw_comparison kw_comparison;

/* expression: of a regular expression that is compiled already, else NULL; it lives longer. INVALID, with the
 * position, for one that cannot be compiled. Freed with kw_comparison_free. */
kw_comparison *kw_comparison_new(const kw_filter *filter, const kw_expression *expression, kw_effort *effort,
                                 kw_error *ret_error);
void kw_comparison_free(kw_comparison *self);

/* Does the value fail "value OP operand"? ret_error is filled (and its verdict of no meaning) when an
 * expression takes too long, or the effort is over. */
bool kw_comparison_rejects(kw_comparison *self, kw_bytes value, kw_error *ret_error);
