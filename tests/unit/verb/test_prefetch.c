/* Pages that are read ahead: the same rows as without, never older than a write that was answered, nobody
 * else's, and nothing is left over. Time stands still, so that nothing gets old before it is asked for. */
#include "desk.h"

#include "base/metrics.h"
#include "verb/prefetch.h"

#define EVENTS 200
#define PAGE "orders path=by_time full=1 page=20"

static uint64_t mono_ns = 1000000000;

static uint64_t
standing(void)
{
    return mono_ns;
}

typedef struct reader {
    desk *desk;
    kw_page_prefetcher *ahead;
    _Atomic uint64_t writes;
    bool done;
    GString *rows;
    kw_buffer cursor; /* empty at the end */
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
    self->ahead = kw_page_prefetcher_new(self->desk->loop, &self->writes);
    self->rows = g_string_new(NULL);
    for (unsigned i = 0; i < EVENTS; i += 2)
        put(self, i);
    return self;
}

static void
reader_free(reader *self)
{
    kw_page_prefetcher *ahead = self->ahead;
    kw_page_prefetcher_close(ahead);
    kw_loop *loop = self->desk->loop;
    for (int i = 0; i < 100; i++)
        uv_run(kw_loop_uv(loop), UV_RUN_NOWAIT);
    kw_page_prefetcher_free(ahead);
    g_string_free(self->rows, TRUE);
    kw_buffer_clear(&self->cursor);
    desk_free(self->desk);
    g_free(self);
}

static void
paged(void *user, const kw_scan_page *page, const kw_error *error)
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
turn(reader *self, bool until_done)
{
    for (int i = 0; until_done ? !self->done : i < 50; i++) {
        g_assert_cmpint(i, <, 100000);
        uv_run(kw_loop_uv(self->desk->loop), UV_RUN_NOWAIT);
    }
}

static void
first_of(reader *self, const char *question)
{
    kw_scan_request request = desk_request(self->desk, question);
    self->done = false;
    g_string_truncate(self->rows, 0);
    kw_page_prefetcher_scan(self->ahead, &self->desk->call, &request, paged, self);
    turn(self, true);
}

static void
first(reader *self)
{
    first_of(self, PAGE);
}

static void
next(reader *self)
{
    g_autofree uint8_t *copy = g_memdup2(self->cursor.data, self->cursor.size);
    kw_bytes cursor = kw_arena_copy(self->desk->call.arena, kw_bytes_of(copy, self->cursor.size));
    self->done = false;
    kw_page_prefetcher_next(self->ahead, &self->desk->call, cursor, paged, self);
    turn(self, true);
}

static int64_t
used(void)
{
    return kw_metrics_read(KW_METRIC_pages_ahead_used);
}

static void
test_same_rows(void)
{
    reader *self = reader_new();
    g_autofree char *expected = desk_scan_all(self->desk, "orders path=by_time full=1");
    for (int pause = 0; pause < 2; pause++) {
        int64_t before = used();
        first(self);
        while (self->code == KW_OK && self->cursor.size) {
            if (pause)
                turn(self, false);
            next(self);
        }
        g_assert_cmpint(self->code, ==, KW_OK);
        g_assert_cmpstr(self->rows->str, ==, expected);
        g_assert_cmpint(used() - before, >=,
                        EVENTS / 2 / 20 - 3); /* all but the first two, and maybe the end */
    }
    reader_free(self);
}

/* Large pages are all read by one scan, over which a limit counts. */
static void
test_large_pages(void)
{
    static const char *const questions[] = {
        "orders path=by_time full=1", "orders path=by_time full=1 limit=2500",
        "orders path=by_time full=1 limit=2000", "orders path=by_time full=1 order=desc limit=3001"};
    reader *self = reader_new();
    for (unsigned i = EVENTS; i < 3200; i++)
        put(self, i);
    for (size_t i = 0; i < G_N_ELEMENTS(questions); i++) {
        g_autofree char *expected = desk_scan_all(self->desk, questions[i]);
        int64_t before = used();
        size_t pages = 1;
        for (first_of(self, questions[i]); self->code == KW_OK && self->cursor.size; pages++)
            next(self);
        g_assert_cmpint(self->code, ==, KW_OK);
        g_assert_cmpstr(self->rows->str, ==, expected);
        g_assert_cmpuint(pages, >=, 2);
        g_assert_cmpint(used() - before, ==, (int64_t)pages - 1);
    }
    reader_free(self);
}

/* A row that the scan has read already for its next page, and that is written before that is asked for. */
static void
test_large_pages_see_writes(void)
{
    reader *self = reader_new();
    for (unsigned i = EVENTS; i < 2600; i++)
        put(self, i);
    first_of(self, "orders path=by_time full=1");
    turn(self, false);
    int64_t before = used();
    put(self, 1201);
    put(self, 2401);
    for (int page = 0; page < 2; page++)
        next(self);
    g_assert_nonnull(strstr(self->rows->str, "order_id=o1201"));
    g_assert_nonnull(strstr(self->rows->str, "order_id=o2401"));
    g_assert_cmpint(used() - before, <=, 1); /* the last, begun behind the writes */
    reader_free(self);
}

/* Whoever may not read everything may not do so by asking for many rows. */
static void
test_large_pages_are_admitted(void)
{
    static const char *const limits[] = {"limit=20", "limit=5000", ""};
    reader *self = reader_new();
    for (size_t i = 0; i < G_N_ELEMENTS(limits); i++) {
        g_autofree char *question = g_strdup_printf("orders path=by_time amount=7 %s", limits[i]);
        first_of(self, question);
        g_assert_cmpint(self->code, ==, KW_INVALID);
    }
    first_of(self, "orders path=by_time limit=5000");
    g_assert_cmpint(self->code, ==, KW_OK);
    first_of(self, "orders path=by_time amount=8 full=1 limit=5000");
    g_assert_cmpint(self->code, ==, KW_OK);
    reader_free(self);
}

