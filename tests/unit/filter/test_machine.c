/* Applies filters to rows. The expected results were returned by a real HBase, so that they can be tested
 * without one. contract.filters compares random filters with a real HBase. */
#include "filter/machine.h"

#define B(text) kw_bytes_of_text(text)

/* Rows a, b and c with families f and g, newest versions first. */
static const struct {
    const char *row, *family, *qualifier, *value;
    int64_t timestamp;
} cells[] = {
    {"a", "f", "p", "1", 3},
    {"a", "f", "p", "0", 2},
    {"a", "f", "q1", "x", 1},
    {"a", "f", "q2", "y", 3},
    {"a", "g", "q1", "z", 1},
    {"b", "f", "q1", "X", 2},
    {"b", "g", "r", "long", 2},
    {"c", "f", "", "n", 3},
    {"c", "f", "", "m", 2},
    {"c", "f", "p", "2", 1},
    {"c", "g", "q2",
     "\xff"
     "b",
     2},
};

static size_t
take_row(size_t first, bool reversed, kw_cell *to)
{
    size_t count = 0;
    (void)reversed;
    for (size_t i = first; i < G_N_ELEMENTS(cells) && strcmp(cells[i].row, cells[first].row) == 0; i++)
        to[count++] =
            (kw_cell){B(cells[i].family), B(cells[i].qualifier), B(cells[i].value), cells[i].timestamp};
    return count;
}

static void
append_bytes(GString *text, kw_bytes bytes)
{
    for (size_t i = 0; i < bytes.size; i++)
        g_string_append_c(text, g_ascii_isprint((char)bytes.data[i]) ? (char)bytes.data[i] : '.');
}

/* Appends the row as "a:fq@3=x,...", with dots for unprintable bytes. */
static void
append_row(GString *text, const char *row, const kw_cell *kept, size_t count)
{
    g_string_append_printf(text, "%s%s", text->len ? " " : "", row);
    for (size_t i = 0; i < count; i++) {
        g_string_append_c(text, i ? ',' : ':');
        append_bytes(text, kept[i].family);
        append_bytes(text, kept[i].qualifier);
        g_string_append_printf(text, "@%d=", (int)kept[i].timestamp);
        append_bytes(text, kept[i].value);
    }
}

static char *
answer(const char *filter, bool reversed, int32_t versions)
{
    static const size_t forward[] = {0, 5, 7}, backward[] = {7, 5, 0};
    g_autoptr(kw_arena) arena = kw_arena_new();
    kw_error error = KW_ERROR_NONE;
    const kw_filter *tree = kw_filter_parse(B(filter), arena, &error);
    kw_filter_machine *machine = tree ? kw_filter_machine_new(tree, reversed, &error) : NULL;
    if (!machine)
        g_error("%s: %s", filter, error.text);
    GString *text = g_string_new(NULL);
    for (size_t i = 0; i < 3 && !kw_filter_machine_done(machine); i++) {
        size_t first = reversed ? backward[i] : forward[i];
        kw_cell row[8];
        size_t count = take_row(first, reversed, row);
        if (kw_filter_machine_row(machine, B(cells[first].row), row, &count, versions, &error) ==
            KW_FILTER_ROW_KEPT)
            append_row(text, cells[first].row, row, count);
    }
    kw_filter_machine_free(machine);
    return g_string_free(text, FALSE);
}

