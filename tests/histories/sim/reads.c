/* Gets and scans of the simulated rows. */
#include "histories/sim/rows_internal.h"

#include "filter/filter.h"

static void
fill(kw_bytes key, const kw_cell *cells, size_t count, kw_arena *arena, kw_hb_TResult *ret_result)
{
    kw_hb_TColumnValue *values = KW_ARENA_ARRAY(arena, kw_hb_TColumnValue, count);
    for (size_t i = 0; i < count; i++)
        values[i] = (kw_hb_TColumnValue){.family = cells[i].family,
                                         .qualifier = cells[i].qualifier,
                                         .value = cells[i].value,
                                         .has_timestamp = true,
                                         .timestamp = cells[i].timestamp};
    *ret_result = (kw_hb_TResult){.has_row = count > 0, .row = kw_arena_copy(arena, key)};
    ret_result->columnValues.items = values;
    ret_result->columnValues.count = (uint32_t)count;
}

static kw_filter_machine *
machine_of(bool given, kw_bytes text, bool reversed, kw_arena *arena)
{
    kw_error error = KW_ERROR_NONE;
    if (!given || text.size == 0)
        return NULL;
    const kw_filter *filter = kw_filter_parse(text, arena, &error);
    kw_filter_machine *machine = filter ? kw_filter_machine_new(filter, reversed, &error) : NULL;
    if (!machine)
        g_error("invalid filter: %s", error.text);
    return machine;
}

/* False if the row is not part of the result. */
static bool
read_row(sim_rows *rows, const sim_table *table, const sim_row *row, const sim_asked *asked,
         kw_filter_machine *machine, kw_arena *arena, kw_hb_TResult *ret_result)
{
    size_t count;
    kw_error error;
    kw_cell *cells = sim_read(row, asked, sim_now_ms(rows, table), arena, &count);
    kw_bytes key = sim_bytes(row->key);
    if (count == 0)
        return false;
    if (machine && kw_filter_machine_row(machine, key, cells, &count, MAX(asked->versions, 1), &error) !=
                       KW_FILTER_ROW_KEPT)
        return false;
    fill(key, cells, count, arena, ret_result);
    return count > 0;
}

void
sim_get(sim_rows *rows, sim_table *table, const kw_hb_TGet *get, kw_arena *arena, kw_hb_TResult *ret_result)
{
    sim_asked asked = {.columns = get->columns.items,
                       .columns_count = get->columns.count,
                       .has_columns = get->has_columns,
                       .versions = get->has_maxVersions ? get->maxVersions : 1,
                       .from = get->has_timeRange ? get->timeRange->minStamp : 0,
                       .to = get->has_timeRange ? get->timeRange->maxStamp : 0};
    const sim_row *row = sim_find_row(table, get->row);
    kw_filter_machine *machine = machine_of(get->has_filterString, get->filterString, false, arena);
    *ret_result = (kw_hb_TResult){0};
    if (row && !read_row(rows, table, row, &asked, machine, arena, ret_result))
        *ret_result = (kw_hb_TResult){0};
    kw_filter_machine_free(machine);
}

/* --- scans ------------------------------------------------------------------------------------ */

static kw_hb_TColumn *
copy_columns(kw_arena *arena, const kw_hb_TScan *scan)
{
    kw_hb_TColumn *copies = KW_ARENA_ARRAY(arena, kw_hb_TColumn, scan->columns.count);
    for (uint32_t i = 0; i < scan->columns.count; i++) {
        copies[i] = scan->columns.items[i];
        copies[i].family = kw_arena_copy(arena, copies[i].family);
        copies[i].qualifier = kw_arena_copy(arena, copies[i].qualifier);
    }
    return copies;
}

sim_scanner *
sim_scanner_new(sim_table *table, const kw_hb_TScan *scan)
{
    sim_scanner *made = g_new0(sim_scanner, 1);
    made->table = table;
    made->arena = kw_arena_new();
    made->reversed = scan->has_reversed && scan->reversed;
    made->at = sim_copy(scan->has_startRow ? scan->startRow : KW_BYTES_NONE);
    made->stop = sim_copy(scan->has_stopRow ? scan->stopRow : KW_BYTES_NONE);
    kw_hb_TScan *copy = KW_ARENA_NEW(made->arena, kw_hb_TScan);
    *copy = *scan;
    copy->columns.items = copy_columns(made->arena, scan);
    copy->filterString = kw_arena_copy(made->arena, scan->filterString);
    if (scan->has_timeRange) {
        kw_hb_TTimeRange *range = KW_ARENA_NEW(made->arena, kw_hb_TTimeRange);
        *range = *scan->timeRange;
        copy->timeRange = range;
    }
    made->scan = copy;
    made->machine = machine_of(scan->has_filterString, copy->filterString, made->reversed, made->arena);
    return made;
}

void
sim_scanner_free(sim_scanner *scanner)
{
    g_bytes_unref(scanner->at);
    g_bytes_unref(scanner->stop);
    kw_filter_machine_free(scanner->machine);
    kw_arena_free(scanner->arena);
    g_free(scanner);
}

static GTreeNode *
next_node(const sim_scanner *scanner)
{
    GTree *tree = scanner->table->rows;
    bool open = sim_bytes(scanner->at).size == 0 && !scanner->started;
    GTreeNode *node;
    if (!scanner->reversed) {
        node = open ? g_tree_node_first(tree) : g_tree_lower_bound(tree, scanner->at);
        if (node && scanner->started && g_bytes_equal(g_tree_node_key(node), scanner->at))
            node = g_tree_node_next(node);
        return node;
    }
    if (open)
        return g_tree_node_last(tree);
    node = g_tree_upper_bound(tree, scanner->at); /* the first row after it */
    node = node ? g_tree_node_previous(node) : g_tree_node_last(tree);
    if (node && scanner->started && g_bytes_equal(g_tree_node_key(node), scanner->at))
        node = g_tree_node_previous(node);
    return node;
}

static bool
is_past_stop(const sim_scanner *scanner, GBytes *key)
{
    kw_bytes stop = sim_bytes(scanner->stop);
    int order = kw_bytes_compare(sim_bytes(key), stop);
    return stop.size && (scanner->reversed ? order <= 0 : order >= 0);
}

uint32_t
sim_scan(sim_rows *rows, sim_scanner *scanner, int32_t count, kw_arena *arena, kw_hb_TResult **ret_results)
{
    const kw_hb_TScan *scan = scanner->scan;
    sim_asked asked = {.columns = scan->columns.items,
                       .columns_count = scan->columns.count,
                       .has_columns = scan->has_columns,
                       .versions = scan->has_maxVersions ? scan->maxVersions : 1,
                       .from = scan->has_timeRange ? scan->timeRange->minStamp : 0,
                       .to = scan->has_timeRange ? scan->timeRange->maxStamp : 0};
    kw_hb_TResult *results = KW_ARENA_ARRAY(arena, kw_hb_TResult, (size_t)count);
    uint32_t found = 0;
    GTreeNode *node;
    while (found < (uint32_t)count && (node = next_node(scanner))) {
        sim_row *row = g_tree_node_value(node);
        if (is_past_stop(scanner, row->key))
            break;
        g_bytes_unref(scanner->at);
        scanner->at = g_bytes_ref(row->key);
        scanner->started = true;
        if (read_row(rows, scanner->table, row, &asked, scanner->machine, arena, &results[found]))
            found++;
    }
    *ret_results = results;
    return found;
}
