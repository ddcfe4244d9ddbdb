/* See lane.h. Which riders leave: those of the region with most of them, so that HBase has one place to go
 * to; when they are few, the next fullest region's too; and before all of them the region whose first
 * rider has waited long. */
#include "store/hbase/lane.h"

#include "store/hbase/turns.h"

#include "base/counters.h"

/* A batch of fewer rows takes another region's along. */
#define BATCH_ENOUGH 8
/* A rider that has waited this long goes first. */
#define LONG_NS (UINT64_C(20) * 1000 * 1000)
#define SWEEP_LEAST_NS (2 * UINT64_C(1000000))
#define NS_PER_MS UINT64_C(1000000)

typedef struct stop {
    GQueue riders;
    size_t place; /* in the lane's list of those that are not empty */
} stop;

struct kw_hbase_lane {
    kw_hbase_coalescer *coalescer;
    kw_hbase_lane_kind kind;
    kw_durability durability;
    kw_bytes table; /* behind the struct */
    kw_hbase_width width;
    uint32_t away; /* calls */
    size_t waiting;
    kw_hbase_boundaries *boundaries; /* writes */
    stop *stops;                     /* one per region */
    size_t stops_count;
    size_t *busy; /* stops where somebody waits */
    size_t busy_count;
    bool due; /* in the list of those that have room */
    kw_hbase_lane *next_due;
};

struct kw_hbase_coalescer {
    kw_door *door;
    uint32_t channels;
    size_t batch_bytes;
    GHashTable *lanes;
    GHashTable *turns;
    GQueue timed; /* riders with a deadline of their own to watch */
    kw_timer *sweep;
    uint64_t sweep_ns;
    uint64_t batches;
    bool closing;
    uv_check_t turn_end; /* started while a lane is due ... */
    uv_idle_t awake;     /* ... with this one, so that the loop does not sleep before */
    int handles_open;
    kw_hbase_lane *first_due;
    kw_hbase_lane **last_due;
};

/* --- deadlines -------------------------------------------------------------------------------- */

static void
watch(kw_hbase_coalescer *coalescer, uint64_t when_ns)
{
    if (when_ns >= coalescer->sweep_ns || coalescer->closing)
        return;
    uint64_t now = kw_clock_mono_ns();
    coalescer->sweep_ns = MAX(when_ns, now + SWEEP_LEAST_NS);
    kw_timer_start_ms(coalescer->sweep, (coalescer->sweep_ns - now + NS_PER_MS - 1) / NS_PER_MS);
}

void
kw_hbase_rider_time(kw_hbase_rider *rider)
{
    if (rider->timed)
        return;
    rider->timed = true;
    rider->due_link.data = rider;
    g_queue_push_tail_link(&rider->coalescer->timed, &rider->due_link);
    watch(rider->coalescer, rider->deadline);
}

void
kw_hbase_rider_untime(kw_hbase_rider *rider)
{
    if (!rider->timed)
        return;
    rider->timed = false;
    g_queue_unlink(&rider->coalescer->timed, &rider->due_link);
}

static void take_out(kw_hbase_lane *lane, kw_hbase_rider *rider);

static void
give_up(kw_hbase_rider *rider, const kw_error *error)
{
    kw_hbase_rider_untime(rider);
    if (rider->state == KW_HBASE_RIDER_WAITS)
        take_out(rider->lane, rider);
    if (rider->turn && rider->state != KW_HBASE_RIDER_RIDES)
        kw_hbase_turn_give_up(rider->coalescer->turns, rider);
    rider->class->fail(rider, error);
}

/* Completions start other operations, so what is due is set aside first. */
static void
sweep(void *user)
{
    kw_hbase_coalescer *coalescer = user;
    uint64_t now = kw_clock_mono_ns(), next = UINT64_MAX;
    g_autoptr(GPtrArray) due = g_ptr_array_new();
    coalescer->sweep_ns = UINT64_MAX;
    for (GList *at = coalescer->timed.head; at; at = at->next) {
        kw_hbase_rider *rider = at->data;
        kw_deadline end = MAX(rider->deadline, rider->class->settled_at(rider));
        if (end <= now)
            g_ptr_array_add(due, rider);
        else
            next = MIN(next, end);
    }
    watch(coalescer, next);
    for (guint i = 0; i < due->len; i++) {
        kw_hbase_rider *rider = due->pdata[i];
        if (!rider->timed)
            continue; /* it has left alone, behind one that gave up */
        bool left = rider->class->left(rider);
        kw_error error;
        kw_error_set(&error, KW_TIMEOUT, "the deadline passed %s",
                     left ? "before the store answered" : "while the call waited for the store");
        error.maybe_applied = left && rider->turn;
        give_up(rider, &error);
    }
}

