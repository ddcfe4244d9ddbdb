/* Serialised filters: each filter of the language as HBase's own classes serialise it
 * (tests/data/filter_bytes.txt), and patterns, which the language cannot express. */
#include "store/hbase/thrift2/filter_bytes.h"

#include <string.h>

static char *
hex_of(kw_bytes bytes)
{
    GString *text = g_string_new(NULL);
    for (size_t i = 0; i < bytes.size; i++)
        g_string_append_printf(text, "%02x", bytes.data[i]);
    return g_string_free(text, FALSE);
}

static void
check_line(const char *line)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    const char *text = strchr(line, ' ') + 1;
    kw_error error = KW_ERROR_NONE;
    const kw_filter *filter = kw_filter_parse(kw_bytes_of_text(text), arena, &error);
    if (!filter)
        g_error("%s: %s", text, error.text);
    kw_buffer serialised = KW_BUFFER_EMPTY;
    kw_hbase_filter_serialise(filter, &serialised);
    g_autofree char *hex = hex_of(kw_buffer_bytes(&serialised));
    g_autofree char *expected = g_strndup(line, (gsize)(text - line - 1));
    if (strcmp(hex, expected) != 0)
        g_error("%s\n%s\nis %s", text, expected, hex);
    kw_buffer_clear(&serialised);
}

KW_TEST(test_language, "/hbase/filter-bytes/language")
{
    g_autofree char *content = NULL;
    size_t count = 0;
    g_assert_true(g_file_get_contents(KW_TEST_DATA "/filter_bytes.txt", &content, NULL, NULL));
    g_auto(GStrv) lines = g_strsplit(content, "\n", -1);
    for (char **line = lines; *line; line++) {
        if (!**line || **line == '#')
            continue;
        check_line(*line);
        count++;
    }
    g_assert_cmpuint(count, >=, 27);
}

/* A filter or comparator: field 1 is its class, field 2 its message of `size` bytes. */
#define NAMED(length, name, size) "\x0a" length "org.apache.hadoop.hbase.filter." name "\x12" size

static void
expect(const kw_patterns *patterns, const char *text, kw_hbase_pattern_filter how, kw_bytes expected)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    kw_error error;
    const kw_filter *filter = *text ? kw_filter_parse(kw_bytes_of_text(text), arena, &error) : NULL;
    kw_bytes serialised = kw_hbase_filter_bytes(filter, patterns, how, arena);
    g_autofree char *found = hex_of(serialised), *wanted = hex_of(expected);
    g_assert_cmpstr(found, ==, wanted);
}

#define FUZZY                                                                                                \
    NAMED("\x2d", "FuzzyRowFilter", "\x1e")                                                                  \
    "\x0a\x0c\x0a\x04\x00\x07\x00\xff\x12\x04\x01\x00\x01\x00"                                               \
    "\x0a\x0c\x0a\x04\x00\x08\x00\x00\x12\x04\x01\x00\x01\x00\x10\x01"
#define PREFIX NAMED("\x2b", "PrefixFilter", "\x03") "\x0a\x01p"
#define BOTH NAMED("\x29", "FilterList", "\x87\x01") "\x08\x01\x12\x4f" FUZZY "\x12\x32" PREFIX
#define REGEX "^(.{1}\\x07.{1}\\xff|.{1}\\x08.{1}\\x00)"
#define REGEX_COMPARATOR                                                                                     \
    NAMED("\x34", "RegexStringComparator", "\x3a")                                                           \
    "\x0a\x24" REGEX "\x10\x20\x1a\x0aISO-8859-1\x22\x04JAVA"
#define ROW_FILTER NAMED("\x28", "RowFilter", "\x78") "\x0a\x76\x08\x02\x12\x72" REGEX_COMPARATOR

KW_TEST(test_patterns, "/hbase/filter-bytes/patterns")
{
    static const uint8_t mask[] = {0, 1, 0};
    const kw_pattern items[] = {{.bytes = KW_BYTES_LITERAL("\x07?\xff"), .mask = mask},
                                {.bytes = KW_BYTES_LITERAL("\x08\x00\x00"), .mask = mask}};
    kw_patterns patterns = {.items = items, .count = 2, .at = 1}, none = {.count = 0};
    expect(&none, "PrefixFilter ('p')", KW_HBASE_PATTERN_FUZZY, KW_BYTES_NONE);
    expect(&patterns, "", KW_HBASE_PATTERN_FUZZY, KW_BYTES_LITERAL(FUZZY));
    expect(&patterns, "PrefixFilter ('p')", KW_HBASE_PATTERN_FUZZY, KW_BYTES_LITERAL(BOTH));
    expect(&patterns, "", KW_HBASE_PATTERN_REGEX, KW_BYTES_LITERAL(ROW_FILTER));
}
