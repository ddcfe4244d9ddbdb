/* A cursor begins with a letter: c and the last row of the catalog, or n and the name of the last counter. */
#include "policy/transfers.h"

#include "base/container.h"
#include "base/log.h"
#include "catalog/transfer.h"
#include "config/parse.h"
#include "sequence/backup.h"

#define CATALOG 'c'
#define COUNTERS 'n'
/* An import has no deadline of its own: it repeats what was not done. */
#define IMPORT_MS 60000

typedef struct transfer_request {
    kw_control_request request;
    kw_transfer_done done;
    kw_transfer transfer;
    kw_transfer page; /* the result */
} transfer_request;

/* --- the reply ------------------------------------------------------------------------------------- */

static const kw_saved_cell *
copy_cells(kw_arena *arena, const kw_saved_cell *cells, size_t count)
{
    kw_saved_cell *copies = KW_ARENA_ARRAY(arena, kw_saved_cell, count);
    for (size_t i = 0; i < count; i++)
        copies[i] = (kw_saved_cell){kw_arena_copy(arena, cells[i].row), kw_arena_copy(arena, cells[i].column),
                                    kw_arena_copy(arena, cells[i].value)};
    return copies;
}

static kw_transfer
copy_transfer(const kw_control_request *request, const kw_transfer *from)
{
    kw_transfer copy = *from;
    copy.cursor = kw_arena_copy(request->arena, from->cursor);
    copy.export_id = kw_control_request_text(request, from->export_id ? from->export_id : "");
    copy.cells = copy_cells(request->arena, from->cells, from->cells_count);
    copy.counters = copy_cells(request->arena, from->counters, from->counters_count);
    copy.counters_table = kw_control_request_text(request, from->counters_table ? from->counters_table : "");
    return copy;
}

static void
reply(kw_control_request *request, const kw_error *error)
{
    const transfer_request *self = KW_CONTAINER(request, transfer_request, request);
    self->done(request->user, error ? NULL : &self->page, error);
}

static void
finish(transfer_request *self, const kw_transfer *page, const kw_error *error)
{
    if (!error)
        self->page = copy_transfer(&self->request, page);
    kw_control_request_finish(&self->request, error);
}

/* --- export ---------------------------------------------------------------------------------------- */

static kw_bytes
make_cursor(const transfer_request *self, char kind, kw_bytes last)
{
    uint8_t *cursor = kw_arena_alloc(self->request.arena, last.size + 1);
    cursor[0] = (uint8_t)kind;
    if (last.size)
        memcpy(cursor + 1, last.data, last.size);
    return kw_bytes_of(cursor, last.size + 1);
}

/* Where the counters in the store are. With Redis there are none. */
static kw_transfer
page_of(const transfer_request *self)
{
    const kw_model_sequences *sequences = &kw_control_model(self->request.control)->sequences;
    return (kw_transfer){.export_id = "",
                         .counters_table = sequences->redis ? "" : sequences->table,
                         .counters_keep_ms = sequences->keep_ms};
}

static void
on_cells(void *user, const kw_saved_cell *cells, size_t count, kw_bytes last, const kw_error *error)
{
    transfer_request *self = user;
    kw_transfer page = page_of(self);
    page.cells = cells;
    page.cells_count = count;
    page.cursor = make_cursor(self, last.size ? CATALOG : COUNTERS, last);
    finish(self, &page, error);
}

static void
on_counters(void *user, const kw_saved_cell *counters, size_t count, kw_bytes last, const kw_error *error)
{
    transfer_request *self = user;
    kw_transfer page = page_of(self);
    page.counters = counters;
    page.counters_count = count;
    page.cursor = last.size ? make_cursor(self, COUNTERS, last) : KW_BYTES_NONE;
    finish(self, &page, error);
}

