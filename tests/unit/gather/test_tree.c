/* The loser tree returns rows in the order of a sort, in both directions; leaves with equal heads are in the
 * order of their numbers. */
#include "gather/tree.h"

#include "base/clock.h"
#include "support/seed.h"

#include <glib.h>

typedef struct entry {
    char text[12];
    uint32_t leaf;
} entry;

static bool reversed_now;

static int
by_head(const void *left, const void *right)
{
    const entry *a = left, *b = right;
    int order = kw_bytes_compare(kw_bytes_of_text(a->text), kw_bytes_of_text(b->text));
    if (order)
        return reversed_now ? -order : order;
    return a->leaf < b->leaf ? -1 : a->leaf > b->leaf;
}

static void
set_head(kw_tree *tree, uint32_t leaf, kw_bytes head)
{
    kw_tree_set(tree, leaf, head, kw_tree_rank(tree, head));
}

static void
check_merge(uint32_t leaves, uint32_t per_leaf, uint32_t different)
{
    size_t count = (size_t)leaves * per_leaf;
    g_autofree entry *entries = g_new0(entry, count + 1);
    for (size_t i = 0; i < count; i++) {
        uint64_t n = kw_random_u64() % different;
        g_snprintf(entries[i].text, sizeof entries[i].text, n % 3 ? "%lu" : "common%04lu", (unsigned long)n);
        entries[i].leaf = (uint32_t)(i / per_leaf);
    }
    for (uint32_t leaf = 0; leaf < leaves; leaf++)
        qsort(entries + (size_t)leaf * per_leaf, per_leaf, sizeof(entry), by_head);
    g_autofree entry *sorted = g_memdup2(entries, (count + 1) * sizeof(entry));
    qsort(sorted, count, sizeof(entry), by_head);

    g_autofree uint32_t *at = g_new0(uint32_t, leaves);
    kw_tree *tree = kw_tree_new(leaves, reversed_now);
    for (uint32_t leaf = 0; leaf < leaves && per_leaf; leaf++)
        set_head(tree, leaf, kw_bytes_of_text(entries[(size_t)leaf * per_leaf].text));
    kw_tree_build(tree);
    for (size_t i = 0; i < count; i++) {
        uint32_t leaf = kw_tree_winner(tree);
        g_assert_cmpuint(leaf, ==, sorted[i].leaf);
        const entry *head = &entries[(size_t)leaf * per_leaf + at[leaf]];
        g_assert_cmpstr(head->text, ==, sorted[i].text);
        if (++at[leaf] < per_leaf)
            set_head(tree, leaf, kw_bytes_of_text(head[1].text));
        else
            kw_tree_close(tree, leaf);
        kw_tree_replay(tree);
    }
    g_assert_cmpuint(kw_tree_winner(tree), ==, KW_TREE_NONE);
    kw_tree_free(tree);
}

KW_TEST(test_sort, "/gather/tree/sort")
{
    kw_random_inject(test_seed());
    for (uint32_t leaves = 1; leaves < 40; leaves++) {
        for (int direction = 0; direction < 2; direction++) {
            reversed_now = direction;
            check_merge(leaves, (uint32_t)(kw_random_u64() % 30), 50);
            check_merge(leaves, 7, 1000000);
        }
    }
    check_merge(256, 20, 3000);
}

KW_TEST(test_short_heads, "/gather/tree/short heads")
{
    kw_tree *tree = kw_tree_new(3, false);
    set_head(tree, 0, kw_bytes_of("a\0", 2));
    set_head(tree, 1, kw_bytes_of("a", 1));
    set_head(tree, 2, KW_BYTES_NONE);
    kw_tree_build(tree);
    g_assert_cmpuint(kw_tree_winner(tree), ==, 2);
    kw_tree_close(tree, 2);
    kw_tree_replay(tree);
    g_assert_cmpuint(kw_tree_winner(tree), ==, 1);
    /* A head with the rank of a closed leaf still precedes the end. */
    set_head(tree, 1, kw_bytes_of("\xff\xff\xff\xff\xff\xff\xff\xff\xff", 9));
    kw_tree_replay(tree);
    g_assert_cmpuint(kw_tree_winner(tree), ==, 0);
    kw_tree_close(tree, 0);
    kw_tree_replay(tree);
    g_assert_cmpuint(kw_tree_winner(tree), ==, 1);
    kw_tree_free(tree);
}

/* The rank of a head depends on its own bytes only, not on those that follow it in memory. */
KW_TEST(test_rank_of_short_heads, "/gather/tree/rank of short heads")
{
    kw_tree *tree = kw_tree_new(1, false);
    for (size_t size = 0; size < 8; size++) {
        uint8_t alone[8] = {0};
        memcpy(alone, "abcdefgh", size);
        g_assert_true(kw_tree_rank(tree, kw_bytes_of("abcdefgh", size)) ==
                      kw_tree_rank(tree, kw_bytes_of(alone, size)));
    }
    kw_tree_free(tree);
}
