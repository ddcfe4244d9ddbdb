/* Units of time. */
#pragma once

#include <stdint.h>

#define KW_NS_PER_MS INT64_C(1000000)
