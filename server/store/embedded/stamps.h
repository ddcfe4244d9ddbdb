/* Allocates timestamps for writes that have none. The committer allocates them in the order in which it
 * collects the writes, so a later write of a row never gets a smaller timestamp than an earlier one.
 *
 * The store keeps a mark on disk that no allocated timestamp exceeds, and raises it in advance. After a
 * restart the timestamps continue above the mark, even if the machine's clock was set back. While the clock
 * shows less than the last timestamp, the timestamps advance at half the speed of time until the clock has
 * caught up. Used on the committer's thread only.
 */
#pragma once

#include "store/embedded/engine.h"
#include "store/store.h"

/* The store distinguishes rows by a hash. A removal of one row can make the next timestamp of another row
 * with the same hash a millisecond too high. */
#define KW_STAMPS_ROW_HASHES 4096

typedef struct kw_entries kw_entries;

typedef struct kw_stamps {
    int64_t now_ms;          /* the store's time at the start of the round */
    int64_t lag_from_ms;     /* now_ms when the clock was found to be earlier than it */
    uint64_t lag_since_ns;   /* monotonic time of that moment; 0: the clock is not earlier */
    int64_t newest_ms;       /* greatest allocated timestamp */
    int64_t mark_ms;         /* the mark on disk */
    int64_t batch_mark_ms;   /* the mark in the current batch; 0: the batch contains none */
    int64_t ahead_ms;        /* greatest timestamp that the caller of a put set ahead of the clock */
    int64_t stored_ahead_ms; /* the same on disk, beside the mark */
    int64_t floor_ms[KW_STAMPS_ROW_HASHES]; /* by hash of the row: the least timestamp of its next write */
} kw_stamps;

/* Reads the mark from disk. */
bool kw_stamps_load(kw_stamps *stamps, rocksdb_t *db, kw_error *ret_error);

/* Call it for each put whose caller set the timestamp. */
void kw_stamps_note_put(kw_stamps *stamps, int64_t timestamp);
/* True if the store can have cells with a later timestamp: callers have put such cells. */
bool kw_stamps_can_be_exceeded(const kw_stamps *stamps, int64_t timestamp);

/* True if the mark is stored under this key. */
bool kw_stamps_is_mark(kw_bytes key);

/* Reads the clock for a new round. */
void kw_stamps_begin(kw_stamps *stamps);

/* Allocates one timestamp for the writes to all rows of a record. It is greater than that of any earlier
 * removal of these rows, and not less than that of any other earlier write to them. */
int64_t kw_stamps_allocate(kw_stamps *stamps, const kw_bytes *rows, size_t count, bool removal);

/* The cells of one row were copied to another: the next write of the other row gets no smaller timestamp than
 * the next write of this one. */
void kw_stamps_copied(kw_stamps *stamps, kw_bytes from, kw_bytes to);

/* Adds a higher mark to the batch if one of its timestamps exceeds the mark on disk. */
void kw_stamps_add_mark_if_needed(kw_stamps *stamps, kw_entries *batch);
/* Adds a mark to the batch. This is allowed at any time, so it can be used to test whether the disk works. */
void kw_stamps_add_mark(kw_stamps *stamps, kw_entries *batch);
/* Call it after the batch was written (`written`), or after its write failed. */
void kw_stamps_written(kw_stamps *stamps, bool written);
