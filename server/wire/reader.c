/* The stream reader: detects the form of a connection and finds the end of each message.
 *
 *   first byte 80 or 82   unframed binary or compact: skip.c finds the end of the struct
 *   else                  four bytes of length, then a payload that starts with 80 or 82
 *
 * Bytes are checked as soon as they arrive, so that a client of another protocol (HTTP, TLS) gets its error
 * at the first wrong byte, not after a buffer was filled.
 */
#include "wire/skip.h"
#include "wire/varint.h"

#include <glib.h>

#define BINARY_MARK 0x80
#define COMPACT_MARK 0x82
#define COMPACT_VERSION 0x01
#define NAME_MAX_BYTES 255
#define FRAME_HEAD 4
#define FRAME_LIMIT_MAX ((size_t)INT32_MAX)

struct kw_wire_reader {
    size_t limit;
    bool form_known;
    bool in_struct; /* unframed: the head is read; skip has begun */
    kw_wire_form form;
    kw_skip skip;
};

kw_wire_reader *
kw_wire_reader_new(size_t frame_limit_bytes)
{
    kw_wire_reader *reader = g_new0(kw_wire_reader, 1);
    reader->limit = MIN(frame_limit_bytes, FRAME_LIMIT_MAX);
    return reader;
}

void
kw_wire_reader_free(kw_wire_reader *reader)
{
    g_free(reader);
}

kw_wire_form
kw_wire_reader_form(const kw_wire_reader *reader)
{
    return reader->form;
}

static kw_wire_progress
more(size_t wanted, size_t *ret_wanted)
{
    if (ret_wanted)
        *ret_wanted = wanted;
    return KW_WIRE_MORE;
}

static kw_wire_progress
too_long(const kw_wire_reader *reader, kw_error *ret_error)
{
    kw_error_set(ret_error, KW_LIMIT, "a message is longer than the limit of %zu bytes", reader->limit);
    return KW_WIRE_BROKEN;
}

static bool
is_mark(uint8_t byte)
{
    return byte == BINARY_MARK || byte == COMPACT_MARK;
}

/* --- what is not Thrift -------------------------------------------------------------------------- */

/* Reports that the first bytes of a connection are neither a message nor an acceptable length. */
static kw_wire_progress
not_thrift(kw_bytes input, kw_error *ret_error)
{
    const char *guess = "";
    if (input.data[0] == 0x16)
        guess = "; it looks like TLS, which this port does not speak";
    else if (g_ascii_isupper((char)input.data[0]))
        guess = "; it looks like HTTP";
    else if (g_ascii_isprint((char)input.data[0]))
        guess = "; it looks like text";
    size_t shown = MIN(input.size, 4);
    char bytes[3 * 4 + 1] = "";
    for (size_t index = 0; index < shown; index++)
        g_snprintf(bytes + 3 * index, sizeof bytes - 3 * index, " %02x", input.data[index]);
    kw_error_set(ret_error, KW_INVALID, "not Thrift: the connection starts with%s%s", bytes, guess);
    return KW_WIRE_BROKEN;
}

/* Checks the fixed bytes of a message head, as many as have arrived. */
static kw_wire_progress
check_mark(kw_wire_protocol protocol, kw_bytes head, kw_error *ret_error)
{
    uint8_t first = protocol == KW_WIRE_BINARY ? BINARY_MARK : COMPACT_MARK;
    bool good = head.size < 1 || head.data[0] == first;
    unsigned type = KW_WIRE_CALL;
    if (protocol == KW_WIRE_BINARY) {
        good = good && (head.size < 2 || head.data[1] == 1) && (head.size < 3 || head.data[2] == 0);
        if (head.size >= 4)
            type = head.data[3];
    } else if (head.size >= 2) {
        good = good && (head.data[1] & 0x1f) == COMPACT_VERSION;
        type = head.data[1] >> 5;
    }
    if (good && type >= KW_WIRE_CALL && type <= KW_WIRE_ONEWAY)
        return KW_WIRE_MORE;
    const char *name = protocol == KW_WIRE_BINARY ? "binary" : "compact";
    kw_error_set(ret_error, KW_INVALID, "not the head of a %s message%s", name,
                 good ? ": no such message type" : "");
    return KW_WIRE_BROKEN;
}

