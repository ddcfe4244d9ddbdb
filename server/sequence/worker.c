#include "sequence/worker.h"

#include "base/log.h"
#include "base/metrics.h"
#include "base/thread.h"
#include "sequence/backend.h"
#include "store/check.h"
#include "store/plausible.h"

#include <glib.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define QUALIFIER KW_BYTES_LITERAL("lease")
#define STATE_MAX 64
#define FREE_OWNER "-"
#define STOP_TIMEOUT_MS 2000
#define BUSY_RETRY_MS 5

struct kw_worker {
    char *table;
    kw_snowflake_form form;
    int64_t lease_ms;
    kw_loop *loop;
    kw_store_handle *handle;
    kw_timer *timer;
    char owner[17];

    /* used on the loop only; at most one operation is in flight */
    bool busy;
    bool stopping;
    uint32_t number; /* held, or being examined */
    uint32_t tried;  /* numbers that were examined since the last pause, and were not free */
    char row[32];
    char seen[STATE_MAX]; /* content of the row; "" if empty */
    int64_t seen_stamp;   /* timestamp of that cell */
    char wanted[STATE_MAX];
    int64_t wanted_until_ms;
    int64_t floor_ms; /* ids of `number` begin after this time */
    uint64_t sent_ns;
    kw_get get;
    kw_write write;
    kw_cell cell;
    kw_check check;
    kw_column column;
    void (*started)(void *user, const kw_error *error);
    void *started_user;
    void (*stopped)(void *user);
    void *stopped_user;

    kw_mutex lock; /* guards the following members */
    bool held;
    int64_t until_ms;
    uint64_t fence_ns; /* monotonic: no ids are issued after this time without renewal */
    kw_ticks ticks;
    uint32_t held_number;
    kw_error why_not;
};

static void read_lease(kw_worker *self);

static uint32_t
numbers(const kw_worker *self)
{
    return UINT32_C(1) << self->form.worker_bits;
}

/* --- issuing ids ----------------------------------------------------------------------------------- */

static bool
refuse_ids(kw_worker *self, bool fenced, kw_error *ret_error)
{
    const char *why = self->why_not.code != KW_OK ? self->why_not.text : "the store does not answer";
    kw_error_set(ret_error, KW_UNAVAILABLE, "%s: %s",
                 fenced ? "the lease of this gateway's worker number was not renewed in time"
                        : "this gateway has no worker number",
                 why);
    ret_error->retry_after_ms = (uint32_t)MIN(self->lease_ms / 3 + 1, 1000);
    return false;
}

bool
kw_worker_allocate(kw_worker *self, uint32_t want, uint32_t *ret_worker, kw_tick_part *ret_part,
                   kw_error *ret_error)
{
    bool taken = false;
    kw_mutex_lock(&self->lock);
    bool fenced = self->held && kw_clock_mono_ns() >= self->fence_ns;
    if (!self->held || fenced) {
        refuse_ids(self, fenced, ret_error);
    } else if (kw_ticks_allocate(&self->ticks, self->form, kw_clock_wall_ms(), self->until_ms, want,
                                 ret_part)) {
        *ret_worker = self->held_number;
        taken = true;
    } else {
        kw_error_set(ret_error, KW_BUSY,
                     "snowflakes are requested faster than their form allows, or the clock jumped");
        ret_error->retry_after_ms = BUSY_RETRY_MS;
    }
    kw_mutex_unlock(&self->lock);
    return taken;
}

/* --- the row --------------------------------------------------------------------------------------- */

typedef struct lease_state {
    bool present;
    char owner[17];
    int64_t until_ms;
} lease_state;

static bool
parse_state(const char *text, lease_state *ret_state)
{
    int used = 0;
    *ret_state = (lease_state){.present = *text != '\0'};
    return !*text ||
           (sscanf(text, "%16s %" SCNd64 "%n", ret_state->owner, &ret_state->until_ms, &used) == 2 &&
            text[used] == '\0' && ret_state->until_ms >= 0);
}

