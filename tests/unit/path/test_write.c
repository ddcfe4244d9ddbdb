/* Batches of writes: what is rejected, what is sent, and how the outcomes of a record's rows become one
 * outcome. */
#include "../verb/desk.h"
#include "path/write.h"
#include "store/class.h"

static const char policy[] = "store: {kind: embedded}\n"
                             "limits: {batch_records: 10}\n"
                             "tables:\n"
                             "  plain: {fields: {id: string, n: int}, key: [field: id]}\n"
                             "  pairs:\n"
                             "    fields: {id: string, n: int}\n"
                             "    key: [field: id]\n"
                             "    paths: {second: {key: [hash: id, field: id]}, third: {key: [salt: "
                             "{buckets: 2, of: [id]}, field: id]}}\n"
                             "  spread: {updates: false, fields: {id: string, n: int}, key: [salt: "
                             "{algorithm: round_robin, buckets: 4}, "
                             "field: id]}\n"
                             "  wide: {updates: false, fields: {id: string, n: int}, key: [salt: {algorithm: "
                             "round_robin, buckets: 16}, "
                             "field: id]}\n"
                             "  known:\n"
                             "    fields: {id: string, n: int}\n"
                             "    key: [salt: {algorithm: random, buckets: 8}, field: id]\n"
                             "    paths: {where: {association: true, key: [field: id]}}\n";

/* --- batches --------------------------------------------------------------------------------------- */

/* Ends a batch as verbs do. */
static void
answer(kw_batch *batch)
{
    kw_batch_answer(batch);
}

/* Writes records with ids 0, 1, ... NULL columns: as whole records. Returns the results. */
static const kw_written_record *
write_records(desk *self, const char *name, size_t count, kw_write_kind kind, const char *column)
{
    const kw_table *table = desk_table(self, name);
    kw_arena *arena = self->call.arena;
    kw_item *items = KW_ARENA_ARRAY(arena, kw_item, count);
    kw_write form = {.kind = kind};
    kw_cell *cell = KW_ARENA_NEW(arena, kw_cell);
    *cell = (kw_cell){KW_BYTES_LITERAL("d"), KW_BYTES_LITERAL("n"), KW_BYTES_LITERAL("12345678"), 0};
    kw_column *columns = KW_ARENA_NEW(arena, kw_column);
    *columns = (kw_column){KW_BYTES_LITERAL("d"), kw_bytes_of_text(column), false};
    form.cells = kind == KW_WRITE_PUT ? cell : NULL;
    form.cells_count = kind == KW_WRITE_PUT;
    form.columns = column ? columns : NULL;
    form.columns_count = column != NULL;
    self->done = false;
    kw_batch *batch = kw_batch_begin(&self->call, table, items, count, &self->options, desk_done, self);
    for (size_t i = 0; batch && i < count; i++) {
        g_autofree char *text = g_strdup_printf("id=%zu", i);
        items[i].record = desk_record(self, name, text);
        kw_batch_add(batch, i, &form);
    }
    if (batch)
        kw_batch_send(batch, answer);
    desk_wait(self);
    g_assert_cmpuint(self->count, ==, count);
    return self->written;
}

static const kw_written_record *
put_records(desk *self, const char *name, size_t count)
{
    return write_records(self, name, count, KW_WRITE_PUT, NULL);
}

static const kw_written_record *
remove_records(desk *self, const char *name, size_t count)
{
    return write_records(self, name, count, KW_WRITE_DELETE, NULL);
}

/* All records have this error and nothing was written. */
static void
assert_refused(desk *self, const kw_written_record *results, size_t count, kw_code code, const char *text)
{
    for (size_t i = 0; i < count; i++) {
        g_assert_cmpint(results[i].outcome, ==, KW_OUTCOME_FAILED);
        g_assert_cmpint(results[i].error.code, ==, code);
        g_assert_cmpstr(results[i].error.text, ==, text);
        g_assert_null(results[i].generated.values);
    }
    g_assert_cmpuint(self->control->operations, ==, 0);
}

static void
assert_ok(const kw_written_record *results, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        g_assert_cmpstr(results[i].error.text, ==, "");
        g_assert_cmpint(results[i].error.code, ==, KW_OK);
        g_assert_cmpint(results[i].outcome, ==, KW_OUTCOME_OK);
        g_assert_null(results[i].generated.values);
    }
}

/* --- limits ---------------------------------------------------------------------------------------- */

