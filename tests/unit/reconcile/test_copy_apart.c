/* Copies, passes and sweeps of a change in a store with several writers. */
#include "unit/verb/apart_fixture.h"

typedef struct fixture {
    apart_fixture apart;
    kw_copy_result sum; /* of all slices */
    kw_error error;
    kw_copy_request request;
    kw_copy_result slice;
} fixture;

static void
set_up(fixture *self, const char *table)
{
    *self = (fixture){.request = {.max_rows = 2}}; /* several slices */
    apart_fixture_open(&self->apart, table);
}

static void
tear_down(fixture *self)
{
    apart_fixture_close(&self->apart);
}

static void
answered(void *user, const kw_copy_result *result, const kw_error *error)
{
    fixture *self = user;
    self->error = error ? *error : KW_ERROR_NONE;
    if (result)
        self->slice = *result;
    self->apart.desk->done = true;
}

/* Visits all rows. */
static void
visit(fixture *self, kw_copy_mode mode, apart_side from)
{
    desk *on = self->apart.desk;
    uint8_t after[100];
    self->request.mode = mode;
    self->request.from = &self->apart.placements[from == OLD];
    self->request.to = mode == KW_COPY_SWEEP ? NULL : &self->apart.placements[from == NEW];
    self->request.after = KW_BYTES_NONE;
    self->sum = self->slice = (kw_copy_result){0};
    while (!self->slice.end) {
        on->done = false;
        kw_copy(&on->call, &self->request, answered, self);
        desk_wait(on);
        g_assert_cmpstr(self->error.text, ==, "");
        self->sum.rows += self->slice.rows;
        self->sum.removed += self->slice.removed;
        self->sum.undecodable += self->slice.undecodable;
        if (self->slice.after.size)
            memcpy(after, self->slice.after.data, self->slice.after.size);
        self->request.after = kw_bytes_of(after, self->slice.after.size);
        desk_clear(on);
    }
    g_assert_cmpfloat(self->slice.progress, ==, 1);
}

static void
expect(fixture *self, apart_side side, const char *rows)
{
    g_autofree char *text = apart_rows(&self->apart, side);
    g_assert_cmpstr(text, ==, rows);
}

static void
put_examples(fixture *self)
{
    apart_put(&self->apart, OLD, "id=a n=1 note=old", 1000);
    apart_put(&self->apart, NEW, "id=b n=1 note=new", 1000);
    apart_put(&self->apart, OLD, "id=c n=1 note=x tags.k=5", 1000);
    apart_put(&self->apart, NEW, "id=c n=1 note=y", 2000);
    apart_put(&self->apart, OLD, "id=d n=1 note=old", 1000);
    apart_put(&self->apart, NEW, "id=d n=1 note=new", 1000);
    apart_put(&self->apart, BOTH, "id=e n=1 note=x", 1000);
    apart_remove(&self->apart, NEW, "id=e n=1", NULL);
    apart_put(&self->apart, BOTH, "id=f n=1 note=x tags.k=5", 1000);
    apart_remove(&self->apart, OLD, "id=f n=1", "note");
}

static void
expect_in(fixture *self, apart_side side, const char *key, const char *record)
{
    self->apart.placements[0].role.get = side == NEW;
    self->apart.placements[1].role.get = side == OLD;
    g_assert_cmpstr(desk_get(self->apart.desk, "now", key, NULL), ==, record);
}

static void
expect_record(fixture *self, const char *key, const char *record)
{
    expect_in(self, OLD, key, record);
    expect_in(self, NEW, key, record);
}

