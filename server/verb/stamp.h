/* When a write counts: the caller's timestamp or the gateway's stamp, decided once when the write is
 * admitted. */
#pragma once

#include "verb/call.h"

/* Milliseconds; beyond is surely a mistake (microseconds, say). */
#define KW_STAMP_MAX INT64_C(253402300799999) /* the end of the year 9999 */

/* INVALID for a timestamp that no clock shows. */
bool kw_stamp_admit(kw_call *call, const kw_write_options *options, int64_t *ret_stamp, kw_error *ret_error);
