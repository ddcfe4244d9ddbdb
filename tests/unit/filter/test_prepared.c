/* Prepared filters: which expressions are rejected, that threads can share a filter, and that no expression
 * exceeds its deadline, whatever its value. */
#include "base/thread.h"
#include "filter/machine.h"

#include <glib.h>
#include <stdatomic.h>
#include <string.h>

#define B(text) kw_bytes_of_text(text)
#define LARGE ((size_t)1000000)

static kw_prepared *
prepare(const char *text)
{
    kw_error error;
    kw_prepared *made = kw_prepared_new(kw_bytes_of_text(text), &error);
    if (!made || !kw_prepared_compile(made, &error))
        g_error("%s: %s", text, error.text);
    return made;
}

/* --- rejected expressions ------------------------------------------------------------------------ */

/* Parsing does not compile expressions; errors are reported by kw_prepared_compile. */
KW_TEST(test_wrong_expressions, "/filter/prepared/wrong expressions")
{
    static const char *const wrong[] = {"(a", "[a", "a**(", "a\\", "[z-a]", "+a", "a)"};
    for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
        g_autofree char *text =
            g_strdup_printf("RowFilter(=, 'binary:x') AND ValueFilter(=, 'regexstring:%s')", wrong[i]);
        kw_error error = KW_ERROR_NONE;
        g_autoptr(kw_prepared) made = kw_prepared_new(kw_bytes_of_text(text), &error);
        g_assert_nonnull(made);
        g_assert_true(kw_prepared_needs_compiling(made));
        g_assert_false(kw_prepared_compile(made, &error));
        g_assert_cmpint(error.code, ==, KW_INVALID);
        g_autofree char *words = g_strdup_printf("filter: the regular expression %s is wrong: ", wrong[i]);
        g_assert_true(g_str_has_prefix(error.text, words));
    }
}

static void
expect_limit(const GString *text, const char *words)
{
    kw_error error = KW_ERROR_NONE;
    g_assert_null(kw_prepared_new(kw_bytes_of(text->str, text->len), &error));
    g_assert_cmpint(error.code, ==, KW_LIMIT);
    if (!strstr(error.text, words))
        g_error("%s", error.text);
}

KW_TEST(test_expressions_that_are_too_large, "/filter/prepared/too large")
{
    g_autoptr(GString) text = g_string_new("ValueFilter(=, 'regexstring:");
    for (int i = 0; i < 5000; i++)
        g_string_append_c(text, 'a');
    g_string_append(text, "')");
    expect_limit(text, "longer than 4096");

    g_string_assign(text, "ValueFilter(=, 'regexstring:");
    for (int i = 0; i < 201; i++)
        g_string_append_printf(text, "(?<n%d>a)", i);
    g_string_append(text, "')");
    expect_limit(text, "more than 200 opening parentheses");

    g_string_assign(text, "ValueFilter(=, 'regexstring:a')");
    for (int i = 0; i < 64; i++)
        g_string_append(text, " OR ValueFilter(=, 'regexstring:a')");
    expect_limit(text, "more than 64 regular expressions");
}

/* A closing quote far away once caused a copy of all bytes up to it for each argument. */
KW_TEST(test_many_arguments_before_a_long_one, "/filter/prepared/long argument")
{
    g_autoptr(GString) text = g_string_new("MultipleColumnPrefixFilter(");
    for (int i = 0; i < 4000; i++)
        g_string_append_printf(text, "'%x',", i);
    g_string_append_c(text, '\'');
    for (int i = 0; i < 200000; i++)
        g_string_append_c(text, 'z');
    g_string_append(text, "')");
    g_autoptr(kw_arena) arena = kw_arena_new();
    kw_error error = KW_ERROR_NONE;
    g_assert_nonnull(kw_filter_parse(kw_bytes_of(text->str, text->len), arena, &error));
    g_assert_cmpuint(kw_arena_used(arena), <, 4 << 20);
}

KW_TEST(test_slow_filters, "/filter/prepared/slow")
{
    g_autoptr(kw_prepared) quick = prepare("PrefixFilter('a') AND ValueFilter(=, 'binary:x')");
    g_autoptr(kw_prepared) regex = prepare("ValueFilter(=, 'regexstring:x')");
    g_autoptr(kw_prepared) substring = prepare("ValueFilter(=, 'substring:x')");
    g_assert_false(kw_prepared_is_slow(quick));
    g_assert_false(kw_prepared_needs_compiling(quick));
    g_assert_true(kw_prepared_is_slow(regex));
    g_assert_true(kw_prepared_is_slow(substring));
}

/* --- matching ------------------------------------------------------------------------------------ */

