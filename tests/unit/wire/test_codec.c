/* The codec: decoding of encoded values, known bytes, defaults, required and unknown fields, fields in any
 * order, and repeated fields. */
#include "support/seeded.h"
#include "thrift/hbase2_wire.h"
#include "thrift/keyway_wire.h"
#include "thrift/odd_wire.h"
#include "unit/wire/value.h"

static const kw_wire_protocol protocols[] = {KW_WIRE_BINARY, KW_WIRE_COMPACT};
static const kw_wire_limits large_limits = {.decoded_bytes = 64 << 20, .depth = KW_WIRE_DEPTH_DEFAULT};

static const kw_wire_struct *const tables[] = {
    &kw_api_Query_wire,
    &kw_api_Page_wire,
    &kw_api_Explanation_wire,
    &kw_api_PolicyInfo_wire,
    &kw_api_CreateOptions_wire,
    &kw_api_Data_putMany_args_wire,
    &kw_api_Admin_stats_result_wire,
    &kw_hb_TPut_wire,
    &kw_hb_TResult_wire,
    &kw_hb_TScan_wire,
    &kw_hb_TRowMutations_wire,
    &kw_hb_TTableDescriptor_wire,
    &kw_odd_Odd_wire,
    &kw_odd_Tree_wire,
    &kw_odd_Later_wire,
    &kw_odd_Oddities_echo_args_wire,
};

static void
decoding_reverses_encoding(void)
{
    uint32_t seed = (uint32_t)g_test_rand_int();
    g_test_message("seed %u", seed);
    test_random random = {seed};
    for (unsigned round = 0; round < 2000; round++) {
        const kw_wire_struct *table = tables[round % G_N_ELEMENTS(tables)];
        g_autoptr(kw_arena) arena = kw_arena_new();
        void *value = kw_arena_alloc0(arena, table->size);
        test_value_fill(table, &random, test_random_below(&random, 6), arena, value);
        for (size_t p = 0; p < G_N_ELEMENTS(protocols); p++) {
            kw_buffer out = KW_BUFFER_EMPTY;
            kw_wire_struct_encode(&out, protocols[p], table, value);
            void *back = kw_arena_alloc(arena, table->size);
            kw_error error = KW_ERROR_NONE;
            if (!kw_wire_struct_decode(table, protocols[p], kw_buffer_bytes(&out), large_limits, arena, back,
                                       &error))
                g_error("%s, round %u: %s", table->name, round, error.text);
            if (!test_value_equal(table, value, back))
                g_error("%s, round %u: another value came back", table->name, round);
            kw_buffer_clear(&out);
        }
    }
}

/* With a limit of exactly its size a value is encoded as without a limit; with a lower limit, nothing is
 * appended. */
static void
a_limit_is_exact(void)
{
    test_random random = {(uint32_t)g_test_rand_int()};
    for (unsigned round = 0; round < 2000; round++) {
        const kw_wire_struct *table = tables[round % G_N_ELEMENTS(tables)];
        kw_wire_protocol protocol = protocols[round / 2 % 2];
        g_autoptr(kw_arena) arena = kw_arena_new();
        void *value = kw_arena_alloc0(arena, table->size);
        kw_buffer whole = KW_BUFFER_EMPTY, within = KW_BUFFER_EMPTY;
        test_value_fill(table, &random, test_random_below(&random, 6), arena, value);
        kw_wire_struct_encode(&whole, protocol, table, value);
        kw_buffer_append_text(&within, "before");
        size_t less = test_random_below(&random, (uint32_t)whole.size);
        g_assert_false(kw_wire_struct_encode_within(&within, protocol, table, value, less));
        g_assert_false(kw_wire_struct_encode_within(&within, protocol, table, value, whole.size - 1));
        g_assert_true(kw_bytes_equal(kw_buffer_bytes(&within), KW_BYTES_LITERAL("before")));
        g_assert_cmpuint(within.capacity, <=, 2 * (6 + whole.size + 32) + 256);
        g_assert_true(kw_wire_struct_encode_within(&within, protocol, table, value, whole.size));
        g_assert_true(kw_bytes_equal(kw_bytes_skip(kw_buffer_bytes(&within), 6), kw_buffer_bytes(&whole)));
        kw_buffer_clear(&whole);
        kw_buffer_clear(&within);
    }
}

