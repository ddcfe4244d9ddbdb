/* A store handle that is being closed rejects the operations that completions start, and ends pauses; range
 * scans can still be closed. A closed one rejects operations, too. */
#include "unit/embedded/embedded_fixture.h"

typedef struct closing_fixture {
    embedded_fixture fixture;
    kw_range_scan *scan;    /* the rejection of its fetch is awaited */
    kw_range_scan *dropped; /* closed before its fetch is rejected */
    kw_write write;
    kw_written results[2];
    int completions;
    bool closed;
} closing_fixture;

static void
expect_closing_error(closing_fixture *own, const kw_error *error)
{
    g_assert_nonnull(error);
    g_assert_cmpint(error->code, ==, KW_UNAVAILABLE);
    g_assert_cmpstr(error->text, ==, "the gateway is shutting down");
    own->completions++;
}

static void
rows_rejected(void *user, kw_rows *rows, const kw_error *error)
{
    g_assert_null(rows);
    expect_closing_error(user, error);
}

static void
scan_rejected(void *user, kw_rows *rows, const kw_error *error)
{
    closing_fixture *own = user;
    rows_rejected(own, rows, error);
    kw_range_scan_close(g_steal_pointer(&own->scan));
}

static void
never_called(void *user, kw_rows *rows, const kw_error *error)
{
    (void)user, (void)rows, (void)error;
    g_assert_not_reached();
}

static void
write_rejected(void *user, kw_outcome outcome, const kw_error *error)
{
    g_assert_cmpint(outcome, ==, KW_OUTCOME_FAILED);
    expect_closing_error(user, error);
}

static void
writes_rejected(void *user)
{
    closing_fixture *own = user;
    for (int i = 0; i < 2; i++) {
        g_assert_cmpint(own->results[i].outcome, ==, KW_OUTCOME_FAILED);
        g_assert_cmpint(own->results[i].error.code, ==, KW_UNAVAILABLE);
    }
    own->completions++;
}

static void
regions_rejected(void *user, kw_regions *regions, const kw_error *error)
{
    g_assert_null(regions);
    expect_closing_error(user, error);
}

static void
set_closed(void *user)
{
    ((closing_fixture *)user)->closed = true;
}

/* The store handle began to close before this completion, which starts the next operations of a call. */
static void
written(void *user, kw_outcome outcome, const kw_error *error)
{
    static const kw_get get = {
        .table = {(const uint8_t *)"t", 1}, .row = {(const uint8_t *)"a", 1}, .deadline = KW_DEADLINE_NONE};
    static const kw_get *const gets[] = {&get, &get};
    static const kw_write *writes[2];
    closing_fixture *own = user;
    kw_store_handle *handle = own->fixture.sync.handle;
    g_assert_true(outcome == KW_OUTCOME_OK && !error);
    writes[0] = writes[1] = &own->write;
    kw_store_handle_get(handle, &get, rows_rejected, own);
    kw_store_handle_get_many(handle, gets, 2, rows_rejected, own);
    kw_store_handle_write(handle, &own->write, write_rejected, own);
    kw_store_handle_write_many(handle, writes, 2, own->results, writes_rejected, own);
    kw_store_handle_regions(handle, get.table, KW_DEADLINE_NONE, regions_rejected, own);
    kw_range_scan_fetch(own->scan, 1, 1, true, KW_DEADLINE_NONE, scan_rejected, own);
    kw_range_scan_fetch(own->dropped, 1, 1, true, KW_DEADLINE_NONE, never_called, own);
    kw_range_scan_close(own->dropped);
}

