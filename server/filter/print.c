/* Prints a tree as text, joins trees, and finds out whether a tree decides across rows. Each list and each
 * SKIP and WHILE gets its own parentheses, because HBase's parser fails where one parenthesis closes two
 * operators. */
#include "filter/filter_internal.h"

#include <glib.h>

typedef struct printer {
    kw_buffer *text;
    bool escapes; /* bytes that are not printable ASCII are \xNN */
} printer;

static void print(const kw_filter *filter, printer *to);

static void
print_byte(printer *to, uint8_t byte, bool escapes)
{
    if (escapes && (byte < 0x20 || byte >= 0x7f || byte == '\\'))
        kw_buffer_printf(to->text, "\\x%02X", byte);
    else
        kw_buffer_append_byte(to->text, byte);
}

static void
print_quoted(printer *to, const char *head, kw_bytes bytes, bool escapes)
{
    kw_buffer_append_byte(to->text, '\'');
    kw_buffer_append_text(to->text, head);
    for (size_t i = 0; i < bytes.size; i++) {
        if (bytes.data[i] == '\'')
            kw_buffer_append_byte(to->text, '\'');
        print_byte(to, bytes.data[i], escapes);
    }
    kw_buffer_append_byte(to->text, '\'');
}

/* Regular expressions have escapes of their own, so those that are text stay as they are. */
static bool
is_expression(const kw_filter *filter)
{
    return kw_filter_is_regex(filter) &&
           g_utf8_validate((const char *)filter->operand.data, (gssize)filter->operand.size, NULL);
}

static void
separate(printer *to)
{
    if (to->text->data[to->text->size - 1] != '(')
        kw_buffer_append_text(to->text, ", ");
}

static void
print_flag(printer *to, bool flag)
{
    separate(to);
    kw_buffer_append_text(to->text, flag ? "true" : "false");
}

static void
print_bytes(printer *to, kw_bytes bytes)
{
    separate(to);
    print_quoted(to, "", bytes, to->escapes);
}

static void
print_comparison(const kw_filter *filter, printer *to)
{
    separate(to);
    kw_buffer_printf(to->text, "%s, ", kw_filter_operator_text(filter->op));
    char head[32];
    size_t size = strlen(kw_filter_comparator_text(filter->comparator));
    memcpy(head, kw_filter_comparator_text(filter->comparator), size);
    memcpy(head + size, ":", 2);
    print_quoted(to, head, filter->operand, to->escapes && !is_expression(filter));
}

static void
print_arguments(const kw_filter *filter, printer *to)
{
    if (filter->kind == KW_FILTER_COLUMN_RANGE) {
        for (size_t i = 0; i < 2; i++) {
            print_bytes(to, filter->bytes[i]);
            print_flag(to, filter->flags[i]);
        }
        return;
    }
    for (size_t i = 0; i < filter->bytes_count; i++)
        print_bytes(to, filter->bytes[i]);
    for (size_t i = 0; i < filter->numbers_count; i++) {
        separate(to);
        kw_buffer_printf(to->text, "%lld", (long long)filter->numbers[i]);
    }
    if (filter->kind == KW_FILTER_KEY_ONLY || filter->kind == KW_FILTER_DEPENDENT_COLUMN)
        print_flag(to, filter->flags[0]);
    if (filter->comparator != KW_FILTER_COMPARE_NOTHING)
        print_comparison(filter, to);
    if (filter->kind == KW_FILTER_SINGLE_COLUMN_VALUE ||
        filter->kind == KW_FILTER_SINGLE_COLUMN_VALUE_EXCLUDE) {
        print_flag(to, filter->flags[0]);
        print_flag(to, filter->flags[1]);
    }
}

static void
print_list(const kw_filter *filter, printer *to)
{
    bool prefix = filter->kind == KW_FILTER_SKIP || filter->kind == KW_FILTER_WHILE;
    kw_buffer_append_byte(to->text, '(');
    for (size_t i = 0; i < filter->children_count; i++) {
        if (prefix)
            kw_buffer_printf(to->text, "%s ", kw_filter_name(filter->kind));
        else if (i)
            kw_buffer_printf(to->text, " %s ", kw_filter_name(filter->kind));
        print(filter->children[i], to);
    }
    kw_buffer_append_byte(to->text, ')');
}

static void
print(const kw_filter *filter, printer *to)
{
    if (filter->children_count) {
        print_list(filter, to);
        return;
    }
    kw_buffer_printf(to->text, "%s (", kw_filter_name(filter->kind));
    print_arguments(filter, to);
    kw_buffer_append_byte(to->text, ')');
}

void
kw_filter_print(const kw_filter *filter, kw_buffer *to)
{
    print(filter, &(printer){.text = to});
}

void
kw_filter_print_for_query(const kw_filter *filter, kw_buffer *to)
{
    print(filter, &(printer){.text = to, .escapes = true});
}

const kw_filter *
kw_filter_join(kw_filter_kind kind, const kw_filter *const *parts, size_t count, kw_arena *arena)
{
    g_assert(count > 0 && (kind == KW_FILTER_AND || kind == KW_FILTER_OR));
    if (count == 1)
        return parts[0];
    kw_filter *filter = KW_ARENA_NEW(arena, kw_filter);
    filter->kind = kind;
    filter->children = KW_ARENA_ARRAY(arena, const kw_filter *, count);
    memcpy(filter->children, parts, count * sizeof *parts);
    filter->children_count = count;
    return filter;
}

bool
kw_filter_removes_values(const kw_filter *filter, bool *ret_lengths)
{
    bool removes = filter->kind == KW_FILTER_KEY_ONLY;
    *ret_lengths |= removes && filter->flags[0];
    for (size_t i = 0; i < filter->children_count; i++)
        removes |= kw_filter_removes_values(filter->children[i], ret_lengths);
    return removes;
}

bool
kw_filter_spans_rows(const kw_filter *filter)
{
    if (filter->kind == KW_FILTER_PAGE || filter->kind == KW_FILTER_WHILE ||
        filter->kind == KW_FILTER_COLUMN_COUNT_GET)
        return true;
    for (size_t i = 0; i < filter->children_count; i++)
        if (kw_filter_spans_rows(filter->children[i]))
            return true;
    return false;
}
