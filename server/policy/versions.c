#include "policy/versions.h"

#include "base/container.h"

typedef struct reading {
    kw_control_request request;
    kw_versions_done done;
    int64_t before; /* of a list */
    size_t limit;   /* 0: one version */
    int64_t number; /* of one version */
    kw_stored_version *versions;
    size_t count;
} reading;

static void
reply(kw_control_request *request, const kw_error *error)
{
    const reading *self = KW_CONTAINER(request, reading, request);
    self->done(request->user, error ? NULL : self->versions, error ? 0 : self->count, error);
}

static void
fail(reading *self, const kw_error *error)
{
    kw_control_request_finish(&self->request, error);
}

static void
on_listed(void *user, const kw_version *versions, size_t count, const kw_error *error)
{
    reading *self = user;
    kw_arena *arena = self->request.arena;
    self->versions = KW_ARENA_ARRAY(arena, kw_stored_version, count);
    self->count = count;
    for (size_t i = 0; i < count; i++)
        self->versions[i] = (kw_stored_version){
            .number = versions[i].name.number,
            .author = kw_arena_text(arena, kw_bytes_of_text(versions[i].author ? versions[i].author : "")),
            .reason = kw_arena_text(arena, kw_bytes_of_text(versions[i].reason ? versions[i].reason : "")),
            .at_ms = versions[i].at_ms,
            .text = kw_arena_copy(arena, versions[i].text)};
    kw_control_request_finish(&self->request, error);
}

static void
on_read(void *user, const kw_version *version, const kw_error *error)
{
    on_listed(user, version, version ? 1 : 0, error);
}

/* The list has the newest version up to the wanted number. It is the wanted one if it has this number. */
static void
on_found(void *user, const kw_version *versions, size_t count, const kw_error *error)
{
    reading *self = user;
    kw_control *control = self->request.control;
    kw_error missing;
    if (error) {
        fail(self, error);
    } else if (count == 0) {
        kw_error_set(&missing, KW_NOT_FOUND, "the catalog has no policy version yet");
        fail(self, &missing);
    } else if (self->number > 0 && versions[0].name.number != self->number) {
        kw_error_set(&missing, KW_NOT_FOUND,
                     "there is no policy version %" G_GINT64_FORMAT "; the current one is %" G_GINT64_FORMAT,
                     self->number, versions[0].name.number);
        fail(self, &missing);
    } else {
        kw_catalog_read_version(control->catalog, &versions[0].name, kw_control_call_deadline(control),
                                on_read, self);
    }
}

static void
run(kw_control_request *request)
{
    reading *self = KW_CONTAINER(request, reading, request);
    kw_control *control = request->control;
    if (self->limit > 0)
        kw_catalog_read_history(control->catalog, self->before, self->limit,
                                kw_control_call_deadline(control), on_listed, self);
    else
        kw_catalog_read_history(control->catalog, self->number > 0 ? self->number + 1 : 0, 1,
                                kw_control_call_deadline(control), on_found, self);
}

static reading *
reading_new(kw_control *control, kw_loop *loop, kw_versions_done done, void *user)
{
    static const kw_control_request_kind kind = {.group = KW_REQUESTS_READ, .run = run, .reply = reply};
    reading *self = kw_control_request_new(sizeof *self, &kind, control, loop, user);
    self->done = done;
    return self;
}

void
kw_policy_versions_list(void *user, int64_t before, size_t limit, kw_loop *loop, kw_versions_done done,
                        void *done_user)
{
    reading *self = reading_new(user, loop, done, done_user);
    self->before = before;
    self->limit = limit;
    kw_control_request_send(&self->request);
}

void
kw_policy_versions_read(void *user, int64_t number, kw_loop *loop, kw_versions_done done, void *done_user)
{
    reading *self = reading_new(user, loop, done, done_user);
    self->number = number;
    kw_control_request_send(&self->request);
}
