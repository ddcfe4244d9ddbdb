/* A policy file as a tree of nodes with their places, before any meaning.
 *
 * Made from libyaml's events under hard limits: size, depth, number of nodes. Anchors, aliases,
 * tags, duplicate keys, keys that are not plain text and second documents are problems. A node that
 * a problem was told about already is BROKEN: who reads it says nothing more.
 */
#pragma once

#include "config/diagnostic.h"
#include "config/memory.h"

#define KW_NODE_SIZE_LIMIT ((size_t)1024 * 1024)
#define KW_NODE_DEPTH_LIMIT 16
#define KW_NODE_COUNT_LIMIT 100000

typedef enum kw_node_kind { KW_NODE_SCALAR, KW_NODE_LIST, KW_NODE_MAP, KW_NODE_BROKEN } kw_node_kind;

typedef struct kw_node {
    kw_node_kind kind;
    kw_mark mark;
    /* SCALAR: NUL-terminated, without NUL inside. plain: written without quotes. */
    const char *text;
    bool plain;
    size_t start, end; /* where it stands in the text, in characters */
    /* LIST: items. MAP: the values; keys[i] is a SCALAR, no two alike. */
    struct kw_node **items;
    struct kw_node **keys;
    size_t count;
} kw_node;

/* The root node, in the given memory. NULL and a problem when the text is no YAML or goes beyond a
 * limit; other problems leave a tree, so that the reader finds more. */
kw_node *kw_node_parse(kw_memory *memory, const char *text, size_t size, kw_diagnostics *diagnostics);

/* The value under a key of a MAP; NULL when it is not there. */
const kw_node *kw_node_find(const kw_node *map, const char *key);

/* A plain scalar of no characters: `key:` with nothing behind it. */
bool kw_node_is_empty(const kw_node *node);
