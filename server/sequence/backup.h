/* Backups of the counters in the store: read in pages, and raised when a backup is imported. Worker numbers
 * are leased again, so they are not saved. On one loop. */
#pragma once

#include "base/cell.h"
#include "config/model.h"
#include "store/store.h"

/* The counters live until done returns. last: the next page begins after this counter; empty: there is none.
 * A table that does not exist has no counters. */
typedef void (*kw_counters_read)(void *user, const kw_saved_cell *counters, size_t count, kw_bytes last,
                                 const kw_error *error);
void kw_counters_read_page(kw_store_handle *handle, kw_bytes table, kw_bytes after, kw_deadline deadline,
                           kw_counters_read done, void *user);

/* Raises each counter to at least its value, and creates the table if it does not exist. Can be repeated.
 * INVALID: a counter whose name, family or value is not one of a counter. REFUSED: the table is not one of
 * sequences. Everything must live until done, which can be called before this returns. */
void kw_counters_raise(kw_store_handle *handle, const kw_model_sequences *settings,
                       const kw_saved_cell *counters, size_t count, kw_deadline deadline,
                       void (*done)(void *user, const kw_error *error), void *user);
