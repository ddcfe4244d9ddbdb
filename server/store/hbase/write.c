/* One row's write: one call, one outcome. A write that carries its timestamp may be sent twice; one
 * that the region server stamps may not. */
#include "store/hbase/convert.h"
#include "store/hbase/door.h"

typedef struct write_op {
    kw_hbase_call call;
    kw_arena *arena;
    kw_write_done done;
    void *user;
} write_op;

kw_outcome
kw_hbase_outcome(const kw_hbase_failure *failure)
{
    return failure->error.maybe_applied ? KW_OUTCOME_UNKNOWN : KW_OUTCOME_FAILED;
}

static const void *
put_args(kw_arena *arena, const kw_write *write, kw_durability durability)
{
    kw_hb_THBaseService_put_args *args = KW_ARENA_NEW(arena, kw_hb_THBaseService_put_args);
    kw_hb_TPut *put = KW_ARENA_NEW(arena, kw_hb_TPut);
    kw_hbase_to_put(arena, write, durability, put);
    args->table = write->table;
    args->tput = put;
    return args;
}

static const void *
delete_args(kw_arena *arena, const kw_write *write, kw_durability durability)
{
    kw_hb_THBaseService_deleteSingle_args *args = KW_ARENA_NEW(arena, kw_hb_THBaseService_deleteSingle_args);
    kw_hb_TDelete *removal = KW_ARENA_NEW(arena, kw_hb_TDelete);
    kw_hbase_to_delete(arena, write, durability, removal);
    args->table = write->table;
    args->tdelete = removal;
    return args;
}

static const void *
mutate_args(kw_arena *arena, const kw_write *write, kw_durability durability)
{
    kw_hb_THBaseService_mutateRow_args *args = KW_ARENA_NEW(arena, kw_hb_THBaseService_mutateRow_args);
    args->table = write->table;
    args->trowMutations = kw_hbase_to_mutations(arena, write, durability);
    return args;
}

void
kw_hbase_write_prepare(kw_arena *arena, const kw_write *write, kw_durability durability,
                       kw_hbase_call *ret_call)
{
    switch (kw_hbase_shape_of(write)) {
    case KW_HBASE_SHAPE_PUT:
        ret_call->method = KW_HB_THBaseService_put;
        ret_call->args = put_args(arena, write, durability);
        break;
    case KW_HBASE_SHAPE_DELETE:
        ret_call->method = KW_HB_THBaseService_deleteSingle;
        ret_call->args = delete_args(arena, write, durability);
        break;
    case KW_HBASE_SHAPE_MUTATIONS:
        ret_call->method = KW_HB_THBaseService_mutateRow;
        ret_call->args = mutate_args(arena, write, durability);
        break;
    }
    ret_call->table = write->table;
    ret_call->repeatable = write->timestamp != KW_TIMESTAMP_NONE;
    ret_call->changes = true;
}

static void
write_done(kw_hbase_call *call, const void *result, const kw_hbase_failure *failure)
{
    (void)result;
    write_op *op = call->user;
    kw_write_done done = op->done;
    void *user = op->user;
    kw_arena_free(op->arena);
    if (failure)
        done(user, kw_hbase_outcome(failure), &failure->error);
    else
        done(user, KW_OUTCOME_OK, NULL);
}

void
kw_hbase_write(kw_door *door, const kw_write *write, kw_write_done done, void *user)
{
    kw_arena *arena = kw_arena_new();
    write_op *op = KW_ARENA_NEW(arena, write_op);
    kw_error error;
    op->arena = arena;
    op->done = done;
    op->user = user;
    op->call.user = op;
    op->call.done = write_done;
    op->call.deadline = write->deadline;
    if (!kw_hbase_check_write(write, &error)) {
        kw_hbase_pool_reject(&kw_hbase_door_of(door)->pool, &op->call, &error);
        return;
    }
    kw_hbase_write_prepare(arena, write, write->durability, &op->call);
    kw_hbase_pool_start(&kw_hbase_door_of(door)->pool, &op->call);
}
