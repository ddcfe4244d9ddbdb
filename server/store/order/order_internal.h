/* The parts of the ordering store, and their shared functions.
 *
 *   order.c       the store, the store handle, and the choice of how a write is ordered
 *   wait.c        waits until the store's clock or the gateway's clock has reached a time
 *   rows.c        hash tables with rows as keys
 *   merge.c       the newest cells of the two rows of a record while its key rule changes
 *   read.c        gets and range scans: remove what is hidden, and wait for the clock
 *   visible.c     removes control cells and hides removed cells
 *   both.c        gets of both rows of a record while its key rule changes
 *   puts.c        order: store: puts in progress, for which removals of their row wait
 *   raised.c      puts with timestamps above those in the row, while a table enters or leaves order: stamp
 *   removal.c     order: store, and raised: the removal of a row
 *   compared.c    order: store: puts of counters, conditional writes
 *   increments.c  sends the waiting increments of one row as one increment
 *   stamp.c       order: stamp: writes of any number of records; stamps.c: reserves their stamps
 *   marks.c       order: store: writes that leave kw:w
 *   trace.c       puts with timestamps of their callers while a key rule changes
 *   cas.h         order: stamp: atomic operations; order: store: derived writes
 *   copy.c        copies of rows; large rows: copy_large.c; what they write: copy_writes.c
 *   sweep.c       removes gone cells and traces (store/control.h) from rows
 *   steps.c       sends writes, those of one record in the order of their steps
 */
#pragma once

#include "base/fine_timer.h"
#include "base/units.h"
#include "store/class.h"
#include "store/control.h"
#include "store/order/order.h"
#include "store/plausible.h"

#include <glib.h>
#include <stdatomic.h>

/* A record that is written more than once per millisecond gets stamps ahead of the clock. They can be this
 * far ahead; further writes of the record fail with BUSY. */
#define KW_ORDER_AHEAD_MS 20

/* Converts a timestamp. Callers can choose any timestamp. One that is centuries away is changed to one that
 * is less far away, to avoid an overflow. */
static inline int64_t
kw_order_ns(int64_t ms)
{
    return CLAMP(ms, -KW_PLAUSIBLE_MAX_MS, KW_PLAUSIBLE_MAX_MS) * KW_NS_PER_MS;
}

/* In tables with kw:w: the maximum time from a read to the write that depends on it. Also the maximum time
 * from the moment when a removal gets its stamp until it is sent. */
#define KW_ORDER_WINDOW_MS 30000

/* The maximum number of attempts of a write that fails because other writes have changed the record. */
#define KW_ORDER_TRIES_MAX 50

/* The number of hash slots for rows. If two rows share a slot, a write sometimes takes a millisecond
 * longer. */
#define KW_ORDER_SLOTS 4096

typedef struct kw_order_store {
    kw_store base;
    kw_store *inner;
    kw_order_settings settings;
    _Atomic bool stamps;                      /* tables with order: stamp are served */
    _Atomic int64_t least_ms[KW_ORDER_SLOTS]; /* per slot: the lowest stamp of the next write */
} kw_order_store;

typedef struct kw_order_handle {
    kw_store_handle base;
    kw_store_handle *inner;
    const kw_order_settings *settings;
    kw_fine_timers *timers;
    GQueue waits;           /* of kw_wait */
    GHashTable *rows;       /* puts.c: rows with puts in progress */
    uint64_t started;       /* the last number assigned to a put or to a waiting removal */
    GHashTable *increments; /* increments.c: rows with increments in progress or waiting */
    GHashTable *cas_rows;   /* cas_row.c: rows with atomic operations in progress or waiting */
    /* read.c: the prepared filter of the last read, and the one that was sent for it */
    kw_prepared *filter, *filter_sent;
    bool filter_keeps;
    void (*closed)(void *user);
    void *user;
} kw_order_handle;

static inline kw_order_handle *
kw_order_handle_of(kw_store_handle *handle)
{
    return (kw_order_handle *)handle;
}

static inline kw_order_store *
kw_order_store_of(const kw_order_handle *handle)
{
    return (kw_order_store *)handle->base.store;
}

/* --- wait.c -------------------------------------------------------------------------------------- */

typedef enum kw_wait_result {
    KW_WAIT_DONE,     /* all conditions hold */
    KW_WAIT_PENDING,  /* not yet: done will be called */
    KW_WAIT_DEADLINE, /* the deadline passed */
    KW_WAIT_UNKNOWN,  /* the store's clock was unknown for too long */
    KW_WAIT_CLOSED    /* the store handle closes */
} kw_wait_result;

