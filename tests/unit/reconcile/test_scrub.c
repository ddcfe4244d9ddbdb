/* Scrub in the embedded store, which has delete markers like those of HBase. */
#include "scrub_fixture.h"

#include <time.h>

#define MINUTE_MS 60000

/* --- differences that scrub finds and repairs ------------------------------------------------- */

KW_TEST(test_clean, "/reconcile/scrub/clean")
{
    scrub_fixture self;
    scrub_fixture_open(&self);
    g_assert_true(scrub_table(&self, true)); /* an empty table */
    g_assert_cmpuint(self.sum.rows, ==, 0);
    for (int i = 0; i < 50; i++) {
        g_autofree char *record =
            g_strdup_printf("id=r%d ts=%d city=c%d note=n amount=1 tags.a=%d", i % 7, i, i % 3, i);
        put_record(&self, record, i % 2 ? 1000 : 0);
    }
    desk_remove(self.desk, "visits", "id=r1 ts=1 city=c1", NULL);
    desk_remove(self.desk, "visits", "id=r2 ts=2 city=c2", "note tags.a");
    self.request.max_records = 7;
    g_assert_true(scrub_table(&self, true));
    g_assert_cmpstr(self.text->str, ==, "");
    g_assert_cmpuint(self.sum.rows, ==, 3 * 49);
    g_assert_cmpuint(self.sum.unsettled + self.sum.missing + self.sum.different + self.sum.extra, ==, 0);
    g_assert_cmpuint(self.slices, >=, 3 * 7);
    scrub_fixture_close(&self);
}

typedef struct difference_case {
    const char *name;
    void (*write_difference)(scrub_fixture *self);
    const char *report; /* of a scrub without repair */
    const char *after;  /* all records of each path after the repair */
} difference_case;

#define KEY "id=a ts=5 city=x"

static void
write_missing(scrub_fixture *self)
{
    write_one_path(self, 0, KEY " note=one", 1000);
    write_one_path(self, 2, KEY " note=one", 1000);
}

/* The row under the path was deleted after it was written: the delete marker hides cells with the row's own
 * timestamp. */
static void
write_deleted(scrub_fixture *self)
{
    put_record(self, KEY " note=one amount=7", 1000);
    delete_one_path(self, 1, KEY, NULL, 2000);
}

static void
write_column_deleted(scrub_fixture *self)
{
    put_record(self, KEY " note=one amount=7 tags.k=1", 1000);
    delete_one_path(self, 1, KEY, "tags.k", 1000);
    delete_one_path(self, 2, KEY, "amount", 1500);
}

static void
write_stale(scrub_fixture *self)
{
    put_record(self, KEY " note=old amount=1", 1000);
    write_one_path(self, 0, KEY " note=new", 2000);
    write_one_path(self, 1, KEY " note=new", 2000);
}

static void
write_newer(scrub_fixture *self)
{
    put_record(self, KEY " note=right amount=1", 1000);
    write_one_path(self, 2, KEY " note=wrong", 3000);
}

/* Two puts in one millisecond that reached the paths in different orders. */
static void
write_tie(scrub_fixture *self)
{
    put_record(self, KEY " note=right amount=1", 1000);
    write_one_path(self, 1, KEY " note=wrong amount=2", 1000);
}

static void
write_extra_columns(scrub_fixture *self)
{
    put_record(self, KEY " note=one", 1000);
    write_one_path(self, 1, KEY " amount=9 tags.b=4", 2000);
}

static void
write_extra(scrub_fixture *self)
{
    put_record(self, "id=b ts=1 city=y note=stays", 1000);
    write_one_path(self, 1, KEY " note=gone amount=4", 1000);
    write_one_path(self, 1, KEY " note=gone", 2000);
    write_one_path(self, 2, "id=c ts=2 city=z", 1000);
}

/* A removal that reached only the primary path. */
static void
write_half_removal(scrub_fixture *self)
{
    put_record(self, KEY " note=one amount=4", 1000);
    delete_one_path(self, 0, KEY, NULL, 5000);
}

