/* Maps: their columns, the fields and entries that names select, the values of entries, and that keys
 * cannot contain maps. */
#include "rule/values.h"
#include "unit/rule/policies.h"

#define TABLE                                                                                                \
    "    fields: {id: string, m: {type: map, of: int, form: raw4, column: 'f:x\\x00*'}, "                    \
    "all: {type: map, of: string, values: [on, off, none], column: 'g:*'}, own: {type: map, of: bool}, "     \
    "one: {type: map, of: int, column: 'h:p*'}}\n"                                                           \
    "    key: [field: id]\n"

static kw_pick
pick_of(const kw_table *table, const char *name)
{
    kw_pick pick;
    g_assert_true(kw_table_find_pick(table, kw_bytes_of_text(name), &pick));
    return pick;
}

KW_TEST(test_columns, "/schema/map/columns")
{
    g_autoptr(kw_policy) policy = test_policy(TABLE);
    const kw_table *table = kw_policy_table(policy, 0);
    kw_bytes f = KW_BYTES_LITERAL("f"), g = KW_BYTES_LITERAL("g"), d = KW_BYTES_LITERAL("d");
    g_assert_cmpint(kw_table_find_column(table, f, KW_BYTES_LITERAL("x\0y")), ==, 1);
    g_assert_cmpint(kw_table_find_column(table, f, KW_BYTES_LITERAL("x\0")), ==, -1);
    g_assert_cmpint(kw_table_find_column(table, f, KW_BYTES_LITERAL("xy")), ==, -1);
    g_assert_cmpint(kw_table_find_column(table, f, KW_BYTES_LITERAL("xyz")), ==, -1);
    g_assert_cmpint(kw_table_find_column(table, g, KW_BYTES_LITERAL("x\0y")), ==, 2);
    g_assert_cmpint(kw_table_find_column(table, g, KW_BYTES_NONE), ==, -1);
    g_assert_cmpint(kw_table_find_column(table, d, KW_BYTES_LITERAL("own.a")), ==, 3);
    g_assert_cmpint(kw_table_find_column(table, d, KW_BYTES_LITERAL("own")), ==, -1);
}

KW_TEST(test_picks, "/schema/map/picks")
{
    static const char *const none[] = {"", ".", "m.", ".m", "id.x", "z", "z.x", "mm"};
    g_autoptr(kw_policy) policy = test_policy(TABLE);
    g_autoptr(kw_arena) arena = kw_arena_new();
    const kw_table *table = kw_policy_table(policy, 0);
    kw_pick pick = pick_of(table, "m.a.b");
    g_assert_cmpuint(pick.field, ==, 1);
    g_assert_true(kw_bytes_equal(pick.entry, KW_BYTES_LITERAL("a.b")));
    g_assert_true(kw_bytes_equal(kw_pick_qualifier(table, pick, arena), KW_BYTES_LITERAL("x\0a.b")));
    g_assert_cmpstr(kw_pick_text(table, pick, arena), ==, "m.a.b");
    g_assert_cmpint(kw_pick_field(table, pick)->type, ==, KW_FIELD_INT);
    pick = pick_of(table, "all.\xff");
    g_assert_true(kw_bytes_equal(kw_pick_qualifier(table, pick, arena), KW_BYTES_LITERAL("\xff")));
    g_assert_cmpstr(kw_pick_text(table, pick, arena), ==, "all.\\xFF");
    pick = pick_of(table, "one.a");
    g_assert_true(kw_bytes_equal(kw_pick_qualifier(table, pick, arena), KW_BYTES_LITERAL("pa")));
    pick = pick_of(table, "all");
    g_assert_cmpuint(pick.entry.size, ==, 0);
    g_assert_cmpint(kw_pick_field(table, pick)->type, ==, KW_FIELD_MAP);
    for (size_t i = 0; i < G_N_ELEMENTS(none); i++)
        g_assert_false(kw_table_find_pick(table, kw_bytes_of_text(none[i]), &pick));
}

typedef struct map_check {
    const char *field;
    kw_entry entry;
    const char *message; /* NULL: valid */
} map_check;

#define NAME(literal)                                                                                        \
    {                                                                                                        \
        (const uint8_t *)(literal), sizeof(literal) - 1                                                      \
    }

