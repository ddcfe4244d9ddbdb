/* Steps of a change while several gateways serve: what each step needs of the others, and which versions a
 * gateway can begin to serve with. */
#include "changing.h"

#include "catalog/catalog_internal.h"

typedef struct setup {
    town *in;
    changing *change;
    gateway *a; /* holds the change */
    gateway *b;
    kw_policy *served; /* that of b */
} setup;

static void
serve(setup *self, gateway *by, kw_policy *policy)
{
    g_assert_cmpint(gateway_admit(by, policy), ==, KW_OK);
    if (by != self->b)
        return;
    kw_policy_unref(self->served);
    self->served = kw_policy_ref(policy);
}

static setup
served_by_two(void)
{
    setup self = {.in = town_new(), .change = changing_new_several(), .served = NULL};
    self.a = gateway_new(self.in, "a", true);
    self.b = gateway_new(self.in, "b", true);
    serve(&self, self.a, self.change->old);
    serve(&self, self.b, self.change->old);
    town_put(self.in, "t", "row");
    self.change->record.holder = kw_catalog_instance(self.a->catalog);
    return self;
}

static void
ended(setup *self)
{
    gateway_stop(self->a);
    gateway_stop(self->b);
    kw_policy_unref(self->served);
    changing_free(self->change);
    town_free(self->in);
}

static void
report_step(gateway *self, const kw_change_record *record, uint64_t step)
{
    kw_change_report report = {
        .table = record->table, .path = record->path, .started_ms = record->started_ms, .step = step};
    kw_catalog_report_changes(self->catalog, &report, 1);
    while (self->catalog->renewing || self->catalog->stored_revision != self->catalog->revision)
        uv_run(kw_loop_uv(self->town->loop), UV_RUN_ONCE);
}

static void
report(gateway *self, const changing *change)
{
    report_step(self, &change->record, change->record.step);
}

/* The holder tries to set the version; the record stays as it was if that fails. */
static kw_code
try_step(setup *self, kw_change_place version)
{
    kw_code code = gateway_admit_step(self->a, changing_to(self->change, version), &self->change->step);
    if (code != KW_OK)
        self->change->record = self->change->base;
    return code;
}

static void
step(setup *self, kw_change_place version)
{
    g_assert_cmpint(try_step(self, version), ==, KW_OK);
    report(self->a, self->change);
}

static void
follow(setup *self)
{
    serve(self, self->b, changing_both(self->change));
    report(self->b, self->change);
}

static kw_code
try_end(setup *self, bool forward)
{
    kw_code code = gateway_admit_step(self->a, changing_end(self->change, forward), &self->change->step);
    if (code != KW_OK)
        self->change->record = self->change->base;
    return code;
}

static void
walk(setup *self, const kw_change_place *versions, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        step(self, versions[i]);
        follow(self);
    }
}

#define WALK(self, ...)                                                                                      \
    walk(self, (const kw_change_place[]){__VA_ARGS__},                                                       \
         sizeof((const kw_change_place[]){__VA_ARGS__}) / sizeof(kw_change_place))

#define TO_BOTH                                                                                              \
    KW_OLD(UNSTAMPED), KW_OLD(HELD), KW_OLD(RAISED), KW_OLD(STAMPED), KW_OLD(ALONE), KW_OLD(OPENING),        \
        KW_OLD(BOTH)

/* --- whole changes --------------------------------------------------------------------------------- */

static void
finish_verified(setup *self, bool forward)
{
    kw_policy *after = forward ? self->change->new : self->change->old;
    g_assert_cmpint(try_end(self, forward), ==, KW_OK);
    town_assert_facts(self->in, "changing_placements", false);
    town_assert_facts(self->in,
                      forward ? "\"store_table\":\"t2\",\"state\":\"complete\",\"verified\":true}"
                              : "\"store_table\":\"t\",\"state\":\"complete\",\"verified\":true}",
                      true);
    town_assert_facts(self->in,
                      forward ? "\"store_table\":\"t\",\"state\":\"retired\""
                              : "\"store_table\":\"t2\",\"state\":\"retired\"",
                      true);
    serve(self, self->b, after);
    ended(self);
}

static bool
set_compared(void *user, int64_t current, kw_change_record *record, kw_arena *arena, kw_error *ret_error)
{
    (void)user, (void)current, (void)arena, (void)ret_error;
    record->copied = record->compared = true;
    return true;
}

