/* Timestamps that callers give. */
#pragma once

#include "verb/call.h"

/* Milliseconds; beyond is surely a mistake (microseconds, say). */
#define KW_STAMP_MAX INT64_C(253402300799999) /* the end of the year 9999 */

/* The caller's timestamp, or KW_TIMESTAMP_NONE. INVALID for one that no clock shows. */
bool kw_stamp_of(const kw_write_options *options, int64_t *ret_stamp, kw_error *ret_error);
