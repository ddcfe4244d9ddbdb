/* A loser tree: the smallest of k heads in log2(k) comparisons a row, most of them of one integer.
 *
 * Each leaf is a stream; its head is a byte string that the stream owns. In a reversed tree the largest
 * comes first. Equal heads come in the order of their leaves, in both directions. Pure.
 */
#pragma once

#include "base/bytes.h"

typedef struct kw_tree kw_tree;

#define KW_TREE_NONE UINT32_MAX

kw_tree *kw_tree_new(uint32_t leaves, bool reversed);
void kw_tree_free(kw_tree *tree);

/* The first bytes of a head as a number that orders as they do (in a reversed tree the other way around). */
uint64_t kw_tree_rank(const kw_tree *tree, kw_bytes head);
/* A leaf's head with its rank; borrowed until it is set again. Takes effect with build or replay. */
void kw_tree_set(kw_tree *tree, uint32_t leaf, kw_bytes head, uint64_t rank);
/* The leaf has no more heads. */
void kw_tree_close(kw_tree *tree, uint32_t leaf);

/* After every leaf was set or closed once. */
void kw_tree_build(kw_tree *tree);
/* After the winner was set or closed. */
void kw_tree_replay(kw_tree *tree);

/* KW_TREE_NONE when every leaf is closed. */
uint32_t kw_tree_winner(const kw_tree *tree);
