/* Rows of other programs that cannot be decoded: by default, a scan that reads one fails and names it. With
 * skip_undecodable, every scan returns the same records as without these rows, and counts them. */
#include "desk.h"

#include "contract/simulated_place.h"
#include "rule/layout.h"

#include <stdlib.h>

#define RECORDS 120
#define FOREIGN 90
#define ORDERS 12
#define BUCKETS 16

typedef struct stray {
    const char *table;
    kw_bytes key;
} stray;

typedef struct fixture {
    desk *desk;
    kw_arena *arena;
    stray strays[FOREIGN];
    size_t counts[2]; /* per path: strays that a full scan reads */
} fixture;

static void
written(void *user, kw_outcome outcome, const kw_error *error)
{
    desk *self = user;
    (void)error;
    g_assert_cmpint(outcome, ==, KW_OUTCOME_OK);
    self->done = true;
}

static void
write_row(desk *self, const char *table, kw_bytes key, kw_bytes amount)
{
    kw_cell cell = {.family = KW_BYTES_LITERAL("d"),
                    .qualifier = KW_BYTES_LITERAL("amount"),
                    .value = amount,
                    .timestamp = KW_TIMESTAMP_NONE};
    kw_write write = {.kind = KW_WRITE_PUT,
                      .table = kw_bytes_of_text(table),
                      .row = key,
                      .cells = &cell,
                      .cells_count = 1,
                      .timestamp = KW_TIMESTAMP_NONE,
                      .deadline = KW_DEADLINE_NONE};
    self->done = false;
    kw_store_handle_write(self->handle, &write, written, self);
    desk_wait(self);
}

static const kw_path *
path_of(const fixture *self, size_t path)
{
    return &desk_table(self->desk, "orders")->paths[path];
}

static const char *
text_of(const fixture *self, unsigned i)
{
    return kw_arena_printf(self->arena, "order_id=ord%02u ts=%u city=c%u amount=%u", i % ORDERS,
                           1000 + (i * 37) % 512, i % 3, i % 5);
}

/* A key that resembles one of the path's keys: shorter, longer or with another byte. */
static kw_bytes
stray_key(fixture *self, size_t path, bool *ret_decodable)
{
    kw_record record =
        desk_record(self->desk, "orders", text_of(self, (unsigned)g_test_rand_int_range(0, RECORDS)));
    kw_record decoded = kw_record_new(desk_table(self->desk, "orders"), self->arena);
    g_auto(kw_buffer) good = KW_BUFFER_EMPTY;
    kw_error error;
    g_assert_true(kw_layout_encode(path_of(self, path)->layout, &record, &good, &error));
    uint8_t *bytes = kw_arena_alloc(self->arena, good.size + 1);
    memcpy(bytes, good.data, good.size);
    kw_bytes key = kw_bytes_of(bytes, good.size + 1);
    int change = g_test_rand_int_range(0, 4);
    if (change == 0)
        bytes[good.size] = (uint8_t)g_test_rand_int_range(0, 256);
    else if (change == 1)
        key.size = (size_t)g_test_rand_int_range(1, (int)good.size);
    else
        key.size = good.size,
        bytes[g_test_rand_int_range(0, (int)good.size)] ^= (uint8_t)g_test_rand_int_range(1, 256);
    *ret_decodable = kw_layout_decode(path_of(self, path)->layout, key, self->arena, &decoded, &error);
    return key;
}

static bool
is_known(const fixture *self, size_t count, const stray *one)
{
    for (size_t i = 0; i < count; i++)
        if (self->strays[i].table == one->table && kw_bytes_equal(self->strays[i].key, one->key))
            return true;
    return false;
}

/* Full scans of by_time read the buckets that exist, one byte each. */
static void
add_strays(fixture *self)
{
    static const char *const tables[] = {"orders", "orders_by_time"};
    for (size_t count = 0; count < FOREIGN;) {
        size_t path = count % 2;
        bool decodable;
        stray one = {.table = tables[path], .key = stray_key(self, path, &decodable)};
        if (decodable || is_known(self, count, &one))
            continue;
        self->strays[count++] = one;
        self->counts[path] += path == 0 || one.key.data[0] < BUCKETS;
        write_row(self->desk, one.table, one.key, KW_BYTES_LITERAL("12345678"));
    }
}

static void
set_up(fixture *self, kw_store *store)
{
    *self = (fixture){.desk = desk_new_over(store, desk_policy), .arena = kw_arena_new()};
    desk_create(self->desk, "orders");
    for (unsigned i = 0; i < RECORDS; i++) {
        g_assert_cmpint(desk_put(self->desk, "orders", text_of(self, i))->outcome, ==, KW_OUTCOME_OK);
        desk_clear(self->desk);
    }
}

static void
tear_down(fixture *self)
{
    desk_free(self->desk);
    kw_arena_free(self->arena);
}

static const char *const queries[] = {
    "orders path=primary full",
    "orders path=primary full limit=37",
    "orders path=by_time full",
    "orders path=by_time full order=desc",
    "orders path=by_time full order=desc limit=50",
    "orders path=by_time ts=1100..1300",
    "orders path=by_time ts=1100..1300 order=desc limit=9",
    "orders order_id=ord03",
    "orders order_id=ord03 order=asc limit=4",
    "orders order_id=ord05|ord01|nobody ts=1000..1300",
    "orders path=by_time full city=c1",
    "orders order_id=ord04 city=c1 columns=amount",
};

