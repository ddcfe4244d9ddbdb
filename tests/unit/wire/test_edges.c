/* Input that ends at any byte, heads at the limits of each form, long messages in pieces, and the memory of
 * an encoder that reaches its limit. The input ends directly before a page that cannot be read. So a decoder
 * that reads beyond the input crashes in every build. */
#include "support/seeded.h"
#include "thrift/hbase2_wire.h"
#include "thrift/keyway_wire.h"
#include "thrift/odd_wire.h"
#include "unit/wire/value.h"

#include <sys/mman.h>
#include <unistd.h>

static const kw_wire_protocol protocols[] = {KW_WIRE_BINARY, KW_WIRE_COMPACT};
static const kw_wire_limits wide = {.decoded_bytes = 64 << 20, .depth = KW_WIRE_DEPTH_DEFAULT};

/* --- bytes before a page that cannot be read ---------------------------------------------------------- */

#define GUARDED_MAX ((size_t)64 * 1024)

typedef struct guard {
    uint8_t *memory;
    size_t page;
} guard;

static guard
guard_new(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *memory =
        mmap(NULL, GUARDED_MAX + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    g_assert_true(memory != MAP_FAILED);
    g_assert_cmpint(mprotect(memory + GUARDED_MAX, page, PROT_NONE), ==, 0);
    return (guard){memory, page};
}

static void
guard_free(guard it)
{
    munmap(it.memory, GUARDED_MAX + it.page);
}

static kw_bytes
guarded(guard it, kw_bytes bytes)
{
    g_assert_cmpuint(bytes.size, <=, GUARDED_MAX);
    uint8_t *to = it.memory + GUARDED_MAX - bytes.size;
    if (bytes.size > 0)
        memcpy(to, bytes.data, bytes.size);
    return kw_bytes_of(to, bytes.size);
}

static bool
decodes(const kw_wire_struct *table, kw_wire_protocol protocol, kw_bytes body, kw_error *ret_error)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    void *value = kw_arena_alloc(arena, table->size);
    *ret_error = KW_ERROR_NONE;
    return kw_wire_struct_decode(table, protocol, body, wide, arena, value, ret_error);
}

static bool
reports_missing_bytes(const kw_error *error)
{
    return error->code == KW_INVALID &&
           (strstr(error->text, "the bytes end too early") || strstr(error->text, "exceeds the") ||
            strstr(error->text, "do not fit the"));
}

/* --- truncated bodies --------------------------------------------------------------------------------- */

static const kw_wire_struct *const tables[] = {
    &kw_api_Query_wire, &kw_api_Data_putMany_args_wire,  &kw_hb_TPut_wire,  &kw_hb_TResult_wire,
    &kw_odd_Odd_wire,   &kw_odd_Oddities_echo_args_wire, &kw_odd_Tree_wire,
};

/* The value as field 9 of a struct, which no table with fields up to 3 knows. */
static kw_buffer
as_unknown_field(kw_wire_protocol protocol, kw_bytes body)
{
    kw_buffer out = KW_BUFFER_EMPTY;
    if (protocol == KW_WIRE_BINARY)
        kw_buffer_append(&out, KW_BYTES_LITERAL("\x0c\0\x09"));
    else
        kw_buffer_append_byte(&out, 0x9c);
    kw_buffer_append(&out, body);
    kw_buffer_append_byte(&out, 0);
    return out;
}

static void
check_truncated(guard memory, const kw_wire_struct *table, kw_wire_protocol protocol, kw_bytes body)
{
    kw_error error;
    for (size_t size = 0; size < body.size; size++) {
        g_assert_false(decodes(table, protocol, guarded(memory, kw_bytes_of(body.data, size)), &error));
        if (!reports_missing_bytes(&error))
            g_error("%s, %zu of %zu bytes: %s", table->name, size, body.size, error.text);
    }
    g_assert_true(decodes(table, protocol, guarded(memory, body), &error));
}

/* Known fields are decoded, and unknown ones are skipped. Both detect a missing byte, and read nothing beyond
 * the input.
 */
