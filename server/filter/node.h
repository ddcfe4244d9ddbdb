/* One filter of a tree at work: the questions that HBase asks its filters. Inside of the room.
 *
 *   node.c  filters by kind        lists.c  AND and OR, which ask their own        machine.c  asks the
 * topmost
 */
#pragma once

#include "base/cell.h"
#include "filter/compare.h"

#include <glib.h>

typedef enum kw_filter_code {
    KW_CODE_NONE, /* not asked */
    KW_CODE_INCLUDE,
    KW_CODE_INCLUDE_AND_NEXT_COLUMN,
    KW_CODE_SKIP,
    KW_CODE_NEXT_COLUMN,
    KW_CODE_NEXT_ROW, /* of this family */
    KW_CODE_SEEK      /* to the hint */
} kw_filter_code;

typedef struct kw_filter_node kw_filter_node;
struct kw_filter_node {
    const kw_filter *filter;
    kw_filter_node *children;
    kw_comparison *comparison;
    kw_error *error; /* of the machine; set: the answers are of no meaning */
    bool reversed;

    /* Of the present row, or of the whole scan for PageFilter, WHILE, PrefixFilter and InclusiveStopFilter.
     */
    bool out;      /* the row is filtered (RowFilter, PrefixFilter, SKIP) */
    bool done;     /* nothing more can pass */
    bool found;    /* the column, the first key */
    bool matched;  /* its value */
    int32_t count; /* columns or rows */
    size_t hint;   /* MultipleColumnPrefixFilter: which prefix comes next */
    GArray *stamps;

    /* As a part of a list. */
    bool hints;            /* AND: said SEEK to the present cell */
    bool included;         /* OR: included the present cell */
    kw_filter_code before; /* OR: what it said to ... */
    bool remembers;        /* ... this cell, when it still counts */
    kw_buffer family, qualifier;
};

/* What all nodes of a machine have in common. */
typedef struct kw_filter_frame {
    const kw_prepared *prepared; /* NULL: expressions are compiled by the nodes */
    kw_effort *effort;           /* NULL: no limit */
    kw_error *error;
} kw_filter_frame;

bool kw_node_init(kw_filter_node *node, const kw_filter *filter, bool reversed, const kw_filter_frame *frame);
void kw_node_clear(kw_filter_node *node);

void kw_node_reset(kw_filter_node *node);
bool kw_node_all_done(const kw_filter_node *node);
bool kw_node_drops_key(kw_filter_node *node, kw_bytes row);
kw_filter_code kw_node_cell(kw_filter_node *node, const kw_cell *cell);
/* May replace the value; `length` has room for four bytes. */
void kw_node_transform(kw_filter_node *node, kw_cell *cell, uint8_t *length);
/* Drops cells of a row's answer. */
void kw_node_drop_cells(kw_filter_node *node, kw_cell *cells, size_t *count);
bool kw_node_judges_rows(const kw_filter_node *node);
bool kw_node_drops_row(kw_filter_node *node);
/* The qualifier to go on with after SEEK; false: none. */
bool kw_node_hint(const kw_filter_node *node, kw_bytes *ret_qualifier);
bool kw_node_needs_family(const kw_filter_node *node, kw_bytes family);

/* AND and OR. */
kw_filter_code kw_list_cell(kw_filter_node *node, const kw_cell *cell);
bool kw_list_drops_key(kw_filter_node *node, kw_bytes row);
bool kw_list_all_done(const kw_filter_node *node);
bool kw_list_drops_row(kw_filter_node *node);
bool kw_list_hint(const kw_filter_node *node, kw_bytes *ret_qualifier);
void kw_list_reset(kw_filter_node *node);
