#include "store/hbase/clock/heartbeats.h"

#include "base/fine_timer.h"
#include "base/log.h"
#include "base/units.h"
#include "store/aim.h"

#include <stdio.h>

#define CLOCK_TABLE "keyway_clock"
#define CLOCK_ROW "heartbeats"
#define FAMILY "t"
#define NS_PER_US UINT64_C(1000)

#define RECENTLY_USED_NS (60000 * KW_NS_PER_MS) /* the clock is idle if it was not used for this time */
#define IN_USE_EVERY_US 100000
#define RECENTLY_USED_EVERY_US 200000
#define IDLE_EVERY_US 10000000
#define REPLY_WAIT_US 50000 /* unless idle: how long a heartbeat without a reply delays the next burst */
#define RETRY_US 20000
#define RETRY_IDLE_US 500000
#define RETRY_REFUSED_US 60000000 /* also if the table cannot be created */
#define BURST_HEARTBEATS 3
#define OFTEN 20 /* the clock is used often if it has this many uses between two bursts */
#define FAST_NS (3 * (int64_t)KW_NS_PER_MS) /* puts shorter than this are fast */
#define CALL_TIMEOUT_MS 5000
#define CELLS 8

typedef struct heartbeat heartbeat;

typedef enum heartbeat_state {
    HEARTBEAT_IDLE,
    HEARTBEAT_SENT,
    HEARTBEAT_ANSWERED,
    HEARTBEAT_READING, /* a get reads its timestamp */
    HEARTBEAT_REMOVED  /* a delete of its cell is in flight */
} heartbeat_state;

/* One of this process's cells, and the latest heartbeat that wrote it. */
struct heartbeat {
    kw_hbase_heartbeats *owner;
    heartbeat_state state;
    int64_t sent_ns, answered_ns;
    kw_aimed aimed;
    uint8_t value[8]; /* unique to this put */
    kw_hbase_call call;
    kw_hb_THBaseService_put_args args;
    kw_hb_TPut put;
    kw_hb_TColumnValue cell;
    kw_hb_THBaseService_deleteSingle_args remove_args;
    kw_hb_TDelete removal;
    kw_hb_TColumn removed;
    char qualifier[40];
};

struct kw_hbase_heartbeats {
    kw_hbase_handle *handle;
    kw_fine_timers *timers;
    kw_fine_timer next;
    int64_t client_pause_ns; /* HBase's client sends a put again if it has no reply after this time */
    bool stopped;
    bool creating_table;
    bool failing;        /* the failure was logged; it is not logged again before a success */
    unsigned burst_left; /* heartbeats of the burst that are not sent yet */
    kw_aim aim;
    kw_aimed aimed;    /* the next heartbeat */
    uint64_t uses;     /* kw_hbase_clock.uses when the last burst started */
    uint64_t often_ns; /* when a burst last started after the clock had been used often; 0: never */
    heartbeat heartbeats[CELLS];
    unsigned next_cell;
    uint64_t last_value;
    bool reading; /* timestamps_get is in flight */
    kw_get timestamps_get;
    kw_column columns[CELLS];
    bool reading_peers; /* peers_get is in flight: it reads the cells of all gateways */
    kw_get peers_get;
    kw_family_spec family;
    kw_table_spec table;
};

static kw_hbase_clock *
clock_of(const kw_hbase_heartbeats *self)
{
    return &((kw_hbase_store *)self->handle->base.store)->clock;
}

static void send_one(void *user);

/* --- schedule -------------------------------------------------------------------------------- */

static void
schedule(kw_hbase_heartbeats *self, uint64_t delay_us, void (*run)(void *user))
{
    if (self->stopped)
        return;
    kw_fine_timer_cancel(self->timers, &self->next);
    kw_fine_timer_set(self->timers, &self->next, kw_clock_mono_ns() + delay_us * NS_PER_US, run, self);
}

