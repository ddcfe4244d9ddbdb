/* The stream reader: detects each form, returns whole messages however the bytes arrive, and rejects other
 * protocols at the first wrong byte. */
#include "support/seeded.h"
#include "thrift/hbase2_wire.h"
#include "thrift/keyway_wire.h"
#include "unit/wire/value.h"

static const kw_wire_form forms[] = {
    {KW_WIRE_BINARY, false}, {KW_WIRE_COMPACT, false}, {KW_WIRE_BINARY, true}, {KW_WIRE_COMPACT, true}};

#define LIMIT ((size_t)1 << 20)
#define MESSAGE_BYTES_MAX 4096 /* messages are read byte by byte, and copied each time */

/* Appends a random message that is not too long. */
static void
append_message(kw_buffer *out, kw_wire_form form, test_random *random, kw_arena *arena)
{
    size_t before = out->size;
    do {
        kw_api_Data_putMany_args args;
        out->size = before;
        test_value_fill(&kw_api_Data_putMany_args_wire, random, 4, arena, &args);
        size_t mark = kw_wire_frame_begin(out, form);
        kw_wire_message_encode(out, form.protocol, KW_BYTES_LITERAL("putMany"), KW_WIRE_CALL,
                               (int32_t)before);
        kw_wire_struct_encode(out, form.protocol, &kw_api_Data_putMany_args_wire, &args);
        kw_wire_frame_end(out, form, mark);
    } while (out->size - before > MESSAGE_BYTES_MAX);
}

/* Reads all messages, with `step` more bytes at a time, and compares their ends with `ends`. */
static void
read_in_steps(kw_wire_form form, kw_bytes stream, const size_t *ends, size_t count, size_t step)
{
    kw_wire_reader *reader = kw_wire_reader_new(LIMIT);
    size_t start = 0, there = 0, found = 0;
    while (found < count) {
        kw_bytes payload;
        size_t consumed = 0, wanted = 0;
        kw_error error = KW_ERROR_NONE;
        /* The window has its own memory, so that the sanitizer detects a read past it. */
        g_autofree uint8_t *window = g_memdup2(stream.data + start, there - start);
        kw_bytes input = kw_bytes_of(window, there - start);
        kw_wire_progress progress = kw_wire_reader_next(reader, input, &payload, &consumed, &wanted, &error);
        if (progress == KW_WIRE_BROKEN)
            g_error("message %zu: %s", found, error.text);
        if (progress == KW_WIRE_MORE) {
            g_assert_cmpuint(there, <, stream.size);
            g_assert_cmpuint(wanted, >, input.size);
            g_assert_cmpuint(start + wanted, <=, ends[found]);
            there = MIN(there + step, stream.size);
            continue;
        }
        g_assert_cmpuint(start + consumed, ==, ends[found]);
        kw_bytes expected =
            kw_bytes_of(stream.data + start + (form.framed ? 4 : 0), consumed - (form.framed ? 4 : 0));
        g_assert_true(kw_bytes_equal(payload, expected));
        g_assert_cmpint(kw_wire_reader_form(reader).protocol, ==, form.protocol);
        g_assert_cmpint(kw_wire_reader_form(reader).framed, ==, form.framed);
        start += consumed;
        found++;
    }
    kw_wire_reader_free(reader);
}

static void
bytes_can_arrive_in_any_pieces(void)
{
    uint32_t seed = (uint32_t)g_test_rand_int();
    g_test_message("seed %u", seed);
    test_random random = {seed};
    for (size_t f = 0; f < G_N_ELEMENTS(forms); f++) {
        g_autoptr(kw_arena) arena = kw_arena_new();
        kw_buffer stream = KW_BUFFER_EMPTY;
        size_t ends[6];
        for (size_t i = 0; i < G_N_ELEMENTS(ends); i++) {
            append_message(&stream, forms[f], &random, arena);
            ends[i] = stream.size;
        }
        for (size_t step = 1; step < 20; step++)
            read_in_steps(forms[f], kw_buffer_bytes(&stream), ends, G_N_ELEMENTS(ends), step);
        read_in_steps(forms[f], kw_buffer_bytes(&stream), ends, G_N_ELEMENTS(ends), stream.size);
        kw_buffer_clear(&stream);
    }
}

typedef struct refusal {
    kw_bytes bytes;
    size_t needed; /* number of bytes that suffice to detect the error */
    kw_code code;
    const char *says;
} refusal;