static kw_filter_verdict
judge(kw_filter_machine *machine, kw_bytes value, kw_error *ret_error)
{
    kw_cell cell = {B("f"), B("q"), value, 1};
    size_t count = 1;
    return kw_filter_machine_row(machine, B("row"), &cell, &count, 1, ret_error);
}

static kw_filter_verdict
judge_once(const char *expression, kw_bytes value, kw_effort *effort, kw_error *ret_error)
{
    g_autofree char *text = g_strdup_printf("ValueFilter(=, 'regexstring:%s')", expression);
    g_autoptr(kw_prepared) prepared = prepare(text);
    kw_filter_machine *machine = kw_filter_machine_prepared(prepared, false, effort, ret_error);
    g_assert_nonnull(machine);
    kw_filter_verdict verdict = judge(machine, value, ret_error);
    kw_filter_machine_free(machine);
    return verdict;
}

/* A zero byte is part of the operand. */
KW_TEST(test_zero_byte, "/filter/prepared/zero byte")
{
    kw_error error = KW_ERROR_NONE;
    kw_prepared *prepared = kw_prepared_new(KW_BYTES_LITERAL("ValueFilter(=, 'substring:a\0b')"), &error);
    kw_filter_machine *machine = kw_filter_machine_prepared(prepared, false, NULL, &error);
    g_assert_nonnull(machine);
    g_assert_cmpint(judge(machine, KW_BYTES_LITERAL("_A\0B_"), &error), ==, KW_FILTER_ROW_KEPT);
    g_assert_cmpint(judge(machine, KW_BYTES_LITERAL("_a\0c_"), &error), ==, KW_FILTER_ROW_DROPPED);
    kw_filter_machine_free(machine);
    kw_prepared_unref(prepared);
}

/* Short and long values are matched by different compiled codes, with the same result. */
KW_TEST(test_short_and_long_values, "/filter/prepared/short and long")
{
    static const struct {
        const char *expression;
        bool found;
    } cases[] = {{"needle", true},       {"^needle", false},    {"needle$", true},
                 {"(x|y)*needle", true}, {"n(e)+dl\\1$", true}, {"nee{3}dle", false},
                 {"(?<=y)needle", true}, {"NEEDLE", false},     {"^(x|y)+needle$", true},
                 {"^((x|y)+)+z", false}, {"[^xy]{6}$", true},   {"^.*x.*needle$", true}};
    for (size_t size = 16; size < 3000; size += 37) {
        g_autofree char *value = g_strnfill(size, 'x');
        value[size / 2] = 'y';
        memcpy(value + size - 7, "yneedle", 7);
        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
            kw_error error = KW_ERROR_NONE;
            kw_effort effort = {.deadline = KW_DEADLINE_NONE};
            kw_filter_verdict verdict =
                judge_once(cases[i].expression, kw_bytes_of(value, size), &effort, &error);
            if (verdict == KW_FILTER_ROW_FAILED && strchr(cases[i].expression, '+'))
                continue; /* matching takes too long */
            g_assert_cmpint(verdict, ==, cases[i].found ? KW_FILTER_ROW_KEPT : KW_FILTER_ROW_DROPPED);
        }
    }
}

static const char *const long_ones[] = {"^(a+)\\1+\\1+$",
                                        "^(a+)+$",
                                        "(a*)*b",
                                        "(?:a|aa)+b",
                                        "(.*)(.*)(.*)(.*)(.*)b",
                                        "(a+)(?=\\1*b)",
                                        "(?i)(A+)\\1+c",
                                        "(*NO_JIT)^(a+)\\1+\\1+$",
                                        "(*NO_JIT)(a*)*b",
                                        "(?:(?:a{1,9}){1,9}){1,9}b",
                                        "\\X*\\X*b"};

/* A match stops at its deadline. */
KW_TEST(test_deadlines, "/filter/prepared/deadlines")
{
    g_autofree char *value = g_strnfill(LARGE, 'a');
    value[LARGE - 1] = 'c'; /* none of them matches */
    for (size_t i = 0; i < G_N_ELEMENTS(long_ones); i++) {
        kw_error error = KW_ERROR_NONE;
        kw_effort effort = {.deadline = kw_deadline_in_ms(50)};
        uint64_t began_ns = kw_clock_mono_ns();
        kw_filter_verdict verdict = judge_once(long_ones[i], kw_bytes_of(value, LARGE), &effort, &error);
        uint64_t took_ms = (kw_clock_mono_ns() - began_ns) / 1000000;
        g_test_message("%s: %d %s, %d ms", long_ones[i], verdict, kw_code_name(error.code), (int)took_ms);
        g_assert_cmpuint(took_ms, <, 20000);
        if (verdict == KW_FILTER_ROW_FAILED)
            g_assert_true(error.code == KW_TIMEOUT || error.code == KW_LIMIT);
    }
}

