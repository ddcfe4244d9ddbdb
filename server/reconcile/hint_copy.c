/* A copy to a placement of hints: writes the hint of each row. In the form of a copy of rows, so that a
 * change that adds a hint path works like one that adds a path with records. */
#include "reconcile/copy_internal.h"
#include "reconcile/first_key.h"
#include "reconcile/hint_slice.h"
#include "reconcile/share.h"
#include "rule/splits.h"

typedef struct hint_copy {
    kw_call *call;
    const kw_copy_request *request;
    kw_hint_slice_request slice;
    kw_bytes first, last;
    kw_copy_result result;
    kw_copy_done done;
    void *user;
} hint_copy;

static void
on_slice(void *user, const kw_hint_slice_result *result, const kw_error *error)
{
    hint_copy *self = user;
    if (error) {
        self->done(self->user, NULL, error);
        return;
    }
    self->result = (kw_copy_result){.rows = result->rows - result->undecodable,
                                    .undecodable = result->undecodable,
                                    .after = result->after,
                                    .end = result->end,
                                    .first = self->first.size ? self->first : result->first,
                                    .last = self->last};
    if (result->undecodable)
        self->result.example =
            kw_arena_printf(self->call->arena, "%s: %s",
                            kw_bytes_to_binary_text(result->example, self->call->arena), result->why);
    self->result.progress =
        result->end ? 1 : kw_share_of_keys(self->result.first, self->result.last, self->result.after);
    self->done(self->user, &self->result, NULL);
}

static void
on_last_key(void *user, kw_bytes key, const kw_error *error)
{
    hint_copy *self = user;
    if (error) {
        self->done(self->user, NULL, error);
        return;
    }
    self->last = key;
    kw_hint_slice(self->call, &self->slice, on_slice, self);
}

/* Finds the last row key, for the progress only. */
static void
find_last(hint_copy *self)
{
    const kw_placement *from = self->request->from;
    kw_last_key_find(self->call, from, &from->path->table->ordering, on_last_key, self);
}

void
kw_copy_to_hints(kw_call *call, const kw_copy_request *request, kw_copy_done done, void *user)
{
    g_assert(request->mode == KW_COPY_ROWS);
    hint_copy *self = KW_ARENA_NEW(call->arena, hint_copy);
    *self = (hint_copy){.call = call,
                        .request = request,
                        .slice = {.mode = KW_HINTS_FILL,
                                  .hints = request->to,
                                  .after = request->after,
                                  .max_rows = request->max_rows},
                        .first = request->first,
                        .last = request->last,
                        .done = done,
                        .user = user};
    if (self->last.size)
        kw_hint_slice(call, &self->slice, on_slice, self);
    else
        find_last(self);
}
