/* An interval with more ranges than one plan can have. Scans read it through its windows: with pages of every
 * size, in both orders, with limits and conditions, and with deadlines that pass. Each answer must equal a
 * sort in the test. */
#include "desk.h"

#include "support/seed.h"
#include "verb/scan.h"

#include <stdlib.h>

#define TEXTS 400
#define FROM 1620000000
#define WEEK (7 * 86400)
#define BETWEEN " ts=1620000000..1620604800"

static const char policy[] = "store: {kind: embedded}\n"
                             "limits: {ranges: 50, page_rows: 1000}\n"
                             "tables:\n"
                             "  texts:\n"
                             "    fields:\n"
                             "      ts: {type: timestamp, unit: s, column: \"d:ts\"}\n"
                             "      seq: int\n"
                             "      kind: string\n"
                             "    key:\n"
                             "      - calendar: {of: ts, parts: [mm, HH, dd, MM, yyyy], sequence: seq,\n"
                             "                   digits: 5, as: packed}\n";

typedef struct text {
    int64_t ts;
    unsigned seq;
} text;

static text texts[TEXTS];

static int
by_minute(const void *left, const void *right)
{
    const text *a = left, *b = right;
    int64_t of_a = a->ts / 60, of_b = b->ts / 60;
    if (of_a != of_b)
        return of_a < of_b ? -1 : 1;
    return (a->seq > b->seq) - (a->seq < b->seq);
}

/* Most texts are in a few bursts, some are outside of the week. */
static desk *
full_desk(void)
{
    desk *self = desk_new(policy);
    for (unsigned i = 0; i < TEXTS; i++) {
        int64_t burst = FROM - 7200 + (int64_t)(kw_random_u64() % 12) * (WEEK / 10);
        int64_t spread = kw_random_u64() % 4 ? 900 : WEEK;
        texts[i] = (text){burst + (int64_t)(kw_random_u64() % (uint64_t)spread), i};
        g_autofree char *words = g_strdup_printf("ts=%ld seq=%u kind=k%u", (long)texts[i].ts, i, i % 3);
        g_assert_cmpint(desk_put(self, "texts", words)->outcome, ==, KW_OUTCOME_OK);
        desk_clear(self);
    }
    qsort(texts, TEXTS, sizeof *texts, by_minute);
    return self;
}

static bool
in_week(const text *one)
{
    return one->ts >= FROM && one->ts < FROM + WEEK;
}

/* The lines that desk_scan_all must return. kind: -1 for all. */
static char *
expected(bool falling, int kind, size_t limit)
{
    GString *lines = g_string_new(NULL);
    for (size_t i = 0, count = 0; i < TEXTS && (limit == 0 || count < limit); i++) {
        const text *one = &texts[falling ? TEXTS - 1 - i : i];
        if (!in_week(one) || (kind >= 0 && one->seq % 3 != (unsigned)kind))
            continue;
        g_string_append_printf(lines, "ts=%ld seq=%u kind=k%u\n", (long)one->ts, one->seq, one->seq % 3);
        count++;
    }
    return g_string_free(lines, FALSE);
}

static void
check(desk *self, const char *words, bool falling, int kind, size_t limit)
{
    g_autofree char *rows = desk_scan_all(self, words), *expected_lines = expected(falling, kind, limit);
    g_assert_cmpstr(rows, ==, expected_lines);
    desk_clear(self);
}

KW_TEST(test_pages, "/verb/windows/pages")
{
    desk *self = full_desk();
    check(self, "texts" BETWEEN, false, -1, 0);
    check(self, "texts" BETWEEN " order=asc page=7", false, -1, 0);
    check(self, "texts" BETWEEN " order=desc page=1", true, -1, 0);
    check(self, "texts" BETWEEN " order=desc bytes=300", true, -1, 0);
    check(self, "texts" BETWEEN " kind=k1 page=5", false, 1, 0);
    check(self, "texts" BETWEEN " kind=k2 order=desc page=3", true, 2, 0);
    desk_free(self);
}

KW_TEST(test_limit, "/verb/windows/limit")
{
    desk *self = full_desk();
    static const size_t limits[] = {1, 10, 77, 390};
    for (size_t i = 0; i < G_N_ELEMENTS(limits); i++) {
        for (int falling = 0; falling < 2; falling++) {
            const char *order = falling ? "desc" : "asc";
            g_autofree char *some = g_strdup_printf("texts" BETWEEN " order=%s limit=%zu", order, limits[i]);
            g_autofree char *pages = g_strdup_printf("%s page=9", some),
                            *filtered = g_strdup_printf("%s kind=k0", some);
            check(self, some, falling, -1, limits[i]);
            check(self, pages, falling, -1, limits[i]);
            check(self, filtered, falling, 0, limits[i]);
        }
    }
    desk_free(self);
}

/* No row is read twice, and rows beyond a limit are not read: a scan of ten years starts at once. */
KW_TEST(test_cost, "/verb/windows/cost")
{
    desk *self = full_desk();
    size_t in_all = 0;
    for (size_t i = 0; i < TEXTS; i++)
        in_all += in_week(&texts[i]);
    g_assert_true(desk_scan(self, "texts" BETWEEN));
    g_assert_cmpuint(self->page.count, ==, in_all);
    g_assert_cmpuint(self->page.scanned, ==, in_all);
    g_assert_cmpuint(self->page.cursor.size, ==, 0);
    uint64_t before = self->control->fetches;
    g_autofree char *words =
        g_strdup_printf("texts ts=1300000000..%ld order=desc limit=1", (long)texts[TEXTS - 1].ts + 1);
    size_t memory = kw_arena_used(self->call.arena);
    g_assert_true(desk_scan(self, words));
    g_assert_cmpuint(self->page.count, ==, 1);
    g_assert_cmpuint(self->control->fetches - before, <, 10);
    g_assert_cmpuint(kw_arena_used(self->call.arena) - memory, <, 65536);
    desk_free(self);
}

