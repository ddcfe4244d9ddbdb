#include "reconcile/first_key.h"

typedef struct first_key_search {
    kw_call *call;
    kw_range_scan *scan;
    kw_first_key_found found;
    void *user;
} first_key_search;

static void fetch(first_key_search *self);

static void
fetched(void *user, kw_rows *rows, const kw_error *error)
{
    first_key_search *self = user;
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
fetch(first_key_search *self)
{
    kw_range_scan_fetch(self->scan, 1, 1, false, self->call->deadline, fetched, self);
}

void
kw_first_key_find(kw_call *call, const kw_range_scan_spec *spec, kw_first_key_found found, void *user)
{
    g_assert(found);
    first_key_search *self = KW_ARENA_NEW(call->arena, first_key_search);
    *self = (first_key_search){.call = call,
                               .scan = kw_store_handle_open_range_scan(call->handle, spec),
                               .found = found,
                               .user = user};
    fetch(self);
}

void
kw_last_key_find(kw_call *call, const kw_placement *placement, const kw_ordering *ordering,
                 kw_first_key_found found, void *user)
{
    kw_range_scan_spec spec = {.table = placement->store_table,
                               .reversed = true,
                               .max_versions = 1,
                               .filter = KW_STORE_FIRST_CELL,
                               .filters_cells_only = true,
                               .keep_blocks_out_of_cache = true,
                               .account = call->account,
                               .call = call->number,
                               .ordering = ordering};
    kw_first_key_find(call, &spec, found, user);
}
