/* Finds the first row key that a range scan returns. For the last key of a range, use a reversed scan. */
#pragma once

#include "verb/verb.h"

/* key: in the arena of the call; empty: there are no rows, or an error. */
typedef void (*kw_first_key_found)(void *user, kw_bytes key, const kw_error *error);

/* The search cannot be cancelled: the call must live until `found` is called. */
void kw_first_key_find(kw_call *call, const kw_range_scan_spec *spec, kw_first_key_found found, void *user);
