/* Single values: texts that are accepted, texts that are rejected, and that printed values are parsed to
 * the same values. */
#include "config/parse.h"
#include "support/seeded.h"

#include <string.h>

static void
test_sizes(void)
{
    static const struct {
        const char *text;
        int64_t bytes; /* -1: rejected */
    } cases[] = {{"0", 0},
                 {"1", 1},
                 {"7B", 7},
                 {"64KiB", 65536},
                 {"16MiB", 16777216},
                 {"2GiB", 2147483648},
                 {"1TiB", 1099511627776},
                 {"9223372036854775807", INT64_MAX},
                 {"9223372036854775808", -1},
                 {"8388608TiB", -1},
                 {"64KB", -1},
                 {"64K", -1},
                 {"64kib", -1},
                 {"64 KiB", -1},
                 {" 64KiB", -1},
                 {"1.5MiB", -1},
                 {"-1", -1},
                 {"-1MiB", -1},
                 {"+1", -1},
                 {"0x10", -1},
                 {"MiB", -1},
                 {"", -1}};
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        kw_refusal refusal = {NULL, NULL};
        int64_t bytes = -1;
        bool read = kw_parse_size(cases[i].text, &bytes, &refusal);
        g_test_message("%s", cases[i].text);
        g_assert_cmpint(read, ==, cases[i].bytes >= 0);
        g_assert_cmpint(bytes, ==, cases[i].bytes);
        g_assert_cmpint(refusal.why != NULL, ==, !read);
    }
}

static void
test_zones(void)
{
    static const char *const good[] = {"UTC",
                                       "Z",
                                       "+08:00",
                                       "-0330",
                                       "+8",
                                       "Europe/Berlin",
                                       "GMT+0",
                                       "Etc/GMT-14",
                                       "America/Port-au-Prince",
                                       "America/Argentina/Buenos_Aires",
                                       "EST5EDT",
                                       NULL};
    static const char *const bad[] = {"",
                                      "Nowhere/At_All",
                                      "/etc/passwd",
                                      "../../../etc/passwd",
                                      "Europe/../Europe/Berlin",
                                      "./UTC",
                                      "Europe//Berlin",
                                      "Europe/",
                                      ":/etc/localtime",
                                      "Europe",
                                      "zone.tab",
                                      "/usr/share/zoneinfo/Europe/Berlin",
                                      "EST5EDT,M3.2.0,M11.1.0",
                                      "+08:00/x",
                                      "UTC\n",
                                      NULL};
    kw_refusal refusal;
    for (const char *const *name = good; *name; name++)
        if (!kw_parse_zone(*name, &refusal))
            g_error("%s %s", *name, refusal.why);
    for (const char *const *name = bad; *name; name++)
        if (kw_parse_zone(*name, &refusal))
            g_error("%s is taken", *name);
}

static void
test_durations(void)
{
    static const struct {
        const char *text;
        int64_t ms;
    } cases[] = {{"0", 0},
                 {"250ms", 250},
                 {"10s", 10000},
                 {"10min", 600000},
                 {"1h", 3600000},
                 {"90d", 7776000000},
                 {"10", -1},
                 {"1m", -1},
                 {"1sec", -1},
                 {"1h30min", -1},
                 {"0.5s", -1},
                 {"-1s", -1},
                 {"", -1},
                 {"s", -1},
                 {"106751991168d", -1},
                 {"10 s", -1},
                 {"106751991167d", 106751991167 * 86400000}};
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        kw_refusal refusal;
        int64_t ms = -1;
        g_test_message("%s", cases[i].text);
        g_assert_cmpint(kw_parse_duration_ms(cases[i].text, &ms, &refusal), ==, cases[i].ms >= 0);
        g_assert_cmpint(ms, ==, cases[i].ms);
    }
}

static void
test_round_trip(void)
{
    uint64_t seed = (uint64_t)g_test_rand_int();
    g_test_message("seed %" G_GUINT64_FORMAT, (guint64)seed);
    for (int i = 0; i < 20000; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        int64_t value = (int64_t)((seed >> (seed % 40 + 8)) << (seed % 3 * 10) & INT64_MAX);
        kw_refusal refusal;
        int64_t back;
        g_autofree char *size = kw_size_text(value);
        g_assert_true(kw_parse_size(size, &back, &refusal));
        g_assert_cmpint(back, ==, value);
        g_autofree char *duration = kw_duration_text(value);
        g_assert_true(kw_parse_duration_ms(duration, &back, &refusal));
        g_assert_cmpint(back, ==, value);
    }
    g_autofree char *size = kw_size_text(3 * 1024 * 1024);
    g_assert_cmpstr(size, ==, "3MiB");
    g_autofree char *duration = kw_duration_text(90000);
    g_assert_cmpstr(duration, ==, "90s");
}

