/* Lookups in a policy and its tables, checks of values, and cell values in each form. */
#include "rule/policies.h"
#include "rule/values.h"

#include "config/reader.h"

#include <errno.h>
#include <math.h>

#define TABLE                                                                                                \
    "    fields:\n      id: {type: string, max_bytes: 4}\n      n: int\n      small: {type: int, form: "     \
    "raw4}\n"                                                                                                \
    "      text: {type: int, form: text}\n      flag: bool\n      shown: {type: bool, form: text}\n"         \
    "      real: double\n      written: {type: double, form: text}\n      raw: bytes\n"                      \
    "      state: {type: string, values: [open, closed]}\n      float: {type: double, form: raw4}\n"         \
    "      bigint: {type: int, form: phoenix}\n      integer: {type: timestamp, form: phoenix4}\n"           \
    "      pdouble: {type: double, form: phoenix}\n      pfloat: {type: double, form: phoenix4}\n"           \
    "      pbool: {type: bool, form: phoenix}\n      varchar: {type: string, form: phoenix}\n"               \
    "    key:\n      - field: id\n"

static int
field_of(const kw_table *table, const char *name)
{
    int field = kw_table_find_field(table, kw_bytes_of_text(name));
    g_assert_cmpint(field, >=, 0);
    return field;
}

/* Shows one table. */
static bool
is_shown(const kw_table *table, const void *name)
{
    return strcmp(table->name, name) == 0;
}

KW_TEST(test_lookups, "/schema/table/lookups")
{
    static const char text[] = "tables:\n  orders: {fields: {id: string}, key: [field: id]}\n"
                               "  events: {fields: {id: string}, key: [field: id]}\n"
                               "  zebra: {fields: {id: string}, key: [field: id]}\n";
    g_autoptr(kw_diagnostics) diagnostics = kw_diagnostics_new("test");
    size_t count;
    const kw_component_schema *const *schemas = kw_rule_schemas(&count);
    g_autoptr(kw_model) model = kw_model_read_text("test", text, strlen(text), schemas, count, diagnostics);
    g_autoptr(kw_policy) policy = kw_policy_new(model, diagnostics);
    g_assert_cmpuint(kw_policy_table_count(policy), ==, 3);
    g_assert_true(kw_policy_model(policy) == model);
    for (size_t index = 0; index < 3; index++) {
        const kw_table *table = kw_policy_table(policy, index);
        g_assert_true(kw_policy_find_table(policy, kw_bytes_of_text(table->name)) == table);
        g_assert_cmpuint(table->number, ==, index);
    }
    g_assert_null(kw_policy_find_table(policy, KW_BYTES_LITERAL("order")));
    g_assert_null(kw_policy_find_table(policy, KW_BYTES_LITERAL("")));
    g_assert_cmpstr(kw_policy_nearest_table(policy, KW_BYTES_LITERAL("event"), is_shown, "events"), ==,
                    "events");
    g_assert_null(kw_policy_nearest_table(policy, KW_BYTES_LITERAL("qqqqqqqq"), is_shown, "events"));
    g_assert_null(kw_policy_nearest_table(policy, KW_BYTES_LITERAL("event"), is_shown, "others"));
    const kw_table *table = kw_policy_table(policy, 0);
    g_assert_cmpint(kw_table_find_path(table, KW_BYTES_LITERAL("primary")), ==, 0);
    g_assert_cmpint(kw_table_find_path(table, KW_BYTES_LITERAL("other")), ==, -1);
    g_assert_cmpint(kw_table_find_field(table, KW_BYTES_LITERAL("i")), ==, -1);
    g_assert_cmpint(kw_table_find_field(table, KW_BYTES_LITERAL("idx")), ==, -1);
    g_assert_cmpint(kw_table_find_field(table, KW_BYTES_NONE), ==, -1);
    g_assert_cmpint(kw_table_find_field(table, KW_BYTES_LITERAL("id\0and more")), ==, -1);
    g_assert_cmpstr(kw_table_nearest_field(table, KW_BYTES_LITERAL("iD")), ==, "id");
    kw_policy_set_loaded_at_ms(policy, 77);
    kw_policy_set_version(policy, 5);
    g_assert_cmpint(kw_policy_loaded_at_ms(policy), ==, 77);
    g_assert_cmpint(kw_policy_version(policy), ==, 5);
    kw_policy_unref(kw_policy_ref(policy));
}

static kw_model *
model_of(const char *text, kw_diagnostics *diagnostics)
{
    size_t count;
    const kw_component_schema *const *schemas = kw_rule_schemas(&count);
    return kw_model_read_text("test", text, strlen(text), schemas, count, diagnostics);
}

