/* Compares and repairs the two placements of a path whose key rule is being changed. */
#include "comparison.h"
#include "placed_fixture.h"

#include "store/class.h"

typedef struct fixture {
    placed_fixture placed;
    desk *desk; /* of placed */
    kw_scrub_request request;
    kw_scrub_result slice, sum; /* sum: over all slices of the last comparison */
    GString *text;              /* a line for each difference */
    kw_error error;
} fixture;

static void
set_up(fixture *self)
{
    *self = (fixture){.text = g_string_new(NULL)};
    placed_fixture_open(&self->placed);
    self->desk = self->placed.desk;
    placed_fixture_place(&self->placed, "now", "then");
    self->request = (kw_scrub_request){.table = self->placed.table,
                                       .max_records = 1000,
                                       .max_differences = 100,
                                       .settle_ms = 1,
                                       .changing = self->placed.path};
}

static void
tear_down(fixture *self)
{
    placed_fixture_close(&self->placed);
    g_string_free(self->text, TRUE);
}

static bool
compare_slice(fixture *self)
{
    return comparison_slice(self->desk, &self->request, &self->slice, &self->error);
}

/* Compares all rows. */
static void
compare(fixture *self, bool repair)
{
    uint8_t cursor[1000];
    self->request.repair = repair;
    self->request.cursor = KW_BYTES_NONE;
    self->sum = (kw_scrub_result){0};
    g_string_truncate(self->text, 0);
    do {
        if (!compare_slice(self))
            g_error("%s", self->error.text);
        comparison_add(self->desk, &self->request, &self->slice, &self->sum, self->text);
        g_assert_cmpuint(self->slice.cursor.size, <=, sizeof cursor);
        if (self->slice.cursor.size)
            memcpy(cursor, self->slice.cursor.data, self->slice.cursor.size);
        self->request.cursor = kw_bytes_of(cursor, self->slice.cursor.size);
        desk_clear(self->desk);
    } while (self->request.cursor.size);
    g_assert_cmpfloat(self->slice.progress, ==, 1);
}

static void
expect_same(fixture *self)
{
    compare(self, false);
    g_assert_cmpstr(self->text->str, ==, "");
    g_assert_cmpuint(self->sum.missing + self->sum.different + self->sum.extra + self->sum.unsettled +
                         self->sum.foreign,
                     ==, 0);
}

/* The placements that a put or a removal writes. */
typedef enum side { OLD = 1, NEW = 2, BOTH = 3 } side;

static void
write_to(fixture *self, side sides)
{
    self->placed.placements[0].role.put = self->placed.placements[0].role.remove = (sides & NEW) != 0;
    self->placed.placements[1].role.put = self->placed.placements[1].role.remove = (sides & OLD) != 0;
}

static void
put(fixture *self, side sides, const char *record, int64_t timestamp)
{
    write_to(self, sides);
    placed_fixture_put(&self->placed, "now", record, timestamp);
    write_to(self, BOTH);
}

static void
remove_record(fixture *self, side sides, const char *key, const char *columns, int64_t timestamp)
{
    write_to(self, sides);
    self->desk->options = (kw_write_options){.has_timestamp = timestamp > 0, .timestamp = timestamp};
    g_assert_cmpstr(desk_remove(self->desk, "now", key, columns)->error.text, ==, "");
    self->desk->options = (kw_write_options){0};
    write_to(self, BOTH);
}

/* --- differences --------------------------------------------------------------------------------- */

#define KEY "id=a n=5"

static void
make_missing(fixture *self)
{
    put(self, OLD, KEY " note=one tags.k=1", 1000);
    put(self, OLD, KEY " note=two", 2000);
}

static void
make_extra(fixture *self)
{
    put(self, NEW, KEY " note=one", 1000);
}

/* A removal that began before the change and was committed after a put of the change. */
static void
make_half_removed(fixture *self)
{
    put(self, BOTH, KEY " note=one tags.k=1", 1000);
    remove_record(self, OLD, KEY, NULL, 2000);
}

static void
make_half_removed_column(fixture *self)
{
    put(self, BOTH, KEY " note=one tags.k=1", 1000);
    remove_record(self, OLD, KEY, "note", 2000);
}

static void
make_stale(fixture *self)
{
    put(self, BOTH, KEY " note=one", 1000);
    put(self, OLD, KEY " note=two", 2000);
}

static void
make_other_value(fixture *self)
{
    put(self, BOTH, KEY " note=one", 1000);
    put(self, NEW, KEY " note=two", 1000);
}

/* The values are equal. */
static void
make_other_timestamp(fixture *self)
{
    put(self, OLD, KEY " note=one", 2000);
    put(self, NEW, KEY " note=one", 1000);
}

