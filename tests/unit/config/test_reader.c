/* The model equals the file: defaults, every member, positions, secrets, lifetimes. */
#include "good.h"

#include "base/thread.h"

#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#define SMALL "tables: {t: {fields: {a: int}, key: [field: a]}}"

KW_TEST(test_gateway_defaults, "/config/reader/defaults/gateway")
{
    g_autoptr(kw_model) model = read_good(SMALL);
    g_assert_cmpuint(model->listeners_count, ==, 1);
    g_assert_false(model->access.enabled);
    g_assert_cmpstr(model->listeners[0].host, ==, "127.0.0.1");
    g_assert_cmpint(model->listeners[0].port, ==, 9595);
    g_assert_false(model->listeners[0].tls.enabled);
    g_assert_cmpstr(model->listeners[0].tls.ca, ==, "");
    g_assert_true(model->admin_enabled);
    g_assert_cmpstr(model->admin.host, ==, "127.0.0.1");
    g_assert_cmpint(model->admin.port, ==, 9596);
    g_assert_cmpint(model->loops, ==, 0);
    g_assert_false(model->strict_start);
    g_assert_cmpint(model->limits.connections, ==, 10000);
    g_assert_cmpint(model->limits.frame_bytes, ==, 16 << 20);
    g_assert_cmpint(model->limits.in_flight, ==, 128);
    g_assert_cmpint(kw_limits_decoded_bytes(&model->limits), ==, 64 << 20);
    g_assert_cmpint(model->limits.page_rows, ==, 10000);
    g_assert_cmpint(kw_limits_page_bytes(&model->limits), ==, 8 << 20);
    g_assert_cmpint(kw_limits_scan_buffer_bytes(&model->limits), ==, 8 << 20);
    g_assert_cmpint(model->limits.batch_records, ==, 10000);
    g_assert_cmpint(model->limits.cells, ==, 100000);
    g_assert_cmpint(model->limits.ranges, ==, 10000);
    g_assert_cmpint(model->limits.memory_bytes, ==, 0);
    g_assert_cmpint(model->limits.peer_connections, ==, 0);
    g_assert_cmpint(kw_model_memory_needed(model), ==, 168 << 20);
    g_assert_cmpint(model->timeouts.frame_ms, ==, 10000);
    g_assert_cmpint(model->timeouts.idle_ms, ==, 600000);
    g_assert_cmpint(model->timeouts.call_ms, ==, 30000);
    g_assert_cmpint(model->timeouts.drain_ms, ==, 15000);
    g_assert_cmpint(model->timeouts.lame_duck_ms, ==, 0);
    g_assert_cmpstr(model->log_level, ==, "info");
    g_assert_false(model->log_json);
    g_assert_cmpuint(model->cursor.keys_count, ==, 0);
    g_assert_cmpstr(model->cursor.key_file, ==, "");
    g_assert_cmpint(model->cursor.expiry_ms, ==, 3600000);
    g_assert_cmpstr(model->file, ==, "test");
    g_assert_cmpstr(model->text, ==, SMALL);
}

KW_TEST(test_store_defaults, "/config/reader/defaults/store")
{
    g_autoptr(kw_model) embedded = read_good(SMALL);
    g_assert_cmpint(embedded->store.kind, ==, KW_STORE_EMBEDDED);
    g_assert_cmpstr(embedded->store.embedded.path, ==, "keyway-data");
    g_assert_cmpint(embedded->store.embedded.cache_bytes, ==, 64 << 20);
    g_assert_cmpint(embedded->store.create_missing, ==, -1);
    g_assert_cmpstr(embedded->store.catalog, ==, "keyway_catalog");
    g_autoptr(kw_model) model = read_good("store: {kind: hbase, servers: h}\n" SMALL);
    const kw_model_hbase *hbase = &model->store.hbase;
    g_assert_cmpint(model->store.kind, ==, KW_STORE_HBASE);
    g_assert_cmpuint(hbase->servers_count, ==, 1);
    g_assert_cmpstr(hbase->servers[0].host, ==, "h");
    g_assert_cmpint(hbase->servers[0].port, ==, 9090);
    g_assert_false(hbase->tls.enabled);
    g_assert_cmpint(hbase->channels, ==, 8);
    g_assert_cmpint(hbase->late_ms, ==, 21 * 60 * 1000);
    g_assert_false(hbase->late_given);
}

