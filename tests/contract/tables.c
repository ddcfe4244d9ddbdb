/* Tables: created with options and regions, described, dropped, created again. */
#include "contract/fixture.h"

#define PLAIN .block_cache = -1, .in_memory = -1, .keep_deleted_cells = -1, .replication_scope = -1

static kw_table_spec
spec_of(kw_bytes name, const kw_family_spec *families, size_t count)
{
    return (kw_table_spec){
        .name = name, .families = families, .families_count = count, .deadline = kw_deadline_in_ms(60000)};
}

static void
test_options(kw_fixture *f)
{
    const kw_family_spec families[] = {{.name = "plain", PLAIN},
                                       {.name = "full",
                                        .compression = "GZ",
                                        .bloom_filter = "ROWCOL",
                                        .block_encoding = "FAST_DIFF",
                                        .ttl_seconds = 3600,
                                        .max_versions = 7,
                                        .min_versions = 2,
                                        .block_size = 32768,
                                        .block_cache = 0,
                                        .in_memory = 1,
                                        .keep_deleted_cells = 1,
                                        .replication_scope = 1}};
    kw_bytes name = kw_fixture_table("options");
    kw_table_spec spec = spec_of(name, families, 2);
    bool created = false;
    g_assert_true(kw_sync_create(&f->sync, &spec, &created, NULL));
    g_assert_true(created);
    kw_table_facts *facts = kw_sync_describe(&f->sync, name, NULL);
    g_assert_true(facts->exists);
    g_assert_cmpuint(facts->families_count, ==, 2);
    const kw_family_spec *full = &facts->families[0], *plain = &facts->families[1];
    if (strcmp(full->name, "full") != 0) {
        full = &facts->families[1];
        plain = &facts->families[0];
    }
    g_assert_cmpstr(full->name, ==, "full");
    g_assert_cmpstr(full->compression, ==, "GZ");
    g_assert_cmpstr(full->bloom_filter, ==, "ROWCOL");
    g_assert_cmpstr(full->block_encoding, ==, "FAST_DIFF");
    g_assert_cmpint(full->ttl_seconds, ==, 3600);
    g_assert_cmpint(full->max_versions, ==, 7);
    g_assert_cmpint(full->min_versions, ==, 2);
    g_assert_cmpint(full->block_size, ==, 32768);
    g_assert_cmpint(full->block_cache, ==, 0);
    g_assert_cmpint(full->in_memory, ==, 1);
    g_assert_cmpint(full->keep_deleted_cells, ==, 1);
    g_assert_cmpint(full->replication_scope, ==, 1);
    g_assert_cmpstr(plain->name, ==, "plain");
    g_assert_cmpint(plain->max_versions, ==, 1);
    g_assert_cmpint(plain->ttl_seconds, ==, 0);
    kw_table_facts_free(facts);
}

static const kw_family_setting *
find_setting(const kw_family_spec *family, const kw_family_setting *like)
{
    for (size_t i = 0; i < family->settings_count; i++)
        if (kw_bytes_equal(family->settings[i].name, like->name) &&
            family->settings[i].configures == like->configures)
            return &family->settings[i];
    return NULL;
}

static void
assert_same_family(const kw_family_spec *a, const kw_family_spec *b)
{
    g_assert_cmpstr(a->name, ==, b->name);
    g_assert_cmpint(a->ttl_seconds, ==, b->ttl_seconds);
    g_assert_cmpint(a->max_versions, ==, b->max_versions);
    g_assert_cmpint(a->keep_deleted_cells, ==, b->keep_deleted_cells);
    g_assert_cmpint(a->markers_ms, ==, b->markers_ms);
    g_assert_cmpuint(a->settings_count, ==, b->settings_count);
    for (size_t i = 0; i < a->settings_count; i++) {
        const kw_family_setting *same = find_setting(b, &a->settings[i]);
        g_assert_true(same && kw_bytes_equal(same->value, a->settings[i].value));
    }
}

bool kw_contract_loses_attributes;

/* A table that is created from the description of another one has the same families. A store can have
 * settings that Keyway does not know. */
