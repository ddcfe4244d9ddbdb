/* verify: checks the options, judges one slice of the rows of a path, and records it in the catalog if all
 * rows fit. */
#include "reconcile/verify.h"
#include "service/methods.h"
#include "service/methods/convert.h"
#include "service/show.h"

#include <glib.h>

#define EXAMPLES_DEFAULT 20

typedef struct verifying {
    kw_exchange *exchange;
    const kw_table *table;
    kw_verify_request request;
    kw_api_Verified out;
    kw_verified_rows recorded;
} verifying;

/* --- the reply ----------------------------------------------------------------------------------- */

static kw_api_RowCount *
counts_out(const kw_verify_count *counts, size_t count, kw_arena *arena)
{
    kw_api_RowCount *out = KW_ARENA_ARRAY(arena, kw_api_RowCount, count);
    for (size_t i = 0; i < count; i++)
        out[i] = (kw_api_RowCount){.bytes = counts[i].bytes, .rows = (int64_t)counts[i].rows};
    return out;
}

static void
add_fields(const verifying *self, const kw_verify_result *result, kw_arena *arena, kw_api_Verified *to)
{
    const kw_table *table = self->table;
    to->undecodable_fields.items =
        kw_arena_alloc(arena, table->fields_count * sizeof *to->undecodable_fields.items);
    for (size_t i = 0; i < table->fields_count; i++) {
        if (result->undecodable_fields[i] == 0)
            continue;
        uint32_t at = to->undecodable_fields.count++;
        to->undecodable_fields.items[at].key = kw_bytes_of_text(table->fields[i].name);
        to->undecodable_fields.items[at].value = (int64_t)result->undecodable_fields[i];
    }
}

static void
add_examples(const verifying *self, const kw_verify_result *result, kw_arena *arena, kw_api_Verified *to)
{
    to->examples.items = KW_ARENA_ARRAY(arena, kw_api_UnfitRow, result->examples_count);
    to->examples.count = (uint32_t)result->examples_count;
    for (size_t i = 0; i < result->examples_count; i++) {
        const kw_verify_example *from = &result->examples[i];
        to->examples.items[i] = (kw_api_UnfitRow){
            .row_key = from->row_key, .has_field = from->field >= 0, .text = kw_bytes_of_text(from->text)};
        if (from->field >= 0)
            to->examples.items[i].field = kw_bytes_of_text(self->table->fields[from->field].name);
    }
}

static void
add_ages(const kw_verify_result *result, kw_arena *arena, kw_api_Verified *to)
{
    to->ages.items = KW_ARENA_ARRAY(arena, int64_t, KW_VERIFY_AGES);
    to->ages.count = KW_VERIFY_AGES;
    for (size_t i = 0; i < KW_VERIFY_AGES; i++)
        to->ages.items[i] = (int64_t)result->ages[i];
}

static kw_api_Verified
verified_out(const verifying *self, const kw_verify_result *result, kw_arena *arena)
{
    kw_api_Verified out = {.rows = (int64_t)result->rows,
                           .foreign_rows = (int64_t)result->foreign,
                           .undecodable_rows = (int64_t)result->undecodable,
                           .large_rows = (int64_t)result->large,
                           .has_oldest = result->oldest_ms != 0,
                           .oldest = result->oldest_ms,
                           .has_newest = result->oldest_ms != 0,
                           .newest = result->newest_ms,
                           .expired_rows = (int64_t)result->expired,
                           .future_rows = (int64_t)result->future,
                           .versioned_rows = (int64_t)result->versioned,
                           .most_versions = (int64_t)result->most_versions,
                           .has_cursor = result->cursor.size > 0,
                           .cursor = result->cursor,
                           .progress = result->progress,
                           .verified = result->all_fit};
    out.first_bytes.items = counts_out(result->first_bytes, result->first_bytes_count, arena);
    out.first_bytes.count = (uint32_t)result->first_bytes_count;
    out.buckets.items = counts_out(result->buckets, result->buckets_count, arena);
    out.buckets.count = (uint32_t)result->buckets_count;
    add_ages(result, arena, &out);
    add_fields(self, result, arena, &out);
    add_examples(self, result, arena, &out);
    return out;
}

