/* Copies of rows and sweeps in a store with several writers: store/order over HBase. The rows of the table
 * "shared" are `row` of each copy, those of the table "others" are `to_row`. */
#include "contract/ordered_rows.h"

#include "store/control.h"

static kw_fixture
others_of(kw_fixture *f)
{
    kw_fixture others = *f;
    others.table = kw_fixture_make_table(f, "others", "dvtm");
    return others;
}

static kw_row_copy
copy_of(kw_fixture *f, const char *row, bool both_ways)
{
    return (kw_row_copy){.table = f->table,
                         .row = B(row),
                         .to_table = kw_fixture_table("others"),
                         .to_row = B(row),
                         .ordering = &kw_ordered,
                         .both_ways = both_ways};
}

static void
must_copy_as(kw_fixture *f, const char *row, bool both_ways, const kw_ordering *ordering)
{
    kw_row_copy copy = copy_of(f, row, both_ways);
    kw_written result;
    copy.ordering = ordering;
    kw_sync_copy(&f->sync, &copy, 1, &result);
    if (result.outcome != KW_OUTCOME_OK)
        g_error("%s", result.error.text);
}

static void
must_copy(kw_fixture *f, const char *row, bool both_ways)
{
    must_copy_as(f, row, both_ways, &kw_ordered);
}

/* --- examples ------------------------------------------------------------------------------------ */

typedef struct example {
    const char *row;
    bool both_ways;
    const char *from, *to;             /* before */
    const char *from_after, *to_after; /* NULL: unchanged */
    const char *late;                  /* put into `to` then */
    const char *to_late;               /* after that; NULL: unchanged */
} example;

static const example examples[] = {
    {"one", false, "d:a=1@10 v:a=3@12 v:a=2@11", "", NULL, "d:a=1@10 v:a=3@12 v:a=2@11", NULL, NULL},
    {"one-newer", false, "d:a=1@10 d:b=1@12", "d:a=2@11 d:b=2@11 d:c=2@11", NULL,
     "d:a=2@11 d:b=1@12 d:c=2@11", NULL, NULL},
    {"one-tie", false, "d:a=1@10", "d:a=2@10", NULL, "d:a=1@10", NULL, NULL},
    {"one-gone", false, "gone=10", "d:a=1@9 v:a=1@10 v:a=2@11", NULL, "gone=10 v:a=2@11", "v:a=0@10 d:b=1@10",
     NULL},
    {"one-gone-column", false, "gone:d:a=10 d:b=1@9", "d:a=1@9 d:b=0@8", NULL, "gone:d:a=10 d:b=1@9",
     "d:a=2@10 d:b=2@8", NULL},
    {"one-gone-family", false, "gone:v=10 v:a=2@11", "v:a=1@9 v:b=1@10 d:a=1@1", NULL,
     "gone:v=10 d:a=1@1 v:a=2@11", "v:b=2@10", NULL},
    {"one-three-gone", false, "gone:d:a=20 gone:v=15 gone=10 d:a=1@21 v:a=1@16", "d:a=0@20 v:a=0@15 t:a=0@10",
     NULL, "gone:d:a=20 gone:v=15 gone=10 d:a=1@21 v:a=1@16", "d:a=0@20 v:a=0@15 t:a=0@10", NULL},
    {"both", true, "d:a=2@11 v:a=1@9", "d:a=1@10 v:a=2@12", "d:a=2@11 v:a=2@12 v:a=1@9",
     "d:a=2@11 v:a=2@12 v:a=1@9", NULL, NULL},
    {"both-tie", true, "d:a=1@10 v:a=1@10", "d:a=2@10 v:a=2@10", NULL, "d:a=1@10 v:a=1@10", NULL, NULL},
    {"both-gone", true, "d:a=1@10 d:b=1@12", "gone=11", "gone=11 d:b=1@12", "gone=11 d:b=1@12", "d:a=1@10",
     NULL},
    {"both-gone-back", true, "gone=11 d:b=1@12", "d:a=1@10", NULL, "gone=11 d:b=1@12", "d:a=1@11", NULL},
    {"both-crossed", true, "gone:d:a=11 d:b=1@10", "gone:d:b=11 d:a=1@10", "gone:d:a=11 gone:d:b=11",
     "gone:d:a=11 gone:d:b=11", "d:a=1@11", NULL},
    {"both-equal", true, "gone:d:a=11 d:b=1@10 v:c=2@11 v:c=1@10", "gone:d:a=11 d:b=1@10 v:c=2@11 v:c=1@10",
     NULL, NULL, NULL, NULL},
};

