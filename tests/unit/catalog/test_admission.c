/* Admissions on a store in memory: by one gateway, by several in sequence, concurrently, and with faults. */
#include "town.h"

#include "catalog/catalog_internal.h"

/* --- one gateway -----------------------------------------------------------------------------------------
 */

KW_TEST(test_first, "/catalog/first")
{
    town *in = town_new();
    gateway *a = gateway_new(in, "a", true);
    g_autoptr(kw_policy) policy = test_policy(BASE BY_TS);
    g_assert_false(gateway_is_open(a));
    g_assert_cmpint(gateway_check(a, policy), ==, KW_OK);
    g_assert_false(gateway_is_open(a)); /* nothing serves yet */
    g_assert_cmpint(gateway_commit(a), ==, KW_OK);
    g_assert_true(gateway_is_open(a));
    town_assert_facts(in, "\"store_table\":\"t_by_ts\",\"state\":\"complete\",\"verified\":true", true);
    g_assert_cmpint(gateway_admit(a, policy), ==, KW_OK);
    g_assert_cmpuint(town_registrations(in), ==, 1);
    gateway_stop(a);
    g_assert_cmpuint(town_registrations(in), ==, 0);
    town_free(in);
}

static uint64_t
count_operations(gateway *by, kw_policy *policy)
{
    uint64_t before = by->town->control->operations;
    g_assert_cmpint(gateway_admit(by, policy), ==, KW_OK);
    return by->town->control->operations - before;
}

/* A gateway that serves a policy does not look again whether the catalog's table exists. */
KW_TEST(test_table_is_looked_up_once, "/catalog/table is looked up once")
{
    town *in = town_new();
    gateway *a = gateway_new(in, "a", false);
    g_autoptr(kw_policy) policy = test_policy(BASE);
    g_assert_cmpint(gateway_admit(a, policy), ==, KW_OK);
    gateway_stop(a);
    a = gateway_new(in, "a", false);
    uint64_t first = count_operations(a, policy);
    g_assert_cmpuint(count_operations(a, policy), ==, first - 1);
    gateway_stop(a);
    town_free(in);
}

static void
on_dropped(void *user, const kw_error *error)
{
    g_assert_null(error);
    *(bool *)user = true;
}

/* The operator has dropped the catalog's table while a policy is in service. */
KW_TEST(test_table_is_dropped, "/catalog/table is dropped")
{
    town *in = town_new();
    gateway *a = gateway_new(in, "a", true);
    g_autoptr(kw_policy) policy = test_policy(BASE);
    bool dropped = false;
    g_assert_cmpint(gateway_admit(a, policy), ==, KW_OK);
    while (a->catalog->renewing)
        uv_run(kw_loop_uv(in->loop), UV_RUN_ONCE);
    kw_store_handle_drop_table(in->handle, KW_BYTES_LITERAL(CATALOG), KW_DEADLINE_NONE, on_dropped, &dropped);
    while (!dropped)
        uv_run(kw_loop_uv(in->loop), UV_RUN_ONCE);
    g_assert_cmpint(gateway_admit(a, policy), ==, KW_UNAVAILABLE);
    gateway_assert_text(a, "the registration of gateway a was removed; try again");
    g_assert_cmpuint(a->lost, ==, 1);
    g_assert_cmpint(gateway_admit(a, policy), ==, KW_OK);
    g_assert_cmpuint(town_registrations(in), ==, 1);
    gateway_stop(a);
    town_free(in);
}

/* A store that only this process uses needs no registration. */
KW_TEST(test_not_shared, "/catalog/not shared")
{
    town *in = town_new();
    gateway *a = gateway_new(in, "a", false);
    g_autoptr(kw_policy) policy = test_policy(BASE);
    g_assert_cmpint(gateway_admit(a, policy), ==, KW_OK);
    g_assert_null(kw_catalog_fence(a->catalog));
    g_assert_cmpuint(town_registrations(in), ==, 0);
    gateway_stop(a);
    town_free(in);
}