static void
reply(void *user, const kw_error *error)
{
    verifying *self = user;
    if (error)
        kw_exchange_fail(self->exchange, error);
    else
        kw_exchange_reply(self->exchange,
                          &(kw_api_Admin_verify_result){.has_success = true, .success = &self->out});
}

static void
on_judged(void *user, const kw_verify_result *result, const kw_error *error)
{
    verifying *self = user;
    const kw_service_settings *settings = &self->exchange->worker->service->settings;
    kw_arena *arena = self->exchange->call.arena;
    if (error) {
        kw_exchange_fail(self->exchange, error);
        return;
    }
    self->out = verified_out(self, result, arena);
    if (!result->all_fit || !settings->verified) {
        reply(self, NULL);
        return;
    }
    const kw_placement *placement = kw_path_scanned(self->request.path);
    self->recorded = (kw_verified_rows){.table = self->table->name,
                                        .path = self->request.path->name,
                                        .fingerprint = kw_layout_fingerprint(placement->layout),
                                        .store_table = kw_arena_text(arena, placement->store_table),
                                        .rows = (int64_t)result->rows_so_far};
    settings->verified(settings->user, &self->recorded, self->exchange->call.loop, reply, self);
}

/* --- the request --------------------------------------------------------------------------------- */

static bool
read_number(const char *name, bool given, int32_t value, int32_t least, int32_t most, uint32_t *ret_value,
            kw_error *ret_error)
{
    if (given && (value < least || value > most))
        return kw_error_set(ret_error, KW_INVALID, "options.%s must be %d to %d, not %d", name, least, most,
                            value);
    if (given)
        *ret_value = (uint32_t)value;
    return true;
}

static bool
find_path(verifying *self, kw_bytes name, kw_error *ret_error)
{
    char shown[KW_SHOWN_MAX];
    int path = kw_table_find_queried_path(self->table, name);
    if (path < 0)
        return kw_error_set(ret_error, KW_NOT_FOUND, "table %s has no path %s that holds records",
                            self->table->name, kw_show_name(name, shown));
    self->request.path = &self->table->paths[path];
    return true;
}

static bool
read_options(verifying *self, const kw_api_VerifyOptions *options, kw_error *ret_error)
{
    kw_verify_request *request = &self->request;
    *request = (kw_verify_request){
        .path = self->table->paths, .max_rows = KW_VERIFY_ROWS_MAX, .max_examples = EXAMPLES_DEFAULT};
    if (!options)
        return true;
    if (options->has_path && !find_path(self, options->path, ret_error))
        return false;
    if (options->has_cursor && options->cursor.size == 0)
        return kw_error_set(ret_error, KW_INVALID, "options.cursor is empty; leave it out to start");
    if (options->has_cursor)
        request->cursor = options->cursor;
    return read_number("max_rows", options->has_max_rows, options->max_rows, 1, KW_VERIFY_ROWS_MAX,
                       &request->max_rows, ret_error) &&
           read_number("max_examples", options->has_max_examples, options->max_examples, 0,
                       KW_VERIFY_EXAMPLES_MAX, &request->max_examples, ret_error) &&
           kw_exchange_read_deadline(self->exchange, options->has_deadline_ms, options->deadline_ms,
                                     ret_error);
}

void
kw_serve_verify(kw_exchange *exchange)
{
    const kw_api_Admin_verify_args *args = exchange->args;
    verifying *self = KW_EXCHANGE_ALLOC(exchange, verifying);
    kw_error error;
    *self = (verifying){.exchange = exchange};
    if (kw_exchange_find_table(exchange, args->has_table, args->table, &self->table, &error) &&
        read_options(self, args->has_options ? args->options : NULL, &error))
        kw_verify(&exchange->call, &self->request, on_judged, self);
    else
        kw_exchange_fail(exchange, &error);
}
