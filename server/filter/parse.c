/* Parses operators with two stacks like HBase's parser, so that it accepts the same texts with the same
 * meaning:
 *
 *   A AND SKIP B OR C        operators  AND SKIP      filters  A B
 *                 ^ OR has lower precedence: first reduces SKIP B, then A AND (SKIP B)
 *
 * Equal operators in a row become one list. HBase's parser fails when a closing parenthesis ends two
 * different operators at once, as in "(A OR B AND C)"; such a text is rejected with a hint. The parser does
 * not recurse, and the depth of the tree is bounded. */
#include "filter/filter_internal.h"

#include <glib.h>
#include <stdarg.h>
#include <stdio.h>

typedef enum operator_kind { OPEN, SKIP, WHILE, AND, OR } operator_kind;

typedef struct operator_seen {
    operator_kind kind;
    size_t position;
} operator_seen;

typedef struct operand {
    const kw_filter *filter;
    unsigned depth;
} operand;

typedef struct parser {
    const kw_filter_text *text;
    GArray *operators; /* operator_seen */
    GArray *operands;
    size_t nodes;
} parser;

bool
kw_filter_syntax_error(const kw_filter_text *text, size_t at, const char *format, ...)
{
    char what[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    return kw_error_set(text->error, KW_INVALID, "filter, position %zu: %s", at + 1, what);
}

/* --- words --------------------------------------------------------------------------------------- */

static const struct word {
    const char *text;
    operator_kind kind;
    bool joins; /* joins two filters: not allowed at the start or after an opening parenthesis */
} words[] = {{"OR", OR, true}, {"AND", AND, true}, {"SKIP", SKIP, false}, {"WHILE", WHILE, false}};

/* The operator at a position, or NULL. Operators must be surrounded by spaces or parentheses. */
static const struct word *
word_at(const kw_filter_text *text, size_t at)
{
    for (size_t i = 0; i < G_N_ELEMENTS(words); i++) {
        size_t size = strlen(words[i].text);
        if (text->size - at <= size || memcmp(text->data + at, words[i].text, size) != 0)
            continue;
        uint8_t before = at ? text->data[at - 1] : 0, after = text->data[at + size];
        bool begins = before == ' ' || before == ')' || (!words[i].joins && (at == 0 || before == '('));
        if (begins && (after == ' ' || after == '('))
            return &words[i];
    }
    return NULL;
}

static const char *
word_of(operator_kind kind)
{
    for (size_t i = 0; i < G_N_ELEMENTS(words); i++)
        if (words[i].kind == kind)
            return words[i].text;
    return "(";
}

/* --- stacks -------------------------------------------------------------------------------------- */

static operator_seen *
top(const parser *self)
{
    guint count = self->operators->len;
    return count ? &g_array_index(self->operators, operator_seen, count - 1) : NULL;
}

static operator_seen
pop(parser *self)
{
    operator_seen last = *top(self);
    g_array_set_size(self->operators, self->operators->len - 1);
    return last;
}

static bool
push_operand(parser *self, const kw_filter *filter, unsigned depth)
{
    if (depth > KW_FILTER_DEPTH_MAX || ++self->nodes > KW_FILTER_NODES_MAX)
        return kw_error_set(self->text->error, KW_LIMIT,
                            "filter, position %zu: more than %d filters, or nested deeper than %d",
                            filter->position + 1, KW_FILTER_NODES_MAX, KW_FILTER_DEPTH_MAX);
    operand made = {filter, depth};
    g_array_append_val(self->operands, made);
    return true;
}

static kw_filter_kind
kind_of(operator_kind kind)
{
    switch (kind) {
    case SKIP:
        return KW_FILTER_SKIP;
    case WHILE:
        return KW_FILTER_WHILE;
    case AND:
        return KW_FILTER_AND;
    case OR:
    case OPEN:
        break;
    }
    return KW_FILTER_OR;
}

/* Replaces the last `count` filters by one that joins them. */
static bool
join(parser *self, operator_seen last, size_t count)
{
    if (self->operands->len < count)
        return kw_filter_syntax_error(self->text, last.position, "%s needs %s", word_of(last.kind),
                                      count > 1 ? "a filter on either side" : "a filter after it");
    kw_filter *filter = KW_ARENA_NEW(self->text->arena, kw_filter);
    filter->kind = kind_of(last.kind);
    filter->position = last.position;
    filter->children = KW_ARENA_ARRAY(self->text->arena, const kw_filter *, count);
    filter->children_count = count;
    unsigned depth = 0;
    guint first = self->operands->len - (guint)count;
    for (guint i = 0; i < count; i++) {
        const operand *child = &g_array_index(self->operands, operand, first + i);
        filter->children[i] = child->filter;
        depth = MAX(depth, child->depth);
    }
    g_array_set_size(self->operands, first);
    return push_operand(self, filter, depth + 1);
}

/* Applies the operator on top of the stack, together with equal ones directly below it. */
static bool
apply(parser *self)
{
    operator_seen last = pop(self);
    size_t count = 1;
    switch (last.kind) {
    case OPEN:
        return kw_filter_syntax_error(self->text, last.position, "this parenthesis is never closed");
    case SKIP:
    case WHILE:
        break;
    case AND:
    case OR:
        for (count = 2; top(self) && top(self)->kind == last.kind; count++)
            pop(self);
        break;
    }
    return join(self, last, count);
}

static int
precedence(operator_kind kind)
{
    return kind == OR ? 1 : kind == AND ? 2 : 3;
}

static bool
parse_word(parser *self, operator_kind kind, size_t at)
{
    while (top(self) && top(self)->kind != OPEN && precedence(top(self)->kind) > precedence(kind))
        if (!apply(self))
            return false;
    operator_seen seen = {kind, at};
    g_array_append_val(self->operators, seen);
    return true;
}

static bool
parse_close(parser *self, size_t at)
{
    if (!top(self))
        return kw_filter_syntax_error(self->text, at, "this parenthesis was never opened");
    if (top(self)->kind != OPEN && !apply(self))
        return false;
    if (!top(self))
        return kw_filter_syntax_error(self->text, at, "this parenthesis was never opened");
    if (top(self)->kind != OPEN)
        return kw_filter_syntax_error(
            self->text, at,
            "HBase's parser fails where one parenthesis closes two operators; put the filters "
            "that %s joins into their own parentheses",
            word_of(top(self)->kind));
    pop(self);
    return true;
}

/* --- the text ------------------------------------------------------------------------------------ */

/* A text such as "price > 2" is no filter. */
static void
fail_unclosed(const kw_filter_text *text, size_t start)
{
    const char *word = (const char *)text->data + start;
    size_t size = 0;
    while (start + size < text->size && size < 40 && g_ascii_isalnum(word[size]))
        size++;
    if (size == 0)
        kw_filter_syntax_error(text, start, "a filter has the form NAME(ARGUMENTS), as in PrefixFilter('a')");
    else if (memchr(word, '(', text->size - start))
        kw_filter_syntax_error(text, text->size, "expected ) to end the filter of position %zu", start + 1);
    else
        kw_filter_syntax_error(text, start,
                               "there is no filter %.*s; a filter has the form NAME(ARGUMENTS), as in "
                               "PrefixFilter('a')",
                               (int)size, word);
}

/* The position after the filter's closing parenthesis; 0 on error. */
static size_t
end_of_filter(const kw_filter_text *text, size_t start)
{
    bool quoted = false;
    size_t opened = start;
    for (size_t at = start; at < text->size; at++) {
        if (text->data[at] == '\'') {
            if (kw_filter_quote_ends(text, at, text->size)) {
                quoted = !quoted;
                opened = at;
            } else if (++at >= text->size) {
                break;
            }
        }
        if (text->data[at] == ')' && !quoted)
            return at + 1;
    }
    if (quoted)
        kw_filter_syntax_error(text, opened, "this quote is never closed");
    else
        fail_unclosed(text, start);
    return 0;
}

static bool
parse_filter(parser *self, size_t *at)
{
    size_t end = end_of_filter(self->text, *at);
    const kw_filter *filter = end ? kw_filter_parse_one(self->text, *at, end) : NULL;
    if (!filter)
        return false;
    *at = end;
    return push_operand(self, filter, 1);
}

static bool
parse_next(parser *self, size_t *at)
{
    uint8_t byte = self->text->data[*at];
    const struct word *word;
    if (byte == '(') {
        operator_seen seen = {OPEN, (*at)++};
        g_array_append_val(self->operators, seen);
    } else if (byte == ' ' || byte == '\t') {
        (*at)++;
    } else if ((word = word_at(self->text, *at))) {
        size_t start = *at;
        *at += strlen(word->text);
        return parse_word(self, word->kind, start);
    } else if (byte == ')') {
        return parse_close(self, (*at)++);
    } else {
        return parse_filter(self, at);
    }
    return true;
}

static bool
parse_end(parser *self)
{
    while (top(self))
        if (!apply(self))
            return false;
    if (self->operands->len == 0)
        return kw_filter_syntax_error(self->text, 0, "expected a filter, as in PrefixFilter('a')");
    if (self->operands->len > 1)
        return kw_filter_syntax_error(self->text, g_array_index(self->operands, operand, 1).filter->position,
                                      "expected AND or OR before this filter");
    return true;
}

static const kw_filter *
parse(kw_bytes bytes, bool escapes, kw_arena *arena, kw_error *ret_error)
{
    if (bytes.size > KW_FILTER_TEXT_MAX) {
        kw_error_set(ret_error, KW_LIMIT, "a filter of %zu bytes is longer than %d", bytes.size,
                     KW_FILTER_TEXT_MAX);
        return NULL;
    }
    kw_filter_sums sums = {0};
    kw_filter_text text = {bytes.data, bytes.size, arena, ret_error, &sums, escapes};
    g_autoptr(GArray) operators = g_array_new(FALSE, FALSE, sizeof(operator_seen));
    g_autoptr(GArray) operands = g_array_new(FALSE, FALSE, sizeof(operand));
    parser self = {.text = &text, .operators = operators, .operands = operands};
    bool good = true;
    for (size_t at = 0; good && at < text.size;)
        good = parse_next(&self, &at);
    good = good && parse_end(&self);
    return good ? g_array_index(operands, operand, 0).filter : NULL;
}

const kw_filter *
kw_filter_parse(kw_bytes text, kw_arena *arena, kw_error *ret_error)
{
    return parse(text, false, arena, ret_error);
}

const kw_filter *
kw_filter_parse_query(kw_bytes text, kw_arena *arena, kw_error *ret_error)
{
    return parse(text, true, arena, ret_error);
}
