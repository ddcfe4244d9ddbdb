/* Internal to service: the only place that converts the gateway's errors to those of callers. */
#pragma once

#include "base/arena.h"
#include "base/error.h"

#include "thrift/keyway_wire.h"

/* Allocated in the arena, with a copy of the text. */
const kw_api_KeywayError *kw_errors_exception(const kw_error *error, const char *request_id, kw_arena *arena);
const kw_api_Failure *kw_errors_failure(const kw_error *error, kw_arena *arena);
