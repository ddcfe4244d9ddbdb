/* The model has the values of generate and sequences. */
#include "good.h"

#include <string.h>

KW_TEST(test_sequence_defaults, "/config/sequences/defaults")
{
    g_autoptr(kw_model) model =
        read_good("tables: {t: {fields: {a: {type: int, generate: sequence}, b: int}, key: [field: a]}}");
    const kw_model_sequences *sequences = &model->sequences;
    g_assert_false(sequences->redis);
    g_assert_cmpstr(sequences->table, ==, "keyway_sequences");
    g_assert_cmpstr(sequences->redis_url, ==, "");
    g_assert_cmpstr(sequences->redis_password, ==, "");
    g_assert_cmpstr(sequences->redis_password_file, ==, "");
    g_assert_cmpint(sequences->keep_ms, ==, 7 * 86400000);
    const kw_model_generate *generate = &model->tables[0].fields[0].generate;
    g_assert_true(generate->enabled);
    g_assert_cmpint(generate->kind, ==, KW_GENERATE_SEQUENCE);
    g_assert_false(generate->refuse_given);
    g_assert_cmpint(generate->from, ==, 1);
    g_assert_cmpint(generate->to, ==, INT64_MAX);
    g_assert_false(generate->wrap);
    g_assert_cmpint(generate->block, ==, 0);
    g_assert_cmpint(generate->per, ==, KW_PERIOD_EVER);
    g_assert_cmpstr(generate->of, ==, "");
    g_assert_cmpstr(generate->zone, ==, "");
    g_assert_false(model->tables[0].fields[1].generate.enabled);
}

/* See everything_hbase.yaml. */
KW_TEST(test_sequence_settings, "/config/sequences/every")
{
    g_autoptr(kw_model) model = read_good_file("everything_hbase.yaml");
    const kw_model_sequences *sequences = &model->sequences;
    g_assert_true(sequences->redis);
    g_assert_cmpstr(sequences->table, ==, "keyway_sequences");
    g_assert_cmpstr(sequences->redis_host, ==, "redis.example");
    g_assert_cmpint(sequences->redis_port, ==, 6380);
    g_assert_cmpstr(sequences->redis_user, ==, "me");
    g_assert_cmpstr(sequences->redis_password, ==, "open/sesame");
    g_assert_cmpint(sequences->redis_database, ==, 18);
    g_assert_cmpint(sequences->keep_ms, ==, 19 * 3600000);
    g_autofree char *shown = kw_model_text_without_secrets(model);
    g_assert_null(strstr(shown, "sesame"));
    const kw_model_field *fields = model->tables[0].fields;
    const kw_model_generate *generate = &fields[2].generate;
    g_assert_true(generate->refuse_given && generate->wrap);
    g_assert_cmpint(generate->from, ==, 21);
    g_assert_cmpint(generate->to, ==, 22022);
    g_assert_cmpint(generate->per, ==, KW_PERIOD_HOUR);
    g_assert_cmpstr(generate->of, ==, "ts");
    g_assert_cmpstr(generate->zone, ==, "Europe/Berlin");
    g_assert_cmpint(fields[3].generate.kind, ==, KW_GENERATE_SNOWFLAKE);
    g_assert_cmpint(fields[3].generate.epoch_ms, ==, 25);
    g_assert_false(fields[3].generate.partitioned);
    g_assert_true(fields[4].generate.partitioned);
    g_assert_cmpint(fields[5].generate.kind, ==, KW_GENERATE_UUID7);
    g_assert_false(fields[6].generate.enabled);
}

static void
assert_url(const char *url, const char *host, uint16_t port, const char *user, const char *password,
           int64_t database)
{
    g_autofree char *text =
        g_strdup_printf("sequences: {redis: '%s'}\ntables: {t: {fields: {a: int}, key: [field: a]}}", url);
    g_autoptr(kw_model) model = read_good(text);
    const kw_model_sequences *sequences = &model->sequences;
    g_assert_true(sequences->redis);
    g_assert_cmpstr(sequences->redis_host, ==, host);
    g_assert_cmpint(sequences->redis_port, ==, port);
    g_assert_cmpstr(sequences->redis_user, ==, user);
    g_assert_cmpstr(sequences->redis_password, ==, password);
    g_assert_cmpint(sequences->redis_database, ==, database);
    /* Only a password makes the URL a secret. */
    g_autofree char *shown = kw_model_text_without_secrets(model);
    g_assert_cmpint(strstr(shown, "(secret)") != NULL, ==, *password != '\0');
    g_assert_cmpint(strstr(shown, host) == NULL, ==, *password != '\0');
}

KW_TEST(test_redis_urls, "/config/sequences/redis")
{
    assert_url("redis://h", "h", 6379, "", "", 0);
    assert_url("redis://h/", "h", 6379, "", "", 0);
    assert_url("redis://[::1]:7/65535", "::1", 7, "", "", 65535);
    assert_url("redis://u@h:6380/3", "h", 6380, "u", "", 3);
    assert_url("redis://:p%40:%2F@h", "h", 6379, "", "p@:/", 0);
    assert_url("redis://u:p@h", "h", 6379, "u", "p", 0);
}

/* No message shows a part of the URL, which can have a password. */
KW_TEST(test_wrong_redis_urls, "/config/sequences/wrong-redis")
{
    static const char *const wrong[] = {"sesame",
                                        "redis:sesame",
                                        "redis:///3",
                                        "http://:sesame@h",
                                        "redis://:sesame@",
                                        "redis://:sesame@h:0",
                                        "redis://:sesame@h:99999",
                                        "redis://:sesame@h/x",
                                        "redis://:sesame@h/65536",
                                        "redis://:sesame@h/-1",
                                        "redis://:sesame@h/1/2",
                                        "redis://:sesame@h?db=3",
                                        "redis://:sesame@h#3",
                                        "redis://:%zzsesame@h",
                                        "rediss://:sesame@h",
                                        "REDISS://:sesame@h"};
    for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
        g_autofree char *text = g_strdup_printf(
            "sequences: {redis: '%s'}\ntables: {t: {fields: {a: int}, key: [field: a]}}", wrong[i]);
        g_autoptr(kw_diagnostics) found = kw_diagnostics_new("test");
        g_assert_null(kw_model_read_text("test", text, strlen(text), NULL, 0, found));
        g_autofree char *said = kw_diagnostics_text(found);
        g_test_message("%s: %s", wrong[i], said);
        g_assert_nonnull(strstr(said, "sequences"));
        g_assert_null(strstr(said, "sesame"));
    }
}

KW_TEST(test_table_of_sequences, "/config/sequences/table")
{
    static const char *const cases[][2] = {{"a_catalog", "a_sequences"},
                                           {"ns:a_catalog", "ns:a_sequences"},
                                           {"catalog", "catalog_sequences"},
                                           {"a", "a_sequences"}};
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *text = g_strdup_printf(
            "store: {catalog: '%s'}\ntables: {t: {fields: {a: int}, key: [field: a]}}", cases[i][0]);
        g_autoptr(kw_model) model = read_good(text);
        g_assert_cmpstr(model->sequences.table, ==, cases[i][1]);
    }
}