static void
test_truncated_bodies(void)
{
    uint32_t seed = (uint32_t)g_test_rand_int();
    g_test_message("seed %u", seed);
    test_random random = {seed};
    guard memory = guard_new();
    for (unsigned round = 0; round < 280; round++) {
        const kw_wire_struct *table = tables[round % G_N_ELEMENTS(tables)];
        kw_wire_protocol protocol = protocols[round / G_N_ELEMENTS(tables) % 2];
        g_autoptr(kw_arena) arena = kw_arena_new();
        void *value = kw_arena_alloc0(arena, table->size);
        kw_buffer body = KW_BUFFER_EMPTY;
        test_value_fill(table, &random, test_random_below(&random, 4), arena, value);
        kw_wire_struct_encode(&body, protocol, table, value);
        if (body.size < 4096) {
            check_truncated(memory, table, protocol, kw_buffer_bytes(&body));
            kw_buffer unknown = as_unknown_field(protocol, kw_buffer_bytes(&body));
            check_truncated(memory, &kw_odd_Nothing_wire, protocol, kw_buffer_bytes(&unknown));
            kw_buffer_clear(&unknown);
        }
        kw_buffer_clear(&body);
    }
    guard_free(memory);
}

typedef struct body {
    const kw_wire_struct *table;
    kw_wire_protocol protocol;
    kw_bytes bytes;
} body;

#define BODY(table, protocol, bytes)                                                                         \
    {                                                                                                        \
        &table##_wire, protocol,                                                                             \
        {                                                                                                    \
            (const uint8_t *)(bytes), sizeof(bytes) - 1                                                      \
        }                                                                                                    \
    }

/* One body for each kind of value, so that every reading function reaches the end of the input. */
static const body bodies[] = {
    BODY(kw_odd_Odd, KW_WIRE_BINARY, "\2\0\2\1\3\0\1\x7f\x06\0\x28\1\2\x08\0\x2b\1\2\3\4\0"),
    BODY(kw_odd_Odd, KW_WIRE_BINARY, "\2\0\2\1\x0a\1\x2c\1\2\3\4\5\6\7\x08\4\0\x29\1\2\3\4\5\6\7\x08\0"),
    BODY(kw_odd_Odd, KW_WIRE_BINARY, "\2\0\2\1\x0f\0\x2e\2\0\0\0\3\0\1\1\x0e\0\x2d\6\0\0\0\2\0\1\0\2\0"),
    BODY(kw_odd_Odd, KW_WIRE_BINARY,
         "\2\0\2\1\x0d\0\x36\2\4\0\0\0\2\1\1\2\3\4\5\6\7\x08\0\1\2\3\4\5\6\7\x08\0"),
    BODY(kw_odd_Odd, KW_WIRE_BINARY,
         "\2\0\2\1\x0f\0\x38\3\0\0\0\4\1\2\3\4\x0f\0\x37\x0a\0\0\0\1\1\2\3\4\5\6\7\x08\0"),
    BODY(kw_odd_Odd, KW_WIRE_COMPACT, "\x21\x03\x02\x7f\x04\x50\x80\1\x05\x56\x80\1\0"),
    BODY(kw_odd_Odd, KW_WIRE_COMPACT,
         "\x21\x07\x52\1\2\3\4\5\6\7\x08\x06\xd8\4\xff\xff\xff\xff\xff\xff\xff\xff\xff\1\0"),
    BODY(kw_odd_Odd, KW_WIRE_COMPACT, "\x21\x09\x5c\x31\0\1\2\x0a\x5a\x24\1\2\0"),
    BODY(kw_odd_Odd, KW_WIRE_COMPACT, "\x21\x0b\x6c\2\x17\1\1\2\3\4\5\6\7\x08\2\1\2\3\4\5\6\7\x08\0"),
    BODY(kw_odd_Odd, KW_WIRE_COMPACT, "\x21\x09\x70\x43\1\2\3\4\0"),
    BODY(kw_odd_Odd, KW_WIRE_COMPACT, "\x21\x09\x70\xf3\x10\1\2\3\4\5\6\7\x08\1\2\3\4\5\6\7\x08\0"),
};

static void
test_each_kind_truncated(void)
{
    guard memory = guard_new();
    for (size_t i = 0; i < G_N_ELEMENTS(bodies); i++) {
        const body *row = &bodies[i];
        kw_error error;
        if (!decodes(row->table, row->protocol, guarded(memory, row->bytes), &error))
            g_error("row %zu: %s", i, error.text);
        kw_buffer unknown = as_unknown_field(row->protocol, row->bytes);
        check_truncated(memory, row->table, row->protocol, row->bytes);
        check_truncated(memory, &kw_odd_Nothing_wire, row->protocol, kw_buffer_bytes(&unknown));
        kw_buffer_clear(&unknown);
    }
    guard_free(memory);
}

