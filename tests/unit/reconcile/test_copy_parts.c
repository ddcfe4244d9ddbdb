/* Passes that scan several parts of a placement at the same time. */
#include "pass_fixture.h"

#include "reconcile/copy_parts.h"

/* --- parts ------------------------------------------------------------------------------------------- */

static kw_regions
regions_of(kw_region *regions, const char *const *starts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        regions[i] = (kw_region){.start = kw_bytes_of_text(starts[i])};
    return (kw_regions){.regions = regions, .count = count};
}

static kw_copy_parts *
parts_of(const char *after, const char *const *starts, size_t count)
{
    kw_region *regions = g_new0(kw_region, count);
    const kw_regions all = regions_of(regions, starts, count);
    kw_copy_parts *parts = kw_copy_parts_new(kw_bytes_of_text(after));
    g_assert_false(kw_copy_parts_are_divided(parts));
    kw_copy_parts_divide(parts, &all);
    g_assert_true(kw_copy_parts_are_divided(parts));
    g_free(regions);
    return parts;
}

static void
expect_after(const kw_copy_parts *parts, const char *after)
{
    g_assert_true(kw_bytes_equal(kw_copy_parts_after(parts), kw_bytes_of_text(after)));
}

static kw_copy_part *
take(kw_copy_parts *parts, kw_bytes start, const char *stop)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    kw_copy_part *part = kw_copy_parts_take(parts);
    g_assert_nonnull(part);
    g_assert_true(kw_bytes_equal(kw_copy_part_start(part, KW_BYTES_NONE, arena), start));
    g_assert_true(kw_bytes_equal(part->stop, kw_bytes_of_text(stop)));
    return part;
}

#define KEY(text) KW_BYTES_LITERAL(text)

/* `after` is a key up to which the rows of all parts are visited. */
KW_TEST(test_after, "/reconcile/copy parts/after")
{
    static const char *const starts[] = {"", "c", "f"};
    kw_copy_parts *parts = parts_of("", starts, G_N_ELEMENTS(starts));
    kw_copy_part *first = take(parts, KW_BYTES_NONE, "c"), *second = take(parts, KEY("c"), "f"),
                 *third = take(parts, KEY("f"), "");
    g_assert_null(kw_copy_parts_take(parts));
    kw_copy_part_note(third, KEY("g"), false);
    kw_copy_part_note(second, KEY("d"), false);
    expect_after(parts, "");
    kw_copy_part_note(first, KEY("a"), false);
    expect_after(parts, "a");
    kw_copy_part_note(first, KW_BYTES_NONE, true);
    expect_after(parts, "d");
    kw_copy_parts_release(parts);
    g_assert_true(take(parts, KEY("d\0"), "f") == second);
    kw_copy_part_note(second, KW_BYTES_NONE, true);
    expect_after(parts, "g");
    g_assert_false(kw_copy_parts_have_ended(parts));
    kw_copy_part_note(third, KW_BYTES_NONE, true);
    g_assert_true(kw_copy_parts_have_ended(parts));
    kw_copy_parts_free(parts);
}

/* Regions whose rows were visited before the parts began are left out. A part has at least one row key. */
KW_TEST(test_divide, "/reconcile/copy parts/divide")
{
    static const char *const starts[] = {"", "c", "f", "k"};
    g_autofree char *long_key = g_strnfill(2000, 'g');
    const char *const with_long[] = {"", "c", "f", long_key, "k"};
    kw_copy_parts *parts = parts_of("e", starts, G_N_ELEMENTS(starts));
    take(parts, KEY("e\0"), "f");
    take(parts, KEY("f"), "k");
    take(parts, KEY("k"), "");
    g_assert_null(kw_copy_parts_take(parts));
    kw_copy_parts_free(parts);

    parts = parts_of("f", with_long, G_N_ELEMENTS(with_long));
    take(parts, KEY("f\0"), "k");
    take(parts, KEY("k"), "");
    kw_copy_parts_free(parts);

    kw_region region[] = {{0}, {.start = KEY("c\0")}};
    parts = kw_copy_parts_new(KEY("c"));
    kw_copy_parts_divide(parts, &(kw_regions){.regions = region, .count = 2});
    take(parts, KEY("c\0"), "");
    kw_copy_parts_free(parts);

    parts = kw_copy_parts_new(KW_BYTES_NONE);
    kw_copy_parts_divide(parts, &(kw_regions){.regions = region, .count = 0});
    kw_copy_part_note(take(parts, KW_BYTES_NONE, ""), KW_BYTES_NONE, true);
    g_assert_true(kw_copy_parts_have_ended(parts));
    kw_copy_parts_free(parts);
}