static void
run_example(kw_fixture *f, kw_fixture *others, const example *of)
{
    const char *to_after = of->to_after ? of->to_after : of->to;
    g_test_message("%s", of->row);
    kw_put_row(f, of->row, of->from);
    kw_put_row(others, of->row, of->to);
    for (int again = 0; again < 2; again++) {
        must_copy(f, of->row, of->both_ways);
        kw_expect_stored(f, of->row, of->from_after ? of->from_after : of->from);
        kw_expect_stored(others, of->row, to_after);
    }
    if (!of->late)
        return;
    kw_put_row(others, of->row, of->late);
    kw_expect_stored(others, of->row, of->to_late ? of->to_late : to_after);
}

static void
test_examples(kw_fixture *f)
{
    kw_fixture others = others_of(f);
    for (size_t i = 0; i < G_N_ELEMENTS(examples); i++)
        run_example(f, &others, &examples[i]);
}

/* --- removals by callers ------------------------------------------------------------------------- */

/* Waits until the store's clock is known. */
static void
await_time(kw_fixture *f)
{
    kw_span span = {0};
    kw_deadline deadline = kw_deadline_in_ms(60000);
    kw_store_keep_time_known(f->sync.store);
    while (!kw_store_time(f->sync.store, &span) || span.earliest_ns == INT64_MIN) {
        g_assert_false(kw_deadline_passed(deadline));
        uv_run(kw_loop_uv(f->sync.loop), UV_RUN_ONCE);
    }
}

static void
must_write_as(kw_fixture *f, kw_write_kind kind, const char *row, const char *qualifier,
              const kw_ordering *ordering)
{
    kw_cell cell = {.family = B("d"), .qualifier = B(qualifier), .value = B("x")};
    kw_column column = {.family = B("d"), .qualifier = B(qualifier)};
    kw_write write = {.kind = kind,
                      .table = f->table,
                      .row = B(row),
                      .cells = &cell,
                      .cells_count = kind == KW_WRITE_PUT,
                      .columns = &column,
                      .columns_count = kind == KW_WRITE_DELETE && *qualifier,
                      .timestamp = KW_TIMESTAMP_NONE,
                      .ordering = ordering,
                      .deadline = kw_deadline_in_ms(60000)};
    kw_sync_written result = kw_sync_write(&f->sync, &write);
    if (result.outcome != KW_OUTCOME_OK)
        g_error("%s", result.error.text);
}

static void
must_write(kw_fixture *f, kw_write_kind kind, const char *row, const char *qualifier)
{
    must_write_as(f, kind, row, qualifier, &kw_ordered);
}

