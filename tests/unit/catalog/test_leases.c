/* Registrations and leases: gateways that die, pause, restart, and continue too late. */
#include "town.h"

#include "catalog/catalog_internal.h"

KW_TEST(test_dead_gateway, "/catalog/lease/dead gateway")
{
    town *in = town_new();
    gateway *a = gateway_new(in, "a", true), *b = gateway_new(in, "b", true);
    g_autoptr(kw_policy) old = test_policy(BASE), new = test_policy(BASE BY_TS);
    g_assert_cmpint(gateway_admit(a, old), ==, KW_OK);
    gateway_die(a);
    g_assert_cmpint(gateway_check(b, new), ==, KW_REFUSED);
    town_pass_ms(KW_LEASE_DEAD_MS);
    g_assert_cmpint(gateway_check(b, new), ==, KW_REFUSED);
    town_pass_ms(1);
    g_assert_cmpint(gateway_admit(b, new), ==, KW_OK);
    g_assert_cmpuint(town_registrations(in), ==, 1);
    gateway_stop(b);
    town_free(in);
}

/* A gateway pauses for a minute. Another one regards it as dead and changes the paths. When the first one
 * continues, it answers no calls and finds that it must be admitted again, which is refused. */
KW_TEST(test_paused_gateway, "/catalog/lease/paused gateway")
{
    town *in = town_new();
    gateway *a = gateway_new(in, "a", true), *b = gateway_new(in, "b", true);
    g_autoptr(kw_policy) old = test_policy(BASE), new = test_policy(BASE BY_TS);
    g_assert_cmpint(gateway_admit(a, old), ==, KW_OK);
    uint64_t era = kw_fence_era(kw_catalog_fence(a->catalog));
    town_pass_ms(KW_LEASE_MS - 1);
    g_assert_true(gateway_is_open(a));
    town_pass_ms(1);
    g_assert_false(gateway_is_open(a));
    town_pass_ms(50000);
    g_assert_cmpint(gateway_admit(b, new), ==, KW_OK);
    while (a->lost == 0) /* until its renewal, by the real clock */
        uv_run(kw_loop_uv(in->loop), UV_RUN_ONCE);
    g_assert_false(gateway_is_open(a));
    g_assert_cmpuint(kw_fence_era(kw_catalog_fence(a->catalog)), >, era);
    g_assert_cmpint(gateway_check(a, old), ==, KW_REFUSED);
    g_assert_false(gateway_is_open(a));
    g_assert_cmpint(gateway_admit(a, new), ==, KW_OK);
    g_assert_true(gateway_is_open(a));
    gateway_stop(a);
    gateway_stop(b);
    town_free(in);
}

/* The same, but a reload happens before its next renewal: the reload does not restore the registration. */
KW_TEST(test_paused_and_reloads, "/catalog/lease/paused and reloads")
{
    town *in = town_new();
    gateway *a = gateway_new(in, "a", true), *b = gateway_new(in, "b", true);
    g_autoptr(kw_policy) old = test_policy(BASE), new = test_policy(BASE BY_TS);
    g_assert_cmpint(gateway_admit(a, old), ==, KW_OK);
    town_pass_ms(60000);
    g_assert_cmpint(gateway_admit(b, new), ==, KW_OK);
    g_assert_cmpint(gateway_check(a, old), ==, KW_UNAVAILABLE);
    gateway_assert_text(a, "the registration of gateway a was removed");
    g_assert_cmpuint(a->lost, ==, 1);
    g_assert_false(gateway_is_open(a));
    g_assert_cmpint(gateway_check(a, old), ==, KW_REFUSED);
    g_assert_false(gateway_is_open(a));
    gateway_stop(a);
    gateway_stop(b);
    town_free(in);
}

/* The registration is removed after the facts were written: the policy serves, but only after it is
 * admitted again. */