/* --- stops ------------------------------------------------------------------------------------ */

static void
busy_add(kw_hbase_lane *lane, size_t at)
{
    lane->stops[at].place = lane->busy_count;
    lane->busy[lane->busy_count++] = at;
}

static void
busy_remove(kw_hbase_lane *lane, size_t at)
{
    size_t place = lane->stops[at].place, last = lane->busy[--lane->busy_count];
    lane->busy[place] = last;
    lane->stops[last].place = place;
}

static void
put_in(kw_hbase_lane *lane, kw_hbase_rider *rider, bool first)
{
    rider->region = lane->boundaries ? kw_hbase_boundaries_find(lane->boundaries, rider->row) : 0;
    stop *at = &lane->stops[rider->region];
    if (at->riders.length == 0)
        busy_add(lane, rider->region);
    rider->link.data = rider;
    rider->state = KW_HBASE_RIDER_WAITS;
    if (first)
        g_queue_push_head_link(&at->riders, &rider->link);
    else
        g_queue_push_tail_link(&at->riders, &rider->link);
    lane->waiting++;
}

static void
take_out(kw_hbase_lane *lane, kw_hbase_rider *rider)
{
    stop *at = &lane->stops[rider->region];
    g_queue_unlink(&at->riders, &rider->link);
    if (at->riders.length == 0)
        busy_remove(lane, rider->region);
    lane->waiting--;
}

static void
make_stops(kw_hbase_lane *lane, size_t count)
{
    lane->stops = g_new(stop, count);
    for (size_t i = 0; i < count; i++)
        g_queue_init(&lane->stops[i].riders);
    lane->busy = g_new(size_t, count);
    lane->busy_count = 0;
    lane->stops_count = count;
}

/* Other regions: those who wait are sorted in again; riders of one row stay in order, being in one queue. */
static void
boundaries_changed(void *user)
{
    kw_hbase_lane *lane = user;
    g_autofree stop *before = lane->stops;
    size_t count = lane->stops_count;
    g_free(lane->busy);
    make_stops(lane, kw_hbase_boundaries_count(lane->boundaries));
    lane->waiting = 0;
    for (size_t i = 0; i < count; i++) {
        for (GList *link; (link = g_queue_pop_head_link(&before[i].riders));)
            put_in(lane, link->data, false);
    }
}

/* --- leaving ---------------------------------------------------------------------------------- */

static uint64_t
first_since(const kw_hbase_lane *lane, size_t at)
{
    return ((const kw_hbase_rider *)lane->stops[at].riders.head->data)->since_ns;
}

static size_t
fullest(const kw_hbase_lane *lane)
{
    size_t best = lane->busy[0];
    for (size_t i = 1; i < lane->busy_count; i++) {
        if (lane->stops[lane->busy[i]].riders.length > lane->stops[best].riders.length)
            best = lane->busy[i];
    }
    return best;
}

static size_t
oldest(const kw_hbase_lane *lane)
{
    size_t best = lane->busy[0];
    for (size_t i = 1; i < lane->busy_count; i++) {
        if (first_since(lane, lane->busy[i]) < first_since(lane, best))
            best = lane->busy[i];
    }
    return best;
}

static size_t
choose(const kw_hbase_lane *lane, uint64_t now_ns)
{
    size_t old = oldest(lane);
    return first_since(lane, old) + LONG_NS < now_ns ? old : fullest(lane);
}

typedef struct load {
    kw_hbase_rider *riders[KW_HBASE_BATCH_ROWS];
    size_t count;
    size_t bytes;
    bool full;
} load;

/* What of this stop still goes into the load. */
static void
load_stop(kw_hbase_lane *lane, size_t at, uint64_t batch, load *to)
{
    stop *from = &lane->stops[at];
    while (from->riders.length && !to->full) {
        kw_hbase_rider *rider = from->riders.head->data;
        to->full = to->count == KW_HBASE_BATCH_ROWS ||
                   (to->count && to->bytes + rider->bytes > lane->coalescer->batch_bytes);
        if (to->full)
            return;
        take_out(lane, rider);
        if (rider->turn && !kw_hbase_turn_leave(rider, batch))
            continue;
        rider->state = KW_HBASE_RIDER_RIDES;
        to->riders[to->count++] = rider;
        to->bytes += rider->bytes;
    }
}