/* A row that was written, and acknowledged, before a page is asked for is on it. */
static void
test_sees_writes(void)
{
    reader *self = reader_new();
    first(self);
    next(self);
    turn(self, false);
    int64_t before = used();
    put(self, 81); /* lies on the third page */
    next(self);
    g_assert_nonnull(strstr(self->rows->str, "order_id=o081"));
    g_assert_cmpint(used(), ==, before);
    reader_free(self);
}

/* A cursor is another caller's business, whatever was read for its owner. */
static void
test_identity(void)
{
    reader *self = reader_new();
    first(self);
    next(self);
    turn(self, false);
    self->desk->call.identity = KW_BYTES_LITERAL("somebody else");
    next(self);
    g_assert_cmpint(self->code, ==, KW_INVALID);
    reader_free(self);
}

static void
test_stale(void)
{
    reader *self = reader_new();
    first(self);
    next(self);
    turn(self, false);
    int64_t before = used(), unused = kw_metrics_read(KW_METRIC_pages_ahead_unused);
    mono_ns += (KW_PREFETCH_MS + 50) * UINT64_C(1000000);
    while (kw_metrics_read(KW_METRIC_pages_ahead_unused) == unused) /* swept by a timer, in real time */
        uv_run(kw_loop_uv(self->desk->loop), UV_RUN_ONCE);
    next(self);
    g_assert_cmpint(self->code, ==, KW_OK);
    g_assert_cmpint(used(), ==, before);
    reader_free(self);
}

/* What was read under the policy of before is not told under the one of now. */
static void
test_reload(void)
{
    reader *self = reader_new();
    desk *other = desk_new(desk_policy);
    first(self);
    next(self);
    turn(self, false);
    int64_t before = used();
    self->desk->call.policy = other->policy;
    next(self);
    g_assert_cmpint(self->code, ==, KW_OK);
    g_assert_cmpint(used(), ==, before);
    reader_free(self);
    desk_free(other);
}

static kw_bytes
cursor_of(reader *self)
{
    return kw_arena_copy(self->desk->call.arena, kw_buffer_bytes(&self->cursor));
}

/* Both are answered, though only one waits for the page that is under way. */
static void
test_two_callers(void)
{
    reader *self = reader_new(), other = {.desk = self->desk, .rows = g_string_new(NULL)};
    first(self);
    next(self);
    kw_bytes cursor = cursor_of(self);
    int64_t before = used();
    self->done = false;
    g_string_truncate(self->rows, 0);
    kw_page_prefetcher_next(self->ahead, &self->desk->call, cursor, paged, self);
    kw_page_prefetcher_next(self->ahead, &self->desk->call, cursor, paged, &other);
    turn(self, true);
    turn(&other, true);
    g_assert_true(self->code == KW_OK && other.code == KW_OK);
    g_assert_cmpuint(self->rows->len, >, 0);
    g_assert_cmpstr(self->rows->str, ==, other.rows->str);
    g_assert_cmpint(used() - before, ==, 1);
    g_string_free(other.rows, TRUE);
    kw_buffer_clear(&other.cursor);
    reader_free(self);
}

/* The store fails while a page is read ahead, and it is asked for already: it is read again. */
static void
test_fails_under_way(void)
{
    reader *self = reader_new();
    g_autofree char *expected = desk_scan_all(self->desk, "orders path=by_time full=1 limit=60");
    kw_memory_control *control = self->desk->control;
    first(self);
    uint64_t operations = control->operations;
    g_assert_true(desk_next(self->desk, cursor_of(self)));
    control->fail_at = 2 * control->operations - operations + 1;
    int64_t before = used();
    next(self);
    g_assert_cmpuint(control->operations, >=, control->fail_at);
    next(self);
    g_assert_cmpint(self->code, ==, KW_OK);
    g_assert_cmpstr(self->rows->str, ==, expected);
    g_assert_cmpint(used(), ==, before);
    reader_free(self);
}

/* The end comes while a page is under way: nothing of it is left when the store's store handle begins to
 * close. */
static void
test_closed_under_way(void)
{
    reader *self = reader_new();
    first(self);
    next(self);
    g_assert_cmpuint(self->desk->control->runs_open, >, 0);
    kw_page_prefetcher_close(self->ahead);
    g_assert_cmpuint(self->desk->control->runs_open, ==, 0);
    reader_free(self);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    kw_clock_inject(NULL, standing);
    g_test_add_func("/verb/ahead/same-rows", test_same_rows);
    g_test_add_func("/verb/ahead/large-pages", test_large_pages);
    g_test_add_func("/verb/ahead/large-pages-see-writes", test_large_pages_see_writes);
    g_test_add_func("/verb/ahead/large-pages-are-admitted", test_large_pages_are_admitted);
    g_test_add_func("/verb/ahead/sees-writes", test_sees_writes);
    g_test_add_func("/verb/ahead/identity", test_identity);
    g_test_add_func("/verb/ahead/reload", test_reload);
    g_test_add_func("/verb/ahead/two-callers", test_two_callers);
    g_test_add_func("/verb/ahead/fails-under-way", test_fails_under_way);
    g_test_add_func("/verb/ahead/stale", test_stale);
    g_test_add_func("/verb/ahead/closed_under_way", test_closed_under_way);
    return g_test_run();
}
