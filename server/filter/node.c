#include "filter/node.h"

/* Iterates over the children. Without children the array is NULL, and C does not even allow adding 0 to
 * NULL. */
#define PARTS(node, part)                                                                                    \
    for (kw_filter_node *part = (node)->children, *end_of_##part = part_end(node); part != end_of_##part;    \
         part++)

static kw_filter_node *
part_end(const kw_filter_node *node)
{
    return node->children ? node->children + node->filter->children_count : NULL;
}

static bool
is_list(const kw_filter_node *node)
{
    return node->filter->kind == KW_FILTER_AND || node->filter->kind == KW_FILTER_OR;
}

static bool
is_wrapper(const kw_filter_node *node)
{
    return node->filter->kind == KW_FILTER_SKIP || node->filter->kind == KW_FILTER_WHILE;
}

/* As in HBase, only lists pass `reversed` on to their parts; SKIP and WHILE do not. */
bool
kw_filter_node_init(kw_filter_node *node, const kw_filter *filter, bool reversed,
                    const kw_filter_shared *shared)
{
    *node = (kw_filter_node){.filter = filter, .reversed = reversed, .error = shared->error};
    node->drops_row = filter->kind == KW_FILTER_PREFIX;
    node->children = g_new0(kw_filter_node, filter->children_count);
    if (filter->kind == KW_FILTER_DEPENDENT_COLUMN)
        node->stamps = g_array_new(FALSE, FALSE, sizeof(int64_t));
    if (filter->comparator != KW_FILTER_COMPARE_NOTHING) {
        const kw_expression *expression = shared->prepared && kw_filter_is_regex(filter)
                                              ? kw_prepared_expression(shared->prepared, filter)
                                              : NULL;
        node->comparison = kw_comparison_new(filter, expression, shared->effort, shared->error);
        if (!node->comparison)
            return false;
    }
    for (size_t i = 0; i < filter->children_count; i++)
        if (!kw_filter_node_init(&node->children[i], filter->children[i], reversed && is_list(node), shared))
            return false;
    return true;
}

void
kw_filter_node_clear(kw_filter_node *node)
{
    if (!node->filter)
        return;
    PARTS(node, part)
    kw_filter_node_clear(part);
    g_free(node->children);
    kw_comparison_free(node->comparison);
    if (node->stamps)
        g_array_free(node->stamps, TRUE);
    kw_buffer_clear(&node->family);
    kw_buffer_clear(&node->qualifier);
    *node = (kw_filter_node){0};
}

void
kw_filter_node_reset(kw_filter_node *node)
{
    kw_filter_kind kind = node->filter->kind;
    node->found = node->matched = false;
    node->drops_row = kind == KW_FILTER_PREFIX;
    if (kind != KW_FILTER_PAGE)
        node->count = 0;
    if (node->stamps)
        g_array_set_size(node->stamps, 0);
    if (is_list(node))
        kw_list_reset(node);
    else if (is_wrapper(node))
        kw_filter_node_reset(node->children);
}

bool
kw_filter_node_all_done(const kw_filter_node *node)
{
    const kw_filter *filter = node->filter;
    if (is_list(node))
        return kw_list_all_done(node);
    if (filter->kind == KW_FILTER_WHILE)
        return node->done || kw_filter_node_all_done(node->children);
    if (filter->kind == KW_FILTER_PAGE)
        return node->count >= filter->numbers[0];
    if (filter->kind == KW_FILTER_COLUMN_COUNT_GET)
        return node->count > filter->numbers[0];
    return node->done;
}

static bool
rejects(kw_filter_node *node, kw_bytes value)
{
    return kw_comparison_rejects(node->comparison, value, node->error);
}

/* --- row keys ------------------------------------------------------------------------------------ */

static bool
prefix_drops_key(kw_filter_node *node, kw_bytes row)
{
    kw_bytes prefix = node->filter->bytes[0];
    if (node->done || row.size < prefix.size)
        return true;
    int order = kw_bytes_compare(kw_bytes_of(row.data, prefix.size), prefix);
    if (node->reversed ? order < 0 : order > 0)
        node->done = true;
    node->drops_row = order != 0;
    return node->drops_row;
}

static bool
stop_drops_key(kw_filter_node *node, kw_bytes row)
{
    if (node->done)
        return true;
    int order = kw_bytes_compare(row, node->filter->bytes[0]);
    node->done = node->reversed ? order < 0 : order > 0;
    return node->done;
}

static bool
while_drops_key(kw_filter_node *node, kw_bytes row)
{
    if (kw_filter_node_all_done(node))
        return true;
    bool drops = kw_filter_node_drops_key(node->children, row);
    node->done = node->done || drops;
    return drops;
}

