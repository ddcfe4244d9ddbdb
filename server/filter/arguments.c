/* Parses one filter: its name and its arguments. A table lists the arguments of each kind. Like HBase, treats
 * spaces and commas between arguments alike, and skips the character after a closing quote. */
#include "filter/filter_internal.h"

#include <glib.h>
#include <string.h>

#define ARGUMENTS_MAX 4096

typedef struct argument {
    size_t position;
    kw_bytes raw; /* includes the quotes; '' within them is already replaced by ' */
} argument;

/* b: quoted bytes; f: true or false; i: 32-bit number; l: 64-bit number; o: operator; c: comparator; *:
 * repeats the last */
static const struct form {
    const char *name;
    kw_filter_kind kind;
    const char *arguments; /* alternatives separated by a space, the shortest first */
} forms[] = {
    {"KeyOnlyFilter", KW_FILTER_KEY_ONLY, " f"},
    {"FirstKeyOnlyFilter", KW_FILTER_FIRST_KEY_ONLY, ""},
    {"PrefixFilter", KW_FILTER_PREFIX, "b"},
    {"ColumnPrefixFilter", KW_FILTER_COLUMN_PREFIX, "b"},
    {"MultipleColumnPrefixFilter", KW_FILTER_MULTIPLE_COLUMN_PREFIX, "b*"},
    {"ColumnCountGetFilter", KW_FILTER_COLUMN_COUNT_GET, "i"},
    {"PageFilter", KW_FILTER_PAGE, "l"},
    {"ColumnPaginationFilter", KW_FILTER_COLUMN_PAGINATION, "ii"},
    {"InclusiveStopFilter", KW_FILTER_INCLUSIVE_STOP, "b"},
    {"TimestampsFilter", KW_FILTER_TIMESTAMPS, "l*"},
    {"RowFilter", KW_FILTER_ROW, "oc"},
    {"FamilyFilter", KW_FILTER_FAMILY, "oc"},
    {"QualifierFilter", KW_FILTER_QUALIFIER, "oc"},
    {"ValueFilter", KW_FILTER_VALUE, "oc"},
    {"ColumnRangeFilter", KW_FILTER_COLUMN_RANGE, "bfbf"},
    {"SingleColumnValueFilter", KW_FILTER_SINGLE_COLUMN_VALUE, "bboc bbocff"},
    {"SingleColumnValueExcludeFilter", KW_FILTER_SINGLE_COLUMN_VALUE_EXCLUDE, "bboc bbocff"},
    {"DependentColumnFilter", KW_FILTER_DEPENDENT_COLUMN, "bb bbf bbfoc"},
    {"ColumnValueFilter", KW_FILTER_COLUMN_VALUE, "bboc"},
    {"AND", KW_FILTER_AND, NULL},
    {"OR", KW_FILTER_OR, NULL},
    {"SKIP", KW_FILTER_SKIP, NULL},
    {"WHILE", KW_FILTER_WHILE, NULL},
};

static const char *const operators[] = {
    [KW_FILTER_LESS] = "<",       [KW_FILTER_LESS_OR_EQUAL] = "<=",    [KW_FILTER_EQUAL] = "=",
    [KW_FILTER_NOT_EQUAL] = "!=", [KW_FILTER_GREATER_OR_EQUAL] = ">=", [KW_FILTER_GREATER] = ">"};

static const char *const comparators[] = {[KW_FILTER_COMPARE_NOTHING] = "",
                                          [KW_FILTER_COMPARE_BINARY] = "binary",
                                          [KW_FILTER_COMPARE_BINARY_PREFIX] = "binaryprefix",
                                          [KW_FILTER_COMPARE_REGEX] = "regexstring",
                                          [KW_FILTER_COMPARE_REGEX_ANY_CASE] = "regexstringnocase",
                                          [KW_FILTER_COMPARE_SUBSTRING] = "substring"};

const char *
kw_filter_name(kw_filter_kind kind)
{
    for (size_t i = 0; i < G_N_ELEMENTS(forms); i++)
        if (forms[i].kind == kind)
            return forms[i].name;
    return "";
}