static const difference_case cases[] = {
    {"missing", write_missing, "MISSING by_time " KEY ": the path does not have the record\n",
     KEY " note=one"},
    {"deleted", write_deleted, "MISSING by_time " KEY ": the path does not have the record\n",
     KEY " note=one amount=7"},
    {"column deleted", write_column_deleted,
     "DIFFERENT by_time " KEY ": tags.k is missing\nDIFFERENT by_city " KEY ": amount is missing\n",
     KEY " note=one amount=7 tags.k=1"},
    {"stale", write_stale, "DIFFERENT by_city " KEY ": note has another value\n", KEY " note=new amount=1"},
    {"newer", write_newer, "DIFFERENT by_city " KEY ": note has another value\n", KEY " note=right amount=1"},
    {"tie", write_tie, "DIFFERENT by_time " KEY ": amount has another value, note has another value\n",
     KEY " note=right amount=1"},
    {"extra columns", write_extra_columns,
     "DIFFERENT by_time " KEY ": amount is only here, tags.b is only here\n", KEY " note=one"},
    {"extra", write_extra,
     "EXTRA by_time " KEY ": the primary path does not have the record\n"
     "EXTRA by_city id=c ts=2 city=z: the primary path does not have the record\n",
     "id=b ts=1 city=y note=stays"},
    {"half a removal", write_half_removal,
     "EXTRA by_time " KEY ": the primary path does not have the record\n"
     "EXTRA by_city " KEY ": the primary path does not have the record\n",
     ""},
};

static void
test_difference(gconstpointer data)
{
    const difference_case *it = data;
    scrub_fixture self;
    scrub_fixture_open(&self);
    it->write_difference(&self);
    for (int i = 0; i < 2; i++) { /* a scrub without repair changes nothing */
        g_assert_true(scrub_table(&self, false));
        g_assert_cmpstr(self.text->str, ==, it->report);
        g_assert_cmpuint(self.sum.repaired, ==, 0);
    }
    repair_table(&self);
    assert_records(&self, it->after);
    put_record(&self, KEY " note=later amount=3 tags.k=3 tags.b=3",
               0); /* no delete marker hides a later put */
    g_assert_true(scrub_table(&self, false));
    g_assert_cmpuint(self.sum.missing + self.sum.different + self.sum.extra + self.sum.unsettled, ==, 0);
    scrub_fixture_close(&self);
}

/* --- rows that scrub does not change ---------------------------------------------------------- */

static int64_t moved_ms;

static int64_t
moved_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000 + moved_ms;
}

/* A write that is so recent that it can be in progress is neither reported nor repaired. Once it is old
 * enough, it is. */
KW_TEST(test_recent_writes, "/reconcile/scrub/recent writes")
{
    scrub_fixture self;
    scrub_fixture_open(&self);
    int64_t now_ms = kw_clock_wall_ms();
    put_record(&self, KEY " note=one", 1000);
    write_one_path(&self, 1, KEY " note=two", now_ms);
    write_one_path(&self, 2, "id=b ts=1 city=y", now_ms);
    write_one_path(&self, 0, "id=c ts=1 city=y", now_ms);
    g_assert_true(scrub_table(&self, true));
    g_assert_cmpstr(self.text->str, ==, "");
    g_assert_cmpuint(self.sum.unsettled, ==, 4); /* c is missing in two paths */
    g_assert_cmpuint(self.sum.repaired, ==, 0);
    kw_clock_inject(moved_clock, NULL);
    moved_ms = 5 * MINUTE_MS;
    repair_table(&self);
    g_assert_cmpuint(self.sum.repaired, ==, 4);
    assert_records(&self, KEY " note=one\nid=c ts=1 city=y");
    moved_ms = 0;
    kw_clock_inject(NULL, NULL);
    scrub_fixture_close(&self);
}

/* A delete with a timestamp in the future would hide every put until then. */
KW_TEST(test_future, "/reconcile/scrub/future")
{
    scrub_fixture self;
    scrub_fixture_open(&self);
    int64_t then_ms = kw_clock_wall_ms() + 60 * MINUTE_MS;
    write_one_path(&self, 1, KEY " note=two", then_ms);
    g_assert_true(scrub_table(&self, true));
    g_assert_cmpuint(self.sum.extra, ==, 1);
    g_assert_cmpuint(self.sum.repaired, ==, 0);
    put_record(&self, KEY " note=two", 0);
    assert_records(&self, KEY " note=two");
    put_record(&self, "id=b ts=1 city=y note=one", 1000);
    write_one_path(&self, 2, "id=b ts=1 city=y note=two", then_ms);
    g_assert_true(scrub_table(&self, true));
    g_assert_cmpuint(self.sum.different, ==, 1);
    g_assert_cmpuint(self.sum.repaired, ==, 0);
    scrub_fixture_close(&self);
}

