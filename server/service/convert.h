/* Inside of the room: records as callers write them (names, unions) to records of the gateway (field
 * numbers, kinds), and back. Errors name table, field and reason, and guess what was meant. */
#pragma once

#include "rule/policy.h"

#include "thrift/keyway_wire.h"

/* The number of the field with this name. */
bool kw_convert_field(const kw_table *table, kw_bytes name, size_t *ret_field, kw_error *ret_error);

/* Exactly one member set, of the field's type, and a value that the field may hold. */
bool kw_convert_value(const kw_table *table, size_t field, const kw_api_Value *from, kw_value *ret_value,
                      kw_error *ret_error);

bool kw_convert_record(const kw_table *table, const kw_api_Record *from, kw_arena *arena,
                       kw_record *ret_record, kw_error *ret_error);

/* Names to numbers, each once. None given: count 0. */
bool kw_convert_columns(const kw_table *table, const kw_bytes *names, size_t count, kw_arena *arena,
                        size_t **ret_fields, size_t *ret_count, kw_error *ret_error);

/* The fields that are there. */
kw_api_Record kw_convert_record_out(const kw_table *table, const kw_record *record, kw_arena *arena);
