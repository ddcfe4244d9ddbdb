/* Puts under way, by row, where the store gives the timestamps. A removal deletes what it reads, so it begins
 * when the puts of its row that were started before it on this door have ended: what a caller sends without
 * waiting for answers then takes effect in the order in which it was sent, as puts of one row do by
 * themselves.
 */
#include "store/order/inside.h"

struct kw_order_row {
    kw_bytes table, row; /* after the struct */
    size_t puts;         /* under way */
    GQueue removals;     /* of kw_order_turn: they wait */
};

typedef struct put {
    kw_order_door *door;
    kw_order_row *row;
    uint64_t number;
    kw_write_done done;
    void *user;
} put;

static guint
row_hash(gconstpointer key)
{
    const kw_order_row *row = key;
    return (guint)(kw_bytes_hash(row->table) * 31 + kw_bytes_hash(row->row));
}

static gboolean
row_equal(gconstpointer a, gconstpointer b)
{
    const kw_order_row *one = a, *other = b;
    return kw_bytes_equal(one->row, other->row) && kw_bytes_equal(one->table, other->table);
}

GHashTable *
kw_order_rows_new(void)
{
    return g_hash_table_new(row_hash, row_equal);
}

static kw_order_row *
find_row(const kw_order_door *door, const kw_write *write)
{
    kw_order_row like = {.table = write->table, .row = write->row};
    return g_hash_table_lookup(door->rows, &like);
}

static int64_t
bytes_of(kw_bytes table, kw_bytes row)
{
    return (int64_t)(sizeof(kw_order_row) + table.size + row.size);
}

static kw_order_row *
make_row(kw_order_door *door, const kw_write *write)
{
    kw_order_row *row = g_malloc0(sizeof *row + write->table.size + write->row.size);
    uint8_t *names = (uint8_t *)(row + 1);
    memcpy(names, write->table.data, write->table.size);
    memcpy(names + write->table.size, write->row.data, write->row.size);
    row->table = kw_bytes_of(names, write->table.size);
    row->row = kw_bytes_of(names + write->table.size, write->row.size);
    g_queue_init(&row->removals);
    g_hash_table_add(door->rows, row);
    kw_budget_charge(KW_MEMORY_STORE, bytes_of(row->table, row->row));
    return row;
}

/* The last put takes the last removals with it: none waits for nothing. */
static void
free_when_idle(kw_order_door *door, kw_order_row *row)
{
    if (row->puts)
        return;
    g_assert(row->removals.length == 0);
    g_hash_table_remove(door->rows, row);
    kw_budget_charge(KW_MEMORY_STORE, -bytes_of(row->table, row->row));
    g_free(row);
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
    free_when_idle(ended.door, ended.row);
    ended.done(ended.user, outcome, error);
    for (GList *at; (at = g_queue_pop_head_link(&ready));) {
        kw_order_turn *turn = at->data;
        turn->begin(turn->user);
    }
}

void
kw_order_put(kw_order_door *door, const kw_write *write, kw_write_done done, void *user)
{
    kw_order_row *row = find_row(door, write);
    put *started = g_new(put, 1);
    kw_budget_charge(KW_MEMORY_STORE, sizeof *started);
    row = row ? row : make_row(door, write);
    row->puts++;
    *started = (put){.door = door, .row = row, .number = ++door->started, .done = done, .user = user};
    door->inner->class->write(door->inner, write, put_done, started);
}

bool
kw_order_wait_for_puts(kw_order_door *door, const kw_write *removal, kw_order_turn *turn)
{
    kw_order_row *row = find_row(door, removal);
    if (!row)
        return false;
    turn->number = ++door->started;
    turn->left = row->puts;
    turn->link.data = turn;
    g_queue_push_tail_link(&row->removals, &turn->link);
    return true;
}
