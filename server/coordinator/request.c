#include "coordinator/request.h"

#include "base/container.h"

kw_change_request *
kw_change_request_new(const kw_control_request_kind *kind, kw_control *control, kw_loop *loop, void *user)
{
    kw_change_request *self = kw_control_request_new(sizeof *self, kind, control, loop, user);
    self->coordinator = control->coordinator;
    return self;
}

static void
list_changes(kw_change_request *self)
{
    const kw_change_set *set = self->request.control->changes;
    const char *table = self->command.table;
    if (!set)
        return;
    self->changes = KW_ARENA_ARRAY(self->request.arena, kw_change_status, set->count);
    for (size_t i = 0; i < set->count; i++)
        if (set->records[i].under_way && (!table || g_str_equal(set->records[i].table, table)))
            kw_change_status_of(self->coordinator, &set->records[i], self->request.arena,
                                &self->changes[self->changes_count++]);
}

void
kw_change_request_finish(kw_change_request *self, const kw_error *error)
{
    kw_coordinator *coordinator = self->coordinator;
    if (coordinator->running == self)
        coordinator->running = NULL;
    if (self->ended)
        self->ended(self, error);
    if (!error && self->request.loop)
        list_changes(self);
    kw_control_request_finish(&self->request, error);
    kw_coordinator_wake(coordinator, 0);
}

void
kw_change_request_refuse(kw_change_request *self, kw_code code, const char *text)
{
    kw_error error;
    kw_error_set(&error, code, "table %s: %s", self->command.table, text);
    kw_change_request_finish(self, &error);
}

void
kw_change_request_stop(kw_control_request *request)
{
    kw_change_request *self = KW_CONTAINER(request, kw_change_request, request);
    if (self->coordinator->running == self && !self->stepping)
        kw_change_request_finish(self, &kw_error_shutting_down);
}

void
kw_change_request_clear(kw_control_request *request)
{
    kw_change_request *self = KW_CONTAINER(request, kw_change_request, request);
    kw_policy_unref(self->policy);
    kw_change_set_unref(self->before);
    kw_change_set_unref(self->after);
}
