/* Gets of both rows of a record, in the old and the new placement, while its key rule changes.
 *
 *   get `row`   --+--> merge --> write to each row what it lacks --> the clock has passed all timestamps
 *   get `other` --'              (one mutation per row)                --> select --> answer
 *
 * Both rows are read with their control cells and hidden cells, because the write-back needs them, and a
 * removal in one row hides cells of both. The columns, time range, versions, filter and limits of the
 * caller's get are applied to the merged row.
 *
 * A write-back is sent once. If it were sent again, the first attempt could arrive after a later put with the
 * same timestamp, and replace the cells of that put. If the write-back fails, the get fails: otherwise a
 * later get could miss what this one returned.
 */
#include "store/order/order_internal.h"

#include "filter/machine.h"
#include "store/columns.h"
#include "store/refuse.h"

/* Reads all versions that a family keeps. */
#define VERSIONS_ALL INT32_MAX
/* The maximum effort of a filter. There is a limit because the filter runs on the loop. Keyway's own filters
 * need far less. */
#define FILTER_EFFORT_MAX ((uint64_t)16 * 1024 * 1024)

typedef struct both_op both_op;

/* The reads of one of the two placements. */
typedef struct side {
    both_op *op;
    kw_get *gets;
    const kw_get **list;
    size_t count;
    kw_rows *rows;
} side;

struct both_op {
    kw_order_handle *handle;
    kw_arena *arena;
    const kw_ordering *ordering;
    const kw_get *const *gets; /* the caller's */
    const kw_get *one;         /* `gets` points to it if it is a single get */
    size_t count;
    const kw_get *original, *widened; /* the last get whose columns got control columns, and the result */
    side sides[2];                    /* of `row`, of `other` */
    unsigned reads_left;
    bool failed;
    kw_error error;
    kw_row *merged;
    const kw_write **writes; /* the write-back */
    size_t writes_count;
    kw_written *written;
    kw_wait wait;
    kw_rows *result;
    kw_get_done done;
    void *user;
};

/* The number of versions to read, merge and write back. A filter or a time range is applied to the merged
 * row, and can remove its newest versions. So all versions are read then. */
static int32_t
versions_of(const kw_get *get)
{
    bool older = get->filter.size || get->time_from || get->time_to;
    return older ? VERSIONS_ALL : MAX(get->max_versions, 1);
}

/* --- answer ------------------------------------------------------------------------------------- */

static void
answer(both_op *op)
{
    both_op end = *op;
    for (int i = 0; i < 2; i++)
        kw_rows_free(end.sides[i].rows);
    if (end.failed)
        kw_rows_free(end.result);
    kw_arena_free(end.arena);
    end.done(end.user, end.failed ? NULL : end.result, end.failed ? &end.error : NULL);
}

static void
fail(both_op *op, const kw_error *error)
{
    op->failed = true;
    op->error = *error;
    op->error.maybe_applied = false;
}

/* --- the result of one get ---------------------------------------------------------------------- */

static bool
is_requested(const kw_get *get, const kw_sorted_columns *columns, const kw_cell *cell)
{
    bool ranged = get->time_from || get->time_to;
    if (ranged && (cell->timestamp < get->time_from || cell->timestamp >= get->time_to))
        return false;
    return columns->count == 0 || kw_columns_include(columns, cell->family, cell->qualifier);
}

/* Keeps the cells of the columns and times of the get. */
static void
select_cells(const kw_get *get, kw_arena *scratch, kw_row *row)
{
    uint32_t kept = 0;
    kw_arena_mark before = kw_arena_mark_now(scratch);
    kw_sorted_columns columns = kw_columns_sort(get->columns, get->columns_count, scratch);
    for (uint32_t i = 0; i < row->cells_count; i++)
        if (is_requested(get, &columns, &row->cells[i]))
            row->cells[kept++] = row->cells[i];
    row->cells_count = kept;
    kw_arena_rewind(scratch, before);
}