static void
on_edited(void *user, const kw_current *current, const kw_error *error)
{
    (void)current;
    gateway_ended(user, error);
}

static void
edit(gateway *by, kw_change_edit change, void *user)
{
    by->done = false;
    kw_catalog_edit_change(by->catalog, "t", NULL, change, user, KW_DEADLINE_NONE, on_edited, by);
    gateway_wait(by);
    g_assert_cmpint(by->error.code, ==, KW_OK);
}

KW_TEST(test_forward, "/catalog/change steps/forward")
{
    setup self = served_by_two();
    WALK(&self, TO_BOTH);
    town_put(self.in, "t2", "row");
    edit(self.a, set_compared, NULL);
    self.change->record.copied = self.change->record.compared = true;
    WALK(&self, KW_OLD(BOTH), KW_OLD(SPACING), KW_OLD(BOTH), KW_OLD(SPACING), KW_OLD(SPACED), KW_OLD(SPACED),
         KW_OLD(LAST_PASS), KW_OLD(GET_BOTH), KW_NEW(LAST_PASS), KW_NEW(SPACED), KW_NEW(SPACING),
         KW_NEW(BOTH), KW_NEW(CLOSING), KW_NEW(ALONE), KW_NEW(ALONE), KW_NEW(STAMPED), KW_NEW(RAISED),
         KW_NEW(HELD), KW_NEW(UNSTAMPED));
    finish_verified(&self, true);
}

KW_TEST(test_forward_of_stamped, "/catalog/change steps/forward, order: stamp")
{
    setup self = served_by_two();
    self.change->record.store_order = false;
    WALK(&self, KW_OLD(ALONE), KW_OLD(OPENING), KW_OLD(BOTH));
    town_put(self.in, "t2", "row");
    edit(self.a, set_compared, NULL);
    self.change->record.copied = self.change->record.compared = true;
    WALK(&self, KW_OLD(SPACING), KW_OLD(SPACED), KW_OLD(LAST_PASS), KW_OLD(GET_BOTH), KW_NEW(LAST_PASS),
         KW_NEW(SPACED), KW_NEW(SPACING), KW_NEW(BOTH), KW_NEW(CLOSING), KW_NEW(ALONE));
    finish_verified(&self, true);
}

KW_TEST(test_back_and_cancel, "/catalog/change steps/back and cancel")
{
    setup self = served_by_two();
    WALK(&self, TO_BOTH, KW_OLD(SPACING), KW_OLD(SPACED), KW_OLD(LAST_PASS), KW_OLD(GET_BOTH),
         KW_NEW(LAST_PASS), KW_NEW(SPACED), KW_NEW(SPACING), KW_NEW(BOTH), KW_NEW(BOTH), KW_NEW(SPACING),
         KW_NEW(SPACED), KW_NEW(SPACED), KW_NEW(LAST_PASS), KW_NEW(GET_BOTH), KW_OLD(LAST_PASS),
         KW_OLD(SPACED), KW_OLD(SPACING), KW_OLD(BOTH), KW_OLD(OPENING), KW_OLD(ALONE), KW_OLD(STAMPED),
         KW_OLD(RAISED), KW_OLD(HELD));
    finish_verified(&self, false);
}

/* The states of the placements follow from the place: scans read a complete one. */
KW_TEST(test_states, "/catalog/change steps/states")
{
    for (kw_change_place id = 0; id < KW_PLACES; id++) {
        if (!kw_change_ladder_has(KW_LADDER_MOVE, id))
            continue;
        g_autoptr(kw_arena) arena = kw_arena_new();
        changing *change = changing_new_several();
        kw_change_rules rules = kw_change_rules_at(KW_LADDER_MOVE, id);
        kw_facts *facts = kw_facts_of_table(kw_policy_table(changing_to(change, id), 0), arena);
        const kw_placement_facts *placements = facts->paths[0].placements;
        g_assert_cmpuint(facts->paths[0].placements_count, ==, 2);
        for (int old = 0; old < 2; old++) {
            bool scan = old ? rules.old_role.scan : rules.new_role.scan;
            g_assert_cmpint(placements[old].state, ==,
                            scan || rules.both_complete ? KW_PLACEMENT_COMPLETE : KW_PLACEMENT_FILLING);
        }
        g_assert_cmpstr(facts->order, ==, "store"); /* as before the change */
        changing_free(change);
    }
}

/* --- what a step needs ----------------------------------------------------------------------------- */