bool
kw_filter_node_drops_key(kw_filter_node *node, kw_bytes row)
{
    if (is_list(node))
        return kw_list_drops_key(node, row);
    if (node->filter->kind == KW_FILTER_WHILE)
        return while_drops_key(node, row);
    if (node->filter->kind == KW_FILTER_PREFIX)
        return prefix_drops_key(node, row);
    if (node->filter->kind == KW_FILTER_INCLUSIVE_STOP)
        return stop_drops_key(node, row);
    if (node->filter->kind == KW_FILTER_PAGE || node->filter->kind == KW_FILTER_COLUMN_COUNT_GET)
        return kw_filter_node_all_done(node);
    if (node->filter->kind == KW_FILTER_ROW && rejects(node, row))
        node->drops_row = true;
    return node->filter->kind == KW_FILTER_ROW && node->drops_row;
}

/* --- cells --------------------------------------------------------------------------------------- */

static bool
is_column(const kw_filter_node *node, const kw_cell *cell)
{
    const kw_bytes *column = node->filter->bytes;
    return kw_bytes_equal(cell->family, column[0]) && kw_bytes_equal(cell->qualifier, column[1]);
}

/* Verdicts on a cell, by kind of filter. */

static kw_filter_code
prefix_code(kw_bytes qualifier, kw_bytes prefix)
{
    if (kw_bytes_starts_with(qualifier, prefix))
        return KW_CODE_INCLUDE;
    return kw_bytes_compare(qualifier, prefix) < 0 ? KW_CODE_SEEK : KW_CODE_NEXT_ROW;
}

