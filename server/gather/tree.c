/* Nodes 1 .. k-1 hold the loser of the match played there, node 0 the winner of all; leaf i stands below
 * node (i + k) / 2. The first eight bytes of every head are kept beside it as a number (turned around for a
 * reversed tree), so that most matches touch nothing but the nodes.
 *
 *            [0] winner
 *             |
 *            [1]
 *          /     \
 *        [2]     [3]
 *       /   \   /   \
 *      l0   l1 l2   l3
 */
#include "gather/tree.h"

#include <glib.h>

typedef struct player {
    uint64_t rank;
    uint32_t leaf;
    bool closed;
} player;

struct kw_tree {
    uint32_t leaves;
    bool reversed;
    player *nodes;
    player *players; /* by leaf: what it enters its next match with */
    kw_bytes *heads;
};

kw_tree *
kw_tree_new(uint32_t leaves, bool reversed)
{
    g_assert(leaves > 0 && leaves < KW_TREE_NONE);
    kw_tree *tree = g_new0(kw_tree, 1);
    tree->leaves = leaves;
    tree->reversed = reversed;
    tree->nodes = g_new0(player, leaves);
    tree->players = g_new0(player, leaves);
    tree->heads = g_new0(kw_bytes, leaves);
    for (uint32_t leaf = 0; leaf < leaves; leaf++)
        kw_tree_close(tree, leaf);
    return tree;
}

void
kw_tree_free(kw_tree *tree)
{
    if (!tree)
        return;
    g_free(tree->nodes);
    g_free(tree->players);
    g_free(tree->heads);
    g_free(tree);
}

static uint64_t
rank_of(kw_bytes head)
{
    if (head.size >= 8)
        return kw_be64_load(head.data);
    uint8_t padded[8] = {0};
    if (head.size)
        memcpy(padded, head.data, head.size);
    return kw_be64_load(padded);
}

void
kw_tree_set(kw_tree *tree, uint32_t leaf, kw_bytes head)
{
    uint64_t rank = rank_of(head);
    tree->heads[leaf] = head;
    tree->players[leaf] = (player){.rank = tree->reversed ? ~rank : rank, .leaf = leaf};
}

void
kw_tree_close(kw_tree *tree, uint32_t leaf)
{
    tree->heads[leaf] = KW_BYTES_NONE;
    tree->players[leaf] = (player){.rank = UINT64_MAX, .leaf = leaf, .closed = true};
}

static bool __attribute__((noinline)) beats_at_equal_rank(const kw_tree *tree, player a, player b)
{
    if (a.closed || b.closed)
        return b.closed && (!a.closed || a.leaf < b.leaf);
    int order = kw_bytes_compare(tree->heads[a.leaf], tree->heads[b.leaf]);
    if (order == 0)
        return a.leaf < b.leaf;
    return tree->reversed ? order > 0 : order < 0;
}

static inline bool
beats(const kw_tree *tree, player a, player b)
{
    if (a.rank != b.rank)
        return a.rank < b.rank;
    return beats_at_equal_rank(tree, a, b);
}

void
kw_tree_build(kw_tree *tree)
{
    uint32_t leaves = tree->leaves;
    g_autofree player *winners = g_new0(player, 2 * (size_t)leaves);
    memcpy(winners + leaves, tree->players, leaves * sizeof(player));
    for (uint32_t node = leaves - 1; node >= 1; node--) {
        player left = winners[2 * node], right = winners[2 * node + 1];
        bool right_wins = beats(tree, right, left);
        winners[node] = right_wins ? right : left;
        tree->nodes[node] = right_wins ? left : right;
    }
    tree->nodes[0] = leaves == 1 ? tree->players[0] : winners[1];
}

void
kw_tree_replay(kw_tree *tree)
{
    player now = tree->players[tree->nodes[0].leaf];
    for (uint32_t node = (now.leaf + tree->leaves) / 2; node >= 1; node /= 2) {
        player other = tree->nodes[node];
        if (beats(tree, other, now)) {
            tree->nodes[node] = now;
            now = other;
        }
    }
    tree->nodes[0] = now;
}

uint32_t
kw_tree_winner(const kw_tree *tree)
{
    return tree->nodes[0].closed ? KW_TREE_NONE : tree->nodes[0].leaf;
}
