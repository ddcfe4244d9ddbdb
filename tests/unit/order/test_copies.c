/* Copies of rows in both directions, over the rows of the simulated HBase. */
#include "order_bed.h"

#include "store/control.h"
#include "store/hbase/thrift2/convert.h"

#include <string.h>

#define ERA 7 /* of the fence, when the copy began */

static const kw_ordering ordering = {.regime.order = KW_WRITE_ORDER_STAMP,
                                     .family = {(const uint8_t *)"f", 1},
                                     .regime.waits_for_next_ms = true,
                                     .regime.keeps_gone = true};

/* --- rows ---------------------------------------------------------------------------------------- */

static kw_row_copy
copy_of(const char *row, bool both_ways)
{
    return (kw_row_copy){.era = ERA,
                         .table = KW_BYTES_LITERAL("old"),
                         .row = kw_bytes_of_text(row),
                         .to_table = KW_BYTES_LITERAL("new"),
                         .to_row = kw_bytes_of_text(row),
                         .ordering = &ordering,
                         .both_ways = both_ways};
}

static kw_written
copy_row(order_bed *bed, const char *row, bool both_ways)
{
    kw_row_copy copy = copy_of(row, both_ways);
    kw_written result = {.outcome = KW_OUTCOME_UNKNOWN};
    kw_sync_copy(&bed->sync, &copy, 1, &result);
    return result;
}

static void
must_copy(order_bed *bed, const char *row, bool both_ways)
{
    kw_written result = copy_row(bed, row, both_ways);
    if (result.outcome != KW_OUTCOME_OK)
        g_error("%s", result.error.text);
}

/* --- examples ------------------------------------------------------------------------------------ */

typedef struct example {
    const char *what;
    bool both_ways;
    const char *old, *new;             /* before */
    const char *old_after, *new_after; /* NULL: unchanged */
} example;

static const example examples[] = {
    {"cells", false, "f:a=1@10 f:b=2@11 g:c=3@12", "", NULL, "f:a=1@10 f:b=2@11 g:c=3@12"},
    {"nothing", false, "", "", NULL, NULL},
    {"versions", false, "f:a=2@11 f:a=1@10", "f:a=3@12", NULL, "f:a=3@12 f:a=2@11 f:a=1@10"},
    {"the target's cells stay", false, "f:a=1@10", "f:a=2@11 f:b=2@11", NULL, "f:a=2@11 f:a=1@10 f:b=2@11"},
    {"the last of equal timestamps wins", false, "f:a=1@10", "f:a=2@10", NULL, "f:a=1@10"},
    {"a removed record", false, "f:kw:r=10@11", "f:a=1@9", NULL, "f:kw:r=10@11"},
    {"a record put again", false, "f:kw:r=10@11 f:a=2@12", "f:b=1@9", NULL, "f:kw:r=10@11 f:a=2@12"},
    {"a removed column", false, "f:kw:cf:a=10@11 f:b=1@9", "f:a=1@9 f:c=1@9", NULL,
     "f:kw:cf:a=10@11 f:b=1@9 f:c=1@9"},
    {"a removed family", false, "f:kw:fg:=10@11", "g:a=1@9 f:a=1@9", NULL, "f:kw:fg:=10@11 f:a=1@9"},
    {"generations stay where they are", false, "f:kw:g=1@10 f:a=1@10", "", NULL, "f:a=1@10"},
    {"both: each has newer cells", true, "f:a=2@11 f:b=1@9", "f:a=1@10 f:b=2@12",
     "f:a=2@11 f:a=1@10 f:b=2@12 f:b=1@9", "f:a=2@11 f:a=1@10 f:b=2@12 f:b=1@9"},
    {"both: only the old row", true, "f:a=1@10", "", NULL, "f:a=1@10"},
    {"both: only the new row", true, "", "f:a=1@10", "f:a=1@10", NULL},
    {"both: ties", true, "f:a=1@10", "f:a=2@10", NULL, "f:a=1@10"},
    {"both: removed in the new row", true, "f:a=1@10 f:b=1@12", "f:kw:r=11@12", "f:kw:r=11@12 f:b=1@12",
     "f:kw:r=11@12 f:b=1@12"},
    {"both: removed in the old row", true, "f:kw:r=11@12 f:b=1@12", "f:a=1@10", NULL,
     "f:kw:r=11@12 f:b=1@12"},
    {"both: removals of both", true, "f:kw:cf:a=11@12 f:b=1@10", "f:kw:cf:b=11@12 f:a=1@10",
     "f:kw:cf:a=11@12 f:kw:cf:b=11@12", "f:kw:cf:a=11@12 f:kw:cf:b=11@12"},
};

