#include "filter/compare.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <glib.h>
#include <pcre2.h>

#include "filter/inside.h"
#include "filter/java_text.h"

/* Steps of one match; Java has no such limit. */
#define MATCH_STEPS_MAX 1000000

struct kw_comparison {
    const kw_filter *filter;
    pcre2_code *code;
    pcre2_match_data *match;
    pcre2_match_context *context;
    kw_buffer text;
    char *lower; /* of a substring */
};

/* --- regular expressions -------------------------------------------------------------------------- */

static pcre2_code *
compile(kw_filter_comparator comparator, kw_bytes expression, int *ret_error)
{
    uint32_t options = PCRE2_UTF | PCRE2_DOTALL | PCRE2_ALT_BSUX | PCRE2_NEVER_BACKSLASH_C;
    if (comparator == KW_FILTER_COMPARE_REGEX_ANY_CASE)
        options |= PCRE2_CASELESS;
    kw_buffer text = KW_BUFFER_EMPTY;
    kw_java_text(expression, &text);
    PCRE2_SIZE at;
    pcre2_code *code =
        pcre2_compile(text.data ? text.data : (PCRE2_SPTR) "", text.size, options, ret_error, &at, NULL);
    kw_buffer_clear(&text);
    return code;
}

static bool
complain(const kw_filter *filter, int code, kw_error *ret_error)
{
    char why[120] = "";
    pcre2_get_error_message(code, (PCRE2_UCHAR *)why, sizeof why);
    return kw_error_set(ret_error, KW_INVALID, "filter, position %zu: the regular expression is wrong: %s",
                        filter->position + 1, why);
}

/* Mistakes in every dialect. Others may be expressions that only Java understands. */
bool
kw_filter_check_regex(const kw_filter_text *text, size_t at, kw_filter_comparator comparator,
                      kw_bytes expression)
{
    int error = 0;
    pcre2_code *code = compile(comparator, expression, &error);
    if (code) {
        pcre2_code_free(code);
        return true;
    }
    switch (error) {
    case PCRE2_ERROR_END_BACKSLASH:
    case PCRE2_ERROR_QUANTIFIER_OUT_OF_ORDER:
    case PCRE2_ERROR_MISSING_SQUARE_BRACKET:
    case PCRE2_ERROR_CLASS_RANGE_ORDER:
    case PCRE2_ERROR_QUANTIFIER_INVALID:
    case PCRE2_ERROR_MISSING_CLOSING_PARENTHESIS:
    case PCRE2_ERROR_UNMATCHED_CLOSING_PARENTHESIS:
        return complain(&(kw_filter){.position = at}, error, text->error);
    default:
        return true;
    }
}

static bool
prepare_regex(kw_comparison *self, kw_error *ret_error)
{
    int error = 0;
    self->code = compile(self->filter->comparator, self->filter->operand, &error);
    if (!self->code)
        return complain(self->filter, error, ret_error);
    pcre2_jit_compile(self->code, PCRE2_JIT_COMPLETE);
    self->match = pcre2_match_data_create_from_pattern(self->code, NULL);
    self->context = pcre2_match_context_create(NULL);
    pcre2_set_match_limit(self->context, MATCH_STEPS_MAX);
    return true;
}

/* 0: found, as in Java; 1: not; -1: too much work. */
static int
find_regex(kw_comparison *self, kw_bytes value)
{
    kw_java_text(value, &self->text);
    PCRE2_SPTR subject = self->text.data ? self->text.data : (PCRE2_SPTR) "";
    int found =
        pcre2_match(self->code, subject, self->text.size, 0, PCRE2_NO_UTF_CHECK, self->match, self->context);
    if (found >= 0)
        return 0;
    return found == PCRE2_ERROR_NOMATCH ? 1 : -1;
}

/* --- substrings ----------------------------------------------------------------------------------- */

/* Lower case, one character at a time. */
static char *
lower_text(kw_bytes bytes, kw_buffer *scratch, size_t *ret_size)
{
    kw_java_text(bytes, scratch);
    GString *lower = g_string_sized_new(scratch->size);
    const char *at = (const char *)scratch->data, *end = at + scratch->size;
    while (at < end) {
        if ((unsigned char)*at < 0x80) {
            g_string_append_c(lower, g_ascii_tolower(*at++));
            continue;
        }
        g_string_append_unichar(lower, g_unichar_tolower(g_utf8_get_char(at)));
        at = g_utf8_next_char(at);
    }
    *ret_size = lower->len;
    return g_string_free(lower, FALSE);
}

static int
find_substring(kw_comparison *self, kw_bytes value)
{
    size_t operand_size, size;
    if (!self->lower)
        self->lower = lower_text(self->filter->operand, &self->text, &operand_size);
    g_autofree char *text = lower_text(value, &self->text, &size);
    operand_size = strlen(self->lower);
    return operand_size == 0 || memmem(text, size, self->lower, operand_size) ? 0 : 1;
}

/* --- all ------------------------------------------------------------------------------------------ */

kw_comparison *
kw_comparison_new(const kw_filter *filter, kw_error *ret_error)
{
    kw_comparison *self = g_new0(kw_comparison, 1);
    self->filter = filter;
    bool regex = filter->comparator == KW_FILTER_COMPARE_REGEX ||
                 filter->comparator == KW_FILTER_COMPARE_REGEX_ANY_CASE;
    if (!regex || prepare_regex(self, ret_error))
        return self;
    kw_comparison_free(self);
    return NULL;
}

void
kw_comparison_free(kw_comparison *self)
{
    if (!self)
        return;
    pcre2_code_free(self->code);
    pcre2_match_data_free(self->match);
    pcre2_match_context_free(self->context);
    kw_buffer_clear(&self->text);
    g_free(self->lower);
    g_free(self);
}

/* Operand against value, in HBase's order: < 0 when the operand is less. */
static int
compare(kw_comparison *self, kw_bytes value)
{
    kw_bytes operand = self->filter->operand;
    switch (self->filter->comparator) {
    case KW_FILTER_COMPARE_BINARY:
        return kw_bytes_compare(operand, value);
    case KW_FILTER_COMPARE_BINARY_PREFIX:
        return kw_bytes_compare(operand, kw_bytes_of(value.data, MIN(operand.size, value.size)));
    case KW_FILTER_COMPARE_REGEX:
    case KW_FILTER_COMPARE_REGEX_ANY_CASE:
        return find_regex(self, value);
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
    int order = compare(self, value);
    bool text = self->filter->comparator == KW_FILTER_COMPARE_REGEX ||
                self->filter->comparator == KW_FILTER_COMPARE_REGEX_ANY_CASE;
    if (text && order < 0) {
        kw_error_set(ret_error, KW_LIMIT, "filter, position %zu: the regular expression takes too many steps",
                     self->filter->position + 1);
        return true;
    }
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
