/* Tables and sequences that the catalog keeps: reading them, adding them to a gateway's settings, and cutting
 * them out of a policy file. */
#include "good.h"

#include "config/shared.h"

#define TABLES "tables:\n  t: {fields: {a: int}, key: [{field: a}]}\n"

static kw_model *
read_shared(const char *text, char **ret_problems)
{
    g_autoptr(kw_diagnostics) found = kw_diagnostics_new("shared");
    kw_model *model = kw_model_read_shared("policy version 3", text, strlen(text), SAMPLE_COMPONENTS, found);
    *ret_problems = kw_diagnostics_text(found);
    g_assert_true(!model == (**ret_problems != '\0'));
    return model;
}

static void
assert_refused(const char *text, const char *part)
{
    g_autofree char *problems = NULL;
    g_assert_null(read_shared(text, &problems));
    if (!strstr(problems, part))
        g_error("got: %s\nnot: %s", problems, part);
}

KW_TEST(test_read, "/config/shared/read")
{
    g_autofree char *problems = NULL;
    g_autoptr(kw_model) model = read_shared("sequences: {keep: 2d}\n" TABLES, &problems);
    g_assert_cmpstr(problems, ==, "");
    g_assert_cmpint(model->sequences.keep_ms, ==, 2 * 86400000);
    g_assert_cmpstr(model->file, ==, "policy version 3");
}

KW_TEST(test_refused, "/config/shared/refused")
{
    assert_refused("", "the policy is empty");
    assert_refused("sequences: {keep: 2d}\n", "a policy needs tables");
    assert_refused("listen: 127.0.0.1:1\n" TABLES,
                   "shared:1:1: error: listen belongs in the file of each gateway");
    assert_refused("policy: {source: store}\n" TABLES, "tables cannot be in this file");
    assert_refused("policy: {source: file}\n" TABLES, "policy belongs in the file of each gateway");
    assert_refused("sequences: {redis: 'redis://:x@h'}\n" TABLES,
                   "sequences.redis: a shared policy cannot contain a secret");
    assert_refused("sequences: {redis: 'redis://h', redis_password_file: x}\n" TABLES,
                   "sequences.redis_password_file names a file of one machine");
    assert_refused("tables:\n  t: {fields: {a: int}, key: [{field: a}], splits: {file: /etc/passwd}}\n",
                   "shared:2:52: error: table t: splits.file names a file of one machine");
    assert_refused(TABLES "  u: [\n", "error");
}

KW_TEST(test_share, "/config/shared/share")
{
    g_autofree char *problems = NULL;
    g_autoptr(kw_model) own = read_good_file("policy_in_store.yaml");
    g_autoptr(kw_model) shared = read_shared("sequences: {keep: 2d}\n" TABLES, &problems);
    g_autoptr(kw_diagnostics) found = kw_diagnostics_new("shared");
    g_assert_true(own->policy_in_store);
    g_assert_cmpuint(own->tables_count, ==, 0);
    g_autoptr(kw_model) both = kw_model_share(own, shared, found);
    g_assert_cmpuint(both->tables_count, ==, 1);
    g_assert_cmpstr(both->store.catalog, ==, "catalog_t");
    g_assert_cmpint(both->sequences.keep_ms, ==, 2 * 86400000);
    g_assert_cmpstr(both->sequences.redis_password_file, ==, "/etc/keyway/redis");
    g_assert_cmpstr(both->sequences.table, ==, "catalog_t_sequences");
    g_assert_cmpstr(both->shared_text, ==, "sequences: {keep: 2d}\n" TABLES);
    g_assert_cmpstr(both->tables_file, ==, "policy version 3");
    g_autofree char *text = kw_model_text_without_secrets(both);
    g_assert_nonnull(strstr(text, "keys: (secret)"));
    /* a combination can take the place of the own part; it does not need references to the two parts */
    g_autoptr(kw_model) again = kw_model_share(both, NULL, found);
    g_assert_cmpuint(again->tables_count, ==, 0);
    g_assert_true(kw_model_own(again) == own);
    g_assert_null(kw_model_shared(again));
    g_clear_pointer(&own, kw_model_unref);
    g_clear_pointer(&shared, kw_model_unref);
    g_assert_cmpstr(both->tables[0].name, ==, "t");
    g_assert_cmpstr(both->gateway_id, ==, "");
}

