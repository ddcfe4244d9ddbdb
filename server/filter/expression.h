/* Internal to filter: a regular expression, compiled once and matched on any thread.
 *
 * HBase matches expressions with java.util.regex. PCRE2 matches them here with the same meaning: a dot also
 * matches line ends (HBase sets DOTALL), and \d \w \s are ASCII (Java's default). The length, the number of
 * groups and the time of a match are bounded. Each expression is compiled twice, because callouts, which
 * check the time, cost several times the match itself:
 *
 *   short value --> quick, at most a few hundred steps --> result
 *                     \--> needs more steps --.
 *   long value  ------------------------------\--> watched: a callout at every item checks the time
 */
#pragma once

#include "base/bytes.h"
#include "base/effort.h"

#define KW_EXPRESSION_BYTES_MAX 4096
#define KW_EXPRESSION_GROUPS_MAX 200

typedef struct kw_expression kw_expression;

/* Compiles an expression. This can take milliseconds, so call it on worker threads. Never NULL:
 * kw_expression_error reports failures. */
kw_expression *kw_expression_new(kw_bytes text, bool any_case);
void kw_expression_free(kw_expression *expression);

/* True if the expression could not be compiled; then ret_why is the reason. */
bool kw_expression_error(const kw_expression *expression, char *ret_why, size_t size);
/* True if the expression is wrong in Java, too. */
bool kw_expression_is_wrong(const kw_expression *expression);

/* Memory and limits for matching on one thread. */
typedef struct kw_matcher kw_matcher;
kw_matcher *kw_matcher_new(void);
void kw_matcher_free(kw_matcher *matcher);

typedef enum kw_match {
    KW_MATCH_FOUND,
    KW_MATCH_NONE,
    KW_MATCH_TOO_LONG, /* the match exceeded its limit of time or memory */
    KW_MATCH_OVER      /* the effort is used up */
} kw_match;

/* Searches the expression, which must be compiled without error, in a valid UTF-8 text. */
kw_match kw_matcher_find(kw_matcher *matcher, const kw_expression *expression, kw_bytes text,
                         kw_effort *effort);
