/* See stamps.h. The mark is stored under the key 00000000 's', in 8 bytes, followed by ahead_ms in 8 bytes.
 */
#include "store/embedded/stamps.h"

#include "base/log.h"
#include "base/units.h"
#include "store/embedded/embedded_internal.h"

#define MARK_LEAD_MS 100
#define MARK_BYTES 16
#define OLD_MARK_BYTES 8 /* without ahead_ms */
#define LAG_WARN_MS 1000

static const uint8_t mark_key[] = {0, 0, 0, 0, 's'};

bool
kw_stamps_is_mark(kw_bytes key)
{
    return kw_bytes_equal(key, kw_bytes_of(mark_key, sizeof mark_key));
}

bool
kw_stamps_load(kw_stamps *stamps, rocksdb_t *db, kw_error *ret_error)
{
    char *value;
    size_t size;
    if (!kw_engine_get(db, kw_bytes_of(mark_key, sizeof mark_key), "reading the newest timestamp", &value,
                       &size, ret_error))
        return false;
    bool good = !value || size == MARK_BYTES || size == OLD_MARK_BYTES;
    stamps->mark_ms = value && good ? (int64_t)kw_be64_load((const uint8_t *)value) : 0;
    stamps->ahead_ms = size == MARK_BYTES ? (int64_t)kw_be64_load((const uint8_t *)value + 8) : 0;
    rocksdb_free(value);
    if (!good)
        return kw_error_set(ret_error, KW_CORRUPT,
                            "the stored limit of the store's timestamps has %zu bytes instead of %d", size,
                            MARK_BYTES);
    stamps->stored_ahead_ms = stamps->ahead_ms;
    stamps->newest_ms = stamps->mark_ms;
    stamps->now_ms = stamps->mark_ms + 1;
    return true;
}

/* The store's time while the clock shows less than the newest timestamp: it advances at half speed. */
static int64_t
half_speed_ms(kw_stamps *stamps, int64_t clock_ms)
{
    uint64_t mono_ns = kw_clock_mono_ns();
    if (stamps->lag_since_ns == 0) {
        stamps->lag_since_ns = mono_ns;
        stamps->lag_from_ms = stamps->now_ms;
        if (stamps->now_ms - clock_ms > LAG_WARN_MS)
            kw_log(KW_LOG_WARN, "embedded",
                   "the machine's clock is earlier than the store's newest timestamp",
                   KW_LOG_FACT("difference_ms", stamps->now_ms - clock_ms));
    }
    return stamps->lag_from_ms + (int64_t)((mono_ns - stamps->lag_since_ns) / KW_NS_PER_MS / 2);
}

void
kw_stamps_begin(kw_stamps *stamps)
{
    int64_t clock_ms = kw_clock_wall_ms();
    if (clock_ms >= stamps->now_ms) {
        stamps->now_ms = clock_ms;
        stamps->lag_since_ns = 0;
    } else {
        stamps->now_ms = MAX(stamps->now_ms, half_speed_ms(stamps, clock_ms));
    }
}

int64_t
kw_stamps_allocate(kw_stamps *stamps, const kw_bytes *rows, size_t count, bool removal)
{
    int64_t stamp_ms = stamps->now_ms;
    g_assert(count > 0);
    for (size_t i = 0; i < count; i++)
        stamp_ms = MAX(stamp_ms, stamps->floor_ms[kw_bytes_hash(rows[i]) % KW_STAMPS_ROW_HASHES]);
    for (size_t i = 0; i < count; i++)
        stamps->floor_ms[kw_bytes_hash(rows[i]) % KW_STAMPS_ROW_HASHES] = stamp_ms + removal;
    stamps->newest_ms = MAX(stamps->newest_ms, stamp_ms);
    return stamp_ms;
}

void
kw_stamps_note_put(kw_stamps *stamps, int64_t timestamp)
{
    /* After a restart with an earlier clock, a removal must not get a lower timestamp than this put. */
    stamps->newest_ms = MAX(stamps->newest_ms, MIN(timestamp, stamps->now_ms));
    if (timestamp > stamps->now_ms)
        stamps->ahead_ms = MAX(stamps->ahead_ms, timestamp);
}

bool
kw_stamps_can_be_exceeded(const kw_stamps *stamps, int64_t timestamp)
{
    return stamps->ahead_ms > timestamp;
}

void
kw_stamps_copied(kw_stamps *stamps, kw_bytes from, kw_bytes to)
{
    int64_t floor_ms = stamps->floor_ms[kw_bytes_hash(from) % KW_STAMPS_ROW_HASHES];
    int64_t *to_ms = &stamps->floor_ms[kw_bytes_hash(to) % KW_STAMPS_ROW_HASHES];
    *to_ms = MAX(*to_ms, floor_ms);
}

void
kw_stamps_add_mark_if_needed(kw_stamps *stamps, kw_entries *batch)
{
    stamps->batch_mark_ms = 0;
    bool is_higher = stamps->newest_ms > stamps->mark_ms || stamps->ahead_ms > stamps->stored_ahead_ms;
    if (is_higher && batch->bytes > 0)
        kw_stamps_add_mark(stamps, batch);
}

void
kw_stamps_add_mark(kw_stamps *stamps, kw_entries *batch)
{
    stamps->batch_mark_ms = stamps->newest_ms + MARK_LEAD_MS;
    g_assert(stamps->batch_mark_ms >= stamps->mark_ms); /* the mark never decreases */
    uint8_t value[MARK_BYTES];
    kw_be64_store(value, (uint64_t)stamps->batch_mark_ms);
    kw_be64_store(value + 8, (uint64_t)stamps->ahead_ms);
    kw_entries_put(batch, kw_bytes_of(mark_key, sizeof mark_key), kw_bytes_of(value, sizeof value));
}

void
kw_stamps_written(kw_stamps *stamps, bool written)
{
    if (!written || !stamps->batch_mark_ms)
        return;
    stamps->mark_ms = stamps->batch_mark_ms;
    stamps->stored_ahead_ms = stamps->ahead_ms;
}
