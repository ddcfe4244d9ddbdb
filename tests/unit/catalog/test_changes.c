/* Changes of a key rule in the catalog: each step, what is refused, restarts, races and progress. */
#include "changing.h"

static void
on_flag(void *user, const kw_error *error)
{
    g_assert_null(error);
    *(bool *)user = true;
}

static void
on_admission(void *user, kw_admission *admission, const kw_error *error)
{
    ((gateway *)user)->admission = admission;
    gateway_ended(user, error);
}

static void
put_rows(town *in, const char *store_table)
{
    town_put(in, store_table, "row");
}

/* Gateway a serves the old policy, and its store table has rows. */
static gateway *
serve_old(town *in, changing *change, bool shared)
{
    gateway *a = gateway_new(in, "a", shared);
    g_assert_cmpint(gateway_admit(a, change->old), ==, KW_OK);
    put_rows(in, "t");
    return a;
}

static void
assert_place(gateway *self, kw_change_place place)
{
    size_t count;
    const kw_change_record *records = gateway_read_changes(self, &count);
    g_assert_cmpuint(count, ==, 1);
    g_assert_true(records[0].under_way);
    g_assert_cmpint(records[0].place, ==, place);
}

static void
step(gateway *self, changing *change, kw_change_place place)
{
    g_assert_cmpint(gateway_admit_step(self, changing_to(change, place), &change->step), ==, KW_OK);
    assert_place(self, place);
}

KW_TEST(test_forward, "/catalog/changes/forward")
{
    town *in = town_new();
    changing *change = changing_new();
    gateway *a = serve_old(in, change, false);
    step(a, change, KW_OLD(BOTH));
    town_assert_facts(in, "\"store_table\":\"t2\",\"state\":\"filling\"}", true);
    put_rows(in, "t2");
    change->record.copied = change->record.compared = true;
    g_assert_cmpint(gateway_write_progress(a, &change->record, 1), ==, KW_OK);
    step(a, change, KW_NEW(BOTH));
    town_assert_facts(in, "\"store_table\":\"t2\",\"state\":\"complete\"}", true);
    step(a, change, KW_OLD(BOTH));
    town_assert_facts(in, "\"store_table\":\"t2\",\"state\":\"filling\"}", true);
    step(a, change, KW_NEW(BOTH));
    g_assert_cmpint(gateway_admit_step(a, changing_end(change, true), &change->step), ==, KW_OK);
    town_assert_facts(in, "\"store_table\":\"t2\",\"state\":\"complete\",\"verified\":true}", true);
    town_assert_facts(in, "\"store_table\":\"t\",\"state\":\"retired\"", true);
    town_assert_facts(in, "changing_placements", false);
    g_assert_cmpint(gateway_admit(a, change->new), ==, KW_OK);
    g_assert_cmpint(gateway_check(a, change->old), ==, KW_REFUSED);
    gateway_stop(a);
    changing_free(change);
    town_free(in);
}

/* The change is cancelled: rows that were copied stay until they are forgotten. */
KW_TEST(test_cancel, "/catalog/changes/cancel")
{
    town *in = town_new();
    changing *change = changing_new();
    gateway *a = serve_old(in, change, false);
    step(a, change, KW_OLD(BOTH));
    put_rows(in, "t2");
    g_assert_cmpint(gateway_check_step(a, changing_end(change, true), &change->step), ==, KW_REFUSED);
    gateway_assert_text(a, "are not those of the next place"); /* t2 lacks rows */
    change->record = change->base;
    g_assert_cmpint(gateway_admit_step(a, changing_end(change, false), &change->step), ==, KW_OK);
    town_assert_facts(in, "\"store_table\":\"t\",\"state\":\"complete\",\"verified\":true}", true);
    town_assert_facts(in, "\"store_table\":\"t2\",\"state\":\"retired\"}", true);
    g_assert_cmpint(gateway_admit(a, change->old), ==, KW_OK);
    change->record.now = (kw_placed_rule){2, "t2"};
    g_assert_cmpint(gateway_check_step(a, changing_to(change, KW_OLD(BOTH)), &change->step), ==,
                    KW_UNAVAILABLE);
    change->base.now = change->base.old;
    change->step.base_count = 1;
    g_assert_cmpint(gateway_check_step(a, change->both, &change->step), ==, KW_REFUSED);
    gateway_assert_text(a, "the store table t2 was used by the path primary under an earlier key rule; run "
                           "keyway forget t --path primary --drop-rows");
    g_assert_cmpint(gateway_forget(a, change->old, "t", "primary", false), ==, KW_REFUSED);
    gateway_assert_text(a, "the store table t2 still holds rows");
    g_assert_cmpint(gateway_forget(a, change->old, "t", "primary", true), ==, KW_OK);
    g_assert_cmpstr(a->emptied[0], ==, "t2");
    g_assert_cmpuint(kw_memory_store_rows(in->store, "t"), ==, 1);
    town_assert_facts(in, "retired", false);
    g_assert_cmpint(gateway_admit_step(a, change->both, &change->step), ==, KW_OK);
    assert_place(a, KW_OLD(BOTH));
    gateway_stop(a);
    changing_free(change);
    town_free(in);
}