KW_TEST(test_copy, "/reconcile/copy apart/copy")
{
    fixture self;
    set_up(&self, "now");
    put_examples(&self);
    visit(&self, KW_COPY_ROWS, OLD);
    g_assert_cmpuint(self.sum.rows, ==, 5);
    g_assert_cmpuint(self.sum.removed, ==, 0);
    expect(&self, OLD,
           "row 0: d:note=old@1000\n"
           "row 1: d:note=x@1000 d:tags.k=5@1000\n"
           "row 2: d:note=old@1000\n"
           "row 3: d:note=x@1000\n"
           "row 4: gone:note d:tags.k=5@1000\n");
    expect_in(&self, NEW, "id=a n=1", "id=a n=1 note=old");
    expect_in(&self, NEW, "id=b n=1", "id=b n=1 note=new");
    expect_in(&self, NEW, "id=c n=1", "id=c n=1 note=y tags.k=5");
    expect_in(&self, NEW, "id=d n=1", "id=d n=1 note=old");
    expect_in(&self, NEW, "id=e n=1", "none");
    expect_in(&self, NEW, "id=f n=1", "id=f n=1 tags.k=5");
    tear_down(&self);
}

/* tie: the note of the record whose rows have equal timestamps. Put operations write its row last. */
static void
expect_equal_records(fixture *self, const char *tie)
{
    g_autofree char *tied = g_strdup_printf("id=d n=1 note=%s", tie);
    expect_record(self, "id=a n=1", "id=a n=1 note=old");
    expect_record(self, "id=b n=1", "id=b n=1 note=new");
    expect_record(self, "id=c n=1", "id=c n=1 note=y tags.k=5");
    expect_record(self, "id=d n=1", tied);
    expect_record(self, "id=e n=1", "none");
    expect_record(self, "id=f n=1", "id=f n=1 tags.k=5");
}

KW_TEST(test_pass, "/reconcile/copy apart/pass")
{
    static const apart_side orders[][2] = {{OLD, NEW}, {NEW, OLD}};
    for (size_t i = 0; i < G_N_ELEMENTS(orders); i++) {
        fixture self;
        set_up(&self, "now");
        put_examples(&self);
        visit(&self, KW_COPY_PASS, orders[i][0]);
        g_assert_cmpuint(self.sum.rows + self.sum.removed, ==, 5);
        visit(&self, KW_COPY_PASS, orders[i][1]);
        g_assert_cmpuint(self.sum.rows, ==, 5);
        g_assert_cmpuint(self.sum.removed, ==, 1);
        expect_equal_records(&self, "old");
        uint64_t operations = self.apart.control->operations;
        self.request.max_rows = 100;
        visit(&self, KW_COPY_PASS, OLD); /* only reads: the last key, the rows, the other rows */
        g_assert_cmpuint(self.apart.control->operations - operations, ==, 3);
        tear_down(&self);
    }
}

static void
read_new(fixture *self)
{
    self->apart.placements[0].role.scan = true;
    self->apart.placements[1].role.scan = false;
}

/* After a change goes back, the roles are the other way round, and so are the ties. */
KW_TEST(test_ties_of_new, "/reconcile/copy apart/ties of the new placement")
{
    fixture self;
    set_up(&self, "now");
    put_examples(&self);
    read_new(&self);
    visit(&self, KW_COPY_PASS, OLD);
    expect_record(&self, "id=d n=1", "id=d n=1 note=new");
    tear_down(&self);
}

/* Keys that do not hold the identity: a removed record has no name. It is reached from the other placement.
 */
KW_TEST(test_unnamed, "/reconcile/copy apart/unnamed")
{
    fixture self;
    set_up(&self, "coarse_now");
    apart_put(&self.apart, BOTH, "id=a ts=5000 note=x", 1000);
    apart_put(&self.apart, BOTH, "id=b ts=5000 note=x", 1000);
    apart_remove(&self.apart, NEW, "id=a ts=5000", NULL);
    visit(&self, KW_COPY_PASS, NEW);
    g_assert_cmpuint(self.sum.rows, ==, 1);
    g_assert_cmpuint(self.sum.removed + self.sum.undecodable, ==, 0);
    visit(&self, KW_COPY_PASS, OLD);
    g_assert_cmpuint(self.sum.rows, ==, 2);
    g_autofree char *old = apart_rows(&self.apart, OLD);
    g_assert_true(g_str_has_prefix(old, "row 0: gone\n"));
    tear_down(&self);
}

