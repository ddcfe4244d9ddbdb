/* How much a slice of a pass reads and holds at the same time. */
#include "pass_fixture.h"

#define KIB ((size_t)1024)
#define MIB (1024 * KIB)

/* --- scans that copy at the same time ---------------------------------------------------------------- */

/* Scans the second placement, where a quarter of the rows differ. max_rows: of a slice. */
static void
compare(pass_fixture *self, uint32_t max_rows)
{
    kw_memory_control *control = self->apart.control;
    self->request.max_rows = max_rows;
    self->request.since_ms = 1; /* the last key is not searched */
    pass_fixture_scan(self, KW_COPY_SEEN_ADD);
    control->most_gets_in_flight = control->most_fetches_in_flight = 0;
    pass_fixture_scan(self, KW_COPY_SEEN_COMPARE);
}

/* Three of the four regions have rows, and each slice fetches up to 16 rows of each of them: too few for one
 * copy to read several groups of rows at the same time. */
KW_TEST(test_copies, "/reconcile/copy limits/copies")
{
    pass_fixture self;
    pass_fixture_open(&self, KW_COPY_SCANS_MAX);
    self.request.seen = kw_copy_seen_new();
    compare(&self, 64);
    g_assert_cmpuint(self.apart.control->most_fetches_in_flight, >=, 3);
    g_assert_cmpuint(self.apart.control->most_gets_in_flight, ==, 2);
    pass_fixture_scan(&self, KW_COPY_SEEN_LEFT);
    pass_fixture_expect_equal(&self);
    g_clear_pointer(&self.request.seen, kw_copy_seen_unref);
    pass_fixture_close(&self);
}

/* What other callers hold while the memory of the process is short. */
typedef struct shortage {
    int64_t limit, held;
    uint64_t gets; /* the most that run at the same time */
} shortage;

static void
begin_shortage(const shortage *of)
{
    kw_budget_charge(KW_MEMORY_CALLS, of->held);
    kw_budget_settle();
    kw_budget_configure(of->limit);
}

static void
end_shortage(const shortage *of)
{
    kw_budget_configure(0);
    kw_budget_charge(KW_MEMORY_CALLS, -of->held);
    kw_budget_settle();
}

#define BUDGET(mib) ((int64_t)(mib)*1024 * 1024)

/* The limit is reached; callers use most of it; or less is left than a slice can hold. In the third case, the
 * store still reads two groups of rows of one copy at the same time. */
static const shortage shortages[] = {
    {BUDGET(100), BUDGET(100), 1}, {BUDGET(1000), BUDGET(850), 1}, {BUDGET(24), 0, 2}};

/* Only one scan fetches or copies while memory is short. */
KW_TEST(test_shortage, "/reconcile/copy limits/shortage")
{
    for (size_t i = 0; i < G_N_ELEMENTS(shortages); i++) {
        pass_fixture self;
        pass_fixture_open(&self, KW_COPY_SCANS_MAX);
        self.request.seen = kw_copy_seen_new();
        begin_shortage(&shortages[i]);
        compare(&self, KW_COPY_ROWS_MAX);
        g_assert_cmpuint(self.apart.control->most_fetches_in_flight, ==, 1);
        g_assert_cmpuint(self.apart.control->most_gets_in_flight, ==, shortages[i].gets);
        pass_fixture_scan(&self, KW_COPY_SEEN_LEFT);
        end_shortage(&shortages[i]);
        pass_fixture_expect_equal(&self);
        g_clear_pointer(&self.request.seen, kw_copy_seen_unref);
        pass_fixture_close(&self);
    }
}

/* Memory is short from the second call of this function on, when three scans have been started. */
static bool
begin_shortage_later(void *user)
{
    unsigned *asked = user;
    if (++*asked == 2)
        begin_shortage(&shortages[0]);
    return true;
}

/* Several scans have rows when the shortage begins. They copy one after the other. */
KW_TEST(test_sudden_shortage, "/reconcile/copy limits/sudden shortage")
{
    pass_fixture self;
    unsigned asked = 0;
    pass_fixture_open(&self, KW_COPY_SCANS_MAX);
    self.request.seen = kw_copy_seen_new();
    self.request.since_ms = 1;
    pass_fixture_scan(&self, KW_COPY_SEEN_ADD);
    self.request.may_go_on = begin_shortage_later;
    self.request.may_go_on_user = &asked;
    self.apart.control->most_gets_in_flight = self.apart.control->most_fetches_in_flight = 0;
    pass_fixture_scan(&self, KW_COPY_SEEN_COMPARE);
    g_assert_cmpuint(self.apart.control->most_fetches_in_flight, ==, 3);
    g_assert_cmpuint(self.apart.control->most_gets_in_flight, ==, 1);
    end_shortage(&shortages[0]);
    pass_fixture_scan(&self, KW_COPY_SEEN_LEFT);
    pass_fixture_expect_equal(&self);
    g_clear_pointer(&self.request.seen, kw_copy_seen_unref);
    pass_fixture_close(&self);
}