KW_TEST(test_too_many_records, "/path/write/too many records")
{
    desk *self = desk_new(policy);
    assert_refused(self, put_records(self, "plain", 11), 11, KW_LIMIT,
                   "table plain: 11 records in one call; at most 10 are allowed");
    assert_ok(put_records(self, "plain", 10), 10);
    g_assert_cmpuint(kw_memory_store_rows(self->store, "plain"), ==, 10);
    desk_free(self);
}

/* The rows count, too, if a record has one in every bucket. The rows of paths do not: their number is known
 * from the policy. A single record is always accepted. */
KW_TEST(test_too_many_rows, "/path/write/too many rows")
{
    desk *self = desk_new(policy);
    assert_refused(self, remove_records(self, "spread", 3), 3, KW_LIMIT,
                   "table spread: 3 records in 4 rows each are 12 writes; at most 10 are allowed in one call "
                   "(limits.batch_records)");
    assert_refused(self, remove_records(self, "wide", 2), 2, KW_LIMIT,
                   "table wide: 2 records in 16 rows each are 32 writes; at most 10 are allowed in one call "
                   "(limits.batch_records)");
    assert_ok(remove_records(self, "spread", 2), 2);
    assert_ok(put_records(self, "spread", 10), 10);
    assert_ok(remove_records(self, "wide", 1), 1);
    assert_ok(put_records(self, "pairs", 10), 10);
    assert_ok(remove_records(self, "pairs", 10), 10);
    desk_free(self);
}

/* Exactly as many rows as allowed. */
KW_TEST(test_most_rows, "/path/write/most rows")
{
    g_autofree char *text = g_strdup(policy);
    memcpy(strstr(text, "batch_records: 10"), "batch_records: 12", strlen("batch_records: 12"));
    desk *self = desk_new(text);
    assert_ok(remove_records(self, "spread", 3), 3);
    desk_free(self);
}

KW_TEST(test_bad_timestamp, "/path/write/bad timestamp")
{
    desk *self = desk_new(policy);
    self->options = (kw_write_options){.has_timestamp = true, .timestamp = -1};
    assert_refused(self, put_records(self, "plain", 2), 2, KW_INVALID,
                   "timestamp -1 is not milliseconds since 1970 (0 to 253402300799999)");
    desk_free(self);
}

/* --- what is sent ---------------------------------------------------------------------------------- */

KW_TEST(test_options, "/path/write/options")
{
    desk *self = desk_new(policy);
    self->call.deadline = kw_deadline_in_ms(1000000);
    put_records(self, "plain", 1);
    const kw_write *write = &self->control->last_write;
    g_assert_cmpint(write->timestamp, ==, KW_TIMESTAMP_NONE);
    g_assert_cmpint(write->durability, ==, KW_DURABILITY_DEFAULT);
    g_assert_true(write->ordering == &desk_table(self, "plain")->ordering);
    g_assert_cmpuint(write->deadline, ==, self->call.deadline);
    g_assert_true(kw_bytes_equal(write->table, KW_BYTES_LITERAL("plain")));
    self->options = (kw_write_options){KW_DURABILITY_FSYNC_WAL, true, 42};
    put_records(self, "pairs", 1);
    write = &self->control->last_write;
    g_assert_cmpint(write->timestamp, ==, 42);
    g_assert_cmpint(write->durability, ==, KW_DURABILITY_FSYNC_WAL);
    desk_free(self);
}

/* The store handle between the batch and the store: keeps the numbers of records and replaces outcomes. */
static struct {
    const kw_store_handle_class *inner;
    const char *outcomes; /* a letter for each write: o OK, f FAILED, u UNKNOWN; NULL: as they are */
    uint32_t records[64];
    size_t count;
} between;

static void
write_many_between(kw_store_handle *handle, const kw_write *const *writes, size_t count, kw_written *results,
                   void (*done)(void *), void *user)
{
    between.count = count;
    between.inner->write_many(handle, writes, count, results, done, user);
    for (size_t i = 0; i < count; i++) {
        between.records[i] = writes[i]->record;
        char letter = between.outcomes ? between.outcomes[i] : 'o';
        if (letter == 'o')
            continue;
        results[i].outcome = letter == 'f' ? KW_OUTCOME_FAILED : KW_OUTCOME_UNKNOWN;
        kw_error_set(&results[i].error, KW_UNAVAILABLE, "write %zu %c", i, letter);
    }
}

static desk *
desk_with_outcomes(const char *outcomes)
{
    static kw_store_handle_class class;
    desk *self = desk_new(policy);
    between.inner = self->handle->class;
    between.outcomes = outcomes;
    class = *between.inner;
    class.write_many = write_many_between;
    self->handle->class = &class;
    return self;
}