/* A text that exceeds the limit is not copied, and encoding of a list of such texts stops early. */
static void
a_limit_is_checked_before_allocation(void)
{
    g_autofree uint8_t *text = g_malloc0(1 << 20);
    g_autofree kw_bytes *items = g_new(kw_bytes, 1 << 16);
    for (size_t i = 0; i < 1 << 16; i++)
        items[i] = kw_bytes_of(text, 1 << 20);
    kw_api_Data_tables_result result = {
        .has_success = true, .success.items = items, .success.count = 1 << 16}; /* 64 GiB */
    for (size_t p = 0; p < G_N_ELEMENTS(protocols); p++) {
        kw_buffer out = KW_BUFFER_EMPTY;
        g_assert_false(kw_wire_struct_encode_within(&out, protocols[p], &kw_api_Data_tables_result_wire,
                                                    &result, 3 << 20));
        g_assert_cmpuint(out.size, ==, 0);
        g_assert_cmpuint(out.capacity, <=, 8 << 20);
        kw_buffer_clear(&out);
    }
}

static const kw_wire_container *
rows_of_a_page(void)
{
    for (uint32_t i = 0; i < kw_api_Page_wire.field_count; i++)
        if (kw_api_Page_wire.fields[i].offset == offsetof(kw_api_Page, rows))
            return kw_api_Page_wire.fields[i].type.of.container;
    g_assert_not_reached();
}

/* Encoding a struct around a list, and the list's items in pieces, results in the same bytes as encoding all
 * at once. */
static void
a_list_in_pieces_is_the_same(void)
{
    const kw_wire_struct *table = &kw_api_Data_scan_result_wire;
    test_random random = {77};
    for (size_t round = 0; round < 200; round++) {
        g_autoptr(kw_arena) arena = kw_arena_new();
        kw_wire_protocol protocol = protocols[round % G_N_ELEMENTS(protocols)];
        kw_api_Page page;
        memset(&page, 0, sizeof page);
        test_value_fill(&kw_api_Page_wire, &random, test_random_below(&random, 40), arena, &page);
        kw_api_Data_scan_result result = {.has_success = true, .success = &page};
        kw_buffer whole = KW_BUFFER_EMPTY, around = KW_BUFFER_EMPTY, pieces = KW_BUFFER_EMPTY;
        kw_wire_struct_encode(&whole, protocol, table, &result);
        const kw_api_Record *items = page.rows.items;
        uint32_t count = page.rows.count;
        page.rows.items = NULL;
        page.rows.count = 0;
        kw_wire_hole hole = {.list = &page.rows, .count = count};
        size_t at = 0;
        g_assert_true(kw_wire_struct_encode_around(&around, protocol, table, &result, hole, whole.size, &at));
        kw_buffer_append(&pieces, kw_bytes_of(around.data, at));
        for (uint32_t done = 0, some; done < count; done += some) {
            some = 1 + test_random_below(&random, count - done);
            size_t before = pieces.size;
            g_assert_false(kw_wire_items_encode(&pieces, protocol, rows_of_a_page(), items + done, some, 0));
            g_assert_cmpuint(pieces.size, ==, before);
            g_assert_true(
                kw_wire_items_encode(&pieces, protocol, rows_of_a_page(), items + done, some, whole.size));
        }
        kw_buffer_append(&pieces, kw_bytes_skip(kw_buffer_bytes(&around), at));
        g_assert_true(kw_bytes_equal(kw_buffer_bytes(&pieces), kw_buffer_bytes(&whole)));
        kw_buffer_clear(&whole);
        kw_buffer_clear(&around);
        kw_buffer_clear(&pieces);
    }
}

/* Cuts a valid message at every byte: decoding must fail, and must not read beyond the end. */
static void
every_truncation_is_rejected(void)
{
    test_random random = {4711};
    for (size_t t = 0; t < G_N_ELEMENTS(tables); t++) {
        for (size_t p = 0; p < G_N_ELEMENTS(protocols); p++) {
            g_autoptr(kw_arena) arena = kw_arena_new();
            void *value = kw_arena_alloc0(arena, tables[t]->size);
            test_value_fill(tables[t], &random, 3, arena, value);
            kw_buffer out = KW_BUFFER_EMPTY;
            kw_wire_struct_encode(&out, protocols[p], tables[t], value);
            for (size_t cut = 0; cut < MIN(out.size, 3000); cut++) {
                /* A copy of exactly this size, so that the sanitizer detects a read past it. */
                g_autofree uint8_t *copy = g_memdup2(out.data, cut);
                kw_error error = KW_ERROR_NONE;
                g_assert_false(kw_wire_struct_decode(tables[t], protocols[p], kw_bytes_of(copy, cut),
                                                     large_limits, arena, value, &error));
                g_assert_cmpint(error.code, ==, KW_INVALID);
                g_assert_cmpuint(strlen(error.text), >, 0);
            }
            kw_buffer_clear(&out);
        }
    }
}