KW_TEST(test_examples, "/order/copies/examples")
{
    for (size_t i = 0; i < G_N_ELEMENTS(examples); i++) {
        const example *of = &examples[i];
        order_bed bed = order_bed_new();
        g_test_message("%s", of->what);
        order_write_row(&bed, "old", "r", of->old);
        order_write_row(&bed, "new", "r", of->new);
        for (int again = 0; again < 2; again++) {
            must_copy(&bed, "r", of->both_ways);
            order_assert_row(&bed, "old", "r", of->old_after ? of->old_after : of->old);
            order_assert_row(&bed, "new", "r", of->new_after ? of->new_after : of->new);
        }
        unsigned calls = kw_simulated_calls(bed.rows);
        if (of->both_ways) /* the rows are the same now: two reads, no write */
            must_copy(&bed, "r", true);
        g_assert_cmpuint(kw_simulated_calls(bed.rows) - calls, ==, of->both_ways ? 2 : 0);
        order_bed_free(&bed);
    }
}

/* --- kw:w ---------------------------------------------------------------------------------------- */

static const kw_ordering counted = {.regime.order = KW_WRITE_ORDER_STAMP,
                                    .regime.atomics = KW_ATOMICS_CAS,
                                    .regime.waits_for_next_ms = true,
                                    .regime.keeps_gone = true,
                                    .family = {(const uint8_t *)"f", 1}};

/* The old row is the one in which atomic operations compare kw:w. */
static const example writers[] = {
    {"a put that reached only the new row", true, "f:kw:w=10@10 f:a=1@10", "f:kw:w=12@12 f:a=2@12",
     "f:kw:w=12@12 f:kw:w=10@10 f:a=2@12 f:a=1@10", "f:kw:w=12@12 f:a=2@12 f:a=1@10"},
    {"the old row had none", true, "f:a=1@10", "f:kw:w=12@12 f:a=2@12", "f:kw:w=12@12 f:a=2@12 f:a=1@10",
     "f:kw:w=12@12 f:a=2@12 f:a=1@10"},
    {"a removal hides that of an increment", true, "f:kw:w=11@11 f:a=1@11", "f:kw:r=11@12 f:kw:w=11@12",
     "f:kw:r=11@12 f:kw:w=11@12", NULL},
    {"the old row has a newer one", true, "f:kw:w=13@13 f:b=1@13", "f:kw:w=12@12 f:a=2@12",
     "f:kw:w=13@13 f:a=2@12 f:b=1@13", "f:kw:w=12@12 f:a=2@12 f:b=1@13"},
    {"of equal timestamps that of the old row stays", true, "f:kw:w=11@12 f:b=1@9", "f:kw:w=12@12 f:a=2@12",
     "f:kw:w=11@12 f:a=2@12 f:b=1@9", "f:kw:w=12@12 f:a=2@12 f:b=1@9"},
    {"not alone", true, "f:a=1@10", "f:kw:w=12@12 f:a=1@10", NULL, NULL},
    {"not to the new row", true, "f:kw:w=12@12 f:a=2@12", "f:kw:w=10@10", NULL, "f:kw:w=10@10 f:a=2@12"},
    {"not in a copy one way", false, "f:kw:w=12@12 f:a=2@12", "", NULL, "f:a=2@12"},
};

/* The times to live of the puts of one copy, in milliseconds; 0: none. */
typedef struct put_times {
    int64_t ttl_ms[4];
    size_t count;
} put_times;