KW_TEST(test_reports_needed, "/catalog/change steps/reports needed")
{
    setup self = served_by_two();
    kw_change_record *record = &self.change->record;
    step(&self, KW_OLD(UNSTAMPED));
    g_assert_cmpint(try_step(&self, KW_OLD(HELD)), ==, KW_BUSY); /* b serves the version before */
    gateway_assert_text(self.a, "table t: the gateway b does not serve the current policy version");
    serve(&self, self.b, changing_both(self.change));
    g_assert_cmpint(try_step(&self, KW_OLD(HELD)), ==, KW_UNAVAILABLE);
    gateway_assert_text(self.a,
                        "path primary: the gateway b has not reported the place unstamped-old of the change");
    report_step(self.b, record, record->step - 1);
    g_assert_cmpint(try_step(&self, KW_OLD(HELD)), ==, KW_UNAVAILABLE);
    kw_change_record other = *record;
    other.path = "by_ts";
    report_step(self.b, &other, record->step);
    g_assert_cmpint(try_step(&self, KW_OLD(HELD)), ==, KW_UNAVAILABLE);
    other = *record;
    other.started_ms--;
    report_step(self.b, &other, record->step);
    g_assert_cmpint(try_step(&self, KW_OLD(HELD)), ==, KW_UNAVAILABLE);
    report(self.b, self.change);
    report_step(self.a, record, 0);
    g_assert_cmpint(try_step(&self, KW_OLD(HELD)), ==, KW_UNAVAILABLE);
    gateway_assert_text(self.a, "the gateway a has not reported");
    report(self.a, self.change);
    step(&self, KW_OLD(HELD));
    g_assert_cmpint(try_step(&self, KW_OLD(RAISED)), ==, KW_UNAVAILABLE);
    ended(&self);
}

/* A gateway without the table neither follows nor reports. */
KW_TEST(test_gateway_without_the_table, "/catalog/change steps/gateway without the table")
{
    setup self = served_by_two();
    gateway *c = gateway_new(self.in, "c", true);
    g_autoptr(kw_policy) other = test_policy_named("u", BASE "    store_table: u\n");
    serve(&self, c, other);
    WALK(&self, TO_BOTH);
    gateway_stop(c);
    ended(&self);
}

static void
follow_no_changes(gateway *self, kw_policy *served)
{
    self->catalog->settings.follows = false; /* policy.source: file */
    g_assert_cmpint(gateway_admit(self, served), ==, KW_OK);
    while (self->catalog->renewing)
        uv_run(kw_loop_uv(self->town->loop), UV_RUN_ONCE);
}

/* A change would wait for the reports of a gateway that does not follow the catalog's policy. It does not
 * begin beside one, and such a gateway cannot start beside a change. */
KW_TEST(test_gateway_that_does_not_follow, "/catalog/change steps/gateway that does not follow")
{
    setup self = served_by_two();
    follow_no_changes(self.b, self.change->old);
    g_assert_cmpint(try_step(&self, KW_OLD(UNSTAMPED)), ==, KW_REFUSED);
    gateway_assert_text(self.a, "table t: a change of the table cannot begin while the gateway b serves it");
    gateway_assert_text(self.a, "set policy.source: store there");
    gateway_stop(self.b);
    step(&self, KW_OLD(UNSTAMPED));
    self.b = gateway_new(self.in, "b", true);
    self.b->catalog->settings.follows = false;
    g_assert_cmpint(gateway_check(self.b, self.change->old), ==, KW_REFUSED);
    gateway_assert_text(self.b, "a change of table t, path primary is under way");
    gateway_assert_text(self.b, "policy.source: store");
    step(&self, KW_OLD(HELD));
    ended(&self);
}

/* One that is dead must be admitted again. */
KW_TEST(test_dead_gateway_that_does_not_follow, "/catalog/change steps/dead gateway that does not follow")
{
    setup self = served_by_two();
    follow_no_changes(self.b, self.change->old);
    town_pass_ms(KW_LEASE_DEAD_MS + 1);
    step(&self, KW_OLD(UNSTAMPED));
    while (self.b->lost == 0)
        uv_run(kw_loop_uv(self.in->loop), UV_RUN_ONCE);
    g_assert_cmpint(gateway_check(self.b, self.change->old), ==, KW_REFUSED);
    g_assert_false(gateway_is_open(self.b));
    step(&self, KW_OLD(HELD));
    ended(&self);
}

/* After a change has ended, gateways can still serve both placements: until they have followed, no other
 * change begins, and the retired placement is not forgotten. */