KW_TEST(test_table_defaults, "/config/reader/defaults/table")
{
    g_autoptr(kw_model) model = read_good(SMALL);
    g_assert_cmpuint(model->tables_count, ==, 1);
    const kw_model_table *table = &model->tables[0];
    g_assert_cmpstr(table->name, ==, "t");
    g_assert_cmpstr(table->about, ==, "");
    g_assert_cmpstr(table->default_family, ==, "d");
    g_assert_cmpuint(table->fields_count, ==, 1);
    g_assert_cmpint(table->fields[0].unit, ==, KW_UNIT_MS);
    g_assert_cmpint(table->fields[0].form, ==, KW_CELL_RAW_BE);
    g_assert_cmpint(table->fields[0].max_bytes, ==, 0);
    g_assert_cmpstr(table->fields[0].about, ==, "");
    g_assert_cmpuint(table->fields[0].values_count, ==, 0);
    g_assert_cmpuint(table->paths_count, ==, 1);
    g_assert_cmpstr(table->paths[0].name, ==, "primary");
    g_assert_cmpstr(table->paths[0].store_table, ==, "t");
    g_assert_cmpint(table->paths[0].layout, ==, 1);
    const kw_model_splits *splits = &table->paths[0].splits;
    g_assert_cmpint(splits->mark.line, ==, 0);
    g_assert_cmpstr(splits->algorithm, ==, "");
    g_assert_cmpstr(splits->file, ==, "");
    g_assert_cmpint(splits->regions, ==, 0);
    g_assert_cmpuint(splits->keys_count, ==, 0);
    g_assert_cmpuint(table->families_count, ==, 1);
    const kw_model_family *family = &table->families[0];
    g_assert_cmpstr(family->name, ==, "d");
    g_assert_null(family->compression);
    g_assert_null(family->bloom_filter);
    g_assert_null(family->block_encoding);
    g_assert_cmpint(family->ttl_seconds, ==, 0);
    g_assert_cmpint(family->max_versions, ==, 0);
    g_assert_cmpint(family->min_versions, ==, 0);
    g_assert_cmpint(family->block_size, ==, 0);
    g_assert_cmpint(family->block_cache, ==, -1);
    g_assert_cmpint(family->in_memory, ==, -1);
    g_assert_cmpint(family->keep_deleted_cells, ==, -1);
    g_assert_cmpint(family->replication_scope, ==, -1);
}

KW_TEST(test_gateway_settings, "/config/reader/every/gateway")
{
    g_autoptr(kw_model) model = read_good_file("everything_embedded.yaml");
    g_assert_cmpuint(model->listeners_count, ==, 4);
    const kw_model_listener *first = &model->listeners[0];
    g_assert_cmpstr(first->host, ==, "0.0.0.0");
    g_assert_cmpint(first->port, ==, 1001);
    g_assert_true(first->tls.enabled);
    g_assert_cmpstr(first->tls.certificate, ==, "c.pem");
    g_assert_cmpstr(first->tls.key, ==, "k.pem");
    g_assert_cmpstr(first->tls.ca, ==, "ca.pem");
    g_assert_true(first->tls.require_client);
    g_assert_cmpint(first->mark.line, ==, 3);
    g_assert_cmpint(first->tls.mark.line, ==, 4);
    g_assert_cmpstr(model->listeners[1].host, ==, "::1");
    g_assert_cmpint(model->listeners[1].port, ==, 1002);
    g_assert_false(model->listeners[1].tls.enabled);
    g_assert_cmpstr(kw_model_listener_path(&model->listeners[3]), ==, "/run/keyway/keyway.sock");
    g_assert_cmpstr(model->listeners[3].mode, ==, "0600");
    g_assert_null(kw_model_listener_path(first));
    g_assert_cmpstr(first->mode, ==, "0660");
    g_assert_true(first->public);
    g_assert_false(model->listeners[3].public);
    g_assert_cmpstr(model->listeners[2].host, ==, "gateway.example");
    g_assert_cmpint(model->listeners[2].port, ==, 0);
    g_assert_false(model->listeners[2].tls.enabled);
    g_assert_cmpint(model->admin.port, ==, 1003);
    g_assert_cmpint(model->loops, ==, 3);
    g_assert_true(model->strict_start);
    g_assert_cmpint(model->limits.connections, ==, 101);
    g_assert_cmpint(model->limits.frame_bytes, ==, 102 * 1024);
    g_assert_cmpint(model->limits.in_flight, ==, 103);
    g_assert_cmpint(model->limits.page_rows, ==, 105);
    g_assert_cmpint(model->limits.batch_records, ==, 108);
    g_assert_cmpint(kw_limits_decoded_bytes(&model->limits), ==, 408 * 1024);
    g_assert_cmpint(kw_limits_page_bytes(&model->limits), ==, 51 * 1024);
    g_assert_cmpint(kw_limits_scan_buffer_bytes(&model->limits), ==, 64 * 1024);
    g_assert_cmpint(model->limits.ranges, ==, 112);
    g_assert_cmpint(model->limits.memory_bytes, ==, (int64_t)110 << 30);
    g_assert_cmpint(model->limits.peer_connections, ==, 111);
    g_assert_cmpint(model->limits.cells, ==, 112);
    g_assert_cmpint(kw_model_memory_needed(model), ==, (301 << 20) + (6 * 102 + 64) * 1024);
    g_assert_cmpint(model->timeouts.frame_ms, ==, 201);
    g_assert_cmpint(model->timeouts.idle_ms, ==, 202000);
    g_assert_cmpint(model->timeouts.call_ms, ==, 204);
    g_assert_cmpint(model->timeouts.drain_ms, ==, 205);
    g_assert_cmpint(model->timeouts.lame_duck_ms, ==, 206);
    g_assert_cmpstr(model->log_level, ==, "warn");
    g_assert_true(model->log_json);
    g_assert_cmpuint(model->cursor.keys_count, ==, 3);
    g_assert_cmpstr(model->cursor.keys[0], ==, "first-key-of-16-bytes");
    g_assert_cmpstr(model->cursor.keys[2], ==, "third key, in a block\n");
    g_assert_cmpint(model->cursor.expiry_ms, ==, 7200000);
    g_assert_cmpint(model->store.kind, ==, KW_STORE_EMBEDDED);
    g_assert_cmpstr(model->store.embedded.path, ==, "/srv/keyway");
    g_assert_cmpint(model->store.embedded.cache_bytes, ==, 301 << 20);
    g_assert_cmpstr(model->store.embedded.backup_folder, ==, "/srv/backups");
    g_assert_cmpint(model->store.create_missing, ==, 0);
    g_assert_cmpstr(model->store.catalog, ==, "ns:layouts");
}

