/* Prefetched pages: they have the same rows as other pages and all acknowledged writes, belong to one caller,
 * and are all freed. The clock stands still, so that no page becomes stale before it is requested. */
#include "desk.h"

#include "base/metrics.h"
#include "verb/prefetch.h"

#define EVENTS 200
#define PAGE "orders path=by_time full=1 page=20"

static uint64_t mono_ns = 1000000000;

static uint64_t
fixed_time(void)
{
    return mono_ns;
}

typedef struct reader {
    desk *desk;
    kw_page_prefetcher *prefetcher;
    _Atomic uint64_t writes;
    bool done;
    GString *rows;
    kw_buffer cursor; /* empty after the last page */
    kw_code code;
} reader;

static void
put(reader *self, unsigned number)
{
    g_autofree char *text =
        g_strdup_printf("order_id=o%03u ts=%u city=c amount=%u", number, 1000 + number, number);
    g_assert_cmpint(desk_put(self->desk, "orders", text)->outcome, ==, KW_OUTCOME_OK);
    atomic_fetch_add(&self->writes, 1);
    desk_clear(self->desk);
}

static reader *
reader_new(void)
{
    reader *self = g_new0(reader, 1);
    self->desk = desk_new(desk_policy);
    self->prefetcher = kw_page_prefetcher_new(self->desk->loop, &self->writes);
    self->rows = g_string_new(NULL);
    for (unsigned i = 0; i < EVENTS; i += 2)
        put(self, i);
    return self;
}

static void
reader_free(reader *self)
{
    kw_page_prefetcher *prefetcher = self->prefetcher;
    kw_page_prefetcher_close(prefetcher);
    kw_loop *loop = self->desk->loop;
    for (int i = 0; i < 100; i++)
        uv_run(kw_loop_uv(loop), UV_RUN_NOWAIT);
    kw_page_prefetcher_free(prefetcher);
    g_string_free(self->rows, TRUE);
    kw_buffer_clear(&self->cursor);
    desk_free(self->desk);
    g_free(self);
}

static void
page_done(void *user, const kw_scan_page *page, const kw_error *error)
{
    reader *self = user;
    self->done = true;
    self->code = error ? error->code : KW_OK;
    self->cursor.size = 0;
    if (!page)
        return;
    kw_buffer_append(&self->cursor, page->cursor);
    for (size_t i = 0; i < page->count; i++)
        g_string_append_printf(self->rows, "%s\n", desk_text(self->desk, page->table, &page->rows[i]));
}

static void
run_loop(reader *self, bool until_done)
{
    for (int i = 0; until_done ? !self->done : i < 50; i++) {
        g_assert_cmpint(i, <, 100000);
        uv_run(kw_loop_uv(self->desk->loop), UV_RUN_NOWAIT);
    }
}

static void
read_first_of(reader *self, const char *query)
{
    kw_scan_request request = desk_request(self->desk, query);
    self->done = false;
    g_string_truncate(self->rows, 0);
    kw_page_prefetcher_scan(self->prefetcher, &self->desk->call, &request, page_done, self);
    run_loop(self, true);
}

static void
read_first(reader *self)
{
    read_first_of(self, PAGE);
}

static void
read_next(reader *self)
{
    g_autofree uint8_t *copy = g_memdup2(self->cursor.data, self->cursor.size);
    kw_bytes cursor = kw_arena_copy(self->desk->call.arena, kw_bytes_of(copy, self->cursor.size));
    self->done = false;
    kw_page_prefetcher_next(self->prefetcher, &self->desk->call, cursor, page_done, self);
    run_loop(self, true);
}

static int64_t
prefetched_pages_used(void)
{
    return kw_metrics_read(KW_METRIC_pages_prefetched_used);
}

KW_TEST(test_same_rows, "/verb/prefetch/same-rows")
{
    reader *self = reader_new();
    g_autofree char *expected = desk_scan_all(self->desk, "orders path=by_time full=1");
    for (int pause = 0; pause < 2; pause++) {
        int64_t before = prefetched_pages_used();
        read_first(self);
        while (self->code == KW_OK && self->cursor.size) {
            if (pause)
                run_loop(self, false);
            read_next(self);
        }
        g_assert_cmpint(self->code, ==, KW_OK);
        g_assert_cmpstr(self->rows->str, ==, expected);
        g_assert_cmpint(prefetched_pages_used() - before, >=,
                        EVENTS / 2 / 20 - 3); /* all but the first two and possibly the last */
    }
    reader_free(self);
}

