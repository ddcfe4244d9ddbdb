/* A comparator ready for use: an operator, how to compare, and with what. Inside of the room.
 *
 * Regular expressions and substrings are looked for in the bytes read as UTF-8 the way Java does it: what is
 * not UTF-8 becomes U+FFFD. Expressions run in PCRE2 with Java's defaults (a dot meets line ends, \d \w \s
 * are ASCII).
 */
#pragma once

#include "filter/filter.h"

typedef struct kw_comparison kw_comparison;

/* INVALID, with the position, for an expression that cannot be compiled. Freed with kw_comparison_free. */
kw_comparison *kw_comparison_new(const kw_filter *filter, kw_error *ret_error);
void kw_comparison_free(kw_comparison *self);

/* Does the value fail "value OP operand"? ret_error is filled (and true returned) when an expression took too
 * much work. */
bool kw_comparison_rejects(kw_comparison *self, kw_bytes value, kw_error *ret_error);
