/* Each row passes through the filter as in a region of HBase:
 *
 *   1. the key             If the filter is done, or the key makes it done, nothing else is called.
 *   2. the cells of the families that the filter needs, even if it has dropped the row because of its key
 *   3. the row             The row is dropped unless the filter keeps it.
 *   4. the cells of the other families
 *   5. reset               In any case.
 *
 * If the row has cells, but none in a family that the filter needs and that is still read, the row is dropped
 * without these steps.
 */
#include "filter/machine.h"

#include "filter/node.h"

struct kw_filter_machine {
    kw_filter_node node;
    size_t cell_cost; /* of passing a cell to the whole tree */
    bool reversed;
    kw_effort *effort;
    kw_error error;
    GArray *kept;      /* kw_cell: cells of the current row included so far */
    kw_buffer lengths; /* four bytes for each cell of the row, for lengths that replace values */
    GArray *closed;    /* kw_bytes, owned: names of families that are not read any more */
};

/* The number of nodes, plus an eighth of the numbers that a TimestampsFilter compares with the cell. */
static size_t
cost_of(const kw_filter *filter)
{
    size_t nodes = 1 + filter->numbers_count / 8;
    for (size_t i = 0; i < filter->children_count; i++)
        nodes += cost_of(filter->children[i]);
    return nodes;
}

static kw_filter_machine *
machine_new(const kw_filter *filter, const kw_prepared *prepared, bool reversed, kw_effort *effort,
            kw_error *ret_error)
{
    kw_filter_machine *self = g_new0(kw_filter_machine, 1);
    kw_filter_shared shared = {.prepared = prepared, .effort = effort, .error = &self->error};
    self->reversed = reversed;
    self->effort = effort;
    self->cell_cost = cost_of(filter);
    self->kept = g_array_new(FALSE, FALSE, sizeof(kw_cell));
    self->closed = g_array_new(FALSE, FALSE, sizeof(kw_bytes));
    if (kw_filter_node_init(&self->node, filter, reversed, &shared))
        return self;
    *ret_error = self->error;
    kw_filter_machine_free(self);
    return NULL;
}

kw_filter_machine *
kw_filter_machine_new(const kw_filter *filter, bool reversed, kw_error *ret_error)
{
    return machine_new(filter, NULL, reversed, NULL, ret_error);
}

kw_filter_machine *
kw_filter_machine_prepared(const kw_prepared *prepared, bool reversed, kw_effort *effort, kw_error *ret_error)
{
    return machine_new(kw_prepared_tree(prepared), prepared, reversed, effort, ret_error);
}

void
kw_filter_machine_free(kw_filter_machine *self)
{
    if (!self)
        return;
    kw_filter_node_clear(&self->node);
    g_array_free(self->kept, TRUE);
    for (guint i = 0; i < self->closed->len; i++)
        g_free((void *)(uintptr_t)g_array_index(self->closed, kw_bytes, i).data);
    g_array_free(self->closed, TRUE);
    kw_buffer_clear(&self->lengths);
    g_free(self);
}

bool
kw_filter_machine_done(const kw_filter_machine *self)
{
    return kw_filter_node_all_done(&self->node);
}

/* --- the cells of one family --------------------------------------------------------------------- */

/* A position in the cells of one family. */
typedef struct family {
    const kw_cell *cells; /* of the whole row */
    size_t at, end;
    const kw_cell *column; /* the last included cell; NULL: none */
    int32_t versions_kept; /* number of included cells of its column */
} family;

static bool
same_column(const kw_cell *a, const kw_cell *b)
{
    return kw_bytes_equal(a->qualifier, b->qualifier);
}

/* Skips the rest of the current column. In the column with the empty name HBase continues with the next
 * version, because delete markers of the family are stored in this column. */
static void
skip_column(family *position)
{
    const kw_cell *column = &position->cells[position->at];
    do
        position->at++;
    while (column->qualifier.size && position->at < position->end &&
           same_column(&position->cells[position->at], column));
}

/* Skips to the qualifier that the filter's hint names. HBase ignores hints in reversed scans. */
static void
skip_to_hint(kw_filter_machine *self, family *position)
{
    kw_bytes hint;
    position->at++;
    if (self->reversed || !kw_filter_node_hint(&self->node, &hint))
        return;
    while (position->at < position->end &&
           kw_bytes_compare(position->cells[position->at].qualifier, hint) < 0)
        position->at++;
}

static void
keep_cell(kw_filter_machine *self, size_t index, kw_cell cell)
{
    kw_filter_node_transform(&self->node, &cell, self->lengths.data + 4 * index);
    g_array_append_val(self->kept, cell);
}

/* Spends the effort of passing a cell to the whole tree. False if an error is set. */
static bool
spend_cell(kw_filter_machine *self)
{
    if (self->error.code == KW_OK && !kw_effort_spend(self->effort, 8 * self->cell_cost))
        kw_effort_fail(self->effort, "a filter was applied", &self->error);
    return self->error.code == KW_OK;
}

/* Counts the included versions of the current column, and keeps the cell if there are at most `versions`.
 * False if there are more. */
static bool
include_cell(kw_filter_machine *self, family *position, int32_t versions)
{
    const kw_cell *cell = &position->cells[position->at];
    if (!position->column || !same_column(position->column, cell))
        position->versions_kept = 0;
    position->column = cell;
    if (++position->versions_kept > versions)
        return false;
    keep_cell(self, position->at, *cell);
    return true;
}

