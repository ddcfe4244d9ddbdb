/* The stream reader returns the same messages whether it reads in pieces or at once, and each message has a
 * header. The first byte is the size of the pieces. */
#include "wire/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define LIMIT ((size_t)32 * 1024)
#define MESSAGES_MAX 256

typedef struct outcome {
    size_t ends[MESSAGES_MAX];
    size_t count;
    kw_wire_progress last;
} outcome;

static void
check_message(const kw_wire_reader *reader, kw_bytes input, kw_bytes payload, size_t consumed)
{
    kw_wire_message message;
    kw_error error = KW_ERROR_NONE;
    kw_wire_form form = kw_wire_reader_form(reader);
    g_assert_cmpuint(consumed, <=, input.size);
    g_assert_true(payload.data + payload.size == input.data + consumed);
    g_assert_cmpuint(payload.size, <=, LIMIT);
    bool has_head = kw_wire_message_decode(form.protocol, payload, &message, &error);
    /* A framed message has the length in its frame; an unframed message was parsed to its end. */
    g_assert_true(has_head || form.framed);
}

static void
read_all(kw_bytes stream, size_t piece, outcome *ret_outcome)
{
    kw_wire_reader *reader = kw_wire_reader_new(LIMIT);
    size_t start = 0, there = 0;
    *ret_outcome = (outcome){.last = KW_WIRE_MORE};
    while (ret_outcome->count < MESSAGES_MAX) {
        kw_bytes input = kw_bytes_of(stream.data + start, there - start), payload;
        size_t consumed, wanted = 0;
        kw_error error = KW_ERROR_NONE;
        ret_outcome->last = kw_wire_reader_next(reader, input, &payload, &consumed, &wanted, &error);
        if (ret_outcome->last == KW_WIRE_BROKEN) {
            g_assert_true(error.text[0] != '\0');
            break;
        }
        if (ret_outcome->last == KW_WIRE_MORE) {
            g_assert_cmpuint(wanted, >, input.size);
            if (there == stream.size)
                break;
            there = MIN(there + piece, stream.size);
            continue;
        }
        check_message(reader, input, payload, consumed);
        g_assert_cmpuint(consumed, >, 0);
        start += consumed;
        ret_outcome->ends[ret_outcome->count++] = start;
    }
    kw_wire_reader_free(reader);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static outcome whole, pieces;
    if (size < 2)
        return 0;
    kw_bytes stream = kw_bytes_of(data + 1, size - 1);
    read_all(stream, stream.size, &whole);
    read_all(stream, 1 + data[0] % 64, &pieces);
    g_assert_cmpuint(whole.count, ==, pieces.count);
    g_assert_cmpint(whole.last, ==, pieces.last);
    for (size_t index = 0; index < whole.count; index++)
        g_assert_cmpuint(whole.ends[index], ==, pieces.ends[index]);
    return 0;
}
