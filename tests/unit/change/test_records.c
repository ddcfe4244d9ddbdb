/* Records of changes as JSON: what is printed is read back, and nothing else is read. */
#include "change/record.h"

#include <glib.h>

#define ID "0123456789abcdef0123456789abcdef"

static const kw_change_record full = {
    .table = "orders",
    .path = "by_ts",
    .given = {1, "ns:orders"},
    .now = {2, "ns:orders_L2"},
    .under_way = true,
    .old = {3, "ns:orders_L3"},
    .old_given = {1, "ns:orders"},
    .old_version = {7, ID},
    .new_version = 8,
    .place = KW_NEW(BOTH),
    .place_at_ms = INT64_C(1795000000001),
    .started_ms = INT64_C(1795000000000),
    .author = "CN=ann",
    .reason = "a \"reason\" {[\\",
    .paused = true,
    .rows_per_second = 1000,
    .copied = true,
    .compared = true,
    .rows_copied = UINT64_C(1) << 40,
    .rows_compared = 5,
    .missing = 1,
    .different = 2,
    .extra = 3,
    .repaired = 4,
    .undecodable = 6,
    .example = "row \\x00: no field",
    .copied_to = {(const uint8_t *)"\0\xff\x80", 3},
    .compare_cursor = {(const uint8_t *)"c", 1},
};

static kw_change_record
full_of_several(void)
{
    kw_change_record record = full;
    record.place = KW_NEW(GET_BOTH);
    record.writers = KW_CHANGE_SEVERAL_WRITERS;
    record.step = 12;
    record.goal = KW_OLD(BOTH);
    record.pass = KW_CHANGE_PASS_SECOND;
    record.holder = "00ff";
    record.store_order = true;
    record.work_ppm = 250000;
    record.work_rows_per_second = 700;
    record.work_left_ms = 90000;
    record.share_percent = 25;
    return record;
}

static void
assert_parses(const char *text, bool good)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    kw_change_record *records;
    size_t count;
    kw_error error;
    if (kw_changes_parse(kw_bytes_of_text(text), arena, &records, &count, &error) != good)
        g_error("%s: %s", good ? error.text : "accepted", text);
    if (!good)
        g_assert_cmpint(error.code, ==, KW_CORRUPT);
}

KW_TEST(test_read_back, "/catalog/change records/read back")
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    kw_change_record both[2] = {full, {.table = "t", .path = "primary", .given = {1, "t"}, .now = {2, "t2"}}};
    kw_bytes text = kw_changes_print(both, 2, arena);
    kw_change_record *read;
    size_t count;
    kw_error error;
    g_assert_true(kw_changes_parse(text, arena, &read, &count, &error));
    g_assert_cmpuint(count, ==, 2);
    g_assert_false(kw_changes_differ(both, 2, read, 2));
    g_assert_true(kw_bytes_equal(kw_changes_print(read, 2, arena), text));
    g_assert_true(read[0].paused && read[0].copied && read[0].compared && !read[1].under_way);
    g_assert_cmpuint(read[0].rows_copied, ==, full.rows_copied);
    g_assert_cmpuint(read[0].undecodable, ==, 6);
    g_assert_cmpstr(read[0].reason, ==, full.reason);
    g_assert_cmpstr(read[0].example, ==, full.example);
    g_assert_true(kw_bytes_equal(read[0].copied_to, full.copied_to));
    g_assert_true(kw_bytes_equal(read[0].compare_cursor, full.compare_cursor));
    g_assert_cmpstr(read[1].author, ==, "");
    g_assert_cmpstr(read[1].old.store_table, ==, "");
    g_assert_true(kw_bytes_equal(kw_changes_print(NULL, 0, arena), KW_BYTES_LITERAL("[]")));
    g_assert_true(kw_changes_parse(KW_BYTES_NONE, arena, &read, &count, &error));
    g_assert_cmpuint(count, ==, 0);
    assert_parses("[]", true);
}

