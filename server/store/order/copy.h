/* Shared by copy.c, copy_large.c and sweep.c. */
#pragma once

#include "store/order/order_internal.h"

/* Rows are read and written in parts of about this size. A Thrift2 server with framed transport accepts
 * requests of up to 2 MiB. */
#define KW_COPY_PART_BYTES ((size_t)1024 * 1024)
/* Maximum number of rows that are read together. */
#define KW_COPY_ROWS_TOGETHER 128

/* Writes for the rows of several copies or sweeps, which are sent together. All memory is in the arena,
 * except the bytes of cells, which are those of the rows that were read. */
typedef struct kw_copy_writes {
    kw_order_handle *handle;
    kw_arena *arena;
    kw_deadline deadline;
    GPtrArray *writes; /* of kw_write */
    GArray *owners;    /* of size_t: the index of the copy or sweep to which the write belongs */
    kw_written *results;
} kw_copy_writes;

void kw_copy_writes_init(kw_copy_writes *self, kw_order_handle *handle, kw_deadline deadline);
void kw_copy_writes_clear(kw_copy_writes *self);
/* Adds one write of delete markers. */
void kw_copy_writes_add_markers(kw_copy_writes *self, const kw_row_sweep *sweep, const kw_marker *markers,
                                size_t count, size_t owner);
/* Adds what the rows of the copy lack. The rows are in HBase's order and have all their cells, or all cells
 * of some columns with the control cells that apply to them. to_row: NULL unless the copy is both ways. */
void kw_copy_writes_add_missing(kw_copy_writes *self, const kw_row_copy *copy, const kw_row *row,
                                const kw_row *to_row, size_t owner);
/* Sends the writes; done is called later, also if there are none. */
void kw_copy_writes_send(kw_copy_writes *self, void (*done)(void *user), void *user);
/* Stores the first error of each owner in results[owner], which must be OK before. */
void kw_copy_writes_note(const kw_copy_writes *self, kw_written *results);

/* Copies one row that is too large to be read as a whole. */
void kw_order_copy_large(kw_order_handle *handle, const kw_row_copy *copy, kw_deadline deadline,
                         kw_written *result, void (*done)(void *user), void *user);
