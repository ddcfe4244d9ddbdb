#include "policy/control.h"

#include "config/shared.h"

#include <glib.h>

void
kw_control_init(kw_control *control, const kw_control_calls *calls, kw_policy *policy)
{
    *control = (kw_control){.calls = calls, .policy = policy};
    kw_mutex_init(&control->lock);
}

void
kw_control_clear(kw_control *control)
{
    kw_audit_close(control->audit);
    kw_change_set_unref(control->changes);
    kw_change_set_unref(control->stored_changes);
    kw_change_set_unref(control->served_changes);
    g_free(control->id);
    g_clear_pointer(&control->zone_warnings, g_ptr_array_unref);
    g_clear_pointer(&control->unserved, g_ptr_array_unref);
    g_clear_pointer(&control->unverified, g_ptr_array_unref);
    g_clear_pointer(&control->differing, g_ptr_array_unref);
    if (control->keyring)
        kw_keyring_unref(control->keyring);
    kw_policy_unref(control->policy);
    kw_mutex_clear(&control->lock);
}

bool
kw_control_is_in_service(const kw_control *control)
{
    kw_control_state state = control->state;
    return state == KW_CONTROL_SERVING || state == KW_CONTROL_FENCED;
}

bool
kw_control_has_lease(const kw_control *control)
{
    const kw_fence *fence = kw_catalog_fence(control->catalog);
    return kw_control_is_in_service(control) && !control->lost && (!fence || kw_fence_is_open(fence));
}

const kw_model *
kw_control_model(const kw_control *control)
{
    return kw_policy_model(control->policy);
}

kw_deadline
kw_control_call_deadline(const kw_control *control)
{
    return kw_deadline_in_ms(kw_control_model(control)->timeouts.call_ms);
}

kw_call
kw_control_begin_call(const kw_control *control, const char *request_id)
{
    const kw_fence *fence = kw_catalog_fence(control->catalog);
    return (kw_call){.arena = kw_arena_new(),
                     .policy = kw_policy_ref(control->policy),
                     .store = control->store,
                     .handle = control->handle,
                     .loop = control->loop,
                     .keyring = control->keyring,
                     .deadline = kw_control_call_deadline(control),
                     .request_id = request_id,
                     .era = fence ? kw_fence_era(fence) : 0};
}

void
kw_control_end_call(kw_call *call)
{
    kw_policy *policy = (kw_policy *)(uintptr_t)call->policy;
    kw_arena_free(call->arena);
    *call = (kw_call){0};
    kw_policy_unref(policy);
}

bool
kw_control_policy_is_stored(const kw_control *control)
{
    return kw_control_model(control)->policy_in_store;
}

kw_model *
kw_control_own_model(const kw_control *control)
{
    return kw_model_own(kw_policy_model(control->policy));
}

/* --- records of changes ------------------------------------------------------------------------------- */

void
kw_control_set_changes(kw_control *control, kw_change_set *changes)
{
    kw_change_set *old = control->changes;
    control->changes = kw_change_set_ref(changes);
    control->changes_revision++;
    kw_change_set_unref(old);
}

void
kw_control_set_stored(kw_control *control, kw_change_set *stored)
{
    kw_change_set *old = control->stored_changes;
    control->stored_changes = kw_change_set_ref(stored);
    control->stored_revision++;
    kw_change_set_unref(old);
}

/* The progress in the catalog can be two seconds old, so a slice that runs continues from this gateway's own
 * progress. */
void
kw_control_note_stored(kw_control *control, kw_change_set *stored)
{
    g_autoptr(kw_change_set) fresh = kw_change_set_merge(control->stored_changes, control->changes, stored);
    kw_control_set_changes(control, fresh);
    kw_control_set_stored(control, stored);
}

void
kw_control_set_served(kw_control *control)
{
    kw_change_set *old = control->served_changes;
    control->served_changes = control->changes ? kw_change_set_ref(control->changes) : NULL;
    kw_change_set_unref(old);
}
