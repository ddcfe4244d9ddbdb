/* Inside of the room: the one place where the gateway's errors become what callers see. */
#pragma once

#include "base/arena.h"
#include "base/error.h"

#include "thrift/keyway_wire.h"

/* In the arena; the text is copied. */
const kw_api_KeywayError *kw_errors_exception(const kw_error *error, const char *request_id, kw_arena *arena);
const kw_api_Failure *kw_errors_failure(const kw_error *error, kw_arena *arena);
