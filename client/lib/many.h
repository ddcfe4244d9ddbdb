/* Inside libkeyway: outcomes of one write or read, as the public API tells them. */
#pragma once

#include "keyway.h"

#include "keyway_keyway_types.h"

/* NULL: it was written. Else the caller's; an UNKNOWN outcome is marked as maybe applied. */
GError *kw_written_failure(const KeywayWritten *written);

/* An array of kw_written out of one of KeywayWritten; the records move. */
GPtrArray *kw_written_array(GPtrArray *thrift);

/* An array of kw_found out of one of KeywayFound; the records move. */
GPtrArray *kw_found_array(GPtrArray *thrift);

/* False when a many-call answered another number of outcomes than it was asked for. */
bool kw_count_matches(guint asked, guint answered, GError **error);
