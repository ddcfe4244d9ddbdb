#include "filter/compare.h"

#include <glib.h>

#include "filter/java_text.h"

struct kw_comparison {
    const kw_filter *filter;
    kw_effort *effort;
    const kw_expression *expression; /* NULL: not a regular expression */
    kw_expression *own;              /* the same, if this comparison owns it */
    char *lower;                     /* the operand of a substring comparator, in lower case */
    size_t lower_size;
};

/* --- the memory of a thread ---------------------------------------------------------------------- */

/* What a thread keeps between two comparisons. A scan can have a comparison for each of its expressions and
 * ranges, and large values, so comparisons have no such memory of their own. */
typedef struct scratch {
    kw_matcher *matcher;
    kw_buffer text;
} scratch;

#define SCRATCH_KEPT ((size_t)64 * 1024)

static void
scratch_free(void *data)
{
    scratch *self = data;
    kw_matcher_free(self->matcher);
    kw_buffer_clear(&self->text);
    g_free(self);
}

static scratch *
scratch_of_thread(void)
{
    static GPrivate kept = G_PRIVATE_INIT(scratch_free);
    scratch *self = g_private_get(&kept);
    if (!self) {
        self = g_new0(scratch, 1);
        self->matcher = kw_matcher_new();
        g_private_set(&kept, self);
    }
    return self;
}

/* After a comparison: the text was used. */
static void
scratch_end(scratch *self)
{
    if (self->text.capacity > SCRATCH_KEPT)
        kw_buffer_clear(&self->text);
}

/* --- regular expressions ------------------------------------------------------------------------- */

static bool
use_expression(kw_comparison *self, const kw_expression *expression, kw_error *ret_error)
{
    char why[8];
    if (!expression)
        expression = self->own = kw_expression_new(
            self->filter->operand, self->filter->comparator == KW_FILTER_COMPARE_REGEX_ANY_CASE);
    if (kw_expression_error(expression, why, sizeof why))
        return kw_filter_expression_error(self->filter, expression, ret_error);
    self->expression = expression;
    return true;
}

/* 0 if found, else 1, as in HBase. */
static int
find_regex(kw_comparison *self, kw_bytes value, kw_error *ret_error)
{
    scratch *own = scratch_of_thread();
    kw_match found =
        kw_matcher_find(own->matcher, self->expression, kw_java_text(value, &own->text), self->effort);
    scratch_end(own);
    switch (found) {
    case KW_MATCH_FOUND:
        return 0;
    case KW_MATCH_NONE:
        return 1;
    case KW_MATCH_TOO_LONG:
        kw_error_set(ret_error, KW_LIMIT,
                     "filter: the regular expression %s takes too many steps on a value of %zu bytes",
                     kw_filter_show_expression(self->filter).text, value.size);
        return 1;
    case KW_MATCH_OVER:
        kw_effort_fail(self->effort, "a filter was applied", ret_error);
        return 1;
    }
    g_assert_not_reached();
}

/* --- substrings ---------------------------------------------------------------------------------- */

/* Converts to lower case, character by character. */
static char *
lower_text(kw_bytes bytes, size_t *ret_size)
{
    scratch *own = scratch_of_thread();
    kw_bytes text = kw_java_text(bytes, &own->text);
    GString *lower = g_string_sized_new(text.size);
    const char *at = (const char *)text.data, *end = text.size ? at + text.size : at;
    while (at < end) {
        if ((unsigned char)*at < 0x80) {
            g_string_append_c(lower, g_ascii_tolower(*at++));
            continue;
        }
        g_string_append_unichar(lower, g_unichar_tolower(g_utf8_get_char(at)));
        at = g_utf8_next_char(at);
    }
    scratch_end(own);
    *ret_size = lower->len;
    return g_string_free(lower, FALSE);
}

static int
find_substring(kw_comparison *self, kw_bytes value)
{
    size_t size;
    if (!self->lower)
        self->lower = lower_text(self->filter->operand, &self->lower_size);
    g_autofree char *text = lower_text(value, &size);
    return self->lower_size == 0 || memmem(text, size, self->lower, self->lower_size) ? 0 : 1;
}

/* --- all ----------------------------------------------------------------------------------------- */

kw_comparison *
kw_comparison_new(const kw_filter *filter, const kw_expression *expression, kw_effort *effort,
                  kw_error *ret_error)
{
    kw_comparison *self = g_new0(kw_comparison, 1);
    self->filter = filter;
    self->effort = effort;
    if (!kw_filter_is_regex(filter) || use_expression(self, expression, ret_error))
        return self;
    kw_comparison_free(self);
    return NULL;
}

void
kw_comparison_free(kw_comparison *self)
{
    if (!self)
        return;
    kw_expression_free(self->own);
    g_free(self->lower);
    g_free(self);
}

/* Compares operand and value in HBase's order: < 0 if the operand is less. */
static int
compare(kw_comparison *self, kw_bytes value, kw_error *ret_error)
{
    kw_bytes operand = self->filter->operand;
    switch (self->filter->comparator) {
    case KW_FILTER_COMPARE_BINARY:
        return kw_bytes_compare(operand, value);
    case KW_FILTER_COMPARE_BINARY_PREFIX:
        return kw_bytes_compare(operand, kw_bytes_of(value.data, MIN(operand.size, value.size)));
    case KW_FILTER_COMPARE_REGEX:
    case KW_FILTER_COMPARE_REGEX_ANY_CASE:
        return find_regex(self, value, ret_error);
    case KW_FILTER_COMPARE_SUBSTRING:
        return find_substring(self, value);
    case KW_FILTER_COMPARE_NOTHING:
        break;
    }
    g_assert_not_reached();
}

bool
kw_comparison_rejects(kw_comparison *self, kw_bytes value, kw_error *ret_error)
{
    if (!kw_effort_spend(self->effort, 16 + value.size)) {
        kw_effort_fail(self->effort, "a filter was applied", ret_error);
        return true;
    }
    int order = compare(self, value, ret_error);
    switch (self->filter->op) {
    case KW_FILTER_LESS:
        return order <= 0;
    case KW_FILTER_LESS_OR_EQUAL:
        return order < 0;
    case KW_FILTER_EQUAL:
        return order != 0;
    case KW_FILTER_NOT_EQUAL:
        return order == 0;
    case KW_FILTER_GREATER_OR_EQUAL:
        return order > 0;
    case KW_FILTER_GREATER:
        return order >= 0;
    }
    g_assert_not_reached();
}