KW_TEST(test_access_settings, "/config/reader/every/access")
{
    g_autoptr(kw_model) model = read_good_file("everything_embedded.yaml");
    const kw_model_access *access = &model->access;
    g_assert_true(access->enabled);
    g_assert_cmpstr(model->audit_file, ==, "/var/log/keyway/audit.jsonl");
    g_assert_cmpuint(access->groups_count, ==, 2);
    g_assert_cmpstr(access->groups[0].name, ==, "shop");
    g_assert_cmpuint(access->groups[0].members_count, ==, 2);
    g_assert_cmpstr(access->groups[0].members[1], ==, "unix:1000");
    g_assert_cmpstr(access->groups[1].members[0], ==, "unix:root");
    g_assert_cmpuint(access->roles_count, ==, 2);
    g_assert_cmpstr(access->roles[0].who[1], ==, "ops");
    g_assert_cmpstr(access->roles[0].tables[1], ==, "order_*");
    g_assert_cmpuint(access->roles[0].operations, ==,
                     1u << KW_MAY_READ | 1u << KW_MAY_ATOMIC | 1u << KW_MAY_WRITE);
    g_assert_cmpuint(access->roles[1].operations, ==, 1u << KW_MAY_OPERATE);
}

KW_TEST(test_hbase_settings, "/config/reader/every/hbase")
{
    g_autoptr(kw_model) model = read_good_file("everything_hbase.yaml");
    const kw_model_hbase *hbase = &model->store.hbase;
    g_assert_false(model->admin_enabled);
    g_assert_cmpstr(model->cursor.key_file, ==, "keys.txt");
    g_assert_cmpuint(hbase->servers_count, ==, 3);
    g_assert_cmpstr(hbase->servers[0].host, ==, "h1");
    g_assert_cmpint(hbase->servers[0].port, ==, 9090);
    g_assert_cmpstr(hbase->servers[1].host, ==, "h2");
    g_assert_cmpint(hbase->servers[1].port, ==, 9191);
    g_assert_cmpstr(hbase->servers[2].host, ==, "::1");
    g_assert_cmpint(hbase->servers[2].mark.line, ==, 5);
    g_assert_true(hbase->tls.enabled);
    g_assert_cmpstr(hbase->tls.ca, ==, "ca.pem");
    g_assert_cmpstr(hbase->tls.certificate, ==, "c.pem");
    g_assert_cmpstr(hbase->tls.key, ==, "k.pem");
    g_assert_cmpstr(hbase->tls.server_name, ==, "hbase.example");
    g_assert_cmpint(hbase->channels, ==, 11);
    g_assert_cmpint(hbase->late_ms, ==, 28000);
    g_assert_true(hbase->late_given);
    g_assert_cmpint(model->store.create_missing, ==, 1);
}

