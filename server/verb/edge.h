/* The first row key of a range scan; of a reversed one the last. */
#pragma once

#include "verb/verb.h"

/* key: in the arena of the call; empty: there are no rows, or an error. */
typedef void (*kw_edge_found)(void *user, kw_bytes key, const kw_error *error);

/* Must not be cancelled. */
void kw_edge_find(kw_call *call, const kw_range_scan_spec *spec, kw_edge_found found, void *user);