KW_TEST(test_not_followed_yet, "/catalog/change steps/not followed yet")
{
    setup self = served_by_two();
    WALK(&self, KW_OLD(UNSTAMPED));
    g_assert_cmpint(try_end(&self, false), ==, KW_OK);
    g_assert_cmpint(gateway_forget(self.a, self.change->old, "t", "primary", true), ==, KW_BUSY);
    gateway_assert_text(self.a, "the gateway b does not serve the current policy version yet");
    self.change->record.now = (kw_placed_rule){3, "t3"};
    self.change->record.step = 0;
    kw_policy *next = changing_to(self.change, KW_OLD(UNSTAMPED));
    self.change->base.now = self.change->base.old;
    self.change->step.base_count = 1;
    g_assert_cmpint(gateway_check_step(self.a, next, &self.change->step), ==, KW_BUSY);
    gateway_assert_text(self.a, "the gateway b does not serve the current policy version");
    serve(&self, self.b, self.change->old);
    g_assert_cmpint(gateway_forget(self.a, self.change->old, "t", "primary", true), ==, KW_OK);
    g_assert_cmpint(gateway_admit_step(self.a, next, &self.change->step), ==, KW_OK);
    ended(&self);
}

/* A step goes only to a neighboring place, with the next number. */
KW_TEST(test_only_neighbors, "/catalog/change steps/only neighbors")
{
    setup self = served_by_two();
    const kw_change_record before = self.change->record;
    for (kw_change_place id = KW_OLD(HELD); id < KW_PLACES; id++)
        if (kw_change_ladder_has(KW_LADDER_MOVE, id))
            g_assert_cmpint(try_step(&self, id), ==, KW_REFUSED);
    self.change->record.step = 7;
    g_assert_cmpint(try_step(&self, KW_OLD(UNSTAMPED)), ==, KW_REFUSED);
    self.change->record = before;
    WALK(&self, TO_BOTH);
    g_assert_cmpint(try_end(&self, false), ==, KW_REFUSED);
    gateway_assert_text(self.a, "are not those of the next place of the change");
    g_assert_cmpint(try_end(&self, true), ==, KW_REFUSED);
    for (kw_change_place id = 0; id < KW_PLACES; id++)
        if (kw_change_ladder_has(KW_LADDER_MOVE, id) && id != KW_OLD(BOTH) && id != KW_OLD(SPACING) &&
            id != KW_OLD(OPENING))
            g_assert_cmpint(try_step(&self, id), ==, KW_REFUSED);
    kw_policy *next = changing_to(self.change, KW_OLD(OPENING));
    self.change->record.step++;
    g_assert_cmpint(gateway_check_step(self.a, next, &self.change->step), ==, KW_REFUSED);
    self.change->record = self.change->base;
    step(&self, KW_OLD(OPENING));
    ended(&self);
}

/* --- commands and holders --------------------------------------------------------------------------- */

static bool
set_goal(void *user, int64_t current, kw_change_record *record, kw_arena *arena, kw_error *ret_error)
{
    (void)user, (void)current, (void)arena, (void)ret_error;
    record->goal = KW_OLD(ALONE);
    return true;
}

static bool
set_paused(void *user, int64_t current, kw_change_record *record, kw_arena *arena, kw_error *ret_error)
{
    (void)user, (void)current, (void)arena, (void)ret_error;
    record->paused = true;
    return true;
}

static bool
set_limit(void *user, int64_t current, kw_change_record *record, kw_arena *arena, kw_error *ret_error)
{
    (void)user, (void)current, (void)arena, (void)ret_error;
    record->rows_per_second = 5;
    return true;
}

static bool
set_completing(void *user, int64_t current, kw_change_record *record, kw_arena *arena, kw_error *ret_error)
{
    (void)user, (void)current, (void)arena, (void)ret_error;
    record->completing = true;
    return true;
}

static bool
take_over(void *user, int64_t current, kw_change_record *record, kw_arena *arena, kw_error *ret_error)
{
    (void)current, (void)ret_error;
    record->holder = kw_arena_text(arena, kw_bytes_of_text(user));
    return true;
}

