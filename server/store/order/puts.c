/* Puts in progress, by row. They are counted because a removal deletes only up to the newest timestamp that
 * it reads. So it first waits for the puts of its row that were started earlier on this store handle. As a
 * result, pipelined operations of a caller take effect in the order in which they were sent. The store itself
 * keeps the order of puts to one row. */
#include "store/order/order_internal.h"

typedef struct put {
    kw_order_handle *handle;
    kw_order_row *row;
    uint64_t number;
    kw_arena *arena; /* of the cells of `marked`; NULL: the put leaves no kw:w */
    kw_write marked;
    kw_write_done done;
    void *user;
} put;

static kw_order_row *
add_row(kw_order_handle *handle, const kw_write *write)
{
    kw_order_row *row = kw_order_row_table_add(handle->rows, sizeof *row, write->table, write->row);
    g_queue_init(&row->removals);
    g_queue_init(&row->raised);
    return row;
}

/* A row without puts has no waiting removals. */
static void
free_if_idle(kw_order_handle *handle, kw_order_row *row)
{
    if (row->puts)
        return;
    g_assert(row->removals.length == 0);
    kw_order_row_table_remove(handle->rows, row, sizeof *row);
}

static void
collect_ready(kw_order_row *row, uint64_t number, GQueue *ready)
{
    for (GList *at = row->removals.head, *next; at; at = next) {
        kw_order_waiter *waiter = at->data;
        next = at->next;
        if (waiter->number < number || --waiter->puts_left > 0)
            continue;
        g_queue_unlink(&row->removals, at);
        g_queue_push_tail_link(ready, at);
    }
}

uint64_t
kw_order_row_hold(kw_order_handle *handle, kw_order_row *row)
{
    row->puts++;
    return ++handle->started;
}

kw_order_row *
kw_order_put_begins(kw_order_handle *handle, const kw_write *write, uint64_t *ret_number)
{
    kw_order_row *row = kw_order_row_table_find(handle->rows, write->table, write->row);
    row = row ? row : add_row(handle, write);
    *ret_number = kw_order_row_hold(handle, row);
    return row;
}

void
kw_order_put_ends(kw_order_handle *handle, kw_order_row *row, uint64_t number, GQueue *ret_ready)
{
    g_assert(row->puts > 0);
    row->puts--;
    collect_ready(row, number, ret_ready);
    free_if_idle(handle, row);
}

void
kw_order_begin_removals(GQueue *ready)
{
    for (GList *at; (at = g_queue_pop_head_link(ready));) {
        kw_order_waiter *waiter = at->data;
        waiter->begin(waiter->user);
    }
}

static void
put_done(void *user, kw_outcome outcome, const kw_error *error)
{
    put done_put = *(put *)user;
    GQueue ready = G_QUEUE_INIT;
    g_free(user);
    kw_arena_free(done_put.arena);
    kw_budget_charge(KW_MEMORY_STORE, -(int64_t)sizeof done_put);
    kw_order_put_ends(done_put.handle, done_put.row, done_put.number, &ready);
    done_put.done(done_put.user, outcome, error);
    kw_order_begin_removals(&ready);
}

void
kw_order_put(kw_order_handle *handle, const kw_write *write, kw_write_done done, void *user)
{
    put *started = g_new(put, 1);
    kw_budget_charge(KW_MEMORY_STORE, sizeof *started);
    *started = (put){.handle = handle, .done = done, .user = user};
    started->row = kw_order_put_begins(handle, write, &started->number);
    if (write->ordering->regime.marks) {
        started->arena = kw_arena_new_for(NULL, KW_MEMORY_STORE);
        started->marked = kw_order_mark(handle, write, started->arena);
        write = &started->marked;
    }
    handle->inner->class->write(handle->inner, write, put_done, started);
}

bool
kw_order_wait_for_puts(kw_order_handle *handle, const kw_write *removal, kw_order_waiter *waiter)
{
    kw_order_row *row = kw_order_row_table_find(handle->rows, removal->table, removal->row);
    if (!row)
        return false;
    waiter->number = ++handle->started;
    waiter->puts_left = row->puts;
    waiter->link.data = waiter;
    g_queue_push_tail_link(&row->removals, &waiter->link);
    return true;
}
