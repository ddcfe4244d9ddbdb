/* Sends the heartbeats from which store/known_time.h computes the store's time.
 *
 * A heartbeat is a put of one cell without a timestamp and without the write-ahead log. The region server
 * assigns the timestamp; one get afterwards reads the timestamps of several heartbeats. An increment would
 * return its timestamp in its reply, but takes twice as long as a put. The timestamp can be from any moment
 * of the call, so the shorter call, the put, determines the time more exactly.
 *
 * All cells are in one row of the table keyway_clock, which is created if it does not exist. They are
 * therefore in one region, and a gateway that starts can read the timestamps of the other gateways. The
 * cells of processes that have ended expire. Each put writes a unique value. If the get returns another
 * value, another put has left a greater timestamp in the cell, for example because the clock was set back.
 *
 *   put   put   put   get                    put   put   put   get     two bursts while the clock is in use
 *   |-----|           |--- at most 100 ms ---|
 *    1 ms
 *
 * How often a burst is sent depends on the last use of the clock:
 *
 *   in use: used within KW_HBASE_CLOCK_IN_USE_NS   ten times a second
 *   used within the last minute                    five times a second
 *   idle                                           every ten seconds
 *
 * A burst has three heartbeats if the clock is used often and puts are fast, because only then does an
 * inexact clock delay callers noticeably. Otherwise it has one. A pause of the callers changes nothing:
 * bursts have three heartbeats until a minute after the last frequent use.
 *
 * Unless the clock is idle, heartbeats are timed to arrive just before or just after the store's clock
 * reaches the next millisecond (store/aim.h). The interval that contains the store's time then shrinks to
 * little more than the duration of a put.
 *
 * One of the process's store handles sends the heartbeats, on its loop. A heartbeat without a reply does not
 * delay the others.
 */
#pragma once

#include "store/hbase/handle.h"

/* The clock is in use until this time after its last use. */
#define KW_HBASE_CLOCK_IN_USE_NS UINT64_C(5000000000)

/* Allocates the sender of a store handle; it sends nothing yet. */
kw_hbase_heartbeats *kw_hbase_heartbeats_new(kw_hbase_handle *handle);

/* Sends a burst now, and schedules the next ones. `self` is a kw_hbase_heartbeats. */
void kw_hbase_heartbeats_start_burst(void *self);

/* Stops sending. The memory is freed together with the store handle, because calls in flight still use it. */
void kw_hbase_heartbeats_stop(kw_hbase_heartbeats *self);
bool kw_hbase_heartbeats_stopped(const kw_hbase_heartbeats *self);

/* The loop of the sender's store handle. Any thread. */
kw_loop *kw_hbase_heartbeats_loop(const kw_hbase_heartbeats *self);

/* --- clock.c --------------------------------------------------------------------------------------- */

/* On the loop of the sender. They ignore, count and log timestamps that are not trusted (store/plausible.h).
 */

typedef enum kw_hbase_trust {
    KW_HBASE_TRUSTED,
    KW_HBASE_NOT_TRUSTED,
    KW_HBASE_NEVER_TRUSTED, /* nor was an equal or later timestamp ever */
} kw_hbase_trust;

/* A heartbeat that was answered. If its timestamp was never trusted, this process cannot have acted on it,
 * and its cell can be deleted. Other cells must stay, even if the store's clock was set back: gateways that
 * start learn from them that rows can have later timestamps. */
kw_hbase_trust kw_hbase_clock_add_heartbeat(kw_hbase_clock *clock, const kw_heartbeat *heartbeat);

/* The cells of all gateways. The clock can have been set back after other gateways acted on a later time, so
 * the time counts as known only after the newest timestamp of all gateways has been read. If it is not
 * trusted, they must be read again. */
void kw_hbase_clock_add_peers(kw_hbase_clock *clock, const kw_rows *rows);