/* A step that was computed before a command is refused. */
KW_TEST(test_commands, "/catalog/change steps/commands")
{
    static const kw_change_edit edits[] = {set_goal, set_paused, set_limit, set_completing};
    for (size_t i = 0; i < G_N_ELEMENTS(edits); i++) {
        setup self = served_by_two();
        size_t count;
        WALK(&self, KW_OLD(UNSTAMPED));
        edit(self.b, edits[i], NULL);
        g_assert_cmpint(try_step(&self, KW_OLD(HELD)), ==, KW_UNAVAILABLE);
        gateway_assert_text(self.a, "a command for the change was run, or its holder has changed");
        self.change->record = *gateway_read_changes(self.a, &count);
        step(&self, KW_OLD(HELD));
        ended(&self);
    }
}

/* Progress of the holder does not make its step fail, and the step has the newest progress. */
KW_TEST(test_progress, "/catalog/change steps/progress")
{
    setup self = served_by_two();
    size_t count;
    WALK(&self, KW_OLD(UNSTAMPED));
    edit(self.a, set_compared, NULL);
    self.change->record.rows_copied = 5;
    step(&self, KW_OLD(HELD));
    g_assert_cmpuint(gateway_read_changes(self.a, &count)[0].rows_copied, ==, 5);
    ended(&self);
}

KW_TEST(test_takeover, "/catalog/change steps/takeover")
{
    setup self = served_by_two();
    WALK(&self, KW_OLD(UNSTAMPED));
    const char *b = kw_catalog_instance(self.b->catalog);
    edit(self.b, take_over, (void *)(uintptr_t)b);
    g_assert_cmpint(try_step(&self, KW_OLD(HELD)), ==, KW_UNAVAILABLE);
    self.change->record.holder = b; /* a knows the new holder, and is not it */
    g_assert_cmpint(try_step(&self, KW_OLD(HELD)), ==, KW_UNAVAILABLE);
    gateway_assert_text(self.a, "another gateway holds the change");
    g_assert_cmpint(gateway_admit_step(self.b, changing_to(self.change, KW_OLD(HELD)), &self.change->step),
                    ==, KW_OK);
    ended(&self);
}

/* Two gateways that both hold the change, because one was paused: the second put is rejected. */
KW_TEST(test_two_steps_at_once, "/catalog/change steps/two steps at once")
{
    setup self = served_by_two();
    WALK(&self, KW_OLD(UNSTAMPED));
    kw_policy *next = changing_to(self.change, KW_OLD(HELD));
    g_assert_cmpint(gateway_check_step(self.a, next, &self.change->step), ==, KW_OK);
    edit(self.b, take_over, (void *)(uintptr_t)kw_catalog_instance(self.b->catalog));
    g_assert_cmpint(gateway_commit(self.a), ==, KW_BUSY);
    ended(&self);
}

/* --- gateways that start, die and come back --------------------------------------------------------- */

KW_TEST(test_start, "/catalog/change steps/start")
{
    setup self = served_by_two();
    gateway *c = gateway_new(self.in, "c", true);
    WALK(&self, KW_OLD(UNSTAMPED));
    g_autoptr(kw_policy) before = kw_policy_ref(changing_both(self.change));
    step(&self, KW_OLD(HELD)); /* b serves the version before */
    g_assert_cmpint(gateway_check(c, self.change->old), ==, KW_REFUSED);
    g_assert_cmpint(gateway_check(c, before), ==, KW_UNAVAILABLE);
    gateway_assert_text(c, "has another place than this policy was loaded with");
    serve(&self, c, changing_both(self.change));
    follow(&self);
    g_assert_cmpint(try_step(&self, KW_OLD(RAISED)), ==, KW_UNAVAILABLE);
    gateway_assert_text(self.a, "the gateway c has not reported the place held-old");
    report(c, self.change);
    step(&self, KW_OLD(RAISED));
    gateway_stop(c);
    ended(&self);
}

/* It is admitted after the holder has read the registrations: the holder's put is rejected. */
KW_TEST(test_start_during_a_step, "/catalog/change steps/start during a step")
{
    setup self = served_by_two();
    gateway *c = gateway_new(self.in, "c", true);
    WALK(&self, KW_OLD(UNSTAMPED));
    g_autoptr(kw_policy) before = kw_policy_ref(changing_both(self.change));
    kw_policy *next = changing_to(self.change, KW_OLD(HELD));
    g_assert_cmpint(gateway_check_step(self.a, next, &self.change->step), ==, KW_OK);
    serve(&self, c, before);
    g_assert_cmpint(gateway_commit(self.a), ==, KW_BUSY);
    g_assert_cmpint(gateway_check_step(self.a, next, &self.change->step), ==, KW_UNAVAILABLE);
    report_step(c, &self.change->base, self.change->base.step);
    g_assert_cmpint(gateway_check_step(self.a, next, &self.change->step), ==, KW_OK);
    g_assert_cmpint(gateway_check(c, before), ==, KW_OK); /* the other way round */
    g_assert_cmpint(gateway_commit(self.a), ==, KW_OK);
    g_assert_cmpint(gateway_commit(c), ==, KW_BUSY);
    g_assert_cmpint(gateway_check(c, before), ==, KW_UNAVAILABLE);
    gateway_stop(c);
    ended(&self);
}

