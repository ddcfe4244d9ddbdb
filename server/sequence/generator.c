/* A loop's generator: determines which fields of a record need a value, and generates these values.
 *
 * The numbers of sequences are allocated from slots (slot.c), which are cached by the name of their
 * counter. The slot of a period, for example of a minute, can be dropped some time after its last use. When
 * the store of the counters fails, attempts.c retries. Numbers whose reply was lost stay unused; no number is
 * assigned twice. */
#include "sequence/sequence_internal.h"

#include "base/guard.h"
#include "base/metrics.h"

#include <stdio.h>
#include <string.h>

#define FLAKES 64 /* sequence numbers that a loop allocates at once from a kw_worker */

/* Snowflakes of one form that the loop has allocated in advance. */
typedef struct flakes {
    uint32_t worker;
    kw_tick_part part; /* the numbers that are not used yet */
} flakes;

struct kw_generator {
    kw_sequences *sequences;
    kw_loop *loop;
    kw_store_handle *handle;
    kw_sequence_backend *counters; /* NULL until the settings are known, like slots, prefetch and attempts */
    kw_slot_cache *slots;
    kw_period_prefetch *prefetch; /* also NULL when closing */
    kw_id_source ids;
    flakes flakes[2]; /* indexed by the setting `partitioned` */
    kw_attempts *attempts;
    kw_timer *timer;
    kw_deadline watched; /* when the timer fires */
    bool closing;
};

static const kw_error ending = {.code = KW_UNAVAILABLE, .text = "the gateway is stopping"};

/* --- waiting ------------------------------------------------------------------------------------------ */

/* Fails the values whose deadline has passed in all slots; with `why`, fails all values. A caller whose call
 * fails here can start another call, which can create a slot and drop idle ones. So all slots are marked
 * first, and none of them is freed during the sweep. */
static void
sweep(kw_generator *self, const kw_error *why)
{
    kw_deadline next = KW_DEADLINE_NONE;
    kw_slot *first = self->slots ? kw_slot_cache_first(self->slots) : NULL;
    self->watched = KW_DEADLINE_NONE;
    for (kw_slot *slot = first; slot; slot = slot->next)
        slot->swept = true;
    for (kw_slot *slot = first; slot; slot = slot->next)
        next = kw_deadline_earlier(next, kw_slot_sweep(slot, why));
    for (kw_slot *slot = first; slot; slot = slot->next)
        slot->swept = false;
    kw_generator_watch(self, next);
}

static void
on_timer(void *user)
{
    sweep(user, NULL);
}

void
kw_generator_watch(kw_generator *self, kw_deadline deadline)
{
    if (deadline >= self->watched || self->closing)
        return;
    self->watched = deadline;
    kw_timer_start_ms(self->timer, (uint64_t)kw_deadline_left_ms(deadline));
}

void
kw_generator_count(kw_generator *self, const kw_addition *addition, kw_counted done, void *user)
{
    kw_attempts_add(self->attempts, addition, done, user);
}

bool
kw_generator_closes(const kw_generator *self)
{
    return self->closing;
}

static void
fill_part_done(kw_fill_call *call)
{
    g_assert(call->waits > 0);
    if (--call->waits == 0)
        call->done(call->user);
}

void
kw_fill_call_set(kw_fill_call *call, kw_filling *filling, size_t field, kw_value value)
{
    if (!filling->generated)
        filling->generated = kw_record_new(call->table, call->arena).values;
    filling->generated[field] = filling->values[field] = value;
    kw_metrics_add(KW_METRIC_sequence_numbers, 1);
}

void
kw_pending_value_served(kw_pending_value *want, int64_t number)
{
    kw_fill_call *call = want->call;
    kw_fill_call_set(call, want->filling, want->field, (kw_value){.kind = KW_VALUE_NUMBER, .number = number});
    fill_part_done(call);
}

void
kw_pending_value_failed(kw_pending_value *want, const kw_error *error)
{
    want->filling->error = *error;
    fill_part_done(want->call);
}

