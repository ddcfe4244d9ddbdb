/* Tables that an admission leaves out, because the policy can be served without them. */
#include "town.h"

#include "catalog/catalog_internal.h"

#define AND_U "  u:\n"

static const bool both[] = {true, true};

static kw_code
check_with(gateway *self, kw_policy *policy, const bool *optional)
{
    gateway_begin_with(self, policy, optional);
    gateway_wait(self);
    return self->error.code;
}

static void
assert_left_out(const gateway *self, size_t table, const char *part)
{
    const kw_error *why = kw_admission_refusal(self->admission, table);
    g_assert_nonnull(why);
    if (!strstr(why->text, part))
        g_error("got: %s\nnot: %s", why->text, part);
}

/* The facts of the refused table stay, the others change, and the registration has only the tables that are
 * served. */
KW_TEST(test_refused_table, "/catalog/left out/refused")
{
    town *in = town_new();
    gateway *a = gateway_new(in, "a", true);
    g_autoptr(kw_policy) policy = test_policy(BASE AND_U BASE), other = test_policy(STRING_N AND_U MORE);
    g_assert_cmpint(gateway_admit(a, policy), ==, KW_OK);
    town_put(in, "t", "row");
    g_autofree char *before = town_facts(in, "t");
    g_assert_cmpint(check_with(a, other, NULL), ==, KW_REFUSED);
    const bool only_u[] = {false, true};
    g_assert_cmpint(check_with(a, other, only_u), ==, KW_REFUSED);
    g_assert_cmpint(check_with(a, other, both), ==, KW_OK);
    assert_left_out(a, 0, "table t, field n: its values were stored as int");
    g_assert_null(kw_admission_refusal(a->admission, 1));
    const char *const *held;
    g_assert_cmpuint(kw_admission_hold(a->admission, &held), ==, 1);
    g_assert_cmpstr(held[0], ==, "t");
    g_assert_cmpint(gateway_commit(a), ==, KW_OK);
    g_autofree char *after = town_facts(in, "t"), *of_u = town_facts(in, "u");
    g_assert_cmpstr(before, ==, after);
    g_assert_nonnull(strstr(of_u, "\"more\""));
    g_assert_cmpuint(a->catalog->serving.count, ==, 1);
    g_assert_cmpstr(a->catalog->serving.items[0].table, ==, "u");
    gateway_stop(a);
    town_free(in);
}

/* Another gateway serves the table in another way. */
KW_TEST(test_conflict, "/catalog/left out/conflict")
{
    town *in = town_new();
    gateway *a = gateway_new(in, "a", true), *b = gateway_new(in, "b", true);
    g_autoptr(kw_policy) policy = test_policy(BASE AND_U BASE), other = test_policy(BASE BY_TS AND_U BASE);
    g_assert_cmpint(gateway_admit(a, policy), ==, KW_OK);
    g_assert_cmpint(check_with(b, other, NULL), ==, KW_REFUSED);
    g_assert_cmpint(check_with(b, other, both), ==, KW_OK);
    assert_left_out(b, 0, "the gateway a serves the table under the old one");
    const char *const *held;
    g_assert_cmpuint(kw_admission_hold(b->admission, &held), ==, 0);
    g_assert_cmpint(gateway_commit(b), ==, KW_OK);
    town_assert_facts(in, "by_ts", false);
    gateway_stop(a);
    g_assert_cmpint(check_with(b, other, both), ==, KW_OK);
    g_assert_null(kw_admission_refusal(b->admission, 0));
    g_assert_cmpint(gateway_commit(b), ==, KW_OK);
    town_assert_facts(in, "by_ts", true);
    gateway_stop(b);
    town_free(in);
}

/* Rows appear between the check and the commit. */
KW_TEST(test_refused_at_the_commit, "/catalog/left out/at the commit")
{
    town *in = town_new();
    gateway *a = gateway_new(in, "a", true);
    g_autoptr(kw_policy) policy = test_policy(BASE AND_U BASE), other = test_policy(STRING_N AND_U MORE);
    g_assert_cmpint(gateway_admit(a, policy), ==, KW_OK);
    g_autofree char *before = town_facts(in, "t");
    g_assert_cmpint(check_with(a, other, both), ==, KW_OK);
    g_assert_null(kw_admission_refusal(a->admission, 0));
    town_put(in, "t", "row");
    a->done = false;
    kw_admission_commit(a->admission, KW_DEADLINE_NONE, gateway_ended, a);
    gateway_wait(a);
    g_assert_cmpint(a->error.code, ==, KW_OK);
    assert_left_out(a, 0, "table t, field n: its values were stored as int");
    kw_admission_serve(g_steal_pointer(&a->admission));
    g_autofree char *after = town_facts(in, "t"), *of_u = town_facts(in, "u");
    g_assert_cmpstr(before, ==, after);
    g_assert_nonnull(strstr(of_u, "\"more\""));
    gateway_stop(a);
    town_free(in);
}

/* Whichever operation fails, the admission either fails or leaves out a table whose rows cannot be read. */
KW_TEST(test_unreadable, "/catalog/left out/unreadable")
{
    bool failed = true;
    unsigned unreadable = 0;
    for (uint64_t n = 1; failed; n++) {
        town *in = town_new();
        gateway *a = gateway_new(in, "a", true);
        g_autoptr(kw_policy) policy = test_policy(BASE AND_U BASE);
        in->control->fail_at = n;
        kw_code code = check_with(a, policy, both);
        failed = in->control->operations >= n;
        in->control->fail_at = 0;
        g_assert_true(failed || code == KW_OK);
        for (size_t i = 0; code == KW_OK && i < 2; i++) {
            const kw_error *why = kw_admission_refusal(a->admission, i);
            if (!why)
                continue;
            unreadable++;
            g_assert_nonnull(strstr(why->text, i ? "table u: store table u: " : "table t: store table t: "));
            g_assert_null(kw_admission_refusal(a->admission, !i));
        }
        if (code == KW_OK)
            kw_admission_abandon(g_steal_pointer(&a->admission));
        gateway_stop(a);
        town_free(in);
    }
    g_assert_cmpuint(unreadable, ==, 2);
}