KW_TEST(test_several_writers, "/catalog/change records/several writers")
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    kw_change_record both[2] = {full_of_several(), full};
    kw_change_record *read;
    size_t count;
    kw_error error;
    both[1].path = "primary";
    kw_bytes text = kw_changes_print(both, 2, arena);
    g_assert_true(kw_changes_parse(text, arena, &read, &count, &error));
    g_assert_true(kw_bytes_equal(kw_changes_print(read, 2, arena), text));
    g_assert_cmpint(read[0].writers, ==, KW_CHANGE_SEVERAL_WRITERS);
    g_assert_cmpint(read[0].place, ==, KW_NEW(GET_BOTH));
    g_assert_cmpuint(read[0].step, ==, 12);
    g_assert_cmpint(read[0].goal, ==, KW_OLD(BOTH));
    g_assert_cmpint(read[0].pass, ==, KW_CHANGE_PASS_SECOND);
    g_assert_cmpstr(read[0].holder, ==, "00ff");
    g_assert_true(read[0].store_order);
    g_assert_cmpuint(read[0].work_ppm, ==, 250000);
    g_assert_cmpuint(read[0].work_rows_per_second, ==, 700);
    g_assert_cmpuint(read[0].work_left_ms, ==, 90000);
    g_assert_cmpint(read[1].writers, ==, KW_CHANGE_ONE_WRITER);
    g_assert_cmpstr(read[1].holder, ==, "");
}

/* Three paths that are added together. */
static const kw_added_path more[] = {{"by_n", {4, "ns:orders_by_n"}}, {"by_id", {1, "ns:orders_by_id"}}};

static kw_change_record
full_of_added(void)
{
    kw_change_record record = full_of_several();
    record.place = record.goal = KW_OLD(SPACED);
    record.adds = true;
    record.more = more;
    record.more_count = G_N_ELEMENTS(more);
    record.part = 2;
    return record;
}

KW_TEST(test_added, "/catalog/change records/added")
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    kw_change_record record = full_of_added(), *read;
    size_t count;
    kw_error error;
    kw_bytes text = kw_changes_print(&record, 1, arena);
    g_assert_true(kw_changes_parse(text, arena, &read, &count, &error));
    g_assert_true(kw_bytes_equal(kw_changes_print(read, 1, arena), text));
    g_assert_false(kw_changes_differ(&record, 1, read, 1));
    g_assert_true(read->adds && !read->drops);
    g_assert_cmpuint(read->part, ==, 2);
    g_assert_cmpuint(kw_change_paths_count(read), ==, 3);
    g_assert_cmpstr(kw_change_path_name(read, 0), ==, "by_ts");
    g_assert_cmpstr(kw_change_path_name(read, 2), ==, "by_id");
    g_assert_cmpuint(read->more[0].rule.layout, ==, 4);
    g_assert_cmpstr(read->more[0].rule.store_table, ==, "ns:orders_by_n");
    g_assert_true(kw_changes_find(read, 1, "orders", "by_n") == read);
    g_assert_null(kw_changes_find(read, 1, "orders", "primary"));
    record = full_of_several();
    record.part = 1; /* a sweep of a second placement */
    text = kw_changes_print(&record, 1, arena);
    g_assert_true(kw_changes_parse(text, arena, &read, &count, &error));
    g_assert_cmpuint(read->part, ==, 1);
    g_assert_false(read->adds);
    record = full;
    record.place = KW_OLD(BOTH);
    record.adds = true;
    text = kw_changes_print(&record, 1, arena);
    g_assert_true(kw_changes_parse(text, arena, &read, &count, &error));
    g_assert_true(read->adds);
    record.place = KW_NEW(BOTH); /* not on the ladder */
    text = kw_changes_print(&record, 1, arena);
    g_assert_false(kw_changes_parse(text, arena, &read, &count, &error));
}

static kw_change_record
full_of_atomics(void)
{
    kw_change_record record = full_of_several();
    record.place = KW_OLD(STAMPED);
    record.goal = KW_OLD(ALONE);
    record.atomics = record.drops = true;
    return record;
}

KW_TEST(test_atomics, "/catalog/change records/atomics")
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    kw_change_record record = full_of_atomics(), *read;
    size_t count;
    kw_error error;
    kw_bytes text = kw_changes_print(&record, 1, arena);
    g_assert_true(kw_changes_parse(text, arena, &read, &count, &error));
    g_assert_true(kw_bytes_equal(kw_changes_print(read, 1, arena), text));
    g_assert_false(kw_changes_differ(&record, 1, read, 1));
    g_assert_true(read->atomics && read->drops && !read->adds);
    read->atomics = false;
    g_assert_true(kw_changes_differ(&record, 1, read, 1));
}

