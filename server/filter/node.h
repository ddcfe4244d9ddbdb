/* Internal to filter: the state of one filter of a tree, and the methods that HBase calls on its filters.
 *
 *   node.c     filters by kind
 *   lists.c    AND and OR, which call their parts
 *   machine.c  calls the root of the tree
 */
#pragma once

#include "base/cell.h"
#include "filter/compare.h"

#include <glib.h>

typedef enum kw_filter_code {
    KW_CODE_NONE, /* no verdict */
    KW_CODE_INCLUDE,
    KW_CODE_INCLUDE_AND_NEXT_COLUMN,
    KW_CODE_SKIP,
    KW_CODE_NEXT_COLUMN,
    KW_CODE_NEXT_ROW, /* of this family */
    KW_CODE_SEEK      /* to the qualifier of the hint */
} kw_filter_code;

typedef struct kw_filter_node kw_filter_node;
struct kw_filter_node {
    const kw_filter *filter;
    kw_filter_node *children;
    kw_comparison *comparison;
    kw_error *error; /* of the machine; if it is set, verdicts are meaningless */
    bool reversed;

    /* State of the present row. PageFilter, WHILE, PrefixFilter and InclusiveStopFilter keep it for the scan.
     */
    bool out;      /* the row is dropped (RowFilter, PrefixFilter, SKIP) */
    bool done;     /* no further row can pass */
    bool found;    /* the column, or the first cell, was seen */
    bool matched;  /* the column's value matched */
    int32_t count; /* number of columns or rows */
    size_t hint;   /* MultipleColumnPrefixFilter: index of the next prefix */
    GArray *stamps;

    /* State as a part of a list. */
    bool hints;            /* AND: returned SEEK for the present cell */
    bool included;         /* OR: included the present cell */
    kw_filter_code before; /* OR: its last verdict */
    bool remembers;        /* OR: that verdict, on the cell with this family and qualifier, is still valid */
    kw_buffer family, qualifier;
};

/* What all nodes of a machine share. */
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
/* Replaces the value if the filter does so; `length` has space for four bytes. */
void kw_node_transform(kw_filter_node *node, kw_cell *cell, uint8_t *length);
/* Removes cells from those included of a row. */
void kw_node_drop_cells(kw_filter_node *node, kw_cell *cells, size_t *count);
bool kw_node_judges_rows(const kw_filter_node *node);
bool kw_node_drops_row(kw_filter_node *node);
/* The qualifier to continue with after SEEK. False if there is none. */
bool kw_node_hint(const kw_filter_node *node, kw_bytes *ret_qualifier);
bool kw_node_needs_family(const kw_filter_node *node, kw_bytes family);

/* Of AND and OR. */
kw_filter_code kw_list_cell(kw_filter_node *node, const kw_cell *cell);
bool kw_list_drops_key(kw_filter_node *node, kw_bytes row);
bool kw_list_all_done(const kw_filter_node *node);
bool kw_list_drops_row(kw_filter_node *node);
bool kw_list_hint(const kw_filter_node *node, kw_bytes *ret_qualifier);
void kw_list_reset(kw_filter_node *node);