static kw_fate
note_times(void *user, const kw_simulated_call *call)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    put_times *found = user;
    if (!call->write)
        return KW_FATE_ANSWERED;
    const kw_hb_TRowMutations *all = kw_hbase_to_mutations(arena, call->write, KW_DURABILITY_DEFAULT);
    for (size_t i = 0; i < all->mutations.count; i++) {
        const kw_hb_TPut *put = all->mutations.items[i].put;
        if (!all->mutations.items[i].has_put)
            continue;
        g_assert_cmpuint(found->count, <, G_N_ELEMENTS(found->ttl_ms));
        found->ttl_ms[found->count++] =
            put->has_attributes ? (int64_t)kw_be64_load(put->attributes.items[0].value.data) : 0;
    }
    return KW_FATE_ANSWERED;
}

static void
copy_counted(order_bed *bed, const char *row, bool both_ways)
{
    kw_row_copy copy = copy_of(row, both_ways);
    kw_written result = {.outcome = KW_OUTCOME_UNKNOWN};
    copy.ordering = &counted;
    kw_sync_copy(&bed->sync, &copy, 1, &result);
    g_assert_cmpint(result.outcome, ==, KW_OUTCOME_OK);
}

KW_TEST(test_writers, "/order/copies/kw-w")
{
    for (size_t i = 0; i < G_N_ELEMENTS(writers); i++) {
        const example *of = &writers[i];
        order_bed bed = order_bed_new();
        g_test_message("%s", of->what);
        order_write_row(&bed, "old", "r", of->old);
        order_write_row(&bed, "new", "r", of->new);
        for (int again = 0; again < 2; again++) {
            copy_counted(&bed, "r", of->both_ways);
            order_assert_row(&bed, "old", "r", of->old_after ? of->old_after : of->old);
            order_assert_row(&bed, "new", "r", of->new_after ? of->new_after : of->new);
        }
        order_bed_free(&bed);
    }
}

/* A copied kw:w of a removal expires, as the kw:w that the removal itself writes does. The cells that are
 * copied together with it do not expire. */
KW_TEST(test_writer_expires, "/order/copies/kw-w-expires")
{
    static const struct {
        const char *new;
        put_times times;
    } cases[] = {{"f:kw:r=11@12 f:kw:w=11@12", {{0, 2 * LATE_MS + 90000}, 2}},
                 {"f:kw:r=11@12 f:a=1@12 f:kw:w=12@12", {{0, 0}, 2}},
                 {"f:a=1@12 f:kw:w=12@12", {{0, 0}, 2}}};
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        order_bed bed = order_bed_new();
        put_times found = {.count = 0};
        order_write_row(&bed, "old", "r", "f:kw:w=10@10");
        order_write_row(&bed, "new", "r", cases[i].new);
        kw_simulated_set_fate(bed.rows, note_times, &found);
        copy_counted(&bed, "r", true);
        g_assert_cmpuint(found.count, ==, cases[i].times.count);
        g_assert_cmpint(found.ttl_ms[0], ==, cases[i].times.ttl_ms[0]);
        g_assert_cmpint(found.ttl_ms[1], ==, cases[i].times.ttl_ms[1]);
        order_bed_free(&bed);
    }
}

/* A compaction has dropped a delete marker; the gone cell hides what arrived below it. */
KW_TEST(test_gone_without_marker, "/order/copies/gone-without-marker")
{
    for (int both_ways = 0; both_ways < 2; both_ways++) {
        order_bed bed = order_bed_new();
        order_write_row(&bed, "old", "r", "f:kw:r=10@11 f:b=1@12");
        kw_simulated_purge(bed.rows);
        kw_simulated_put(bed.rows, "old", "r", "a", "late", 9);
        must_copy(&bed, "r", both_ways);
        order_assert_row(&bed, "new", "r", "f:kw:r=10@11 f:b=1@12");
        kw_simulated_put(bed.rows, "new", "r", "a", "late", 9); /* hidden by the copied marker */
        order_assert_row(&bed, "new", "r", "f:kw:r=10@11 f:b=1@12");
        order_bed_free(&bed);
    }
}

/* Each copy assumes that both rows have the same cells with timestamps below 10, and copies only the other
 * cells. Each example runs twice: in the second run, the caller has already read the old row. */
