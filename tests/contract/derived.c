/* Derived writes: they read a row and write what they derive from it, and a row that precedes it, atomically.
 * The record has the fields a and b; the preceding row is "A/B" (derivation.h). */
#include "contract/derivation.h"
#include "contract/fixture.h"

#include "base/thread.h"
#include "store/control.h"

#include <stdatomic.h>

#define THREADS 4
#define WRITES 25
/* Of an operation that fails for a moment. */
#define TRIES 200
#define PAUSE_US 20000

static const kw_ordering atomics = {.regime.order = KW_WRITE_ORDER_STAMP,
                                    .regime.atomics = KW_ATOMICS_CAS,
                                    .family = {(const uint8_t *)"d", 1}};

/* Every write leaves kw:w with a timestamp of the store. */
static const kw_ordering marked = {
    .regime = {.order = KW_WRITE_ORDER_STORE, .atomics = KW_ATOMICS_NATIVE, .marks = true},
    .family = {(const uint8_t *)"d", 1}};

/* Of a store with several writers. */
static const kw_ordering *shared_ordering = &atomics;

static const kw_ordering *
ordering_of(const kw_fixture *f)
{
    return kw_store_is_shared(f->sync.store) ? shared_ordering : NULL;
}

/* The table of the preceding rows. */
static kw_bytes
hints_of(kw_fixture *f)
{
    return kw_fixture_make_table(f, ordering_of(f) == &marked ? "marked_hints" : "hints", "d");
}

static kw_toy
toy_of(kw_fixture *f, const char *a, const char *b)
{
    return (kw_toy){
        .family = B("d"), .hints = hints_of(f), .a = a, .b = b, .ordered = ordering_of(f) == &atomics};
}

static kw_sync_written
write_toy(kw_fixture *f, const char *row, kw_toy *toy)
{
    kw_derivation derivation = kw_toy_derivation(toy);
    kw_write write = kw_toy_write(toy, f->table, row, ordering_of(f));
    return kw_sync_write_derived(&f->sync, &write, &derivation);
}

static void
write_given(kw_fixture *f, const char *row, const char *a, const char *b)
{
    kw_toy toy = toy_of(f, a, b);
    kw_sync_written result = write_toy(f, row, &toy);
    g_assert_cmpstr(result.error.text, ==, "");
    g_assert_cmpint(result.outcome, ==, KW_OUTCOME_OK);
    g_assert_true(result.applied);
}

/* Repeats a get that fails because the store's clock is not known for a moment. */
static kw_rows *
get_patiently(kw_sync *sync, const kw_get *get)
{
    kw_error error;
    kw_rows *rows = kw_sync_get(sync, get, &error);
    for (int tries = 0; !rows && error.code == KW_UNAVAILABLE && tries < TRIES; tries++) {
        g_usleep(PAUSE_US);
        rows = kw_sync_get(sync, get, &error);
    }
    if (!rows)
        g_error("%s", error.text);
    return rows;
}

/* "a=1 b=2", as callers see it. All cells must have the same timestamp. Free it. */
static char *
record_in(kw_sync *sync, kw_bytes table, const char *row, const kw_ordering *ordering)
{
    kw_get get = {.table = table, .row = B(row), .deadline = kw_deadline_in_ms(60000), .ordering = ordering};
    kw_rows *rows = get_patiently(sync, &get);
    GString *text = g_string_new(NULL);
    for (uint32_t i = 0; i < rows->rows[0].cells_count; i++) {
        const kw_cell *cell = &rows->rows[0].cells[i];
        g_assert_cmpint(cell->timestamp, ==, rows->rows[0].cells[0].timestamp);
        g_string_append_printf(text, "%s%s=%s", i ? " " : "", kw_show(cell->qualifier).text,
                               kw_show(cell->value).text);
    }
    kw_rows_free(rows);
    return g_string_free(text, FALSE);
}

static void
expect_record(kw_fixture *f, const char *row, const char *expected)
{
    g_autofree char *found = record_in(&f->sync, f->table, row, ordering_of(f));
    g_assert_cmpstr(found, ==, expected);
}