KW_TEST(test_refused_start_leaves_nothing, "/catalog/refused start leaves nothing")
{
    town *in = town_new();
    gateway *a = gateway_new(in, "a", true);
    g_autoptr(kw_policy) policy = test_policy(BASE), other = test_policy(STRING_N);
    g_assert_cmpint(gateway_admit(a, policy), ==, KW_OK);
    gateway_stop(a);
    town_put(in, "t", "row");
    g_autofree char *before = town_facts(in, "t");
    a = gateway_new(in, "a", true);
    g_assert_cmpint(gateway_check(a, other), ==, KW_REFUSED);
    gateway_assert_text(a, "table t, field n: its values were stored as int");
    gateway_stop(a);
    g_autofree char *after = town_facts(in, "t");
    g_assert_cmpstr(before, ==, after);
    g_assert_cmpuint(town_registrations(in), ==, 0);
    town_free(in);
}

KW_TEST(test_created, "/catalog/created")
{
    town *in = town_new();
    gateway *a = gateway_new(in, "a", true);
    g_autoptr(kw_policy) policy = test_policy(BASE BY_TS);
    g_assert_cmpint(gateway_check(a, policy), ==, KW_OK);
    kw_admission_note_created(a->admission, "default:t_by_ts");
    g_assert_cmpint(gateway_commit(a), ==, KW_OK);
    g_assert_true(town_was_created(in, "t_by_ts"));
    g_assert_false(town_was_created(in, "t"));
    g_assert_cmpint(gateway_admit(a, policy), ==, KW_OK);
    g_assert_true(town_was_created(in, "t_by_ts"));
    gateway_stop(a);
    town_free(in);
}

/* --- rows that appear between the check and the commit --------------------------------------------- */

KW_TEST(test_row_between, "/catalog/row between check and commit")
{
    town *in = town_new();
    gateway *a = gateway_new(in, "a", true);
    g_autoptr(kw_policy) policy = test_policy(BASE), with_path = test_policy(BASE BY_TS);
    const char *const *tables;
    g_assert_cmpint(gateway_admit(a, policy), ==, KW_OK);
    g_assert_cmpint(gateway_check(a, with_path), ==, KW_OK);
    g_assert_cmpuint(kw_admission_hold(a->admission, &tables), ==, 1);
    g_assert_cmpstr(tables[0], ==, "t");
    town_put(in, "t", "row");
    g_assert_cmpint(gateway_commit(a), ==, KW_REFUSED);
    gateway_assert_text(a, "table t, path by_ts: the table holds rows already");
    town_assert_facts(in, "by_ts", false);
    g_assert_true(gateway_is_open(a)); /* the old policy continues to serve */
    gateway_stop(a);
    town_free(in);
}

/* Store tables of unchanged tables are not probed: one of them can be disabled, and the others are served. */
KW_TEST(test_probes_only_where_needed, "/catalog/probes only where needed")
{
    town *in = town_new();
    gateway *a = gateway_new(in, "a", true);
    g_autoptr(kw_policy) policy = test_policy(BASE BY_TS), more = test_policy(MORE BY_TS);
    g_assert_cmpint(gateway_admit(a, policy), ==, KW_OK);
    town_put(in, "t", "row");
    uint64_t before = in->control->fetches;
    g_assert_cmpint(gateway_admit(a, policy), ==, KW_OK);
    g_assert_cmpint(gateway_admit(a, more), ==, KW_OK);
    g_assert_cmpuint(in->control->fetches - before, ==, 2); /* of the catalog itself */
    gateway_stop(a);
    town_free(in);
}

/* Calls of a table that the new policy does not have must complete before others may change the table. */
KW_TEST(test_holds_removed_tables, "/catalog/holds removed tables")
{
    town *in = town_new();
    gateway *a = gateway_new(in, "a", true);
    g_autoptr(kw_policy) policy = test_policy(BASE), nothing = test_policy_named("u", BASE);
    const char *const *tables;
    g_assert_cmpint(gateway_check(a, policy), ==, KW_OK);
    g_assert_cmpuint(kw_admission_hold(a->admission, &tables), ==, 0);
    g_assert_cmpint(gateway_commit(a), ==, KW_OK);
    g_assert_cmpint(gateway_check(a, nothing), ==, KW_OK);
    g_assert_cmpuint(kw_admission_hold(a->admission, &tables), ==, 1);
    g_assert_cmpstr(tables[0], ==, "t");
    g_assert_null(tables[1]);
    g_assert_cmpint(gateway_commit(a), ==, KW_OK);
    gateway_stop(a);
    town_free(in);
}

/* --- two gateways ---------------------------------------------------------------------------------- */