#define REFUSED(bytes, needed, code, says)                                                                   \
    {                                                                                                        \
        {(const uint8_t *)(bytes), sizeof(bytes) - 1}, needed, code, says                                    \
    }

static const refusal refusals[] = {
    REFUSED("GET / HTTP/1.1\r\n", 1, KW_INVALID,
            "not Thrift: the connection starts with 47; it looks like HTTP"),
    REFUSED("POST /", 1, KW_INVALID, "it looks like HTTP"),
    REFUSED("hello", 1, KW_INVALID, "it looks like text"),
    REFUSED("\x16\x03\x01\x02", 1, KW_INVALID, "it looks like TLS"),
    REFUSED("\xff\xff\xff\xff", 1, KW_INVALID, "not Thrift: the connection starts with ff"),
    REFUSED("\x7f\xff\xff\xff", 1, KW_INVALID, "not Thrift"),
    REFUSED("\x00\x10\x00\x01\x80", 4, KW_LIMIT,
            "a frame of 1048577 bytes is longer than the limit of 1048576"),
    REFUSED("\x00\x20\x00\x00", 2, KW_LIMIT, "is longer than the limit"),
    REFUSED("\x00\x00\x00\x00", 4, KW_INVALID, "a frame of zero bytes"),
    REFUSED("\x00\x00\x00\x09\x00", 5, KW_INVALID, "a frame's payload starts with 00"),
    REFUSED("\x00\x00\x00\x09\x80\x02", 6, KW_INVALID, "not the head of a binary message"),
    REFUSED("\x00\x00\x00\x09\x82\x22", 6, KW_INVALID, "not the head of a compact message"),
    REFUSED("\x80\x01\x00\x09", 4, KW_INVALID, "no such message type"),
    REFUSED("\x80\x01\x01", 3, KW_INVALID, "not the head of a binary message"),
    REFUSED("\x82\x01", 2, KW_INVALID, "not the head of a compact message: no such message type"),
    REFUSED("\x82\xa1", 2, KW_INVALID, "not the head of a compact message: no such message type"),
    REFUSED("\x80\x01\x00\x01\x00\x00\x01\x00", 8, KW_INVALID, "a method name of 256 bytes"),
    REFUSED("\x80\x01\x00\x01\xff\xff\xff\xff", 8, KW_INVALID, "a method name of 4294967295 bytes"),
    REFUSED("\x82\x21\x00\x80\x02", 5, KW_INVALID, "a method name of 256 bytes"),
    REFUSED("\x82\x21\xff\xff\xff\xff\x1f", 7, KW_INVALID, "more than 32 bits"),
    /* the struct of a message without a frame: a string, a list and a map with impossible sizes */
    REFUSED("\x80\x01\x00\x01\0\0\0\0\0\0\0\0\x0b\0\1\xff\xff\xff\xff", 19, KW_INVALID, "-1 is negative"),
    REFUSED("\x80\x01\x00\x01\0\0\0\0\0\0\0\0\x0b\0\1\x7f\xff\xff\xff", 19, KW_LIMIT,
            "longer than the limit"),
    REFUSED("\x80\x01\x00\x01\0\0\0\0\0\0\0\0\x0b\0\1\x00\x10\x00\x00", 19, KW_LIMIT,
            "longer than the limit"),
    REFUSED("\x80\x01\x00\x01\0\0\0\0\0\0\0\0\x0f\0\1\x0c\x7f\xff\xff\xff", 20, KW_LIMIT,
            "longer than the limit"),
    REFUSED("\x80\x01\x00\x01\0\0\0\0\0\0\0\0\x0d\0\1\x0b\x0b\0\x0f\xff\xff", 21, KW_LIMIT, "longer than"),
    REFUSED("\x80\x01\x00\x01\0\0\0\0\0\0\0\0\x05", 13, KW_INVALID, "wire type 5 does not exist"),
    REFUSED("\x82\x21\0\0\x18\xff\xff\xff\xff\x0f", 10, KW_INVALID, "-1 is negative"),
    REFUSED("\x82\x21\0\0\x18\xff\xff\xff\xff\x07", 10, KW_LIMIT, "longer than the limit"),
    REFUSED("\x82\x21\0\0\x16\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 15, KW_INVALID, "more bits"),
    REFUSED("\x82\x21\0\0\x1d", 5, KW_INVALID, "wire type 13 does not exist"),
};

static void
other_protocols_are_rejected_early(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(refusals); i++) {
        const refusal *row = &refusals[i];
        kw_wire_reader *reader = kw_wire_reader_new(LIMIT);
        for (size_t there = 1; there <= row->needed; there++) {
            g_autofree uint8_t *window = g_memdup2(row->bytes.data, there);
            kw_bytes payload;
            size_t consumed;
            kw_error error = KW_ERROR_NONE;
            kw_wire_progress progress =
                kw_wire_reader_next(reader, kw_bytes_of(window, there), &payload, &consumed, NULL, &error);
            if (progress != (there < row->needed ? KW_WIRE_MORE : KW_WIRE_BROKEN))
                g_error("row %zu: progress %d after %zu bytes (%s)", i, progress, there, error.text);
            if (progress == KW_WIRE_BROKEN && (error.code != row->code || !strstr(error.text, row->says)))
                g_error("row %zu: %s \"%s\" should say \"%s\"", i, kw_code_name(error.code), error.text,
                        row->says);
        }
        kw_wire_reader_free(reader);
    }
}