static void
make_extra_column(fixture *self)
{
    put(self, BOTH, KEY " note=one", 1000);
    put(self, NEW, KEY " tags.k=4", 3000);
}

typedef struct difference_case {
    const char *name;
    void (*make)(fixture *self);
    const char *text;
} difference_case;

static const difference_case cases[] = {
    {"missing", make_missing, "MISSING " KEY ": the other placement does not have the record"},
    {"extra", make_extra, "EXTRA " KEY ": the placement that scans read does not have the record"},
    {"half removed", make_half_removed,
     "EXTRA " KEY ": the placement that scans read does not have the record"},
    {"half removed column", make_half_removed_column,
     "DIFFERENT " KEY ": note with timestamp 1000 is only here"},
    {"stale", make_stale,
     "DIFFERENT " KEY ": note with timestamp 2000 is missing, note with timestamp 1000 is only here"},
    {"other value", make_other_value, "DIFFERENT " KEY ": note with timestamp 1000 has another value"},
    {"other timestamp", make_other_timestamp,
     "DIFFERENT " KEY ": note with timestamp 2000 is missing, note with timestamp 1000 is only here"},
    {"extra column", make_extra_column, "DIFFERENT " KEY ": tags.k with timestamp 3000 is only here"},
};

static void
test_difference(gconstpointer data)
{
    const difference_case *what = data;
    fixture self;
    set_up(&self);
    put(&self, BOTH, "id=b n=1 note=equal", 0);
    what->make(&self);
    g_autofree char *found = g_strdup_printf("%s\n", what->text);
    g_autofree char *repaired = g_strdup_printf("%s, repaired\n", what->text);
    compare(&self, false);
    g_assert_cmpstr(self.text->str, ==, found);
    compare(&self, true);
    g_assert_cmpstr(self.text->str, ==, repaired);
    g_assert_cmpuint(self.sum.repaired, ==, 1);
    expect_same(&self);
    tear_down(&self);
}

/* A deletion in the new placement hides the cell, even after a repair with its own timestamp. */
KW_TEST(test_hidden, "/reconcile/scrub change/hidden")
{
    fixture self;
    set_up(&self);
    put(&self, BOTH, KEY " note=one", 1000);
    remove_record(&self, NEW, KEY, NULL, 2000);
    compare(&self, true);
    g_assert_true(g_str_has_prefix(self.text->str,
                                   "MISSING " KEY ": the other placement does not have the record; it "
                                   "still differs after the repair. If this repeats, a deletion hides"));
    g_assert_cmpuint(self.sum.repaired, ==, 0);
    g_assert_cmpuint(self.sum.missing, ==, 1);
    tear_down(&self);
}

/* Deleting the extra cell would hide a cell that is in both placements. */
KW_TEST(test_kept, "/reconcile/scrub change/kept")
{
    fixture self;
    set_up(&self);
    put(&self, OLD, KEY " note=old", 1000);
    put(&self, NEW, KEY " note=wrong", 2000);
    compare(&self, true);
    g_assert_cmpuint(self.sum.different, ==, 1);
    g_assert_cmpuint(self.sum.repaired, ==, 0);
    compare(&self, false); /* the cell is still there */
    g_assert_cmpstr(self.text->str, ==,
                    "DIFFERENT " KEY
                    ": note with timestamp 2000 is only here, note with timestamp 1000 is missing\n");
    tear_down(&self);
}

KW_TEST(test_equal, "/reconcile/scrub change/equal")
{
    fixture self;
    set_up(&self);
    expect_same(&self);
    for (int i = 0; i < 50; i++) {
        g_autofree char *record = g_strdup_printf("id=r%d n=%d note=x tags.a=%d", i % 7, i, i);
        put(&self, BOTH, record, i % 3 ? 0 : 1000 + i);
    }
    desk_remove(self.desk, "now", "id=r1 n=1", NULL);
    desk_remove(self.desk, "now", "id=r2 n=2", "note");
    self.request.max_records = 7;
    expect_same(&self);
    g_assert_cmpuint(self.sum.rows, ==, 2 * 49);
    tear_down(&self);
}

