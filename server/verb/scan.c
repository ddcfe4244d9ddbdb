/* scan and next: plan the question, gather one page, make records of the rows, seal a cursor for the rest.
 *
 *   scan:  request ------------------------------> plan -> gather -> page + cursor
 *   next:  cursor -> checks -> request, position ---^
 */
#include "verb/page.h"

#include "verb/cells.h"
#include "verb/push.h"

#include <glib.h>

typedef struct scan {
    kw_call *call;
    kw_scan_request request;
    const kw_plan *plan;
    kw_reader *reader;
    kw_push push;
    kw_gather *gather;
    kw_scan_done done;
    void *user;
    GArray *records;   /* kw_record */
    kw_arena *scratch; /* for one row */
} scan;

static void
clear(scan *self)
{
    kw_gather_free(self->gather);
    g_array_free(self->records, TRUE);
    kw_arena_free(self->scratch);
}

/* A row whose key this path never made: an answer without it could be wrong, unless what its columns say does
 * not meet the question anyway. */
static bool
accept_foreign(scan *self, const kw_row *row, const kw_error *why, bool *ret_accepted, kw_error *ret_error)
{
    const kw_record *record;
    kw_error ignored;
    *ret_accepted = false;
    if (self->plan->residual && kw_reader_decode_cells(self->reader, row, &record, &ignored) &&
        !kw_plan_matches(self->plan, record))
        return true;
    *ret_error = *why;
    return false;
}

static bool
accept_row(void *user, kw_row *row, bool *ret_accepted, kw_error *ret_error)
{
    scan *self = user;
    const kw_record *record;
    kw_error error;
    if (!kw_reader_decode(self->reader, row, &record, &error))
        return accept_foreign(self, row, &error, ret_accepted, ret_error);
    *ret_accepted =
        !self->plan->residual || kw_plan_matches_in(self->plan, kw_gather_range(self->gather), record);
    if (*ret_accepted) {
        kw_record kept = kw_reader_keep(self->reader);
        g_array_append_val(self->records, kept);
    }
    return true;
}

static void
paged(void *user, const kw_gathered *gathered, const kw_error *error)
{
    scan *self = user;
    if (error) {
        kw_error copy = *error;
        clear(self);
        self->done(self->user, NULL, &copy);
        return;
    }
    kw_arena *arena = self->call->arena;
    kw_bytes rows = kw_bytes_of(self->records->data, self->records->len * sizeof(kw_record));
    kw_scan_page page = {.rows = (const kw_record *)(const void *)kw_arena_copy(arena, rows).data,
                         .count = self->records->len,
                         .scanned = gathered->scanned,
                         .table = self->request.question.table};
    g_assert(page.count == gathered->count);
    if (!gathered->end)
        page.cursor = kw_page_cursor(self->call, &self->request, self->plan, gathered);
    clear(self);
    self->done(self->user, &page, NULL);
}

static bool
make_plan(scan *self, kw_error *ret_error)
{
    if (!kw_page_plan(self->call, &self->request, &self->plan, ret_error))
        return false;
    self->reader = kw_push_reader(self->call, &self->request, self->plan, self->scratch);
    return kw_push_make(self->call, &self->request, self->plan, self->reader, &self->push, ret_error);
}

static void
start(kw_call *call, const kw_scan_request *request, const kw_position *position, kw_scan_done done,
      void *user)
{
    scan *self = KW_ARENA_NEW(call->arena, scan);
    *self = (scan){.call = call, .request = *request, .done = done, .user = user};
    self->records = g_array_new(FALSE, FALSE, sizeof(kw_record));
    self->scratch = kw_arena_new();
    kw_error error;
    if (!make_plan(self, &error)) {
        clear(self);
        done(user, NULL, &error);
        return;
    }
    kw_gather_spec spec = {.plan = self->plan,
                           .position = *position,
                           .columns = self->push.columns,
                           .columns_count = self->push.columns_count,
                           .filter = self->push.filter,
                           .buffer_bytes = (size_t)kw_policy_model(call->policy)->limits.scan_buffer_bytes,
                           .limit = request->limit,
                           .accept = accept_row,
                           .accept_copies = true,
                           .accept_user = self};
    self->gather = kw_gather_new(call->door, &spec);
    kw_page_limits limits = kw_page_limits_of(call, request);
    kw_gather_page(self->gather, limits.rows, limits.bytes, call->deadline, paged, self);
}

void
kw_verb_scan(kw_call *call, const kw_scan_request *request, kw_scan_done done, void *user)
{
    static const kw_position from_the_start;
    start(call, request, &from_the_start, done, user);
}

void
kw_verb_next(kw_call *call, kw_bytes cursor, kw_scan_done done, void *user)
{
    kw_scan_request request;
    kw_position position;
    kw_error error;
    if (kw_page_open_cursor(call, cursor, &request, &position, &error))
        start(call, &request, &position, done, user);
    else
        done(user, NULL, &error);
}
