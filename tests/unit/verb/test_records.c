/* put, get and remove: the cells in the store and the results of the calls. */
#include "desk.h"

#define ASSERT_TEXT(error, part)                                                                             \
    g_assert_true(strstr((error).text, part) || (g_test_message("got: %s", (error).text), false))

KW_TEST(test_put_get, "/verb/put and get")
{
    desk *self = desk_new(desk_policy);
    const kw_written_record *put = desk_put(self, "orders", "order_id=A1 ts=5000 status=new amount=2.5");
    g_assert_cmpint(put->outcome, ==, KW_OUTCOME_OK);
    g_assert_cmpint(put->error.code, ==, KW_OK);
    g_assert_null(put->generated.values);
    g_assert_cmpuint(kw_memory_store_rows(self->store, "orders"), ==, 1);
    g_assert_cmpuint(kw_memory_store_rows(self->store, "orders_by_time"), ==, 1);
    kw_bytes key = kw_memory_store_key(self->store, "orders", 0);
    kw_bytes status = kw_memory_store_cell(self->store, "orders", key, "d", "status");
    g_assert_true(kw_bytes_equal(status, KW_BYTES_LITERAL("new")));
    g_assert_cmpstr(desk_get(self, "orders", "order_id=A1 ts=5000", NULL), ==,
                    "order_id=A1 ts=5000 status=new amount=2.5");
    g_assert_cmpstr(desk_get(self, "orders", "order_id=A1 ts=5001", NULL), ==, "none");
    g_assert_cmpuint(self->control->fetches, ==, 0);

    /* A second put adds to the record. */
    desk_put(self, "orders", "order_id=A1 ts=5000 city=Rome status=paid");
    g_assert_cmpstr(desk_get(self, "orders", "order_id=A1 ts=5000", NULL), ==,
                    "order_id=A1 ts=5000 status=paid city=Rome amount=2.5");
    desk_free(self);
}

KW_TEST(test_columns, "/verb/chosen columns")
{
    desk *self = desk_new(desk_policy);
    desk_put(self, "orders", "order_id=A1 ts=5 status=new city=Rome");
    g_assert_cmpstr(desk_get(self, "orders", "order_id=A1 ts=5", "city"), ==, "order_id=A1 ts=5 city=Rome");
    /* The record exists, although it has none of the requested fields. */
    g_assert_cmpstr(desk_get(self, "orders", "order_id=A1 ts=5", "amount"), ==, "order_id=A1 ts=5");
    g_assert_cmpstr(desk_get(self, "orders", "order_id=A1 ts=5", "order_id"), ==, "order_id=A1 ts=5");
    g_assert_cmpstr(desk_get(self, "orders", "order_id=A2 ts=5", "amount"), ==, "none");
    desk_free(self);
}

KW_TEST(test_marker, "/verb/marker")
{
    desk *self = desk_new(desk_policy);
    desk_put(self, "marks", "tag=blue");
    kw_bytes marker = kw_memory_store_cell(self->store, "marks", KW_BYTES_LITERAL("blue"), "d", "");
    g_assert_nonnull(marker.data);
    g_assert_cmpuint(marker.size, ==, 0);
    g_assert_cmpstr(desk_get(self, "marks", "tag=blue", NULL), ==, "tag=blue");
    desk_put(self, "orders", "order_id=A1 ts=5");
    g_assert_cmpstr(desk_get(self, "orders", "order_id=A1 ts=5", "city"), ==, "order_id=A1 ts=5");
    g_assert_cmpstr(desk_get(self, "orders", "order_id=A1 ts=5", NULL), ==, "order_id=A1 ts=5");
    desk_free(self);
}

