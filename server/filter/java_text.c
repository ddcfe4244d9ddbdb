/* As in Java, one U+FFFD replaces the longest valid prefix of a character, or all three bytes of a
 * surrogate. */
#include "filter/java_text.h"

#define REPLACEMENT KW_BYTES_LITERAL("\xef\xbf\xbd")

static bool
continues(kw_bytes bytes, size_t at)
{
    return at < bytes.size && (bytes.data[at] & 0xc0) == 0x80;
}

/* The decode_ functions return the size of the first character; *ret_good is false if these bytes are
 * malformed. */
static size_t
decode_three(kw_bytes bytes, bool *ret_good)
{
    uint8_t second = bytes.size > 1 ? bytes.data[1] : 0;
    if (!continues(bytes, 1) || (bytes.data[0] == 0xe0 && second < 0xa0))
        return 1;
    if (!continues(bytes, 2))
        return 2;
    *ret_good = !(bytes.data[0] == 0xed && second >= 0xa0);
    return 3;
}

static size_t
decode_four(kw_bytes bytes, bool *ret_good)
{
    uint8_t second = bytes.size > 1 ? bytes.data[1] : 0;
    if (!continues(bytes, 1) || bytes.data[0] > 0xf4 || (bytes.data[0] == 0xf0 && second < 0x90) ||
        (bytes.data[0] == 0xf4 && second >= 0x90))
        return 1;
    if (!continues(bytes, 2))
        return 2;
    if (!continues(bytes, 3))
        return 3;
    *ret_good = true;
    return 4;
}

static size_t
decode_one(kw_bytes bytes, bool *ret_good)
{
    uint8_t first = bytes.data[0];
    *ret_good = false;
    if (first < 0x80 || (first >= 0xc2 && first < 0xe0 && continues(bytes, 1))) {
        *ret_good = true;
        return first < 0x80 ? 1 : 2;
    }
    if (first >= 0xe0 && first < 0xf0)
        return decode_three(bytes, ret_good);
    return first >= 0xf0 && first < 0xf8 ? decode_four(bytes, ret_good) : 1;
}

/* The size of the longest prefix that is valid. */
static size_t
valid_size(kw_bytes bytes)
{
    bool good = true;
    size_t at = 0;
    while (good && at < bytes.size) {
        while (at < bytes.size && bytes.data[at] < 0x80)
            at++;
        if (at < bytes.size) {
            size_t size = decode_one(kw_bytes_skip(bytes, at), &good);
            at += good ? size : 0;
        }
    }
    return at;
}

kw_bytes
kw_java_text(kw_bytes bytes, kw_buffer *scratch)
{
    size_t valid = valid_size(bytes);
    if (valid == bytes.size)
        return bytes;
    scratch->size = 0;
    kw_buffer_reserve(scratch, bytes.size);
    kw_buffer_append(scratch, kw_bytes_of(bytes.data, valid));
    for (kw_bytes left = kw_bytes_skip(bytes, valid); left.size;) {
        bool good;
        size_t size = decode_one(left, &good);
        kw_buffer_append(scratch, good ? kw_bytes_of(left.data, size) : REPLACEMENT);
        left = kw_bytes_skip(left, size);
    }
    return kw_buffer_bytes(scratch);
}
