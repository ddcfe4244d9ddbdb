/* See filter_bytes.h. A message is written behind its parent's tag; its length is put in when it is complete.
 */
#include "store/hbase/filter_bytes.h"

#define JAVA_PACKAGE "org.apache.hadoop.hbase.filter."

/* java.util.regex.Pattern */
#define CASE_INSENSITIVE 2
#define DOTALL 32

/* HBase.proto: CompareType; the others are those of kw_filter_operator in its order. */
#define NO_OP 6

/* --- protocol buffers ----------------------------------------------------------------------------- */

enum wire_type { VARINT = 0, DELIMITED = 2 };

static void
write_varint(kw_buffer *to, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        kw_buffer_append_byte(to, (uint8_t)(value | 0x80));
    kw_buffer_append_byte(to, (uint8_t)value);
}

static void
write_number(kw_buffer *to, unsigned field, int64_t value)
{
    write_varint(to, field << 3 | VARINT);
    write_varint(to, (uint64_t)value);
}

static void
write_bytes(kw_buffer *to, unsigned field, kw_bytes bytes)
{
    write_varint(to, field << 3 | DELIMITED);
    write_varint(to, bytes.size);
    kw_buffer_append(to, bytes);
}

/* Ends a message: appends it as a field and forgets it. */
static void
write_message(kw_buffer *to, unsigned field, kw_buffer *message)
{
    write_bytes(to, field, kw_buffer_bytes(message));
    kw_buffer_clear(message);
}

/* Filter and Comparator alike: the class's name, its own message. Forgets that. */
static void
write_named(kw_buffer *to, const char *name, kw_buffer *message)
{
    kw_buffer full = KW_BUFFER_EMPTY;
    kw_buffer_append_text(&full, JAVA_PACKAGE);
    kw_buffer_append_text(&full, name);
    write_message(to, 1, &full);
    write_message(to, 2, message);
}

/* --- comparators ---------------------------------------------------------------------------------- */

static void
write_regex(kw_buffer *to, kw_bytes pattern, int flags, const char *charset)
{
    kw_buffer regex = KW_BUFFER_EMPTY;
    write_bytes(&regex, 1, pattern);
    write_number(&regex, 2, flags);
    write_bytes(&regex, 3, kw_bytes_of_text(charset));
    write_bytes(&regex, 4, KW_BYTES_LITERAL("JAVA"));
    write_named(to, "RegexStringComparator", &regex);
}

/* A comparator whose message is {ByteArrayComparable {value}}. */
static void
write_bytes_comparator(kw_buffer *to, const char *name, kw_bytes operand)
{
    kw_buffer comparable = KW_BUFFER_EMPTY, message = KW_BUFFER_EMPTY;
    write_bytes(&comparable, 1, operand);
    write_message(&message, 1, &comparable);
    write_named(to, name, &message);
}

static void
write_comparator(kw_buffer *to, const kw_filter *filter)
{
    kw_buffer substring = KW_BUFFER_EMPTY;
    switch (filter->comparator) {
    case KW_FILTER_COMPARE_NOTHING:
        return;
    case KW_FILTER_COMPARE_BINARY:
        write_bytes_comparator(to, "BinaryComparator", filter->operand);
        return;
    case KW_FILTER_COMPARE_BINARY_PREFIX:
        write_bytes_comparator(to, "BinaryPrefixComparator", filter->operand);
        return;
    case KW_FILTER_COMPARE_REGEX:
        write_regex(to, filter->operand, DOTALL, "UTF-8");
        return;
    case KW_FILTER_COMPARE_REGEX_ANY_CASE:
        write_regex(to, filter->operand, DOTALL | CASE_INSENSITIVE, "UTF-8");
        return;
    case KW_FILTER_COMPARE_SUBSTRING:
        write_bytes(&substring, 1, filter->operand); /* the class makes small letters of it */
        write_named(to, "SubstringComparator", &substring);
        return;
    }
}

/* CompareFilter {operator, comparator} as field 1, which six filters have. */
static void
write_comparison(kw_buffer *to, const kw_filter *filter)
{
    kw_buffer message = KW_BUFFER_EMPTY, comparator = KW_BUFFER_EMPTY;
    write_comparator(&comparator, filter);
    write_number(&message, 1, comparator.size ? (int64_t)filter->op : NO_OP);
    if (comparator.size)
        write_message(&message, 2, &comparator);
    write_message(to, 1, &message);
}

/* --- filters -------------------------------------------------------------------------------------- */

