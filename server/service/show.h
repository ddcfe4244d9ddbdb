/* Internal to service: formats names that callers sent for error texts. */
#pragma once

#include "base/bytes.h"

#define KW_SHOWN_MAX 120

/* Writes the name quoted, escaped and cut to `to`, which has KW_SHOWN_MAX bytes. Returns `to`. */
const char *kw_show_name(kw_bytes name, char *to);
