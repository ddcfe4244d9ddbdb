#include "gateway/stored_policy.h"

#include "config/shared.h"
#include "gateway/policy_file.h"

typedef struct loading {
    kw_gateway *gateway;
    kw_model *own;
    int64_t version;
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
    kw_model_unref(self->own);
    g_free(self);
    ended.done(ended.user, policy, error ? &reported : NULL);
}

static kw_policy *
compile(const loading *self, kw_model *shared, kw_diagnostics *found)
{
    g_autoptr(kw_model) model = kw_model_share(self->own, shared, found);
    kw_policy *policy = model ? kw_policy_new(model, found) : NULL;
    if (policy) {
        kw_policy_set_version(policy, self->version);
        kw_policy_set_loaded_at_ms(policy, kw_clock_wall_ms());
    }
    return policy;
}

static void
finish_with(loading *self, kw_model *shared, kw_diagnostics *found)
{
    kw_error error;
    kw_policy *policy = shared ? compile(self, shared, found) : NULL;
    if (!policy) {
        kw_policy_file_report(found, &error);
        kw_error_prefix(&error, "policy version %" G_GINT64_FORMAT, self->version);
    }
    finish(self, policy, policy ? NULL : &error);
}

static void
on_version(void *user, const kw_version *version, const kw_error *error)
{
    loading *self = user;
    if (error) {
        finish(self, NULL, error);
        return;
    }
    g_autofree char *name = g_strdup_printf("policy version %" G_GINT64_FORMAT, self->version);
    g_autoptr(kw_diagnostics) found = kw_diagnostics_new(name);
    size_t count;
    const kw_component_schema *const *schemas = kw_rule_schemas(&count);
    g_autoptr(kw_model) shared = kw_model_read_shared(name, (const char *)version->text.data,
                                                      version->text.size, schemas, count, found);
    finish_with(self, shared, found);
}

/* The version is in service, with other settings than `own`. */
static void
combine_again(loading *self)
{
    kw_model *shared = kw_model_shared(kw_policy_model(self->gateway->policy));
    g_autoptr(kw_diagnostics) found = kw_diagnostics_new(shared->file);
    finish_with(self, shared, found);
}

static void
on_current(void *user, const kw_version_name *current, const kw_error *error)
{
    loading *self = user;
    kw_gateway *gateway = self->gateway;
    kw_error none;
    if (error) {
        finish(self, NULL, error);
    } else if (gateway->state >= KW_GATEWAY_DRAINING) {
        kw_error_set(&none, KW_UNAVAILABLE, "the gateway is shutting down");
        finish(self, NULL, &none);
    } else if (current->number == 0) {
        kw_error_set(&none, KW_UNAVAILABLE,
                     "the catalog %s has no policy yet; run `keyway policy import FILE`",
                     self->own->store.catalog);
        finish(self, NULL, &none);
    } else if (current->number != kw_policy_version(gateway->policy)) {
        self->version = current->number;
        kw_catalog_read_version(gateway->catalog, current, step_deadline(self), on_version, self);
    } else if (self->own == kw_gateway_own_model(gateway)) {
        finish(self, kw_policy_ref(gateway->policy), NULL);
    } else {
        self->version = current->number;
        combine_again(self);
    }
}

void
kw_stored_policy_load(kw_gateway *gateway, kw_model *own, kw_stored_policy_loaded done, void *user)
{
    loading *self = g_new0(loading, 1);
    *self = (loading){.gateway = gateway, .own = kw_model_ref(own), .done = done, .user = user};
    kw_catalog_read_current(gateway->catalog, step_deadline(self), on_current, self);
}
