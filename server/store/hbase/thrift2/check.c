/* Conditional writes and increments. They are never sent again. HBase compares "given OP stored", but the
 * store's interface defines "stored OP given". So the operator is reversed. A check of HBase does not
 * distinguish an empty value from an absent cell. */
#include "store/check.h"
#include "store/control.h"
#include "store/hbase/handle.h"
#include "store/hbase/thrift2/convert.h"

#include "base/metrics.h"

/* Time for subtracting an increment again whose sum did not fit. */
#define SUBTRACT_MS 5000

typedef struct check_op {
    kw_hbase_call call;
    kw_arena *arena;
    kw_write_if_done done;
    void *user;
} check_op;

typedef struct increment_op {
    kw_hbase_call call;
    kw_hbase_pool *pool;
    kw_increment what;
    kw_rows *rows;  /* its arena contains this struct */
    kw_error error; /* a sum did not fit; the amounts are being subtracted again */
    kw_increment_done done;
    void *user;
} increment_op;

/* --- write_if --------------------------------------------------------------------------------- */

static int32_t
reversed(kw_compare compare)
{
    switch (compare) {
    case KW_COMPARE_LESS:
        return KW_HB_TCompareOp_GREATER;
    case KW_COMPARE_LESS_OR_EQUAL:
        return KW_HB_TCompareOp_GREATER_OR_EQUAL;
    case KW_COMPARE_EQUAL:
        return KW_HB_TCompareOp_EQUAL;
    case KW_COMPARE_NOT_EQUAL:
        return KW_HB_TCompareOp_NOT_EQUAL;
    case KW_COMPARE_GREATER_OR_EQUAL:
        return KW_HB_TCompareOp_LESS_OR_EQUAL;
    case KW_COMPARE_GREATER:
        return KW_HB_TCompareOp_LESS;
    }
    g_assert_not_reached();
}

static void
prepare_put(kw_arena *arena, const kw_write *write, const kw_check *check, kw_hbase_call *call)
{
    kw_hb_THBaseService_checkAndPut_args *args = KW_ARENA_NEW(arena, kw_hb_THBaseService_checkAndPut_args);
    kw_hb_TPut *put = KW_ARENA_NEW(arena, kw_hb_TPut);
    kw_hbase_to_put(arena, write, write->durability, put);
    *args = (kw_hb_THBaseService_checkAndPut_args){.table = write->table,
                                                   .row = write->row,
                                                   .family = check->family,
                                                   .qualifier = check->qualifier,
                                                   .has_value = check->has_value,
                                                   .value = check->value,
                                                   .tput = put};
    call->method = KW_HB_THBaseService_checkAndPut;
    call->args = args;
}

static void
prepare_delete(kw_arena *arena, const kw_write *write, const kw_check *check, kw_hbase_call *call)
{
    kw_hb_THBaseService_checkAndDelete_args *args =
        KW_ARENA_NEW(arena, kw_hb_THBaseService_checkAndDelete_args);
    kw_hb_TDelete *removal = KW_ARENA_NEW(arena, kw_hb_TDelete);
    kw_hbase_to_delete(arena, write, write->durability, removal);
    *args = (kw_hb_THBaseService_checkAndDelete_args){.table = write->table,
                                                      .row = write->row,
                                                      .family = check->family,
                                                      .qualifier = check->qualifier,
                                                      .has_value = check->has_value,
                                                      .value = check->value,
                                                      .tdelete = removal};
    call->method = KW_HB_THBaseService_checkAndDelete;
    call->args = args;
}

/* Thrift2's handler requires a value; an empty one means "absent". */
static void
prepare_mutate(kw_arena *arena, const kw_write *write, const kw_check *check, kw_hbase_call *call)
{
    kw_hb_THBaseService_checkAndMutate_args *args =
        KW_ARENA_NEW(arena, kw_hb_THBaseService_checkAndMutate_args);
    *args = (kw_hb_THBaseService_checkAndMutate_args){
        .table = write->table,
        .row = write->row,
        .family = check->family,
        .qualifier = check->qualifier,
        .compareOp = reversed(check->compare),
        .has_value = true,
        .value = check->has_value ? check->value : KW_BYTES_NONE,
        .rowMutations = kw_hbase_to_mutations(arena, write, write->durability)};
    call->method = KW_HB_THBaseService_checkAndMutate;
    call->args = args;
}

