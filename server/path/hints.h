/* The hints of records: rows in the store tables of hint paths. server/hint/README.md has the terms and the
 * rules; this file applies them to the tables of a policy.
 *
 *   record --> kw_hints_put_of --> full, partial or outside
 *          '-> kw_hints_of ------> row keys of its hints --> kw_hints_write, before the record's row
 */
#pragma once

#include "hint/clean.h"
#include "hint/tuple.h"
#include "path/call.h"

/* A hint of a record. */
typedef struct kw_hint {
    const kw_placement *placement;
    kw_bytes key;
} kw_hint;

/* The times that decide when a hint is stale, and when it can be deleted. */
kw_hint_limits kw_hints_limits(const kw_call *call, const kw_table *table);

/* What a put of the record means for the table's hint paths. The table has some. */
kw_hint_put kw_hints_put_of(const kw_table *table, const kw_record *record);

/* The names of the fields that a partial put lacks, for example "created, seller". In the arena. */
const char *kw_hints_missing(const kw_table *table, const kw_record *record, kw_arena *arena);

/* False, with REFUSED or INVALID, if the put cannot be executed by writing the hints and then the row: it is
 * partial, or it has a timestamp although the order of writes is `store`. */
bool kw_hints_check_put(const kw_table *table, const kw_record *record, bool has_timestamp, kw_arena *arena,
                        kw_error *ret_error);

/* The hints of the record in all placements that puts write; of a path only if its tuple is complete. At most
 * one for each placement of the table. In the arena. INVALID if a key rule cannot encode the record. */
bool kw_hints_of(const kw_table *table, const kw_record *record, kw_arena *arena, kw_hint **ret_hints,
                 size_t *ret_count, kw_error *ret_error);

/* The write of a hint, without a timestamp. The hint must outlive it. */
kw_write kw_hint_write(const kw_call *call, const kw_table *table, const kw_hint *hint);

/* Writes the hints of records. errors[i].code is KW_OK if all hints of record i are in the store; otherwise
 * the error says why its row must not be written: the write of the record is FAILED. A row must be sent
 * before row_deadline, which is not later than the call's. done can be called before this returns. */
typedef void (*kw_hints_written)(void *user, const kw_error *errors, kw_deadline row_deadline);
void kw_hints_write(kw_call *call, const kw_table *table, const kw_record *const *records, size_t count,
                    kw_hints_written done, void *user);