/* A step removes a dead gateway. When it comes back it answers nothing, and is admitted with the current
 * version only. */
KW_TEST(test_paused, "/catalog/change steps/paused")
{
    setup self = served_by_two();
    WALK(&self, KW_OLD(UNSTAMPED));
    g_autoptr(kw_policy) before = kw_policy_ref(changing_both(self.change));
    step(&self, KW_OLD(HELD)); /* b does not follow */
    town_pass_ms(KW_LEASE_DEAD_MS + 1);
    g_assert_cmpuint(town_registrations(self.in), ==, 2);
    step(&self, KW_OLD(RAISED));
    g_assert_cmpuint(town_registrations(self.in), ==, 1);
    g_assert_false(gateway_is_open(self.b));
    while (self.b->lost == 0)
        uv_run(kw_loop_uv(self.in->loop), UV_RUN_ONCE);
    g_assert_cmpint(gateway_check(self.b, before), ==, KW_UNAVAILABLE);
    g_assert_false(gateway_is_open(self.b));
    follow(&self);
    g_assert_true(gateway_is_open(self.b));
    step(&self, KW_OLD(STAMPED));
    ended(&self);
}

/* A gateway that was dead, and renewed its lease before the step, is waited for. */
KW_TEST(test_paused_and_back, "/catalog/change steps/paused and back")
{
    setup self = served_by_two();
    WALK(&self, KW_OLD(UNSTAMPED));
    step(&self, KW_OLD(HELD));
    town_pass_ms(KW_LEASE_DEAD_MS + 1);
    kw_policy *next = changing_to(self.change, KW_OLD(RAISED));
    g_assert_cmpint(gateway_check_step(self.a, next, &self.change->step), ==, KW_OK);
    kw_catalog_update_registration(self.b->catalog);
    while (!gateway_is_open(self.b))
        uv_run(kw_loop_uv(self.in->loop), UV_RUN_ONCE);
    g_assert_cmpint(gateway_commit(self.a), ==, KW_BUSY);
    g_assert_cmpint(gateway_check_step(self.a, next, &self.change->step), ==, KW_UNAVAILABLE);
    ended(&self);
}

/* --- records of other tables -------------------------------------------------------------------------- */

/* Another gateway holds the change of table u; a step for t leaves that record as the catalog has it. */
KW_TEST(test_other_record, "/catalog/change steps/other record")
{
    setup self = served_by_two();
    const kw_change_step *one = &self.change->step;
    size_t count;
    changing_to(self.change, KW_OLD(UNSTAMPED));
    kw_change_record records[2] = {self.change->record, self.change->record};
    records[1].table = "u";
    records[1].holder = "00ff";
    kw_change_step both = {.records = records, .count = 2, .base = one->base, .base_count = 0};
    g_assert_cmpint(gateway_admit_step(self.a, self.change->both, &both), ==, KW_OK);
    report(self.a, self.change);
    follow(&self);
    self.b->done = false;
    kw_catalog_edit_change(self.b->catalog, "u", NULL, set_goal, NULL, KW_DEADLINE_NONE, on_edited, self.b);
    gateway_wait(self.b);
    kw_change_record base[2] = {records[0], records[1]}; /* without that command */
    changing_to(self.change, KW_OLD(HELD));
    records[0] = self.change->record;
    both = (kw_change_step){.records = records, .count = 2, .base = base, .base_count = 2};
    g_assert_cmpint(gateway_admit_step(self.a, self.change->both, &both), ==, KW_OK);
    const kw_change_record *read = gateway_read_changes(self.a, &count);
    g_assert_cmpuint(count, ==, 2);
    g_assert_cmpint(kw_changes_find(read, 2, "t", "primary")->place, ==, KW_OLD(HELD));
    g_assert_cmpint(kw_changes_find(read, 2, "u", "primary")->goal, ==, KW_OLD(ALONE));
    ended(&self);
}