static void
write_list(kw_buffer *to, bool all)
{
    write_number(to, 1, all ? 1 : 2);
}

static void
write_children(kw_buffer *to, unsigned field, const kw_filter *filter)
{
    for (size_t i = 0; i < filter->children_count; i++) {
        kw_buffer child = KW_BUFFER_EMPTY;
        kw_hbase_filter_serialise(filter->children[i], &child);
        write_message(to, field, &child);
    }
}

static void
write_single_column(kw_buffer *to, const kw_filter *filter)
{
    kw_buffer comparator = KW_BUFFER_EMPTY;
    write_comparator(&comparator, filter);
    write_bytes(to, 1, filter->bytes[0]);
    write_bytes(to, 2, filter->bytes[1]);
    write_number(to, 3, (int64_t)filter->op);
    write_message(to, 4, &comparator);
    if (filter->kind == KW_FILTER_COLUMN_VALUE)
        return;
    write_number(to, 5, filter->flags[0]);
    write_number(to, 6, filter->flags[1]);
}

static void
write_column_range(kw_buffer *to, const kw_filter *filter)
{
    for (unsigned i = 0; i < 2; i++) {
        if (filter->bytes[i].size)
            write_bytes(to, 2 * i + 1, filter->bytes[i]);
        write_number(to, 2 * i + 2, filter->flags[i]);
    }
}

static void
write_timestamps(kw_buffer *to, const kw_filter *filter)
{
    kw_buffer packed = KW_BUFFER_EMPTY;
    for (size_t i = 0; i < filter->numbers_count; i++)
        write_varint(&packed, (uint64_t)filter->numbers[i]);
    write_message(to, 1, &packed);
    write_number(to, 2, false); /* can_hint */
}

static void
write_dependent_column(kw_buffer *to, const kw_filter *filter)
{
    write_comparison(to, filter);
    write_bytes(to, 2, filter->bytes[0]);
    write_bytes(to, 3, filter->bytes[1]);
    write_number(to, 4, filter->flags[0]);
}

/* The filter's own message. */
static void
write_filter(kw_buffer *to, const kw_filter *filter)
{
    kw_buffer inner = KW_BUFFER_EMPTY;
    switch (filter->kind) {
    case KW_FILTER_AND:
    case KW_FILTER_OR:
        write_list(to, filter->kind == KW_FILTER_AND);
        write_children(to, 2, filter);
        return;
    case KW_FILTER_SKIP:
    case KW_FILTER_WHILE:
        write_children(to, 1, filter);
        return;
    case KW_FILTER_KEY_ONLY:
        write_number(to, 1, filter->flags[0]);
        return;
    case KW_FILTER_FIRST_KEY_ONLY:
        return;
    case KW_FILTER_PREFIX:
    case KW_FILTER_COLUMN_PREFIX:
    case KW_FILTER_MULTIPLE_COLUMN_PREFIX:
    case KW_FILTER_INCLUSIVE_STOP:
        for (size_t i = 0; i < filter->bytes_count; i++)
            write_bytes(to, 1, filter->bytes[i]);
        return;
    case KW_FILTER_COLUMN_COUNT_GET:
    case KW_FILTER_PAGE:
    case KW_FILTER_COLUMN_PAGINATION:
        for (unsigned i = 0; i < filter->numbers_count; i++)
            write_number(to, i + 1, filter->numbers[i]);
        return;
    case KW_FILTER_TIMESTAMPS:
        write_timestamps(to, filter);
        return;
    case KW_FILTER_ROW:
    case KW_FILTER_FAMILY:
    case KW_FILTER_QUALIFIER:
    case KW_FILTER_VALUE:
        write_comparison(to, filter);
        return;
    case KW_FILTER_COLUMN_RANGE:
        write_column_range(to, filter);
        return;
    case KW_FILTER_SINGLE_COLUMN_VALUE:
    case KW_FILTER_COLUMN_VALUE:
        write_single_column(to, filter);
        return;
    case KW_FILTER_SINGLE_COLUMN_VALUE_EXCLUDE:
        write_single_column(&inner, filter);
        write_message(to, 1, &inner);
        return;
    case KW_FILTER_DEPENDENT_COLUMN:
        write_dependent_column(to, filter);
        return;
    }
}

/* The Java class: mostly the name in the language. */
static const char *
class_name(kw_filter_kind kind)
{
    if (kind == KW_FILTER_AND || kind == KW_FILTER_OR)
        return "FilterList";
    if (kind == KW_FILTER_SKIP)
        return "SkipFilter";
    return kind == KW_FILTER_WHILE ? "WhileMatchFilter" : kw_filter_name(kind);
}

