/* Advice about rules: shares of writes, time windows, regions, queries on the sample, sentences. */
#include "advise/advise.h"
#include "rule/policies.h"

#include <math.h>

#define RECORDS 6200
#define FIRST_ID INT64_C(1000000000)
#define START_MS INT64_C(1795255200000)

/* Six records per second. */
#define STEP_MS 166

#define FIELDS "    fields: {id: int, ts: timestamp}\n    key:\n"
#define SALT31 "      - salt: {of: id, buckets: 31"

typedef struct setting {
    kw_arena *arena;
    kw_policy *policies[2];
    kw_candidate candidates[2];
    size_t candidates_count;
    kw_advise_settings settings;
    kw_advice advice;
} setting;

static int64_t
time_of(size_t record)
{
    return START_MS + (int64_t)record * STEP_MS;
}

/* Ten-digit sequential ids, in the order of time. */
static const kw_record *
create_records(const kw_table *table, size_t count, kw_arena *arena)
{
    kw_record *records = KW_ARENA_ARRAY(arena, kw_record, count);
    for (size_t index = 0; index < count; index++) {
        records[index] = kw_record_new(table, arena);
        records[index].values[0] = test_number(FIRST_ID + (int64_t)index);
        records[index].values[1] = test_number(time_of(index));
    }
    return records;
}

static void
add_candidate(setting *self, const char *name, const char *yaml)
{
    size_t index = self->candidates_count++;
    self->policies[index] = test_policy(yaml);
    const kw_table *table = kw_policy_table(self->policies[index], 0);
    self->candidates[index] =
        (kw_candidate){.name = name,
                       .table = table,
                       .records = create_records(table, self->settings.records_count, self->arena)};
}

static void
set_up(setting *self, size_t records)
{
    int64_t *times;
    *self = (setting){.arena = kw_arena_new(), .settings = {.records_count = records}};
    times = KW_ARENA_ARRAY(self->arena, int64_t, records);
    for (size_t index = 0; index < records; index++)
        times[index] = time_of(index);
    self->settings.times_ms = times;
}

static void
advise(setting *self)
{
    kw_advise(self->candidates, self->candidates_count, &self->settings, self->arena, &self->advice);
}

static void
tear_down(setting *self)
{
    for (size_t index = 0; index < self->candidates_count; index++)
        kw_policy_unref(self->policies[index]);
    kw_arena_free(self->arena);
}

static const kw_advised_path *
first_path(const setting *self, size_t candidate)
{
    return &self->advice.candidates[candidate].paths[0];
}

static void
expect_word(const setting *self, const char *part)
{
    g_autoptr(GString) all = g_string_new(NULL);
    for (size_t index = 0; index < self->advice.words_count; index++) {
        if (strstr(self->advice.words[index], part))
            return;
        g_string_append_printf(all, "\n  %s", self->advice.words[index]);
    }
    g_error("no sentence contains \"%s\":%s", part, all->str);
}

/* --- typical rules ------------------------------------------------------------------------- */

KW_TEST(test_hashes, "/advise/hashes")
{
    setting self;
    set_up(&self, RECORDS);
    self.settings.regions = 31;
    add_candidate(&self, "base31",
                  FIELDS SALT31 ", algorithm: java_string}\n      - field: ts\n      - field: id\n");
    add_candidate(&self, "default", FIELDS SALT31 "}\n      - field: ts\n      - field: id\n");
    advise(&self);
    const kw_spread *base31 = &first_path(&self, 0)->buckets, *even = &first_path(&self, 1)->buckets;
    g_assert_cmpuint(base31->places, ==, 31);
    g_assert_cmpuint(base31->reached, ==, 10);
    g_assert_cmpfloat(fabs(base31->hottest_to_mean - 3.1), <, 0.01);
    g_assert_cmpuint(even->reached, ==, 31);
    g_assert_cmpfloat(even->hottest_to_mean, <=, 1.2);
    g_assert_cmpuint(first_path(&self, 0)->regions.reached, ==, 10);
    g_assert_cmpstr(first_path(&self, 1)->cut, ==, "by the rule");
    expect_word(&self, "reaches only 10 of 31 buckets");
    expect_word(&self, "spreads the writes evenly over all 31 buckets");
    expect_word(&self, "default compared with base31: gains: the writes of a minute go to");
    tear_down(&self);
}

