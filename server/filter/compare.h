/* Internal to filter: a comparison, which consists of an operator, a comparator and an operand.
 *
 * Regular expressions and substrings are searched in the bytes decoded as UTF-8 like Java does: invalid bytes
 * become U+FFFD. Expressions are matched by PCRE2 with the meaning that they have in HBase (a dot also
 * matches line ends, \d \w \s are ASCII).
 */
#pragma once

#include "base/effort.h"
#include "filter/filter_internal.h"

typedef struct kw_comparison kw_comparison;

/* expression: the compiled regular expression, which must outlive the comparison, or NULL to compile it here.
 * NULL with INVALID if it cannot be compiled. */
kw_comparison *kw_comparison_new(const kw_filter *filter, const kw_expression *expression, kw_effort *effort,
                                 kw_error *ret_error);
void kw_comparison_free(kw_comparison *self);

/* True if "value OP operand" does not hold. If an expression takes too long or the effort is used up,
 * ret_error is set and the result is meaningless. */
bool kw_comparison_rejects(kw_comparison *self, kw_bytes value, kw_error *ret_error);