/* A whole pass that compares what it scans. It begins with the placement that scans read. */
static void
pass_and_compare(fixture *self)
{
    bool new_is_read = self->apart.placements[0].role.scan;
    apart_side first = new_is_read ? NEW : OLD, second = new_is_read ? OLD : NEW;
    self->request.seen = kw_copy_seen_new();
    for (kw_copy_seen_use use = KW_COPY_SEEN_ADD; use <= KW_COPY_SEEN_LEFT; use++) {
        self->request.seen_use = use;
        visit(self, KW_COPY_PASS, use == KW_COPY_SEEN_COMPARE ? second : first);
    }
    g_clear_pointer(&self->request.seen, kw_copy_seen_unref);
}

/* Records whose rows differ, or that have one row only, are merged as without the comparison. */
KW_TEST(test_compared, "/reconcile/copy apart/compared")
{
    for (int reversed = 0; reversed < 2; reversed++) {
        fixture self;
        set_up(&self, "now");
        put_examples(&self);
        if (reversed)
            read_new(&self);
        pass_and_compare(&self);
        expect_equal_records(&self, reversed ? "new" : "old");
        tear_down(&self);
    }
}

/* Rows that are the same are not read again, however they differ in control cells other than removals. */
KW_TEST(test_compared_alike, "/reconcile/copy apart/compared-alike")
{
    fixture self;
    set_up(&self, "now");
    self.request.max_rows = 100;
    apart_put(&self.apart, BOTH, "id=a n=1 note=x", 1000);
    apart_put(&self.apart, BOTH, "id=b n=1 note=x tags.k=5", 1000);
    apart_remove(&self.apart, BOTH, "id=b n=1", "note");
    apart_put(&self.apart, OLD, "id=c n=1 note=x", 1000);
    apart_put(&self.apart, NEW, "id=c n=1 note=y", 1000);
    self.apart.control->rows_got = 0;
    pass_and_compare(&self);
    g_assert_cmpuint(self.apart.control->rows_got, ==, 1); /* the old row of c */
    expect_record(&self, "id=c n=1", "id=c n=1 note=x");
    tear_down(&self);
}

/* A row with a trace can differ in cells that the scan did not return. */
KW_TEST(test_compared_trace, "/reconcile/copy apart/compared-trace")
{
    for (int side = OLD; side <= NEW; side++) {
        fixture self;
        set_up(&self, "now");
        self.apart.traces = true;
        apart_put(&self.apart, BOTH, "id=a n=1 note=x", 1000);
        apart_put(&self.apart, (apart_side)side, "id=a n=1 note=y", 2000);
        self.request.since_ms = kw_clock_wall_ms() - 60000;
        pass_and_compare(&self);
        expect_record(&self, "id=a n=1", "id=a n=1 note=y");
        tear_down(&self);
    }
}

/* Only records with a cell that is recent enough are visited, and older cells stay as they are. */
KW_TEST(test_since, "/reconcile/copy apart/since")
{
    fixture self;
    set_up(&self, "now");
    put_examples(&self);
    self.request.since_ms = 2000;
    visit(&self, KW_COPY_PASS, OLD);
    g_assert_cmpuint(self.sum.rows, ==, 0);
    g_assert_cmpuint(self.sum.removed, ==, 1); /* f: of what was read, only the gone cell is left */
    visit(&self, KW_COPY_PASS, NEW);
    g_assert_cmpuint(self.sum.rows, ==, 1);    /* c */
    g_assert_cmpuint(self.sum.removed, ==, 2); /* e, and f, which the pass has just written */
    expect_in(&self, OLD, "id=b n=1", "none");
    expect_in(&self, NEW, "id=a n=1", "none");
    expect_in(&self, OLD, "id=c n=1", "id=c n=1 note=y tags.k=5");
    expect_in(&self, NEW, "id=c n=1", "id=c n=1 note=y");
    expect_record(&self, "id=e n=1", "none");
    expect_record(&self, "id=f n=1", "id=f n=1 tags.k=5");
    tear_down(&self);
}

