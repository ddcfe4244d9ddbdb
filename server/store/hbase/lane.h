/* Lanes: operations of one kind on one table that wait, and leave together.
 *
 *   kw_hbase_write, _get --> rider --> lane: room? --> leaves at once, alone
 *                                       \--> waits in the queue of its region
 *   a call of the lane is answered --> the fullest region's riders leave as one multi-call
 *
 * A lane has its own width (width.h), so tables, kinds and durabilities do not hold each other back. No
 * timer delays anybody: what waits, waits for a call that is at the server. Riders keep their own
 * deadlines: one whose deadline passes is answered, and the others ride on.
 *
 * A rider is the head of write.c's and get.c's operations. One loop.
 */
#pragma once

#include "store/hbase/boundaries.h"
#include "store/hbase/call.h"
#include "store/hbase/width.h"

#include "store/store.h"

/* Most rows of one call. */
#define KW_HBASE_BATCH_ROWS 128

typedef struct kw_hbase_lane kw_hbase_lane;
typedef struct kw_hbase_rider kw_hbase_rider;
typedef struct kw_hbase_coalescer kw_hbase_coalescer;
struct kw_hbase_turn;

typedef enum kw_hbase_lane_kind {
    KW_HBASE_LANE_PUT,
    KW_HBASE_LANE_PUT_ONCE, /* puts that are never sent twice */
    KW_HBASE_LANE_DELETE,
    KW_HBASE_LANE_GET
} kw_hbase_lane_kind;

typedef enum kw_hbase_rider_state {
    KW_HBASE_RIDER_FOLLOWS, /* a write of its row is before it */
    KW_HBASE_RIDER_WAITS,   /* in its lane */
    KW_HBASE_RIDER_RIDES    /* in a call */
} kw_hbase_rider_state;

/* What a kind of rider does; each is called once, ends the rider, and may start others. */
typedef struct kw_hbase_rider_class {
    /* These leave now as one call, at least one; kw_hbase_lane_answered follows when there is a lane. */
    void (*leave)(kw_hbase_lane *lane, kw_hbase_rider *const *riders, size_t count);
    /* When it will be certain whether a rider whose deadline passes is sent; 0: it is. */
    kw_deadline (*settled_at)(const kw_hbase_rider *rider);
    /* May the store have seen it, or still get to see it? */
    bool (*left)(const kw_hbase_rider *rider);
    /* Its deadline passed, or the door closes: answers the caller. One that rides must stay silent later. */
    void (*fail)(kw_hbase_rider *rider, const kw_error *error);
} kw_hbase_rider_class;

struct kw_hbase_rider {
    const kw_hbase_rider_class *class;
    kw_hbase_coalescer *coalescer;
    kw_hbase_lane *lane; /* NULL: goes alone, whatever else waits */
    kw_bytes row;
    size_t bytes; /* about, on the wire */
    kw_deadline deadline;

    /* the lane's */
    kw_hbase_rider_state state;
    uint64_t since_ns;
    size_t region;
    GList link;
    GList due_link;
    struct kw_hbase_turn *turn; /* writes */
    bool held;
    bool timed; /* in the list of deadlines */
};

kw_hbase_coalescer *kw_hbase_coalescer_new(kw_door *door, kw_loop *loop, uint32_t channels,
                                           size_t batch_bytes);
/* Everything that waits fails with `error`; nothing may be started any more. */
void kw_hbase_coalescer_close(kw_hbase_coalescer *coalescer, const kw_error *error);
/* After the pool was closed. */
void kw_hbase_coalescer_free(kw_hbase_coalescer *coalescer);

kw_hbase_lane *kw_hbase_coalescer_lane(kw_hbase_coalescer *coalescer, kw_hbase_lane_kind kind, kw_bytes table,
                                       kw_durability durability);
kw_bytes kw_hbase_lane_table(const kw_hbase_lane *lane);

/* A write of a row: waits for earlier ones, then joins its lane or leaves. */
void kw_hbase_rider_start_write(kw_hbase_rider *rider, kw_bytes table);
/* Into its lane: leaves at once when there is room. Without a lane it leaves. */
void kw_hbase_lane_join(kw_hbase_rider *rider);
/* Back to the head of its lane's queue. */
void kw_hbase_lane_return(kw_hbase_rider *rider);

/* The call that riders of the lane left in was answered (or failed, or never left). */
void kw_hbase_lane_answered(kw_hbase_lane *lane, size_t riders);
/* A write that had left is done: those behind it may come. */
void kw_hbase_rider_done_write(kw_hbase_coalescer *coalescer, struct kw_hbase_turn *turn);

/* Its deadline is watched here: who waits or rides in a call of several. */
void kw_hbase_rider_time(kw_hbase_rider *rider);
/* No more deadline of its own: it was answered, or its call watches it. */
void kw_hbase_rider_untime(kw_hbase_rider *rider);