static void
limit_versions(int32_t most, kw_row *row)
{
    uint32_t kept = 0;
    int32_t versions = 0;
    for (uint32_t i = 0; i < row->cells_count; i++) {
        bool same = kept && kw_cell_same_column(&row->cells[kept - 1], &row->cells[i]);
        versions = same ? versions + 1 : 1;
        if (versions <= most)
            row->cells[kept++] = row->cells[i];
    }
    row->cells_count = kept;
}

/* The compiled filter of the get: a reference. */
static kw_prepared *
prepare(const kw_get *get, kw_error *ret_error)
{
    if (get->prepared && !kw_prepared_needs_compiling(get->prepared))
        return kw_prepared_ref(get->prepared);
    kw_prepared *prepared = kw_prepared_new(get->filter, ret_error);
    if (!prepared || kw_prepared_compile(prepared, ret_error))
        return prepared;
    kw_prepared_unref(prepared);
    return NULL;
}

static kw_bytes
copy_value(kw_rows *to, kw_bytes bytes)
{
    to->bytes += bytes.size;
    return kw_arena_copy(to->arena, bytes);
}

/* Copies the row to the result. */
static void
add_row(kw_rows *to, const kw_row *row, kw_row *ret_row)
{
    *ret_row = (kw_row){.key = copy_value(to, row->key),
                        .cells = KW_ARENA_ARRAY(to->arena, kw_cell, row->cells_count),
                        .cells_count = row->cells_count};
    for (uint32_t i = 0; i < row->cells_count; i++) {
        const kw_cell *from = &row->cells[i];
        ret_row->cells[i] = (kw_cell){.family = kw_arena_copy(to->arena, from->family),
                                      .qualifier = copy_value(to, from->qualifier),
                                      .value = copy_value(to, from->value),
                                      .timestamp = from->timestamp};
    }
}

/* Applies the filter, which also limits the versions, and adds the row. False if the filter fails. */
static bool
add_filtered(both_op *op, const kw_get *get, kw_row *row, kw_row *ret_row)
{
    kw_effort effort = {.deadline = get->deadline, .units_most = FILTER_EFFORT_MAX};
    g_autoptr(kw_prepared) prepared = prepare(get, &op->error);
    kw_filter_machine *machine =
        prepared ? kw_filter_machine_prepared(prepared, false, &effort, &op->error) : NULL;
    if (!machine)
        return false;
    size_t count = row->cells_count;
    kw_filter_verdict verdict =
        kw_filter_machine_row(machine, row->key, row->cells, &count, MAX(get->max_versions, 1), &op->error);
    row->cells_count = verdict == KW_FILTER_ROW_KEPT ? (uint32_t)count : 0;
    if (verdict != KW_FILTER_ROW_FAILED)
        add_row(op->result, row, ret_row);
    kw_filter_machine_free(machine);
    return verdict != KW_FILTER_ROW_FAILED;
}

static bool
add_selected(both_op *op, size_t index)
{
    const kw_get *get = op->gets[index];
    kw_row *row = &op->merged[index];
    kw_order_hide(op->ordering, op->arena, row);
    select_cells(get, op->arena, row);
    if (get->filter.size && row->cells_count)
        return add_filtered(op, get, row, &op->result->rows[index]);
    limit_versions(MAX(get->max_versions, 1), row);
    add_row(op->result, row, &op->result->rows[index]);
    return true;
}

/* A row that the store has omitted, or that exceeds max_bytes now, is omitted. */
static bool
add_or_omit(both_op *op, size_t index, bool *limit_reached)
{
    kw_rows *result = op->result;
    size_t most = op->gets[0]->max_bytes, before = result->bytes;
    kw_arena_mark mark = kw_arena_mark_now(result->arena);
    kw_omission why = *limit_reached ? KW_OMITTED_LIMIT_REACHED : op->merged[index].omitted;
    if (why == KW_OMITTED_NOT) {
        if (!add_selected(op, index))
            return false;
        if (most == 0 || result->bytes <= most)
            return true;
        why = result->bytes - before > most ? KW_OMITTED_TOO_LARGE : KW_OMITTED_LIMIT_REACHED;
        kw_arena_rewind(result->arena, mark);
        result->bytes = before;
    }
    *limit_reached = why == KW_OMITTED_LIMIT_REACHED;
    result->rows[index] = (kw_row){.key = kw_arena_copy(result->arena, op->gets[index]->row), .omitted = why};
    return true;
}

