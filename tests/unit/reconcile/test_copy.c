/* Copies rows of a path from one placement to another, in the embedded store. */
#include "placed_fixture.h"

typedef struct fixture {
    placed_fixture placed;
    desk *desk; /* of placed */
    kw_copy_request request;
    kw_copy_result result;
    kw_error error;
} fixture;

static void
set_up(fixture *self)
{
    *self = (fixture){0};
    placed_fixture_open(&self->placed);
    self->desk = self->placed.desk;
}

static void
tear_down(fixture *self)
{
    placed_fixture_close(&self->placed);
}

/* Copies from the old placement to the new one. */
static void
place(fixture *self, const char *now, const char *then)
{
    placed_fixture_place(&self->placed, now, then);
    self->request = (kw_copy_request){
        .from = &self->placed.placements[1], .to = &self->placed.placements[0], .max_rows = 1000};
}

/* Gets of the table read the new placement. */
static void
read_new(fixture *self)
{
    self->placed.placements[0].role = self->placed.placements[1].role;
    self->placed.placements[1].role = (kw_role){0};
}

static void
answered(void *user, const kw_copy_result *result, const kw_error *error)
{
    fixture *self = user;
    self->error = error ? *error : KW_ERROR_NONE;
    if (result)
        self->result = *result;
    self->desk->done = true;
}

static bool
copy(fixture *self)
{
    self->desk->done = false;
    self->result = (kw_copy_result){0};
    kw_copy(&self->desk->call, &self->request, answered, self);
    desk_wait(self->desk);
    return self->error.code == KW_OK;
}

static void
put(fixture *self, const char *table, const char *record)
{
    placed_fixture_put(&self->placed, table, record, 0);
}

/* --- tests --------------------------------------------------------------------------------------- */

KW_TEST(test_slices, "/reconcile/copy/slices")
{
    fixture self;
    set_up(&self);
    place(&self, "now", "then");
    for (int i = 0; i < 25; i++) {
        g_autofree char *record = g_strdup_printf("id=r%02d n=%d note=n%d tags.a=%d", i, i, i, i);
        put(&self, "then", record);
    }
    desk_remove(self.desk, "then", "id=r03 n=3", NULL);
    self.request.max_rows = 10;
    static const uint64_t rows[] = {9, 10, 5};
    double progress = 0;
    uint8_t after[100];
    for (size_t slice = 0; slice < 3; slice++) {
        g_assert_true(copy(&self));
        g_assert_cmpuint(self.result.rows, ==, rows[slice]);
        g_assert_cmpuint(self.result.removed, ==, slice == 0);
        g_assert_cmpuint(self.result.undecodable, ==, 0);
        g_assert_true(self.result.end == (slice == 2));
        g_assert_cmpfloat(self.result.progress, >, progress);
        g_assert_true(self.result.end || self.result.progress < 1);
        progress = self.result.progress;
        g_assert_cmpuint(self.result.after.size, <=, sizeof after);
        memcpy(after, self.result.after.data, self.result.after.size);
        self.request.after = kw_bytes_of(after, self.result.after.size);
        desk_clear(self.desk);
    }
    g_assert_cmpfloat(progress, ==, 1);
    g_assert_true(copy(&self)); /* nothing is left */
    g_assert_true(self.result.end && self.result.rows == 0);
    g_assert_true(kw_bytes_equal(self.result.after, self.request.after));
    read_new(&self);
    g_assert_cmpstr(desk_get(self.desk, "now", "id=r00 n=0", NULL), ==, "id=r00 n=0 note=n0 tags.a=0");
    g_assert_cmpstr(desk_get(self.desk, "now", "id=r24 n=24", NULL), ==, "id=r24 n=24 note=n24 tags.a=24");
    g_assert_cmpstr(desk_get(self.desk, "now", "id=r03 n=3", NULL), ==, "none");
    tear_down(&self);
}

/* A put with a timestamp before the removal of its record stays hidden, also if it comes after the copy. */
KW_TEST(test_removed, "/reconcile/copy/removed")
{
    fixture self;
    set_up(&self);
    place(&self, "now", "then");
    put(&self, "then", "id=r1 n=1 note=x");
    put(&self, "then", "id=r2 n=2 note=x");
    desk_remove(self.desk, "then", "id=r2 n=2", NULL);
    g_assert_true(copy(&self));
    g_assert_cmpuint(self.result.rows, ==, 1);
    g_assert_cmpuint(self.result.removed, ==, 1);
    g_assert_cmpuint(self.result.undecodable, ==, 0);
    read_new(&self);
    placed_fixture_put(&self.placed, "now", "id=r1 n=1 note=y", 5);
    placed_fixture_put(&self.placed, "now", "id=r2 n=2 note=y", 5);
    g_assert_cmpstr(desk_get(self.desk, "now", "id=r1 n=1", NULL), ==, "id=r1 n=1 note=x");
    g_assert_cmpstr(desk_get(self.desk, "now", "id=r2 n=2", NULL), ==, "none");
    tear_down(&self);
}

