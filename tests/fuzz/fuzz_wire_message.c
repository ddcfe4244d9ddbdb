/* Message headers and application exceptions: an input that decodes encodes to bytes that decode to the same
 * value. */
#include "wire/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
head(kw_wire_protocol protocol, kw_bytes payload)
{
    kw_wire_message message, again;
    kw_error error = KW_ERROR_NONE;
    if (!kw_wire_message_decode(protocol, payload, &message, &error)) {
        g_assert_cmpint(error.code, ==, KW_INVALID);
        return;
    }
    g_assert_cmpuint(message.name.size, <=, 255);
    g_assert_true(message.body.data + message.body.size == payload.data + payload.size);
    kw_buffer out = KW_BUFFER_EMPTY;
    kw_wire_message_encode(&out, protocol, message.name, message.type, message.sequence_id);
    g_assert_true(kw_wire_message_decode(protocol, kw_buffer_bytes(&out), &again, &error));
    g_assert_true(kw_bytes_equal(message.name, again.name));
    g_assert_cmpint(message.type, ==, again.type);
    g_assert_cmpint(message.sequence_id, ==, again.sequence_id);
    g_assert_cmpuint(again.body.size, ==, 0);
    kw_buffer_clear(&out);
}

static void
exception(kw_wire_protocol protocol, kw_bytes body)
{
    kw_wire_exception_type type;
    kw_bytes text;
    kw_error error = KW_ERROR_NONE;
    if (!kw_wire_exception_decode(protocol, body, &type, &text, &error)) {
        g_assert_true(error.text[0] != '\0');
        return;
    }
    g_assert_cmpuint(text.size, <=, body.size);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (int protocol = KW_WIRE_BINARY; protocol <= KW_WIRE_COMPACT; protocol++) {
        head((kw_wire_protocol)protocol, kw_bytes_of(data, size));
        exception((kw_wire_protocol)protocol, kw_bytes_of(data, size));
    }
    return 0;
}
