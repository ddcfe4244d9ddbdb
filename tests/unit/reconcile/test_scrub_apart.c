/* Compares the placements of a change in a store with several writers: what must be equal in two rows, and
 * the whole comparison under version 2. */
#include "comparison.h"
#include "contract/simulated_place.h"
#include "order_bed.h"
#include "reconcile/scrub.h"
#include "unit/verb/apart_fixture.h"

/* --- two rows ------------------------------------------------------------------------------------ */

static const kw_ordering ordering = {.regime.order = KW_WRITE_ORDER_STAMP,
                                     .family = {(const uint8_t *)"f", 1}};

typedef struct rows_case {
    const char *what;
    const char *primary, *other;
    const char *needed, *compared; /* of the primary row, and of the other one */
    const char *extra;
} rows_case;

static const rows_case rows_cases[] = {
    {"equal", "f:a=1@10", "f:a=1@10", "f:a=1@10", "f:a=1@10", ""},
    {"missing", "f:a=1@10", "", "f:a=1@10", "", ""},
    {"other value", "f:a=1@10", "f:a=2@10", "f:a=1@10", "f:a=2@10", ""},
    {"extra", "", "f:a=1@10", "", "", "f:a=1@10"},
    {"extra column", "f:a=1@10", "f:a=1@10 f:b=1@11", "f:a=1@10", "f:a=1@10", "f:b=1@11"},
    {"newer in the other row", "f:a=1@10", "f:a=2@11", "", "", "f:a=2@11"},
    {"newer in the primary row", "f:a=2@11", "f:a=1@10", "f:a=2@11", "", ""},
    {"versions displaced by a newer one", "f:a=2@11 f:a=1@10", "f:a=3@12 f:a=2@11", "f:a=2@11", "f:a=2@11",
     "f:a=3@12"},
    {"a version missing", "f:a=2@11 f:a=1@10", "f:a=2@11", "f:a=2@11 f:a=1@10", "f:a=2@11", ""},
    {"a version missing below a newer one", "f:a=2@11 f:a=1@10", "f:a=3@12", "f:a=2@11 f:a=1@10", "",
     "f:a=3@12"},
    {"removed in the other row", "f:a=1@10 f:b=1@12", "f:kw:r=11@12 f:b=1@12", "f:b=1@12", "f:b=1@12", ""},
    {"a column removed in the other row", "f:a=1@10 f:b=1@10", "f:kw:cf:a=11@12 f:b=1@10", "f:b=1@10",
     "f:b=1@10", ""},
    {"removed in the primary row", "f:kw:r=11@12", "f:a=1@10", "", "f:a=1@10", ""},
    {"removed in the primary row, newer in the other one", "f:kw:r=11@12", "f:a=1@13", "", "", "f:a=1@13"},
    {"removed in both", "f:kw:r=11@12", "f:kw:r=11@12", "", "", ""},
    {"hidden in both", "f:kw:r=11@12 f:a=1@10", "f:kw:r=11@12 f:a=2@10", "", "", ""},
    {"generations", "f:kw:g=1@10 f:a=1@10", "f:kw:g=2@12 f:a=1@10", "f:a=1@10", "f:a=1@10", ""},
};

static void
expect_row(const kw_row *row, const char *text)
{
    g_autofree char *found = order_print(row);
    g_assert_cmpstr(found, ==, text);
}

KW_TEST(test_rows, "/reconcile/scrub apart/rows")
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    for (size_t i = 0; i < G_N_ELEMENTS(rows_cases); i++) {
        const rows_case *of = &rows_cases[i];
        kw_row primary = order_row(arena, of->primary), other = order_row(arena, of->other), needed, compared;
        g_test_message("%s", of->what);
        kw_scrub_needed(&ordering, &primary, &other, arena, &needed, &compared);
        kw_row extra = kw_scrub_extra(&ordering, &primary, &other, arena);
        expect_row(&needed, of->needed);
        expect_row(&compared, of->compared);
        expect_row(&extra, of->extra);
    }
    kw_row row = order_row(arena, "f:kw:g=1@10 f:kw:r=11@12 f:a=1@10 f:b=1@12");
    kw_row visible = kw_scrub_visible(&ordering, &row, arena);
    expect_row(&visible, "f:b=1@12");
}

