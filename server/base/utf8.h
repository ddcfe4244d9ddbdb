/* Texts that come from outside: whether they are valid UTF-8, and how to show those that are not. Pure. */
#pragma once

#include "base/bytes.h"

/* True for well-formed UTF-8, which can contain U+0000. */
bool kw_utf8_valid(kw_bytes text);

/* Sets the first code point of the text, which is not empty, and its size in bytes. False if the first byte
 * is not part of valid UTF-8; then the size is 1. */
bool kw_utf8_next(kw_bytes text, uint32_t *ret_code_point, size_t *ret_size);

/* True for characters that could end a line or move a terminal's cursor: C0 and C1 controls, line
 * separators. */
bool kw_utf8_is_control(uint32_t code_point);

/* Appends the text with \xNN in place of each byte that is not part of valid UTF-8. controls: also in place
 * of the bytes of control characters. */
void kw_utf8_escape(kw_bytes text, bool controls, kw_buffer *to);