static void
set_why_not(kw_worker *self, const kw_error *error)
{
    kw_mutex_lock(&self->lock);
    self->why_not = *error;
    kw_mutex_unlock(&self->lock);
}

static void
report_started(kw_worker *self, const kw_error *error)
{
    void (*started)(void *user, const kw_error *reported) = self->started;
    self->started = NULL;
    if (started)
        started(self->started_user, error);
}

/* Call it once. An operation in flight ends when the store handle is closed. */
static void
report_stopped(kw_worker *self)
{
    void (*stopped)(void *user) = self->stopped;
    kw_timer_free(self->timer);
    self->timer = NULL;
    self->stopped = NULL;
    if (stopped)
        stopped(self->stopped_user);
}

static void
wait_ms(kw_worker *self, int64_t ms)
{
    kw_timer_start_ms(self->timer, (uint64_t)MAX(ms, 10));
}

static void
retry_later(kw_worker *self, const kw_error *error)
{
    kw_error reported = *error;
    kw_error_prefix(&reported, "worker numbers in %s", self->table);
    set_why_not(self, &reported);
    wait_ms(self, self->lease_ms / 10);
    report_started(self, &reported);
}

static void
report_lost(kw_worker *self, const char *other)
{
    kw_log(KW_LOG_ERROR, "sequence", "worker number lost", KW_LOG_FACT("number", self->number),
           KW_LOG_FACT("owner", other));
    kw_metrics_add(KW_METRIC_worker_leases_lost, 1);
    kw_metrics_add(KW_METRIC_worker_leases, -1);
    kw_mutex_lock(&self->lock);
    self->held = false;
    kw_error_set(&self->why_not, KW_UNAVAILABLE, "another gateway has taken it over");
    kw_mutex_unlock(&self->lock);
}

/* Called after the write of this lease was applied: ids up to wanted_until_ms can be issued now. */
static void
begin_lease(kw_worker *self)
{
    kw_mutex_lock(&self->lock);
    bool fresh = !self->held;
    if (fresh) {
        self->held = true;
        self->held_number = self->number;
        /* Continue after the ids that this number issued, and that this gateway issued under another number.
         */
        self->ticks = (kw_ticks){MAX(self->floor_ms / self->form.tick_ms, self->ticks.tick),
                                 UINT32_C(1) << self->form.sequence_bits};
    }
    self->until_ms = self->wanted_until_ms;
    self->fence_ns = self->sent_ns + (uint64_t)self->lease_ms * 1000000;
    self->why_not = KW_ERROR_NONE;
    kw_mutex_unlock(&self->lock);
    self->tried = 0;
    if (fresh) {
        kw_metrics_add(KW_METRIC_worker_leases, 1);
        kw_log(KW_LOG_INFO, "sequence", "worker number leased", KW_LOG_FACT("number", self->number),
               KW_LOG_FACT("bits", self->form.worker_bits), KW_LOG_FACT("until_ms", self->until_ms));
    }
    wait_ms(self, self->lease_ms / 3);
    report_started(self, NULL);
}

static void
written(void *user, kw_outcome outcome, bool applied, const kw_error *error)
{
    kw_worker *self = user;
    (void)outcome;
    self->busy = false;
    if (self->stopping)
        report_stopped(self);
    else if (error)
        retry_later(self, error); /* reading the row again shows the outcome */
    else if (applied)
        begin_lease(self);
    else
        read_lease(self);
}

/* Changes the row on condition that it still has the content that was read. The new timestamp is higher than
 * that of the content, so that the write is visible even if a store's clock was set back. */