/* Without a comparison the new placement is not verified. */
KW_TEST(test_end_without_comparison, "/catalog/changes/end without a comparison")
{
    town *in = town_new();
    changing *change = changing_new();
    gateway *a = serve_old(in, change, false);
    step(a, change, KW_OLD(BOTH));
    step(a, change, KW_NEW(BOTH));
    g_assert_cmpint(gateway_admit_step(a, changing_end(change, true), &change->step), ==, KW_OK);
    town_assert_facts(in, "\"store_table\":\"t2\",\"state\":\"complete\"}", true);
    gateway_stop(a);
    changing_free(change);
    town_free(in);
}

/* --- refusals -------------------------------------------------------------------------------------- */

static void
assert_begin(gateway *a, changing *change, kw_code code, const char *text)
{
    g_assert_cmpint(gateway_check_step(a, changing_to(change, KW_OLD(BOTH)), &change->step), ==, code);
    gateway_assert_text(a, text);
    change->record = change->base;
}

KW_TEST(test_begin_refused, "/catalog/changes/begin refused")
{
    town *in = town_new();
    changing *change = changing_new();
    gateway *a = serve_old(in, change, false);
    g_autoptr(kw_policy) other = test_policy_named("u", BASE "    store_table: t2\n");
    g_autoptr(kw_policy) changed = test_policy(STRING_N);
    g_assert_cmpint(gateway_check(a, changing_both(change)), ==, KW_UNAVAILABLE);
    gateway_assert_text(a, "the change that this policy was loaded with is not under way");
    g_assert_cmpint(gateway_check(a, change->new), ==, KW_REFUSED);
    gateway_assert_text(a, "its rows were written under layout 1 (store table t");
    g_assert_cmpint(gateway_admit(a, other), ==, KW_OK);
    assert_begin(a, change, KW_REFUSED, "the store table t2 belongs to table u");
    g_assert_cmpint(gateway_admit(a, change->old), ==, KW_OK);
    g_assert_cmpint(gateway_forget(a, change->old, "u", NULL, false), ==, KW_OK);
    /* A step must leave the placements of its version. */
    changing_to(change, KW_OLD(BOTH));
    g_assert_cmpint(gateway_check_step(a, change->new, &change->step), ==, KW_REFUSED);
    gateway_assert_text(a, "are not those of the next place of the change; see keyway change status t");
    g_assert_cmpint(gateway_check_step(a, change->old, &change->step), ==, KW_REFUSED);
    g_assert_cmpint(gateway_check_step(a, changed, &change->step), ==, KW_REFUSED);
    g_assert_cmpint(gateway_check_step(a, change->both, &change->step), ==, KW_OK);
    kw_admission_abandon(g_steal_pointer(&a->admission));
    change->record = change->base;
    put_rows(in, "t2");
    assert_begin(a, change, KW_REFUSED,
                 "table t, path primary: the store table t2, to which the rows would be copied, holds rows");
    gateway_stop(a);
    changing_free(change);
    town_free(in);
}

