/* Types and functions shared by the files of this module; no other module includes this file.
 *
 *   kw_gather 1 -> groups (the first is being read, those after it were opened early)
 *   kw_group  1 -> streams, one per range, and the tree that merges them
 *   kw_stream 1 -> one range scan, the batch being read and the batch read ahead
 *
 *   gather.c   takes rows in order until the page is full, and completes it
 *   page.c     the rows of the page, and its position
 *   flow.c     what to fetch next, and the memory that fetches hold
 *   forecast.c which streams run out next
 *   group.c    a merge group and its tree
 *   stream.c   one range scan
 *   points.c   single rows instead of range scans
 */
#pragma once

#include "gather/flow.h"
#include "gather/gather.h"
#include "gather/page.h"
#include "gather/tree.h"

typedef struct kw_group kw_group;
typedef struct kw_points kw_points;

/* Merging accesses only the first 64 bytes: with hundreds of streams, larger working sets do not fit into the
 * processor's L1 cache. */
typedef struct kw_stream {
    kw_row *head; /* next row of batch; NULL: none buffered */
    kw_row *last; /* last row of batch */
    kw_row *mark; /* when this row becomes the head, consider reading ahead */
    uint64_t taken;
    uint64_t next_rank; /* rank of the row after head, if has_next */
    uint32_t index;     /* index of the range in the plan */
    uint32_t skip;      /* skip of the range */
    bool kept;          /* true if a row of batch is in the page */
    bool fetching;
    bool waiting; /* waits in a queue until fewer fetches are in flight */
    bool has_next;
    bool end;       /* no rows follow the buffered ones */
    kw_rows *batch; /* being read; NULL once it has been read to its end */
    kw_rows *ahead; /* the batch after it */
    kw_group *group;
    kw_gather *gather;
    kw_bytes start;
    kw_bytes stop;
    kw_range_scan *range_scan; /* NULL before the first fetch and after the end */
    size_t reserved;           /* bytes reserved for the fetch in flight */
    kw_error *error;           /* the fetch failed; reported when its rows are needed */
    struct kw_stream *next_waiting;
} kw_stream;

struct kw_group {
    kw_group *next;
    kw_gather *gather;
    size_t number;
    kw_arena *arena; /* owns the bounds */
    kw_stream *streams;
    uint32_t count;
    uint32_t unready; /* streams whose first row or end is not known yet */
    kw_stream *failed;
    uint32_t live;       /* streams that are not at their end */
    uint64_t taken_live; /* rows taken from live streams */
    uint64_t taken;
    kw_tree *tree;
    bool built;
    bool moved; /* the winner's head was taken: replay when its next row is known */
};

struct kw_gather {
    kw_store_handle *handle;
    kw_gather_spec spec;
    kw_flow flow;
    kw_page page;

    bool page_over;     /* the next row belongs to the next page */
    uint64_t scanned;   /* rows that the store examined, not reported yet */
    uint32_t accepting; /* range of the row passed to accept */
    bool ended;
    kw_error *error;       /* error of the current page; the gather can then only be freed */
    kw_error *later_error; /* error of the next page, because the current one had rows */

    /* the call that waits for the page */
    bool busy;     /* a page is in progress */
    bool starting; /* the call that started the page has not returned: complete later */
    bool posted;
    bool freed; /* freed while work is posted */
    kw_task task;
    kw_work work;   /* continues a page with many rows */
    uint32_t slice; /* rows taken since the loop last ran other work */
    kw_gather_done done;
    void *user;
    kw_deadline deadline;
    kw_timer *timer; /* for the deadline; NULL until a page waits for the store */
    bool timed;      /* timer was started for the current page */

    /* where the rows come from: groups of streams, or points */
    kw_group *groups;
    size_t groups_open;
    size_t next_group;
    uint64_t finished_groups;
    uint64_t finished_rows;
    uint64_t finished_before; /* finished_groups when this page began */
    kw_stream *waiting_first; /* streams that wait until fewer fetches are in flight */
    kw_stream *waiting_last;
    kw_points *points; /* used instead of groups */
};