KW_TEST(test_foreign, "/reconcile/scrub/foreign")
{
    scrub_fixture self;
    scrub_fixture_open(&self);
    put_record(&self, KEY " note=one", 1000);
    write_raw_row(&self, 0, "short");
    write_raw_row(&self, 1, "xyz");
    write_in_other_bucket(&self, 1, KEY);
    for (int i = 0; i < 2; i++) {
        g_assert_true(scrub_table(&self, true));
        g_assert_cmpuint(self.sum.foreign, ==, 3);
        g_assert_cmpuint(self.sum.repaired + self.sum.extra + self.sum.missing, ==, 0);
        g_assert_nonnull(strstr(self.text->str, "FOREIGN primary no record: "));
        g_assert_nonnull(strstr(self.text->str, "FOREIGN by_time no record: "));
    }
    scrub_fixture_close(&self);
}

/* All differences are counted and repaired, even if only some are listed. */
KW_TEST(test_listed, "/reconcile/scrub/listed differences")
{
    scrub_fixture self;
    scrub_fixture_open(&self);
    for (int i = 0; i < 9; i++) {
        g_autofree char *record = g_strdup_printf("id=r%d ts=1 city=x note=n", i);
        write_one_path(&self, 0, record, 1000);
        write_one_path(&self, 2, record, 1000);
    }
    self.request.max_differences = 2;
    g_assert_true(scrub_table(&self, true));
    g_assert_cmpuint(self.sum.missing, ==, 9);
    g_assert_cmpuint(self.sum.repaired, ==, 9);
    g_auto(GStrv) lines = g_strsplit(self.text->str, "\n", -1);
    g_assert_cmpuint(g_strv_length(lines), ==, 3);
    g_assert_true(g_str_has_suffix(lines[1], ", repaired"));
    scrub_fixture_close(&self);
}

/* --- large rows ------------------------------------------------------------------------------- */

/* A slice ends when it has as many bytes as a page. */
KW_TEST(test_large_rows, "/reconcile/scrub/large rows")
{
    scrub_fixture self;
    scrub_fixture_open(&self);
    g_autofree char *note = g_strnfill(128000, 'n');
    for (int i = 0; i < 20; i++) {
        g_autofree char *record = g_strdup_printf("id=r%d ts=1 city=x note=%s", i, note);
        put_record(&self, record, 1000);
        desk_clear(self.desk);
    }
    g_assert_true(scrub_table(&self, false));
    g_assert_cmpuint(self.sum.rows, ==, SCRUB_PATHS * 20);
    g_assert_cmpuint(self.slices, >=, SCRUB_PATHS * 4);
    scrub_fixture_close(&self);
}

/* A row that is larger than a frame is an error, in a range scan and in a lookup. */
KW_TEST(test_too_large, "/reconcile/scrub/too large")
{
    scrub_fixture self;
    scrub_fixture_open(&self);
    g_autofree char *text = g_strnfill(700000, 'n');
    g_autofree char *note = g_strdup_printf(KEY " note=%s", text),
                    *more = g_strdup_printf(KEY " more=%s", text);
    put_record(&self, note, 1000);
    write_one_path(&self, 2, more, 1000);
    g_assert_false(scrub_table(&self, true));
    g_assert_cmpint(self.error.code, ==, KW_LIMIT);
    g_assert_nonnull(strstr(self.error.text, "path by_city: a row has more than 1048576 bytes"));
    write_one_path(&self, 0, more, 1000);
    g_assert_false(scrub_table(&self, true));
    g_assert_cmpint(self.error.code, ==, KW_LIMIT);
    g_assert_nonnull(strstr(self.error.text, "path primary: a row has more than 1048576 bytes"));
    scrub_fixture_close(&self);
}

/* --- writes in progress ----------------------------------------------------------------------- */

/* Writes a row under by_city once the store has seen a number of operations. */
typedef struct late_write {
    scrub_fixture *of;
    uint64_t from;
    kw_timer *timer;
    kw_write write;
    bool sent;
    uint64_t applied_at; /* number of operations when the write was applied; 0 before */
} late_write;

static void
on_applied(void *user, kw_outcome outcome, const kw_error *error)
{
    late_write *self = user;
    g_assert_null(error);
    g_assert_cmpint(outcome, ==, KW_OUTCOME_OK);
    self->applied_at = self->of->plan.operations;
}

static void
send_when_due(void *user)
{
    late_write *self = user;
    self->sent = self->of->plan.operations >= self->from;
    if (self->sent)
        kw_store_handle_write(self->of->desk->handle, &self->write, on_applied, self);
    else
        kw_timer_start_ms(self->timer, 1);
}