/* Passes the cells of one family to the filter and follows its verdicts. */
static void
walk_family(kw_filter_machine *self, family *position, int32_t versions)
{
    while (position->at < position->end && spend_cell(self) && !kw_filter_node_all_done(&self->node)) {
        const kw_cell *cell = &position->cells[position->at];
        kw_filter_code code = kw_filter_node_cell(&self->node, cell);
        switch (code) {
        case KW_CODE_INCLUDE:
            if (include_cell(self, position, versions))
                position->at++;
            else
                skip_column(position);
            break;
        case KW_CODE_INCLUDE_AND_NEXT_COLUMN:
            include_cell(self, position, versions);
            skip_column(position);
            break;
        case KW_CODE_SKIP:
        case KW_CODE_NONE:
            position->at++;
            break;
        case KW_CODE_NEXT_COLUMN:
            skip_column(position);
            break;
        case KW_CODE_NEXT_ROW:
            position->at = position->end;
            break;
        case KW_CODE_SEEK:
            skip_to_hint(self, position);
            break;
        }
    }
}

static bool
is_closed(const kw_filter_machine *self, kw_bytes name)
{
    for (guint i = 0; i < self->closed->len; i++)
        if (kw_bytes_equal(g_array_index(self->closed, kw_bytes, i), name))
            return true;
    return false;
}

/* If HBase finds while it reads a family that the filter is done, it never reads this family again. It does
 * so even for ColumnCountGetFilter, which is not done any more when the next row begins. */
static void
close_family(kw_filter_machine *self, kw_bytes name)
{
    kw_bytes copy = kw_bytes_of(g_memdup2(name.data, name.size), name.size);
    g_array_append_val(self->closed, copy);
}

static bool
must_filter(const kw_filter_machine *self, kw_bytes name, bool needed)
{
    return kw_filter_node_needs_family(&self->node, name) == needed && !is_closed(self, name);
}

/* Passes cells to the filter: of all families that it needs if `needed`, otherwise of all others. */
static void
walk_families(kw_filter_machine *self, const kw_cell *cells, size_t count, bool needed, int32_t versions)
{
    for (size_t at = 0; at < count;) {
        kw_bytes name = cells[at].family;
        family position = {.cells = cells, .at = at, .end = at};
        while (position.end < count && kw_bytes_equal(cells[position.end].family, name))
            position.end++;
        at = position.end;
        if (!must_filter(self, name, needed))
            continue;
        walk_family(self, &position, versions);
        if (kw_filter_node_all_done(&self->node))
            close_family(self, name);
    }
}

/* --- the row ------------------------------------------------------------------------------------- */

/* True if the filter needs a family of the row that is still read, or if the row has no cells. */
static bool
has_read_family(const kw_filter_machine *self, const kw_cell *cells, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (must_filter(self, cells[i].family, true))
            return true;
    return count == 0;
}

/* Requests the verdict on the row with its included cells. The filter can drop some of these cells. */
static bool
keeps_row(kw_filter_machine *self)
{
    if (self->kept->len == 0)
        return false;
    if (kw_filter_node_has_filter_row(&self->node)) {
        size_t count = self->kept->len;
        kw_filter_node_drop_cells(&self->node, (kw_cell *)(void *)self->kept->data, &count);
        g_array_set_size(self->kept, (guint)count);
        return count == 0 || !kw_filter_node_drops_row(&self->node);
    }
    return !kw_filter_node_drops_row(&self->node);
}

static int
compare_cells(const void *a, const void *b)
{
    return kw_cell_compare(a, b);
}

/* Filters the cells of the families that the filter does not need, and restores HBase's order of cells. */
static void
walk_other_families(kw_filter_machine *self, const kw_cell *cells, size_t count, int32_t versions)
{
    guint before = self->kept->len;
    walk_families(self, cells, count, false, versions);
    if (self->kept->len > before)
        g_array_sort(self->kept, compare_cells);
}

static bool
filter_row(kw_filter_machine *self, kw_bytes row, const kw_cell *cells, size_t count, int32_t versions)
{
    g_array_set_size(self->kept, 0);
    self->lengths.size = 0;
    kw_buffer_reserve(&self->lengths, 4 * count + 4);
    if (kw_filter_node_all_done(&self->node))
        return false;
    bool dropped = kw_filter_node_drops_key(&self->node, row);
    if (dropped && kw_filter_node_all_done(&self->node))
        return false;
    walk_families(self, cells, count, true, versions);
    if (dropped || !keeps_row(self))
        return false;
    walk_other_families(self, cells, count, versions);
    return self->kept->len > 0;
}

kw_filter_verdict
kw_filter_machine_row(kw_filter_machine *self, kw_bytes row, kw_cell *cells, size_t *count, int32_t versions,
                      kw_error *ret_error)
{
    if (!has_read_family(self, cells, *count))
        return KW_FILTER_ROW_DROPPED; /* HBase does not read such a row */
    bool kept = filter_row(self, row, cells, *count, versions);
    kw_filter_node_reset(&self->node);
    if (self->error.code != KW_OK) {
        *ret_error = self->error;
        return KW_FILTER_ROW_FAILED;
    }
    if (!kept)
        return KW_FILTER_ROW_DROPPED;
    memcpy(cells, self->kept->data, self->kept->len * sizeof(kw_cell));
    *count = self->kept->len;
    return KW_FILTER_ROW_KEPT;
}
