/* Hostile bytes: lengths, counts, types, nesting and memory that exceed the input or a limit. */
#include "thrift/hbase2_wire.h"
#include "thrift/keyway_wire.h"
#include "thrift/odd_wire.h"
#include "wire/table.h"

static const kw_wire_limits large_limits = {.decoded_bytes = 1 << 20, .depth = KW_WIRE_DEPTH_DEFAULT};

typedef struct refusal {
    const kw_wire_struct *table;
    kw_wire_protocol protocol;
    kw_bytes body;
    kw_code code;
    const char *says;
} refusal;

#define BINARY(table, bytes, code, says)                                                                     \
    {                                                                                                        \
        &table##_wire, KW_WIRE_BINARY, {(const uint8_t *)(bytes), sizeof(bytes) - 1}, code, says             \
    }
#define COMPACT(table, bytes, code, says)                                                                    \
    {                                                                                                        \
        &table##_wire, KW_WIRE_COMPACT, {(const uint8_t *)(bytes), sizeof(bytes) - 1}, code, says            \
    }

static const refusal refusals[] = {
    /* strings */
    BINARY(kw_api_Value, "\x0b\0\5\xff\xff\xff\xff\0", KW_INVALID, "Value.bytes: a length of -1 is negative"),
    BINARY(kw_api_Value, "\x0b\0\5\x80\0\0\0\0", KW_INVALID,
           "Value.bytes: a length of -2147483648 is negative"),
    BINARY(kw_api_Value, "\x0b\0\5\x7f\xff\xff\xff\0", KW_INVALID,
           "Value.bytes: a length of 2147483647 exceeds the 1 bytes left"),
    BINARY(kw_api_Value, "\x0b\0\5\0\0\0\2\0", KW_INVALID, "a length of 2 exceeds the 1 bytes left"),
    COMPACT(kw_api_Value, "\x58\xff\xff\xff\xff\x0f\0", KW_INVALID,
            "Value.bytes: a length of -1 is negative"),
    COMPACT(kw_api_Value, "\x58\xff\xff\xff\xff\x07\0", KW_INVALID, "2147483647 exceeds the 1 bytes left"),
    COMPACT(kw_api_Value, "\x58\1a", KW_INVALID, "the bytes end too early"),
    COMPACT(kw_api_Value, "\x52\0", KW_INVALID, "wire type 2 differs from the type in the interface"),
    COMPACT(kw_api_Value, "\x58\xff\xff\xff\xff\xff\x0f\0", KW_INVALID, "more bits than its type"),
    /* the same in an unknown field */
    BINARY(kw_odd_Nothing, "\x0b\0\5\xff\xff\xff\xff\0", KW_INVALID, "Nothing: a length of -1 is negative"),
    BINARY(kw_odd_Nothing, "\x0b\0\5\x7f\xff\xff\xff\0", KW_INVALID, "2147483647 exceeds the 1 bytes left"),
    BINARY(kw_odd_Nothing, "\x0f\0\5\x0a\x7f\xff\xff\xff\0", KW_INVALID, "exceeds the 1 bytes left"),
    BINARY(kw_odd_Nothing, "\x0f\0\5\x0b\x7f\xff\xff\xff\0", KW_INVALID,
           "elements do not fit the 1 bytes left"),
    BINARY(kw_odd_Nothing, "\x0f\0\5\x0b\xff\xff\xff\xff\0", KW_INVALID, "-1 is negative"),
    BINARY(kw_odd_Nothing, "\x0d\0\5\x0b\x0b\x7f\xff\xff\xff\0", KW_INVALID, "elements do not fit"),
    BINARY(kw_odd_Nothing, "\x0d\0\5\2\2\x7f\xff\xff\xff\0", KW_INVALID, "exceeds the 1 bytes left"),
    COMPACT(kw_odd_Nothing, "\x58\xff\xff\xff\xff\x0f\0", KW_INVALID, "-1 is negative"),
    COMPACT(kw_odd_Nothing, "\x59\xf8\xff\xff\xff\xff\x07\0", KW_INVALID, "elements do not fit"),
    COMPACT(kw_odd_Nothing, "\x59\xf3\xff\xff\xff\xff\x07\0", KW_INVALID, "exceeds the 1 bytes left"),
    COMPACT(kw_odd_Nothing, "\x59\xf8\xff\xff\xff\xff\x0f\0", KW_INVALID, "-1 is negative"),
    COMPACT(kw_odd_Nothing, "\x59\xf8\xff\xff\xff\xff\xff\x0f\0", KW_INVALID, "more bits than its type"),
    COMPACT(kw_odd_Nothing, "\x5b\xff\xff\xff\xff\x07\x88\0", KW_INVALID, "elements do not fit"),
    COMPACT(kw_odd_Nothing, "\x56\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02\0", KW_INVALID, "more bits"),
    /* containers */
    COMPACT(kw_hb_TAuthorization, "\x19\xf8\xff\xff\xff\xff\xff\x0f\0", KW_INVALID,
            "more bits than its type"),
    BINARY(kw_hb_TAuthorization, "\x0f\0\1\x0b\x7f\xff\xff\xff\0", KW_INVALID,
           "2147483647 elements do not fit"),
    BINARY(kw_hb_TAuthorization, "\x0f\0\1\x0b\xff\xff\xff\xff\0", KW_INVALID, "-1 is negative"),
    BINARY(kw_hb_TAuthorization, "\x0f\0\1\x0a\0\0\0\1\0\0\0\0\0\0\0\0\0", KW_INVALID,
           "TAuthorization.labels: wire type 10 differs from the type in the interface"),
    BINARY(kw_hb_TNamespaceDescriptor, "\x0d\0\2\x0b\x0b\0\0\0\3\0\0\0\0\0", KW_INVALID,
           "3 elements do not fit"),
    BINARY(kw_hb_TNamespaceDescriptor, "\x0d\0\2\x0b\x08\0\0\0\1\0\0\0\0\0\0\0\0\0", KW_INVALID,
           "wire type 8"),
    COMPACT(kw_hb_TAuthorization, "\x19\xf8\xff\xff\xff\xff\x07\0", KW_INVALID, "elements do not fit"),
    COMPACT(kw_hb_TAuthorization, "\x19\x31\1\1\1\0", KW_INVALID, "wire type 1 differs"),
    COMPACT(kw_hb_TNamespaceDescriptor, "\x2b\3\x88\0\0\0\0\0", KW_INVALID, "3 elements do not fit"),
    COMPACT(kw_hb_TNamespaceDescriptor, "\x2b\1\x18\0\0\0", KW_INVALID, "wire type 1 differs"),
    /* types */
    BINARY(kw_api_Value, "\x08\0\2\0\0\0\1\0", KW_INVALID,
           "Value.number: wire type 8 differs from the type in the interface"),
    BINARY(kw_api_Value, "\x07\0\x63\0", KW_INVALID, "wire type 7 does not exist"),
    BINARY(kw_api_Value, "\x1b\0\x63\0", KW_INVALID, "wire type 27 does not exist"),
    BINARY(kw_api_Value, "\x0f\0\x63\1\0\0\0\1\0\0", KW_INVALID, "wire type 1 does not exist"),
    COMPACT(kw_api_Value, "\x9d\0", KW_INVALID, "wire type 13 does not exist"),
    COMPACT(kw_api_Value, "\x20\0", KW_INVALID, "wire type 0 does not exist"),
    COMPACT(kw_api_Value, "\x99\x1e\0\0", KW_INVALID, "wire type 14 does not exist"),
    /* The error names the innermost field. */
    BINARY(kw_odd_Tree, "\x0c\0\1\x0c\0\1\x0b\0\3\0\0\0\0\0\0\0", KW_INVALID,
           "Tree.leaf: wire type 11 differs"),
    COMPACT(kw_odd_Tree, "\x1c\x1c\x38\0\0\0\0", KW_INVALID, "Tree.leaf: wire type 8 differs"),
    COMPACT(kw_odd_Tree, "\x29\x1c\x38\0\0\0", KW_INVALID, "Tree.leaf: wire type 8 differs"),
    /* bools and numbers */
    BINARY(kw_api_Value, "\2\0\1\2\0", KW_INVALID, "Value.flag: 2 is neither true nor false"),
    COMPACT(kw_odd_Odd, "\x21\x09\x5c\x11\3\0", KW_INVALID, "Odd.flags: 3 is neither true nor false"),
    COMPACT(kw_odd_Key, "\x14\x80\x80\4\0", KW_INVALID, "Key.small: a number has more bits"),
    COMPACT(kw_api_Value, "\x26\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02\0", KW_INVALID,
            "Value.number: a number"),
    COMPACT(kw_api_Value, "\x06\x80\x80\4\0", KW_INVALID, "does not fit 16 bits"),
    COMPACT(kw_api_Value, "\x06\xff\xff\xff\xff\xff\1\0", KW_INVALID, "a number has more bits"),
    COMPACT(kw_api_Value, "\1\xfe\xff\3\x11\0", KW_INVALID, "field id 32768 does not fit 16 bits"),
    /* ends */
    BINARY(kw_api_Value, "\2\0\1\1\0\0", KW_INVALID, "Value: 1 bytes follow the end of the message"),
    COMPACT(kw_api_Value, "\x11\0abc", KW_INVALID, "Value: 3 bytes follow the end of the message"),
    BINARY(kw_api_Value, "", KW_INVALID, "Value: the bytes end too early"),
    BINARY(kw_api_Value, "\2", KW_INVALID, "Value: the bytes end too early"),
    BINARY(kw_api_Value, "\2\0\1\1", KW_INVALID, "Value: the bytes end too early"),
    BINARY(kw_api_Value, "\x0b\0\5\0\0", KW_INVALID, "Value.bytes: the bytes end too early"),
    COMPACT(kw_odd_Odd, "\x21\x09\x5c\x21\1", KW_INVALID,
            "Odd.flags: 2 elements do not fit the 1 bytes left"),
    COMPACT(kw_api_Value, "\x11", KW_INVALID, "Value: the bytes end too early"),
};