/* Rows that do not fit into memory are copied again. The rows around them are compared. */
KW_TEST(test_large, "/reconcile/scrub change/large")
{
    fixture self;
    set_up(&self);
    g_autofree char *note = g_strnfill(3000, 'x');
    for (int i = 0; i < 20; i++) {
        g_autofree char *record = g_strdup_printf("id=r%02d n=1 note=%s", i, i == 7 || i == 19 ? note : "x");
        put(&self, i == 7 ? OLD : BOTH, record, 1000);
    }
    put(&self, OLD, "id=r09 n=1 note=y", 2000);
    g_autofree char *wrong = g_strdup_printf("id=r05 n=1 note=%s", note);
    put(&self, NEW, wrong, 1000);
    ((kw_model *)(uintptr_t)kw_policy_model(self.desk->policy))->limits.frame_bytes = 2000;
    self.request.cursor = KW_BYTES_NONE;
    self.request.repair = false;
    g_assert_false(compare_slice(&self));
    g_assert_cmpint(self.error.code, ==, KW_LIMIT);
    g_assert_true(strstr(self.error.text, "limits.frame"));
    desk_clear(self.desk);
    compare(&self, true);
    g_assert_cmpuint(self.sum.large, ==, 3 + 2); /* the copy of r05 is small */
    g_assert_cmpuint(self.sum.rows, ==, 17 + 18);
    g_assert_cmpuint(self.sum.repaired, ==, 1);
    g_assert_cmpuint(self.sum.missing + self.sum.extra + self.sum.unsettled, ==, 0);
    ((kw_model *)(uintptr_t)kw_policy_model(self.desk->policy))->limits.frame_bytes = 1 << 20;
    expect_same(&self);
    tear_down(&self);
}

/* --- concurrent writes --------------------------------------------------------------------------- */

#define WRITERS 8
#define WRITES 20000

typedef struct writer {
    fixture *in;
    kw_call call; /* an arena of its own */
    kw_item item;
    int written;
    int *running;
} writer;

static void write_next(writer *self);

static void
on_written(void *user, const kw_written_record *results, size_t count)
{
    writer *self = user;
    g_assert_cmpuint(count, ==, 1);
    g_assert_cmpint(results[0].outcome, ==, KW_OUTCOME_OK);
    if (++self->written < WRITES / WRITERS)
        write_next(self);
    else
        --*self->running;
}

/* Puts and removes two records in turn. */
static void
write_next(writer *self)
{
    static const kw_write_options options = {.durability = KW_DURABILITY_ASYNC_WAL};
    kw_arena_reset(self->call.arena);
    const kw_table *table = self->in->placed.table;
    bool removes = self->written % 3 == 2;
    kw_record record = kw_record_new(table, self->call.arena);
    record.values[0] = (kw_value){.kind = KW_VALUE_TEXT, .bytes = KW_BYTES_LITERAL("w")};
    record.values[1] = (kw_value){.kind = KW_VALUE_NUMBER, .number = self->written % 2};
    if (!removes)
        record.values[2] = record.values[0];
    self->item = (kw_item){.record = record};
    if (removes)
        kw_verb_remove(&self->call, table, &self->item, 1, NULL, 0, options, on_written, self);
    else
        kw_verb_put(&self->call, table, &self->item, 1, options, on_written, self);
}

/* Writes to both placements never look like a difference, although they come between the reads of the two. */
KW_TEST(test_concurrent, "/reconcile/scrub change/concurrent")
{
    fixture self;
    set_up(&self);
    writer writers[WRITERS];
    int running = WRITERS;
    for (size_t i = 0; i < WRITERS; i++) {
        writers[i] = (writer){.in = &self, .call = self.desk->call, .running = &running};
        writers[i].call.arena = kw_arena_new();
        write_next(&writers[i]);
    }
    for (int i = 0; running; i++) {
        compare(&self, i % 2);
        g_assert_cmpuint(self.sum.missing + self.sum.different + self.sum.extra, ==, 0);
    }
    for (size_t i = 0; i < WRITERS; i++)
        kw_arena_free(writers[i].call.arena);
    expect_same(&self);
    tear_down(&self);
}

/* A store handle on which the next reads of the new placement are each preceded by a put to both. */
static struct {
    const kw_store_handle_class *inner;
    fixture *in;
    kw_store_handle *handle;
    const kw_get *const *gets;
    size_t count;
    kw_get_done done;
    void *user;
    int puts;
    int puts_left;
    const char *column;
} late;

static void
late_put_done(void *user, const kw_written_record *results, size_t count)
{
    (void)user;
    g_assert_cmpuint(count, ==, 1);
    g_assert_cmpint(results[0].outcome, ==, KW_OUTCOME_OK);
    late.inner->get_many(late.handle, late.gets, late.count, late.done, late.user);
}

