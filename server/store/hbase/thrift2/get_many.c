/* Multi-gets. They are split into calls with a limited number of rows, and a limited number of calls are in
 * flight at a time. A call whose request or reply is too large, or that fails temporarily, is halved, until
 * it succeeds or has a single get. Any other error fails the whole multi-get, and so does an error of a
 * single get.
 *
 * With max_bytes, no more calls are started once this many bytes have arrived. When all calls have ended, the
 * rows are counted in the order of the gets, and those that do not fit are omitted. A single row whose reply
 * is too large is omitted, too. */
#include "store/hbase/handle.h"
#include "store/hbase/thrift2/convert.h"

#include "base/metrics.h"
#include "store/check.h"

#define GETS_PER_CALL 128
/* The same if the size of the table's rows is unknown and the bytes of the answer are limited. */
#define FIRST_GETS_PER_CALL 32
#define CALLS_MAX 16

typedef struct many_op {
    kw_hbase_handle *handle;
    kw_rows *rows; /* its arena contains this struct and the parts */
    const kw_get *const *gets;
    size_t next; /* the first get that is not part of a call yet */
    size_t parts_in_flight;
    bool failed;
    kw_error error;
    kw_get_done done;
    void *user;
} many_op;

typedef struct get_part {
    kw_hbase_call call;
    kw_hb_THBaseService_getMultiple_args args;
    many_op *op;
    size_t first;
    size_t count;
} get_part;

void
kw_hbase_explain_filter_failure(kw_bytes filter, const kw_hbase_failure *failure, kw_error *ret_error)
{
    *ret_error = failure->error;
    bool inside = failure->kind == KW_HBASE_INTERNAL_ERROR;
    if (filter.size && inside)
        kw_error_set(ret_error, KW_INVALID, "the store cannot parse the filter \"%.*s\"",
                     (int)MIN(filter.size, 200), (const char *)filter.data);
}

bool
kw_hbase_check_row_count(const kw_hb_THBaseService_getMultiple_result *answer, size_t gets,
                         kw_hbase_failure *ret_failure)
{
    if (answer->success.count == gets)
        return true;
    *ret_failure = (kw_hbase_failure){.kind = KW_HBASE_OTHER};
    return kw_error_set(&ret_failure->error, KW_CORRUPT, "the store returned %u rows for %zu gets",
                        answer->success.count, gets);
}

bool
kw_hbase_from_get_result(kw_rows *rows, const kw_get *get, const kw_hb_TResult *result, kw_row *ret_row,
                         kw_error *ret_error)
{
    if (!kw_hbase_from_result(rows, get->table, result, ret_row, ret_error))
        return false;
    if (result->columnValues.count == 0)
        ret_row->key = kw_arena_copy(rows->arena, get->row);
    return kw_bytes_equal(ret_row->key, get->row) ||
           kw_error_set(ret_error, KW_CORRUPT, "table %s: the store returned row %s for a get of row %s",
                        kw_show(get->table).text, kw_show(ret_row->key).text, kw_show(get->row).text);
}

static void start_part(many_op *op, size_t first, size_t count);

/* --- limit of the bytes ----------------------------------------------------------------------- */

static size_t
max_bytes(const many_op *op)
{
    return op->gets[0]->max_bytes;
}

static bool
is_full(const many_op *op)
{
    return max_bytes(op) > 0 && op->rows->bytes >= max_bytes(op);
}

static void
omit(many_op *op, size_t index, kw_omission why)
{
    kw_bytes key = kw_arena_copy(op->rows->arena, op->gets[index]->row);
    op->rows->rows[index] = (kw_row){.key = key, .omitted = why};
}

static void
omit_rows(many_op *op)
{
    kw_rows *rows = op->rows;
    bool full = false;
    size_t max = max_bytes(op);
    if (max == 0 || (op->next == rows->count && rows->bytes <= max))
        return;
    rows->bytes = 0;
    for (size_t i = 0; i < rows->count; i++) {
        size_t bytes = i < op->next ? kw_row_bytes(&rows->rows[i]) : 0;
        bool too_large = bytes > max;
        full = full || i >= op->next || (!too_large && rows->bytes + bytes > max);
        if (full || too_large)
            omit(op, i, full ? KW_OMITTED_LIMIT_REACHED : KW_OMITTED_TOO_LARGE);
        else
            rows->bytes += bytes;
    }
}

/* --- parts ------------------------------------------------------------------------------------ */

static size_t
gets_per_call(const many_op *op)
{
    size_t seen = kw_hbase_row_bytes(op->handle, op->gets[0]->table);
    if (max_bytes(op) == 0)
        return GETS_PER_CALL;
    return seen ? CLAMP(max_bytes(op) / seen, 1, GETS_PER_CALL) : FIRST_GETS_PER_CALL;
}

