/* scan and next: each answer must equal a sort in the test, page by page, in both directions. A cursor is
 * rejected if one of the things that it is bound to differs. */
#include "desk.h"

#include <stdlib.h>

#define ORDERS 12
#define EVENTS 8
#define ASSERT_ERROR(self, part)                                                                             \
    G_STMT_START                                                                                             \
    {                                                                                                        \
        g_assert_cmpint((self)->error.code, ==, KW_INVALID);                                                 \
        if (!strstr((self)->error.text, part))                                                               \
            g_error("got: %s", (self)->error.text);                                                          \
    }                                                                                                        \
    G_STMT_END

typedef struct event {
    unsigned order;
    int64_t ts;
} event;

static event events[ORDERS * EVENTS];

static desk *
full_desk(void)
{
    desk *self = desk_new(desk_policy);
    for (unsigned i = 0; i < ORDERS * EVENTS; i++) {
        events[i] = (event){i % ORDERS, (int64_t)(1000 + (i * 37) % 50)};
        g_autofree char *text = g_strdup_printf("order_id=ord%02u ts=%ld city=c%u amount=%u", events[i].order,
                                                (long)events[i].ts, i % 3, i % 5);
        g_assert_cmpint(desk_put(self, "orders", text)->outcome, ==, KW_OUTCOME_OK);
        desk_clear(self);
    }
    return self;
}

static int
newest_first(const void *left, const void *right)
{
    const event *a = left, *b = right;
    return a->ts != b->ts ? (a->ts < b->ts) - (a->ts > b->ts) : 0;
}

static int
by_time(const void *left, const void *right)
{
    const event *a = left, *b = right;
    if (a->ts != b->ts)
        return (a->ts > b->ts) - (a->ts < b->ts);
    return (a->order > b->order) - (a->order < b->order);
}

/* Shortens the rows of a scan to "order ts", one line each. */
static char *
short_form(const char *rows)
{
    GString *text = g_string_new(NULL);
    g_auto(GStrv) lines = g_strsplit(rows, "\n", -1);
    for (char **line = lines; **line; line++) {
        unsigned order;
        long ts;
        if (sscanf(*line, "order_id=ord%u ts=%ld", &order, &ts) == 2)
            g_string_append_printf(text, "%u %ld\n", order, ts);
        else
            g_string_append_printf(text, "%s\n", *line);
    }
    return g_string_free(text, FALSE);
}

static char *
expected_form(const event *sorted, size_t count, int order, int64_t from, int64_t to, bool backwards)
{
    GString *text = g_string_new(NULL);
    for (size_t i = 0; i < count; i++) {
        const event *each = &sorted[backwards ? count - 1 - i : i];
        if ((order < 0 || (unsigned)order == each->order) && each->ts >= from && each->ts < to)
            g_string_append_printf(text, "%u %ld\n", each->order, (long)each->ts);
    }
    return g_string_free(text, FALSE);
}

static void
check_scan(desk *self, const char *query, const char *expected)
{
    for (unsigned page = 1; page < 120; page = page * 2 + 1) {
        g_autofree char *request = g_strdup_printf("%s page=%u", query, page);
        g_autofree char *rows = desk_scan_all(self, request);
        g_autofree char *got = short_form(rows);
        g_assert_cmpstr(got, ==, expected);
        desk_clear(self);
    }
}

KW_TEST(test_one_order, "/verb/scan/one order")
{
    desk *self = full_desk();
    qsort(events, G_N_ELEMENTS(events), sizeof(event), newest_first);
    for (int backwards = 0; backwards < 2; backwards++) {
        g_autofree char *all = expected_form(events, G_N_ELEMENTS(events), 7, 0, 9999, backwards);
        check_scan(self, backwards ? "orders order_id=ord07 order=asc" : "orders order_id=ord07", all);
        g_autofree char *some = expected_form(events, G_N_ELEMENTS(events), 7, 1010, 1030, backwards);
        check_scan(self,
                   backwards ? "orders order_id=ord07 ts=1010..1030 order=asc"
                             : "orders order_id=ord07 ts=1010..1030",
                   some);
    }
    desk_free(self);
}

KW_TEST(test_merged_by_time, "/verb/scan/merged by time")
{
    desk *self = full_desk();
    qsort(events, G_N_ELEMENTS(events), sizeof(event), by_time);
    for (int backwards = 0; backwards < 2; backwards++) {
        const char *order = backwards ? "desc" : "asc";
        g_autofree char *all = expected_form(events, G_N_ELEMENTS(events), -1, 0, 9999, backwards);
        g_autofree char *query = g_strdup_printf("orders path=by_time full order=%s", order);
        check_scan(self, query, all);
        g_autofree char *some = expected_form(events, G_N_ELEMENTS(events), -1, 1007, 1033, backwards);
        g_autofree char *ranged = g_strdup_printf("orders ts=1007..1033 order=%s", order);
        check_scan(self, ranged, some);
    }
    desk_free(self);
}