KW_TEST(test_time_from, "/order/copies/time-from")
{
    static const example young[] = {
        {"newer cells", true, "f:a=2@11 f:a=1@9 f:b=1@8", "f:a=1@9 f:b=2@12 f:b=1@8",
         "f:a=2@11 f:a=1@9 f:b=2@12 f:b=1@8", "f:a=2@11 f:a=1@9 f:b=2@12 f:b=1@8"},
        {"older cells are left alone", true, "f:a=1@9 f:b=1@11", "f:a=2@9 f:c=1@8", NULL,
         "f:a=2@9 f:b=1@11 f:c=1@8"},
        {"a removal hides older cells", true, "f:kw:r=9@10", "f:a=1@9", NULL, "f:kw:r=9@10"},
        {"ties", true, "f:a=1@10", "f:a=2@10", NULL, "f:a=1@10"},
    };
    for (size_t i = 0; i < 2 * G_N_ELEMENTS(young); i++) {
        const example *of = &young[i / 2];
        order_bed bed = order_bed_new();
        g_autoptr(kw_arena) arena = kw_arena_new();
        g_test_message("%s", of->what);
        order_write_row(&bed, "old", "r", of->old);
        order_write_row(&bed, "new", "r", of->new);
        kw_row_copy copy = copy_of("r", true);
        kw_row row = order_row(arena, of->old);
        uint32_t kept = 0;
        for (uint32_t j = 0; j < row.cells_count; j++)
            if (row.cells[j].timestamp >= 10)
                row.cells[kept++] = row.cells[j];
        row.cells_count = kept;
        copy.time_from = 10;
        copy.time_to = INT64_MAX;
        copy.stored = i % 2 ? &row : NULL;
        kw_written result = {.outcome = KW_OUTCOME_UNKNOWN};
        kw_sync_copy(&bed.sync, &copy, 1, &result);
        g_assert_cmpint(result.outcome, ==, KW_OUTCOME_OK);
        order_assert_row(&bed, "old", "r", of->old_after ? of->old_after : of->old);
        order_assert_row(&bed, "new", "r", of->new_after ? of->new_after : of->new);
        order_bed_free(&bed);
    }
}

/* Younger cells are left alone. They do not keep older ones from being copied, even if they hide them. */
KW_TEST(test_time_to, "/order/copies/time-to")
{
    static const example old[] = {
        {"older cells", true, "f:a=1@9 f:b=2@10", "f:c=1@8 f:d=3@12", "f:a=1@9 f:b=2@10 f:c=1@8",
         "f:a=1@9 f:c=1@8 f:d=3@12"},
        {"below a younger cell", true, "f:a=3@12", "f:a=1@9", "f:a=3@12 f:a=1@9", NULL},
        {"a younger tie", true, "f:a=1@10", "f:a=2@10", NULL, NULL},
        {"an older tie", true, "f:a=1@9", "f:a=2@9", NULL, "f:a=1@9"},
        {"an older removal", true, "", "f:kw:r=8@9", "f:kw:r=8@9", NULL},
        {"a younger removal", true, "", "f:kw:r=9@10", NULL, NULL},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(old); i++) {
        order_bed bed = order_bed_new();
        g_test_message("%s", old[i].what);
        order_write_row(&bed, "old", "r", old[i].old);
        order_write_row(&bed, "new", "r", old[i].new);
        kw_row_copy copy = copy_of("r", true);
        copy.time_to = 10;
        kw_written result = {.outcome = KW_OUTCOME_UNKNOWN};
        kw_sync_copy(&bed.sync, &copy, 1, &result);
        g_assert_cmpint(result.outcome, ==, KW_OUTCOME_OK);
        order_assert_row(&bed, "old", "r", old[i].old_after ? old[i].old_after : old[i].old);
        order_assert_row(&bed, "new", "r", old[i].new_after ? old[i].new_after : old[i].new);
        order_bed_free(&bed);
    }
}

