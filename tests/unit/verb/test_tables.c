/* create_table and explain. */
#include "desk.h"

#include <glib/gstdio.h>

typedef struct answer {
    bool done;
    kw_error error;
    const kw_created_table *tables;
    size_t count;
    const kw_explained_key *keys;
} answer;

static void
wait_for(desk *self, const answer *of)
{
    while (!of->done)
        uv_run(kw_loop_uv(self->loop), UV_RUN_ONCE);
}

static void
assert_error(const answer *got, kw_code code, const char *part)
{
    g_assert_cmpint(got->error.code, ==, code);
    if (!strstr(got->error.text, part))
        g_error("got: %s", got->error.text);
}

/* --- create ---------------------------------------------------------------------------------------- */

static void
created(void *user, const kw_created_table *tables, size_t count, const kw_error *error)
{
    answer *got = user;
    g_assert_false(got->done);
    *got = (answer){.done = true, .tables = tables, .count = count};
    if (error)
        got->error = *error;
}

static answer
create(desk *self, const kw_create_request *request)
{
    answer got = {0};
    kw_verb_create_table(&self->call, request, created, &got);
    wait_for(self, &got);
    return got;
}

static bool
key_equals(kw_bytes key, const char *text)
{
    return kw_bytes_equal(key, kw_bytes_of_text(text));
}

KW_TEST(test_create, "/verb/create")
{
    desk *self = desk_new(desk_policy);
    kw_create_request request = {.table = desk_table(self, "orders"), .path = -1};
    answer got = create(self, &request);
    g_assert_cmpint(got.error.code, ==, KW_OK);
    g_assert_cmpuint(got.count, ==, 2);
    g_assert_true(key_equals(got.tables[0].store_table, "orders"));
    g_assert_true(key_equals(got.tables[1].store_table, "orders_by_time"));
    g_assert_true(got.tables[0].created && got.tables[1].created);
    g_assert_cmpuint(self->control->tables_made, ==, 2);

    got = create(self, &request);
    assert_error(&got, KW_REFUSED, "table orders, path primary: store table orders already exists");
    request.if_absent = true;
    got = create(self, &request);
    g_assert_cmpint(got.error.code, ==, KW_OK);
    g_assert_false(got.tables[0].created || got.tables[1].created);
    uint64_t operations = self->control->operations;
    request.existing = request.table;
    got = create(self, &request);
    g_assert_cmpint(got.error.code, ==, KW_OK);
    g_assert_cmpuint(got.count, ==, 0);
    g_assert_cmpuint(self->control->operations, ==, operations);
    request.existing = NULL;

    request.path = 1;
    got = create(self, &request);
    g_assert_cmpuint(got.count, ==, 1);
    g_assert_true(key_equals(got.tables[0].store_table, "orders_by_time"));
    desk_free(self);
}

KW_TEST(test_families, "/verb/create/families")
{
    desk *self = desk_new(desk_policy);
    kw_family_spec family = {.name = "x"};
    kw_create_request request = {
        .table = desk_table(self, "orders"), .path = -1, .families = &family, .families_count = 1};
    answer got = create(self, &request);
    assert_error(&got, KW_INVALID,
                 "table orders: field status is stored in family d, which is not among the families");
    request.table = desk_table(self, "marks");
    got = create(self, &request);
    assert_error(&got, KW_INVALID, "table marks: the default family d is not among the families");
    g_assert_cmpuint(self->control->operations, ==, 0);
    desk_free(self);
}