KW_TEST(test_limit, "/verb/scan/limit")
{
    desk *self = full_desk();
    qsort(events, G_N_ELEMENTS(events), sizeof(event), by_time);
    for (unsigned limit = 1; limit < 40; limit += 6) {
        g_autofree char *all = expected_form(events, limit, -1, 0, 9999, false);
        g_autofree char *query = g_strdup_printf("orders path=by_time full limit=%u", limit);
        check_scan(self, query, all);
    }
    desk_free(self);
}

/* The newest event of an order costs one row; the newest 20 of all orders cost about 20 rows and a few for
 * each bucket. */
KW_TEST(test_reads_per_row, "/verb/scan/reads per row")
{
    desk *self = full_desk();
    self->control->rows_read = 0;
    g_assert_true(desk_scan(self, "orders order_id=ord03 limit=1"));
    g_assert_cmpuint(self->page.count, ==, 1);
    g_assert_cmpuint(self->page.scanned, ==, 1);
    g_assert_cmpuint(self->control->rows_read, ==, 1);
    g_assert_cmpuint(self->page.cursor.size, ==, 0);
    desk_free(self);

    self = desk_new(desk_policy);
    for (unsigned i = 0; i < 3000; i++) {
        g_autofree char *text = g_strdup_printf("order_id=o%u ts=%u", i, 100000 - i);
        desk_put(self, "orders", text);
        desk_clear(self);
    }
    self->control->rows_read = 0;
    g_assert_true(desk_scan(self, "orders path=by_time full limit=20 order=desc"));
    g_assert_cmpuint(self->page.count, ==, 20);
    g_test_message("latest 20 of 16 buckets: %lu rows read", (unsigned long)self->page.scanned);
    g_assert_cmpuint(self->page.scanned, <=, 60);
    g_assert_cmpuint(self->page.scanned, ==, self->control->rows_read);
    g_assert_true(desk_scan(self, "orders path=by_time full limit=1 order=desc"));
    g_assert_cmpuint(self->page.scanned, <=, 16);
    g_assert_true(desk_scan(self, "orders path=by_time full page=1000"));
    g_assert_cmpuint(self->page.scanned, <=, 1200);
    desk_free(self);
}

/* A page with the last row has no cursor. */
KW_TEST(test_end, "/verb/scan/end")
{
    desk *self = full_desk();
    g_assert_true(desk_scan(self, "orders order_id=ord03 page=8"));
    g_assert_cmpuint(self->page.count, ==, EVENTS);
    g_assert_cmpuint(self->page.cursor.size, ==, 0);
    g_assert_true(desk_scan(self, "orders order_id=ord03 page=4 limit=4"));
    g_assert_cmpuint(self->page.cursor.size, ==, 0);
    g_assert_true(desk_scan(self, "orders order_id=ord03 page=4 limit=5"));
    g_assert_cmpuint(self->page.cursor.size, >, 0);
    g_assert_true(desk_next(self, self->page.cursor));
    g_assert_cmpuint(self->page.count, ==, 1);
    g_assert_cmpuint(self->page.cursor.size, ==, 0);
    g_assert_true(desk_scan(self, "orders order_id=nobody"));
    g_assert_cmpuint(self->page.count, ==, 0);
    g_assert_cmpuint(self->page.cursor.size, ==, 0);
    g_assert_true(desk_scan(self, "orders order_id=ord03 ts=5..5"));
    g_assert_cmpuint(self->page.count, ==, 0);
    desk_free(self);
}

KW_TEST(test_columns_and_filter, "/verb/scan/columns and filter")
{
    desk *self = desk_new(desk_policy);
    desk_put(self, "orders", "order_id=a ts=1 city=Rome amount=2");
    desk_put(self, "orders", "order_id=a ts=2 status=new");
    desk_put(self, "orders", "order_id=a ts=3");
    g_autofree char *rows = desk_scan_all(self, "orders order_id=a columns=city order=asc page=1");
    g_assert_cmpstr(rows, ==, "order_id=a ts=1 city=Rome\norder_id=a ts=2\norder_id=a ts=3\n");
    desk_put(self, "marks", "tag=1");
    desk_put(self, "marks", "tag=2");
    desk_put(self, "marks", "tag=4");
    g_autofree char *even = desk_scan_all(self, "marks full filter=RowFilter(=,'regexstring:[24]$') page=1");
    g_assert_cmpstr(even, ==, "tag=2\ntag=4\n");
    desk_free(self);
}