/* Younger cells are not copied, and a record is visited only if it has older ones. */
KW_TEST(test_before, "/reconcile/copy apart/before")
{
    fixture self;
    set_up(&self, "now");
    put_examples(&self);
    self.request.before_ms = 2000;
    visit(&self, KW_COPY_PASS, OLD);
    visit(&self, KW_COPY_PASS, NEW);
    expect_record(&self, "id=a n=1", "id=a n=1 note=old");
    expect_record(&self, "id=b n=1", "id=b n=1 note=new");
    expect_in(&self, OLD, "id=c n=1", "id=c n=1 note=x tags.k=5");
    expect_in(&self, NEW, "id=c n=1", "id=c n=1 note=y tags.k=5");
    expect_record(&self, "id=d n=1", "id=d n=1 note=old");
    expect_in(&self, OLD, "id=e n=1", "id=e n=1 note=x"); /* the removal is young */
    self.request.before_ms = 0;
    self.request.since_ms = 2000; /* the next pass makes both the same */
    visit(&self, KW_COPY_PASS, OLD);
    visit(&self, KW_COPY_PASS, NEW);
    expect_record(&self, "id=c n=1", "id=c n=1 note=y tags.k=5");
    expect_record(&self, "id=e n=1", "none");
    expect_record(&self, "id=f n=1", "id=f n=1 tags.k=5");
    tear_down(&self);
}

/* A trace makes a pass visit a record that was put with an old timestamp, and read all of it. */
KW_TEST(test_trace, "/reconcile/copy apart/trace")
{
    for (int large = 0; large < 2; large++) {
        fixture self;
        set_up(&self, "now");
        self.apart.traces = true;
        apart_put(&self.apart, NEW, "id=a n=1 note=x", 1000);
        apart_put(&self.apart, OLD, "id=b n=1 note=x", 1000);
        self.request.since_ms = kw_clock_wall_ms() - 60000;
        if (large) { /* then keys are scanned */
            self.apart.control->fail_code = KW_LIMIT;
            self.apart.control->fail_at = self.apart.control->operations + 1;
        }
        visit(&self, KW_COPY_PASS, NEW);
        expect_record(&self, "id=a n=1", "id=a n=1 note=x");
        visit(&self, KW_COPY_PASS, OLD);
        expect_record(&self, "id=b n=1", "id=b n=1 note=x");
        self.request.until_ms = kw_clock_wall_ms() + 1000;
        visit(&self, KW_COPY_SWEEP, NEW);
        g_assert_cmpuint(self.sum.removed, ==, 1);
        visit(&self, KW_COPY_SWEEP, NEW);
        g_assert_cmpuint(self.sum.removed, ==, 0);
        tear_down(&self);
    }
}

/* Rows of removed records could not be found by keys that do not hold the identity. */
KW_TEST(test_selects, "/reconcile/copy apart/selects")
{
    static const char *const tables[] = {"now", "coarse_now"};
    for (int i = 0; i < 2; i++) {
        fixture self;
        set_up(&self, tables[i]);
        g_assert_cmpint(kw_copy_can_select_by_time(&self.apart.placements[0], &self.apart.placements[1]), ==,
                        i == 0);
        tear_down(&self);
    }
}

/* A scan that selects rows can be too slow: then all are scanned. */
KW_TEST(test_scan_all, "/reconcile/copy apart/scan all")
{
    fixture self;
    set_up(&self, "now");
    put_examples(&self);
    self.request.since_ms = 2000;
    self.request.scan_all = true;
    visit(&self, KW_COPY_PASS, OLD);
    visit(&self, KW_COPY_PASS, NEW);
    expect_equal_records(&self, "old");
    self.request.until_ms = kw_clock_wall_ms() + 1000;
    visit(&self, KW_COPY_SWEEP, NEW);
    g_assert_cmpuint(self.sum.rows, ==, 4);
    g_assert_cmpuint(self.sum.removed, ==, 2);
    tear_down(&self);
}

