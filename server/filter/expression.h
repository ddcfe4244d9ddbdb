/* A regular expression of a filter: compiled once, matched on any thread. Inside of the module.
 *
 * HBase gives expressions to java.util.regex; here PCRE2 matches them with Java's defaults (a dot meets line
 * ends, \d \w \s are ASCII). What a caller may ask for is bounded: the length, the groups, the time of one
 * match. There are two codes, because calling out costs several times the match itself:
 *
 *   short value --> quick, a few hundred steps --> answer
 *                     \--> needs more
 *   long value  ------------\--> watched: calls out at every item, where time is looked at
 */
#pragma once

#include "base/bytes.h"
#include "base/effort.h"

#define KW_EXPRESSION_BYTES_MAX 4096
#define KW_EXPRESSION_GROUPS_MAX 200

typedef struct kw_expression kw_expression;

/* Takes milliseconds: for worker threads. Never NULL; see kw_expression_error. */
kw_expression *kw_expression_new(kw_bytes text, bool any_case);
void kw_expression_free(kw_expression *expression);

/* Why it cannot be matched here; false: it can. */
bool kw_expression_error(const kw_expression *expression, char *ret_why, size_t size);
/* The mistake is one in Java, too. */
bool kw_expression_is_wrong(const kw_expression *expression);

/* What one thread needs to match. */
typedef struct kw_matcher kw_matcher;
kw_matcher *kw_matcher_new(void);
void kw_matcher_free(kw_matcher *matcher);

typedef enum kw_match {
    KW_MATCH_FOUND,
    KW_MATCH_NONE,
    KW_MATCH_TOO_LONG, /* more time or memory than one match may take */
    KW_MATCH_OVER      /* the effort is */
} kw_match;

/* Is it found in the text (UTF-8, valid)? The expression has no error. */
kw_match kw_matcher_find(kw_matcher *matcher, const kw_expression *expression, kw_bytes text,
                         kw_effort *effort);