const char *
kw_filter_operator_text(kw_filter_operator op)
{
    return operators[op];
}

const char *
kw_filter_comparator_text(kw_filter_comparator comparator)
{
    return comparators[comparator];
}

/* --- splitting ----------------------------------------------------------------------------------- */

/* The position of the closing quote of the quoted argument that starts at `at`. */
static size_t
end_of_quoted(const kw_filter_text *text, size_t at, size_t end)
{
    size_t next = at + 1;
    while (text->data[next] != '\'' || !kw_filter_quote_ends(text, next, end))
        next += text->data[next] == '\'' ? 2 : 1;
    return next;
}

/* The size of the escape \xNN at a position; 0: there is none. */
static size_t
read_escape(const kw_filter_text *text, size_t at, size_t end, uint8_t *ret_byte)
{
    const uint8_t *data = text->data + at;
    if (end - at < 4 || data[0] != '\\' || data[1] != 'x' || !g_ascii_isxdigit(data[2]) ||
        !g_ascii_isxdigit(data[3]))
        return 0;
    *ret_byte = (uint8_t)(g_ascii_xdigit_value((char)data[2]) << 4 | g_ascii_xdigit_value((char)data[3]));
    return 4;
}

/* Regular expressions have escapes of their own. Other arguments do not begin with the name of their
 * comparator. */
static bool
has_escapes(const kw_filter_text *text, size_t at, size_t end)
{
    static const char *const regexes[] = {"regexstring:", "regexstringnocase:"};
    for (size_t i = 0; i < G_N_ELEMENTS(regexes); i++) {
        size_t size = strlen(regexes[i]);
        if (end - at > size && g_ascii_strncasecmp((const char *)text->data + at + 1, regexes[i], size) == 0)
            return false;
    }
    return text->escapes;
}

/* Copies the quoted argument that starts at `at`. Returns the position after its closing quote. */
static size_t
split_quoted(const kw_filter_text *text, size_t at, size_t end, argument *ret_argument)
{
    size_t last = end_of_quoted(text, at, end), size = 0, next = at;
    uint8_t *bytes = kw_arena_alloc(text->arena, last + 1 - at);
    bytes[size++] = text->data[next++];
    bool escapes = has_escapes(text, at, last);
    while (next < last) {
        size_t escape = escapes ? read_escape(text, next, last, &bytes[size]) : 0;
        if (escape) {
            next += escape;
            size++;
            continue;
        }
        next += text->data[next] == '\'';
        bytes[size++] = text->data[next++];
    }
    bytes[size++] = '\'';
    *ret_argument = (argument){at, kw_bytes_of(bytes, size)};
    return last + 1;
}

static size_t
split_plain(const kw_filter_text *text, size_t at, argument *ret_argument)
{
    size_t next = at;
    while (text->data[next] != ' ' && text->data[next] != ',' && text->data[next] != ')')
        next++;
    *ret_argument = (argument){at, kw_bytes_of(text->data + at, next - at)};
    return next;
}

/* True if the quoted argument that starts at `at` is closed before `end`. end_of_filter has checked this,
 * but it pairs the quotes from the filter's name on. If a quote precedes the opening parenthesis, its pairs
 * differ from those of the arguments. */
static bool
quotes_close(const kw_filter_text *text, size_t at, size_t end)
{
    for (size_t next = at + 1; next < end; next++) {
        if (text->data[next] != '\'')
            continue;
        if (kw_filter_quote_ends(text, next, end))
            return true;
        next++;
    }
    return false;
}

static GArray *
split_arguments(const kw_filter_text *text, size_t at, size_t end)
{
    g_autoptr(GArray) arguments = g_array_new(FALSE, FALSE, sizeof(argument));
    bool good = true;
    while (good && at < end) {
        argument found;
        uint8_t byte = text->data[at];
        if (byte == ' ' || byte == ',' || byte == ')') {
            at++;
            continue;
        }
        if (arguments->len == ARGUMENTS_MAX)
            good = kw_error_set(text->error, KW_LIMIT, "filter, position %zu: more than %d arguments", at + 1,
                                ARGUMENTS_MAX);
        else if (byte == '\'' && !quotes_close(text, at, end))
            good = kw_filter_syntax_error(text, at, "this quote is never closed");
        else if (byte == '\'')
            at = split_quoted(text, at, end, &found) + 1;
        else
            at = split_plain(text, at, &found);
        if (good)
            g_array_append_val(arguments, found);
    }
    return good ? g_steal_pointer(&arguments) : NULL;
}

