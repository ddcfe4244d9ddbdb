/* Replies: decodes a reply, finds the exception in the result, sends calls again after temporary failures,
 * and logs the texts that callers must not see.
 *
 * Results are decoded into the pool's scratch arena, which the next reply reuses. For a call with `keep`, the
 * bytes of the reply are first copied into the arena `keep`, so that every slice stays valid after done.
 */
#include "store/hbase/link/failure.h"
#include "store/hbase/link/move.h"
#include "store/hbase/link/pool_private.h"

#include "base/log.h"
#include "wire/table.h"

#include <stdio.h>

/* A reply has at most KW_HBASE_REPLY_MAX bytes. Decoded, short cells are a few times larger. */
#define DECODED_MAX ((size_t)512 * 1024 * 1024)
#define EXCEPTION_ID_IO 1
#define EXCEPTION_ID_ARGUMENT 2
#define LOG_EVERY_NS UINT64_C(1000000000)
/* A text is logged again as a warning after it did not occur for this time. */
#define QUIET_NS UINT64_C(60000000000)

/* The member of a result with this field id, NULL if it is not set. */
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

/* True if the last error was the same, less than a minute ago: a table that is missing, for example, is
 * looked for every second. */
static bool
is_repeated(kw_hbase_pool *pool, const kw_hbase_call *call, kw_bytes text, uint64_t now)
{
    uint64_t hash = kw_bytes_hash(text) ^ kw_bytes_hash(call->table);
    bool repeated = hash == pool->text_hash && now - pool->text_ns < QUIET_NS;
    pool->text_hash = hash;
    pool->text_ns = now;
    return repeated;
}

/* Logs the start of the text, and at most one text per second, because Java stacks are long and can be
 * frequent. A repeated text is for debugging only. */
static void
log_error_text(kw_hbase_pool *pool, const kw_hbase_call *call, kw_hbase_channel *channel, kw_bytes text)
{
    uint64_t now = kw_clock_mono_ns();
    bool repeated = is_repeated(pool, call, text, now);
    if (pool->logged_ns && now - pool->logged_ns < LOG_EVERY_NS) {
        pool->not_logged++;
        return;
    }
    pool->logged_ns = now;
    kw_log(repeated ? KW_LOG_DEBUG : KW_LOG_WARN, "hbase", "HBase rejected a call",
           KW_LOG_FACT("server", channel->server->name),
           KW_LOG_FACT("method", kw_hb_methods[call->method].name), KW_LOG_FACT("table", call->table),
           KW_LOG_FACT("not_logged", pool->not_logged),
           KW_LOG_FACT("text", kw_bytes_of(text.data, MIN(text.size, 4000))));
    pool->not_logged = 0;
}

/* Decodes the body. False with the failure if the body is damaged or the result has an exception. */
static bool
read_result(kw_hbase_pool *pool, kw_hbase_channel *channel, kw_hbase_call *call, kw_bytes body,
            const void **ret_result, kw_hbase_failure *ret_failure)
{
    const kw_wire_struct *table = kw_hb_methods[call->method].result;
    kw_wire_limits limits = {.decoded_bytes = DECODED_MAX, .depth = KW_WIRE_DEPTH_DEFAULT};
    kw_arena_reset(pool->scratch);
    void *result = kw_arena_alloc0(pool->scratch, table->size);
    if (!kw_wire_struct_decode(table, channel->form.protocol, body, limits, pool->scratch, result,
                               &ret_failure->error)) {
        kw_hbase_channel_close(channel, KW_HBASE_LOSS_BROKEN, "cannot decode a reply: %s",
                               ret_failure->error.text);
        ret_failure->kind = KW_HBASE_LOST;
        kw_error_set(&ret_failure->error, KW_UNAVAILABLE, "the reply of the store cannot be decoded");
        ret_failure->error.maybe_applied = call->changes;
        return false;
    }
    const kw_hb_TIOError *io = exception_in(table, result, EXCEPTION_ID_IO);
    const kw_hb_TIllegalArgument *argument = exception_in(table, result, EXCEPTION_ID_ARGUMENT);
    if (io) {
        kw_hbase_failure_of_io(io->message, io->has_canRetry && io->canRetry, call, ret_failure);
        log_error_text(pool, call, channel, io->message);
    } else if (argument) {
        kw_hbase_failure_of_argument(argument->message, ret_failure);
        log_error_text(pool, call, channel, argument->message);
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
    bool read = kw_wire_exception_decode(channel->form.protocol, message->body, &type, &text, NULL);
    kw_hbase_failure_of_exception(type, call->method, call->changes, ret_failure);
    log_error_text(pool, call, channel, text);
    /* After other exceptions the server may have read only a part of our request, so the next would hang. */
    if (!read || (type != KW_WIRE_EXCEPTION_INTERNAL_ERROR && type != KW_WIRE_EXCEPTION_UNKNOWN_METHOD))
        kw_hbase_channel_close(channel, KW_HBASE_LOSS_BROKEN, "out of step after exception %d: %.*s",
                               (int)type, (int)MIN(text.size, 100), (const char *)text.data);
}

static void
retry_or_finish(kw_hbase_pool *pool, kw_hbase_call *call, const kw_hbase_failure *failure)
{
    bool retry = failure->kind == KW_HBASE_LOST || (failure->kind == KW_HBASE_TEMPORARY && !call->whole);
    if (retry)
        kw_hbase_pool_retry_or_fail(pool, call, failure);
    else
        kw_hbase_pool_finish(pool, call, NULL, failure);
}

void
kw_hbase_answer(kw_hbase_pool *pool, kw_hbase_channel *channel, kw_hbase_call *call,
                const kw_wire_message *message)
{
    const void *result = NULL;
    kw_hbase_failure failure;
    g_assert(call->state == KW_HBASE_CALL_IN_FLIGHT && call->channel == channel);
    if (message->type == KW_WIRE_EXCEPTION) {
        read_exception(pool, channel, call, message, &failure);
        retry_or_finish(pool, call, &failure);
        return;
    }
    kw_bytes body = call->keep ? kw_arena_copy(call->keep, message->body) : message->body;
    if (read_result(pool, channel, call, body, &result, &failure))
        kw_hbase_pool_finish(pool, call, result, NULL);
    else
        retry_or_finish(pool, call, &failure);
}

void
kw_hbase_answer_late(kw_hbase_pool *pool, kw_hbase_channel *channel, kw_hbase_call *call,
                     const kw_wire_message *message)
{
    const void *result = NULL;
    kw_hbase_failure failure;
    bool good =
        message->type == KW_WIRE_REPLY && read_result(pool, channel, call, message->body, &result, &failure);
    kw_hbase_call_move(pool, call, KW_HBASE_CALL_IDLE, NULL);
    call->late(call, good ? result : NULL);
}