static void
write_lease(kw_worker *self, const char *owner, int64_t until_ms, int64_t timeout_ms)
{
    g_snprintf(self->wanted, sizeof self->wanted, "%s %" PRId64, owner, until_ms);
    self->wanted_until_ms = until_ms;
    self->cell = (kw_cell){.family = kw_bytes_of_text(kw_retention_family(KW_KEEP_EVER)),
                           .qualifier = QUALIFIER,
                           .value = kw_bytes_of_text(self->wanted)};
    self->write = (kw_write){.kind = KW_WRITE_PUT,
                             .table = kw_bytes_of_text(self->table),
                             .row = kw_bytes_of_text(self->row),
                             .cells = &self->cell,
                             .cells_count = 1,
                             .timestamp = MAX(kw_clock_wall_ms(), self->seen_stamp + 1),
                             .deadline = kw_deadline_in_ms(timeout_ms)};
    self->check = (kw_check){.family = self->cell.family,
                             .qualifier = QUALIFIER,
                             .compare = KW_COMPARE_EQUAL,
                             .has_value = *self->seen != '\0',
                             .value = kw_bytes_of_text(self->seen)};
    self->busy = true;
    kw_store_handle_write_if(self->handle, &self->write, &self->check, written, self);
}

static void
claim(kw_worker *self)
{
    kw_mutex_lock(&self->lock);
    int64_t last_ms = MAX(self->ticks.tick * self->form.tick_ms, self->floor_ms);
    /* loops can issue ids up to this time until the write is applied */
    int64_t least_ms = self->held ? self->until_ms : 0;
    kw_mutex_unlock(&self->lock);
    int64_t until_ms = MAX(kw_clock_wall_ms(), last_ms) + self->lease_ms + self->form.tick_ms;
    self->sent_ns = kw_clock_mono_ns();
    write_lease(self, self->owner, MAX(until_ms, least_ms), self->lease_ms);
}

static void
try_next(kw_worker *self)
{
    self->floor_ms = 0;
    self->number = (self->number + 1) % numbers(self);
    if (++self->tried < numbers(self)) {
        read_lease(self);
        return;
    }
    kw_error error;
    self->tried = 0;
    kw_error_set(&error, KW_UNAVAILABLE, "all %u are leased by other gateways", numbers(self));
    retry_later(self, &error);
    wait_ms(self, self->lease_ms);
}

/* True if this gateway can lease the number. Because clocks differ, a lease of another gateway counts as
 * expired only lease_ms after the time that it states. */
static bool
is_free(const kw_worker *self, const lease_state *state)
{
    return !state->present || strcmp(state->owner, FREE_OWNER) == 0 ||
           strcmp(state->owner, self->owner) == 0 || kw_clock_wall_ms() > state->until_ms + self->lease_ms;
}

static void
decide(kw_worker *self)
{
    lease_state state;
    kw_error error;
    if (!parse_state(self->seen, &state)) {
        kw_error_set(&error, KW_CORRUPT, "row %s holds \"%s\", which is not a lease", self->row,
                     kw_show(kw_bytes_of_text(self->seen)).text);
        retry_later(self, &error);
        return;
    }
    bool mine = state.present && strcmp(state.owner, self->owner) == 0;
    if (self->held && !mine) {
        report_lost(self, state.present ? state.owner : "none");
        self->floor_ms = self->until_ms;
    }
    if (!mine && state.present)
        self->floor_ms = MAX(self->floor_ms, state.until_ms);
    if (is_free(self, &state))
        claim(self);
    else
        try_next(self);
}

/* The next timestamp of the row must be greater, and still be one that the store accepts. */
static bool
check_stamp(const kw_worker *self, kw_error *ret_error)
{
    if (kw_plausible_is_time(self->seen_stamp))
        return true;
    kw_metrics_add(KW_METRIC_store_times_rejected, 1);
    return kw_error_set(ret_error, KW_CORRUPT,
                        "row %s has the timestamp %" PRId64 ", which no clock can have", self->row,
                        self->seen_stamp);
}