/* Only the policy of the change is served while it is under way, even if the table holds no rows. */
KW_TEST(test_policy_without_the_change, "/catalog/changes/policy without the change")
{
    town *in = town_new();
    changing *change = changing_new();
    gateway *a = gateway_new(in, "a", false);
    g_autoptr(kw_policy) third = test_policy(BASE "    layout: 3\n    store_table: t3\n");
    g_autoptr(kw_policy) renamed = test_policy_named("u", BASE "    store_table: t\n");
    g_assert_cmpint(gateway_admit(a, change->old), ==, KW_OK);
    step(a, change, KW_OLD(BOTH));
    kw_policy *without[] = {change->old, change->new, third};
    for (size_t i = 0; i < G_N_ELEMENTS(without); i++) {
        g_assert_cmpint(gateway_check(a, without[i]), ==, KW_REFUSED);
        gateway_assert_text(a, "a change of table t, path primary is under way");
        gateway_assert_text(a, "keyway change status t");
    }
    g_assert_cmpint(gateway_check(a, renamed), ==, KW_REFUSED);
    gateway_assert_text(a, "a change of table t, path primary is under way");
    g_assert_cmpint(gateway_forget(a, renamed, "t", NULL, true), ==, KW_REFUSED);
    gateway_assert_text(a, "keyway change complete t, or keyway change cancel t");
    g_assert_cmpint(gateway_forget(a, change->both, "t", "primary", true), ==, KW_REFUSED);
    gateway_assert_text(a, "a change of table t, path primary is under way");
    gateway_stop(a);
    changing_free(change);
    town_free(in);
}

/* A secondary path with a change must not be dropped. */
KW_TEST(test_path_dropped, "/catalog/changes/path dropped, table renamed")
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    g_autoptr(kw_policy) with = test_policy(BASE BY_TS), without = test_policy(BASE);
    kw_facts *recorded = kw_facts_of_table(kw_policy_table(with, 0), arena);
    kw_facts *wanted = kw_facts_of_table(kw_policy_table(without, 0), arena);
    kw_placement_facts two[2] = {recorded->paths[1].placements[0], recorded->paths[1].placements[0]};
    kw_evidence none = {.others = KW_ROWS_NONE};
    kw_facts_change change;
    kw_error error;
    two[1].layout = 2;
    two[1].store_table = "t3";
    recorded->paths[1].placements = two;
    recorded->paths[1].placements_count = 2;
    g_assert_false(kw_facts_compare(recorded, wanted, &none, NULL, arena, &change, &error));
    g_assert_nonnull(strstr(error.text, "a change of table t, path by_ts is under way"));
    kw_facts renamed = *recorded;
    renamed.table = "u";
    g_assert_false(kw_facts_compare(recorded, &renamed, &none, NULL, arena, &change, &error));
    g_assert_nonnull(strstr(error.text, "rename the table after the change has ended"));
    g_assert_true(kw_facts_compare(recorded, recorded, &none, NULL, arena, &change, &error));
    g_assert_false(change.changed || change.exclusive);
}

/* Rows can be written to the placement that is dropped until the commit, so it is kept even if it was empty.
 */
KW_TEST(test_end_of_an_empty_table, "/catalog/changes/end of an empty table")
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    changing *change = changing_new();
    kw_facts *recorded = kw_facts_of_table(kw_policy_table(changing_to(change, KW_NEW(BOTH)), 0), arena);
    kw_facts *wanted = kw_facts_of_table(kw_policy_table(changing_end(change, true), 0), arena);
    kw_evidence none = {.others = KW_ROWS_NONE};
    kw_facts_change merged;
    kw_error error;
    g_assert_true(kw_facts_compare(recorded, wanted, &none, &change->step, arena, &merged, &error));
    g_assert_cmpuint(merged.merged->paths[0].placements_count, ==, 2);
    g_assert_cmpint(merged.merged->paths[0].placements[1].state, ==, KW_PLACEMENT_RETIRED);
    changing_free(change);
}

/* --- restarts and races ---------------------------------------------------------------------------- */