void
kw_hbase_check_prepare(kw_arena *arena, const kw_write *write, const kw_check *check, kw_hbase_call *call)
{
    kw_hbase_shape shape = kw_hbase_shape_of(write);
    if (check->compare != KW_COMPARE_EQUAL || shape == KW_HBASE_SHAPE_MUTATIONS)
        prepare_mutate(arena, write, check, call);
    else if (shape == KW_HBASE_SHAPE_PUT)
        prepare_put(arena, write, check, call);
    else
        prepare_delete(arena, write, check, call);
}

bool
kw_hbase_check_was_applied(const kw_hbase_call *call, const void *result)
{
    switch ((int)call->method) {
    case KW_HB_THBaseService_checkAndPut:
        return ((const kw_hb_THBaseService_checkAndPut_result *)result)->success;
    case KW_HB_THBaseService_checkAndDelete:
        return ((const kw_hb_THBaseService_checkAndDelete_result *)result)->success;
    default:
        return ((const kw_hb_THBaseService_checkAndMutate_result *)result)->success;
    }
}

static void
check_done(kw_hbase_call *call, const void *result, const kw_hbase_failure *failure)
{
    check_op *op = call->user;
    kw_write_if_done done = op->done;
    void *user = op->user;
    bool applied = !failure && kw_hbase_check_was_applied(call, result);
    kw_arena_free(op->arena);
    if (failure)
        kw_metrics_add(KW_METRIC_store_errors, 1);
    if (failure)
        done(user, kw_hbase_outcome(failure), false, &failure->error);
    else
        done(user, KW_OUTCOME_OK, applied, NULL);
}

void
kw_hbase_write_if(kw_store_handle *handle, const kw_write *write, const kw_check *check,
                  kw_write_if_done done, void *user)
{
    kw_arena *arena = kw_arena_new_for(NULL, KW_MEMORY_STORE);
    check_op *op = KW_ARENA_NEW(arena, check_op);
    kw_error error;
    op->arena = arena;
    op->done = done;
    op->user = user;
    op->call.user = op;
    op->call.done = check_done;
    op->call.deadline = write->deadline;
    op->call.table = write->table;
    op->call.changes = true;
    op->call.fenced = write->fenced;
    op->call.era = write->era;
    if (!kw_hbase_check_write(write, &error)) {
        kw_hbase_pool_reject(&kw_hbase_handle_of(handle)->pool, &op->call, &error);
        return;
    }
    kw_hbase_check_prepare(arena, write, check, &op->call);
    kw_hbase_pool_start(&kw_hbase_handle_of(handle)->pool, &op->call);
}

/* --- increment -------------------------------------------------------------------------------- */

static const void *
increment_args(kw_arena *arena, const kw_increment *increment)
{
    kw_hb_THBaseService_increment_args *args = KW_ARENA_NEW(arena, kw_hb_THBaseService_increment_args);
    kw_hb_TIncrement *body = KW_ARENA_NEW(arena, kw_hb_TIncrement);
    kw_hb_TColumnIncrement *columns = KW_ARENA_ARRAY(arena, kw_hb_TColumnIncrement, increment->columns_count);
    for (size_t i = 0; i < increment->columns_count; i++)
        columns[i] = (kw_hb_TColumnIncrement){.family = increment->columns[i].family,
                                              .qualifier = increment->columns[i].qualifier,
                                              .has_amount = true,
                                              .amount = increment->amounts[i]};
    body->row = increment->row;
    body->columns.items = columns;
    body->columns.count = (uint32_t)increment->columns_count;
    body->has_durability = increment->durability != KW_DURABILITY_DEFAULT;
    body->durability = (int32_t)increment->durability;
    args->table = increment->table;
    args->tincrement = body;
    return args;
}

