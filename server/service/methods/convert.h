/* Internal to service: converts records of callers (names, unions) to records of the gateway (field numbers,
 * kinds), and back. Errors name table, field and reason, and suggest similar names. */
#pragma once

#include "schema/policy.h"

#include "thrift/keyway_wire.h"

/* Finds the number of the field with this name. */
bool kw_convert_field(const kw_table *table, kw_bytes name, size_t *ret_field, kw_error *ret_error);

/* Finds a field, or an entry of a map ("map.entry"). */
bool kw_convert_pick(const kw_table *table, kw_bytes name, kw_pick *ret_pick, kw_error *ret_error);

/* Converts a value. INVALID unless exactly one member is set, with a type and a value that fit the pick. */
bool kw_convert_value(const kw_table *table, kw_pick pick, const kw_api_Value *from, kw_arena *arena,
                      kw_value *ret_value, kw_error *ret_error);

/* The same for a field in a query, which cannot be a map. */
bool kw_convert_queried(const kw_table *table, size_t field, const kw_api_Value *from, kw_arena *arena,
                        kw_value *ret_value, kw_error *ret_error);

bool kw_convert_record(const kw_table *table, const kw_api_Record *from, kw_arena *arena,
                       kw_record *ret_record, kw_error *ret_error);

/* Converts column names to picks without duplicates. Without names, *ret_count is 0. */
bool kw_convert_columns(const kw_table *table, const kw_bytes *names, size_t count, kw_arena *arena,
                        const kw_pick **ret_picks, size_t *ret_count, kw_error *ret_error);

/* Converts the fields that the record contains. */
kw_api_Record kw_convert_record_out(const kw_table *table, const kw_record *record, kw_arena *arena);
