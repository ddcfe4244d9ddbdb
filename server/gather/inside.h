/* What the files of this room share; nobody outside includes it.
 *
 *   kw_gather 1 -> groups (the one being read first, behind it those that were opened early)
 *   kw_group  1 -> streams, one per range, and the tree that merges them
 *   kw_stream 1 -> one run, the batch being read and the batch read ahead
 *
 * Rows of a page are slices of batches: a batch that gave rows to the page is kept ("retired") until the next
 * page, any other is freed as soon as it was read.
 */
#pragma once

#include "gather/demand.h"
#include "gather/gather.h"
#include "gather/tree.h"

typedef struct kw_group kw_group;
typedef struct kw_points kw_points;

/* Merging touches the first 64 bytes only: with hundreds of streams the processor's nearest cache is soon
 * full. */
typedef struct kw_stream {
    kw_row *head; /* next row of batch; NULL: none buffered */
    kw_row *last; /* of batch */
    kw_row *mark; /* when this row becomes the head, think about reading ahead */
    uint64_t taken;
    uint64_t next_rank; /* of the row behind head, when has_next */
    uint32_t index;     /* of the range in the plan */
    uint32_t skip;      /* of the range */
    bool kept;          /* a row of batch is in the page */
    bool fetching;
    bool waiting; /* for a place among the fetches in flight */
    bool has_next;
    bool end;       /* nothing comes behind what is buffered */
    kw_rows *batch; /* being read; never one that was read to its end */
    kw_rows *ahead; /* behind batch */
    kw_group *group;
    kw_gather *gather;
    kw_bytes start;
    kw_bytes stop;
    kw_run *run;     /* NULL before the first fetch and after the end */
    size_t reserved; /* bytes, for the fetch in flight */
    kw_error *error; /* the fetch failed; counts when its rows are needed */
    struct kw_stream *next_waiting;
} kw_stream;

struct kw_group {
    kw_group *next;
    kw_gather *gather;
    size_t number;
    kw_arena *arena; /* bounds */
    kw_stream *streams;
    uint32_t count;
    uint32_t unready; /* streams that nothing is known of yet */
    kw_stream *failed;
    uint32_t live;       /* streams that are not at their end */
    uint64_t taken_live; /* rows taken from those */
    uint64_t taken;
    kw_tree *tree;
    bool built;
    bool moved; /* the winner's head is gone: replay when its next is there */
};

struct kw_gather {
    kw_door *door;
    kw_gather_spec spec;

    bool sifts;     /* not every row that is read is returned */
    bool page_over; /* the next row belongs to the next page */
    bool busy;      /* a page is in work */
    bool starting;  /* ... and its call has not returned: complete later */
    bool posted;
    bool freed; /* while posted */
    kw_task task;
    kw_work work;   /* what is left of a page with many rows */
    uint32_t slice; /* rows that were taken since others had the loop */
    kw_gather_done done;
    void *user;
    kw_deadline deadline;
    kw_timer *timer; /* for the deadline; NULL until a page waits for the store */
    bool timed;      /* it was started for the page in work */
    uint32_t max_rows;
    size_t max_bytes;

    kw_row **rows; /* of the page */
    size_t count;
    size_t capacity;
    size_t page_bytes;
    uint64_t scanned;
    kw_rows **retired;
    size_t retired_count;
    size_t retired_capacity;
    size_t retired_bytes;
    bool ended;
    kw_error *error; /* of the page in work; the gather is of no use then */

    kw_position position; /* behind the last row that was looked at, but for these: */
    const kw_row *last;   /* looked at since position was set; NULL: none */
    uint32_t last_range;
    uint32_t accepting; /* range of the row that accept looks at */
    kw_buffer suffix;   /* holds position.suffix when its row is gone */

    uint64_t returned; /* rows of all pages */
    uint64_t seen;     /* rows handed to accept, or taken */
    uint64_t read_rows;
    uint64_t read_bytes;
    uint64_t read_memory;

