/* A model of `order: store`: the store assigns the timestamps. There is one row of one region server. Callers
 * put, remove, increment and compare; replies can be lost, and calls can arrive late. A test chooses the
 * safeguards and the possible failures; the search reports whether any history is wrong. */
#pragma once

#include "explore.h"

/* Operations of the callers; bits. Fields: a and b are plain, c is a counter. */
enum {
    STORE_PUT = 1,                  /* a */
    STORE_PUT_BOTH = 2,             /* a and b */
    STORE_GET = 4,                  /* all */
    STORE_REMOVE = 8,               /* the record */
    STORE_REMOVE_FIELD = 16,        /* a */
    STORE_PUT_IF = 32,              /* a, if a is as the caller believes */
    STORE_INCREMENT = 64,           /* c */
    STORE_PUT_COUNTER = 128,        /* c */
    STORE_PUT_WITH_COUNTER = 256,   /* a and c */
    STORE_PUT_IF_COUNTER = 512,     /* a, if c is as the caller believes */
    STORE_PUT_IF_TO_COUNTER = 1024, /* c, if a is as the caller believes */
};

/* The property that is checked. */
typedef enum store_promise {
    STORE_EACH_FIELD, /* each field is linearizable */
    STORE_RECORD,     /* the record is, except that a removal can reach one field before another */
    STORE_WHOLE       /* the record is, and removals are one step */
} store_promise;

typedef struct store_model {
    unsigned kinds;
    int calls;   /* in total */
    int callers; /* at the same time, at most 3 */
    int ticks;   /* of the server's clock, in milliseconds */
    store_promise promise;
    int unknown; /* calls whose reply is lost; they can be applied late */

    /* safeguards to remove */
    bool delete_unstamped;  /* the store assigns timestamps to deletes, too */
    bool no_wait;           /* a delete is sent without a wait */
    bool no_generation;     /* no kw:g */
    bool short_removal;     /* the removal of a field uses only that field's timestamp, not that of kw:g */
    bool repeat_from_get;   /* a delete with unknown outcome starts again with a get */
    bool plain_counter_put; /* puts of counters are plain puts */
    bool value_counter_put; /* puts of counters compare the counter's value, not kw:g */
    bool eager_counter_put; /* a put of counters and other fields does not wait for the clock */
    bool native_counter_if; /* the store itself compares a counter, and stamps above it */
    bool believe_refusals;  /* a comparison rejected late counts as not met */
    /* what HBase itself can do */
    bool repeats_compare; /* its client sends a comparison again, which is rejected, and returns that */
    bool repeats_put;     /* its client sends a put or a successful comparison again */
    bool moves_back;      /* the region moves to a server whose clock is 1 ms slow */
} store_model;

explored store_model_explore(const store_model *model, uint64_t states_max);
