/* Forgetting: which facts can be cleared, whose rows are dropped, and what happens if it stops half-way. */
#include "town.h"

#include "catalog/catalog_internal.h"

KW_TEST(test_forget_path, "/catalog/forget/path")
{
    town *in = town_new();
    gateway *a = gateway_new(in, "a", true);
    g_autoptr(kw_policy) with_path = test_policy(BASE BY_TS), without = test_policy(BASE);
    g_assert_cmpint(gateway_check(a, with_path), ==, KW_OK);
    kw_admission_note_created(a->admission, "t_by_ts");
    g_assert_cmpint(gateway_commit(a), ==, KW_OK);
    town_put(in, "t", "row");
    town_put(in, "t_by_ts", "row");
    g_assert_cmpint(gateway_forget(a, with_path, "t", "by_ts", true), ==, KW_REFUSED);
    gateway_assert_text(
        a, "this gateway serves table t with the path by_ts; take the path out of the policy first");
    g_assert_cmpint(gateway_admit(a, without), ==, KW_OK);
    g_assert_cmpint(gateway_forget(a, without, "t", "by_tss", false), ==, KW_NOT_FOUND);
    g_assert_cmpint(gateway_forget(a, without, "u", NULL, false), ==, KW_NOT_FOUND);
    g_assert_cmpint(gateway_forget(a, without, "t", NULL, true), ==, KW_REFUSED);
    gateway_assert_text(a, "this gateway serves table t; take it out of the policy first");
    g_assert_cmpint(gateway_forget(a, without, "t", "by_ts", false), ==, KW_REFUSED);
    gateway_assert_text(a, "the store table t_by_ts still holds rows");
    town_assert_facts(in, "\"state\":\"retired\"", true);
    g_assert_cmpint(gateway_forget(a, without, "t", "by_ts", true), ==, KW_OK);
    g_assert_cmpstr(a->emptied[0], ==, "t_by_ts");
    g_assert_null(a->emptied[1]);
    g_assert_cmpuint(kw_memory_store_rows(in->store, "t_by_ts"), ==, 0);
    g_assert_cmpuint(kw_memory_store_rows(in->store, "t"), ==, 1);
    town_assert_facts(in, "retired", false);
    gateway_stop(a);
    town_free(in);
}

KW_TEST(test_forget_not_created, "/catalog/forget/not created")
{
    town *in = town_new();
    gateway *a = gateway_new(in, "a", true);
    g_autoptr(kw_policy) with_path = test_policy(BASE BY_TS), without = test_policy(BASE);
    g_assert_cmpint(gateway_admit(a, with_path), ==, KW_OK);
    town_put(in, "t_by_ts", "row");
    g_assert_cmpint(gateway_admit(a, without), ==, KW_OK);
    for (int drop = 0; drop <= 1; drop++) {
        g_assert_cmpint(gateway_forget(a, without, "t", "by_ts", drop), ==, KW_REFUSED);
        gateway_assert_text(a, "the store table t_by_ts holds rows and was not created by Keyway");
    }
    g_assert_cmpuint(kw_memory_store_rows(in->store, "t_by_ts"), ==, 1);
    gateway_stop(a);
    town_free(in);
}

static void
noted(void *user, const kw_error *error)
{
    g_assert_null(error);
    ((gateway *)user)->done = true;
}

/* A whole table; keyway create made its store table. */
KW_TEST(test_forget_table, "/catalog/forget/table")
{
    town *in = town_new();
    gateway *a = gateway_new(in, "a", true), *b = gateway_new(in, "b", true);
    g_autoptr(kw_policy) policy = test_policy(BASE), other = test_policy(STRING_N);
    g_autoptr(kw_policy) nothing = test_policy_named("u", BASE);
    g_assert_cmpint(gateway_admit(a, policy), ==, KW_OK);
    const char *created[] = {"t", "elsewhere"};
    a->done = false;
    kw_catalog_note_created(a->catalog, created, 2, KW_DEADLINE_NONE, noted, a);
    gateway_wait(a);
    g_assert_true(town_was_created(in, "t"));
    town_put(in, "t", "row");
    g_assert_cmpint(gateway_admit(b, nothing), ==, KW_OK);
    g_assert_cmpint(gateway_forget(b, nothing, "t", NULL, true), ==, KW_REFUSED);
    gateway_assert_text(b, "the gateway a serves table t; take it out of its policy first");
    gateway_stop(a);
    g_assert_cmpint(gateway_forget(b, nothing, "t", NULL, false), ==, KW_REFUSED);
    g_assert_cmpint(gateway_forget(b, nothing, "t", NULL, true), ==, KW_OK);
    g_autofree char *facts = town_facts(in, "t");
    g_assert_cmpstr(facts, ==, "");
    town_put(in, "t", "a row of others");
    a = gateway_new(in, "a", true);
    g_assert_cmpint(gateway_admit(a, other), ==, KW_OK);
    gateway_stop(a);
    gateway_stop(b);
    town_free(in);
}