/* Each replacement turns the text of a valid record into a text that is never printed, and must be
 * rejected. */
static void
assert_strict(const kw_change_record *record, const char *const (*replacements)[2], size_t count)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    const char *text = kw_arena_text(arena, kw_changes_print(record, 1, arena));
    assert_parses(text, true);
    for (size_t i = 0; i < count; i++) {
        g_auto(GStrv) parts = g_strsplit(text, replacements[i][0], 2);
        if (!parts[1])
            g_error("no %s in %s", replacements[i][0], text);
        g_autofree char *changed = g_strjoinv(replacements[i][1], parts);
        assert_parses(changed, false);
    }
}

KW_TEST(test_strict_several, "/catalog/change records/strict, several writers")
{
    static const char *const replacements[][2] = {
        {"\"several\"", "\"one\""},
        {"\"several\"", "\"many\""},
        {"\"writers\":\"several\",", ""},
        {"\"step\":12", "\"step\":0"},
        {"\"step\":12,", ""},
        {"\"both-old\"", "\"both\""},
        {"\"both-old\"", "3"},
        {"\"new\"", "\"newer\""},
        {"\"00ff\"", "7"},
        {"\"00ff\"", "\"00ff\",\"x\":1"},
        {"\"store_order\":true", "\"store_order\":1"},
    };
    kw_change_record record = full_of_several();
    assert_strict(&record, replacements, G_N_ELEMENTS(replacements));
}

KW_TEST(test_strict_added, "/catalog/change records/strict, added")
{
    static const char *const replacements[][2] = {
        {"\"adds\":true", "\"adds\":false"},
        {"\"adds\":true,", ""},
        {"\"drops\":false,", ""},
        {"\"adds\":true,\"drops\":false", "\"adds\":false,\"drops\":true"},
        {"\"part\":2", "\"part\":-1"},
        {"\"by_n\"", "\"by_ts\""},
        {"\"by_n\"", "\"by_id\""},
        {"\"by_n\"", "\"\""},
        {"\"by_n\"", "7"},
        {"\"by_n\"", "\"by_n\",\"x\":1"},
        {"\"layout\":4", "\"layout\":-4"},
        {"\"more\":[", "\"more\":[1,"},
        {"\"more\":[", "\"less\":["},
    };
    kw_change_record record = full_of_added();
    assert_strict(&record, replacements, G_N_ELEMENTS(replacements));
}

KW_TEST(test_strict_atomics, "/catalog/change records/strict-atomics")
{
    static const char *const replacements[][2] = {
        {"\"atomics\":true", "\"atomics\":false"}, {"\"atomics\":true,", ""},
        {"\"drops\":true", "\"drops\":1"},         {"\"stamped-old\"", "\"alone-old\""},
        {"\"alone-old\"", "\"both-old\""},         {"\"atomics\":true", "\"atomics\":true,\"adds\":true"},
    };
    kw_change_record record = full_of_atomics();
    assert_strict(&record, replacements, G_N_ELEMENTS(replacements));
}

KW_TEST(test_strict, "/catalog/change records/strict")
{
    static const char *const replacements[][2] = {
        {"\"orders\"", "7"},
        {"\"orders\"", "\"\""},
        {"\"orders\"", "null"},
        {"\"path\"", "\"paths\""},
        {"\"layout\":1", "\"layout\":-1"},
        {"\"layout\":1", "\"layout\":4294967296"},
        {"\"layout\":1", "\"layout\":1.5"},
        {"\"layout\":1", "\"layout\":\"1\""},
        {"\"layout\":1", "\"layout\":1,\"more\":1"},
        {"\"ns:orders_L2\"", "\"\""},
        {"\"under_way\":true", "\"under_way\":false"},
        {"\"under_way\":true", "\"under_way\":1"},
        {"\"7 " ID "\"", "\"7\""},
        {"\"new_version\":8", "\"new_version\":-8"},
        {"\"both-new\"", "\"both-newer\""},
        {"\"both-new\"", "null"},
        {"\"paused\":true", "\"paused\":\"true\""},
        {"\"missing\":1", "\"missing\":true"},
        {"\"missing\":1", "\"missing\":-1"},
        {"\"missing\":1", "\"missing\":[1]"},
        {"\"missing\":1,", ""},
        {"\"missing\":1", "\"missing\":1,\"unknown\":1"},
        {"\"AP+A\"", "\"AP+\""},
        {"\"AP+A\"", "\"A P+A\""},
        {"\"AP+A\"", "{}"},
    };
    g_autoptr(kw_arena) arena = kw_arena_new();
    const char *text = kw_arena_text(arena, kw_changes_print(&full, 1, arena));
    assert_strict(&full, replacements, G_N_ELEMENTS(replacements));
    for (size_t size = 1; size < strlen(text); size++) {
        g_autofree char *truncated = g_strndup(text, size);
        assert_parses(truncated, false);
    }
    g_autofree char *twice = g_strdup_printf("[%.*s,%s", (int)strlen(text) - 2, text + 1, text + 1);
    assert_parses(twice, false);
    assert_parses("{}", false);
    assert_parses("[[]]", false);
    assert_parses("[1]", false);
    assert_parses("[null]", false);
    assert_parses("x", false);
}

