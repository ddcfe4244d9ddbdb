/* Internal to gateway: returns freed memory to the system. Builds with a sanitizer use its allocator, and
 * return nothing. */
#pragma once

#include "gateway/gateway_internal.h"

/* Starts a timer. The caller frees it. */
void kw_memory_trim_start(kw_gateway *gateway);
