/* One row goes through the filter as through a region of HBase:
 *
 *   done? -- key -- cells of the families it needs -- row -- cells of the others -- answer
 *             | drops                                  | drops
 *             '-- its cells are shown all the same     '-- reset
 */
#include "filter/machine.h"

#include "filter/node.h"

struct kw_filter_machine {
    kw_filter_node node;
    size_t nodes; /* in all */
    bool reversed;
    kw_effort *effort;
    kw_error error;
    GArray *kept; /* kw_cell, of the present row: included so far */
    kw_buffer lengths;
    GArray *closed; /* kw_bytes, to be freed: families of which nothing more is read */
};

static size_t
count_nodes(const kw_filter *filter)
{
    size_t nodes = 1 + filter->numbers_count / 8;
    for (size_t i = 0; i < filter->children_count; i++)
        nodes += count_nodes(filter->children[i]);
    return nodes;
}

static kw_filter_machine *
machine_new(const kw_filter *filter, const kw_prepared *prepared, bool reversed, kw_effort *effort,
            kw_error *ret_error)
{
    kw_filter_machine *self = g_new0(kw_filter_machine, 1);
    kw_filter_frame frame = {.prepared = prepared, .effort = effort, .error = &self->error};
    self->reversed = reversed;
    self->effort = effort;
    self->nodes = count_nodes(filter);
    self->kept = g_array_new(FALSE, FALSE, sizeof(kw_cell));
    self->closed = g_array_new(FALSE, FALSE, sizeof(kw_bytes));
    if (kw_node_init(&self->node, filter, reversed, &frame))
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
    kw_node_clear(&self->node);
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
    return kw_node_all_done(&self->node);
}

/* --- the cells of one family ---------------------------------------------------------------------- */

typedef struct family {
    const kw_cell *cells; /* of the row */
    size_t at, end;
} family;

static bool
same_column(const kw_cell *a, const kw_cell *b)
{
    return kw_bytes_equal(a->qualifier, b->qualifier);
}

/* Of a column without a name HBase goes on with the next version: markers of its family may stand there. */
static void
pass_column(family *walk)
{
    const kw_cell *column = &walk->cells[walk->at];
    do
        walk->at++;
    while (column->qualifier.size && walk->at < walk->end && same_column(&walk->cells[walk->at], column));
}

/* In a reversed scan HBase takes no hint. */
static void
pass_to_hint(kw_filter_machine *self, family *walk)
{
    kw_bytes hint;
    walk->at++;
    if (self->reversed || !kw_node_hint(&self->node, &hint))
        return;
    while (walk->at < walk->end && kw_bytes_compare(walk->cells[walk->at].qualifier, hint) < 0)
        walk->at++;
}

static void
keep_cell(kw_filter_machine *self, size_t index, kw_cell cell)
{
    kw_node_transform(&self->node, &cell, self->lengths.data + 4 * index);
    g_array_append_val(self->kept, cell);
}

/* Each cell is shown to every node. False: the row's verdict is an error. */
static bool
may_go_on(kw_filter_machine *self)
{
    if (self->error.code == KW_OK && !kw_effort_spend(self->effort, 8 * self->nodes))
        kw_effort_fail(self->effort, "a filter was applied", &self->error);
    return self->error.code == KW_OK;
}

