/* put with fields that the gateway generates: in keys and in columns, in one record and in many, also next to
 * records that fail. */
#include "desk.h"

#include <string.h>

static const char policy[] = "store: {kind: embedded}\n"
                             "tables:\n"
                             "  notes:\n"
                             "    fields:\n"
                             "      at: {type: timestamp, generate: now}\n"
                             "      seq: {type: int, generate: {kind: sequence, from: 7, to: 16}}\n"
                             "      tag: {type: string, values: [a, b]}\n"
                             "      id: {type: string, generate: uuid7}\n"
                             "      note: string\n"
                             "    key:\n"
                             "      - field: seq\n"
                             "    paths:\n"
                             "      by_time:\n"
                             "        key: [field: seq]\n"
                             "  jobs:\n"
                             "    fields:\n"
                             "      id: {type: int, generate: {kind: sequence, from: 1, to: 4}}\n"
                             "      rank: {type: int, generate: sequence}\n"
                             "      owner: {type: string, values: [me, you]}\n"
                             "      token: {type: string, generate: {kind: uuid4, given: refuse}}\n"
                             "    key:\n"
                             "      - field: id\n";

static void
prepared(void *user, const kw_error *error)
{
    desk *self = user;
    g_assert_null(error);
    self->done = true;
}

static desk *
open_desk(void)
{
    desk *self = desk_new(policy);
    self->done = false;
    kw_sequences_prepare(self->sequences, self->policy, KW_DEADLINE_NONE, prepared, self);
    desk_wait(self);
    return self;
}

static kw_value
generated_value(desk *self, const kw_written_record *written, const char *field)
{
    g_assert_nonnull(written->generated.values);
    return written->generated.values[desk_field(self, "notes", field)];
}

KW_TEST(test_put, "/verb/generated/put")
{
    desk *self = open_desk();
    const kw_written_record *written = desk_put(self, "notes", "note=hello");
    g_assert_cmpint(written->outcome, ==, KW_OUTCOME_OK);
    g_assert_cmpint(generated_value(self, written, "seq").number, ==, 7);
    g_assert_cmpuint(generated_value(self, written, "id").bytes.size, ==, 36);
    g_assert_cmpint(generated_value(self, written, "note").kind, ==,
                    KW_VALUE_NONE); /* the value of the caller is not returned */
    const char *text = desk_get(self, "notes", "seq=7", NULL);
    g_assert_nonnull(strstr(text, "seq=7 id=0"));
    g_assert_nonnull(strstr(text, "note=hello"));
    written = desk_put(self, "notes", "seq=99 id=mine at=5");
    g_assert_null(written->generated.values);
    g_assert_cmpstr(desk_get(self, "notes", "seq=99", NULL), ==, "at=5 seq=99 id=mine");
    g_assert_cmpstr(
        desk_get(self, "notes", "", NULL), ==,
        "INVALID: table notes: field seq is missing (only puts generate it); the identity fields are seq");
    desk_free(self);
}

/* The sequence has ten numbers. One record is invalid for another reason, and the last two records find no
 * number. */
KW_TEST(test_many, "/verb/generated/many")
{
    enum { COUNT = 13 };
    desk *self = open_desk();
    kw_item *items = KW_ARENA_ARRAY(self->call.arena, kw_item, COUNT);
    for (size_t i = 0; i < COUNT; i++)
        items[i].record = desk_record(self, "notes", i == 4 ? "tag=z" : "tag=a");
    items[6].error = (kw_error){.code = KW_INVALID, .text = "unreadable"};
    self->done = false;
    kw_verb_put(&self->call, desk_table(self, "notes"), items, COUNT, self->options, desk_done, self);
    desk_wait(self);
    g_assert_cmpuint(self->count, ==, COUNT);
    int64_t expected = 7;
    for (size_t i = 0; i < COUNT; i++) {
        const kw_written_record *written = &self->written[i];
        if (i == 4 || i == 6) {
            g_assert_cmpint(written->error.code, ==, KW_INVALID);
            expected += i == 4; /* its number is lost */
        } else if (expected <= 16) {
            g_assert_cmpint(written->outcome, ==, KW_OUTCOME_OK);
            g_assert_cmpint(generated_value(self, written, "seq").number, ==, expected++);
        } else {
            g_assert_cmpint(written->outcome, ==, KW_OUTCOME_FAILED);
            g_assert_cmpint(written->error.code, ==, KW_LIMIT);
            g_assert_cmpstr(written->error.text, ==,
                            "table notes, field seq: the numbers 7 to 16 are used up");
        }
    }
    desk_free(self);
}

/* A write with an unknown outcome returns the generated key, so that the caller can look for the record. */
KW_TEST(test_unknown, "/verb/generated/unknown")
{
    desk *self = open_desk();
    desk_put(self, "notes", "note=first");
    self->control->fail_at = self->control->operations + 2; /* the first operation reserves the next block */
    self->control->fail_applied = true;
    const kw_written_record *written = desk_put(self, "notes", "note=second");
    g_assert_cmpint(written->outcome, ==, KW_OUTCOME_UNKNOWN);
    g_assert_cmpint(generated_value(self, written, "seq").number, ==, 8);
    desk_free(self);
}

