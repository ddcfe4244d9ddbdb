/* What a pass remembers of the rows that it has scanned. */
#include "reconcile/copy_seen.h"

#include "base/bytes.h"

#include <glib.h>

#define FAMILY KW_BYTES_LITERAL("d")
#define GONE KW_BYTES_LITERAL("\0kw:r")
#define WRITER KW_BYTES_LITERAL("\0kw:w")

static const kw_ordering ordering = {.regime.order = KW_WRITE_ORDER_STAMP,
                                     .family = {.data = (const uint8_t *)"d", .size = 1}};

static kw_cell
cell_of(kw_bytes qualifier, const char *value, int64_t timestamp)
{
    return (kw_cell){
        .family = FAMILY, .qualifier = qualifier, .value = kw_bytes_of_text(value), .timestamp = timestamp};
}

#define CELL(name, value, timestamp) cell_of(KW_BYTES_LITERAL(name), value, timestamp)
#define ROW(...)                                                                                             \
    (&(kw_row){.cells = (kw_cell[]){__VA_ARGS__},                                                            \
               .cells_count = sizeof((kw_cell[]){__VA_ARGS__}) / sizeof(kw_cell)})

static bool
visits(kw_copy_seen *self, kw_copy_seen_use use, const char *key, const kw_row *row)
{
    return kw_copy_seen_must_visit(self, use, &ordering, kw_bytes_of_text(key), row);
}

static bool
is_same(const kw_row *first, const kw_row *second)
{
    kw_copy_seen *self = kw_copy_seen_new();
    g_assert_false(visits(self, KW_COPY_SEEN_ADD, "k", first));
    g_assert_cmpuint(kw_copy_seen_left(self), ==, 1);
    bool same = !visits(self, KW_COPY_SEEN_COMPARE, "k", second);
    g_assert_cmpuint(kw_copy_seen_left(self), ==, same ? 0 : 1);
    kw_copy_seen_note_visited(self, KW_BYTES_LITERAL("k"));
    g_assert_cmpuint(kw_copy_seen_left(self), ==, 0);
    kw_copy_seen_unref(self);
    return same;
}

KW_TEST(test_compare, "/reconcile/copy-seen/compare")
{
    const kw_row *row = ROW(CELL("a", "x", 5), CELL("b", "", 5));
    g_assert_true(is_same(row, ROW(CELL("a", "x", 5), CELL("b", "", 5))));
    g_assert_false(is_same(row, ROW(CELL("a", "y", 5), CELL("b", "", 5))));
    g_assert_false(is_same(row, ROW(CELL("a", "x", 6), CELL("b", "", 5))));
    g_assert_false(is_same(row, ROW(CELL("a", "x", 5), CELL("c", "", 5))));
    g_assert_false(is_same(row, ROW(CELL("a", "x", 5))));
    g_assert_false(is_same(row, ROW(CELL("ax", "", 5), CELL("b", "", 5))));
    g_assert_false(is_same(row, NULL));
}

/* A copy writes kw:w only beside other cells. A gone cell is copied. */
KW_TEST(test_control_cells, "/reconcile/copy-seen/control-cells")
{
    const char *until = "\1\1\1\1\1\1\1\1";
    const kw_row *row = ROW(CELL("a", "x", 5));
    g_assert_true(is_same(row, ROW(cell_of(WRITER, "w", 5), CELL("a", "x", 5))));
    g_assert_false(is_same(row, ROW(cell_of(GONE, until, 5), CELL("a", "x", 5))));
}

