/* increment and put_if: atomic writes to one record, and the calls that they reject. */
#include "desk.h"

static void
incremented(void *user, const kw_record *values, const kw_error *error)
{
    desk *self = user;
    g_assert_false(self->done);
    self->done = true;
    self->error = error ? *error : KW_ERROR_NONE;
    if (values)
        self->values = *values;
}

static bool
increment_many(desk *self, const char *table, const char *key, size_t count, const kw_pick *picks,
               const int64_t *amounts)
{
    kw_record record = desk_record(self, table, key);
    self->done = false;
    kw_verb_increment(&self->call, desk_table(self, table), &record, picks, amounts, count, self->options,
                      incremented, self);
    desk_wait(self);
    return self->error.code == KW_OK;
}

static bool
increment(desk *self, const char *table, const char *key, const char *field, int64_t amount)
{
    kw_pick pick = desk_pick(self, table, field);
    return increment_many(self, table, key, 1, &pick, &amount);
}

#define ASSERT_REJECTED(self, part)                                                                          \
    G_STMT_START                                                                                             \
    {                                                                                                        \
        g_assert_cmpint((self)->error.code, ==, KW_INVALID);                                                 \
        if (!strstr((self)->error.text, part))                                                               \
            g_error("got: %s", (self)->error.text);                                                          \
    }                                                                                                        \
    G_STMT_END

KW_TEST(test_increment, "/verb/increment")
{
    desk *self = desk_new(desk_policy);
    size_t hits = desk_field(self, "counters", "hits");
    g_assert_true(increment(self, "counters", "name=a", "hits", 5));
    g_assert_cmpint(self->values.values[hits].number, ==, 5);
    g_assert_true(increment(self, "counters", "name=a", "hits", -7));
    g_assert_cmpint(self->values.values[hits].number, ==, -2);
    g_assert_cmpint(self->values.values[desk_field(self, "counters", "name")].kind, ==, KW_VALUE_NONE);
    g_assert_cmpstr(desk_get(self, "counters", "name=a", NULL), ==, "name=a hits=-2");

    uint64_t before = self->control->operations;
    g_assert_false(increment(self, "counters", "name=a", "visits", 1));
    ASSERT_REJECTED(self, "field visits is not stored in the 8-byte form");
    g_assert_false(increment(self, "counters", "name=a", "note", 1));
    ASSERT_REJECTED(self, "field note is not an int");
    g_assert_false(increment(self, "counters", "name=a", "name", 1));
    ASSERT_REJECTED(self, "field name is part of the key");
    g_assert_false(increment(self, "counters", "hits=1", "hits", 1));
    ASSERT_REJECTED(self, "field hits is not part of the key");
    g_assert_false(increment_many(self, "counters", "name=a", 0, NULL, NULL));
    ASSERT_REJECTED(self, "no field to add to");
    self->options.has_timestamp = true;
    g_assert_false(increment(self, "counters", "name=a", "hits", 1));
    ASSERT_REJECTED(self, "takes no timestamp");
    self->options.has_timestamp = false;
    g_assert_cmpuint(self->control->operations, ==, before);

    kw_memory_store_set(self->store, "counters", KW_BYTES_LITERAL("b"), "d", "hits", KW_BYTES_LITERAL("12"),
                        1);
    g_assert_false(increment(self, "counters", "name=b", "hits", 1));
    ASSERT_REJECTED(self, "not 8 bytes");

    self->control->fail_at = self->control->operations + 1;
    self->control->fail_applied = true;
    g_assert_false(increment(self, "counters", "name=a", "hits", 1));
    g_assert_cmpint(self->error.code, ==, KW_UNAVAILABLE);
    g_assert_true(self->error.maybe_applied);
    desk_free(self);
}

static void
decided(void *user, bool applied, kw_record generated, const kw_error *error)
{
    desk *self = user;
    self->values = generated;
    g_assert_false(self->done);
    self->done = true;
    self->applied = applied;
    self->error = error ? *error : KW_ERROR_NONE;
}

static bool
put_if(desk *self, const char *table, const char *text, const char *field, kw_compare compare, kw_value value)
{
    kw_record record = desk_record(self, table, text);
    kw_condition_on_field condition = {desk_pick(self, table, field), compare, value};
    self->done = false;
    kw_verb_put_if(&self->call, desk_table(self, table), &record, &condition, self->options, decided, self);
    desk_wait(self);
    return self->error.code == KW_OK && self->applied;
}

#define NUMBER(n) ((kw_value){.kind = KW_VALUE_NUMBER, .number = (n)})
#define TEXT(t) ((kw_value){.kind = KW_VALUE_TEXT, .bytes = KW_BYTES_LITERAL(t)})

