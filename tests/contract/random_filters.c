#include "contract/random_filters.h"

#include <stdint.h>
#include <string.h>

static const char *
one_of(GRand *random, const char *const *texts)
{
    gint count = (gint)g_strv_length((char **)(uintptr_t)texts);
    return texts[g_rand_int_range(random, 0, count)];
}

#define ONE_OF(random, ...) one_of(random, (const char *const[]){__VA_ARGS__, NULL})

const char *
random_row_key(GRand *random, char to[8])
{
    static const char bytes[] = "aabbbc'\xc3\xa9\xff)";
    int size = g_rand_int_range(random, 1, 5);
    for (int i = 0; i < size; i++)
        to[i] = bytes[g_rand_int_range(random, 0, sizeof bytes - 1)];
    to[size] = '\0';
    return to;
}

const char *
random_family(GRand *random)
{
    return ONE_OF(random, "e", "f");
}

const char *
random_qualifier(GRand *random)
{
    return ONE_OF(random, "", "a", "ab", "abc", "b", "ba", "c", "q'", "\xff");
}

const char *
random_value(GRand *random)
{
    return ONE_OF(random, "", "a", "abc", "ABC", "b", "bc", "c)", "it's", "\xc3\xa9t\xc3\xa9",
                  "\xff\xfe"
                  "a",
                  "12", "7\n");
}

/* --- filters ------------------------------------------------------------------------------------ */

static void
quote(GString *to, const char *head, const char *bytes)
{
    g_string_append_printf(to, "'%s", head);
    for (; *bytes; bytes++) {
        g_string_append_c(to, *bytes);
        if (*bytes == '\'')
            g_string_append_c(to, '\'');
    }
    g_string_append_c(to, '\'');
}

static void
comparison(GString *to, GRand *random, const char *operand)
{
    const char *kind = ONE_OF(
        random, "binary:", "binary:", "binaryprefix:", "substring:", "regexstring:", "regexstringnocase:");
    bool text = kind[0] != 'b';
    g_string_append_printf(
        to, "%s, ", text ? ONE_OF(random, "=", "!=") : ONE_OF(random, "<", "<=", "=", "!=", ">=", ">"));
    if (kind[0] == 'r')
        operand = ONE_OF(random, "^a", "b", "c$", "^.{1,2}$", "a.*b", "[ab]c?", "(ab|ba)+", "\\d", "\\w$",
                         "^$", "^[^a]*$", "\xc3\xa9", "^\\Qa\\E", "\\x61", "(?i)B");
    quote(to, kind, operand);
}

static const char *
any_flag(GRand *random)
{
    return ONE_OF(random, "true", "false", "TRUE", "False");
}

static void
column_filter(GString *to, GRand *random)
{
    const char *name = ONE_OF(random, "SingleColumnValueFilter", "SingleColumnValueExcludeFilter",
                              "ColumnValueFilter", "DependentColumnFilter");
    g_string_append_printf(to, "%s(", name);
    quote(to, "", random_family(random));
    g_string_append(to, ", ");
    quote(to, "", random_qualifier(random));
    if (name[0] == 'D') {
        if (g_rand_boolean(random))
            g_string_append_printf(to, ", %s", any_flag(random));
        g_string_append_c(to, ')');
        return;
    }
    g_string_append(to, ", ");
    comparison(to, random, random_value(random));
    if (name[0] == 'S' && g_rand_boolean(random))
        g_string_append_printf(to, ", %s, %s", any_flag(random), any_flag(random));
    g_string_append_c(to, ')');
}

static void
compare_filter(GString *to, GRand *random)
{
    char key[8];
    const char *name = ONE_OF(random, "RowFilter", "FamilyFilter", "QualifierFilter", "ValueFilter");
    const char *operand = name[0] == 'R'   ? random_row_key(random, key)
                          : name[0] == 'F' ? random_family(random)
                          : name[0] == 'Q' ? random_qualifier(random)
                                           : random_value(random);
    g_string_append_printf(to, "%s(", name);
    comparison(to, random, operand);
    g_string_append_c(to, ')');
}

