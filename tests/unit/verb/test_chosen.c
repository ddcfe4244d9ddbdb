/* Tables whose put selects the bucket (salt random and round_robin), with and without an association. */
#include "desk.h"
#include "gone.h"
#include "renewed.h"
#include "support/seed.h"

static const char chosen_policy[] =
    "store: {kind: embedded}\n"
    "limits: {batch_records: 100, page_rows: 1000}\n"
    "tables:\n"
    "  log:\n"
    "    updates: false\n"
    "    fields:\n"
    "      ts: {type: timestamp, unit: ms}\n"
    "      id: string\n"
    "      note: string\n"
    "      hits: {type: int, counter: true}\n"
    "    key:\n"
    "      - salt: {algorithm: round_robin, buckets: 4}\n"
    "      - field: ts\n"
    "      - field: id\n"
    "  known:\n"
    "    families: {d: {ttl: 60s, versions: 3}}\n"
    "    fields:\n"
    "      ts: {type: timestamp, unit: ms}\n"
    "      id: string\n"
    "      note: string\n"
    "      hits: {type: int, counter: true}\n"
    "    key:\n"
    "      - salt: {algorithm: random, buckets: 16}\n"
    "      - field: ts\n"
    "      - field: id\n"
    "    paths:\n"
    "      by_id:\n"
    "        association: true\n"
    "        key: [{hash: id}, {field: id}, {field: ts}]\n"
    "  both:\n"
    "    fields:\n"
    "      ts: {type: timestamp, unit: ms}\n"
    "      id: string\n"
    "      note: string\n"
    "    key: [{hash: id}, {field: id}, {field: ts}]\n"
    "    paths:\n"
    "      by_time:\n"
    "        key: [{salt: {algorithm: random, buckets: 8}}, {field: ts}, {field: id}]\n"
    "      where:\n"
    "        association: true\n"
    "        key: [{field: id}, {field: ts}]\n";

static void
put_ok(desk *self, const char *table, const char *record)
{
    const kw_written_record *put = desk_put(self, table, record);
    g_assert_cmpstr(put->error.text, ==, "");
    g_assert_cmpint(put->outcome, ==, KW_OUTCOME_OK);
}

/* Four puts use four buckets. Lookups find records in every bucket, and scans merge the buckets. */
KW_TEST(test_without_association, "/verb/chosen/without_association")
{
    desk *self = desk_new(chosen_policy);
    for (int i = 0; i < 8; i++) {
        g_autofree char *record = g_strdup_printf("ts=%d id=r%d note=n%d", 10 - i, i, i);
        put_ok(self, "log", record);
    }
    int rows[4] = {0};
    for (size_t i = 0; i < 8; i++)
        rows[kw_memory_store_key(self->store, "log", i).data[0]]++;
    for (int bucket = 0; bucket < 4; bucket++)
        g_assert_cmpint(rows[bucket], ==, 2);

    self->control->rows_got = self->control->operations = 0;
    g_assert_cmpstr(desk_get(self, "log", "ts=5 id=r5", NULL), ==, "ts=5 id=r5 note=n5");
    g_assert_cmpuint(self->control->rows_got, ==, 4);
    g_assert_cmpuint(self->control->operations, ==, 1);
    g_assert_cmpstr(desk_get(self, "log", "ts=5 id=r5", "hits"), ==, "ts=5 id=r5");
    g_assert_cmpstr(desk_get(self, "log", "ts=5 id=none", "hits"), ==, "none");
    g_assert_cmpstr(desk_get(self, "log", "ts=5 id=none", NULL), ==, "none");

    g_autofree char *scan = desk_scan_all(self, "log ts=4..7 order=desc page=1");
    g_assert_cmpstr(scan, ==, "ts=6 id=r4 note=n4\nts=5 id=r5 note=n5\nts=4 id=r6 note=n6\n");
    g_autofree char *point = desk_scan_all(self, "log ts=6|7 id=r4|r3");
    g_assert_true(strstr(point, "ts=6 id=r4 note=n4\n") && strstr(point, "ts=7 id=r3 note=n3\n"));

    g_assert_cmpint(desk_remove(self, "log", "ts=5 id=r5", NULL)->outcome, ==, KW_OUTCOME_OK);
    g_assert_cmpstr(desk_get(self, "log", "ts=5 id=r5", NULL), ==, "none");
    g_assert_cmpuint(kw_memory_store_rows(self->store, "log"), ==, 7);
    desk_free(self);
}