/* --- heads -------------------------------------------------------------------------------------------- */

typedef struct verdict {
    body body;
    const char *fault; /* part of the error; NULL: the body is accepted */
} verdict;

#define ACCEPTED(table, protocol, bytes)                                                                     \
    {                                                                                                        \
        BODY(table, protocol, bytes), NULL                                                                   \
    }
#define REFUSED(table, protocol, bytes, fault)                                                               \
    {                                                                                                        \
        BODY(table, protocol, bytes), fault                                                                  \
    }

static const verdict verdicts[] = {
    /* The element types of an empty container do not matter, in known and in unknown fields. */
    ACCEPTED(kw_odd_Nothing, KW_WIRE_BINARY, "\x0f\0\5\0\0\0\0\0\0"),
    ACCEPTED(kw_odd_Nothing, KW_WIRE_BINARY, "\x0f\0\5\7\0\0\0\0\0"),
    ACCEPTED(kw_odd_Nothing, KW_WIRE_BINARY, "\x0d\0\5\0\7\0\0\0\0\0"),
    ACCEPTED(kw_odd_Nothing, KW_WIRE_COMPACT, "\x59\x00\0"),
    ACCEPTED(kw_odd_Nothing, KW_WIRE_COMPACT, "\x59\x0e\0"),
    ACCEPTED(kw_odd_Nothing, KW_WIRE_COMPACT, "\x5b\x00\0"),
    ACCEPTED(kw_odd_Tree, KW_WIRE_BINARY, "\x0f\0\2\7\0\0\0\0\0"),
    ACCEPTED(kw_odd_Tree, KW_WIRE_COMPACT, "\x29\x0e\0"),
    REFUSED(kw_odd_Nothing, KW_WIRE_BINARY, "\x0f\0\5\7\0\0\0\1\0\0", "wire type 7 does not exist"),
    REFUSED(kw_odd_Nothing, KW_WIRE_BINARY, "\x0d\0\5\7\2\0\0\0\1\0\0", "wire type 7 does not exist"),
    REFUSED(kw_odd_Nothing, KW_WIRE_BINARY, "\x0d\0\5\2\7\0\0\0\1\0\0", "wire type 7 does not exist"),
    REFUSED(kw_odd_Nothing, KW_WIRE_COMPACT, "\x5b\1\x10\0\0", "wire type 0 does not exist"),
    REFUSED(kw_odd_Nothing, KW_WIRE_COMPACT, "\x5b\1\xd1\0\0", "wire type 13 does not exist"),
    REFUSED(kw_odd_Nothing, KW_WIRE_COMPACT, "\x5b\1\x1d\0\0", "wire type 13 does not exist"),
    /* Only a whole byte of zero ends a struct. */
    REFUSED(kw_api_Value, KW_WIRE_COMPACT, "\x10\0", "wire type 0 does not exist"),
    REFUSED(kw_api_Value, KW_WIRE_COMPACT, "\xf0\0", "wire type 0 does not exist"),
    REFUSED(kw_odd_Nothing, KW_WIRE_COMPACT, "\x5c\x10\0\0", "wire type 0 does not exist"),
    REFUSED(kw_api_Value, KW_WIRE_COMPACT, "\x11\x0f\xc6\x01\0", "wire type 15 does not exist"),
    /* Bools and the greatest numbers of each width. */
    ACCEPTED(kw_odd_Odd, KW_WIRE_COMPACT, "\x21\x04\x50\xff\xff\3\0"),
    REFUSED(kw_odd_Odd, KW_WIRE_COMPACT, "\x21\x04\x50\x80\x80\4\0", "Odd.signed: a number has more bits"),
    ACCEPTED(kw_odd_Odd, KW_WIRE_COMPACT, "\x21\x05\x56\xff\xff\xff\xff\x0f\0"),
    REFUSED(kw_odd_Odd, KW_WIRE_COMPACT, "\x21\x05\x56\xff\xff\xff\xff\x10\0", "more bits"),
    ACCEPTED(kw_odd_Odd, KW_WIRE_COMPACT, "\x21\1\xfe\xff\3\0"),
    REFUSED(kw_odd_Odd, KW_WIRE_COMPACT, "\x21\1\x80\x80\4\0", "field id 32768 does not fit"),
    REFUSED(kw_odd_Odd, KW_WIRE_COMPACT, "\x21\1\x81\x80\4\0", "field id -32769 does not fit"),
    ACCEPTED(kw_odd_Odd, KW_WIRE_COMPACT, "\x21\3\xf0\xff\3\1\x71\0"), /* 32760, then 7 more */
    REFUSED(kw_odd_Odd, KW_WIRE_COMPACT, "\x21\3\xf0\xff\3\1\x81\0", "field id 32768 does not fit"),
    /* A double whose last byte is also the last byte of all is whole; what is missing follows it. */
    REFUSED(kw_odd_Odd, KW_WIRE_BINARY, "\2\0\2\1\4\0\x29\1\2\3\4\5\6\7\x08", "Odd: the bytes end too early"),
    REFUSED(kw_odd_Odd, KW_WIRE_COMPACT, "\x21\7\x52\1\2\3\4\5\6\7\x08", "Odd: the bytes end too early"),
    REFUSED(kw_odd_Odd, KW_WIRE_BINARY, "\2\0\2\2\0", "Odd.short: 2 is neither true nor false"),
    REFUSED(kw_odd_Odd, KW_WIRE_BINARY, "\2\0\2\1\x0f\0\x2e\2\0\0\0\1\2\0", "Odd.flags: 2 is neither"),
    REFUSED(kw_odd_Odd, KW_WIRE_BINARY, "\3\0\1\1\0", "Odd.short: the required field is missing"),
    REFUSED(kw_odd_Key, KW_WIRE_BINARY, "\6\0\1\0\1\0", "Key.flag: the required field is missing"),
    REFUSED(kw_odd_Key, KW_WIRE_BINARY, "\2\0\2\1\0", "Key.small: the required field is missing"),
    REFUSED(kw_odd_Key, KW_WIRE_BINARY, "\0", "Key.small: the required field is missing"),
};

