/* Blocks of input: their sizes, the pools of spare blocks, the size of a block for a message of which only
 * the length has arrived, and the charges of the account. */
#include "net/frame.h"

#include <glib.h>

#define KIB ((size_t)1024)

static int64_t
charge_of(const kw_frame *frame)
{
    return (int64_t)(sizeof *frame + frame->capacity);
}

/* Returns a block with `filled` bytes. */
static kw_frame *
filled_frame(kw_frame_pool *pool, size_t capacity, size_t filled, kw_account *account)
{
    kw_frame *frame = kw_frame_take(pool, capacity, account);
    memset(frame->data, 'a', filled);
    frame->filled = filled;
    return frame;
}

KW_TEST(test_sizes, "/net/frame-pool/sizes")
{
    static const struct {
        size_t wanted, capacity;
    } cases[] = {
        {1, KW_FRAME_SMALL},
        {KW_FRAME_SMALL, KW_FRAME_SMALL},
        {KW_FRAME_SMALL + 1, KW_FRAME_BLOCK},
        {KW_FRAME_BLOCK, KW_FRAME_BLOCK},
        {KW_FRAME_BLOCK + 1, KW_FRAME_BLOCK + 1},
    };
    kw_frame_pool pool = {0};
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        kw_frame *frame = kw_frame_take(&pool, cases[i].wanted, NULL);
        g_assert_cmpuint(frame->capacity, ==, cases[i].capacity);
        g_assert_cmpuint(frame->filled, ==, 0);
        g_assert_cmpuint(frame->refs, ==, 1);
        kw_frame_unref(&pool, frame);
    }
    kw_frame_pool_clear(&pool);
    g_assert_null(pool.small.first);
    g_assert_null(pool.blocks.first);
    g_assert_cmpuint(pool.small.count + pool.blocks.count, ==, 0);
}

KW_TEST(test_spare_blocks_are_used_again, "/net/frame-pool/used-again")
{
    /* With ASan no block is reused, so that ASan detects a use after the last reference. */
#if !defined(__SANITIZE_ADDRESS__)
    static const size_t sizes[] = {KW_FRAME_SMALL, KW_FRAME_BLOCK};
    for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
        kw_frame_pool pool = {0};
        const kw_frame_list *list = i == 0 ? &pool.small : &pool.blocks;
        const kw_frame_list *other = i == 0 ? &pool.blocks : &pool.small;
        kw_frame *one = filled_frame(&pool, sizes[i], 10, NULL);
        kw_frame *two = kw_frame_take(&pool, sizes[i], NULL);
        kw_frame_unref(&pool, kw_frame_ref(one));
        g_assert_cmpuint(list->count, ==, 0);
        kw_frame_unref(&pool, one);
        kw_frame_unref(&pool, two);
        g_assert_cmpuint(list->count, ==, 2);
        g_assert_cmpuint(other->count, ==, 0);
        kw_frame *large = kw_frame_take(&pool, KW_FRAME_BLOCK + 1, NULL);
        g_assert_true(large != one && large != two);
        g_assert_true(kw_frame_take(&pool, sizes[i], NULL) == two);
        g_assert_true(kw_frame_take(&pool, sizes[i], NULL) == one);
        g_assert_cmpuint(one->filled, ==, 0);
        g_assert_null(one->next);
        g_assert_null(two->next);
        g_assert_cmpuint(list->count, ==, 0);
        kw_frame_unref(&pool, large);
        g_assert_cmpuint(pool.blocks.count + pool.small.count, ==, 0);
        kw_frame_unref(&pool, one);
        kw_frame_unref(&pool, two);
        kw_frame_pool_clear(&pool);
    }
#endif
}