/* --- values ------------------------------------------------------------------------------------------- */

static bool
allocate_ids(kw_generator *self, const kw_table *table, const kw_field *field, uint32_t want,
             flakes *ret_flakes, kw_error *ret_error)
{
    kw_worker *worker = kw_sequences_worker(self->sequences, field->model->generate.partitioned);
    g_assert(worker);
    return kw_worker_allocate(worker, want, &ret_flakes->worker, &ret_flakes->part, ret_error) ||
           kw_error_prefix(ret_error, "table %s, field %s", table->name, field->name);
}

/* Numbers allocated in advance are used only until their tick ends, so ids are in the order of time except
 * within a tick. */
static bool
next_snowflake(kw_generator *self, const kw_table *table, const kw_field *field, int64_t *ret_id,
               kw_error *ret_error)
{
    const kw_model_generate *how = &field->model->generate;
    flakes *mine = &self->flakes[how->partitioned];
    int64_t now = kw_clock_wall_ms() / kw_snowflake_form_of(how->partitioned).tick_ms;
    if ((mine->part.count == 0 || mine->part.tick < now) &&
        !allocate_ids(self, table, field, FLAKES, mine, ret_error))
        return false;
    if (!kw_snowflake_pack(how, mine->part.tick, mine->worker, mine->part.first, ret_id, ret_error))
        return kw_error_prefix(ret_error, "table %s, field %s", table->name, field->name);
    mine->part.first++;
    mine->part.count--;
    return true;
}

static kw_value
bytes_value(kw_arena *arena, const kw_field *field, const uint8_t *bytes, size_t size)
{
    if (field->type == KW_FIELD_BYTES)
        return (kw_value){.kind = KW_VALUE_BYTES, .bytes = kw_arena_copy(arena, kw_bytes_of(bytes, size))};
    bool uuid = size == KW_UUID_BYTES;
    size_t length = uuid ? KW_UUID_TEXT : 2 * size;
    char *text = kw_arena_alloc(arena, length);
    if (uuid)
        kw_uuid_print(bytes, text);
    else
        kw_hex_print(bytes, size, text);
    return (kw_value){.kind = KW_VALUE_TEXT, .bytes = kw_bytes_of(text, length)};
}

static int64_t
now_in(kw_time_unit unit)
{
    static const int64_t per_s[] = {1, 1000, 1000000, 1000000000};
    int64_t now_ms = kw_clock_wall_ms();
    return unit == KW_UNIT_S ? now_ms / 1000 : now_ms * (per_s[unit] / 1000);
}

/* Generates all kinds of values except sequences. */
static bool
generate_value(kw_fill_call *call, const kw_field *field, kw_value *ret_value, kw_error *ret_error)
{
    kw_generator *self = call->generator;
    uint8_t bytes[KW_UUID_BYTES];
    *ret_value = (kw_value){.kind = KW_VALUE_NUMBER};
    switch (field->model->generate.kind) {
    case KW_GENERATE_SNOWFLAKE:
        return next_snowflake(self, call->table, field, &ret_value->number, ret_error);
    case KW_GENERATE_NOW:
        ret_value->number = now_in(field->unit);
        return true;
    case KW_GENERATE_UUID4:
        kw_id_source_uuid4(&self->ids, bytes);
        *ret_value = bytes_value(call->arena, field, bytes, KW_UUID_BYTES);
        return true;
    case KW_GENERATE_UUID7:
        kw_id_source_uuid7(&self->ids, kw_clock_wall_ms(), bytes);
        *ret_value = bytes_value(call->arena, field, bytes, KW_UUID_BYTES);
        return true;
    case KW_GENERATE_OBJECTID:
        kw_id_source_objectid(&self->ids, kw_clock_wall_ms(), bytes);
        *ret_value = bytes_value(call->arena, field, bytes, KW_OBJECTID_BYTES);
        return true;
    case KW_GENERATE_SEQUENCE:
        break;
    }
    g_assert_not_reached();
}

