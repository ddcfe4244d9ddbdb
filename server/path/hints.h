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

/* The store's time (kw_store_earliest_ms); KW_HINT_NO_TIME: not known now. */
int64_t kw_hints_earliest_ms(const kw_call *call);

/* What a put of the record means for the hints that puts of the table write. There are some. */
kw_hint_put kw_hints_put_of(const kw_table *table, const kw_record *record);

/* The fields that the put gives. */
kw_hint_fields kw_hints_given(const kw_table *table, const kw_record *record);

/* True if what the put writes depends on what the store has (partial.h): it is partial, or gives a field of a
 * unique path. */
bool kw_hints_is_derived(const kw_table *table, const kw_record *record);

/* False, with REFUSED, if the put has a timestamp and cannot have one, or if it is partial and the table does
 * not allow operations that read and then write (partial.h); with UNAVAILABLE while the table holds them. */
bool kw_hints_check_put(const kw_call *call, const kw_table *table, const kw_record *record,
                        bool has_timestamp, kw_error *ret_error);

/* True if the store itself executes increments: a partial put does not notice them. */
bool kw_hints_counts_natively(const kw_call *call, const kw_table *table);

/* The fields of the tuple of a placement with hints that puts write. */
kw_hint_fields kw_hints_tuple(const kw_placement *placement);

/* The columns of the fields of a placement's tuple; in the arena. */
kw_column *kw_hints_columns(const kw_placement *placement, kw_arena *arena);

/* The newest timestamp of the tuple's cells in a row of the primary path; KW_HINT_NO_TIME: it has none. */
int64_t kw_hints_newest_ms(const kw_placement *placement, const kw_row *row);

/* True if a family of the tuple has a TTL. Then a tuple that is written again gets a new hint, too. */
bool kw_hints_can_expire(const kw_placement *placement);

/* The record with the values that a read returns after they were stored: a double can lose digits in its
 * column. Only fields of tuples; in the arena. */
kw_record kw_hints_stored(const kw_table *table, const kw_record *record, kw_arena *arena);

/* The hints of the record in all placements that puts write; of a path only if its tuple is complete. At most
 * one for each placement of the table. In the arena. INVALID if a key rule cannot encode the record. */
bool kw_hints_of(const kw_table *table, const kw_record *record, kw_arena *arena, kw_hint **ret_hints,
                 size_t *ret_count, kw_error *ret_error);

/* The hint of a record whose tuple is complete, in the arena. INVALID if the key rule cannot encode it.
 * `scratch` can be reused by the next call. */
bool kw_hint_encode(const kw_placement *placement, const kw_record *record, kw_buffer *scratch,
                    kw_arena *arena, kw_hint *ret_hint, kw_error *ret_error);

/* The write of a hint, without a timestamp, in the arena. The hint must outlive it. */
kw_write kw_hint_write(const kw_call *call, const kw_table *table, const kw_hint *hint,
                       kw_durability durability, kw_arena *arena);

/* A hint must not be lost if its row is not. */
kw_durability kw_hint_durability(kw_durability of_row);

/* Writes the hints of records. durability: of the rows. errors[i].code is KW_OK if all hints of record i are
 * in the store; otherwise the error says why its row must not be written: the write of the record is FAILED.
 * A row must be sent before row_deadline, which is not later than the call's. done can be called before this
 * returns. */
typedef void (*kw_hints_written)(void *user, const kw_error *errors, kw_deadline row_deadline);
void kw_hints_write(kw_call *call, const kw_table *table, const kw_record *const *records, size_t count,
                    kw_durability durability, kw_hints_written done, void *user);