/* 2 MiB of small blocks and 8 MiB of large ones stay, plus the block that reaches the limit. */
KW_TEST(test_pools_are_bounded, "/net/frame-pool/bounded")
{
#if !defined(__SANITIZE_ADDRESS__)
    static const struct {
        size_t capacity, limit_bytes;
    } cases[] = {{KW_FRAME_SMALL, 2 * KIB * KIB}, {KW_FRAME_BLOCK, 8 * KIB * KIB}};
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        kw_frame_pool pool = {0};
        const kw_frame_list *list = i == 0 ? &pool.small : &pool.blocks;
        size_t most = (cases[i].limit_bytes + cases[i].capacity - 1) / cases[i].capacity;
        g_autoptr(GPtrArray) frames = g_ptr_array_new();
        for (size_t n = 0; n < most + 10; n++)
            g_ptr_array_add(frames, kw_frame_take(&pool, cases[i].capacity, NULL));
        for (guint n = 0; n < frames->len; n++)
            kw_frame_unref(&pool, frames->pdata[n]);
        g_assert_cmpuint(list->count, ==, most);
        kw_frame_pool_clear(&pool);
    }
#endif
}

/* While memory is short, no block stays. */
KW_TEST(test_no_spare_blocks_while_memory_is_short, "/net/frame-pool/no-spare-blocks")
{
    static const int64_t budget = 16 << 20, used = 14 << 20;
    kw_budget_configure(budget);
    kw_budget_charge(KW_MEMORY_CALLS, used);
    kw_budget_settle();
    kw_frame_pool pool = {0};
    kw_frame_unref(&pool, kw_frame_take(&pool, KW_FRAME_SMALL, NULL));
    kw_frame_unref(&pool, kw_frame_take(&pool, KW_FRAME_BLOCK, NULL));
    g_assert_cmpuint(pool.small.count + pool.blocks.count, ==, 0);
    kw_frame_pool_clear(&pool);
    kw_budget_charge(KW_MEMORY_CALLS, -used);
    kw_budget_settle();
    kw_budget_configure(0);
}

KW_TEST(test_accounts_are_charged, "/net/frame-pool/charges")
{
    kw_frame_pool pool = {0};
    kw_account *account = kw_account_new();
    kw_frame *small = kw_frame_take(&pool, 1, account);
    kw_frame *large = kw_frame_take(&pool, 50 * KIB, account);
    g_assert_cmpint(kw_account_bytes(account), ==, charge_of(small) + charge_of(large));
    kw_frame_unref(&pool, kw_frame_ref(small));
    g_assert_cmpint(kw_account_bytes(account), ==, charge_of(small) + charge_of(large));
    size_t start = 0;
    large = kw_frame_reserve(&pool, large, &start, 60 * KIB, 60 * KIB);
    g_assert_cmpint(kw_account_bytes(account), ==, charge_of(small) + charge_of(large));
    kw_frame_unref(&pool, small);
    g_assert_cmpint(kw_account_bytes(account), ==, charge_of(large));
    kw_frame_unref(&pool, large);
    g_assert_cmpint(kw_account_bytes(account), ==, 0);
    kw_frame_unref(&pool, NULL);
    kw_frame_pool_clear(&pool);
    kw_account_unref(account);
}

/* The capacity of a block of 16 KiB with `filled` bytes after kw_frame_reserve. */
static size_t
grown_capacity(size_t filled, size_t needed, size_t wanted)
{
    kw_frame_pool pool = {0};
    size_t start = 0;
    kw_frame *frame = filled_frame(&pool, MAX(filled, KW_FRAME_BLOCK), filled, NULL);
    frame = kw_frame_reserve(&pool, frame, &start, needed, wanted);
    g_assert_cmpuint(frame->filled, ==, filled);
    for (size_t i = 0; i < filled; i++)
        g_assert_cmpint(frame->data[i], ==, 'a');
    size_t capacity = frame->capacity;
    kw_frame_unref(&pool, frame);
    kw_frame_pool_clear(&pool);
    return capacity;
}

/* A block that has the needed space stays. Otherwise its successor has space for twice the bytes that
 * arrived, never more than wanted, and never less than needed. */