KW_TEST(test_bound_lists, "/verb/scan/bound lists")
{
    desk *self = full_desk();
    g_autofree char *several = desk_scan_all(self, "orders order_id=ord05|ord01|nobody ts=1000..1015 page=2");
    g_auto(GStrv) lines = g_strsplit(several, "\n", -1);
    unsigned expected = 0;
    for (size_t i = 0; i < G_N_ELEMENTS(events); i++)
        expected += (events[i].order == 5 || events[i].order == 1) && events[i].ts < 1015;
    g_assert_cmpuint(g_strv_length(lines) - 1, ==, expected);
    g_autofree char *points = desk_scan_all(self, "counters name=x|y|z");
    g_assert_cmpstr(points, ==, "");
    desk_put(self, "counters", "name=y hits=4");
    desk_put(self, "counters", "name=x hits=5");
    g_autofree char *found = desk_scan_all(self, "counters name=y|x|z page=1");
    g_assert_cmpstr(found, ==, "name=x hits=5\nname=y hits=4\n");
    desk_free(self);
}

/* A query with a condition on a field that no key holds. */
KW_TEST(test_residual, "/verb/scan/residual")
{
    desk *self = full_desk();
    g_autofree char *rows = desk_scan_all(self, "orders order_id=ord04 city=c1 columns=amount page=2");
    unsigned expected = 0;
    g_auto(GStrv) lines = g_strsplit(rows, "\n", -1);
    for (unsigned i = 0; i < ORDERS * EVENTS; i++)
        expected += i % ORDERS == 4 && i % 3 == 1;
    g_assert_cmpuint(expected, >, 0);
    g_assert_cmpuint(g_strv_length(lines) - 1, ==, expected);
    g_assert_null(strstr(rows, "city="));
    g_assert_nonnull(strstr(rows, "amount="));
    desk_free(self);
}

KW_TEST(test_rejected_queries, "/verb/scan/rejected queries")
{
    desk *self = full_desk();
    static const char *const queries[] = {"orders", "orders city=Rome"};
    for (size_t i = 0; i < G_N_ELEMENTS(queries); i++) {
        g_assert_false(desk_scan(self, queries[i]));
        ASSERT_ERROR(self, "orders");
    }
    g_assert_cmpuint(self->control->fetches, ==, 0);
    desk_free(self);
}

/* A row in the table that the rule did not encode. */
KW_TEST(test_foreign_row, "/verb/scan/foreign row")
{
    desk *self = full_desk();
    kw_memory_store_set(self->store, "orders", KW_BYTES_LITERAL("\x01strange"), "d", "city",
                        KW_BYTES_LITERAL("c9"), 1);
    g_assert_false(desk_scan(self, "orders path=primary full"));
    g_assert_cmpint(self->error.code, ==, KW_CORRUPT);
    g_assert_nonnull(strstr(self->error.text, "table orders, path primary, row \\x01strange: "));
    g_assert_true(desk_scan(self, "orders path=primary full city=c1"));
    g_assert_cmpuint(self->page.count, ==, ORDERS * EVENTS / 3);
    desk_free(self);
}

KW_TEST(test_store_fails, "/verb/scan/store fails")
{
    desk *self = full_desk();
    self->control->fail_at = self->control->operations + 5;
    g_assert_false(desk_scan(self, "orders path=by_time full"));
    g_assert_cmpint(self->error.code, ==, KW_UNAVAILABLE);
    g_assert_true(desk_scan(self, "orders path=by_time full"));
    g_assert_cmpuint(self->page.count, ==, ORDERS * EVENTS);
    self->call.deadline = 1;
    g_assert_false(desk_scan(self, "orders path=by_time full"));
    g_assert_cmpint(self->error.code, ==, KW_TIMEOUT);
    desk_free(self);
}

/* --- cursors --------------------------------------------------------------------------------------- */

