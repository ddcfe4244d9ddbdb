/* Inside of the room: names that callers sent, fit to be shown in a message. */
#pragma once

#include "base/bytes.h"

#define KW_SHOWN_MAX 120

/* Quoted, escaped and cut; returns `to`, which has KW_SHOWN_MAX bytes. */
const char *kw_show_name(kw_bytes name, char *to);
