/* The copy of one row that is too large to be read as a whole:
 *
 *   names of the columns, and gone cells, of both rows --> write the gone cells that a row lacks
 *                                                            |
 *                            .-------------------------------'
 *                            v
 *   the next columns, with their gone cells and kw:w, of both rows --> write what a row lacks
 *        ^                                                                |
 *        '----------------------------------------------------------------'
 *
 * Each part is a copy of its columns. Readers of the target can see some parts before others.
 */
#include "store/order/copy.h"

#include "store/check.h"

#define NAMES_FILTER                                                                                         \
    "(QualifierFilter (!=, 'binaryprefix:\0kw:') AND KeyOnlyFilter ()) OR "                                  \
    "QualifierFilter (=, 'binaryprefix:\0kw:')"
/* How many columns are read together at first; later more or fewer, depending on their size. */
#define COLUMNS_FIRST 64
#define COLUMNS_MAX 4096
#define FEW_BYTES (KW_COPY_PART_BYTES / 4)

typedef struct large {
    kw_order_handle *handle;
    kw_arena *arena; /* contains this struct */
    const kw_row_copy *copy;
    kw_deadline deadline;
    kw_written *result;
    kw_column *columns; /* of both rows, sorted */
    size_t count;
    size_t next, together; /* the next columns to copy */
    size_t copied;         /* columns in this part */
    kw_arena *scratch;     /* of this part */
    kw_get get;
    const kw_get *list; /* the get */
    void (*on_read)(struct large *);
    kw_rows *row, *to_row; /* to_row: NULL unless the copy is both ways */
    kw_copy_writes writes;
    void (*done)(void *user);
    void *user;
} large;

static void copy_columns(large *op);

static void
free_rows(large *op)
{
    kw_rows_free(g_steal_pointer(&op->row));
    kw_rows_free(g_steal_pointer(&op->to_row));
}

static void
finish(large *op)
{
    void (*done)(void *) = op->done;
    void *user = op->user;
    free_rows(op);
    kw_arena_free(op->scratch);
    kw_arena_free(op->arena);
    done(user);
}

static void
fail(large *op, kw_outcome outcome, const kw_error *error)
{
    *op->result = (kw_written){.outcome = outcome, .error = *error};
    kw_error_prefix(&op->result->error, "table %s, row %s: it is so large that it is copied in parts",
                    kw_show(op->copy->table).text, kw_show(op->copy->row).text);
    finish(op);
}

/* --- reading ---------------------------------------------------------------------------------- */

static void
read_row(large *op, kw_bytes table, kw_bytes row, kw_get_done done)
{
    op->list = &op->get;
    op->get.table = table;
    op->get.row = row;
    op->get.max_versions = INT32_MAX;
    op->get.time_to = op->copy->time_to;
    op->get.deadline = op->deadline;
    kw_store_handle_get_many(op->handle->inner, &op->list, 1, done, op);
}

static void
on_to_row(void *user, kw_rows *rows, const kw_error *error)
{
    large *op = user;
    op->to_row = rows;
    if (error)
        fail(op, KW_OUTCOME_FAILED, error);
    else
        op->on_read(op);
}

static void
on_row(void *user, kw_rows *rows, const kw_error *error)
{
    large *op = user;
    op->row = rows;
    if (error)
        fail(op, KW_OUTCOME_FAILED, error);
    else if (op->copy->both_ways)
        read_row(op, op->copy->to_table, op->copy->to_row, on_to_row);
    else
        op->on_read(op);
}

/* Reads what op->get requests of `row`, then of `to_row` if the copy is both ways. */
static void
read_both(large *op, void (*on_read)(large *))
{
    free_rows(op);
    op->on_read = on_read;
    read_row(op, op->copy->table, op->copy->row, on_row);
}

/* --- writing ---------------------------------------------------------------------------------- */

static void
on_written(void *user)
{
    large *op = user;
    kw_written all = {.outcome = KW_OUTCOME_OK};
    kw_copy_writes_note(&op->writes, &all);
    kw_copy_writes_clear(&op->writes);
    op->next += op->copied;
    if (all.outcome == KW_OUTCOME_OK)
        copy_columns(op);
    else
        fail(op, all.outcome, &all.error);
}

static void
write_missing(large *op)
{
    const kw_row *to_row = op->to_row ? &op->to_row->rows[0] : NULL;
    kw_copy_writes_init(&op->writes, op->handle, op->deadline);
    kw_copy_writes_add_missing(&op->writes, op->copy, &op->row->rows[0], to_row, 0);
    kw_copy_writes_send(&op->writes, on_written, op);
}