/* --- framed -------------------------------------------------------------------------------------- */

/* The lowest value that the length can have, given the bytes that have arrived; the length itself once all
 * four have. */
static size_t
least_length(kw_bytes input)
{
    size_t length = 0;
    for (size_t index = 0; index < FRAME_HEAD; index++)
        length = length << 8 | (index < input.size ? input.data[index] : 0);
    return length;
}

static kw_wire_progress
check_length(const kw_wire_reader *reader, kw_bytes input, size_t length, kw_error *ret_error)
{
    if (length > reader->limit) {
        /* Such a large number is hardly meant as a length. */
        if (!reader->form_known && (length > INT32_MAX || input.data[0] >= 0x16))
            return not_thrift(input, ret_error);
        kw_error_set(ret_error, KW_LIMIT, "a frame of %zu bytes is longer than the limit of %zu", length,
                     reader->limit);
        return KW_WIRE_BROKEN;
    }
    if (input.size >= FRAME_HEAD && length == 0) {
        kw_error_set(ret_error, KW_INVALID, "a frame of zero bytes");
        return KW_WIRE_BROKEN;
    }
    return KW_WIRE_MORE;
}

static kw_wire_progress
framed_next(kw_wire_reader *reader, kw_bytes input, kw_bytes *ret_payload, size_t *ret_consumed,
            size_t *ret_wanted, kw_error *ret_error)
{
    size_t length = least_length(input);
    if (check_length(reader, input, length, ret_error) == KW_WIRE_BROKEN)
        return KW_WIRE_BROKEN;
    if (input.size <= FRAME_HEAD)
        return more(input.size < FRAME_HEAD ? FRAME_HEAD + 1 : FRAME_HEAD + length, ret_wanted);
    if (!reader->form_known) {
        if (!is_mark(input.data[FRAME_HEAD])) {
            kw_error_set(ret_error, KW_INVALID, "not Thrift: a frame's payload starts with %02x",
                         input.data[FRAME_HEAD]);
            return KW_WIRE_BROKEN;
        }
        reader->form.framed = true;
        reader->form.protocol = input.data[FRAME_HEAD] == BINARY_MARK ? KW_WIRE_BINARY : KW_WIRE_COMPACT;
        reader->form_known = true;
    }
    size_t there = MIN(input.size - FRAME_HEAD, length);
    kw_bytes payload = kw_bytes_of(input.data + FRAME_HEAD, there);
    if (check_mark(reader->form.protocol, payload, ret_error) == KW_WIRE_BROKEN)
        return KW_WIRE_BROKEN;
    if (there < length)
        return more(FRAME_HEAD + length, ret_wanted);
    *ret_payload = payload;
    *ret_consumed = FRAME_HEAD + length;
    return KW_WIRE_MESSAGE;
}

/* --- unframed ------------------------------------------------------------------------------------ */

static kw_wire_progress
name_too_long(uint32_t size, kw_error *ret_error)
{
    kw_error_set(ret_error, KW_INVALID, "a method name of %u bytes is longer than %d", size, NAME_MAX_BYTES);
    return KW_WIRE_BROKEN;
}

/* MESSAGE: the head is complete and ends at *ret_end. */
static kw_wire_progress
binary_head_end(kw_bytes input, size_t *ret_end, size_t *ret_wanted, kw_error *ret_error)
{
    if (input.size < 8)
        return more(13, ret_wanted);
    uint32_t name_size = kw_be32_load(input.data + 4);
    if (name_size > NAME_MAX_BYTES)
        return name_too_long(name_size, ret_error);
    *ret_end = 12 + (size_t)name_size;
    return *ret_end > input.size ? more(*ret_end + 1, ret_wanted) : KW_WIRE_MESSAGE;
}