KW_TEST(test_left, "/reconcile/copy-seen/left")
{
    const kw_row *row = ROW(CELL("a", "x", 5)), *other = ROW(CELL("a", "y", 6));
    kw_copy_seen *self = kw_copy_seen_new();
    g_assert_true(visits(self, KW_COPY_SEEN_COMPARE, "k", row)); /* was not remembered */
    g_assert_false(visits(self, KW_COPY_SEEN_ADD, "k", row));
    g_assert_false(visits(self, KW_COPY_SEEN_ADD, "l", row));
    g_assert_false(visits(self, KW_COPY_SEEN_ADD, "l", other)); /* a slice was repeated */
    g_assert_cmpuint(kw_copy_seen_left(self), ==, 2);
    g_assert_false(visits(self, KW_COPY_SEEN_COMPARE, "l", other));
    g_assert_true(visits(self, KW_COPY_SEEN_COMPARE, "l", other)); /* only once */
    g_assert_cmpuint(kw_copy_seen_left(self), ==, 1);
    for (int i = 0; i < 2; i++) {
        g_assert_true(visits(self, KW_COPY_SEEN_LEFT, "k", other));
        g_assert_false(visits(self, KW_COPY_SEEN_LEFT, "l", other));
        g_assert_false(visits(self, KW_COPY_SEEN_LEFT, "m", other));
    }
    kw_copy_seen_unref(self);
}

KW_TEST(test_unknown, "/reconcile/copy-seen/unknown")
{
    const kw_row *row = ROW(CELL("a", "x", 5));
    kw_copy_seen *self = kw_copy_seen_new();
    g_assert_true(visits(self, KW_COPY_SEEN_ADD, "k", NULL));
    g_assert_true(visits(self, KW_COPY_SEEN_COMPARE, "k", NULL));
    g_assert_false(visits(self, KW_COPY_SEEN_ADD, "k", row));
    g_assert_true(visits(self, KW_COPY_SEEN_COMPARE, "k", NULL));
    g_assert_true(visits(self, KW_COPY_SEEN_LEFT, "k", row)); /* the visit failed */
    kw_copy_seen_note_visited(self, KW_BYTES_LITERAL("k"));
    g_assert_false(visits(self, KW_COPY_SEEN_LEFT, "k", row));
    g_assert_cmpuint(kw_copy_seen_left(self), ==, 0);
    kw_copy_seen_unref(self);
}

/* When there is no space left, further rows are visited. Those that were remembered stay. */
KW_TEST(test_full, "/reconcile/copy-seen/full")
{
    const kw_row *row = ROW(CELL("a", "x", 5));
    kw_copy_seen *self = kw_copy_seen_new();
    char key[16] = "0";
    uint32_t count = 0;
    for (; !visits(self, KW_COPY_SEEN_ADD, key, row); g_snprintf(key, sizeof key, "%u", count))
        count++;
    g_assert_cmpuint(count, ==, KW_COPY_SEEN_BYTES_MAX / 24 / 4 * 3);
    g_assert_true(visits(self, KW_COPY_SEEN_COMPARE, key, row));
    for (uint32_t i = 0; i < count; i++) {
        g_snprintf(key, sizeof key, "%u", i);
        g_assert_false(visits(self, KW_COPY_SEEN_COMPARE, key, row));
    }
    g_assert_cmpuint(kw_copy_seen_left(self), ==, 0);
    kw_copy_seen_unref(self);
}

static int64_t
memory_charged(void)
{
    return kw_metrics_read(KW_METRIC_memory_rows);
}

/* What is remembered is charged to the memory budget. If the budget does not allow more, rows are visited. */
KW_TEST(test_budget, "/reconcile/copy-seen/budget")
{
    const kw_row *row = ROW(CELL("a", "x", 5));
    int64_t before = memory_charged();
    kw_copy_seen *self = kw_copy_seen_new();
    char key[16] = "0";
    uint32_t count = 0;
    kw_budget_settle();
    kw_budget_configure(kw_budget_used() + 60000); /* allows 2048 places: 49,152 bytes */
    for (; !visits(self, KW_COPY_SEEN_ADD, key, row); g_snprintf(key, sizeof key, "%u", count))
        count++;
    kw_budget_configure(0);
    g_assert_cmpuint(count, ==, 2048 / 4 * 3);
    g_assert_cmpint(memory_charged() - before, ==, 2048 * 24);
    g_assert_false(visits(self, KW_COPY_SEEN_ADD, key, row));
    g_assert_cmpint(memory_charged() - before, ==, 4096 * 24);
    g_assert_cmpuint(kw_copy_seen_left(self), ==, count + 1);
    kw_copy_seen_unref(self);
    g_assert_cmpint(memory_charged() - before, ==, 0);
}
