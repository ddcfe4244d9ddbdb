/* Merged rows as a caller gets them: planned, gathered, decoded into records and signed with a cursor, page
 * by page, from a table with 16 salt buckets and one with 256. */
#include "bench.h"

#include "listed_store.h"

#include "config/reader.h"
#include "verb/verb.h"

#include <glib.h>
#include <stdio.h>
#include <stdlib.h>

#define ROWS 200000
#define ROUNDS 5

static const char policy_form[] = "store: {kind: embedded}\n"
                                  "tables:\n"
                                  "  events:\n"
                                  "    fields:\n"
                                  "      ts: {type: timestamp, unit: ms}\n"
                                  "      id: string\n"
                                  "      a: string\n"
                                  "      b: string\n"
                                  "      c: string\n"
                                  "    key:\n"
                                  "      - salt: {buckets: %u, of: [id]}\n"
                                  "      - field: ts\n"
                                  "      - field: id\n";

typedef struct table {
    kw_arena *arena;
    kw_policy *policy;
    kw_store *store;
    kw_store_handle *handle;
    kw_keyring *keyring;
    bool done;
    kw_buffer cursor;
    size_t rows;
} table;

static int
by_key(const void *left, const void *right)
{
    return kw_bytes_compare(*(const kw_bytes *)left, *(const kw_bytes *)right);
}

static kw_policy *
read_policy(unsigned buckets)
{
    size_t count;
    const kw_component_schema *const *schemas = kw_rule_schemas(&count);
    g_autofree char *text = g_strdup_printf(policy_form, buckets);
    kw_diagnostics *problems = kw_diagnostics_new("bench");
    kw_model *model = kw_model_read_text("bench", text, strlen(text), schemas, count, problems);
    kw_policy *policy = model ? kw_policy_new(model, problems) : NULL;
    if (!policy)
        g_error("%s", kw_diagnostics_text(problems));
    kw_model_unref(model);
    kw_diagnostics_free(problems);
    return policy;
}

static kw_bytes *
make_keys(const kw_table *events, kw_arena *arena)
{
    kw_bytes *keys = KW_ARENA_ARRAY(arena, kw_bytes, ROWS);
    kw_record record = kw_record_new(events, arena);
    kw_buffer key = KW_BUFFER_EMPTY;
    for (int64_t i = 0; i < ROWS; i++) {
        char id[20];
        kw_error error;
        g_snprintf(id, sizeof id, "order-%08u", (unsigned)(kw_random_u64() % 100000000));
        record.values[0] = (kw_value){.kind = KW_VALUE_NUMBER, .number = 1700000000000 + i};
        record.values[1] = (kw_value){.kind = KW_VALUE_TEXT, .bytes = kw_bytes_of_text(id)};
        key.size = 0;
        if (!kw_layout_encode(events->paths[0].layout, &record, &key, &error))
            g_error("%s", error.text);
        keys[i] = kw_arena_copy(arena, kw_buffer_bytes(&key));
    }
    kw_buffer_clear(&key);
    qsort(keys, ROWS, sizeof(kw_bytes), by_key);
    return keys;
}

static void
set_up(table *self, kw_loop *loop, unsigned buckets)
{
    static const char *const qualifiers[] = {"a", "b", "c"};
    kw_bytes key = KW_BYTES_LITERAL("0123456789abcdef");
    *self = (table){.arena = kw_arena_new(), .policy = read_policy(buckets)};
    self->keyring = kw_keyring_new(&key, 1);
    self->store =
        listed_store_new(make_keys(kw_policy_table(self->policy, 0), self->arena), ROWS, qualifiers);
    self->handle = kw_store_open_handle(self->store, loop);
}

static void
paged(void *user, const kw_scan_page *page, const kw_error *error)
{
    table *self = user;
    if (error)
        g_error("%s", error->text);
    self->rows += page->count;
    self->cursor.size = 0;
    kw_buffer_append(&self->cursor, page->cursor);
    self->done = true;
}

/* CPU time per row of a whole scan. */
static double
scan_ns(table *self, kw_loop *loop)
{
    const kw_table *events = kw_policy_table(self->policy, 0);
    kw_arena *arena = kw_arena_new();
    kw_call call = {.arena = arena,
                    .policy = self->policy,
                    .store = self->store,
                    .handle = self->handle,
                    .loop = loop,
                    .keyring = self->keyring,
                    .deadline = KW_DEADLINE_NONE};
    kw_bound bounds[5] = {{0}};
    kw_scan_request request = {
        .query = {.table = events, .path = -1, .bounds = bounds, .range_field = -1, .full_scan = true}};
    self->rows = 0;
    double began_ns = bench_cpu_ns();
    kw_verb_scan(&call, &request, paged, self);
    for (;;) {
        while (!self->done)
            uv_run(kw_loop_uv(loop), UV_RUN_ONCE);
        self->done = false;
        if (self->cursor.size == 0)
            break;
        kw_arena_reset(arena);
        kw_verb_next(&call, kw_arena_copy(arena, kw_buffer_bytes(&self->cursor)), paged, self);
    }
    double ns = (bench_cpu_ns() - began_ns) / ROWS;
    g_assert(self->rows == ROWS);
    kw_arena_free(arena);
    return ns;
}

static void
closed(void *user)
{
    ((table *)user)->done = true;
}

static void
tear_down(table *self, kw_loop *loop)
{
    self->done = false;
    kw_store_handle_close(self->handle, closed, self);
    while (!self->done)
        uv_run(kw_loop_uv(loop), UV_RUN_ONCE);
    kw_store_free(self->store);
    kw_keyring_unref(self->keyring);
    kw_policy_unref(self->policy);
    kw_buffer_clear(&self->cursor);
    kw_arena_free(self->arena);
}

void
bench_records(kw_loop *loop, bool check)
{
    table of_16, of_256;
    double ns_16 = 0, ns_256 = 0;
    set_up(&of_16, loop, 16);
    set_up(&of_256, loop, 256);
    for (int round = 0; round < ROUNDS; round++) {
        double a = scan_ns(&of_16, loop), b = scan_ns(&of_256, loop);
        ns_16 = round ? MIN(ns_16, a) : a;
        ns_256 = round ? MIN(ns_256, b) : b;
    }
    printf("records of a scan, 16 buckets: %.0f ns (%.0f rows/s), 256 buckets: %.0f ns (%.0f rows/s): %.2f x "
           "(target "
           "1.5)\n",
           ns_16, 1e9 / ns_16, ns_256, 1e9 / ns_256, ns_256 / ns_16);
    bench_target(check, ns_256 <= 1.5 * ns_16, "256 buckets within 1.5 x of 16 per row");
    bench_target(check, ns_16 <= 1e9 / 300000, "300,000 merged rows/s");
    tear_down(&of_16, loop);
    tear_down(&of_256, loop);
}
