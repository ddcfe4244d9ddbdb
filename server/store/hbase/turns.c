/* See turns.h. Followers that were held back stand before those that came later. */
#include "store/hbase/turns.h"

#include "store/hbase/convert.h"

struct kw_hbase_turn {
    kw_bytes table;
    kw_bytes row;
    kw_hbase_lane *lane; /* where its riders wait; NULL: they go alone */
    uint32_t waiting;
    uint32_t away;  /* writes that have left */
    uint64_t batch; /* ... in which */
    GQueue followers;
    uint32_t held; /* the first so many of them were taken out of the lane */
};

static guint
turn_hash(gconstpointer key)
{
    const kw_hbase_turn *turn = key;
    return kw_hbase_row_hash(turn->table, turn->row);
}

static gboolean
turn_equal(gconstpointer a, gconstpointer b)
{
    const kw_hbase_turn *one = a, *other = b;
    return kw_bytes_equal(one->row, other->row) && kw_bytes_equal(one->table, other->table);
}

GHashTable *
kw_hbase_turns_new(void)
{
    return g_hash_table_new_full(turn_hash, turn_equal, g_free, NULL);
}

static kw_hbase_turn *
turn_new(kw_bytes table, kw_bytes row, kw_hbase_lane *lane)
{
    kw_hbase_turn *turn = g_malloc(sizeof *turn + table.size + row.size);
    uint8_t *names = (uint8_t *)(turn + 1);
    memcpy(names, table.data, table.size);
    memcpy(names + table.size, row.data, row.size);
    *turn = (kw_hbase_turn){.table = kw_bytes_of(names, table.size),
                            .row = kw_bytes_of(names + table.size, row.size),
                            .lane = lane};
    g_queue_init(&turn->followers);
    return turn;
}

bool
kw_hbase_turn_arrive(GHashTable *turns, kw_bytes table, kw_bytes row, kw_hbase_rider *rider)
{
    kw_hbase_turn key = {.table = table, .row = row};
    kw_hbase_turn *turn = g_hash_table_lookup(turns, &key);
    bool first = turn == NULL;
    if (first) {
        turn = turn_new(table, row, rider->lane);
        g_hash_table_add(turns, turn);
    }
    rider->turn = turn;
    bool joins = !turn->away && !turn->followers.length && rider->lane && turn->lane == rider->lane;
    if (first || joins) {
        turn->waiting++;
        return true;
    }
    rider->state = KW_HBASE_RIDER_FOLLOWS;
    g_queue_push_tail_link(&turn->followers, &rider->link);
    return false;
}

bool
kw_hbase_turn_leave(kw_hbase_rider *rider, uint64_t batch)
{
    kw_hbase_turn *turn = rider->turn;
    turn->waiting--;
    if (turn->away && turn->batch != batch) {
        rider->state = KW_HBASE_RIDER_FOLLOWS;
        rider->held = true;
        g_queue_insert_after_link(&turn->followers, g_queue_peek_nth_link(&turn->followers, turn->held - 1),
                                  &rider->link);
        turn->held++;
        return false;
    }
    turn->away++;
    turn->batch = batch;
    return true;
}

/* Those that were taken out go back to the head, before others of their row that still wait there. */
static void
return_held(kw_hbase_turn *turn)
{
    while (turn->held) {
        GList *link = g_queue_peek_nth_link(&turn->followers, --turn->held);
        kw_hbase_rider *rider = link->data;
        g_queue_unlink(&turn->followers, link);
        rider->held = false;
        turn->waiting++;
        kw_hbase_lane_return(rider);
    }
}

/* The next followers of one lane, as many as there are in a row; one that goes alone, alone. */
static void
call_followers(kw_hbase_turn *turn)
{
    kw_hbase_rider *next = g_queue_peek_head(&turn->followers);
    turn->lane = next->lane;
    do {
        g_queue_unlink(&turn->followers, &next->link);
        turn->waiting++;
        kw_hbase_lane_join(next);
        next = g_queue_peek_head(&turn->followers);
    } while (next && next->lane && next->lane == turn->lane);
}

static void
settle(GHashTable *turns, kw_hbase_turn *turn)
{
    if (turn->away)
        return;
    return_held(turn);
    if (turn->waiting)
        return;
    if (turn->followers.length)
        call_followers(turn);
    else
        g_hash_table_remove(turns, turn);
}

void
kw_hbase_turn_done(GHashTable *turns, kw_hbase_turn *turn)
{
    turn->away--;
    settle(turns, turn);
}

void
kw_hbase_turn_give_up(GHashTable *turns, kw_hbase_rider *rider)
{
    kw_hbase_turn *turn = rider->turn;
    if (rider->state == KW_HBASE_RIDER_FOLLOWS) {
        g_queue_unlink(&turn->followers, &rider->link);
        turn->held -= rider->held;
    } else {
        turn->waiting--;
    }
    settle(turns, turn);
}