/* The last possible key of a part was visited. */
KW_TEST(test_last_key, "/reconcile/copy parts/last key")
{
    kw_region region[] = {{0}, {.start = KEY("c\0")}};
    kw_copy_parts *parts = kw_copy_parts_new(KW_BYTES_NONE);
    kw_copy_parts_divide(parts, &(kw_regions){.regions = region, .count = 2});
    kw_copy_part *part = kw_copy_parts_take(parts);
    kw_copy_part_note(part, KEY("b"), false);
    g_assert_false(part->ended);
    kw_copy_part_note(part, KEY("c"), false);
    g_assert_true(part->ended);
    kw_copy_parts_free(parts);
}

KW_TEST(test_left, "/reconcile/copy parts/left")
{
    static const char *const starts[] = {"", "c", "f"};
    kw_copy_parts *parts = parts_of("", starts, G_N_ELEMENTS(starts));
    g_assert_cmpuint(kw_copy_parts_left(parts), ==, 3);
    kw_copy_part_note(kw_copy_parts_take(parts), KW_BYTES_NONE, true);
    g_assert_cmpuint(kw_copy_parts_left(parts), ==, 2);
    kw_copy_parts_free(parts);

    parts = kw_copy_parts_new(KEY("c"));
    g_assert_cmpuint(kw_copy_parts_left(parts), ==, 1);
    kw_copy_parts_keep_whole(parts);
    g_assert_true(kw_copy_parts_are_divided(parts));
    kw_copy_part_note(take(parts, KEY("c\0"), ""), KW_BYTES_NONE, true);
    g_assert_cmpuint(kw_copy_parts_left(parts), ==, 0);
    kw_copy_parts_free(parts);
}

KW_TEST(test_many_regions, "/reconcile/copy parts/many regions")
{
    for (size_t count = 1; count < 3 * KW_COPY_PARTS_MAX; count++) {
        char texts[3 * KW_COPY_PARTS_MAX][4];
        const char *starts[3 * KW_COPY_PARTS_MAX];
        for (size_t i = 0; i < count; i++) {
            g_snprintf(texts[i], sizeof texts[i], "%03zu", i);
            starts[i] = i ? texts[i] : "";
        }
        kw_copy_parts *parts = parts_of("", starts, count);
        size_t taken = 0;
        for (kw_bytes stop = KW_BYTES_NONE;; taken++) {
            const kw_copy_part *part = kw_copy_parts_take(parts);
            if (!part)
                break;
            g_assert_true(kw_bytes_equal(part->start, stop));
            stop = part->stop;
        }
        g_assert_cmpuint(taken, <=, KW_COPY_PARTS_MAX);
        g_assert_cmpuint(taken, >=, MIN(count, KW_COPY_PARTS_MAX / 2));
        kw_copy_parts_free(parts);
    }
}

/* --- passes ------------------------------------------------------------------------------------------ */

static void
run_pass(pass_fixture *self, uint32_t scans, uint32_t rows)
{
    self->request.max_rows = rows;
    self->apart.control->shuffle = true;
    self->apart.control->most_fetches_in_flight = 0;
    pass_fixture_run(self);
    if (scans > 2 && rows > 50)
        g_assert_cmpuint(self->apart.control->most_fetches_in_flight, >=, 3);
    pass_fixture_expect_equal(self);
    pass_fixture_close(self);
}

/* The result does not depend on the number of scans, or on the order in which fetches and copies end. */
KW_TEST(test_scans, "/reconcile/copy parts/scans")
{
    for (uint32_t scans = 0; scans <= KW_COPY_SCANS_MAX; scans++)
        for (uint32_t rows = 1; rows < KW_COPY_ROWS_MAX; rows = 7 * rows + 1) {
            pass_fixture self;
            pass_fixture_open(&self, scans);
            run_pass(&self, scans, rows);
        }
}

/* The pass begins with the new placement, because scans read it. */
KW_TEST(test_new_first, "/reconcile/copy parts/new first")
{
    static const uint32_t rows[] = {1, 57, KW_COPY_ROWS_MAX};
    for (uint32_t scans = 1; scans <= KW_COPY_SCANS_MAX; scans += 7)
        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
            pass_fixture self;
            pass_fixture_open_new_read(&self, scans);
            g_assert_cmpint(pass_fixture_first(&self), ==, NEW);
            run_pass(&self, scans, rows[i]);
        }
}

