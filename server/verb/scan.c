/* scan and next: plan the question, gather one page, make records of the rows, seal a cursor for the rest.
 *
 *   scan:  request ------------------------------> plan -> gather -> page + cursor
 *   next:  cursor -> checks -> request, position ---^        ^
 *   a page behind a page of a scan that lives (scan.h) ------'
 */
#include "verb/scan.h"

#include "verb/cells.h"
#include "verb/page.h"
#include "verb/push.h"

#include <glib.h>

struct kw_scan {
    kw_call call; /* plan, question and filter are in its arena */
    bool lives;   /* beyond a page: call is its own */
    kw_scan_request request;
    const kw_plan *plan;
    kw_reader *reader;
    kw_push push;
    kw_gather *gather;
    kw_arena *scratch; /* for one row */

    kw_call *asker; /* of the page in work */
    kw_scan_done done;
    void *user;
    GArray *records; /* kw_record, in the asker's arena */
};

void
kw_scan_free(kw_scan *scan)
{
    if (!scan)
        return;
    kw_gather_free(scan->gather);
    g_array_free(scan->records, TRUE);
    kw_arena_free(scan->scratch);
    if (!scan->lives)
        return;
    kw_policy_unref((kw_policy *)scan->call.policy);
    kw_keyring_unref(scan->call.keyring);
    kw_arena_free(scan->call.arena);
}

/* --- rows ------------------------------------------------------------------------------------------ */

/* A row whose key this path never made: an answer without it could be wrong, unless what its columns say does
 * not meet the question anyway. */
static bool
accept_foreign(kw_scan *self, const kw_row *row, const kw_error *why, bool *ret_accepted, kw_error *ret_error)
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
    kw_scan *self = user;
    const kw_record *record;
    kw_error error;
    if (!kw_reader_decode(self->reader, row, &record, &error))
        return accept_foreign(self, row, &error, ret_accepted, ret_error);
    *ret_accepted =
        !self->plan->residual || kw_plan_matches_in(self->plan, kw_gather_range(self->gather), record);
    if (*ret_accepted) {
        kw_record kept = kw_reader_keep(self->reader, self->asker->arena);
        g_array_append_val(self->records, kept);
    }
    return true;
}

/* --- a page ---------------------------------------------------------------------------------------- */

static void
paged(void *user, const kw_gathered *gathered, const kw_error *error)
{
    kw_scan *self = user;
    if (error) {
        kw_error copy = *error;
        self->done(self->user, NULL, &copy);
        return;
    }
    kw_arena *arena = self->asker->arena;
    kw_bytes rows = kw_bytes_of(self->records->data, self->records->len * sizeof(kw_record));
    kw_scan_page page = {.rows = (const kw_record *)(const void *)kw_arena_copy(arena, rows).data,
                         .count = self->records->len,
                         .scanned = gathered->scanned,
                         .table = self->request.question.table};
    g_assert(page.count == gathered->count);
    if (!gathered->end)
        page.cursor = kw_page_cursor(self->asker, &self->request, self->plan, gathered);
    if (self->request.limit)
        self->request.limit -= page.count;
    self->done(self->user, &page, NULL);
}

void
kw_scan_next(kw_scan *scan, kw_call *call, kw_scan_done done, void *user)
{
    scan->asker = call;
    scan->done = done;
    scan->user = user;
    g_array_set_size(scan->records, 0);
    kw_page_limits limits = kw_page_limits_of(call, &scan->request);
    kw_gather_page(scan->gather, limits.rows, limits.bytes, call->deadline, paged, scan);
}

/* --- opening --------------------------------------------------------------------------------------- */

static bool
make_plan(kw_scan *self, kw_error *ret_error)
{
    if (!kw_page_plan(&self->call, &self->request, &self->plan, ret_error))
        return false;
    self->reader = kw_push_reader(&self->call, &self->request, self->plan, self->scratch);
    return kw_push_make(&self->call, &self->request, self->plan, self->reader, &self->push, ret_error);
}

/* In the arena of its call, like everything that it makes. */
static kw_scan *
scan_new(const kw_call *call, const kw_scan_request *request)
{
    kw_scan *self = KW_ARENA_NEW(call->arena, kw_scan);
    *self = (kw_scan){.call = *call, .request = *request};
    self->records = g_array_new(FALSE, FALSE, sizeof(kw_record));
    self->scratch = kw_arena_new();
    return self;
}

