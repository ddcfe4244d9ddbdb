/* Compares patterns with brute force: which keys match, and that kw_patterns_next skips no matching key.
 * Prints the seed. */
#include "base/pattern.h"
#include "support/seeded.h"

/* All keys of up to LONGEST of these letters. */
#define LETTERS 4
#define LONGEST 4
static const uint8_t letters[LETTERS] = {0x00, 0x07, 0x08, 0xff};

static kw_bytes
random_bytes(size_t size, kw_arena *arena)
{
    uint8_t *bytes = kw_arena_alloc(arena, size);
    for (size_t i = 0; i < size; i++)
        bytes[i] = letters[g_test_rand_int_range(0, LETTERS)];
    return kw_bytes_of(bytes, size);
}

static kw_patterns
random_patterns(kw_arena *arena)
{
    size_t count = (size_t)g_test_rand_int_range(1, 4);
    kw_pattern *items = KW_ARENA_ARRAY(arena, kw_pattern, count);
    kw_patterns made = {.items = items, .count = count, .at = (size_t)g_test_rand_int_range(0, 3)};
    for (size_t i = 0; i < count; i++) {
        size_t size = (size_t)g_test_rand_int_range(1, LONGEST + 1 - (int)made.at);
        uint8_t *mask = kw_arena_alloc(arena, size);
        for (size_t k = 0; k < size; k++)
            mask[k] = (uint8_t)g_test_rand_int_range(0, 2);
        items[i] = (kw_pattern){.bytes = random_bytes(size, arena), .mask = mask};
    }
    return made;
}

static bool
matches(const kw_patterns *patterns, kw_bytes key)
{
    for (size_t i = 0; i < patterns->count; i++) {
        bool all = true;
        for (size_t k = 0; k < patterns->items[i].bytes.size && patterns->at + k < key.size; k++)
            all = all && (patterns->items[i].mask[k] ||
                          patterns->items[i].bytes.data[k] == key.data[patterns->at + k]);
        if (all)
            return true;
    }
    return false;
}

/* Returns every key of LONGEST letters, in order. Shorter keys can be shorter than a pattern. */
static size_t
every_key(kw_arena *arena, kw_bytes **ret_keys)
{
    size_t count = 1;
    for (int i = 0; i < LONGEST; i++)
        count *= LETTERS;
    kw_bytes *keys = KW_ARENA_ARRAY(arena, kw_bytes, count);
    for (size_t number = 0; number < count; number++) {
        uint8_t *key = kw_arena_alloc(arena, LONGEST);
        size_t rest = number;
        for (int i = LONGEST - 1; i >= 0; i--, rest /= LETTERS)
            key[i] = letters[rest % LETTERS];
        keys[number] = kw_bytes_of(key, LONGEST);
    }
    *ret_keys = keys;
    return count;
}

/* Checks that the step from keys[at] skips no matching key, and moves in the right direction. */
static void
check_step(const kw_patterns *patterns, const kw_bytes *keys, size_t count, size_t at, bool reversed)
{
    kw_buffer to = KW_BUFFER_EMPTY;
    bool found = kw_patterns_next(patterns, keys[at], reversed, &to);
    kw_bytes step = kw_buffer_bytes(&to);
    int order = found ? kw_bytes_compare(step, keys[at]) : 0;
    g_assert_true(!found || (reversed ? order < 0 : order > 0));
    for (size_t i = reversed ? 0 : at + 1; i < (reversed ? at : count); i++) {
        bool is_after = reversed ? kw_bytes_compare(keys[i], step) > 0 && !kw_bytes_starts_with(keys[i], step)
                                 : kw_bytes_compare(keys[i], step) < 0;
        if (!found || is_after)
            g_assert_false(matches(patterns, keys[i]));
    }
    kw_buffer_clear(&to);
}

static void
test_steps(void)
{
    size_t missed = 0;
    for (int round = 0; round < 400; round++) {
        g_autoptr(kw_arena) arena = kw_arena_new();
        kw_patterns drawn = random_patterns(arena), patterns = kw_patterns_copy(&drawn, arena);
        kw_bytes *keys;
        size_t count = every_key(arena, &keys);
        for (size_t i = 0; i < count; i++) {
            bool match = kw_patterns_match(&patterns, keys[i]);
            g_assert_true(match == matches(&drawn, keys[i]));
            missed += !match;
            if (match)
                continue;
            check_step(&patterns, keys, count, i, false);
            check_step(&patterns, keys, count, i, true);
        }
    }
    g_assert_cmpuint(missed, >, 1000);
}

static void
expect_next(const kw_patterns *patterns, kw_bytes key, bool reversed, kw_bytes expected)
{
    kw_buffer to = KW_BUFFER_EMPTY;
    g_assert_true(kw_patterns_next(patterns, key, reversed, &to));
    g_assert_true(kw_bytes_equal(kw_buffer_bytes(&to), expected));
    kw_buffer_clear(&to);
}

static void
test_known(void)
{
    static const uint8_t mask[] = {0, 1, 0};
    const kw_pattern one = {.bytes = KW_BYTES_LITERAL("a?c"), .mask = mask};
    kw_patterns patterns = {.items = &one, .count = 1, .at = 2};
    kw_buffer to = KW_BUFFER_EMPTY;
    g_assert_true(kw_patterns_match(&patterns, KW_BYTES_LITERAL("xyabcz")));
    g_assert_true(kw_patterns_match(&patterns, KW_BYTES_LITERAL("xya"))); /* the present bytes match */
    g_assert_false(kw_patterns_match(&patterns, KW_BYTES_LITERAL("xyabd")));
    expect_next(&patterns, KW_BYTES_LITERAL("xyabd"), false, KW_BYTES_LITERAL("xyacc"));
    expect_next(&patterns, KW_BYTES_LITERAL("xybbc"), false, KW_BYTES_LITERAL("xza\0c"));
    expect_next(&patterns, KW_BYTES_LITERAL("xybbc"), true, KW_BYTES_LITERAL("xya\377c"));
    g_assert_false(kw_patterns_next(&patterns, KW_BYTES_LITERAL("\377\377bbc"), false, &to));
    patterns.count = 0;
    g_assert_true(kw_patterns_match(&patterns, KW_BYTES_LITERAL("x")));
    kw_buffer_clear(&to);
}

int
main(int argc, char **argv)
{
    seeded_init(&argc, &argv);
    g_test_add_func("/base/pattern/known", test_known);
    g_test_add_func("/base/pattern/steps", test_steps);
    return g_test_run();
}