KW_TEST(test_two_with_one_policy, "/catalog/two/one policy")
{
    town *in = town_new();
    gateway *a = gateway_new(in, "a", true), *b = gateway_new(in, "b", true);
    g_autoptr(kw_policy) policy = test_policy(BASE), more = test_policy(MORE);
    g_assert_cmpint(gateway_admit(a, policy), ==, KW_OK);
    g_assert_cmpint(gateway_admit(b, policy), ==, KW_OK);
    g_assert_cmpuint(town_registrations(in), ==, 2);
    g_assert_cmpint(gateway_admit(a, more), ==, KW_OK); /* gateways add fields one after another */
    g_assert_cmpint(gateway_admit(b, policy), ==, KW_OK);
    town_assert_facts(in, "\"name\":\"more\",\"type\":\"bool\"", true);
    gateway_stop(a);
    gateway_stop(b);
    town_free(in);
}

static void
refuse_beside(const char *served, const char *wanted, const char *row_table)
{
    town *in = town_new();
    gateway *a = gateway_new(in, "a", true), *b = gateway_new(in, "b", true);
    g_autoptr(kw_policy) old = test_policy(served), new = test_policy(wanted);
    g_assert_cmpint(gateway_admit(a, old), ==, KW_OK);
    g_assert_cmpint(gateway_admit(b, old), ==, KW_OK);
    if (row_table)
        town_put(in, row_table, "row");
    g_autofree char *before = town_facts(in, "t");
    g_assert_cmpint(gateway_check(b, new), ==, KW_REFUSED);
    gateway_assert_text(b, "the gateway a serves");
    g_autofree char *after = town_facts(in, "t");
    g_assert_cmpstr(before, ==, after);
    gateway_stop(b);
    b = gateway_new(in, "b", true); /* a start is refused like a reload */
    g_assert_cmpint(gateway_check(b, new), ==, KW_REFUSED);
    gateway_stop(a);
    g_assert_cmpint(gateway_admit(b, new), ==, KW_OK);
    a = gateway_new(in, "a", true); /* now the old policy is refused */
    g_assert_cmpint(gateway_check(a, old), ==, KW_REFUSED);
    gateway_stop(a);
    gateway_stop(b);
    town_free(in);
}

KW_TEST(test_two_with_two_policies, "/catalog/two/two policies")
{
    refuse_beside(BASE, BASE BY_TS, NULL);
    refuse_beside(BASE BY_TS, BASE, NULL);
    refuse_beside(BASE, BASE "    layout: 2\n", NULL);
    refuse_beside(BASE, STRING_N, NULL);
    refuse_beside(BASE, BASE "    marker: \"d:_0\"\n    marker_value: x\n", NULL);
}

/* A path can be dropped while rows exist, but not while another gateway reads it. */
KW_TEST(test_path_dropped, "/catalog/two/path dropped")
{
    town *in = town_new();
    gateway *a = gateway_new(in, "a", true), *b = gateway_new(in, "b", true);
    g_autoptr(kw_policy) old = test_policy(BASE BY_TS), new = test_policy(BASE);
    g_assert_cmpint(gateway_admit(a, old), ==, KW_OK);
    g_assert_cmpint(gateway_admit(b, old), ==, KW_OK);
    town_put(in, "t", "row");
    town_put(in, "t_by_ts", "row");
    g_assert_cmpint(gateway_check(b, new), ==, KW_REFUSED);
    gateway_assert_text(
        b, "table t: this policy changes which rows a record has, and the gateway a serves the table "
           "under the old one; stop all gateways but one");
    gateway_stop(a);
    g_assert_cmpint(gateway_admit(b, new), ==, KW_OK);
    town_assert_facts(in, "\"state\":\"retired\"", true);
    gateway_stop(b);
    town_free(in);
}

/* Both gateways start at the same moment, with every order of the store's replies: with equal policies
 * both serve; of two conflicting policies at most one is served. */
static void
race(kw_policy *one, kw_policy *other, gateway *a, gateway *b)
{
    gateway_begin(a, one);
    gateway_begin(b, other);
    gateway_wait(a);
    gateway_wait(b);
}

static void
commit_if_admitted(gateway *self)
{
    if (self->admission)
        gateway_commit(self);
}

