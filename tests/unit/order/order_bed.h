/* store/order over the rows of the simulated HBase, with one store handle. The tests read from top to bottom:
 * they start an operation, change the clock or the fate of calls, and wait for the answer. */
#pragma once

#include "contract/sync.h"
#include "store/order/order.h"
#include "support/simulated_store.h"

#include <glib.h>

#define SKEW_MS 20
#define LATE_MS 5000

typedef struct order_bed {
    kw_store *rows; /* the simulated store */
    kw_sync sync;   /* of store/order */
} order_bed;

/* Tables "old" and "new". */
order_bed order_bed_new(void);
void order_bed_free(order_bed *bed);

/* An operation that was started. */
typedef struct order_answer {
    bool done;
    kw_written written[8];
    kw_rows *rows;
    kw_error error;
} order_answer;

void order_on_write(void *user, kw_outcome outcome, const kw_error *error);
void order_on_many(void *user);
void order_on_rows(void *user, kw_rows *rows, const kw_error *error);

/* Runs the loop until the answer is there. */
void order_await(order_bed *bed, order_answer *answer);
/* Runs the loop, so that an operation continues if it can. A wait for a time of the store's clock that is N
 * ms away checks the clock after N ms: run at least as long. order_run: 4 ms. */
void order_run(order_bed *bed);
void order_run_ms(order_bed *bed, unsigned ms);

/* A put of cells of family f, "a=1 b=2". Lives as long as the arena. */
kw_write order_put(kw_arena *arena, const kw_ordering *ordering, const char *row, const char *cells);
/* A removal of the row, or of columns of family f: "a b". */
kw_write order_removal(kw_arena *arena, const kw_ordering *ordering, const char *row, const char *columns);

/* Writes cells in the form of order_row to a table; a gone cell with its delete marker. */
void order_write_row(order_bed *bed, const char *table, const char *key, const char *cells);

/* The cells of a row as kw_simulated_row prints them; asserts that they are equal. */
void order_assert_row(order_bed *bed, const char *table, const char *row, const char *cells);
/* A row in HBase's order from its text, "f:a=1@10 f:kw:r=5@6", as kw_simulated_row prints it. */
kw_row order_row(kw_arena *arena, const char *cells);
char *order_print(const kw_row *row);