KW_TEST(test_splits, "/verb/create/splits")
{
    desk *self = desk_new(desk_policy);
    kw_bytes keys[] = {KW_BYTES_LITERAL("c"), KW_BYTES_LITERAL("a"), KW_BYTES_LITERAL("b")};
    kw_create_request request = {.table = desk_table(self, "orders"),
                                 .path = 0,
                                 .has_splits = true,
                                 .split_keys = keys,
                                 .split_keys_count = 3,
                                 .if_absent = true};
    answer got = create(self, &request);
    g_assert_cmpint(got.error.code, ==, KW_OK);
    g_assert_cmpuint(got.tables[0].split_keys_count, ==, 3);
    g_assert_true(key_equals(got.tables[0].split_keys[0], "a") &&
                  key_equals(got.tables[0].split_keys[2], "c"));
    g_assert_cmpint(self->control->last_split_keys, ==, 3);

    keys[1] = keys[0];
    got = create(self, &request);
    assert_error(&got, KW_INVALID, "table orders, path primary: split key c occurs twice");
    keys[1] = KW_BYTES_NONE;
    got = create(self, &request);
    assert_error(&got, KW_INVALID, "a split key is empty");
    request.path = -1;
    got = create(self, &request);
    assert_error(&got, KW_INVALID, "split keys belong to one path; name the path");
    request.split_algorithm = "rule";
    got = create(self, &request);
    assert_error(&got, KW_INVALID, "more than one source");

    request = (kw_create_request){.table = desk_table(self, "orders"),
                                  .path = -1,
                                  .has_splits = true,
                                  .split_algorithm = "HexStringSplit",
                                  .split_regions = 4,
                                  .if_absent = true};
    got = create(self, &request);
    g_assert_cmpint(got.error.code, ==, KW_OK);
    g_assert_true(key_equals(got.tables[0].split_keys[0], "40000000"));
    request.split_algorithm = "rule";
    request.split_regions = 16;
    got = create(self, &request);
    g_assert_cmpint(got.error.code, ==, KW_OK);
    g_assert_cmpuint(got.tables[1].split_keys_count, ==, 15);
    request.split_algorithm = "RoundSplit";
    got = create(self, &request);
    assert_error(&got, KW_INVALID, "RoundSplit");

    kw_record sample[40];
    for (size_t i = 0; i < G_N_ELEMENTS(sample); i++) {
        g_autofree char *text = g_strdup_printf("order_id=o%zu ts=%zu", i, i);
        sample[i] = desk_record(self, "orders", text);
    }
    request.split_algorithm = NULL;
    request.split_regions = 4;
    request.sample = sample;
    request.sample_count = G_N_ELEMENTS(sample);
    got = create(self, &request);
    g_assert_cmpint(got.error.code, ==, KW_OK);
    g_assert_cmpuint(got.tables[0].split_keys_count, ==, 3);
    desk_free(self);
}

static const char hinted[] = "store: {kind: embedded}\ntables:\n  t:\n    families: {d: {ttl: 10d}}\n"
                             "    fields: {id: string, n: int, m: int}\n    key: [id]\n"
                             "    paths:\n      by_n: {key: [n, id]}\n";

/* Records that lack a field of the path's key are not in the path. */
KW_TEST(test_sample_of_hints, "/verb/create/sample of a hint path")
{
    desk *self = desk_new(hinted);
    kw_record sample[8];
    for (size_t i = 0; i < G_N_ELEMENTS(sample); i++) {
        g_autofree char *text = g_strdup_printf(i % 2 ? "id=%zu m=1" : "id=%zu n=%zu", i, i);
        sample[i] = desk_record(self, "t", text);
    }
    kw_create_request request = {.table = desk_table(self, "t"),
                                 .path = -1,
                                 .has_splits = true,
                                 .split_regions = 4,
                                 .sample = sample,
                                 .sample_count = G_N_ELEMENTS(sample)};
    answer got = create(self, &request);
    g_assert_cmpint(got.error.code, ==, KW_OK);
    g_assert_cmpuint(got.tables[0].split_keys_count, ==, 3);
    g_assert_cmpuint(got.tables[1].split_keys_count, ==, 3);
    desk_free(self);
}

static char *
policy_with_splits(const char *splits)
{
    g_auto(GStrv) parts = g_strsplit(desk_policy, "  marks:\n", -1);
    g_autofree char *with = g_strdup_printf("  marks:\n    splits: %s\n", splits);
    return g_strjoinv(with, parts);
}

static answer
create_marks(const char *splits, desk **ret_desk)
{
    g_autofree char *policy = policy_with_splits(splits);
    *ret_desk = desk_new(policy);
    kw_create_request request = {.table = desk_table(*ret_desk, "marks"), .path = -1};
    return create(*ret_desk, &request);
}

KW_TEST(test_policy_splits, "/verb/create/splits of the policy")
{
    desk *self;
    answer got = create_marks("{keys: [b, \"a\\\\x00\"]}", &self);
    g_assert_cmpint(got.error.code, ==, KW_OK);
    g_assert_cmpuint(got.tables[0].split_keys_count, ==, 2);
    g_assert_cmpuint(got.tables[0].split_keys[0].size, ==, 2);
    desk_free(self);

    got = create_marks("{algorithm: DecimalStringSplit, regions: 10}", &self);
    g_assert_cmpuint(got.tables[0].split_keys_count, ==, 9);
    desk_free(self);

    g_autofree char *file = NULL;
    int descriptor = g_file_open_tmp("splits-XXXXXX", &file, NULL);
    g_assert_cmpint(descriptor, >=, 0);
    g_assert_true(g_close(descriptor, NULL));
    g_assert_true(g_file_set_contents(file, "k2\n\nk1\r\nk\\x03", -1, NULL));
    g_autofree char *named = g_strdup_printf("{file: %s}", file);
    got = create_marks(named, &self);
    g_assert_cmpint(got.error.code, ==, KW_OK);
    g_assert_cmpuint(got.tables[0].split_keys_count, ==, 3);
    g_assert_true(key_equals(got.tables[0].split_keys[0], "k\x03") &&
                  key_equals(got.tables[0].split_keys[2], "k2"));
    desk_free(self);
    g_assert_cmpint(g_unlink(file), ==, 0);
    got = create_marks(named, &self);
    assert_error(&got, KW_INVALID, "the log of the gateway has the reason");
    g_assert_null(strstr(got.error.text, "splits-")); /* callers do not learn the names of files */
    desk_free(self);
}

