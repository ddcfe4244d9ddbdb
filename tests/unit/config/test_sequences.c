/* What generate and sequences say is what the model holds. */
#include "good.h"

#include <string.h>

static void
sequences_defaults(void)
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
    const kw_model_generate *made = &model->tables[0].fields[0].generate;
    g_assert_true(made->enabled);
    g_assert_cmpint(made->kind, ==, KW_MAKE_SEQUENCE);
    g_assert_false(made->refuse_given);
    g_assert_cmpint(made->from, ==, 1);
    g_assert_cmpint(made->to, ==, INT64_MAX);
    g_assert_false(made->wrap);
    g_assert_cmpint(made->block, ==, 0);
    g_assert_cmpint(made->prefetch, ==, 50);
    g_assert_cmpint(made->per, ==, KW_PERIOD_EVER);
    g_assert_cmpstr(made->of, ==, "");
    g_assert_cmpstr(made->zone, ==, "");
    g_assert_false(model->tables[0].fields[1].generate.enabled);
}

/* In everything_hbase.yaml. */
static void
every_setting_of_sequences(void)
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
    const kw_model_generate *made = &fields[2].generate;
    g_assert_true(made->refuse_given && made->wrap);
    g_assert_cmpint(made->from, ==, 21);
    g_assert_cmpint(made->to, ==, 22022);
    g_assert_cmpint(made->block, ==, 23);
    g_assert_cmpint(made->prefetch, ==, 24);
    g_assert_cmpint(made->per, ==, KW_PERIOD_HOUR);
    g_assert_cmpstr(made->of, ==, "ts");
    g_assert_cmpstr(made->zone, ==, "Europe/Berlin");
    g_assert_cmpint(fields[3].generate.kind, ==, KW_MAKE_SNOWFLAKE);
    g_assert_cmpint(fields[3].generate.epoch_ms, ==, 25);
    g_assert_false(fields[3].generate.partitioned);
    g_assert_true(fields[4].generate.partitioned);
    g_assert_cmpint(fields[5].generate.kind, ==, KW_MAKE_UUID7);
    g_assert_false(fields[6].generate.enabled);
}

int
main(int count, char **arguments)
{
    g_test_init(&count, &arguments, NULL);
    g_test_add_func("/config/sequences/defaults", sequences_defaults);
    g_test_add_func("/config/sequences/every", every_setting_of_sequences);
    return g_test_run();
}