KW_TEST(test_restart, "/catalog/changes/restart")
{
    static const kw_change_place versions[] = {KW_OLD(BOTH), KW_NEW(BOTH)};
    town *in = town_new();
    changing *change = changing_new();
    gateway *a = serve_old(in, change, false);
    for (size_t i = 0; i < G_N_ELEMENTS(versions); i++) {
        step(a, change, versions[i]);
        gateway_die(a);
        a = gateway_new(in, "a", false);
        change->record.place = versions[1 - i];
        g_assert_cmpint(gateway_check(a, changing_both(change)), ==, KW_UNAVAILABLE);
        gateway_assert_text(a, "has another place than this policy was loaded with; try again");
        change->record.place = versions[i];
        g_assert_cmpint(gateway_admit(a, changing_both(change)), ==, KW_OK);
        assert_place(a, versions[i]);
    }
    gateway_stop(a);
    changing_free(change);
    town_free(in);
}

/* Wherever a step fails, the catalog has the version before it or after it, and the step can be repeated. */
KW_TEST(test_faults, "/catalog/changes/faults")
{
    for (int applied = 0; applied < 2; applied++) {
        bool failed = true;
        for (uint64_t n = 1; failed; n++) {
            town *in = town_new();
            changing *change = changing_new();
            gateway *a = serve_old(in, change, false);
            step(a, change, KW_OLD(BOTH));
            kw_policy *next = changing_to(change, KW_NEW(BOTH));
            uint64_t before = in->control->operations;
            in->control->fail_at = before + n;
            in->control->fail_applied = applied;
            kw_code code = gateway_admit_step(a, next, &change->step);
            failed = in->control->operations >= before + n;
            in->control->fail_at = 0;
            gateway_die(a);
            a = gateway_new(in, "a", false);
            size_t count;
            bool stepped = gateway_read_changes(a, &count)[0].place == KW_NEW(BOTH);
            g_assert_true(stepped || code != KW_OK);
            g_assert_cmpint(gateway_check_step(a, next, &change->step), ==, stepped ? KW_UNAVAILABLE : KW_OK);
            if (stepped)
                g_assert_cmpint(gateway_admit(a, next), ==, KW_OK);
            else
                g_assert_cmpint(gateway_commit(a), ==, KW_OK);
            assert_place(a, KW_NEW(BOTH));
            gateway_stop(a);
            changing_free(change);
            town_free(in);
        }
    }
}

KW_TEST(test_two_at_once, "/catalog/changes/two at once")
{
    town *in = town_new();
    changing *change = changing_new();
    gateway *a = serve_old(in, change, false), *b = gateway_new(in, "b", false);
    kw_policy *both = changing_to(change, KW_OLD(BOTH));
    g_assert_cmpint(gateway_check_step(a, both, &change->step), ==, KW_OK);
    g_assert_cmpint(gateway_check_step(b, both, &change->step), ==, KW_OK);
    g_assert_cmpint(gateway_commit(b), ==, KW_OK);
    g_assert_cmpint(gateway_commit(a), ==, KW_BUSY);
    g_assert_cmpint(gateway_check_step(a, both, &change->step), ==, KW_UNAVAILABLE);
    gateway_assert_text(a, "has had another step since it was read");
    assert_place(a, KW_OLD(BOTH));
    gateway_stop(a);
    gateway_stop(b);
    changing_free(change);
    town_free(in);
}

/* The digest depends on the placements, not on the version. */
KW_TEST(test_digests, "/catalog/changes/digests")
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    changing *change = changing_new();
    const char *digests[4] = {
        kw_facts_digest(kw_facts_of_table(kw_policy_table(change->old, 0), arena), arena),
        kw_facts_digest(kw_facts_of_table(kw_policy_table(change->new, 0), arena), arena)};
    static const kw_change_place versions[] = {KW_OLD(BOTH), KW_NEW(BOTH)};
    for (size_t i = 0; i < 2; i++) {
        kw_policy *both = changing_to(change, versions[i]);
        digests[2 + i] = kw_facts_digest(kw_facts_of_table(kw_policy_table(both, 0), arena), arena);
    }
    g_assert_cmpstr(digests[0], !=, digests[1]);
    g_assert_cmpstr(digests[0], !=, digests[2]);
    g_assert_cmpstr(digests[1], !=, digests[2]);
    g_assert_cmpstr(digests[2], ==, digests[3]);
    changing_free(change);
}