static void
test_heads(void)
{
    guard memory = guard_new();
    for (size_t i = 0; i < G_N_ELEMENTS(verdicts); i++) {
        const verdict *row = &verdicts[i];
        kw_error error;
        bool good = decodes(row->body.table, row->body.protocol, guarded(memory, row->body.bytes), &error);
        if (good != !row->fault || (row->fault && !strstr(error.text, row->fault)))
            g_error("row %zu: \"%s\" in place of \"%s\"", i, error.text, row->fault ? row->fault : "");
    }
    guard_free(memory);
}

/* Numbers of every encoded length are decoded unchanged. */
static void
test_numbers(void)
{
    for (int bits = 0; bits < 64; bits++) {
        for (int change = -1; change <= 1; change++) {
            int64_t number = (int64_t)((UINT64_C(1) << bits) + (uint64_t)(int64_t)change);
            kw_odd_Odd value = {
                .has_int = true, .int_ = number, .has_signed = true, .signed_ = (int16_t)number};
            for (size_t p = 0; p < G_N_ELEMENTS(protocols); p++) {
                kw_buffer out = KW_BUFFER_EMPTY;
                g_autoptr(kw_arena) arena = kw_arena_new();
                kw_odd_Odd back;
                kw_error error = KW_ERROR_NONE;
                kw_wire_struct_encode(&out, protocols[p], &kw_odd_Odd_wire, &value);
                g_assert_true(kw_wire_struct_decode(&kw_odd_Odd_wire, protocols[p], kw_buffer_bytes(&out),
                                                    wide, arena, &back, &error));
                g_assert_cmpint(back.int_, ==, number);
                g_assert_cmpint(back.signed_, ==, (int16_t)number);
                kw_buffer_clear(&out);
            }
        }
    }
}

/* --- long texts and lists ----------------------------------------------------------------------------- */