KW_TEST(test_many, "/order/copies/many")
{
    enum { COUNT = 300 };
    order_bed bed = order_bed_new();
    kw_row_copy copies[COUNT];
    kw_written results[COUNT];
    char keys[COUNT][8];
    for (int i = 0; i < COUNT; i++) {
        g_autofree char *cells = g_strdup_printf("f:a=%d@10", i);
        g_snprintf(keys[i], sizeof keys[i], "r%d", i);
        order_write_row(&bed, i % 3 ? "old" : "new", keys[i], cells);
        copies[i] = copy_of(keys[i], i % 7 != 0);
    }
    kw_sync_copy(&bed.sync, copies, COUNT, results);
    for (int i = 0; i < COUNT; i++) {
        g_autofree char *cells = g_strdup_printf("f:a=%d@10", i);
        g_assert_cmpint(results[i].outcome, ==, KW_OUTCOME_OK);
        order_assert_row(&bed, "new", keys[i], cells);
        order_assert_row(&bed, "old", keys[i], i % 3 || i % 7 ? cells : "");
    }
    order_bed_free(&bed);
}

/* --- failures ------------------------------------------------------------------------------------ */

typedef struct fault {
    const char *table; /* of the calls that fail */
    bool writes;
    kw_fate fate;
} fault;

static kw_fate
fail(void *user, const kw_simulated_call *call)
{
    const fault *of = user;
    bool hit = of->writes == !!call->write && kw_bytes_equal(call->table, kw_bytes_of_text(of->table));
    return hit && kw_bytes_equal(call->row, KW_BYTES_LITERAL("r2")) ? of->fate : KW_FATE_ANSWERED;
}

KW_TEST(test_failed_writes, "/order/copies/failed-writes")
{
    static const struct {
        kw_fate fate;
        kw_outcome outcome;
        const char *after;
    } cases[] = {{KW_FATE_FAILED, KW_OUTCOME_FAILED, ""},
                 {KW_FATE_LOST, KW_OUTCOME_UNKNOWN, "f:a=1@10"},
                 {KW_FATE_DROPPED, KW_OUTCOME_UNKNOWN, ""}};
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        order_bed bed = order_bed_new();
        fault failing = {"new", true, cases[i].fate};
        kw_row_copy copies[] = {copy_of("r1", false), copy_of("r2", false), copy_of("r3", false)};
        kw_written results[3];
        for (int r = 0; r < 3; r++)
            kw_simulated_put(bed.rows, "old", (const char *)copies[r].row.data, "a", "1", 10);
        kw_simulated_set_fate(bed.rows, fail, &failing);
        kw_sync_copy(&bed.sync, copies, 3, results);
        for (int r = 0; r < 3; r++)
            g_assert_cmpint(results[r].outcome, ==, r == 1 ? cases[i].outcome : KW_OUTCOME_OK);
        g_assert_cmpint(results[1].error.code, ==, KW_UNAVAILABLE);
        order_assert_row(&bed, "new", "r1", "f:a=1@10");
        order_assert_row(&bed, "new", "r2", cases[i].after);
        order_assert_row(&bed, "new", "r3", "f:a=1@10");
        order_bed_free(&bed);
    }
}

KW_TEST(test_failed_reads, "/order/copies/failed-reads")
{
    static const char *const tables[] = {"old", "new"};
    for (size_t i = 0; i < G_N_ELEMENTS(tables); i++) {
        order_bed bed = order_bed_new();
        fault failing = {tables[i], false, KW_FATE_FAILED};
        kw_row_copy copies[] = {copy_of("r1", true), copy_of("r2", true)};
        kw_written results[2];
        kw_simulated_put(bed.rows, "old", "r1", "a", "1", 10);
        kw_simulated_set_fate(bed.rows, fail, &failing);
        kw_sync_copy(&bed.sync, copies, 2, results);
        for (int r = 0; r < 2; r++) {
            g_assert_cmpint(results[r].outcome, ==, KW_OUTCOME_FAILED);
            g_assert_cmpint(results[r].error.code, ==, KW_UNAVAILABLE);
        }
        order_assert_row(&bed, "new", "r1", "");
        order_bed_free(&bed);
    }
}

