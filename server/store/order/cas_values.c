/* What the operations of a round read and write: see cas.h. */
#include "store/order/cas.h"

#include "store/check.h"
#include "store/columns.h"
#include "store/derive.h"

static const kw_cas_op *
first_of(const kw_cas_round *round)
{
    return round->ops.head->data;
}

/* --- what is read ------------------------------------------------------------------------------- */

static size_t
count_columns(const kw_cas_round *round)
{
    size_t count = 0;
    for (const GList *at = round->ops.head; at; at = at->next) {
        const kw_cas_op *op = at->data;
        count += op->increment ? op->increment->columns_count : 1;
    }
    return count;
}

/* The columns of the increments, each one once. */
static kw_sorted_columns
increment_columns(const kw_cas_round *round)
{
    kw_column *columns = KW_ARENA_ARRAY(round->arena, kw_column, count_columns(round));
    size_t count = 0;
    for (const GList *at = round->ops.head; at; at = at->next) {
        const kw_increment *increment = ((const kw_cas_op *)at->data)->increment;
        for (size_t i = 0; i < increment->columns_count; i++)
            columns[count++] = increment->columns[i];
    }
    kw_sorted_columns sorted = kw_columns_sort(columns, count, round->arena);
    kw_columns_remove_repeated(&sorted);
    return sorted;
}

static const kw_column *
columns_of_increments(const kw_cas_round *round, size_t *ret_count)
{
    kw_sorted_columns sorted = increment_columns(round);
    kw_column *columns = KW_ARENA_ARRAY(round->arena, kw_column, sorted.count);
    for (size_t i = 0; i < sorted.count; i++)
        columns[i] = *sorted.columns[i];
    *ret_count = sorted.count;
    return columns;
}

/* Of the columns that a conditional write replaces, only the compared one is read. For the others kw:w is
 * enough: no cell of the row has a later timestamp from a gateway than kw:w. */
static const kw_column *
check_column(const kw_cas_round *round, size_t *ret_count)
{
    const kw_check *check = first_of(round)->check;
    kw_column *column = KW_ARENA_NEW(round->arena, kw_column);
    *column = (kw_column){.family = check->family, .qualifier = check->qualifier};
    *ret_count = 1;
    return column;
}

static const kw_column *
columns_to_read(const kw_cas_round *round, size_t *ret_count)
{
    const kw_cas_op *op = first_of(round);
    if (op->increment)
        return columns_of_increments(round, ret_count);
    if (!op->derivation)
        return check_column(round, ret_count);
    *ret_count = op->derivation->columns_count;
    return op->derivation->columns;
}

void
kw_cas_prepare_get(kw_cas_round *round)
{
    const kw_ordering *ordering = round->put.ordering;
    size_t count;
    const kw_column *columns = columns_to_read(round, &count);
    columns = kw_control_columns(ordering, columns, count, round->arena, &count);
    kw_column *all = KW_ARENA_ARRAY(round->arena, kw_column, count + 1);
    memcpy(all, columns, count * sizeof *all);
    all[count] = (kw_column){.family = ordering->family, .qualifier = KW_CONTROL_WRITER};
    round->get = (kw_get){.table = round->put.table,
                          .row = round->put.row,
                          .columns = all,
                          .columns_count = count + 1,
                          .max_versions = 1,
                          .max_bytes = first_of(round)->derivation ? KW_STORE_DERIVED_BYTES_MAX : 0,
                          .deadline = round->deadline};
}

static bool
is_writer(const kw_cell *cell)
{
    return kw_bytes_equal(cell->qualifier, KW_CONTROL_WRITER);
}

/* True if the round writes the column of this cell with its stamp. */
static bool
is_replaced(const kw_cas_round *round, const kw_cell *cell)
{
    const kw_cas_op *op = first_of(round);
    const kw_write *put = op->derivation ? &round->put : op->write;
    if (op->increment)
        return true;
    for (size_t i = 0; i < put->cells_count && round->callers_stamp_ms == KW_TIMESTAMP_NONE; i++)
        if (kw_bytes_equal(put->cells[i].qualifier, cell->qualifier) &&
            kw_bytes_equal(put->cells[i].family, cell->family))
            return true;
    return false;
}

