/* Scrub over the embedded store, whose rows have delete markers as HBase's have. */
#include "scrubbed.h"

#include <time.h>

#define MINUTE_MS 60000

/* --- what is found and repaired ------------------------------------------------------------------ */

static void
test_clean(void)
{
    scrubbed self;
    scrubbed_open(&self);
    g_assert_true(scrubbed_run(&self, true)); /* an empty table */
    g_assert_cmpuint(self.sum.rows, ==, 0);
    for (int i = 0; i < 50; i++) {
        g_autofree char *record =
            g_strdup_printf("id=r%d ts=%d city=c%d note=n amount=1 tags.a=%d", i % 7, i, i % 3, i);
        scrubbed_put(&self, record, i % 2 ? 1000 : 0);
    }
    desk_remove(self.desk, "visits", "id=r1 ts=1 city=c1", NULL);
    desk_remove(self.desk, "visits", "id=r2 ts=2 city=c2", "note tags.a");
    self.request.max_records = 7;
    g_assert_true(scrubbed_run(&self, true));
    g_assert_cmpstr(self.text->str, ==, "");
    g_assert_cmpuint(self.sum.rows, ==, 3 * 49);
    g_assert_cmpuint(self.sum.unsettled + self.sum.missing + self.sum.different + self.sum.orphans, ==, 0);
    g_assert_cmpuint(self.slices, >=, 3 * 7);
    scrubbed_close(&self);
}

typedef struct planted {
    const char *name;
    void (*plant)(scrubbed *self);
    const char *report; /* of a scrub without repair */
    const char *after;  /* all records of all paths after the repair */
} planted;

#define KEY "id=a ts=5 city=x"

static void
plant_missing(scrubbed *self)
{
    scrubbed_plant(self, 0, KEY " note=one", 1000);
    scrubbed_plant(self, 2, KEY " note=one", 1000);
}

/* The path's row was deleted after it was written: the marker hides what has the row's own timestamp. */
static void
plant_deleted(scrubbed *self)
{
    scrubbed_put(self, KEY " note=one amount=7", 1000);
    scrubbed_wipe(self, 1, KEY, NULL, 2000);
}

static void
plant_column_deleted(scrubbed *self)
{
    scrubbed_put(self, KEY " note=one amount=7 tags.k=1", 1000);
    scrubbed_wipe(self, 1, KEY, "tags.k", 1000);
    scrubbed_wipe(self, 2, KEY, "amount", 1500);
}

static void
plant_stale(scrubbed *self)
{
    scrubbed_put(self, KEY " note=old amount=1", 1000);
    scrubbed_plant(self, 0, KEY " note=new", 2000);
    scrubbed_plant(self, 1, KEY " note=new", 2000);
}

static void
plant_newer(scrubbed *self)
{
    scrubbed_put(self, KEY " note=right amount=1", 1000);
    scrubbed_plant(self, 2, KEY " note=wrong", 3000);
}

/* Two puts of one millisecond that reached the paths in different orders. */
static void
plant_tie(scrubbed *self)
{
    scrubbed_put(self, KEY " note=right amount=1", 1000);
    scrubbed_plant(self, 1, KEY " note=wrong amount=2", 1000);
}

static void
plant_extra(scrubbed *self)
{
    scrubbed_put(self, KEY " note=one", 1000);
    scrubbed_plant(self, 1, KEY " amount=9 tags.b=4", 2000);
}

static void
plant_orphans(scrubbed *self)
{
    scrubbed_put(self, "id=b ts=1 city=y note=stays", 1000);
    scrubbed_plant(self, 1, KEY " note=gone amount=4", 1000);
    scrubbed_plant(self, 1, KEY " note=gone", 2000);
    scrubbed_plant(self, 2, "id=c ts=2 city=z", 1000);
}

/* A removal that reached only the primary path. */
static void
plant_half_removal(scrubbed *self)
{
    scrubbed_put(self, KEY " note=one amount=4", 1000);
    scrubbed_wipe(self, 0, KEY, NULL, 5000);
}