KW_TEST(test_race, "/catalog/two/race")
{
    unsigned served = 0;
    for (int i = 0; i < 300; i++) {
        town *in = town_new();
        gateway *a = gateway_new(in, "a", true), *b = gateway_new(in, "b", true);
        g_autoptr(kw_policy) one = test_policy(BASE), other = test_policy(BASE BY_TS);
        in->control->shuffle = true;
        race(one, i % 3 == 0 ? one : other, a, b);
        commit_if_admitted(a);
        commit_if_admitted(b);
        unsigned open = gateway_is_open(a) + gateway_is_open(b);
        served += open;
        if (i % 3 != 0)
            g_assert_cmpuint(open, <, 2);
        in->control->shuffle = false;
        gateway_stop(a);
        gateway_stop(b);
        town_free(in);
    }
    g_assert_cmpuint(served, >, 0);
}

/* More rows than one fetch reads, after the registrations. */
static void
fill_catalog(town *in)
{
    for (unsigned i = 0; i < 1000; i++) {
        g_autofree char *key = g_strdup_printf("=h%04u", i);
        kw_memory_store_set(in->store, CATALOG, kw_bytes_of_text(key), "d", "x", KW_BYTES_LITERAL("x"), 1);
    }
}

/* One loop iteration of an admission in progress. */
static void
step(gateway *of)
{
    if (of->done && of->admission && !of->committing) {
        of->done = false;
        of->committing = true;
        kw_admission_commit(of->admission, KW_DEADLINE_NONE, gateway_ended, of);
    } else if (of->done && of->admission) {
        of->committing = false;
        if (of->error.code == KW_OK)
            kw_admission_serve(g_steal_pointer(&of->admission));
        else
            kw_admission_abandon(g_steal_pointer(&of->admission));
    }
    uv_run(kw_loop_uv(of->town->loop), UV_RUN_NOWAIT);
}

/* A gateway changes the type of a column while the table is empty, and another one starts at any moment of
 * this. The catalog is read in several calls. The two must not serve with different types. */
KW_TEST(test_start_during_type_change, "/catalog/two/start during type change")
{
    g_autoptr(kw_policy) policy = test_policy(BASE), other = test_policy(STRING_N);
    unsigned changed = 0, started = 0;
    for (unsigned iterations = 0; iterations < 40; iterations++) {
        town *in = town_new();
        gateway *a = gateway_new(in, "a", true), *b = gateway_new(in, "b", true);
        g_assert_cmpint(gateway_admit(a, policy), ==, KW_OK);
        fill_catalog(in);
        gateway_begin(a, other);
        for (unsigned i = 0; i < iterations; i++)
            step(a);
        in->control->stalled = a->handle;
        bool b_serves = gateway_admit(b, policy) == KW_OK;
        in->control->stalled = NULL;
        while (!a->done || a->admission)
            step(a);
        bool a_serves_other = a->error.code == KW_OK;
        g_assert_false(a_serves_other && b_serves);
        changed += a_serves_other;
        started += b_serves;
        gateway_stop(a);
        gateway_stop(b);
        town_free(in);
    }
    g_assert_cmpuint(changed, >, 0);
    g_assert_cmpuint(started, >, 0);
}

/* If another gateway commits during a check, the check starts again. */
KW_TEST(test_conflict, "/catalog/two/conflict")
{
    town *in = town_new();
    gateway *a = gateway_new(in, "a", true), *b = gateway_new(in, "b", true);
    g_autoptr(kw_policy) policy = test_policy(BASE), more = test_policy(MORE);
    g_assert_cmpint(gateway_admit(a, policy), ==, KW_OK);
    g_assert_cmpint(gateway_check(b, policy), ==, KW_OK);
    g_assert_cmpint(gateway_admit(a, more), ==, KW_OK);
    g_assert_cmpint(gateway_commit(b), ==, KW_BUSY);
    gateway_assert_text(b, "another gateway has changed the catalog since it was read");
    town_assert_facts(in, "\"name\":\"more\"", true);
    g_assert_cmpint(gateway_admit(b, policy), ==, KW_OK);
    town_assert_facts(in, "\"name\":\"more\",\"type\":\"bool\"", true);
    gateway_stop(a);
    gateway_stop(b);
    town_free(in);
}