/* --- values -------------------------------------------------------------------------------------- */

typedef struct filling {
    const kw_filter_text *text;
    kw_filter *filter;
    size_t flags;
    const argument *at;
} filling;

static bool
read_quoted(const filling *self, kw_bytes *ret_bytes)
{
    kw_bytes raw = self->at->raw;
    if (raw.size < 2 || raw.data[0] != '\'' || raw.data[raw.size - 1] != '\'')
        return kw_filter_syntax_error(self->text, self->at->position, "expected a quoted text, as in 'abc'");
    *ret_bytes = kw_arena_copy(self->text->arena, kw_bytes_of(raw.data + 1, raw.size - 2));
    return true;
}

static bool
read_bytes(filling *self)
{
    return read_quoted(self, &self->filter->bytes[self->filter->bytes_count++]);
}

static bool
read_flag(filling *self)
{
    kw_bytes raw = self->at->raw;
    bool yes = raw.size == 4 && g_ascii_strncasecmp((const char *)raw.data, "true", 4) == 0;
    bool no = raw.size == 5 && g_ascii_strncasecmp((const char *)raw.data, "false", 5) == 0;
    self->filter->flags[self->flags++] = yes;
    return yes || no || kw_filter_syntax_error(self->text, self->at->position, "expected true or false");
}

/* Like HBase, adds digit by digit, and detects an overflow of 64 bits only if the sum becomes negative. */
static bool
read_number(filling *self, bool narrow)
{
    kw_bytes raw = self->at->raw;
    bool negative = raw.data[0] == '-';
    uint64_t sum = 0;
    for (size_t i = negative; i < raw.size; i++) {
        if (raw.data[i] < '0' || raw.data[i] > '9')
            return kw_filter_syntax_error(self->text, self->at->position, "expected a number");
        sum = sum * 10 + (uint64_t)(raw.data[i] - '0');
        if (sum > INT64_MAX)
            return kw_filter_syntax_error(self->text, self->at->position, "this number is too large");
    }
    if (narrow && sum > INT32_MAX)
        return kw_filter_syntax_error(self->text, self->at->position, "this number is too large");
    if (negative && sum)
        return kw_filter_syntax_error(self->text, self->at->position, "this number must not be negative");
    self->filter->numbers[self->filter->numbers_count++] = (int64_t)sum;
    return true;
}

static bool
read_operator(filling *self)
{
    for (size_t i = 0; i < G_N_ELEMENTS(operators); i++) {
        if (kw_bytes_equal(self->at->raw, kw_bytes_of_text(operators[i]))) {
            self->filter->op = (kw_filter_operator)i;
            return true;
        }
    }
    return kw_filter_syntax_error(self->text, self->at->position, "expected one of < <= = != >= >");
}

/* Gives a regular expression its number in the filter, and checks its limits, because the cost of compiling
 * grows with the square of some of the sizes. */
static bool
check_expression(const filling *self)
{
    kw_filter_sums *sums = self->text->sums;
    kw_bytes expression = self->filter->operand;
    size_t groups = 0, at = self->at->position + 1;
    for (size_t i = 0; i < expression.size; i++)
        groups += expression.data[i] == '(';
    self->filter->expression = sums->expressions++;
    sums->expression_bytes += expression.size;
    if (expression.size > KW_EXPRESSION_BYTES_MAX)
        return kw_error_set(self->text->error, KW_LIMIT,
                            "filter, position %zu: a regular expression of %zu bytes is longer than %d", at,
                            expression.size, KW_EXPRESSION_BYTES_MAX);
    if (groups > KW_EXPRESSION_GROUPS_MAX)
        return kw_error_set(
            self->text->error, KW_LIMIT,
            "filter, position %zu: a regular expression with more than %d opening parentheses", at,
            KW_EXPRESSION_GROUPS_MAX);
    if (sums->expressions > KW_FILTER_EXPRESSIONS_MAX ||
        sums->expression_bytes > KW_FILTER_EXPRESSION_BYTES_MAX)
        return kw_error_set(
            self->text->error, KW_LIMIT,
            "filter, position %zu: more than %d regular expressions, or more than %d bytes of them", at,
            KW_FILTER_EXPRESSIONS_MAX, KW_FILTER_EXPRESSION_BYTES_MAX);
    return true;
}