KW_TEST(each_is_rejected_with_its_reason, "/wire/limits/each_is_rejected_with_its_reason")
{
    for (size_t i = 0; i < G_N_ELEMENTS(refusals); i++) {
        const refusal *row = &refusals[i];
        g_autoptr(kw_arena) arena = kw_arena_new();
        g_autofree uint8_t *copy = g_memdup2(row->body.data, row->body.size);
        void *value = kw_arena_alloc(arena, row->table->size);
        kw_error error = KW_ERROR_NONE;
        if (kw_wire_struct_decode(row->table, row->protocol, kw_bytes_of(copy, row->body.size), large_limits,
                                  arena, value, &error))
            g_error("row %zu was accepted, it should say \"%s\"", i, row->says);
        if (error.code != row->code || !strstr(error.text, row->says))
            g_error("row %zu: %s \"%s\" should say \"%s\"", i, kw_code_name(error.code), error.text,
                    row->says);
    }
}

/* `depth` nested structs, in a known field (id 1) or an unknown one. */
static kw_buffer
nested(kw_wire_protocol protocol, unsigned depth, uint8_t id)
{
    kw_buffer out = KW_BUFFER_EMPTY;
    for (unsigned level = 1; level < depth; level++) {
        if (protocol == KW_WIRE_BINARY)
            kw_buffer_append(&out, kw_bytes_of((const uint8_t[]){12, 0, id}, 3));
        else
            kw_buffer_append_byte(&out, (uint8_t)(id << 4 | 12));
    }
    for (unsigned level = 0; level < depth; level++)
        kw_buffer_append_byte(&out, 0);
    return out;
}

