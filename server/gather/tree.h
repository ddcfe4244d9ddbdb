/* A loser tree: finds the smallest of k heads with log2(k) comparisons per row. Most comparisons compare only
 * one integer.
 *
 * Each leaf is a stream; its head is a byte string that the stream owns. A reversed tree finds the largest
 * head. Equal heads are returned in the order of their leaves, in both directions. Pure.
 */
#pragma once

#include "base/bytes.h"

typedef struct kw_tree kw_tree;

#define KW_TREE_NONE UINT32_MAX

kw_tree *kw_tree_new(uint32_t leaves, bool reversed);
void kw_tree_free(kw_tree *tree);

/* The first bytes of a head as a number with the same order (inverted in a reversed tree). */
uint64_t kw_tree_rank(const kw_tree *tree, kw_bytes head);
/* Sets a leaf's head and rank; the head is borrowed until the next set. Takes effect with build or replay. */
void kw_tree_set(kw_tree *tree, uint32_t leaf, kw_bytes head, uint64_t rank);
/* Marks the leaf as having no more heads. */
void kw_tree_close(kw_tree *tree, uint32_t leaf);

/* Call it after every leaf was set or closed once. */
void kw_tree_build(kw_tree *tree);
/* Call it after the winner was set or closed. */
void kw_tree_replay(kw_tree *tree);

/* KW_TREE_NONE if every leaf is closed. */
uint32_t kw_tree_winner(const kw_tree *tree);
