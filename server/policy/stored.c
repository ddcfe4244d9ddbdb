#include "policy/stored.h"

#include "change/set.h"
#include "config/shared.h"
#include "policy/file.h"

typedef struct loading {
    kw_control *control;
    kw_model *own;
    kw_version_name version;
    kw_change_set *changes;
    size_t missing; /* index of the change whose old key rule is being loaded */
    kw_stored_policy_loaded done;
    void *user;
} loading;

static kw_deadline
step_deadline(const loading *self)
{
    return kw_deadline_in_ms(self->own->timeouts.call_ms);
}

static void
finish(loading *self, kw_policy *policy, const kw_error *error)
{
    kw_error reported = error ? *error : KW_ERROR_NONE;
    loading ended = *self;
    if (policy && ended.changes)
        kw_control_note_stored(self->control, ended.changes);
    kw_change_set_unref(ended.changes);
    kw_model_unref(self->own);
    g_free(self);
    ended.done(ended.user, policy, error ? &reported : NULL);
}

static void
fail(loading *self, const kw_diagnostics *found, const kw_version_name *version)
{
    kw_error error;
    kw_policy_file_report(found, &error);
    kw_error_prefix(&error, "policy version %" G_GINT64_FORMAT, version->number);
    finish(self, NULL, &error);
}

/* --- the version ---------------------------------------------------------------------------------- */

static kw_policy *
compile(const loading *self, kw_model *shared, kw_diagnostics *found)
{
    g_autoptr(kw_model) model = kw_model_share(self->own, shared, found);
    kw_policy *policy = model ? kw_change_set_compile(self->changes, model, found) : NULL;
    if (policy) {
        kw_policy_set_version(policy, self->version.number);
        kw_policy_set_loaded_at_ms(policy, kw_clock_wall_ms());
    }
    return policy;
}

static void
finish_with(loading *self, kw_model *shared, const char *name)
{
    g_autoptr(kw_diagnostics) found = kw_diagnostics_new(name);
    kw_policy *policy = compile(self, shared, found);
    if (policy)
        finish(self, policy, NULL);
    else
        fail(self, found, &self->version);
}

static kw_model *
read_shared(const kw_version *version, const char *name, kw_diagnostics *found)
{
    size_t count;
    const kw_component_schema *const *schemas = kw_rule_schemas(&count);
    return kw_model_read_shared(name, (const char *)version->text.data, version->text.size, schemas, count,
                                found);
}

static void
on_version(void *user, const kw_version *version, const kw_error *error)
{
    loading *self = user;
    if (error) {
        finish(self, NULL, error);
        return;
    }
    g_autofree char *name = g_strdup_printf("policy version %" G_GINT64_FORMAT, self->version.number);
    g_autoptr(kw_diagnostics) found = kw_diagnostics_new(name);
    g_autoptr(kw_model) shared = read_shared(version, name, found);
    if (shared)
        finish_with(self, shared, name);
    else
        fail(self, found, &self->version);
}

static void
load_version(loading *self)
{
    kw_control *control = self->control;
    kw_model *shared = kw_model_shared(kw_policy_model(control->policy));
    /* The policy in service can have this version, but other settings than `own` or other placements. */
    if (self->version.number == kw_policy_version(control->policy) && shared)
        finish_with(self, shared, shared->file);
    else
        kw_catalog_read_version(control->catalog, &self->version, step_deadline(self), on_version, self);
}

/* --- old key rules of changes that are under way ---------------------------------------------------- */

static void load_old_rules(loading *self);

static void
on_old_version(void *user, const kw_version *version, const kw_error *error)
{
    loading *self = user;
    if (error) {
        finish(self, NULL, error);
        return;
    }
    const kw_version_name *old = &self->changes->records[self->missing].old_version;
    g_autofree char *name = g_strdup_printf("policy version %" G_GINT64_FORMAT, old->number);
    g_autoptr(kw_diagnostics) found = kw_diagnostics_new(name);
    g_autoptr(kw_model) shared = read_shared(version, name, found);
    g_autoptr(kw_model) model = shared ? kw_model_share(self->own, shared, found) : NULL;
    if (!model) {
        fail(self, found, old);
        return;
    }
    kw_change_set_add_model(self->changes, self->missing, model);
    load_old_rules(self);
}

static void
load_old_rules(loading *self)
{
    self->missing = kw_change_set_find_missing(self->changes);
    if (self->missing == self->changes->count)
        load_version(self);
    else
        kw_catalog_read_version(self->control->catalog, &self->changes->records[self->missing].old_version,
                                step_deadline(self), on_old_version, self);
}

/* --- what is current ------------------------------------------------------------------------------ */

static bool
is_in_service(const loading *self)
{
    const kw_control *control = self->control;
    const kw_change_set *served = control->served_changes;
    return self->version.number == kw_policy_version(control->policy) &&
           self->own == kw_control_own_model(control) && served &&
           !kw_change_set_differs(served, self->changes);
}

static void
on_current(void *user, const kw_current *current, const kw_error *error)
{
    loading *self = user;
    kw_control *control = self->control;
    kw_error none;
    if (error) {
        finish(self, NULL, error);
    } else if (control->state >= KW_CONTROL_DRAINING) {
        finish(self, NULL, &kw_error_shutting_down);
    } else if (current->version.number == 0) {
        kw_error_set(&none, KW_UNAVAILABLE,
                     "the catalog %s has no policy yet; run `keyway policy import FILE`, or if the catalog "
                     "was lost, `keyway catalog import FILE` with its export",
                     self->own->store.catalog);
        finish(self, NULL, &none);
    } else {
        self->version = current->version;
        self->changes = kw_change_set_new(current->changes, current->changes_count, control->changes);
        if (!is_in_service(self)) {
            load_old_rules(self);
            return;
        }
        g_clear_pointer(&self->changes, kw_change_set_unref); /* the coordinator has the newest progress */
        finish(self, kw_policy_ref(control->policy), NULL);
    }
}

void
kw_stored_policy_load(kw_control *control, kw_model *own, kw_stored_policy_loaded done, void *user)
{
    loading *self = g_new0(loading, 1);
    *self = (loading){.control = control, .own = kw_model_ref(own), .done = done, .user = user};
    kw_catalog_read_current_changes(control->catalog, step_deadline(self), on_current, self);
}
