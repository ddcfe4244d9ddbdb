#include "changing.h"

#include "change/set.h"

changing *
changing_new(void)
{
    changing *self = g_new0(changing, 1);
    self->old = test_policy(BASE);
    self->new = test_policy(NEW_RULE);
    self->text = test_policy(NEW_KEY);
    self->before = kw_policy_ref(self->old);
    self->record = (kw_change_record){.table = "t",
                                      .path = "primary",
                                      .given = {1, "t"},
                                      .now = {2, "t2"},
                                      .old = {1, "t"},
                                      .old_given = {1, "t"},
                                      .old_version = {1, "0123456789abcdef0123456789abcdef"},
                                      .new_version = 2,
                                      .started_ms = 1000,
                                      .author = "ann",
                                      .reason = "why \"not\"",
                                      .holder = "",
                                      .example = ""};
    return self;
}

changing *
changing_new_several(void)
{
    changing *self = changing_new();
    self->record.writers = KW_CHANGE_SEVERAL_WRITERS;
    self->record.store_order = true;
    self->record.goal = KW_OLD(BOTH);
    return self;
}

void
changing_free(changing *self)
{
    kw_policy_unref(self->old);
    kw_policy_unref(self->new);
    kw_policy_unref(self->text);
    kw_policy_unref(self->before);
    g_clear_pointer(&self->both, kw_policy_unref);
    g_free(self);
}

kw_policy *
changing_compile(const kw_change_record *record, kw_policy *text, kw_policy *old)
{
    g_autoptr(kw_diagnostics) problems = kw_diagnostics_new("test");
    kw_change_record under_way = *record;
    under_way.under_way = true;
    g_autoptr(kw_change_set) set = kw_change_set_new(&under_way, 1, NULL);
    kw_change_set_add_model(set, 0, kw_policy_model(old));
    kw_policy *policy = kw_change_set_compile(set, kw_policy_model(text), problems);
    if (!policy) {
        g_autofree char *texts = kw_diagnostics_text(problems);
        g_error("%s", texts);
    }
    return policy;
}

kw_policy *
changing_both(changing *self)
{
    g_clear_pointer(&self->both, kw_policy_unref);
    self->both = changing_compile(&self->record, self->text, self->before);
    return self->both;
}

static void
set_step(changing *self, bool had_base, bool has_record)
{
    self->step = (kw_change_step){
        .records = &self->record, .count = has_record, .base = &self->base, .base_count = had_base};
}

kw_policy *
changing_to(changing *self, kw_change_place place)
{
    bool began = self->record.under_way;
    self->base = self->record;
    self->record.under_way = true;
    self->record.place = place;
    self->record.place_at_ms++;
    self->record.step += self->record.writers == KW_CHANGE_SEVERAL_WRITERS;
    set_step(self, began, true);
    return changing_both(self);
}

kw_policy *
changing_end(changing *self, bool forward)
{
    self->base = self->record;
    self->record.under_way = false;
    if (!forward)
        self->record.now = self->record.old;
    set_step(self, true, true);
    return forward ? self->new : self->old;
}

/* --- gateways -------------------------------------------------------------------------------------- */

static void
checked(void *user, kw_admission *admission, const kw_error *error)
{
    ((gateway *)user)->admission = admission;
    gateway_ended(user, error);
}

kw_code
gateway_check_step(gateway *self, kw_policy *policy, const kw_change_step *step)
{
    self->done = false;
    kw_catalog_check(self->catalog, policy, step, NULL, KW_DEADLINE_NONE, checked, self);
    gateway_wait(self);
    return self->error.code;
}

kw_code
gateway_admit_step(gateway *self, kw_policy *policy, const kw_change_step *step)
{
    kw_code code = gateway_check_step(self, policy, step);
    return code == KW_OK ? gateway_commit(self) : code;
}

kw_code
gateway_write_progress(gateway *self, const kw_change_record *records, size_t count)
{
    self->done = false;
    kw_catalog_write_progress(self->catalog, records, count, KW_DEADLINE_NONE, gateway_ended, self);
    gateway_wait(self);
    return self->error.code;
}

static kw_arena *read_arena;
static kw_change_record *read_records;
static size_t read_count;

static void
changing_clear(void)
{
    g_clear_pointer(&read_arena, kw_arena_free);
}

static void
on_read(void *user, const kw_current *current, const kw_error *error)
{
    if (current) {
        kw_error ignored;
        kw_bytes text = kw_changes_print(current->changes, current->changes_count, read_arena);
        g_assert_true(kw_changes_parse(text, read_arena, &read_records, &read_count, &ignored));
    }
    gateway_ended(user, error);
}

const kw_change_record *
gateway_read_changes(gateway *self, size_t *ret_count)
{
    changing_clear();
    read_arena = kw_arena_new();
    self->done = false;
    kw_catalog_read_current_changes(self->catalog, KW_DEADLINE_NONE, on_read, self);
    gateway_wait(self);
    g_assert_cmpint(self->error.code, ==, KW_OK);
    *ret_count = read_count;
    return read_records;
}