static bool
decodes(const kw_wire_struct *table, kw_wire_protocol protocol, kw_bytes bytes, void *ret_value,
        kw_arena *arena, kw_error *ret_error)
{
    return kw_wire_struct_decode(table, protocol, bytes, large_limits, arena, ret_value, ret_error);
}

static void
bytes_are_the_known_ones(void)
{
    kw_hb_TColumnValue cell = {.family = KW_BYTES_LITERAL("f"),
                               .qualifier = KW_BYTES_LITERAL("q"),
                               .value = KW_BYTES_LITERAL("vv"),
                               .has_timestamp = true,
                               .timestamp = -2};
    kw_buffer out = KW_BUFFER_EMPTY;
    kw_wire_struct_encode(&out, KW_WIRE_BINARY, &kw_hb_TColumnValue_wire, &cell);
    g_assert_true(kw_bytes_equal(kw_buffer_bytes(&out),
                                 KW_BYTES_LITERAL("\x0b\0\1\0\0\0\1f\x0b\0\2\0\0\0\1q\x0b\0\3\0\0\0\2vv"
                                                  "\x0a\0\4\xff\xff\xff\xff\xff\xff\xff\xfe\0")));
    kw_buffer_clear(&out);
    kw_wire_struct_encode(&out, KW_WIRE_COMPACT, &kw_hb_TColumnValue_wire, &cell);
    g_assert_true(kw_bytes_equal(kw_buffer_bytes(&out), KW_BYTES_LITERAL("\x18\1f\x18\1q\x18\2vv\x16\3\0")));
    kw_buffer_clear(&out);

    kw_odd_Key keys[] = {{.small = 1, .flag = true}, {.small = -1}};
    kw_odd_Odd odd = {.short_ = true, .has_last = true, .has_keys = true, .keys = {keys, 2}};
    kw_wire_struct_encode(&out, KW_WIRE_COMPACT, &kw_odd_Odd_wire, &odd);
    g_assert_true(kw_bytes_equal(kw_buffer_bytes(&out),
                                 KW_BYTES_LITERAL("\x21\x0a\x72\x2c\x14\2\x11\0\x14\1\x12\0\2\xfe\xff\3\0")));
    kw_buffer_clear(&out);

    /* The short form of an id states a difference of at most 15: here from 41 to 56. */
    int8_t byte = 7;
    kw_odd_Odd near = {.short_ = true, .has_real = true, .has_bytes = true, .bytes = {&byte, 1}};
    kw_wire_struct_encode(&out, KW_WIRE_COMPACT, &kw_odd_Odd_wire, &near);
    g_assert_true(
        kw_bytes_equal(kw_buffer_bytes(&out), KW_BYTES_LITERAL("\x21\7\x52\0\0\0\0\0\0\0\0\xf9\x13\7\0")));
    kw_buffer_clear(&out);
}

static void
absent_members_hold_their_defaults(void)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    kw_odd_Odd odd;
    kw_error error;
    g_assert_true(
        decodes(&kw_odd_Odd_wire, KW_WIRE_BINARY, KW_BYTES_LITERAL("\2\0\2\1\0"), &odd, arena, &error));
    g_assert_true(odd.short_);
    g_assert_false(odd.has_signed);
    g_assert_cmpint(odd.signed_, ==, -5);
    g_assert_cmpfloat(odd.real, ==, 2.5);
    g_assert_true(kw_bytes_equal(odd.text, KW_BYTES_LITERAL("a \"quoted\" word")));
    g_assert_cmpint(odd.colour, ==, KW_ODD_Colour_BLUE);
    g_assert_true(odd.yes);
    kw_hb_TScan scan;
    g_assert_true(decodes(&kw_hb_TScan_wire, KW_WIRE_COMPACT, KW_BYTES_LITERAL("\0"), &scan, arena, &error));
    g_assert_cmpint(scan.maxVersions, ==, 1);
    kw_hb_TDelete removed;
    g_assert_true(decodes(&kw_hb_TDelete_wire, KW_WIRE_COMPACT, KW_BYTES_LITERAL("\x18\1r\0"), &removed,
                          arena, &error));
    g_assert_cmpint(removed.deleteType, ==, KW_HB_TDeleteType_DELETE_COLUMNS);
    kw_api_Range range;
    kw_bytes named = KW_BYTES_LITERAL("\x18\1t\x32\0");
    g_assert_true(decodes(&kw_api_Range_wire, KW_WIRE_COMPACT, named, &range, arena, &error));
    g_assert_true(range.has_from_inclusive);
    g_assert_false(range.from_inclusive);
    g_assert_false(range.has_to_inclusive);
    g_assert_false(range.to_inclusive);
}