/* A marker that the policy names is written with every record. */
KW_TEST(test_named_marker, "/verb/marker/named")
{
    desk *self = desk_new("tables:\n  events:\n    marker: '0:_0'\n    marker_value: x\n"
                          "    fields: {id: string, note: {type: string, column: '0:\\x80\\x0B'}}\n"
                          "    key: [field: id]\n");
    static const char *const records[] = {"id=a note=n", "id=b"};
    for (size_t i = 0; i < G_N_ELEMENTS(records); i++) {
        desk_put(self, "events", records[i]);
        kw_bytes row = i == 0 ? KW_BYTES_LITERAL("a") : KW_BYTES_LITERAL("b");
        kw_bytes marker = kw_memory_store_cell(self->store, "events", row, "0", "_0");
        g_assert_true(kw_bytes_equal(marker, KW_BYTES_LITERAL("x")));
    }
    g_assert_cmpstr(desk_get(self, "events", "id=a", NULL), ==, "id=a note=n");
    g_assert_cmpstr(desk_get(self, "events", "id=b", "note"), ==, "id=b");
    kw_bytes note = kw_memory_store_cell(self->store, "events", KW_BYTES_LITERAL("a"), "0", "\x80\x0B");
    g_assert_true(kw_bytes_equal(note, KW_BYTES_LITERAL("n")));
    desk_free(self);
}

KW_TEST(test_bad_records, "/verb/bad records")
{
    static const struct {
        const char *record, *text;
    } bad[] = {{"order_id=A1", "table orders: field ts is missing; the identity fields are order_id, ts"},
               {"ts=1 status=new", "field order_id is missing"},
               {"order_id=A1 ts=1 status=lost", "table orders, field status"},
               {"order_id=01234567890123456789012345678901234567890 ts=1", "field order_id"}};
    desk *self = desk_new(desk_policy);
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        const kw_written_record *put = desk_put(self, "orders", bad[i].record);
        g_assert_cmpint(put->outcome, ==, KW_OUTCOME_FAILED);
        g_assert_cmpint(put->error.code, ==, KW_INVALID);
        ASSERT_TEXT(put->error, bad[i].text);
    }
    g_assert_cmpuint(self->control->operations, ==, 0);
    g_assert_cmpstr(desk_get(self, "orders", "order_id=A1", NULL), ==,
                    "INVALID: table orders: field ts is missing; the identity fields are order_id, ts");
    g_assert_cmpstr(
        desk_get(self, "orders", "order_id=A1 ts=1 city=Rome", NULL), ==,
        "INVALID: table orders: field city is not part of the key; the identity fields are order_id, ts");
    desk_free(self);
}

/* One invalid record among many: the others are written, and the results are in order. */
KW_TEST(test_many, "/verb/many")
{
    desk *self = desk_new(desk_policy);
    kw_item items[5] = {{.record = desk_record(self, "orders", "order_id=A1 ts=1 city=a")},
                        {.record = desk_record(self, "orders", "order_id=A1 city=b")},
                        {.record = desk_record(self, "orders", "order_id=A2 ts=1 city=c")},
                        {.record = desk_record(self, "orders", "order_id=A3 ts=1")},
                        {.record = desk_record(self, "orders", "order_id=A4 ts=1 city=d")}};
    kw_error_set(&items[3].error, KW_INVALID, "found by the service");
    kw_verb_put(&self->call, desk_table(self, "orders"), items, 5, self->options, desk_done, self);
    desk_wait(self);
    static const kw_outcome outcomes[] = {KW_OUTCOME_OK, KW_OUTCOME_FAILED, KW_OUTCOME_OK, KW_OUTCOME_FAILED,
                                          KW_OUTCOME_OK};
    g_assert_cmpuint(self->count, ==, 5);
    for (size_t i = 0; i < 5; i++)
        g_assert_cmpint(self->written[i].outcome, ==, outcomes[i]);
    ASSERT_TEXT(self->written[1].error, "field ts is missing");
    ASSERT_TEXT(self->written[3].error, "found by the service");
    g_assert_cmpuint(kw_memory_store_rows(self->store, "orders"), ==, 3);
    g_assert_cmpuint(kw_memory_store_rows(self->store, "orders_by_time"), ==, 3);
    g_assert_cmpuint(self->control->operations, ==, 1);

    self->done = false;
    kw_verb_put(&self->call, desk_table(self, "orders"), items, 0, self->options, desk_done, self);
    desk_wait(self);
    g_assert_cmpuint(self->count, ==, 0);
    desk_free(self);
}

