/* What the time is in HBase: heartbeats for store/known_time.h.
 *
 * A heartbeat is a put of a cell without a timestamp, and without the write-ahead log. The region server
 * gives it one, which a get reads afterwards, for several heartbeats at once. Puts tell more than increments,
 * which would return the timestamp themselves: an increment takes twice as long, and its timestamp can be any
 * moment of that time. The cells are in one row of a table of our own, keyway_clock (created when it is
 * missing; cells of ended processes expire): so they are in one region, and whoever starts can read what the
 * others saw. Each put has a value of its own, so that the get shows whether the cell is this put's: it is
 * not when the clock went back below the cell's last timestamp.
 *
 *   put put put put put get             put put put put put get
 *   |---|---|---|---|                   |  one at each turn of a millisecond
 *   0                                   100 ms at most
 *
 * Rows of heartbeats are sent ten times a second while the clock is used, five times a second for a minute
 * after that, and else every ten seconds. A row is five heartbeats while the clock is used often and calls
 * are quick: only then does a caller wait noticeably for what is not known. Else it is one. Each of the five
 * is sent so that it should arrive when the store's clock reaches the next millisecond, if that clock is
 * about in the middle of the interval known: its timestamp then shows which half of the interval the clock is
 * in. So the interval becomes about as wide as a put takes.
 *
 * One store handle of the process sends them. A heartbeat without an answer holds back no other.
 */
#include "store/hbase/handle.h"

#include "base/fine_timer.h"
#include "base/log.h"

#include <stdio.h>

#define CLOCK_TABLE "keyway_clock"
#define CLOCK_ROW "heartbeats"
#define FAMILY "t"
#define NS_PER_US UINT64_C(1000)
#define NS_PER_MS UINT64_C(1000000)

#define BUSY_NS (5000 * NS_PER_MS)   /* used lately */
#define AWAKE_NS (60000 * NS_PER_MS) /* used some time ago */
#define BUSY_EVERY_US 100000
#define AWAKE_EVERY_US 200000
#define IDLE_EVERY_US 10000000
#define UNANSWERED_US 50000 /* then another one is sent */
#define FAILED_US 20000
#define FAILED_IDLE_US 500000
#define LATER_US 60000000
#define IN_A_ROW 5
#define OFTEN 20                         /* uses between two rows */
#define LONG_NS (3 * (int64_t)NS_PER_MS) /* calls that take longer are not quick */
#define CALL_MS 5000
#define CELLS 8

typedef struct beat beat;

typedef enum beat_state { BEAT_IDLE, BEAT_SENT, BEAT_ANSWERED, BEAT_READ } beat_state;

/* A cell, and the heartbeat that puts it. */
struct beat {
    kw_hbase_heartbeats *of;
    beat_state state; /* READ: a get reads its timestamp */
    int64_t sent_ns, answered_ns;
    uint8_t value[8]; /* of this put alone */
    kw_hbase_call call;
    kw_hb_THBaseService_put_args args;
    kw_hb_TPut put;
    kw_hb_TColumnValue cell;
    char qualifier[40];
};

struct kw_hbase_heartbeats {
    kw_hbase_handle *handle;
    kw_fine_timers *timers;
    kw_fine_timer next;
    int64_t client_pause_ns;
    bool stopped;
    bool making;        /* the table */
    bool failed_before; /* logged once, until it works again */
    unsigned row_left;  /* of those in a row */
    uint64_t uses;      /* of the clock, when the last row began */
    beat beats[CELLS];
    unsigned turn;
    uint64_t sent;
    bool reading; /* timestamps of answered heartbeats */
    kw_get timestamps;
    kw_column columns[CELLS];
    bool looking; /* at the cells of all gateways */
    kw_get all;
    kw_family_spec family;
    kw_table_spec table;
};

static kw_hbase_clock *
clock_of(const kw_hbase_heartbeats *self)
{
    return &((kw_hbase_store *)self->handle->base.store)->clock;
}

static void send_one(void *user);
static void begin_row(void *user);

/* --- what is known ---------------------------------------------------------------------------------- */

bool
kw_hbase_clock_time(kw_hbase_clock *clock, bool about, kw_span *ret_span)
{
    kw_mutex_lock(&clock->lock);
    int64_t now_ns = (int64_t)kw_clock_mono_ns();
    bool known = about ? kw_known_time_about(&clock->known, now_ns, ret_span)
                       : clock->looked && kw_known_time_read(&clock->known, now_ns, ret_span);
    kw_mutex_unlock(&clock->lock);
    return known;
}