/* The rows of one record have a number in common; a record with one row needs none. */
KW_TEST(test_numbers_of_records, "/path/write/numbers of records")
{
    desk *self = desk_with_outcomes(NULL);
    put_records(self, "pairs", 3);
    g_assert_cmpuint(between.count, ==, 9);
    for (size_t i = 0; i < 9; i++) {
        g_assert_cmpuint(between.records[i], >, 0);
        for (size_t other = 0; other < i; other++)
            g_assert_cmpint(between.records[i] == between.records[other], ==, i / 3 == other / 3);
    }
    put_records(self, "plain", 3);
    g_assert_cmpuint(between.count, ==, 3);
    for (size_t i = 0; i < 3; i++)
        g_assert_cmpuint(between.records[i], ==, 0);
    desk_free(self);
}

/* --- outcomes -------------------------------------------------------------------------------------- */

/* A record with three paths: OK only if all writes are, FAILED only if all failed. The error is that of the
 * first write with the worst outcome, and names the paths that were written. */
KW_TEST(test_outcomes_of_paths, "/path/write/outcomes of paths")
{
    static const struct {
        const char *writes;
        kw_outcome outcome;
        const char *text;
    } cases[] = {
        {"ooo", KW_OUTCOME_OK, ""},
        {"fff", KW_OUTCOME_FAILED, "table pairs, path primary: write 0 f"},
        {"ffu", KW_OUTCOME_UNKNOWN, "table pairs, path third: write 2 u"},
        {"fuu", KW_OUTCOME_UNKNOWN, "table pairs, path second: write 1 u"},
        {"uuf", KW_OUTCOME_UNKNOWN, "table pairs, path primary: write 0 u"},
        {"ofo", KW_OUTCOME_UNKNOWN,
         "applied under path primary, third, but possibly not under all paths: table pairs, path second: "
         "write 1 "
         "f"},
        {"ouf", KW_OUTCOME_UNKNOWN,
         "applied under path primary, but possibly not under all paths: table pairs, path second: write 1 u"},
        {"fuo", KW_OUTCOME_UNKNOWN,
         "applied under path third, but possibly not under all paths: table pairs, path second: write 1 u"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        desk *self = desk_with_outcomes(cases[i].writes);
        const kw_written_record *result = put_records(self, "pairs", 1);
        g_assert_cmpint(result->outcome, ==, cases[i].outcome);
        g_assert_cmpstr(result->error.text, ==, cases[i].text);
        g_assert_cmpint(result->error.maybe_applied, ==, cases[i].outcome == KW_OUTCOME_UNKNOWN);
        desk_free(self);
    }
}

/* Each of the records of a call with many has its own rows. */
KW_TEST(test_outcomes_of_many_records, "/path/write/outcomes of many records")
{
    enum { RECORDS = 10 };
    desk *self = desk_with_outcomes("oufoufoufoufoufoufoufoufoufouf");
    const kw_written_record *results = put_records(self, "pairs", RECORDS);
    for (int i = 0; i < RECORDS; i++) {
        g_autofree char *text = g_strdup_printf("applied under path primary, but possibly not under all "
                                                "paths: table pairs, path second: write %d u",
                                                3 * i + 1);
        g_assert_cmpint(results[i].outcome, ==, KW_OUTCOME_UNKNOWN);
        g_assert_cmpstr(results[i].error.text, ==, text);
    }
    desk_free(self);
}

/* The buckets of one path: the path is named once, and only if the table has others. */
KW_TEST(test_outcomes_of_buckets, "/path/write/outcomes of buckets")
{
    desk *self = desk_with_outcomes("ofoo");
    const kw_written_record *result = remove_records(self, "spread", 1);
    g_assert_cmpint(result->outcome, ==, KW_OUTCOME_UNKNOWN);
    g_assert_true(result->error.maybe_applied);
    g_assert_cmpstr(result->error.text, ==, "write 1 f");
    desk_free(self);
}

/* The outcomes of one record do not change those of others. */
KW_TEST(test_outcomes_of_records, "/path/write/outcomes of records")
{
    desk *self = desk_with_outcomes("oooffffuuooo");
    const kw_written_record *results = put_records(self, "pairs", 4);
    static const kw_outcome expected[] = {KW_OUTCOME_OK, KW_OUTCOME_FAILED, KW_OUTCOME_UNKNOWN,
                                          KW_OUTCOME_OK};
    for (size_t i = 0; i < 4; i++) {
        g_assert_cmpint(results[i].outcome, ==, expected[i]);
        g_assert_cmpint(results[i].error.code, ==, expected[i] == KW_OUTCOME_OK ? KW_OK : KW_UNAVAILABLE);
    }
    desk_free(self);
}

/* A single write, which is sent alone. */
KW_TEST(test_single_write, "/path/write/single write")
{
    static const kw_outcome outcomes[] = {KW_OUTCOME_FAILED, KW_OUTCOME_UNKNOWN};
    desk *self = desk_new(policy);
    for (size_t i = 0; i < G_N_ELEMENTS(outcomes); i++) {
        bool unknown = outcomes[i] == KW_OUTCOME_UNKNOWN;
        self->control->fail_at = self->control->operations + 1;
        self->control->fail_applied = unknown;
        const kw_written_record *result = put_records(self, "plain", 1);
        g_assert_cmpint(result->outcome, ==, outcomes[i]);
        g_assert_cmpint(result->error.maybe_applied, ==, unknown);
        g_assert_true(g_str_has_prefix(result->error.text, "operation "));
        g_assert_cmpuint(kw_memory_store_rows(self->store, "plain"), ==, unknown);
        self->control->fail_at = 0;
    }
    assert_ok(put_records(self, "plain", 1), 1);
    desk_free(self);
}

/* --- records that are rejected --------------------------------------------------------------------- */

/* One record is rejected by the verb, one has no key; the others are written, with their generated fields. */
KW_TEST(test_rejected_records, "/path/write/rejected records")
{
    desk *self = desk_new(policy);
    const kw_table *table = desk_table(self, "pairs");
    g_autofree char *large = g_strnfill(KW_STORE_ROW_KEY_MAX + 1, 'x');
    g_autofree char *too_long = g_strdup_printf("id=%s", large);
    kw_item items[] = {{.record = desk_record(self, "pairs", "id=a")},
                       {.record = desk_record(self, "pairs", "id=b")},
                       {.record = desk_record(self, "pairs", too_long)},
                       {.record = desk_record(self, "pairs", "id=d")}};
    kw_cell cell = {KW_BYTES_LITERAL("d"), KW_BYTES_LITERAL("n"), KW_BYTES_LITERAL("12345678"), 0};
    kw_write form = {.kind = KW_WRITE_PUT, .cells = &cell, .cells_count = 1};
    kw_error wrong;
    kw_error_set(&wrong, KW_INVALID, "it is wrong");
    self->done = false;
    kw_batch *batch = kw_batch_begin(&self->call, table, items, 4, &self->options, desk_done, self);
    kw_batch_set_generated(batch, 0, items[0].record.values);
    kw_batch_add(batch, 0, &form);
    kw_batch_refuse(batch, 1, &wrong);
    kw_batch_add(batch, 2, &form);
    kw_batch_add(batch, 3, &form);
    kw_batch_send(batch, answer);
    desk_wait(self);
    static const kw_code codes[] = {KW_OK, KW_INVALID, KW_INVALID, KW_OK};
    for (size_t i = 0; i < 4; i++) {
        g_assert_cmpint(self->written[i].error.code, ==, codes[i]);
        g_assert_cmpint(self->written[i].outcome, ==, codes[i] == KW_OK ? KW_OUTCOME_OK : KW_OUTCOME_FAILED);
    }
    g_assert_cmpstr(self->written[1].error.text, ==, "it is wrong");
    g_assert_true(self->written[0].generated.values == items[0].record.values);
    g_assert_null(self->written[3].generated.values);
    g_assert_cmpuint(kw_memory_store_rows(self->store, "pairs"), ==, 2);
    g_assert_cmpuint(kw_memory_store_rows(self->store, "pairs_second"), ==, 2);
    desk_free(self);
}

/* A removal uses the record's row in every bucket, even if it is the only record left of its batch. */
KW_TEST(test_only_removal_left, "/path/write/only removal left")
{
    desk *self = desk_with_outcomes(NULL);
    kw_item items[] = {{.record = desk_record(self, "spread", "id=a")},
                       {.record = desk_record(self, "spread", "id=b")}};
    kw_write form = {.kind = KW_WRITE_DELETE};
    kw_error wrong;
    kw_error_set(&wrong, KW_INVALID, "it is wrong");
    self->done = false;
    between.count = 0;
    kw_batch *batch =
        kw_batch_begin(&self->call, desk_table(self, "spread"), items, 2, &self->options, desk_done, self);
    kw_batch_refuse(batch, 0, &wrong);
    kw_batch_add(batch, 1, &form);
    kw_batch_send(batch, answer);
    desk_wait(self);
    g_assert_cmpint(self->written[0].outcome, ==, KW_OUTCOME_FAILED);
    assert_ok(&self->written[1], 1);
    g_assert_cmpuint(between.count, ==, 4);
    desk_free(self);
}

/* A batch without a record to write sends nothing. */
KW_TEST(test_nothing_to_write, "/path/write/nothing to write")
{
    desk *self = desk_new(policy);
    g_autofree char *large = g_strnfill(KW_STORE_ROW_KEY_MAX + 1, 'x');
    g_autofree char *too_long = g_strdup_printf("id=%s", large);
    self->done = false;
    kw_batch *batch =
        kw_batch_begin(&self->call, desk_table(self, "plain"), NULL, 0, &self->options, desk_done, self);
    kw_batch_send(batch, answer);
    desk_wait(self);
    g_assert_cmpuint(self->count, ==, 0);
    kw_item item = {.record = desk_record(self, "plain", too_long)};
    kw_write form = {.kind = KW_WRITE_DELETE};
    self->done = false;
    batch = kw_batch_begin(&self->call, desk_table(self, "plain"), &item, 1, &self->options, desk_done, self);
    kw_batch_add(batch, 0, &form);
    kw_batch_send(batch, answer);
    desk_wait(self);
    assert_refused(self, self->written, 1, KW_INVALID, self->written[0].error.text);
    desk_free(self);
}

/* --- the association ------------------------------------------------------------------------------- */

/* Removing whole records removes them from the association; removing columns does not. */
KW_TEST(test_forgotten_records, "/path/write/forgotten records")
{
    desk *self = desk_new(policy);
    assert_ok(put_records(self, "known", 3), 3);
    assert_ok(write_records(self, "known", 3, KW_WRITE_DELETE, "n"), 3);
    g_assert_cmpuint(kw_memory_store_rows(self->store, "known"), ==, 0);
    g_assert_cmpuint(kw_memory_store_rows(self->store, "known_where"), ==, 3);
    assert_ok(put_records(self, "known", 3), 3);
    assert_ok(remove_records(self, "known", 2), 2);
    g_assert_cmpuint(kw_memory_store_rows(self->store, "known"), ==, 1);
    g_assert_cmpuint(kw_memory_store_rows(self->store, "known_where"), ==, 1);
    desk_free(self);
}

/* A record that possibly still exists stays in the association, where a lookup finds its row. */
KW_TEST(test_not_forgotten, "/path/write/not forgotten")
{
    for (int applied = 0; applied < 2; applied++) {
        desk *self = desk_new(policy);
        put_records(self, "known", 2);
        self->control->fail_at =
            self->control->operations + 2; /* the removal of the rows, the first of both */
        self->control->fail_applied = applied;
        const kw_written_record *results = remove_records(self, "known", 2);
        g_assert_cmpint(results[0].outcome, ==, applied ? KW_OUTCOME_UNKNOWN : KW_OUTCOME_FAILED);
        g_assert_cmpint(results[1].outcome, ==, KW_OUTCOME_OK);
        g_assert_cmpuint(kw_memory_store_rows(self->store, "known_where"), ==, 1);
        g_assert_nonnull(
            kw_memory_store_cell(self->store, "known_where", KW_BYTES_LITERAL("0"), "d", "primary/1").data);
        desk_free(self);
    }
}

/* The rows are removed, but one of the records is possibly still in the association. */
KW_TEST(test_forgetting_fails, "/path/write/forgetting fails")
{
    for (size_t failed = 0; failed < 2; failed++) {
        desk *self = desk_new(policy);
        put_records(self, "known", 2);
        self->control->fail_at = self->control->operations + 3 + failed;
        const kw_written_record *results = remove_records(self, "known", 2);
        g_assert_cmpint(results[1 - failed].outcome, ==, KW_OUTCOME_OK);
        g_assert_cmpint(results[failed].outcome, ==, KW_OUTCOME_UNKNOWN);
        g_assert_true(results[failed].error.maybe_applied);
        g_assert_true(g_str_has_prefix(results[failed].error.text,
                                       "table known: the record is removed, but its row in the association "
                                       "where may remain; remove it again: operation "));
        g_assert_cmpuint(kw_memory_store_rows(self->store, "known"), ==, 0);
        desk_free(self);
    }
}