static bool
check_comparator(const filling *self)
{
    const kw_filter *filter = self->filter;
    bool ordered = filter->op != KW_FILTER_EQUAL && filter->op != KW_FILTER_NOT_EQUAL;
    bool text = kw_filter_is_regex(filter) || filter->comparator == KW_FILTER_COMPARE_SUBSTRING;
    if (ordered && text && filter->kind != KW_FILTER_DEPENDENT_COLUMN)
        return kw_filter_syntax_error(self->text, self->at->position,
                                      "a %s comparator takes only = and !=", comparators[filter->comparator]);
    return !kw_filter_is_regex(filter) || check_expression(self);
}

static bool
read_comparator(filling *self)
{
    kw_bytes whole = KW_BYTES_NONE;
    if (!read_quoted(self, &whole))
        return false;
    const uint8_t *colon = whole.size ? memchr(whole.data, ':', whole.size) : NULL;
    size_t size = colon ? (size_t)(colon - whole.data) : 0;
    for (size_t i = KW_FILTER_COMPARE_BINARY; colon && i < G_N_ELEMENTS(comparators); i++) {
        if (!kw_bytes_equal(kw_bytes_of(whole.data, size), kw_bytes_of_text(comparators[i])))
            continue;
        self->filter->comparator = (kw_filter_comparator)i;
        self->filter->operand = kw_bytes_skip(whole, size + 1);
        return check_comparator(self);
    }
    return kw_filter_syntax_error(
        self->text, self->at->position,
        "expected a comparator: 'binary:...', 'binaryprefix:...', 'regexstring:...', "
        "'regexstringnocase:...' or 'substring:...'");
}

static bool
read_argument(filling *self, char kind)
{
    switch (kind) {
    case 'b':
        return read_bytes(self);
    case 'f':
        return read_flag(self);
    case 'i':
        return read_number(self, true);
    case 'l':
        return read_number(self, false);
    case 'o':
        return read_operator(self);
    default:
        return read_comparator(self);
    }
}

/* --- one filter ---------------------------------------------------------------------------------- */

/* The alternative that accepts this number of arguments; NULL: there is none. */
static const char *
find_alternative(const char *arguments, size_t count)
{
    const char *at = arguments;
    for (;;) {
        size_t size = strcspn(at, " ");
        if (size && at[size - 1] == '*')
            return at;
        if (size == count)
            return at;
        if (!at[size])
            return NULL;
        at += size + 1;
    }
}

static bool
report_wrong_count(const kw_filter_text *text, size_t start, const struct form *form, size_t count)
{
    static const struct {
        char kind;
        const char *text;
    } names[] = {{'b', "'bytes'"}, {'f', "true|false"}, {'i', "number"},
                 {'l', "number"},  {'o', "operator"},   {'c', "'comparator:value'"}};
    g_autoptr(GString) wants = g_string_new(NULL);
    for (const char *at = form->arguments; *at; at++) {
        for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
            if (names[i].kind == *at)
                g_string_append_printf(wants, "%s%s", at > form->arguments && at[-1] != ' ' ? ", " : "",
                                       names[i].text);
        if (*at == ' ')
            g_string_append(wants, ") or (");
    }
    return kw_filter_syntax_error(text, start, "expected %s(%s), not %zu arguments", form->name, wants->str,
                                  count);
}

static int
compare_bytes(const void *a, const void *b)
{
    return kw_bytes_compare(*(const kw_bytes *)a, *(const kw_bytes *)b);
}

