#include "service/list_reply.h"

#include "base/container.h"
#include "base/guard.h"
#include "service/exchange_internal.h"
#include "wire/table.h"

#include <glib.h>

/* A piece ends after this number of items or bytes. */
#define PIECE_ITEMS 128
#define PIECE_BYTES ((size_t)256 * 1024)

typedef struct sending {
    kw_exchange *exchange;
    kw_work work;
    kw_list_reply reply;
    size_t at; /* index of the first item that is not encoded */
    kw_arena *scratch;
    kw_buffer message; /* the reply so far */
    size_t frame;      /* mark of kw_wire_frame_begin */
    size_t most;       /* maximum bytes of the items that are left */
    kw_bytes tail;     /* the bytes of the message after the items */
    bool fits;         /* false: the reply would be too large */
    size_t charged;
} sending;

const kw_wire_container *
kw_list_reply_items(const kw_wire_struct *table, size_t offset)
{
    for (uint32_t i = 0; i < table->field_count; i++)
        if (table->fields[i].offset == offset)
            return table->fields[i].type.of.container;
    g_assert_not_reached();
}

static void
charge(sending *self, size_t bytes)
{
    kw_account_charge(self->exchange->account, KW_MEMORY_REPLIES, (int64_t)bytes - (int64_t)self->charged);
    self->charged = bytes;
}

/* --- ending -------------------------------------------------------------------------------------- */

static void
finish(sending *self)
{
    kw_buffer *message = &self->message;
    kw_buffer_append(message, self->tail);
    kw_wire_frame_end(message, kw_request_form(self->exchange->request), self->frame);
    kw_buffer_fit(message);
    charge(self, 0);
    kw_arena_free(self->scratch);
    kw_exchange_reply_encoded(self->exchange, message);
}

/* Frees what is outside of the call's arena. */
static void
clear(sending *self)
{
    kw_arena_free(self->scratch);
    kw_buffer_clear(&self->message);
    charge(self, 0);
}

static void
fail(sending *self, const kw_error *error)
{
    clear(self);
    kw_exchange_fail(self->exchange, error);
}

static void
fail_for_size(sending *self)
{
    clear(self);
    kw_exchange_fail_for_size(self->exchange);
}

/* Ends a call that needs no reply. */
static void
drop(sending *self)
{
    clear(self);
    kw_exchange_reply(self->exchange, NULL);
}

/* --- items --------------------------------------------------------------------------------------- */

static void
encode_piece(void *user)
{
    sending *self = user;
    const kw_list_reply *reply = &self->reply;
    kw_wire_protocol protocol = kw_request_form(self->exchange->request).protocol;
    size_t before = self->message.size, end = MIN(reply->count, self->at + PIECE_ITEMS);
    for (; self->fits && self->at < end && self->message.size - before < PIECE_BYTES; self->at++) {
        size_t size = self->message.size;
        const void *item = reply->make(reply->user, self->at, self->scratch);
        self->fits = kw_wire_items_encode(&self->message, protocol, reply->items, item, 1, self->most);
        self->most -= self->message.size - size;
        kw_arena_reset(self->scratch);
    }
    charge(self, self->message.capacity);
}

/* False if memory is short. The message doubles when it grows. The first piece has no limit but PIECE_BYTES,
 * so small replies are always sent. */
static bool
can_grow(const sending *self)
{
    const kw_buffer *message = &self->message;
    return self->at == 0 || message->capacity - message->size >= PIECE_BYTES ||
           kw_budget_shortage(self->exchange->account, 0, message->capacity) == KW_SHORTAGE_NONE;
}

static void
fail_for_memory(sending *self)
{
    clear(self);
    kw_exchange_fail_for_memory(self->exchange);
}

static bool
is_awaited(const kw_exchange *exchange)
{
    return !exchange->oneway && exchange->state != KW_EXCHANGE_ANSWERED;
}

static void
continue_reply(kw_work *work)
{
    sending *self = KW_CONTAINER(work, sending, work);
    kw_exchange *exchange = self->exchange;
    kw_error error;
    if (!is_awaited(exchange))
        drop(self);
    else if (!can_grow(self))
        fail_for_memory(self);
    else if (!kw_guard_run(self->scratch, encode_piece, self, &error))
        fail(self, &error);
    else if (!self->fits)
        fail_for_size(self);
    else if (self->at < self->reply.count)
        kw_loop_work(exchange->worker->loop, &self->work);
    else
        finish(self);
}

/* --- beginning ----------------------------------------------------------------------------------- */

/* Encodes the reply without its items. False if it is too large. */
static bool
encode_around(sending *self)
{
    const kw_list_reply *reply = &self->reply;
    kw_exchange *exchange = self->exchange;
    kw_wire_form form = kw_request_form(exchange->request);
    kw_buffer *message = &self->message;
    kw_wire_hole hole = {reply->list, (uint32_t)reply->count};
    size_t at = 0, most = kw_exchange_max_reply_bytes(exchange);
    self->frame = kw_exchange_begin_message(exchange, message);
    if (!kw_wire_struct_encode_around(message, form.protocol, exchange->method->result, reply->result, hole,
                                      most, &at))
        return false;
    self->most = most - MIN(most, message->size - self->frame);
    self->tail = kw_arena_copy(exchange->call.arena, kw_bytes_skip(kw_buffer_bytes(message), at));
    message->size = at;
    return true;
}

void
kw_list_reply_send(kw_exchange *exchange, const kw_list_reply *reply)
{
    kw_guard_end();
    if (kw_exchange_lacks_memory(exchange)) {
        kw_exchange_fail_for_memory(exchange);
        return;
    }
    sending *self = KW_EXCHANGE_ALLOC(exchange, sending);
    *self = (sending){.exchange = exchange,
                      .reply = *reply,
                      .fits = true,
                      .scratch = kw_arena_new_below(exchange->call.arena, KW_MEMORY_CALLS),
                      .work = {.item = {.account = exchange->account, .call = exchange->call.number},
                               .run = continue_reply}};
    if (is_awaited(exchange) && !encode_around(self))
        fail_for_size(self);
    else
        continue_reply(&self->work);
}