/* --- the comparison ------------------------------------------------------------------------------ */

typedef struct fixture {
    apart_fixture apart;
    kw_scrub_request request;
    kw_scrub_result slice, sum; /* sum: over all slices */
    GString *text;              /* a line for each difference */
    kw_error error;
} fixture;

static void
set_up_over(fixture *self, kw_store *store)
{
    *self = (fixture){.text = g_string_new(NULL)};
    if (store)
        apart_fixture_open_over(&self->apart, "now", store);
    else
        apart_fixture_open(&self->apart, "now");
    self->request = (kw_scrub_request){.table = self->apart.table,
                                       .max_records = 3,
                                       .max_differences = 100,
                                       .settle_ms = 1,
                                       .changing = self->apart.path};
}

static void
set_up(fixture *self)
{
    set_up_over(self, NULL);
}

static void
tear_down(fixture *self)
{
    apart_fixture_close(&self->apart);
    g_string_free(self->text, TRUE);
}

/* Compares all rows, and repairs them. */
static void
compare(fixture *self)
{
    desk *on = self->apart.desk;
    uint8_t cursor[1000];
    self->request.repair = true;
    self->request.cursor = KW_BYTES_NONE;
    self->sum = (kw_scrub_result){0};
    g_string_truncate(self->text, 0);
    do {
        if (!comparison_slice(on, &self->request, &self->slice, &self->error))
            g_error("%s", self->error.text);
        comparison_add(on, &self->request, &self->slice, &self->sum, self->text);
        if (self->slice.cursor.size)
            memcpy(cursor, self->slice.cursor.data, self->slice.cursor.size);
        self->request.cursor = kw_bytes_of(cursor, self->slice.cursor.size);
        desk_clear(on);
    } while (self->request.cursor.size);
}

#define KEY "id=a n=5"

static void
make_missing(fixture *self)
{
    apart_put(&self->apart, OLD, KEY " note=one tags.k=1", 1000);
}

static void
make_stale(fixture *self)
{
    apart_put(&self->apart, BOTH, KEY " note=one", 1000);
    apart_put(&self->apart, OLD, KEY " note=two", 2000);
}

static void
make_tie(fixture *self)
{
    apart_put(&self->apart, OLD, KEY " note=one", 1000);
    apart_put(&self->apart, NEW, KEY " note=two", 1000);
}

/* The copier has not copied the removal, and has copied what it removed. */
static void
make_removed(fixture *self)
{
    apart_put(&self->apart, BOTH, KEY " note=one", 1000);
    apart_remove(&self->apart, OLD, KEY, NULL);
}

static void
make_removed_column(fixture *self)
{
    apart_put(&self->apart, BOTH, KEY " note=one tags.k=1", 1000);
    apart_remove(&self->apart, OLD, KEY, "note");
}

static void
make_extra(fixture *self)
{
    apart_put(&self->apart, NEW, KEY " note=one", 1000);
}

static void
make_newer(fixture *self)
{
    apart_put(&self->apart, BOTH, KEY " note=one", 1000);
    apart_put(&self->apart, NEW, KEY " note=two", 2000);
}

static void
make_removed_in_new(fixture *self)
{
    apart_put(&self->apart, BOTH, KEY " note=one", 1000);
    apart_remove(&self->apart, NEW, KEY, NULL);
}

static void
make_removed_in_both(fixture *self)
{
    apart_put(&self->apart, BOTH, KEY " note=one", 1000);
    apart_remove(&self->apart, BOTH, KEY, NULL);
}