/* Member of an operation's struct. Must be zeroed before the first use. */
typedef struct kw_wait {
    /* set by the owner */
    uint64_t until_ns;     /* our clock must have reached this; 0: no condition */
    int64_t until_time_ns; /* the store's clock must surely have reached this; INT64_MIN: no condition */
    bool known;            /* the store's clock must be known exactly enough */
    kw_deadline deadline;
    void (*done)(void *user, kw_wait_result result); /* result is not PENDING */
    void *user;
    /* used by wait.c */
    kw_order_handle *handle; /* NULL: not waiting */
    kw_fine_timer timer;
    GList link;
    kw_span span;         /* DONE with `known`: the store's time */
    uint64_t unknown_ns;  /* since when the clock is unknown; 0: it is known */
    kw_wait_result ended; /* of kw_wait_for_clock */
} kw_wait;

/* Waits until all conditions hold. done can be called before this function returns. */
void kw_wait_and_call(kw_order_handle *handle, kw_wait *wait);
/* For an operation that begins and needs the store's clock. True if it is known now; then done is not called.
 * Otherwise done is called later, never inside of this call. */
bool kw_wait_for_clock(kw_order_handle *handle, kw_wait *wait, kw_deadline deadline,
                       void (*done)(void *user, kw_wait_result result), void *user);
/* Calls `done` as soon as the store's clock can have reached stamp_ms. This time is computed from the present
 * estimate of the clock. If there is no estimate, `done` is called at once. There is no deadline. */
void kw_wait_for_estimate(kw_order_handle *handle, kw_wait *wait, int64_t stamp_ms,
                          void (*done)(void *user, kw_wait_result result), void *user);
/* Waits for a random time of up to two milliseconds before a retry, after a conflict with another writer. */
void kw_wait_and_retry(kw_order_handle *handle, kw_wait *wait, kw_deadline deadline,
                       void (*done)(void *user, kw_wait_result result), void *user);
/* Waits before a read that decides whether a write with unknown outcome was applied. check: 0 for the first
 * read; each one waits longer than the one before. */
#define KW_ORDER_CHECKS 3
void kw_wait_and_check(kw_order_handle *handle, kw_wait *wait, size_t check, kw_deadline deadline,
                       void (*done)(void *user, kw_wait_result result), void *user);
/* Stops waiting; done is not called. Does nothing if the wait is not pending. */
void kw_wait_cancel(kw_wait *wait);
/* Ends every wait of the store handle with CLOSED. */
void kw_waits_close(kw_order_handle *handle);
/* The error for a wait that ended. doing: completes "the deadline passed before", for example "the record was
 * removed". maybe: true if the operation was possibly applied. */
void kw_wait_error(const kw_order_handle *handle, kw_wait_result result, const char *doing, bool maybe,
                   kw_error *ret_error);

/* The store's time, if it is known as exactly as the settings require. Any thread. */
bool kw_order_time(kw_order_store *store, kw_span *ret_span);
/* True if kw_order_time succeeds; otherwise ret_error contains the reason, for /readyz and UNAVAILABLE
 * errors. */
bool kw_order_time_is_known(kw_order_store *store, kw_error *ret_error);

/* --- ahead.c ------------------------------------------------------------------------------------- */

/* True for a put of a table with order: stamp whose caller has given it a timestamp, unless the store's clock
 * has surely passed this timestamp. */
bool kw_order_is_ahead(kw_order_handle *handle, const kw_write *write);
/* Writes that include such puts: sends them when the clock has passed all their timestamps. A put that would
 * have to wait beyond its deadline gets REFUSED. */
void kw_order_write_ahead(kw_order_handle *handle, const kw_write *const *writes, size_t count,
                          kw_written *results, void (*done)(void *user), void *user);
/* False, with REFUSED, if the clock passes the caller's timestamp only after the deadline. earliest_ns: what
 * the clock surely shows now. */
bool kw_order_check_ahead(const kw_write *write, int64_t stamp_ms, kw_deadline deadline, int64_t earliest_ns,
                          kw_error *ret_error);

/* --- rows.c -------------------------------------------------------------------------------------- */

/* First member of the entries of the hash table. */
typedef struct kw_order_row_key {
    kw_bytes table, row;
} kw_order_row_key;

