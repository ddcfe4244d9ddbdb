/* Control cells: cells that Keyway adds to the rows of records. store/order writes them, and hides them from
 * reads with an ordering; reads without an ordering return them. Pure.
 *
 * A gone cell is written by a removal, and by a derived write for each column that it finds absent. It has a
 * timestamp one millisecond after that of the removal, and a read sees it, so it hides removed cells even if
 * the delete marker is lost. Those of a derived write have its own timestamp.
 *
 * kw:w is written by every write of a table with `order: stamp` and `atomics: true`. No two writes write the
 * same value, so an atomic operation can write on condition that no write came after its read. The kw:w of a
 * removal has the timestamp of its gone cells, and expires.
 *
 * With `order: store`, kw:w is written in tables with hint paths, for derived writes only: the other atomic
 * operations compare kw:g, or are executed by the store. The store sets its timestamp. That of a removal
 * expires, too.
 */
#pragma once

#include "base/arena.h"
#include "store/store.h"

#define KW_CONTROL_PREFIX KW_BYTES_LITERAL("\0kw:")
/* The generation, with order: store. Every increment, conditional write, derived write and put of counters
 * changes it; so does a removal that leaves kw:w. */
#define KW_CONTROL_GENERATION KW_BYTES_LITERAL("\0kw:g")
/* Written by a removal of the record; the value is the timestamp up to which cells are removed ("gone
 * cell"). */
#define KW_CONTROL_GONE KW_BYTES_LITERAL("\0kw:r")
/* Written by a put or a conditional write whose caller has chosen its timestamp, while a key rule changes
 * ("trace"). The trace has the present time as its timestamp. A pass that reads only recent cells finds the
 * row by it. */
#define KW_CONTROL_TRACE KW_BYTES_LITERAL("\0kw:t")

/* The last write: its timestamp (0: the store has set it) and an id, 16 bytes. */
#define KW_CONTROL_WRITER KW_BYTES_LITERAL("\0kw:w")
#define KW_CONTROL_WRITER_BYTES 16

/* True if every write writes kw:w with the stamp, and all atomic operations compare it. */
static inline bool
kw_stamps_writer(const kw_ordering *ordering)
{
    return ordering->regime.order == KW_WRITE_ORDER_STAMP && ordering->regime.atomics != KW_ATOMICS_OFF;
}

/* True if every write writes kw:w, except increments with order: store. */
static inline bool
kw_writes_writer(const kw_ordering *ordering)
{
    return kw_stamps_writer(ordering) || ordering->regime.marks;
}

/* True if every increment, conditional write and put of counters writes kw:g. Writes of RAISED leave no
 * control cells. */
static inline bool
kw_writes_generation(const kw_ordering *ordering)
{
    return ordering->regime.order == KW_WRITE_ORDER_STORE && ordering->regime.atomics != KW_ATOMICS_OFF;
}

/* True if gateways set timestamps, so that rows can have gone cells, and reads wait for the clock. */
static inline bool
kw_uses_gone_cells(const kw_ordering *ordering)
{
    return ordering->regime.order != KW_WRITE_ORDER_STORE;
}

static inline bool
kw_leaves_traces(const kw_ordering *ordering)
{
    return ordering->regime.order == KW_WRITE_ORDER_STAMP && ordering->regime.keeps_gone;
}

static inline bool
kw_is_control(const kw_ordering *ordering, const kw_cell *cell)
{
    bool can_be =
        cell->qualifier.size > 0 && cell->qualifier.data[0] == '\0'; /* the fast check of most cells */
    return can_be && kw_bytes_starts_with(cell->qualifier, KW_CONTROL_PREFIX) &&
           kw_bytes_equal(cell->family, ordering->family);
}

/* The qualifier of the gone cell of a column or of a whole family. */
kw_bytes kw_control_gone_column(const kw_column *column, kw_arena *arena);
/* A gone cell or kw:g, with a value of 8 bytes. */
kw_cell kw_control_cell(const kw_ordering *ordering, kw_bytes qualifier, uint64_t value, int64_t timestamp,
                        kw_arena *arena);
/* kw:w of a write with this stamp and id; the cell's own timestamp is `timestamp`. */
kw_cell kw_control_writer(const kw_ordering *ordering, int64_t stamp_ms, uint64_t id, int64_t timestamp,
                          kw_arena *arena);
/* The newest cell of this column; NULL: none. The row's cells must be in HBase's order. */
const kw_cell *kw_row_find_cell(const kw_row *row, kw_bytes family, kw_bytes qualifier);
/* True if the row has a control cell. */
bool kw_control_is_in(const kw_ordering *ordering, const kw_row *row);
/* The control cell with this qualifier; NULL: none. */
const kw_cell *kw_control_find(const kw_ordering *ordering, const kw_row *row, kw_bytes qualifier);
/* The timestamp up to which the gone cell with this qualifier removes; -1: there is none. */
int64_t kw_control_removed_until(const kw_ordering *ordering, const kw_row *row, kw_bytes qualifier);
/* False if the cell is not a gone cell. ret_marker: what it removes; borrows the cell's bytes. */
bool kw_control_marker(const kw_ordering *ordering, const kw_cell *cell, kw_marker *ret_marker);
/* True for gone cells and traces, which sweeps remove. False for kw:w, although a sweep can remove the kw:w
 * of a removal together with its gone cell (store/order/sweep.c). */
bool kw_control_is_swept(const kw_ordering *ordering, const kw_cell *cell);
/* The timestamp up to which the cell's column was removed; -1: never. The arena is used as scratch memory
 * only. */
int64_t kw_control_gone_until(const kw_ordering *ordering, const kw_row *row, const kw_cell *cell,
                              kw_arena *arena);
/* True if this kw:w is that of a removal: its timestamp is one millisecond after the stamp. */
bool kw_control_is_of_removal(const kw_cell *writer);
/* A check that the control cell with this qualifier still has the value (or absence) read in this row. */
kw_check kw_control_unchanged(const kw_ordering *ordering, kw_bytes qualifier, const kw_row *row,
                              kw_arena *arena);
/* The columns of a write and the control columns that belong to them. */
const kw_column *kw_control_columns(const kw_ordering *ordering, const kw_column *columns, size_t count,
                                    kw_arena *arena, size_t *ret_count);
