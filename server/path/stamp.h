/* Timestamps that callers pass. */
#pragma once

#include "path/call.h"

/* In milliseconds. A greater value is surely a mistake, for example microseconds. */
#define KW_STAMP_MAX INT64_C(253402300799999) /* the end of the year 9999 */

/* The caller's timestamp, or KW_TIMESTAMP_NONE. INVALID if it is outside of 0 to KW_STAMP_MAX. */
bool kw_stamp_of(const kw_write_options *options, int64_t *ret_stamp, kw_error *ret_error);