KW_TEST(test_other_protocol, "/catalog/two/other protocol")
{
    town *in = town_new();
    gateway *a = gateway_new(in, "a", true), *b = gateway_new(in, "b", true);
    g_autoptr(kw_policy) policy = test_policy(BASE);
    g_assert_cmpint(gateway_admit(a, policy), ==, KW_OK);
    town_set_registration(in, "protocol", "2");
    g_assert_cmpint(gateway_check(b, policy), ==, KW_REFUSED);
    gateway_assert_text(
        b,
        "the gateway a has a release that cannot serve together with this one (catalog protocol 2, here 1)");
    gateway_stop(a);
    gateway_stop(b);
    town_free(in);
}

/* A registration that cannot be read could serve any table: it counts until its lease expires. */
KW_TEST(test_damaged_registration, "/catalog/two/damaged registration")
{
    town *in = town_new();
    gateway *a = gateway_new(in, "a", true), *b = gateway_new(in, "b", true);
    g_autoptr(kw_policy) policy = test_policy(BASE), other = test_policy(BASE BY_TS);
    g_assert_cmpint(gateway_admit(a, policy), ==, KW_OK);
    town_set_registration(in, "says", "{\"serving\":[]}");
    g_assert_cmpint(gateway_check(b, policy), ==, KW_REFUSED);
    gateway_assert_text(b, "the gateway a has a release that cannot serve together with this one");
    town_pass_ms(60000);
    g_assert_cmpint(gateway_admit(b, other), ==, KW_OK);
    g_assert_cmpuint(town_registrations(in), ==, 1);
    gateway_die(a);
    gateway_stop(b);
    town_free(in);
}

KW_TEST(test_renamed_table, "/catalog/renamed table")
{
    town *in = town_new();
    gateway *a = gateway_new(in, "a", true);
    g_autoptr(kw_policy) policy = test_policy(BASE "    store_table: rows\n");
    g_assert_cmpint(gateway_admit(a, policy), ==, KW_OK);
    town_put(in, "rows", "row");
    gateway_stop(a);
    g_autofree char *facts = town_facts(in, "t");
    g_auto(GStrv) parts = g_strsplit(facts, "\"table\":\"t\"", 2);
    g_autofree char *renamed = g_strjoinv("\"table\":\"before\"", parts);
    kw_memory_store_set(in->store, CATALOG, KW_CATALOG_FACTS_ROW, "d", "table/before",
                        kw_bytes_of_text(renamed), KW_PLAUSIBLE_MAX_MS - 100);
    kw_memory_store_set(in->store, CATALOG, KW_CATALOG_FACTS_ROW, "d", "table/t", KW_BYTES_NONE,
                        KW_PLAUSIBLE_MAX_MS - 100);
    a = gateway_new(in, "a", true);
    g_assert_cmpint(gateway_admit(a, policy), ==, KW_OK);
    g_autofree char *before = town_facts(in, "before"), *now = town_facts(in, "t");
    g_assert_cmpstr(before, ==, "");
    g_assert_cmpstr(now, ==, facts);
    gateway_stop(a);
    town_free(in);
}

/* --- faults ---------------------------------------------------------------------------------------- */

/* Wherever the store fails, the admission reports it or succeeds, and the next one succeeds. */
KW_TEST(test_faults, "/catalog/faults")
{
    g_autoptr(kw_policy) policy = test_policy(BASE), with_path = test_policy(BASE BY_TS);
    for (int applied = 0; applied < 2; applied++) {
        bool failed = true;
        uint64_t n = 0;
        while (failed) {
            n++;
            town *in = town_new();
            gateway *a = gateway_new(in, "a", true);
            g_assert_cmpint(gateway_admit(a, policy), ==, KW_OK);
            uint64_t before = in->control->operations;
            in->control->fail_at = before + n;
            in->control->fail_applied = applied;
            kw_code code = gateway_admit(a, with_path);
            failed = in->control->operations >= before + n;
            in->control->fail_at = 0;
            g_assert_true(code == KW_OK || code == KW_UNAVAILABLE);
            g_assert_true(failed || code == KW_OK);
            town_assert_facts(in, "by_ts", code == KW_OK);
            g_assert_true(gateway_is_open(a));
            g_assert_cmpint(gateway_admit(a, with_path), ==, KW_OK);
            gateway_stop(a);
            town_free(in);
        }
        g_assert_cmpuint(n, >, 7);
    }
}