/* The default hash is not reported for fields with few values, nor for buckets left empty by chance. */
KW_TEST(test_few_values, "/advise/few_values")
{
    setting self;
    set_up(&self, 1600);
    add_candidate(&self, "few",
                  FIELDS "      - salt: {of: id, buckets: 16}\n      - field: ts\n      - field: id\n");
    add_candidate(&self, "many",
                  FIELDS "      - salt: {of: id, buckets: 400}\n      - field: ts\n      - field: id\n");
    kw_record *records = KW_ARENA_ARRAY(self.arena, kw_record, 1600);
    for (size_t index = 0; index < 1600; index++) {
        records[index] = kw_record_new(self.candidates[0].table, self.arena);
        records[index].values[0] = test_number((int64_t)index % 5);
        records[index].values[1] = test_number(time_of(index));
    }
    self.candidates[0].records = records;
    self.settings.window_ms = 3600000;
    advise(&self);
    g_assert_cmpuint(first_path(&self, 0)->buckets.reached, <=, 5);
    expect_word(&self, "of 16 buckets, the hottest with");
    expect_word(&self, "its fields have too few different values in the sample");
    g_assert_cmpuint(first_path(&self, 1)->buckets.reached, <, 400);
    expect_word(&self, "spreads the writes evenly over all 400 buckets");
    expect_word(&self, "the writes of an hour ");
    tear_down(&self);
}

KW_TEST(test_time_key, "/advise/time_key")
{
    setting self;
    set_up(&self, RECORDS);
    add_candidate(&self, "plain", FIELDS "      - field: ts\n      - field: id\n");
    add_candidate(&self, "salted",
                  FIELDS "      - salt: {of: id, buckets: 16}\n      - field: ts\n      - field: id\n");
    advise(&self);
    const kw_spread *plain = &first_path(&self, 0)->regions, *salted = &first_path(&self, 1)->regions;
    g_assert_cmpuint(plain->places, ==, KW_ADVISE_REGIONS_DEFAULT);
    g_assert_null(first_path(&self, 0)->bucket);
    g_assert_cmpfloat(plain->window_share, ==, 1);
    g_assert_cmpfloat(plain->worst_share, ==, 1);
    g_assert_cmpfloat(plain->window_places, ==, 1);
    g_assert_cmpfloat(salted->window_share, <, 0.15);
    g_assert_cmpfloat(salted->window_places, >, 14);
    g_assert_cmpint(self.advice.window_ms, ==, 60000);
    expect_word(&self,
                "plain, path primary: in a typical minute, 100 % of the writes go to one of 16 regions");
    expect_word(&self, "Costs: a key is 1 byte longer");
    tear_down(&self);
}

/* --- windows --------------------------------------------------------------------------------------- */

/* Every record is in one window and one place; the heat map adds up to the counts. */
KW_TEST(test_heat, "/advise/heat")
{
    setting self;
    set_up(&self, RECORDS);
    self.settings.window_ms = 1000;
    add_candidate(&self, "salted",
                  FIELDS "      - salt: {of: id, buckets: 16}\n      - field: ts\n      - field: id\n");
    advise(&self);
    const kw_spread *regions = &first_path(&self, 0)->regions;
    g_assert_cmpuint(self.advice.windows, ==, (RECORDS * STEP_MS + 999) / 1000);
    g_assert_cmpuint(self.advice.columns_count, ==, KW_ADVISE_COLUMNS_MAX);
    for (size_t column = 1; column < self.advice.columns_count; column++)
        g_assert_cmpint(self.advice.columns[column - 1], <, self.advice.columns[column]);
    for (size_t place = 0; place < regions->places; place++) {
        uint64_t sum = 0;
        for (size_t column = 0; column < self.advice.columns_count; column++)
            sum += first_path(&self, 0)->heat[column * regions->places + place];
        g_assert_cmpuint(sum, ==, regions->counts[place]);
    }
    tear_down(&self);
}