static void export(transfer_request *self)
{
    kw_control *control = self->request.control;
    kw_bytes cursor = self->transfer.cursor;
    kw_transfer page = page_of(self);
    kw_error error;
    if (cursor.size == 0)
        kw_catalog_export(control->catalog, KW_BYTES_NONE, kw_control_call_deadline(control), on_cells, self);
    else if (cursor.data[0] == CATALOG && cursor.size > 1)
        kw_catalog_export(control->catalog, kw_bytes_skip(cursor, 1), kw_control_call_deadline(control),
                          on_cells, self);
    else if (cursor.data[0] != COUNTERS) {
        kw_error_set(&error, KW_INVALID, "the cursor is not one of exportCatalog");
        finish(self, NULL, &error);
    } else if (page.counters_table[0])
        kw_counters_read_page(control->handle, kw_bytes_of_text(page.counters_table),
                              kw_bytes_skip(cursor, 1), kw_control_call_deadline(control), on_counters, self);
    else
        finish(self, &page, NULL);
}

/* --- import ---------------------------------------------------------------------------------------- */

typedef struct importing {
    transfer_request *request;
    kw_catalog_import import;
    kw_model_sequences sequences;
} importing;

static void
log_step(const importing *self)
{
    if (self->import.step != KW_IMPORT_ADD)
        kw_log(KW_LOG_INFO, "catalog",
               self->import.step == KW_IMPORT_BEGIN ? "an import of the catalog has begun"
                                                    : "the catalog was imported",
               KW_LOG_FACT("catalog", kw_control_model(self->request->request.control)->store.catalog),
               KW_LOG_FACT("export", self->import.export_id));
}

static void
on_imported(void *user, const kw_error *error)
{
    const importing *self = user;
    kw_transfer page = page_of(self->request);
    if (!error)
        log_step(self);
    finish(self->request, &page, error);
}

/* The counters are raised before the import ends, so no gateway generates numbers meanwhile. */
static void
on_cells_imported(void *user, const kw_error *error)
{
    importing *self = user;
    const kw_transfer *part = &self->request->transfer;
    if (error)
        on_imported(self, error);
    else
        kw_counters_raise(self->request->request.control->handle, &self->sequences, part->counters,
                          part->counters_count, kw_deadline_in_ms(IMPORT_MS), on_imported, self);
}

static bool
check_counters(const importing *self, kw_error *ret_error)
{
    const kw_transfer *part = &self->request->transfer;
    bool good = part->counters_keep_ms >= 0 && part->counters_keep_ms <= INT64_C(1000) * 86400 * 3660;
    return part->counters_count == 0 || good ||
           kw_error_set(ret_error, KW_INVALID, "counters_keep_ms is out of range");
}

static kw_import_step
step_of(kw_transfer_step step)
{
    return step == KW_TRANSFER_BEGIN ? KW_IMPORT_BEGIN
           : step == KW_TRANSFER_ADD ? KW_IMPORT_ADD
                                     : KW_IMPORT_END;
}

static void
import(transfer_request *self)
{
    const kw_transfer *part = &self->transfer;
    importing *state = KW_ARENA_NEW(self->request.arena, importing);
    kw_error error;
    *state = (importing){.request = self,
                         .import = {.step = step_of(part->step),
                                    .export_id = part->export_id,
                                    .cells = part->cells,
                                    .count = part->cells_count},
                         .sequences = {.table = kw_control_model(self->request.control)->sequences.table,
                                       .keep_ms = part->counters_keep_ms}};
    if (check_counters(state, &error))
        kw_catalog_import_cells(self->request.control->catalog, &state->import, kw_deadline_in_ms(IMPORT_MS),
                                on_cells_imported, state);
    else
        finish(self, NULL, &error);
}

static void
run(kw_control_request *request)
{
    transfer_request *self = KW_CONTAINER(request, transfer_request, request);
    if (self->transfer.step == KW_TRANSFER_EXPORT)
        export(self);
    else
        import(self);
}

void
kw_policy_transfer(void *user, const kw_transfer *part, kw_loop *loop, kw_transfer_done done, void *done_user)
{
    static const kw_control_request_kind kind = {.group = KW_REQUESTS_TRANSFER, .run = run, .reply = reply};
    transfer_request *self = kw_control_request_new(sizeof *self, &kind, user, loop, done_user);
    self->done = done;
    self->transfer = copy_transfer(&self->request, part);
    kw_control_request_send(&self->request);
}