int64_t
kw_cas_newest(const kw_cas_round *round)
{
    const kw_row *row = &round->rows->rows[0];
    int64_t newest_ms = -1;
    for (uint32_t i = 0; i < row->cells_count; i++)
        if (kw_is_control(round->put.ordering, &row->cells[i]) || is_replaced(round, &row->cells[i]))
            newest_ms = MAX(newest_ms, row->cells[i].timestamp);
    return newest_ms;
}

int64_t
kw_cas_newest_seen(const kw_cas_round *round)
{
    const kw_row *row = &round->rows->rows[0];
    int64_t newest_ms = -1;
    for (uint32_t i = 0; i < row->cells_count; i++) {
        kw_row one = {.cells = &row->cells[i], .cells_count = 1};
        if (!is_writer(&row->cells[i]))
            newest_ms = MAX(newest_ms, kw_order_newest(round->handle, &one, 1, round->time.latest_ns));
    }
    return newest_ms;
}

/* --- evaluation --------------------------------------------------------------------------------- */

/* What is visible of the row; `rows` stays as it was read. */
static kw_row
visible_row(const kw_cas_round *round)
{
    kw_row row = round->rows->rows[0];
    kw_cell *cells = KW_ARENA_ARRAY(round->arena, kw_cell, row.cells_count);
    if (row.cells_count)
        memcpy(cells, row.cells, row.cells_count * sizeof *cells);
    row.cells = cells;
    kw_order_hide(round->put.ordering, round->arena, &row);
    return row;
}

static bool
evaluate_condition(kw_cas_round *round, const kw_row *visible)
{
    kw_cas_op *op = round->ops.head->data;
    op->condition_met =
        kw_check_is_met(op->check, kw_row_find_cell(visible, op->check->family, op->check->qualifier));
    round->put.cells = op->write->cells;
    round->put.cells_count = op->write->cells_count;
    return op->condition_met;
}

static bool
derive(kw_cas_round *round, kw_cas_op *op, const kw_row *visible)
{
    kw_write put;
    kw_seen seen = {.row = visible};
    if (!kw_derive_write(op->write, op->derivation, &seen, round->arena, &put, &round->derived, &op->error))
        return false;
    g_assert(kw_derived_needs(&round->derived, &seen) == 0); /* lookups need a store with one writer */
    kw_error_clear(&op->error);
    round->put.cells = put.cells;
    round->put.cells_count = put.cells_count;
    round->put.markers_count = round->put.extra_cells_count = 0;
    return true;
}

/* Derives once after each read. */
static bool
evaluate_derived(kw_cas_round *round, const kw_row *visible)
{
    kw_cas_op *op = round->ops.head->data;
    if (!round->derived_is_known) {
        round->derived_is_known = derive(round, op, visible);
        op->condition_met = round->derived_is_known && round->derived.is_met;
    }
    return op->condition_met;
}

/* The columns of all increments of a round. */
typedef struct sums {
    kw_sorted_columns columns;
    int64_t *values;
    bool *wrong; /* the stored value is not a number */
    bool *added; /* an increment has been added */
} sums;

static sums
read_sums(const kw_cas_round *round, const kw_row *visible)
{
    sums all = {.columns = increment_columns(round)};
    size_t count = all.columns.count;
    all.values = KW_ARENA_ARRAY(round->arena, int64_t, count);
    all.wrong = KW_ARENA_ARRAY(round->arena, bool, count);
    all.added = KW_ARENA_ARRAY(round->arena, bool, count);
    for (size_t i = 0; i < count; i++) {
        const kw_column *column = all.columns.columns[i];
        const kw_cell *cell = kw_row_find_cell(visible, column->family, column->qualifier);
        all.wrong[i] = cell && cell->value.size != 8;
        all.values[i] = cell && cell->value.size == 8 ? (int64_t)kw_be64_load(cell->value.data) : 0;
    }
    return all;
}