static const planted plants[] = {
    {"missing", plant_missing, "MISSING by_time " KEY ": the path does not have the record\n",
     KEY " note=one"},
    {"deleted", plant_deleted, "MISSING by_time " KEY ": the path does not have the record\n",
     KEY " note=one amount=7"},
    {"column deleted", plant_column_deleted,
     "DIFFERENT by_time " KEY ": tags.k is missing\nDIFFERENT by_city " KEY ": amount is missing\n",
     KEY " note=one amount=7 tags.k=1"},
    {"stale", plant_stale, "DIFFERENT by_city " KEY ": note has another value\n", KEY " note=new amount=1"},
    {"newer", plant_newer, "DIFFERENT by_city " KEY ": note has another value\n", KEY " note=right amount=1"},
    {"tie", plant_tie, "DIFFERENT by_time " KEY ": amount has another value, note has another value\n",
     KEY " note=right amount=1"},
    {"extra", plant_extra, "DIFFERENT by_time " KEY ": amount is only here, tags.b is only here\n",
     KEY " note=one"},
    {"orphans", plant_orphans,
     "ORPHAN by_time " KEY ": the primary path does not have the record\n"
     "ORPHAN by_city id=c ts=2 city=z: the primary path does not have the record\n",
     "id=b ts=1 city=y note=stays"},
    {"half a removal", plant_half_removal,
     "ORPHAN by_time " KEY ": the primary path does not have the record\n"
     "ORPHAN by_city " KEY ": the primary path does not have the record\n",
     ""},
};

static void
test_planted(gconstpointer data)
{
    const planted *what = data;
    scrubbed self;
    scrubbed_open(&self);
    what->plant(&self);
    for (int i = 0; i < 2; i++) { /* a report changes nothing */
        g_assert_true(scrubbed_run(&self, false));
        g_assert_cmpstr(self.text->str, ==, what->report);
        g_assert_cmpuint(self.sum.repaired, ==, 0);
    }
    scrubbed_repair(&self);
    scrubbed_check(&self, what->after);
    scrubbed_put(&self, KEY " note=later amount=3 tags.k=3 tags.b=3",
                 0); /* nothing hides what comes after it */
    g_assert_true(scrubbed_run(&self, false));
    g_assert_cmpuint(self.sum.missing + self.sum.different + self.sum.orphans + self.sum.unsettled, ==, 0);
    scrubbed_close(&self);
}

/* --- what is left alone -------------------------------------------------------------------------- */

static int64_t moved_ms;

static int64_t
moved_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000 + moved_ms;
}

/* A write so recent that it may be under way is neither reported nor repaired; when it is old enough, it is.
 */
static void
test_young(void)
{
    scrubbed self;
    scrubbed_open(&self);
    int64_t now_ms = kw_clock_wall_ms();
    scrubbed_put(&self, KEY " note=one", 1000);
    scrubbed_plant(&self, 1, KEY " note=two", now_ms);
    scrubbed_plant(&self, 2, "id=b ts=1 city=y", now_ms);
    scrubbed_plant(&self, 0, "id=c ts=1 city=y", now_ms);
    g_assert_true(scrubbed_run(&self, true));
    g_assert_cmpstr(self.text->str, ==, "");
    g_assert_cmpuint(self.sum.unsettled, ==, 4); /* c is missing in two paths */
    g_assert_cmpuint(self.sum.repaired, ==, 0);
    kw_clock_inject(moved_clock, NULL);
    moved_ms = 5 * MINUTE_MS;
    scrubbed_repair(&self);
    g_assert_cmpuint(self.sum.repaired, ==, 4);
    scrubbed_check(&self, KEY " note=one\nid=c ts=1 city=y");
    moved_ms = 0;
    kw_clock_inject(NULL, NULL);
    scrubbed_close(&self);
}

/* A delete with a timestamp of the future would hide every put until then. */
static void
test_future(void)
{
    scrubbed self;
    scrubbed_open(&self);
    int64_t then_ms = kw_clock_wall_ms() + 60 * MINUTE_MS;
    scrubbed_plant(&self, 1, KEY " note=two", then_ms);
    g_assert_true(scrubbed_run(&self, true));
    g_assert_cmpuint(self.sum.orphans, ==, 1);
    g_assert_cmpuint(self.sum.repaired, ==, 0);
    scrubbed_put(&self, KEY " note=two", 0);
    scrubbed_check(&self, KEY " note=two");
    scrubbed_put(&self, "id=b ts=1 city=y note=one", 1000);
    scrubbed_plant(&self, 2, "id=b ts=1 city=y note=two", then_ms);
    g_assert_true(scrubbed_run(&self, true));
    g_assert_cmpuint(self.sum.different, ==, 1);
    g_assert_cmpuint(self.sum.repaired, ==, 0);
    scrubbed_close(&self);
}