typedef struct difference_case {
    const char *name;
    void (*make)(fixture *self);
    const char *text; /* of the differences that are repaired; NULL: none is */
    uint64_t extra;
    uint64_t rows;
    const char *old, *new; /* what callers see then */
    const char *listed;    /* of a difference that is not repaired; "": any */
} difference_case;

static const difference_case cases[] = {
    {"missing", make_missing, "MISSING " KEY ": the other placement does not have the record", 0, 4,
     KEY " note=one tags.k=1", KEY " note=one tags.k=1", ""},
    {"stale", make_stale, "DIFFERENT " KEY ": note with timestamp 2000 is missing", 0, 4, KEY " note=two",
     KEY " note=two", ""},
    {"tie", make_tie, "DIFFERENT " KEY ": note with timestamp 1000 has another value", 0, 4, KEY " note=one",
     KEY " note=one", ""},
    {"removed", make_removed, "EXTRA " KEY ": the placement that scans read does not have the record", 1, 2,
     "none", "none", ""},
    {"removed column", make_removed_column, "DIFFERENT " KEY ": note with timestamp 1000 is only here", 0, 4,
     KEY " tags.k=1", KEY " tags.k=1", ""},
    {"extra", make_extra, NULL, 1, 3, "none", KEY " note=one", ""},
    {"newer in the new placement", make_newer, NULL, 1, 4, KEY " note=one", KEY " note=two",
     "DIFFERENT " KEY ": note with timestamp 2000 is only here"},
    {"removed in the new placement", make_removed_in_new, NULL, 0, 3, KEY " note=one", "none", ""},
    {"removed in both", make_removed_in_both, NULL, 0, 2, "none", "none", ""},
};

static void
expect_in(fixture *self, bool new, const char *record)
{
    self->apart.placements[0].role.get = new;
    self->apart.placements[1].role.get = !new;
    g_assert_cmpstr(desk_get(self->apart.desk, "now", KEY, NULL), ==, record);
}

static void
expect_difference(const fixture *self, const difference_case *what)
{
    g_autofree char *line = what->text ? g_strdup_printf("%s, repaired\n", what->text) : g_strdup("");
    g_assert_cmpuint(self->sum.repaired, ==, what->text != NULL);
    g_assert_cmpuint(self->sum.extra, ==, what->extra);
    g_assert_cmpuint(self->sum.unsettled + self->sum.foreign, ==, 0);
    g_assert_cmpuint(self->sum.rows, ==, what->rows);
    g_assert_true(g_str_has_prefix(self->text->str, line));
    g_assert_nonnull(strstr(self->text->str, what->listed));
}

static void
test_difference(gconstpointer data)
{
    const difference_case *what = data;
    fixture self;
    set_up(&self);
    apart_put(&self.apart, BOTH, "id=b n=1 note=equal", 0);
    what->make(&self);
    compare(&self);
    expect_difference(&self, what);
    expect_in(&self, false, what->old);
    expect_in(&self, true, what->new);
    compare(&self); /* nothing is left to repair */
    g_assert_cmpuint(self.sum.missing + self.sum.different + self.sum.repaired, ==, 0);
    tear_down(&self);
}

/* --- large rows ---------------------------------------------------------------------------------- */

/* Rows that do not fit into memory are copied again, over the simulated HBase. The rows around them are
 * compared. */