KW_TEST(test_sweep, "/reconcile/copy apart/sweep")
{
    fixture self;
    set_up(&self, "now");
    put_examples(&self);
    self.request.until_ms = kw_clock_wall_ms() + 1000;
    visit(&self, KW_COPY_SWEEP, OLD);
    g_assert_cmpuint(self.sum.rows, ==, 0); /* only rows with control cells are scanned */
    g_assert_cmpuint(self.sum.removed, ==, 1);
    g_autofree char *old = apart_rows(&self.apart, OLD);
    g_assert_null(strstr(old, "gone"));
    visit(&self, KW_COPY_SWEEP, NEW);
    g_assert_cmpuint(self.sum.removed, ==, 1); /* the row disappears */
    expect(&self, NEW,
           "row 0: d:note=new@1000\n"
           "row 1: d:note=y@2000\n"
           "row 2: d:note=x@1000 d:tags.k=5@1000\n"
           "row 3: d:note=new@1000\n");
    tear_down(&self);
}

/* Gone cells after the given time stay. */
KW_TEST(test_sweep_until, "/reconcile/copy apart/sweep until")
{
    fixture self;
    set_up(&self, "now");
    put_examples(&self);
    self.request.until_ms = 5000;
    visit(&self, KW_COPY_SWEEP, NEW);
    g_assert_cmpuint(self.sum.removed, ==, 1);
    g_autofree char *new = apart_rows(&self.apart, NEW);
    g_assert_nonnull(strstr(new, "gone"));
    tear_down(&self);
}

static void
start_slice(fixture *self)
{
    self->apart.desk->done = false;
    kw_copy(&self->apart.desk->call, &self->request, answered, self);
    desk_wait(self->apart.desk);
}

/* Lets the n-th operation of a slice fail, for each n. Returns the number of operations. */
static unsigned
fail_each(fixture *self)
{
    unsigned failures = 0;
    for (;; failures++) {
        self->apart.control->fail_at = self->apart.control->operations + failures + 1;
        start_slice(self);
        if (self->error.code == KW_OK)
            break;
        g_assert_cmpint(self->error.code, ==, KW_UNAVAILABLE);
    }
    self->apart.control->fail_at = 0;
    return failures;
}

KW_TEST(test_failures, "/reconcile/copy apart/failures")
{
    for (kw_copy_mode mode = KW_COPY_ROWS; mode <= KW_COPY_SWEEP; mode++) {
        fixture self;
        set_up(&self, "now");
        put_examples(&self);
        self.request = (kw_copy_request){.mode = mode,
                                         .from = &self.apart.placements[1],
                                         .to = mode == KW_COPY_SWEEP ? NULL : &self.apart.placements[0],
                                         .until_ms = INT64_MAX,
                                         .max_rows = 100};
        g_assert_cmpuint(fail_each(&self), >=, mode == KW_COPY_ROWS ? 3 : 4);
        tear_down(&self);
    }
}

/* --- slices that scan rows while they write others ------------------------------------------------ */

#define MANY 1100 /* three scans */

static void
set_up_many(fixture *self)
{
    set_up(self, "now");
    for (int i = 0; i < MANY; i++) {
        g_autofree char *record = g_strdup_printf("id=r%04d n=%d note=x", i, i);
        apart_put(&self->apart, OLD, record, 1000);
    }
    self->request = (kw_copy_request){
        .from = &self->apart.placements[1], .to = &self->apart.placements[0], .max_rows = KW_COPY_ROWS_MAX};
}