static void
test_like_another(kw_fixture *f)
{
    kw_family_spec family = {.name = "full",
                             .ttl_seconds = 3600,
                             .max_versions = 7,
                             .block_cache = 0,
                             .in_memory = -1,
                             .keep_deleted_cells = 1,
                             .replication_scope = -1};
    const kw_family_setting unknown[] = {{B("X_OWN"), B("1"), false}, {B("hbase.x.own"), B("2"), true}};
    kw_bytes name = kw_fixture_table("like"), copy = kw_fixture_table("like_copy");
    kw_table_spec spec = spec_of(name, &family, 1);
    family.settings = unknown;
    family.settings_count = kw_store_is_shared(f->sync.store) ? 2 : 0;
    g_assert_true(kw_sync_create(&f->sync, &spec, NULL, NULL));
    kw_table_facts *facts = kw_sync_describe(&f->sync, name, NULL);
    for (size_t i = kw_contract_loses_attributes; i < family.settings_count; i++)
        g_assert_nonnull(find_setting(&facts->families[0], &unknown[i]));
    spec = spec_of(copy, facts->families, 1);
    g_assert_true(kw_sync_create(&f->sync, &spec, NULL, NULL));
    kw_table_facts *copied = kw_sync_describe(&f->sync, copy, NULL);
    assert_same_family(&facts->families[0], &copied->families[0]);
    kw_table_facts_free(facts);
    kw_table_facts_free(copied);
}

#define HOUR_MS (INT64_C(3600) * 1000)

/* HBase keeps the delete markers of a created table, for at least as long as the spec says. */
static void
test_markers(kw_fixture *f)
{
    const kw_family_spec families[] = {{.name = "a", PLAIN},
                                       {.name = "b", .markers_ms = 1000 * HOUR_MS, PLAIN}};
    kw_bytes name = kw_fixture_table("markers");
    kw_table_spec spec = spec_of(name, families, 2);
    g_assert_true(kw_sync_create(&f->sync, &spec, NULL, NULL));
    kw_table_facts *facts = kw_sync_describe(&f->sync, name, NULL);
    for (size_t i = 0; i < facts->families_count && kw_store_is_shared(f->sync.store); i++) {
        const kw_family_spec *found = &facts->families[i];
        bool given = strcmp(found->name, "b") == 0;
        g_assert_cmpint(found->markers_ms, >=, given ? 1000 * HOUR_MS : 2 * HOUR_MS);
        g_assert_cmpint(found->markers_ms, <=, given ? 1000 * HOUR_MS : 3 * HOUR_MS);
    }
    kw_table_facts_free(facts);
}

static void
test_there_already(kw_fixture *f)
{
    const kw_family_spec one = {.name = "x", PLAIN}, other = {.name = "y", PLAIN};
    kw_bytes name = kw_fixture_table("twice");
    kw_table_spec spec = spec_of(name, &one, 1);
    bool created = false;
    g_assert_true(kw_sync_create(&f->sync, &spec, &created, NULL));
    g_assert_true(created);
    spec.families = &other;
    g_assert_true(kw_sync_create(&f->sync, &spec, &created, NULL));
    g_assert_false(created);
    kw_table_facts *facts = kw_sync_describe(&f->sync, name, NULL);
    g_assert_cmpuint(facts->families_count, ==, 1);
    g_assert_cmpstr(facts->families[0].name, ==, "x");
    kw_table_facts_free(facts);
}

static void
test_missing(kw_fixture *f)
{
    kw_bytes name = kw_fixture_table("missing");
    kw_table_facts *facts = kw_sync_describe(&f->sync, name, NULL);
    g_assert_false(facts->exists);
    kw_table_facts_free(facts);
    kw_error error = {0};
    g_assert_null(kw_sync_regions(&f->sync, name, &error));
    kw_expect_error(&error, KW_NOT_FOUND, "missing");
    g_assert_false(kw_sync_drop(&f->sync, name, &error));
    kw_expect_error(&error, KW_NOT_FOUND, "missing");
}

