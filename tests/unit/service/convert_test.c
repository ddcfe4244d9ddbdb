/* Conversion of records from callers and back. */
#include "service/methods/convert.h"

#include "service/methods/items.h"
#include "unit/service/fixture.h"

#include <glib.h>

static kw_api_Record
record_of(service_fixture *fix, size_t count)
{
    kw_api_Record made = {0};
    made.items = kw_arena_alloc0(fix->exchange.call.arena, (count + 1) * sizeof *made.items);
    return made;
}

static void
add(kw_api_Record *record, const char *name, kw_api_Value value)
{
    record->items[record->count].key = kw_bytes_of_text(name);
    record->items[record->count++].value = value;
}

#define TEXT(of) ((kw_api_Value){.has_text = true, .text = KW_BYTES_LITERAL(of)})
#define NUMBER(of) ((kw_api_Value){.has_number = true, .number = (of)})

static void
expect_refusal(kw_error *error, const char *text)
{
    g_assert_cmpint(error->code, ==, KW_INVALID);
    if (!strstr(error->text, text))
        g_error("\"%s\" does not say \"%s\"", error->text, text);
    *error = KW_ERROR_NONE;
}

KW_TEST(test_round_trip, "/service/convert/round-trip")
{
    service_fixture *fix = service_fixture_new();
    kw_api_Record from = record_of(fix, 7);
    kw_record record;
    kw_error error = KW_ERROR_NONE;
    add(&from, "blob", (kw_api_Value){.has_bytes = true, .bytes = KW_BYTES_LITERAL("\0\xff")});
    add(&from, "done", (kw_api_Value){.has_flag = true, .flag = true});
    add(&from, "weight", (kw_api_Value){.has_real = true, .real = -0.5});
    add(&from, "count", NUMBER(INT64_MIN));
    add(&from, "status", TEXT("paid"));
    add(&from, "ts", NUMBER(5));
    add(&from, "id", TEXT("a"));
    g_assert_true(kw_convert_record(fix->table, &from, fix->exchange.call.arena, &record, &error));
    kw_api_Record back = kw_convert_record_out(fix->table, &record, fix->exchange.call.arena);
    g_assert_cmpuint(back.count, ==, 7);
    for (uint32_t i = 0; i < back.count; i++) { /* the table has the reverse order */
        g_assert_true(kw_bytes_equal(back.items[i].key, from.items[6 - i].key));
        g_assert_cmpint(back.items[i].value.has_text, ==, from.items[6 - i].value.has_text);
        g_assert_cmpint(back.items[i].value.number, ==, from.items[6 - i].value.number);
        g_assert_true(kw_bytes_equal(back.items[i].value.bytes, from.items[6 - i].value.bytes));
    }
    g_assert_cmpfloat(back.items[4].value.real, ==, -0.5);
    g_assert_true(back.items[5].value.flag);
    service_fixture_free(fix);
}

KW_TEST(test_a_double_accepts_a_number, "/service/convert/double")
{
    service_fixture *fix = service_fixture_new();
    kw_value value;
    size_t field;
    kw_error error = KW_ERROR_NONE;
    g_assert_true(kw_convert_field(fix->table, KW_BYTES_LITERAL("weight"), &field, &error));
    g_assert_true(kw_convert_value(fix->table, (kw_pick){.field = field}, &NUMBER(3),
                                   fix->exchange.call.arena, &value, &error));
    g_assert_cmpint(value.kind, ==, KW_VALUE_REAL);
    g_assert_cmpfloat(value.real, ==, 3);
    service_fixture_free(fix);
}