/* The settings and the password for Redis are known as soon as a policy is in service. */
static void
open_counters(kw_generator *self)
{
    const kw_model_sequences *settings = kw_sequences_settings(self->sequences);
    self->counters = settings->redis ? kw_sequence_backend_open_redis(
                                           settings, kw_sequences_redis_password(self->sequences), self->loop)
                                     : kw_sequence_backend_open_store(settings, self->handle);
    self->slots = kw_slot_cache_new(self, settings);
    self->prefetch = kw_period_prefetch_new(self->loop, self->slots);
    self->attempts = kw_attempts_new(self->loop, self->counters);
}

static kw_slot *
find_slot(kw_generator *self, const kw_table *table, const kw_field *field, const kw_value *values,
          kw_error *ret_error)
{
    if (!self->counters)
        open_counters(self);
    kw_slot *slot = kw_slot_cache_find(self->slots, table, field, values, ret_error);
    if (slot && slot->period.per != KW_PERIOD_EVER && self->prefetch)
        kw_period_prefetch_used(self->prefetch, slot);
    return slot;
}

static void
request_number(kw_fill_call *call, kw_filling *filling, size_t number)
{
    kw_generator *self = call->generator;
    int64_t made = 0;
    kw_slot *slot =
        find_slot(self, call->table, &call->table->fields[number], filling->values, &filling->error);
    if (!slot)
        return;
    /* Values that already wait are served first. */
    kw_slot_has has = slot->first ? KW_SLOT_WAIT : kw_slot_next(slot, &made, &filling->error);
    if (has == KW_SLOT_NUMBER)
        kw_fill_call_set(call, filling, number, (kw_value){.kind = KW_VALUE_NUMBER, .number = made});
    if (has != KW_SLOT_WAIT)
        return;
    if (self->closing) {
        filling->error = ending;
        return;
    }
    kw_pending_value *want = KW_ARENA_NEW(call->arena, kw_pending_value);
    *want = (kw_pending_value){.call = call, .filling = filling, .field = number};
    call->waits++;
    kw_slot_wait(slot, want);
}

static void
fill_field(kw_fill_call *call, kw_filling *filling, size_t number)
{
    const kw_field *field = &call->table->fields[number];
    kw_value value;
    if (filling->values[number].kind != KW_VALUE_NONE) {
        if (field->model->generate.refuse_given)
            kw_error_set(&filling->error, KW_INVALID,
                         "table %s, field %s: the gateway generates its values; leave it out",
                         call->table->name, field->name);
    } else if (field->model->generate.kind == KW_GENERATE_SEQUENCE) {
        request_number(call, filling, number);
    } else if (generate_value(call, field, &value, &filling->error)) {
        kw_fill_call_set(call, filling, number, value);
    }
}

/* Fills sequences last, because their period can depend on a timestamp that is also generated. */
static void
fill_record(kw_fill_call *call, kw_filling *filling)
{
    const kw_table *table = call->table;
    for (int sequences = 0; sequences < 2; sequences++)
        for (size_t i = 0; i < table->generated_count && filling->error.code == KW_OK; i++) {
            size_t number = table->generated[i];
            if ((table->fields[number].model->generate.kind == KW_GENERATE_SEQUENCE) == sequences)
                fill_field(call, filling, number);
        }
}

void
kw_generator_fill(kw_generator *self, kw_arena *arena, const kw_table *table, kw_filling *fillings,
                  size_t count, kw_deadline deadline, void (*done)(void *user), void *user)
{
    g_assert(done && (fillings || count == 0));
    kw_guard_end(); /* records can wait in queues */
    kw_fill_call *call = KW_ARENA_NEW(arena, kw_fill_call);
    *call = (kw_fill_call){.generator = self,
                           .arena = arena,
                           .table = table,
                           .fillings = fillings,
                           .count = count,
                           .waits = 1,
                           .deadline = deadline,
                           .done = done,
                           .user = user};
    for (size_t i = 0; i < count; i++)
        if (fillings[i].error.code == KW_OK)
            fill_record(call, &fillings[i]);
    fill_part_done(call);
}

