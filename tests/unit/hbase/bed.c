#include "bed.h"

#include "base/log.h"
#include "store/hbase/handle.h"
#include "store/hbase/hbase_store.h"
#include "store/hbase/thrift2/convert.h"

/* HBase retries calls on a disabled table for most of a minute, longer on a busy machine. */
#define MAX_MS 180000

void
answer_clear(answer *got)
{
    kw_rows_free(got->rows);
    kw_table_facts_free(got->facts);
    kw_regions_free(got->regions);
    got->rows = NULL;
    got->facts = NULL;
    got->regions = NULL;
}

const kw_hbase_tuning bed_tuning = {.pipeline = 1,
                                    .connect_timeout_ms = 1000,
                                    .ping_ms = 20000,
                                    .backoff_ms = 200,
                                    .batch_bytes = 1024 * 1024,
                                    .retry_percent = 20};

kw_model_hbase
bed_settings(const kw_model_server *servers, size_t count)
{
    return (kw_model_hbase){
        .client_pause_ms = 100, .servers = servers, .servers_count = count, .channels = 2};
}

void
bed_open(bed *in, const kw_model_hbase *settings)
{
    kw_error error = KW_ERROR_NONE;
    in->loop = kw_loop_new();
    in->store = kw_hbase_open_tuned(settings, &in->tuning, &error);
    g_assert_cmpstr(error.text, ==, "");
    g_assert_nonnull(in->store);
    for (size_t i = 0; i < settings->servers_count; i++)
        atomic_store(&((kw_hbase_store *)in->store)->forms[i], in->form);
    in->handle = kw_store_open_handle(in->store, in->loop);
}

void
bed_on_done(void *user)
{
    *(bool *)user = true;
}

void
bed_close(bed *in)
{
    bool closed = false;
    kw_store_handle_close(in->handle, bed_on_done, &closed);
    bed_await(in, &closed);
    kw_store_free(in->store);
    kw_loop_free(in->loop);
}

#define WAKE_MS 5

/* Wakes the loop so that run_until can check its condition. */
static void
wake_up(uv_timer_t *timer)
{
    --*(int64_t *)timer->data;
}

static bool
run_until(bed *in, const bool *done, int64_t ms)
{
    int64_t left = MAX(ms / WAKE_MS, 1);
    uv_timer_t *timer = g_new0(uv_timer_t, 1);
    uv_timer_init(kw_loop_uv(in->loop), timer);
    timer->data = &left;
    uv_timer_start(timer, wake_up, WAKE_MS, WAKE_MS);
    while (!(done && *done) && left > 0)
        uv_run(kw_loop_uv(in->loop), UV_RUN_ONCE);
    uv_close((uv_handle_t *)timer, (uv_close_cb)g_free);
    return done && *done;
}

void
bed_await(bed *in, const bool *done)
{
    bool in_time = run_until(in, done, MAX_MS);
    g_assert_true(in_time);
}

void
bed_run_loop(bed *in, int64_t ms)
{
    run_until(in, NULL, ms);
}

void
bed_await_ready(bed *in)
{
    kw_error error = KW_ERROR_NONE;
    for (int i = 0; i < MAX_MS / 10; i++) {
        if (kw_store_ready(in->store, &error))
            return;
        bed_run_loop(in, 10);
    }
    g_error("the store is not ready: %s", error.text);
}

/* --- completions ------------------------------------------------------------------------------ */

static void
complete(answer *to, const kw_error *error)
{
    g_assert_false(to->done);
    if (error)
        to->error = *error;
    to->done = true;
}

void
bed_on_write(void *user, kw_outcome outcome, const kw_error *error)
{
    answer *to = user;
    g_assert_true((outcome == KW_OUTCOME_OK) == (error == NULL));
    to->outcome = outcome;
    complete(to, error);
}

void
bed_on_write_if(void *user, kw_outcome outcome, bool applied, const kw_error *error)
{
    ((answer *)user)->flag = applied;
    bed_on_write(user, outcome, error);
}

static void
on_increment(void *user, kw_outcome outcome, kw_rows *rows, const kw_error *error)
{
    ((answer *)user)->rows = rows;
    bed_on_write(user, outcome, error);
}

void
bed_on_rows(void *user, kw_rows *rows, const kw_error *error)
{
    answer *to = user;
    g_assert_true((rows == NULL) == (error != NULL));
    to->rows = rows;
    complete(to, error);
}

void
bed_on_simple(void *user, const kw_error *error)
{
    complete(user, error);
}

static void
on_created(void *user, bool created, const kw_error *error)
{
    ((answer *)user)->flag = created;
    complete(user, error);
}

static void
on_facts(void *user, kw_table_facts *facts, const kw_error *error)
{
    ((answer *)user)->facts = facts;
    complete(user, error);
}

static void
on_regions(void *user, kw_regions *regions, const kw_error *error)
{
    ((answer *)user)->regions = regions;
    complete(user, error);
}

/* --- operations ------------------------------------------------------------------------------- */

answer
bed_write(bed *in, const kw_write *write)
{
    answer got = {0};
    kw_store_handle_write(in->handle, write, bed_on_write, &got);
    g_assert_false(got.done);
    bed_await(in, &got.done);
    return got;
}

