/* The byte form of queries: decoding returns the encoded query; malformed input is rejected. */
#include "plan/planner.h"
#include "rule/policies.h"

#include "base/clock.h"
#include "support/seed.h"

#define TABLE                                                                                                \
    "    fields: {id: string, n: int, real: double, raw: bytes, flag: bool}\n    key: [field: id]\n"         \
    "    paths: {more: {key: [field: id]}}\n"

static void
check_round_trip(const char *words)
{
    g_autoptr(kw_test_planner) planner = planner_new(TABLE);
    planner_set_query(planner, words);
    kw_buffer bytes = KW_BUFFER_EMPTY, again = KW_BUFFER_EMPTY;
    kw_record_query_encode(&planner->query, &bytes);
    size_t size = bytes.size;
    kw_buffer_append_text(&bytes, "after");
    kw_record_query back;
    size_t used;
    kw_error error = KW_ERROR_NONE;
    bool done =
        kw_record_query_decode(planner->table, kw_buffer_bytes(&bytes), planner->arena, &back, &used, &error);
    g_assert_cmpstr(error.text, ==, "");
    g_assert_true(done);
    g_assert_cmpuint(used, ==, size);
    const kw_record_query *query = &planner->query;
    g_assert_cmpint(back.path, ==, query->path);
    g_assert_cmpint(back.order, ==, query->order);
    g_assert_cmpint(back.range_field, ==, query->range_field);
    g_assert_true(kw_value_equal(back.from, query->from) && kw_value_equal(back.to, query->to));
    g_assert_true(back.from_inclusive == query->from_inclusive && back.to_inclusive == query->to_inclusive);
    g_assert_true(back.full_scan == (query->full_scan || query->limit > 0));
    for (size_t field = 0; field < planner->table->fields_count; field++) {
        g_assert_cmpuint(back.bounds[field].count, ==, query->bounds[field].count);
        for (size_t index = 0; index < back.bounds[field].count; index++)
            g_assert_true(
                kw_value_equal(back.bounds[field].values[index], query->bounds[field].values[index]));
    }
    kw_record_query_encode(&back, &again);
    g_assert_true(kw_bytes_equal(kw_buffer_bytes(&again), kw_bytes_of(bytes.data, size)));
    kw_buffer_clear(&bytes);
    kw_buffer_clear(&again);
}

KW_TEST(test_round_trip, "/plan/query/round_trip")
{
    check_round_trip("");
    check_round_trip("id=a");
    check_round_trip("id=a,b,c n=-5 flag=true path=more order=desc");
    check_round_trip("n>=-9223372036854775808 n<9223372036854775807 order=asc");
    check_round_trip("real>1.5 real<=2.5 full");
    check_round_trip("raw=x real=0.5 limit=3");
    g_autofree char *text = g_strnfill(20000, 'x'), *long_text = g_strconcat("id=", text, NULL);
    check_round_trip(long_text);
    g_autoptr(GString) values = g_string_new("n=0");
    for (int value = 1; value < 300; value++)
        g_string_append_printf(values, ",%d", value);
    check_round_trip(values->str);
}

/* The part of an interval that a plan covers comes back, and so does a query without one. */
KW_TEST(test_windows, "/plan/query/windows")
{
    static const kw_window windows[] = {{.limit = 0},
                                        {1, INT64_MIN, INT64_MAX, KW_WINDOW_EXACT},
                                        {1, -1, 0, KW_WINDOW_WIDE},
                                        {10000, 1620000000, 1620000059, KW_WINDOW_OPEN},
                                        {KW_PLAN_RANGES_MAX, 5, 5, KW_WINDOW_EXACT}};
    for (size_t index = 0; index < G_N_ELEMENTS(windows); index++) {
        g_autoptr(kw_test_planner) planner =
            planner_new("    fields: {id: string, ts: timestamp}\n    key: [field: id, field: ts]\n");
        planner_set_query(planner, "ts>=3 ts<7");
        planner->query.window = windows[index];
        kw_buffer bytes = KW_BUFFER_EMPTY;
        kw_record_query_encode(&planner->query, &bytes);
        kw_record_query back;
        size_t used;
        kw_error error = KW_ERROR_NONE;
        g_assert_true(kw_record_query_decode(planner->table, kw_buffer_bytes(&bytes), planner->arena, &back,
                                             &used, &error));
        g_assert_cmpuint(used, ==, bytes.size);
        g_assert_cmpuint(back.window.limit, ==, windows[index].limit);
        g_assert_cmpint(back.window.least, ==, windows[index].least);
        g_assert_cmpint(back.window.most, ==, windows[index].most);
        g_assert_cmpint(back.window.form, ==, windows[index].form);
        g_assert_true(back.planned && back.widened_for == 0);
        kw_buffer_clear(&bytes);
    }
}

