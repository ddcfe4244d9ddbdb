/* What the store handle refuses before a store sees it: HBase's limits and malformed questions.
 *
 * Each function returns true when the argument is allowed, else false with an INVALID that names the
 * table and the part that is wrong. Pure; any thread.
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
bool kw_check_condition(const kw_write *write, const kw_check *check, kw_error *ret_error);
bool kw_check_increment(const kw_increment *increment, kw_error *ret_error);
bool kw_check_get(const kw_get *get, kw_error *ret_error);
bool kw_check_range_scan_spec(const kw_range_scan_spec *spec, kw_error *ret_error);
bool kw_check_table_spec(const kw_table_spec *spec, kw_error *ret_error);

/* Does the cell (NULL: there is none) meet the check? As HBase: a cell with an empty value counts as absent,
 * and an absent one meets no comparison. */
bool kw_check_is_met(const kw_check *check, const kw_cell *stored);

/* The name as error texts show it: printable, cut at 60 bytes, control and non-ASCII bytes as \xNN. */
typedef struct kw_shown {
    char text[64 + 4];
} kw_shown;
kw_shown kw_show(kw_bytes bytes);