/* A check returns a good policy, and reports the problems of every table of a bad one. */
KW_TEST(test_check, "/schema/table/check")
{
    static const char good[] = "tables:\n  b: {fields: {id: string}, key: [field: id]}\n"
                               "  a: {fields: {id: string}, key: [field: id]}\n";
    static const char bad[] = "tables:\n  b: {fields: {id: string}, key: [field: other]}\n"
                              "  a: {fields: {id: string}, key: [field: another]}\n";
    g_autoptr(kw_diagnostics) none = kw_diagnostics_new("test"), two = kw_diagnostics_new("test");
    g_autoptr(kw_model) model = model_of(good, none), bad_model = model_of(bad, two);
    g_autoptr(kw_policy) policy = kw_policy_check(model, none);
    g_assert_cmpuint(kw_diagnostics_count(none), ==, 0);
    g_assert_cmpuint(kw_policy_table_count(policy), ==, 2);
    g_assert_nonnull(kw_policy_find_table(policy, KW_BYTES_LITERAL("b")));
    g_assert_null(kw_policy_check(bad_model, two));
    g_assert_cmpuint(kw_diagnostics_count(two), ==, 2);
}

static bool
count_down(void *user, size_t bytes)
{
    unsigned *left = user;
    (void)bytes;
    return (*left)-- > 0;
}

/* Work that is ended between any two steps has no result and reports no problem. */
KW_TEST(test_ended_work, "/schema/table/ended-work")
{
    static const char text[] = "tables:\n  b: {fields: {id: string}, key: [field: id]}\n"
                               "  a: {fields: {id: string}, key: [hash: id, field: id]}\n"
                               "  c: {fields: {id: string}, key: [field: id]}\n";
    static kw_policy *(*const makers[])(kw_model *, kw_diagnostics *) = {kw_policy_new, kw_policy_check};
    for (size_t i = 0; i < G_N_ELEMENTS(makers); i++)
        for (unsigned steps = 0;; steps++) {
            g_autoptr(kw_diagnostics) diagnostics = kw_diagnostics_new("test");
            g_autoptr(kw_model) model = model_of(text, diagnostics);
            unsigned left = steps;
            kw_diagnostics_watch(diagnostics, count_down, &left);
            g_autoptr(kw_policy) policy = makers[i](model, diagnostics);
            g_assert_cmpuint(kw_diagnostics_count(diagnostics), ==, 0);
            if (policy) {
                g_assert_cmpuint(steps, >=, 2 * kw_policy_table_count(policy));
                break;
            }
        }
}

/* A policy is shared while there is more than one reference to it. */
KW_TEST(test_references, "/schema/table/references")
{
    g_autoptr(kw_policy) policy = test_policy(TABLE);
    g_assert_false(kw_policy_is_shared(policy));
    kw_policy *second = kw_policy_ref(policy);
    g_assert_true(kw_policy_is_shared(policy));
    kw_policy_unref(second);
    g_assert_false(kw_policy_is_shared(policy));
    kw_policy_unref(NULL);
}

typedef struct kw_test_check {
    const char *field;
    kw_value value;
    const char *message; /* NULL: valid */
} kw_test_check;

static const kw_test_check checks[] = {
    {"id", TEXT("abcd"), NULL},
    {"id", TEXT("abcde"), "table t, field id: has 5 bytes; the maximum is 4"},
    {"id", TEXT("a\xff"), "table t, field id: is not UTF-8"},
    {"id", TEXT("a\0b"), NULL},
    {"id", TEXT("\0\xff"), "is not UTF-8"},
    {"id", BYTES("a"), "table t, field id: needs a value of kind text, not bytes"},
    {"id", NUMBER(1), "needs a value of kind text, not number"},
    {"id", {.kind = KW_VALUE_NONE}, ", not nothing"},
    {"n", NUMBER(INT64_MIN), NULL},
    {"n", {.kind = KW_VALUE_REAL, .real = 1}, "needs a value of kind number, not real"},
    {"small", NUMBER(INT32_MIN), NULL},
    {"small", NUMBER(INT64_C(2147483648)), "value 2147483648 does not fit into its column's 4 bytes"},
    {"integer", NUMBER(INT32_MIN), NULL},
    {"integer", NUMBER(INT64_C(-2147483649)), "value -2147483649 does not fit into its column's 4 bytes"},
    {"bigint", NUMBER(INT64_MIN), NULL},
    {"float", {.kind = KW_VALUE_REAL, .real = 1e39}, "does not fit into its column's 4 bytes"},
    {"pfloat", {.kind = KW_VALUE_REAL, .real = -1e39}, "does not fit into its column's 4 bytes"},
    {"pfloat", {.kind = KW_VALUE_REAL, .real = 0.1}, NULL},
    {"real", NUMBER(1), NULL},
    {"real", {.kind = KW_VALUE_REAL, .real = 1.5}, NULL},
    {"flag", {.kind = KW_VALUE_FLAG, .flag = true}, NULL},
    {"flag", NUMBER(1), "needs a value of kind flag, not number"},
    {"raw", BYTES("\xff\0"), NULL},
    {"state", TEXT("open"), NULL},
    {"state", TEXT("opne"), "value \"opne\" is not a declared value; did you mean \"open\"?"},
    /* at most 79 bytes of the value are shown */
    {"state", TEXT("aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffgggggggggghhhhhhhhhh"),
     "value \"aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffgggggggggghhh...\" is not"},
    {"state", TEXT("lost"), "value \"lost\" is not a declared value; use one of open, closed"},
};