static void
test_foreign(void)
{
    scrubbed self;
    scrubbed_open(&self);
    scrubbed_put(&self, KEY " note=one", 1000);
    scrubbed_plant_raw(&self, 0, "short");
    scrubbed_plant_raw(&self, 1, "xyz");
    scrubbed_plant_elsewhere(&self, 1, KEY);
    for (int i = 0; i < 2; i++) {
        g_assert_true(scrubbed_run(&self, true));
        g_assert_cmpuint(self.sum.foreign, ==, 3);
        g_assert_cmpuint(self.sum.repaired + self.sum.orphans + self.sum.missing, ==, 0);
        g_assert_nonnull(strstr(self.text->str, "FOREIGN primary no record: "));
        g_assert_nonnull(strstr(self.text->str, "FOREIGN by_time no record: "));
    }
    scrubbed_close(&self);
}

/* All are counted and repaired, however few are listed. */
static void
test_listed(void)
{
    scrubbed self;
    scrubbed_open(&self);
    for (int i = 0; i < 9; i++) {
        g_autofree char *record = g_strdup_printf("id=r%d ts=1 city=x note=n", i);
        scrubbed_plant(&self, 0, record, 1000);
        scrubbed_plant(&self, 2, record, 1000);
    }
    self.request.max_differences = 2;
    g_assert_true(scrubbed_run(&self, true));
    g_assert_cmpuint(self.sum.missing, ==, 9);
    g_assert_cmpuint(self.sum.repaired, ==, 9);
    g_auto(GStrv) lines = g_strsplit(self.text->str, "\n", -1);
    g_assert_cmpuint(g_strv_length(lines), ==, 3);
    g_assert_true(g_str_has_suffix(lines[1], ", repaired"));
    scrubbed_close(&self);
}

/* --- large rows ---------------------------------------------------------------------------------- */

/* A slice ends when it has as many bytes as a page. */
static void
test_large_rows(void)
{
    scrubbed self;
    scrubbed_open(&self);
    g_autofree char *note = g_strnfill(16000, 'n');
    for (int i = 0; i < 20; i++) {
        g_autofree char *record = g_strdup_printf("id=r%d ts=1 city=x note=%s", i, note);
        scrubbed_put(&self, record, 1000);
        desk_clear(self.desk);
    }
    g_assert_true(scrubbed_run(&self, false));
    g_assert_cmpuint(self.sum.rows, ==, SCRUBBED_PATHS * 20);
    g_assert_cmpuint(self.slices, >=, SCRUBBED_PATHS * 4);
    scrubbed_close(&self);
}

/* One row that is larger than a frame is an error, whether it is scanned or looked up. */
static void
test_too_large(void)
{
    scrubbed self;
    scrubbed_open(&self);
    g_autofree char *text = g_strnfill(700000, 'n');
    g_autofree char *note = g_strdup_printf(KEY " note=%s", text),
                    *more = g_strdup_printf(KEY " more=%s", text);
    scrubbed_put(&self, note, 1000);
    scrubbed_plant(&self, 2, more, 1000);
    g_assert_false(scrubbed_run(&self, true));
    g_assert_cmpint(self.error.code, ==, KW_LIMIT);
    g_assert_nonnull(strstr(self.error.text, "path by_city: a row has more than 1048576 bytes"));
    scrubbed_plant(&self, 0, more, 1000);
    g_assert_false(scrubbed_run(&self, true));
    g_assert_cmpint(self.error.code, ==, KW_LIMIT);
    g_assert_nonnull(strstr(self.error.text, "path primary: a row has more than 1048576 bytes"));
    scrubbed_close(&self);
}

/* --- writes under way ---------------------------------------------------------------------------- */

/* Puts a row under by_city as soon as the store has seen so many operations. */
typedef struct late_write {
    scrubbed *of;
    uint64_t from;
    kw_timer *timer;
    kw_write write;
    bool sent;
    uint64_t landed; /* operations that the store had seen then; 0: it has not landed */
} late_write;

static void
landed(void *user, kw_outcome outcome, const kw_error *error)
{
    late_write *self = user;
    g_assert_null(error);
    g_assert_cmpint(outcome, ==, KW_OUTCOME_OK);
    self->landed = self->of->plan.operations;
}

static void
look(void *user)
{
    late_write *self = user;
    self->sent = self->of->plan.operations >= self->from;
    if (self->sent)
        kw_store_handle_write(self->of->desk->handle, &self->write, landed, self);
    else
        kw_timer_start_ms(self->timer, 1);
}