static void
test_removals(kw_fixture *f)
{
    kw_fixture others = others_of(f);
    await_time(f);
    must_write(f, KW_WRITE_PUT, "removals", "a");
    must_write(f, KW_WRITE_PUT, "removals", "b");
    must_copy(f, "removals", false);
    must_write(f, KW_WRITE_DELETE, "removals", "a");
    must_write(&others, KW_WRITE_PUT, "removals", "c");
    must_copy(f, "removals", true);
    g_autofree char *here = kw_stored_text(f, "removals"), *there = kw_stored_text(&others, "removals");
    g_assert_cmpstr(here, ==, there);
    g_assert_nonnull(strstr(here, "gone:d:a="));
    kw_asking asking;
    kw_ask(&asking, &others, "removals", NULL);
    asking.get.ordering = &kw_ordered;
    kw_rows *rows = kw_sync_get(&f->sync, &asking.get, NULL);
    g_assert_cmpuint(rows->rows[0].cells_count, ==, 2); /* b and c */
    kw_rows_free(rows);
    must_write(&others, KW_WRITE_DELETE, "removals", "");
    must_copy(f, "removals", true);
    rows = kw_sync_get(&f->sync, &kw_ask(&asking, f, "removals", NULL)->get, NULL);
    g_assert_cmpuint(rows->rows[0].cells_count, ==, 1); /* the gone cell of the record */
    kw_rows_free(rows);
}

/* --- kw:w ---------------------------------------------------------------------------------------- */

static bool
has_writer_of(kw_fixture *f, kw_fixture *others, const char *row)
{
    kw_asking here, there;
    kw_rows *rows = kw_sync_get(&f->sync, &kw_ask(&here, f, row, NULL)->get, NULL);
    kw_rows *other_rows = kw_sync_get(&f->sync, &kw_ask(&there, others, row, NULL)->get, NULL);
    const kw_cell *writer = kw_control_find(&kw_ordered, &rows->rows[0], KW_CONTROL_WRITER);
    const kw_cell *other = kw_control_find(&kw_ordered, &other_rows->rows[0], KW_CONTROL_WRITER);
    g_assert_nonnull(other);
    bool same =
        writer && writer->timestamp == other->timestamp && kw_bytes_equal(writer->value, other->value);
    kw_rows_free(rows);
    kw_rows_free(other_rows);
    return same;
}

/* A copy both ways takes kw:w along to the row in which atomic operations compare it. */
static void
test_writer(kw_fixture *f)
{
    kw_fixture others = others_of(f);
    kw_ordering counted = kw_ordered;
    counted.regime.atomics = KW_ATOMICS_CAS;
    await_time(f);
    must_write_as(&others, KW_WRITE_PUT, "writer", "a", &counted);
    must_copy_as(f, "writer", true, &counted);
    g_assert_true(has_writer_of(f, &others, "writer"));
    must_write_as(f, KW_WRITE_PUT, "writer", "b", &counted);
    must_write_as(&others, KW_WRITE_DELETE, "writer", "", &counted);
    g_assert_false(has_writer_of(f, &others, "writer"));
    must_copy_as(f, "writer", true, &counted);
    g_assert_true(has_writer_of(f, &others, "writer"));
    must_write_as(f, KW_WRITE_PUT, "writer", "b", &counted);
    must_copy_as(f, "writer", true, &counted);
    g_assert_false(has_writer_of(f, &others, "writer"));
}

/* Scans of row keys, as the copier does them. */
static void
test_scan_removed(kw_fixture *f)
{
    await_time(f);
    kw_put_row(f, "scan1", "d:a=1@10 d:b=1@10");
    kw_put_row(f, "scan2", "d:a=1@10 gone=11");
    kw_put_row(f, "scan3", "v:a=1@12 gone=11");
    kw_put_row(f, "scan4", "gone:d:a=11");
    for (int with_removed = 0; with_removed < 2; with_removed++) {
        kw_range_scan_spec spec = {.table = f->table,
                                   .start = B("scan"),
                                   .stop = B("scao"),
                                   .max_versions = 1,
                                   .filter = B("FirstKeyOnlyFilter ()"),
                                   .filters_cells_only = true,
                                   .with_removed = with_removed,
                                   .ordering = &kw_ordered};
        kw_expect_range_scan(f, spec, 2,
                             with_removed ? "scan1{d:a@10=1} scan2{} scan3{v:a@12=1} scan4{}"
                                          : "scan1{d:a@10=1} scan3{v:a@12=1}");
    }
}

