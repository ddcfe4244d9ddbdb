/* Copies of rows in a store with several writers: see kw_row_copy.
 *
 *   the next copies with the same tables --> read `row` of each --> both ways: read `to_row` of each
 *        ^                                                                       |
 *        '---------- results <-- write what the rows lack, all together <--------'
 *
 * A row that the caller has read is not read again.
 *
 * Nothing keeps others from writing the rows meanwhile. That is harmless: a copied cell has the timestamp
 * that it had, and a copied removal the timestamp of the removal, so a later write wins although it arrives
 * sooner. Cells with equal timestamps are the exception: of them, HBase keeps the one that arrives last. So a
 * copy one way can replace a later cell of the same millisecond. A later copy both ways corrects this. A copy
 * both ways must run only while puts wait for the next millisecond (kw_ordering), or read only cells that are
 * older than every write in progress that has its timestamp from a gateway (time_to). tests/unit/change
 * explores these steps.
 *
 * The reads return gone cells, and the cells that they hide. A hidden cell is not copied. A gone cell is,
 * together with delete markers up to its value in the same mutation. HBase does not return its delete
 * markers, so those that have no gone cell cannot be copied: those of removals with a caller's timestamp, and
 * those of tables with order: store. Cells that are deleted in a family that keeps deleted cells are not
 * copied either.
 *
 * kw:w. Atomic operations compare the kw:w of `row`, and a put or removal can reach `to_row` before `row`. A
 * copy both ways adds writes to `row` that have not reached it. So it writes the newer kw:w of `to_row` to
 * `row`, in the same mutation. Without this kw:w, an atomic operation that has read the row before the copy
 * would not notice the copied cells. In addition, the delete markers of a copied removal could hide the kw:w
 * of an atomic operation that was applied in between. If the row had no kw:w before, the compare of another
 * operation would then find none again, and two increments could have the same result.
 */
#include "store/order/copy.h"

#include "store/refuse.h"

/* Larger rows are copied in parts. */
#define ROW_BYTES_MAX (2 * KW_COPY_PART_BYTES)
/* Many copies are divided into this many series, so that rows are read while others are written. If memory is
 * short, there is one series. */
#define SERIES_MAX 4
#define SERIES_ROWS_MIN 16

/* The copies of one call. */
typedef struct copy_call {
    kw_arena *arena;    /* contains this struct and all series */
    size_t series_left; /* not finished */
    void (*done)(void *user);
    void *user;
} copy_call;

/* A series: a part of the copies of the call. It does one group of copies after the other. */
typedef struct copying {
    copy_call *call;
    kw_order_handle *handle;
    const kw_row_copy *copies;
    size_t count;
    kw_deadline deadline;
    kw_written *results;
    size_t from, to; /* the copies in progress */
    kw_get *gets;
    const kw_get **list;
    kw_rows *rows, *to_rows; /* of these copies */
    kw_copy_writes writes;
} copying;

static void copy_next(copying *op);

static void
finish(copying *op)
{
    copy_call *call = op->call;
    void (*done)(void *) = call->done;
    void *user = call->user;
    g_assert(call->series_left > 0);
    if (--call->series_left)
        return;
    kw_arena_free(call->arena);
    done(user);
}

static void
free_rows(copying *op)
{
    kw_rows_free(g_steal_pointer(&op->rows));
    kw_rows_free(g_steal_pointer(&op->to_rows));
}

/* Fails the remaining copies of the series, because a row cannot be read. */
static void
fail_rest(copying *op, const kw_error *error)
{
    free_rows(op);
    for (size_t i = op->from; i < op->count; i++)
        op->results[i] = (kw_written){.outcome = KW_OUTCOME_FAILED, .error = *error};
    finish(op);
}

static bool
goes_with(const kw_row_copy *one, const kw_row_copy *other)
{
    return kw_bytes_equal(one->table, other->table) && kw_bytes_equal(one->to_table, other->to_table) &&
           one->both_ways == other->both_ways && one->time_from == other->time_from &&
           one->time_to == other->time_to && !one->stored == !other->stored &&
           !one->to_stored == !other->to_stored;
}

/* --- writing ---------------------------------------------------------------------------------- */

static void
on_written(void *user)
{
    copying *op = user;
    kw_copy_writes_note(&op->writes, op->results);
    kw_copy_writes_clear(&op->writes);
    free_rows(op);
    op->from = op->to;
    copy_next(op);
}

/* The row as it was read by this copy or by its caller. */
static const kw_row *
row_of(const copying *op, const kw_rows *rows, const kw_row *stored, size_t index)
{
    return stored ? stored : &rows->rows[index - op->from];
}

static void
write_missing(copying *op)
{
    kw_copy_writes_init(&op->writes, op->handle, op->deadline);
    for (size_t i = op->from; i < op->to; i++) {
        const kw_row_copy *copy = &op->copies[i];
        const kw_row *row = row_of(op, op->rows, copy->stored, i);
        const kw_row *to_row = copy->both_ways ? row_of(op, op->to_rows, copy->to_stored, i) : NULL;
        op->results[i] = (kw_written){.outcome = KW_OUTCOME_OK};
        kw_copy_writes_add_missing(&op->writes, copy, row, to_row, i);
    }
    kw_copy_writes_send(&op->writes, on_written, op);
}