static bool
tree_decodes(kw_wire_protocol protocol, kw_bytes body, kw_wire_limits limits, kw_error *ret_error)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    kw_odd_Tree tree;
    return kw_wire_struct_decode(&kw_odd_Tree_wire, protocol, body, limits, arena, &tree, ret_error);
}

KW_TEST(nesting_is_bounded, "/wire/limits/nesting_is_bounded")
{
    static const unsigned depths[] = {65, 66, 100000};
    for (kw_wire_protocol protocol = KW_WIRE_BINARY; protocol <= KW_WIRE_COMPACT; protocol++) {
        for (uint8_t id = 1; id <= 9; id += 8) {
            kw_error error = KW_ERROR_NONE;
            kw_buffer good = nested(protocol, 64, id);
            g_assert_true(tree_decodes(protocol, kw_buffer_bytes(&good), large_limits, &error));
            kw_wire_limits shallow = {.decoded_bytes = 1 << 20, .depth = 63};
            g_assert_false(tree_decodes(protocol, kw_buffer_bytes(&good), shallow, &error));
            g_assert_cmpint(error.code, ==, KW_LIMIT);
            g_assert_nonnull(strstr(error.text, "nesting is deeper than 63"));
            kw_buffer_clear(&good);
            for (size_t i = 0; i < G_N_ELEMENTS(depths); i++) {
                kw_buffer deep = nested(protocol, depths[i], id);
                g_assert_false(tree_decodes(protocol, kw_buffer_bytes(&deep), large_limits, &error));
                g_assert_cmpint(error.code, ==, KW_LIMIT);
                g_assert_nonnull(strstr(error.text, "nesting is deeper than 64"));
                kw_buffer_clear(&deep);
            }
        }
    }
}

