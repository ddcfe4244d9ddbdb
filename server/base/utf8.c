#include "base/utf8.h"

#include <glib.h>

/* Number of ASCII bytes at the front, including NUL: usually all of the text, and much faster than GLib's
 * check of each character. */
static size_t
ascii_length(kw_bytes bytes)
{
    uint64_t words[4];
    size_t at = 0;
    for (; bytes.size - at >= sizeof words; at += sizeof words) {
        memcpy(words, bytes.data + at, sizeof words);
        if ((words[0] | words[1] | words[2] | words[3]) & UINT64_C(0x8080808080808080))
            break;
    }
    while (at < bytes.size && bytes.data[at] < 0x80)
        at++;
    return at;
}

bool
kw_utf8_valid(kw_bytes text)
{
    for (;;) {
        const char *end;
        text = kw_bytes_skip(text, ascii_length(text));
        if (text.size == 0 || g_utf8_validate_len((const char *)text.data, text.size, &end))
            return true;
        size_t valid = (size_t)((const uint8_t *)end - text.data);
        if (text.data[valid] != 0)
            return false;
        text = kw_bytes_skip(text, valid); /* GLib stops at a NUL: continue after it */
    }
}

bool
kw_utf8_next(kw_bytes text, uint32_t *ret_code_point, size_t *ret_size)
{
    gunichar c = text.data[0] < 0x80 ? text.data[0]
                                     : g_utf8_get_char_validated((const char *)text.data, (gssize)text.size);
    bool valid = c < (gunichar)-2;
    *ret_code_point = c;
    *ret_size = valid && c >= 0x80 ? (size_t)g_unichar_to_utf8(c, NULL) : 1;
    return valid;
}

bool
kw_utf8_is_control(uint32_t code_point)
{
    return code_point < 0x20 || (code_point >= 0x7f && code_point < 0xa0) || code_point == 0x2028 ||
           code_point == 0x2029;
}

void
kw_utf8_escape(kw_bytes text, bool controls, kw_buffer *to)
{
    uint32_t c;
    size_t size;
    for (; text.size; text = kw_bytes_skip(text, size)) {
        bool shown = kw_utf8_next(text, &c, &size) && !(controls && kw_utf8_is_control(c));
        if (shown)
            kw_buffer_append(to, kw_bytes_of(text.data, size));
        for (size_t i = 0; !shown && i < size; i++)
            kw_buffer_printf(to, "\\x%02x", text.data[i]);
    }
}
