/* Internal to gateway: returns freed memory to the system at intervals. */
#pragma once

#include "gateway/gateway_internal.h"

/* Creates the timer and starts it. The caller frees it. */
void kw_memory_trim_start(kw_gateway *gateway);