static void
walk_family(kw_filter_machine *self, family *walk, int32_t versions)
{
    const kw_cell *column = NULL;
    int32_t taken = 0;
    while (walk->at < walk->end && may_go_on(self) && !kw_node_all_done(&self->node)) {
        const kw_cell *cell = &walk->cells[walk->at];
        kw_filter_code code = kw_node_cell(&self->node, cell);
        switch (code) {
        case KW_CODE_INCLUDE:
        case KW_CODE_INCLUDE_AND_NEXT_COLUMN:
            if (!column || !same_column(column, cell))
                taken = 0;
            column = cell;
            if (++taken <= versions)
                keep_cell(self, walk->at, *cell);
            if (taken > versions || code == KW_CODE_INCLUDE_AND_NEXT_COLUMN)
                pass_column(walk);
            else
                walk->at++;
            break;
        case KW_CODE_SKIP:
        case KW_CODE_NONE:
            walk->at++;
            break;
        case KW_CODE_NEXT_COLUMN:
            pass_column(walk);
            break;
        case KW_CODE_NEXT_ROW:
            walk->at = walk->end;
            break;
        case KW_CODE_SEEK:
            pass_to_hint(self, walk);
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

/* HBase reads a family on until it asks whether the filter is done, and then never again, though a new row
 * may make the filter (ColumnCountGetFilter) go on. */
static void
close_family(kw_filter_machine *self, kw_bytes name)
{
    kw_bytes copy = kw_bytes_of(g_memdup2(name.data, name.size), name.size);
    g_array_append_val(self->closed, copy);
}

static bool
is_shown(const kw_filter_machine *self, kw_bytes name, bool needed)
{
    return kw_node_needs_family(&self->node, name) == needed && !is_closed(self, name);
}

/* Shows the cells of all families that the filter needs, or of those that it does not. */
static void
walk_families(kw_filter_machine *self, const kw_cell *cells, size_t count, bool needed, int32_t versions)
{
    for (size_t at = 0; at < count;) {
        kw_bytes name = cells[at].family;
        family walk = {cells, at, at};
        while (walk.end < count && kw_bytes_equal(cells[walk.end].family, name))
            walk.end++;
        at = walk.end;
        if (!is_shown(self, name, needed))
            continue;
        walk_family(self, &walk, versions);
        if (kw_node_all_done(&self->node))
            close_family(self, name);
    }
}

/* --- the row -------------------------------------------------------------------------------------- */

static bool
is_needed(const kw_filter_machine *self, const kw_cell *cells, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (is_shown(self, cells[i].family, true))
            return true;
    return count == 0;
}

/* The row's own verdict on what was included; it may drop cells. */
static bool
row_passes(kw_filter_machine *self)
{
    if (self->kept->len == 0)
        return false;
    if (kw_node_judges_rows(&self->node)) {
        size_t count = self->kept->len;
        kw_node_drop_cells(&self->node, (kw_cell *)(void *)self->kept->data, &count);
        g_array_set_size(self->kept, (guint)count);
        return count == 0 || !kw_node_drops_row(&self->node);
    }
    return !kw_node_drops_row(&self->node);
}

static int
by_place(const void *a, const void *b)
{
    const kw_cell *left = a, *right = b;
    int order = kw_bytes_compare(left->family, right->family);
    if (order == 0)
        order = kw_bytes_compare(left->qualifier, right->qualifier);
    if (order == 0)
        order = (left->timestamp < right->timestamp) - (left->timestamp > right->timestamp);
    return order;
}

/* What the filter did not need is shown to it now. */
static void
add_others(kw_filter_machine *self, const kw_cell *cells, size_t count, int32_t versions)
{
    guint before = self->kept->len;
    walk_families(self, cells, count, false, versions);
    if (self->kept->len > before)
        g_array_sort(self->kept, by_place);
}

static bool
pass_row(kw_filter_machine *self, kw_bytes row, const kw_cell *cells, size_t count, int32_t versions)
{
    g_array_set_size(self->kept, 0);
    self->lengths.size = 0;
    kw_buffer_reserve(&self->lengths, 4 * count + 4);
    if (kw_node_all_done(&self->node))
        return false;
    bool dropped = kw_node_drops_key(&self->node, row);
    if (dropped && kw_node_all_done(&self->node))
        return false;
    walk_families(self, cells, count, true, versions);
    if (dropped || !row_passes(self))
        return false;
    add_others(self, cells, count, versions);
    return self->kept->len > 0;
}

kw_filter_verdict
kw_filter_machine_row(kw_filter_machine *self, kw_bytes row, kw_cell *cells, size_t *count, int32_t versions,
                      kw_error *ret_error)
{
    if (!is_needed(self, cells, *count))
        return KW_FILTER_ROW_DROPPED; /* HBase does not even look at it */
    bool kept = pass_row(self, row, cells, *count, versions);
    kw_node_reset(&self->node);
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