/* If a row cannot be read, the remaining copies of its series fail, and no others. */
KW_TEST(test_failed_series, "/order/copies/failed-series")
{
    enum { COUNT = 64 };
    order_bed bed = order_bed_new();
    fault failing = {"old", false, KW_FATE_FAILED};
    kw_row_copy copies[COUNT];
    kw_written results[COUNT];
    char keys[COUNT][8];
    unsigned failures = 0;
    for (int i = 0; i < COUNT; i++) {
        g_snprintf(keys[i], sizeof keys[i], "r%d", i);
        kw_simulated_put(bed.rows, "old", keys[i], "a", "1", 10);
        copies[i] = copy_of(keys[i], false);
    }
    kw_simulated_set_fate(bed.rows, fail, &failing);
    kw_sync_copy(&bed.sync, copies, COUNT, results);
    for (int i = 0; i < COUNT; i++) {
        failures += results[i].outcome == KW_OUTCOME_FAILED;
        order_assert_row(&bed, "new", keys[i], results[i].outcome == KW_OUTCOME_OK ? "f:a=1@10" : "");
    }
    g_assert_cmpint(results[2].outcome, ==, KW_OUTCOME_FAILED);
    g_assert_cmpuint(failures, <, COUNT / 2);
    order_bed_free(&bed);
}

/* Writes that arrive while the copy is under way are not undone. */
KW_TEST(test_late, "/order/copies/late")
{
    order_bed bed = order_bed_new();
    fault late = {"new", true, KW_FATE_LATE};
    kw_simulated_put(bed.rows, "old", "r2", "a", "1", 10);
    kw_simulated_put(bed.rows, "old", "r2", "b", "1", 10);
    kw_simulated_put(bed.rows, "old", "r2", "c", "1", 10);
    kw_simulated_set_fate(bed.rows, fail, &late);
    g_assert_cmpint(copy_row(&bed, "r2", false).outcome, ==, KW_OUTCOME_UNKNOWN);
    kw_simulated_set_fate(bed.rows, NULL, NULL);
    order_write_row(&bed, "new", "r2", "f:a=2@11 f:kw:cf:b=11@12");
    kw_simulated_put(bed.rows, "new", "r2", "c", "2", 10); /* the same millisecond: the last one wins */
    kw_simulated_put(bed.rows, "old", "r2", "c", "2", 10);
    kw_simulated_apply_late(bed.rows);
    order_assert_row(&bed, "new", "r2", "f:kw:cf:b=11@12 f:a=2@11 f:a=1@10 f:c=1@10");
    must_copy(&bed, "r2", true);
    order_assert_row(&bed, "new", "r2", "f:kw:cf:b=11@12 f:a=2@11 f:a=1@10 f:c=2@10");
    order_assert_row(&bed, "old", "r2", "f:kw:cf:b=11@12 f:a=2@11 f:a=1@10 f:c=2@10");
    order_bed_free(&bed);
}

KW_TEST(test_refused, "/order/copies/refused")
{
    order_bed bed = order_bed_new();
    kw_row_copy copy = copy_of("r", false);
    kw_written result;
    copy.ordering = NULL;
    kw_sync_copy(&bed.sync, &copy, 1, &result);
    g_assert_cmpint(result.outcome, ==, KW_OUTCOME_FAILED);
    g_assert_cmpint(result.error.code, ==, KW_REFUSED);
    order_bed_free(&bed);
}

/* --- large rows ---------------------------------------------------------------------------------- */

#define VALUE_BYTES 50000
#define COLUMNS 200 /* ten megabytes */

/* Counts the writes, and how large they are. */
typedef struct sizes {
    size_t writes, most;
} sizes;

static kw_fate
measure(void *user, const kw_simulated_call *call)
{
    sizes *of = user;
    size_t bytes = 0;
    g_assert_true(!call->write || (call->write->fenced && call->write->era == ERA));
    for (size_t i = 0; call->write && i < call->write->cells_count; i++)
        bytes += call->write->cells[i].value.size;
    of->writes += !!call->write;
    of->most = MAX(of->most, bytes);
    return KW_FATE_ANSWERED;
}

static void
put_large(order_bed *bed, const char *table, int first, int end, char fill, int64_t timestamp)
{
    g_autofree char *value = g_strnfill(VALUE_BYTES, fill);
    for (int i = first; i < end; i++) {
        g_autofree char *column = g_strdup_printf("c%03d", i);
        kw_simulated_put(bed->rows, table, "r", column, value, timestamp);
    }
}