/* A value with a map that contains a value with a map ... */
static kw_buffer
nested_maps(kw_wire_protocol protocol, unsigned levels)
{
    static const uint8_t binary[] = {13, 0, 6, 11, 12, 0, 0, 0, 1, 0, 0, 0, 0},
                         compact[] = {0x6b, 1, 0x8c, 0};
    kw_buffer out = KW_BUFFER_EMPTY;
    for (unsigned level = 1; level < levels; level++)
        kw_buffer_append(&out, protocol == KW_WIRE_BINARY ? kw_bytes_of(binary, sizeof binary)
                                                          : kw_bytes_of(compact, sizeof compact));
    for (unsigned level = 0; level < levels; level++)
        kw_buffer_append_byte(&out, 0);
    return out;
}

KW_TEST(maps_of_values_are_bounded, "/wire/limits/maps_of_values_are_bounded")
{
    static const unsigned levels[] = {32, 33, 100000}; /* a value and its map are one level of nesting each */
    for (kw_wire_protocol protocol = KW_WIRE_BINARY; protocol <= KW_WIRE_COMPACT; protocol++) {
        for (size_t i = 0; i < G_N_ELEMENTS(levels); i++) {
            g_autoptr(kw_arena) arena = kw_arena_new();
            kw_error error = KW_ERROR_NONE;
            kw_api_Value value;
            kw_buffer out = nested_maps(protocol, levels[i]);
            bool good = kw_wire_struct_decode(&kw_api_Value_wire, protocol, kw_buffer_bytes(&out),
                                              large_limits, arena, &value, &error);
            g_assert_cmpint(good, ==, i == 0);
            g_assert_true(good ||
                          (error.code == KW_LIMIT && strstr(error.text, "nesting is deeper than 64")));
            g_assert_true(!good || value.entries.items[0].value.has_entries);
            kw_buffer_clear(&out);
        }
    }
}