/* On the sender's loop, unless it has stopped since. */
static void
wake(kw_task *task)
{
    kw_hbase_clock *clock = (kw_hbase_clock *)(void *)((char *)task - offsetof(kw_hbase_clock, wake));
    kw_mutex_lock(&clock->lock);
    kw_hbase_heartbeats *sender = clock->sender;
    clock->woken = false;
    kw_mutex_unlock(&clock->lock);
    if (sender)
        begin_row(sender);
}

void
kw_hbase_clock_use(kw_hbase_clock *clock)
{
    uint64_t now_ns = kw_clock_mono_ns();
    atomic_fetch_add_explicit(&clock->uses, 1, memory_order_relaxed);
    uint64_t unused_ns = now_ns - atomic_load_explicit(&clock->used_ns, memory_order_relaxed);
    if (unused_ns < 10 * NS_PER_MS)
        return;
    atomic_store_explicit(&clock->used_ns, now_ns, memory_order_relaxed);
    if (unused_ns < BUSY_NS)
        return;
    kw_mutex_lock(&clock->lock);
    bool wakes = clock->sender && !clock->woken;
    if (wakes) {
        clock->woken = true;
        clock->wake.run = wake;
        kw_loop_post(clock->sender->handle->base.loop, &clock->wake);
    }
    kw_mutex_unlock(&clock->lock);
}

/* The middle of the interval, against the wall clock. Of one moment: who is stopped in between reads again.
 */
bool
kw_hbase_clock_offset(kw_hbase_clock *clock, int64_t *ret_offset_ms)
{
    uint64_t least_ns = UINT64_MAX;
    kw_span span;
    for (int i = 0; i < 5 && least_ns > NS_PER_MS; i++) {
        uint64_t before_ns = kw_clock_mono_ns();
        int64_t wall_ms = kw_clock_wall_ms();
        if (!kw_hbase_clock_time(clock, true, &span))
            return false;
        uint64_t took_ns = kw_clock_mono_ns() - before_ns;
        int64_t middle_ns = span.earliest_ns + (span.latest_ns - span.earliest_ns) / 2;
        if (took_ns < least_ns)
            *ret_offset_ms = middle_ns / (int64_t)NS_PER_MS - wall_ms;
        least_ns = MIN(least_ns, took_ns);
    }
    return true;
}

/* --- when ------------------------------------------------------------------------------------------- */

static void
ring_in(kw_hbase_heartbeats *self, uint64_t delay_us, void (*ring)(void *user))
{
    if (self->stopped)
        return;
    kw_fine_timer_cancel(self->timers, &self->next);
    kw_fine_timer_set(self->timers, &self->next, kw_clock_mono_ns() + delay_us * NS_PER_US, ring, self);
}

static uint64_t
period_us(const kw_hbase_heartbeats *self)
{
    uint64_t used_ns = atomic_load_explicit(&clock_of(self)->used_ns, memory_order_relaxed);
    uint64_t unused_ns = used_ns ? kw_clock_mono_ns() - used_ns : UINT64_MAX;
    return unused_ns < BUSY_NS ? BUSY_EVERY_US : unused_ns < AWAKE_NS ? AWAKE_EVERY_US : IDLE_EVERY_US;
}

static bool
is_idle(const kw_hbase_heartbeats *self)
{
    return period_us(self) == IDLE_EVERY_US;
}

/* After an answer. The first heartbeat of a cell says little, so the first ones follow each other soon. */
static uint64_t
next_period_us(const kw_hbase_heartbeats *self)
{
    kw_span span;
    return kw_hbase_clock_time(clock_of(self), true, &span) ? period_us(self) : FAILED_US;
}

/* Exact periods would meet the same part of a millisecond again and again. */
static uint64_t
varied(uint64_t delay_us)
{
    return delay_us - kw_random_u64() % (delay_us / 5 + 1);
}

/* The time after which a heartbeat must be sent to arrive when the store's clock reaches the next
 * millisecond. The heartbeats of a row assume different clocks, between 0.3 and 0.7 of the interval. */