/* A part of an interval without a limit on its ranges, or of a field that is not a time, is rejected. */
KW_TEST(test_rejected_windows, "/plan/query/rejected_windows")
{
    static const struct {
        const char *words;
        size_t limit;
        bool good;
    } cases[] = {{"ts>=3 ts<7", 1, true},
                 {"ts>=3 ts<7", 0, false},
                 {"n>=3 n<7", 1, false},
                 {"ts>=3 ts<7", KW_PLAN_RANGES_MAX + 1, false}};
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(kw_test_planner) planner =
            planner_new("    fields: {id: string, n: int, ts: timestamp}\n    key: [field: id, field: ts]\n");
        planner_set_query(planner, cases[i].words);
        planner->query.window = (kw_window){0x1234567, 3, 6, KW_WINDOW_EXACT};
        kw_buffer bytes = KW_BUFFER_EMPTY;
        kw_record_query_encode(&planner->query, &bytes);
        uint8_t coded[8];
        kw_be64_store(coded, 0x1234567);
        uint8_t *limit = memmem(bytes.data, bytes.size, coded, sizeof coded);
        g_assert_nonnull(limit);
        kw_be64_store(limit, cases[i].limit);
        kw_record_query back;
        size_t used;
        kw_error error = KW_ERROR_NONE;
        g_assert_cmpint(kw_record_query_decode(planner->table, kw_buffer_bytes(&bytes), planner->arena, &back,
                                               &used, &error),
                        ==, cases[i].good);
        g_assert_cmpint(error.code, ==, cases[i].good ? KW_OK : KW_INVALID);
        kw_buffer_clear(&bytes);
    }
}

static bool
decodes(kw_test_planner *planner, const kw_buffer *bytes)
{
    kw_record_query back;
    size_t used;
    kw_error error = KW_ERROR_NONE;
    if (kw_record_query_decode(planner->table, kw_buffer_bytes(bytes), planner->arena, &back, &used, &error))
        return true;
    g_assert_cmpint(error.code, ==, KW_INVALID);
    return false;
}

/* The limit for which ranges were widened comes back. A widening that changes nothing is rejected, and so are
 * an unknown form, a form without a window and a limit that no query can have. */
KW_TEST(test_widening, "/plan/query/widening")
{
    static const struct {
        uint8_t form;
        uint64_t widened_for;
        bool good;
    } cases[] = {{0, 100, true},
                 {0, KW_PLAN_RANGES_MAX, true},
                 {0, KW_PLAN_RANGES_MAX + 1, false},
                 {0, 0, false},
                 {1, 100, false},
                 {2, 0, false},
                 {3, 100, false}};
    g_autoptr(kw_test_planner) planner = planner_new("    fields: {id: string}\n    key: [field: id]\n");
    planner->query.widened_for = 0x12345;
    kw_buffer bytes = KW_BUFFER_EMPTY;
    kw_record_query_encode(&planner->query, &bytes);
    uint8_t coded[9] = {0};
    kw_be64_store(coded + 1, 0x12345);
    uint8_t *at = memmem(bytes.data, bytes.size, coded, sizeof coded);
    g_assert_nonnull(at);
    g_assert_true(decodes(planner, &bytes));
    for (size_t index = 0; index < G_N_ELEMENTS(cases); index++) {
        at[0] = cases[index].form;
        kw_be64_store(at + 1, cases[index].widened_for);
        g_assert_cmpint(decodes(planner, &bytes), ==, cases[index].good);
    }
    kw_buffer_clear(&bytes);
}

/* A part of an interval that is not complete is rejected, even if the next byte looks like the end of the
 * query. */
KW_TEST(test_truncated_windows, "/plan/query/truncated_windows")
{
    g_autoptr(kw_test_planner) planner =
        planner_new("    fields: {id: string, ts: timestamp}\n    key: [field: id, field: ts]\n");
    planner_set_query(planner, "ts>=-7 ts<7");
    planner->query.window = (kw_window){100, -6, 6, KW_WINDOW_EXACT};
    kw_buffer bytes = KW_BUFFER_EMPTY;
    kw_record_query_encode(&planner->query, &bytes);
    g_assert_cmpuint(bytes.data[bytes.size - 1], ==, 0); /* no bounds */
    for (size_t missing = 1; missing <= 24; missing++) {
        size_t size = bytes.size - missing;
        uint8_t *cut = kw_arena_alloc0(planner->arena, size);
        memcpy(cut, bytes.data, size - 1);
        kw_record_query back;
        size_t used;
        kw_error error = KW_ERROR_NONE;
        g_assert_false(kw_record_query_decode(planner->table, kw_bytes_of(cut, size), planner->arena, &back,
                                              &used, &error));
        g_assert_cmpint(error.code, ==, KW_INVALID);
    }
    kw_buffer_clear(&bytes);
}