static void
test_numbers_and_bools(void)
{
    kw_refusal refusal;
    int64_t number;
    bool truth;
    g_assert_true(kw_parse_int("-9223372036854775808", &number, &refusal));
    g_assert_cmpint(number, ==, INT64_MIN);
    static const char *const wrong_numbers[] = {
        "", "-", "1_000", "1e3", "0x1", "1 ", " 1", "--1", "9223372036854775808"};
    for (size_t i = 0; i < G_N_ELEMENTS(wrong_numbers); i++)
        g_assert_false(kw_parse_int(wrong_numbers[i], &number, &refusal));
    g_assert_true(kw_parse_bool("true", &truth, &refusal) && truth);
    g_assert_true(kw_parse_bool("false", &truth, &refusal) && !truth);
    static const char *const wrong_truths[] = {"True", "yes", "on", "1", ""};
    for (size_t i = 0; i < G_N_ELEMENTS(wrong_truths); i++)
        g_assert_false(kw_parse_bool(wrong_truths[i], &truth, &refusal));
}

static void
test_addresses(void)
{
    static const struct {
        const char *text;
        const char *host; /* NULL: rejected */
        int port;
    } cases[] = {{"127.0.0.1:9595", "127.0.0.1", 9595},
                 {"0.0.0.0:0", "0.0.0.0", 0},
                 {"[::1]:9595", "::1", 9595},
                 {"[fe80::1:2]:65535", "fe80::1:2", 65535},
                 {"hbase-1.example.org:9090", "hbase-1.example.org", 9090},
                 {"under_score:1", "under_score", 1},
                 {"localhost", "localhost", 7777},
                 {"[::]", "::", 7777},
                 {"127.0.0.1:65536", NULL, 0},
                 {"127.0.0.1:-1", NULL, 0},
                 {"127.0.0.1:-0", NULL, 0},
                 {"127.0.0.1:", NULL, 0},
                 {"127.0.0.1:80x", NULL, 0},
                 {"127.0.0.256:80", NULL, 0},
                 {"127.0.1:80", NULL, 0},
                 {":9595", NULL, 0},
                 {"9595", NULL, 0},
                 {"::1:9595", NULL, 0},
                 {"[::1]9595", NULL, 0},
                 {"[::1:9595", NULL, 0},
                 {"[::g]:1", NULL, 0},
                 {"[fe80::1%eth0]:1", NULL, 0},
                 {"*:9595", NULL, 0},
                 {"a b:1", NULL, 0},
                 {"a..b:1", NULL, 0},
                 {"-a:1", NULL, 0},
                 {"http://a:1", NULL, 0},
                 {"", NULL, 0}};
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(kw_memory) memory = kw_memory_new();
        kw_refusal refusal;
        const char *host = NULL;
        uint16_t port = 0;
        bool read = kw_parse_address(memory, cases[i].text, 7777, &host, &port, &refusal);
        g_test_message("%s", cases[i].text);
        g_assert_cmpint(read, ==, cases[i].host != NULL);
        if (read) {
            g_assert_cmpstr(host, ==, cases[i].host);
            g_assert_cmpint(port, ==, cases[i].port);
        }
    }
}

static void
test_required_port(void)
{
    g_autoptr(kw_memory) memory = kw_memory_new();
    kw_refusal refusal;
    const char *host;
    uint16_t port;
    g_assert_false(kw_parse_address(memory, "localhost", 0, &host, &port, &refusal));
    g_assert_false(kw_parse_address(memory, "[::1]", 0, &host, &port, &refusal));
}

typedef struct name_case {
    kw_name_rule rule;
    const char *text;
    bool legal;
} name_case;