static void
expect_all_copied(fixture *self)
{
    g_assert_true(self->slice.end);
    g_assert_cmpuint(self->slice.rows, ==, MANY);
    for (int i = 0; i < MANY; i += 99) {
        g_autofree char *key = g_strdup_printf("id=r%04d n=%d", i, i);
        g_autofree char *record = g_strdup_printf("%s note=x", key);
        expect_in(self, NEW, key, record);
    }
}

KW_TEST(test_many, "/reconcile/copy apart/many")
{
    fixture self;
    set_up_many(&self);
    self.apart.control->shuffle = true;
    self.apart.control->most_in_flight = self.apart.control->rows_got = 0;
    start_slice(&self);
    g_assert_cmpuint(self.apart.control->rows_got, ==, 0);      /* the scan has read them */
    g_assert_cmpuint(self.apart.control->most_in_flight, >, 4); /* four writes and a scan */
    expect_all_copied(&self);
    tear_down(&self);
}

KW_TEST(test_many_failures, "/reconcile/copy apart/many, failures")
{
    fixture self;
    set_up_many(&self);
    g_assert_cmpuint(fail_each(&self), >=, 1 + 3 + 3 * 4);
    expect_all_copied(&self);
    tear_down(&self);
}

static bool
may_fetch_once_more(void *user)
{
    unsigned *asked = user;
    return ++*asked < 2;
}

/* A slice ends early if it may not go on; the next one continues. */
KW_TEST(test_ends_early, "/reconcile/copy apart/ends early")
{
    fixture self;
    set_up_many(&self);
    unsigned asked = 0;
    self.request.may_go_on = may_fetch_once_more;
    self.request.may_go_on_user = &asked;
    start_slice(&self);
    uint64_t rows = self.slice.rows;
    g_assert_cmpuint(asked, >=, 2);
    g_assert_cmpuint(rows, ==, 2 * 500); /* two fetches */
    g_assert_false(self.slice.end);
    self.request.after = self.slice.after;
    self.request.may_go_on = NULL;
    start_slice(&self);
    g_assert_true(self.slice.end);
    g_assert_cmpuint(rows + self.slice.rows, ==, MANY);
    tear_down(&self);
}

/* A slice ends after max_rows rows. The next slice gets only the keys that this one returned. */
KW_TEST(test_edges, "/reconcile/copy apart/edges")
{
    fixture self;
    set_up_many(&self);
    self.request.max_rows = MANY / 2;
    start_slice(&self);
    g_assert_cmpuint(self.slice.rows, ==, MANY / 2);
    g_assert_false(self.slice.end);
    g_assert_cmpfloat(self.slice.progress, >, 0);
    self.request.after = self.slice.after;
    self.request.first = self.slice.first;
    self.request.last = self.slice.last;
    double progress = self.slice.progress;
    uint64_t fetches = self.apart.control->fetches;
    start_slice(&self);
    g_assert_cmpuint(self.slice.rows, ==, MANY / 2);
    g_assert_cmpuint(self.apart.control->fetches - fetches, <=, 3); /* of rows */
    g_assert_cmpfloat(self.slice.progress, >, progress);
    tear_down(&self);
}

/* A row is too large to be scanned with others: the keys are scanned, and the store reads the rows. */
KW_TEST(test_large, "/reconcile/copy apart/large")
{
    for (kw_copy_mode mode = KW_COPY_ROWS; mode <= KW_COPY_PASS; mode++)
        for (unsigned scan = 2; scan <= 4; scan++) { /* the first operation finds the last key */
            fixture self;
            set_up_many(&self);
            self.request.mode = mode;
            self.apart.control->fail_code = KW_LIMIT;
            self.apart.control->fail_at = self.apart.control->operations + scan;
            uint64_t rows = 0;
            for (self.slice.end = false; !self.slice.end; self.request.after = self.slice.after) {
                start_slice(&self);
                if (self.error.code == KW_LIMIT) /* of a write */
                    continue;
                g_assert_cmpstr(self.error.text, ==, "");
                rows += self.slice.rows;
            }
            self.slice.rows = rows;
            expect_all_copied(&self);
            tear_down(&self);
        }
}
