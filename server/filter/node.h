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
    KW_CODE_NONE, /* the filter was not called */
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

    /* State for the current row. PageFilter, WHILE, PrefixFilter and InclusiveStopFilter keep a part of it
     * for the whole scan. */
    bool drops_row; /* RowFilter, PrefixFilter, SKIP */
    bool done;      /* no further row can pass */
    bool found;     /* the filter was called with its column, or with the row's first cell */
    bool matched;   /* the column's value matched */
    int32_t count;  /* number of columns or rows */
    size_t hint;    /* MultipleColumnPrefixFilter: index of the next prefix */
    GArray *stamps;

    /* State of a part of AND or OR. */
    bool returned_seek;       /* AND: returned SEEK for the current cell */
    bool included;            /* OR: included the current cell */
    kw_filter_code last_code; /* OR: its code for the last cell */
    bool can_repeat;          /* OR: last_code can also apply to later cells; family and qualifier are set */
    kw_buffer family, qualifier; /* of the last cell */
};

/* Shared by all nodes of a machine. */
typedef struct kw_filter_shared {
    const kw_prepared *prepared; /* NULL: expressions are compiled by the nodes */
    kw_effort *effort;           /* NULL: no limit */
    kw_error *error;
} kw_filter_shared;

/* The methods of HBase's Filter are named in parentheses. */

bool kw_filter_node_init(kw_filter_node *node, const kw_filter *filter, bool reversed,
                         const kw_filter_shared *shared);
void kw_filter_node_clear(kw_filter_node *node);

/* After each row (reset). */
void kw_filter_node_reset(kw_filter_node *node);
/* True if no further row can pass (filterAllRemaining). */
bool kw_filter_node_all_done(const kw_filter_node *node);
/* True if the filter drops the row because of its key (filterRowKey). */
bool kw_filter_node_drops_key(kw_filter_node *node, kw_bytes row);
/* Returns what to do with the cell, and where to continue (filterCell). */
kw_filter_code kw_filter_node_cell(kw_filter_node *node, const kw_cell *cell);
/* Replaces the value if the filter does so (transformCell); `length` has space for four bytes. */
void kw_filter_node_transform(kw_filter_node *node, kw_cell *cell, uint8_t *length);
/* Removes cells from the included cells of a row (filterRowCells). */
void kw_filter_node_drop_cells(kw_filter_node *node, kw_cell *cells, size_t *count);
/* True if kw_filter_node_drop_cells must be called before kw_filter_node_drops_row (hasFilterRow). */
bool kw_filter_node_has_filter_row(const kw_filter_node *node);
/* True if the filter drops the row after all its cells (filterRow). */
bool kw_filter_node_drops_row(kw_filter_node *node);
/* After SEEK: returns the qualifier to continue with (getNextCellHint). False if there is none. */
bool kw_filter_node_hint(const kw_filter_node *node, kw_bytes *ret_qualifier);
/* True if the filter needs the cells of this family to decide whether a row passes (isFamilyEssential). */
bool kw_filter_node_needs_family(const kw_filter_node *node, kw_bytes family);

/* The same functions for AND and OR. */
kw_filter_code kw_list_cell(kw_filter_node *node, const kw_cell *cell);
bool kw_list_drops_key(kw_filter_node *node, kw_bytes row);
bool kw_list_all_done(const kw_filter_node *node);
bool kw_list_drops_row(kw_filter_node *node);
bool kw_list_hint(const kw_filter_node *node, kw_bytes *ret_qualifier);
void kw_list_reset(kw_filter_node *node);