KW_TEST(test_too_many, "/catalog/change records/too many")
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    kw_change_record *records = KW_ARENA_ARRAY(arena, kw_change_record, KW_CHANGES_MAX + 1);
    kw_bytes cell;
    kw_error error;
    for (size_t i = 0; i <= KW_CHANGES_MAX; i++)
        records[i] = (kw_change_record){.table = kw_arena_printf(arena, "t%zu", i),
                                        .path = "primary",
                                        .given = {1, "t"},
                                        .now = {2, "t2"}};
    g_assert_true(kw_changes_print_to_put(records, KW_CHANGES_MAX, arena, &cell, &error));
    g_assert_false(kw_changes_print_to_put(records, KW_CHANGES_MAX + 1, arena, &cell, &error));
    g_assert_cmpint(error.code, ==, KW_REFUSED);
    assert_parses(kw_arena_text(arena, cell), false);
}

/* A difference in any member counts, except in the members that are written between two steps. */
KW_TEST(test_differ, "/catalog/change records/differ")
{
    const kw_change_record record = full_of_several();
    kw_change_record same = record, other;
    same.goal = KW_OLD(BOTH);
    same.pass = KW_CHANGE_PASS_FIRST;
    same.holder = "";
    same.completing = true;
    same.rows_copied = same.rows_compared = same.missing = same.different = same.extra = 77;
    same.repaired = same.undecodable = same.rows_per_second = same.share_percent = 77;
    same.paused = same.copied = same.compared = false;
    same.example = "";
    same.copied_to = same.compare_cursor = KW_BYTES_NONE;
    g_assert_false(kw_changes_differ(&record, 1, &same, 1));
    g_assert_true(kw_changes_differ(&record, 1, NULL, 0));
#define DIFFERS(set)                                                                                         \
    other = record;                                                                                          \
    other.set;                                                                                               \
    g_assert_true(kw_changes_differ(&record, 1, &other, 1));
    DIFFERS(table = "u")
    DIFFERS(path = "primary")
    DIFFERS(given.layout = 9)
    DIFFERS(now.store_table = "x")
    DIFFERS(under_way = false)
    DIFFERS(old.layout = 9)
    DIFFERS(old_given.store_table = "x")
    DIFFERS(old_version.number = 6)
    DIFFERS(old_version.id[0] = 'f')
    DIFFERS(new_version = 9)
    DIFFERS(place = KW_OLD(BOTH))
    DIFFERS(place_at_ms = 1)
    DIFFERS(started_ms = 1)
    DIFFERS(writers = KW_CHANGE_ONE_WRITER)
    DIFFERS(step = 13)
    DIFFERS(store_order = false)
    DIFFERS(adds = true)
    DIFFERS(drops = true)
    const kw_change_record added = full_of_added();
    const kw_added_path changed[] = {more[0], {"by_id", {2, "ns:orders_by_id"}}};
    other = added;
    other.more = changed;
    g_assert_true(kw_changes_differ(&added, 1, &other, 1));
    other.more = more;
    other.part = 0;
    g_assert_false(kw_changes_differ(&added, 1, &other, 1));
    other.more_count = 1;
    g_assert_true(kw_changes_differ(&added, 1, &other, 1));
}