KW_TEST(test_large, "/reconcile/scrub apart/large")
{
    fixture self;
    set_up_over(&self, kw_simulated_place_open());
    desk_create(self.apart.desk, "now");
    desk_create(self.apart.desk, "then");
    kw_model *model = (kw_model *)(uintptr_t)kw_policy_model(self.apart.desk->policy);
    g_autofree char *note = g_strnfill(3000, 'x');
    for (int i = 0; i < 20; i++) {
        g_autofree char *record = g_strdup_printf("id=r%02d n=1 note=%s", i, i == 7 || i == 19 ? note : "x");
        apart_put(&self.apart, i == 7 ? OLD : BOTH, record, 1000);
    }
    apart_put(&self.apart, OLD, "id=r09 n=1 note=y", 2000);
    g_autofree char *wrong = g_strdup_printf("id=r05 n=1 note=%s", note);
    apart_put(&self.apart, NEW, wrong, 1000);
    int64_t frame_bytes = model->limits.frame_bytes;
    model->limits.frame_bytes = 2000;
    compare(&self);
    g_assert_cmpuint(self.sum.large, ==, 3 + 2); /* the copy of r05 is small */
    g_assert_cmpuint(self.sum.rows, ==, 17 + 18);
    g_assert_cmpuint(self.sum.repaired, ==, 1);
    model->limits.frame_bytes = frame_bytes;
    compare(&self);
    g_assert_cmpstr(self.text->str, ==, "");
    g_assert_cmpuint(self.sum.rows, ==, 20 + 20);
    tear_down(&self);
}

/* --- writes in flight ---------------------------------------------------------------------------- */

typedef struct writer {
    fixture *in;
    kw_call call; /* an arena of its own */
    kw_item item;
    unsigned written;
    bool stopped;
} writer;

static void write_next(writer *self);

static void
on_written(void *user, const kw_written_record *results, size_t count)
{
    writer *self = user;
    g_assert_cmpuint(count, ==, 1);
    g_assert_cmpstr(results[0].error.text, ==, "");
    if (self->in)
        write_next(self);
    else
        self->stopped = true;
}

/* Puts and removes two records in turn. */
static void
write_next(writer *self)
{
    kw_arena_reset(self->call.arena);
    const kw_table *table = self->in->apart.table;
    kw_record record = kw_record_new(table, self->call.arena);
    bool removes = ++self->written % 3 == 0;
    record.values[0] = (kw_value){.kind = KW_VALUE_TEXT, .bytes = KW_BYTES_LITERAL("w")};
    record.values[1] = (kw_value){.kind = KW_VALUE_NUMBER, .number = self->written % 2};
    if (!removes)
        record.values[2] = record.values[0];
    self->item = (kw_item){.record = record};
    if (removes)
        kw_verb_remove(&self->call, table, &self->item, 1, NULL, 0, (kw_write_options){0}, on_written, self);
    else
        kw_verb_put(&self->call, table, &self->item, 1, (kw_write_options){0}, on_written, self);
}

/* Writes between the reads of the comparison are not differences. The memory store applies both rows of a put
 * in the same moment, so this test does not see a put that one of them lacks. */
KW_TEST(test_concurrent, "/reconcile/scrub apart/concurrent")
{
    enum { WRITERS = 4, WRITES = 60 };
    fixture self;
    set_up(&self);
    self.request.settle_ms = 0;
    writer writers[WRITERS];
    for (size_t i = 0; i < WRITERS; i++) {
        writers[i] = (writer){.in = &self, .call = self.apart.desk->call};
        writers[i].call.arena = kw_arena_new();
        write_next(&writers[i]);
    }
    self.apart.control->shuffle = true;
    while (writers[0].written < WRITES) {
        compare(&self);
        g_assert_cmpstr(strstr(self.text->str, "MISSING"), ==, NULL);
        g_assert_cmpuint(self.sum.missing + self.sum.repaired + self.sum.unsettled, ==, 0);
    }
    for (size_t i = 0; i < WRITERS; i++) {
        writers[i].in = NULL;
        while (!writers[i].stopped)
            uv_run(kw_loop_uv(self.apart.desk->loop), UV_RUN_ONCE);
        kw_arena_free(writers[i].call.arena);
    }
    tear_down(&self);
}

KW_TEST_START(start)
{
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *name = g_strdup_printf("/reconcile/scrub apart/difference/%s", cases[i].name);
        g_test_add_data_func(name, &cases[i], test_difference);
    }
}
