/* A policy file as a tree of nodes with their positions, not yet interpreted.
 *
 * Built from libyaml's events under fixed limits: size, depth, number of nodes. Anchors, aliases, tags,
 * duplicate keys, keys that are lists or maps, and second documents are problems. An alias and a value with a
 * NUL character become BROKEN nodes; readers report nothing more about them. The nodes around a problem are
 * damaged: their parts can be read, but some can be missing. */
#pragma once

#include "config/diagnostic.h"
#include "config/memory.h"

#define KW_NODE_SIZE_LIMIT ((size_t)1024 * 1024)
#define KW_NODE_DEPTH_LIMIT 16
#define KW_NODE_COUNT_LIMIT 100000

typedef enum kw_node_kind { KW_NODE_SCALAR, KW_NODE_LIST, KW_NODE_MAP, KW_NODE_BROKEN } kw_node_kind;

typedef struct kw_node {
    kw_node_kind kind;
    bool damaged; /* BROKEN, or the text within had a problem */
    bool lacks;   /* of a MAP: an entry was dropped because its key is not a scalar, or is BROKEN */
    kw_mark mark;
    /* SCALAR: NUL-terminated, without NUL inside. plain: written without quotes. */
    const char *text;
    bool plain;
    size_t start, end; /* position in the text, in characters */
    /* LIST: items. MAP: the values; keys[i] is a SCALAR, without duplicates. */
    struct kw_node **items;
    struct kw_node **keys;
    size_t count;
} kw_node;

/* Returns the root node, allocated from `memory`. NULL after a problem if the text is not YAML, is
 * empty, has a second document or exceeds a limit; after other problems the tree is complete enough for the
 * reader to find more. */
kw_node *kw_node_parse(kw_memory *memory, const char *text, size_t size, kw_diagnostics *diagnostics);

/* The value of a key of a MAP; NULL if the key is missing. */
const kw_node *kw_node_find(const kw_node *map, const char *key);

/* True for a plain scalar without characters: `key:` without a value. */
bool kw_node_is_empty(const kw_node *node);
