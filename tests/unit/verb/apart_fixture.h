/* The fixture of tests of a change in a store with several writers: a table whose path has two placements, as
 * under version 2 and 3 (change/ladder.h). The store is store/order over a store in memory, so that puts and
 * removals have control cells. The store in memory keeps one version of each cell and no delete markers. */
#pragma once

#include "desk.h"

typedef enum apart_side { OLD = 1, NEW = 2, BOTH = 3 } apart_side;

typedef struct apart_fixture {
    desk *desk;
    kw_memory_control *control; /* NULL over another store */
    kw_table *table;
    kw_path *path;
    kw_placement placements[2]; /* the new one, then the old one, which is scanned */
    bool traces;                /* puts with a timestamp leave traces */
} apart_fixture;

/* table: "now", whose keys hold the identity, or "coarse_now", whose keys do not hold the exact time. */
void apart_fixture_open(apart_fixture *self, const char *table);
/* Over another shared store, which it takes ownership of. */
void apart_fixture_open_over(apart_fixture *self, const char *table, kw_store *inner);
void apart_fixture_close(apart_fixture *self);

/* Puts a record into one placement or both; timestamp: 0 for the present time. */
void apart_put(apart_fixture *self, apart_side sides, const char *record, int64_t timestamp);
/* Removes a record, or columns, and leaves gone cells. */
void apart_remove(apart_fixture *self, apart_side sides, const char *key, const char *columns);
/* Does nothing until the next millisecond. */
void apart_wait(void);

/* All cells of a placement, a line for each row: its cells as "d:note=x", with "@TIMESTAMP" if the
 * timestamp is less than a million. Gone cells are "gone" and "gone:COLUMN". */
char *apart_rows(apart_fixture *self, apart_side side);