static const struct {
    const char *filter;
    const char *answer;
} goldens[] = {
    {"PrefixFilter('b')", "b:fq1@2=X,gr@2=long"},
    {"InclusiveStopFilter('a')", "a:fp@3=1,fq1@1=x,fq2@3=y,gq1@1=z"},
    {"RowFilter(>, 'binary:a') AND KeyOnlyFilter(true)",
     "b:fq1@2=....,gr@2=.... c:f@3=....,fp@1=....,gq2@2=...."},
    {"PageFilter(2) AND FirstKeyOnlyFilter()", "a:fp@3=1 b:fq1@2=X"},
    {"FamilyFilter(=, 'binary:g') AND KeyOnlyFilter()", "a:gq1@1= b:gr@2= c:gq2@2="},
    {"QualifierFilter(=, 'binaryprefix:q')", "a:fq1@1=x,fq2@3=y,gq1@1=z b:fq1@2=X c:gq2@2=.b"},
    {"ColumnPrefixFilter('q2')", "a:fq2@3=y c:gq2@2=.b"},
    {"MultipleColumnPrefixFilter('p', 'q2')", "a:fp@3=1,fq2@3=y c:fp@1=2,gq2@2=.b"},
    {"ColumnRangeFilter('p', false, 'q2', false)", "a:fq1@1=x,gq1@1=z b:fq1@2=X"},
    {"ColumnRangeFilter('', true, 'p', true)", "a:fp@3=1 c:f@3=n,fp@1=2"},
    {"ValueFilter(=, 'binary:0')", "a:fp@2=0"}, /* an older version */
    {"ValueFilter(=, 'substring:x')", "a:fq1@1=x b:fq1@2=X"},
    {"ValueFilter(=, 'regexstring:^[x-z]$')", "a:fq1@1=x,fq2@3=y,gq1@1=z"},
    {"ValueFilter(=, 'regexstring:^\xef\xbf\xbd"
     "b$')",
     "c:gq2@2=.b"}, /* not UTF-8: replaced by U+FFFD */
    {"TimestampsFilter(1, 2)", "a:fp@2=0,fq1@1=x,gq1@1=z b:fq1@2=X,gr@2=long c:f@2=m,fp@1=2,gq2@2=.b"},
    {"ColumnPaginationFilter(1, 1)",
     "a:fq1@1=x b:gr@2=long c:f@2=m"}, /* both versions of the column without a name count */
    {"SingleColumnValueFilter('f', 'p', =, 'binary:0')", "b:fq1@2=X,gr@2=long"},
    {"SingleColumnValueFilter('f', 'p', =, 'binary:0', true, false)", "a:fp@3=1,fq1@1=x,fq2@3=y,gq1@1=z"},
    {"SingleColumnValueFilter('f', 'p', >=, 'binary:1', true, true)",
     "a:fp@3=1,fq1@1=x,fq2@3=y,gq1@1=z c:f@3=n,fp@1=2,gq2@2=.b"},
    {"SingleColumnValueExcludeFilter('f', 'p', =, 'binary:2', true, true)", "c:f@3=n,gq2@2=.b"},
    {"ColumnValueFilter('f', 'q1', =, 'binary:x')", "a:fq1@1=x"},
    {"DependentColumnFilter('f', 'q1')", "a:fq1@1=x,gq1@1=z b:fq1@2=X,gr@2=long"},
    {"SKIP ValueFilter(!=, 'binary:y')", "b:fq1@2=X,gr@2=long c:f@3=n,fp@1=2,gq2@2=.b"},
    {"WHILE ValueFilter(!=, 'binary:long')", "a:fp@3=1,fq1@1=x,fq2@3=y,gq1@1=z b:fq1@2=X"},
    {"WHILE RowFilter(!=, 'binary:b')", "a:fp@3=1,fq1@1=x,fq2@3=y,gq1@1=z"},
    {"RowFilter(=, 'binary:c') OR ColumnValueFilter('g', 'r', =, 'binary:long')",
     "b:gr@2=long c:f@3=n,fp@1=2,gq2@2=.b"},
    {"FirstKeyOnlyFilter() OR QualifierFilter(=, 'binary:r')", "a:fp@3=1 b:fq1@2=X,gr@2=long c:f@3=n"},
    {"SKIP PrefixFilter('a')", ""}, /* SKIP does not call its filter for the row key */
};

KW_TEST(test_goldens, "/filter/machine/goldens")
{
    for (size_t i = 0; i < G_N_ELEMENTS(goldens); i++) {
        g_autofree char *text = answer(goldens[i].filter, false, 1);
        if (strcmp(text, goldens[i].answer) != 0)
            g_error("%s gives %s, not %s", goldens[i].filter, text, goldens[i].answer);
    }
}

KW_TEST(test_versions, "/filter/machine/versions")
{
    g_autofree char *two = answer("ColumnPrefixFilter('p')", false, 2);
    g_assert_cmpstr(two, ==, "a:fp@3=1,fp@2=0 c:fp@1=2");
}

KW_TEST(test_reversed, "/filter/machine/reversed")
{
    g_autofree char *stop = answer("InclusiveStopFilter('b') AND FirstKeyOnlyFilter()", true, 1);
    g_assert_cmpstr(stop, ==, "c:f@3=n b:fq1@2=X");
    g_autofree char *prefix = answer("PrefixFilter('c') AND KeyOnlyFilter()", true, 1);
    g_assert_cmpstr(prefix, ==, "c:f@3=,fp@1=,gq2@2=");
}

/* An expression that would run forever fails the read. */
KW_TEST(test_steps, "/filter/machine/steps")
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    kw_error error = KW_ERROR_NONE;
    const kw_filter *tree = kw_filter_parse(B("ValueFilter(=, 'regexstring:^(a|aa)+[bc]$')"), arena, &error);
    kw_filter_machine *machine = kw_filter_machine_new(tree, false, &error);
    kw_cell cell = {B("f"), B("q"),
                    B("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaad"), 1};
    size_t count = 1;
    g_assert_cmpint(kw_filter_machine_row(machine, B("r"), &cell, &count, 1, &error), ==,
                    KW_FILTER_ROW_FAILED);
    g_assert_cmpint(error.code, ==, KW_LIMIT);
    kw_filter_machine_free(machine);
}
