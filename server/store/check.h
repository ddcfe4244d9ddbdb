/* Checks the arguments of store operations: HBase's limits, and malformed requests.
 *
 * Each function returns true if the argument is valid. Else it returns false with an error that names the
 * table and the invalid part: LIMIT if the cells of a write exceed KW_STORE_ROW_KEYS_MAX, otherwise INVALID.
 * Pure; any thread.
 */
#pragma once

#include "store/store.h"

#define KW_STORE_TABLE_NAME_MAX 240
#define KW_STORE_FAMILY_NAME_MAX 127
#define KW_STORE_QUALIFIER_MAX 32767
#define KW_STORE_FAMILIES_MAX 100
#define KW_STORE_REGIONS_MAX 100000

bool kw_check_table_name(kw_bytes name, kw_error *ret_error);
bool kw_check_write(const kw_write *write, kw_error *ret_error);
/* Of a call with many: the limit of row keys is that of all rows of a record together. */
bool kw_check_write_of_many(const kw_write *const *writes, size_t count, size_t index, kw_error *ret_error);
bool kw_check_condition(const kw_write *write, const kw_check *check, kw_error *ret_error);
bool kw_check_derivation(const kw_write *write, const kw_derivation *derivation, kw_error *ret_error);
bool kw_check_increment(const kw_increment *increment, kw_error *ret_error);
bool kw_check_row_copy(const kw_row_copy *copy, kw_error *ret_error);
bool kw_check_row_sweep(const kw_row_sweep *sweep, kw_error *ret_error);
bool kw_check_get(const kw_get *get, kw_error *ret_error);
/* The same. `checked` was checked before: what both gets share, such as thousands of columns, is not checked
 * again. NULL: none. */
bool kw_check_get_like(const kw_get *get, const kw_get *checked, kw_error *ret_error);
bool kw_check_range_scan_spec(const kw_range_scan_spec *spec, kw_error *ret_error);
bool kw_check_table_spec(const kw_table_spec *spec, kw_error *ret_error);

/* True if the cell (NULL: it does not exist) meets the check. As in HBase, two cases differ. If the check has
 * no value or an empty one, a cell with an empty value counts as absent: NOT_EQUAL requires a value, and
 * every other operator requires absence. Otherwise the values are compared, and a cell that does not exist
 * never meets the check. */
bool kw_check_is_met(const kw_check *check, const kw_cell *stored);

/* Adds to the stored value of a counter. The sum must have 64 bits; the error names both numbers. */
bool kw_check_sum(kw_bytes table, const kw_column *column, int64_t stored, int64_t amount, int64_t *ret_sum,
                  kw_error *ret_error);

/* REFUSED, for a removal that would leave cells: the newest one is left_ms ahead of the store's clock, so a
 * delete up to it would hide later writes. Returns false. */
bool kw_refuse_removal(kw_bytes table, kw_bytes row, int64_t newest_ms, int64_t left_ms, kw_error *ret_error);
