/* Bytes as Java's new String(bytes, UTF_8) sees them. Inside of the room. */
#pragma once

#include "base/bytes.h"

/* As UTF-8, in place of what is in `to`: what is not UTF-8 becomes U+FFFD. */
void kw_java_text(kw_bytes bytes, kw_buffer *to);