KW_TEST(test_share_with_catalog, "/config/shared/share-with-catalog")
{
    static const char *const texts[] = {
        "tables:\n  catalog_t: {fields: {a: int}, key: [{field: a}]}\n",
        "tables:\n  t: {fields: {a: int}, store_table: 'default:catalog_t', key: [{field: a}]}\n",
        "tables:\n  catalog_t_sequences: {fields: {a: int}, key: [{field: a}]}\n"};
    g_autoptr(kw_model) own = read_good_file("policy_in_store.yaml");
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
        g_autofree char *problems = NULL;
        g_autoptr(kw_model) shared = read_shared(texts[i], &problems);
        g_autoptr(kw_diagnostics) found = kw_diagnostics_new("shared");
        g_assert_null(kw_model_share(own, shared, found));
        g_autofree char *text = kw_diagnostics_text(found);
        g_assert_nonnull(strstr(text, i < 2 ? "catalog_t is the catalog"
                                            : "catalog_t_sequences is the table of sequences"));
    }
}

KW_TEST(test_same_counters, "/config/shared/same-counters")
{
    static const char *const other[] = {TABLES, "sequences: {redis: 'redis://h:1'}\n" TABLES,
                                        "sequences: {redis: 'redis://g'}\n" TABLES,
                                        "sequences: {redis: 'redis://h/1'}\n" TABLES};
    g_autoptr(kw_model) base = read_good(TABLES), later = read_good("sequences: {keep: 1d}\n" TABLES);
    g_autoptr(kw_model) redis = read_good("sequences: {redis: 'redis://h'}\n" TABLES);
    g_autoptr(kw_model) named = read_good("sequences: {redis: 'redis://u:p@h:6379/0', keep: 1d}\n" TABLES);
    g_assert_true(kw_model_same_counters(base, later));
    g_assert_true(kw_model_same_counters(redis, named));
    for (size_t i = 0; i < G_N_ELEMENTS(other); i++) {
        g_autoptr(kw_model) with = read_good(other[i]);
        g_assert_false(kw_model_same_counters(redis, with));
    }
}

/* --- cutting out ----------------------------------------------------------------------------------- */

static char *
cut(const char *text)
{
    g_autoptr(kw_diagnostics) found = kw_diagnostics_new("file");
    char *made = kw_model_cut_shared(text, strlen(text), found);
    if (made) {
        g_assert_cmpuint(kw_diagnostics_count(found), ==, 0);
        return made;
    }
    return kw_diagnostics_text(found);
}

KW_TEST(test_cut, "/config/shared/cut")
{
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {TABLES, TABLES},
        {"\xef\xbb\xbf" TABLES, TABLES},
        {"# head\nlisten: 127.0.0.1:1\n\n# of tables\n# too\ntables: # here\n  # inside\n  t: 1\n\n# of "
         "log\nlog: {level: info}\n",
         "# of tables\n# too\ntables: # here\n  # inside\n  t: 1\n"},
        {"tables:\n  t: 1\nlisten: x\nsequences: {keep: 1d}\n# end\n",
         "tables:\n  t: 1\n\nsequences: {keep: 1d}\n# end\n"},
        {"tables:\n  t: 1", "tables:\n  t: 1\n"},
        {"tables:\n  t: |\n    # text\n\nlisten: x\n", "tables:\n  t: |\n    # text\n"},
        {"tables:\r\n  t: 1\r\nlisten: x\r\n", "tables:\r\n  t: 1\r\n"},
        {"---\ntables:\n  t: 1\n", "tables:\n  t: 1\n"},
        {"'tables':\n  t: 1\n", "'tables':\n  t: 1\n"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *found = cut(cases[i].text);
        g_assert_cmpstr(found, ==, cases[i].expected);
    }
}

/* A text that cannot be cut out by lines is rejected, never changed. */
KW_TEST(test_cannot_cut, "/config/shared/cannot-cut")
{
    static const char *const texts[] = {
        "{tables: {t: 1}, listen: x}\n",
        " tables:\n   t: 1\n",
        "listen: x\n",
        "a text\n",
        "listen: x\rlog: y\radmin: z\rtables:\r  t: 1\r",
        "listen: x\xe2\x80\xa8log: y\xe2\x80\xa8tables: z\n",
        "tables:\n  t: \"a\n# b\n\n\"\nlisten: x\n", /* the end of a quoted text looks like a comment */
    };
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
        g_autofree char *found = cut(texts[i]);
        if (!strstr(found, "cannot be extracted") && !strstr(found, "# b"))
            g_error("%s: %s", texts[i], found);
    }
    g_autofree char *broken = cut("tables: [\n");
    g_assert_nonnull(strstr(broken, "file:"));
}
