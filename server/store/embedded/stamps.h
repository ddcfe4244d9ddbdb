/* The timestamps that this store gives: to each write in the order in which the committer collects them, so a
 * later write of a row is never below an earlier one.
 *
 * Nothing that the store ever stamped is above its mark, which it keeps with the rows and raises ahead of
 * use. After a start it goes on above the mark, even if the machine's clock was set back meanwhile; then the
 * timestamps advance at half the speed of time until the clock has caught up. The committer's thread only.
 */
#pragma once

#include "store/embedded/engine.h"
#include "store/store.h"

/* Rows by hash: two that share a slot cost a millisecond now and then. */
#define KW_STAMPS_SLOTS 4096

typedef struct kw_entries kw_entries;

typedef struct kw_stamps {
    int64_t now_ms;                    /* of this round */
    int64_t from_ms;                   /* while the clock is behind: now_ms as it was ... */
    uint64_t since_ns;                 /* ... at this monotonic time; 0: the clock is not behind */
    int64_t most_ms;                   /* given to a write */
    int64_t mark_ms;                   /* on disk */
    int64_t raised_ms;                 /* in the batch that is being written; 0: it raises nothing */
    int64_t least_ms[KW_STAMPS_SLOTS]; /* the next write of a row gets no less */
} kw_stamps;

/* Reads the mark. */
bool kw_stamps_load(kw_stamps *stamps, rocksdb_t *db, kw_error *ret_error);

/* True if the mark is stored under this key. */
bool kw_stamps_is_mark(kw_bytes key);

/* A round begins. */
void kw_stamps_begin(kw_stamps *stamps);

/* The timestamp of writes that are one record's: the same for all of them, above every removal of these rows
 * before, and not below any other write of them. */
int64_t kw_stamps_give(kw_stamps *stamps, const kw_bytes *rows, size_t count, bool removal);

/* Adds the raised mark to the batch if its writes need that. */
void kw_stamps_raise(kw_stamps *stamps, kw_entries *batch);
/* Adds a mark that is right whatever is on disk: a write by which the store learns whether its disk works. */
void kw_stamps_mark(kw_stamps *stamps, kw_entries *batch);
/* The batch is on disk, or it is not. */
void kw_stamps_raised(kw_stamps *stamps, bool written);