KW_TEST(test_checks, "/schema/table/checks")
{
    g_autoptr(kw_policy) policy = test_policy(TABLE);
    const kw_table *table = kw_policy_table(policy, 0);
    for (size_t index = 0; index < G_N_ELEMENTS(checks); index++) {
        const kw_test_check *it = &checks[index];
        kw_error error = KW_ERROR_NONE;
        bool good = kw_table_check_value(table, (size_t)field_of(table, it->field), it->value, &error);
        g_assert_true(good == !it->message);
        if (it->message && !strstr(error.text, it->message))
            g_error("\"%s\" does not say \"%s\"", error.text, it->message);
    }
}

typedef struct kw_test_cell {
    const char *field;
    kw_value value;
    const char *cell; /* hex */
} kw_test_cell;

static const kw_test_cell cells[] = {
    {"n", NUMBER(-2), "fffffffffffffffe"},
    {"small", NUMBER(-2), "fffffffe"},
    {"text", NUMBER(-2), "2d32"},
    {"text", NUMBER(INT64_MIN), "2d39323233333732303336383534373735383038"},
    {"flag", {.kind = KW_VALUE_FLAG, .flag = true}, "ff"},
    {"flag", {.kind = KW_VALUE_FLAG, .flag = false}, "00"},
    {"shown", {.kind = KW_VALUE_FLAG, .flag = true}, "74727565"},
    {"shown", {.kind = KW_VALUE_FLAG, .flag = false}, "66616c7365"},
    {"real", {.kind = KW_VALUE_REAL, .real = 1.5}, "3ff8000000000000"},
    {"written", {.kind = KW_VALUE_REAL, .real = 0.1}, "302e31"},
    {"written", {.kind = KW_VALUE_REAL, .real = -2}, "2d32"},
    {"written", {.kind = KW_VALUE_REAL, .real = 1e23}, "31652b3233"}, /* not 9.999999999999999e+22 */
    {"written",
     {.kind = KW_VALUE_REAL, .real = 0.7999999999999999}, /* 16 digits */
     "302e37393939393939393939393939393939"},
    {"written",
     {.kind = KW_VALUE_REAL, .real = 0.30000000000000004}, /* 17 digits */
     "302e3330303030303030303030303030303034"},
    {"id", TEXT("ab"), "6162"},
    {"raw", BYTES(""), ""},
    {"float", {.kind = KW_VALUE_REAL, .real = -2.5}, "c0200000"},
    {"float", {.kind = KW_VALUE_REAL, .real = INFINITY}, "7f800000"},
    /* Phoenix's forms, as its own classes write them */
    {"bigint", NUMBER(0), "8000000000000000"},
    {"bigint", NUMBER(-7), "7ffffffffffffff9"},
    {"bigint", NUMBER(INT64_MAX), "ffffffffffffffff"},
    {"integer", NUMBER(-7), "7ffffff9"},
    {"integer", NUMBER(INT32_MAX), "ffffffff"},
    {"pdouble", {.kind = KW_VALUE_REAL, .real = -2.5}, "3ffc000000000000"},
    {"pdouble", {.kind = KW_VALUE_REAL, .real = 0}, "8000000000000001"},
    {"pdouble", {.kind = KW_VALUE_REAL, .real = 1.5}, "bff8000000000001"},
    {"pfloat", {.kind = KW_VALUE_REAL, .real = -2.5}, "3fe00000"},
    {"pfloat", {.kind = KW_VALUE_REAL, .real = 0.5}, "bf000001"},
    {"pbool", {.kind = KW_VALUE_FLAG, .flag = true}, "01"},
    {"pbool", {.kind = KW_VALUE_FLAG, .flag = false}, "00"},
    {"varchar", TEXT("ab"), "6162"},
};