/* Before the length of a frame is known, no more bytes are wanted than the shortest frame has; then all. */
static void
no_more_than_a_short_frame_is_wanted(void)
{
    static const uint8_t frame[] = {0, 0, 0, 3, 0x80, 1, 0};
    kw_wire_reader *reader = kw_wire_reader_new(LIMIT);
    for (size_t there = 1; there < sizeof frame; there++) {
        kw_bytes payload;
        size_t consumed, wanted = 0;
        kw_error error = KW_ERROR_NONE;
        g_assert_cmpint(
            kw_wire_reader_next(reader, kw_bytes_of(frame, there), &payload, &consumed, &wanted, &error), ==,
            KW_WIRE_MORE);
        g_assert_cmpuint(wanted, ==, there < 4 ? 5 : sizeof frame);
    }
    kw_wire_reader_free(reader);
}

/* The message shows the bytes that have arrived, at most four, and guesses by the first one. */
static void
the_first_bytes_are_reported(void)
{
    static const struct {
        kw_bytes bytes;
        const char *says;
    } cases[] = {
        {{(const uint8_t *)"h", 1}, "68; it looks like text"},
        {{(const uint8_t *)"H", 1}, "48; it looks like HTTP"},
        {{(const uint8_t *)"hello", 5}, "68 65 6c 6c; it looks like text"},
        {{(const uint8_t *)"h\x01\x02\x03", 4}, "68 01 02 03; it looks like text"},
        {{(const uint8_t *)"\xffhello", 6}, "ff 68 65 6c"},
        {{(const uint8_t *)"\xffHI", 3}, "ff 48 49"},
        {{(const uint8_t *)"\x16\x03", 2}, "16 03; it looks like TLS, which this port does not speak"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        kw_wire_reader *reader = kw_wire_reader_new(LIMIT);
        g_autofree uint8_t *window = g_memdup2(cases[i].bytes.data, cases[i].bytes.size);
        g_autofree char *expected =
            g_strdup_printf("not Thrift: the connection starts with %s", cases[i].says);
        kw_bytes payload;
        size_t consumed;
        kw_error error = KW_ERROR_NONE;
        g_assert_cmpint(kw_wire_reader_next(reader, kw_bytes_of(window, cases[i].bytes.size), &payload,
                                            &consumed, NULL, &error),
                        ==, KW_WIRE_BROKEN);
        g_assert_cmpstr(error.text, ==, expected);
        kw_wire_reader_free(reader);
    }
}

static void
the_limit_applies_to_unframed_messages(void)
{
    /* Many small fields, whose sum exceeds the limit although no length does. */
    kw_buffer stream = KW_BUFFER_EMPTY;
    kw_buffer_append(&stream, KW_BYTES_LITERAL("\x82\x21\0\3put"));
    while (stream.size < LIMIT + 100)
        kw_buffer_append(&stream, KW_BYTES_LITERAL("\x18\x03"
                                                   "abc"));
    kw_wire_reader *reader = kw_wire_reader_new(LIMIT);
    kw_bytes payload;
    size_t consumed;
    kw_error error = KW_ERROR_NONE;
    g_assert_cmpint(
        kw_wire_reader_next(reader, kw_bytes_of(stream.data, LIMIT - 50), &payload, &consumed, NULL, &error),
        ==, KW_WIRE_MORE);
    g_assert_cmpint(kw_wire_reader_next(reader, kw_buffer_bytes(&stream), &payload, &consumed, NULL, &error),
                    ==, KW_WIRE_BROKEN);
    g_assert_cmpint(error.code, ==, KW_LIMIT);
    kw_wire_reader_free(reader);
    kw_buffer_clear(&stream);
}

static void
nesting_is_bounded(void)
{
    static const char *const heads[] = {"\x80\x01\x00\x01\0\0\0\0\0\0\0\0", "\x82\x21\0\0"};
    static const size_t head_sizes[] = {12, 4};
    static const char *const opens[] = {"\x0c\0\1", "\x1c"};
    static const size_t open_sizes[] = {3, 1};
    for (size_t p = 0; p < 2; p++) {
        for (unsigned depth = 64; depth <= 65; depth++) {
            kw_buffer stream = KW_BUFFER_EMPTY;
            kw_buffer_append(&stream, kw_bytes_of(heads[p], head_sizes[p]));
            for (unsigned level = 1; level < depth; level++)
                kw_buffer_append(&stream, kw_bytes_of(opens[p], open_sizes[p]));
            for (unsigned level = 0; level < depth; level++)
                kw_buffer_append_byte(&stream, 0);
            kw_wire_reader *reader = kw_wire_reader_new(LIMIT);
            kw_bytes payload;
            size_t consumed;
            kw_error error = KW_ERROR_NONE;
            kw_wire_progress progress =
                kw_wire_reader_next(reader, kw_buffer_bytes(&stream), &payload, &consumed, NULL, &error);
            g_assert_cmpint(progress, ==, depth == 64 ? KW_WIRE_MESSAGE : KW_WIRE_BROKEN);
            if (depth == 65)
                g_assert_nonnull(strstr(error.text, "nesting is deeper than 64"));
            kw_wire_reader_free(reader);
            kw_buffer_clear(&stream);
        }
    }
}

/* The form of a connection does not change. */
static void
the_form_does_not_change(void)
{
    for (size_t f = 0; f < G_N_ELEMENTS(forms); f++) {
        g_autoptr(kw_arena) arena = kw_arena_new();
        test_random random = {1};
        kw_buffer first = KW_BUFFER_EMPTY;
        append_message(&first, forms[f], &random, arena);
        for (size_t g = 0; g < G_N_ELEMENTS(forms); g++) {
            kw_buffer second = KW_BUFFER_EMPTY;
            append_message(&second, forms[g], &random, arena);
            kw_wire_reader *reader = kw_wire_reader_new(LIMIT);
            kw_bytes payload;
            size_t consumed;
            kw_error error = KW_ERROR_NONE;
            g_assert_cmpint(
                kw_wire_reader_next(reader, kw_buffer_bytes(&first), &payload, &consumed, NULL, &error), ==,
                KW_WIRE_MESSAGE);
            kw_wire_progress progress =
                kw_wire_reader_next(reader, kw_buffer_bytes(&second), &payload, &consumed, NULL, &error);
            g_assert_cmpint(progress, ==, f == g ? KW_WIRE_MESSAGE : KW_WIRE_BROKEN);
            kw_wire_reader_free(reader);
            kw_buffer_clear(&second);
        }
        kw_buffer_clear(&first);
    }
}

int
main(int argc, char **argv)
{
    seeded_init(&argc, &argv);
    g_test_add_func("/wire/reader/bytes_can_arrive_in_any_pieces", bytes_can_arrive_in_any_pieces);
    g_test_add_func("/wire/reader/other_protocols_are_rejected_early", other_protocols_are_rejected_early);
    g_test_add_func("/wire/reader/short_frames", no_more_than_a_short_frame_is_wanted);
    g_test_add_func("/wire/reader/the first bytes are reported", the_first_bytes_are_reported);
    g_test_add_func("/wire/reader/the_limit_applies_to_unframed_messages",
                    the_limit_applies_to_unframed_messages);
    g_test_add_func("/wire/reader/nesting_is_bounded", nesting_is_bounded);
    g_test_add_func("/wire/reader/the_form_does_not_change", the_form_does_not_change);
    return g_test_run();
}