/* A record that exists in several buckets, as after a put with an unknown outcome. */
KW_TEST(test_newest_wins, "/verb/chosen/newest_wins")
{
    desk *self = desk_new(chosen_policy);
    for (uint8_t bucket = 0; bucket < 4; bucket++) {
        put_ok(self, "log", "ts=5 id=a note=first");
        self->options = (kw_write_options){.has_timestamp = true, .timestamp = 1000 - bucket};
    }
    g_assert_cmpuint(kw_memory_store_rows(self->store, "log"), ==, 4);
    self->options.timestamp = INT64_C(4000000000000);
    put_ok(self, "log", "ts=5 id=a note=last");
    g_assert_cmpstr(desk_get(self, "log", "ts=5 id=a", NULL), ==, "ts=5 id=a note=last");
    desk_remove(self, "log", "ts=5 id=a", NULL);
    g_assert_cmpuint(kw_memory_store_rows(self->store, "log"), ==, 0);
    desk_free(self);
}

static void
write_many(desk *self, const char *table, size_t count, bool removes)
{
    kw_item *items = KW_ARENA_ARRAY(self->call.arena, kw_item, count);
    for (size_t i = 0; i < count; i++) {
        g_autofree char *record = g_strdup_printf("ts=%zu id=m%zu%s", i, i, removes ? "" : " note=x");
        items[i].record = desk_record(self, table, record);
    }
    self->done = false;
    if (removes)
        kw_verb_remove(&self->call, desk_table(self, table), items, count, NULL, 0, self->options, desk_done,
                       self);
    else
        kw_verb_put(&self->call, desk_table(self, table), items, count, self->options, desk_done, self);
    desk_wait(self);
}

static void
get_many(desk *self, const char *table, size_t count)
{
    kw_item *items = KW_ARENA_ARRAY(self->call.arena, kw_item, count);
    for (size_t i = 0; i < count; i++) {
        g_autofree char *record = g_strdup_printf("ts=%zu id=m%zu", i, i);
        items[i].record = desk_record(self, table, record);
    }
    self->done = false;
    kw_verb_get(&self->call, desk_table(self, table), items, count, NULL, 0, desk_got, self);
    desk_wait(self);
}

KW_TEST(test_many, "/verb/chosen/many")
{
    static const char *const tables[] = {"log", "known", "both"};
    static const char *const associations[] = {"log", "known_by_id", "both_where"};
    desk *self = desk_new(chosen_policy);
    self->control->shuffle = true;
    for (size_t t = 0; t < G_N_ELEMENTS(tables); t++) {
        write_many(self, tables[t], 25, false);
        for (size_t i = 0; i < 25; i++)
            g_assert_cmpint(self->written[i].outcome, ==, KW_OUTCOME_OK);
        get_many(self, tables[t], 25);
        for (size_t i = 0; i < 25; i++)
            g_assert_nonnull(self->found[i].record.values);
        write_many(self, tables[t], 25, true);
        for (size_t i = 0; i < 25; i++)
            g_assert_cmpint(self->written[i].outcome, ==, KW_OUTCOME_OK);
        g_assert_cmpuint(kw_memory_store_rows(self->store, tables[t]), ==, 0);
        g_assert_cmpuint(kw_memory_store_rows(self->store, associations[t]), ==, 0);
        get_many(self, tables[t], 25);
        for (size_t i = 0; i < 25; i++)
            g_assert_null(self->found[i].record.values);
    }
    /* Each lookup reads four rows: together they exceed limits.batch_records. */
    get_many(self, "log", 26);
    g_assert_cmpint(self->found[25].error.code, ==, KW_LIMIT);
    g_assert_nonnull(strstr(self->found[25].error.text, "26 keys in 4 buckets each are 104 rows"));
    write_many(self, "log", 26, true);
    g_assert_cmpint(self->written[0].error.code, ==, KW_LIMIT);
    g_assert_nonnull(strstr(self->written[0].error.text, "104 writes; at most 100"));
    write_many(self, "known", 26, true);
    g_assert_cmpint(self->written[0].outcome, ==, KW_OUTCOME_OK);
    desk_free(self);
}

