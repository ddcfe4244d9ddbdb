/* See probe.h. */
#include "catalog/probe.h"

#define BYTES_PER_FETCH ((size_t)64 * 1024)

typedef struct probing {
    kw_store_handle *handle;
    kw_deadline deadline;
    kw_rows_found *rows;
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

static void fetch(probing *self);

static void
fetched(void *user, kw_rows *rows, const kw_error *error)
{
    probing *self = user;
    if (error && error->code != KW_NOT_FOUND) {
        kw_error reported = *error;
        kw_error_prefix(&reported, "store table %s", self->evidence.store_tables[self->next]);
        kw_range_scan_close(self->scan);
        self->done(self->user, NULL, &reported);
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

static void
fetch(probing *self)
{
    kw_range_scan_fetch(self->scan, 1, BYTES_PER_FETCH, false, self->deadline, fetched, self);
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
kw_catalog_probe(kw_store_handle *handle, const char *const *store_tables, size_t count, kw_arena *arena,
                 kw_deadline deadline, kw_probed done, void *user)
{
    probing *self = KW_ARENA_NEW(arena, probing);
    *self = (probing){.handle = handle,
                      .deadline = deadline,
                      .rows = KW_ARENA_ARRAY(arena, kw_rows_found, count),
                      .evidence = {.store_tables = store_tables, .count = count},
                      .done = done,
                      .user = user};
    self->evidence.rows = self->rows;
    probe_next(self);
}
