/* The position of a value among the pieces of a component that keeps order (kw_edge): by brute force over
 * values that a key can hold and values that it cannot hold, such as texts that are too long or numbers that
 * are too large. For each value, every other value is on the side of its edge on which it belongs. */
#include "rule/component.h"
#include "rule/policies.h"

#include <float.h>

typedef struct edge_case {
    const char *type, *settings;
} edge_case;

static const edge_case cases[] = {
    {"int", ""},
    {"int", ", width: 1"},
    {"int", ", width: 2, order: desc"},
    {"int", ", encoding: raw_int, width: 1"},
    {"int", ", encoding: raw_int, width: 2, order: desc"},
    {"int", ", encoding: max_minus, width: 4"},
    {"int", ", encoding: decimal, width: 3"},
    {"int", ", encoding: decimal, width: 3, order: desc"},
    {"int", ", encoding: max_minus_decimal, width: 10"},
    {"int", ", encoding: phoenix, width: 1"},
    {"int", ", encoding: ordered, width: 2"},
    {"int", ", encoding: ordered, width: 3, order: desc"},
    {"timestamp", ", unit: s"},
    {"timestamp", ", unit: s, width: 1, order: desc"},
    {"timestamp", ", unit: s, encoding: max_minus"},
    {"timestamp", ", unit: s, encoding: decimal, width: 1"},
    {"double", ""},
    {"double", ", order: desc"},
    {"double", ", encoding: float"},
    {"double", ", encoding: float, order: desc"},
    {"double", ", encoding: phoenix"},
    {"double", ", encoding: ordered, width: 5"},
    {"double", ", encoding: ordered, width: 9, order: desc"},
    {"bool", ""},
    {"bool", ", order: desc"},
    {"bool", ", encoding: phoenix"},
    {"string", ", encoding: raw"},
    {"string", ", encoding: terminated"},
    {"string", ", encoding: terminated, order: desc"},
    {"string", ", encoding: fixed, width: 2"},
    {"string", ", encoding: fixed, width: 2, order: desc"},
    {"string", ", encoding: digits, width: 2"},
    {"string", ", encoding: digits, width: 2, order: desc"},
    {"string", ", encoding: hex, width: 1"},
    {"string", ", encoding: hex, width: 1, order: desc"},
    {"string", ", encoding: uuid"},
    {"string", ", encoding: uuid, order: desc"},
    {"string", ", encoding: ordered"},
    {"string", ", encoding: ordered, order: desc"},
    {"bytes", ", encoding: raw"},
    {"bytes", ", encoding: fixed, width: 2"},
    {"bytes", ", encoding: fixed, width: 2, order: desc"},
    {"bytes", ", encoding: terminated"},
};

/* --- values ----------------------------------------------------------------------------------------- */

static void
add_number(GArray *values, int64_t number)
{
    kw_value value = test_number(number);
    g_array_append_val(values, value);
}

/* Around zero, around whole seconds, and around the limits of every width. */
static void
add_numbers(GArray *values)
{
    static const int64_t in_second[] = {0, 1, 2, 500, 998, 999};
    for (int64_t second = -3; second <= 3; second++)
        for (size_t i = 0; i < G_N_ELEMENTS(in_second); i++)
            add_number(values, second * 1000 + in_second[i]);
    for (int bits = 3; bits < 63; bits++)
        for (int64_t away = -1; away <= 1; away++) {
            add_number(values, (INT64_C(1) << bits) + away);
            add_number(values, -(INT64_C(1) << bits) + away);
        }
    for (uint64_t power = 10; power <= INT64_MAX; power *= 10)
        for (int64_t away = -1; away <= 1; away++)
            add_number(values, (int64_t)power + away);
    add_number(values, INT64_MIN);
    add_number(values, INT64_MAX);
}

static void
add_real(GArray *values, uint64_t bits)
{
    kw_value value = {.kind = KW_VALUE_REAL};
    memcpy(&value.real, &bits, sizeof bits);
    g_array_append_val(values, value);
}

/* Limits of doubles and floats, with the doubles before and after them, and the NaN that keys hold. */
static void
add_reals(GArray *values)
{
    static const double reals[] = {DBL_MAX, FLT_MAX, 1e300,   16777217, 2,     1.5,
                                   1,       0.1,     FLT_MIN, DBL_MIN,  1e-320};
    for (size_t i = 0; i < G_N_ELEMENTS(reals); i++)
        for (uint64_t away = 0; away <= 2; away++) {
            uint64_t bits;
            memcpy(&bits, &reals[i], sizeof bits);
            add_real(values, bits + away - 1);
            add_real(values, (bits + away - 1) | UINT64_C(1) << 63);
        }
    add_real(values, 0);
    add_real(values, UINT64_C(0x7ff8000000000000));
}

static void
add_text(GArray *values, kw_value_kind kind, const char *text, size_t size, kw_arena *arena)
{
    kw_value value = {.kind = kind, .bytes = kw_arena_copy(arena, kw_bytes_of(text, size))};
    g_array_append_val(values, value);
}

/* Every text of up to three of these characters. */
static void
add_texts(GArray *values, kw_value_kind kind, const char *characters, size_t count, kw_arena *arena)
{
    add_text(values, kind, "", 0, arena);
    for (size_t size = 1, texts = count; size <= 3; size++, texts *= count)
        for (size_t index = 0; index < texts; index++) {
            char text[3];
            for (size_t at = 0, left = index; at < size; at++, left /= count)
                text[at] = characters[left % count];
            add_text(values, kind, text, size, arena);
        }
}