/* A struct Later whose name has this size, as a known and as an unknown field, followed by another field. */
static void
check_length(kw_wire_protocol protocol, size_t size)
{
    g_autofree uint8_t *text = g_malloc(size + 1);
    memset(text, 'n', size);
    kw_odd_Tree tree = {.has_leaf = true, .leaf = -1};
    kw_odd_Later later = {.name = kw_bytes_of(text, size), .has_tree = true, .tree = &tree};
    kw_buffer out = KW_BUFFER_EMPTY;
    g_autoptr(kw_arena) arena = kw_arena_new();
    kw_odd_Later back;
    kw_error error = KW_ERROR_NONE;
    kw_wire_struct_encode(&out, protocol, &kw_odd_Later_wire, &later);
    g_assert_true(kw_wire_struct_decode(&kw_odd_Later_wire, protocol, kw_buffer_bytes(&out), wide, arena,
                                        &back, &error));
    g_assert_true(kw_bytes_equal(back.name, later.name));
    g_assert_cmpint(back.tree->leaf, ==, -1);
    kw_buffer unknown = as_unknown_field(protocol, kw_buffer_bytes(&out));
    g_assert_true(decodes(&kw_odd_Nothing_wire, protocol, kw_buffer_bytes(&unknown), &error));
    kw_buffer_clear(&unknown);
    kw_buffer_clear(&out);
}

static void
test_lengths(void)
{
    static const size_t sizes[] = {0,   1,   2,   3,    4,     7,     8,     9,     15,
                                   16,  17,  31,  32,   33,    126,   127,   128,   129,
                                   255, 256, 257, 1000, 16383, 16384, 16385, 65535, 70000};
    for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++)
        for (size_t p = 0; p < G_N_ELEMENTS(protocols); p++)
            check_length(protocols[p], sizes[i]);
}

/* A text of two length bytes, and a longer one after it, are skipped in a struct that no table knows. */
static void
test_lengths_of_skipped_texts(void)
{
    g_autofree uint8_t *text = g_malloc(40000);
    memset(text, 'n', 40000);
    for (size_t size = 128; size < 16384; size += 997) {
        kw_bytes labels[] = {kw_bytes_of(text, size), kw_bytes_of(text, 40000)};
        kw_buffer fields = KW_BUFFER_EMPTY;
        for (size_t i = 0; i < G_N_ELEMENTS(labels); i++) {
            kw_buffer_append_byte(&fields, 0x18); /* the next field, a text */
            for (size_t left = labels[i].size; left > 0; left >>= 7)
                kw_buffer_append_byte(&fields, (uint8_t)(left >= 0x80 ? left | 0x80 : left));
            kw_buffer_append(&fields, labels[i]);
        }
        kw_buffer_append_byte(&fields, 0);
        kw_buffer unknown = as_unknown_field(KW_WIRE_COMPACT, kw_buffer_bytes(&fields));
        kw_error error;
        if (!decodes(&kw_odd_Nothing_wire, KW_WIRE_COMPACT, kw_buffer_bytes(&unknown), &error))
            g_error("%zu: %s", size, error.text);
        kw_buffer_clear(&unknown);
        kw_buffer_clear(&fields);
    }
}

static void
test_list_counts(void)
{
    static const uint32_t counts[] = {0, 1, 14, 15, 16, 127, 128, 300};
    for (size_t i = 0; i < G_N_ELEMENTS(counts); i++) {
        for (size_t p = 0; p < G_N_ELEMENTS(protocols); p++) {
            kw_odd_Tree trees[300] = {{0}};
            for (uint32_t n = 0; n < counts[i]; n++)
                trees[n] = (kw_odd_Tree){.has_leaf = true, .leaf = (int32_t)n};
            kw_odd_Tree root = {
                .has_children = true, .children = {trees, counts[i]}, .has_leaf = true, .leaf = 7};
            kw_buffer out = KW_BUFFER_EMPTY;
            g_autoptr(kw_arena) arena = kw_arena_new();
            kw_odd_Tree back;
            kw_error error = KW_ERROR_NONE;
            kw_wire_struct_encode(&out, protocols[p], &kw_odd_Tree_wire, &root);
            g_assert_true(kw_wire_struct_decode(&kw_odd_Tree_wire, protocols[p], kw_buffer_bytes(&out), wide,
                                                arena, &back, &error));
            g_assert_cmpuint(back.children.count, ==, counts[i]);
            g_assert_cmpint(back.leaf, ==, 7);
            for (uint32_t n = 0; n < counts[i]; n++)
                g_assert_cmpint(back.children.items[n].leaf, ==, (int32_t)n);
            kw_buffer unknown = as_unknown_field(protocols[p], kw_buffer_bytes(&out));
            g_assert_true(decodes(&kw_odd_Nothing_wire, protocols[p], kw_buffer_bytes(&unknown), &error));
            kw_buffer_clear(&unknown);
            kw_buffer_clear(&out);
        }
    }
}

