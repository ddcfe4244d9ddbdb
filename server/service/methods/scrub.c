/* scrub and changeDiff: check the options, compare one slice and return its differences.
 *
 *   scrub        the paths of a table
 *   changeDiff   the two placements of a path whose key rule is being changed; or, for each path
 *                that is being added, this path and the primary path
 */
#include "reconcile/reconcile.h"
#include "service/methods.h"
#include "service/methods/convert.h"

#include <glib.h>

#define DIFFERENCES_DEFAULT 100
#define SETTLE_DEFAULT_MS 1000
#define SETTLE_MAX_MS 10000

typedef struct scrubbing {
    kw_exchange *exchange;
    kw_scrub_request request;
} scrubbing;

static kw_api_Difference
difference_out(const kw_table *table, const kw_scrub_difference *from, kw_arena *arena)
{
    kw_api_Difference out = {.kind = (int32_t)from->kind,
                             .path = kw_bytes_of_text(from->path->name),
                             .row_key = from->row_key,
                             .text = kw_bytes_of_text(from->text),
                             .repaired = from->repaired,
                             .has_key = from->key.values != NULL};
    if (out.has_key)
        out.key = kw_convert_record_out(table, &from->key, arena);
    return out;
}

/* Sets the progress over all paths of the change, and, if the comparison of this path has ended, the cursor
 * of the next one. */
static void
continue_with_next(scrubbing *self, kw_api_Scrubbed *out)
{
    const kw_path *path = self->request.changing;
    out->progress = kw_scrub_progress_of_changing(path, out->progress);
    if (out->has_cursor)
        return;
    out->cursor = kw_scrub_next_changing(&self->exchange->call, path);
    out->has_cursor = out->cursor.size > 0;
}

static void
reply(void *user, const kw_scrub_result *result, const kw_error *error)
{
    scrubbing *self = user;
    kw_arena *arena = self->exchange->call.arena;
    if (error) {
        kw_exchange_fail(self->exchange, error);
        return;
    }
    kw_api_Scrubbed *out = KW_EXCHANGE_ALLOC(self->exchange, kw_api_Scrubbed);
    *out = (kw_api_Scrubbed){.rows = (int64_t)result->rows,
                             .missing = (int64_t)result->missing,
                             .different = (int64_t)result->different,
                             .extra = (int64_t)result->extra,
                             .foreign_rows = (int64_t)result->foreign,
                             .repaired = (int64_t)result->repaired,
                             .unsettled = (int64_t)result->unsettled,
                             .has_cursor = result->cursor.size > 0,
                             .cursor = result->cursor,
                             .has_stale_hints = result->stale > 0,
                             .stale_hints = (int64_t)result->stale,
                             .progress = result->progress};
    out->differences.items = KW_ARENA_ARRAY(arena, kw_api_Difference, result->differences_count);
    out->differences.count = (uint32_t)result->differences_count;
    for (size_t i = 0; i < result->differences_count; i++)
        out->differences.items[i] = difference_out(self->request.table, &result->differences[i], arena);
    if (self->request.changing)
        continue_with_next(self, out);
    if (self->request.changing)
        kw_exchange_reply(self->exchange,
                          &(kw_api_Admin_changeDiff_result){.has_success = true, .success = out});
    else
        kw_exchange_reply(self->exchange, &(kw_api_Admin_scrub_result){.has_success = true, .success = out});
}

static bool
read_number(const char *name, bool given, int32_t value, int32_t least, int32_t most, uint32_t *ret_value,
            kw_error *ret_error)
{
    if (!given)
        return true;
    if (value < least || value > most)
        return kw_error_set(ret_error, KW_INVALID, "options.%s must be %d to %d, not %d", name, least, most,
                            value);
    *ret_value = (uint32_t)value;
    return true;
}

static bool
read_options(scrubbing *self, const kw_api_ScrubOptions *options, kw_error *ret_error)
{
    kw_scrub_request *request = &self->request;
    uint32_t settle_ms = SETTLE_DEFAULT_MS;
    request->max_records = KW_SCRUB_RECORDS_MAX;
    request->max_differences = DIFFERENCES_DEFAULT;
    request->settle_ms = settle_ms;
    if (!options)
        return true;
    if (!read_number("max_records", options->has_max_records, options->max_records, 1, KW_SCRUB_RECORDS_MAX,
                     &request->max_records, ret_error) ||
        !read_number("max_differences", options->has_max_differences, options->max_differences, 0,
                     KW_SCRUB_DIFFERENCES_MAX, &request->max_differences, ret_error) ||
        !read_number("settle_ms", options->has_settle_ms, options->settle_ms, 0, SETTLE_MAX_MS, &settle_ms,
                     ret_error))
        return false;
    request->settle_ms = settle_ms;
    request->repair = options->has_repair && options->repair;
    if (options->has_cursor)
        request->cursor = options->cursor;
    if (options->has_cursor && options->cursor.size == 0)
        return kw_error_set(ret_error, KW_INVALID, "options.cursor is empty; leave it out to start");
    return kw_exchange_read_deadline(self->exchange, options->has_deadline_ms, options->deadline_ms,
                                     ret_error);
}

void
kw_serve_scrub(kw_exchange *exchange)
{
    const kw_api_Admin_scrub_args *args = exchange->args;
    scrubbing *self = KW_EXCHANGE_ALLOC(exchange, scrubbing);
    kw_error error;
    self->exchange = exchange;
    if (kw_exchange_find_table(exchange, args->has_table, args->table, &self->request.table, &error) &&
        read_options(self, args->has_options ? args->options : NULL, &error))
        kw_scrub(&exchange->call, &self->request, reply, self);
    else
        kw_exchange_fail(exchange, &error);
}

static bool
find_changing(scrubbing *self, kw_error *ret_error)
{
    kw_scrub_request *request = &self->request;
    request->changing = kw_scrub_find_changing(request->table, request->cursor, self->exchange->call.arena);
    return request->changing ||
           kw_error_set(ret_error, KW_INVALID,
                        "no change is under way in table %s, so there is nothing to compare",
                        request->table->name);
}

/* In a store with several writers, a repair can replace a value by an older one, if another call writes
 * the value in the same millisecond. The passes that follow the comparison of a change correct this, but
 * changeDiff can run after the last pass. */
static bool
check_repair(const kw_exchange *exchange, const kw_scrub_request *request, kw_error *ret_error)
{
    return !request->repair || !kw_store_is_shared(exchange->call.store) ||
           kw_error_set(
               ret_error, KW_REFUSED,
               "table %s: in this store the gateways repair the rows of a change themselves; run keyway "
               "change compare, or compare them without repair",
               request->table->name);
}

void
kw_serve_change_diff(kw_exchange *exchange)
{
    const kw_api_Admin_changeDiff_args *args = exchange->args;
    scrubbing *self = KW_EXCHANGE_ALLOC(exchange, scrubbing);
    kw_error error;
    self->exchange = exchange;
    if (kw_exchange_has_stored_policy(exchange, &error) &&
        kw_exchange_find_table(exchange, args->has_table, args->table, &self->request.table, &error) &&
        read_options(self, args->has_options ? args->options : NULL, &error) && find_changing(self, &error) &&
        check_repair(exchange, &self->request, &error))
        kw_scrub(&exchange->call, &self->request, reply, self);
    else
        kw_exchange_fail(exchange, &error);
}