/* Wherever it stops, it can be repeated, and until then no policy can have the path. */
KW_TEST(test_forget_faults, "/catalog/forget/faults")
{
    g_autoptr(kw_policy) with_path = test_policy(BASE BY_TS), without = test_policy(BASE);
    for (int applied = 0; applied < 2; applied++) {
        bool failed = true;
        for (uint64_t n = 1; failed; n++) {
            town *in = town_new();
            gateway *a = gateway_new(in, "a", false);
            g_assert_cmpint(gateway_admit(a, with_path), ==, KW_OK);
            town_put(in, "t_by_ts", "row");
            g_assert_cmpint(gateway_admit(a, without), ==, KW_OK);
            uint64_t before = in->control->operations;
            in->control->fail_at = before + n;
            in->control->fail_applied = applied;
            kw_code code = gateway_forget(a, without, "t", "by_ts", true);
            failed = in->control->operations >= before + n;
            in->control->fail_at = 0;
            if (code != KW_OK && kw_memory_store_rows(in->store, "t_by_ts") == 0)
                g_assert_cmpint(gateway_check(a, with_path), ==, KW_REFUSED);
            g_assert_cmpint(gateway_forget(a, without, "t", "by_ts", true), ==,
                            code == KW_OK ? KW_NOT_FOUND : KW_OK);
            g_assert_cmpint(gateway_admit(a, with_path), ==, KW_OK);
            gateway_stop(a);
            town_free(in);
        }
    }
}

/* A gateway that serves the table is paused while another one forgets it. When it continues, it must be
 * admitted again. */
KW_TEST(test_forget_while_paused, "/catalog/forget/while another gateway is paused")
{
    town *in = town_new();
    gateway *a = gateway_new(in, "a", true), *b = gateway_new(in, "b", true);
    g_autoptr(kw_policy) policy = test_policy(BASE), nothing = test_policy_named("u", BASE);
    g_assert_cmpint(gateway_admit(a, policy), ==, KW_OK);
    town_pass_ms(60000);
    g_assert_cmpint(gateway_admit(b, nothing), ==, KW_OK);
    g_assert_cmpint(gateway_forget(b, nothing, "t", NULL, false), ==, KW_OK);
    while (a->lost == 0)
        uv_run(kw_loop_uv(in->loop), UV_RUN_ONCE);
    g_assert_false(gateway_is_open(a));
    g_assert_cmpint(gateway_admit(a, policy), ==, KW_OK);
    town_assert_facts(in, "\"state\":\"complete\"", true);
    gateway_stop(a);
    gateway_stop(b);
    town_free(in);
}

/* A path uses, or is about to use, the store table of another path that is half forgotten. */
KW_TEST(test_forget_spares_another_path, "/catalog/forget/another path")
{
    town *in = town_new();
    gateway *a = gateway_new(in, "a", false);
    g_autoptr(kw_policy) with_path = test_policy(BASE BY_TS), without = test_policy(BASE);
    g_autoptr(kw_policy) other =
        test_policy(BASE "    paths: {other: {store_table: t_by_ts, key: [{field: ts}, {field: id}]}}\n");
    g_assert_cmpint(gateway_admit(a, with_path), ==, KW_OK);
    town_put(in, "t_by_ts", "row");
    g_assert_cmpint(gateway_admit(a, without), ==, KW_OK);
    uint64_t before = in->control->operations;
    for (uint64_t n = 1; kw_memory_store_rows(in->store, "t_by_ts") > 0; n++) {
        in->control->fail_at = before + n;
        gateway_forget(a, without, "t", "by_ts", true);
        before = in->control->operations;
    }
    in->control->fail_at = 0;
    town_assert_facts(in, "\"state\":\"forgetting\"", true);
    g_assert_cmpint(gateway_check(a, other), ==, KW_REFUSED);
    gateway_assert_text(a, "table t, path by_ts: keyway forget has not finished with the path; run keyway "
                           "forget again before a policy has the path or its store table");
    g_assert_cmpint(gateway_forget(a, without, "t", "by_ts", true), ==, KW_OK);
    g_assert_cmpint(gateway_admit(a, other), ==, KW_OK);
    gateway_stop(a);
    town_free(in);
}