static void
start_more(many_op *op)
{
    while (op->next < op->rows->count && op->parts_in_flight < CALLS_MAX && !op->failed && !is_full(op)) {
        size_t first = op->next, count = MIN(op->rows->count - first, gets_per_call(op));
        op->next += count;
        start_part(op, first, count);
    }
}

static void
part_finished(many_op *op)
{
    g_assert(op->parts_in_flight > 0);
    op->parts_in_flight--;
    start_more(op);
    if (op->parts_in_flight)
        return;
    kw_get_done done = op->done;
    void *user = op->user;
    kw_rows *rows = op->rows;
    kw_error error = op->error;
    if (op->failed) {
        kw_metrics_add(KW_METRIC_store_errors, (int64_t)rows->count);
        kw_rows_free(rows);
        done(user, NULL, &error);
    } else {
        omit_rows(op);
        done(user, rows, NULL);
    }
}

static void
part_failed(get_part *part, const kw_hbase_failure *failure)
{
    many_op *op = part->op;
    bool too_large = failure->kind == KW_HBASE_REPLY_TOO_LARGE ||
                     (failure->error.code == KW_LIMIT && !part->call.sent); /* the request is too large */
    if ((too_large || failure->kind == KW_HBASE_TEMPORARY) && part->count > 1 && !op->failed) {
        size_t half = part->count / 2;
        start_part(op, part->first, half);
        start_part(op, part->first + half, part->count - half);
    } else if (failure->kind == KW_HBASE_REPLY_TOO_LARGE && max_bytes(op) > 0 && !op->failed) {
        omit(op, part->first, KW_OMITTED_TOO_LARGE);
    } else if (!op->failed) {
        op->failed = true;
        kw_hbase_explain_filter_failure(op->gets[part->first]->filter, failure, &op->error);
    }
    part_finished(op);
}

static void
part_done(kw_hbase_call *call, const void *result, const kw_hbase_failure *failure)
{
    get_part *part = call->user;
    many_op *op = part->op;
    const kw_hb_THBaseService_getMultiple_result *answer = result;
    kw_hbase_failure wrong = {.kind = KW_HBASE_OTHER};
    size_t before = op->rows->bytes;
    if (!failure && !kw_hbase_check_row_count(answer, part->count, &wrong))
        failure = &wrong;
    for (size_t i = 0; !failure && i < part->count; i++) {
        size_t at = part->first + i;
        if (!kw_hbase_from_get_result(op->rows, op->gets[at], &answer->success.items[i], &op->rows->rows[at],
                                      &wrong.error))
            failure = &wrong;
    }
    if (failure) {
        part_failed(part, failure);
        return;
    }
    if (op->gets[0]->columns_count == 0 && op->rows->bytes > before)
        kw_hbase_note_row_bytes(op->handle, op->gets[0]->table, (op->rows->bytes - before) / part->count);
    part_finished(op);
}

static void
start_part(many_op *op, size_t first, size_t count)
{
    kw_arena *arena = op->rows->arena;
    get_part *part = KW_ARENA_NEW(arena, get_part);
    kw_hb_TGet *tgets = KW_ARENA_ARRAY(arena, kw_hb_TGet, count);
    for (size_t i = 0; i < count; i++)
        kw_hbase_to_get(arena, op->gets[first + i], &tgets[i]);
    part->op = op;
    part->first = first;
    part->count = count;
    part->args.table = op->gets[0]->table;
    part->args.tgets.items = tgets;
    part->args.tgets.count = (uint32_t)count;
    part->call.method = KW_HB_THBaseService_getMultiple;
    part->call.args = &part->args;
    part->call.table = part->args.table;
    part->call.deadline = op->gets[0]->deadline;
    part->call.account = op->gets[0]->account;
    part->call.number = op->gets[0]->call;
    part->call.repeatable = true;
    part->call.whole = count > 1; /* after a temporary failure it is halved instead of sent again */
    part->call.keep = arena;
    part->call.done = part_done;
    part->call.user = part;
    op->parts_in_flight++;
    kw_hbase_pool_start(&op->handle->pool, &part->call);
}

void
kw_hbase_get_many(kw_store_handle *handle, const kw_get *const *gets, size_t count, kw_get_done done,
                  void *user)
{
    g_assert(count > 0);
    kw_rows *rows = kw_rows_new_for(gets[0]->account);
    many_op *op = KW_ARENA_NEW(rows->arena, many_op);
    rows->rows = KW_ARENA_ARRAY(rows->arena, kw_row, count);
    rows->count = count;
    rows->scanned = count;
    op->handle = kw_hbase_handle_of(handle);
    op->rows = rows;
    op->gets = gets;
    op->done = done;
    op->user = user;
    start_more(op);
}