static void
leave_once(kw_hbase_lane *lane, uint64_t now_ns)
{
    load taken = {.count = 0};
    uint64_t batch = ++lane->coalescer->batches;
    load_stop(lane, choose(lane, now_ns), batch, &taken);
    while (lane->busy_count && !taken.full && taken.count < BATCH_ENOUGH)
        load_stop(lane, fullest(lane), batch, &taken);
    if (taken.count == 0)
        return;
    lane->away++;
    if (taken.count > 1) {
        kw_counters_add(KW_FIGURE_store_calls_coalesced, 1);
        kw_counters_add(KW_FIGURE_store_rows_coalesced, (int64_t)taken.count);
    }
    taken.riders[0]->class->leave(lane, taken.riders, taken.count);
}

/* Once per turn of the loop, behind everything that arrived in it: what came together leaves together, and
 * nobody waits for a time. */
static void
on_turn_end(uv_check_t *handle)
{
    kw_hbase_coalescer *coalescer = handle->data;
    kw_hbase_lane *lane = coalescer->first_due;
    coalescer->first_due = NULL;
    coalescer->last_due = &coalescer->first_due;
    uv_check_stop(handle);
    uv_idle_stop(&coalescer->awake);
    for (kw_hbase_lane *next; lane; lane = next) {
        next = lane->next_due;
        lane->due = false;
        while (lane->waiting && lane->away < lane->width.now)
            leave_once(lane, kw_clock_mono_ns());
    }
}

static void
stay_awake(uv_idle_t *handle)
{
    (void)handle;
}

/* At the end of this turn somebody may leave. */
static void
mark_due(kw_hbase_lane *lane)
{
    kw_hbase_coalescer *coalescer = lane->coalescer;
    if (lane->due || coalescer->closing || lane->waiting == 0 || lane->away >= lane->width.now)
        return;
    lane->due = true;
    lane->next_due = NULL;
    *coalescer->last_due = lane;
    coalescer->last_due = &lane->next_due;
    uv_check_start(&coalescer->turn_end, on_turn_end);
    uv_idle_start(&coalescer->awake, stay_awake);
}

static void
leave_alone(kw_hbase_rider *rider)
{
    if (rider->turn)
        kw_hbase_turn_leave(rider, ++rider->coalescer->batches);
    rider->state = KW_HBASE_RIDER_RIDES;
    rider->class->leave(NULL, &rider, 1);
}

void
kw_hbase_lane_join(kw_hbase_rider *rider)
{
    kw_hbase_lane *lane = rider->lane;
    if (!lane) {
        kw_hbase_rider_untime(rider);
        leave_alone(rider);
        return;
    }
    rider->since_ns = kw_clock_mono_ns();
    put_in(lane, rider, false);
    mark_due(lane);
    kw_hbase_rider_time(rider);
    if (lane->boundaries && lane->away)
        kw_hbase_boundaries_use(lane->boundaries, kw_clock_mono_ns());
}

void
kw_hbase_lane_return(kw_hbase_rider *rider)
{
    put_in(rider->lane, rider, true);
    mark_due(rider->lane);
}

void
kw_hbase_lane_answered(kw_hbase_lane *lane, size_t riders)
{
    lane->away--;
    kw_hbase_width_answered(&lane->width, kw_clock_mono_ns(), riders, lane->waiting != 0);
    mark_due(lane);
}

void
kw_hbase_rider_start_write(kw_hbase_rider *rider, kw_bytes table)
{
    rider->link.data = rider;
    if (kw_hbase_turn_arrive(rider->coalescer->turns, table, rider->row, rider))
        kw_hbase_lane_join(rider);
    else
        kw_hbase_rider_time(rider);
}

void
kw_hbase_rider_done_write(kw_hbase_coalescer *coalescer, kw_hbase_turn *turn)
{
    kw_hbase_turn_done(coalescer->turns, turn);
}

/* --- lanes ------------------------------------------------------------------------------------ */