/* Repeated puts of a record write one row. A get reads the association and that row. */
KW_TEST(test_association, "/verb/chosen/association")
{
    desk *self = desk_new(chosen_policy);
    for (int i = 0; i < 20; i++) {
        put_ok(self, "known", "ts=5 id=a note=again");
        put_ok(self, "known", i % 2 ? "ts=6 id=a hits=3" : "ts=6 id=a note=b");
        g_assert_cmpuint(kw_memory_store_rows(self->store, "known"), ==, 2);
    }
    g_assert_cmpuint(kw_memory_store_rows(self->store, "known_by_id"), ==, 2);
    self->control->rows_got = 0;
    g_assert_cmpstr(desk_get(self, "known", "ts=6 id=a", NULL), ==, "ts=6 id=a note=b hits=3");
    g_assert_cmpuint(self->control->rows_got, ==, 2);
    g_assert_cmpstr(desk_get(self, "known", "ts=7 id=a", NULL), ==, "none");
    g_autofree char *scan = desk_scan_all(self, "known ts=0..9");
    g_assert_cmpstr(scan, ==, "ts=5 id=a note=again\nts=6 id=a note=b hits=3\n");

    /* A removal leaves no row. A later put uses the same row again, so that a writer that looked it up before
     * the removal writes to the same row. */
    kw_bytes before = kw_memory_store_key(self->store, "known", 0);
    g_autofree uint8_t *key = g_memdup2(before.data, before.size);
    kw_bytes first_key = kw_bytes_of(key, before.size);
    desk_remove(self, "known", "ts=5 id=a", NULL);
    desk_remove(self, "known", "ts=6 id=a", NULL);
    g_assert_cmpuint(kw_memory_store_rows(self->store, "known"), ==, 0);
    g_assert_cmpuint(kw_memory_store_rows(self->store, "known_by_id"), ==, 0);
    g_assert_cmpint(desk_remove(self, "known", "ts=99 id=nobody", NULL)->outcome, ==, KW_OUTCOME_OK);
    put_ok(self, "known", "ts=5 id=a note=back");
    put_ok(self, "known", "ts=6 id=a note=back");
    g_assert_true(kw_bytes_equal(kw_memory_store_key(self->store, "known", 0), first_key) ||
                  kw_bytes_equal(kw_memory_store_key(self->store, "known", 1), first_key));
    desk_free(self);
}

/* New records are spread over all buckets as evenly as by a random choice. */
KW_TEST(test_spread, "/verb/chosen/spread")
{
    enum { RECORDS = 4000, BUCKETS = 16 };
    int rows[BUCKETS] = {0};
    desk *self = desk_new(chosen_policy);
    for (int i = 0; i < RECORDS; i++) {
        g_autofree char *record = g_strdup_printf("ts=%d id=1000%05d note=x", 1000 + i / 7, i);
        put_ok(self, "known", record);
        desk_clear(self);
    }
    for (size_t i = 0; i < RECORDS; i++)
        rows[kw_memory_store_key(self->store, "known", i).data[0]]++;
    for (int bucket = 0; bucket < BUCKETS; bucket++)
        g_assert_cmpint(ABS(rows[bucket] - RECORDS / BUCKETS), <, 75); /* five standard deviations */
    desk_free(self);
}