/* A gateway of a shared store cannot begin a change beside another one. */
KW_TEST(test_shared, "/catalog/changes/shared store")
{
    town *in = town_new();
    changing *change = changing_new();
    gateway *a = serve_old(in, change, true), *b = gateway_new(in, "b", true);
    g_assert_cmpint(gateway_admit(b, change->old), ==, KW_OK);
    g_assert_cmpint(gateway_check_step(a, changing_to(change, KW_OLD(BOTH)), &change->step), ==, KW_REFUSED);
    gateway_assert_text(a, "the gateway b serves it under another policy");
    gateway_stop(b);
    g_assert_cmpint(gateway_admit_step(a, change->both, &change->step), ==, KW_OK);
    gateway_stop(a);
    changing_free(change);
    town_free(in);
}

/* --- progress -------------------------------------------------------------------------------------- */

KW_TEST(test_progress, "/catalog/changes/progress")
{
    town *in = town_new();
    changing *change = changing_new();
    gateway *a = serve_old(in, change, false);
    size_t count;
    g_assert_cmpint(gateway_write_progress(a, &change->record, 1), ==, KW_BUSY);
    step(a, change, KW_OLD(BOTH));
    change->record.copied_to = kw_bytes_of("\0\xff\"row", 6);
    change->record.rows_copied = 7;
    change->record.paused = true;
    change->record.rows_per_second = 100;
    change->record.example = "\xff\xfe";
    g_assert_cmpint(gateway_write_progress(a, &change->record, 1), ==, KW_OK);
    const kw_change_record *read = gateway_read_changes(a, &count);
    g_assert_true(kw_bytes_equal(read[0].copied_to, change->record.copied_to));
    g_assert_cmpuint(read[0].rows_copied, ==, 7);
    g_assert_true(read[0].paused && read[0].rows_per_second == 100);
    g_assert_true(g_utf8_validate(read[0].example, -1, NULL));
    g_assert_cmpint(gateway_admit(a, changing_both(change)), ==, KW_OK); /* keeps the records */
    g_assert_cmpuint(gateway_read_changes(a, &count)[0].rows_copied, ==, 7);
    changing_to(change, KW_NEW(BOTH));
    g_assert_cmpint(gateway_write_progress(a, &change->record, 1), ==, KW_BUSY);
    gateway_assert_text(a, "has had another step since");
    g_autofree char *large = g_strnfill(KW_CHANGES_BYTES_MAX, 'x');
    change->base.example = large;
    g_assert_cmpint(gateway_write_progress(a, &change->base, 1), ==, KW_REFUSED);
    gateway_assert_text(a, "at most 1000 paths and 524288 bytes");
    gateway_stop(a);
    changing_free(change);
    town_free(in);
}

/* If progress is written between a check and its commit, the commit is BUSY. If both are written at the same
 * time, one of them succeeds. */
KW_TEST(test_progress_and_step, "/catalog/changes/progress and step")
{
    town *in = town_new();
    changing *change = changing_new();
    gateway *a = serve_old(in, change, false), *b = gateway_new(in, "b", false);
    step(a, change, KW_OLD(BOTH));
    kw_policy *next = changing_to(change, KW_NEW(BOTH));
    g_assert_cmpint(gateway_check_step(a, next, &change->step), ==, KW_OK);
    change->base.rows_copied = 9;
    g_assert_cmpint(gateway_write_progress(b, &change->base, 1), ==, KW_OK);
    g_assert_cmpint(gateway_commit(a), ==, KW_BUSY);
    assert_place(a, KW_OLD(BOTH));
    g_assert_cmpint(gateway_check_step(a, next, &change->step), ==, KW_OK);
    a->done = b->done = false;
    kw_admission_commit(a->admission, KW_DEADLINE_NONE, gateway_ended, a);
    kw_catalog_write_progress(b->catalog, &change->base, 1, KW_DEADLINE_NONE, gateway_ended, b);
    gateway_wait(a);
    gateway_wait(b);
    kw_admission_abandon(g_steal_pointer(&a->admission));
    bool stepped = a->error.code == KW_OK;
    g_assert_true(stepped || a->error.code == KW_BUSY);
    g_assert_cmpint(b->error.code, ==, stepped ? KW_BUSY : KW_OK);
    assert_place(a, stepped ? KW_NEW(BOTH) : KW_OLD(BOTH));
    gateway_stop(a);
    gateway_stop(b);
    changing_free(change);
    town_free(in);
}