/* --- allocating --------------------------------------------------------------------------------------- */

static void
allocate_flakes(kw_generator *self, const kw_table *table, const kw_field *field, int64_t count,
                kw_allocated done, void *user)
{
    const kw_model_generate *how = &field->model->generate;
    kw_error error;
    flakes taken;
    int64_t first;
    uint32_t want = (uint32_t)MIN(count, INT64_C(1) << kw_snowflake_form_of(how->partitioned).sequence_bits);
    if (!allocate_ids(self, table, field, want, &taken, &error)) {
        done(user, 0, 0, &error);
    } else if (!kw_snowflake_pack(how, taken.part.tick, taken.worker, taken.part.first, &first, &error)) {
        kw_error_prefix(&error, "table %s, field %s", table->name, field->name);
        done(user, 0, 0, &error);
    } else {
        kw_metrics_add(KW_METRIC_sequence_numbers, taken.part.count);
        done(user, first, taken.part.count, NULL);
    }
}

void
kw_generator_allocate(kw_generator *self, const kw_table *table, size_t number, const kw_value *values,
                      int64_t count, kw_deadline deadline, kw_allocated done, void *user)
{
    g_assert(done && number < table->fields_count);
    kw_guard_end(); /* the call can wait in a queue */
    const kw_field *field = &table->fields[number];
    const kw_model_generate *how = &field->model->generate;
    kw_error error = KW_ERROR_NONE;
    kw_slot *slot = NULL;
    bool numbers = how->enabled && (how->kind == KW_GENERATE_SEQUENCE || how->kind == KW_GENERATE_SNOWFLAKE);
    if (!numbers)
        kw_error_set(&error, KW_INVALID, "table %s, field %s: is neither a sequence nor a snowflake",
                     table->name, field->name);
    else if (count < 1 || count > KW_ALLOCATE_MAX)
        kw_error_set(&error, KW_INVALID,
                     "table %s, field %s: %" G_GINT64_FORMAT " numbers at once; 1 to %" G_GINT64_FORMAT
                     " are allowed",
                     table->name, field->name, (gint64)count, (gint64)KW_ALLOCATE_MAX);
    else if (self->closing)
        error = ending;
    else if (how->kind == KW_GENERATE_SEQUENCE)
        slot = find_slot(self, table, field, values, &error);
    if (error.code != KW_OK)
        done(user, 0, 0, &error);
    else if (slot)
        kw_slot_allocate(slot, count, deadline, done, user);
    else
        allocate_flakes(self, table, field, count, done, user);
}

/* --- from new to free --------------------------------------------------------------------------------- */

kw_generator *
kw_generator_new(kw_sequences *sequences, kw_loop *loop, kw_store_handle *handle)
{
    kw_generator *self = g_new0(kw_generator, 1);
    self->sequences = sequences;
    self->loop = loop;
    self->handle = handle;
    self->timer = kw_timer_new(loop, on_timer, self);
    self->watched = KW_DEADLINE_NONE;
    kw_id_source_init(&self->ids);
    return self;
}

void
kw_generator_close(kw_generator *self, void (*closed)(void *user), void *user)
{
    self->closing = true;
    if (self->counters)
        kw_attempts_close(self->attempts, &ending);
    sweep(self, &ending);
    kw_timer_free(self->timer);
    self->timer = NULL;
    if (!self->counters) {
        closed(user);
        return;
    }
    kw_period_prefetch_free(self->prefetch);
    self->prefetch = NULL;
    kw_sequence_backend_close(self->counters, closed, user);
}

void
kw_generator_free(kw_generator *self)
{
    if (!self)
        return;
    if (self->counters) {
        kw_slot_cache_free(self->slots);
        kw_attempts_free(self->attempts);
        kw_sequence_backend_free(self->counters);
    }
    g_free(self);
}