static void
explained(void *user, const kw_explained_key *keys, size_t count, const kw_error *error)
{
    kw_explained_key *kept = user;
    g_assert_null(error);
    g_assert_cmpuint(count, ==, 2);
    *kept = keys[0];
}

/* A new record is written to the row that explain returns. */
KW_TEST(test_explain, "/verb/chosen/explain")
{
    desk *self = desk_new(chosen_policy);
    for (int i = 0; i < 20; i++) {
        g_autofree char *text = g_strdup_printf("ts=%d id=e%d", i, i);
        kw_record record = desk_record(self, "known", text);
        kw_explained_key named = {0};
        kw_verb_explain_put(&self->call, desk_table(self, "known"), &record, explained, &named);
        while (!named.placement)
            uv_run(kw_loop_uv(self->loop), UV_RUN_ONCE);
        put_ok(self, "known", text);
        kw_bytes key = kw_memory_store_key(self->store, "known", 0);
        g_assert_true(kw_bytes_equal(key, named.row_key));
        g_assert_cmpuint(key.data[0], ==, named.bucket);
        g_assert_cmpuint(named.pieces[0].bytes.data[0], ==, named.bucket);
        desk_remove(self, "known", text, NULL);
    }
    desk_free(self);
}

/* Only the association can find a row in a bucket that another program selected. The entry therefore stays
 * when the record is removed. */
KW_TEST(test_another_choice, "/verb/chosen/another_choice")
{
    desk *self = desk_new(chosen_policy);
    put_ok(self, "known", "ts=5 id=a note=x");
    kw_bytes own = kw_memory_store_key(self->store, "known", 0);
    g_autofree uint8_t *other = g_memdup2(own.data, own.size);
    g_autofree uint8_t *row = NULL;
    desk_remove(self, "known", "ts=5 id=a", NULL);
    put_ok(self, "known", "ts=5 id=a note=x");
    kw_bytes found = kw_memory_store_key(self->store, "known_by_id", 0);
    row = g_memdup2(found.data, found.size);
    kw_bytes row_key = kw_bytes_of(row, found.size);
    desk_remove(self, "known", "ts=5 id=a", NULL);
    other[0] = (uint8_t)((other[0] + 1) % 16);
    kw_memory_store_set(self->store, "known_by_id", row_key, "d", "primary/1", kw_bytes_of(other, own.size),
                        1);
    for (int i = 0; i < 3; i++) {
        put_ok(self, "known", "ts=5 id=a note=x");
        g_assert_cmpuint(kw_memory_store_key(self->store, "known", 0).data[0], ==, other[0]);
        g_assert_cmpstr(desk_get(self, "known", "ts=5 id=a", NULL), ==, "ts=5 id=a note=x");
        g_assert_cmpint(desk_remove(self, "known", "ts=5 id=a", NULL)->outcome, ==, KW_OUTCOME_OK);
        g_assert_cmpuint(kw_memory_store_rows(self->store, "known"), ==, 0);
        g_assert_cmpuint(kw_memory_store_rows(self->store, "known_by_id"), ==, 1);
    }
    desk_free(self);
}