static void
assert_field(const kw_model_field *field, const char *name, kw_field_type type, const char *column,
             kw_cell_form form)
{
    g_assert_cmpstr(field->name, ==, name);
    g_assert_cmpint(field->type, ==, type);
    g_assert_cmpint(field->form, ==, form);
    g_assert_cmpint(field->family == NULL, ==, column == NULL);
    g_assert_cmpint(field->qualifier == NULL, ==, column == NULL);
    if (!column)
        return;
    g_autofree char *got = g_strdup_printf("%s:%s", field->family, field->qualifier);
    g_assert_cmpstr(got, ==, column);
}

KW_TEST(test_field_settings, "/config/reader/every/fields")
{
    g_autoptr(kw_model) model = read_good_file("everything_embedded.yaml");
    const kw_model_table *table = &model->tables[0];
    g_assert_cmpstr(table->about, ==, "orders, ü and all");
    g_assert_cmpstr(table->default_family, ==, "f");
    const kw_model_field *fields = table->fields;
    g_assert_cmpuint(table->fields_count, ==, 8);
    assert_field(&fields[0], "id", KW_FIELD_STRING, NULL, KW_CELL_RAW_BE);
    assert_field(&fields[1], "ts", KW_FIELD_TIMESTAMP, NULL, KW_CELL_RAW_BE);
    assert_field(&fields[2], "status", KW_FIELD_STRING, "s:status", KW_CELL_TEXT);
    assert_field(&fields[3], "kind", KW_FIELD_INT, "f:kind", KW_CELL_RAW_BE4);
    assert_field(&fields[4], "paid", KW_FIELD_BOOL, "f:paid", KW_CELL_RAW_BE);
    assert_field(&fields[5], "amount", KW_FIELD_DOUBLE, "f:amount", KW_CELL_RAW_BE);
    assert_field(&fields[6], "blob", KW_FIELD_BYTES, "f:blob", KW_CELL_RAW_BE);
    assert_field(&fields[7], "seen", KW_FIELD_TIMESTAMP, "d:seen", KW_CELL_RAW_BE4);
    g_assert_cmpint(fields[0].max_bytes, ==, 64);
    g_assert_cmpstr(fields[0].about, ==, "the number");
    g_assert_cmpint(fields[0].mark.line, ==, 43);
    g_assert_cmpint(fields[0].mark.column, ==, 7);
    g_assert_cmpint(fields[1].unit, ==, KW_UNIT_US);
    g_assert_cmpuint(fields[2].values_count, ==, 2);
    g_assert_cmpstr(fields[2].values[1], ==, "paid");
    g_assert_cmpint(fields[7].unit, ==, KW_UNIT_S);
}

static void
assert_bytes(const char *bytes, size_t size, const char *expected, size_t expected_size)
{
    g_assert_cmpuint(size, ==, expected_size);
    g_assert_true(memcmp(bytes, expected, size) == 0);
}

KW_TEST(test_columns_with_any_bytes, "/config/reader/columns/bytes")
{
    g_autoptr(kw_model) model = read_good_file("everything_embedded.yaml");
    const kw_model_table *table = &model->tables[1];
    const kw_model_field *b = &table->fields[1];
    g_assert_cmpstr(b->family, ==, "0");
    assert_bytes(b->qualifier, b->qualifier_size, "\x80\0b", 3);
    g_assert_cmpint(b->form, ==, KW_CELL_PHOENIX4);
    g_assert_cmpint(table->fields[2].form, ==, KW_CELL_PHOENIX);
    assert_bytes(table->fields[2].qualifier, table->fields[2].qualifier_size, "c", 1);
    g_assert_cmpstr(table->marker_family, ==, "0");
    assert_bytes(table->marker_qualifier, table->marker_qualifier_size, "\0_0", 3);
    assert_bytes(table->marker_value, table->marker_value_size, "x\0", 2);
    g_assert_cmpuint(table->families_count, ==, 3); /* d, 0 and m, once each */
    g_assert_null(model->tables[0].marker_family);
    g_assert_cmpuint(model->tables[0].marker_value_size, ==, 0);
}