/* --- the memory of an encoder -------------------------------------------------------------------------- */

/* An encoder that reaches its limit stops: the buffer does not grow with the value. */
static void
test_encoders_stop_at_their_limit(void)
{
    enum { COUNT = 20000, MOST = 1000 };
    g_autofree kw_odd_Tree *trees = g_new0(kw_odd_Tree, COUNT);
    for (size_t n = 0; n < COUNT; n++)
        trees[n] = (kw_odd_Tree){.has_leaf = true, .leaf = INT32_MAX};
    kw_odd_Tree root = {.has_children = true, .children = {trees, COUNT}};
    g_autofree uint8_t *text = g_malloc0((size_t)1 << 20);
    kw_odd_Later later = {.name = kw_bytes_of(text, (size_t)1 << 20)};
    for (size_t p = 0; p < G_N_ELEMENTS(protocols); p++) {
        kw_buffer out = KW_BUFFER_EMPTY;
        kw_buffer_append_text(&out, "before");
        g_assert_false(kw_wire_struct_encode_within(&out, protocols[p], &kw_odd_Tree_wire, &root, MOST));
        g_assert_false(kw_wire_struct_encode_within(&out, protocols[p], &kw_odd_Later_wire, &later, MOST));
        g_assert_true(kw_bytes_equal(kw_buffer_bytes(&out), KW_BYTES_LITERAL("before")));
        g_assert_cmpuint(out.capacity, <=, 8 * MOST);
        kw_buffer_clear(&out);
    }
}

/* An encoder subtracts what it has written from its limit before it reserves memory for a long text. */
static void
test_encoders_count_what_is_written(void)
{
    enum { FIRST = 1000000, SECOND = 2000000, MOST = 1 << 20 };
    g_autofree uint8_t *text = g_malloc0(SECOND);
    kw_bytes labels[] = {kw_bytes_of(text, FIRST), kw_bytes_of(text, SECOND)};
    kw_hb_TAuthorization value = {.has_labels = true, .labels = {labels, 2}};
    for (size_t p = 0; p < G_N_ELEMENTS(protocols); p++) {
        kw_buffer out = KW_BUFFER_EMPTY;
        g_assert_false(
            kw_wire_struct_encode_within(&out, protocols[p], &kw_hb_TAuthorization_wire, &value, MOST));
        g_assert_cmpuint(out.size, ==, 0);
        g_assert_cmpuint(out.capacity, <, FIRST + SECOND);
        kw_buffer_clear(&out);
    }
}

/* --- messages without frames ---------------------------------------------------------------------------- */

static kw_wire_progress
read_message(kw_wire_reader *reader, kw_bytes input, size_t *ret_consumed, kw_error *ret_error)
{
    kw_bytes payload;
    size_t wanted;
    *ret_error = KW_ERROR_NONE;
    return kw_wire_reader_next(reader, input, &payload, ret_consumed, &wanted, ret_error);
}

/* A message of exactly the limit passes, and one byte more does not, with and without a frame. */
static void
test_the_limit_of_a_message_is_exact(void)
{
    for (int framed = 0; framed < 2; framed++) {
        for (size_t p = 0; p < G_N_ELEMENTS(protocols); p++) {
            kw_wire_form form = {protocols[p], framed};
            g_autofree uint8_t *text = g_malloc0(1000);
            kw_odd_Later later = {.name = kw_bytes_of(text, 1000)};
            kw_buffer out = KW_BUFFER_EMPTY;
            size_t mark = kw_wire_frame_begin(&out, form);
            kw_wire_message_encode(&out, form.protocol, KW_BYTES_LITERAL("name"), KW_WIRE_CALL, 1);
            kw_wire_struct_encode(&out, form.protocol, &kw_odd_Later_wire, &later);
            kw_wire_frame_end(&out, form, mark);
            size_t payload = out.size - (framed ? 4 : 0), consumed = 0;
            kw_error error;
            kw_wire_reader *exact = kw_wire_reader_new(payload), *less = kw_wire_reader_new(payload - 1);
            g_assert_cmpint(read_message(exact, kw_buffer_bytes(&out), &consumed, &error), ==,
                            KW_WIRE_MESSAGE);
            g_assert_cmpuint(consumed, ==, out.size);
            g_assert_cmpint(read_message(less, kw_buffer_bytes(&out), &consumed, &error), ==, KW_WIRE_BROKEN);
            g_assert_cmpint(error.code, ==, KW_LIMIT);
            kw_wire_reader_free(exact);
            kw_wire_reader_free(less);
            kw_buffer_clear(&out);
        }
    }
}