/* Without a deadline a match that takes too long fails, too. */
KW_TEST(test_one_match, "/filter/prepared/one match")
{
    g_autofree char *value = g_strnfill(LARGE, 'a');
    value[LARGE - 1] = 'c';
    for (size_t i = 0; i < 3; i++) {
        kw_error error = KW_ERROR_NONE;
        kw_effort effort = {.deadline = KW_DEADLINE_NONE};
        g_assert_cmpint(judge_once(long_ones[i], kw_bytes_of(value, LARGE), &effort, &error), ==,
                        KW_FILTER_ROW_FAILED);
        g_assert_cmpint(error.code, ==, KW_LIMIT);
        g_assert_nonnull(strstr(error.text, "on a value of 1000000 bytes"));
    }
}

static bool
is_set(void *user)
{
    return atomic_load((_Atomic bool *)user);
}

static void
set_soon(void *user)
{
    g_usleep(50000);
    atomic_store((_Atomic bool *)user, true);
}

KW_TEST(test_cancellation, "/filter/prepared/cancelled")
{
    g_autofree char *value = g_strnfill(LARGE, 'a');
    value[LARGE - 1] = 'c';
    _Atomic bool cancelled = false;
    kw_effort effort = {.deadline = KW_DEADLINE_NONE, .is_cancelled = is_set, .user = &cancelled};
    kw_error error = KW_ERROR_NONE;
    kw_thread thread;
    kw_thread_start(&thread, "cancel", set_soon, &cancelled);
    g_assert_cmpint(judge_once("(a*)*b", kw_bytes_of(value, LARGE), &effort, &error), ==,
                    KW_FILTER_ROW_FAILED);
    g_assert_true(error.code == KW_UNAVAILABLE || error.code == KW_LIMIT);
    kw_thread_join(&thread);
}

/* Filters without expressions also stop at the deadline: many filters on many cells, or on a large value. */
KW_TEST(test_many_filters, "/filter/prepared/many filters")
{
    g_autoptr(GString) text = g_string_new("ValueFilter(=, 'substring:x')");
    for (int i = 0; i < 2000; i++)
        g_string_append(text, " OR ValueFilter(=, 'substring:x')");
    g_autoptr(kw_prepared) prepared = prepare(text->str);
    g_autofree char *value = g_strnfill(LARGE, 'a');
    kw_effort effort = {.deadline = kw_deadline_in_ms(100)};
    kw_error error = KW_ERROR_NONE;
    kw_filter_machine *machine = kw_filter_machine_prepared(prepared, false, &effort, &error);
    uint64_t began_ns = kw_clock_mono_ns();
    g_assert_cmpint(judge(machine, kw_bytes_of(value, LARGE), &error), ==, KW_FILTER_ROW_FAILED);
    g_assert_cmpint(error.code, ==, KW_TIMEOUT);
    g_assert_cmpuint(kw_clock_mono_ns() - began_ns, <, (uint64_t)20 * 1000000000);
    kw_filter_machine_free(machine);
}

/* --- threads ------------------------------------------------------------------------------------- */

static void
match_often(void *user)
{
    kw_prepared *prepared = user;
    kw_error error;
    for (int i = 0; i < 300; i++) {
        kw_effort effort = {.deadline = KW_DEADLINE_NONE};
        kw_filter_machine *machine = kw_filter_machine_prepared(prepared, false, &effort, &error);
        g_autofree char *value = g_strdup_printf("%0*d-paid", i % 2 ? 4 : 900, i);
        g_assert_cmpint(judge(machine, kw_bytes_of_text(value), &error), ==, KW_FILTER_ROW_KEPT);
        g_assert_cmpint(judge(machine, B("unpaid-"), &error), ==, KW_FILTER_ROW_DROPPED);
        kw_filter_machine_free(machine);
    }
    kw_prepared_unref(prepared);
}

KW_TEST(test_threads, "/filter/prepared/threads")
{
    kw_prepared *prepared = prepare("ValueFilter(=, 'regexstring:^[0-9]+-paid$')");
    kw_thread threads[4];
    for (size_t i = 0; i < G_N_ELEMENTS(threads); i++)
        kw_thread_start(&threads[i], "match", match_often, kw_prepared_ref(prepared));
    kw_prepared_unref(prepared);
    for (size_t i = 0; i < G_N_ELEMENTS(threads); i++)
        kw_thread_join(&threads[i]);
}
