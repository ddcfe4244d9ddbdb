/* Edits of the record of a change by several gateways: none undoes another one. */
#include "changing.h"

#include "catalog/catalog_internal.h"

/* An edit that sets some members, and what its end returned. */
typedef struct editor {
    gateway *by;
    void (*set)(kw_change_record *record);
    bool refuses;
    unsigned calls;
    int64_t current; /* version, as the last call had it */
    bool done;
    kw_error error;
    kw_change_record after;
} editor;

static bool
on_edit(void *user, int64_t current, kw_change_record *record, kw_arena *arena, kw_error *ret_error)
{
    editor *self = user;
    (void)arena;
    self->current = current;
    self->calls++;
    if (self->refuses)
        return kw_error_set(ret_error, KW_REFUSED, "not now");
    self->set(record);
    return true;
}

static void
on_edited(void *user, const kw_current *current, const kw_error *error)
{
    editor *self = user;
    g_assert_true(!current == !!error);
    self->done = true;
    self->error = error ? *error : KW_ERROR_NONE;
    if (current)
        self->after = *kw_changes_find(current->changes, current->changes_count, "t", "primary");
}

static void
begin_edit(editor *self, const char *path, kw_deadline deadline)
{
    self->done = false;
    self->calls = 0;
    kw_catalog_edit_change(self->by->catalog, "t", path, on_edit, self, deadline, on_edited, self);
}

static kw_code
wait_edit(editor *self)
{
    while (!self->done)
        uv_run(kw_loop_uv(self->by->town->loop), UV_RUN_ONCE);
    return self->error.code;
}

static kw_code
run_edit(editor *self)
{
    begin_edit(self, "primary", KW_DEADLINE_NONE);
    return wait_edit(self);
}

static void
set_goal(kw_change_record *record)
{
    record->goal = KW_NEW(BOTH);
}

static void
set_progress(kw_change_record *record)
{
    record->rows_copied = 7;
    record->pass = KW_CHANGE_PASS_SECOND;
    record->copied_to = KW_BYTES_LITERAL("row");
}

static void
set_holder(kw_change_record *record)
{
    record->holder = "00ff";
}

static void
set_nothing(kw_change_record *record)
{
    (void)record;
}

/* A town with a change that has begun. */
typedef struct setup {
    town *in;
    changing *change;
    gateway *a, *b;
} setup;

static setup
begun(void)
{
    setup self = {.in = town_new(), .change = changing_new_several()};
    self.a = gateway_new(self.in, "a", false);
    self.b = gateway_new(self.in, "b", false);
    g_assert_cmpint(gateway_admit(self.a, self.change->old), ==, KW_OK);
    g_assert_cmpint(
        gateway_admit_step(self.a, changing_to(self.change, KW_OLD(UNSTAMPED)), &self.change->step), ==,
        KW_OK);
    return self;
}

static void
ended(setup *self)
{
    gateway_stop(self->a);
    gateway_stop(self->b);
    changing_free(self->change);
    town_free(self->in);
}

KW_TEST(test_edit, "/catalog/change edits/edit")
{
    setup self = begun();
    editor goal = {.by = self.b, .set = set_goal}, progress = {.by = self.a, .set = set_progress};
    editor holder = {.by = self.a, .set = set_holder};
    size_t count;
    g_assert_cmpint(run_edit(&goal), ==, KW_OK);
    g_assert_cmpint(goal.after.goal, ==, KW_NEW(BOTH));
    g_assert_cmpint(run_edit(&progress), ==, KW_OK);
    begin_edit(&holder, NULL, KW_DEADLINE_NONE);
    g_assert_cmpint(wait_edit(&holder), ==, KW_OK);
    const kw_change_record *read = gateway_read_changes(self.a, &count);
    g_assert_cmpuint(count, ==, 1);
    g_assert_cmpint(read[0].goal, ==, KW_NEW(BOTH));
    g_assert_cmpuint(read[0].rows_copied, ==, 7);
    g_assert_cmpint(read[0].pass, ==, KW_CHANGE_PASS_SECOND);
    g_assert_cmpstr(read[0].holder, ==, "00ff");
    g_assert_cmpint(read[0].place, ==, KW_OLD(UNSTAMPED));
    ended(&self);
}

/* The edit gets the policy version of the catalog, which its gateway does not have to serve. */
KW_TEST(test_current_version, "/catalog/change edits/current version")
{
    setup self = begun();
    editor goal = {.by = self.b, .set = set_goal};
    kw_version_draft draft;
    g_assert_cmpint(run_edit(&goal), ==, KW_OK);
    g_assert_cmpint(goal.current, ==, 0);
    kw_version_draft_init(&draft);
    draft.text = KW_BYTES_LITERAL("text");
    draft.author = draft.reason = "";
    g_assert_cmpint(gateway_check(self.a, self.change->both), ==, KW_OK);
    kw_admission_set_version(self.a->admission, 0, &draft);
    g_assert_cmpint(gateway_commit(self.a), ==, KW_OK);
    g_assert_cmpint(run_edit(&goal), ==, KW_OK);
    g_assert_cmpint(goal.current, ==, 1);
    ended(&self);
}

KW_TEST(test_edit_refused, "/catalog/change edits/refused")
{
    setup self = begun();
    editor edit = {.by = self.b, .set = set_goal, .refuses = true};
    g_assert_cmpint(run_edit(&edit), ==, KW_REFUSED);
    g_assert_cmpstr(edit.error.text, ==, "catalog keyway_catalog: not now");
    edit.refuses = false;
    begin_edit(&edit, "by_ts", KW_DEADLINE_NONE);
    g_assert_cmpint(wait_edit(&edit), ==, KW_REFUSED);
    g_assert_nonnull(strstr(edit.error.text, "table t: no change is under way"));
    g_assert_cmpuint(edit.calls, ==, 0);
    ended(&self);
}