static bool
open_gather(kw_scan *self, const kw_position *position, kw_error *ret_error)
{
    if (!make_plan(self, ret_error))
        return false;
    kw_gather_spec spec = {.plan = self->plan,
                           .position = *position,
                           .columns = self->push.columns,
                           .columns_count = self->push.columns_count,
                           .filter = self->push.filter,
                           .buffer_bytes =
                               (size_t)kw_policy_model(self->call.policy)->limits.scan_buffer_bytes,
                           .limit = self->request.limit,
                           .more_pages = self->lives,
                           .accept = accept_row,
                           .accept_copies = true,
                           .accept_user = self};
    self->gather = kw_gather_new(self->call.door, &spec);
    return true;
}

/* A call of the scan's own. */
static kw_call
call_like(const kw_call *like)
{
    kw_call call = *like;
    call.arena = kw_arena_new();
    call.policy = kw_policy_ref((kw_policy *)like->policy);
    call.keyring = kw_keyring_ref(like->keyring);
    call.identity = kw_arena_copy(call.arena, like->identity);
    call.request_id = NULL;
    return call;
}

/* good false: ret_error says why. Everything belongs to the call's arena. */
static kw_scan *
live_scan(const kw_call *call, const kw_scan_request *request, const kw_position *position, bool good,
          kw_error *ret_error)
{
    kw_scan *self = scan_new(call, request);
    self->lives = true;
    if (good && open_gather(self, position, ret_error))
        return self;
    kw_scan_free(self);
    return NULL;
}

static const kw_pick *
copy_picks(const kw_scan_request *from, kw_arena *arena)
{
    kw_pick *picks = KW_ARENA_ARRAY(arena, kw_pick, from->picks_count);
    for (size_t i = 0; i < from->picks_count; i++)
        picks[i] = (kw_pick){from->picks[i].field, kw_arena_copy(arena, from->picks[i].entry)};
    return picks;
}

/* Through the form that cursors have, which is made for outliving a call. */
static bool
copy_request(const kw_scan_request *from, kw_arena *arena, kw_scan_request *to, kw_error *ret_error)
{
    kw_buffer question = KW_BUFFER_EMPTY;
    size_t used;
    kw_question_encode(&from->question, &question);
    kw_bytes copy = kw_arena_copy(arena, kw_buffer_bytes(&question));
    kw_buffer_clear(&question);
    *to = *from;
    to->filter = kw_arena_copy(arena, from->filter);
    to->picks = copy_picks(from, arena);
    return kw_question_decode(from->question.table, copy, arena, &to->question, &used, ret_error);
}

kw_scan *
kw_scan_of_request(const kw_call *like, const kw_scan_request *request, kw_error *ret_error)
{
    static const kw_position from_the_start;
    kw_call call = call_like(like);
    kw_scan_request copy = {0};
    bool good = copy_request(request, call.arena, &copy, ret_error);
    return live_scan(&call, &copy, &from_the_start, good, ret_error);
}

kw_scan *
kw_scan_of_cursor(const kw_call *like, kw_bytes cursor, kw_error *ret_error)
{
    kw_call call = call_like(like);
    kw_scan_request request = {0};
    kw_position position = {0};
    bool good = kw_page_open_cursor(&call, kw_arena_copy(call.arena, cursor), &request, &position, ret_error);
    return live_scan(&call, &request, &position, good, ret_error);
}

/* --- one page -------------------------------------------------------------------------------------- */

typedef struct single {
    kw_scan *scan;
    kw_scan_done done;
    void *user;
} single;

static void
single_done(void *user, const kw_scan_page *page, const kw_error *error)
{
    single *self = user;
    kw_scan_free(self->scan);
    self->done(self->user, page, error);
}

static void
start(kw_call *call, const kw_scan_request *request, const kw_position *position, kw_scan_done done,
      void *user)
{
    single *self = KW_ARENA_NEW(call->arena, single);
    *self = (single){scan_new(call, request), done, user};
    kw_error error;
    if (open_gather(self->scan, position, &error))
        kw_scan_next(self->scan, call, single_done, self);
    else
        single_done(self, NULL, &error);
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