/* One scan reads all large pages, and a limit counts over all of them. */
KW_TEST(test_large_pages, "/verb/prefetch/large-pages")
{
    static const char *const queries[] = {
        "orders path=by_time full=1", "orders path=by_time full=1 limit=2500",
        "orders path=by_time full=1 limit=2000", "orders path=by_time full=1 order=desc limit=3001"};
    reader *self = reader_new();
    for (unsigned i = EVENTS; i < 3200; i++)
        put(self, i);
    for (size_t i = 0; i < G_N_ELEMENTS(queries); i++) {
        g_autofree char *expected = desk_scan_all(self->desk, queries[i]);
        int64_t before = prefetched_pages_used();
        size_t pages = 1;
        for (read_first_of(self, queries[i]); self->code == KW_OK && self->cursor.size; pages++)
            read_next(self);
        g_assert_cmpint(self->code, ==, KW_OK);
        g_assert_cmpstr(self->rows->str, ==, expected);
        g_assert_cmpuint(pages, >=, 2);
        g_assert_cmpint(prefetched_pages_used() - before, ==, (int64_t)pages - 1);
    }
    reader_free(self);
}

/* A row is written after the scan prefetched it for the next page, and before that page is requested. */
KW_TEST(test_large_pages_see_writes, "/verb/prefetch/large-pages-see-writes")
{
    reader *self = reader_new();
    for (unsigned i = EVENTS; i < 2600; i++)
        put(self, i);
    read_first_of(self, "orders path=by_time full=1");
    run_loop(self, false);
    int64_t before = prefetched_pages_used();
    put(self, 1201);
    put(self, 2401);
    for (int page = 0; page < 2; page++)
        read_next(self);
    g_assert_nonnull(strstr(self->rows->str, "order_id=o1201"));
    g_assert_nonnull(strstr(self->rows->str, "order_id=o2401"));
    g_assert_cmpint(prefetched_pages_used() - before, <=, 1); /* the last one, started after the writes */
    reader_free(self);
}

/* A query that would read the whole table is rejected without full_scan, even with a large limit. */
KW_TEST(test_large_pages_need_full_scan, "/verb/prefetch/large-pages-need-full-scan")
{
    static const char *const limits[] = {"limit=20", "limit=5000", ""};
    reader *self = reader_new();
    for (size_t i = 0; i < G_N_ELEMENTS(limits); i++) {
        g_autofree char *query = g_strdup_printf("orders path=by_time amount=7 %s", limits[i]);
        read_first_of(self, query);
        g_assert_cmpint(self->code, ==, KW_INVALID);
    }
    read_first_of(self, "orders path=by_time limit=5000");
    g_assert_cmpint(self->code, ==, KW_OK);
    read_first_of(self, "orders path=by_time amount=8 full=1 limit=5000");
    g_assert_cmpint(self->code, ==, KW_OK);
    reader_free(self);
}

/* A page contains every row that was acknowledged before the page was requested. */
KW_TEST(test_sees_writes, "/verb/prefetch/sees-writes")
{
    reader *self = reader_new();
    read_first(self);
    read_next(self);
    run_loop(self, false);
    int64_t before = prefetched_pages_used();
    put(self, 81); /* is on the third page */
    read_next(self);
    g_assert_nonnull(strstr(self->rows->str, "order_id=o081"));
    g_assert_cmpint(prefetched_pages_used(), ==, before);
    reader_free(self);
}

/* A cursor of another caller is rejected, even if its next page was prefetched. */
KW_TEST(test_identity, "/verb/prefetch/identity")
{
    reader *self = reader_new();
    read_first(self);
    read_next(self);
    run_loop(self, false);
    self->desk->call.identity = KW_BYTES_LITERAL("somebody else");
    read_next(self);
    g_assert_cmpint(self->code, ==, KW_INVALID);
    reader_free(self);
}

