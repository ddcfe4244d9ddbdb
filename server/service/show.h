/* Internal to service: formats names from callers for error texts. */
#pragma once

#include "base/bytes.h"

#define KW_SHOWN_MAX 120

/* Writes the name to `to`, which has KW_SHOWN_MAX bytes: quoted, escaped, and cut if it is too long. Returns
 * `to`. */
const char *kw_show_name(kw_bytes name, char *to);