/* --- the parts -------------------------------------------------------------------------------- */

static void
on_columns(large *op)
{
    bool whole = op->row->rows[0].omitted == KW_OMITTED_NOT &&
                 (!op->to_row || op->to_row->rows[0].omitted == KW_OMITTED_NOT);
    size_t bytes = op->row->bytes + (op->to_row ? op->to_row->bytes : 0);
    if (!whole) {
        op->together = op->copied / 2;
        copy_columns(op);
        return;
    }
    if (bytes < FEW_BYTES)
        op->together = MIN(2 * op->together, COLUMNS_MAX);
    write_missing(op);
}

/* The next columns, their gone cells, and kw:w. */
static const kw_column *
columns_of(large *op)
{
    const kw_ordering *ordering = op->copy->ordering;
    size_t count;
    const kw_column *columns =
        kw_control_columns(ordering, op->columns + op->next, op->copied, op->scratch, &count);
    kw_column *all = KW_ARENA_ARRAY(op->scratch, kw_column, count + 1);
    memcpy(all, columns, count * sizeof *all);
    all[count] = (kw_column){ordering->family, KW_CONTROL_WRITER, false};
    op->get.columns_count = count + 1;
    return all;
}

static void
copy_columns(large *op)
{
    op->copied = MIN(op->together, op->count - op->next);
    if (op->copied == 0) {
        *op->result = (kw_written){.outcome = KW_OUTCOME_OK};
        finish(op);
        return;
    }
    kw_arena_free(op->scratch);
    op->scratch = kw_arena_new_for(NULL, KW_MEMORY_STORE);
    op->get = (kw_get){.max_bytes = op->copied > 1 ? KW_COPY_PART_BYTES : 0};
    op->get.columns = columns_of(op);
    read_both(op, on_columns);
}

/* --- names and gone cells --------------------------------------------------------------------- */

static void
add_column(large *op, const kw_cell *cell)
{
    const kw_column *last = op->count ? &op->columns[op->count - 1] : NULL;
    bool again = last && kw_bytes_equal(last->qualifier, cell->qualifier) &&
                 kw_bytes_equal(last->family, cell->family);
    if (again || kw_is_control(op->copy->ordering, cell))
        return;
    op->columns[op->count++] = (kw_column){.family = kw_arena_copy(op->arena, cell->family),
                                           .qualifier = kw_arena_copy(op->arena, cell->qualifier)};
}

/* The columns of both rows. Their cells are in the same order. */
static void
list_columns(large *op)
{
    static const kw_row none;
    const kw_row *row = &op->row->rows[0], *to_row = op->to_row ? &op->to_row->rows[0] : &none;
    uint32_t i = 0, j = 0;
    op->columns = KW_ARENA_ARRAY(op->arena, kw_column, (size_t)row->cells_count + to_row->cells_count);
    while (i < row->cells_count || j < to_row->cells_count) {
        const kw_cell *cell = i < row->cells_count ? &row->cells[i] : NULL;
        const kw_cell *other = j < to_row->cells_count ? &to_row->cells[j] : NULL;
        bool first = cell && (!other || kw_cell_compare_columns(cell, other) <= 0);
        add_column(op, first ? cell : other);
        i += first;
        j += !first;
    }
}

static void
keep_control(const kw_ordering *ordering, kw_row *row)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < row->cells_count; i++)
        if (kw_is_control(ordering, &row->cells[i]))
            row->cells[kept++] = row->cells[i];
    row->cells_count = kept;
}

static void
on_names(large *op)
{
    list_columns(op);
    keep_control(op->copy->ordering, &op->row->rows[0]);
    if (op->to_row)
        keep_control(op->copy->ordering, &op->to_row->rows[0]);
    write_missing(op);
}

void
kw_order_copy_large(kw_order_handle *handle, const kw_row_copy *copy, kw_deadline deadline,
                    kw_written *result, void (*done)(void *user), void *user)
{
    g_assert(copy->ordering && done);
    kw_arena *arena = kw_arena_new_for(NULL, KW_MEMORY_STORE);
    large *op = KW_ARENA_NEW(arena, large);
    *op = (large){.handle = handle,
                  .arena = arena,
                  .copy = copy,
                  .deadline = deadline,
                  .result = result,
                  .together = COLUMNS_FIRST,
                  .scratch = kw_arena_new_for(NULL, KW_MEMORY_STORE),
                  .get = {.filter = KW_BYTES_LITERAL(NAMES_FILTER), .filter_is_safe = true},
                  .done = done,
                  .user = user};
    read_both(op, on_names);
}
