/* Message heads, frames, application exceptions and the lookup of methods. */
#include "thrift/hbase2_wire.h"
#include "thrift/keyway_wire.h"

static const kw_wire_protocol protocols[] = {KW_WIRE_BINARY, KW_WIRE_COMPACT};

KW_TEST(decoding_reverses_encoding, "/wire/message/decoding_reverses_encoding")
{
    static const int32_t ids[] = {0, 1, 127, 128, -1, INT32_MAX, INT32_MIN};
    for (size_t p = 0; p < G_N_ELEMENTS(protocols); p++) {
        for (size_t i = 0; i < G_N_ELEMENTS(ids); i++) {
            kw_buffer out = KW_BUFFER_EMPTY;
            kw_wire_message_encode(&out, protocols[p], KW_BYTES_LITERAL("putMany"), KW_WIRE_REPLY, ids[i]);
            kw_buffer_append_text(&out, "body");
            kw_wire_message message;
            kw_error error = KW_ERROR_NONE;
            g_assert_true(kw_wire_message_decode(protocols[p], kw_buffer_bytes(&out), &message, &error));
            g_assert_true(kw_bytes_equal(message.name, KW_BYTES_LITERAL("putMany")));
            g_assert_cmpint(message.type, ==, KW_WIRE_REPLY);
            g_assert_cmpint(message.sequence_id, ==, ids[i]);
            g_assert_true(kw_bytes_equal(message.body, KW_BYTES_LITERAL("body")));
            kw_buffer_clear(&out);
        }
    }
}

KW_TEST(head_is_the_known_bytes, "/wire/message/head_is_the_known_bytes")
{
    kw_buffer out = KW_BUFFER_EMPTY;
    kw_wire_message_encode(&out, KW_WIRE_BINARY, KW_BYTES_LITERAL("get"), KW_WIRE_CALL, 5);
    kw_bytes binary = KW_BYTES_LITERAL("\x80\x01\x00\x01\x00\x00\x00\x03get\x00\x00\x00\x05");
    g_assert_true(kw_bytes_equal(kw_buffer_bytes(&out), binary));
    kw_buffer_clear(&out);
    kw_wire_message_encode(&out, KW_WIRE_COMPACT, KW_BYTES_LITERAL("get"), KW_WIRE_CALL, 300);
    kw_bytes compact = KW_BYTES_LITERAL("\x82\x21\xac\x02\x03get");
    g_assert_true(kw_bytes_equal(kw_buffer_bytes(&out), compact));
    kw_buffer_clear(&out);
}

static void
refused(kw_wire_protocol protocol, const char *bytes, size_t size, const char *expected)
{
    kw_wire_message message;
    kw_error error = KW_ERROR_NONE;
    g_assert_false(kw_wire_message_decode(protocol, kw_bytes_of(bytes, size), &message, &error));
    g_assert_cmpint(error.code, ==, KW_INVALID);
    if (!strstr(error.text, expected))
        g_error("\"%s\" does not say \"%s\"", error.text, expected);
}

#define REFUSED(protocol, bytes, expected) refused(protocol, bytes, sizeof(bytes) - 1, expected)

KW_TEST(bad_heads_are_refused, "/wire/message/bad_heads_are_refused")
{
    REFUSED(KW_WIRE_BINARY, "", "ends inside");
    REFUSED(KW_WIRE_BINARY, "\x80\x01\x00", "ends inside");
    REFUSED(KW_WIRE_BINARY, "\x80\x02\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00",
            "not a strict binary message: it starts with 80 02 00");
    REFUSED(KW_WIRE_BINARY, "\x00\x00\x00\x03get\x01\x00\x00\x00\x00", "not a strict binary");
    REFUSED(KW_WIRE_BINARY, "\x80\x01\x00\x05\x00\x00\x00\x00\x00\x00\x00\x00", "message type 5");
    REFUSED(KW_WIRE_BINARY, "\x80\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", "message type 0");
    REFUSED(KW_WIRE_BINARY, "\x80\x01\x00\x01\x00\x00\x01\x00\x00\x00\x00\x00", "256 bytes");
    REFUSED(KW_WIRE_BINARY, "\x80\x01\x00\x01\xff\xff\xff\xff\x00\x00\x00\x00", "4294967295 bytes");
    REFUSED(KW_WIRE_BINARY, "\x80\x01\x00\x01\x00\x00\x00\x05get", "ends inside");
    REFUSED(KW_WIRE_BINARY, "\x80\x01\x00\x01\x00\x00\x00\x03get\x00\x00\x00", "ends inside");
    REFUSED(KW_WIRE_COMPACT, "\x82\x21", "ends inside");
    REFUSED(KW_WIRE_COMPACT, "\x82\x22\x00\x03get", "not a compact");
    REFUSED(KW_WIRE_COMPACT, "\x80\x21\x00\x03get", "not a compact");
    REFUSED(KW_WIRE_COMPACT, "\x82\xe1\x00\x03get", "message type 7");
    REFUSED(KW_WIRE_COMPACT, "\x82\x21\xff\xff\xff\xff\xff\x03get", "more than 32 bits");
    REFUSED(KW_WIRE_COMPACT, "\x82\x21\x00\x80\x02get", "256 bytes");
    REFUSED(KW_WIRE_COMPACT, "\x82\x21\x00\x04get", "ends inside");
    REFUSED(KW_WIRE_COMPACT, "\x82\x21\x80\x80", "ends inside");
}