/* Keyway's record that it created a store table persists: a path can be dropped and added again
 * repeatedly. */
KW_TEST(test_forget_again, "/catalog/forget/again")
{
    town *in = town_new();
    gateway *a = gateway_new(in, "a", true);
    g_autoptr(kw_policy) with_path = test_policy(BASE BY_TS), without = test_policy(BASE);
    for (int i = 0; i < 3; i++) {
        g_assert_cmpint(gateway_check(a, with_path), ==, KW_OK);
        if (i == 0)
            kw_admission_note_created(a->admission, "t_by_ts");
        g_assert_cmpint(gateway_commit(a), ==, KW_OK);
        town_put(in, "t_by_ts", "row");
        g_assert_cmpint(gateway_admit(a, without), ==, KW_OK);
        g_assert_cmpint(gateway_forget(a, without, "t", "by_ts", true), ==, KW_OK);
    }
    gateway_stop(a);
    town_free(in);
}

/* Other gateways change the catalog at any moment while created store tables are recorded. */
KW_TEST(test_note_while_others_change, "/catalog/forget/note while others change")
{
    g_autoptr(kw_policy) policy = test_policy(BASE);
    const char *created[] = {"t"};
    for (unsigned iterations = 0; iterations < 20; iterations++) {
        town *in = town_new();
        gateway *a = gateway_new(in, "a", true), *b = gateway_new(in, "b", true);
        g_assert_cmpint(gateway_admit(a, policy), ==, KW_OK);
        a->done = false;
        kw_catalog_note_created(a->catalog, created, 1, KW_DEADLINE_NONE, noted, a);
        for (unsigned i = 0; i < iterations; i++)
            uv_run(kw_loop_uv(in->loop), UV_RUN_NOWAIT);
        in->control->stalled = a->handle;
        g_assert_cmpint(gateway_admit(b, policy), ==, KW_OK);
        in->control->stalled = NULL;
        gateway_wait(a);
        g_assert_true(town_was_created(in, "t"));
        gateway_stop(a);
        gateway_stop(b);
        town_free(in);
    }
}

/* Two gateways cannot forget the same table at once; if one of them stops half-way, the other one can
 * finish. */
KW_TEST(test_forget_concurrently, "/catalog/forget/concurrently")
{
    town *in = town_new();
    gateway *a = gateway_new(in, "a", true), *b = gateway_new(in, "b", true);
    g_autoptr(kw_policy) policy = test_policy(BASE), nothing = test_policy_named("u", BASE);
    g_assert_cmpint(gateway_admit(a, policy), ==, KW_OK);
    g_assert_cmpint(gateway_admit(a, nothing), ==, KW_OK);
    g_assert_cmpint(gateway_admit(b, nothing), ==, KW_OK);
    a->catalog->forgetting = "t";
    kw_catalog_update_registration(a->catalog);
    for (int i = 0; i < 10; i++)
        uv_run(kw_loop_uv(in->loop), UV_RUN_NOWAIT);
    g_assert_cmpint(gateway_forget(b, nothing, "t", NULL, false), ==, KW_REFUSED);
    gateway_assert_text(b, "the gateway a is forgetting table t; wait until it has finished");
    town_pass_ms(60000);
    g_assert_cmpint(gateway_forget(b, nothing, "t", NULL, false), ==, KW_OK);
    kw_catalog_update_registration(a->catalog);
    while (a->lost == 0)
        uv_run(kw_loop_uv(in->loop), UV_RUN_ONCE);
    gateway_stop(a);
    gateway_stop(b);
    town_free(in);
}