static bool
has_hint(kw_sync *sync, kw_bytes hints, const char *row)
{
    kw_get get = {.table = hints, .row = B(row), .deadline = kw_deadline_in_ms(60000)};
    kw_rows *rows = get_patiently(sync, &get);
    bool has = rows->rows[0].cells_count > 0;
    kw_rows_free(rows);
    return has;
}

static void
expect_hint(kw_fixture *f, const char *row, bool expected)
{
    g_assert_cmpint(has_hint(&f->sync, hints_of(f), row), ==, expected);
}

/* --- one writer ------------------------------------------------------------------------------------ */

static void
test_merges(kw_fixture *f)
{
    write_given(f, "m", "m1", NULL);
    expect_record(f, "m", "a=m1");
    write_given(f, "m", NULL, "m2");
    expect_record(f, "m", "a=m1 b=m2");
    expect_hint(f, "m1/m2", true);
    write_given(f, "m", "m3", NULL);
    expect_record(f, "m", "a=m3 b=m2");
    expect_hint(f, "m3/m2", true);
    expect_hint(f, "m3/m1", false);
}

static void
test_condition(kw_fixture *f)
{
    kw_toy toy = toy_of(f, "c2", NULL);
    write_given(f, "c", "c1", "c9");
    toy.needs_a = "other";
    kw_sync_written result = write_toy(f, "c", &toy);
    g_assert_cmpint(result.outcome, ==, KW_OUTCOME_OK);
    g_assert_false(result.applied);
    expect_record(f, "c", "a=c1 b=c9");
    expect_hint(f, "c2/c9", false);
    toy.needs_a = "c1";
    g_assert_true(write_toy(f, "c", &toy).applied);
    expect_record(f, "c", "a=c2 b=c9");
    expect_hint(f, "c2/c9", true);
}

static void
test_fails(kw_fixture *f)
{
    kw_toy toy = toy_of(f, "f1", "f2");
    toy.fails = true;
    kw_sync_written result = write_toy(f, "f", &toy);
    g_assert_cmpint(result.outcome, ==, KW_OUTCOME_FAILED);
    g_assert_false(result.applied);
    kw_expect_error(&result.error, KW_INVALID, "the values do not fit");
    expect_record(f, "f", "");
    toy.fails = false;
    toy.hints = kw_fixture_table("nowhere");
    result = write_toy(f, "f", &toy);
    g_assert_cmpint(result.outcome, ==, KW_OUTCOME_FAILED);
    kw_expect_error(&result.error, KW_NOT_FOUND, "nowhere");
    expect_record(f, "f", "");
}

/* A preceding row that the store cannot have. */
static void
test_invalid_preceding(kw_fixture *f)
{
    g_autofree char *large = g_strnfill(KW_STORE_ROW_KEY_MAX, 'x');
    kw_toy toy = toy_of(f, "i1", large);
    kw_sync_written result = write_toy(f, "i", &toy);
    g_assert_cmpint(result.outcome, ==, KW_OUTCOME_FAILED);
    kw_expect_error(&result.error, KW_INVALID, "is longer than 32767");
    expect_record(f, "i", "");
}

static void
test_others(kw_fixture *f)
{
    kw_toy toy = toy_of(f, "o2", NULL);
    kw_row_target other = {.table = kw_fixture_make_table(f, "others", "dvtm"), .row = B("derived-o")};
    write_given(f, "o", NULL, "o1");
    kw_derivation derivation = kw_toy_derivation(&toy);
    kw_write write = kw_toy_write(&toy, f->table, "o", ordering_of(f));
    write.others = &other;
    write.others_count = 1;
    kw_sync_written result = kw_sync_write_derived(&f->sync, &write, &derivation);
    g_assert_cmpint(result.outcome, ==, KW_OUTCOME_OK);
    expect_record(f, "o", "a=o2 b=o1");
    g_autofree char *second = record_in(&f->sync, other.table, "derived-o", ordering_of(f));
    g_assert_cmpstr(second, ==, "a=o2 b=o1");
}