static uint64_t
until_next_ms_us(const kw_hbase_heartbeats *self)
{
    kw_hbase_clock *clock = clock_of(self);
    kw_span span;
    kw_mutex_lock(&clock->lock);
    bool known = kw_known_time_recent(&clock->known, (int64_t)kw_clock_mono_ns(), &span);
    int64_t way_ns = clock->way_ns;
    kw_mutex_unlock(&clock->lock);
    if (!known)
        return 0;
    int64_t hundredths = 30 + (40 * (self->row_left % IN_A_ROW) + 20) / IN_A_ROW;
    int64_t now_ns = span.earliest_ns + (span.latest_ns - span.earliest_ns) * hundredths / 100;
    uint64_t arrival_ns = (uint64_t)(now_ns + MIN(way_ns, (int64_t)NS_PER_MS) / 2);
    return (NS_PER_MS - arrival_ns % NS_PER_MS) / NS_PER_US;
}

/* --- answers ------------------------------------------------------------------------------------------ */

static void
note_failure(kw_hbase_heartbeats *self, const char *why, uint64_t delay_us)
{
    if (!self->failed_before)
        kw_log(KW_LOG_WARN, "hbase", "the store's clock is not known", "table=%s reason=\"%s\"", CLOCK_TABLE,
               why);
    self->failed_before = true;
    self->row_left = 0;
    ring_in(self, delay_us, begin_row);
}

static uint64_t
failed_us(const kw_hbase_heartbeats *self)
{
    return is_idle(self) ? FAILED_IDLE_US : FAILED_US;
}

/* Others may have acted on what they saw of a clock that has gone back since. */
static void
looked(void *user, kw_rows *rows, const kw_error *error)
{
    kw_hbase_heartbeats *self = user;
    kw_hbase_clock *clock = clock_of(self);
    int64_t newest_ms = 0;
    self->looking = false;
    if (error)
        return;
    const kw_row *row = &rows->rows[0];
    for (uint32_t i = 0; rows->count && i < row->cells_count; i++)
        newest_ms = MAX(newest_ms, row->cells[i].timestamp);
    kw_mutex_lock(&clock->lock);
    kw_known_time_saw(&clock->known, newest_ms);
    clock->looked = true;
    kw_mutex_unlock(&clock->lock);
    kw_rows_free(rows);
}

static void
look(kw_hbase_heartbeats *self)
{
    if (self->looking || self->stopped)
        return;
    self->looking = true;
    self->all = (kw_get){.table = KW_BYTES_LITERAL(CLOCK_TABLE),
                         .row = KW_BYTES_LITERAL(CLOCK_ROW),
                         .deadline = kw_deadline_in_ms(CALL_MS)};
    kw_hbase_get(&self->handle->base, &self->all, looked, self);
}

/* The put's timestamp is known: that of its cell, or less when the cell is not this put's any more. A put
 * that took long may have been sent twice by the store's own client, and the cell may be the later one's. */
static void
hear(kw_hbase_heartbeats *self, const beat *by, const kw_cell *cell)
{
    kw_hbase_clock *clock = clock_of(self);
    int64_t took_ns = by->answered_ns - by->sent_ns;
    bool once = took_ns < self->client_pause_ns;
    bool own = kw_bytes_equal(cell->value, kw_bytes_of(by->value, sizeof by->value));
    kw_heartbeat heard = {.sent_ns = by->sent_ns,
                          .answered_ns = by->answered_ns,
                          .stamp_ms = cell->timestamp,
                          .or_less = !own || !once};
    kw_mutex_lock(&clock->lock);
    if (by->sent_ns - clock->heard_ns > KW_TIME_FRESH_NS)
        clock->looked = false;
    clock->heard_ns = by->sent_ns;
    clock->way_ns += (took_ns - clock->way_ns) / 4;
    kw_known_time_heard(&clock->known, &heard, (int64_t)kw_clock_mono_ns());
    kw_mutex_unlock(&clock->lock);
}

/* The gateway must look at the cells of the others when it knew nothing, or nothing new for long. */
static bool
is_blind(const kw_hbase_heartbeats *self)
{
    kw_hbase_clock *clock = clock_of(self);
    kw_mutex_lock(&clock->lock);
    bool blind = !clock->looked;
    kw_mutex_unlock(&clock->lock);
    return blind;
}

static void
table_made(void *user, bool created, const kw_error *error)
{
    kw_hbase_heartbeats *self = user;
    self->making = false;
    if (error)
        note_failure(self, error->text, LATER_US);
    else
        ring_in(self, created ? 0 : FAILED_IDLE_US, begin_row);
}

