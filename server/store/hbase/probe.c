/* FuzzyRowFilter saves reads, but answers wrongly on servers that were started in certain ways
 * (filter_bytes.h), and wrong means that rows are missing. So it is only used where it was seen to work: the
 * heartbeat's row (clock.c) is read twice.
 *
 *   pattern of the row, a byte left free   the row must come
 *   the same, the last byte another        no row must come (else the server knows no filterBytes)
 *
 * Until then, and if not, rows are filtered one by one. One store handle of the process asks, once; a probe
 * that fails is tried again with a later heartbeat.
 */
#include "store/hbase/filter_bytes.h"
#include "store/hbase/handle.h"

#include "base/log.h"

#define CALL_MS 5000

typedef struct probe {
    kw_hbase_handle *handle;
    kw_arena *arena; /* owns this */
    bool other;      /* the second question is under way */
    kw_bytes row;
    kw_hb_TGet get;
    kw_hb_THBaseService_get_args args;
    kw_hbase_call call;
} probe;

static _Atomic kw_hbase_probed *
state_of(const kw_hbase_handle *handle)
{
    return &((kw_hbase_store *)handle->base.store)->probed;
}

bool
kw_hbase_probe_seeks(const kw_hbase_handle *handle)
{
    return atomic_load_explicit(state_of(handle), memory_order_relaxed) == KW_HBASE_FUZZY_GOOD;
}

static void
end(probe *self, kw_hbase_probed found)
{
    atomic_store(state_of(self->handle), found);
    if (found == KW_HBASE_FUZZY_BAD)
        kw_log(KW_LOG_WARN, "hbase",
               "the store answers FuzzyRowFilter wrongly: rows are sifted without seeks", "row_missing=%s",
               self->other ? "no" : "yes");
    kw_arena_free(self->arena);
}

static void ask(probe *self);

static void
answered(kw_hbase_call *call, const void *result, const kw_hbase_failure *failure)
{
    probe *self = call->user;
    const kw_hb_THBaseService_get_result *answer = result;
    if (failure) {
        end(self, KW_HBASE_UNPROBED);
        return;
    }
    bool came = answer->success && answer->success->columnValues.count > 0;
    if (came == self->other) {
        end(self, KW_HBASE_FUZZY_BAD);
    } else if (self->other) {
        end(self, KW_HBASE_FUZZY_GOOD);
    } else {
        self->other = true;
        ask(self);
    }
}

static void
ask(probe *self)
{
    size_t size = self->row.size;
    uint8_t *bytes = kw_arena_alloc(self->arena, size), *mask = kw_arena_alloc0(self->arena, size);
    memcpy(bytes, self->row.data, size);
    mask[size / 2 - 1] = 1;
    bytes[size - 1] ^= self->other;
    kw_pattern pattern = {.bytes = kw_bytes_of(bytes, size), .mask = mask};
    kw_patterns patterns = {.items = &pattern, .count = 1};
    self->get = (kw_hb_TGet){.row = self->row, .has_filterBytes = true};
    self->get.filterBytes = kw_hbase_filter_bytes(NULL, &patterns, KW_HBASE_FUZZY_SEEKING, self->arena);
    self->args.tget = &self->get;
    self->call = (kw_hbase_call){.method = KW_HB_THBaseService_get,
                                 .args = &self->args,
                                 .table = self->args.table,
                                 .deadline = kw_deadline_in_ms(CALL_MS),
                                 .repeatable = true,
                                 .keep = self->arena,
                                 .done = answered,
                                 .user = self};
    kw_hbase_pool_start(&self->handle->pool, &self->call);
}

void
kw_hbase_probe(kw_hbase_handle *handle, kw_bytes table, kw_bytes row)
{
    kw_hbase_probed unprobed = KW_HBASE_UNPROBED;
    g_assert(row.size >= 2);
    if (!atomic_compare_exchange_strong(state_of(handle), &unprobed, KW_HBASE_PROBING))
        return;
    kw_arena *arena = kw_arena_new();
    probe *self = KW_ARENA_NEW(arena, probe);
    *self = (probe){.handle = handle, .arena = arena};
    self->row = kw_arena_copy(arena, row);
    self->args.table = kw_arena_copy(arena, table);
    ask(self);
}