typedef enum kw_step {
    KW_STEP_ROW,
    KW_STEP_WAIT,  /* a fetch is in flight */
    KW_STEP_YIELD, /* other work of the loop runs first */
    KW_STEP_END,
    KW_STEP_FAILED
} kw_step;

/* The ordering of the plan's rows. Hints have none. */
static inline const kw_ordering *
kw_gather_ordering(const kw_plan *plan)
{
    return plan->query && plan->path->content == KW_CONTENT_RECORDS ? &plan->query->table->ordering : NULL;
}

/* --- gather.c ------------------------------------------------------------------------------------ */

typedef enum kw_taken {
    KW_TAKE_FAILED, /* see gather->error */
    KW_TAKE_DONE,
    KW_TAKE_LATER /* the page is full; the row stays the next one */
} kw_taken;

/* Offers the next row in order. ret_kept: true if the page now contains it. */
kw_taken kw_gather_take(kw_gather *gather, uint32_t range, kw_row *row, bool *ret_kept);
/* Counts the rows of a fetch, for the estimates. */
void kw_gather_count(kw_gather *gather, const kw_rows *rows);
/* Continues after a fetch arrived. Can complete the page, whose completion can free the gather. */
void kw_gather_continue(kw_gather *gather);
/* Like kw_gather_continue: at once after few rows, otherwise in a later loop iteration. */
void kw_gather_continue_after(kw_gather *gather, size_t rows);
/* Fails the current page. */
void kw_gather_fail(kw_gather *gather, const kw_error *error);

/* --- stream.c ------------------------------------------------------------------------------------ */

/* True if the stream's head is known, or if the stream is known to have no more rows. */
static inline bool
kw_stream_ready(const kw_stream *stream)
{
    return stream->head || stream->end;
}

/* Fetches what the page needs from the stream: at once, or when fewer fetches are in flight. */
void kw_stream_need(kw_stream *stream);
/* Fetches ahead if it is worthwhile and within the budget. */
void kw_stream_ahead(kw_stream *stream);
/* Called when the merge waits for the stream `dry`, which is fetching. Starts fetches for the other streams
 * that will run out of rows before the page is full, so that the merge does not wait for them one after the
 * other. */
void kw_streams_top_up(kw_stream *dry);
/* Advances the stream after its head was taken. */
void kw_stream_step(kw_stream *stream);
/* Starts queued fetches up to the limit in flight. */
void kw_streams_start_waiting(kw_gather *gather);
/* Removes the streams of a group that is being closed from the queue. */
void kw_streams_stop_waiting(const kw_group *group);
void kw_stream_clear(kw_stream *stream);

/* --- group.c ------------------------------------------------------------------------------------- */

/* Opens the plan's next group, after the open ones. */
void kw_group_open(kw_gather *gather);
/* Closes the first group. */
void kw_group_finish(kw_gather *gather);
void kw_group_free(kw_group *group);
/* Called when a fetch of a stream has ended. was_ready: kw_stream_ready before that. */
void kw_group_arrived(kw_stream *stream, bool was_ready);
/* ret_stream: the stream whose head is the next row, or the stream that failed. */
kw_step kw_group_next(kw_group *group, kw_stream **ret_stream);

/* --- points.c ------------------------------------------------------------------------------------ */

kw_points *kw_points_new(kw_gather *gather);
/* Abandons the reads; memory is freed when a read in flight has returned. NULL is ignored. */
void kw_points_free(kw_points *points);
/* Offers rows to the page until it is full. */
kw_step kw_points_next(kw_points *points);
bool kw_points_known_end(const kw_points *points);
/* True if the row of this range of the plan was requested, or is before the position. */
bool kw_points_were_requested(const kw_points *points, uint32_t range);
