/* Tests if FuzzyRowFilter works on these servers. It saves reads, but on servers started with certain options
 * it omits matching rows (filter_bytes.h). So it is used only after a test: the heartbeat's row
 * (heartbeats.c) is read twice.
 *
 *   with the pattern of the row, one byte free   must return the row
 *   the same with a different last byte          must return no row (else the server ignores filterBytes)
 *
 * Before the test and if it fails, each row is filtered by a regular expression. One store handle of the
 * process runs the test, once. If a call of the test has an error, the test is repeated with a later
 * heartbeat.
 */
#include "store/hbase/handle.h"
#include "store/hbase/thrift2/filter_bytes.h"

#include "base/log.h"

#define CALL_MS 5000

typedef struct probe {
    kw_hbase_handle *handle;
    kw_arena *arena; /* contains this struct */
    bool mismatch;   /* the second read, with a pattern that does not match */
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
kw_hbase_probe_allows_fuzzy(const kw_hbase_handle *handle)
{
    return atomic_load_explicit(state_of(handle), memory_order_relaxed) == KW_HBASE_FUZZY_WORKS;
}

static void
finish(probe *self, kw_hbase_probed state)
{
    atomic_store(state_of(self->handle), state);
    if (state == KW_HBASE_FUZZY_BROKEN)
        kw_log(KW_LOG_WARN, "hbase",
               "FuzzyRowFilter does not work on this store; using slower filters without seeks",
               KW_LOG_FACT("row_missing", self->mismatch ? "no" : "yes"));
    kw_arena_free(self->arena);
}

static void start_read(probe *self);

static void
answered(kw_hbase_call *call, const void *result, const kw_hbase_failure *failure)
{
    probe *self = call->user;
    const kw_hb_THBaseService_get_result *answer = result;
    if (failure) {
        finish(self, KW_HBASE_UNPROBED);
        return;
    }
    bool found_row = answer->success && answer->success->columnValues.count > 0;
    if (found_row == self->mismatch) {
        finish(self, KW_HBASE_FUZZY_BROKEN);
    } else if (self->mismatch) {
        finish(self, KW_HBASE_FUZZY_WORKS);
    } else {
        self->mismatch = true;
        start_read(self);
    }
}

static void
start_read(probe *self)
{
    size_t size = self->row.size;
    uint8_t *bytes = kw_arena_alloc(self->arena, size), *mask = kw_arena_alloc0(self->arena, size);
    memcpy(bytes, self->row.data, size);
    mask[size / 2 - 1] = 1;
    bytes[size - 1] ^= self->mismatch;
    kw_pattern pattern = {.bytes = kw_bytes_of(bytes, size), .mask = mask};
    kw_patterns patterns = {.items = &pattern, .count = 1};
    self->get = (kw_hb_TGet){.row = self->row, .has_filterBytes = true};
    self->get.filterBytes = kw_hbase_filter_bytes(NULL, &patterns, KW_HBASE_PATTERN_FUZZY, self->arena);
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
    start_read(self);
}