void
kw_hbase_filter_serialise(const kw_filter *filter, kw_buffer *to)
{
    kw_buffer message = KW_BUFFER_EMPTY;
    write_filter(&message, filter);
    write_named(to, class_name(filter->kind), &message);
}

/* --- patterns ------------------------------------------------------------------------------------- */

/* BytesBytesPair {key, mask}; free bytes of the key are zero. */
static void
write_pair(kw_buffer *to, const kw_pattern *pattern, size_t at)
{
    size_t size = at + pattern->bytes.size;
    kw_buffer pair = KW_BUFFER_EMPTY, key = KW_BUFFER_EMPTY, mask = KW_BUFFER_EMPTY;
    memset(kw_buffer_reserve(&key, size), 0, size);
    memset(kw_buffer_reserve(&mask, size), 1, size);
    key.size = mask.size = size;
    for (size_t i = 0; i < pattern->bytes.size; i++) {
        if (pattern->mask[i])
            continue;
        key.data[at + i] = pattern->bytes.data[i];
        mask.data[at + i] = 0;
    }
    write_message(&pair, 1, &key);
    write_message(&pair, 2, &mask);
    write_message(to, 1, &pair);
}

static void
write_fuzzy(kw_buffer *to, const kw_patterns *patterns)
{
    kw_buffer fuzzy = KW_BUFFER_EMPTY;
    for (size_t i = 0; i < patterns->count; i++)
        write_pair(&fuzzy, &patterns->items[i], patterns->at);
    write_number(&fuzzy, 2, true); /* is_mask_v2 */
    write_named(to, "FuzzyRowFilter", &fuzzy);
}

static void
print_free(kw_buffer *to, size_t count)
{
    if (count)
        kw_buffer_printf(to, ".{%zu}", count);
}

static void
print_pattern(kw_buffer *to, const kw_pattern *pattern, size_t at)
{
    size_t free = at;
    for (size_t i = 0; i < pattern->bytes.size; i++) {
        if (pattern->mask[i]) {
            free++;
            continue;
        }
        print_free(to, free);
        free = 0;
        kw_buffer_printf(to, "\\x%02x", pattern->bytes.data[i]);
    }
    print_free(to, free);
}

/* ^(.{9}\x00\x07|.{9}\x01\x00), a byte a character. */
static void
write_row_regex(kw_buffer *to, const kw_patterns *patterns)
{
    kw_buffer text = KW_BUFFER_EMPTY, regex = KW_BUFFER_EMPTY, compare = KW_BUFFER_EMPTY,
              row = KW_BUFFER_EMPTY;
    for (size_t i = 0; i < patterns->count; i++) {
        kw_buffer_append_text(&text, i ? "|" : "^(");
        print_pattern(&text, &patterns->items[i], patterns->at);
    }
    kw_buffer_append_byte(&text, ')');
    write_regex(&regex, kw_buffer_bytes(&text), DOTALL, "ISO-8859-1");
    kw_buffer_clear(&text);
    write_number(&compare, 1, KW_FILTER_EQUAL);
    write_message(&compare, 2, &regex);
    write_message(&row, 1, &compare);
    write_named(to, "RowFilter", &row);
}

static void
write_all(kw_buffer *to, kw_buffer *patterns, const kw_filter *filter)
{
    kw_buffer list = KW_BUFFER_EMPTY, serialised = KW_BUFFER_EMPTY;
    kw_hbase_filter_serialise(filter, &serialised);
    write_list(&list, true);
    write_message(&list, 2, patterns); /* first: the filter sees rows that match only */
    write_message(&list, 2, &serialised);
    write_named(to, "FilterList", &list);
}

kw_bytes
kw_hbase_filter_bytes(const kw_filter *filter, const kw_patterns *patterns, kw_hbase_sifting how,
                      kw_arena *arena)
{
    kw_buffer made = KW_BUFFER_EMPTY, all = KW_BUFFER_EMPTY;
    if (patterns->count == 0)
        return KW_BYTES_NONE;
    if (how == KW_HBASE_FUZZY_SEEKING)
        write_fuzzy(&made, patterns);
    else
        write_row_regex(&made, patterns);
    if (filter)
        write_all(&all, &made, filter);
    kw_bytes copy = kw_arena_copy(arena, kw_buffer_bytes(filter ? &all : &made));
    kw_buffer_clear(&made);
    kw_buffer_clear(&all);
    return copy;
}