/* --- TTL ----------------------------------------------------------------------------------------- */

/* Cells keep their timestamps, so they expire when those of the other row do. */
static void
test_ttl(kw_fixture *f)
{
    kw_fixture others = others_of(f);
    int64_t now = kw_clock_wall_ms();
    g_autofree char *cells =
        g_strdup_printf("t:aged=x@%lld t:old=x@%lld m:a=2@%lld m:a=1@%lld", (long long)now - 3595000,
                        (long long)now - 3700000, (long long)now - 3800000, (long long)now - 3900000);
    g_autofree char *both =
        g_strdup_printf("m:a=2@%lld t:aged=x@%lld", (long long)now - 3800000, (long long)now - 3595000);
    g_autofree char *later = g_strdup_printf("m:a=2@%lld", (long long)now - 3800000);
    kw_put_row(f, "ttl", cells);
    must_copy(f, "ttl", false);
    kw_expect_stored(&others, "ttl", both);
    kw_deadline deadline = kw_deadline_in_ms(30000);
    for (;;) {
        g_autofree char *found = kw_stored_text(&others, "ttl");
        if (g_str_equal(found, later))
            break;
        g_assert_cmpstr(found, ==, both);
        g_assert_false(kw_deadline_passed(deadline));
        g_usleep(100000);
    }
    must_copy(f, "ttl", true);
    kw_expect_stored(&others, "ttl", later);
}

/* --- many and large rows ------------------------------------------------------------------------- */

static void
test_many(kw_fixture *f)
{
    enum { COUNT = 300 };
    kw_fixture others = others_of(f);
    kw_row_copy copies[COUNT];
    kw_written results[COUNT];
    char rows[COUNT][16];
    for (int i = 0; i < COUNT; i++) {
        g_autofree char *cells = g_strdup_printf("d:a=%d@10%s", i, i % 5 ? "" : " gone:d:b=10");
        g_snprintf(rows[i], sizeof rows[i], "many%03d", i);
        kw_put_row(i % 3 ? f : &others, rows[i], cells);
        copies[i] = copy_of(f, rows[i], true);
    }
    kw_sync_copy(&f->sync, copies, COUNT, results);
    for (int i = 0; i < COUNT; i++) {
        g_autofree char *cells = g_strdup_printf("%sd:a=%d@10", i % 5 ? "" : "gone:d:b=10 ", i);
        g_assert_cmpint(results[i].outcome, ==, KW_OUTCOME_OK);
        kw_expect_stored(f, rows[i], cells);
        kw_expect_stored(&others, rows[i], cells);
    }
}

/* A family that the other table lacks makes the copy of its row fail, and no other copy. */
static void
test_missing_family(kw_fixture *f)
{
    kw_fixture others = others_of(f);
    kw_written results[20];
    kw_row_copy copies[G_N_ELEMENTS(results)];
    char rows[G_N_ELEMENTS(results)][16];
    for (size_t i = 0; i < G_N_ELEMENTS(results); i++) {
        g_snprintf(rows[i], sizeof rows[i], "family%02zu", i);
        kw_put_row(f, rows[i], i == 7 ? "d:a=1@10 k:a=1@10" : "d:a=1@10");
        copies[i] = copy_of(f, rows[i], false);
    }
    kw_sync_copy(&f->sync, copies, G_N_ELEMENTS(results), results);
    for (size_t i = 0; i < G_N_ELEMENTS(results); i++) {
        g_assert_cmpint(results[i].outcome, ==, i == 7 ? KW_OUTCOME_FAILED : KW_OUTCOME_OK);
        kw_expect_stored(&others, rows[i], i == 7 ? "" : "d:a=1@10");
    }
    kw_expect_error(&results[7].error, KW_INVALID, "k");
}