/* Beginnings and continuations of a UUID, and the UUID with another character at one position. */
static void
add_uuids(GArray *values, kw_arena *arena)
{
    static const char uuid[] = "0f9a1bc8-7d60-4e52-a391-f08d246b5c7e", others[] = ",-./05:`afg";
    for (size_t at = 0; at < sizeof uuid - 1; at++) {
        for (const char *other = others; *other; other++) {
            char text[sizeof uuid + 1];
            memcpy(text, uuid, sizeof uuid);
            text[at] = *other;
            add_text(values, KW_VALUE_TEXT, text, at + 1, arena);
            add_text(values, KW_VALUE_TEXT, text, sizeof uuid - 1, arena);
            text[sizeof uuid - 1] = '0';
            add_text(values, KW_VALUE_TEXT, text, sizeof uuid, arena);
        }
    }
}

static GArray *
values_for(const edge_case *it, kw_arena *arena)
{
    static const char in_text[] = "\0/09:`afg", in_bytes[] = "\0\1a\xfe\xff";
    GArray *values = g_array_new(FALSE, FALSE, sizeof(kw_value));
    if (strcmp(it->type, "int") == 0 || strcmp(it->type, "timestamp") == 0)
        add_numbers(values);
    else if (strcmp(it->type, "double") == 0)
        add_reals(values);
    else if (strcmp(it->type, "bool") == 0)
        for (int flag = 0; flag < 2; flag++)
            g_array_append_val(values, ((kw_value){.kind = KW_VALUE_FLAG, .flag = flag}));
    else if (strstr(it->settings, "uuid"))
        add_uuids(values, arena);
    else if (strcmp(it->type, "string") == 0)
        add_texts(values, KW_VALUE_TEXT, in_text, sizeof in_text - 1, arena);
    else
        add_texts(values, KW_VALUE_BYTES, in_bytes, sizeof in_bytes - 1, arena);
    return values;
}

/* --- checks ----------------------------------------------------------------------------------------- */

/* The piece of each value; NULL if the key cannot hold the value. */
static kw_bytes *
pieces_of(const kw_component *component, const GArray *values, kw_arena *arena)
{
    kw_bytes *pieces = KW_ARENA_ARRAY(arena, kw_bytes, values->len);
    kw_buffer out = KW_BUFFER_EMPTY;
    for (guint i = 0; i < values->len; i++) {
        out.size = 0;
        const kw_value *value = &g_array_index(values, kw_value, i);
        bool held = component->kind->encode(component, value, KW_BYTES_NONE, &out, NULL);
        pieces[i] = held ? kw_arena_copy(arena, kw_buffer_bytes(&out)) : KW_BYTES_NONE;
    }
    kw_buffer_clear(&out);
    return pieces;
}

/* The side of the edge on which a piece is: -1 before the value, 1 after it; 0: it stores the value. */
static int
side_of(const kw_component *component, const kw_edge *edge, kw_bytes piece)
{
    int order = kw_bytes_compare(piece, edge->bytes);
    return order ? component->direction * (order > 0 ? 1 : -1) : -edge->side;
}

static void
check_value(const edge_case *it, const kw_component *component, const GArray *values, const kw_bytes *pieces,
            guint at, bool lower)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    kw_value value = g_array_index(values, kw_value, at);
    kw_edge edge;
    bool shared = false; /* with a value beyond the end of the range */
    if (!component->kind->edge(component, value, lower, arena, &edge)) {
        g_assert_nonnull(
            strstr(it->settings, "digits, width: 2, order: desc")); /* accepts only an open end */
        g_assert_cmpuint(pieces[at].size, ==, 0);
        return;
    }
    for (guint i = 0; i < values->len; i++) {
        if (pieces[i].size == 0)
            continue;
        int order = kw_value_compare(g_array_index(values, kw_value, i), value);
        int side = side_of(component, &edge, pieces[i]);
        bool good = side == (order > 0) - (order < 0) || (side == 0 && component->unit > 1);
        if (!good)
            g_error("%s%s: value %u is on side %d of a value that compares %d", it->type, it->settings, i,
                    side, order);
        shared = shared || (side == 0 && (lower ? order < 0 : order > 0));
    }
    if (shared)
        g_assert_true(edge.loose);
    if (component->unit == 1)
        g_assert_false(edge.loose);
}

KW_TEST(test_sides, "/rule/edges/sides")
{
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *yaml =
            g_strdup_printf("    fields: {v: {type: %s, column: 'd:v'}}\n    key: [{field: {name: v%s}}]\n",
                            cases[i].type, cases[i].settings);
        g_autoptr(kw_policy) policy = test_policy_with_hazards(yaml);
        g_autoptr(kw_arena) arena = kw_arena_new();
        const kw_component *component = kw_layout_component(kw_policy_table(policy, 0)->paths[0].layout, 0);
        g_autoptr(GArray) values = values_for(&cases[i], arena);
        const kw_bytes *pieces = pieces_of(component, values, arena);
        g_assert_cmpint(ABS(component->direction), ==, 1);
        for (guint at = 0; at < values->len; at++)
            for (int lower = 0; lower < 2; lower++)
                check_value(&cases[i], component, values, pieces, at, lower);
    }
}
