/* Finds the first row key that a range scan returns, or the last one of a placement. */
#pragma once

#include "verb/verb.h"

/* key: in the arena of the call; empty: there are no rows, or an error. */
typedef void (*kw_first_key_found)(void *user, kw_bytes key, const kw_error *error);

/* The search cannot be cancelled: the call must live until `found` is called. */
void kw_first_key_find(kw_call *call, const kw_range_scan_spec *spec, kw_first_key_found found, void *user);

/* Finds the last row key of the placement, with a reversed scan. ordering: of its rows; NULL: a row that only
 * has control cells counts, too. */
void kw_last_key_find(kw_call *call, const kw_placement *placement, const kw_ordering *ordering,
                      kw_first_key_found found, void *user);