KW_TEST(test_maps, "/config/reader/columns/maps")
{
    g_autoptr(kw_model) model = read_good_file("everything_embedded.yaml");
    const kw_model_field *m = &model->tables[1].fields[3], *own = &model->tables[1].fields[4];
    g_assert_cmpint(m->type, ==, KW_FIELD_MAP);
    g_assert_cmpint(m->of, ==, KW_FIELD_TIMESTAMP);
    g_assert_cmpint(m->unit, ==, KW_UNIT_S);
    g_assert_cmpint(m->form, ==, KW_CELL_RAW_BE4);
    g_assert_cmpstr(m->family, ==, "m");
    assert_bytes(m->qualifier, m->qualifier_size, "\0", 1);
    g_assert_cmpint(own->of, ==, KW_FIELD_STRING);
    g_assert_cmpint(own->max_bytes, ==, 9);
    g_assert_cmpuint(own->values_count, ==, 1);
    g_assert_cmpstr(own->family, ==, "d");
    assert_bytes(own->qualifier, own->qualifier_size, "own.", 4);
}

KW_TEST(test_path_and_family_settings, "/config/reader/every/paths")
{
    g_autoptr(kw_model) model = read_good_file("everything_embedded.yaml");
    const kw_model_table *table = &model->tables[0];
    g_assert_cmpuint(table->paths_count, ==, 4);
    const kw_model_path *paths = table->paths;
    g_assert_cmpstr(paths[0].name, ==, "primary");
    g_assert_cmpstr(paths[0].store_table, ==, "shop:orders");
    g_assert_cmpint(paths[0].layout, ==, 7);
    g_assert_cmpstr(paths[0].splits.algorithm, ==, "HexStringSplit");
    g_assert_cmpint(paths[0].splits.regions, ==, 16);
    g_assert_cmpstr(paths[1].name, ==, "by_time");
    g_assert_cmpstr(paths[1].store_table, ==, "shop:orders_by_time");
    g_assert_cmpint(paths[1].layout, ==, 2);
    g_assert_false(paths[1].association);
    g_assert_true(paths[2].association);
    g_assert_false(paths[2].unique);
    g_assert_true(paths[3].unique);
    g_assert_false(table->updates);
    g_assert_true(table->accept_unverified);
    g_assert_cmpuint(paths[1].splits.keys_count, ==, 3);
    g_assert_cmpstr(paths[1].splits.keys[1], ==, "b\\x00");
    g_assert_cmpstr(paths[2].store_table, ==, "other:seen");
    g_assert_cmpstr(paths[2].splits.file, ==, "cuts.txt");
    g_assert_cmpstr(model->tables[1].paths[0].store_table, ==, "small");
    g_assert_cmpuint(table->families_count, ==, 3);
    const kw_model_family *family = &table->families[0];
    g_assert_cmpstr(family->name, ==, "f");
    g_assert_cmpstr(family->compression, ==, "SNAPPY");
    g_assert_cmpstr(family->bloom_filter, ==, "ROWCOL");
    g_assert_cmpstr(family->block_encoding, ==, "FAST_DIFF");
    g_assert_cmpint(family->ttl_seconds, ==, 90 * 86400);
    g_assert_cmpint(family->max_versions, ==, 3);
    g_assert_cmpint(family->min_versions, ==, 2);
    g_assert_cmpint(family->block_size, ==, 32768);
    g_assert_cmpint(family->block_cache, ==, 0);
    g_assert_cmpint(family->in_memory, ==, 1);
    g_assert_cmpint(family->keep_deleted_cells, ==, 1);
    g_assert_cmpint(family->replication_scope, ==, 1);
    g_assert_cmpstr(table->families[1].name, ==, "s");
    g_assert_cmpint(table->families[1].block_cache, ==, -1);
    g_assert_cmpstr(table->families[2].name, ==, "d");
}