/* All fetches of a slice together read no more than max_rows rows, and no row is scanned twice. */
KW_TEST(test_bounds, "/reconcile/copy parts/bounds")
{
    pass_fixture self;
    pass_fixture_open(&self, KW_COPY_SCANS_MAX);
    self.request.seen = kw_copy_seen_new();
    pass_fixture_begin(&self, KW_COPY_SEEN_ADD);
    uint64_t all = 0;
    do {
        uint64_t before = self.apart.control->rows_read;
        self.request.since_ms = 1; /* the last key is not searched */
        pass_fixture_slice(&self);
        g_assert_true(self.ended);
        uint64_t read = self.apart.control->rows_read - before;
        g_assert_cmpuint(read, <=, self.request.max_rows);
        all += read;
    } while (!self.slice.end);
    g_assert_cmpuint(self.rows, ==, all);
    g_assert_cmpuint(all, ==, PASS_ROWS);
    g_clear_pointer(&self.request.seen, kw_copy_seen_unref);
    pass_fixture_close(&self);
}

/* Each operation of the pass fails once; LIMIT makes a slice scan row keys. */
KW_TEST(test_failures, "/reconcile/copy parts/failures")
{
    static const kw_code codes[] = {KW_UNAVAILABLE, KW_LIMIT};
    for (size_t i = 0; i < G_N_ELEMENTS(codes); i++) {
        uint64_t operations = 0;
        for (uint64_t n = 1; n == 1 || n <= operations; n += 1 + n / 8) {
            pass_fixture self;
            pass_fixture_open(&self, 4);
            kw_memory_control *control = self.apart.control;
            control->shuffle = true;
            control->fail_code = codes[i];
            uint64_t before = control->operations;
            control->fail_at = before + n;
            pass_fixture_run(&self);
            operations = control->operations - before;
            control->fail_at = 0;
            pass_fixture_expect_equal(&self);
            pass_fixture_close(&self);
        }
        g_assert_cmpuint(operations, >, 20);
    }
}

/* Rows before the end of a failed slice that were visited are not visited again. */
KW_TEST(test_continues, "/reconcile/copy parts/continues")
{
    pass_fixture self;
    pass_fixture_open(&self, 4);
    self.request.seen = kw_copy_seen_new();
    self.request.since_ms = 1;
    pass_fixture_begin(&self, KW_COPY_SEEN_ADD);
    self.apart.control->fail_at = self.apart.control->operations + 5; /* regions, four fetches */
    uint64_t before = self.apart.control->rows_read;
    pass_fixture_slice(&self);
    g_assert_false(self.ended);
    self.request.max_rows = KW_COPY_ROWS_MAX;
    pass_fixture_slice(&self);
    g_assert_true(self.slice.end);
    g_assert_cmpuint(self.rows, <, PASS_ROWS);
    g_assert_cmpuint(self.apart.control->rows_read - before, ==, PASS_ROWS);
    g_clear_pointer(&self.request.seen, kw_copy_seen_unref);
    pass_fixture_close(&self);
}

/* The catalog has earlier progress. All rows before it were visited, and those after it that the parts know
 * of are not visited again. */
KW_TEST(test_set_back, "/reconcile/copy parts/set back")
{
    pass_fixture self;
    pass_fixture_open(&self, 4);
    self.request.seen = kw_copy_seen_new();
    pass_fixture_begin(&self, KW_COPY_SEEN_ADD);
    pass_fixture_slice(&self);
    self.request.after = KW_BYTES_LITERAL("r");
    do
        pass_fixture_slice(&self);
    while (!self.slice.end);
    g_assert_cmpuint(kw_copy_seen_left(self.request.seen), ==, PASS_ROWS);
    self.request.after = KW_BYTES_LITERAL("r2"); /* after the end: these rows are scanned again */
    pass_fixture_slice(&self);
    g_assert_cmpuint(kw_copy_seen_left(self.request.seen), ==, PASS_ROWS);
    for (kw_copy_seen_use use = KW_COPY_SEEN_COMPARE; use <= KW_COPY_SEEN_LEFT; use++)
        pass_fixture_scan(&self, use);
    pass_fixture_expect_equal(&self);
    g_clear_pointer(&self.request.seen, kw_copy_seen_unref);
    pass_fixture_close(&self);
}

/* A slice with one scan continues one with several scans, and the other way round. */
KW_TEST(test_alternating, "/reconcile/copy parts/alternating")
{
    pass_fixture self;
    pass_fixture_open(&self, 1);
    self.request.seen = kw_copy_seen_new();
    for (kw_copy_seen_use use = KW_COPY_SEEN_ADD; use <= KW_COPY_SEEN_LEFT; use++) {
        pass_fixture_begin(&self, use);
        do {
            pass_fixture_slice(&self);
            self.request.max_scans = 5 - self.request.max_scans;
        } while (!self.slice.end);
    }
    pass_fixture_expect_equal(&self);
    g_clear_pointer(&self.request.seen, kw_copy_seen_unref);
    pass_fixture_close(&self);
}