static void
allocated(void *user, int64_t first, int64_t count, const kw_error *error)
{
    desk *self = user;
    self->done = true;
    self->error = error ? *error : KW_ERROR_NONE;
    self->count = (size_t)count;
    self->page.scanned = (uint64_t)first;
}

KW_TEST(test_allocate, "/verb/generated/allocate")
{
    desk *self = open_desk();
    kw_record scope = desk_record(self, "notes", "");
    self->done = false;
    kw_verb_allocate(&self->call, desk_table(self, "notes"), desk_field(self, "notes", "seq"), &scope, 4,
                     allocated, self);
    desk_wait(self);
    g_assert_cmpint(self->error.code, ==, KW_OK);
    g_assert_cmpuint(self->count, ==, 4);
    g_assert_cmpuint(self->page.scanned, ==, 7);
    g_assert_cmpint(generated_value(self, desk_put(self, "notes", "tag=a"), "seq").number, ==, 11);
    desk_free(self);
}

/* --- put_if ---------------------------------------------------------------------------------------- */

static void
decided(void *user, bool applied, kw_record generated, const kw_error *error)
{
    desk *self = user;
    g_assert_false(self->done);
    self->done = true;
    self->applied = applied;
    self->values = generated;
    self->error = error ? *error : KW_ERROR_NONE;
}

/* Puts the record if the field owner has no value. */
static bool
put_if_free(desk *self, const char *text)
{
    kw_record record = desk_record(self, "jobs", text);
    kw_condition_on_field condition = {desk_pick(self, "jobs", "owner"), KW_COMPARE_EQUAL, KW_VALUE_ABSENT};
    self->done = false;
    kw_verb_put_if(&self->call, desk_table(self, "jobs"), &record, &condition, self->options, decided, self);
    desk_wait(self);
    return self->error.code == KW_OK && self->applied;
}

static kw_value
generated_by_put_if(desk *self, const char *field)
{
    g_assert_nonnull(self->values.values);
    return self->values.values[desk_field(self, "jobs", field)];
}

/* put_if generates values like put. Values generated for a record that was not written are lost. */
KW_TEST(test_put_if, "/verb/generated/put_if")
{
    desk *self = open_desk();
    g_assert_true(put_if_free(self, "owner=me"));
    g_assert_cmpint(generated_by_put_if(self, "id").number, ==, 1);
    g_assert_cmpint(generated_by_put_if(self, "rank").number, ==, 1);
    g_assert_cmpuint(generated_by_put_if(self, "token").bytes.size, ==, 36);
    g_assert_true(g_str_has_prefix(desk_get(self, "jobs", "id=1", NULL), "id=1 rank=1 owner=me token="));
    g_assert_false(put_if_free(self, "id=1 owner=you"));
    g_assert_cmpint(self->error.code, ==, KW_OK);
    g_assert_null(self->values.values);
    g_assert_true(g_str_has_prefix(desk_get(self, "jobs", "id=1", NULL), "id=1 rank=1 owner=me token="));
    g_assert_true(put_if_free(self, "id=9 owner=you"));
    g_assert_cmpint(generated_by_put_if(self, "rank").number, ==, 3);
    g_assert_cmpint(generated_by_put_if(self, "id").kind, ==, KW_VALUE_NONE);
    g_assert_true(put_if_free(self, "id=10 rank=7 owner=you"));
    g_assert_cmpint(generated_by_put_if(self, "rank").kind, ==, KW_VALUE_NONE);
    desk_free(self);
}

KW_TEST(test_put_if_rejected, "/verb/generated/put_if_rejected")
{
    desk *self = open_desk();
    g_assert_false(put_if_free(self, "owner=me token=mine"));
    g_assert_cmpstr(self->error.text, ==,
                    "table jobs, field token: the gateway generates its values; leave it out");
    g_assert_false(put_if_free(self, "owner=nobody"));
    g_assert_cmpint(self->error.code, ==, KW_INVALID);
    for (int i = 0; i < 4; i++)
        put_if_free(self, "owner=me");
    g_assert_false(put_if_free(self, "owner=me"));
    g_assert_cmpint(self->error.code, ==, KW_LIMIT);
    g_assert_cmpstr(self->error.text, ==, "table jobs, field id: the numbers 1 to 4 are used up");
    g_assert_false(self->error.maybe_applied);
    /* An invalid condition uses no number. */
    uint64_t before = self->control->operations;
    kw_record record = desk_record(self, "jobs", "owner=me");
    kw_condition_on_field condition = {desk_pick(self, "jobs", "id"), KW_COMPARE_EQUAL, KW_VALUE_ABSENT};
    self->done = false;
    kw_verb_put_if(&self->call, desk_table(self, "jobs"), &record, &condition, self->options, decided, self);
    desk_wait(self);
    g_assert_cmpint(self->error.code, ==, KW_INVALID);
    g_assert_cmpuint(self->control->operations, ==, before);
    desk_free(self);
}
