/* A slot: the numbers of one counter that one loop holds, in two blocks: the current one and the one fetched
 * ahead. When both are used up, values wait for the block in flight. A fetch requests at least as many
 * numbers as values wait when it begins, but at most the whole range and at most AMOUNT_MAX. */
#include "sequence/sequence_internal.h"

#include "base/clock.h"
#include "base/metrics.h"

#define FETCH_TIMEOUT_MS 5000
#define AMOUNT_MAX INT64_C(1000000000)

/* How long a loop keeps the numbers of a range that wraps. While a loop is idle, other loops can allocate the
 * whole range, including the numbers that this loop holds. */
#define WRAP_KEEP_NS UINT64_C(1000000000)
#define WRAP_GROWTH 8 /* maximum growth of a fetch compared with the previous one, after idle time */

static void fetch(kw_slot *slot);

kw_slot *
kw_slot_new(kw_generator *generator, kw_bytes name, char *label, const kw_number_range *range,
            const kw_slot_period *period)
{
    kw_slot *slot = g_new0(kw_slot, 1);
    *slot = (kw_slot){.name = name,
                      .generator = generator,
                      .label = label,
                      .range = *range,
                      .step = range->block,
                      .keeping = kw_retention_of(period->per),
                      .period = *period};
    slot->last = &slot->first;
    return slot;
}

void
kw_slot_free(kw_slot *slot)
{
    g_assert(kw_slot_idle(slot));
    g_free(slot->label);
    g_free((void *)slot->name.data);
    g_free(slot);
}

static void
end_error(const kw_slot *slot, kw_error *ret_error)
{
    kw_error_set(ret_error, KW_LIMIT,
                 "%s: the numbers %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT " are used up", slot->label,
                 (gint64)slot->range.from, (gint64)((uint64_t)slot->range.from + slot->range.length - 1));
}

static uint64_t
left(const kw_slot *slot)
{
    return kw_block_left(&slot->block) + kw_block_left(&slot->ahead);
}

static void
fetch_ahead(kw_slot *slot)
{
    if (left(slot) <= slot->range.prefetch_at)
        fetch(slot);
}

static bool
is_old(uint64_t counted_ns)
{
    return kw_clock_mono_ns() - counted_ns > WRAP_KEEP_NS;
}

/* Drops numbers of a range that wraps if they are too old. They stay unused, so a loop that is often idle
 * fetches few numbers at once. */
static void
drop_old(kw_slot *slot)
{
    bool old = slot->range.wrap && left(slot) > 0 && is_old(slot->block_ns);
    if (!old)
        return;
    slot->step = 1;
    slot->block = (kw_block){0, 0};
    if (is_old(slot->ahead_ns))
        slot->ahead = (kw_block){0, 0};
}

static void
use_ahead(kw_slot *slot)
{
    drop_old(slot);
    if (kw_block_left(&slot->block) > 0)
        return;
    slot->block = slot->ahead;
    slot->block_ns = slot->ahead_ns;
    slot->ahead = (kw_block){0, 0};
}

kw_slot_has
kw_slot_next(kw_slot *slot, int64_t *ret_number, kw_error *ret_error)
{
    use_ahead(slot);
    if (kw_block_left(&slot->block) > 0) {
        *ret_number = kw_number_at(&slot->range, slot->block.next++);
        fetch_ahead(slot);
        return KW_SLOT_NUMBER;
    }
    if (!slot->used_up)
        return KW_SLOT_WAIT;
    end_error(slot, ret_error);
    return KW_SLOT_END;
}

void
kw_slot_wait(kw_slot *slot, kw_pending_value *pending)
{
    g_assert(pending->call && !kw_generator_closes(slot->generator));
    pending->next = NULL;
    *slot->last = pending;
    slot->last = &pending->next;
    slot->waiting++;
    kw_metrics_add(KW_METRIC_sequence_waits, 1);
    kw_generator_watch(slot->generator, pending->call->deadline);
    fetch(slot);
}

static kw_pending_value *
unlink_first(kw_slot *slot)
{
    kw_pending_value *pending = slot->first;
    g_assert(pending && slot->waiting > 0);
    slot->first = pending->next;
    if (!slot->first)
        slot->last = &slot->first;
    slot->waiting--;
    return pending;
}

/* A served call can continue at once and request more numbers, so the queue is read again each time. */
static void
serve(kw_slot *slot)
{
    int64_t number;
    kw_error error;
    while (slot->first) {
        switch (kw_slot_next(slot, &number, &error)) {
        case KW_SLOT_NUMBER:
            kw_pending_value_served(unlink_first(slot), number);
            break;
        case KW_SLOT_END:
            kw_pending_value_failed(unlink_first(slot), &error);
            break;
        case KW_SLOT_WAIT:
            return;
        }
    }
}

static void
fail_queue(kw_slot *slot, const kw_error *error)
{
    for (size_t left_over = slot->waiting; left_over > 0 && slot->first; left_over--)
        kw_pending_value_failed(unlink_first(slot), error);
}