static uint64_t
period_us(const kw_hbase_heartbeats *self)
{
    uint64_t used_ns = atomic_load_explicit(&clock_of(self)->used_ns, memory_order_relaxed);
    uint64_t unused_ns = used_ns ? kw_clock_mono_ns() - used_ns : UINT64_MAX;
    return unused_ns < KW_HBASE_CLOCK_IN_USE_NS ? IN_USE_EVERY_US
           : unused_ns < RECENTLY_USED_NS       ? RECENTLY_USED_EVERY_US
                                                : IDLE_EVERY_US;
}

static bool
is_idle(const kw_hbase_heartbeats *self)
{
    return period_us(self) == IDLE_EVERY_US;
}

/* The delay between the end of a burst and the next burst. It is short while the time is unknown. */
static uint64_t
next_period_us(const kw_hbase_heartbeats *self)
{
    kw_span span;
    return kw_hbase_clock_time(clock_of(self), true, &span) ? period_us(self) : RETRY_US;
}

/* Shortens a delay by a random part of up to a fifth. Otherwise all heartbeats would be sent at the same
 * fraction of a millisecond. */
static uint64_t
with_jitter(uint64_t delay_us)
{
    return delay_us - kw_random_u64() % (delay_us / 5 + 1);
}

/* Aims the next heartbeat, and returns how long to wait before sending it. The heartbeats of a burst
 * are aimed alternately before and after the start of a millisecond. The first one is aimed at the side that
 * is known less exactly. */
static uint64_t
aim_us(kw_hbase_heartbeats *self, bool first)
{
    kw_hbase_clock *clock = clock_of(self);
    int64_t now_ns = (int64_t)kw_clock_mono_ns();
    kw_aim_side side = self->aimed.side == KW_AIM_AFTER ? KW_AIM_BEFORE : KW_AIM_AFTER;
    kw_mutex_lock(&clock->lock);
    if (first)
        side = kw_aim_choose(&self->aim, &clock->known, now_ns);
    kw_mutex_unlock(&clock->lock);
    return (uint64_t)(kw_aim_send_at(&self->aim, side, now_ns, &self->aimed) - now_ns) / NS_PER_US;
}

/* --- results --------------------------------------------------------------------------------- */

static void
retry_later(kw_hbase_heartbeats *self, const char *why, uint64_t delay_us)
{
    if (!self->failing)
        kw_log(KW_LOG_WARN, "hbase", "cannot read the store's clock", KW_LOG_FACT("table", CLOCK_TABLE),
               KW_LOG_FACT("reason", why));
    self->failing = true;
    self->burst_left = 0;
    schedule(self, delay_us, kw_hbase_heartbeats_start_burst);
}

static uint64_t
retry_delay_us(const kw_hbase_heartbeats *self)
{
    return is_idle(self) ? RETRY_IDLE_US : RETRY_US;
}

static void
on_peers_read(void *user, kw_rows *rows, const kw_error *error)
{
    kw_hbase_heartbeats *self = user;
    self->reading_peers = false;
    if (!error)
        kw_hbase_clock_add_peers(clock_of(self), rows);
    kw_rows_free(rows);
}

static void
read_peers(kw_hbase_heartbeats *self)
{
    if (self->reading_peers || self->stopped)
        return;
    self->reading_peers = true;
    self->peers_get = (kw_get){.table = KW_BYTES_LITERAL(CLOCK_TABLE),
                               .row = KW_BYTES_LITERAL(CLOCK_ROW),
                               .deadline = kw_deadline_in_ms(CALL_TIMEOUT_MS)};
    kw_hbase_get(&self->handle->base, &self->peers_get, on_peers_read, self);
}

/* Records a heartbeat with the timestamp of its cell. In two cases this timestamp is only an upper bound of
 * the timestamp of the put: if the cell is from another put, and if the put took so long that HBase's client
 * can have sent it twice. */
static kw_hbase_trust
record(kw_hbase_heartbeats *self, const heartbeat *beat, const kw_cell *cell)
{
    int64_t took_ns = beat->answered_ns - beat->sent_ns;
    bool sent_once = took_ns < self->client_pause_ns;
    bool own = kw_bytes_equal(cell->value, kw_bytes_of(beat->value, sizeof beat->value));
    kw_heartbeat sample = {.sent_ns = beat->sent_ns,
                           .answered_ns = beat->answered_ns,
                           .stamp_ms = cell->timestamp,
                           .stamp_is_upper_bound = !own || !sent_once};
    kw_hbase_trust trust = kw_hbase_clock_add_heartbeat(clock_of(self), &sample);
    if (trust == KW_HBASE_TRUSTED)
        kw_aim_learn(&self->aim, &beat->aimed, &sample);
    return trust;
}