KW_TEST(test_checks, "/schema/map/checks")
{
    static const map_check checks[] = {
        {"m", {NAME("a"), NUMBER(5)}, NULL},
        {"m",
         {NAME("a"), NUMBER(INT64_C(1) << 31)},
         "entry \"a\": table t, field m: value 2147483648 does not fit"},
        {"m",
         {NAME("a"), TEXT("x")},
         "entry \"a\": table t, field m: needs a value of kind number, not text"},
        {"m", {NAME("a"), {.kind = KW_VALUE_MAP}}, "needs a value of kind number, not map"},
        {"m", {NAME("a"), {.kind = KW_VALUE_NONE}}, ", not nothing"},
        {"m", {NAME(""), NUMBER(5)}, "table t, field m: an entry has no name"},
        {"m", {NAME("\xff"), NUMBER(5)}, "the name of an entry is not UTF-8"},
        {"all", {NAME("a"), TEXT("on")}, NULL},
        {"all", {NAME("a"), TEXT("onn")}, "did you mean \"on\"?"},
    };
    g_autoptr(kw_policy) policy = test_policy(TABLE);
    const kw_table *table = kw_policy_table(policy, 0);
    for (size_t i = 0; i < G_N_ELEMENTS(checks); i++) {
        const map_check *it = &checks[i];
        size_t field = pick_of(table, it->field).field;
        kw_value map = {.kind = KW_VALUE_MAP, .entries = &it->entry, .entries_count = 1};
        kw_error error = KW_ERROR_NONE;
        g_assert_cmpint(kw_table_check_value(table, field, map, &error), ==, !it->message);
        if (it->message && !strstr(error.text, it->message))
            g_error("\"%s\" does not say \"%s\"", error.text, it->message);
        if (it->entry.name.size)
            g_assert_cmpint(
                kw_table_check_pick(table, (kw_pick){field, it->entry.name}, it->entry.value, &error), ==,
                !it->message);
    }
}

/* Only a field of type map takes a map, even one without entries, and such a field takes nothing else. */
KW_TEST(test_kinds, "/schema/map/kinds")
{
    g_autoptr(kw_policy) policy = test_policy(TABLE);
    const kw_table *table = kw_policy_table(policy, 0);
    size_t map = pick_of(table, "m").field, id = pick_of(table, "id").field;
    kw_value none = {.kind = KW_VALUE_MAP};
    kw_error error = KW_ERROR_NONE;
    g_assert_true(kw_table_check_value(table, map, none, &error));
    g_assert_false(kw_table_check_value(table, map, test_number(5), &error));
    g_assert_nonnull(strstr(error.text, "field m: needs a value of kind map, not number"));
    g_assert_false(kw_table_check_value(table, id, none, &error));
    g_assert_nonnull(strstr(error.text, "field id: needs a value of kind text, not map"));
    g_assert_true(kw_table_check_value(table, id, test_text("a"), &error));
}

KW_TEST(test_values, "/schema/map/values")
{
    kw_entry entries[] = {{NAME("b"), NUMBER(1)}, {NAME("a"), NUMBER(2)}, {NAME("a\0"), NUMBER(3)}};
    kw_entry more[] = {{NAME("b"), NUMBER(1)}, {NAME("a"), NUMBER(2)}, {NAME("b"), NUMBER(3)}};
    kw_bytes twice;
    g_assert_true(kw_entries_sort(entries, 3, &twice));
    g_assert_cmpint(entries[0].value.number, ==, 2);
    g_assert_cmpint(entries[1].value.number, ==, 3);
    g_assert_true(kw_entries_sort(entries, 0, &twice));
    g_assert_false(kw_entries_sort(more, 3, &twice));
    g_assert_true(kw_bytes_equal(twice, KW_BYTES_LITERAL("b")));
    /* Only the entries of the map are read. */
    kw_entry beyond = {.name = {(const uint8_t *)1, 1}};
    kw_entry sorted[] = {{NAME("a"), NUMBER(1)}, {NAME("b"), NUMBER(2)}, beyond};
    g_assert_true(kw_entries_sort(sorted, 2, &twice) && kw_entries_sort(sorted, 1, &twice));

    g_autoptr(kw_arena) arena = kw_arena_new();
    kw_value map = {.kind = KW_VALUE_MAP, .entries = entries, .entries_count = 3};
    kw_value copy = kw_value_copy(map, arena), shorter = map;
    shorter.entries_count = 2;
    g_assert_true(copy.entries != map.entries && kw_value_equal(copy, map));
    g_assert_cmpint(kw_value_compare(shorter, map), <, 0);
    entries[2].value.number = 0;
    g_assert_cmpint(kw_value_compare(map, copy), <, 0);
}

KW_TEST(test_not_in_keys, "/schema/map/not_in_keys")
{
    static const char *const rules[] = {"{field: m}", "{hash: {of: [id, m]}}, {field: id}",
                                        "{mod: {of: m, buckets: 3}}, {field: id}"};
    for (size_t i = 0; i < G_N_ELEMENTS(rules); i++) {
        g_autofree char *yaml =
            g_strdup_printf("    fields: {id: string, m: {type: map, of: int}}\n    key: [%s]\n", rules[i]);
        g_autofree char *text = test_refused(yaml);
        g_assert_nonnull(strstr(text, "field m is a map, which cannot be part of a row key"));
    }
}