KW_TEST(test_second_path, "/verb/chosen/second_path")
{
    desk *self = desk_new(chosen_policy);
    for (int i = 0; i < 5; i++)
        put_ok(self, "both", "ts=5 id=a note=again");
    g_assert_cmpuint(kw_memory_store_rows(self->store, "both"), ==, 1);
    g_assert_cmpuint(kw_memory_store_rows(self->store, "both_by_time"), ==, 1);
    self->control->rows_got = 0;
    g_assert_cmpstr(desk_get(self, "both", "ts=5 id=a", NULL), ==, "ts=5 id=a note=again");
    g_assert_cmpuint(self->control->rows_got, ==, 1); /* the key of the primary path needs no association */
    g_autofree char *scan = desk_scan_all(self, "both ts=0..9 path=by_time");
    g_assert_cmpstr(scan, ==, "ts=5 id=a note=again\n");
    desk_remove(self, "both", "ts=5 id=a", NULL);
    g_assert_cmpuint(kw_memory_store_rows(self->store, "both_by_time"), ==, 0);
    g_assert_cmpuint(kw_memory_store_rows(self->store, "both_where"), ==, 0);
    desk_free(self);
}

/* --- two gateways ---------------------------------------------------------------------------------- */

typedef struct racer {
    desk *desk;
    size_t *open;
    kw_outcome outcome;
} racer;

static void
race_done(void *user, const kw_written_record *results, size_t count)
{
    racer *self = user;
    g_assert_cmpuint(count, ==, 1);
    self->outcome = results->outcome;
    --*self->open;
}

/* Concurrent puts of one new record, with completions in every order: they all write one row. */
KW_TEST(test_race, "/verb/chosen/race")
{
    for (int round = 0; round < 50; round++) {
        desk *self = desk_new(chosen_policy);
        self->control->shuffle = true;
        size_t open = 8;
        racer racers[8];
        kw_item item = {.record = desk_record(self, "known", "ts=5 id=a note=x")};
        for (size_t i = 0; i < G_N_ELEMENTS(racers); i++) {
            racers[i] = (racer){.desk = self, .open = &open};
            kw_verb_put(&self->call, desk_table(self, "known"), &item, 1, self->options, race_done,
                        &racers[i]);
        }
        while (open)
            uv_run(kw_loop_uv(self->loop), UV_RUN_ONCE);
        for (size_t i = 0; i < G_N_ELEMENTS(racers); i++)
            g_assert_cmpint(racers[i].outcome, ==, KW_OUTCOME_OK);
        g_assert_cmpuint(kw_memory_store_rows(self->store, "known"), ==, 1);
        g_assert_cmpuint(kw_memory_store_rows(self->store, "known_by_id"), ==, 1);
        desk_free(self);
    }
}

/* Concurrent puts and removals of one record, with completions in every order: it exists in at most one row,
 * where a lookup finds it. A removal without concurrent calls leaves no row. */
KW_TEST(test_race_of_removals, "/verb/chosen/race_of_removals")
{
    for (int round = 0; round < 300; round++) {
        desk *self = desk_new(chosen_policy);
        self->control->shuffle = true;
        size_t open = 8;
        racer racers[8];
        kw_item item = {.record = desk_record(self, "known", "ts=5 id=a note=x")};
        kw_item key = {.record = desk_record(self, "known", "ts=5 id=a")};
        const kw_table *table = desk_table(self, "known");
        if (round % 2)
            put_ok(self, "known", "ts=5 id=a note=x");
        for (size_t i = 0; i < G_N_ELEMENTS(racers); i++) {
            racers[i] = (racer){.desk = self, .open = &open};
            if (i % 3 == 1)
                kw_verb_remove(&self->call, table, &key, 1, NULL, 0, self->options, race_done, &racers[i]);
            else
                kw_verb_put(&self->call, table, &item, 1, self->options, race_done, &racers[i]);
        }
        while (open)
            uv_run(kw_loop_uv(self->loop), UV_RUN_ONCE);
        for (size_t i = 0; i < G_N_ELEMENTS(racers); i++)
            g_assert_cmpint(racers[i].outcome, ==, KW_OUTCOME_OK);
        size_t rows = kw_memory_store_rows(self->store, "known");
        g_assert_cmpuint(rows, <=, 1);
        g_assert_cmpstr(desk_get(self, "known", "ts=5 id=a", NULL), ==, rows ? "ts=5 id=a note=x" : "none");
        g_assert_cmpint(desk_remove(self, "known", "ts=5 id=a", NULL)->outcome, ==, KW_OUTCOME_OK);
        g_assert_cmpuint(kw_memory_store_rows(self->store, "known"), ==, 0);
        g_assert_cmpuint(kw_memory_store_rows(self->store, "known_by_id"), ==, 0);
        desk_free(self);
    }
}