/* In a field that identifies records, it must be a number that a double can hold exactly. */
KW_TEST(test_a_key_rejects_a_rounded_number, "/service/convert/rounded-key")
{
    service_fixture *fix = service_fixture_new();
    const kw_table *scores = kw_policy_find_table(fix->policy, KW_BYTES_LITERAL("scores"));
    const kw_pick at = {.field = 0};
    kw_arena *arena = fix->exchange.call.arena;
    kw_value value;
    kw_error error = KW_ERROR_NONE;
    g_assert_true(kw_convert_value(scores, at, &NUMBER(INT64_C(1) << 53), arena, &value, &error));
    g_assert_cmpfloat(value.real, ==, 0x1p53);
    g_assert_true(kw_convert_value(scores, at, &NUMBER(INT64_MIN), arena, &value, &error));
    g_assert_false(kw_convert_value(scores, at, &NUMBER((INT64_C(1) << 53) + 1), arena, &value, &error));
    expect_refusal(&error,
                   "table scores, field at: value 9007199254740993 cannot be held exactly by a double");
    g_assert_false(kw_convert_value(scores, at, &NUMBER(INT64_MAX), arena, &value, &error));
    service_fixture_free(fix);
}

typedef struct refusal {
    const char *field;
    kw_api_Value value;
    const char *text;
} refusal;

KW_TEST(test_refusals_name_table_field_and_reason, "/service/convert/refusals")
{
    static const refusal cases[] = {
        {"idd", {.has_text = true}, "table events has no field \"idd\"; did you mean \"id\"?"},
        {"xyzzy", {.has_text = true}, "table events has no field \"xyzzy\""},
        {"b\n\"", {.has_text = true}, "has no field \"b\\x0A\\x22\""},
        {"id", {.has_number = true}, "table events, field id: needs a value of kind text"},
        {"id", {.has_text = true, .text = {(const uint8_t *)"01234567890", 11}}, "the maximum is 10"},
        {"id", {.has_text = true, .text = {(const uint8_t *)"\xff", 1}}, "is not UTF-8"},
        {"status", {.has_text = true, .text = {(const uint8_t *)"payd", 4}}, "did you mean \"paid\"?"},
        {"ts", {.flag = true}, "exactly one member"},
        {"ts", {.has_number = true, .has_text = true}, "exactly one member"},
        {"count", {.has_real = true}, "table events, field count: needs a value of kind number"},
        {"done", {.has_number = true}, "field done"},
        {"blob", {.has_text = true}, "field blob"},
    };
    service_fixture *fix = service_fixture_new();
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        kw_api_Record from = record_of(fix, 1);
        kw_record record;
        kw_error error = KW_ERROR_NONE;
        add(&from, cases[i].field, cases[i].value);
        g_assert_false(kw_convert_record(fix->table, &from, fix->exchange.call.arena, &record, &error));
        expect_refusal(&error, cases[i].text);
    }
    service_fixture_free(fix);
}

KW_TEST(test_a_field_twice, "/service/convert/twice")
{
    service_fixture *fix = service_fixture_new();
    kw_api_Record from = record_of(fix, 2);
    kw_record record;
    kw_error error = KW_ERROR_NONE;
    add(&from, "ts", NUMBER(1));
    add(&from, "ts", NUMBER(1));
    g_assert_false(kw_convert_record(fix->table, &from, fix->exchange.call.arena, &record, &error));
    expect_refusal(&error, "field ts: is given twice");
    service_fixture_free(fix);
}

KW_TEST(test_names_with_odd_bytes, "/service/convert/odd-names")
{
    service_fixture *fix = service_fixture_new();
    static const char *const names[] = {"id\0more", "", "\0", "id ", "ID"};
    static const size_t sizes[] = {7, 0, 1, 3, 2};
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        size_t field;
        kw_error error = KW_ERROR_NONE;
        g_assert_false(kw_convert_field(fix->table, kw_bytes_of(names[i], sizes[i]), &field, &error));
        expect_refusal(&error, "has no field");
    }
    service_fixture_free(fix);
}

