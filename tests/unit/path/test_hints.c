/* Puts on tables with hint paths: which hints they write, that a row is written only after its hints, and
 * what is refused. The shared store is store/order over a memory store. */
#include "hint/program.h"
#include "path/hint_cleaner.h"
#include "store/order/order.h"

#include "../verb/desk.h"

static const char policy[] =
    "store: {kind: embedded}\n"
    "tables:\n"
    "  orders:\n"
    "    fields: {id: string, seller: string, status: string, n: int}\n"
    "    key: [field: id]\n"
    "    paths:\n"
    "      by_seller: {key: [{field: {name: seller, encoding: terminated}}, field: id]}\n"
    "      by_status: {key: [{field: {name: status, encoding: terminated}}, {field: {name: n, encoding: int, "
    "width: 8}},"
    " field: id]}\n"
    "  pairs:\n"
    "    order: stamp\n"
    "    fields: {id: string, status: string, n: int}\n"
    "    key: [field: id]\n"
    "    paths:\n"
    "      copied: {key: [hash: id, field: id]}\n"
    "      by_status: {key: [{field: {name: status, encoding: terminated}}, field: id]}\n";

static const kw_order_settings settings = {.clock_width_ms = 50, .max_clock_skew_ms = 20, .late_ms = 1000};

typedef struct bed {
    desk *desk;
    kw_store *memory;
    kw_memory_control *control;
} bed;

static bed
bed_new(bool shared)
{
    bed self = {.memory = kw_memory_store_open()};
    self.control = kw_memory_store_control(self.memory);
    if (shared)
        kw_memory_store_share(self.memory);
    self.desk = desk_new_over(shared ? kw_order_store_new(self.memory, &settings) : self.memory, policy);
    return self;
}

static void
assert_rows(const bed *self, size_t records, size_t sellers, size_t statuses)
{
    g_assert_cmpuint(kw_memory_store_rows(self->memory, "orders"), ==, records);
    g_assert_cmpuint(kw_memory_store_rows(self->memory, "orders_by_seller"), ==, sellers);
    g_assert_cmpuint(kw_memory_store_rows(self->memory, "orders_by_status"), ==, statuses);
}

static void
assert_key(const bed *self, const char *table, size_t index, const char *key, size_t size)
{
    kw_bytes found = kw_memory_store_key(self->memory, table, index);
    g_assert_true(kw_bytes_equal(found, kw_bytes_of(key, size)));
}

static void
assert_refused(const bed *self, const char *record, const char *text)
{
    const kw_written_record *written = desk_put(self->desk, "orders", record);
    g_assert_cmpint(written->outcome, ==, KW_OUTCOME_FAILED);
    g_assert_cmpint(written->error.code, ==, KW_REFUSED);
    g_assert_nonnull(strstr(written->error.text, text));
}

KW_TEST(test_schema, "/path/hints/schema")
{
    bed self = bed_new(false);
    const kw_table *table = desk_table(self.desk, "orders");
    g_assert_cmpint(table->paths[0].content, ==, KW_CONTENT_RECORDS);
    g_assert_cmpint(table->paths[1].content, ==, KW_CONTENT_HINTS);
    g_assert_cmpuint(table->hint_paths_count, ==, 2);
    g_assert_cmpuint(table->paths[2].placements->tuple_count, ==, 2);
    g_assert_cmphex(table->tuples[0] & table->tuples[1], ==, 0);
    g_assert_cmpint(kw_table_default_order(table), ==, KW_WRITE_ORDER_STORE);
    g_assert_cmpuint(desk_table(self.desk, "pairs")->hint_paths_count, ==, 1);
    desk_free(self.desk);
}

/* A path holds a record whose tuple is complete. */
KW_TEST(test_put, "/path/hints/put")
{
    for (int shared = 0; shared < 2; shared++) {
        bed self = bed_new(shared);
        g_assert_cmpint(desk_put(self.desk, "orders", "id=a seller=s")->outcome, ==, KW_OUTCOME_OK);
        assert_rows(&self, 1, 1, 0);
        assert_key(&self, "orders_by_seller", 0, "s\0a", 3);
        g_assert_cmpint(desk_put(self.desk, "orders", "id=a status=new n=1")->outcome, ==, KW_OUTCOME_OK);
        assert_rows(&self, 1, 1, 1);
        assert_key(&self, "orders_by_status", 0, "new\0\x80\0\0\0\0\0\0\1a", 13);
        g_assert_cmpint(desk_put(self.desk, "orders", "id=a status=paid n=1")->outcome, ==, KW_OUTCOME_OK);
        assert_rows(&self, 1, 1, 2); /* the old hint stays */
        g_assert_cmpint(desk_put(self.desk, "orders", "id=b")->outcome, ==, KW_OUTCOME_OK);
        assert_rows(&self, 2, 1, 2);
        desk_free(self.desk);
    }
}