/* Few records: longer windows, so that each holds several. No times: slices of the sample. */
KW_TEST(test_window_lengths, "/advise/window_lengths")
{
    setting self;
    set_up(&self, 50);
    int64_t *times = KW_ARENA_ARRAY(self.arena, int64_t, 50);
    for (int64_t index = 0; index < 50; index++)
        times[index] = (index - 25) * 600000; /* one per ten minutes, around 1970 */
    self.settings.times_ms = times;
    add_candidate(&self, "plain", FIELDS "      - field: id\n");
    advise(&self);
    g_assert_cmpint(self.advice.window_ms, ==, 3600000);
    g_assert_cmpuint(self.advice.windows, ==, 10);
    g_assert_cmpint(self.advice.columns[0], ==, -5 * 3600000);
    self.settings.times_ms = NULL;
    advise(&self);
    g_assert_cmpint(self.advice.window_ms, ==, 0);
    g_assert_cmpuint(self.advice.windows, ==, 12);
    g_assert_cmpint(self.advice.columns[0], ==, 1);
    g_assert_cmpfloat(first_path(&self, 0)->regions.window_share, ==, 1);
    tear_down(&self);
}

/* One record, and records that have no key. */
KW_TEST(test_few, "/advise/few")
{
    setting self;
    set_up(&self, 1);
    add_candidate(&self, "plain", FIELDS "      - field: id\n");
    advise(&self);
    g_assert_cmpfloat(first_path(&self, 0)->regions.window_places, ==, 0);
    g_assert_cmpuint(first_path(&self, 0)->regions.places, ==, 1);
    tear_down(&self);
    set_up(&self, 3);
    add_candidate(&self, "plain", FIELDS "      - field: id\n");
    kw_record *records = (kw_record *)self.candidates[0].records;
    records[0].values = NULL;
    self.candidates[0].rejection = "record 1: is not one";
    records[1].values[0] = KW_VALUE_ABSENT;
    records[2].values[0] = KW_VALUE_ABSENT;
    advise(&self);
    g_assert_cmpuint(first_path(&self, 0)->records, ==, 0);
    g_assert_cmpuint(first_path(&self, 0)->rejected, ==, 3);
    g_assert_cmpstr(first_path(&self, 0)->rejection, ==, "record 1: is not one");
    expect_word(&self, "3 records get no key (record 1: is not one)");
    tear_down(&self);
}

/* --- keys and order -------------------------------------------------------------------------------- */

KW_TEST(test_keys, "/advise/keys")
{
    setting self;
    set_up(&self, 200);
    add_candidate(
        &self, "hashed",
        FIELDS
        "      - hash: {of: id, take: 4}\n      - field: id\n      - field: {name: ts, order: desc}\n");
    add_candidate(&self, "literal",
                  FIELDS "      - literal: \"o|\"\n      - mod: {of: id, buckets: 10}\n"
                         "      - field: {name: ts, order: desc}\n      - field: id\n");
    kw_record *records = (kw_record *)self.candidates[0].records;
    records[7].values[0] = records[6].values[0];
    records[7].values[1] = records[6].values[1];
    advise(&self);
    const kw_advised_path *hashed = first_path(&self, 0), *literal = first_path(&self, 1);
    g_assert_cmpuint(hashed->key_bytes_min, ==, 20);
    g_assert_cmpuint(hashed->key_bytes_max, ==, 20);
    g_assert_cmpuint(hashed->duplicates, ==, 1);
    g_assert_cmpint(hashed->order_field, ==, -1);
    g_assert_cmpuint(hashed->lost_count, ==, 1);
    g_assert_cmpuint(hashed->lost[0], ==, 0);
    expect_word(&self, "hashed, path primary: the rule loses the order of id");
    expect_word(&self, "1 records have the same key");
    g_assert_cmpuint(literal->buckets.places, ==, 10);
    for (size_t place = 0; place < 10; place++)
        g_assert_cmpuint(literal->buckets.counts[place], ==, 20);
    g_assert_cmpint(literal->order_field, ==, 1);
    g_assert_true(literal->order_descending);
    g_assert_cmpuint(literal->order_ranges, ==, 10);
    tear_down(&self);
}