KW_TEST(test_columns, "/service/convert/columns")
{
    service_fixture *fix = service_fixture_new();
    const kw_bytes names[] = {KW_BYTES_LITERAL("count"), KW_BYTES_LITERAL("count"), KW_BYTES_LITERAL("ts"),
                              KW_BYTES_LITERAL("count")};
    const kw_bytes wrong[] = {KW_BYTES_LITERAL("count"), KW_BYTES_LITERAL("cuont")};
    const kw_pick *fields;
    size_t count;
    kw_error error = KW_ERROR_NONE;
    g_assert_true(
        kw_convert_columns(fix->table, names, 4, fix->exchange.call.arena, &fields, &count, &error));
    g_assert_cmpuint(count, ==, 2);
    g_assert_cmpstr(fix->table->fields[fields[0].field].name, ==, "count");
    g_assert_cmpstr(fix->table->fields[fields[1].field].name, ==, "ts");
    g_assert_true(kw_convert_columns(fix->table, NULL, 0, fix->exchange.call.arena, &fields, &count, &error));
    g_assert_cmpuint(count, ==, 0);
    g_assert_false(
        kw_convert_columns(fix->table, wrong, 2, fix->exchange.call.arena, &fields, &count, &error));
    expect_refusal(&error, "did you mean \"count\"?");
    service_fixture_free(fix);
}

/* --- maps ---------------------------------------------------------------------------------------- */

static kw_api_Value
map_of(service_fixture *fix, size_t count, const char *const *names, const kw_api_Value *values)
{
    kw_api_Record entries = record_of(fix, count);
    for (size_t i = 0; i < count; i++)
        add(&entries, names[i], values[i]);
    return (kw_api_Value){.has_entries = true, .entries = entries};
}

KW_TEST(test_a_map, "/service/convert/map")
{
    service_fixture *fix = service_fixture_new();
    static const char *const names[] = {"b.c", "a", "\xc3\xa9"};
    const kw_api_Value values[] = {NUMBER(3), NUMBER(-1), {.has_real = true, .real = 0.5}};
    kw_api_Record from = record_of(fix, 1);
    kw_record record;
    kw_error error = KW_ERROR_NONE;
    add(&from, "shares", map_of(fix, 3, names, values));
    g_assert_true(kw_convert_record(fix->table, &from, fix->exchange.call.arena, &record, &error));
    kw_value map = record.values[kw_table_find_field(fix->table, KW_BYTES_LITERAL("shares"))];
    g_assert_cmpint(map.kind, ==, KW_VALUE_MAP);
    g_assert_cmpuint(map.entries_count, ==, 3);
    g_assert_true(kw_bytes_equal(map.entries[0].name, KW_BYTES_LITERAL("a"))); /* in order */
    g_assert_cmpint(map.entries[1].value.kind, ==, KW_VALUE_REAL);             /* a double accepts a number */
    g_assert_cmpfloat(map.entries[1].value.real, ==, 3);
    kw_api_Record back = kw_convert_record_out(fix->table, &record, fix->exchange.call.arena);
    g_assert_cmpuint(back.count, ==, 1);
    g_assert_true(back.items[0].value.has_entries);
    g_assert_cmpuint(back.items[0].value.entries.count, ==, 3);
    g_assert_cmpfloat(back.items[0].value.entries.items[0].value.real, ==, -1);
    service_fixture_free(fix);
}

static void
expect_no_map(service_fixture *fix, const char *field, kw_api_Value value, const char *text)
{
    kw_api_Record from = record_of(fix, 1);
    kw_record record;
    kw_error error = KW_ERROR_NONE;
    add(&from, field, value);
    g_assert_false(kw_convert_record(fix->table, &from, fix->exchange.call.arena, &record, &error));
    expect_refusal(&error, text);
}

