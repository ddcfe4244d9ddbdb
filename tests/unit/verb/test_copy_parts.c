/* Passes that scan several parts of a placement at the same time. */
#include "apart_fixture.h"

#include "verb/copy_parts.h"

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
static void
test_after(void)
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
static void
test_divide(void)
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
static void
test_last_key(void)
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

static void
test_many_regions(void)
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

#define RECORDS 400

typedef struct fixture {
    apart_fixture apart;
    kw_copy_request request;
    kw_copy_result slice;
    kw_error error;
    uint64_t rows; /* of all slices */
    unsigned slices;
    bool ended; /* the slice has ended with a result */
} fixture;

static void
on_created(void *user, bool created, const kw_error *error)
{
    g_assert_null(error);
    g_assert_true(created);
    ((desk *)user)->done = true;
}

/* 4 salted regions of the new placement, which are not divided at the buckets, and 3 of the old one. */
static void
create_tables(fixture *self)
{
    static const char *const old[] = {"r100", "r3"};
    static const uint8_t new[][2] = {{0, 'r'}, {1, 0}, {2, 'r'}};
    desk *on = self->apart.desk;
    kw_bytes keys[3];
    for (int side = 0; side < 2; side++) {
        const size_t count = side ? G_N_ELEMENTS(old) : G_N_ELEMENTS(new);
        for (size_t i = 0; i < count; i++)
            keys[i] = side ? kw_bytes_of_text(old[i]) : kw_bytes_of(new[i], sizeof new[i]);
        const kw_table_spec spec = {.name = self->apart.placements[side].store_table,
                                    .families = &(kw_family_spec){.name = "d"},
                                    .families_count = 1,
                                    .split_keys = keys,
                                    .split_keys_count = count};
        on->done = false;
        kw_store_handle_create_table(on->handle, &spec, on_created, on);
        desk_wait(on);
    }
}

/* Three quarters of the records have two equal rows; the others have one row, or two that differ. */
static void
put_records(fixture *self)
{
    for (int i = 0; i < RECORDS; i++) {
        g_autofree char *record = g_strdup_printf("id=r%03d n=%d note=x", i, i);
        g_autofree char *other = g_strdup_printf("id=r%03d n=%d note=y", i, i);
        apart_put(&self->apart, i % 16 == 1 ? OLD : i % 16 == 2 ? NEW : BOTH, record, 1000);
        if (i % 16 == 3)
            apart_put(&self->apart, i % 32 == 3 ? OLD : NEW, other, 2000);
        if (i % 16 == 4)
            apart_put(&self->apart, i % 32 == 4 ? OLD : NEW, other, 1000); /* a tie */
    }
}

static void
set_up(fixture *self, uint32_t max_scans)
{
    *self = (fixture){0};
    apart_fixture_open(&self->apart, "now");
    create_tables(self);
    put_records(self);
    self->request = (kw_copy_request){.mode = KW_COPY_PASS, .max_rows = 64, .max_scans = max_scans};
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
    self->ended = result;
    if (result)
        self->slice = *result;
    self->apart.desk->done = true;
}

static void
run_slice(fixture *self)
{
    static uint8_t after[100];
    desk *on = self->apart.desk;
    on->done = false;
    kw_verb_copy(&on->call, &self->request, answered, self);
    desk_wait(on);
    self->slices++;
    if (!self->ended) /* it is repeated */
        return;
    self->rows += self->slice.rows;
    g_assert_cmpuint(self->slice.after.size, <, sizeof after);
    if (self->slice.after.size)
        memcpy(after, self->slice.after.data, self->slice.after.size);
    self->request.after = self->slice.end ? KW_BYTES_NONE : kw_bytes_of(after, self->slice.after.size);
    self->request.first = self->request.last = KW_BYTES_NONE;
    desk_clear(on);
}

static void
begin_scan(fixture *self, kw_copy_seen_use use)
{
    bool new = use == KW_COPY_SEEN_COMPARE;
    self->request.seen_use = use;
    self->request.from = &self->apart.placements[!new];
    self->request.to = &self->apart.placements[new];
    self->request.after = KW_BYTES_NONE;
}

/* Slices that fail are repeated. */
static void
pass(fixture *self)
{
    self->request.seen = kw_copy_seen_new();
    self->rows = 0;
    for (kw_copy_seen_use use = KW_COPY_SEEN_ADD; use <= KW_COPY_SEEN_LEFT; use++) {
        begin_scan(self, use);
        do
            run_slice(self);
        while (!self->ended || !self->slice.end);
    }
    g_clear_pointer(&self->request.seen, kw_copy_seen_unref);
}

static void
expect_equal(fixture *self)
{
    for (int i = 0; i < RECORDS; i++) {
        g_autofree char *key = g_strdup_printf("id=r%03d n=%d", i, i);
        bool changed = i % 16 == 3 || i % 32 == 4; /* of a tie, the row of the old placement stays */
        g_autofree char *record = g_strdup_printf("%s note=%c", key, changed ? 'y' : 'x');
        for (apart_side side = OLD; side <= NEW; side++) {
            self->apart.placements[0].role.get = side == NEW;
            self->apart.placements[1].role.get = side == OLD;
            g_assert_cmpstr(desk_get(self->apart.desk, "now", key, NULL), ==, record);
        }
    }
}