static void
put_large(kw_fixture *f, const char *row, int first, int end, char fill, int64_t timestamp)
{
    g_autofree char *value = g_strnfill(100000, fill);
    for (int i = first; i < end; i++) {
        g_autofree char *column = g_strdup_printf("v:c%02d", i);
        kw_put(f, row, column, value, timestamp);
    }
}

/* Rows of several megabytes, with versions. */
static void
test_large(kw_fixture *f)
{
    kw_fixture others = others_of(f);
    put_large(f, "large", 0, 30, 'x', 10);
    put_large(f, "large", 5, 15, 'y', 11);
    put_large(&others, "large", 20, 40, 'z', 12);
    kw_put_row(f, "large", "gone:v:c03=10 d:small=1@10");
    kw_put_row(&others, "large", "gone:v:c12=10 gone:d:other=10");
    must_copy(f, "large", true);
    g_autofree char *here = kw_stored_text(f, "large"), *there = kw_stored_text(&others, "large");
    g_auto(GStrv) words = g_strsplit(here, " ", -1);
    g_assert_true(g_str_equal(here, there));
    /* three gone cells, d:small, 30 - 1 old versions without c12's, 10 newer ones, 20 of the other row */
    g_assert_cmpuint(g_strv_length(words), ==, 3 + 1 + 28 + 10 + 20);
}

/* --- random rows --------------------------------------------------------------------------------- */

#define COLUMNS 3
#define TIMES 6

/* What was put and removed in one row: the last value of each timestamp, and the newest removals. */
typedef struct random_row {
    char cells[COLUMNS][TIMES + 1];
    int64_t gone, gone_columns[COLUMNS];
} random_row;

static random_row
make_random(kw_fixture *f, const char *row)
{
    random_row made = {0};
    for (int i = g_test_rand_int_range(0, 8); i > 0; i--) {
        int column = g_test_rand_int_range(0, COLUMNS), kind = g_test_rand_int_range(0, 6);
        int64_t at = g_test_rand_int_range(1, TIMES);
        char value = (char)g_test_rand_int_range('a', 'z');
        g_autofree char *text = kind == 0   ? g_strdup_printf("gone=%lld", (long long)at)
                                : kind == 1 ? g_strdup_printf("gone:v:%d=%lld", column, (long long)at)
                                            : g_strdup_printf("v:%d=%c@%lld", column, value, (long long)at);
        kw_put_row(f, row, text);
        if (kind == 0)
            made.gone = MAX(made.gone, at);
        else if (kind == 1)
            made.gone_columns[column] = MAX(made.gone_columns[column], at);
        else
            made.cells[column][at] = value;
    }
    return made;
}

/* The newest visible value of the column in both rows; of equal timestamps that of the first one. '\0': none.
 */
static char
newest_of(const random_row *row, const random_row *other, int column)
{
    int64_t gone =
        MAX(MAX(row->gone, row->gone_columns[column]), MAX(other->gone, other->gone_columns[column]));
    for (int64_t at = TIMES; at > gone; at--)
        if (row->cells[column][at] || other->cells[column][at])
            return row->cells[column][at] ? row->cells[column][at] : other->cells[column][at];
    return '\0';
}

static void
expect_random(kw_fixture *f, const char *row, const random_row *one, const random_row *other)
{
    kw_asking asking;
    kw_ask(&asking, f, row, NULL);
    asking.get.max_versions = 1;
    asking.get.ordering = &kw_ordered;
    g_autoptr(GString) expected = g_string_new(NULL), found = g_string_new(NULL);
    for (int column = 0; column < COLUMNS; column++)
        if (newest_of(one, other, column))
            g_string_append_printf(expected, " %d=%c", column, newest_of(one, other, column));
    kw_rows *rows = kw_sync_get(&f->sync, &asking.get, NULL);
    for (uint32_t i = 0; i < rows->rows[0].cells_count; i++)
        g_string_append_printf(found, " %c=%c", rows->rows[0].cells[i].qualifier.data[0],
                               rows->rows[0].cells[i].value.data[0]);
    kw_rows_free(rows);
    g_assert_cmpstr(found->str, ==, expected->str);
}

