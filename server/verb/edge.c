#include "verb/edge.h"

typedef struct edge {
    kw_call *call;
    kw_range_scan *scan;
    kw_edge_found found;
    void *user;
} edge;

static void fetch(edge *self);

static void
fetched(void *user, kw_rows *rows, const kw_error *error)
{
    edge *self = user;
    bool none_yet = !error && rows->count == 0 && !rows->end;
    kw_bytes key =
        !error && rows->count ? kw_arena_copy(self->call->arena, rows->rows[0].key) : KW_BYTES_NONE;
    kw_rows_free(rows);
    if (none_yet) {
        fetch(self);
        return;
    }
    kw_range_scan_close(g_steal_pointer(&self->scan));
    self->found(self->user, key, error);
}

static void
fetch(edge *self)
{
    kw_range_scan_fetch(self->scan, 1, 1, false, self->call->deadline, fetched, self);
}

void
kw_edge_find(kw_call *call, const kw_range_scan_spec *spec, kw_edge_found found, void *user)
{
    edge *self = KW_ARENA_NEW(call->arena, edge);
    *self = (edge){.call = call,
                   .scan = kw_store_handle_open_range_scan(call->handle, spec),
                   .found = found,
                   .user = user};
    fetch(self);
}