KW_TEST(test_put_if, "/verb/put_if")
{
    desk *self = desk_new(desk_policy);
    g_assert_true(put_if(self, "counters", "name=a hits=1", "hits", KW_COMPARE_EQUAL, KW_VALUE_ABSENT));
    g_assert_cmpint(self->control->last_write.timestamp, ==, KW_TIMESTAMP_NONE);
    g_assert_false(put_if(self, "counters", "name=a hits=9", "hits", KW_COMPARE_EQUAL, KW_VALUE_ABSENT));
    g_assert_cmpint(self->error.code, ==, KW_OK);
    g_assert_true(put_if(self, "counters", "name=a hits=2 note=x", "hits", KW_COMPARE_EQUAL, NUMBER(1)));
    g_assert_true(put_if(self, "counters", "name=a hits=3", "hits", KW_COMPARE_NOT_EQUAL, KW_VALUE_ABSENT));
    g_assert_false(put_if(self, "counters", "name=a hits=4", "hits", KW_COMPARE_GREATER, NUMBER(3)));
    g_assert_true(put_if(self, "counters", "name=a hits=4", "hits", KW_COMPARE_GREATER_OR_EQUAL, NUMBER(3)));
    g_assert_true(put_if(self, "counters", "name=a visits=1", "note", KW_COMPARE_EQUAL, TEXT("x")));
    g_assert_cmpstr(desk_get(self, "counters", "name=a", NULL), ==, "name=a hits=4 visits=1 note=x");
    desk_free(self);
}

KW_TEST(test_put_if_rejected, "/verb/put_if rejected")
{
    desk *self = desk_new(desk_policy);
    put_if(self, "counters", "name=a", "name", KW_COMPARE_EQUAL, TEXT("a"));
    ASSERT_REJECTED(self, "name is part of the key");
    put_if(self, "counters", "name=a", "hits", KW_COMPARE_LESS, KW_VALUE_ABSENT);
    ASSERT_REJECTED(self, "field hits: a condition without a value");
    put_if(self, "counters", "name=a", "hits", KW_COMPARE_LESS, TEXT("many"));
    ASSERT_REJECTED(self, "field hits");
    put_if(self, "counters", "hits=1", "hits", KW_COMPARE_EQUAL, KW_VALUE_ABSENT);
    ASSERT_REJECTED(self, "field name is missing");
    self->options = (kw_write_options){.has_timestamp = true, .timestamp = -5};
    put_if(self, "counters", "name=a", "hits", KW_COMPARE_EQUAL, KW_VALUE_ABSENT);
    ASSERT_REJECTED(self, "timestamp -5");
    g_assert_cmpuint(self->control->operations, ==, 0);
    self->options = (kw_write_options){0};
    self->control->fail_at = 1;
    self->control->fail_applied = true;
    g_assert_false(put_if(self, "counters", "name=a", "hits", KW_COMPARE_EQUAL, KW_VALUE_ABSENT));
    g_assert_cmpint(self->error.code, ==, KW_UNAVAILABLE);
    g_assert_true(self->error.maybe_applied);
    desk_free(self);
}

static const char two_paths[] = "store: {kind: embedded}\n"
                                "tables:\n"
                                "  t:\n"
                                "    fields: {id: string, n: {type: int, counter: true}, note: string}\n"
                                "    key: [field: id]\n"
                                "    paths: {second: {key: [literal: s, field: id]}}\n";

KW_TEST(test_two_paths, "/verb/atomics of two paths")
{
    desk *self = desk_new(two_paths);
    g_assert_true(increment(self, "t", "id=a", "n", 5));
    g_assert_cmpint(self->values.values[desk_field(self, "t", "n")].number, ==, 5);
    g_assert_true(put_if(self, "t", "id=a note=x", "n", KW_COMPARE_EQUAL, NUMBER(5)));
    g_assert_false(put_if(self, "t", "id=a note=y", "n", KW_COMPARE_EQUAL, NUMBER(6)));
    g_autofree char *primary = desk_scan_all(self, "t full path=primary");
    g_autofree char *second = desk_scan_all(self, "t full path=second");
    g_assert_cmpstr(primary, ==, "id=a n=5 note=x\n");
    g_assert_cmpstr(second, ==, "id=a n=5 note=x\n");
    put_if(self, "t", "id=a n=1", "note", KW_COMPARE_EQUAL, TEXT("x"));
    ASSERT_REJECTED(self, "a putIf that writes a counter also needs a condition on a counter");
    kw_memory_store_share(self->store);
    uint64_t before = self->control->operations;
    g_assert_false(increment(self, "t", "id=a", "n", 1));
    ASSERT_REJECTED(self, "table t: increment needs atomics: true");
    put_if(self, "t", "id=a note=z", "note", KW_COMPARE_EQUAL, TEXT("x"));
    ASSERT_REJECTED(self, "table t: putIf needs atomics: true");
    g_assert_cmpuint(self->control->operations, ==, before);
    desk_free(self);
}