/* A call of the same gateway while a put is in flight is BUSY, or waits. */
KW_TEST(test_progress_twice, "/catalog/changes/progress twice")
{
    town *in = town_new();
    changing *change = changing_new();
    gateway *a = serve_old(in, change, false);
    step(a, change, KW_OLD(BOTH));
    bool first = false;
    kw_catalog_write_progress(a->catalog, &change->record, 1, KW_DEADLINE_NONE, on_flag, &first);
    g_assert_cmpint(gateway_write_progress(a, &change->record, 1), ==, KW_OK);
    while (!first)
        uv_run(kw_loop_uv(in->loop), UV_RUN_ONCE);
    gateway_stop(a);
    changing_free(change);
    town_free(in);
}

/* An answer that is lost: the put is repeated, or found to be applied. */
KW_TEST(test_progress_faults, "/catalog/changes/progress, faults")
{
    for (int applied = 0; applied < 2; applied++) {
        bool failed = true;
        for (uint64_t n = 1; failed; n++) {
            town *in = town_new();
            changing *change = changing_new();
            gateway *a = serve_old(in, change, false);
            size_t count;
            step(a, change, KW_OLD(BOTH));
            change->record.rows_copied = 3;
            uint64_t before = in->control->operations;
            in->control->fail_at = before + n;
            in->control->fail_applied = applied;
            kw_code code = gateway_write_progress(a, &change->record, 1);
            failed = in->control->operations >= before + n;
            in->control->fail_at = 0;
            if (code == KW_OK)
                g_assert_cmpuint(gateway_read_changes(a, &count)[0].rows_copied, ==, 3);
            g_assert_cmpint(gateway_write_progress(a, &change->record, 1), ==, KW_OK);
            gateway_stop(a);
            changing_free(change);
            town_free(in);
        }
    }
}

/* --- after the change ------------------------------------------------------------------------------ */

/* The change has ended; the record stays. */
static gateway *
changed(town *in, changing *change)
{
    gateway *a = serve_old(in, change, false);
    step(a, change, KW_OLD(BOTH));
    put_rows(in, "t2");
    step(a, change, KW_NEW(BOTH));
    g_assert_cmpint(gateway_admit_step(a, changing_end(change, true), &change->step), ==, KW_OK);
    return a;
}

KW_TEST(test_rename, "/catalog/changes/rename")
{
    town *in = town_new();
    changing *change = changing_new();
    gateway *a = changed(in, change);
    g_autoptr(kw_policy) given = test_policy_named("u", BASE "    store_table: t\n");
    g_autoptr(kw_policy) renamed = test_policy_named("u", NEW_RULE);
    size_t count;
    g_assert_cmpint(gateway_check(a, given), ==, KW_REFUSED);
    gateway_assert_text(a, "the store table t belongs to the path primary of table t, which used it under an "
                           "earlier key rule");
    g_assert_cmpint(gateway_forget(a, change->new, "t", "primary", true), ==, KW_OK);
    g_assert_cmpint(gateway_check(a, given), ==, KW_REFUSED);
    gateway_assert_text(a, "to rename table t, set layout: 2 and store_table: t2");
    g_assert_cmpint(gateway_admit(a, renamed), ==, KW_OK);
    const kw_change_record *records = gateway_read_changes(a, &count);
    g_assert_cmpuint(count, ==, 1);
    g_assert_cmpstr(records[0].table, ==, "u");
    g_assert_cmpstr(records[0].now.store_table, ==, "t2");
    gateway_stop(a);
    changing_free(change);
    town_free(in);
}