static int
compare_numbers(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

static bool
finish_filter(const kw_filter_text *text, kw_filter *filter)
{
    if (filter->kind == KW_FILTER_TIMESTAMPS) {
        qsort(filter->numbers, filter->numbers_count, sizeof *filter->numbers, compare_numbers);
        size_t kept = 0;
        for (size_t i = 0; i < filter->numbers_count; i++)
            if (kept == 0 || filter->numbers[kept - 1] != filter->numbers[i])
                filter->numbers[kept++] = filter->numbers[i];
        filter->numbers_count = kept;
    }
    if (filter->kind == KW_FILTER_MULTIPLE_COLUMN_PREFIX) {
        qsort(filter->bytes, filter->bytes_count, sizeof *filter->bytes, compare_bytes);
        for (size_t i = 1; i < filter->bytes_count; i++)
            if (kw_bytes_equal(filter->bytes[i - 1], filter->bytes[i]))
                return kw_filter_syntax_error(text, filter->position, "a prefix is listed twice");
    }
    return true;
}

static bool
fill_filter(const kw_filter_text *text, kw_filter *filter, const struct form *form, const GArray *arguments)
{
    const char *kinds = find_alternative(form->arguments, arguments->len);
    if (!kinds)
        return report_wrong_count(text, filter->position, form, arguments->len);
    filter->bytes = KW_ARENA_ARRAY(text->arena, kw_bytes, arguments->len);
    filter->numbers = KW_ARENA_ARRAY(text->arena, int64_t, arguments->len);
    filling self = {.text = text, .filter = filter};
    if (filter->kind == KW_FILTER_SINGLE_COLUMN_VALUE ||
        filter->kind == KW_FILTER_SINGLE_COLUMN_VALUE_EXCLUDE)
        filter->flags[1] = true; /* only the latest version counts by default */
    for (guint i = 0; i < arguments->len; i++) {
        self.at = &g_array_index(arguments, argument, i);
        if (!read_argument(&self, kinds[1] == '*' ? kinds[0] : kinds[i]))
            return false;
    }
    return finish_filter(text, filter);
}

static const struct form *
find_form(const kw_filter_text *text, size_t start, kw_bytes name)
{
    for (size_t i = 0; i < G_N_ELEMENTS(forms); i++)
        if (forms[i].arguments && kw_bytes_equal(name, kw_bytes_of_text(forms[i].name)))
            return &forms[i];
    const char *near = NULL;
    for (size_t i = 0; i < G_N_ELEMENTS(forms); i++)
        if (strlen(forms[i].name) == name.size &&
            g_ascii_strncasecmp(forms[i].name, (const char *)name.data, name.size) == 0)
            near = forms[i].name;
    g_autofree char *shown = g_utf8_make_valid((const char *)name.data, (gssize)MIN(name.size, 60));
    if (near)
        kw_filter_syntax_error(
            text, start, "expected a filter or AND, OR, SKIP, WHILE between spaces; did you mean %s?", near);
    else
        kw_filter_syntax_error(text, start, "HBase's language has no filter %s", shown);
    return NULL;
}

kw_filter *
kw_filter_parse_one(const kw_filter_text *text, size_t start, size_t end)
{
    size_t name_end = start, open = start;
    while (name_end < end && text->data[name_end] != '(' && text->data[name_end] != ' ')
        name_end++;
    while (open < end && text->data[open] != '(')
        open++;
    if (open == end) {
        kw_filter_syntax_error(text, name_end < end ? name_end : end - 1,
                               "expected ( and the arguments of a filter");
        return NULL;
    }
    const struct form *form = find_form(text, start, kw_bytes_of(text->data + start, name_end - start));
    g_autoptr(GArray) arguments = form ? split_arguments(text, open + 1, end) : NULL;
    if (!arguments)
        return NULL;
    kw_filter *filter = KW_ARENA_NEW(text->arena, kw_filter);
    filter->kind = form->kind;
    filter->position = start;
    return fill_filter(text, filter, form, arguments) ? filter : NULL;
}