/* A scrub with such a write beside it. */
static bool
run_beside(scrubbed *of, uint64_t operations, const char *record, uint64_t *ret_landed)
{
    kw_scrub_result slice;
    late_write self = {.of = of, .from = of->plan.operations + operations};
    uint64_t before = of->plan.operations;
    self.write = scrubbed_write_of(of, 2, record, 2000);
    self.timer = kw_timer_new(of->desk->loop, look, &self);
    kw_timer_start_ms(self.timer, 1);
    g_assert_true(scrubbed_slice(of, &slice));
    while (!self.landed)
        uv_run(kw_loop_uv(of->desk->loop), UV_RUN_ONCE);
    kw_timer_free(self.timer);
    of->sum = slice;
    *ret_landed = self.landed - before;
    return true;
}

/* The last row key, the rows, their rows in by_time and by_city, and then three times both rows that differ.
 */
#define FIRST_LOOK 4
#define SECOND_AGAIN (FIRST_LOOK + 4)

/* A path that is written a little later than the primary one is no difference. */
static void
test_under_way(void)
{
    scrubbed self;
    uint64_t at;
    scrubbed_open(&self);
    scrubbed_put(&self, KEY " note=old", 1000);
    scrubbed_plant(&self, 0, KEY " note=new", 2000);
    scrubbed_plant(&self, 1, KEY " note=new", 2000);
    self.request.settle_ms = 10000; /* it ends as soon as the rows are alike */
    run_beside(&self, FIRST_LOOK, KEY " note=new", &at);
    g_assert_cmpuint(self.sum.different + self.sum.unsettled, ==, 0);
    g_assert_cmpuint(self.plan.operations, >, FIRST_LOOK);
    scrubbed_close(&self);
}

/* What changes between the last two looks is not judged. */
static void
test_changing(void)
{
    scrubbed self;
    uint64_t at = UINT64_MAX;
    scrubbed_open(&self);
    self.request.settle_ms = 300;
    self.request.repair = true;
    for (int i = 0; at > SECOND_AGAIN + 1 && i < 100; i++) { /* else it came too late on a busy machine */
        scrubbed_repair(&self);
        g_autofree char *primary = g_strdup_printf("id=r%d ts=1 city=x note=right", i);
        g_autofree char *first = g_strdup_printf("id=r%d ts=1 city=x note=wrong", i);
        g_autofree char *then = g_strdup_printf("id=r%d ts=1 city=x note=other", i);
        scrubbed_put(&self, primary, 1000);
        scrubbed_plant(&self, 2, first, 1500);
        run_beside(&self, SECOND_AGAIN, then, &at);
    }
    g_assert_cmpuint(self.sum.unsettled, ==, 1);
    g_assert_cmpuint(self.sum.different + self.sum.repaired, ==, 0);
    scrubbed_close(&self);
}

/* --- errors -------------------------------------------------------------------------------------- */

static void
refused(scrubbed *self, const char *table, kw_bytes cursor, const char *part)
{
    kw_scrub_result ignored;
    self->request.table = desk_table(self->desk, table);
    self->request.cursor = cursor;
    g_assert_false(scrubbed_slice(self, &ignored));
    g_assert_cmpint(self->error.code, ==, KW_INVALID);
    if (!strstr(self->error.text, part) || !strstr(self->error.text, table))
        g_error("%s", self->error.text);
}

static void
test_refused(void)
{
    scrubbed self;
    kw_scrub_result slice;
    scrubbed_open(&self);
    refused(&self, "alone", KW_BYTES_NONE, "has one path");
    refused(&self, "chosen", KW_BYTES_NONE, "chosen at each put");
    refused(&self, "visits", KW_BYTES_LITERAL("x"), "not from a scrub");
    scrubbed_put(&self, "id=a ts=1 city=x", 1000);
    scrubbed_put(&self, "id=b ts=1 city=x", 1000);
    self.request.cursor = KW_BYTES_NONE;
    self.request.max_records = 1;
    g_assert_true(scrubbed_slice(&self, &slice));
    uint8_t *bytes = (uint8_t *)(uintptr_t)slice.cursor.data;
    for (size_t size = 11; size < slice.cursor.size; size++)
        refused(&self, "visits", kw_bytes_of(bytes, size), "damaged");
    bytes[10] = SCRUBBED_PATHS; /* the stage */
    refused(&self, "visits", slice.cursor, "damaged");
    bytes[5] ^= 1;
    refused(&self, "visits", slice.cursor, "another table");
    scrubbed_close(&self);
}

/* --- faults -------------------------------------------------------------------------------------- */

/* id: of the records, followed by a letter. */
static char *
named(const char *id, const char *letter, const char *rest)
{
    return g_strdup_printf("id=%s%s ts=1 city=x%s", id, letter, rest);
}

