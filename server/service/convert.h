/* Inside of the room: records as callers write them (names, unions) to records of the gateway (field
 * numbers, kinds), and back. Errors name table, field and reason, and guess what was meant. */
#pragma once

#include "schema/policy.h"

#include "thrift/keyway_wire.h"

/* The number of the field with this name. */
bool kw_convert_field(const kw_table *table, kw_bytes name, size_t *ret_field, kw_error *ret_error);

/* A field, or an entry of a map. */
bool kw_convert_pick(const kw_table *table, kw_bytes name, kw_pick *ret_pick, kw_error *ret_error);

/* Exactly one member set, of the type of what is picked, and a value that it may hold. */
bool kw_convert_value(const kw_table *table, kw_pick pick, const kw_api_Value *from, kw_arena *arena,
                      kw_value *ret_value, kw_error *ret_error);

/* The same of a field that a question is asked about, which a map is not. */
bool kw_convert_asked(const kw_table *table, size_t field, const kw_api_Value *from, kw_arena *arena,
                      kw_value *ret_value, kw_error *ret_error);

bool kw_convert_record(const kw_table *table, const kw_api_Record *from, kw_arena *arena,
                       kw_record *ret_record, kw_error *ret_error);

/* Names to picks, each once. None given: count 0. */
bool kw_convert_columns(const kw_table *table, const kw_bytes *names, size_t count, kw_arena *arena,
                        const kw_pick **ret_picks, size_t *ret_count, kw_error *ret_error);

/* The fields that are there. */
kw_api_Record kw_convert_record_out(const kw_table *table, const kw_record *record, kw_arena *arena);