GHashTable *kw_order_row_table_new(void);
/* The entry of a row; NULL: there is none. */
void *kw_order_row_table_find(GHashTable *rows, kw_bytes table, kw_bytes row);
/* Adds an entry of `size` zeroed bytes; its memory is charged to the store. */
void *kw_order_row_table_add(GHashTable *rows, size_t size, kw_bytes table, kw_bytes row);
/* `size` must be the size passed to _add. */
void kw_order_row_table_remove(GHashTable *rows, void *held, size_t size);

/* --- merge.c ------------------------------------------------------------------------------------- */

/* Merges both rows of a record. They must be as they are stored: with control cells, in HBase's order. The
 * result has the cells of both rows, with all versions. If both rows have a cell of the same column with the
 * same timestamp, the result has the one of `authority`. The only control cells of the result are gone cells.
 * Borrows the cells. */
kw_row kw_order_merge(const kw_ordering *ordering, const kw_row *authority, const kw_row *other,
                      kw_arena *arena);
/* Builds the write that gives the row `to` all visible cells and removals of `merged`. ties: also writes a
 * cell that has the same timestamp but another value in `to`. False if nothing must be written. Sets the
 * kind, cells, markers and timestamps of *ret_write. The first cells are gone cells; each belongs to the
 * marker with the same index. Borrows the cells. */
bool kw_order_missing(const kw_ordering *ordering, const kw_row *merged, const kw_row *to, bool ties,
                      kw_arena *arena, kw_write *ret_write);

/* --- visible.c ----------------------------------------------------------------------------------- */

/* Removes control cells from the row and, unless the order is `store`, the cells that gone cells hide. */
void kw_order_hide(const kw_ordering *ordering, kw_arena *arena, kw_row *row);
/* The newest timestamp in the rows, without those that are too far ahead of `latest_ns` to be assigned by a
 * gateway; -1: none. */
int64_t kw_order_newest(const kw_order_handle *handle, const kw_row *rows, size_t count, int64_t latest_ns);

/* --- both.c -------------------------------------------------------------------------------------- */

/* Gets, some of which read a second row (kw_get.other). single: `gets` need not live until the completion. */
void kw_order_get_both(kw_order_handle *handle, const kw_get *const *gets, size_t count, bool single,
                       kw_get_done done, void *user);

/* In visible.c. True if the row has each cell of the stamped put, a newer cell of its column, or a removal
 * that hides it. Then the put counts as applied. The row must be as a read without an ordering returns it.
 * The arena is used as scratch memory only. */
bool kw_order_put_is_applied(const kw_write *put, const kw_row *row, kw_arena *arena);

/* --- stamps.c ------------------------------------------------------------------------------------ */

/* Reserves one stamp for all rows of a record: at least stamp_ms, and not lower than the last one that was
 * reserved for one of them. exclusive: no later write of them gets the same one in this process. */
int64_t kw_order_reserve(kw_order_handle *handle, const kw_bytes *rows, size_t count, int64_t stamp_ms,
                         bool exclusive, kw_arena *arena);

/* See kw_writer_ttl_ms. */
static inline int64_t
kw_order_writer_ttl_ms(const kw_order_settings *settings)
{
    G_STATIC_ASSERT(KW_ORDER_WINDOW_MS == 30000);
    return kw_writer_ttl_ms(settings->late_ms);
}

/* --- marks.c -------------------------------------------------------------------------------------- */

/* The write with kw:w, for a table with kw_regime.marks. Its cells are in the arena. Not for removals without
 * a timestamp (removal.c). */
kw_write kw_order_mark(const kw_order_handle *handle, const kw_write *write, kw_arena *arena);
/* Sends such writes with kw:w. */
void kw_order_write_marked(kw_order_handle *handle, const kw_write *const *writes, size_t count,
                           kw_written *results, void (*done)(void *user), void *user);

/* --- operations by file -------------------------------------------------------------------------- */

void kw_order_get(kw_store_handle *handle, const kw_get *get, kw_get_done done, void *user);
void kw_order_get_many(kw_store_handle *handle, const kw_get *const *gets, size_t count, kw_get_done done,
                       void *user);
kw_range_scan *kw_order_open_range_scan(kw_store_handle *handle, const kw_range_scan_spec *spec);
void kw_order_range_scan_fetch(kw_range_scan *scan, uint32_t max_rows, size_t max_bytes, bool more_hint,
                               kw_deadline deadline, kw_get_done done, void *user);
void kw_order_range_scan_close(kw_range_scan *scan);

