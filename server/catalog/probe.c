#include "catalog/probe.h"

#define BYTES_PER_FETCH ((size_t)64 * 1024)
/* A lenient probe waits for one store table for this part of the time that is left. */
#define SHARE_OF_TIME 3

typedef struct probing {
    kw_store_handle *handle;
    kw_arena *arena;
    kw_deadline deadline;
    bool lenient;
    kw_rows_found *rows;
    const kw_error **errors;
    kw_evidence evidence;
    size_t next;
    kw_range_scan *scan;
    kw_probed done;
    void *user;
} probing;

static void probe_next(probing *self);

static void
found(probing *self, kw_rows_found what)
{
    self->rows[self->next++] = what;
    probe_next(self);
}

static void
failed(probing *self, const kw_error *error)
{
    kw_error *kept = KW_ARENA_NEW(self->arena, kw_error);
    *kept = *error;
    kw_error_prefix(kept, "store table %s", self->evidence.store_tables[self->next]);
    if (!self->lenient) {
        self->done(self->user, NULL, kept);
        return;
    }
    self->rows[self->next] = KW_ROWS_SOME;
    self->errors[self->next++] = kept;
    probe_next(self);
}

static void fetch(probing *self);

static void
fetched(void *user, kw_rows *rows, const kw_error *error)
{
    probing *self = user;
    if (error && error->code != KW_NOT_FOUND) {
        kw_error reported = *error;
        kw_range_scan_close(self->scan);
        failed(self, &reported);
        return;
    }
    bool some = rows && rows->count > 0, end = !rows || rows->end;
    kw_rows_free(rows);
    if (!some && !end) {
        fetch(self);
        return;
    }
    kw_range_scan_close(self->scan);
    found(self, error ? KW_ROWS_NO_TABLE : some ? KW_ROWS_SOME : KW_ROWS_NONE);
}

static kw_deadline
deadline_of_one(const probing *self)
{
    kw_deadline now = kw_clock_mono_ns();
    if (!self->lenient || self->deadline == KW_DEADLINE_NONE || self->deadline <= now)
        return self->deadline;
    return now + (self->deadline - now) / SHARE_OF_TIME;
}

static void
fetch(probing *self)
{
    kw_range_scan_fetch(self->scan, 1, BYTES_PER_FETCH, false, deadline_of_one(self), fetched, self);
}

static void
probe_next(probing *self)
{
    if (self->next == self->evidence.count) {
        self->done(self->user, &self->evidence, NULL);
        return;
    }
    self->scan = kw_store_handle_open_range_scan(
        self->handle,
        &(kw_range_scan_spec){.table = kw_bytes_of_text(self->evidence.store_tables[self->next])});
    fetch(self);
}

void
kw_catalog_probe(kw_store_handle *handle, const char *const *store_tables, size_t count, bool lenient,
                 kw_arena *arena, kw_deadline deadline, kw_probed done, void *user)
{
    probing *self = KW_ARENA_NEW(arena, probing);
    *self = (probing){.handle = handle,
                      .arena = arena,
                      .deadline = deadline,
                      .lenient = lenient,
                      .rows = KW_ARENA_ARRAY(arena, kw_rows_found, count),
                      .errors = KW_ARENA_ARRAY(arena, const kw_error *, count),
                      .evidence = {.store_tables = store_tables, .count = count},
                      .done = done,
                      .user = user};
    self->evidence.rows = self->rows;
    self->evidence.errors = self->errors;
    probe_next(self);
}