    kw_group *groups;
    size_t groups_open;
    size_t next_group;
    uint64_t finished_groups;
    uint64_t finished_rows;
    uint64_t finished_before; /* this page */
    size_t held_bytes;        /* buffered and reserved */
    size_t in_flight;
    kw_stream *waiting_first;
    kw_stream *waiting_last;

    kw_points *points; /* instead of groups */
};

typedef enum kw_step {
    KW_STEP_ROW,
    KW_STEP_WAIT,  /* a fetch is on its way */
    KW_STEP_YIELD, /* others have the loop for a while */
    KW_STEP_END,
    KW_STEP_FAILED
} kw_step;

/* --- gather.c ------------------------------------------------------------------------------------ */

/* Rows that the page in work still wants the store to give. */
uint64_t kw_gather_wanted(const kw_gather *gather);
size_t kw_gather_bytes_left(const kw_gather *gather);
typedef enum kw_taken {
    KW_TAKE_FAILED, /* gather->error says why */
    KW_TAKE_DONE,
    KW_TAKE_LATER /* the page is over, and the row is still the next one */
} kw_taken;

/* Offers the next row in order. ret_kept: it is in the page now. */
kw_taken kw_gather_take(kw_gather *gather, uint32_t range, kw_row *row, bool *ret_kept);
/* Is memory short, so that nothing is read ahead and pages end early? */
bool kw_gather_is_short(const kw_gather *gather);
/* A batch that was read to its end. */
void kw_gather_retire(kw_gather *gather, kw_rows *batch, bool kept);
/* What a fetch brought, for the estimates. */
void kw_gather_count(kw_gather *gather, const kw_rows *rows);
/* Goes on after something arrived; may complete the page and so end the gather's life. */
void kw_gather_go_on(kw_gather *gather);
/* The same, at once when few rows arrived, else when the loop comes to it. */
void kw_gather_go_on_with(kw_gather *gather, size_t rows);
/* Fails the page in work. */
void kw_gather_fail(kw_gather *gather, const kw_error *error);

/* --- stream.c ------------------------------------------------------------------------------------ */

/* Is the head known, or that there is none? */
static inline bool
kw_stream_ready(const kw_stream *stream)
{
    return stream->head || stream->end;
}

/* Asks for what the page needs of it; at once, or when there is room among the fetches in flight. */
void kw_stream_need(kw_stream *stream);
/* Asks ahead when that is worth it and within the budget. */
void kw_stream_ahead(kw_stream *stream);
/* The merge has to wait for this one: asks the others for what they will lack for the page, in the same
 * breath. */
void kw_streams_top_up(kw_stream *dry);
/* The head was taken. */
void kw_stream_step(kw_stream *stream);
/* Starts streams that waited for room. */
void kw_streams_start_waiting(kw_gather *gather);
/* The group goes: its streams wait no more. One that was fetched for out of turn may still do so at its end.
 */
void kw_streams_stop_waiting(const kw_group *group);
void kw_stream_clear(kw_stream *stream);

/* --- group.c ------------------------------------------------------------------------------------- */

/* Opens the plan's next group, behind those that are open. */
void kw_group_open(kw_gather *gather);
/* Ends the first one. */
void kw_group_finish(kw_gather *gather);
void kw_group_free(kw_group *group);
/* A stream of it became ready. */
void kw_group_arrived(kw_stream *stream, bool was_ready);
/* ret_stream: whose head is the next row, or what failed. */
kw_step kw_group_next(kw_group *group, kw_stream **ret_stream);

/* --- points.c ------------------------------------------------------------------------------------ */

kw_points *kw_points_new(kw_gather *gather);
/* Gives up; memory goes when a read in flight came back. NULL is fine. */
void kw_points_free(kw_points *points);
/* Offers rows to the page until it is full. */
kw_step kw_points_next(kw_points *points);
bool kw_points_known_end(const kw_points *points);
