/* Scans whose exact plan would have too many ranges. They read wider ranges, page by page, on gateways with
 * other limits: each answer equals that of a gateway without a limit, row by row. Exact ranges are read where
 * wide ones would drop many rows. */
#include "desk.h"

#include "config/reader.h"
#include "support/seed.h"

#define FROM INT64_C(1620000000000)
#define DAY INT64_C(86400000)
#define DAYS 12
#define ROWS 500
#define SALTS 37

static const char tables[] = "tables:\n"
                             "  events:\n"
                             "    fields: {id: string, ts: {type: timestamp, unit: ms}, seq: int}\n"
                             "    key:\n"
                             "      - salt: {of: seq, buckets: 37}\n"
                             "      - calendar: {of: ts, parts: [yyyy, MM, dd, HH, mm, ss]}\n"
                             "      - field: id\n"
                             "      - field: seq\n"
                             "      - field: ts\n"
                             "  bursts:\n"
                             "    fields: {id: string, ts: {type: timestamp, unit: ms}, seq: int}\n"
                             "    key:\n"
                             "      - salt: {of: seq, buckets: 2}\n"
                             "      - calendar: {of: ts, parts: [yyyy, MM, dd, HH, mm, ss]}\n"
                             "      - field: id\n"
                             "      - field: seq\n"
                             "      - field: ts\n"
                             "  notes:\n"
                             "    fields: {user: string, id: string, kind: string}\n"
                             "    updates: false\n"
                             "    key:\n"
                             "      - field: user\n"
                             "      - salt: {algorithm: random, buckets: 5}\n"
                             "      - field: id\n";

static kw_policy *
policy_with(const char *limits)
{
    size_t count;
    const kw_component_schema *const *schemas = kw_rule_schemas(&count);
    g_autofree char *text = g_strdup_printf("limits: {%s}\n%s", limits, tables);
    g_autoptr(kw_diagnostics) problems = kw_diagnostics_new("test.yaml");
    g_autoptr(kw_model) model = kw_model_read_text("test.yaml", text, strlen(text), schemas, count, problems);
    g_assert_nonnull(model);
    return kw_policy_new(model, problems);
}

/* The same tables on gateways with other limits. The last one plans every query exactly. */
static const char *const limits[] = {"ranges: 40", "ranges: 100", "ranges: 1000", "ranges: 10000",
                                     "ranges: 1000000"};
#define GATEWAYS G_N_ELEMENTS(limits)

typedef struct many_desks {
    desk *desk;
    kw_policy *own; /* of the desk */
    kw_policy *policies[GATEWAYS];
} many_desks;

static void
use_gateway(many_desks *self, size_t gateway)
{
    self->desk->policy = self->policies[gateway];
    self->desk->call.policy = self->policies[gateway];
}

static many_desks
desks_new(void)
{
    many_desks self = {.desk = desk_new(tables)};
    self.own = self.desk->policy;
    for (size_t index = 0; index < GATEWAYS; index++)
        self.policies[index] = policy_with(limits[index]);
    return self;
}

static void
desks_clear(many_desks *self)
{
    self->desk->policy = self->own;
    self->desk->call.policy = self->own;
    desk_free(self->desk);
    for (size_t index = 0; index < GATEWAYS; index++)
        kw_policy_unref(self->policies[index]);
}

static void
put(desk *self, const char *table, const char *record)
{
    g_assert_cmpint(desk_put(self, table, record)->outcome, ==, KW_OUTCOME_OK);
    desk_clear(self);
}

/* Events of one id within twelve days, several of them in the same seconds. */
static void
put_events(desk *self, const char *table, const char *id, int64_t from, int64_t length, unsigned rows)
{
    for (unsigned row = 0; row < rows; row++) {
        int64_t ts = from + (int64_t)(kw_random_u64() % (uint64_t)length);
        g_autofree char *record = g_strdup_printf("id=%s ts=%" G_GINT64_FORMAT " seq=%u", id,
                                                  row % 3 ? ts : ts / 60000 * 60000, row);
        put(self, table, record);
    }
}

/* The rows of a scan, one line each, or the error. Each page is read on another gateway. */
static char *
scan_on(many_desks *self, const char *words, size_t gateway, bool change)
{
    desk *open = self->desk;
    GString *all = g_string_new(NULL);
    use_gateway(self, gateway);
    bool good = desk_scan(open, words);
    for (;;) {
        if (!good) {
            g_string_append_printf(all, "%s: %s\n", kw_code_name(open->error.code), open->error.text);
            break;
        }
        g_autofree char *rows = desk_page_text(open);
        g_string_append(all, rows);
        if (open->page.cursor.size == 0)
            break;
        g_autoptr(GBytes) cursor = g_bytes_new(open->page.cursor.data, open->page.cursor.size);
        desk_clear(open);
        if (change)
            use_gateway(self, kw_random_u64() % GATEWAYS);
        gsize size;
        const uint8_t *data = g_bytes_get_data(cursor, &size);
        good = desk_next(open, kw_arena_copy(open->call.arena, kw_bytes_of(data, size)));
    }
    desk_clear(open);
    return g_string_free(all, FALSE);
}

/* All of them return the rows that the last gateway returns in one page. */
static void
check_all(many_desks *self, const char *words, size_t first, size_t rows)
{
    static const char *const pages[] = {"", " page=1", " page=7", " page=40 limit=130", " bytes=2000"};
    g_autofree char *expected = scan_on(self, words, GATEWAYS - 1, false);
    g_auto(GStrv) lines = g_strsplit(expected, "\n", -1);
    g_assert_cmpuint(g_strv_length(lines) - 1, ==, rows);
    for (size_t gateway = first; gateway < GATEWAYS; gateway++) {
        for (size_t page = 0; page < G_N_ELEMENTS(pages); page++) {
            g_autofree char *more = g_strconcat(words, pages[page], NULL);
            g_autofree char *found = scan_on(self, more, gateway, true);
            bool limited = strstr(more, "limit=") != NULL;
            g_assert_true(g_str_has_prefix(expected, found));
            g_assert_true(strlen(found) == strlen(expected) || (limited && rows > 130));
        }
    }
}

