/* `order: store`: the store gives the timestamps. One row of one region server, callers that put, remove,
 * increment and compare, answers that are lost, and calls that arrive late. Which safeguards are in force,
 * and what else may happen, is chosen; the search says whether any history is wrong.
 */
#pragma once

#include "explore.h"

/* What callers may do; bits. Fields: a and b are plain, c is a counter. */
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

/* What the histories are held to. */
typedef enum store_promise {
    STORE_EACH_FIELD, /* each field by itself is linearizable */
    STORE_RECORD,     /* the record is, but that a removal may reach one field before another */
    STORE_WHOLE       /* the record is, removals in one step as well */
} store_promise;

typedef struct store_model {
    unsigned kinds;
    int calls;   /* in all */
    int callers; /* at a time, at most 3 */
    int ticks;   /* of the server's clock, in milliseconds */
    store_promise promise;
    int unknown; /* calls whose answer is lost; they may be applied late */

    /* safeguards removed */
    bool delete_unstamped;  /* the store stamps deletes as well */
    bool no_wait;           /* a delete is sent at once */
    bool no_generation;     /* no kw:g */
    bool short_removal;     /* removing a field looks at that field's timestamp only, not at kw:g's */
    bool repeat_from_get;   /* a doubtful delete begins again with a get */
    bool plain_counter_put; /* puts of counters are puts like others */
    bool value_counter_put; /* puts of counters compare the counter's value, not kw:g */
    bool eager_counter_put; /* a put of counters and other fields does not wait for the clock */
    bool native_counter_if; /* a comparison with a counter is the store's own, which stamps above the counter
                             */
    bool believe_refusals;  /* a comparison that was refused late counts as not met */
    /* what HBase itself may do */
    bool repeats_compare; /* its client sends a comparison again, which is refused, and answers that */
    bool repeats_put;     /* its client sends a put again, or a comparison that is met once more */
    bool moves_back;      /* the region moves to a server whose clock is 1 ms behind */
} store_model;

explored store_model_explore(const store_model *model, uint64_t states_most);