KW_TEST(test_growth, "/net/frame-pool/growth")
{
    g_assert_cmpuint(grown_capacity(100, 101, 20 * KIB), ==, KW_FRAME_BLOCK);
    g_assert_cmpuint(grown_capacity(15 * KIB, 17 * KIB, 100 * KIB), ==, 30 * KIB);
    g_assert_cmpuint(grown_capacity(15 * KIB, 17 * KIB, 20 * KIB), ==, 20 * KIB);
    g_assert_cmpuint(grown_capacity(40 * KIB, 40 * KIB + 1, 100 * KIB), ==, 80 * KIB);
    g_assert_cmpuint(grown_capacity(40 * KIB, 40 * KIB + 1, 70 * KIB), ==, 70 * KIB);
    g_assert_cmpuint(grown_capacity(10 * KIB, 90 * KIB, 95 * KIB), ==, 90 * KIB);
}

/* What kw_frame_reserve allocates in addition. A block of the standard size is not counted. */
KW_TEST(test_announced_growth, "/net/frame-pool/announced-growth")
{
    kw_frame_pool pool = {0};
    kw_frame *frame = filled_frame(&pool, 40 * KIB, 40 * KIB, NULL);
    g_assert_cmpuint(kw_frame_growth(frame, 0, 40 * KIB, 100 * KIB), ==, 0);
    g_assert_cmpuint(kw_frame_growth(frame, 0, 41 * KIB, 100 * KIB), ==, 40 * KIB);
    g_assert_cmpuint(kw_frame_growth(frame, 0, 41 * KIB, 41 * KIB), ==, KIB);
    g_assert_cmpuint(kw_frame_growth(frame, 39 * KIB, 3 * KIB, 100 * KIB), ==, 0);
    kw_frame_ref(frame);
    g_assert_cmpuint(kw_frame_growth(frame, 0, 41 * KIB, 100 * KIB), ==, 80 * KIB);
    kw_frame_unref(&pool, frame);
    kw_frame_unref(&pool, frame);
    frame = filled_frame(&pool, KW_FRAME_SMALL, KW_FRAME_SMALL, NULL);
    g_assert_cmpuint(kw_frame_growth(frame, 0, KW_FRAME_SMALL + 1, 100 * KIB), ==, 0);
    kw_frame_unref(&pool, frame);
    kw_frame_pool_clear(&pool);
}

KW_TEST(test_a_block_with_space_stays, "/net/frame-pool/enough-space")
{
    kw_frame_pool pool = {0};
    kw_frame *frame = filled_frame(&pool, KW_FRAME_BLOCK, 500, NULL);
    size_t start = 300;
    g_assert_true(kw_frame_reserve(&pool, frame, &start, KW_FRAME_BLOCK - 300, KW_FRAME_BLOCK - 300) ==
                  frame);
    g_assert_cmpuint(start, ==, 300);
    kw_frame *moved = kw_frame_reserve(&pool, frame, &start, KW_FRAME_BLOCK - 299, KW_FRAME_BLOCK - 299);
    g_assert_cmpuint(start, ==, 0);
    g_assert_cmpuint(moved->filled, ==, 200);
    g_assert_cmpuint(moved->capacity, >=, KW_FRAME_BLOCK - 299);
    kw_frame_unref(&pool, moved);
    kw_frame_pool_clear(&pool);
}

/* A block that a request holds is neither moved nor extended, even if the message begins at the start of the
 * block. */
KW_TEST(test_a_held_block_is_not_moved, "/net/frame-pool/held")
{
    kw_frame_pool pool = {0};
    kw_frame *held = kw_frame_ref(filled_frame(&pool, KW_FRAME_BLOCK, 500, NULL));
    size_t start = 0;
    kw_frame *frame = kw_frame_reserve(&pool, held, &start, 40 * KIB, 40 * KIB);
    g_assert_true(frame != held);
    g_assert_cmpuint(held->refs, ==, 1);
    g_assert_cmpuint(held->capacity, ==, KW_FRAME_BLOCK);
    g_assert_cmpuint(frame->filled, ==, 500);
    g_assert_cmpint(frame->data[499], ==, 'a');
    kw_frame_unref(&pool, frame);
    kw_frame_unref(&pool, held);
    kw_frame_pool_clear(&pool);
}