/* The result does not depend on the number of scans, or on the order in which fetches and copies end. */
static void
test_scans(void)
{
    for (uint32_t scans = 0; scans <= KW_COPY_SCANS_MAX; scans++)
        for (uint32_t rows = 1; rows < KW_COPY_ROWS_MAX; rows = 7 * rows + 1) {
            fixture self;
            set_up(&self, scans);
            self.request.max_rows = rows;
            self.apart.control->shuffle = true;
            self.apart.control->most_in_flight = 0;
            pass(&self);
            if (scans > 2 && rows > 50)
                g_assert_cmpuint(self.apart.control->most_in_flight, >=, 3);
            expect_equal(&self);
            tear_down(&self);
        }
}

/* All fetches of a slice together read no more than max_rows rows, and no row is scanned twice. */
static void
test_bounds(void)
{
    fixture self;
    set_up(&self, KW_COPY_SCANS_MAX);
    self.request.seen = kw_copy_seen_new();
    begin_scan(&self, KW_COPY_SEEN_ADD);
    uint64_t all = 0;
    do {
        uint64_t before = self.apart.control->rows_read;
        self.request.since_ms = 1; /* the last key is not searched */
        run_slice(&self);
        g_assert_true(self.ended);
        uint64_t read = self.apart.control->rows_read - before;
        g_assert_cmpuint(read, <=, self.request.max_rows);
        all += read;
    } while (!self.slice.end);
    g_assert_cmpuint(self.rows, ==, all);
    g_assert_cmpuint(all, ==, RECORDS - RECORDS / 16);
    g_clear_pointer(&self.request.seen, kw_copy_seen_unref);
    tear_down(&self);
}

/* Each operation of the pass fails once; LIMIT makes a slice scan row keys. */
static void
test_failures(void)
{
    static const kw_code codes[] = {KW_UNAVAILABLE, KW_LIMIT};
    for (size_t i = 0; i < G_N_ELEMENTS(codes); i++) {
        uint64_t operations = 0;
        for (uint64_t n = 1; n == 1 || n <= operations; n += 1 + n / 8) {
            fixture self;
            set_up(&self, 4);
            kw_memory_control *control = self.apart.control;
            control->shuffle = true;
            control->fail_code = codes[i];
            uint64_t before = control->operations;
            control->fail_at = before + n;
            pass(&self);
            operations = control->operations - before;
            control->fail_at = 0;
            expect_equal(&self);
            tear_down(&self);
        }
        g_assert_cmpuint(operations, >, 20);
    }
}

/* Rows before the end of a failed slice that were visited are not visited again. */
static void
test_continues(void)
{
    fixture self;
    set_up(&self, 4);
    self.request.seen = kw_copy_seen_new();
    self.request.since_ms = 1;
    begin_scan(&self, KW_COPY_SEEN_ADD);
    self.apart.control->fail_at = self.apart.control->operations + 5; /* regions, four fetches */
    uint64_t before = self.apart.control->rows_read;
    run_slice(&self);
    g_assert_false(self.ended);
    self.request.max_rows = KW_COPY_ROWS_MAX;
    run_slice(&self);
    g_assert_true(self.slice.end);
    g_assert_cmpuint(self.rows, <, RECORDS - RECORDS / 16);
    g_assert_cmpuint(self.apart.control->rows_read - before, ==, RECORDS - RECORDS / 16);
    g_clear_pointer(&self.request.seen, kw_copy_seen_unref);
    tear_down(&self);
}

/* The catalog has earlier progress. All rows before it were visited, and those after it that the parts know
 * of are not visited again. */
static void
test_set_back(void)
{
    fixture self;
    set_up(&self, 4);
    self.request.seen = kw_copy_seen_new();
    begin_scan(&self, KW_COPY_SEEN_ADD);
    run_slice(&self);
    self.request.after = KW_BYTES_LITERAL("r");
    do
        run_slice(&self);
    while (!self.slice.end);
    g_assert_cmpuint(kw_copy_seen_left(self.request.seen), ==, RECORDS - RECORDS / 16);
    self.request.after = KW_BYTES_LITERAL("r2"); /* after the end: these rows are scanned again */
    run_slice(&self);
    g_assert_cmpuint(kw_copy_seen_left(self.request.seen), ==, RECORDS - RECORDS / 16);
    for (kw_copy_seen_use use = KW_COPY_SEEN_COMPARE; use <= KW_COPY_SEEN_LEFT; use++) {
        begin_scan(&self, use);
        do
            run_slice(&self);
        while (!self.slice.end);
    }
    expect_equal(&self);
    g_clear_pointer(&self.request.seen, kw_copy_seen_unref);
    tear_down(&self);
}

/* A slice with one scan continues one with several scans, and the other way round. */
static void
test_alternating(void)
{
    fixture self;
    set_up(&self, 1);
    self.request.seen = kw_copy_seen_new();
    for (kw_copy_seen_use use = KW_COPY_SEEN_ADD; use <= KW_COPY_SEEN_LEFT; use++) {
        begin_scan(&self, use);
        do {
            run_slice(&self);
            self.request.max_scans = 5 - self.request.max_scans;
        } while (!self.slice.end);
    }
    expect_equal(&self);
    g_clear_pointer(&self.request.seen, kw_copy_seen_unref);
    tear_down(&self);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/verb/copy parts/after", test_after);
    g_test_add_func("/verb/copy parts/divide", test_divide);
    g_test_add_func("/verb/copy parts/last key", test_last_key);
    g_test_add_func("/verb/copy parts/many regions", test_many_regions);
    g_test_add_func("/verb/copy parts/scans", test_scans);
    g_test_add_func("/verb/copy parts/bounds", test_bounds);
    g_test_add_func("/verb/copy parts/failures", test_failures);
    g_test_add_func("/verb/copy parts/continues", test_continues);
    g_test_add_func("/verb/copy parts/set back", test_set_back);
    g_test_add_func("/verb/copy parts/alternating", test_alternating);
    return g_test_run();
}