KW_TEST(test_limit, "/verb/limit")
{
    desk *self = desk_new(desk_policy);
    kw_item *items = KW_ARENA_ARRAY(self->call.arena, kw_item, 501);
    for (size_t i = 0; i < 501; i++)
        items[i].record = desk_record(self, "marks", "tag=x");
    kw_verb_put(&self->call, desk_table(self, "marks"), items, 501, self->options, desk_done, self);
    desk_wait(self);
    g_assert_cmpuint(self->count, ==, 501);
    g_assert_cmpint(self->written[500].error.code, ==, KW_LIMIT);
    ASSERT_TEXT(self->written[0].error, "501 records in one call; at most 500");
    g_assert_cmpuint(self->control->operations, ==, 0);
    desk_free(self);
}

/* --- timestamps ---------------------------------------------------------------------------------- */

KW_TEST(test_timestamps, "/verb/timestamps")
{
    desk *self = desk_new(desk_policy);
    desk_put(self, "marks", "tag=a"); /* the store orders the writes */
    g_assert_cmpint(self->control->last_write.timestamp, ==, KW_TIMESTAMP_NONE);
    g_assert_nonnull(self->control->last_write.ordering);
    self->options =
        (kw_write_options){.durability = KW_DURABILITY_FSYNC_WAL, .has_timestamp = true, .timestamp = 7};
    desk_put(self, "marks", "tag=a");
    g_assert_cmpint(self->control->last_write.timestamp, ==, 7);
    g_assert_cmpint(self->control->last_write.durability, ==, KW_DURABILITY_FSYNC_WAL);
    static const int64_t absurd[] = {-1, INT64_MIN, INT64_MAX, 1700000000000000};
    for (size_t i = 0; i < G_N_ELEMENTS(absurd); i++) {
        self->options.timestamp = absurd[i];
        const kw_written_record *put = desk_put(self, "marks", "tag=a");
        g_assert_cmpint(put->error.code, ==, KW_INVALID);
        ASSERT_TEXT(put->error, "is not milliseconds since 1970");
    }
    desk_free(self);
}

KW_TEST(test_remove_all_rows, "/verb/remove all rows")
{
    desk *self = desk_new(desk_policy);
    desk_put(self, "orders", "order_id=A1 ts=1 city=Rome");
    const kw_written_record *removed = desk_remove(self, "orders", "order_id=A1 ts=1", NULL);
    g_assert_cmpint(removed->outcome, ==, KW_OUTCOME_OK);
    g_assert_cmpint(self->control->last_write.timestamp, ==, KW_TIMESTAMP_NONE);
    g_assert_cmpuint(kw_memory_store_rows(self->store, "orders"), ==, 0);
    g_assert_cmpuint(kw_memory_store_rows(self->store, "orders_by_time"), ==, 0);
    desk_free(self);
}

KW_TEST(test_remove_columns, "/verb/remove columns")
{
    desk *self = desk_new(desk_policy);
    desk_put(self, "orders", "order_id=A1 ts=1 city=Rome status=new amount=1");
    g_assert_cmpint(desk_remove(self, "orders", "order_id=A1 ts=1", "city amount")->outcome, ==,
                    KW_OUTCOME_OK);
    g_assert_cmpstr(desk_get(self, "orders", "order_id=A1 ts=1", NULL), ==, "order_id=A1 ts=1 status=new");
    const kw_written_record *rejected = desk_remove(self, "orders", "order_id=A1 ts=1", "city ts");
    g_assert_cmpint(rejected->outcome, ==, KW_OUTCOME_FAILED);
    ASSERT_TEXT(rejected->error, "table orders: field ts is part of the key and cannot be removed alone");
    rejected = desk_remove(self, "orders", "order_id=A1", NULL);
    ASSERT_TEXT(rejected->error, "field ts is missing");
    rejected = desk_remove(self, "orders", "order_id=A1 ts=1 city=Rome", NULL);
    ASSERT_TEXT(rejected->error, "field city is not part of the key");
    g_assert_cmpstr(desk_get(self, "orders", "order_id=A1 ts=1", NULL), ==, "order_id=A1 ts=1 status=new");
    desk_free(self);
}