/* MultipleColumnPrefixFilter: the greatest prefix that does not exceed the qualifier decides. */
static kw_filter_code
prefixes_code(kw_filter_node *node, kw_bytes qualifier)
{
    const kw_filter *filter = node->filter;
    size_t low = 0, high = filter->bytes_count; /* number of prefixes that do not exceed the qualifier */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (kw_bytes_compare(filter->bytes[middle], qualifier) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (filter->bytes_count == 0 || (low && kw_bytes_starts_with(qualifier, filter->bytes[low - 1])))
        return KW_CODE_INCLUDE;
    if (low == filter->bytes_count)
        return KW_CODE_NEXT_ROW;
    node->hint = low;
    return KW_CODE_SEEK;
}

static kw_filter_code
range_code(const kw_filter *filter, kw_bytes qualifier)
{
    kw_bytes lowest = filter->bytes[0], highest = filter->bytes[1];
    int order = lowest.size ? kw_bytes_compare(qualifier, lowest) : 1;
    if (order < 0)
        return KW_CODE_SEEK;
    if (order == 0 && !filter->flags[0])
        return KW_CODE_NEXT_COLUMN;
    order = highest.size ? kw_bytes_compare(qualifier, highest) : -1;
    return order < 0 || (order == 0 && filter->flags[1]) ? KW_CODE_INCLUDE : KW_CODE_NEXT_ROW;
}

static kw_filter_code
stamps_code(const kw_filter *filter, int64_t timestamp)
{
    for (size_t i = 0; i < filter->numbers_count; i++)
        if (filter->numbers[i] == timestamp)
            return KW_CODE_INCLUDE;
    return filter->numbers_count == 0 || timestamp < filter->numbers[0] ? KW_CODE_NEXT_COLUMN : KW_CODE_SKIP;
}

/* ColumnPaginationFilter. The sum overflows like Java's int. */
static kw_filter_code
pagination_code(kw_filter_node *node)
{
    int32_t limit = (int32_t)node->filter->numbers[0], offset = (int32_t)node->filter->numbers[1];
    if (node->count >= (int32_t)((uint32_t)offset + (uint32_t)limit))
        return KW_CODE_NEXT_ROW;
    return node->count++ < offset ? KW_CODE_NEXT_COLUMN : KW_CODE_INCLUDE_AND_NEXT_COLUMN;
}

/* SingleColumnValueFilter: includes all cells, and notes whether the column was found and its value matched;
 * kw_filter_node_drops_row then decides on the row. If only the latest version counts and it did not match,
 * the rest of the family is skipped. */
static kw_filter_code
single_code(kw_filter_node *node, const kw_cell *cell)
{
    bool latest_only = node->filter->flags[1];
    bool decided = node->matched || (latest_only && node->found);
    if (!decided && is_column(node, cell)) {
        node->found = true;
        node->matched = !rejects(node, cell->value);
    }
    return latest_only && node->found && !node->matched ? KW_CODE_NEXT_ROW : KW_CODE_INCLUDE;
}

/* DependentColumnFilter: collects the timestamps of the column's matching cells; kw_filter_node_drop_cells
 * later drops the cells with other timestamps. */
static kw_filter_code
dependent_code(kw_filter_node *node, const kw_cell *cell)
{
    if (!is_column(node, cell))
        return KW_CODE_INCLUDE;
    if (node->comparison && rejects(node, cell->value))
        return KW_CODE_SKIP;
    g_array_append_val(node->stamps, cell->timestamp);
    return node->filter->flags[0] ? KW_CODE_SKIP : KW_CODE_INCLUDE;
}

/* ColumnValueFilter: includes only cells of the column whose value matches. */
static kw_filter_code
column_value_code(kw_filter_node *node, const kw_cell *cell)
{
    if (!is_column(node, cell))
        return node->found ? KW_CODE_NEXT_ROW : KW_CODE_NEXT_COLUMN;
    node->found = true;
    return rejects(node, cell->value) ? KW_CODE_SKIP : KW_CODE_INCLUDE;
}

static kw_filter_code
first_key_code(kw_filter_node *node)
{
    bool first = !node->found;
    node->found = true;
    return first ? KW_CODE_INCLUDE : KW_CODE_NEXT_ROW;
}

/* ColumnCountGetFilter */
static kw_filter_code
count_code(kw_filter_node *node)
{
    node->count++;
    return kw_filter_node_all_done(node) ? KW_CODE_NEXT_COLUMN : KW_CODE_INCLUDE_AND_NEXT_COLUMN;
}

/* SKIP and WHILE: a cell for which their filter returns another code than INCLUDE drops the row (SKIP) or
 * ends the scan (WHILE). */
static kw_filter_code
wrapper_code(kw_filter_node *node, const kw_cell *cell)
{
    kw_filter_code code = kw_filter_node_cell(node->children, cell);
    bool *flag = node->filter->kind == KW_FILTER_SKIP ? &node->drops_row : &node->done;
    *flag = *flag || code != KW_CODE_INCLUDE;
    return code;
}

kw_filter_code
kw_filter_node_cell(kw_filter_node *node, const kw_cell *cell)
{
    const kw_filter *filter = node->filter;
    switch (filter->kind) {
    case KW_FILTER_AND:
    case KW_FILTER_OR:
        return kw_list_cell(node, cell);
    case KW_FILTER_SKIP:
    case KW_FILTER_WHILE:
        return wrapper_code(node, cell);
    case KW_FILTER_KEY_ONLY:
    case KW_FILTER_PAGE:
        return KW_CODE_INCLUDE;
    case KW_FILTER_FIRST_KEY_ONLY:
        return first_key_code(node);
    case KW_FILTER_PREFIX:
    case KW_FILTER_ROW:
        return node->drops_row ? KW_CODE_NEXT_ROW : KW_CODE_INCLUDE;
    case KW_FILTER_INCLUSIVE_STOP:
        return node->done ? KW_CODE_NEXT_ROW : KW_CODE_INCLUDE;
    case KW_FILTER_COLUMN_PREFIX:
        return prefix_code(cell->qualifier, filter->bytes[0]);
    case KW_FILTER_MULTIPLE_COLUMN_PREFIX:
        return prefixes_code(node, cell->qualifier);
    case KW_FILTER_COLUMN_COUNT_GET:
        return count_code(node);
    case KW_FILTER_COLUMN_PAGINATION:
        return pagination_code(node);
    case KW_FILTER_TIMESTAMPS:
        return stamps_code(filter, cell->timestamp);
    case KW_FILTER_FAMILY:
        return cell->family.size && rejects(node, cell->family) ? KW_CODE_NEXT_ROW : KW_CODE_INCLUDE;
    case KW_FILTER_QUALIFIER:
        return rejects(node, cell->qualifier) ? KW_CODE_SKIP : KW_CODE_INCLUDE;
    case KW_FILTER_VALUE:
        return rejects(node, cell->value) ? KW_CODE_SKIP : KW_CODE_INCLUDE;
    case KW_FILTER_COLUMN_RANGE:
        return range_code(filter, cell->qualifier);
    case KW_FILTER_SINGLE_COLUMN_VALUE:
    case KW_FILTER_SINGLE_COLUMN_VALUE_EXCLUDE:
        return single_code(node, cell);
    case KW_FILTER_DEPENDENT_COLUMN:
        return dependent_code(node, cell);
    case KW_FILTER_COLUMN_VALUE:
        return column_value_code(node, cell);
    }
    g_assert_not_reached();
}

bool
kw_filter_node_hint(const kw_filter_node *node, kw_bytes *ret_qualifier)
{
    const kw_filter *filter = node->filter;
    if (is_list(node))
        return kw_list_hint(node, ret_qualifier);
    if (filter->kind == KW_FILTER_MULTIPLE_COLUMN_PREFIX)
        *ret_qualifier = filter->bytes[node->hint];
    else if (filter->kind == KW_FILTER_COLUMN_PREFIX || filter->kind == KW_FILTER_COLUMN_RANGE)
        *ret_qualifier = filter->bytes[0];
    else
        return false;
    return true;
}

/* --- rows ---------------------------------------------------------------------------------------- */

void
kw_filter_node_transform(kw_filter_node *node, kw_cell *cell, uint8_t *length)
{
    if (node->filter->kind == KW_FILTER_KEY_ONLY) {
        kw_be32_store(length, (uint32_t)cell->value.size);
        cell->value = node->filter->flags[0] ? kw_bytes_of(length, 4) : KW_BYTES_NONE;
        return;
    }
    PARTS(node, part)
    if (node->filter->kind != KW_FILTER_OR || part->included)
        kw_filter_node_transform(part, cell, length);
}

static bool
is_kept(const kw_filter_node *node, const kw_cell *cell)
{
    if (node->filter->kind == KW_FILTER_SINGLE_COLUMN_VALUE_EXCLUDE)
        return !is_column(node, cell);
    for (guint i = 0; i < node->stamps->len; i++)
        if (g_array_index(node->stamps, int64_t, i) == cell->timestamp)
            return true;
    return false;
}

void
kw_filter_node_drop_cells(kw_filter_node *node, kw_cell *cells, size_t *count)
{
    if (is_list(node)) {
        PARTS(node, part)
        kw_filter_node_drop_cells(part, cells, count);
        return;
    }
    if (node->filter->kind != KW_FILTER_DEPENDENT_COLUMN &&
        node->filter->kind != KW_FILTER_SINGLE_COLUMN_VALUE_EXCLUDE)
        return;
    size_t kept = 0;
    for (size_t i = 0; i < *count; i++)
        if (is_kept(node, &cells[i]))
            cells[kept++] = cells[i];
    *count = kept;
}

bool
kw_filter_node_has_filter_row(const kw_filter_node *node)
{
    switch ((int)node->filter->kind) {
    case KW_FILTER_SKIP:
    case KW_FILTER_WHILE:
    case KW_FILTER_PAGE:
    case KW_FILTER_SINGLE_COLUMN_VALUE:
    case KW_FILTER_SINGLE_COLUMN_VALUE_EXCLUDE:
    case KW_FILTER_DEPENDENT_COLUMN:
        return true;
    default:
        break;
    }
    PARTS(node, part)
    if (kw_filter_node_has_filter_row(part))
        return true;
    return false;
}

static bool
while_drops_row(kw_filter_node *node)
{
    bool drops = kw_filter_node_drops_row(node->children);
    node->done = node->done || drops;
    return drops;
}

bool
kw_filter_node_drops_row(kw_filter_node *node)
{
    switch ((int)node->filter->kind) {
    case KW_FILTER_AND:
    case KW_FILTER_OR:
        return kw_list_drops_row(node);
    case KW_FILTER_WHILE:
        return while_drops_row(node);
    case KW_FILTER_PREFIX:
    case KW_FILTER_ROW:
    case KW_FILTER_SKIP:
        return node->drops_row;
    case KW_FILTER_PAGE:
        return ++node->count > node->filter->numbers[0];
    case KW_FILTER_SINGLE_COLUMN_VALUE:
    case KW_FILTER_SINGLE_COLUMN_VALUE_EXCLUDE:
        return node->found ? !node->matched : node->filter->flags[0];
    default:
        return false;
    }
}

bool
kw_filter_node_needs_family(const kw_filter_node *node, kw_bytes family)
{
    const kw_filter *filter = node->filter;
    if (filter->kind == KW_FILTER_COLUMN_VALUE)
        return kw_bytes_equal(family, filter->bytes[0]);
    if (filter->kind == KW_FILTER_SINGLE_COLUMN_VALUE ||
        filter->kind == KW_FILTER_SINGLE_COLUMN_VALUE_EXCLUDE)
        return !filter->flags[0] || kw_bytes_equal(family, filter->bytes[0]);
    PARTS(node, part)
    if (kw_filter_node_needs_family(part, family))
        return true;
    return filter->children_count == 0;
}