KW_TEST(test_empty, "/reconcile/copy/empty")
{
    fixture self;
    set_up(&self);
    place(&self, "now", "then");
    g_assert_true(copy(&self));
    g_assert_true(self.result.end && self.result.rows == 0 && self.result.undecodable == 0);
    g_assert_cmpfloat(self.result.progress, ==, 1);
    tear_down(&self);
}

/* The key of the new placement needs the time in seconds. The old key holds it too, but only in seconds: the
 * field is read from its column. */
KW_TEST(test_column, "/reconcile/copy/column")
{
    fixture self;
    set_up(&self);
    place(&self, "coarse_now", "coarse_then");
    put(&self, "coarse_then", "id=a ts=5123 note=first");
    put(&self, "coarse_then", "id=b ts=7000");
    g_assert_true(copy(&self));
    g_assert_cmpuint(self.result.rows, ==, 2);
    g_assert_cmpuint(self.result.undecodable, ==, 0);
    read_new(&self);
    g_assert_cmpstr(desk_get(self.desk, "coarse_now", "id=a ts=5999", NULL), ==, "id=a ts=5123 note=first");
    g_assert_cmpstr(desk_get(self.desk, "coarse_now", "id=b ts=7000", NULL), ==, "id=b ts=7000");
    tear_down(&self);
}

static void
written(void *user, kw_outcome outcome, const kw_error *error)
{
    desk *self = user;
    (void)error;
    g_assert_cmpint(outcome, ==, KW_OUTCOME_OK);
    self->done = true;
}

static void
write_raw_row(fixture *self, const char *row)
{
    kw_cell cell = {KW_BYTES_LITERAL("d"), KW_BYTES_LITERAL("note"), KW_BYTES_LITERAL("x"), 0};
    kw_write write = {.kind = KW_WRITE_PUT,
                      .table = self->request.from->store_table,
                      .row = kw_bytes_of_text(row),
                      .cells = &cell,
                      .cells_count = 1,
                      .timestamp = KW_TIMESTAMP_NONE,
                      .deadline = KW_DEADLINE_NONE};
    self->desk->done = false;
    kw_store_handle_write(self->desk->handle, &write, written, self->desk);
    desk_wait(self->desk);
}

KW_TEST(test_undecodable, "/reconcile/copy/undecodable")
{
    fixture self;
    set_up(&self);
    place(&self, "now", "then");
    put(&self, "then", "id=m n=1 note=copied");
    write_raw_row(&self, "bad");
    write_raw_row(&self, "worse");
    g_assert_true(copy(&self));
    g_assert_cmpuint(self.result.rows, ==, 1);
    g_assert_cmpuint(self.result.undecodable, ==, 2);
    g_assert_true(g_str_has_prefix(self.result.example, "table now, path primary, row bad: "));
    read_new(&self);
    g_assert_cmpstr(desk_get(self.desk, "now", "id=m n=1", NULL), ==, "id=m n=1 note=copied");
    tear_down(&self);
}

/* A slice fails if any operation of it fails, and can be repeated. */
KW_TEST(test_failures, "/reconcile/copy/failures")
{
    static const kw_fault faults[] = {KW_FAULT_FAILED, KW_FAULT_UNKNOWN_LOST, KW_FAULT_UNKNOWN_APPLIED};
    for (size_t i = 0; i < G_N_ELEMENTS(faults); i++) {
        fixture self;
        set_up(&self);
        place(&self, "now", "then");
        put(&self, "then", "id=a n=1 note=one");
        put(&self, "then", "id=b n=2");
        size_t failures = 0;
        atomic_store(&self.placed.plan.fault, faults[i]);
        do {
            atomic_store(&self.placed.plan.fail_at, ++failures);
            desk_clear(self.desk);
        } while (!copy(&self));
        g_assert_cmpuint(failures, ==, 4); /* last key, rows, copies, and no failure */
        g_assert_cmpuint(self.result.rows, ==, 2);
        atomic_store(&self.placed.plan.fail_at, 0);
        read_new(&self);
        g_assert_cmpstr(desk_get(self.desk, "now", "id=a n=1", NULL), ==, "id=a n=1 note=one");
        tear_down(&self);
    }
}

/* The store table of the new placement does not exist. */
KW_TEST(test_lost_table, "/reconcile/copy/lost table")
{
    fixture self;
    set_up(&self);
    place(&self, "now", "then");
    put(&self, "then", "id=a n=1 note=one");
    self.placed.placements[0].store_table = KW_BYTES_LITERAL("lost");
    g_assert_false(copy(&self));
    g_assert_cmpint(self.error.code, ==, KW_NOT_FOUND);
    g_assert_true(g_str_has_prefix(self.error.text, "table now, path primary, row a"));
    g_assert_nonnull(strstr(self.error.text, "table lost does not exist"));
    tear_down(&self);
}