static void
start_increment(increment_op *op, kw_hbase_done done)
{
    op->call = (kw_hbase_call){.method = KW_HB_THBaseService_increment,
                               .args = increment_args(op->rows->arena, &op->what),
                               .table = op->what.table,
                               .deadline = op->what.deadline,
                               .changes = true,
                               .fenced = op->what.fenced,
                               .era = op->what.era,
                               .keep = op->rows->arena,
                               .done = done,
                               .user = op};
    kw_hbase_pool_start(op->pool, &op->call);
}

/* The control cell that changes with every increment is a random number, and wraps around by intention. */
static bool
is_counter(const kw_column *column)
{
    return !kw_bytes_equal(column->qualifier, KW_CONTROL_GENERATION);
}

/* Sums that did not fit have wrapped around. */
static bool
check_sums(const kw_increment *increment, const kw_row *row, kw_error *ret_error)
{
    for (size_t i = 0; i < increment->columns_count; i++) {
        const kw_column *column = &increment->columns[i];
        const kw_cell *cell = kw_row_find_cell(row, column->family, column->qualifier);
        if (!is_counter(column) || !cell || cell->value.size != 8)
            continue;
        int64_t stored = (int64_t)(kw_be64_load(cell->value.data) - (uint64_t)increment->amounts[i]);
        int64_t sum;
        if (!kw_check_sum(increment->table, column, stored, increment->amounts[i], &sum, ret_error))
            return false;
    }
    return true;
}

static void
subtracted(kw_hbase_call *call, const void *result, const kw_hbase_failure *failure)
{
    increment_op *op = call->user;
    (void)result;
    kw_increment_done done = op->done;
    void *user = op->user;
    kw_error error = op->error;
    if (failure)
        kw_error_set(
            &error, KW_INVALID,
            "%s; HBase has added it all the same, and subtracting it again failed: put the right value",
            op->error.text);
    kw_rows_free(op->rows);
    done(user, failure ? KW_OUTCOME_UNKNOWN : KW_OUTCOME_FAILED, NULL, &error);
}

static void
subtract(increment_op *op)
{
    kw_arena *arena = op->rows->arena;
    int64_t *amounts = KW_ARENA_ARRAY(arena, int64_t, op->what.columns_count);
    for (size_t i = 0; i < op->what.columns_count; i++)
        amounts[i] = is_counter(&op->what.columns[i]) ? (int64_t)(0 - (uint64_t)op->what.amounts[i])
                                                      : op->what.amounts[i];
    op->what.amounts = amounts;
    op->what.deadline = kw_deadline_in_ms(SUBTRACT_MS); /* even if the caller's deadline has passed */
    start_increment(op, subtracted);
}

static void
increment_done(kw_hbase_call *call, const void *result, const kw_hbase_failure *failure)
{
    increment_op *op = call->user;
    kw_increment_done done = op->done;
    void *user = op->user;
    kw_rows *rows = op->rows;
    if (failure) {
        kw_metrics_add(KW_METRIC_store_errors, 1);
        kw_rows_free(rows);
        done(user, kw_hbase_outcome(failure), NULL, &failure->error);
        return;
    }
    const kw_hb_THBaseService_increment_result *answer = result;
    rows->rows = KW_ARENA_NEW(rows->arena, kw_row);
    rows->count = 1;
    rows->scanned = 1;
    if (answer->success &&
        !kw_hbase_from_result(rows, op->what.table, answer->success, &rows->rows[0], &op->error)) {
        kw_error error = op->error;
        error.maybe_applied = true;
        kw_rows_free(rows);
        done(user, KW_OUTCOME_UNKNOWN, NULL, &error);
        return;
    }
    if (check_sums(&op->what, &rows->rows[0], &op->error))
        done(user, KW_OUTCOME_OK, rows, NULL);
    else
        subtract(op);
}

void
kw_hbase_increment(kw_store_handle *handle, const kw_increment *increment, kw_increment_done done, void *user)
{
    g_assert(increment->columns_count > 0);
    kw_rows *rows = kw_rows_new();
    increment_op *op = KW_ARENA_NEW(rows->arena, increment_op);
    *op = (increment_op){.pool = &kw_hbase_handle_of(handle)->pool,
                         .what = *increment,
                         .rows = rows,
                         .done = done,
                         .user = user};
    start_increment(op, increment_done);
}