KW_TEST(test_create_fails, "/verb/create/fails")
{
    desk *self = desk_new(desk_policy);
    kw_create_request request = {.table = desk_table(self, "orders"), .path = -1};
    self->control->fail_at = 2;
    answer got = create(self, &request);
    assert_error(&got, KW_UNAVAILABLE, "store table orders_by_time: ");
    g_assert_null(got.tables);
    desk_free(self);
}

/* --- explain --------------------------------------------------------------------------------------- */

static void
explained(void *user, const kw_explained_key *keys, size_t count, const kw_error *error)
{
    answer *got = user;
    g_assert_false(got->done);
    *got = (answer){.done = true, .keys = keys, .count = count};
    if (error)
        got->error = *error;
}

static answer
explain(desk *self, const char *table, const char *text)
{
    answer got = {0};
    kw_record record = desk_record(self, table, text);
    kw_verb_explain_put(&self->call, desk_table(self, table), &record, explained, &got);
    wait_for(self, &got);
    return got;
}

KW_TEST(test_explain_put, "/verb/explain put")
{
    desk *self = desk_new(desk_policy);
    kw_create_request request = {.table = desk_table(self, "orders"),
                                 .path = 0,
                                 .has_splits = true,
                                 .split_algorithm = "HexStringSplit",
                                 .split_regions = 16};
    g_assert_cmpint(create(self, &request).error.code, ==, KW_OK);
    answer got = explain(self, "orders", "order_id=A1 ts=5 city=x");
    g_assert_cmpint(got.error.code, ==, KW_OK);
    g_assert_cmpuint(got.count, ==, 2);
    const kw_explained_key *key = &got.keys[0];
    g_assert_cmpstr(key->placement->path->name, ==, "primary");
    g_assert_cmpuint(key->pieces_count, ==, 3);
    size_t size = 0;
    for (size_t i = 0; i < key->pieces_count; i++)
        size += key->pieces[i].bytes.size;
    g_assert_cmpuint(size, ==, key->row_key.size);
    g_assert_true(key->has_region);
    g_assert_true(key_equals(key->region_server, "memory:1"));
    g_assert_cmpint(kw_bytes_compare(key->region_start, key->row_key), <=, 0);
    g_assert_false(got.keys[1].has_region); /* its store table does not exist yet */
    g_assert_cmpuint(kw_memory_store_rows(self->store, "orders"), ==, 0);

    self->control->fail_at = self->control->operations + 1;
    got = explain(self, "orders", "order_id=A1 ts=5");
    g_assert_cmpint(got.error.code, ==, KW_OK);
    g_assert_false(got.keys[0].has_region);
    got = explain(self, "orders", "order_id=A1");
    assert_error(&got, KW_INVALID, "field ts is missing");
    desk_free(self);
}

KW_TEST(test_explain, "/verb/explain")
{
    desk *self = desk_new(desk_policy);
    kw_scan_request request = desk_request(self, "orders ts=5..9 order=desc");
    const kw_plan *plan;
    kw_error error;
    g_assert_true(kw_verb_explain(&self->call, &request, NULL, &plan, &error));
    g_assert_cmpuint(plan->ranges_count, ==, 16);
    g_assert_true(plan->reversed);
    request = desk_request(self, "orders city=x");
    g_assert_false(kw_verb_explain(&self->call, &request, NULL, &plan, &error));
    g_assert_cmpint(error.code, ==, KW_INVALID);
    g_assert_cmpuint(self->control->operations, ==, 0);
    desk_free(self);
}

KW_TEST(test_explain_put_of_hints, "/verb/explain put of a hint path")
{
    desk *self = desk_new(hinted);
    answer got = explain(self, "t", "id=a n=5");
    g_assert_cmpint(got.error.code, ==, KW_OK);
    g_assert_cmpuint(got.count, ==, 2);
    g_assert_cmpstr(got.keys[1].placement->path->name, ==, "by_n");
    got = explain(self, "t", "id=a m=5");
    g_assert_cmpint(got.error.code, ==, KW_OK);
    g_assert_cmpuint(got.count, ==, 1);
    desk_free(self);
}