/* The shortage begins and ends in the middle of slices. */
static bool
toggle_shortage(void *user)
{
    bool *is_short = user;
    *is_short = !*is_short;
    if (*is_short)
        begin_shortage(&shortages[0]);
    else
        end_shortage(&shortages[0]);
    return true;
}

KW_TEST(test_changing_shortage, "/reconcile/copy limits/changing shortage")
{
    for (uint32_t rows = 1; rows < KW_COPY_ROWS_MAX; rows = 7 * rows + 1) {
        pass_fixture self;
        bool is_short = false;
        pass_fixture_open(&self, KW_COPY_SCANS_MAX);
        self.apart.control->shuffle = true;
        self.request.max_rows = rows;
        self.request.may_go_on = toggle_shortage;
        self.request.may_go_on_user = &is_short;
        pass_fixture_run(&self);
        if (is_short)
            toggle_shortage(&is_short);
        pass_fixture_expect_equal(&self);
        pass_fixture_close(&self);
    }
}

/* --- regions ----------------------------------------------------------------------------------------- */

static kw_deadline
after_ms(uint64_t at_ns, uint64_t ms)
{
    return at_ns + ms * 1000 * 1000;
}

/* Regions are requested for a quarter of the time that is left, and at most for two seconds. */
KW_TEST(test_regions_deadline, "/reconcile/copy limits/regions' deadline")
{
    for (uint64_t call_ms = 4000; call_ms <= 400000; call_ms *= 10) {
        pass_fixture self;
        pass_fixture_open(&self, KW_COPY_SCANS_MAX);
        self.request.seen = kw_copy_seen_new();
        self.request.since_ms = 1;
        pass_fixture_begin(&self, KW_COPY_SEEN_ADD);
        uint64_t before_ns = kw_clock_mono_ns(), share_ms = MIN(call_ms / 4, 2000);
        kw_deadline deadline = self.apart.desk->call.deadline = kw_deadline_in_ms((int64_t)call_ms);
        pass_fixture_slice(&self);
        uint64_t after_ns = kw_clock_mono_ns();
        kw_deadline latest = call_ms == 4000 ? after_ns + (deadline - MIN(after_ns, deadline)) / 4
                                             : after_ms(after_ns, share_ms);
        g_assert_cmpuint(self.apart.control->regions_asked, ==, 1);
        g_assert_cmpuint(self.apart.control->regions_deadline, >=, after_ms(before_ns, share_ms));
        g_assert_cmpuint(self.apart.control->regions_deadline, <=, latest + 1);
        g_clear_pointer(&self.request.seen, kw_copy_seen_unref);
        pass_fixture_close(&self);
    }
}

/* If they cannot be read in time, no slice of the pass requests them again. The next pass does. */
KW_TEST(test_no_regions, "/reconcile/copy limits/no regions")
{
    pass_fixture self;
    pass_fixture_open(&self, KW_COPY_SCANS_MAX);
    kw_memory_control *control = self.apart.control;
    self.request.since_ms = 1;
    control->fail_at = control->operations + 1;
    control->fail_code = KW_TIMEOUT;
    control->most_fetches_in_flight = 0;
    pass_fixture_run(&self);
    g_assert_cmpuint(control->regions_asked, ==, 1);
    g_assert_cmpuint(control->most_fetches_in_flight, ==, 1);
    g_assert_cmpuint(self.slices, >, 6);
    pass_fixture_expect_equal(&self);
    pass_fixture_run(&self);
    g_assert_cmpuint(control->regions_asked, >, 1);
    pass_fixture_close(&self);
}

/* If they cannot be read for another reason, the next slice requests them again. */
KW_TEST(test_regions_later, "/reconcile/copy limits/regions later")
{
    pass_fixture self;
    pass_fixture_open(&self, KW_COPY_SCANS_MAX);
    kw_memory_control *control = self.apart.control;
    self.request.since_ms = 1;
    control->fail_at = control->operations + 1;
    control->fail_code = KW_BUSY;
    control->most_fetches_in_flight = 0;
    pass_fixture_run(&self);
    g_assert_cmpuint(control->regions_asked, >, 1);
    g_assert_cmpuint(control->most_fetches_in_flight, >, 1);
    pass_fixture_expect_equal(&self);
    pass_fixture_close(&self);
}

/* --- rows and bytes of a fetch and of a slice ----------------------------------------------------------- */

