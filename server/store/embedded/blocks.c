#include "store/embedded/blocks.h"

#include "base/budget.h"
#include "base/clock.h"
#include "base/units.h"
#include "store/embedded/embedded_internal.h"

#define LEVELS 7
#define COUNT_EVERY_NS ((uint64_t)50 * KW_NS_PER_MS)
/* Files of level 0 that can be added between two counts. */
#define FILES_ADDED 1
/* The size of the largest entry is stored in multiples of this, so that it is written rarely. */
#define LARGEST_STEP ((int64_t)4096)
/* Parts of what limits.memory leaves to callers: for all kept iterators, and for one that is in use. */
#define KEPT_PART 4
#define USED_PART 8

static const uint8_t mark_key[] = {0, 0, 0, 0, 'l'};

bool
kw_blocks_is_mark(kw_bytes key)
{
    return kw_bytes_equal(key, kw_bytes_of(mark_key, sizeof mark_key));
}

bool
kw_blocks_load(kw_blocks *blocks, const kw_engine *engine, kw_error *ret_error)
{
    char *value;
    size_t size;
    if (!kw_engine_get(engine->db, kw_bytes_of(mark_key, sizeof mark_key),
                       "reading the size of the largest entry", &value, &size, ret_error))
        return false;
    bool good = !value || size == 8;
    blocks->engine = engine;
    blocks->stored_bytes = value && good ? (int64_t)kw_be64_load((const uint8_t *)value) : 0;
    atomic_store(&blocks->largest_bytes, blocks->stored_bytes);
    rocksdb_free(value);
    return good || kw_error_set(ret_error, KW_CORRUPT,
                                "the stored size of the largest entry has %zu bytes instead of 8", size);
}

/* --- the largest entry ------------------------------------------------------------------------------ */

void
kw_blocks_add_mark_if_needed(kw_blocks *blocks, kw_entries *batch)
{
    int64_t bytes = ((int64_t)batch->largest_bytes + LARGEST_STEP - 1) / LARGEST_STEP * LARGEST_STEP;
    blocks->batch_bytes = 0;
    if (batch->bytes == 0 || bytes <= blocks->stored_bytes)
        return;
    blocks->batch_bytes = bytes;
    if (bytes > atomic_load(&blocks->largest_bytes)) /* before an iterator can see the entry */
        atomic_store(&blocks->largest_bytes, bytes);
    uint8_t value[8];
    kw_be64_store(value, (uint64_t)bytes);
    kw_entries_put(batch, kw_bytes_of(mark_key, sizeof mark_key), kw_bytes_of(value, sizeof value));
}

void
kw_blocks_written(kw_blocks *blocks, bool written)
{
    if (written && blocks->batch_bytes)
        blocks->stored_bytes = blocks->batch_bytes;
}

/* --- upper bounds ----------------------------------------------------------------------------------- */

static int64_t
files_at_level(rocksdb_t *db, int level)
{
    char name[] = "rocksdb.num-files-at-level0";
    name[sizeof name - 2] = (char)('0' + level);
    char *text = rocksdb_property_value(db, name);
    int64_t count = text ? g_ascii_strtoll(text, NULL, 10) : 0;
    rocksdb_free(text);
    return count;
}

/* The number of blocks that an iterator holds at most. The files are counted now and then only, because
 * RocksDB counts them under its lock. */
static int64_t
files_of_iterator(kw_blocks *blocks)
{
    uint64_t now_ns = kw_clock_mono_ns(), counted_ns = atomic_load(&blocks->counted_ns);
    if ((counted_ns == 0 || now_ns - counted_ns >= COUNT_EVERY_NS) &&
        atomic_compare_exchange_strong(&blocks->counted_ns, &counted_ns, now_ns)) {
        int64_t files = files_at_level(blocks->engine->db, 0);
        for (int level = 1; level < LEVELS; level++)
            files += files_at_level(blocks->engine->db, level) > 0;
        atomic_store(&blocks->files, files);
    }
    return atomic_load(&blocks->files) + FILES_ADDED;
}

/* --- iterators -------------------------------------------------------------------------------------- */

static void
charge(kw_iterator_blocks *iterator, int64_t bytes)
{
    kw_budget_charge(KW_MEMORY_STORE, bytes - iterator->charged_bytes);
    iterator->charged_bytes = bytes;
}

kw_iterator_blocks
kw_blocks_begin(kw_blocks *blocks, bool uses_cache)
{
    int64_t block_bytes =
        (int64_t)KW_BLOCK_BYTES + atomic_load_explicit(&blocks->largest_bytes, memory_order_relaxed);
    int64_t index_bytes = uses_cache ? 0 : (int64_t)KW_INDEX_PART_BYTES;
    kw_iterator_blocks iterator = {.most_bytes = files_of_iterator(blocks) * (block_bytes + index_bytes),
                                   .uses_cache = uses_cache};
    charge(&iterator, MIN(iterator.most_bytes, kw_budget_for_callers() / USED_PART));
    return iterator;
}

static bool
reserve(kw_blocks *blocks, int64_t bytes)
{
    int64_t before = atomic_fetch_add(&blocks->kept_bytes, bytes);
    g_assert(bytes > 0 && before >= 0);
    if (bytes <= kw_budget_for_callers() / KEPT_PART - before)
        return true;
    atomic_fetch_sub(&blocks->kept_bytes, bytes);
    return false;
}

static bool
fits_into_cache(const kw_engine *engine)
{
    return (int64_t)rocksdb_cache_get_pinned_usage(engine->cache) <= engine->cache_bytes / 2;
}

bool
kw_blocks_keep(kw_blocks *blocks, kw_iterator_blocks *iterator)
{
    if (iterator->reserved)
        return true; /* since an earlier fetch: an iterator does not see later files */
    if (reserve(blocks, iterator->most_bytes)) {
        iterator->reserved = true;
        charge(iterator, iterator->most_bytes);
        return true;
    }
    if (!iterator->uses_cache || !fits_into_cache(blocks->engine))
        return false;
    charge(iterator, 0);
    return true;
}

void
kw_blocks_end(kw_blocks *blocks, kw_iterator_blocks *iterator)
{
    charge(iterator, 0);
    if (iterator->reserved) {
        int64_t before = atomic_fetch_sub(&blocks->kept_bytes, iterator->most_bytes);
        g_assert(before >= iterator->most_bytes);
    }
    *iterator = (kw_iterator_blocks){0};
}