KW_TEST(test_removals_with_association, "/verb/chosen/removals_with_association")
{
    gone_integration_test(kw_memory_store_open(), "removals");
}

KW_TEST(test_renewals, "/verb/chosen/renewals")
{
    renewed_integration_test(kw_memory_store_open(), "renewals");
}

/* The n-th operation fails, applied or not, for each n until no operation fails. There is never a second row,
 * the outcome is correct, and the next put succeeds. */
KW_TEST(test_faults, "/verb/chosen/faults")
{
    for (int applied = 0; applied < 2; applied++) {
        bool failed = true;
        for (uint64_t n = 1; failed; n++) {
            g_assert_cmpuint(n, <, 20);
            desk *self = desk_new(chosen_policy);
            self->control->fail_at = n;
            self->control->fail_applied = applied;
            const kw_written_record *put = desk_put(self, "known", "ts=5 id=a note=x");
            size_t rows = kw_memory_store_rows(self->store, "known");
            failed = self->control->operations >= n;
            if (put->outcome == KW_OUTCOME_OK)
                g_assert_cmpuint(rows, ==, 1);
            if (put->outcome == KW_OUTCOME_FAILED) {
                g_assert_cmpuint(rows, ==, 0);
                g_assert_false(put->error.maybe_applied);
            }
            self->control->fail_at = 0;
            put_ok(self, "known", "ts=5 id=a note=y");
            g_assert_cmpuint(kw_memory_store_rows(self->store, "known"), ==, 1);
            desk_free(self);
        }
    }
}

/* --- increment and put_if -------------------------------------------------------------------------- */

static void
incremented(void *user, const kw_record *values, const kw_error *error)
{
    desk *self = user;
    self->done = true;
    self->error = error ? *error : KW_ERROR_NONE;
    self->values = values ? *values : (kw_record){NULL};
}

static void
increment(desk *self, const char *table)
{
    kw_pick *field = KW_ARENA_NEW(self->call.arena, kw_pick);
    int64_t *amount = KW_ARENA_NEW(self->call.arena, int64_t);
    kw_record *key = KW_ARENA_NEW(self->call.arena, kw_record);
    *field = desk_pick(self, table, "hits");
    *amount = 2;
    *key = desk_record(self, table, "ts=5 id=a");
    self->done = false;
    kw_verb_increment(&self->call, desk_table(self, table), key, field, amount, 1, self->options, incremented,
                      self);
    desk_wait(self);
}

static void
decided(void *user, bool applied, kw_record generated, const kw_error *error)
{
    desk *self = user;
    self->values = generated;
    self->done = true;
    self->applied = applied;
    self->error = error ? *error : KW_ERROR_NONE;
}

static void
put_if_absent(desk *self, const char *table)
{
    kw_condition_on_field *condition = KW_ARENA_NEW(self->call.arena, kw_condition_on_field);
    kw_record *record = KW_ARENA_NEW(self->call.arena, kw_record);
    *condition = (kw_condition_on_field){.pick = desk_pick(self, table, "note"), .compare = KW_COMPARE_EQUAL};
    *record = desk_record(self, table, "ts=5 id=a note=first");
    self->done = false;
    kw_verb_put_if(&self->call, desk_table(self, table), record, condition, self->options, decided, self);
    desk_wait(self);
}

