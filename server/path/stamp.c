#include "path/stamp.h"

#include <inttypes.h>

bool
kw_stamp_of(const kw_write_options *options, int64_t *ret_stamp, kw_error *ret_error)
{
    *ret_stamp = options->has_timestamp ? options->timestamp : KW_TIMESTAMP_NONE;
    if (options->has_timestamp && (options->timestamp < 0 || options->timestamp > KW_STAMP_MAX))
        return kw_error_set(ret_error, KW_INVALID,
                            "timestamp %" PRId64 " is not milliseconds since 1970 (0 to %" PRId64 ")",
                            options->timestamp, KW_STAMP_MAX);
    return true;
}