KW_TEST(test_stale, "/verb/prefetch/stale")
{
    reader *self = reader_new();
    read_first(self);
    read_next(self);
    run_loop(self, false);
    int64_t before = prefetched_pages_used(), unused = kw_metrics_read(KW_METRIC_pages_prefetched_unused);
    mono_ns += (KW_PREFETCH_MS + 50) * UINT64_C(1000000);
    while (kw_metrics_read(KW_METRIC_pages_prefetched_unused) == unused) /* a timer drops it, in real time */
        uv_run(kw_loop_uv(self->desk->loop), UV_RUN_ONCE);
    read_next(self);
    g_assert_cmpint(self->code, ==, KW_OK);
    g_assert_cmpint(prefetched_pages_used(), ==, before);
    reader_free(self);
}

/* A page that was prefetched under the previous policy is not returned under the new one. */
KW_TEST(test_reload, "/verb/prefetch/reload")
{
    reader *self = reader_new();
    desk *other = desk_new(desk_policy);
    read_first(self);
    read_next(self);
    run_loop(self, false);
    int64_t before = prefetched_pages_used();
    self->desk->call.policy = other->policy;
    read_next(self);
    g_assert_cmpint(self->code, ==, KW_OK);
    g_assert_cmpint(prefetched_pages_used(), ==, before);
    reader_free(self);
    desk_free(other);
}

static kw_bytes
cursor_of(reader *self)
{
    return kw_arena_copy(self->desk->call.arena, kw_buffer_bytes(&self->cursor));
}

/* Both callers get the page, although only one waits for the prefetch in progress. */
KW_TEST(test_two_callers, "/verb/prefetch/two-callers")
{
    reader *self = reader_new(), other = {.desk = self->desk, .rows = g_string_new(NULL)};
    read_first(self);
    read_next(self);
    kw_bytes cursor = cursor_of(self);
    int64_t before = prefetched_pages_used();
    self->done = false;
    g_string_truncate(self->rows, 0);
    kw_page_prefetcher_next(self->prefetcher, &self->desk->call, cursor, page_done, self);
    kw_page_prefetcher_next(self->prefetcher, &self->desk->call, cursor, page_done, &other);
    run_loop(self, true);
    run_loop(&other, true);
    g_assert_true(self->code == KW_OK && other.code == KW_OK);
    g_assert_cmpuint(self->rows->len, >, 0);
    g_assert_cmpstr(self->rows->str, ==, other.rows->str);
    g_assert_cmpint(prefetched_pages_used() - before, ==, 1);
    g_string_free(other.rows, TRUE);
    kw_buffer_clear(&other.cursor);
    reader_free(self);
}

/* The store fails during a prefetch whose page is already requested: the page is read again. */
KW_TEST(test_store_fails, "/verb/prefetch/store-fails")
{
    reader *self = reader_new();
    g_autofree char *expected = desk_scan_all(self->desk, "orders path=by_time full=1 limit=60");
    kw_memory_control *control = self->desk->control;
    read_first(self);
    uint64_t operations = control->operations;
    g_assert_true(desk_next(self->desk, cursor_of(self)));
    control->fail_at = 2 * control->operations - operations + 1;
    int64_t before = prefetched_pages_used();
    read_next(self);
    g_assert_cmpuint(control->operations, >=, control->fail_at);
    read_next(self);
    g_assert_cmpint(self->code, ==, KW_OK);
    g_assert_cmpstr(self->rows->str, ==, expected);
    g_assert_cmpint(prefetched_pages_used(), ==, before);
    reader_free(self);
}

/* The prefetcher closes during a prefetch: no range scan is open when the store handle closes. */
KW_TEST(test_closed_during_prefetch, "/verb/prefetch/closed-during-prefetch")
{
    reader *self = reader_new();
    read_first(self);
    read_next(self);
    g_assert_cmpuint(self->desk->control->runs_open, >, 0);
    kw_page_prefetcher_close(self->prefetcher);
    g_assert_cmpuint(self->desk->control->runs_open, ==, 0);
    reader_free(self);
}

KW_TEST_START(start)
{
    kw_clock_inject(NULL, fixed_time);
}
