/* The fixture of tests of a change: a table in the embedded store whose path gets the placement of another
 * table as its old one. */
#pragma once

#include "support/fault_store.h"
#include "unit/verb/desk.h"

typedef struct placed_fixture {
    desk *desk;
    kw_fault_plan plan;
    char *folder;
    kw_table *table;
    kw_path *path;
    kw_placement placements[2]; /* the new one, then the old one, which is scanned */
} placed_fixture;

void placed_fixture_open(placed_fixture *self);
void placed_fixture_close(placed_fixture *self);

/* Gives the path of table `now` the placement of table `then` too. Puts and removals write both. */
void placed_fixture_place(placed_fixture *self, const char *now, const char *then);

/* Puts a record; it must succeed. timestamp: 0 for the present time. */
void placed_fixture_put(placed_fixture *self, const char *table, const char *record, int64_t timestamp);
