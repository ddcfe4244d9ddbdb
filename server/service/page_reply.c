#include "service/page_reply.h"

#include "service/convert.h"
#include "service/exchange_internal.h"
#include "wire/table.h"

#include <glib.h>

/* A piece ends after this number of rows or bytes. */
#define PIECE_ROWS 128
#define PIECE_BYTES ((size_t)256 * 1024)

typedef struct page_reply {
    kw_exchange *exchange;
    kw_work work;
    kw_scan_page page;
    size_t at; /* index of the first row that is not encoded */
    kw_arena *scratch;
    kw_buffer message; /* the reply so far */
    size_t frame;      /* mark of kw_wire_frame_begin */
    size_t most;       /* maximum bytes of the rows */
    kw_bytes tail;     /* the bytes of the message after the rows */
    size_t charged;
} page_reply;

static const kw_wire_container *
rows_of_a_page(void)
{
    for (uint32_t i = 0; i < kw_api_Page_wire.field_count; i++)
        if (kw_api_Page_wire.fields[i].offset == offsetof(kw_api_Page, rows))
            return kw_api_Page_wire.fields[i].type.of.container;
    g_assert_not_reached();
}

static void
charge(page_reply *self, size_t bytes)
{
    kw_account_charge(self->exchange->account, KW_MEMORY_REPLIES, (int64_t)bytes - (int64_t)self->charged);
    self->charged = bytes;
}

/* --- ending -------------------------------------------------------------------------------------- */

static void
finish(page_reply *self)
{
    kw_buffer *message = &self->message;
    kw_buffer_append(message, self->tail);
    kw_wire_frame_end(message, kw_request_form(self->exchange->request), self->frame);
    kw_buffer_fit(message);
    charge(self, 0);
    kw_exchange_reply_encoded(self->exchange, message);
}

static void
give_up(page_reply *self)
{
    kw_buffer_clear(&self->message);
    charge(self, 0);
    kw_exchange_fail_for_size(self->exchange);
}

/* Ends a call that needs no reply. */
static void
drop(page_reply *self)
{
    kw_buffer_clear(&self->message);
    charge(self, 0);
    kw_exchange_reply(self->exchange, NULL);
}

/* --- rows ---------------------------------------------------------------------------------------- */

/* Encodes the next piece. False if the reply would be too large. */
static bool
encode_piece(page_reply *self)
{
    kw_wire_protocol protocol = kw_request_form(self->exchange->request).protocol;
    size_t before = self->message.size, end = MIN(self->page.count, self->at + PIECE_ROWS);
    g_assert(self->at <= self->page.count);
    for (; self->at < end && self->message.size - before < PIECE_BYTES; self->at++) {
        size_t size = self->message.size;
        kw_api_Record row =
            kw_convert_record_out(self->page.table, &self->page.rows[self->at], self->scratch);
        bool fits = kw_wire_items_encode(&self->message, protocol, rows_of_a_page(), &row, 1, self->most);
        kw_arena_reset(self->scratch);
        if (!fits)
            return false;
        self->most -= self->message.size - size;
    }
    charge(self, self->message.capacity);
    return true;
}

static void
continue_reply(kw_work *work)
{
    page_reply *self = (page_reply *)(void *)((char *)work - offsetof(page_reply, work));
    kw_exchange *exchange = self->exchange;
    bool awaited = !exchange->oneway && exchange->state != KW_EXCHANGE_ANSWERED;
    bool fits = awaited && encode_piece(self);
    if (fits && self->at < self->page.count) {
        kw_loop_work(exchange->worker->loop, &self->work);
        return;
    }
    kw_arena_free(self->scratch);
    if (!awaited)
        drop(self);
    else if (fits)
        finish(self);
    else
        give_up(self);
}

/* --- beginning ----------------------------------------------------------------------------------- */

/* Encodes the reply without its rows. False if it is too large. */
static bool
encode_around(page_reply *self)
{
    const kw_scan_page *page = &self->page;
    kw_exchange *exchange = self->exchange;
    kw_wire_form form = kw_request_form(exchange->request);
    kw_buffer *message = &self->message;
    kw_api_Page out = {.has_cursor = page->cursor.size > 0,
                       .cursor = page->cursor,
                       .rows_scanned = (int64_t)page->scanned,
                       .rows_returned = (int64_t)page->count};
    /* The results of the three methods have the same layout. */
    G_STATIC_ASSERT(sizeof(kw_api_Data_scan_result) == sizeof(kw_api_Data_nextPage_result));
    G_STATIC_ASSERT(sizeof(kw_api_Data_scan_result) == sizeof(kw_api_Data_latest_result));
    kw_api_Data_scan_result result = {.has_success = true, .success = &out};
    kw_wire_hole hole = {&out.rows, (uint32_t)page->count};
    size_t rows_at = 0;
    self->frame = kw_exchange_begin_message(exchange, message);
    size_t most = kw_exchange_max_reply_bytes(exchange);
    if (!kw_wire_struct_encode_around(message, form.protocol, exchange->method->result, &result, hole, most,
                                      &rows_at))
        return false;
    self->most = most - MIN(most, message->size - self->frame);
    self->tail = kw_arena_copy(exchange->call.arena, kw_bytes_skip(kw_buffer_bytes(message), rows_at));
    message->size = rows_at;
    return true;
}

void
kw_page_reply(kw_exchange *exchange, const kw_scan_page *page)
{
    if (kw_exchange_lacks_memory(exchange)) {
        kw_exchange_fail_for_memory(exchange);
        return;
    }
    page_reply *self = KW_EXCHANGE_ALLOC(exchange, page_reply);
    *self = (page_reply){.exchange = exchange,
                         .page = *page,
                         .scratch = kw_arena_new(),
                         .work = {.item = {.account = exchange->account, .call = exchange->call.number},
                                  .run = continue_reply}};
    if (exchange->oneway || exchange->state == KW_EXCHANGE_ANSWERED || encode_around(self)) {
        continue_reply(&self->work);
        return;
    }
    kw_arena_free(self->scratch);
    give_up(self);
}