static void
check(kw_store *store)
{
    fixture self;
    char *before[G_N_ELEMENTS(queries)];
    set_up(&self, store);
    for (size_t i = 0; i < G_N_ELEMENTS(queries); i++) {
        before[i] = desk_scan_all(self.desk, queries[i]);
        g_assert_cmpuint(strlen(before[i]), >, 20);
        desk_clear(self.desk);
    }
    add_strays(&self);
    for (size_t i = 0; i < G_N_ELEMENTS(queries); i++) {
        for (unsigned page = 1; page < 300; page = page * 3 + 1) {
            g_autofree char *query = g_strdup_printf("%s page=%u skip", queries[i], page);
            g_autofree char *rows = desk_scan_all(self.desk, query);
            g_assert_cmpstr(rows, ==, before[i]);
            if (strstr(queries[i], "full") && !strstr(queries[i], "limit") && !strstr(queries[i], "city"))
                g_assert_cmpuint(self.desk->undecodable, ==,
                                 self.counts[strstr(queries[i], "by_time") != NULL]);
            desk_clear(self.desk);
        }
        g_free(before[i]);
    }
    tear_down(&self);
}

KW_TEST(test_in_memory, "/verb/undecodable/in_memory")
{
    check(kw_memory_store_open());
}

KW_TEST(test_on_simulated_hbase, "/verb/undecodable/on_simulated_hbase")
{
    check(kw_simulated_place_open());
}

/* --- one page -------------------------------------------------------------------------------------- */

/* Rows before all records. */
static void
add_marks(fixture *self, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        g_autofree char *key = g_strdup_printf("#stray%04u", i);
        write_row(self->desk, "orders", kw_bytes_of_text(key), KW_BYTES_LITERAL("12345678"));
    }
}

KW_TEST(test_default, "/verb/undecodable/default")
{
    fixture self;
    set_up(&self, kw_memory_store_open());
    add_marks(&self, 1);
    g_assert_false(desk_scan(self.desk, "orders path=primary full"));
    g_assert_cmpint(self.desk->error.code, ==, KW_CORRUPT);
    g_assert_nonnull(strstr(self.desk->error.text, "table orders, path primary, row #stray0000: "));
    g_assert_nonnull(strstr(self.desk->error.text, "--skip-undecodable"));
    tear_down(&self);
}

/* Many rows to skip end a page, which has a cursor, so that the work of a page is bounded. */
KW_TEST(test_page_of_skipped_rows, "/verb/undecodable/page_of_skipped_rows")
{
    fixture self;
    set_up(&self, kw_memory_store_open());
    add_marks(&self, 1000);
    g_assert_true(desk_scan(self.desk, "orders path=primary full page=100 skip"));
    g_assert_cmpuint(self.desk->page.count, ==, 0);
    unsigned pages = 1, rows = 0, skipped = 100;
    while (self.desk->page.cursor.size) {
        kw_bytes cursor = kw_arena_copy(self.arena, self.desk->page.cursor);
        g_assert_true(desk_next(self.desk, cursor));
        g_assert_cmpuint(self.desk->page.count + self.desk->page.undecodable, <=, 100);
        rows += (unsigned)self.desk->page.count;
        skipped += (unsigned)self.desk->page.undecodable;
        pages++;
    }
    g_assert_cmpuint(pages, ==, 12);
    g_assert_cmpuint(rows, ==, RECORDS);
    g_assert_cmpuint(skipped, ==, 1000);
    tear_down(&self);
}

/* A caller that waits for a row, as latest does, gets the row, however many rows are skipped before it. */
KW_TEST(test_waits_for_a_row, "/verb/undecodable/waits_for_a_row")
{
    fixture self;
    set_up(&self, kw_memory_store_open());
    add_marks(&self, 300);
    g_assert_true(desk_scan(self.desk, "orders path=primary full limit=1 page=10 skip wait"));
    g_assert_cmpuint(self.desk->page.count, ==, 1);
    g_assert_cmpuint(self.desk->page.undecodable, ==, 300);
    tear_down(&self);
}

KW_TEST(test_value, "/verb/undecodable/value")
{
    fixture self;
    g_auto(kw_buffer) key = KW_BUFFER_EMPTY;
    kw_error error;
    set_up(&self, kw_memory_store_open());
    kw_record record = desk_record(self.desk, "orders", "order_id=ord99 ts=5");
    g_assert_true(kw_layout_encode(path_of(&self, 0)->layout, &record, &key, &error));
    write_row(self.desk, "orders", kw_buffer_bytes(&key), KW_BYTES_LITERAL("123"));
    g_assert_false(desk_scan(self.desk, "orders order_id=ord99"));
    g_assert_nonnull(strstr(self.desk->error.text, "amount"));
    g_assert_nonnull(strstr(self.desk->error.text, "--skip-undecodable"));
    g_assert_true(desk_scan(self.desk, "orders order_id=ord99 skip"));
    g_assert_cmpuint(self.desk->page.count, ==, 0);
    g_assert_cmpuint(self.desk->page.undecodable, ==, 1);
    g_assert_true(desk_scan(self.desk, "orders order_id=ord99 columns=city")); /* does not read the value */
    g_assert_cmpuint(self.desk->page.count, ==, 1);
    tear_down(&self);
}