static void
on_removed(kw_hbase_call *call, const void *result, const kw_hbase_failure *failure)
{
    (void)result;
    (void)failure; /* the next heartbeat of the cell tries again */
    ((heartbeat *)call->user)->state = HEARTBEAT_IDLE;
}

/* Deletes this version of the cell. If it stayed, it would hide the next puts of the cell, and the gateways
 * that start would have to take its timestamp for a time of the store. */
static void
remove_cell(kw_hbase_heartbeats *self, heartbeat *beat, int64_t timestamp)
{
    beat->state = HEARTBEAT_REMOVED;
    beat->removed = (kw_hb_TColumn){.family = KW_BYTES_LITERAL(FAMILY),
                                    .has_qualifier = true,
                                    .qualifier = kw_bytes_of_text(beat->qualifier),
                                    .has_timestamp = true,
                                    .timestamp = timestamp};
    beat->removal = (kw_hb_TDelete){.row = KW_BYTES_LITERAL(CLOCK_ROW),
                                    .has_columns = true,
                                    .columns = {&beat->removed, 1},
                                    .has_deleteType = true,
                                    .deleteType = KW_HB_TDeleteType_DELETE_COLUMN,
                                    .has_durability = true,
                                    .durability = (int32_t)KW_DURABILITY_SKIP_WAL};
    beat->remove_args.table = KW_BYTES_LITERAL(CLOCK_TABLE);
    beat->remove_args.tdelete = &beat->removal;
    beat->call = (kw_hbase_call){.method = KW_HB_THBaseService_deleteSingle,
                                 .args = &beat->remove_args,
                                 .table = beat->remove_args.table,
                                 .deadline = kw_deadline_in_ms(CALL_TIMEOUT_MS),
                                 .done = on_removed,
                                 .user = beat};
    kw_hbase_pool_start(&self->handle->pool, &beat->call);
}

/* True if the cells of all gateways must be read: they have not been read yet, or not since heartbeats were
 * missing for longer than KW_TIME_FRESH_NS. */
static bool
must_read_peers(const kw_hbase_heartbeats *self)
{
    kw_hbase_clock *clock = clock_of(self);
    kw_mutex_lock(&clock->lock);
    bool must_read = !clock->peers_read;
    kw_mutex_unlock(&clock->lock);
    return must_read;
}

static void
on_table_created(void *user, bool created, const kw_error *error)
{
    kw_hbase_heartbeats *self = user;
    self->creating_table = false;
    if (error)
        retry_later(self, error->text, RETRY_REFUSED_US);
    else
        schedule(self, created ? 0 : RETRY_IDLE_US, kw_hbase_heartbeats_start_burst);
}

static void
create_table(kw_hbase_heartbeats *self)
{
    if (self->creating_table)
        return;
    self->creating_table = true;
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
    kw_log(KW_LOG_INFO, "hbase", "creating the table for the store's clock",
           KW_LOG_FACT("table", CLOCK_TABLE));
    kw_hbase_create_table(&self->handle->base, &self->table, on_table_created, self);
}

static void
retry_after_error(kw_hbase_heartbeats *self, const kw_error *error)
{
    retry_later(self, error->text, error->code == KW_REFUSED ? RETRY_REFUSED_US : retry_delay_us(self));
}

/* --- timestamps ------------------------------------------------------------------------------ */

static const kw_cell *
find_cell(const kw_row *row, const heartbeat *beat)
{
    for (uint32_t i = 0; i < row->cells_count; i++)
        if (kw_bytes_equal(row->cells[i].qualifier, kw_bytes_of_text(beat->qualifier)))
            return &row->cells[i];
    return NULL;
}

