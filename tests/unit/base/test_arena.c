/* An arena returns aligned, separate memory, frees it as a whole, and can move to another thread. */
#include "base/arena.h"

#include "base/clock.h"
#include "base/thread.h"
#include "support/seed.h"

#include <string.h>

KW_TEST(allocations_are_aligned_and_separate, "/base/arena/pieces")
{
    kw_random_inject(test_seed());
    g_autoptr(kw_arena) arena = kw_arena_new();
    enum { COUNT = 4000 };
    static uint8_t *pieces[COUNT];
    static size_t sizes[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        sizes[i] = kw_random_u64() % (i % 50 == 0 ? 40000 : 200);
        pieces[i] = kw_arena_alloc(arena, sizes[i]);
        g_assert_cmpuint((uintptr_t)pieces[i] % 16, ==, 0);
        memset(pieces[i], (int)(i % 251), sizes[i]);
    }
    for (size_t i = 0; i < COUNT; i++)
        for (size_t j = 0; j < sizes[i]; j++)
            g_assert_cmpuint(pieces[i][j], ==, i % 251);
}

KW_TEST(an_empty_allocation_is_valid, "/base/arena/nothing")
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    void *first = kw_arena_alloc(arena, 0);
    void *second = kw_arena_alloc(arena, 0);
    g_assert_nonnull(first);
    g_assert_true(first != second);
    g_assert_cmpuint(kw_arena_copy(arena, KW_BYTES_NONE).size, ==, 0);
}

KW_TEST(zeroed_when_asked, "/base/arena/zeroed")
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    for (int round = 0; round < 3; round++) {
        memset(kw_arena_alloc(arena, 1000), 0xff, 1000);
        kw_arena_reset(arena);
        const uint8_t *zeros = kw_arena_alloc0(arena, 500);
        const uint64_t *numbers = KW_ARENA_ARRAY(arena, uint64_t, 60);
        for (size_t i = 0; i < 500; i++)
            g_assert_cmpuint(zeros[i], ==, 0);
        for (size_t i = 0; i < 60; i++)
            g_assert_cmpuint(numbers[i], ==, 0);
    }
}

KW_TEST(copies_and_texts, "/base/arena/copies")
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    char source[] = "one\0two";
    kw_bytes copy = kw_arena_copy(arena, kw_bytes_of(source, 7));
    char *text = kw_arena_text(arena, kw_bytes_of(source, 3));
    memset(source, 'x', sizeof source);
    g_assert_true(copy.size == 7 && memcmp(copy.data, "one\0two", 7) == 0);
    g_assert_cmpstr(text, ==, "one");
    g_assert_cmpstr(kw_arena_printf(arena, "%s-%d", "a", 5), ==, "a-5");
}

KW_TEST(allocated_bytes_are_counted, "/base/arena/used")
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    g_assert_cmpuint(kw_arena_used(arena), ==, 0);
    kw_arena_alloc(arena, 100);
    kw_arena_alloc(arena, 100000);
    g_assert_cmpuint(kw_arena_used(arena), >=, 100100);
    g_assert_cmpuint(kw_arena_used(arena), <, 100200);
    kw_arena_reset(arena);
    g_assert_cmpuint(kw_arena_used(arena), ==, 0);
    kw_arena_free(NULL);
}

KW_TEST(an_arena_adopts_another, "/base/arena/adopt")
{
    for (size_t many = 1; many <= 3000; many *= 10) {
        g_autoptr(kw_arena) arena = kw_arena_new();
        char *own = kw_arena_printf(arena, "own %zu", many);
        kw_arena *other = kw_arena_new();
        char *first = kw_arena_printf(other, "first %zu", many), *last = NULL;
        for (size_t i = 0; i < many; i++)
            last = kw_arena_printf(other, "%zu of %zu", i + 1, many);
        size_t used = kw_arena_used(arena) + kw_arena_used(other);
        kw_arena_adopt(arena, other);
        g_assert_cmpuint(kw_arena_used(arena), ==, used);
        for (size_t i = 0; i < 200; i++)
            memset(kw_arena_alloc(arena, 100), 7, 100);
        memset(kw_arena_alloc(arena, 100000), 7, 100000);
        g_autofree char *expected = g_strdup_printf("%zu of %zu", many, many);
        g_assert_cmpstr(last, ==, expected);
        g_assert_true(g_str_has_prefix(own, "own ") && g_str_has_prefix(first, "first "));
        kw_arena_reset(arena);
        memset(kw_arena_alloc(arena, 3000), 7, 3000);
    }
}

KW_TEST(an_overflowing_product_aborts, "/base/arena/overflow")
{
    if (g_test_subprocess()) {
        g_autoptr(kw_arena) arena = kw_arena_new();
        kw_arena_array(arena, SIZE_MAX / 4, 8);
        return;
    }
    g_test_trap_subprocess(NULL, 0, 0);
    g_test_trap_assert_failed();
}

/* Creates an arena, fills it on another thread, and reads and frees it here, like a call whose work is done
 * by a worker thread. */
static void
fill_elsewhere(void *user)
{
    kw_arena *arena = user;
    for (size_t i = 0; i < 1000; i++)
        memset(kw_arena_alloc(arena, 100), 7, 100);
}

KW_TEST(an_arena_moves_between_threads, "/base/arena/threads")
{
    for (int round = 0; round < 20; round++) {
        g_autoptr(kw_arena) arena = kw_arena_new();
        char *mine = kw_arena_printf(arena, "round %d", round);
        kw_thread thread;
        kw_thread_start(&thread, "fill", fill_elsewhere, arena);
        kw_thread_join(&thread);
        g_assert_true(g_str_has_prefix(mine, "round "));
        g_assert_cmpuint(kw_arena_used(arena), >=, 100000);
    }
}

/* Rewinding frees what was allocated after the mark, and does not change anything allocated before. */
KW_TEST(rewinding_frees_newer_memory, "/base/arena/rewind")
{
    kw_random_inject(test_seed());
    kw_account *account = kw_account_new();
    kw_arena *arena = kw_arena_new_for(account, KW_MEMORY_ROWS);
    for (int round = 0; round < 200; round++) {
        size_t kept_size = 1 + kw_random_u64() % (round % 10 == 0 ? 30000 : 300);
        uint8_t *kept = kw_arena_alloc(arena, kept_size);
        memset(kept, round, kept_size);
        size_t used = kw_arena_used(arena);
        int64_t charged = kw_account_bytes(account);
        kw_arena_mark mark = kw_arena_mark_now(arena);
        for (uint64_t i = kw_random_u64() % 40; i > 0; i--) {
            size_t size = kw_random_u64() % (i % 5 == 0 ? 100000 : 500);
            memset(kw_arena_alloc(arena, size), 0xff, size);
        }
        kw_arena_rewind(arena, mark);
        g_assert_cmpuint(kw_arena_used(arena), ==, used);
        g_assert_cmpint(kw_account_bytes(account), ==, charged);
        for (size_t i = 0; i < kept_size; i++)
            g_assert_cmpint(kept[i], ==, round % 256);
    }
    kw_arena_free(arena);
    g_assert_cmpint(kw_account_bytes(account), ==, 0);
    kw_account_unref(account);
}