/* After a copy both ways, both rows show the newest cells of both, and have the same cells. */
static void
test_random(kw_fixture *f)
{
    enum { COUNT = 60 };
    kw_fixture others = others_of(f);
    random_row made[COUNT][2];
    kw_row_copy copies[COUNT];
    kw_written results[COUNT];
    char rows[COUNT][16];
    await_time(f);
    for (int i = 0; i < COUNT; i++) {
        g_snprintf(rows[i], sizeof rows[i], "random%02d", i);
        made[i][0] = make_random(f, rows[i]);
        made[i][1] = make_random(&others, rows[i]);
        copies[i] = copy_of(f, rows[i], true);
    }
    kw_sync_copy(&f->sync, copies, COUNT, results);
    for (int i = 0; i < COUNT; i++) {
        g_assert_cmpint(results[i].outcome, ==, KW_OUTCOME_OK);
        expect_random(f, rows[i], &made[i][0], &made[i][1]);
        expect_random(&others, rows[i], &made[i][0], &made[i][1]);
        g_autofree char *here = kw_stored_text(f, rows[i]), *there = kw_stored_text(&others, rows[i]);
        must_copy(f, rows[i], true);
        kw_expect_stored(f, rows[i], here);
        kw_expect_stored(&others, rows[i], there);
    }
}

/* --- sweeps -------------------------------------------------------------------------------------- */

static void
set_flag(void *flag)
{
    *(bool *)flag = true;
}

static void
test_sweep(kw_fixture *f)
{
    static const struct {
        const char *row, *before, *after;
    } cases[] = {
        {"sweep1", "gone=10 d:a=1@12", "d:a=1@12"},
        {"sweep2", "gone:d:a=10 gone:d:b=20 gone:v=10 d:c=1@5 v:a=1@11", "gone:d:b=20 d:c=1@5 v:a=1@11"},
        {"sweep3", "gone=19", ""},
        {"sweep4", "gone=20", "gone=20"},
        {"sweep5", "d:a=1@10", "d:a=1@10"},
        {"sweep6", "", ""},
    };
    kw_row_sweep sweeps[G_N_ELEMENTS(cases)];
    kw_written results[G_N_ELEMENTS(cases)];
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        kw_put_row(f, cases[i].row, cases[i].before);
        sweeps[i] = (kw_row_sweep){f->table, B(cases[i].row), &kw_ordered, 20, 0};
    }
    for (int again = 0; again < 2; again++) {
        bool done = false;
        kw_store_handle_sweep_rows(f->sync.handle, sweeps, G_N_ELEMENTS(cases), kw_deadline_in_ms(60000),
                                   results, set_flag, &done);
        kw_sync_wait(&f->sync, &done);
        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
            g_assert_cmpint(results[i].outcome, ==, KW_OUTCOME_OK);
            kw_expect_stored(f, cases[i].row, cases[i].after);
        }
    }
    kw_put_row(f, "sweep3", "d:a=1@19 v:a=1@20"); /* what the gone cell has hidden is deleted */
    kw_expect_stored(f, "sweep3", "v:a=1@20");
}

void
kw_contract_add_ordered_copies(void)
{
    kw_fixture_add("ordered copies", "examples", test_examples);
    kw_fixture_add("ordered copies", "removals", test_removals);
    kw_fixture_add("ordered copies", "kw:w", test_writer);
    kw_fixture_add("ordered copies", "scan removed", test_scan_removed);
    kw_fixture_add("ordered copies", "ttl", test_ttl);
    kw_fixture_add("ordered copies", "many", test_many);
    kw_fixture_add("ordered copies", "missing family", test_missing_family);
    kw_fixture_add("ordered copies", "large", test_large);
    kw_fixture_add("ordered copies", "random", test_random);
    kw_fixture_add("ordered copies", "sweep", test_sweep);
}