/* Adds the amounts to the sums, unless one of the new values is wrong. */
static bool
add_increment(const kw_cas_round *round, sums *all, kw_cas_op *op)
{
    const kw_increment *increment = op->increment;
    size_t count = increment->columns_count;
    size_t *places = KW_ARENA_ARRAY(round->arena, size_t, count);
    kw_error_clear(&op->error);
    op->sums = KW_ARENA_ARRAY(round->arena, int64_t, count);
    for (size_t i = 0; i < count; i++) {
        places[i] = kw_columns_find(&all->columns, &increment->columns[i]);
        if (all->wrong[places[i]])
            return kw_error_set(&op->error, KW_INVALID,
                                "table %s: the stored value of a counter does not have 8 bytes",
                                kw_show(increment->table).text);
        if (!kw_check_sum(increment->table, &increment->columns[i], all->values[places[i]],
                          increment->amounts[i], &op->sums[i], &op->error))
            return false;
    }
    for (size_t i = 0; i < count; i++) {
        all->values[places[i]] = op->sums[i];
        all->added[places[i]] = true;
    }
    return true;
}

static bool
evaluate_increments(kw_cas_round *round, const kw_row *visible)
{
    sums all = read_sums(round, visible);
    for (GList *at = round->ops.head; at; at = at->next) {
        kw_cas_op *op = at->data;
        op->condition_met = add_increment(round, &all, op);
    }
    kw_cell *cells = KW_ARENA_ARRAY(round->arena, kw_cell, all.columns.count);
    round->put.cells = cells;
    round->put.cells_count = 0;
    for (size_t i = 0; i < all.columns.count; i++) {
        if (!all.added[i])
            continue;
        uint8_t *value = kw_arena_alloc(round->arena, 8);
        kw_be64_store(value, (uint64_t)all.values[i]);
        cells[round->put.cells_count++] = (kw_cell){.family = all.columns.columns[i]->family,
                                                    .qualifier = all.columns.columns[i]->qualifier,
                                                    .value = kw_bytes_of(value, 8)};
    }
    return round->put.cells_count > 0;
}

bool
kw_cas_evaluate(kw_cas_round *round)
{
    g_assert(round->rows);
    kw_row visible = visible_row(round);
    if (first_of(round)->derivation)
        return evaluate_derived(round, &visible);
    return first_of(round)->increment ? evaluate_increments(round, &visible)
                                      : evaluate_condition(round, &visible);
}

/* --- results ------------------------------------------------------------------------------------ */

kw_rows *
kw_cas_result(const kw_cas_round *round, const kw_cas_op *op)
{
    const kw_increment *increment = op->increment;
    kw_rows *rows = kw_rows_new();
    kw_row *row = rows->rows = KW_ARENA_NEW(rows->arena, kw_row);
    row->key = kw_arena_copy(rows->arena, increment->row);
    row->cells = KW_ARENA_ARRAY(rows->arena, kw_cell, increment->columns_count);
    rows->count = rows->scanned = 1;
    kw_sorted_columns sorted = kw_columns_sort(increment->columns, increment->columns_count, rows->arena);
    for (size_t i = 0; i < sorted.count; i++) {
        const kw_column *column = sorted.columns[i];
        uint8_t *value = kw_arena_alloc(rows->arena, 8);
        kw_be64_store(value, (uint64_t)op->sums[column - increment->columns]);
        row->cells[row->cells_count++] = (kw_cell){.family = kw_arena_copy(rows->arena, column->family),
                                                   .qualifier = kw_arena_copy(rows->arena, column->qualifier),
                                                   .value = kw_bytes_of(value, 8),
                                                   .timestamp = round->put.timestamp};
    }
    return rows;
}
