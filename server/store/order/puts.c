/* Puts under way, by row, where the store gives the timestamps. A removal deletes what it reads, so it begins
 * when the puts of its row that were started before it on this store handle have ended: what a caller sends
 * without waiting for answers then takes effect in the order in which it was sent, as puts of one row do by
 * themselves.
 */
#include "store/order/order_internal.h"

struct kw_order_row {
    kw_row_name name;
    size_t puts;     /* under way */
    GQueue removals; /* of kw_order_turn: they wait */
};

typedef struct put {
    kw_order_handle *handle;
    kw_order_row *row;
    uint64_t number;
    kw_write_done done;
    void *user;
} put;

static kw_order_row *
make_row(kw_order_handle *handle, const kw_write *write)
{
    kw_order_row *row = kw_row_names_add(handle->rows, sizeof *row, write->table, write->row);
    g_queue_init(&row->removals);
    return row;
}

/* The last put takes the last removals with it: none waits for nothing. */
static void
free_when_idle(kw_order_handle *handle, kw_order_row *row)
{
    if (row->puts)
        return;
    g_assert(row->removals.length == 0);
    kw_row_names_remove(handle->rows, row, sizeof *row);
}

static void
take_ready(kw_order_row *row, uint64_t number, GQueue *ready)
{
    for (GList *at = row->removals.head, *next; at; at = next) {
        kw_order_turn *turn = at->data;
        next = at->next;
        if (turn->number < number || --turn->left > 0)
            continue;
        g_queue_unlink(&row->removals, at);
        g_queue_push_tail_link(ready, at);
    }
}

static void
put_done(void *user, kw_outcome outcome, const kw_error *error)
{
    put ended = *(put *)user;
    GQueue ready = G_QUEUE_INIT;
    g_free(user);
    kw_budget_charge(KW_MEMORY_STORE, -(int64_t)sizeof ended);
    ended.row->puts--;
    take_ready(ended.row, ended.number, &ready);
    free_when_idle(ended.handle, ended.row);
    ended.done(ended.user, outcome, error);
    for (GList *at; (at = g_queue_pop_head_link(&ready));) {
        kw_order_turn *turn = at->data;
        turn->begin(turn->user);
    }
}

void
kw_order_put(kw_order_handle *handle, const kw_write *write, kw_write_done done, void *user)
{
    kw_order_row *row = kw_row_names_find(handle->rows, write->table, write->row);
    put *started = g_new(put, 1);
    kw_budget_charge(KW_MEMORY_STORE, sizeof *started);
    row = row ? row : make_row(handle, write);
    row->puts++;
    *started = (put){.handle = handle, .row = row, .number = ++handle->started, .done = done, .user = user};
    handle->inner->class->write(handle->inner, write, put_done, started);
}

bool
kw_order_wait_for_puts(kw_order_handle *handle, const kw_write *removal, kw_order_turn *turn)
{
    kw_order_row *row = kw_row_names_find(handle->rows, removal->table, removal->row);
    if (!row)
        return false;
    turn->number = ++handle->started;
    turn->left = row->puts;
    turn->link.data = turn;
    g_queue_push_tail_link(&row->removals, &turn->link);
    return true;
}