KW_TEST(test_refused, "/path/hints/refused")
{
    bed self = bed_new(true);
    self.desk->options = (kw_write_options){.has_timestamp = true, .timestamp = 5};
    assert_refused(&self, "id=a status=new", "a put of status takes no timestamp");
    assert_refused(&self, "id=a seller=s n=1", "a put of seller, n takes no timestamp");
    assert_refused(&self, "id=a seller=s", "takes no timestamp");
    assert_rows(&self, 0, 0, 0);
    g_assert_cmpint(desk_put(self.desk, "orders", "id=a")->outcome, ==, KW_OUTCOME_OK);
    self.desk->options = (kw_write_options){.has_timestamp = true, .timestamp = 5};
    g_assert_cmpint(desk_put(self.desk, "pairs", "id=a status=new")->error.code, ==, KW_REFUSED);
    g_assert_cmpint(desk_put(self.desk, "pairs", "id=a")->outcome, ==, KW_OUTCOME_OK);
    desk_free(self.desk);
}

/* Whatever happens to the hint, the row is written only if the hint was answered OK, and the outcome is
 * certain. */
KW_TEST(test_hint_fails, "/path/hints/hint fails")
{
    for (int applied = 0; applied < 2; applied++) {
        bed self = bed_new(true);
        self.control->fail_at = self.control->operations + 1;
        self.control->fail_applied = applied;
        const kw_written_record *written = desk_put(self.desk, "orders", "id=a seller=s");
        g_assert_cmpint(written->outcome, ==, KW_OUTCOME_FAILED);
        g_assert_false(written->error.maybe_applied);
        g_assert_nonnull(strstr(written->error.text, "path by_seller"));
        assert_rows(&self, 0, applied ? 1 : 0, 0);
        desk_free(self.desk);
    }
}

KW_TEST(test_row_fails, "/path/hints/row fails")
{
    bed self = bed_new(true);
    self.control->fail_at = self.control->operations + 2;
    g_assert_cmpint(desk_put(self.desk, "orders", "id=a seller=s")->outcome, ==, KW_OUTCOME_FAILED);
    assert_rows(&self, 0, 1, 0);
    self.control->fail_at = self.control->operations + 2;
    self.control->fail_applied = true;
    g_assert_cmpint(desk_put(self.desk, "orders", "id=a seller=s")->outcome, ==, KW_OUTCOME_UNKNOWN);
    assert_rows(&self, 1, 1, 0);
    desk_free(self.desk);
}

/* --- the cleaner ----------------------------------------------------------------------------------- */

/* A hint that was written at `hint_ms`; its row changed at `newest_ms`. */
static size_t
clean(bed *self, int64_t hint_ms, int64_t newest_ms, bool has_tuple)
{
    const kw_table *table = desk_table(self->desk, "orders");
    const kw_placement *placement = &table->paths[1].placements[0];
    kw_bytes key = KW_BYTES_LITERAL("s\0a");
    kw_stale_hints hints = {0};
    kw_hint_facts facts = {
        .hint_ms = hint_ms, .earliest_ms = 10000000, .has_tuple = has_tuple, .newest_ms = newest_ms};
    kw_memory_store_set(self->memory, "orders_by_seller", key, "d", "", KW_BYTES_NONE, hint_ms);
    kw_stale_hints_add(&hints, self->desk->call.arena, &self->desk->call, placement, key, &facts);
    uint64_t before = self->control->operations;
    kw_stale_hints_clean(&hints, &self->desk->call);
    for (int i = 0; i < 20; i++)
        uv_run(kw_loop_uv(self->desk->loop), UV_RUN_NOWAIT);
    g_assert_cmpuint(self->control->operations - before, ==, hints.count > 0);
    return hints.count;
}

/* The store in memory has no delay of writes; see kw_hints_limits. */
KW_TEST(test_clean, "/path/hints/clean")
{
    bed self = bed_new(false);
    const int64_t now = 10000000, keep = 600000, window = KW_HINT_WINDOW_MS;
    g_assert_cmpuint(clean(&self, now - window - 1, now - keep - 1, false), ==, 1);
    g_assert_cmpuint(kw_memory_store_rows(self.memory, "orders_by_seller"), ==, 0);
    g_assert_cmpint(self.control->last_write.timestamp, ==, now - window - 1);
    g_assert_cmpuint(clean(&self, now - window, now - keep - 1, false), ==, 0);
    g_assert_cmpuint(clean(&self, now - window - 1, now - keep, false), ==, 0);
    g_assert_cmpuint(clean(&self, now - window - 1, now - keep - 1, true), ==, 0);
    g_assert_cmpuint(clean(&self, now - window - 1, KW_HINT_NO_TIME, false), ==, 1);
    desk_free(self.desk);
}

/* A page cleans a limited number of hints. */
KW_TEST(test_clean_many, "/path/hints/clean many")
{
    bed self = bed_new(false);
    const kw_placement *placement = &desk_table(self.desk, "orders")->paths[1].placements[0];
    kw_stale_hints hints = {0};
    kw_hint_facts facts = {.hint_ms = 1, .earliest_ms = 10000000, .newest_ms = KW_HINT_NO_TIME};
    for (int i = 0; i < 1000; i++) {
        g_autofree char *key = g_strdup_printf("s%d", i);
        kw_stale_hints_add(&hints, self.desk->call.arena, &self.desk->call, placement, kw_bytes_of_text(key),
                           &facts);
    }
    g_assert_cmpuint(hints.count, ==, 256);
    kw_stale_hints_clean(&hints, &self.desk->call);
    for (int i = 0; i < 20; i++)
        uv_run(kw_loop_uv(self.desk->loop), UV_RUN_NOWAIT);
    desk_free(self.desk);
}
