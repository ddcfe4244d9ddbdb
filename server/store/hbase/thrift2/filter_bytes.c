/* See filter_bytes.h. A nested message is written to a buffer of its own and then appended to its parent,
 * because its length comes first. */
#include "store/hbase/thrift2/filter_bytes.h"

#define JAVA_PACKAGE "org.apache.hadoop.hbase.filter."

/* java.util.regex.Pattern */
#define CASE_INSENSITIVE 2
#define DOTALL 32

/* HBase.proto: CompareType. The other values are those of kw_filter_operator. */
#define NO_OP 6

/* --- protocol buffers ------------------------------------------------------------------------- */

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

/* Appends a complete message as a field and clears its buffer. */
static void
write_message(kw_buffer *to, unsigned field, kw_buffer *message)
{
    write_bytes(to, field, kw_buffer_bytes(message));
    kw_buffer_clear(message);
}

/* Filter {name, serialized filter}, and Comparator, which has the same form. Clears the message's buffer. */
static void
write_named(kw_buffer *to, const char *name, kw_buffer *message)
{
    kw_buffer full = KW_BUFFER_EMPTY;
    kw_buffer_append_text(&full, JAVA_PACKAGE);
    kw_buffer_append_text(&full, name);
    write_message(to, 1, &full);
    write_message(to, 2, message);
}

/* --- comparators ------------------------------------------------------------------------------ */

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

/* BinaryComparator or BinaryPrefixComparator {comparable {value}}. */
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
        write_bytes(&substring, 1, filter->operand); /* the class converts it to lower case */
        write_named(to, "SubstringComparator", &substring);
        return;
    }
}

/* Field 1 of the filters that extend CompareFilter: {operator, comparator}. */
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

/* --- filters ---------------------------------------------------------------------------------- */

/* The functions below write the fields of a filter's own message; their comments show the message. */

/* FilterList {operator: MUST_PASS_ALL = 1, MUST_PASS_ONE = 2; filters} */
static void
write_list_operator(kw_buffer *to, bool all)
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
write_list(kw_buffer *to, const kw_filter *filter)
{
    write_list_operator(to, filter->kind == KW_FILTER_AND);
    write_children(to, 2, filter);
}

/* PrefixFilter {prefix}, MultipleColumnPrefixFilter {prefixes, repeated} and others with bytes as field 1 */
static void
write_prefixes(kw_buffer *to, const kw_filter *filter)
{
    for (size_t i = 0; i < filter->bytes_count; i++)
        write_bytes(to, 1, filter->bytes[i]);
}

/* PageFilter {page size}, ColumnPaginationFilter {limit, offset}, ... */
static void
write_numbers(kw_buffer *to, const kw_filter *filter)
{
    for (unsigned i = 0; i < filter->numbers_count; i++)
        write_number(to, i + 1, filter->numbers[i]);
}

/* SingleColumnValueFilter {family, qualifier, operator, comparator, filter if missing, latest version only};
 * ColumnValueFilter has the first four */
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

/* SingleColumnValueExcludeFilter {SingleColumnValueFilter} */
static void
write_single_column_exclude(kw_buffer *to, const kw_filter *filter)
{
    kw_buffer inner = KW_BUFFER_EMPTY;
    write_single_column(&inner, filter);
    write_message(to, 1, &inner);
}

/* ColumnRangeFilter {least column, inclusive, greatest column, inclusive} */
static void
write_column_range(kw_buffer *to, const kw_filter *filter)
{
    for (unsigned i = 0; i < 2; i++) {
        if (filter->bytes[i].size)
            write_bytes(to, 2 * i + 1, filter->bytes[i]);
        write_number(to, 2 * i + 2, filter->flags[i]);
    }
}

/* TimestampsFilter {timestamps, packed; can hint} */
static void
write_timestamps(kw_buffer *to, const kw_filter *filter)
{
    kw_buffer packed = KW_BUFFER_EMPTY;
    for (size_t i = 0; i < filter->numbers_count; i++)
        write_varint(&packed, (uint64_t)filter->numbers[i]);
    write_message(to, 1, &packed);
    write_number(to, 2, false);
}

/* DependentColumnFilter {CompareFilter, family, qualifier, drop the dependent column} */
static void
write_dependent_column(kw_buffer *to, const kw_filter *filter)
{
    write_comparison(to, filter);
    write_bytes(to, 2, filter->bytes[0]);
    write_bytes(to, 3, filter->bytes[1]);
    write_number(to, 4, filter->flags[0]);
}

/* KeyOnlyFilter {replace the value by its length} */
static void
write_key_only(kw_buffer *to, const kw_filter *filter)
{
    write_number(to, 1, filter->flags[0]);
}

/* SkipFilter {filter}, WhileMatchFilter {filter} */
static void
write_wrapper(kw_buffer *to, const kw_filter *filter)
{
    write_children(to, 1, filter);
}

static void
write_nothing(kw_buffer *to, const kw_filter *filter)
{
    (void)to;
    (void)filter;
}

typedef void (*field_writer)(kw_buffer *to, const kw_filter *filter);

