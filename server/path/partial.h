/* Partial puts: puts that give some fields of the tuple of a hint path. What they write depends on what the
 * record has, so the store reads it, and derives the write (kw_store_handle_write_derived). So does a put
 * that gives a field of a unique path, even if it gives all of them: another record can have the same tuple.
 * Any other put can be derived, too.
 *
 *   the touched fields, as read --> condition? --> record after the put --> its hints
 *                                                          '-----------> cells of all touched fields
 *
 * server/hint has the rules; this file applies them to the tables of a policy.
 */
#pragma once

#include "path/hints.h"

/* The derivation of a put of the record, in the call's arena. row: the key of its row in the primary path.
 * check: a condition; NULL: none. The touched fields that the record gives must be among the cells of the
 * kw_write. */
const kw_derivation *kw_partial_derivation(kw_call *call, const kw_table *table, const kw_record *record,
                                           kw_bytes row, const kw_check *check, kw_durability durability);

/* A put, and the form of its write: kind and cells. */
typedef struct kw_partial_put {
    const kw_record *record;
    kw_write form;
} kw_partial_put;

/* Executes each put by itself, at most KW_PARTIAL_PUTS_MAX at the same time; those of one record in their
 * order. `results` is the caller's array, parallel to the puts. done can be called before this returns. */
#define KW_PARTIAL_PUTS_MAX 32
void kw_partial_puts_write(kw_call *call, const kw_table *table, const kw_partial_put *puts, size_t count,
                           kw_durability durability, kw_written *results, void (*done)(void *user),
                           void *user);