static void
seeking_filter(GString *to, GRand *random)
{
    switch (g_rand_int_range(random, 0, 3)) {
    case 0:
        g_string_append(to, "ColumnPrefixFilter(");
        quote(to, "", random_qualifier(random));
        break;
    case 1:
        g_string_append(to, "MultipleColumnPrefixFilter(");
        quote(to, "", ONE_OF(random, "ab", "b"));
        g_string_append(to, ", ");
        quote(to, "", ONE_OF(random, "c", "q'", "\xff"));
        break;
    default:
        g_string_append(to, "ColumnRangeFilter(");
        quote(to, "", random_qualifier(random));
        g_string_append_printf(to, ", %s, ", any_flag(random));
        quote(to, "", random_qualifier(random));
        g_string_append_printf(to, ", %s", any_flag(random));
    }
    g_string_append_c(to, ')');
}

static void
simple_filter(GString *to, GRand *random)
{
    char key[8];
    int number = g_rand_int_range(random, 0, 6), other = g_rand_int_range(random, 0, 4);
    switch (g_rand_int_range(random, 0, 9)) {
    case 0:
        g_string_append(to, ONE_OF(random, "KeyOnlyFilter()", "KeyOnlyFilter (true)"));
        return;
    case 1:
        g_string_append(to, "FirstKeyOnlyFilter()");
        return;
    case 2:
    case 3:
        g_string_append(to, ONE_OF(random, "PrefixFilter(", "InclusiveStopFilter("));
        quote(to, "", random_row_key(random, key));
        break;
    case 4:
        g_string_append_printf(to, "ColumnCountGetFilter(%d", number);
        break;
    case 5:
        g_string_append_printf(to, "PageFilter(%d", number * 2);
        break;
    case 6:
        g_string_append_printf(to, "ColumnPaginationFilter(%d, %d", number, other);
        break;
    default:
        g_string_append_printf(to, "TimestampsFilter(%d, %d, %d", number, other, 3);
    }
    g_string_append_c(to, ')');
}

static void
tree(GString *to, GRand *random, bool hints, int depth)
{
    int kind = g_rand_int_range(random, 0, depth > 0 ? 10 : 4);
    if (kind == 0) {
        simple_filter(to, random);
    } else if (kind == 1) {
        compare_filter(to, random);
    } else if (kind == 2 && hints) {
        seeking_filter(to, random);
    } else if (kind <= 3) {
        column_filter(to, random);
    } else if (kind <= 7) {
        bool closed = g_rand_boolean(random);
        const char *word = ONE_OF(random, " AND ", " OR ");
        g_string_append(to, closed ? "(" : "");
        for (int parts = g_rand_int_range(random, 2, 4); parts > 0; parts--) {
            tree(to, random, hints, depth - 1);
            g_string_append(to, parts > 1 ? word : "");
        }
        g_string_append(to, closed ? ")" : "");
    } else {
        g_string_append(to, kind == 8 ? "(SKIP " : "(WHILE ");
        tree(to, random, hints, depth - 1);
        g_string_append_c(to, ')');
    }
}

char *
random_filter(GRand *random, bool hints)
{
    GString *text = g_string_new(NULL);
    tree(text, random, hints, g_rand_int_range(random, 0, 4));
    return g_string_free(text, FALSE);
}

char *
random_damage(GRand *random, const char *filter)
{
    GString *text = g_string_new(filter);
    for (int i = g_rand_int_range(random, 1, 3); i > 0 && text->len; i--) {
        gssize at = g_rand_int_range(random, 0, (gint32)text->len);
        switch (g_rand_int_range(random, 0, 4)) {
        case 0:
            g_string_erase(text, at, 1);
            break;
        case 1:
            g_string_insert(
                text, at,
                ONE_OF(random, "'", "(", ")", " ", ",", "AND ", "0", ":", "-", "\t", " OR ", "SKIP "));
            break;
        case 2:
            g_string_insert_c(text, at, text->str[at]);
            break;
        default:
            text->str[at] = text->str[g_rand_int_range(random, 0, (gint32)text->len)];
        }
    }
    return g_string_free(text, FALSE);
}
