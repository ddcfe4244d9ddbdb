/* Atomic operations on a record: increment and put_if. They read the record's row in the placement that get
 * operations read, and write all its rows: in one commit in a store with one writer, otherwise that row first
 * (kw_store_handle_write_if). */
#pragma once

#include "path/rows.h"

/* INVALID if the record's rows are unknown because a bucket is chosen at each put and there is no
 * association. */
bool kw_atomic_check_path(const kw_table *table, const char *verb, kw_error *ret_error);

/* True if the policy allows atomic operations, although they can be held at present. */
bool kw_atomic_is_allowed(const kw_call *call, const kw_table *table);

/* INVALID if the table does not allow atomic operations. UNAVAILABLE with retry_after_ms if atomic operations
 * are held (KW_ATOMICS_HELD): on a shared store, at some places of a change (change/ladder.h). */
bool kw_atomic_check_order(const kw_call *call, const kw_table *table, const char *verb, kw_error *ret_error);

/* UNAVAILABLE with retry_after_ms: the table holds atomic operations. */
void kw_atomic_set_held_error(const char *table, const char *verb, kw_error *ret_error);

/* All rows of a record, in the form of the store's operations. */
typedef struct kw_atomic_rows {
    kw_row_target first;         /* in the placement that get operations read */
    const kw_row_target *others; /* in the other placements that put operations write */
    size_t others_count;
} kw_atomic_rows;

/* The rows that kw_rows_find has found for KW_ROWS_PUT. */
kw_atomic_rows kw_atomic_rows_of(kw_call *call, const kw_table *table, const kw_record_rows *found);

/* Finds the record's rows, in the call's arena. An association that does not contain the record gets an
 * entry. stamp: the caller's timestamp, otherwise KW_TIMESTAMP_NONE. done can be called before this returns;
 * an error (then rows is NULL) means that nothing was applied. */
typedef void (*kw_atomic_rows_found)(void *user, const kw_atomic_rows *rows, const kw_error *error);
void kw_atomic_find_rows(kw_call *call, const kw_table *table, const kw_record *record, int64_t stamp,
                         kw_atomic_rows_found done, void *user);