static void
missing_required_field_is_named(void)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    kw_hb_TPut put;
    kw_error error = KW_ERROR_NONE;
    g_assert_false(
        decodes(&kw_hb_TPut_wire, KW_WIRE_COMPACT, KW_BYTES_LITERAL("\x18\1r\0"), &put, arena, &error));
    g_assert_cmpint(error.code, ==, KW_INVALID);
    g_assert_cmpstr(error.text, ==, "TPut.columnValues: the required field is missing");
    g_assert_false(put.row.data);
    kw_api_Query query;
    g_assert_false(
        decodes(&kw_api_Query_wire, KW_WIRE_BINARY, KW_BYTES_LITERAL("\0"), &query, arena, &error));
    g_assert_cmpstr(error.text, ==, "Query.table: the required field is missing");
    /* For nested structs, the innermost one is named. */
    kw_bytes deep = KW_BYTES_LITERAL("\x18\1r\x19\x1c\x18\1f\0\0");
    g_assert_false(decodes(&kw_hb_TPut_wire, KW_WIRE_COMPACT, deep, &put, arena, &error));
    g_assert_cmpstr(error.text, ==, "TColumnValue.qualifier: the required field is missing");
}

/* Nothing has none of Odd's fields, so each of them must be skipped. */
static void
unknown_fields_are_skipped(void)
{
    uint32_t seed = (uint32_t)g_test_rand_int();
    g_test_message("seed %u", seed);
    test_random random = {seed};
    for (unsigned round = 0; round < 500; round++) {
        g_autoptr(kw_arena) arena = kw_arena_new();
        kw_odd_Odd odd;
        test_value_fill(&kw_odd_Odd_wire, &random, 5, arena, &odd);
        for (size_t p = 0; p < G_N_ELEMENTS(protocols); p++) {
            kw_buffer out = KW_BUFFER_EMPTY;
            kw_wire_struct_encode(&out, protocols[p], &kw_odd_Odd_wire, &odd);
            kw_odd_Nothing nothing;
            kw_error error = KW_ERROR_NONE;
            if (!decodes(&kw_odd_Nothing_wire, protocols[p], kw_buffer_bytes(&out), &nothing, arena, &error))
                g_error("round %u: %s", round, error.text);
            kw_buffer_append_byte(&out, 0);
            g_assert_false(
                decodes(&kw_odd_Nothing_wire, protocols[p], kw_buffer_bytes(&out), &nothing, arena, &error));
            kw_buffer_clear(&out);
        }
    }
}

static void
order_does_not_matter(void)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    kw_hb_TTimeRange range;
    kw_error error;
    kw_bytes binary = KW_BYTES_LITERAL("\x0a\0\2\0\0\0\0\0\0\0\x09\x0a\0\1\0\0\0\0\0\0\0\x08\0");
    g_assert_true(decodes(&kw_hb_TTimeRange_wire, KW_WIRE_BINARY, binary, &range, arena, &error));
    g_assert_cmpint(range.minStamp, ==, 8);
    g_assert_cmpint(range.maxStamp, ==, 9);
    kw_bytes compact = KW_BYTES_LITERAL("\x26\x12\x06\x02\x10\0");
    g_assert_true(decodes(&kw_hb_TTimeRange_wire, KW_WIRE_COMPACT, compact, &range, arena, &error));
    g_assert_cmpint(range.minStamp, ==, 8);
    g_assert_cmpint(range.maxStamp, ==, 9);
}

static void
last_of_a_field_wins(void)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    kw_error error;
    kw_api_Value value;
    kw_bytes twice = KW_BYTES_LITERAL("\x0b\0\5\0\0\0\3one\x0b\0\5\0\0\0\3two\0");
    g_assert_true(decodes(&kw_api_Value_wire, KW_WIRE_BINARY, twice, &value, arena, &error));
    g_assert_true(kw_bytes_equal(value.bytes, KW_BYTES_LITERAL("two")));
    kw_hb_TAuthorization labels;
    kw_bytes emptied = KW_BYTES_LITERAL("\x19\x28\1a\1b\x09\x02\x08\0");
    g_assert_true(decodes(&kw_hb_TAuthorization_wire, KW_WIRE_COMPACT, emptied, &labels, arena, &error));
    g_assert_true(labels.has_labels);
    g_assert_cmpuint(labels.labels.count, ==, 0);
}