KW_TEST(test_cells, "/schema/table/cells")
{
    g_autoptr(kw_policy) policy = test_policy(TABLE);
    g_autoptr(kw_arena) arena = kw_arena_new();
    const kw_table *table = kw_policy_table(policy, 0);
    for (size_t index = 0; index < G_N_ELEMENTS(cells); index++) {
        const kw_field *field = &table->fields[field_of(table, cells[index].field)];
        kw_bytes cell = kw_field_encode_cell(field, cells[index].value, arena);
        g_autofree char *hex = test_hex(cell);
        g_assert_cmpstr(hex, ==, cells[index].cell);
        kw_value back;
        kw_error error = KW_ERROR_NONE;
        errno = ERANGE; /* of an earlier call */
        bool done = kw_field_decode_cell(table, field, cell, arena, &back, &error);
        g_assert_cmpstr(error.text, ==, "");
        g_assert_true(done && kw_value_equal(back, cells[index].value));
    }
    kw_bytes whole = kw_field_encode_cell(&table->fields[field_of(table, "real")], test_number(3), arena);
    g_assert_cmpuint(kw_be64_load(whole.data), ==, 0x4008000000000000);
}

/* Bytes that encode no value. */
KW_TEST(test_bad_cells, "/schema/table/bad_cells")
{
    static const struct {
        const char *field;
        kw_bytes cell;
    } bad[] = {
        {"n", {(const uint8_t *)"1234567", 7}},
        {"small", {(const uint8_t *)"12345678", 8}},
        {"text", {(const uint8_t *)"12x", 3}},
        {"text", {(const uint8_t *)" 1", 2}},
        {"text", {NULL, 0}},
        {"text", {(const uint8_t *)"9223372036854775808", 19}},
        {"flag", {NULL, 0}},
        {"integer", {(const uint8_t *)"12345678", 8}},
        {"bigint", {(const uint8_t *)"1234", 4}},
        {"pfloat", {(const uint8_t *)"12345678", 8}},
        {"float", {(const uint8_t *)"12", 2}},
        {"pbool", {(const uint8_t *)"\x01\x01", 2}},
        {"flag", {(const uint8_t *)"ab", 2}},
        {"shown", {(const uint8_t *)"yes", 3}},
        {"real", {(const uint8_t *)"1", 1}},
        {"written", {(const uint8_t *)"1,5", 3}},
        {"id", {(const uint8_t *)"\xc3", 1}},
        {"written", {(const uint8_t *)"1.0000000000000000000000000000000000000000", 42}},
    };
    g_autoptr(kw_policy) policy = test_policy(TABLE);
    g_autoptr(kw_arena) arena = kw_arena_new();
    const kw_table *table = kw_policy_table(policy, 0);
    for (size_t index = 0; index < G_N_ELEMENTS(bad); index++) {
        kw_value value;
        kw_error error = KW_ERROR_NONE;
        const kw_field *field = &table->fields[field_of(table, bad[index].field)];
        g_assert_false(kw_field_decode_cell(table, field, bad[index].cell, arena, &value, &error));
        g_assert_cmpint(error.code, ==, KW_CORRUPT);
        g_assert_nonnull(strstr(error.text, field->name));
    }
}

/* A field outside the key has a column of its own name unless another one is given. Phoenix has one NaN. */
KW_TEST(test_default_columns, "/schema/table/default-columns")
{
    g_autoptr(kw_policy) policy = test_policy(TABLE);
    g_autoptr(kw_arena) arena = kw_arena_new();
    const kw_table *table = kw_policy_table(policy, 0);
    const kw_field *id = &table->fields[field_of(table, "id")], *n = &table->fields[field_of(table, "n")];
    g_assert_false(id->stored);
    g_assert_true(n->stored);
    g_assert_true(kw_bytes_equal(n->family, table->default_family));
    g_assert_true(kw_bytes_equal(n->qualifier, KW_BYTES_LITERAL("n")));
    kw_value nan = {.kind = KW_VALUE_REAL, .real = -__builtin_nan("")};
    static const struct {
        const char *field, *cell;
    } cases[] = {{"pfloat", "ffc00001"}, {"pdouble", "fff8000000000001"}};
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        const kw_field *field = &table->fields[field_of(table, cases[i].field)];
        g_autofree char *cell = test_hex(kw_field_encode_cell(field, nan, arena));
        g_assert_cmpstr(cell, ==, cases[i].cell);
    }
}

/* Two paths in one store table, or two fields in one column, would mix. */
KW_TEST(test_collisions, "/schema/table/collisions")
{
    g_autofree char *tables =
        test_refused("    fields: {id: string}\n    key: [field: id]\n    store_table: x\n"
                     "    paths:\n      more: {key: [field: id], store_table: x}\n");
    g_assert_nonnull(strstr(tables, "x"));
    g_autofree char *columns = test_refused("    fields: {id: string, a: {type: int, column: \"d:c\"}, "
                                            "b: {type: int, column: \"d:c\"}}\n    key: [field: id]\n");
    g_assert_nonnull(strstr(columns, "d:c"));
}
