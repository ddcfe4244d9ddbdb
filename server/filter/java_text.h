/* Internal to filter: decodes bytes like Java's new String(bytes, UTF_8). */
#pragma once

#include "base/bytes.h"

/* Replaces the contents of `to` by the bytes as valid UTF-8: malformed parts become U+FFFD. */
void kw_java_text(kw_bytes bytes, kw_buffer *to);