static void
make_table(kw_hbase_heartbeats *self)
{
    if (self->making)
        return;
    self->making = true;
    self->family = (kw_family_spec){.name = FAMILY,
                                    .ttl_seconds = 24 * 3600,
                                    .max_versions = 1,
                                    .block_cache = -1,
                                    .in_memory = -1,
                                    .keep_deleted_cells = -1,
                                    .replication_scope = -1};
    self->table = (kw_table_spec){.name = KW_BYTES_LITERAL(CLOCK_TABLE),
                                  .families = &self->family,
                                  .families_count = 1,
                                  .deadline = KW_DEADLINE_NONE};
    kw_log(KW_LOG_INFO, "hbase", "making the table of the store's clock", "table=%s", CLOCK_TABLE);
    kw_hbase_create_table(&self->handle->base, &self->table, table_made, self);
}

static void
failed(kw_hbase_heartbeats *self, const kw_error *error)
{
    note_failure(self, error->text, error->code == KW_REFUSED ? LATER_US : failed_us(self));
}

/* --- timestamps ----------------------------------------------------------------------------------------- */

static const kw_cell *
find_cell(const kw_row *row, const beat *by)
{
    for (uint32_t i = 0; i < row->cells_count; i++)
        if (kw_bytes_equal(row->cells[i].qualifier, kw_bytes_of_text(by->qualifier)))
            return &row->cells[i];
    return NULL;
}

/* In the order in which they were sent. True: some were heard. */
static bool
hear_all(kw_hbase_heartbeats *self, const kw_rows *rows)
{
    bool any = false;
    for (unsigned i = 0; i < CELLS; i++) {
        beat *by = &self->beats[(self->turn + i) % CELLS];
        if (by->state != BEAT_READ)
            continue;
        by->state = BEAT_IDLE;
        const kw_cell *cell = rows && rows->count ? find_cell(&rows->rows[0], by) : NULL;
        if (cell)
            hear(self, by, cell);
        any = any || cell;
    }
    return any;
}

static void read_timestamps(kw_hbase_heartbeats *self);

static void
timestamps_read(void *user, kw_rows *rows, const kw_error *error)
{
    kw_hbase_heartbeats *self = user;
    self->reading = false;
    bool any = hear_all(self, rows);
    kw_rows_free(rows);
    if (error) {
        failed(self, error);
        return;
    }
    if (!any) {
        note_failure(self, "a heartbeat has no timestamp", failed_us(self));
        return;
    }
    if (is_blind(self))
        look(self);
    self->failed_before = false;
    kw_hbase_probe(self->handle, KW_BYTES_LITERAL(CLOCK_TABLE), KW_BYTES_LITERAL(CLOCK_ROW));
    read_timestamps(self); /* of those that were answered meanwhile */
    if (!self->reading && self->row_left == 0)
        ring_in(self, varied(next_period_us(self)), begin_row);
}

static void
read_timestamps(kw_hbase_heartbeats *self)
{
    size_t count = 0;
    for (unsigned i = 0; i < CELLS && !self->reading && !self->stopped; i++) {
        beat *by = &self->beats[i];
        if (by->state != BEAT_ANSWERED)
            continue;
        by->state = BEAT_READ;
        self->columns[count++] =
            (kw_column){.family = KW_BYTES_LITERAL(FAMILY), .qualifier = kw_bytes_of_text(by->qualifier)};
    }
    if (count == 0)
        return;
    self->reading = true;
    self->timestamps = (kw_get){.table = KW_BYTES_LITERAL(CLOCK_TABLE),
                                .row = KW_BYTES_LITERAL(CLOCK_ROW),
                                .columns = self->columns,
                                .columns_count = count,
                                .deadline = kw_deadline_in_ms(CALL_MS)};
    kw_hbase_get(&self->handle->base, &self->timestamps, timestamps_read, self);
}

/* --- heartbeats ----------------------------------------------------------------------------------------- */

static void
answered(kw_hbase_call *call, const void *result, const kw_hbase_failure *failure)
{
    beat *by = call->user;
    kw_hbase_heartbeats *self = by->of;
    (void)result;
    if (failure) {
        by->state = BEAT_IDLE;
        if (failure->kind == KW_HBASE_TABLE_MISSING)
            make_table(self);
        else
            failed(self, &failure->error);
        return;
    }
    by->state = BEAT_ANSWERED;
    by->sent_ns = (int64_t)call->since_ns;
    by->answered_ns = (int64_t)kw_clock_mono_ns();
    if (self->row_left)
        ring_in(self, until_next_ms_us(self), send_one);
    else
        read_timestamps(self);
}