KW_TEST(test_cursor_tampered, "/verb/cursor/tampered")
{
    desk *self = full_desk();
    g_assert_true(desk_scan(self, "orders path=by_time full page=3"));
    size_t size = self->page.cursor.size;
    g_autofree uint8_t *cursor = g_memdup2(self->page.cursor.data, size);
    for (size_t bit = 0; bit < 8 * size; bit++) {
        cursor[bit / 8] ^= (uint8_t)(1 << bit % 8);
        g_assert_false(desk_next(self, kw_bytes_of(cursor, size)));
        ASSERT_ERROR(self, "cursor was changed or made with another key");
        cursor[bit / 8] ^= (uint8_t)(1 << bit % 8);
        desk_clear(self);
    }
    for (size_t cut = 0; cut < size; cut++) {
        g_assert_false(desk_next(self, kw_bytes_of(cursor, cut)));
        ASSERT_ERROR(self, "cursor was changed or made with another key");
    }
    g_assert_true(desk_next(self, kw_bytes_of(cursor, size)));
    g_assert_cmpuint(self->page.count, ==, 3);
    desk_free(self);
}

static int64_t later_ms;

static int64_t
later(void)
{
    return later_ms;
}

static kw_bytes
cursor_of(desk *self, const char *query)
{
    g_assert_true(desk_scan(self, query));
    g_assert_cmpuint(self->page.cursor.size, >, 0);
    kw_bytes cursor = self->page.cursor;
    return kw_bytes_of(g_memdup2(cursor.data, cursor.size), cursor.size);
}

static void
free_bytes(kw_bytes bytes)
{
    g_free((void *)(uintptr_t)bytes.data);
}

KW_TEST(test_cursor_bound, "/verb/cursor/bound")
{
    desk *self = full_desk();
    kw_bytes cursor = cursor_of(self, "orders order_id=ord03 page=3");
    self->call.identity = KW_BYTES_LITERAL("somebody");
    g_assert_false(desk_next(self, cursor));
    ASSERT_ERROR(self, "cursor was issued to another caller");
    self->call.identity = KW_BYTES_NONE;

    later_ms = kw_clock_wall_ms() + kw_policy_model(self->policy)->cursor.expiry_ms + 1;
    kw_clock_inject(later, NULL);
    g_assert_false(desk_next(self, cursor));
    ASSERT_ERROR(self, "cursor expired");
    kw_clock_inject(NULL, NULL);

    kw_keyring *original = self->call.keyring;
    kw_bytes keys[2] = {KW_BYTES_LITERAL("a new key of 16+ bytes"), KW_BYTES_LITERAL("0123456789abcdef")};
    self->call.keyring = kw_keyring_new(keys, 1);
    g_assert_false(desk_next(self, cursor));
    ASSERT_ERROR(self, "made with another key");
    kw_keyring_unref(self->call.keyring);
    self->call.keyring = kw_keyring_new(keys, 2); /* the old key still verifies */
    g_assert_true(desk_next(self, cursor));
    kw_keyring_unref(self->call.keyring);
    self->call.keyring = original;
    free_bytes(cursor);
    desk_free(self);
}

/* Uses the same cursor under a changed policy. */
static void
next_under(desk *self, const char *from, const char *to, kw_bytes cursor, const char *text)
{
    g_auto(GStrv) parts = g_strsplit(desk_policy, from, -1);
    g_autofree char *changed = g_strjoinv(to, parts);
    g_assert_cmpstr(changed, !=, desk_policy);
    desk *other = desk_new(changed);
    self->call.policy = other->policy;
    g_assert_false(desk_next(self, cursor));
    ASSERT_ERROR(self, text);
    self->call.policy = self->policy;
    desk_free(other);
}

KW_TEST(test_cursor_of_another_policy, "/verb/cursor/another policy")
{
    desk *self = full_desk();
    kw_bytes cursor = cursor_of(self, "orders path=by_time full page=3 columns=city");
    next_under(self, "  orders:\n", "  sales:\n", cursor,
               "cursor is for table orders, which no longer exists");
    next_under(self, "      by_time:\n", "      by_clock:\n", cursor,
               "cursor is for path by_time, which table orders no longer has");
    next_under(self, "      by_time:\n", "      by_time:\n        layout: 2\n", cursor,
               "cursor was made under layout 1 of table orders, path by_time, which has layout 2 now");
    next_under(self, "buckets: 16", "buckets: 8", cursor,
               "cursor was made under another key rule of table orders, path by_time");
    next_under(self, "      city: string\n", "      town: string\n", cursor,
               "cursor names a field that table orders no longer has");
    free_bytes(cursor);
    desk_free(self);
}

/* The size of a cursor does not depend on the number of buckets. */
KW_TEST(test_cursor_size, "/verb/cursor/size")
{
    desk *self = full_desk();
    kw_bytes cursor = cursor_of(self, "orders path=by_time full page=3");
    g_assert_cmpuint(cursor.size, <, 250);
    free_bytes(cursor);
    desk_free(self);
}