static void
select_all(both_op *op)
{
    bool limit_reached = false;
    op->result = kw_rows_new_for(op->gets[0]->account);
    op->result->rows = KW_ARENA_ARRAY(op->result->arena, kw_row, op->count);
    op->result->count = op->result->scanned = op->count;
    for (size_t i = 0; i < op->count && !op->failed; i++)
        op->failed = !add_or_omit(op, i, &limit_reached);
    answer(op);
}

/* --- the wait for the clock --------------------------------------------------------------------- */

static void
on_clock_passed(void *user, kw_wait_result result)
{
    both_op *op = user;
    kw_error error;
    if (result == KW_WAIT_DONE) {
        select_all(op);
        return;
    }
    kw_wait_error(op->handle, result, "the store's clock passed what was read", false, &error);
    fail(op, &error);
    answer(op);
}

static void
on_time_known(void *user, kw_wait_result result)
{
    both_op *op = user;
    if (result != KW_WAIT_DONE) {
        on_clock_passed(op, result);
        return;
    }
    int64_t newest_ms = kw_order_newest(op->handle, op->merged, op->count, op->wait.span.latest_ns);
    op->wait = (kw_wait){.until_time_ns = kw_order_ns(newest_ms),
                         .known = true,
                         .deadline = op->gets[0]->deadline,
                         .done = on_clock_passed,
                         .user = op};
    kw_wait_and_call(op->handle, &op->wait);
}

static void
wait_for_time(both_op *op)
{
    op->wait = (kw_wait){.until_time_ns = INT64_MIN,
                         .known = true,
                         .deadline = op->gets[0]->deadline,
                         .done = on_time_known,
                         .user = op};
    kw_wait_and_call(op->handle, &op->wait);
}

/* --- the write-back ----------------------------------------------------------------------------- */

static void
on_written_back(void *user)
{
    both_op *op = user;
    for (size_t i = 0; i < op->writes_count && !op->failed; i++)
        if (op->written[i].outcome != KW_OUTCOME_OK) {
            fail(op, &op->written[i].error);
            kw_error_prefix(&op->error, "the newest values were not written to both rows of the record");
        }
    if (op->failed)
        answer(op);
    else
        wait_for_time(op);
}

static void
add_write_back(both_op *op, const kw_get *get, const kw_row *merged, const kw_row *to, kw_bytes table)
{
    kw_write write;
    if (!kw_order_missing(op->ordering, merged, to, false, op->arena, &write))
        return;
    kw_write *copy = KW_ARENA_NEW(op->arena, kw_write);
    *copy = write;
    copy->table = table;
    copy->row = to->key;
    copy->deadline = get->deadline;
    copy->ordering = op->ordering;
    copy->once = true;
    copy->fenced = true;
    copy->era = get->era;
    op->writes[op->writes_count++] = copy;
}

/* Merges the rows of a record. `other`: NULL if the record has one row only. */
static void
merge(both_op *op, size_t index, kw_row *row, kw_row *other)
{
    const kw_get *get = op->gets[index];
    if (!other || row->omitted || other->omitted) {
        op->merged[index] = *row;
        if (other && !row->omitted)
            op->merged[index].omitted = other->omitted;
        return;
    }
    op->merged[index] = kw_order_merge(op->ordering, row, other, op->arena);
    limit_versions(versions_of(get), &op->merged[index]);
    add_write_back(op, get, &op->merged[index], row, get->table);
    add_write_back(op, get, &op->merged[index], other, get->other->table);
}

static void
merge_all(both_op *op)
{
    size_t next = 0;
    op->merged = KW_ARENA_ARRAY(op->arena, kw_row, op->count);
    op->writes = KW_ARENA_ARRAY(op->arena, const kw_write *, 2 * op->count);
    for (size_t i = 0; i < op->count; i++) {
        kw_row *row = &op->sides[0].rows->rows[i];
        merge(op, i, row, op->gets[i]->other ? &op->sides[1].rows->rows[next++] : NULL);
    }
    if (op->writes_count == 0) {
        wait_for_time(op);
        return;
    }
    op->written = KW_ARENA_ARRAY(op->arena, kw_written, op->writes_count);
    kw_order_send(op->handle, op->arena, op->writes, op->writes_count, op->written, on_written_back, op);
}