/* A row that only one record can have. */
static void
test_looks_up(kw_fixture *f)
{
    kw_toy first = toy_of(f, "first", NULL), second = toy_of(f, "second", NULL);
    first.takes = second.takes = "only";
    kw_sync_written result = write_toy(f, "l1", &first);
    g_assert_cmpint(result.outcome, ==, KW_OUTCOME_OK);
    g_assert_cmpuint(first.derived, ==, 2);
    result = write_toy(f, "l2", &second);
    g_assert_cmpint(result.outcome, ==, KW_OUTCOME_FAILED);
    kw_expect_error(&result.error, KW_REFUSED, "it is taken");
    expect_record(f, "l2", "");
    g_assert_cmpint(write_toy(f, "l1", &first).outcome, ==, KW_OUTCOME_OK);
    second.takes = "another";
    second.hints = kw_fixture_table("nowhere");
    result = write_toy(f, "l2", &second);
    kw_expect_error(&result.error, KW_NOT_FOUND, "nowhere");
    expect_record(f, "l2", "");
}

typedef struct taker {
    kw_store *store;
    kw_bytes table, hints;
    int number;
    _Atomic int *taken; /* by row: how often */
} taker;

static void
take_all(void *user)
{
    taker *self = user;
    kw_sync sync;
    kw_sync_open(&sync, self->store);
    for (int i = 0; i < WRITES; i++) {
        char name[16], owner[16];
        g_snprintf(name, sizeof name, "name-%d", i);
        g_snprintf(owner, sizeof owner, "%d-%d", self->number, i);
        kw_toy toy = {.family = B("d"), .hints = self->hints, .a = owner, .takes = name};
        kw_derivation derivation = kw_toy_derivation(&toy);
        kw_write write = kw_toy_write(&toy, self->table, owner, NULL);
        if (kw_sync_write_derived(&sync, &write, &derivation).outcome == KW_OUTCOME_OK)
            atomic_fetch_add(&self->taken[i], 1);
    }
    kw_sync_close(&sync);
}

static void
test_takers_race(kw_fixture *f)
{
    kw_thread threads[THREADS];
    taker takers[THREADS];
    _Atomic int taken[WRITES] = {0};
    for (int i = 0; i < THREADS; i++) {
        takers[i] = (taker){f->sync.store, f->table, kw_fixture_make_table(f, "hints", "d"), i, taken};
        kw_thread_start(&threads[i], "taker", take_all, &takers[i]);
    }
    for (int i = 0; i < THREADS; i++)
        kw_thread_join(&threads[i]);
    for (int i = 0; i < WRITES; i++)
        g_assert_cmpint(atomic_load(&taken[i]), ==, 1);
}

/* --- several writers ------------------------------------------------------------------------------- */

typedef struct writer {
    kw_store *store;
    kw_bytes table, hints;
    const kw_ordering *ordering;
    int number;
    _Atomic int *running;
} writer;

/* On a busy machine, the measurement of the store's clock can be late for a moment. */
static bool
is_temporary(const kw_sync_written *result)
{
    return result->outcome == KW_OUTCOME_FAILED && result->error.code == KW_UNAVAILABLE;
}

static void
write_often(void *user)
{
    writer *self = user;
    kw_sync sync;
    kw_sync_open(&sync, self->store);
    for (int i = 0; i < WRITES; i++) {
        char value[16];
        g_snprintf(value, sizeof value, "%d-%d", self->number, i);
        kw_toy toy = {.family = B("d"), .hints = self->hints, .ordered = self->ordering == &atomics};
        toy.a = self->number % 2 ? value : NULL;
        toy.b = self->number % 2 ? NULL : value;
        kw_derivation derivation = kw_toy_derivation(&toy);
        kw_write write = kw_toy_write(&toy, self->table, "race", self->ordering);
        kw_sync_written result = kw_sync_write_derived(&sync, &write, &derivation);
        for (int tries = 0; is_temporary(&result) && tries < TRIES; tries++) {
            g_usleep(PAUSE_US);
            result = kw_sync_write_derived(&sync, &write, &derivation);
        }
        /* others write the record, so it can be busy, or a compare whose reply is late can stay in doubt */
        if (result.outcome == KW_OUTCOME_FAILED && result.error.code != KW_BUSY)
            g_error("%s", result.error.text);
    }
    kw_sync_close(&sync);
    atomic_fetch_sub(self->running, 1);
}