/* Records the heartbeats that were read, in the order in which they were sent. True if the result has a
 * cell for at least one of them. */
static bool
record_all(kw_hbase_heartbeats *self, const kw_rows *rows)
{
    bool any = false;
    for (unsigned i = 0; i < CELLS; i++) {
        heartbeat *beat = &self->heartbeats[(self->next_cell + i) % CELLS];
        if (beat->state != HEARTBEAT_READING)
            continue;
        beat->state = HEARTBEAT_IDLE;
        const kw_cell *cell = rows && rows->count ? find_cell(&rows->rows[0], beat) : NULL;
        if (cell && record(self, beat, cell) == KW_HBASE_NEVER_TRUSTED && !self->stopped)
            remove_cell(self, beat, cell->timestamp);
        any = any || cell;
    }
    return any;
}

static void read_timestamps(kw_hbase_heartbeats *self);

static void
on_timestamps(void *user, kw_rows *rows, const kw_error *error)
{
    kw_hbase_heartbeats *self = user;
    self->reading = false;
    bool any = record_all(self, rows);
    kw_rows_free(rows);
    if (error) {
        retry_after_error(self, error);
        return;
    }
    if (!any) {
        retry_later(self, "a heartbeat has no timestamp", retry_delay_us(self));
        return;
    }
    if (must_read_peers(self))
        read_peers(self);
    self->failing = false;
    kw_hbase_probe(self->handle, KW_BYTES_LITERAL(CLOCK_TABLE), KW_BYTES_LITERAL(CLOCK_ROW));
    read_timestamps(self); /* of the heartbeats answered in the meantime */
    if (!self->reading && self->burst_left == 0)
        schedule(self, with_jitter(next_period_us(self)), kw_hbase_heartbeats_start_burst);
}

static void
read_timestamps(kw_hbase_heartbeats *self)
{
    size_t count = 0;
    for (unsigned i = 0; i < CELLS && !self->reading && !self->stopped; i++) {
        heartbeat *beat = &self->heartbeats[i];
        if (beat->state != HEARTBEAT_ANSWERED)
            continue;
        beat->state = HEARTBEAT_READING;
        self->columns[count++] =
            (kw_column){.family = KW_BYTES_LITERAL(FAMILY), .qualifier = kw_bytes_of_text(beat->qualifier)};
    }
    if (count == 0)
        return;
    self->reading = true;
    self->timestamps_get = (kw_get){.table = KW_BYTES_LITERAL(CLOCK_TABLE),
                                    .row = KW_BYTES_LITERAL(CLOCK_ROW),
                                    .columns = self->columns,
                                    .columns_count = count,
                                    .deadline = kw_deadline_in_ms(CALL_TIMEOUT_MS)};
    kw_hbase_get(&self->handle->base, &self->timestamps_get, on_timestamps, self);
}

/* --- heartbeats ------------------------------------------------------------------------------- */

static void
on_answered(kw_hbase_call *call, const void *result, const kw_hbase_failure *failure)
{
    heartbeat *beat = call->user;
    kw_hbase_heartbeats *self = beat->owner;
    (void)result;
    if (failure) {
        beat->state = HEARTBEAT_IDLE;
        if (failure->kind == KW_HBASE_TABLE_MISSING)
            create_table(self);
        else
            retry_after_error(self, &failure->error);
        return;
    }
    beat->state = HEARTBEAT_ANSWERED;
    beat->sent_ns = (int64_t)call->since_ns;
    beat->answered_ns = (int64_t)kw_clock_mono_ns();
    if (self->burst_left)
        schedule(self, aim_us(self, false), send_one);
    else
        read_timestamps(self);
}

static heartbeat *
find_idle(kw_hbase_heartbeats *self)
{
    for (unsigned i = 0; i < CELLS; i++) {
        heartbeat *beat = &self->heartbeats[self->next_cell++ % CELLS];
        if (beat->state == HEARTBEAT_IDLE)
            return beat;
    }
    return NULL;
}