/* --- time ------------------------------------------------------------------------------------------ */

static uint64_t ticks;

static uint64_t
a_millisecond_later(void)
{
    return ++ticks * 1000000;
}

/* Pages end at the ends of windows, long before the deadline, and each page makes progress. */
KW_TEST(test_pages_end_early, "/verb/windows/pages_end_early")
{
    desk *self = full_desk();
    kw_clock_inject(NULL, a_millisecond_later);
    GString *all = g_string_new(NULL);
    size_t pages = 0, empty = 0;
    self->call.deadline = kw_deadline_in_ms(3000);
    g_assert_true(desk_scan(self, "texts" BETWEEN " order=desc"));
    for (;; pages++) {
        g_autofree char *rows = desk_page_text(self);
        g_string_append(all, rows);
        empty += self->page.count == 0;
        if (self->page.cursor.size == 0)
            break;
        self->call.deadline = kw_deadline_in_ms(3000);
        g_assert_true(desk_next(self, self->page.cursor));
    }
    kw_clock_inject(NULL, NULL);
    g_autofree char *expected_lines = expected(true, -1, 0);
    g_assert_cmpstr(all->str, ==, expected_lines);
    g_assert_cmpuint(pages, >, 2);
    g_assert_cmpuint(pages, <, 300);
    g_test_message("%zu pages, %zu of them empty", pages, empty);
    g_string_free(all, TRUE);
    desk_free(self);
}

/* The store repeatedly does not reply in time: no row is lost or returned twice. */
KW_TEST(test_store_is_late, "/verb/windows/store_is_late")
{
    desk *self = full_desk();
    GString *all = g_string_new(NULL);
    self->control->fail_code = KW_TIMEOUT;
    self->control->fail_at = self->control->operations + 500;
    size_t pages = 0;
    g_assert_true(desk_scan(self, "texts" BETWEEN));
    for (;; pages++) {
        g_autofree char *rows = desk_page_text(self);
        g_string_append(all, rows);
        if (self->page.cursor.size == 0)
            break;
        self->control->fail_at = self->control->operations + 500;
        g_assert_true(desk_next(self, self->page.cursor));
    }
    g_autofree char *expected_lines = expected(false, -1, 0);
    g_assert_cmpstr(all->str, ==, expected_lines);
    g_assert_cmpuint(pages, >, 10);
    g_string_free(all, TRUE);
    desk_free(self);
}

static void
page_done(void *user, const kw_scan_page *page, const kw_error *error)
{
    desk *self = user;
    self->done = true;
    self->page = page ? *page : (kw_scan_page){0};
    self->error = error ? *error : KW_ERROR_NONE;
}

/* One open scan returns the same rows page by page; windows change in the middle of a page and between two
 * pages. */
KW_TEST(test_one_scan, "/verb/windows/one_scan")
{
    static const char *const words[] = {"texts" BETWEEN " order=asc page=1",
                                        "texts" BETWEEN " order=asc page=7 limit=77",
                                        "texts" BETWEEN " order=asc"};
    desk *self = full_desk();
    for (size_t i = 0; i < G_N_ELEMENTS(words); i++) {
        kw_scan_request request = desk_request(self, words[i]);
        kw_error error;
        kw_scan *scan = kw_scan_of_request(&self->call, &request, &error);
        g_autoptr(GString) all = g_string_new(NULL);
        g_assert_nonnull(scan);
        kw_clock_inject(NULL, i == 2 ? a_millisecond_later : NULL); /* pages end at the ends of windows */
        do {
            self->done = false;
            self->call.deadline = kw_deadline_in_ms(i == 2 ? 3000 : 60000);
            kw_scan_next(scan, &self->call, page_done, self);
            desk_wait(self);
            g_assert_cmpint(self->error.code, ==, KW_OK);
            g_autofree char *rows = desk_page_text(self);
            g_string_append(all, rows);
        } while (self->page.cursor.size);
        kw_clock_inject(NULL, NULL);
        kw_scan_free(scan);
        g_autofree char *expected_lines = expected(false, -1, (size_t)request.limit);
        g_assert_cmpstr(all->str, ==, expected_lines);
    }
    desk_free(self);
}

/* A scan that waits for a row fails if its deadline passes; it does not return an empty page. */
KW_TEST(test_waits_for_row, "/verb/windows/waits-for-row")
{
    desk *self = desk_new(policy);
    kw_scan_request request = desk_request(self, "texts" BETWEEN " order=desc limit=1");
    for (int waits = 0; waits < 2; waits++) {
        request.waits_for_row = waits;
        self->control->fail_code = KW_TIMEOUT;
        self->control->fail_at = self->control->operations + 700;
        self->done = false;
        kw_verb_scan(&self->call, &request, page_done, self);
        desk_wait(self);
        g_assert_cmpint(self->error.code, ==, waits ? KW_TIMEOUT : KW_OK);
        g_assert_true((self->page.cursor.size > 0) == !waits);
    }
    desk_free(self);
}

KW_TEST_START(start)
{
    kw_random_inject(test_seed());
}