static void
plant_some_of_each(scrubbed *self, const char *id)
{
    g_autofree char *a = named(id, "a", " note=right"), *wrong = named(id, "a", " note=wrong");
    g_autofree char *b = named(id, "b", " note=b"), *b_key = named(id, "b", "");
    g_autofree char *c = named(id, "c", " note=c"), *d = named(id, "d", " note=d");
    scrubbed_put(self, a, 1000);
    scrubbed_plant(self, 1, wrong, 3000);
    scrubbed_put(self, b, 1000);
    scrubbed_wipe(self, 1, b_key, NULL, 2000);
    scrubbed_plant(self, 2, c, 1000);
    scrubbed_plant(self, 0, d, 1000);
}

/* After the repair; removes the records. */
static void
check_some_of_each(scrubbed *self, const char *id)
{
    static const char *const letters[] = {"a", "b", "d"};
    g_autofree char *expected = g_strdup_printf("id=%sa ts=1 city=x note=right\nid=%sb ts=1 city=x note=b\n"
                                                "id=%sd ts=1 city=x note=d",
                                                id, id, id);
    scrubbed_check(self, expected);
    for (size_t i = 0; i < G_N_ELEMENTS(letters); i++) {
        g_autofree char *key = named(id, letters[i], "");
        g_assert_cmpstr(desk_remove(self->desk, "visits", key, NULL)->error.text, ==, "");
    }
    desk_clear(self->desk);
}

/* One operation of the store fails in one way. The next scrub, from any cursor or the beginning, ends the
 * work. */
static bool
repair_with_fault(scrubbed *self, kw_decode_error fault, uint64_t n)
{
    g_autofree char *id = g_strdup_printf("f%d.%d", (int)fault, (int)n);
    plant_some_of_each(self, id);
    self->request.max_records = 2;
    self->plan.fault = (int)fault;
    self->plan.failed = 0;
    self->plan.fail_at = n;
    bool good = scrubbed_run(self, true), failed = self->plan.failed > 0;
    self->plan.fail_at = 0;
    g_assert_true(good || self->error.text[0]);
    g_assert_true(good || !self->error.maybe_applied);
    scrubbed_repair(self);
    check_some_of_each(self, id);
    return failed;
}

static void
test_faults(void)
{
    static const kw_decode_error faults[] = {KW_FAULT_FAILED, KW_FAULT_UNKNOWN_APPLIED,
                                             KW_FAULT_UNKNOWN_LOST};
    scrubbed self;
    scrubbed_open(&self);
    for (size_t i = 0; i < G_N_ELEMENTS(faults); i++) {
        uint64_t n = 1;
        while (repair_with_fault(&self, faults[i], n))
            n++;
        g_assert_cmpuint(n, >, 10);
    }
    scrubbed_close(&self);
}

/* Slices that were lost with their answers are repeated from the cursor before. */
static void
test_repeated(void)
{
    scrubbed self;
    kw_scrub_result slice;
    scrubbed_open(&self);
    plant_some_of_each(&self, "r");
    self.request.repair = true;
    self.request.max_records = 1;
    do {
        kw_bytes cursor = self.request.cursor;
        g_assert_true(scrubbed_slice(&self, &slice));
        self.request.cursor = cursor;
        g_assert_true(scrubbed_slice(&self, &slice));
        g_assert_cmpuint(slice.missing + slice.different + slice.orphans, ==, 0);
        self.request.cursor = slice.cursor;
    } while (slice.cursor.size);
    check_some_of_each(&self, "r");
    scrubbed_close(&self);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/verb/scrub/clean", test_clean);
    for (size_t i = 0; i < G_N_ELEMENTS(plants); i++) {
        g_autofree char *name = g_strdup_printf("/verb/scrub/planted/%s", plants[i].name);
        g_test_add_data_func(name, &plants[i], test_planted);
    }
    g_test_add_func("/verb/scrub/young", test_young);
    g_test_add_func("/verb/scrub/future", test_future);
    g_test_add_func("/verb/scrub/foreign", test_foreign);
    g_test_add_func("/verb/scrub/listed", test_listed);
    g_test_add_func("/verb/scrub/large rows", test_large_rows);
    g_test_add_func("/verb/scrub/too large", test_too_large);
    g_test_add_func("/verb/scrub/under way", test_under_way);
    g_test_add_func("/verb/scrub/changing", test_changing);
    g_test_add_func("/verb/scrub/refused", test_refused);
    g_test_add_func("/verb/scrub/faults", test_faults);
    g_test_add_func("/verb/scrub/repeated", test_repeated);
    return g_test_run();
}