kw_deadline
kw_slot_sweep(kw_slot *slot, const kw_error *why)
{
    kw_error late;
    kw_deadline next = KW_DEADLINE_NONE;
    size_t to_check = slot->waiting;
    kw_error_set(&late, KW_TIMEOUT, "%s: no number within the deadline", slot->label);
    while (to_check-- > 0 && slot->first) {
        kw_pending_value *pending = unlink_first(slot);
        if (why || kw_deadline_passed(pending->call->deadline)) {
            kw_pending_value_failed(pending, why ? why : &late);
            continue;
        }
        next = kw_deadline_earlier(next, pending->call->deadline);
        pending->next = NULL;
        *slot->last = pending;
        slot->last = &pending->next;
        slot->waiting++;
    }
    return next;
}

/* --- fetching --------------------------------------------------------------------------------------- */

typedef struct fetching {
    kw_slot *slot;
    int64_t amount;
} fetching;

static void
fetched(void *user, int64_t after, const kw_error *error)
{
    fetching what = *(fetching *)user;
    kw_slot *slot = what.slot;
    kw_block block;
    kw_error wrong;
    g_free(user);
    slot->fetching = false;
    if (!error && !kw_block_of(&slot->range, what.amount, after, &block)) {
        kw_error_set(&wrong, KW_CORRUPT,
                     "%s: its counter is at %" G_GINT64_FORMAT ", which is not a valid count", slot->label,
                     (gint64)after);
        error = &wrong;
    }
    if (error) {
        kw_error reported = *error;
        if (error != &wrong)
            kw_error_prefix(&reported, "%s: its counter", slot->label);
        fail_queue(slot, &reported);
        return;
    }
    kw_metrics_add(KW_METRIC_sequence_blocks, 1);
    slot->used_up = !slot->range.wrap && (uint64_t)after >= slot->range.length;
    bool ahead = kw_block_left(&slot->block) > 0;
    *(ahead ? &slot->ahead : &slot->block) = block;
    *(ahead ? &slot->ahead_ns : &slot->block_ns) = kw_clock_mono_ns();
    serve(slot);
    if (slot->first)
        fetch(slot);
}

static void
count(kw_slot *slot, int64_t amount, kw_deadline deadline, kw_counted done, void *user)
{
    kw_addition addition = {slot->name, amount, slot->keeping, deadline};
    kw_generator_count(slot->generator, &addition, done, user);
}

static void
fetch(kw_slot *slot)
{
    if (slot->fetching || slot->used_up || kw_block_left(&slot->ahead) > 0 ||
        kw_generator_closes(slot->generator))
        return;
    uint64_t amount = MAX(slot->step, slot->waiting);
    slot->step = MIN(slot->step * WRAP_GROWTH, slot->range.block);
    fetching *what = g_new(fetching, 1);
    *what = (fetching){slot, (int64_t)MIN(MIN(amount, slot->range.length), (uint64_t)AMOUNT_MAX)};
    slot->fetching = true;
    count(slot, what->amount, kw_deadline_in_ms(FETCH_TIMEOUT_MS), fetched, what);
}

void
kw_slot_prepare(kw_slot *slot)
{
    if (left(slot) == 0)
        fetch(slot);
}

/* --- allocating ------------------------------------------------------------------------------------- */

typedef struct allocating {
    kw_number_range range;
    char *label;
    int64_t count;
    kw_allocated done;
    void *user;
} allocating;

static void
counted(void *user, int64_t after, const kw_error *error)
{
    allocating *what = user;
    kw_block block;
    kw_error reported = error ? *error : KW_ERROR_NONE;
    if (error)
        kw_error_prefix(&reported, "%s: its counter", what->label);
    else if (!kw_block_of(&what->range, what->count, after, &block))
        kw_error_set(&reported, KW_CORRUPT,
                     "%s: its counter is at %" G_GINT64_FORMAT ", which is not a valid count", what->label,
                     (gint64)after);
    else if (kw_block_left(&block) == 0)
        end_error(&(kw_slot){.label = what->label, .range = what->range}, &reported);
    if (reported.code == KW_OK)
        what->done(what->user, kw_number_at(&what->range, block.next),
                   (int64_t)kw_number_consecutive(&what->range, block.next, kw_block_left(&block)), NULL);
    else
        what->done(what->user, 0, 0, &reported);
    g_free(what->label);
    g_free(what);
}

void
kw_slot_allocate(kw_slot *slot, int64_t numbers, kw_deadline deadline, kw_allocated done, void *user)
{
    g_assert(numbers >= 1);
    use_ahead(slot);
    uint64_t held = kw_number_consecutive(&slot->range, slot->block.next, kw_block_left(&slot->block));
    /* After the range's end the counter has no more numbers: only those held here remain. */
    uint64_t wanted = slot->used_up && held ? MIN((uint64_t)numbers, held) : (uint64_t)numbers;
    kw_error error;
    if (wanted <= held) {
        int64_t first = kw_number_at(&slot->range, slot->block.next);
        slot->block.next += wanted;
        fetch_ahead(slot);
        done(user, first, (int64_t)wanted, NULL);
        return;
    }
    if (slot->used_up || wanted > slot->range.length) {
        if (slot->used_up)
            end_error(slot, &error);
        else
            kw_error_set(&error, KW_LIMIT, "%s: there are only %" G_GUINT64_FORMAT " numbers", slot->label,
                         (guint64)slot->range.length);
        done(user, 0, 0, &error);
        return;
    }
    allocating *what = g_new(allocating, 1);
    *what = (allocating){slot->range, g_strdup(slot->label), numbers, done, user};
    count(slot, numbers, deadline, counted, what);
}