static void
assert_same_rows(order_bed *bed, size_t cells)
{
    g_autofree char *old = kw_simulated_row(bed->rows, "old", "r");
    g_autofree char *new = kw_simulated_row(bed->rows, "new", "r");
    g_auto(GStrv) words = g_strsplit(old, " ", -1);
    g_assert_true(g_str_equal(old, new));
    g_assert_cmpuint(g_strv_length(words), ==, cells);
}

KW_TEST(test_large, "/order/copies/large")
{
    order_bed bed = order_bed_new();
    sizes seen = {0};
    put_large(&bed, "old", 0, COLUMNS, 'x', 10);
    order_write_row(&bed, "old", "r", "f:kw:cf:c003=10@11");
    kw_simulated_set_fate(bed.rows, measure, &seen);
    must_copy(&bed, "r", false);
    assert_same_rows(&bed, COLUMNS);
    g_assert_cmpuint(seen.writes, >=, (size_t)COLUMNS * VALUE_BYTES / (1024 * 1024));
    g_assert_cmpuint(seen.most, <=, 1200000);
    order_bed_free(&bed);
}

KW_TEST(test_large_both_ways, "/order/copies/large-both-ways")
{
    order_bed bed = order_bed_new();
    sizes seen = {0};
    put_large(&bed, "old", 0, 120, 'x', 10);
    put_large(&bed, "new", 80, COLUMNS, 'x', 10);
    put_large(&bed, "new", 90, 100, 'y', 10); /* ties */
    put_large(&bed, "new", 100, 110, 'y', 11);
    put_large(&bed, "old", 110, 115, 'y', 11);
    order_write_row(&bed, "new", "r", "f:kw:cf:c003=10@11 f:kw:cf:gone=10@11");
    order_write_row(&bed, "old", "r", "f:kw:cf:c199=10@11");
    must_copy(&bed, "r", true);
    g_autofree char *tie = kw_simulated_row(bed.rows, "new", "r");
    g_assert_nonnull(strstr(tie, "f:c095=x"));
    assert_same_rows(&bed,
                     COLUMNS - 2 + 3); /* two columns are removed; the simulated rows keep one version */
    kw_simulated_set_fate(bed.rows, measure, &seen);
    must_copy(&bed, "r", true);
    g_assert_cmpuint(seen.writes, ==, 0);
    order_bed_free(&bed);
}

KW_TEST(test_large_time_to, "/order/copies/large-time-to")
{
    order_bed bed = order_bed_new();
    put_large(&bed, "old", 0, COLUMNS - 10, 'x', 10);
    put_large(&bed, "old", COLUMNS - 10, COLUMNS, 'x', 11);
    put_large(&bed, "new", 0, 3, 'y', 11);
    kw_row_copy copy = copy_of("r", true);
    copy.time_to = 11;
    kw_written result = {.outcome = KW_OUTCOME_UNKNOWN};
    kw_sync_copy(&bed.sync, &copy, 1, &result);
    g_assert_cmpint(result.outcome, ==, KW_OUTCOME_OK);
    g_autofree char *row = kw_simulated_row(bed.rows, "new", "r");
    g_assert_nonnull(strstr(row, "f:c003=x"));
    g_assert_nonnull(strstr(row, "f:c189=x"));
    g_assert_null(strstr(row, "f:c190=x"));
    order_bed_free(&bed);
}

/* Counts the parts that read kw:w, and the writes to the old row that have it. */
typedef struct writer_calls {
    size_t writes, with_writer, parts, parts_with_writer;
} writer_calls;

static kw_fate
count_writers(void *user, const kw_simulated_call *call)
{
    writer_calls *of = user;
    if (call->write && kw_bytes_equal(call->table, KW_BYTES_LITERAL("old"))) {
        g_assert_true(of->writes || call->write->extra_cells_count == 1);
        of->writes++;
        of->with_writer += call->write->extra_cells_count;
    }
    of->parts += call->get && call->get->columns_count;
    for (size_t i = 0; call->get && i < call->get->columns_count; i++)
        of->parts_with_writer += kw_bytes_equal(call->get->columns[i].qualifier, KW_CONTROL_WRITER);
    return KW_FATE_ANSWERED;
}