/* The hint of a record that was read is there. Hints are not deleted, so it can be read later. */
static void
expect_hint_of_record(kw_fixture *f, kw_bytes hints, bool complete)
{
    g_autofree char *record = record_in(&f->sync, f->table, "race", ordering_of(f));
    g_auto(GStrv) words = g_strsplit(record, " ", -1);
    g_assert_true(!complete || g_strv_length(words) == 2);
    if (g_strv_length(words) < 2)
        return;
    g_autofree char *hint = g_strdup_printf("%s/%s", words[0] + 2, words[1] + 2);
    g_assert_true(has_hint(&f->sync, hints, hint));
}

static void
test_race(kw_fixture *f)
{
    kw_bytes hints = hints_of(f);
    kw_thread threads[THREADS];
    writer writers[THREADS];
    _Atomic int running = THREADS;
    for (int i = 0; i < THREADS; i++) {
        writers[i] = (writer){f->sync.store, f->table, hints, ordering_of(f), i, &running};
        kw_thread_start(&threads[i], "writer", write_often, &writers[i]);
    }
    /* The loop of this thread measures the store's clock, so it must run until the writers have ended. */
    while (atomic_load(&running) > 0)
        expect_hint_of_record(f, hints, false);
    for (int i = 0; i < THREADS; i++)
        kw_thread_join(&threads[i]);
    expect_hint_of_record(f, hints, true);
}

/* --- refusals -------------------------------------------------------------------------------------- */

static void
test_refused(kw_fixture *f)
{
    kw_toy toy = toy_of(f, "r1", NULL);
    kw_derivation derivation = kw_toy_derivation(&toy);
    kw_write write = kw_toy_write(&toy, f->table, "r", NULL);
    kw_sync_written result = kw_sync_write_derived(&f->sync, &write, &derivation);
    g_assert_cmpint(result.outcome, ==, KW_OUTCOME_FAILED);
    kw_expect_error(&result.error, KW_REFUSED, "need atomics: true");
    g_assert_cmpuint(toy.derived, ==, 0);
    kw_expect_row(f, "r", "");
}

/* A store that several processes use refuses them without an ordering. */
static void
run_or_refuse(kw_fixture *f)
{
    if (kw_store_is_shared(f->sync.store)) {
        test_refused(f);
        return;
    }
    test_merges(f);
    test_condition(f);
    test_fails(f);
    test_invalid_preceding(f);
    test_others(f);
    test_looks_up(f);
    test_takers_race(f);
    test_race(f);
}

/* With order: store, a record has one row. */
static void
test_others_refused(kw_fixture *f)
{
    kw_toy toy = toy_of(f, "o2", NULL);
    kw_row_target other = {.table = kw_fixture_make_table(f, "others", "dvtm"), .row = B("derived-o")};
    kw_derivation derivation = kw_toy_derivation(&toy);
    kw_write write = kw_toy_write(&toy, f->table, "n", ordering_of(f));
    write.others = &other;
    write.others_count = 1;
    kw_sync_written result = kw_sync_write_derived(&f->sync, &write, &derivation);
    g_assert_cmpint(result.outcome, ==, KW_OUTCOME_FAILED);
    kw_expect_error(&result.error, KW_REFUSED, "need order: stamp");
}

static void
test_store_order(kw_fixture *f)
{
    kw_bytes table = f->table;
    shared_ordering = &marked;
    f->table = kw_fixture_make_table(f, "marked", "d");
    test_merges(f);
    test_condition(f);
    test_fails(f);
    test_invalid_preceding(f);
    test_race(f);
    test_others_refused(f);
    f->table = table;
    shared_ordering = &atomics;
}

void
kw_contract_add_derived(void)
{
    kw_fixture_add("derived", "all", run_or_refuse);
}

void
kw_contract_add_ordered_derived(void)
{
    kw_fixture_add("derived", "merges", test_merges);
    kw_fixture_add("derived", "condition", test_condition);
    kw_fixture_add("derived", "fails", test_fails);
    kw_fixture_add("derived", "invalid_preceding", test_invalid_preceding);
    kw_fixture_add("derived", "others", test_others);
    kw_fixture_add("derived", "race", test_race);
    kw_fixture_add("derived", "refused", test_refused);
    kw_fixture_add("derived", "store_order", test_store_order);
}