/* A method name has at most 255 bytes; every message type from call to oneway exists. */
static void
test_message_heads(void)
{
    char name[256];
    memset(name, 'n', sizeof name);
    for (size_t p = 0; p < G_N_ELEMENTS(protocols); p++) {
        for (int type = KW_WIRE_CALL; type <= KW_WIRE_ONEWAY; type++) {
            kw_buffer out = KW_BUFFER_EMPTY;
            kw_wire_message_encode(&out, protocols[p], kw_bytes_of(name, 255), (kw_wire_message_type)type, 1);
            kw_buffer_append_byte(&out, 0);
            kw_wire_message message;
            kw_error error;
            g_assert_true(kw_wire_message_decode(protocols[p], kw_buffer_bytes(&out), &message, &error));
            g_assert_cmpuint(message.name.size, ==, 255);
            g_assert_cmpint(message.type, ==, type);
            kw_wire_reader *reader = kw_wire_reader_new(1 << 20);
            size_t consumed = 0;
            g_assert_cmpint(read_message(reader, kw_buffer_bytes(&out), &consumed, &error), ==,
                            KW_WIRE_MESSAGE);
            g_assert_cmpuint(consumed, ==, out.size);
            kw_wire_reader_free(reader);
            kw_buffer_clear(&out);
        }
    }
}

/* For each prefix of a message without a frame, the reader needs more bytes and reads nothing beyond the end.
 */
static void
test_prefixes_of_messages(void)
{
    guard memory = guard_new();
    for (size_t i = 0; i < G_N_ELEMENTS(bodies); i++) {
        kw_buffer out = KW_BUFFER_EMPTY;
        kw_wire_message_encode(&out, bodies[i].protocol, KW_BYTES_LITERAL("name"), KW_WIRE_CALL, 300);
        kw_buffer_append(&out, bodies[i].bytes);
        for (size_t size = 1; size <= out.size; size++) {
            kw_wire_reader *reader = kw_wire_reader_new(1 << 20);
            kw_bytes payload;
            kw_error error;
            size_t consumed, wanted = 0;
            kw_wire_progress progress = kw_wire_reader_next(
                reader, guarded(memory, kw_bytes_of(out.data, size)), &payload, &consumed, &wanted, &error);
            g_assert_cmpint(progress, ==, size < out.size ? KW_WIRE_MORE : KW_WIRE_MESSAGE);
            if (size < out.size) {
                g_assert_cmpuint(wanted, >, size);
                g_assert_cmpuint(wanted, <=, out.size);
            }
            kw_wire_reader_free(reader);
        }
        kw_buffer_clear(&out);
    }
    guard_free(memory);
}

int
main(int argc, char **argv)
{
    seeded_init(&argc, &argv);
    g_test_add_func("/wire/edges/truncated-bodies", test_truncated_bodies);
    g_test_add_func("/wire/edges/each-kind-truncated", test_each_kind_truncated);
    g_test_add_func("/wire/edges/heads", test_heads);
    g_test_add_func("/wire/edges/numbers", test_numbers);
    g_test_add_func("/wire/edges/lengths", test_lengths);
    g_test_add_func("/wire/edges/lengths-of-skipped-texts", test_lengths_of_skipped_texts);
    g_test_add_func("/wire/edges/list-counts", test_list_counts);
    g_test_add_func("/wire/edges/encoder-limit", test_encoders_stop_at_their_limit);
    g_test_add_func("/wire/edges/encoder-counts", test_encoders_count_what_is_written);
    g_test_add_func("/wire/edges/message-limit", test_the_limit_of_a_message_is_exact);
    g_test_add_func("/wire/edges/message-heads", test_message_heads);
    g_test_add_func("/wire/edges/prefixes", test_prefixes_of_messages);
    return g_test_run();
}
