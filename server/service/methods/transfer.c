/* exportCatalog and importCatalog: backups of the catalog and of the counters of sequences. */
#include "service/methods.h"
#include "service/methods/convert.h"

#define CELLS_MAX 10000
#define BYTES_MAX ((size_t)2 * 1024 * 1024)
#define CURSOR_BYTES_MAX ((size_t)32 * 1024)

static void
transfer(kw_exchange *exchange, const kw_transfer *command, kw_transfer_done done)
{
    const kw_service_settings *settings = &exchange->worker->service->settings;
    kw_exchange_drop_policy(exchange);
    settings->transfer(settings->user, command, exchange->call.loop, done, exchange);
}

/* --- export ---------------------------------------------------------------------------------------- */

static kw_api_SavedCell *
cells_out(const kw_saved_cell *cells, size_t count, kw_arena *arena)
{
    kw_api_SavedCell *out = KW_ARENA_ARRAY(arena, kw_api_SavedCell, count);
    for (size_t i = 0; i < count; i++)
        out[i] = (kw_api_SavedCell){.row = cells[i].row, .column = cells[i].column, .value = cells[i].value};
    return out;
}

static void
reply_page(void *user, const kw_transfer *page, const kw_error *error)
{
    kw_exchange *exchange = user;
    kw_arena *arena = exchange->call.arena;
    if (error) {
        kw_exchange_fail(exchange, error);
        return;
    }
    kw_api_CatalogPage out = {.cells = {.items = cells_out(page->cells, page->cells_count, arena),
                                        .count = (uint32_t)page->cells_count},
                              .counters = {.items = cells_out(page->counters, page->counters_count, arena),
                                           .count = (uint32_t)page->counters_count},
                              .counters_table = kw_bytes_of_text(page->counters_table),
                              .counters_keep_ms = page->counters_keep_ms,
                              .has_cursor = page->cursor.size > 0,
                              .cursor = page->cursor};
    kw_exchange_reply(exchange, &(kw_api_Admin_exportCatalog_result){.has_success = true, .success = &out});
}

void
kw_serve_export_catalog(kw_exchange *exchange)
{
    const kw_api_Admin_exportCatalog_args *args = exchange->args;
    kw_bytes cursor = args->has_cursor ? args->cursor : KW_BYTES_NONE;
    kw_error error;
    if (cursor.size > CURSOR_BYTES_MAX) {
        kw_error_set(&error, KW_LIMIT, "the cursor has %zu bytes; at most %zu are allowed", cursor.size,
                     CURSOR_BYTES_MAX);
        kw_exchange_fail(exchange, &error);
    } else {
        transfer(exchange,
                 &(kw_transfer){
                     .step = KW_TRANSFER_EXPORT, .cursor = cursor, .export_id = "", .counters_table = ""},
                 reply_page);
    }
}

/* --- import ---------------------------------------------------------------------------------------- */

static kw_saved_cell *
cells_in(const kw_api_SavedCell *cells, uint32_t count, kw_arena *arena)
{
    kw_saved_cell *in = KW_ARENA_ARRAY(arena, kw_saved_cell, count);
    for (uint32_t i = 0; i < count; i++)
        in[i] = (kw_saved_cell){cells[i].row, cells[i].column, cells[i].value};
    return in;
}

static size_t
count_bytes(const kw_api_SavedCell *cells, uint32_t count)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < count; i++)
        bytes += cells[i].row.size + cells[i].column.size + cells[i].value.size;
    return bytes;
}

static bool
find_step(kw_api_ImportStep step, kw_transfer_step *ret_step)
{
    switch (step) {
    case KW_API_ImportStep_START:
        *ret_step = KW_TRANSFER_BEGIN;
        return true;
    case KW_API_ImportStep_ADD:
        *ret_step = KW_TRANSFER_ADD;
        return true;
    case KW_API_ImportStep_FINISH:
        *ret_step = KW_TRANSFER_END;
        return true;
    default:
        return false;
    }
}

static bool
read_part(const kw_exchange *exchange, kw_transfer *ret_command, kw_error *ret_error)
{
    const kw_api_Admin_importCatalog_args *args = exchange->args;
    const kw_api_CatalogPart *part = args->part;
    kw_arena *arena = exchange->call.arena;
    kw_transfer_step step;
    if (!args->has_part)
        return kw_error_set(ret_error, KW_INVALID, "the argument part is missing");
    if (!find_step((kw_api_ImportStep)part->step, &step))
        return kw_error_set(ret_error, KW_INVALID, "part.step is not known");
    uint32_t cells = part->has_cells ? part->cells.count : 0;
    uint32_t counters = part->has_counters ? part->counters.count : 0;
    if (step == KW_TRANSFER_BEGIN && (cells || counters))
        return kw_error_set(ret_error, KW_INVALID, "the first part of an import has no cells and counters");
    if ((uint64_t)cells + counters > CELLS_MAX)
        return kw_error_set(ret_error, KW_LIMIT, "part has more than %d cells and counters", CELLS_MAX);
    if (count_bytes(part->cells.items, cells) + count_bytes(part->counters.items, counters) > BYTES_MAX)
        return kw_error_set(ret_error, KW_LIMIT, "part has cells and counters of more than %zu bytes",
                            BYTES_MAX);
    *ret_command = (kw_transfer){
        .step = step,
        .export_id = kw_arena_text(arena, part->export_id),
        .cells = cells_in(part->cells.items, cells, arena),
        .cells_count = cells,
        .counters = cells_in(part->counters.items, counters, arena),
        .counters_count = counters,
        .counters_table = part->has_counters_table ? kw_arena_text(arena, part->counters_table) : "",
        .counters_keep_ms = part->has_counters_keep_ms ? part->counters_keep_ms : 0};
    return true;
}

static void
reply_imported(void *user, const kw_transfer *page, const kw_error *error)
{
    kw_exchange *exchange = user;
    (void)page;
    if (error)
        kw_exchange_fail(exchange, error);
    else
        kw_exchange_reply(exchange, &(kw_api_Admin_importCatalog_result){.has_failure = false});
}

void
kw_serve_import_catalog(kw_exchange *exchange)
{
    kw_transfer command;
    kw_error error;
    if (read_part(exchange, &command, &error))
        transfer(exchange, &command, reply_imported);
    else
        kw_exchange_fail(exchange, &error);
}
