/* The model has the values of generate and sequences. */
#include "good.h"

#include <string.h>

static void
test_sequence_defaults(void)
{
    g_autoptr(kw_model) model =
        read_good("tables: {t: {fields: {a: {type: int, generate: sequence}, b: int}, key: [field: a]}}");
    const kw_model_sequences *sequences = &model->sequences;
    g_assert_false(sequences->redis);
    g_assert_cmpstr(sequences->table, ==, "keyway_sequences");
    g_assert_cmpstr(sequences->redis_host, ==, "127.0.0.1");
    g_assert_cmpint(sequences->redis_port, ==, 6379);
    g_assert_cmpstr(sequences->redis_password, ==, "");
    g_assert_cmpint(sequences->redis_database, ==, 0);
    g_assert_cmpstr(sequences->redis_prefix, ==, "keyway:");
    g_assert_cmpint(sequences->keep_ms, ==, 7 * 86400000);
    g_assert_cmpint(sequences->lease_ms, ==, 10000);
    const kw_model_generate *generate = &model->tables[0].fields[0].generate;
    g_assert_true(generate->enabled);
    g_assert_cmpint(generate->kind, ==, KW_GENERATE_SEQUENCE);
    g_assert_false(generate->refuse_given);
    g_assert_cmpint(generate->from, ==, 1);
    g_assert_cmpint(generate->to, ==, INT64_MAX);
    g_assert_false(generate->wrap);
    g_assert_cmpint(generate->block, ==, 0);
    g_assert_cmpint(generate->prefetch, ==, 50);
    g_assert_cmpint(generate->per, ==, KW_PERIOD_EVER);
    g_assert_cmpstr(generate->of, ==, "");
    g_assert_cmpstr(generate->zone, ==, "");
    g_assert_false(model->tables[0].fields[1].generate.enabled);
}

/* See everything_hbase.yaml. */
static void
test_sequence_settings(void)
{
    g_autoptr(kw_model) model = read_good_file("everything_hbase.yaml");
    const kw_model_sequences *sequences = &model->sequences;
    g_assert_true(sequences->redis);
    g_assert_cmpstr(sequences->table, ==, "ns:numbers");
    g_assert_cmpstr(sequences->redis_host, ==, "redis.example");
    g_assert_cmpint(sequences->redis_port, ==, 6380);
    g_assert_cmpstr(sequences->redis_password, ==, "open-sesame");
    g_assert_cmpint(sequences->redis_database, ==, 18);
    g_assert_cmpstr(sequences->redis_prefix, ==, "kw/");
    g_assert_cmpint(sequences->keep_ms, ==, 19 * 3600000);
    g_assert_cmpint(sequences->lease_ms, ==, 20000);
    g_autofree char *shown = kw_model_text_without_secrets(model);
    g_assert_null(strstr(shown, "open-sesame"));
    const kw_model_field *fields = model->tables[0].fields;
    const kw_model_generate *generate = &fields[2].generate;
    g_assert_true(generate->refuse_given && generate->wrap);
    g_assert_cmpint(generate->from, ==, 21);
    g_assert_cmpint(generate->to, ==, 22022);
    g_assert_cmpint(generate->block, ==, 23);
    g_assert_cmpint(generate->prefetch, ==, 24);
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

int
main(int count, char **arguments)
{
    g_test_init(&count, &arguments, NULL);
    g_test_add_func("/config/sequences/defaults", test_sequence_defaults);
    g_test_add_func("/config/sequences/every", test_sequence_settings);
    return g_test_run();
}