/* Every truncated form is rejected. Decoding and planning forms with changed bytes is safe: each decoded
 * query is planned or rejected. */
KW_TEST(test_malformed, "/plan/query/malformed")
{
    g_autoptr(kw_test_planner) planner = planner_new(TABLE);
    kw_random_inject(20261121);
    planner_set_query(planner, "id=alpha,beta n>=3 n<7 flag=true raw=zz order=desc path=more");
    kw_buffer bytes = KW_BUFFER_EMPTY;
    kw_record_query_encode(&planner->query, &bytes);
    kw_record_query back;
    size_t used, decoded = 0;
    for (size_t size = 0; size < bytes.size; size++) {
        kw_error error = KW_ERROR_NONE;
        kw_bytes cut = kw_arena_copy(planner->arena, kw_bytes_of(bytes.data, size));
        g_assert_false(kw_record_query_decode(planner->table, cut, planner->arena, &back, &used, &error));
        g_assert_cmpint(error.code, ==, KW_INVALID);
    }
    for (unsigned attempt = 0; attempt < 50000; attempt++) {
        kw_bytes copy = kw_arena_copy(planner->arena, kw_buffer_bytes(&bytes));
        for (unsigned change = 0; change < 1 + attempt % 3; change++)
            ((uint8_t *)copy.data)[kw_random_u64() % copy.size] = (uint8_t)kw_random_u64();
        kw_error error = KW_ERROR_NONE;
        const kw_plan *plan;
        if (!kw_record_query_decode(planner->table, copy, planner->arena, &back, &used, &error)) {
            g_assert_cmpint(error.code, ==, KW_INVALID);
            continue;
        }
        decoded++;
        back.planned = false;
        back.range_limit = 100;
        if (!kw_plan_make(&back, planner->arena, &plan, &error))
            g_assert_true(error.code == KW_INVALID || error.code == KW_LIMIT);
    }
    g_assert_cmpuint(decoded, >, 100);
    kw_buffer_clear(&bytes);
}

/* Counts that exceed the size of the input must not be allocated; malformed heads and names that the policy
 * no longer has are rejected. */
KW_TEST(test_rejected_forms, "/plan/query/rejected_forms")
{
    static const struct {
        kw_bytes bytes;
        const char *message;
    } forms[] = {
        {{(const uint8_t *)"\x02\x00\x00\x00", 4}, "malformed"},                            /* version */
        {{(const uint8_t *)"\x01\x00\x03\x00", 4}, "malformed"},                            /* order 3 */
        {{(const uint8_t *)"\x01\x00\x40\x00", 4}, "malformed"},                            /* unknown flag */
        {{(const uint8_t *)"\x01\x01x\x00\x00", 5}, "the query names path x, which table"}, /* path x */
        {{(const uint8_t *)"\x01\x00\x00\x01\x01x\x01\x00", 8},
         "the query names field x, which"},                                      /* field x */
        {{(const uint8_t *)"\x01\x00\x00\x01\x03id", 7}, "malformed"},           /* a name of 3 bytes */
        {{(const uint8_t *)"\x01\x00\x00\xff\xff\xff\xff\x7f", 8}, "malformed"}, /* 2^35 bounds */
        {{(const uint8_t *)"\x01\x00\x00\x01\x02id\xff\xff\xff\x7f", 11}, "malformed"},
        {{(const uint8_t *)"\x01\x00\x00\x01\x02id\x00", 8}, "malformed"},     /* no values */
        {{(const uint8_t *)"\x01\x00\x00\x01\x02id\x01\x09", 9}, "malformed"}, /* kind 9 */
        {{(const uint8_t *)"\x01\x00\x00\x01\x02id\x01\x04\x01\xff", 11}, "not UTF-8"},
        {{(const uint8_t *)"\x01\x00\x20\x02id\x02\0\0\0\0\0\0\0\0\0\x00", 16},
         "malformed"}, /* number for id */
    };
    g_autoptr(kw_test_planner) planner = planner_new(TABLE);
    for (size_t index = 0; index < G_N_ELEMENTS(forms); index++) {
        kw_record_query back;
        size_t used;
        kw_error error = KW_ERROR_NONE;
        g_assert_false(
            kw_record_query_decode(planner->table, forms[index].bytes, planner->arena, &back, &used, &error));
        g_assert_cmpint(error.code, ==, KW_INVALID);
        if (!strstr(error.text, forms[index].message))
            g_error("form %zu: \"%s\" does not say \"%s\"", index, error.text, forms[index].message);
    }
}

KW_TEST_START(start)
{
    kw_random_inject(test_seed());
}
