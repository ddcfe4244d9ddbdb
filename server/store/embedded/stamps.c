/* See stamps.h. The mark is the catalog's key 00000000 's', 8 bytes. */
#include "store/embedded/stamps.h"

#include "base/log.h"
#include "store/embedded/embedded_internal.h"

#define AHEAD_MS 100
#define BEHIND_TOLD_MS 1000
#define NS_PER_MS 1000000

static const uint8_t mark_key[] = {0, 0, 0, 0, 's'};

bool
kw_stamps_is_mark(kw_bytes key)
{
    return kw_bytes_equal(key, kw_bytes_of(mark_key, sizeof mark_key));
}

bool
kw_stamps_load(kw_stamps *stamps, rocksdb_t *db, kw_error *ret_error)
{
    char *failed = NULL;
    size_t size = 0;
    rocksdb_readoptions_t *options = rocksdb_readoptions_create();
    char *value = rocksdb_get(db, options, (const char *)mark_key, sizeof mark_key, &size, &failed);
    rocksdb_readoptions_destroy(options);
    if (failed)
        return kw_engine_failed(failed, "reading the newest timestamp", ret_error);
    bool good = !value || size == 8;
    stamps->mark_ms = value && good ? (int64_t)kw_be64_load((const uint8_t *)value) : 0;
    rocksdb_free(value);
    if (!good)
        return kw_error_set(ret_error, KW_CORRUPT, "the mark of the store's timestamps has %zu bytes", size);
    stamps->most_ms = stamps->mark_ms;
    stamps->now_ms = stamps->mark_ms + 1;
    return true;
}

/* The clock shows less than the store's timestamps. */
static int64_t
slowed(kw_stamps *stamps, int64_t clock_ms)
{
    uint64_t mono_ns = kw_clock_mono_ns();
    if (stamps->since_ns == 0) {
        stamps->since_ns = mono_ns;
        stamps->from_ms = stamps->now_ms;
        if (stamps->now_ms - clock_ms > BEHIND_TOLD_MS)
            kw_log(KW_LOG_WARN, "embedded", "the clock is behind the store's newest timestamp",
                   "behind_ms=%lld", (long long)(stamps->now_ms - clock_ms));
    }
    return stamps->from_ms + (int64_t)((mono_ns - stamps->since_ns) / NS_PER_MS / 2);
}

void
kw_stamps_begin(kw_stamps *stamps)
{
    int64_t clock_ms = kw_clock_wall_ms();
    if (clock_ms >= stamps->now_ms) {
        stamps->now_ms = clock_ms;
        stamps->since_ns = 0;
    } else {
        stamps->now_ms = MAX(stamps->now_ms, slowed(stamps, clock_ms));
    }
}

int64_t
kw_stamps_give(kw_stamps *stamps, const kw_bytes *rows, size_t count, bool removal)
{
    int64_t stamp_ms = stamps->now_ms;
    for (size_t i = 0; i < count; i++)
        stamp_ms = MAX(stamp_ms, stamps->least_ms[kw_bytes_hash(rows[i]) % KW_STAMPS_SLOTS]);
    for (size_t i = 0; i < count; i++)
        stamps->least_ms[kw_bytes_hash(rows[i]) % KW_STAMPS_SLOTS] = stamp_ms + removal;
    stamps->most_ms = MAX(stamps->most_ms, stamp_ms);
    return stamp_ms;
}

void
kw_stamps_raise(kw_stamps *stamps, kw_entries *batch)
{
    stamps->raised_ms = 0;
    if (stamps->most_ms > stamps->mark_ms && batch->bytes > 0)
        kw_stamps_mark(stamps, batch);
}

void
kw_stamps_mark(kw_stamps *stamps, kw_entries *batch)
{
    stamps->raised_ms = stamps->most_ms + AHEAD_MS;
    uint8_t value[8];
    kw_be64_store(value, (uint64_t)stamps->raised_ms);
    kw_entries_put(batch, kw_bytes_of(mark_key, sizeof mark_key), kw_bytes_of(value, sizeof value));
}

void
kw_stamps_raised(kw_stamps *stamps, bool written)
{
    if (written && stamps->raised_ms)
        stamps->mark_ms = stamps->raised_ms;
}
