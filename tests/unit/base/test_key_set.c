/* Random sets of byte strings, against a hash table of GLib. */
#include "base/key_set.h"

#include <glib.h>

static guint
hash(gconstpointer key)
{
    return (guint)kw_bytes_hash(*(const kw_bytes *)key);
}

static gboolean
equal(gconstpointer left, gconstpointer right)
{
    return kw_bytes_equal(*(const kw_bytes *)left, *(const kw_bytes *)right);
}

static kw_bytes
random_key(int letters, kw_arena *arena)
{
    size_t size = (size_t)g_test_rand_int_range(0, 4);
    uint8_t *bytes = kw_arena_alloc(arena, size);
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)g_test_rand_int_range(0, letters);
    return kw_bytes_of(bytes, size);
}

KW_TEST(test_random, "/base/key-set/random")
{
    for (int round = 0; round < 200; round++) {
        g_autoptr(kw_arena) arena = kw_arena_new();
        g_autoptr(GHashTable) wanted = g_hash_table_new(hash, equal);
        kw_key_set set = kw_key_set_in(arena);
        for (int i = 0; i < round * 10; i++) {
            bool is_new;
            kw_bytes *key = KW_ARENA_NEW(arena, kw_bytes);
            *key = random_key(1 + round % 9, arena);
            bool there = g_hash_table_contains(wanted, key);
            g_assert_cmpint(kw_key_set_has(&set, *key), ==, there);
            if (g_test_rand_bit())
                continue;
            uint32_t number = kw_key_set_add(&set, *key, &is_new);
            g_assert_cmpint(is_new, ==, !there);
            if (is_new)
                g_hash_table_insert(wanted, key, GUINT_TO_POINTER(number));
            g_assert_cmpuint(number, ==, GPOINTER_TO_UINT(g_hash_table_lookup(wanted, key)));
            g_assert_true(kw_bytes_equal(set.keys[number], *key));
        }
        g_assert_cmpuint(set.count, ==, g_hash_table_size(wanted));
    }
}