static void
strings_are_slices_of_the_body(void)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    kw_error error;
    kw_api_Value value;
    kw_bytes body = KW_BYTES_LITERAL("\x0b\0\5\0\0\0\5slice\0");
    g_assert_true(decodes(&kw_api_Value_wire, KW_WIRE_BINARY, body, &value, arena, &error));
    g_assert_true(value.bytes.data == body.data + 7);
    g_assert_cmpuint(kw_arena_used(arena), ==, 0);
}

/* A text that is not valid UTF-8 is encoded with escapes, and bytes are not changed. */
static void
texts_are_utf8(void)
{
    static const struct {
        kw_bytes text;
        const char *encoded;
    } texts[] = {
        {KW_BYTES_LITERAL("plain"), "plain"},
        {KW_BYTES_LITERAL("\xc5\x81\xc3\xb3"
                          "d\xc5\xba"),
         "\xc5\x81\xc3\xb3"
         "d\xc5\xba"},
        {KW_BYTES_LITERAL("a\xff"
                          "b"),
         "a\\xffb"},
        {KW_BYTES_LITERAL("cut \xe2\x82"), "cut \\xe2\\x82"},
        {KW_BYTES_LITERAL("\xc0\x80\xed\xa0\x80"), "\\xc0\\x80\\xed\\xa0\\x80"},
        {KW_BYTES_LITERAL("\xf5\x80\x80\x80"), "\\xf5\\x80\\x80\\x80"},
    };
    for (size_t i = 0; i < 2 * G_N_ELEMENTS(texts); i++) {
        g_autoptr(kw_arena) arena = kw_arena_new();
        kw_wire_protocol protocol = protocols[i % 2];
        kw_api_KeyPiece piece = {
            .component = texts[i / 2].text, .bytes = texts[i / 2].text, .text = texts[i / 2].text};
        kw_buffer out = KW_BUFFER_EMPTY;
        kw_api_KeyPiece *back = KW_ARENA_NEW(arena, kw_api_KeyPiece);
        kw_wire_struct_encode(&out, protocol, &kw_api_KeyPiece_wire, &piece);
        g_assert_true(kw_wire_struct_decode(&kw_api_KeyPiece_wire, protocol, kw_buffer_bytes(&out),
                                            large_limits, arena, back, NULL));
        g_assert_true(kw_bytes_equal(back->text, kw_bytes_of_text(texts[i / 2].encoded)));
        g_assert_true(kw_bytes_equal(back->component, kw_bytes_of_text(texts[i / 2].encoded)));
        g_assert_true(kw_bytes_equal(back->bytes, texts[i / 2].text));
        kw_buffer_clear(&out);
    }
}

int
main(int argc, char **argv)
{
    seeded_init(&argc, &argv);
    g_test_add_func("/wire/codec/texts_are_utf8", texts_are_utf8);
    g_test_add_func("/wire/codec/decoding_reverses_encoding", decoding_reverses_encoding);
    g_test_add_func("/wire/codec/every_truncation_is_rejected", every_truncation_is_rejected);
    g_test_add_func("/wire/codec/bytes_are_the_known_ones", bytes_are_the_known_ones);
    g_test_add_func("/wire/codec/absent_members_hold_their_defaults", absent_members_hold_their_defaults);
    g_test_add_func("/wire/codec/missing_required_field_is_named", missing_required_field_is_named);
    g_test_add_func("/wire/codec/unknown_fields_are_skipped", unknown_fields_are_skipped);
    g_test_add_func("/wire/codec/order_does_not_matter", order_does_not_matter);
    g_test_add_func("/wire/codec/last_of_a_field_wins", last_of_a_field_wins);
    g_test_add_func("/wire/codec/strings_are_slices_of_the_body", strings_are_slices_of_the_body);
    g_test_add_func("/wire/codec/limit", a_limit_is_exact);
    g_test_add_func("/wire/codec/limit-of-memory", a_limit_is_checked_before_allocation);
    g_test_add_func("/wire/codec/pieces", a_list_in_pieces_is_the_same);
    return g_test_run();
}
