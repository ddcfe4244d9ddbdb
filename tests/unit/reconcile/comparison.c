#include "comparison.h"

typedef struct answer {
    desk *on;
    kw_scrub_result *slice;
    kw_error *error;
} answer;

static void
slice_done(void *user, const kw_scrub_result *result, const kw_error *error)
{
    answer *self = user;
    *self->error = error ? *error : KW_ERROR_NONE;
    if (result)
        *self->slice = *result;
    self->on->done = true;
}

bool
comparison_slice(desk *on, const kw_scrub_request *request, kw_scrub_result *ret_slice, kw_error *ret_error)
{
    answer to = {on, ret_slice, ret_error};
    on->done = false;
    *ret_slice = (kw_scrub_result){0};
    kw_scrub(&on->call, request, slice_done, &to);
    desk_wait(on);
    return ret_error->code == KW_OK;
}

void
comparison_add(desk *on, const kw_scrub_request *request, const kw_scrub_result *slice, kw_scrub_result *sum,
               GString *text)
{
    static const char *const kinds[] = {"MISSING", "DIFFERENT", "EXTRA", "FOREIGN"};
    sum->rows += slice->rows;
    sum->missing += slice->missing;
    sum->different += slice->different;
    sum->extra += slice->extra;
    sum->foreign += slice->foreign;
    sum->repaired += slice->repaired;
    sum->unsettled += slice->unsettled;
    sum->large += slice->large;
    for (size_t i = 0; i < slice->differences_count; i++) {
        const kw_scrub_difference *found = &slice->differences[i];
        bool changing = request->changing != NULL;
        g_assert_true(!changing || found->path == request->changing);
        g_string_append_printf(text, "%s %s%s%s: %s%s\n", kinds[found->kind],
                               changing ? "" : found->path->name, changing ? "" : " ",
                               found->key.values ? desk_text(on, request->table, &found->key) : "no record",
                               found->text, found->repaired ? ", repaired" : "");
    }
}