/* A row with puts in progress. */
typedef struct kw_order_row {
    kw_order_row_key name;
    size_t puts;       /* in progress */
    GQueue removals;   /* of kw_order_waiter */
    GQueue raised;     /* raised.c: puts that are not sent yet, in their order */
    int64_t raised_ms; /* raised.c: the last timestamp that one of them got */
    bool advancing;    /* raised.c: puts are being stamped and sent */
} kw_order_row;

/* Member of a removal's struct: a removal that waits for puts. */
typedef struct kw_order_waiter {
    void (*begin)(void *user); /* set by the owner */
    void *user;
    uint64_t number;
    size_t puts_left; /* puts started before it that are not done */
    GList link;
} kw_order_waiter;

void kw_order_put(kw_order_handle *handle, const kw_write *write, kw_write_done done, void *user);
/* Marks the put as in progress, until kw_order_put_ends is called with *ret_number. */
kw_order_row *kw_order_put_begins(kw_order_handle *handle, const kw_write *write, uint64_t *ret_number);
/* Keeps the row until kw_order_put_ends is called with the returned number, as a put does. */
uint64_t kw_order_row_hold(kw_order_handle *handle, kw_order_row *row);
/* Frees the row if it has no other puts. ret_ready: initialized; gets the removals that can begin now. */
void kw_order_put_ends(kw_order_handle *handle, kw_order_row *row, uint64_t number, GQueue *ret_ready);
void kw_order_begin_removals(GQueue *ready);
/* True: begin is called when all puts of the row that were started earlier are done. False: no such put is in
 * progress. */
bool kw_order_wait_for_puts(kw_order_handle *handle, const kw_write *removal, kw_order_waiter *waiter);

void kw_order_raise(kw_order_handle *handle, const kw_write *put, kw_write_done done, void *user);
void kw_order_remove(kw_order_handle *handle, const kw_write *write, kw_write_done done, void *user);
void kw_order_put_counters(kw_order_handle *handle, const kw_write *write, kw_write_done done, void *user);
void kw_order_write_if(kw_store_handle *handle, const kw_write *write, const kw_check *check,
                       kw_write_if_done done, void *user);
void kw_order_increment(kw_store_handle *handle, const kw_increment *increment, kw_increment_done done,
                        void *user);
/* Atomic operations in tables with kw:w (kw_writes_writer). */
void kw_order_write_derived(kw_store_handle *handle, const kw_write *write, const kw_derivation *derivation,
                            kw_write_if_done done, void *user);
void kw_order_cas_write(kw_order_handle *handle, const kw_write *write, const kw_check *check,
                        kw_write_if_done done, void *user);
void kw_order_cas_increment(kw_order_handle *handle, const kw_increment *increment, kw_increment_done done,
                            void *user);
/* Fails waiting atomic operations with UNAVAILABLE. */
void kw_order_cas_close(kw_order_handle *handle);
void kw_order_copy_rows(kw_store_handle *handle, const kw_row_copy *copies, size_t count,
                        kw_deadline deadline, kw_written *results, void (*done)(void *user), void *user);
void kw_order_sweep_rows(kw_store_handle *handle, const kw_row_sweep *sweeps, size_t count,
                         kw_deadline deadline, kw_written *results, void (*done)(void *user), void *user);
/* Sends writes to the inner store in the order of their steps. `results` has one element per write. The
 * writes must live until done; everything that this allocates is in the arena. */
void kw_order_send(kw_order_handle *handle, kw_arena *arena, const kw_write *const *writes, size_t count,
                   kw_written *results, void (*done)(void *user), void *user);
/* The same with an arena of its own. */
void kw_order_write_in_steps(kw_order_handle *handle, const kw_write *const *writes, size_t count,
                             kw_written *results, void (*done)(void *user), void *user);
/* True if the writes do not all have the same step. */
bool kw_order_has_steps(const kw_write *const *writes, size_t count);
void kw_order_forget_filter(kw_order_handle *handle);
/* Fails waiting increments with UNAVAILABLE. */
void kw_order_increments_close(kw_order_handle *handle);
/* Puts with timestamps of their callers, while a key rule changes: see trace.c. */
void kw_order_trace(kw_order_handle *handle, const kw_write *const *writes, size_t count, kw_written *results,
                    void (*done)(void *user), void *user);
void kw_order_stamp(kw_order_handle *handle, const kw_write *const *writes, size_t count, kw_written *results,
                    void (*done)(void *user), void *user);