KW_TEST(test_lost_after_the_commit, "/catalog/lease/lost after the commit")
{
    town *in = town_new();
    gateway *a = gateway_new(in, "a", true);
    g_autoptr(kw_policy) policy = test_policy(BASE);
    g_assert_cmpint(gateway_check(a, policy), ==, KW_OK);
    a->done = false;
    kw_admission_commit(a->admission, KW_DEADLINE_NONE, gateway_ended, a);
    gateway_wait(a);
    g_assert_cmpint(a->error.code, ==, KW_OK);
    town_remove_registrations(in);
    kw_catalog_update_registration(a->catalog);
    while (a->lost == 0)
        uv_run(kw_loop_uv(in->loop), UV_RUN_ONCE);
    kw_admission_serve(g_steal_pointer(&a->admission));
    g_assert_cmpuint(a->lost, ==, 2); /* the second removal is reported */
    g_assert_false(gateway_is_open(a));
    g_assert_cmpint(gateway_check(a, policy), ==, KW_OK);
    g_assert_false(gateway_is_open(a));
    g_assert_cmpint(gateway_commit(a), ==, KW_OK);
    g_assert_true(gateway_is_open(a));
    gateway_stop(a);
    town_free(in);
}

/* The gateway closes at any moment of an admission. */
KW_TEST(test_closed_meanwhile, "/catalog/lease/closed during admission")
{
    g_autoptr(kw_policy) policy = test_policy(BASE BY_TS);
    for (unsigned iterations = 0; iterations < 30; iterations++) {
        town *in = town_new();
        gateway *a = gateway_new(in, "a", true);
        gateway_begin(a, policy);
        for (unsigned i = 0; i < iterations; i++)
            uv_run(kw_loop_uv(in->loop), UV_RUN_NOWAIT);
        if (a->done) {
            a->done = false;
            kw_admission_commit(a->admission, KW_DEADLINE_NONE, gateway_ended, a);
        }
        gateway_close(a);
        gateway_wait(a);
        if (a->admission)
            kw_admission_abandon(a->admission);
        gateway_free(a);
        g_assert_cmpuint(town_registrations(in), ==, 0);
        town_free(in);
    }
}

/* If no gateway needed to regard it as dead, its next renewal succeeds. */
KW_TEST(test_paused_and_not_removed, "/catalog/lease/paused and not removed")
{
    town *in = town_new();
    gateway *a = gateway_new(in, "a", true), *b = gateway_new(in, "b", true);
    g_autoptr(kw_policy) policy = test_policy(BASE), more = test_policy(MORE);
    g_assert_cmpint(gateway_admit(a, policy), ==, KW_OK);
    uint64_t era = kw_fence_era(kw_catalog_fence(a->catalog));
    town_pass_ms(60000);
    g_assert_false(gateway_is_open(a));
    g_assert_cmpint(gateway_admit(b, more), ==, KW_OK);
    while (!gateway_is_open(a))
        uv_run(kw_loop_uv(in->loop), UV_RUN_ONCE);
    g_assert_cmpuint(a->lost, ==, 0);
    g_assert_cmpuint(kw_fence_era(kw_catalog_fence(a->catalog)), ==, era);
    gateway_stop(a);
    gateway_stop(b);
    town_free(in);
}

/* The dead gateway continues between the check and the commit of the one that regarded it as dead. */
KW_TEST(test_dead_continues, "/catalog/lease/dead continues")
{
    town *in = town_new();
    gateway *a = gateway_new(in, "a", true), *b = gateway_new(in, "b", true);
    g_autoptr(kw_policy) old = test_policy(BASE), new = test_policy(BASE BY_TS);
    g_assert_cmpint(gateway_admit(a, old), ==, KW_OK);
    town_pass_ms(60000);
    g_assert_cmpint(gateway_check(b, new), ==, KW_OK);
    while (!gateway_is_open(a))
        uv_run(kw_loop_uv(in->loop), UV_RUN_ONCE);
    g_assert_cmpint(gateway_commit(b), ==, KW_BUSY);
    gateway_assert_text(b, "a gateway renewed its expired lease");
    g_assert_cmpint(gateway_check(b, new), ==, KW_REFUSED);
    g_assert_true(gateway_is_open(a));
    gateway_stop(a);
    gateway_stop(b);
    town_free(in);
}

/* A process starts while another one with the same id runs: both serve the same policy, and neither can
 * change it while the other runs. */
KW_TEST(test_same_id, "/catalog/lease/same id")
{
    town *in = town_new();
    gateway *a = gateway_new(in, "a", true), *twin = gateway_new(in, "a", true);
    g_autoptr(kw_policy) policy = test_policy(BASE), other = test_policy(BASE BY_TS);
    g_assert_cmpint(gateway_admit(a, policy), ==, KW_OK);
    g_assert_cmpint(gateway_check(twin, other), ==, KW_UNAVAILABLE);
    gateway_assert_text(twin,
                        "table t: another process with the gateway_id a serves it under another policy");
    g_assert_cmpint(gateway_admit(twin, policy), ==, KW_OK);
    g_assert_cmpint(gateway_check(a, other), ==, KW_UNAVAILABLE);
    g_assert_true(gateway_is_open(a) && gateway_is_open(twin));
    gateway_stop(twin);
    g_assert_cmpint(gateway_admit(a, other), ==, KW_OK);
    gateway_stop(a);
    town_free(in);
}

