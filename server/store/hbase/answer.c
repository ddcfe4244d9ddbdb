/* From a reply to the end of its call: decode, find the exception in the result, repeat what HBase
 * could not do now, log what callers must not see.
 *
 * Results are decoded into the pool's scratch arena, which the next reply reuses. A call that keeps
 * its rows gets the bytes copied into its own arena first, once, so that every slice outlives done.
 */
#include "store/hbase/failure.h"
#include "store/hbase/pool_private.h"

#include "base/log.h"
#include "wire/table.h"

#include <stdio.h>

/* A reply is at most KW_HBASE_REPLY_MAX; decoded cells are a few times as large as short ones on the wire. */
#define DECODED_MAX ((size_t)512 * 1024 * 1024)
#define EXCEPTION_ID_IO 1
#define EXCEPTION_ID_ARGUMENT 2
#define LOG_EVERY_NS UINT64_C(1000000000)

/* The member with this id of a result, NULL when it is not there. */
static const void *
exception_in(const kw_wire_struct *table, const void *result, int16_t id)
{
    for (uint32_t i = 0; i < table->field_count; i++) {
        const kw_wire_field *field = &table->fields[i];
        if (field->id == id && *((const bool *)result + field->flag))
            return *(const void *const *)(const void *)((const char *)result + field->offset);
    }
    return NULL;
}

/* At most one line a second, with the whole text: stacks are long and come in crowds. */
static void
log_refusal(kw_hbase_pool *pool, const kw_hbase_call *call, kw_hbase_channel *channel, kw_bytes text)
{
    uint64_t now = kw_clock_mono_ns();
    if (pool->logged_ns && now - pool->logged_ns < LOG_EVERY_NS) {
        pool->not_logged++;
        return;
    }
    pool->logged_ns = now;
    kw_log(
        KW_LOG_WARN, "hbase", "HBase refused", "server=%s method=%s table=%.*s not_logged=%u text=\"%.*s\"",
        kw_hbase_channel_server(channel)->name, kw_hb_methods[call->method].name, (int)call->table.size,
        (const char *)call->table.data, pool->not_logged, (int)MIN(text.size, 4000), (const char *)text.data);
    pool->not_logged = 0;
}

/* Reads the body; false with the failure when it is not a result without exception. */
static bool
read_result(kw_hbase_pool *pool, kw_hbase_channel *channel, kw_hbase_call *call, kw_bytes body,
            const void **ret_result, kw_hbase_failure *ret_failure)
{
    const kw_wire_struct *table = kw_hb_methods[call->method].result;
    kw_wire_limits limits = {.decoded_bytes = DECODED_MAX, .depth = KW_WIRE_DEPTH_DEFAULT};
    kw_arena_reset(pool->scratch);
    void *result = kw_arena_alloc0(pool->scratch, table->size);
    if (!kw_wire_struct_decode(table, channel->settings->form.protocol, body, limits, pool->scratch, result,
                               &ret_failure->error)) {
        kw_hbase_channel_close(channel, KW_HBASE_LOSS_BROKEN, "a reply that cannot be read: %s",
                               ret_failure->error.text);
        ret_failure->kind = KW_HBASE_LOST;
        kw_error_set(&ret_failure->error, KW_UNAVAILABLE, "the answer of the store cannot be read");
        ret_failure->error.maybe_applied = call->changes;
        return false;
    }
    const kw_hb_TIOError *io = exception_in(table, result, EXCEPTION_ID_IO);
    const kw_hb_TIllegalArgument *argument = exception_in(table, result, EXCEPTION_ID_ARGUMENT);
    if (io) {
        kw_hbase_failure_of_io(io->message, io->has_canRetry && io->canRetry, call->table, call->changes,
                               ret_failure);
        log_refusal(pool, call, channel, io->message);
    } else if (argument) {
        kw_hbase_failure_of_argument(argument->message, ret_failure);
    }
    *ret_result = result;
    return !io && !argument;
}

static void
read_exception(kw_hbase_pool *pool, kw_hbase_channel *channel, const kw_hbase_call *call,
               const kw_wire_message *message, kw_hbase_failure *ret_failure)
{
    kw_wire_exception_type type = KW_WIRE_EXCEPTION_UNKNOWN;
    kw_bytes text = KW_BYTES_NONE;
    bool read = kw_wire_exception_decode(channel->settings->form.protocol, message->body, &type, &text, NULL);
    kw_hbase_failure_of_exception(type, text, call->method, call->changes, ret_failure);
    log_refusal(pool, call, channel, text);
    /* After these the server may have read our request only in part: the next one would hang. */
    if (!read || (type != KW_WIRE_EXCEPTION_INTERNAL_ERROR && type != KW_WIRE_EXCEPTION_UNKNOWN_METHOD))
        kw_hbase_channel_close(channel, KW_HBASE_LOSS_BROKEN, "poisoned: exception %d: %.*s", (int)type,
                               (int)MIN(text.size, 100), (const char *)text.data);
}

static void
answer_failed(kw_hbase_pool *pool, kw_hbase_call *call, const kw_hbase_failure *failure)
{
    bool again = failure->kind == KW_HBASE_LOST || (failure->kind == KW_HBASE_TROUBLE && !call->whole);
    if (again)
        kw_hbase_pool_lost(pool, call, failure);
    else
        kw_hbase_pool_finish(pool, call, NULL, failure);
}

void
kw_hbase_answer(kw_hbase_pool *pool, kw_hbase_channel *channel, kw_hbase_call *call,
                const kw_wire_message *message)
{
    const void *result = NULL;
    kw_hbase_failure failure;
    if (message->type == KW_WIRE_EXCEPTION) {
        read_exception(pool, channel, call, message, &failure);
        answer_failed(pool, call, &failure);
        return;
    }
    kw_bytes body = call->keep ? kw_arena_copy(call->keep, message->body) : message->body;
    if (read_result(pool, channel, call, body, &result, &failure))
        kw_hbase_pool_finish(pool, call, result, NULL);
    else
        answer_failed(pool, call, &failure);
}

void
kw_hbase_answer_late(kw_hbase_pool *pool, kw_hbase_channel *channel, kw_hbase_call *call,
                     const kw_wire_message *message)
{
    const void *result = NULL;
    kw_hbase_failure failure;
    bool good =
        message->type == KW_WIRE_REPLY && read_result(pool, channel, call, message->body, &result, &failure);
    call->state = KW_HBASE_CALL_IDLE;
    call->late(call, good ? result : NULL);
}
