/* The parts of the ordering store, and their shared functions.
 *
 *   order.c       the store, the store handle, and the choice of how a write is ordered
 *   wait.c        waits until a time of the store's clock or of ours
 *   rows.c        hash tables with rows as keys
 *   control.c     names and values of control cells
 *   read.c        gets and range scans: removes control cells, hides removed cells, waits for too new ones
 *   puts.c        order: store: puts in progress, for which removals of their row wait
 *   removal.c     order: store: the removal of a row
 *   compared.c    order: store: puts of counters, conditional writes
 *   increments.c  increments of one row that wait are sent as one
 *   stamp.c       order: stamp: writes of any number of records
 *   steps.c       sends writes, those of one record in the order of their steps
 */
#pragma once

#include "base/fine_timer.h"
#include "store/class.h"
#include "store/order/order.h"

#include <glib.h>
#include <stdatomic.h>

#define KW_NS_PER_MS INT64_C(1000000)

/* A record that is written more than once per millisecond gets stamps ahead of the clock. They can be this
 * far ahead; further writes of the record fail with BUSY. */
#define KW_ORDER_AHEAD_MS 20

/* Converts a timestamp. Callers can choose any timestamp. One that is centuries in the future is reduced, to
 * avoid an overflow. */
static inline int64_t
kw_order_ns(int64_t ms)
{
    return MIN(ms, INT64_C(8000000000000)) * KW_NS_PER_MS;
}

/* How often a write starts again because others have changed the record in the meantime. */
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
    /* read.c: the prepared filter of the last read, and the one that was sent for it */
    kw_prepared *filter, *filter_sent;
    bool filter_keeps;
    size_t range_scans; /* open ones; the handle is freed after them */
    bool closed_inner;
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

/* A range scan was closed. Frees the store handle if it is closed and has no other range scan. */
void kw_order_handle_free_if_unused(kw_order_handle *handle);

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
    kw_span span;        /* DONE with `known`: the store's time */
    uint64_t unknown_ns; /* since when the clock is unknown; 0: it is known */
} kw_wait;

/* Waits until all conditions hold. If the result is not PENDING, the wait has ended and done is not
 * called. */
kw_wait_result kw_wait_start(kw_order_handle *handle, kw_wait *wait);
/* The same, but done is always called, possibly before this function returns. */
void kw_wait_and_call(kw_order_handle *handle, kw_wait *wait);
/* Waits for a random time of up to two milliseconds before a retry, after a conflict with another writer. */
void kw_wait_and_retry(kw_order_handle *handle, kw_wait *wait, kw_deadline deadline,
                       void (*done)(void *user, kw_wait_result result), void *user);
/* Stops waiting; done is not called. Allowed if the wait is not pending. */
void kw_wait_cancel(kw_wait *wait);
/* Ends every wait of the store handle with CLOSED. */
void kw_waits_close(kw_order_handle *handle);
/* The error for a wait that ended. doing: the interrupted operation, for example "the record was removed".
 * maybe: true if the operation may have been applied. */
void kw_wait_error(const kw_order_handle *handle, kw_wait_result result, const char *doing, bool maybe,
                   kw_error *ret_error);

/* The store's time, if it is known as exactly as the settings require. Any thread. */
bool kw_order_time(kw_order_store *store, kw_span *ret_span);
/* True if kw_order_time succeeds; otherwise ret_error contains the reason, for /readyz and UNAVAILABLE
 * errors. */
bool kw_order_time_is_known(kw_order_store *store, kw_error *ret_error);

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

/* --- control.c ----------------------------------------------------------------------------------- */

#define KW_CONTROL_PREFIX KW_BYTES_LITERAL("\0kw:")
/* The generation: changed by every increment, conditional write and put of counters. */
#define KW_CONTROL_GENERATION KW_BYTES_LITERAL("\0kw:g")
/* Written by a removal of the record; the value is the timestamp up to which cells are removed ("gone
 * cell"). */
#define KW_CONTROL_GONE KW_BYTES_LITERAL("\0kw:r")

static inline bool
kw_is_control(const kw_ordering *ordering, const kw_cell *cell)
{
    return kw_bytes_starts_with(cell->qualifier, KW_CONTROL_PREFIX) &&
           kw_bytes_equal(cell->family, ordering->family);
}

/* The qualifier of the gone cell of a column or of a whole family. */
kw_bytes kw_control_gone_column(const kw_column *column, kw_arena *arena);
/* A gone cell or kw:g, with a value of 8 bytes. */
kw_cell kw_control_cell(const kw_ordering *ordering, kw_bytes qualifier, uint64_t value, int64_t timestamp,
                        kw_arena *arena);
/* The newest cell of this column; NULL: none. The row's cells must be in HBase's order. */
const kw_cell *kw_order_find(const kw_row *row, kw_bytes family, kw_bytes qualifier);
/* The control cell with this qualifier; NULL: none. */
const kw_cell *kw_control_find(const kw_ordering *ordering, const kw_row *row, kw_bytes qualifier);
/* The timestamp up to which the cell's column was removed; -1: never. The arena is used as scratch memory
 * only. */
int64_t kw_control_gone_until(const kw_ordering *ordering, const kw_row *row, const kw_cell *cell,
                              kw_arena *arena);
/* A check that kw:g still has the value (or absence) read in this row. */
kw_check kw_control_unchanged(const kw_ordering *ordering, const kw_row *row, kw_arena *arena);
/* The columns of a write and the control columns that belong to them. */
const kw_column *kw_control_columns(const kw_ordering *ordering, const kw_column *columns, size_t count,
                                    kw_arena *arena, size_t *ret_count);

/* --- operations by file -------------------------------------------------------------------------- */

void kw_order_get(kw_store_handle *handle, const kw_get *get, kw_get_done done, void *user);
void kw_order_get_many(kw_store_handle *handle, const kw_get *const *gets, size_t count, kw_get_done done,
                       void *user);
kw_range_scan *kw_order_open_range_scan(kw_store_handle *handle, const kw_range_scan_spec *spec);
void kw_order_range_scan_fetch(kw_range_scan *scan, uint32_t max_rows, size_t max_bytes, bool more_hint,
                               kw_deadline deadline, kw_get_done done, void *user);
void kw_order_range_scan_close(kw_range_scan *scan);

typedef struct kw_order_row kw_order_row;

/* Member of a removal's struct: a removal that waits for puts. */
typedef struct kw_order_waiter {
    void (*begin)(void *user); /* set by the owner */
    void *user;
    uint64_t number;
    size_t puts_left; /* puts started before it that are not done */
    GList link;
} kw_order_waiter;

void kw_order_put(kw_order_handle *handle, const kw_write *write, kw_write_done done, void *user);
/* True: begin is called when all puts of the row that were started earlier are done. False: no such put is in
 * progress. */
bool kw_order_wait_for_puts(kw_order_handle *handle, const kw_write *removal, kw_order_waiter *waiter);

void kw_order_remove(kw_order_handle *handle, const kw_write *write, kw_write_done done, void *user);
void kw_order_put_counters(kw_order_handle *handle, const kw_write *write, kw_write_done done, void *user);
void kw_order_write_if(kw_store_handle *handle, const kw_write *write, const kw_check *check,
                       kw_write_if_done done, void *user);
void kw_order_increment(kw_store_handle *handle, const kw_increment *increment, kw_increment_done done,
                        void *user);
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
void kw_order_stamp(kw_order_handle *handle, const kw_write *const *writes, size_t count, kw_written *results,
                    void (*done)(void *user), void *user);