static const name_case name_cases[] = {
    {KW_NAME_FIELD, "order_id", true},
    {KW_NAME_FIELD, "_x9", true},
    {KW_NAME_FIELD, "9x", false},
    {KW_NAME_FIELD, "Order", false},
    {KW_NAME_FIELD, "a-b", false},
    {KW_NAME_FIELD, "", false},
    {KW_NAME_FIELD, "b\xc3\xa9", false},
    {KW_NAME_TABLE, "orders.2024-x_1", true},
    {KW_NAME_TABLE, "9orders", true},
    {KW_NAME_TABLE, "-orders", false},
    {KW_NAME_TABLE, ".orders", false},
    {KW_NAME_TABLE, "a/b", false},
    {KW_NAME_TABLE, "ns:orders", false},
    {KW_NAME_TABLE, "zookeeper", false},
    {KW_NAME_STORE_TABLE, "ns:orders", true},
    {KW_NAME_STORE_TABLE, "ns_1:orders.a-b", true},
    {KW_NAME_STORE_TABLE, "n-s:orders", false},
    {KW_NAME_STORE_TABLE, ":orders", false},
    {KW_NAME_STORE_TABLE, "ns:", false},
    {KW_NAME_STORE_TABLE, "a:b:c", false},
    {KW_NAME_STORE_TABLE, "hbase:meta", false},
    {KW_NAME_FAMILY, "d", true},
    {KW_NAME_FAMILY, "a family", true},
    {KW_NAME_FAMILY, ".d", false},
    {KW_NAME_FAMILY, "a:b", false},
    {KW_NAME_FAMILY, "a/b", false},
    {KW_NAME_FAMILY, "a\\b", false},
    {KW_NAME_FAMILY, "a\tb", false},
    {KW_NAME_FAMILY, "recovered.edits", false},
    {KW_NAME_FAMILY, "", false},
    {KW_NAME_COLUMN, "d:status", true},
    {KW_NAME_COLUMN, "d:a:b", true},
    {KW_NAME_COLUMN, "0:\\x80\\x0B", true},
    {KW_NAME_COLUMN, "0:\\x8", false},
    {KW_NAME_COLUMN, "0:a\\b", false},
    {KW_NAME_COLUMN, "d:", false},
    {KW_NAME_COLUMN, ":q", false},
    {KW_NAME_COLUMN, "status", false},
    {KW_NAME_SPLIT_KEY, "abc\\x00\\xfF", true},
    {KW_NAME_SPLIT_KEY, "abc\\x0", false},
    {KW_NAME_SPLIT_KEY, "abc\\n", false},
    {KW_NAME_SPLIT_KEY, "abc\\", false},
    {KW_NAME_HOST, "hbase.example.org", true},
    {KW_NAME_HOST, "a:b", false},
};

static void
test_names(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(name_cases); i++) {
        kw_refusal refusal = {NULL, NULL};
        g_test_message("%s", name_cases[i].text);
        g_assert_cmpint(kw_parse_name(name_cases[i].rule, name_cases[i].text, &refusal), ==,
                        name_cases[i].legal);
        g_assert_cmpint(refusal.why == NULL, ==, name_cases[i].legal);
    }
}

/* The JSON Schema's patterns can accept more than the rules, never less. */
static void
test_patterns_accept_valid_names(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(name_cases); i++) {
        const char *pattern = kw_name_pattern(name_cases[i].rule);
        if (pattern && name_cases[i].legal && !g_regex_match_simple(pattern, name_cases[i].text, 0, 0))
            g_error("%s does not match %s", name_cases[i].text, pattern);
    }
}

static void
test_name_lengths(void)
{
    static const struct {
        kw_name_rule rule;
        const char *prefix;
        size_t most;
    } cases[] = {{KW_NAME_FIELD, "", 64},   {KW_NAME_TABLE, "", 128},     {KW_NAME_STORE_TABLE, "", 200},
                 {KW_NAME_FAMILY, "", 127}, {KW_NAME_COLUMN, "d:", 1000}, {KW_NAME_STORE_TABLE, "ns:", 197},
                 {KW_NAME_HOST, "", 63}};
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        kw_refusal refusal;
        for (size_t more = 0; more < 2; more++) {
            g_autofree char *name = g_strnfill(cases[i].most + more, 'a');
            g_autofree char *text = g_strconcat(cases[i].prefix, name, NULL);
            g_assert_cmpint(kw_parse_name(cases[i].rule, text, &refusal), ==, more == 0);
        }
    }
}

static void
test_escapes(void)
{
    uint8_t bytes[32];
    size_t size;
    g_assert_true(kw_parse_binary("a\\x00\\xFFz", bytes, &size));
    g_assert_true(size == 4 && memcmp(bytes,
                                      "a\0\xff"
                                      "z",
                                      4) == 0);
}

int
main(int count, char **arguments)
{
    seeded_init(&count, &arguments);
    g_test_add_func("/config/parse/zones", test_zones);
    g_test_add_func("/config/parse/sizes", test_sizes);
    g_test_add_func("/config/parse/durations", test_durations);
    g_test_add_func("/config/parse/round-trip", test_round_trip);
    g_test_add_func("/config/parse/numbers", test_numbers_and_bools);
    g_test_add_func("/config/parse/addresses", test_addresses);
    g_test_add_func("/config/parse/required-port", test_required_port);
    g_test_add_func("/config/parse/names", test_names);
    g_test_add_func("/config/parse/patterns", test_patterns_accept_valid_names);
    g_test_add_func("/config/parse/bounded", test_name_lengths);
    g_test_add_func("/config/parse/escapes", test_escapes);
    return g_test_run();
}