static guint
lane_hash(gconstpointer key)
{
    const kw_hbase_lane *lane = key;
    uint64_t hash = kw_bytes_hash(lane->table);
    return (guint)(hash ^ hash >> 32) * 31 + (guint)lane->kind * 7 + (guint)lane->durability;
}

static gboolean
lane_equal(gconstpointer a, gconstpointer b)
{
    const kw_hbase_lane *one = a, *other = b;
    return one->kind == other->kind && one->durability == other->durability &&
           kw_bytes_equal(one->table, other->table);
}

static void
lane_free(gpointer user)
{
    kw_hbase_lane *lane = user;
    g_assert(lane->waiting == 0);
    if (lane->boundaries)
        kw_hbase_boundaries_free(lane->boundaries);
    g_free(lane->stops);
    g_free(lane->busy);
    g_free(lane);
}

static kw_hbase_lane *
lane_new(const kw_hbase_lane *like)
{
    kw_hbase_lane *lane = g_malloc0(sizeof *lane + like->table.size);
    memcpy(lane + 1, like->table.data, like->table.size);
    lane->coalescer = like->coalescer;
    lane->kind = like->kind;
    lane->durability = like->durability;
    lane->table = kw_bytes_of(lane + 1, like->table.size);
    kw_hbase_width_init(&lane->width, like->coalescer->channels);
    if (lane->kind != KW_HBASE_LANE_GET)
        lane->boundaries =
            kw_hbase_boundaries_new(like->coalescer->door, lane->table, boundaries_changed, lane);
    make_stops(lane, 1);
    return lane;
}

kw_hbase_lane *
kw_hbase_coalescer_lane(kw_hbase_coalescer *coalescer, kw_hbase_lane_kind kind, kw_bytes table,
                        kw_durability durability)
{
    kw_hbase_lane key = {.coalescer = coalescer, .kind = kind, .table = table, .durability = durability};
    kw_hbase_lane *lane = g_hash_table_lookup(coalescer->lanes, &key);
    if (!lane) {
        lane = lane_new(&key);
        g_hash_table_add(coalescer->lanes, lane);
    }
    return lane;
}

kw_bytes
kw_hbase_lane_table(const kw_hbase_lane *lane)
{
    return lane->table;
}

kw_hbase_coalescer *
kw_hbase_coalescer_new(kw_door *door, kw_loop *loop, uint32_t channels, size_t batch_bytes)
{
    kw_hbase_coalescer *coalescer = g_new0(kw_hbase_coalescer, 1);
    coalescer->door = door;
    coalescer->channels = channels;
    coalescer->batch_bytes = batch_bytes;
    coalescer->lanes = g_hash_table_new_full(lane_hash, lane_equal, lane_free, NULL);
    coalescer->turns = kw_hbase_turns_new();
    g_queue_init(&coalescer->timed);
    uv_check_init(kw_loop_uv(loop), &coalescer->turn_end);
    uv_idle_init(kw_loop_uv(loop), &coalescer->awake);
    coalescer->turn_end.data = coalescer->awake.data = coalescer;
    coalescer->handles_open = 2;
    coalescer->last_due = &coalescer->first_due;
    coalescer->sweep = kw_timer_new(loop, sweep, coalescer);
    coalescer->sweep_ns = UINT64_MAX;
    return coalescer;
}

void
kw_hbase_coalescer_close(kw_hbase_coalescer *coalescer, const kw_error *error)
{
    coalescer->closing = true;
    kw_timer_free(g_steal_pointer(&coalescer->sweep));
    for (GList *at; (at = coalescer->timed.head);) {
        kw_hbase_rider *rider = at->data;
        if (rider->state == KW_HBASE_RIDER_RIDES)
            kw_hbase_rider_untime(rider); /* its call ends with the pool */
        else
            give_up(rider, error);
    }
}

static void
handle_closed(uv_handle_t *handle)
{
    kw_hbase_coalescer *coalescer = handle->data;
    if (--coalescer->handles_open == 0)
        g_free(coalescer);
}

void
kw_hbase_coalescer_free(kw_hbase_coalescer *coalescer)
{
    g_hash_table_destroy(coalescer->lanes);
    g_assert(g_hash_table_size(coalescer->turns) == 0);
    g_hash_table_destroy(coalescer->turns);
    uv_close((uv_handle_t *)&coalescer->turn_end, handle_closed);
    uv_close((uv_handle_t *)&coalescer->awake, handle_closed);
}