/* Scrubs one slice with such a write during it. */
static bool
scrub_with_late_write(scrub_fixture *of, uint64_t operations, const char *record, uint64_t *ret_applied_at)
{
    kw_scrub_result slice;
    late_write self = {.of = of, .from = of->plan.operations + operations};
    uint64_t before = of->plan.operations;
    self.write = make_write(of, 2, record, 2000);
    self.timer = kw_timer_new(of->desk->loop, send_when_due, &self);
    kw_timer_start_ms(self.timer, 1);
    g_assert_true(scrub_one_slice(of, &slice));
    while (!self.applied_at)
        uv_run(kw_loop_uv(of->desk->loop), UV_RUN_ONCE);
    kw_timer_free(self.timer);
    of->sum = slice;
    *ret_applied_at = self.applied_at - before;
    return true;
}

/* The operations of a slice: read the last row key, the rows, the rows in by_time and in by_city, and then
 * three times both rows that differ. */
#define FIRST_READ 4
#define SECOND_REREAD (FIRST_READ + 4)

/* A path that is written a little later than the primary path is not a difference. */
KW_TEST(test_write_in_progress, "/reconcile/scrub/write in progress")
{
    scrub_fixture self;
    uint64_t applied_at;
    scrub_fixture_open(&self);
    put_record(&self, KEY " note=old", 1000);
    write_one_path(&self, 0, KEY " note=new", 2000);
    write_one_path(&self, 1, KEY " note=new", 2000);
    self.request.settle_ms = 10000; /* the slice ends as soon as the rows are equal */
    scrub_with_late_write(&self, FIRST_READ, KEY " note=new", &applied_at);
    g_assert_cmpuint(self.sum.different + self.sum.unsettled, ==, 0);
    g_assert_cmpuint(self.plan.operations, >, FIRST_READ);
    scrub_fixture_close(&self);
}

/* Rows that change between the last two reads are neither reported nor repaired. */
KW_TEST(test_changing_rows, "/reconcile/scrub/changing rows")
{
    scrub_fixture self;
    uint64_t applied_at = UINT64_MAX;
    scrub_fixture_open(&self);
    self.request.settle_ms = 300;
    self.request.repair = true;
    /* On a busy machine the write can be too late: repeat. */
    for (int i = 0; applied_at > SECOND_REREAD + 1 && i < 100; i++) {
        repair_table(&self);
        g_autofree char *primary = g_strdup_printf("id=r%d ts=1 city=x note=right", i);
        g_autofree char *first = g_strdup_printf("id=r%d ts=1 city=x note=wrong", i);
        g_autofree char *then = g_strdup_printf("id=r%d ts=1 city=x note=other", i);
        put_record(&self, primary, 1000);
        write_one_path(&self, 2, first, 1500);
        scrub_with_late_write(&self, SECOND_REREAD, then, &applied_at);
    }
    g_assert_cmpuint(self.sum.unsettled, ==, 1);
    g_assert_cmpuint(self.sum.different + self.sum.repaired, ==, 0);
    scrub_fixture_close(&self);
}

/* --- errors ----------------------------------------------------------------------------------- */

static void
assert_rejected(scrub_fixture *self, const char *table, kw_bytes cursor, const char *part)
{
    kw_scrub_result ignored;
    self->request.table = desk_table(self->desk, table);
    self->request.cursor = cursor;
    g_assert_false(scrub_one_slice(self, &ignored));
    g_assert_cmpint(self->error.code, ==, KW_INVALID);
    if (!strstr(self->error.text, part) || !strstr(self->error.text, table))
        g_error("%s", self->error.text);
}

KW_TEST(test_rejected, "/reconcile/scrub/rejected")
{
    scrub_fixture self;
    kw_scrub_result slice;
    scrub_fixture_open(&self);
    assert_rejected(&self, "alone", KW_BYTES_NONE, "has one path");
    assert_rejected(&self, "chosen", KW_BYTES_NONE, "chosen at each put");
    assert_rejected(&self, "visits", KW_BYTES_LITERAL("x"), "not from a scrub");
    put_record(&self, "id=a ts=1 city=x", 1000);
    put_record(&self, "id=b ts=1 city=x", 1000);
    self.request.cursor = KW_BYTES_NONE;
    self.request.max_records = 1;
    g_assert_true(scrub_one_slice(&self, &slice));
    uint8_t *bytes = (uint8_t *)(uintptr_t)slice.cursor.data;
    for (size_t size = 11; size < slice.cursor.size; size++)
        assert_rejected(&self, "visits", kw_bytes_of(bytes, size), "damaged");
    bytes[10] = SCRUB_PATHS; /* the stage */
    assert_rejected(&self, "visits", slice.cursor, "damaged");
    bytes[5] ^= 1;
    assert_rejected(&self, "visits", slice.cursor, "another table");
    ((kw_table *)self.request.table)->change = KW_TABLE_MOVES;
    self.request.cursor = KW_BYTES_NONE;
    self.request.repair = true;
    g_assert_false(scrub_one_slice(&self, &slice));
    g_assert_cmpint(self.error.code, ==, KW_REFUSED);
    self.request.repair = false;
    g_assert_true(scrub_one_slice(&self, &slice));
    scrub_fixture_close(&self);
}