KW_TEST(test_invalid_maps, "/service/convert/invalid-map")
{
    service_fixture *fix = service_fixture_new();
    static const char *const twice[] = {"x", "y", "x"}, *const empty[] = {""}, *const odd[] = {"\xff"};
    const kw_api_Value halves[] = {{.has_real = true}, {.has_real = true}, {.has_real = true}};
    const kw_api_Value none = {0}, text = TEXT("t"), inner = map_of(fix, 1, twice, halves);
    expect_no_map(fix, "shares", NUMBER(1), "field shares: needs a value of kind map, not number");
    expect_no_map(fix, "count", map_of(fix, 1, twice, halves),
                  "field count: needs a value of kind number, not map");
    expect_no_map(fix, "shares", map_of(fix, 3, twice, halves),
                  "field shares: the entry \"x\" is given twice");
    expect_no_map(fix, "shares", map_of(fix, 1, empty, halves), "field shares: an entry has no name");
    expect_no_map(fix, "shares", map_of(fix, 1, odd, halves), "the name of an entry is not UTF-8");
    expect_no_map(fix, "shares", map_of(fix, 1, twice, &none),
                  "entry \"x\": table events, field shares: the value");
    expect_no_map(fix, "shares", map_of(fix, 1, twice, &text),
                  "entry \"x\": table events, field shares: needs a value of kind real");
    expect_no_map(fix, "shares", map_of(fix, 1, twice, &inner), "needs a value of kind real, not map");
    service_fixture_free(fix);
}

KW_TEST(test_picks, "/service/convert/picks")
{
    static const struct {
        const char *name, *text;
    } wrong[] = {{"share.x", "has no field \"share\"; did you mean \"shares\"?"},
                 {"count.x", "field count: is not a map and has no entries"},
                 {"shares.", "field shares: the name of an entry is missing after the dot"},
                 {".x", "has no field \"\""}};
    service_fixture *fix = service_fixture_new();
    const kw_bytes names[] = {KW_BYTES_LITERAL("shares.a.b"), KW_BYTES_LITERAL("count"),
                              KW_BYTES_LITERAL("shares.a"), KW_BYTES_LITERAL("shares.a.b")};
    const kw_pick *picks;
    size_t count;
    kw_error error = KW_ERROR_NONE;
    g_assert_true(kw_convert_columns(fix->table, names, 4, fix->exchange.call.arena, &picks, &count, &error));
    g_assert_cmpuint(count, ==, 3);
    g_assert_true(kw_bytes_equal(picks[0].entry, KW_BYTES_LITERAL("a.b")));
    g_assert_cmpuint(picks[1].entry.size, ==, 0);
    for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
        kw_pick pick;
        g_assert_false(kw_convert_pick(fix->table, kw_bytes_of_text(wrong[i].name), &pick, &error));
        expect_refusal(&error, wrong[i].text);
    }
    kw_bytes *many = KW_ARENA_ARRAY(fix->exchange.call.arena, kw_bytes, 10001);
    for (size_t i = 0; i < 10001; i++)
        many[i] = names[i % 2];
    g_assert_true(
        kw_convert_columns(fix->table, many, 10000, fix->exchange.call.arena, &picks, &count, &error));
    g_assert_false(
        kw_convert_columns(fix->table, many, 10001, fix->exchange.call.arena, &picks, &count, &error));
    g_assert_cmpint(error.code, ==, KW_LIMIT);
    service_fixture_free(fix);
}

KW_TEST(test_an_invalid_record_does_not_fail_others, "/service/convert/many")
{
    service_fixture *fix = service_fixture_new();
    kw_api_Record records[3];
    kw_item *items;
    kw_error error = KW_ERROR_NONE;
    for (size_t i = 0; i < 3; i++) {
        records[i] = record_of(fix, 1);
        add(&records[i], i == 0 ? "idd" : "id", TEXT("a"));
    }
    g_assert_true(kw_items_of_records(&fix->exchange, fix->table, records, 2, &items, &error));
    g_assert_cmpint(items[0].error.code, ==, KW_INVALID);
    g_assert_cmpint(items[1].error.code, ==, KW_OK);
    g_assert_nonnull(items[1].record.values);
    g_assert_false(kw_items_of_records(&fix->exchange, fix->table, records, 3, &items, &error));
    g_assert_cmpint(error.code, ==, KW_LIMIT);
    g_assert_nonnull(strstr(error.text, "table events: 3 records"));
    service_fixture_free(fix);
}
