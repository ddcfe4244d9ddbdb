/* The parts of the link, and what they share.
 *
 *   order.c      the store, the store handle, and which way an operation goes
 *   wait.c       waiting for a time to pass, the store's or ours
 *   rows.c       rows that hash tables hold by their names
 *   control.c    names and values of control cells
 *   read.c       gets and runs: control cells out, what is gone hidden, what is too new waited for
 *   puts.c       order: store: puts under way, for which removals of their row wait
 *   removal.c    order: store: one row's removal
 *   compared.c   order: store: puts of counters, conditional writes
 *   sums.c       increments of one row that wait leave as one
 *   stamp.c      order: stamp: writes of any number of records
 */
#pragma once

#include "base/fine_timer.h"
#include "store/class.h"
#include "store/order/order.h"

#include <glib.h>
#include <stdatomic.h>

#define KW_NS_PER_MS INT64_C(1000000)

/* A record that is written more than once a millisecond gets stamps ahead of the clock; so far, and then its
 * writes are BUSY. */
#define KW_ORDER_AHEAD_MS 20

/* Callers give any timestamps: those of the next centuries are all the same. */
static inline int64_t
kw_order_ns(int64_t ms)
{
    return MIN(ms, INT64_C(8000000000000)) * KW_NS_PER_MS;
}

/* Writes that find that others changed the record meanwhile begin again so often. */
#define KW_ORDER_TRIES_MAX 50

/* Rows by hash: two that share a slot cost a millisecond now and then. */
#define KW_ORDER_SLOTS 4096

typedef struct kw_order_store {
    kw_store base;
    kw_store *inner;
    kw_order_settings settings;
    _Atomic bool stamps;                      /* tables with order: stamp are served */
    _Atomic int64_t least_ms[KW_ORDER_SLOTS]; /* the next write of a row is stamped no earlier */
} kw_order_store;

