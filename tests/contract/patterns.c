/* Range scans with key patterns return the rows with matching keys and no others: forward and in reverse, in
 * pages of any size, with and without a filter. The rows have all keys of three letters after a prefix. The
 * seed is printed.
 */
#include "contract/fixture.h"
#include "contract/sync.h"

#define PREFIX "pat"
#define PREFIX_SIZE 3
static const char letters[] = {'\x01', 'a', 'b', '\xff'};
#define LETTERS 4
#define ROWS (LETTERS * LETTERS * LETTERS)

static void
row_of(int number, char *to)
{
    memcpy(to, PREFIX, PREFIX_SIZE);
    for (int i = 0; i < 3; i++, number /= LETTERS)
        to[PREFIX_SIZE + 2 - i] = letters[number % LETTERS];
    to[PREFIX_SIZE + 3] = '\0';
}

static void
put_all(kw_fixture *f)
{
    static const char *const values[] = {"x", "y", "z"};
    for (int number = 0; number < ROWS; number++) {
        char row[PREFIX_SIZE + 4];
        row_of(number, row);
        kw_put(f, row, "d:q", values[number % 3], 1);
        if (number % 5 == 0)
            kw_put(f, row, "v:q", "more", 1);
    }
}

/* Patterns start within the prefix or after it. */
static kw_patterns
draw(kw_arena *arena)
{
    size_t count = (size_t)g_test_rand_int_range(1, 4);
    kw_pattern *items = KW_ARENA_ARRAY(arena, kw_pattern, count);
    kw_patterns drawn = {.items = items, .count = count, .at = (size_t)g_test_rand_int_range(1, 6)};
    for (size_t i = 0; i < count; i++) {
        size_t size = (size_t)g_test_rand_int_range(1, PREFIX_SIZE + 4 - (int)drawn.at);
        uint8_t *bytes = kw_arena_alloc(arena, size), *mask = kw_arena_alloc(arena, size);
        for (size_t k = 0; k < size; k++) {
            bool within = drawn.at + k < PREFIX_SIZE;
            bytes[k] = (uint8_t)(within ? PREFIX[drawn.at + k] : letters[g_test_rand_int_range(0, LETTERS)]);
            mask[k] = (uint8_t)g_test_rand_int_range(0, 2);
        }
        mask[size - 1] = 0;
        items[i] = (kw_pattern){.bytes = kw_bytes_of(bytes, size), .mask = mask};
    }
    return drawn;
}

static char *
expected(const kw_range_scan_spec *spec, bool only_x)
{
    GString *text = g_string_new(NULL);
    for (int i = 0; i < ROWS; i++) {
        int number = spec->reversed ? ROWS - 1 - i : i;
        char row[PREFIX_SIZE + 4];
        row_of(number, row);
        if (!kw_patterns_match(&spec->patterns, B(row)) || (only_x && number % 3 != 0))
            continue;
        kw_cell cells[] = {{.family = B("d"),
                            .qualifier = B("q"),
                            .value = B(number % 3 ? number % 3 == 1 ? "y" : "z" : "x"),
                            .timestamp = 1},
                           {.family = B("v"), .qualifier = B("q"), .value = B("more"), .timestamp = 1}};
        bool more = number % 5 == 0 && !only_x;
        kw_row made = {.key = B(row), .cells = cells, .cells_count = more ? 2 : 1};
        kw_rows rows = {.rows = &made, .count = 1};
        g_autofree char *some = kw_rows_text(&rows);
        g_string_append_printf(text, "%s%s", text->len ? " " : "", some);
    }
    return g_string_free(text, FALSE);
}

static void
rest(kw_fixture *f)
{
    g_usleep(10000);
    kw_expect_row(f, "nothing here", "");
}

static void
wait_for_probes(kw_fixture *f)
{
    int64_t offset_ms;
    for (int i = 0; i < 500 && !kw_store_clock_offset_ms(f->sync.store, &offset_ms); i++)
        rest(f);
    for (int i = 0; i < 10; i++)
        rest(f);
}

static void
test_patterns(kw_fixture *f)
{
    put_all(f);
    wait_for_probes(f); /* from then on, a store can filter in another way */
    for (int round = 0; round < 120; round++) {
        g_autoptr(kw_arena) arena = kw_arena_new();
        bool only_x = g_test_rand_int_range(0, 3) == 0;
        kw_range_scan_spec spec = {.start = B(PREFIX),
                                   .stop = B("pau"),
                                   .reversed = g_test_rand_bit(),
                                   .patterns = draw(arena),
                                   .filter = only_x ? B("ValueFilter (=, 'binary:x')") : KW_BYTES_NONE};
        g_autofree char *text = expected(&spec, only_x);
        kw_expect_range_scan(f, spec, (uint32_t)g_test_rand_int_range(1, ROWS + 2), text);
    }
}

void
kw_contract_add_patterns(void)
{
    kw_fixture_add("range_scans", "patterns", test_patterns);
}
