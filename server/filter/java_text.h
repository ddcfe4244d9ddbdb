/* Internal to filter: decodes bytes like Java's new String(bytes, UTF_8). */
#pragma once

#include "base/bytes.h"

/* The bytes as valid UTF-8: malformed parts become U+FFFD. Returns the bytes themselves if they are valid;
 * otherwise the text replaces the contents of `scratch`. */
kw_bytes kw_java_text(kw_bytes bytes, kw_buffer *scratch);
