/* Nodes 1 to k-1 hold the loser of their match, node 0 the overall winner; leaf i is a child of node (i + k)
 * / 2. The first eight bytes of every head are stored with it as a number (inverted in a reversed tree), so
 * that most matches access only the nodes.
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

/* Added to the number of a leaf that has no more heads, so that closed leaves sort last. */
#define CLOSED (UINT32_C(1) << 31)

/* One side of a match. */
typedef struct entrant {
    uint64_t rank;
    kw_bytes head;
    uint64_t state; /* the number of its leaf, plus CLOSED if it has no more heads */
} entrant;

/* A node's rank and leaf are in separate arrays, so that compilers do not move both as one vector. */
struct kw_tree {
    uint32_t leaves;
    bool reversed;
    uint64_t *node_ranks;
    uint32_t *node_leaves;
    entrant *entrants; /* indexed by leaf */
};

kw_tree *
kw_tree_new(uint32_t leaves, bool reversed)
{
    g_assert(leaves > 0 && leaves < CLOSED);
    kw_tree *tree = g_new0(kw_tree, 1);
    tree->leaves = leaves;
    tree->reversed = reversed;
    tree->node_ranks = g_new0(uint64_t, leaves);
    tree->node_leaves = g_new0(uint32_t, leaves);
    tree->entrants = g_new0(entrant, leaves);
    for (uint32_t leaf = 0; leaf < leaves; leaf++)
        kw_tree_close(tree, leaf);
    return tree;
}

void
kw_tree_free(kw_tree *tree)
{
    if (!tree)
        return;
    g_free(tree->node_ranks);
    g_free(tree->node_leaves);
    g_free(tree->entrants);
    g_free(tree);
}

uint64_t
kw_tree_rank(const kw_tree *tree, kw_bytes head)
{
    uint64_t flip = tree->reversed ? UINT64_MAX : 0;
    if (head.size >= 8)
        return kw_be64_load(head.data) ^ flip;
    uint8_t padded[8] = {0};
    if (head.size)
        memcpy(padded, head.data, head.size);
    return kw_be64_load(padded) ^ flip;
}

void
kw_tree_set(kw_tree *tree, uint32_t leaf, kw_bytes head, uint64_t rank)
{
    tree->entrants[leaf] = (entrant){.rank = rank, .head = head, .state = leaf};
}

void
kw_tree_close(kw_tree *tree, uint32_t leaf)
{
    tree->entrants[leaf] = (entrant){.rank = UINT64_MAX, .state = leaf | CLOSED};
}

static bool __attribute__((noinline)) beats_at_equal_rank(const kw_tree *tree, uint32_t a, uint32_t b)
{
    if ((a | b) & CLOSED)
        return a < b;
    int order = kw_bytes_compare(tree->entrants[a].head, tree->entrants[b].head);
    if (order == 0)
        return a < b;
    return tree->reversed ? order > 0 : order < 0;
}

static bool
beats(const kw_tree *tree, uint32_t a, uint32_t b)
{
    uint64_t rank_a = tree->entrants[a & ~CLOSED].rank, rank_b = tree->entrants[b & ~CLOSED].rank;
    return rank_a == rank_b ? beats_at_equal_rank(tree, a, b) : rank_a < rank_b;
}

static void
seat(kw_tree *tree, size_t node, uint32_t state)
{
    tree->node_ranks[node] = tree->entrants[state & ~CLOSED].rank;
    tree->node_leaves[node] = state;
}

void
kw_tree_build(kw_tree *tree)
{
    size_t leaves = tree->leaves;
    g_autofree uint32_t *winners = g_new0(uint32_t, 2 * leaves);
    for (size_t leaf = 0; leaf < leaves; leaf++)
        winners[leaves + leaf] = (uint32_t)tree->entrants[leaf].state;
    for (size_t node = leaves - 1; node >= 1; node--) {
        uint32_t left = winners[2 * node], right = winners[2 * node + 1];
        bool right_wins = beats(tree, right, left);
        winners[node] = right_wins ? right : left;
        seat(tree, node, right_wins ? left : right);
    }
    seat(tree, 0, winners[1]);
}

/* The processor cannot predict the winner: exchanging without a branch halves the time per row. */
void
kw_tree_replay(kw_tree *tree)
{
    uint64_t *ranks = tree->node_ranks;
    uint32_t *leaves = tree->node_leaves;
    uint32_t from = leaves[0] & ~CLOSED;
    uint64_t rank = tree->entrants[from].rank;
    uint32_t leaf = (uint32_t)tree->entrants[from].state;
    for (size_t node = (from + (size_t)tree->leaves) / 2; node >= 1; node /= 2) {
        uint64_t other_rank = ranks[node];
        uint32_t other_leaf = leaves[node];
        bool exchange = other_rank < rank;
        if (other_rank == rank)
            exchange = beats_at_equal_rank(tree, other_leaf, leaf);
        uint64_t rank_bits = (other_rank ^ rank) & -(uint64_t)exchange;
        uint32_t leaf_bits = (other_leaf ^ leaf) & -(uint32_t)exchange;
        ranks[node] = other_rank ^ rank_bits;
        leaves[node] = other_leaf ^ leaf_bits;
        rank ^= rank_bits;
        leaf ^= leaf_bits;
    }
    ranks[0] = rank;
    leaves[0] = leaf;
}

uint32_t
kw_tree_winner(const kw_tree *tree)
{
    uint32_t leaf = tree->node_leaves[0];
    return leaf & CLOSED ? KW_TREE_NONE : leaf;
}
