/* A store handle that is being closed: what its callers start from inside their answers, as the next step of
 * a call, is refused, and runs can still be closed. */
#include "unit/embedded/opened.h"

typedef struct shut {
    kw_opened opened;
    kw_range_scan *run;     /* fetched from before the close */
    kw_range_scan *dropped; /* its refused fetch is not waited for */
    kw_write write;
    kw_written results[2];
    int answers;
    bool closed;
} shut;

static void
expect_shut(shut *own, const kw_error *error)
{
    g_assert_nonnull(error);
    g_assert_cmpint(error->code, ==, KW_UNAVAILABLE);
    g_assert_cmpstr(error->text, ==, "the gateway is shutting down");
    own->answers++;
}

static void
rows_refused(void *user, kw_rows *rows, const kw_error *error)
{
    g_assert_null(rows);
    expect_shut(user, error);
}

static void
run_refused(void *user, kw_rows *rows, const kw_error *error)
{
    shut *own = user;
    rows_refused(own, rows, error);
    kw_range_scan_close(g_steal_pointer(&own->run));
}

static void
must_stay_silent(void *user, kw_rows *rows, const kw_error *error)
{
    (void)user, (void)rows, (void)error;
    g_assert_not_reached();
}

static void
write_refused(void *user, kw_outcome outcome, const kw_error *error)
{
    g_assert_cmpint(outcome, ==, KW_OUTCOME_FAILED);
    expect_shut(user, error);
}

static void
writes_refused(void *user)
{
    shut *own = user;
    for (int i = 0; i < 2; i++) {
        g_assert_cmpint(own->results[i].outcome, ==, KW_OUTCOME_FAILED);
        g_assert_cmpint(own->results[i].error.code, ==, KW_UNAVAILABLE);
    }
    own->answers++;
}

static void
regions_refused(void *user, kw_regions *regions, const kw_error *error)
{
    g_assert_null(regions);
    expect_shut(user, error);
}

static void
set_closed(void *user)
{
    ((shut *)user)->closed = true;
}

/* The store was told to close while this answer was on its way; now the call goes on. */
static void
written(void *user, kw_outcome outcome, const kw_error *error)
{
    static const kw_get get = {
        .table = {(const uint8_t *)"t", 1}, .row = {(const uint8_t *)"a", 1}, .deadline = KW_DEADLINE_NONE};
    static const kw_get *const gets[] = {&get, &get};
    static const kw_write *writes[2];
    shut *own = user;
    kw_store_handle *handle = own->opened.sync.handle;
    g_assert_true(outcome == KW_OUTCOME_OK && !error);
    writes[0] = writes[1] = &own->write;
    kw_store_handle_get(handle, &get, rows_refused, own);
    kw_store_handle_get_many(handle, gets, 2, rows_refused, own);
    kw_store_handle_write(handle, &own->write, write_refused, own);
    kw_store_handle_write_many(handle, writes, 2, own->results, writes_refused, own);
    kw_store_handle_regions(handle, get.table, KW_DEADLINE_NONE, regions_refused, own);
    kw_range_scan_fetch(own->run, 1, 1, true, KW_DEADLINE_NONE, run_refused, own);
    kw_range_scan_fetch(own->dropped, 1, 1, true, KW_DEADLINE_NONE, must_stay_silent, own);
    kw_range_scan_close(own->dropped);
}

static void
test_next_steps(void)
{
    static const kw_cell cell = {.family = {(const uint8_t *)"d", 1}};
    shut own = {.write = {.kind = KW_WRITE_PUT,
                          .table = KW_BYTES_LITERAL("t"),
                          .row = KW_BYTES_LITERAL("z"),
                          .cells = &cell,
                          .cells_count = 1,
                          .timestamp = 1,
                          .deadline = KW_DEADLINE_NONE}};
    kw_opened *opened = &own.opened;
    kw_opened_init(opened);
    kw_family_spec family = kw_plain_family("d");
    kw_opened_create(opened, "t", &family, 1);
    kw_opened_put(opened, "t", "a", "d", "q", "1", 1);
    kw_opened_put(opened, "t", "b", "d", "q", "2", 1);
    kw_range_scan_spec spec = {.table = KW_BYTES_LITERAL("t")};
    own.run = kw_store_handle_open_range_scan(opened->sync.handle, &spec);
    own.dropped = kw_store_handle_open_range_scan(opened->sync.handle, &spec);
    kw_rows_free(kw_sync_fetch(&opened->sync, own.run, 1, 1, true, NULL));
    kw_rows_free(kw_sync_fetch(&opened->sync, own.dropped, 1, 1, true, NULL));
    kw_store_handle_write(opened->sync.handle, &own.write, written, &own);
    kw_store_handle_close(opened->sync.handle, set_closed, &own);
    while (!own.closed || own.answers < 6)
        uv_run(kw_loop_uv(opened->sync.loop), UV_RUN_ONCE);
    g_assert_null(own.run);
    kw_loop_free(opened->sync.loop);
    kw_store_free(opened->store); /* asserts that no run is left */
    kw_folder_remove(opened->folder);
    g_free(opened->folder);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/store/shut", test_next_steps);
    return g_test_run();
}