#define BETWEEN(days) " ts=1620000000000..", FROM + (days)*DAY

/* The exact plan has 38 million point reads. */
KW_TEST(test_sparse, "/verb/widening/sparse")
{
    many_desks self = desks_new();
    put_events(self.desk, "events", "a", FROM, DAYS * DAY, ROWS);
    put_events(self.desk, "events", "b", FROM, DAYS * DAY, ROWS);
    g_autofree char *words = g_strdup_printf("events id=a%s%" G_GINT64_FORMAT, BETWEEN(DAYS));
    for (size_t gateway = 0; gateway < GATEWAYS; gateway++) {
        use_gateway(&self, gateway);
        uint64_t before = self.desk->control->fetches;
        g_assert_true(desk_scan(self.desk, words));
        g_assert_cmpuint(self.desk->page.count, ==, ROWS);
        g_assert_cmpuint(self.desk->page.scanned, <=, 3 * ROWS);
        g_assert_cmpuint(self.desk->control->fetches - before, <, 40 * SALTS);
        g_assert_cmpuint(self.desk->control->rows_got, ==, 0);
        desk_clear(self.desk);
    }
    desks_clear(&self);
}

/* Within an hour, the last gateway reads the exact rows. */
KW_TEST(test_pages, "/verb/widening/pages")
{
    static const char *const orders[] = {"", " order=asc", " order=desc"};
    many_desks self = desks_new();
    put_events(self.desk, "events", "a", FROM, DAY / 24, ROWS);
    put_events(self.desk, "events", "b", FROM, DAY / 24, ROWS);
    for (size_t order = 0; order < G_N_ELEMENTS(orders); order++) {
        g_autofree char *words = g_strdup_printf("events id=a ts=1620000000000..%" G_GINT64_FORMAT "%s",
                                                 FROM + DAY / 24, orders[order]);
        check_all(&self, words, 0, ROWS);
    }
    desks_clear(&self);
}

/* Fifty rows of other ids in each second: the scan reads the exact rows of most seconds. */
KW_TEST(test_dense, "/verb/widening/dense")
{
    enum { SECONDS = 600, OTHERS = 30000 };
    many_desks self = desks_new();
    put_events(self.desk, "bursts", "a", FROM, SECONDS * 1000, 50);
    for (unsigned row = 0; row < OTHERS; row++) {
        g_autofree char *record = g_strdup_printf("id=o%u ts=%" G_GINT64_FORMAT " seq=%u", row % 1000,
                                                  FROM + row * INT64_C(1000) / (OTHERS / SECONDS), row);
        put(self.desk, "bursts", record);
    }
    g_autofree char *words =
        g_strdup_printf("bursts id=a ts=1620000000000..%" G_GINT64_FORMAT, FROM + SECONDS * INT64_C(1000));
    use_gateway(&self, 2);
    uint64_t before = self.desk->control->rows_read;
    g_assert_true(desk_scan(self.desk, words));
    g_assert_cmpuint(self.desk->page.count, ==, 50);
    g_assert_cmpuint(self.desk->control->rows_read - before, <, OTHERS / 3);
    desk_clear(self.desk);
    check_all(&self, words, 0, 50);
    desks_clear(&self);
}

/* Rows in the order of row keys: wider ranges return them in the same order. */
KW_TEST(test_by_key, "/verb/widening/by_key")
{
    many_desks self = desks_new();
    GString *words = g_string_new("notes user=u id=");
    for (unsigned id = 0; id < 300; id++) {
        g_autofree char *record = g_strdup_printf("user=u id=n%u kind=k", id),
                        *other = g_strdup_printf("user=v id=n%u kind=k", id);
        put(self.desk, "notes", record);
        put(self.desk, "notes", other);
        if (id % 3 == 0)
            g_string_append_printf(words, "%sn%u", id ? "|" : "", id);
    }
    check_all(&self, words->str, 0, 100);
    g_string_append(words, " order=desc");
    check_all(&self, words->str, 0, 100);
    g_string_free(words, TRUE);
    desks_clear(&self);
}

/* Merged ranges cannot be widened, and a list of the first field would be widened to the whole table. */
KW_TEST(test_refused, "/verb/widening/refused")
{
    many_desks self = desks_new();
    use_gateway(&self, 0);
    GString *users = g_string_new("notes user=");
    for (unsigned user = 0; user < 41; user++)
        g_string_append_printf(users, "%su%u", user ? "|" : "", user);
    g_assert_false(desk_scan(self.desk, users->str));
    g_assert_cmpint(self.desk->error.code, ==, KW_LIMIT);
    g_assert_nonnull(strstr(self.desk->error.text,
                            "needs up to 205 ranges or point reads of path primary; at most 40 are "
                            "allowed (limits.ranges"));
    g_string_append(users, " id=a full");
    g_assert_true(desk_scan(self.desk, users->str));
    g_string_free(users, TRUE);
    desks_clear(&self);
}

/* The size of windows also depends on the time that they take. */
static uint64_t
a_microsecond_later(void)
{
    static uint64_t now_ns = 1000000;
    return now_ns += 1000;
}

KW_TEST_START(start)
{
    kw_random_inject(test_seed());
    kw_clock_inject(NULL, a_microsecond_later);
}
