/* Byte strings sorted by their heads, against comparisons of whole strings. */
#include "base/arena.h"
#include "base/sorting.h"
#include "support/seeded.h"

enum { MOST = 60 };

/* A few letters after a beginning that most strings share: many differ late, begin others, or are equal. */
static kw_bytes
random_bytes(const char *beginning, int letters, kw_arena *arena)
{
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    g_byte_array_append(bytes, (const guint8 *)beginning, (guint)strlen(beginning));
    for (int left = g_test_rand_int_range(0, letters + 1); left > 0; left--) {
        guint8 letter = g_test_rand_bit() ? 'b' : '\0';
        g_byte_array_append(bytes, &letter, 1);
    }
    return kw_arena_copy(arena, kw_bytes_of(bytes->data, bytes->len));
}

static void
test_random(void)
{
    static const char *const beginnings[] = {"", "entry-", "a longer beginning of names "};
    for (int round = 0; round < 3000; round++) {
        g_autoptr(kw_arena) arena = kw_arena_new();
        kw_bytes all[MOST];
        kw_sort_item items[MOST];
        bool seen[MOST] = {false};
        size_t count = (size_t)g_test_rand_int_range(0, MOST + 1);
        for (size_t i = 0; i < count; i++) {
            all[i] = random_bytes(beginnings[round % 3], 1 + round % 20, arena);
            items[i] = (kw_sort_item){.bytes = all[i], .index = i};
        }
        kw_sort_items(items, count);
        for (size_t i = 0; i < count; i++) {
            g_assert_false(seen[items[i].index]);
            seen[items[i].index] = true;
            if (i == 0)
                continue;
            int order = kw_bytes_compare(all[items[i - 1].index], all[items[i].index]);
            g_assert_true(order < 0 || (order == 0 && items[i - 1].index < items[i].index));
            g_assert_true((order == 0) == kw_bytes_equal(items[i - 1].bytes, items[i].bytes));
        }
    }
}

int
main(int argc, char **argv)
{
    seeded_init(&argc, &argv);
    g_test_add_func("/base/sorting/random", test_random);
    return g_test_run();
}