KW_TEST(test_component_settings, "/config/reader/every/components")
{
    g_autoptr(kw_model) model = read_good_file("everything_embedded.yaml");
    const kw_model_path *path = &model->tables[0].paths[0];
    g_assert_cmpuint(path->components_count, ==, 5);
    const kw_model_component *hash = &path->components[0];
    g_assert_cmpstr(hash->name, ==, "hash");
    g_assert_cmpint(hash->mark.line, ==, 52);
    g_assert_cmpint(hash->mark.column, ==, 9);
    const kw_model_setting *of = kw_model_setting_find(hash, "of");
    g_assert_cmpint(of->kind, ==, KW_SETTING_TEXTS);
    g_assert_cmpuint(of->texts_count, ==, 2);
    g_assert_cmpstr(of->texts[1], ==, "ts");
    g_assert_cmpint(of->text_marks[1].column, ==, 43);
    g_assert_cmpstr(kw_model_setting_find(hash, "algorithm")->text, ==, "xxh64");
    g_assert_cmpint(kw_model_setting_find(hash, "take")->number, ==, 4);
    g_assert_cmpstr(kw_model_setting_find(&path->components[1], "text")->text, ==, "|");
    g_assert_cmpstr(kw_model_setting_find(&path->components[2], "name")->text, ==, "id");
    g_assert_null(kw_model_setting_find(&path->components[2], "order"));
    const kw_model_component *ts = &path->components[3];
    g_assert_cmpstr(kw_model_setting_find(ts, "order")->text, ==, "desc");
    g_assert_cmpint(kw_model_setting_find(ts, "width")->number, ==, 8);
    g_assert_true(kw_model_setting_find(ts, "reverse")->flag);
    g_assert_cmpstr(path->components[4].name, ==, "now");
    g_assert_cmpuint(path->components[4].settings_count, ==, 0);
}

/* Only a component that stores the field replaces its column; a hash or a literal does not. */
KW_TEST(test_fields_without_column, "/config/reader/columns")
{
    g_autoptr(kw_model) model =
        read_good("tables:\n"
                  "  t:\n"
                  "    fields: {a: string, b: string, c: string, e: {type: string, column: 'd:e'}}\n"
                  "    key: [hash: {of: b}, literal: c, field: a, field: e]\n"
                  "    paths: {p: {key: [field: b, field: c]}}\n");
    const kw_model_field *fields = model->tables[0].fields;
    g_assert_null(fields[0].family);
    g_assert_cmpstr(fields[1].qualifier, ==, "b");
    g_assert_cmpstr(fields[2].qualifier, ==, "c");
    g_assert_cmpstr(fields[3].qualifier, ==, "e");
}

KW_TEST(test_secrets, "/config/reader/secrets")
{
    g_autoptr(kw_model) model = read_good_file("everything_embedded.yaml");
    g_autofree char *text = kw_model_text_without_secrets(model);
    g_assert_null(strstr(text, "first-key"));
    g_assert_null(strstr(text, "second key"));
    g_assert_null(strstr(text, "third key"));
    g_assert_nonnull(strstr(text, "    - (secret)\n    - (secret)\n    - (secret)\n  expiry: 2h\n"));
    g_assert_nonnull(strstr(model->text, "first-key"));
    /* Characters of several bytes before the secret, a byte order mark, and DOS line ends. */
    g_autoptr(kw_model) odd =
        read_good("\xef\xbb\xbf# \xc3\xbc\xe8\xae\xa2\r\ncursor: {keys: 'a-key-of-16-bytes'}\r\n" SMALL);
    g_autofree char *cut = kw_model_text_without_secrets(odd);
    g_assert_cmpstr(cut, ==, "# \xc3\xbc\xe8\xae\xa2\r\ncursor: {keys: (secret)}\r\n" SMALL);
    g_autoptr(kw_model) none = read_good(SMALL);
    g_autofree char *same = kw_model_text_without_secrets(none);
    g_assert_cmpstr(same, ==, SMALL);
}

/* The schemas are borrowed during the call only. */
KW_TEST(test_borrowed_schemas, "/config/reader/schemas-borrowed")
{
    g_autofree char *name = g_strdup("part"), *setting_name = g_strdup("choice"), *choice = g_strdup("yes");
    const char *choices[] = {choice, NULL};
    kw_setting_schema setting = {.name = setting_name, .kind = KW_SETTING_CHOICE, .choices = choices};
    kw_component_schema component = {name, "", &setting, 1};
    const kw_component_schema *components[] = {&component};
    const char *text = "tables: {t: {fields: {a: int}, key: [part: yes]}}";
    g_autoptr(kw_diagnostics) diagnostics = kw_diagnostics_new("test");
    g_autoptr(kw_model) model = kw_model_read_text("test", text, strlen(text), components, 1, diagnostics);
    g_assert_nonnull(model);
    memset(name, 'x', 4);
    memset(setting_name, 'x', 6);
    memset(choice, 'x', 3);
    const kw_model_component *part = &model->tables[0].paths[0].components[0];
    g_assert_cmpstr(part->name, ==, "part");
    g_assert_cmpstr(kw_model_setting_find(part, "choice")->text, ==, "yes");
}

/* kw_model_check_text returns a model without the parts that have problems; kw_model_read_text returns
 * none. */