KW_TEST(test_single, "/verb/chosen/single")
{
    desk *self = desk_new(chosen_policy);
    for (int i = 1; i <= 3; i++) {
        increment(self, "known");
        g_assert_cmpstr(self->error.text, ==, "");
        g_assert_cmpint(self->values.values[desk_field(self, "known", "hits")].number, ==, 2 * i);
        put_if_absent(self, "known");
        g_assert_cmpint(self->applied, ==, i == 1);
    }
    g_assert_cmpuint(kw_memory_store_rows(self->store, "known"), ==, 1);
    g_assert_cmpstr(desk_get(self, "known", "ts=5 id=a", NULL), ==, "ts=5 id=a note=first hits=6");
    increment(self, "log");
    g_assert_cmpint(self->error.code, ==, KW_INVALID);
    g_assert_nonnull(strstr(self->error.text, "increment needs to know a record's row"));
    put_if_absent(self, "log");
    g_assert_nonnull(strstr(self->error.text, "putIf needs to know a record's row"));
    desk_free(self);
}

/* An association with another record's row key, as after a forced change of the rule. */
KW_TEST(test_foreign_association, "/verb/chosen/foreign_association")
{
    desk *self = desk_new(chosen_policy);
    put_ok(self, "both", "ts=5 id=a");
    kw_memory_store_set(self->store, "both_where", kw_memory_store_key(self->store, "both_where", 0), "d",
                        "by_time/1", KW_BYTES_LITERAL("\x01nonsense"), INT64_C(5000000000000));
    const kw_written_record *put = desk_put(self, "both", "ts=5 id=a");
    g_assert_cmpint(put->outcome, ==, KW_OUTCOME_FAILED);
    g_assert_cmpint(put->error.code, ==, KW_CORRUPT);
    g_assert_nonnull(strstr(put->error.text, "the association where holds a row key of path by_time"));
    desk_free(self);
}

static void
created(void *user, const kw_created_table *tables, size_t count, const kw_error *error)
{
    desk *self = user;
    g_assert_null(error);
    g_assert_cmpuint(count, ==, 2);
    g_assert_true(kw_bytes_equal(tables[1].store_table, KW_BYTES_LITERAL("known_by_id")));
    self->done = true;
}

static void
described(void *user, kw_table_facts *facts, const kw_error *error)
{
    desk *self = user;
    g_assert_null(error);
    self->values.values = NULL;
    self->count = (size_t)facts->families[0].ttl_seconds;
    kw_table_facts_free(facts);
    self->done = true;
}

static size_t
ttl_of(desk *self, const char *store_table)
{
    self->done = false;
    kw_store_handle_describe_table(self->handle, kw_bytes_of_text(store_table), KW_DEADLINE_NONE, described,
                                   self);
    desk_wait(self);
    return self->count;
}

/* The cells of the association outlive the rows that they refer to. They do not expire if the families are
 * not those of the policy. */
KW_TEST(test_tables, "/verb/chosen/tables")
{
    desk *self = desk_new(chosen_policy);
    kw_create_request request = {.table = desk_table(self, "known"), .path = -1};
    self->done = false;
    kw_verb_create_table(&self->call, &request, created, self);
    desk_wait(self);
    g_assert_cmpuint(ttl_of(self, "known"), ==, 60);
    g_assert_cmpuint(ttl_of(self, "known_by_id"), ==, 60 + 86400);
    desk_free(self);
    self = desk_new(chosen_policy);
    const kw_family_spec family = {.name = "d", .ttl_seconds = 90};
    request = (kw_create_request){
        .table = desk_table(self, "known"), .path = -1, .families = &family, .families_count = 1};
    self->done = false;
    kw_verb_create_table(&self->call, &request, created, self);
    desk_wait(self);
    g_assert_cmpuint(ttl_of(self, "known"), ==, 90);
    g_assert_cmpuint(ttl_of(self, "known_by_id"), ==, 0);
    desk_free(self);
}

KW_TEST_START(start)
{
    kw_random_inject(test_seed());
}
