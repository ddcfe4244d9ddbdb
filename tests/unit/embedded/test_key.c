/* Keys sort by their parts, and can be parsed into these parts. */
#include "store/embedded/key.h"
#include "support/seeded.h"

#include <glib.h>

/* Uses few different bytes, so that equal prefixes, zeros and ends are frequent. */
static kw_bytes
random_bytes(uint8_t *to, size_t most)
{
    static const uint8_t bytes[] = {0, 0, 1, 'a', 0xfe, 0xff, 0xff};
    size_t size = (size_t)g_test_rand_int_range(0, (gint32)most + 1);
    for (size_t i = 0; i < size; i++)
        to[i] = bytes[g_test_rand_int_range(0, G_N_ELEMENTS(bytes))];
    return kw_bytes_of(to, size);
}

static void
test_escape_round_trip(void)
{
    kw_buffer escaped = KW_BUFFER_EMPTY;
    for (int i = 0; i < 5000; i++) {
        uint8_t raw[40], back[40];
        kw_bytes bytes = random_bytes(raw, sizeof raw);
        escaped.size = 0;
        kw_key_escape(&escaped, bytes);
        kw_bytes inner = kw_bytes_of(escaped.data, escaped.size - 2);
        g_assert_cmpuint(kw_key_unescaped_size(inner), ==, bytes.size);
        kw_key_unescape(back, inner);
        g_assert_true(kw_bytes_equal(kw_bytes_of(back, bytes.size), bytes));
    }
    kw_buffer_clear(&escaped);
}

typedef struct random_key {
    uint32_t table;
    uint8_t row_bytes[6], qualifier_bytes[4];
    kw_bytes row, qualifier;
    unsigned family;
    bool marker;
    int64_t timestamp;
    kw_key_kind kind;
    kw_buffer key;
} random_key;

static void
fill_random(random_key *key)
{
    key->table = (uint32_t)g_test_rand_int_range(1, 3);
    key->row = random_bytes(key->row_bytes, sizeof key->row_bytes);
    key->family = (unsigned)g_test_rand_int_range(0, 3);
    key->marker = g_test_rand_int_range(0, 3) == 0;
    key->qualifier =
        key->marker ? KW_BYTES_NONE : random_bytes(key->qualifier_bytes, sizeof key->qualifier_bytes);
    key->timestamp = g_test_rand_int_range(0, 3) ? g_test_rand_int_range(0, 4) : INT64_MAX - 1;
    key->kind = !key->marker && g_test_rand_bit() ? KW_KEY_DELETE : KW_KEY_PUT;
    key->key.size = 0;
    kw_key_row(&key->key, key->table, key->row);
    if (key->marker)
        kw_key_family_marker(&key->key, key->family, key->timestamp);
    else
        kw_key_column(&key->key, key->family, key->qualifier, key->timestamp, key->kind);
}

#define FIRST_DIFFERENCE(a, b)                                                                               \
    if ((a) != (b))                                                                                          \
        return (a) < (b) ? -1 : 1;

/* The order that key.h promises, computed from the parts. */
static int
compare_parts(const random_key *a, const random_key *b)
{
    FIRST_DIFFERENCE(a->table, b->table)
    FIRST_DIFFERENCE(kw_bytes_compare(a->row, b->row), 0)
    FIRST_DIFFERENCE(a->family, b->family)
    FIRST_DIFFERENCE(b->marker, a->marker)
    FIRST_DIFFERENCE(kw_bytes_compare(a->qualifier, b->qualifier), 0)
    FIRST_DIFFERENCE(b->timestamp, a->timestamp)
    FIRST_DIFFERENCE(a->kind, b->kind)
    return 0;
}

static int
sign(int order)
{
    return (order > 0) - (order < 0);
}

static void
test_order(void)
{
    random_key a = {0}, b = {0};
    for (int i = 0; i < 200000; i++) {
        fill_random(&a);
        fill_random(&b);
        int order = kw_bytes_compare(kw_buffer_bytes(&a.key), kw_buffer_bytes(&b.key));
        g_assert_cmpint(sign(order), ==, compare_parts(&a, &b));
    }
    kw_buffer_clear(&a.key);
    kw_buffer_clear(&b.key);
}