/* The regions of the policy's splits. */
KW_TEST(test_policy_splits, "/advise/policy_splits")
{
    static const char rule[] = FIELDS "      - salt: {of: id, buckets: 16}\n      - field: id\n";
    g_autofree char *keys = g_strconcat(rule, "    splits: {keys: [\"\\\\x0C\", \"\\\\x04\"]}\n", NULL);
    g_autofree char *named = g_strconcat(rule, "    splits: {algorithm: UniformSplit, regions: 4}\n", NULL);
    setting self;
    set_up(&self, 100);
    add_candidate(&self, "keys", keys);
    add_candidate(&self, "named", named);
    advise(&self);
    g_assert_cmpuint(first_path(&self, 0)->regions.places, ==, 3);
    g_assert_cmpuint(first_path(&self, 0)->region_starts[1].data[0], ==, 4);
    g_assert_cmpstr(first_path(&self, 0)->cut, ==, "by the policy's split keys");
    g_assert_cmpuint(first_path(&self, 1)->regions.places, ==, 4);
    g_assert_cmpuint(first_path(&self, 1)->regions.reached, ==,
                     1); /* all keys begin with a byte less than 40 */
    self.settings.regions = 1;
    advise(&self);
    g_assert_cmpuint(first_path(&self, 0)->regions.places, ==, 1);
    tear_down(&self);
}

/* --- queries ------------------------------------------------------------------------------------- */

static kw_candidate_query
ask(const setting *self, const char *name)
{
    const kw_table *table = self->candidates[0].table;
    return (kw_candidate_query){
        .name = name,
        .query = {.table = table,
                  .path = -1,
                  .bounds = KW_ARENA_ARRAY(self->arena, kw_bound, table->fields_count),
                  .range_field = -1,
                  .range_limit = 10000}};
}

KW_TEST(test_queries, "/advise/queries")
{
    setting self;
    set_up(&self, 1000);
    add_candidate(&self, "salted",
                  FIELDS "      - salt: {of: id, buckets: 8}\n      - field: ts\n      - field: id\n");
    kw_value id = test_number(FIRST_ID + 5);
    kw_candidate_query candidate_query[] = {ask(&self, "window"),
                                            ask(&self, "one id"),
                                            ask(&self, "newest"),
                                            ask(&self, "all"),
                                            {.name = "unknown", .refusal = "table t has no field x"}};
    candidate_query[0].query.range_field = 1;
    candidate_query[0].query.from = test_number(time_of(100));
    candidate_query[0].query.to = test_number(time_of(199));
    candidate_query[0].query.from_inclusive = candidate_query[0].query.to_inclusive = true;
    kw_bound *bounds = (kw_bound *)candidate_query[1].query.bounds;
    bounds[0] = (kw_bound){&id, 1};
    candidate_query[2].query.limit = 1;
    candidate_query[2].query.order = KW_ORDER_DESCENDING;
    self.candidates[0].queries = candidate_query;
    self.settings.queries_count = G_N_ELEMENTS(candidate_query);
    advise(&self);
    const kw_advised_query *found = self.advice.candidates[0].queries;
    g_assert_cmpuint(found[0].ranges, ==, 8);
    g_assert_cmpuint(found[0].groups, ==, 1);
    g_assert_cmpuint(found[0].scanned, ==, 100);
    g_assert_cmpuint(found[0].matching, ==, 100);
    g_assert_true(found[0].ordered);
    /* All rows of the bucket of the id are read. */
    uint64_t bucket = 0;
    for (size_t index = 0; index < 8; index++)
        bucket = found[1].scanned == first_path(&self, 0)->buckets.counts[index] ? found[1].scanned : bucket;
    g_assert_cmpuint(found[1].ranges, ==, 1);
    g_assert_cmpuint(found[1].matching, ==, 1);
    g_assert_cmpuint(bucket, >, 60);
    g_assert_cmpuint(found[2].matching, ==, 1);
    g_assert_cmpuint(found[2].scanned, ==, 8); /* one row of each merged range */
    g_assert_nonnull(strstr(found[3].refusal, "would read the whole table"));
    g_assert_cmpstr(found[4].refusal, ==, "table t has no field x");
    expect_word(&self, "\"one id\" reads");
    expect_word(&self, "\"all\" is rejected: table");
    tear_down(&self);
}