/* Millions of empty structs: each needs one byte of the frame, but more memory as an element of a list. */
KW_TEST(empty_structs_are_counted, "/wire/limits/empty_structs_are_counted")
{
    kw_buffer out = KW_BUFFER_EMPTY;
    const uint32_t count = 4000000;
    kw_buffer_append(&out, KW_BYTES_LITERAL("\x0f\0\2\x0c\0\x3d\x09\0"));
    memset(kw_buffer_reserve(&out, count + 1), 0, count + 1);
    out.size += count + 1;
    kw_error error = KW_ERROR_NONE;
    g_assert_false(tree_decodes(KW_WIRE_BINARY, kw_buffer_bytes(&out), large_limits, &error));
    g_assert_cmpint(error.code, ==, KW_LIMIT);
    g_assert_nonnull(strstr(error.text, "Tree.children: decoding takes more than 1048576 bytes"));
    /* In an unknown field they need no memory, and time proportional to the frame. */
    out.data[2] = 9;
    g_assert_true(tree_decodes(KW_WIRE_BINARY, kw_buffer_bytes(&out), large_limits, &error));
    kw_buffer_clear(&out);
}

KW_TEST(memory_is_counted_over_the_whole_message, "/wire/limits/memory_is_counted_over_the_whole_message")
{
    /* Ten lists of 1,000 empty trees: one fits the budget, ten do not. */
    kw_buffer out = KW_BUFFER_EMPTY;
    for (int list = 0; list < 10; list++) {
        kw_buffer_append(&out, KW_BYTES_LITERAL("\x0f\0\2\x0c\0\0\3\xe8"));
        memset(kw_buffer_reserve(&out, 1000), 0, 1000);
        out.size += 1000;
    }
    kw_buffer_append_byte(&out, 0);
    kw_error error = KW_ERROR_NONE;
    size_t one = 1000 * sizeof(kw_odd_Tree) + 16;
    kw_wire_limits enough = {.decoded_bytes = 10 * one, .depth = 64};
    kw_wire_limits short_of = {.decoded_bytes = 10 * one - 100, .depth = 64};
    g_assert_true(tree_decodes(KW_WIRE_BINARY, kw_buffer_bytes(&out), enough, &error));
    g_assert_false(tree_decodes(KW_WIRE_BINARY, kw_buffer_bytes(&out), short_of, &error));
    g_assert_cmpint(error.code, ==, KW_LIMIT);
    kw_buffer_clear(&out);
}

/* A struct that is a member needs its own memory; a container is a level of nesting, like a struct. */
KW_TEST(members_and_containers_count, "/wire/limits/members_and_containers_count")
{
    kw_error error = KW_ERROR_NONE;
    kw_bytes one_left = KW_BYTES_LITERAL("\x1c\0\0");
    kw_wire_limits exact = {.decoded_bytes = sizeof(kw_odd_Tree), .depth = 2};
    kw_wire_limits less = {.decoded_bytes = sizeof(kw_odd_Tree) - 1, .depth = 2};
    g_assert_true(tree_decodes(KW_WIRE_COMPACT, one_left, exact, &error));
    g_assert_false(tree_decodes(KW_WIRE_COMPACT, one_left, less, &error));
    g_assert_cmpint(error.code, ==, KW_LIMIT);
    g_assert_nonnull(strstr(error.text, "Tree.left: decoding takes more than"));

    kw_bytes one_child = KW_BYTES_LITERAL("\x29\x1c\0\0");
    kw_wire_limits deep[] = {{1 << 20, 1}, {1 << 20, 2}, {1 << 20, 3}};
    g_assert_false(tree_decodes(KW_WIRE_COMPACT, one_child, deep[0], &error));
    g_assert_nonnull(strstr(error.text, "Tree.children: nesting is deeper than 1"));
    g_assert_false(tree_decodes(KW_WIRE_COMPACT, one_child, deep[1], &error));
    g_assert_true(tree_decodes(KW_WIRE_COMPACT, one_child, deep[2], &error));
}