KW_TEST(test_rejects_next_operations, "/store/closing/operations")
{
    static const kw_cell cell = {.family = {(const uint8_t *)"d", 1}};
    closing_fixture own = {.write = {.kind = KW_WRITE_PUT,
                                     .table = KW_BYTES_LITERAL("t"),
                                     .row = KW_BYTES_LITERAL("z"),
                                     .cells = &cell,
                                     .cells_count = 1,
                                     .timestamp = 1,
                                     .deadline = KW_DEADLINE_NONE}};
    embedded_fixture *fixture = &own.fixture;
    embedded_fixture_init(fixture);
    kw_family_spec family = default_family("d");
    embedded_fixture_create_table(fixture, "t", &family, 1);
    embedded_fixture_put(fixture, "t", "a", "d", "q", "1", 1);
    embedded_fixture_put(fixture, "t", "b", "d", "q", "2", 1);
    kw_range_scan_spec spec = {.table = KW_BYTES_LITERAL("t")};
    own.scan = kw_store_handle_open_range_scan(fixture->sync.handle, &spec);
    own.dropped = kw_store_handle_open_range_scan(fixture->sync.handle, &spec);
    kw_rows_free(kw_sync_fetch(&fixture->sync, own.scan, 1, 1, true, NULL));
    kw_rows_free(kw_sync_fetch(&fixture->sync, own.dropped, 1, 1, true, NULL));
    kw_store_handle_write(fixture->sync.handle, &own.write, written, &own);
    kw_store_handle_close(fixture->sync.handle, set_closed, &own);
    while (!own.closed || own.completions < 6)
        uv_run(kw_loop_uv(fixture->sync.loop), UV_RUN_ONCE);
    g_assert_null(own.scan);
    kw_loop_free(fixture->sync.loop);
    kw_store_free(fixture->store); /* asserts that no scan is open */
    temporary_folder_remove(fixture->folder);
    g_free(fixture->folder);
}

/* --- a scan whose spec is rejected ---------------------------------------------------------------- */

typedef struct refused_scan {
    kw_range_scan *scan;
    bool done;
} refused_scan;

/* The error is valid until the completion returns, even after the scan was closed. */
static void
close_and_read_error(void *user, kw_rows *rows, const kw_error *error)
{
    refused_scan *own = user;
    g_assert_null(rows);
    kw_range_scan_close(own->scan);
    g_assert_cmpint(error->code, ==, KW_UNAVAILABLE);
    g_assert_cmpstr(error->text, ==, "the gateway is shutting down");
    own->done = true;
}

/* --- pauses, and operations of a closed handle ---------------------------------------------------- */

typedef struct pausing {
    kw_store_handle *handle;
    bool paused, refused, closed;
} pausing;

static void
pause_refused(void *user, const kw_error *error)
{
    g_assert_cmpint(error->code, ==, KW_UNAVAILABLE);
    ((pausing *)user)->refused = true;
}

static void
pause_ended(void *user, const kw_error *error)
{
    pausing *own = user;
    g_assert_true(error && !own->closed);
    g_assert_cmpint(error->code, ==, KW_UNAVAILABLE);
    own->paused = true;
    kw_store_handle_pause(own->handle, 1, pause_refused, own);
}

static void
pause_is_over(void *user, const kw_error *error)
{
    g_assert_null(error);
    *(bool *)user = true;
}

static void
pausing_closed(void *user)
{
    ((pausing *)user)->closed = true;
}

KW_TEST(test_pauses, "/store/closing/pauses")
{
    embedded_fixture fixture;
    embedded_fixture_init(&fixture);
    uv_loop_t *loop = kw_loop_uv(fixture.sync.loop);
    pausing own = {.handle = fixture.sync.handle};
    bool over = false;
    kw_store_handle_pause(own.handle, 1, pause_is_over, &over);
    while (!over)
        uv_run(loop, UV_RUN_ONCE);
    kw_store_handle_pause(own.handle, 3600 * 1000, pause_ended, &own);
    kw_store_handle_close(own.handle, pausing_closed, &own);
    g_assert_false(own.paused);
    while (!own.closed || !own.refused)
        uv_run(loop, UV_RUN_ONCE);
    g_assert_true(own.paused);
    /* The handle is closed, and still rejects operations. */
    kw_range_scan_spec spec = {.table = KW_BYTES_LITERAL("t")};
    refused_scan refused = {.scan = kw_store_handle_open_range_scan(own.handle, &spec)};
    kw_range_scan_fetch(refused.scan, 1, 1, true, KW_DEADLINE_NONE, close_and_read_error, &refused);
    while (!refused.done)
        uv_run(loop, UV_RUN_ONCE);
    kw_loop_free(fixture.sync.loop);
    kw_store_free(fixture.store);
    temporary_folder_remove(fixture.folder);
    g_free(fixture.folder);
}