/* --- reading ---------------------------------------------------------------------------------- */

static void
on_large_copied(void *user)
{
    copying *op = user;
    op->from++;
    copy_next(op);
}

/* Ends the group before the first row that did not fit into the read. False: not even one row fit; it is
 * copied in parts. */
static bool
keep_whole(copying *op, const kw_rows *rows)
{
    size_t whole = 0;
    while (whole < op->to - op->from && rows->rows[whole].omitted == KW_OMITTED_NOT)
        whole++;
    op->to = op->from + whole;
    if (whole)
        return true;
    free_rows(op);
    kw_order_copy_large(op->handle, &op->copies[op->from], op->deadline, &op->results[op->from],
                        on_large_copied, op);
    return false;
}

static void read_or_write(copying *op);

static void
on_to_rows(void *user, kw_rows *rows, const kw_error *error)
{
    copying *op = user;
    op->to_rows = rows;
    if (error)
        fail_rest(op, error);
    else if (keep_whole(op, rows))
        read_or_write(op);
}

static void
on_rows(void *user, kw_rows *rows, const kw_error *error)
{
    copying *op = user;
    op->rows = rows;
    if (error)
        fail_rest(op, error);
    else if (keep_whole(op, rows))
        read_or_write(op);
}

static void
read_rows(copying *op, bool to_rows)
{
    size_t count = op->to - op->from;
    for (size_t i = 0; i < count; i++) {
        const kw_row_copy *copy = &op->copies[op->from + i];
        op->gets[i] = (kw_get){.table = to_rows ? copy->to_table : copy->table,
                               .row = to_rows ? copy->to_row : copy->row,
                               .max_versions = INT32_MAX,
                               .time_from = copy->time_from,
                               .time_to = copy->time_to,
                               .max_bytes = ROW_BYTES_MAX,
                               .keep_blocks_out_of_cache = true,
                               .deadline = op->deadline};
        op->list[i] = &op->gets[i];
    }
    kw_store_handle_get_many(op->handle->inner, op->list, count, to_rows ? on_to_rows : on_rows, op);
}

/* Reads what is not read yet: `row` of each copy, then `to_row`. */
static void
read_or_write(copying *op)
{
    const kw_row_copy *first = &op->copies[op->from];
    if (!first->stored && !op->rows)
        read_rows(op, false);
    else if (first->both_ways && !first->to_stored && !op->to_rows)
        read_rows(op, true);
    else
        write_missing(op);
}

/* The bytes of the row that the caller has read. The other row of the copy probably has about as many. */
static size_t
stored_bytes(const kw_row_copy *copy)
{
    const kw_row *row = copy->stored ? copy->stored : copy->to_stored;
    size_t bytes = 0;
    for (uint32_t i = 0; row && i < row->cells_count; i++)
        bytes += row->cells[i].qualifier.size + row->cells[i].value.size;
    return bytes;
}

/* A store limits the bytes that it reads by the mean size of all rows of the table. The rows of these copies
 * can be larger, so those that are known to be large are read in smaller groups. */
static void
set_group(copying *op)
{
    const kw_row_copy *first = &op->copies[op->from];
    size_t bytes = stored_bytes(first);
    op->to = op->from + 1;
    while (op->to < op->count && op->to - op->from < KW_COPY_ROWS_TOGETHER &&
           goes_with(first, &op->copies[op->to])) {
        bytes += stored_bytes(&op->copies[op->to]);
        if (bytes > KW_COPY_PART_BYTES)
            return;
        op->to++;
    }
}

static void
copy_next(copying *op)
{
    if (op->from == op->count) {
        finish(op);
        return;
    }
    set_group(op);
    read_or_write(op);
}

void
kw_order_copy_rows(kw_store_handle *base, const kw_row_copy *copies, size_t count, kw_deadline deadline,
                   kw_written *results, void (*done)(void *user), void *user)
{
    g_assert(count > 0);
    kw_arena *arena = kw_arena_new_for(NULL, KW_MEMORY_STORE);
    copy_call *call = KW_ARENA_NEW(arena, copy_call);
    size_t series_max = kw_budget_pressure(NULL) == KW_PRESSURE_NONE ? SERIES_MAX : 1;
    size_t series = CLAMP(count / SERIES_ROWS_MIN, 1, series_max);
    *call = (copy_call){.arena = arena, .series_left = series, .done = done, .user = user};
    for (size_t i = 0; i < series; i++) {
        size_t first = count * i / series, end = count * (i + 1) / series;
        copying *op = KW_ARENA_NEW(arena, copying);
        *op = (copying){.call = call,
                        .handle = kw_order_handle_of(base),
                        .copies = copies + first,
                        .count = end - first,
                        .deadline = deadline,
                        .results = results + first,
                        .gets = KW_ARENA_ARRAY(arena, kw_get, KW_COPY_ROWS_TOGETHER),
                        .list = KW_ARENA_ARRAY(arena, const kw_get *, KW_COPY_ROWS_TOGETHER)};
        copy_next(op);
    }
}