static void
late_get_many(kw_store_handle *handle, const kw_get *const *gets, size_t count, kw_get_done done, void *user)
{
    if (late.puts_left == 0 || !kw_bytes_equal(gets[0]->table, late.in->placed.placements[0].store_table)) {
        late.inner->get_many(handle, gets, count, done, user);
        return;
    }
    late.puts_left--;
    late.handle = handle;
    late.gets = gets;
    late.count = count;
    late.done = done;
    late.user = user;
    kw_call *call = &late.in->desk->call;
    kw_item *item = KW_ARENA_NEW(call->arena, kw_item);
    g_autofree char *record = g_strdup_printf(KEY " %s=%d", late.column, late.puts++);
    *item = (kw_item){.record = desk_record(late.in->desk, "now", record)};
    kw_verb_put(call, late.in->placed.table, item, 1, (kw_write_options){0}, late_put_done, NULL);
}

/* A row that is written between all reads of its two placements is not reported. */
KW_TEST(test_hot_row, "/reconcile/scrub change/hot row")
{
    fixture self;
    set_up(&self);
    put(&self, BOTH, KEY " note=one", 0);
    kw_store_handle *handle = self.desk->call.handle;
    late.in = &self;
    late.puts_left = INT_MAX;
    late.column = "note";
    late.inner = handle->class;
    kw_store_handle_class between = *late.inner;
    between.get_many = late_get_many;
    handle->class = &between;
    compare(&self, true);
    handle->class = late.inner;
    g_assert_cmpint(late.puts, >, 3);
    g_assert_cmpuint(self.sum.unsettled, ==, 1);
    g_assert_cmpstr(self.text->str, ==, "");
    expect_same(&self);
    tear_down(&self);
}

static void
late_copy_rows(kw_store_handle *handle, const kw_row_copy *copies, size_t count, kw_deadline deadline,
               kw_written *results, void (*done)(void *), void *user)
{
    late.puts_left = late.puts == 0;
    late.inner->copy_rows(handle, copies, count, deadline, results, done, user);
}

/* A put that comes between the two reads after a repair is not undone in the new placement. */
KW_TEST(test_put_after_repair, "/reconcile/scrub change/put after repair")
{
    fixture self;
    set_up(&self);
    put(&self, BOTH, KEY " note=one", 1000);
    put(&self, OLD, KEY " note=two", 2000);
    kw_store_handle *handle = self.desk->call.handle;
    late.in = &self;
    late.puts = late.puts_left = 0;
    late.column = "tags.z";
    late.inner = handle->class;
    kw_store_handle_class between = *late.inner;
    between.get_many = late_get_many;
    between.copy_rows = late_copy_rows;
    handle->class = &between;
    compare(&self, true);
    handle->class = late.inner;
    g_assert_cmpint(late.puts, ==, 1);
    g_assert_cmpuint(self.sum.different, ==, 1);
    expect_same(&self);
    tear_down(&self);
}

/* --- cursors and refusals ------------------------------------------------------------------------ */

static void
expect_error(fixture *self, kw_code code, const char *part)
{
    g_assert_false(compare_slice(self));
    g_assert_cmpint(self->error.code, ==, code);
    g_assert_nonnull(strstr(self->error.text, part));
}

KW_TEST(test_cursors, "/reconcile/scrub change/cursors")
{
    fixture self;
    set_up(&self);
    put(&self, BOTH, "id=a n=1", 0);
    put(&self, BOTH, "id=b n=1", 0);
    self.request.max_records = 1;
    g_assert_true(compare_slice(&self));
    self.request.cursor = self.slice.cursor;
    g_assert_true(compare_slice(&self));
    self.placed.placements[0].role.scan = true; /* the sides change places */
    self.placed.placements[1].role.scan = false;
    expect_error(&self, KW_INVALID, "the cursor belongs to another table");
    self.placed.placements[0].role.scan = false;
    self.placed.placements[1].role.scan = true;
    g_assert_true(compare_slice(&self));
    self.placed.placements[1].store_table = self.placed.placements[0].store_table;
    expect_error(&self, KW_INVALID, "the cursor belongs to another table");
    tear_down(&self);
}

/* Every store operation of a repair fails once. */
KW_TEST(test_failures, "/reconcile/scrub change/failures")
{
    fixture self;
    set_up(&self);
    make_half_removed(&self);
    put(&self, OLD, "id=b n=2 note=one", 1000);
    self.request.repair = true;
    size_t failures = 0;
    do {
        atomic_store(&self.placed.plan.fault, KW_FAULT_UNKNOWN_APPLIED);
        atomic_store(&self.placed.plan.fail_at, ++failures);
    } while (!compare_slice(&self));
    g_assert_cmpuint(failures, >, 6);
    atomic_store(&self.placed.plan.fail_at, 0);
    self.request.repair = false;
    compare(&self, true);
    expect_same(&self);
    tear_down(&self);
}

KW_TEST_START(start)
{
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *name = g_strdup_printf("/reconcile/scrub change/difference/%s", cases[i].name);
        g_test_add_data_func(name, &cases[i], test_difference);
    }
}