/* --- chosen buckets and generated values ---------------------------------------------------------- */

/* Buckets chosen at each put, and values generated by the gateway. */
KW_TEST(test_chosen, "/advise/chosen")
{
    setting self;
    set_up(&self, 3200);
    add_candidate(&self, "random",
                  FIELDS
                  "      - salt: {algorithm: random, buckets: 16}\n      - field: ts\n      - field: id\n"
                  "    updates: false\n");
    add_candidate(&self, "in turn",
                  FIELDS "      - salt: {algorithm: round_robin, buckets: 16}\n      - field: ts\n"
                         "      - field: id\n    updates: false\n");
    advise(&self);
    g_assert_cmpuint(first_path(&self, 0)->buckets.reached, ==, 16);
    g_assert_cmpfloat(first_path(&self, 0)->buckets.hottest_to_mean, <, 1.3);
    g_assert_cmpfloat(first_path(&self, 1)->buckets.hottest_to_mean, ==, 1);
    tear_down(&self);
}

typedef struct generated_case {
    const char *field;
    kw_value first;  /* of the record without a time */
    size_t distinct; /* of 600 records, six per second */
} generated_case;

static void
check_generated(const generated_case *wanted)
{
    g_autofree char *yaml =
        g_strdup_printf("    fields: {id: %s, ts: timestamp}\n    key:\n      - field: ts\n"
                        "      - field: id\n",
                        wanted->field);
    g_autoptr(kw_policy) policy = test_policy(yaml);
    g_autoptr(kw_arena) arena = kw_arena_new();
    g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    const kw_table *table = kw_policy_table(policy, 0);
    kw_generated_state state = {0};
    for (size_t index = 0; index < 600; index++) {
        char text[200];
        kw_error error = KW_ERROR_NONE;
        kw_record record = kw_record_new(table, arena);
        record.values[1] = test_number(time_of(index));
        kw_advise_fill_generated(table, index, &state, arena, &record);
        if (!kw_table_check_value(table, 0, record.values[0], &error))
            g_error("%s: %s", wanted->field, error.text);
        kw_value_print(record.values[0], text, sizeof text);
        g_hash_table_add(seen, g_strdup(text));
        if (index == 0 && wanted->first.kind != KW_VALUE_NONE)
            g_assert_true(kw_value_equal(record.values[0], wanted->first));
    }
    g_assert_cmpuint(g_hash_table_size(seen), ==, wanted->distinct);
}

KW_TEST(test_generated, "/advise/generated")
{
    const int64_t epoch_ms = INT64_C(1577836800000), second = START_MS / 1000;
    const generated_case cases[] = {
        {"{type: int, generate: sequence}", test_number(1), 600},
        {"{type: int, generate: {kind: sequence, from: 5, to: 14, at_end: wrap}}", test_number(5), 10},
        {"{type: int, generate: {kind: sequence, from: 0, to: 99999, per: minute, of: ts}}", test_number(0),
         360 + 2},
        {"{type: int, generate: snowflake}", test_number((START_MS - epoch_ms) << 22 | 1 << 12), 600},
        {"{type: int, generate: {kind: snowflake, form: partitioned}}",
         test_number((second / 60 % 60) << 57 | second << 25 | 1 << 16), 600},
        {"{type: string, generate: uuid4}", KW_VALUE_ABSENT, 600},
        {"{type: bytes, max_bytes: 16, generate: uuid7}", KW_VALUE_ABSENT, 600},
        {"{type: string, generate: objectid}", KW_VALUE_ABSENT, 600},
        {"{type: timestamp, unit: s, generate: now}", test_number(second), 100},
    };
    for (size_t index = 0; index < G_N_ELEMENTS(cases); index++)
        check_generated(&cases[index]);
}