static void
row_read(void *user, kw_rows *rows, const kw_error *error)
{
    kw_worker *self = user;
    kw_error damaged;
    self->busy = false;
    if (rows && !error) {
        const kw_row *row = &rows->rows[0];
        kw_bytes value = row->cells_count ? row->cells[0].value : KW_BYTES_NONE;
        size_t size = MIN(value.size, sizeof self->seen - 1);
        if (size)
            memcpy(self->seen, value.data, size);
        self->seen[size] = '\0';
        self->seen_stamp = row->cells_count ? row->cells[0].timestamp : 0;
    }
    kw_rows_free(rows);
    if (self->stopping)
        report_stopped(self);
    else if (error)
        retry_later(self, error);
    else if (check_stamp(self, &damaged))
        decide(self);
    else
        retry_later(self, &damaged);
}

/* Reads the row of the number that this worker holds or seeks. */
static void
read_lease(kw_worker *self)
{
    g_snprintf(self->row, sizeof self->row, "worker/%u/%04u", self->form.worker_bits, self->number);
    self->column =
        (kw_column){.family = kw_bytes_of_text(kw_retention_family(KW_KEEP_EVER)), .qualifier = QUALIFIER};
    self->get = (kw_get){.table = kw_bytes_of_text(self->table),
                         .row = kw_bytes_of_text(self->row),
                         .columns = &self->column,
                         .columns_count = 1,
                         .deadline = kw_deadline_in_ms(self->lease_ms)};
    self->busy = true;
    kw_store_handle_get(self->handle, &self->get, row_read, self);
}

/* --- from start to stop ---------------------------------------------------------------------------- */

static void
on_timer(void *user)
{
    kw_worker *self = user;
    if (self->stopping)
        report_stopped(self); /* the store does not answer */
    else if (!self->busy)
        read_lease(self);
}

kw_worker *
kw_worker_new(const char *table, kw_snowflake_form form, int64_t lease_ms, kw_loop *loop,
              kw_store_handle *handle)
{
    g_assert(lease_ms > 0 && form.worker_bits < 32);
    kw_worker *self = g_new0(kw_worker, 1);
    *self = (kw_worker){
        .table = g_strdup(table), .form = form, .lease_ms = lease_ms, .loop = loop, .handle = handle};
    self->timer = kw_timer_new(loop, on_timer, self);
    self->number = (uint32_t)(kw_random_u64() % numbers(self));
    g_snprintf(self->owner, sizeof self->owner, "%016" PRIx64, kw_random_u64());
    kw_mutex_init(&self->lock);
    return self;
}

void
kw_worker_start(kw_worker *self, void (*done)(void *user, const kw_error *error), void *user)
{
    g_assert(done && !self->started && !self->stopping);
    if (self->held) {
        done(user, NULL);
        return;
    }
    self->started = done;
    self->started_user = user;
    if (!self->busy)
        read_lease(self);
}

void
kw_worker_stop(kw_worker *self, void (*stopped)(void *user), void *user)
{
    g_assert(stopped && !self->stopping);
    kw_mutex_lock(&self->lock);
    bool held = self->held;
    int64_t last_ms = (self->ticks.tick + 1) * self->form.tick_ms;
    self->held = false;
    kw_error_set(&self->why_not, KW_UNAVAILABLE, "the gateway is stopping");
    kw_mutex_unlock(&self->lock);
    self->stopping = true;
    self->stopped = stopped;
    self->stopped_user = user;
    kw_timer_start_ms(self->timer, STOP_TIMEOUT_MS);
    report_started(self, &self->why_not);
    if (held)
        kw_metrics_add(KW_METRIC_worker_leases, -1);
    if (self->busy)
        return; /* the operation or the timer then calls report_stopped */
    if (!held) {
        report_stopped(self);
        return;
    }
    g_strlcpy(self->seen, self->wanted, sizeof self->seen);
    self->seen_stamp = self->write.timestamp;
    write_lease(self, FREE_OWNER, last_ms, STOP_TIMEOUT_MS);
}

void
kw_worker_free(kw_worker *self)
{
    if (!self)
        return;
    kw_timer_free(self->timer);
    kw_mutex_clear(&self->lock);
    g_free(self->table);
    g_free(self);
}