static void
send_heartbeat(kw_hbase_heartbeats *self, heartbeat *beat)
{
    beat->state = HEARTBEAT_SENT;
    beat->aimed = self->aimed;
    kw_be64_store(beat->value, ++self->last_value);
    beat->cell = (kw_hb_TColumnValue){.family = KW_BYTES_LITERAL(FAMILY),
                                      .qualifier = kw_bytes_of_text(beat->qualifier),
                                      .value = kw_bytes_of(beat->value, sizeof beat->value)};
    beat->put = (kw_hb_TPut){.row = KW_BYTES_LITERAL(CLOCK_ROW),
                             .has_durability = true,
                             .durability = (int32_t)KW_DURABILITY_SKIP_WAL};
    beat->put.columnValues.items = &beat->cell;
    beat->put.columnValues.count = 1;
    beat->args.table = KW_BYTES_LITERAL(CLOCK_TABLE);
    beat->args.tput = &beat->put;
    beat->call = (kw_hbase_call){.method = KW_HB_THBaseService_put,
                                 .args = &beat->args,
                                 .table = beat->args.table,
                                 .deadline = kw_deadline_in_ms(CALL_TIMEOUT_MS),
                                 .done = on_answered,
                                 .user = beat};
    kw_hbase_pool_start(&self->handle->pool, &beat->call);
}

/* First schedules the next burst, in case no reply arrives. A reply replaces this schedule. */
static void
send_one(void *user)
{
    kw_hbase_heartbeats *self = user;
    heartbeat *beat = self->handle->pool.ready && !self->creating_table ? find_idle(self) : NULL;
    schedule(self, beat && !is_idle(self) ? REPLY_WAIT_US : RETRY_IDLE_US, kw_hbase_heartbeats_start_burst);
    self->burst_left -= self->burst_left > 0;
    if (beat)
        send_heartbeat(self, beat);
}

/* True if the clock was used often between two bursts, within the last minute. */
static bool
is_used_often(kw_hbase_heartbeats *self)
{
    uint64_t uses = atomic_load_explicit(&clock_of(self)->uses, memory_order_relaxed);
    uint64_t now_ns = kw_clock_mono_ns();
    if (uses - self->uses >= OFTEN)
        self->often_ns = now_ns;
    self->uses = uses;
    return self->often_ns && now_ns - self->often_ns < RECENTLY_USED_NS;
}

void
kw_hbase_heartbeats_start_burst(void *user)
{
    kw_hbase_heartbeats *self = user;
    bool often = is_used_often(self);
    read_timestamps(self); /* of the last burst, if it was not completed */
    self->burst_left = often && self->aim.duration_ns < FAST_NS ? BURST_HEARTBEATS : 1;
    self->aimed = (kw_aimed){.aimed = false};
    schedule(self, is_idle(self) ? 0 : aim_us(self, true), send_one);
}

/* --- start and stop --------------------------------------------------------------------------- */

kw_hbase_heartbeats *
kw_hbase_heartbeats_new(kw_hbase_handle *handle)
{
    kw_hbase_heartbeats *self = g_new0(kw_hbase_heartbeats, 1);
    self->handle = handle;
    self->last_value =
        kw_random_u64(); /* so that an earlier sender of this process has not used the next values */
    self->client_pause_ns =
        ((kw_hbase_store *)handle->base.store)->settings.client_pause_ms * (int64_t)KW_NS_PER_MS;
    self->timers = kw_fine_timers_new(handle->base.loop);
    kw_aim_init(&self->aim);
    for (unsigned i = 0; i < CELLS; i++) {
        self->heartbeats[i].owner = self;
        snprintf(self->heartbeats[i].qualifier, sizeof self->heartbeats[i].qualifier, "%s/%u",
                 clock_of(self)->name, i);
    }
    return self;
}

void
kw_hbase_heartbeats_stop(kw_hbase_heartbeats *self)
{
    self->stopped = true;
    kw_fine_timers_free(self->timers);
}

bool
kw_hbase_heartbeats_stopped(const kw_hbase_heartbeats *self)
{
    return self->stopped;
}

kw_loop *
kw_hbase_heartbeats_loop(const kw_hbase_heartbeats *self)
{
    return self->handle->base.loop;
}