/* One part is left: its scan fetches as many rows as if it was the only one from the beginning. */
KW_TEST(test_one_part, "/reconcile/copy limits/one part")
{
    pass_fixture self;
    pass_fixture_open(&self, KW_COPY_SCANS_MAX);
    kw_memory_control *control = self.apart.control;
    self.request.seen = kw_copy_seen_new();
    self.request.since_ms = 1;
    self.request.max_rows = PASS_RECORDS;
    pass_fixture_begin(&self, KW_COPY_SEEN_ADD);
    control->fail_at = control->operations + 1; /* the regions */
    pass_fixture_slice(&self);
    g_assert_true(self.slice.end);
    g_assert_cmpuint(control->fetches, ==, 1);
    g_clear_pointer(&self.request.seen, kw_copy_seen_unref);
    pass_fixture_close(&self);
}

/* Large rows in the old placement, in the first, second and third region if `where` is q, r1 and s. */
static void
put_large(pass_fixture *self, const char *where, unsigned count, size_t bytes)
{
    g_autofree char *note = g_strnfill(bytes, 'x');
    for (unsigned i = 0; i < count; i++) {
        g_autofree char *record = g_strdup_printf("id=%s-%03u n=1 note=%s", where, i, note);
        apart_put(&self->apart, OLD, record, 1000);
        desk_clear(self->apart.desk);
    }
}

/* A slice ends after 8 MiB, and the rows of one fetch at most. */
KW_TEST(test_bytes, "/reconcile/copy limits/bytes")
{
    static const char *const regions[] = {"q", "r1", "s"};
    pass_fixture self;
    pass_fixture_open(&self, KW_COPY_SCANS_MAX);
    kw_memory_control *control = self.apart.control;
    for (size_t i = 0; i < G_N_ELEMENTS(regions); i++)
        put_large(&self, regions[i], 160, 32 * KIB);
    self.request.seen = kw_copy_seen_new();
    self.request.since_ms = 1;
    self.request.max_rows = KW_COPY_ROWS_MAX;
    pass_fixture_begin(&self, KW_COPY_SEEN_ADD);
    size_t all = 0;
    do {
        control->bytes_read = 0;
        pass_fixture_slice(&self);
        g_assert_cmpuint(control->bytes_read, <, 9 * MIB);
        if (!self.slice.end)
            g_assert_cmpuint(control->bytes_read, >=, 3 * MIB);
        all += control->bytes_read;
    } while (!self.slice.end);
    g_assert_cmpuint(all, >, 15 * MIB);
    g_assert_cmpuint(all, <, 16 * MIB); /* no row was read twice */
    g_clear_pointer(&self.request.seen, kw_copy_seen_unref);
    pass_fixture_close(&self);
}

/* A store limits the bytes of a fetch by the mean size of the rows of the table. If the rows of one region
 * are larger, its scan notices it in the first fetch, and later slices remember it. */
KW_TEST(test_large_rows, "/reconcile/copy limits/large rows")
{
    pass_fixture self;
    pass_fixture_open(&self, KW_COPY_SCANS_MAX);
    kw_memory_control *control = self.apart.control;
    put_large(&self, "q", 60, 64 * KIB);
    control->wide_fetches = true;
    self.request.seen = kw_copy_seen_new();
    self.request.since_ms = 1;
    self.request.max_rows = 96;
    pass_fixture_begin(&self, KW_COPY_SEEN_ADD);
    pass_fixture_slice(&self);
    g_assert_cmpuint(control->most_bytes_read, >, 512 * KIB);
    control->most_bytes_read = 0;
    pass_fixture_slice(&self);
    g_assert_cmpuint(control->most_bytes_read, >, 256 * KIB);
    g_assert_cmpuint(control->most_bytes_read, <=, 512 * KIB);
    control->fail_code = KW_LIMIT; /* a larger row: the slice scans row keys, which are small */
    control->fail_at = control->operations + 1;
    pass_fixture_slice(&self);
    g_assert_cmpuint(self.slice.rows, >, 8);
    g_clear_pointer(&self.request.seen, kw_copy_seen_unref);
    pass_fixture_close(&self);
}

/* The rows that a copy reads are probably as large as those that were scanned. */
KW_TEST(test_large_copies, "/reconcile/copy limits/large copies")
{
    pass_fixture self;
    pass_fixture_open(&self, 1);
    kw_memory_control *control = self.apart.control;
    put_large(&self, "q", 32, 200 * KIB);
    control->wide_fetches = true;
    self.request.max_rows = 32;
    self.request.since_ms = 1;
    control->most_rows_got = 0;
    pass_fixture_begin(&self, KW_COPY_SEEN_ADD); /* without `seen`, all rows are copied */
    pass_fixture_slice(&self);
    g_assert_cmpuint(self.slice.rows, ==, 32);
    g_assert_cmpuint(control->most_rows_got, ==, 5); /* at most 1 MiB */
    pass_fixture_close(&self);
}