typedef struct kw_order_handle {
    kw_store_handle base;
    kw_store_handle *inner;
    const kw_order_settings *settings;
    kw_fine_timers *timers;
    GQueue waits;     /* of kw_wait */
    GHashTable *rows; /* puts.c: rows with puts under way */
    uint64_t started; /* puts and removals that waited, ever */
    GHashTable *sums; /* sums.c: rows with increments under way or waiting */
    /* read.c: the filter of the last read that had a prepared one, and what was sent for it */
    kw_prepared *filter, *filter_sent;
    bool filter_keeps;
    size_t runs; /* open ones keep this memory */
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

/* A run is closed: frees the store handle when it was the last and the store handle is closed. */
void kw_order_handle_settle(kw_order_handle *handle);

/* --- wait.c -------------------------------------------------------------------------------------- */

typedef enum kw_wait_end {
    KW_WAIT_OVER,     /* what was waited for is so */
    KW_WAIT_GOING,    /* not yet: done will be called */
    KW_WAIT_DEADLINE, /* the deadline passed */
    KW_WAIT_UNKNOWN,  /* the store's clock was not known for long */
    KW_WAIT_CLOSED    /* the store handle closes */
} kw_wait_end;

/* Member of an operation's struct. Zeroed by its owner at first. */
typedef struct kw_wait {
    /* its owner's */
    uint64_t until_ns;     /* our clock must have reached this; 0: nothing */
    int64_t until_time_ns; /* the store's clock must surely have reached this; INT64_MIN: nothing */
    bool known;            /* the store's clock must be known well enough to act on */
    kw_deadline deadline;
    void (*done)(void *user, kw_wait_end end); /* not GOING */
    void *user;
    /* wait.c's */
    kw_order_handle *handle; /* NULL: none is going */
    kw_fine_timer timer;
    GList link;
    kw_span span;        /* KW_WAIT_OVER, and `known` was asked: the store's time */
    uint64_t unknown_ns; /* since when the clock is not known; 0: it is */
} kw_wait;

/* Waits until all that is asked is so. Anything but GOING: it is over, and done is not called. */
kw_wait_end kw_wait_start(kw_order_handle *handle, kw_wait *wait);
/* The same, but when it is over, done is called at once. */
void kw_wait_then(kw_order_handle *handle, kw_wait *wait);
/* kw_wait_then for a random part of two milliseconds: others are at the record, too. */
void kw_wait_for_others(kw_order_handle *handle, kw_wait *wait, kw_deadline deadline,
                        void (*done)(void *user, kw_wait_end end), void *user);
/* It does not end any more; fine when none is going. */
void kw_wait_cancel(kw_wait *wait);
/* Every wait of the store handle ends with CLOSED. */
void kw_waits_close(kw_order_handle *handle);
/* Why a wait ended; doing: "the record was removed". maybe: something may have been applied. */
void kw_wait_error(const kw_order_handle *handle, kw_wait_end end, const char *doing, bool maybe,
                   kw_error *ret_error);

/* The store's time, if it is known as well as the settings want it. Any thread. */
bool kw_order_time(kw_order_store *store, kw_span *ret_span);
/* Why not; for /readyz and UNAVAILABLE. */
bool kw_order_time_is_known(kw_order_store *store, kw_error *ret_error);

/* --- rows.c -------------------------------------------------------------------------------------- */

/* First member of what a hash table holds by it. */
typedef struct kw_row_name {
    kw_bytes table, row;
} kw_row_name;

GHashTable *kw_row_names_new(void);
/* NULL: it is not there. */
void *kw_row_names_find(GHashTable *rows, kw_bytes table, kw_bytes row);
/* Adds one of `size` zeroed bytes and its name; the memory counts as the store's. */
void *kw_row_names_add(GHashTable *rows, size_t size, kw_bytes table, kw_bytes row);
/* `size` as it was added with. */
void kw_row_names_remove(GHashTable *rows, void *held, size_t size);

/* --- control.c ----------------------------------------------------------------------------------- */

#define KW_CONTROL_PREFIX KW_BYTES_LITERAL("\0kw:")
/* Changed by every increment, conditional write and put of counters. */
#define KW_CONTROL_GENERATION KW_BYTES_LITERAL("\0kw:g")
/* The record was removed; the value is the timestamp up to which. */
#define KW_CONTROL_GONE KW_BYTES_LITERAL("\0kw:r")

static inline bool
kw_is_control(const kw_ordering *ordering, const kw_cell *cell)
{
    return kw_bytes_starts_with(cell->qualifier, KW_CONTROL_PREFIX) &&
           kw_bytes_equal(cell->family, ordering->family);
}

/* The qualifier of the gone cell of a column, or of a whole family. */
kw_bytes kw_control_gone_column(const kw_column *column, kw_arena *arena);
/* A gone cell, or kw:g: 8 bytes. */
kw_cell kw_control_cell(const kw_ordering *ordering, kw_bytes qualifier, uint64_t value, int64_t timestamp,
                        kw_arena *arena);
/* The newest cell of this column; NULL: none. The row's cells are in HBase's order. */
const kw_cell *kw_order_find(const kw_row *row, kw_bytes family, kw_bytes qualifier);
/* The row's cell in this column of control; NULL: none. */
const kw_cell *kw_control_find(const kw_ordering *ordering, const kw_row *row, kw_bytes qualifier);
/* Up to which timestamp the cell was removed; -1: it was not. Leaves nothing in the arena. */
int64_t kw_control_gone_until(const kw_ordering *ordering, const kw_row *row, const kw_cell *cell,
                              kw_arena *arena);
/* A check that kw:g is as it was read in this row (which may have none). */
kw_check kw_control_unchanged(const kw_ordering *ordering, const kw_row *row, kw_arena *arena);
/* The columns of a write, and those of control that have to do with them. */
const kw_column *kw_control_columns(const kw_ordering *ordering, const kw_column *columns, size_t count,
                                    kw_arena *arena, size_t *ret_count);

/* --- operations by file -------------------------------------------------------------------------- */

void kw_order_get(kw_store_handle *handle, const kw_get *get, kw_get_done done, void *user);
void kw_order_get_many(kw_store_handle *handle, const kw_get *const *gets, size_t count, kw_get_done done,
                       void *user);
kw_range_scan *kw_order_open_range_scan(kw_store_handle *handle, const kw_range_scan_spec *spec);
void kw_order_range_scan_fetch(kw_range_scan *run, uint32_t max_rows, size_t max_bytes, bool more_hint,
                               kw_deadline deadline, kw_get_done done, void *user);
void kw_order_range_scan_close(kw_range_scan *run);

typedef struct kw_order_row kw_order_row;

/* Member of a removal's struct. */
typedef struct kw_order_turn {
    void (*begin)(void *user); /* its owner's */
    void *user;
    uint64_t number;
    size_t left; /* puts that were started before it */
    GList link;
} kw_order_turn;

void kw_order_put(kw_order_handle *handle, const kw_write *write, kw_write_done done, void *user);
/* True: begin is called when the puts of the row that were started before have ended. False: there are none.
 */
bool kw_order_wait_for_puts(kw_order_handle *handle, const kw_write *removal, kw_order_turn *turn);

void kw_order_remove(kw_order_handle *handle, const kw_write *write, kw_write_done done, void *user);
void kw_order_put_counters(kw_order_handle *handle, const kw_write *write, kw_write_done done, void *user);
void kw_order_write_if(kw_store_handle *handle, const kw_write *write, const kw_check *check,
                       kw_write_if_done done, void *user);
void kw_order_increment(kw_store_handle *handle, const kw_increment *increment, kw_increment_done done,
                        void *user);
void kw_order_forget_filter(kw_order_handle *handle);
/* Increments that wait fail with CLOSED. */
void kw_order_sums_close(kw_order_handle *handle);
void kw_order_stamp(kw_order_handle *handle, const kw_write *const *writes, size_t count, kw_written *results,
                    void (*done)(void *user), void *user);