/* --- the reads ---------------------------------------------------------------------------------- */

static void
on_rows(void *user, kw_rows *rows, const kw_error *error)
{
    side *of = user;
    both_op *op = of->op;
    of->rows = rows;
    if (error && !op->failed)
        fail(op, error);
    if (--op->reads_left)
        return;
    if (op->failed)
        answer(op);
    else
        merge_all(op);
}

/* Adds the gone cells that can hide cells of the get's columns. If the get reads a whole family, the names of
 * its columns are not known, and neither are the names of their gone cells. So the whole family that has the
 * control cells is read. Gets with the same columns share the result. */
static void
add_control_columns(both_op *op, const kw_get *original, kw_get *get)
{
    bool families = false;
    if (get->columns_count == 0)
        return;
    if (op->original && op->original->columns == original->columns &&
        op->original->columns_count == original->columns_count) {
        get->columns = op->widened->columns;
        get->columns_count = op->widened->columns_count;
        return;
    }
    op->original = original;
    op->widened = get;
    for (size_t i = 0; i < get->columns_count; i++)
        families = families || get->columns[i].whole_family;
    size_t count;
    const kw_column *columns =
        kw_control_columns(op->ordering, get->columns, get->columns_count, op->arena, &count);
    kw_column *all = KW_ARENA_ARRAY(op->arena, kw_column, count + 1);
    memcpy(all, columns, count * sizeof *all);
    if (families)
        all[count++] = (kw_column){.family = op->ordering->family, .whole_family = true};
    get->columns = all;
    get->columns_count = count;
}

static void
prepare_get(both_op *op, const kw_get *get, bool other, kw_get *ret_get)
{
    *ret_get = *get;
    if (other) {
        ret_get->table = get->other->table;
        ret_get->row = get->other->row;
    }
    ret_get->other = NULL;
    ret_get->filter = KW_BYTES_NONE;
    ret_get->prepared = NULL;
    ret_get->filters_cells_only = ret_get->filter_is_safe = false;
    ret_get->time_from = ret_get->time_to = 0;
    ret_get->max_versions = versions_of(get);
    ret_get->max_bytes = op->gets[0]->max_bytes;
    add_control_columns(op, get, ret_get);
}

static void
start_reads(both_op *op, side *of)
{
    kw_store_handle *inner = op->handle->inner;
    bool other = of == &op->sides[1];
    of->op = op;
    of->gets = KW_ARENA_ARRAY(op->arena, kw_get, op->count);
    of->list = KW_ARENA_ARRAY(op->arena, const kw_get *, op->count);
    for (size_t i = 0; i < op->count; i++) {
        if (other && !op->gets[i]->other)
            continue;
        prepare_get(op, op->gets[i], other, &of->gets[of->count]);
        of->list[of->count] = &of->gets[of->count];
        of->count++;
    }
    if (op->one)
        kw_store_handle_get(inner, of->list[0], on_rows, of);
    else
        kw_store_handle_get_many(inner, of->list, of->count, on_rows, of);
}

void
kw_order_get_both(kw_order_handle *handle, const kw_get *const *gets, size_t count, bool single,
                  kw_get_done done, void *user)
{
    g_assert(count > 0 && gets[0]->ordering);
    kw_arena *arena = kw_arena_new_for(gets[0]->account, KW_MEMORY_STORE);
    both_op *op = KW_ARENA_NEW(arena, both_op);
    *op = (both_op){.handle = handle,
                    .arena = arena,
                    .ordering = gets[0]->ordering,
                    .gets = gets,
                    .count = count,
                    .reads_left = 2,
                    .done = done,
                    .user = user};
    if (single) {
        op->one = gets[0];
        op->gets = &op->one;
    }
    start_reads(op, &op->sides[0]);
    start_reads(op, &op->sides[1]);
}
