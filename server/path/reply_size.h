/* Upper bounds of the sizes of encoded records in a reply, for both protocols. If the sum of the bounds fits
 * into a reply, the encoded records certainly fit. Pure. */
#pragma once

#include "schema/policy.h"

/* Overhead of a record excluding its fields, of a field excluding its name and value, of a value excluding
 * its bytes. */
#define KW_REPLY_RECORD_BYTES ((size_t)16)
#define KW_REPLY_NAME_BYTES ((size_t)5)
#define KW_REPLY_VALUE_BYTES ((size_t)16)

size_t kw_value_reply_bytes(kw_value value);
size_t kw_record_reply_bytes(const kw_table *table, const kw_record *record);