static void
test_regions(kw_fixture *f)
{
    const kw_family_spec family = {.name = "d", PLAIN};
    kw_bytes name = kw_fixture_table("regions");
    kw_bytes splits[] = {KW_BYTES_LITERAL("\x10"), KW_BYTES_LITERAL("\x20\0\x01"), KW_BYTES_LITERAL("\xf0")};
    kw_table_spec spec = spec_of(name, &family, 1);
    spec.split_keys = splits;
    spec.split_keys_count = 3;
    g_assert_true(kw_sync_create(&f->sync, &spec, NULL, NULL));
    kw_regions *regions = kw_sync_regions(&f->sync, name, NULL);
    g_assert_cmpuint(regions->count, ==, 4);
    for (size_t i = 0; i < 4; i++) {
        g_assert_true(kw_bytes_equal(regions->regions[i].start, i ? splits[i - 1] : KW_BYTES_NONE));
        g_assert_true(kw_bytes_equal(regions->regions[i].stop, i < 3 ? splits[i] : KW_BYTES_NONE));
    }
    kw_regions_free(regions);
    regions = kw_sync_regions(&f->sync, f->table, NULL);
    g_assert_cmpuint(regions->count, ==, 1);
    kw_regions_free(regions);
}

/* A dropped table that is created again is empty. */
static void
test_drop(kw_fixture *f)
{
    const kw_family_spec family = {.name = "d", PLAIN};
    kw_fixture own = {.sync = f->sync, .table = kw_fixture_table("dropped")};
    kw_table_spec spec = spec_of(own.table, &family, 1);
    g_assert_true(kw_sync_create(&own.sync, &spec, NULL, NULL));
    kw_put(&own, "row", "d:a", "x", 5);
    kw_expect_row(&own, "row", "d:a@5=x");
    g_assert_true(kw_sync_drop(&own.sync, own.table, NULL));
    kw_table_facts *facts = kw_sync_describe(&own.sync, own.table, NULL);
    g_assert_false(facts->exists);
    kw_table_facts_free(facts);
    kw_error error = {0};
    kw_get get = {.table = own.table, .row = B("row"), .deadline = kw_deadline_in_ms(30000)};
    g_assert_null(kw_sync_get(&own.sync, &get, &error));
    kw_expect_error(&error, KW_NOT_FOUND, "dropped");
    g_assert_true(kw_sync_create(&own.sync, &spec, NULL, NULL));
    kw_expect_row(&own, "row", "");
    kw_expect_range_scan(&own, (kw_range_scan_spec){0}, 10, "");
    kw_put(&own, "row", "d:b", "y", 1);
    kw_expect_row(&own, "row", "d:b@1=y");
}

static void
test_namespace(kw_fixture *f)
{
    const kw_family_spec family = {.name = "d", PLAIN};
    kw_bytes plain = kw_fixture_table("spaced");
    g_autofree char *space = g_strndup((const char *)plain.data, plain.size);
    g_autofree char *suffix = g_strconcat("in:", space, NULL);
    kw_fixture own = {.sync = f->sync, .table = kw_fixture_table(suffix)};
    kw_table_spec spec = spec_of(own.table, &family, 1);
    bool created = false;
    kw_error error = {0};
    if (!kw_sync_create(&own.sync, &spec, &created, &error))
        g_error("%s", error.text);
    g_assert_true(created);
    kw_put(&own, "row", "d:a", "x", 5);
    kw_expect_row(&own, "row", "d:a@5=x");
    kw_table_facts *facts = kw_sync_describe(&f->sync, plain, NULL);
    g_assert_false(facts->exists);
    kw_table_facts_free(facts);
    g_autofree char *named = g_strndup((const char *)f->table.data, f->table.size);
    g_autofree char *long_name = g_strconcat("default:", named, NULL);
    facts = kw_sync_describe(&f->sync, B(long_name), NULL);
    g_assert_true(facts->exists);
    kw_table_facts_free(facts);
}

void
kw_contract_add_tables(void)
{
    kw_fixture_add("tables", "options", test_options);
    kw_fixture_add("tables", "like_another", test_like_another);
    kw_fixture_add("tables", "markers", test_markers);
    kw_fixture_add("tables", "there_already", test_there_already);
    kw_fixture_add("tables", "missing", test_missing);
    kw_fixture_add("tables", "regions", test_regions);
    kw_fixture_add("tables", "drop", test_drop);
    kw_fixture_add("tables", "namespace", test_namespace);
}