static void
test_parse(void)
{
    random_key key = {0};
    for (int i = 0; i < 20000; i++) {
        fill_random(&key);
        kw_bytes whole = kw_buffer_bytes(&key.key);
        size_t row_size = kw_key_row_size(whole);
        g_assert_cmpuint(row_size, >, 0);
        uint8_t back[8];
        kw_bytes escaped = kw_key_row_escaped(kw_bytes_of(whole.data, row_size));
        g_assert_cmpuint(kw_key_unescaped_size(escaped), ==, key.row.size);
        kw_key_unescape(back, escaped);
        g_assert_true(kw_bytes_equal(kw_bytes_of(back, key.row.size), key.row));
        kw_key_cell cell;
        g_assert_true(kw_key_parse(kw_bytes_skip(whole, row_size), &cell));
        g_assert_cmpuint(cell.family, ==, key.family);
        g_assert_cmpint(cell.family_marker, ==, key.marker);
        g_assert_cmpint(cell.timestamp, ==, key.timestamp);
        if (!key.marker) {
            g_assert_cmpint(cell.kind, ==, key.kind);
            g_assert_cmpuint(kw_key_unescaped_size(cell.qualifier), ==, key.qualifier.size);
        }
    }
    kw_buffer_clear(&key.key);
}

/* All keys of a row, and of no other row, are between its prefix and the key from kw_key_row_after. */
static void
test_row_is_a_range(void)
{
    random_key key = {0}, other = {0};
    for (int i = 0; i < 50000; i++) {
        fill_random(&key);
        fill_random(&other);
        size_t size = kw_key_row_size(kw_buffer_bytes(&key.key));
        uint8_t after[32];
        g_assert_cmpuint(size, <=, sizeof after);
        memcpy(after, key.key.data, size);
        kw_bytes start = kw_bytes_of(key.key.data, size), stop = kw_bytes_of(after, size);
        kw_key_row_after(after, size);
        bool inside = kw_bytes_compare(kw_buffer_bytes(&other.key), start) >= 0 &&
                      kw_bytes_compare(kw_buffer_bytes(&other.key), stop) < 0;
        g_assert_cmpint(inside, ==, key.table == other.table && kw_bytes_equal(key.row, other.row));
    }
    kw_buffer_clear(&key.key);
    kw_buffer_clear(&other.key);
}

static void
test_malformed_keys(void)
{
    static const kw_bytes malformed[] = {KW_BYTES_LITERAL(""),
                                         KW_BYTES_LITERAL("\0\0\0\0"),
                                         KW_BYTES_LITERAL("\0\0\0\0n"),
                                         KW_BYTES_LITERAL("\0\0\0\1abc"),
                                         KW_BYTES_LITERAL("\0\0\0\1abc\0"),
                                         KW_BYTES_LITERAL("\0\0\0\1abc\0\xff"),
                                         KW_BYTES_LITERAL("\0\0\0\1\0\xff\0")};
    for (size_t i = 0; i < G_N_ELEMENTS(malformed); i++)
        g_assert_cmpuint(kw_key_row_size(malformed[i]), ==, 0);
    kw_key_cell cell;
    g_assert_false(kw_key_parse(KW_BYTES_LITERAL(""), &cell));
    g_assert_false(kw_key_parse(KW_BYTES_LITERAL("\0\0\0\0\0\0\0\0"), &cell));
    g_assert_false(kw_key_parse(KW_BYTES_LITERAL("\0\0\0\0\0\0\0\0\0\0"), &cell));
    g_assert_false(kw_key_parse(KW_BYTES_LITERAL("\1\0\0\0\0\0\0\0\0\0\0"), &cell));
}

int
main(int argc, char **argv)
{
    seeded_init(&argc, &argv);
    g_test_add_func("/key/escape_round_trip", test_escape_round_trip);
    g_test_add_func("/key/order", test_order);
    g_test_add_func("/key/parse", test_parse);
    g_test_add_func("/key/row_is_a_range", test_row_is_a_range);
    g_test_add_func("/key/malformed_keys", test_malformed_keys);
    return g_test_run();
}