answer
bed_put(bed *in, const char *table, const char *row, const char *family, const char *qualifier,
        const char *value, int64_t timestamp, int64_t timeout_ms)
{
    kw_cell cell = {.family = kw_bytes_of_text(family),
                    .qualifier = kw_bytes_of_text(qualifier),
                    .value = kw_bytes_of_text(value)};
    kw_write write = {.kind = KW_WRITE_PUT,
                      .table = kw_bytes_of_text(table),
                      .row = kw_bytes_of_text(row),
                      .cells = &cell,
                      .cells_count = 1,
                      .timestamp = timestamp,
                      .deadline = kw_deadline_in_ms(timeout_ms)};
    return bed_write(in, &write);
}

answer
bed_write_if(bed *in, const kw_write *write, const kw_check *check)
{
    answer got = {0};
    kw_store_handle_write_if(in->handle, write, check, bed_on_write_if, &got);
    bed_await(in, &got.done);
    return got;
}

answer
bed_increment(bed *in, const char *table, const char *row, const char *qualifier, int64_t amount)
{
    kw_column column = {.family = KW_BYTES_LITERAL("f"), .qualifier = kw_bytes_of_text(qualifier)};
    kw_increment increment = {.table = kw_bytes_of_text(table),
                              .row = kw_bytes_of_text(row),
                              .columns = &column,
                              .amounts = &amount,
                              .columns_count = 1,
                              .deadline = KW_DEADLINE_NONE};
    answer got = {0};
    kw_store_handle_increment(in->handle, &increment, on_increment, &got);
    bed_await(in, &got.done);
    return got;
}

answer
bed_get_full(bed *in, const kw_get *get)
{
    answer got = {0};
    kw_store_handle_get(in->handle, get, bed_on_rows, &got);
    g_assert_false(got.done);
    bed_await(in, &got.done);
    return got;
}

answer
bed_get(bed *in, const char *table, const char *row, int64_t timeout_ms)
{
    kw_get get = {.table = kw_bytes_of_text(table),
                  .row = kw_bytes_of_text(row),
                  .deadline = kw_deadline_in_ms(timeout_ms)};
    return bed_get_full(in, &get);
}

answer
bed_fetch(bed *in, kw_range_scan *scan, uint32_t max_rows, size_t max_bytes, bool more_hint,
          int64_t timeout_ms)
{
    answer got = {0};
    kw_range_scan_fetch(scan, max_rows, max_bytes, more_hint, kw_deadline_in_ms(timeout_ms), bed_on_rows,
                        &got);
    g_assert_false(got.done);
    bed_await(in, &got.done);
    return got;
}

answer
bed_create(bed *in, const char *table, const char *family, const char *const *splits, size_t splits_count)
{
    kw_family_spec spec_family = {.name = family,
                                  .max_versions = 3,
                                  .block_cache = -1,
                                  .in_memory = -1,
                                  .keep_deleted_cells = -1,
                                  .replication_scope = -1};
    g_autofree kw_bytes *keys = g_new0(kw_bytes, splits_count + 1);
    for (size_t i = 0; i < splits_count; i++)
        keys[i] = kw_bytes_of_text(splits[i]);
    kw_table_spec spec = {.name = kw_bytes_of_text(table),
                          .families = &spec_family,
                          .families_count = 1,
                          .split_keys = keys,
                          .split_keys_count = splits_count,
                          .deadline = KW_DEADLINE_NONE};
    answer got = {0};
    kw_store_handle_create_table(in->handle, &spec, on_created, &got);
    bed_await(in, &got.done);
    return got;
}

answer
bed_drop(bed *in, const char *table)
{
    answer got = {0};
    kw_store_handle_drop_table(in->handle, kw_bytes_of_text(table), KW_DEADLINE_NONE, bed_on_simple, &got);
    bed_await(in, &got.done);
    return got;
}

static void
on_disabled(kw_hbase_call *call, const void *result, const kw_hbase_failure *failure)
{
    (void)result;
    g_assert_null(failure);
    *(bool *)call->user = true;
}

void
bed_disable(bed *in, const char *table)
{
    kw_hb_TTableName name;
    bool done = false;
    kw_hbase_to_table_name(kw_bytes_of_text(table), &name);
    kw_hb_THBaseService_disableTable_args args = {.tableName = &name};
    kw_hbase_call call = {.method = KW_HB_THBaseService_disableTable,
                          .args = &args,
                          .deadline = KW_DEADLINE_NONE,
                          .done = on_disabled,
                          .user = &done};
    kw_hbase_pool_start(&kw_hbase_handle_of(in->handle)->pool, &call);
    bed_await(in, &done);
}

answer
bed_describe(bed *in, const char *table)
{
    answer got = {0};
    kw_store_handle_describe_table(in->handle, kw_bytes_of_text(table), KW_DEADLINE_NONE, on_facts, &got);
    bed_await(in, &got.done);
    return got;
}

answer
bed_regions(bed *in, const char *table)
{
    answer got = {0};
    kw_store_handle_regions(in->handle, kw_bytes_of_text(table), KW_DEADLINE_NONE, on_regions, &got);
    bed_await(in, &got.done);
    return got;
}

void
bed_cell_write_init(bed_cell_write *to, const char *table, const char *row, const char *family,
                    const char *value, int64_t timestamp)
{
    to->cell = (kw_cell){.family = kw_bytes_of_text(family),
                         .qualifier = KW_BYTES_LITERAL("q"),
                         .value = kw_bytes_of_text(value)};
    to->write = (kw_write){.kind = KW_WRITE_PUT,
                           .table = kw_bytes_of_text(table),
                           .row = kw_bytes_of_text(row),
                           .cells = &to->cell,
                           .cells_count = 1,
                           .timestamp = timestamp,
                           .deadline = KW_DEADLINE_NONE};
}
