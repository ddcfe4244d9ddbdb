/* The rest of a range after a position. It is never an empty range scan, because HBase reads the row if a
 * scan starts and stops at the same key. */
#include "gather/bounds.h"
#include "rule/splits.h"

#include <glib.h>

typedef struct left_case {
    bool reversed;
    const char *start, *stop;
    uint32_t skip;
    kw_position position;
    const char *left; /* "start..stop"; NULL: nothing is left */
} left_case;

#define AFTER(text, index)                                                                                   \
    {                                                                                                        \
        .started = true, .range = (index), .suffix = {(const uint8_t *)(text), sizeof(text) - 1 }            \
    }

static const left_case cases[] = {
    {false, "a", "b", 0, {.started = false}, "a..b"},
    {false, "a", "a", 0, {.started = false}, NULL},
    {false, "b", "a", 0, {.started = false}, NULL},
    {false, "a", "", 0, {.started = false}, "a.."},
    {false, "a", "b", 0, {.started = true, .at_head = true}, "a..b"},
    {false, "a", "b", 0, {.started = true, .group = 1}, NULL},
    /* The row was read: its successor is next. */
    {false, "a", "c", 0, AFTER("b", 0), "b\\x00..c"},
    {false, "a", "b\x01", 0, AFTER("b", 0), "b\\x00..b\\x01"},
    {false, "a", "b", 0, AFTER("b", 0), NULL},
    {false, "b", "c", 0, AFTER("a", 0), "b..c"},
    {false, "pa", "pc", 1, AFTER("b", 0), "pb\\x00..pc"},
    {true, "a", "c", 0, AFTER("b", 0), "a..b"},
    {true, "b", "c", 0, AFTER("b", 0), NULL},
    {true, "a", "", 0, AFTER("b", 0), "a..b"},
    {true, "a", "b", 0, AFTER("c", 0), "a..b"},
    {true, "", "c", 0, AFTER("", 0), NULL},
};

KW_TEST(test_left, "/gather/bounds-edges/left")
{
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        const left_case *it = &cases[i];
        g_autoptr(kw_arena) arena = kw_arena_new();
        kw_range range = {
            .start = kw_bytes_of_text(it->start), .stop = kw_bytes_of_text(it->stop), .skip = it->skip};
        kw_plan plan = {.ranges = &range, .ranges_count = 1, .reversed = it->reversed};
        kw_bytes start, stop;
        bool any = kw_range_left(&plan, 0, &it->position, arena, &start, &stop);
        const char *left = any ? kw_arena_printf(arena, "%s..%s", kw_bytes_to_binary_text(start, arena),
                                                 kw_bytes_to_binary_text(stop, arena))
                               : NULL;
        if (g_strcmp0(left, it->left) != 0)
            g_error("case %zu: %s is left, not %s", i, left ? left : "nothing",
                    it->left ? it->left : "nothing");
    }
}

/* The row of an equal suffix in a later range was not read yet. */
KW_TEST(test_equal_suffixes, "/gather/bounds-edges/equal-suffixes")
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    kw_range ranges[2] = {{.start = kw_bytes_of_text("pa"), .stop = kw_bytes_of_text("pz"), .skip = 1},
                          {.start = kw_bytes_of_text("qa"), .stop = kw_bytes_of_text("qz"), .skip = 1}};
    kw_position position = AFTER("m", 0);
    kw_bytes start, stop;
    for (int reversed = 0; reversed < 2; reversed++) {
        kw_plan plan = {.ranges = ranges, .ranges_count = 2, .reversed = reversed};
        g_assert_true(kw_range_left(&plan, 1, &position, arena, &start, &stop));
        g_assert_true(kw_bytes_equal(start, kw_bytes_of_text(reversed ? "qa" : "qm")));
        g_assert_true(kw_bytes_equal(stop, reversed ? KW_BYTES_LITERAL("qm\0") : kw_bytes_of_text("qz")));
    }
}

/* After a key of the maximum length comes the next one of this length, without the bytes that cannot be
 * increased. */
KW_TEST(test_after_longest_key, "/gather/bounds-edges/after-longest-key")
{
    static const struct {
        size_t others; /* bytes 0xff at the end */
        bool any;
    } ends[] = {
        {0, true}, {1, true}, {5, true}, {KW_STORE_ROW_KEY_MAX - 1, true}, {KW_STORE_ROW_KEY_MAX, false}};
    g_autofree uint8_t *key = g_malloc(KW_STORE_ROW_KEY_MAX);
    for (size_t i = 0; i < G_N_ELEMENTS(ends); i++) {
        g_autoptr(kw_arena) arena = kw_arena_new();
        kw_range range = {.start = KW_BYTES_LITERAL("a")};
        kw_plan plan = {.ranges = &range, .ranges_count = 1};
        memset(key, 'k', KW_STORE_ROW_KEY_MAX);
        memset(key + KW_STORE_ROW_KEY_MAX - ends[i].others, 0xff, ends[i].others);
        kw_position position = {.started = true, .suffix = kw_bytes_of(key, KW_STORE_ROW_KEY_MAX)};
        kw_bytes start, stop;
        g_assert_cmpint(kw_range_left(&plan, 0, &position, arena, &start, &stop), ==, ends[i].any);
        if (!ends[i].any)
            continue;
        size_t size = KW_STORE_ROW_KEY_MAX - ends[i].others;
        g_assert_cmpuint(start.size, ==, size);
        g_assert_cmpint(memcmp(start.data, key, size - 1), ==, 0);
        g_assert_cmpint(start.data[size - 1], ==, 'k' + 1);
    }
}

KW_TEST(test_fits, "/gather/bounds-edges/fits")
{
    kw_range ranges[3] = {{.group = 0}, {.group = 1, .skip = 2}, {.group = 1}};
    kw_merge_group groups[2] = {{0, 1}, {1, 2}};
    kw_plan plan = {.ranges = ranges, .ranges_count = 3, .groups = groups, .groups_count = 2};
    g_autofree uint8_t *suffix = g_malloc0(KW_STORE_ROW_KEY_MAX);
    kw_position good[] = {
        {.started = false, .group = 9, .range = 9},
        {.started = true, .group = 0, .range = 0},
        {.started = true, .group = 1, .range = 1, .suffix = kw_bytes_of(suffix, KW_STORE_ROW_KEY_MAX - 2)},
        {.started = true, .group = 1, .range = 2, .suffix = kw_bytes_of(suffix, KW_STORE_ROW_KEY_MAX)}};
    kw_position bad[] = {
        {.started = true, .group = 2, .range = 0},
        {.started = true, .group = 0, .range = 1},
        {.started = true, .group = 1, .range = 0},
        {.started = true, .group = 1, .range = 3},
        {.started = true, .group = 1, .range = 1, .suffix = kw_bytes_of(suffix, KW_STORE_ROW_KEY_MAX - 1)}};
    for (size_t i = 0; i < G_N_ELEMENTS(good); i++)
        g_assert_true(kw_position_fits(&plan, &good[i]));
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++)
        g_assert_false(kw_position_fits(&plan, &bad[i]));
}