static beat *
idle_beat(kw_hbase_heartbeats *self)
{
    for (unsigned i = 0; i < CELLS; i++) {
        beat *by = &self->beats[self->turn++ % CELLS];
        if (by->state == BEAT_IDLE)
            return by;
    }
    return NULL;
}

static void
send_beat(kw_hbase_heartbeats *self, beat *by)
{
    by->state = BEAT_SENT;
    kw_be64_store(by->value, ++self->sent);
    by->cell = (kw_hb_TColumnValue){.family = KW_BYTES_LITERAL(FAMILY),
                                    .qualifier = kw_bytes_of_text(by->qualifier),
                                    .value = kw_bytes_of(by->value, sizeof by->value)};
    by->put = (kw_hb_TPut){.row = KW_BYTES_LITERAL(CLOCK_ROW),
                           .has_durability = true,
                           .durability = (int32_t)KW_DURABILITY_SKIP_WAL};
    by->put.columnValues.items = &by->cell;
    by->put.columnValues.count = 1;
    by->args.table = KW_BYTES_LITERAL(CLOCK_TABLE);
    by->args.tput = &by->put;
    by->call = (kw_hbase_call){.method = KW_HB_THBaseService_put,
                               .args = &by->args,
                               .table = by->args.table,
                               .deadline = kw_deadline_in_ms(CALL_MS),
                               .done = answered,
                               .user = by};
    kw_hbase_pool_start(&self->handle->pool, &by->call);
}

static void
send_one(void *user)
{
    kw_hbase_heartbeats *self = user;
    beat *by = self->handle->pool.ready && !self->making ? idle_beat(self) : NULL;
    ring_in(self, by && !is_idle(self) ? UNANSWERED_US : FAILED_IDLE_US, begin_row);
    self->row_left -= self->row_left > 0;
    if (by)
        send_beat(self, by);
}

/* Was the clock used often since the last row? */
static bool
is_used_often(kw_hbase_heartbeats *self)
{
    uint64_t uses = atomic_load_explicit(&clock_of(self)->uses, memory_order_relaxed);
    bool often = uses - self->uses >= OFTEN;
    self->uses = uses;
    return often;
}

static void
begin_row(void *user)
{
    kw_hbase_heartbeats *self = user;
    bool busy = period_us(self) == BUSY_EVERY_US;
    bool often = is_used_often(self);
    read_timestamps(self); /* of a row that did not end */
    self->row_left = often && clock_of(self)->way_ns < LONG_NS ? IN_A_ROW : 1;
    ring_in(self, busy ? until_next_ms_us(self) : 0, send_one);
}

/* --- who sends them ---------------------------------------------------------------------------------------
 */

static kw_hbase_heartbeats *
heartbeats_new(kw_hbase_handle *handle)
{
    kw_hbase_heartbeats *self = g_new0(kw_hbase_heartbeats, 1);
    self->handle = handle;
    self->sent = kw_random_u64(); /* so that no value is one that an earlier sender of this process put */
    self->client_pause_ns =
        ((kw_hbase_store *)handle->base.store)->settings.client_pause_ms * (int64_t)NS_PER_MS;
    self->timers = kw_fine_timers_new(handle->base.loop);
    for (unsigned i = 0; i < CELLS; i++) {
        self->beats[i].of = self;
        snprintf(self->beats[i].qualifier, sizeof self->beats[i].qualifier, "%s/%u", clock_of(self)->name, i);
    }
    return self;
}

void
kw_hbase_clock_tick(kw_hbase_handle *handle)
{
    kw_hbase_clock *clock = &((kw_hbase_store *)handle->base.store)->clock;
    if (!handle->heartbeats && !handle->base.closing) {
        if (atomic_exchange(&clock->measuring, true))
            return;
        handle->heartbeats = heartbeats_new(handle);
        begin_row(handle->heartbeats);
        kw_mutex_lock(&clock->lock);
        clock->sender = handle->heartbeats;
        kw_mutex_unlock(&clock->lock);
    }
}

/* What is under way completes before the store handle is closed; the memory goes then. */
void
kw_hbase_clock_stop(kw_hbase_handle *handle)
{
    if (!handle->heartbeats || handle->heartbeats->stopped)
        return;
    kw_hbase_clock *clock = clock_of(handle->heartbeats);
    kw_mutex_lock(&clock->lock);
    clock->sender = NULL;
    kw_mutex_unlock(&clock->lock);
    handle->heartbeats->stopped = true;
    kw_fine_timers_free(handle->heartbeats->timers);
    atomic_store(&clock->measuring, false);
}
