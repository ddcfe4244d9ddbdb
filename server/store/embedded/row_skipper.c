#include "store/embedded/row_skipper.h"

#include "store/embedded/engine.h"
#include "store/embedded/key.h"

/* The number of entries to skip one by one before a seek, which costs more than a few steps. */
#define STEPS_BEFORE_SEEK 16

void
kw_row_skipper_init(kw_row_skipper *skipper, const kw_patterns *patterns, uint32_t table, bool reversed)
{
    *skipper = (kw_row_skipper){.patterns = *patterns, .table = table, .reversed = reversed};
}

void
kw_row_skipper_clear(kw_row_skipper *skipper)
{
    kw_buffer_clear(&skipper->key);
    kw_buffer_clear(&skipper->target);
}

static kw_bytes
current_row(const rocksdb_iterator_t *at)
{
    kw_bytes key = kw_engine_key(at);
    return kw_bytes_of(key.data, kw_key_row_size(key));
}

bool
kw_row_skipper_matches(kw_row_skipper *skipper, const rocksdb_iterator_t *at)
{
    if (skipper->patterns.count == 0)
        return true;
    kw_bytes escaped = kw_key_row_escaped(current_row(at));
    skipper->key.size = 0;
    kw_key_unescape(kw_buffer_reserve(&skipper->key, escaped.size), escaped);
    skipper->key.size = kw_key_unescaped_size(escaped);
    return kw_patterns_match(&skipper->patterns, kw_buffer_bytes(&skipper->key));
}

/* Changes `bytes` to the least key after all keys with this prefix. False if there is none. */
static bool
prefix_successor(kw_buffer *bytes)
{
    while (bytes->size && bytes->data[bytes->size - 1] == 0xff)
        bytes->size--;
    if (bytes->size)
        bytes->data[bytes->size - 1]++;
    return bytes->size > 0;
}

/* Sets `key` to the RocksDB key where the search for the next row continues: rows that can match start at or
 * after it, or, if the scan is reversed, end before it. False if no further row can match. */
static bool
find_target(kw_row_skipper *skipper, const rocksdb_iterator_t *at)
{
    if (!kw_patterns_next(&skipper->patterns, kw_buffer_bytes(&skipper->key), skipper->reversed,
                          &skipper->target))
        return false;
    skipper->key.size = 0;
    if (!skipper->reversed || prefix_successor(&skipper->target))
        kw_key_row(&skipper->key, skipper->table, kw_buffer_bytes(&skipper->target));
    else /* the target has no successor: continue before the current row */
        kw_buffer_append(&skipper->key, current_row(at));
    return true;
}

static bool
has_reached_target(const kw_row_skipper *skipper, const rocksdb_iterator_t *at)
{
    int order = kw_bytes_compare(kw_engine_key(at), kw_buffer_bytes(&skipper->key));
    return skipper->reversed ? order < 0 : order >= 0;
}

bool
kw_row_skipper_skip(kw_row_skipper *skipper, rocksdb_iterator_t *at)
{
    g_assert(skipper->patterns.count > 0);
    if (!find_target(skipper, at))
        return false;
    for (int i = 0; i < STEPS_BEFORE_SEEK && rocksdb_iter_valid(at); i++) {
        if (has_reached_target(skipper, at))
            return true;
        (skipper->reversed ? rocksdb_iter_prev : rocksdb_iter_next)(at);
    }
    if (!rocksdb_iter_valid(at) || has_reached_target(skipper, at))
        return true;
    if (skipper->reversed)
        rocksdb_iter_seek_for_prev(at, (const char *)skipper->key.data, skipper->key.size);
    else
        rocksdb_iter_seek(at, (const char *)skipper->key.data, skipper->key.size);
    return true;
}