/* --- faults ----------------------------------------------------------------------------------- */

/* id: the prefix of the ids, followed by a letter. */
static char *
record_text(const char *id, const char *letter, const char *rest)
{
    return g_strdup_printf("id=%s%s ts=1 city=x%s", id, letter, rest);
}

static void
write_some_of_each(scrub_fixture *self, const char *id)
{
    g_autofree char *a = record_text(id, "a", " note=right"), *wrong = record_text(id, "a", " note=wrong");
    g_autofree char *b = record_text(id, "b", " note=b"), *b_key = record_text(id, "b", "");
    g_autofree char *c = record_text(id, "c", " note=c"), *d = record_text(id, "d", " note=d");
    put_record(self, a, 1000);
    write_one_path(self, 1, wrong, 3000);
    put_record(self, b, 1000);
    delete_one_path(self, 1, b_key, NULL, 2000);
    write_one_path(self, 2, c, 1000);
    write_one_path(self, 0, d, 1000);
}

/* Checks the records after the repair and removes them. */
static void
check_some_of_each(scrub_fixture *self, const char *id)
{
    static const char *const letters[] = {"a", "b", "d"};
    g_autofree char *expected = g_strdup_printf("id=%sa ts=1 city=x note=right\nid=%sb ts=1 city=x note=b\n"
                                                "id=%sd ts=1 city=x note=d",
                                                id, id, id);
    assert_records(self, expected);
    for (size_t i = 0; i < G_N_ELEMENTS(letters); i++) {
        g_autofree char *key = record_text(id, letters[i], "");
        g_assert_cmpstr(desk_remove(self->desk, "visits", key, NULL)->error.text, ==, "");
    }
    desk_clear(self->desk);
}

/* One store operation fails. A scrub after it, from any cursor or from the beginning, completes the
 * repair. */
static bool
repair_with_fault(scrub_fixture *self, kw_fault fault, uint64_t n)
{
    g_autofree char *id = g_strdup_printf("f%d.%d", (int)fault, (int)n);
    write_some_of_each(self, id);
    self->request.max_records = 2;
    self->plan.fault = (int)fault;
    self->plan.failed = 0;
    self->plan.fail_at = n;
    bool good = scrub_table(self, true), failed = self->plan.failed > 0;
    self->plan.fail_at = 0;
    g_assert_true(good || self->error.text[0]);
    g_assert_true(good || !self->error.maybe_applied);
    repair_table(self);
    check_some_of_each(self, id);
    return failed;
}

KW_TEST(test_faults, "/reconcile/scrub/faults")
{
    static const kw_fault faults[] = {KW_FAULT_FAILED, KW_FAULT_UNKNOWN_APPLIED, KW_FAULT_UNKNOWN_LOST};
    scrub_fixture self;
    scrub_fixture_open(&self);
    for (size_t i = 0; i < G_N_ELEMENTS(faults); i++) {
        uint64_t n = 1;
        while (repair_with_fault(&self, faults[i], n))
            n++;
        g_assert_cmpuint(n, >, 10);
    }
    scrub_fixture_close(&self);
}

/* A slice whose answer was lost is repeated from the cursor before it. */
KW_TEST(test_repeated, "/reconcile/scrub/repeated slices")
{
    scrub_fixture self;
    kw_scrub_result slice;
    scrub_fixture_open(&self);
    write_some_of_each(&self, "r");
    self.request.repair = true;
    self.request.max_records = 1;
    do {
        kw_bytes cursor = self.request.cursor;
        g_assert_true(scrub_one_slice(&self, &slice));
        self.request.cursor = cursor;
        g_assert_true(scrub_one_slice(&self, &slice));
        g_assert_cmpuint(slice.missing + slice.different + slice.extra, ==, 0);
        self.request.cursor = slice.cursor;
    } while (slice.cursor.size);
    check_some_of_each(&self, "r");
    scrub_fixture_close(&self);
}

KW_TEST_START(start)
{
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *name = g_strdup_printf("/reconcile/scrub/differences/%s", cases[i].name);
        g_test_add_data_func(name, &cases[i], test_difference);
    }
}