static kw_bytes
catalog_id(const setup *self)
{
    return kw_memory_store_cell(self->in->store, CATALOG, KW_CATALOG_FACTS_ROW, "d", "id");
}

/* An edit that changes nothing does not write the catalog, so it does not make the step of another gateway
 * BUSY. */
KW_TEST(test_unchanged, "/catalog/change edits/unchanged")
{
    setup self = begun();
    editor edit = {.by = self.b, .set = set_nothing};
    g_autofree char *before = g_strndup((const char *)catalog_id(&self).data, 32);
    g_assert_cmpint(run_edit(&edit), ==, KW_OK);
    g_assert_cmpuint(edit.after.step, ==, 1);
    g_assert_true(kw_bytes_equal(catalog_id(&self), kw_bytes_of(before, 32)));
    ended(&self);
}

/* Two edits at once, after each number of loop iterations: both are kept. */
KW_TEST(test_two_at_once, "/catalog/change edits/two at once")
{
    bool repeated = false;
    for (unsigned iterations = 0; iterations < 8; iterations++) {
        setup self = begun();
        editor goal = {.by = self.b, .set = set_goal}, progress = {.by = self.a, .set = set_progress};
        size_t count;
        begin_edit(&progress, "primary", KW_DEADLINE_NONE);
        for (unsigned i = 0; i < iterations; i++)
            uv_run(kw_loop_uv(self.in->loop), UV_RUN_NOWAIT);
        begin_edit(&goal, "primary", KW_DEADLINE_NONE);
        g_assert_cmpint(wait_edit(&goal), ==, KW_OK);
        g_assert_cmpint(wait_edit(&progress), ==, KW_OK);
        const kw_change_record *read = gateway_read_changes(self.a, &count);
        g_assert_cmpint(read[0].goal, ==, KW_NEW(BOTH));
        g_assert_cmpuint(read[0].rows_copied, ==, 7);
        repeated = repeated || goal.calls + progress.calls > 2;
        ended(&self);
    }
    g_assert_true(repeated);
}

/* A lost answer: the put is repeated, or found to be applied. */
KW_TEST(test_faults, "/catalog/change edits/faults")
{
    for (int applied = 0; applied < 2; applied++) {
        bool failed = true;
        for (uint64_t n = 1; failed; n++) {
            setup self = begun();
            editor edit = {.by = self.b, .set = set_goal};
            size_t count;
            self.in->control->fail_at = self.in->control->operations + n;
            self.in->control->fail_applied = applied;
            kw_code code = run_edit(&edit);
            failed = self.in->control->operations >= self.in->control->fail_at;
            self.in->control->fail_at = 0;
            bool set = gateway_read_changes(self.a, &count)[0].goal == KW_NEW(BOTH);
            g_assert_true(set == (code == KW_OK));
            ended(&self);
        }
    }
}

/* A gateway that stops sends each put once, and it is unknown whether the last one was applied. */
KW_TEST(test_end_of_repeats, "/catalog/change edits/end of repeats")
{
    unsigned lost = 0;
    bool failed = true;
    for (uint64_t n = 1; failed; n++) {
        setup self = begun();
        editor edit = {.by = self.b, .set = set_goal};
        size_t count;
        kw_catalog_end_repeats(self.b->catalog);
        self.in->control->fail_at = self.in->control->operations + n;
        self.in->control->fail_applied = true;
        kw_code code = run_edit(&edit);
        failed = self.in->control->operations >= self.in->control->fail_at;
        self.in->control->fail_at = 0;
        bool set = gateway_read_changes(self.a, &count)[0].goal == KW_NEW(BOTH);
        g_assert_true(set || code != KW_OK);
        lost += set && code != KW_OK;
        ended(&self);
    }
    g_assert_cmpuint(lost, ==, 1);
}

/* A gateway whose lease has expired writes nothing. */
KW_TEST(test_lease, "/catalog/change edits/lease")
{
    town *in = town_new();
    changing *change = changing_new_several();
    gateway *a = gateway_new(in, "a", true);
    editor edit = {.by = a, .set = set_goal};
    size_t count;
    g_assert_cmpint(gateway_admit(a, change->old), ==, KW_OK);
    g_assert_cmpint(gateway_admit_step(a, changing_to(change, KW_OLD(UNSTAMPED)), &change->step), ==, KW_OK);
    while (a->catalog->renewing)
        uv_run(kw_loop_uv(in->loop), UV_RUN_ONCE);
    town_pass_ms(KW_LEASE_MS);
    g_assert_cmpint(run_edit(&edit), ==, KW_UNAVAILABLE);
    g_assert_nonnull(strstr(edit.error.text, "the lease of gateway a has expired"));
    g_assert_cmpint(gateway_read_changes(a, &count)[0].goal, ==, KW_OLD(BOTH));
    gateway_stop(a);
    changing_free(change);
    town_free(in);
}

/* Progress of one writer does not touch the records of several. */
KW_TEST(test_progress, "/catalog/change edits/progress")
{
    setup self = begun();
    editor goal = {.by = self.b, .set = set_goal};
    size_t count;
    g_assert_cmpint(run_edit(&goal), ==, KW_OK);
    self.change->record.rows_copied = 9;
    g_assert_cmpint(gateway_write_progress(self.a, &self.change->record, 1), ==, KW_OK);
    g_assert_cmpint(gateway_read_changes(self.a, &count)[0].goal, ==, KW_NEW(BOTH));
    g_assert_cmpuint(gateway_read_changes(self.a, &count)[0].rows_copied, ==, 0);
    ended(&self);
}
