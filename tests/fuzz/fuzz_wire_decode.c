/* An input that decodes can be encoded and decoded in both protocols without a change, except that texts
 * become valid UTF-8, and the skipper finds the same end as the decoder. An input that does not decode has an
 * error message. */
#include "fuzz/fuzz_wire.h"

#include "unit/wire/value.h"
#include "wire/skip.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const void *
encode_and_decode(const kw_wire_struct *table, kw_wire_protocol protocol, const void *value, kw_buffer *out,
                  kw_arena *arena)
{
    kw_wire_limits roomy = {.decoded_bytes = 16 << 20, .depth = KW_WIRE_DEPTH_DEFAULT};
    kw_error error = KW_ERROR_NONE;
    void *back = kw_arena_alloc(arena, table->size);
    kw_wire_struct_encode(out, protocol, table, value);
    if (!kw_wire_struct_decode(table, protocol, kw_buffer_bytes(out), roomy, arena, back, &error))
        g_error("%s", error.text);
    return back;
}

static void
must_survive(const kw_wire_struct *table, kw_wire_protocol protocol, const void *value)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    kw_buffer first = KW_BUFFER_EMPTY, second = KW_BUFFER_EMPTY;
    const void *valid = encode_and_decode(table, protocol, value, &first, arena);
    const void *back = encode_and_decode(table, protocol, valid, &second, arena);
    g_assert_true(test_value_equal(table, value, valid));
    g_assert_true(test_value_equal(table, valid, back));
    g_assert_true(kw_bytes_equal(kw_buffer_bytes(&first), kw_buffer_bytes(&second)));
    kw_buffer_clear(&first);
    kw_buffer_clear(&second);
}

static void
skipper_must_agree(kw_wire_protocol protocol, kw_bytes body)
{
    kw_skip skip;
    size_t wanted;
    kw_skip_begin_struct(&skip, protocol, 0, body.size, KW_SKIP_DEPTH_MAX);
    g_assert_cmpint(kw_skip_run(&skip, body, &wanted), ==, KW_WIRE_MESSAGE);
    g_assert_cmpuint(skip.at, ==, body.size);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    const kw_wire_struct *table = fuzz_table(data[0]);
    kw_wire_protocol protocol = fuzz_protocol(data[0]);
    kw_bytes body = kw_bytes_of(data + 1, size - 1);
    g_autoptr(kw_arena) arena = kw_arena_new();
    void *value = kw_arena_alloc(arena, table->size);
    kw_error error = KW_ERROR_NONE;
    if (!kw_wire_struct_decode(table, protocol, body, FUZZ_LIMITS, arena, value, &error)) {
        g_assert_true(error.code == KW_INVALID || error.code == KW_LIMIT);
        g_assert_true(error.text[0] != '\0');
        return 0;
    }
    skipper_must_agree(protocol, body);
    must_survive(table, KW_WIRE_BINARY, value);
    must_survive(table, KW_WIRE_COMPACT, value);
    return 0;
}