KW_TEST(test_forget, "/catalog/changes/forget")
{
    town *in = town_new();
    changing *change = changing_new();
    gateway *a = changed(in, change);
    g_autoptr(kw_policy) other = test_policy_named("u", BASE);
    size_t count;
    g_assert_cmpint(gateway_forget(a, change->new, "t", "primary", true), ==, KW_OK);
    g_assert_cmpstr(a->emptied[0], ==, "t");
    g_assert_null(a->emptied[1]);
    g_assert_cmpuint(kw_memory_store_rows(in->store, "t"), ==, 0);
    g_assert_cmpuint(kw_memory_store_rows(in->store, "t2"), ==, 1);
    town_assert_facts(in, "retired", false);
    town_assert_facts(in, "\"store_table\":\"t2\",\"state\":\"complete\"", true);
    gateway_read_changes(a, &count);
    g_assert_cmpuint(count, ==, 1);
    g_assert_cmpint(gateway_forget(a, change->new, "t", "primary", true), ==, KW_REFUSED);
    gateway_assert_text(a, "this gateway serves table t with the path primary");
    g_assert_cmpint(gateway_admit(a, other), ==, KW_OK);
    g_assert_cmpint(gateway_forget(a, other, "t", NULL, true), ==, KW_OK);
    gateway_read_changes(a, &count);
    g_assert_cmpuint(count, ==, 0);
    gateway_stop(a);
    changing_free(change);
    town_free(in);
}

/* An earlier placement can be forgotten while the next change is under way. */
KW_TEST(test_forget_during_a_change, "/catalog/changes/forget during a change")
{
    town *in = town_new();
    changing *change = changing_new();
    gateway *a = changed(in, change);
    change->record.now = (kw_placed_rule){1, "t"};
    change->record.old = (kw_placed_rule){2, "t2"};
    kw_policy_unref(change->before);
    kw_policy_unref(change->text);
    change->before = kw_policy_ref(change->new);
    change->text = kw_policy_ref(change->old);
    kw_policy *back = changing_to(change, KW_OLD(BOTH));
    change->base.now = (kw_placed_rule){2, "t2"};
    change->step.base_count = 1;
    g_assert_cmpint(gateway_check_step(a, back, &change->step), ==, KW_REFUSED);
    gateway_assert_text(a, "the store table t was used by the path primary under an earlier key rule");
    g_assert_cmpint(gateway_forget(a, change->new, "t", "primary", true), ==, KW_OK);
    g_assert_cmpint(gateway_admit_step(a, back, &change->step), ==, KW_OK);
    town_assert_facts(in, "\"store_table\":\"t\",\"state\":\"filling\"}", true);
    gateway_stop(a);
    changing_free(change);
    town_free(in);
}

KW_TEST(test_preview, "/catalog/changes/preview")
{
    town *in = town_new();
    changing *change = changing_new();
    gateway *a = serve_old(in, change, false);
    kw_policy *both = changing_to(change, KW_OLD(BOTH));
    size_t count;
    for (int rows = 0; rows < 2; rows++) {
        a->done = false;
        kw_catalog_preview(a->catalog, both, &change->step, KW_DEADLINE_NONE, on_admission, a);
        gateway_wait(a);
        g_assert_cmpint(a->error.code, ==, KW_OK);
        g_assert_true(!kw_admission_refusal(a->admission, 0) == !rows);
        g_assert_cmpstr(kw_admission_recorded(a->admission, 0)->table, ==, "t");
        kw_admission_change_records(a->admission, &count);
        g_assert_cmpuint(count, ==, 0);
        kw_admission_abandon(g_steal_pointer(&a->admission));
        put_rows(in, "t2");
    }
    change->step.base_count = 1;
    a->done = false;
    kw_catalog_preview(a->catalog, both, &change->step, KW_DEADLINE_NONE, on_admission, a);
    gateway_wait(a);
    g_assert_cmpint(a->error.code, ==, KW_UNAVAILABLE);
    gateway_stop(a);
    changing_free(change);
    town_free(in);
}
