/* One row as HBase keeps it, in the models of a change: two fields, delete markers and control cells.
 *
 * A write is known by its rank: its stamp, and how many acknowledged writes of the same millisecond it
 * follows. A cell has the rank of its write as value, so that equal stamps can have different values. HBase
 * compares only stamps; of two cells with the same stamp, the one that arrives last is visible. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define CELLS 2
#define A 0
#define B 1
#define BIT(number) ((uint8_t)(1u << (number)))

typedef uint8_t rank; /* 0: nothing was written */

#define RANK(stamp, number) ((rank)((stamp) << 2 | (number)))
#define STAMP_OF(rank) ((uint8_t)((rank) >> 2))
#define NUMBER_OF(rank) ((rank)&3u)

/* What a delete marker hides is not kept: it never becomes visible again. The timestamp of a gone cell is the
 * stamp of its removal plus 1. */
typedef struct row {
    rank cells[CELLS];
    rank row_gone, a_gone;
    rank writer;       /* kw:w: the write */
    uint8_t writer_at; /* its timestamp */
    uint8_t row_marker, a_marker;
    uint8_t touched; /* the timestamp of the trace: a cell that puts with timestamps of their callers leave */
} row;

typedef struct row_rules {
    bool control; /* the write leaves kw:w, and a removal a gone cell */
    bool no_gone;
    bool no_writer;
    bool gone_too_low; /* control cells of a removal have its own stamp instead of the next one */
} row_rules;

void row_put(row *to, uint8_t fields, rank write, row_rules rules);
/* Removes the record, or field A alone. */
void row_remove(row *from, bool whole, rank write, row_rules rules);
/* Writes the cells, gone cells and kw:w that a read of another row has returned. */
void row_apply(row *to, const row *cells, row_rules rules);
/* The row without gone cells of removals with this stamp or higher ones. */
row row_older(const row *of, uint8_t stamp);
/* Removes gone cells that were read earlier, and what only they hide. */
void row_sweep(row *of, const row *read, bool with_marker);
/* Drops the delete markers; `control`: also the control cells. */
void row_purge(row *of, bool control);

/* What a read of the row returns: the row without markers. */
row row_read(const row *from);
/* The same, of cells with this timestamp and later ones. */
row row_read_since(const row *from, uint8_t since);
/* The same, of cells with lower timestamps. */
row row_read_below(const row *from, uint8_t until);
bool row_is_empty(const row *of);
/* Leaves a trace. */
void row_touch(row *of, uint8_t at);
/* The newest of each cell; of equal stamps that of `authority`. */
row row_merge(const row *authority, const row *other);
/* What must be written to `to` so that it has the cells of `merged`; `ties`: including cells with the same
 * stamp and another value. False: nothing. Without kw:w. */
bool row_missing(const row *merged, const row *to, bool ties, row *ret_missing);

/* The write that a read of this field shows: that of its value or of its removal. */
rank row_rank(const row *of, unsigned field);
bool row_has(const row *of, unsigned field);
/* The newest timestamp among the cells and gone cells. */
uint8_t row_newest(const row *of);