/* --- outcomes -------------------------------------------------------------------------------------- */

KW_TEST(test_failing_store, "/verb/failing store")
{
    desk *self = desk_new(desk_policy);
    self->control->fail_at = 1;
    const kw_written_record *put = desk_put(self, "marks", "tag=a");
    g_assert_cmpint(put->outcome, ==, KW_OUTCOME_FAILED);
    g_assert_cmpint(put->error.code, ==, KW_UNAVAILABLE);
    g_assert_false(put->error.maybe_applied);
    self->control->fail_at = 2;
    self->control->fail_applied = true;
    put = desk_put(self, "marks", "tag=a");
    g_assert_cmpint(put->outcome, ==, KW_OUTCOME_UNKNOWN);
    g_assert_true(put->error.maybe_applied);

    /* Two paths: the write of the first fails for certain, and that of the second succeeds. */
    self->control->fail_at = 3;
    self->control->fail_applied = false;
    put = desk_put(self, "orders", "order_id=A1 ts=1");
    g_assert_cmpint(put->outcome, ==, KW_OUTCOME_UNKNOWN);
    g_assert_cmpint(put->error.code, ==, KW_UNAVAILABLE);
    g_assert_true(put->error.maybe_applied);
    ASSERT_TEXT(put->error,
                "applied under path by_time, but possibly not under all paths: table orders, path primary: ");

    self->control->fail_at = 4;
    g_assert_cmpstr(desk_get(self, "marks", "tag=a", NULL), ==, "UNAVAILABLE: operation 4 was to fail");
    desk_free(self);
}

KW_TEST(test_get_many, "/verb/get many")
{
    desk *self = desk_new(desk_policy);
    desk_put(self, "counters", "name=a hits=1 note=x");
    desk_put(self, "counters", "name=b hits=2");
    kw_memory_store_set(self->store, "counters", KW_BYTES_LITERAL("c"), "d", "hits", KW_BYTES_LITERAL("123"),
                        1);
    static const char *const keys[] = {"name=b", "name=z", "name=a", "name=b", "hits=3", "name=c"};
    static const char *const answers[] = {"name=b hits=2", NULL, "name=a hits=1 note=x",
                                          "name=b hits=2", NULL, NULL};
    kw_item *items = KW_ARENA_ARRAY(self->call.arena, kw_item, G_N_ELEMENTS(keys));
    for (size_t i = 0; i < G_N_ELEMENTS(keys); i++)
        items[i].record = desk_record(self, "counters", keys[i]);
    desk_get(self, "counters", "name=a", NULL); /* a get of one record, before a get of many */
    self->done = false;
    kw_verb_get(&self->call, desk_table(self, "counters"), items, G_N_ELEMENTS(keys), NULL, 0, desk_got,
                self);
    desk_wait(self);
    for (size_t i = 0; i < G_N_ELEMENTS(keys); i++) {
        const kw_found_record *found = &self->found[i];
        if (answers[i])
            g_assert_cmpstr(desk_text(self, desk_table(self, "counters"), &found->record), ==, answers[i]);
        else
            g_assert_null(found->record.values);
    }
    g_assert_cmpint(self->found[1].error.code, ==, KW_OK);
    g_assert_cmpint(self->found[4].error.code, ==, KW_INVALID);
    g_assert_cmpint(self->found[5].error.code, ==, KW_CORRUPT);
    ASSERT_TEXT(self->found[5].error, "table counters, path primary, row c: field hits");
    desk_free(self);
}