/* A gateway is killed and restarted again: with the same policy it serves at once; with another one, only
 * when its first process can no longer serve. */
KW_TEST(test_killed_and_restarted, "/catalog/lease/killed and restarted")
{
    town *in = town_new();
    gateway *a = gateway_new(in, "a", true);
    g_autoptr(kw_policy) policy = test_policy(BASE), other = test_policy(BASE BY_TS);
    g_assert_cmpint(gateway_admit(a, policy), ==, KW_OK);
    gateway_die(a);
    a = gateway_new(in, "a", true);
    g_assert_cmpint(gateway_check(a, other), ==, KW_UNAVAILABLE);
    g_assert_cmpint(gateway_admit(a, policy), ==, KW_OK);
    town_pass_ms(KW_LEASE_DEAD_MS + 1);
    g_assert_cmpint(gateway_admit(a, other), ==, KW_OK);
    g_assert_cmpuint(town_registrations(in), ==, 1);
    gateway_stop(a);
    town_free(in);
}

/* A registration that was not renewed for a long time is removed with the next change, whatever its
 * content. */
KW_TEST(test_old_registrations, "/catalog/lease/old registrations")
{
    town *in = town_new();
    g_autoptr(kw_policy) policy = test_policy(BASE);
    for (int i = 0; i < 3; i++) {
        gateway *a = gateway_new(in, "a", true);
        g_assert_cmpint(gateway_admit(a, policy), ==, KW_OK);
        gateway_die(a);
    }
    g_assert_cmpuint(town_registrations(in), ==, 3);
    town_pass_ms(11 * 60 * 1000);
    gateway *a = gateway_new(in, "a", true);
    g_assert_cmpint(gateway_admit(a, policy), ==, KW_OK);
    g_assert_cmpuint(town_registrations(in), ==, 1);
    gateway_stop(a);
    town_free(in);
}

/* The store's clock was set back: the registration of the previous process has a timestamp in the future. */
KW_TEST(test_clock_set_back, "/catalog/lease/clock set back")
{
    town *in = town_new();
    gateway *a = gateway_new(in, "a", true);
    g_autoptr(kw_policy) policy = test_policy(BASE), more = test_policy(MORE);
    g_assert_cmpint(gateway_admit(a, policy), ==, KW_OK);
    gateway_die(a);
    town_move_wall_ms(-3600000);
    a = gateway_new(in, "a", true);
    g_assert_cmpint(gateway_admit(a, more), ==,
                    KW_OK); /* facts get a timestamp greater than all that were read */
    town_assert_facts(in, "\"name\":\"more\"", true);
    gateway_stop(a);
    town_free(in);
}

/* The store's clock is set back while a gateway serves: other gateways no longer see its renewals. It does
 * not accept another policy, and its registration does not prevent its next start. */
KW_TEST(test_clock_set_back_and_reloads, "/catalog/lease/clock set back and reloads")
{
    town *in = town_new();
    gateway *a = gateway_new(in, "a", true), *b = gateway_new(in, "b", true);
    g_autoptr(kw_policy) nothing = test_policy_named("u", BASE);
    g_autoptr(kw_policy) policy = test_policy(BASE), other = test_policy(BASE BY_TS);
    g_assert_cmpint(gateway_admit(a, nothing), ==, KW_OK);
    town_move_wall_ms(-3600000);
    g_assert_cmpint(gateway_check(a, policy), ==, KW_UNAVAILABLE);
    gateway_assert_text(a,
                        "the registration of gateway a cannot be read back: the store's clock was set back");
    g_assert_true(gateway_is_open(a));
    gateway_stop(a);
    g_assert_cmpuint(town_registrations(in), ==, 0);
    a = gateway_new(in, "a", true);
    g_assert_cmpint(gateway_admit(a, policy), ==, KW_OK);
    g_assert_cmpint(gateway_check(b, other), ==, KW_REFUSED);
    gateway_stop(a);
    gateway_stop(b);
    town_free(in);
}