KW_TEST(frame_has_its_length, "/wire/message/frame_has_its_length")
{
    kw_buffer out = KW_BUFFER_EMPTY;
    kw_buffer_append_text(&out, "before");
    size_t mark = kw_wire_frame_begin(&out, (kw_wire_form){KW_WIRE_BINARY, true});
    kw_buffer_append_text(&out, "four");
    kw_wire_frame_end(&out, (kw_wire_form){KW_WIRE_BINARY, true}, mark);
    g_assert_true(kw_bytes_equal(kw_buffer_bytes(&out), KW_BYTES_LITERAL("before\x00\x00\x00\x04"
                                                                         "four")));
    mark = kw_wire_frame_begin(&out, (kw_wire_form){KW_WIRE_BINARY, false});
    kw_wire_frame_end(&out, (kw_wire_form){KW_WIRE_BINARY, false}, mark);
    g_assert_cmpuint(out.size, ==, 14);
    kw_buffer_clear(&out);
}

KW_TEST(an_exception_is_decoded_as_encoded, "/wire/message/an_exception_is_decoded_as_encoded")
{
    for (size_t p = 0; p < G_N_ELEMENTS(protocols); p++) {
        kw_buffer out = KW_BUFFER_EMPTY;
        kw_wire_exception_encode(&out, protocols[p], KW_WIRE_EXCEPTION_PROTOCOL_ERROR, "no such thing");
        kw_wire_exception_type type;
        kw_bytes text;
        kw_error error;
        g_assert_true(kw_wire_exception_decode(protocols[p], kw_buffer_bytes(&out), &type, &text, &error));
        g_assert_cmpint(type, ==, KW_WIRE_EXCEPTION_PROTOCOL_ERROR);
        g_assert_true(kw_bytes_equal(text, KW_BYTES_LITERAL("no such thing")));
        out.size--;
        g_assert_false(kw_wire_exception_decode(protocols[p], kw_buffer_bytes(&out), &type, &text, &error));
        kw_buffer_clear(&out);
    }
}

KW_TEST(methods_are_found, "/wire/message/methods_are_found")
{
    for (size_t row = 0; row < KW_API_METHOD_COUNT; row++) {
        const kw_wire_method *method = &kw_api_methods[row];
        kw_bytes name = kw_bytes_of_text(method->name);
        g_assert_true(kw_wire_method_find(kw_api_methods, KW_API_METHOD_COUNT, name) == method);
        g_autofree char *full = g_strdup_printf("%s:%s", method->service, method->name);
        g_assert_true(kw_wire_method_find(kw_api_methods, KW_API_METHOD_COUNT, kw_bytes_of_text(full)) ==
                      method);
    }
    static const char *absent[] = {"",      "pu",        "putt", "Put",         ":",
                                   "Data:", "Admin:put", ":put", "Data:put:get"};
    for (size_t i = 0; i < G_N_ELEMENTS(absent); i++)
        g_assert_null(kw_wire_method_find(kw_api_methods, KW_API_METHOD_COUNT, kw_bytes_of_text(absent[i])));
    g_assert_null(kw_wire_method_find(kw_api_methods, KW_API_METHOD_COUNT, KW_BYTES_LITERAL("put\0\0")));
    g_assert_true(kw_wire_method_find(kw_hb_methods, KW_HB_METHOD_COUNT, KW_BYTES_LITERAL("getClusterId")) ==
                  &kw_hb_methods[KW_HB_THBaseService_getClusterId]);
}