static field_writer
writer_of(kw_filter_kind kind)
{
    switch (kind) {
    case KW_FILTER_AND:
    case KW_FILTER_OR:
        return write_list;
    case KW_FILTER_SKIP:
    case KW_FILTER_WHILE:
        return write_wrapper;
    case KW_FILTER_KEY_ONLY:
        return write_key_only;
    case KW_FILTER_FIRST_KEY_ONLY:
        return write_nothing;
    case KW_FILTER_PREFIX:
    case KW_FILTER_COLUMN_PREFIX:
    case KW_FILTER_MULTIPLE_COLUMN_PREFIX:
    case KW_FILTER_INCLUSIVE_STOP:
        return write_prefixes;
    case KW_FILTER_COLUMN_COUNT_GET:
    case KW_FILTER_PAGE:
    case KW_FILTER_COLUMN_PAGINATION:
        return write_numbers;
    case KW_FILTER_TIMESTAMPS:
        return write_timestamps;
    case KW_FILTER_ROW:
    case KW_FILTER_FAMILY:
    case KW_FILTER_QUALIFIER:
    case KW_FILTER_VALUE:
        return write_comparison;
    case KW_FILTER_COLUMN_RANGE:
        return write_column_range;
    case KW_FILTER_SINGLE_COLUMN_VALUE:
    case KW_FILTER_COLUMN_VALUE:
        return write_single_column;
    case KW_FILTER_SINGLE_COLUMN_VALUE_EXCLUDE:
        return write_single_column_exclude;
    case KW_FILTER_DEPENDENT_COLUMN:
        return write_dependent_column;
    }
    g_assert_not_reached();
}

/* The name of the Java class. For most filters it is the name in the filter language. */
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
    writer_of(filter->kind)(&message, filter);
    write_named(to, class_name(filter->kind), &message);
}

/* --- patterns --------------------------------------------------------------------------------- */

/* BytesBytesPair {key, mask}. The pattern is at `offset` in the row key. Bytes that can have any value are
 * zero in the key. */
static void
write_pair(kw_buffer *to, const kw_pattern *pattern, size_t offset)
{
    size_t size = offset + pattern->bytes.size;
    kw_buffer pair = KW_BUFFER_EMPTY, key = KW_BUFFER_EMPTY, mask = KW_BUFFER_EMPTY;
    memset(kw_buffer_reserve(&key, size), 0, size);
    memset(kw_buffer_reserve(&mask, size), 1, size);
    key.size = mask.size = size;
    for (size_t i = 0; i < pattern->bytes.size; i++) {
        if (pattern->mask[i])
            continue;
        key.data[offset + i] = pattern->bytes.data[i];
        mask.data[offset + i] = 0;
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
    write_number(&fuzzy, 2, true); /* is_mask_v2: the present form of masks */
    write_named(to, "FuzzyRowFilter", &fuzzy);
}

/* Prints a regular expression for `count` bytes of any value. */
static void
print_any(kw_buffer *to, size_t count)
{
    if (count)
        kw_buffer_printf(to, ".{%zu}", count);
}

static void
print_pattern(kw_buffer *to, const kw_pattern *pattern, size_t offset)
{
    size_t any = offset;
    for (size_t i = 0; i < pattern->bytes.size; i++) {
        if (pattern->mask[i]) {
            any++;
            continue;
        }
        print_any(to, any);
        any = 0;
        kw_buffer_printf(to, "\\x%02x", pattern->bytes.data[i]);
    }
    print_any(to, any);
}

/* RowFilter (=, regex), for example ^(.{9}\x00\x07|.{9}\x01\x00). In ISO-8859-1 a character is a byte. */
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

/* FilterList {ALL, patterns, filter}. The patterns are first, so that the filter only sees rows that match
 * them. */
static void
write_both(kw_buffer *to, kw_buffer *patterns, const kw_filter *filter)
{
    kw_buffer list = KW_BUFFER_EMPTY, serialised = KW_BUFFER_EMPTY;
    kw_hbase_filter_serialise(filter, &serialised);
    write_list_operator(&list, true);
    write_message(&list, 2, patterns);
    write_message(&list, 2, &serialised);
    write_named(to, "FilterList", &list);
}

kw_bytes
kw_hbase_filter_bytes(const kw_filter *filter, const kw_patterns *patterns, kw_hbase_pattern_filter how,
                      kw_arena *arena)
{
    kw_buffer pattern_filter = KW_BUFFER_EMPTY, both = KW_BUFFER_EMPTY;
    if (patterns->count == 0)
        return KW_BYTES_NONE;
    if (how == KW_HBASE_PATTERN_FUZZY)
        write_fuzzy(&pattern_filter, patterns);
    else
        write_row_regex(&pattern_filter, patterns);
    if (filter)
        write_both(&both, &pattern_filter, filter);
    kw_bytes copy = kw_arena_copy(arena, kw_buffer_bytes(filter ? &both : &pattern_filter));
    kw_buffer_clear(&pattern_filter);
    kw_buffer_clear(&both);
    return copy;
}
