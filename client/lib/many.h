/* Private to libkeyway: converts outcomes of writes and reads to the form of the public API. */
#pragma once

#include "keyway.h"

#include "keyway_keyway_types.h"

/* NULL: it was written. Otherwise the caller owns the error; an UNKNOWN outcome is marked as maybe
 * applied. */
GError *kw_written_failure(const KeywayWritten *written);

/* Converts an array of KeywayWritten to one of kw_written; the records are moved. */
GPtrArray *kw_written_array(GPtrArray *thrift);

/* Converts an array of KeywayFound to one of kw_found; the records are moved. */
GPtrArray *kw_found_array(GPtrArray *thrift);

/* False if a call with several records returned another number of outcomes. */
bool kw_count_matches(guint records, guint outcomes, GError **error);