KW_TEST(test_tables_with_problems, "/config/reader/check/tables")
{
    static const char text[] = "limits: {frame: 1B}\n"
                               "tables: {a: {fields: {x: strng}, key: [field: x]},\n"
                               "         b: {fields: {x: string}, key: [field: x]}}";
    g_autoptr(kw_diagnostics) diagnostics = kw_diagnostics_new("test");
    g_autoptr(kw_model) model =
        kw_model_check_text("test", text, strlen(text), SAMPLE_COMPONENTS, diagnostics);
    g_assert_cmpuint(kw_diagnostics_count(diagnostics), ==, 2);
    g_assert_cmpuint(model->tables_count, ==, 2);
    g_assert_true(model->tables[0].incomplete);
    g_assert_cmpuint(model->tables[0].fields_count + model->tables[0].paths_count, ==, 0);
    g_assert_false(model->tables[1].incomplete);
    g_assert_cmpuint(model->tables[1].paths_count, ==, 1);
    g_autoptr(kw_diagnostics) again = kw_diagnostics_new("test");
    g_assert_null(kw_model_read_text("test", text, strlen(text), SAMPLE_COMPONENTS, again));
    g_assert_cmpuint(kw_diagnostics_count(again), ==, 2);
}

/* The names of the paths of table a that can be checked further, although the text has one problem. */
static char *
usable_paths(const char *table)
{
    g_autofree char *text = g_strdup_printf("tables: {a: {%s}}", table);
    g_autoptr(kw_diagnostics) diagnostics = kw_diagnostics_new("test");
    g_autoptr(kw_model) model =
        kw_model_check_text("test", text, strlen(text), SAMPLE_COMPONENTS, diagnostics);
    GString *names = g_string_new(NULL);
    g_assert_cmpuint(kw_diagnostics_count(diagnostics), ==, 1);
    g_assert_true(model->tables[0].incomplete);
    for (size_t i = 0; i < model->tables[0].paths_count; i++)
        g_string_append_printf(names, "%s ", model->tables[0].paths[i].name);
    return g_string_free(names, FALSE);
}

/* A rule that uses something with a problem is left out, because checks of this rule would report misleading
 * problems. */
KW_TEST(test_rules_to_check_further, "/config/reader/check/broken")
{
    static const char *const cases[][2] = {
        {"fields: {x: string, x: int}, key: [field: x]", "primary "},
        {"fields: {x: string}, order: store, order: stamp, key: [field: x]", "primary "},
        {"fields: {x: string, y: strng}, key: [field: x], paths: {p: {key: [field: y, field: x]}}",
         "primary "},
        {"fields: {x: string}, key: [feld: x], paths: {p: {key: [field: x]}}", "p "},
        {"fields: {x: string}, key: [x, y], paths: {p: {key: [field: x]}}", "p "},
        {"fields: {x: string, y: *z}, key: [field: y], paths: {p: {key: [field: x]}}", "p "},
        {"fields: *z, key: [field: x]", ""},
        {"fields: {x: string, [y]: int}, key: [field: x]", ""},
        {"fields: {x: string}, key: [field: {name: x, name: y}], paths: {p: {key: [field: x]}}", "p "},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *usable = usable_paths(cases[i][0]);
        g_assert_cmpstr(usable, ==, cases[i][1]);
    }
}