static kw_wire_progress
compact_head_end(kw_bytes input, size_t *ret_end, size_t *ret_wanted, kw_error *ret_error)
{
    size_t at = 2;
    uint32_t number = 0;
    for (int index = 0; index < 2; index++) {
        int read = at < input.size ? kw_varint_load32(input.data + at, input.size - at, &number) : 0;
        if (read == KW_VARINT_BROKEN) {
            kw_error_set(ret_error, KW_INVALID, "a number in the message head has more than 32 bits");
            return KW_WIRE_BROKEN;
        }
        if (read == KW_VARINT_SHORT)
            return more(MAX(input.size, at) + 1, ret_wanted);
        at += (size_t)read;
    }
    if (number > NAME_MAX_BYTES)
        return name_too_long(number, ret_error);
    *ret_end = at + number;
    return *ret_end > input.size ? more(*ret_end + 1, ret_wanted) : KW_WIRE_MESSAGE;
}

static kw_wire_progress
unframed_head(kw_wire_reader *reader, kw_bytes input, size_t *ret_wanted, kw_error *ret_error)
{
    size_t end = 0;
    if (check_mark(reader->form.protocol, input, ret_error) == KW_WIRE_BROKEN)
        return KW_WIRE_BROKEN;
    kw_wire_progress found = reader->form.protocol == KW_WIRE_BINARY
                                 ? binary_head_end(input, &end, ret_wanted, ret_error)
                                 : compact_head_end(input, &end, ret_wanted, ret_error);
    if (found != KW_WIRE_MESSAGE)
        return found;
    if (end >= reader->limit)
        return too_long(reader, ret_error);
    kw_skip_begin_struct(&reader->skip, reader->form.protocol, end, reader->limit, KW_SKIP_DEPTH_MAX);
    reader->in_struct = true;
    return KW_WIRE_MESSAGE;
}

/* Reports a broken struct. The skipper does not know the size of the message, so it compares lengths and
 * counts with the message limit. One that does not fit means that the message is longer than the limit. */
static kw_wire_progress
struct_broken(const kw_wire_reader *reader, kw_error *ret_error)
{
    kw_decode_error fault = reader->skip.fault;
    if (fault.kind == KW_DECODE_LENGTH || fault.kind == KW_DECODE_COUNT || fault.kind == KW_DECODE_TRUNCATED)
        return too_long(reader, ret_error);
    char text[160];
    kw_decode_error_text(fault, text, sizeof text);
    kw_error_set(ret_error, kw_decode_error_code(fault), "malformed message: %s (byte %zu)", text,
                 reader->skip.at);
    return KW_WIRE_BROKEN;
}

static kw_wire_progress
unframed_next(kw_wire_reader *reader, kw_bytes input, kw_bytes *ret_payload, size_t *ret_consumed,
              size_t *ret_wanted, kw_error *ret_error)
{
    if (!reader->in_struct) {
        kw_wire_progress head = unframed_head(reader, input, ret_wanted, ret_error);
        if (head != KW_WIRE_MESSAGE)
            return head;
    }
    size_t wanted = 0;
    kw_wire_progress found = kw_skip_run(&reader->skip, input, &wanted);
    if (found == KW_WIRE_MORE)
        return more(wanted, ret_wanted);
    if (found == KW_WIRE_BROKEN)
        return struct_broken(reader, ret_error);
    reader->in_struct = false;
    *ret_payload = kw_bytes_of(input.data, reader->skip.at);
    *ret_consumed = reader->skip.at;
    return KW_WIRE_MESSAGE;
}

kw_wire_progress
kw_wire_reader_next(kw_wire_reader *reader, kw_bytes input, kw_bytes *ret_payload, size_t *ret_consumed,
                    size_t *ret_wanted, kw_error *ret_error)
{
    if (input.size == 0)
        return more(1, ret_wanted);
    if (!reader->form_known && is_mark(input.data[0])) {
        reader->form.framed = false;
        reader->form.protocol = input.data[0] == BINARY_MARK ? KW_WIRE_BINARY : KW_WIRE_COMPACT;
        reader->form_known = true;
    }
    if (reader->form_known && !reader->form.framed)
        return unframed_next(reader, input, ret_payload, ret_consumed, ret_wanted, ret_error);
    return framed_next(reader, input, ret_payload, ret_consumed, ret_wanted, ret_error);
}