/* The first mutation of a large row has kw:w. A removal that arrives later comes with a newer one, so the
 * reads of further parts return it, too. */
KW_TEST(test_large_writers, "/order/copies/kw-w-of-large-rows")
{
    order_bed bed = order_bed_new();
    writer_calls seen = {0};
    put_large(&bed, "new", 0, COLUMNS, 'x', 10);
    order_write_row(&bed, "new", "r", "f:kw:cf:c003=10@11 f:kw:w=10@11");
    kw_simulated_set_fate(bed.rows, count_writers, &seen);
    copy_counted(&bed, "r", true);
    g_assert_cmpuint(seen.writes, >, 1);
    g_assert_cmpuint(seen.with_writer, ==, 1);
    g_assert_cmpuint(seen.parts, >, 1);
    g_assert_cmpuint(seen.parts_with_writer, ==, seen.parts);
    assert_same_rows(&bed, COLUMNS + 1);
    order_bed_free(&bed);
}

/* One column whose versions are larger than what is read together. */
KW_TEST(test_large_column, "/order/copies/large-column")
{
    order_bed bed = order_bed_new();
    sizes seen = {0};
    g_autofree char *value = g_strnfill(900000, 'x');
    for (int i = 0; i < 5; i++)
        kw_simulated_put(bed.rows, "old", "r", "a", value, 10 + i);
    kw_simulated_put(bed.rows, "old", "r", "b", "small", 10);
    kw_simulated_set_fate(bed.rows, measure, &seen);
    must_copy(&bed, "r", false);
    assert_same_rows(&bed, 6);
    g_assert_cmpuint(seen.most, <=, 1800000);
    order_bed_free(&bed);
}

/* So many removed columns that their gone cells and delete markers need several mutations. */
KW_TEST(test_large_removals, "/order/copies/large-removals")
{
    enum { REMOVALS = 60 };
    order_bed bed = order_bed_new();
    sizes seen = {0};
    g_autofree char *name = g_strnfill(20000, 'n');
    for (int i = 0; i < REMOVALS; i++) {
        g_autofree char *gone = g_strdup_printf("f:kw:cf:%s%03d=10@11", name, i);
        g_autofree char *cell = g_strdup_printf("f:%s%03d=x@10", name, i);
        order_write_row(&bed, "old", "r", gone);
        order_write_row(&bed, "new", "r", cell);
    }
    kw_simulated_set_fate(bed.rows, measure, &seen);
    must_copy(&bed, "r", false);
    assert_same_rows(&bed, REMOVALS);
    g_assert_cmpuint(seen.writes, >, 1);
    kw_simulated_put(bed.rows, "new", "r", name, "seen", 10);
    for (int i = 0; i < REMOVALS; i++) { /* each marker was written: these puts stay hidden */
        g_autofree char *qualifier = g_strdup_printf("%s%03d", name, i);
        kw_simulated_put(bed.rows, "new", "r", qualifier, "hidden", 10);
    }
    kw_simulated_put(bed.rows, "old", "r", name, "seen", 10);
    assert_same_rows(&bed, REMOVALS + 1);
    order_bed_free(&bed);
}

/* Each call of the copy of a large row fails once. */
static kw_fate
fail_nth(void *user, const kw_simulated_call *call)
{
    return call->number == *(unsigned *)user ? KW_FATE_FAILED : KW_FATE_ANSWERED;
}

KW_TEST(test_large_failures, "/order/copies/large-failures")
{
    order_bed bed = order_bed_new();
    put_large(&bed, "old", 0, 60, 'x', 10);
    put_large(&bed, "new", 50, 80, 'x', 10);
    unsigned nth = kw_simulated_calls(bed.rows) + 1, failures = 0;
    kw_simulated_set_fate(bed.rows, fail_nth, &nth);
    for (;; failures++) {
        kw_written result = copy_row(&bed, "r", true);
        if (result.outcome == KW_OUTCOME_OK)
            break;
        g_assert_cmpint(result.error.code, ==, KW_UNAVAILABLE);
        nth = kw_simulated_calls(bed.rows) + failures + 2;
    }
    g_assert_cmpuint(failures, >, 5);
    assert_same_rows(&bed, 80);
    order_bed_free(&bed);
}