KW_TEST(test_files, "/config/reader/files")
{
    g_autofree char *dir = g_dir_make_tmp("keyway-config-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(dir, "policy.yaml", NULL);
    g_autoptr(kw_diagnostics) missing = kw_diagnostics_new(path);
    g_assert_null(kw_model_read_file(path, SAMPLE_COMPONENTS, missing));
    g_assert_cmpuint(kw_diagnostics_count(missing), ==, 1);
    g_assert_cmpstr(kw_diagnostics_get(missing, 0)->message, ==, "cannot be read: No such file or directory");
    g_autoptr(kw_diagnostics) folder = kw_diagnostics_new(dir);
    g_assert_null(kw_model_read_file(dir, SAMPLE_COMPONENTS, folder));
    g_assert_cmpstr(kw_diagnostics_get(folder, 0)->message, ==, "cannot be read: Is a directory");
    g_assert_true(g_file_set_contents(path, SMALL, -1, NULL));
    g_autoptr(kw_diagnostics) fine = kw_diagnostics_new(path);
    g_autoptr(kw_model) model = kw_model_read_file(path, SAMPLE_COMPONENTS, fine);
    g_assert_nonnull(model);
    g_assert_cmpstr(model->file, ==, path);
    g_unlink(path);
    g_rmdir(dir);
}

static char *
filled(size_t size)
{
    GString *text = g_string_new(SMALL "\n#");
    while (text->len < size)
        g_string_append_c(text, 'x');
    return g_string_free(text, FALSE);
}

KW_TEST(test_size_limit, "/config/reader/bounds/size")
{
    for (size_t more = 0; more < 2; more++) {
        g_autofree char *text = filled((1 << 20) + more);
        g_autoptr(kw_diagnostics) diagnostics = kw_diagnostics_new("test");
        g_autoptr(kw_model) model =
            kw_model_read_text("test", text, (1 << 20) + more, SAMPLE_COMPONENTS, diagnostics);
        g_assert_cmpint(model != NULL, ==, more == 0);
        g_assert_cmpuint(kw_diagnostics_count(diagnostics), ==, more);
    }
    g_autofree char *path = g_build_filename(g_get_tmp_dir(), "keyway-config-large.yaml", NULL);
    g_autofree char *large = filled(3 << 20);
    g_assert_true(g_file_set_contents(path, large, -1, NULL));
    g_autoptr(kw_diagnostics) diagnostics = kw_diagnostics_new(path);
    g_assert_null(kw_model_read_file(path, SAMPLE_COMPONENTS, diagnostics));
    g_assert_cmpstr(kw_diagnostics_get(diagnostics, 0)->message, ==, "larger than 1048576 bytes");
    g_unlink(path);
}

KW_TEST(test_value_limit, "/config/reader/bounds/values")
{
    GString *text = g_string_new("tables: [");
    for (int i = 0; i < 100000; i++)
        g_string_append(text, "a,");
    g_string_append(text, "]\n");
    g_autoptr(kw_diagnostics) diagnostics = kw_diagnostics_new("test");
    g_assert_null(kw_model_read_text("test", text->str, text->len, SAMPLE_COMPONENTS, diagnostics));
    g_assert_cmpuint(kw_diagnostics_count(diagnostics), ==, 1);
    g_assert_cmpstr(kw_diagnostics_get(diagnostics, 0)->message, ==, "more than 100000 values in one policy");
    g_string_free(text, TRUE);
}

/* --- reference counts ------------------------------------------------------------------------- */

static void
take_and_give(void *user)
{
    kw_model *model = user;
    for (int i = 0; i < 20000; i++) {
        kw_model *mine = kw_model_ref(model);
        g_assert_cmpstr(mine->tables[0].name, ==, "t");
        kw_model_unref(mine);
    }
    kw_model_unref(model);
}

KW_TEST(test_references, "/config/reader/references")
{
    kw_model *model = read_good(SMALL);
    kw_thread threads[4];
    for (size_t i = 0; i < G_N_ELEMENTS(threads); i++)
        kw_thread_start(&threads[i], "reader", take_and_give, kw_model_ref(model));
    kw_model_unref(model); /* the last reference frees it */
    for (size_t i = 0; i < G_N_ELEMENTS(threads); i++)
        kw_thread_join(&threads[i]);
    kw_model_unref(NULL);
}

/* The name of a field stands for `field: NAME`. */
KW_TEST(test_bare_names, "/config/reader/bare-names")
{
    static const char text[] = "tables:\n"
                               "  t:\n"
                               "    fields: {id: string, ts: timestamp}\n"
                               "    key: [now, id, field: ts]\n"
                               "    paths: {by_time: {key: [ts, id]}}\n";
    g_autoptr(kw_diagnostics) diagnostics = kw_diagnostics_new("p.yaml");
    g_autoptr(kw_model) model =
        kw_model_read_text("p.yaml", text, strlen(text), SAMPLE_COMPONENTS, diagnostics);
    g_assert_nonnull(model);
    const kw_model_path *primary = &model->tables[0].paths[0], *by_time = &model->tables[0].paths[1];
    g_assert_cmpstr(primary->components[0].name, ==, "now");
    g_assert_cmpstr(primary->components[1].name, ==, "field");
    g_assert_cmpstr(kw_model_setting_find(&primary->components[1], "name")->text, ==, "id");
    g_assert_cmpstr(kw_model_setting_find(&primary->components[2], "name")->text, ==, "ts");
    g_assert_cmpstr(kw_model_setting_find(&by_time->components[0], "name")->text, ==, "ts");
    g_assert_cmpstr(kw_model_setting_find(&by_time->components[1], "name")->text, ==, "id");
    g_assert_cmpuint(by_time->components[1].mark.line, ==, 5);
}
