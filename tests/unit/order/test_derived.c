/* Derived writes with order: stamp: what they read, write and answer when calls are rejected, lost or late.
 * The record has the fields a and b; the row "A/B" in table "hints" precedes it (contract/derivation.h). */
#include "order_bed.h"

#include "base/clock.h"
#include "contract/derivation.h"
#include "store/control.h"
#include "store/order/order_internal.h"

#include <time.h>

static const kw_ordering ordered = {.regime.order = KW_WRITE_ORDER_STAMP,
                                    .regime.atomics = KW_ATOMICS_CAS,
                                    .family = {(const uint8_t *)"f", 1}};
static const kw_ordering keeping = {.regime.order = KW_WRITE_ORDER_STAMP,
                                    .regime.atomics = KW_ATOMICS_CAS,
                                    .regime.keeps_gone = true,
                                    .family = {(const uint8_t *)"f", 1}};

/* --- operations ------------------------------------------------------------------------------------ */

typedef struct derived_answer {
    order_answer base; /* written[0] has the outcome and the error */
    bool applied;
} derived_answer;

/* A write in progress. */
typedef struct putting {
    kw_toy toy;
    kw_derivation derivation;
    kw_write write;
    derived_answer answer;
} putting;

static void
on_derived(void *user, kw_outcome outcome, bool applied, const kw_error *error)
{
    derived_answer *answer = user;
    answer->applied = applied;
    order_on_write(&answer->base, outcome, error);
}

static void
prepare(putting *put, const char *a, const char *b, const kw_ordering *ordering)
{
    *put = (putting){.toy = {.family = KW_BYTES_LITERAL("f"),
                             .hints = KW_BYTES_LITERAL("hints"),
                             .a = a,
                             .b = b,
                             .ordered = true}};
    put->derivation = kw_toy_derivation(&put->toy);
    put->write = kw_toy_write(&put->toy, KW_BYTES_LITERAL("old"), "r", ordering);
}

static void
start(order_bed *bed, putting *put)
{
    kw_store_handle_write_derived(bed->sync.handle, &put->write, &put->derivation, on_derived, &put->answer);
}

static void
assert_ok(order_bed *bed, putting *put)
{
    order_await(bed, &put->answer.base);
    g_assert_cmpstr(put->answer.base.written[0].error.text, ==, "");
    g_assert_cmpint(put->answer.base.written[0].outcome, ==, KW_OUTCOME_OK);
    g_assert_true(put->answer.applied);
}

static void
assert_error(order_bed *bed, putting *put, kw_outcome outcome, kw_code code, const char *text)
{
    order_await(bed, &put->answer.base);
    const kw_written *written = &put->answer.base.written[0];
    g_assert_cmpint(written->outcome, ==, outcome);
    g_assert_cmpint(written->error.code, ==, code);
    g_assert_cmpint(written->error.maybe_applied, ==, outcome == KW_OUTCOME_UNKNOWN);
    g_assert_nonnull(strstr(written->error.text, text));
}

static order_bed
bed_new(void)
{
    order_bed bed = order_bed_new();
    kw_simulated_create_table(bed.rows, "hints", 0);
    return bed;
}

/* The row of the record as callers see it: "f:a=1@1000". Free it. */
static char *
visible(order_bed *bed)
{
    kw_get get = {.table = KW_BYTES_LITERAL("old"), .row = KW_BYTES_LITERAL("r"), .ordering = &ordered};
    kw_rows *rows = kw_sync_get(&bed->sync, &get, NULL);
    char *text = order_print(&rows->rows[0]);
    kw_rows_free(rows);
    return text;
}

/* --- fates ----------------------------------------------------------------------------------------- */

typedef enum call_kind { READ, HINT, COMPARE, OTHER } call_kind;

static call_kind
kind_of(const kw_simulated_call *call)
{
    return call->get                                                ? READ
           : call->check                                            ? COMPARE
           : kw_bytes_equal(call->table, KW_BYTES_LITERAL("hints")) ? HINT
                                                                    : OTHER;
}

/* What happens to the `at`th call of this kind. `calls` lists all calls, as "read hint compare". */
typedef struct plan {
    call_kind of;
    unsigned at;
    kw_fate fate;
    unsigned counts[4];
    char calls[4096];
} plan;

static kw_fate
fate_of(void *user, const kw_simulated_call *call)
{
    static const char *const names[] = {"read", "hint", "compare", "other"};
    plan *with = user;
    call_kind kind = kind_of(call);
    if (with->calls[0])
        g_strlcat(with->calls, " ", sizeof with->calls);
    g_strlcat(with->calls, names[kind], sizeof with->calls);
    return ++with->counts[kind] == with->at && kind == with->of ? with->fate : KW_FATE_ANSWERED;
}

/* --- without trouble ------------------------------------------------------------------------------- */

/* The fields that were read are written again, so that both have the stamp. The hint has the time of the
 * store's server, which sets it when the hint arrives. */
KW_TEST(test_steps, "/order/derived/steps")
{
    order_bed bed = bed_new();
    plan with = {.fate = KW_FATE_ANSWERED};
    putting put;
    order_write_row(&bed, "old", "r", "f:a=1@900 f:b=2@900 f:c=3@900 f:kw:w=900@900");
    kw_simulated_set_fate(bed.rows, fate_of, &with);
    prepare(&put, "5", NULL, &ordered);
    start(&bed, &put);
    assert_ok(&bed, &put);
    g_assert_cmpstr(with.calls, ==, "read hint compare");
    order_assert_row(&bed, "old", "r",
                     "f:kw:w=1000@1000 f:kw:w=900@900 f:a=5@1000 f:a=1@900 f:b=2@1000 f:b=2@900 f:c=3@900");
    g_autofree char *hint = kw_simulated_row(bed.rows, "hints", "5/2");
    g_assert_cmpstr(hint, !=, "");
    order_bed_free(&bed);
}

/* A field that the row lacks is removed up to one millisecond below the stamp. */
KW_TEST(test_absent, "/order/derived/absent")
{
    order_bed bed = bed_new();
    plan with = {.fate = KW_FATE_ANSWERED};
    putting first, second;
    kw_simulated_set_fate(bed.rows, fate_of, &with);
    prepare(&first, "1", NULL, &ordered);
    start(&bed, &first);
    assert_ok(&bed, &first);
    g_assert_cmpstr(with.calls, ==, "read compare"); /* no hint of half a tuple */
    order_assert_row(&bed, "old", "r", "f:kw:cf:b=999@1000 f:kw:w=1000@1000 f:a=1@1000");
    prepare(&second, NULL, "2", &ordered);
    start(&bed, &second);
    assert_ok(&bed, &second);
    g_autofree char *record = visible(&bed);
    g_assert_cmpstr(record, ==, "f:a=1@1000 f:b=2@1000");
    kw_simulated_set_time_ms(bed.rows, 1001 + LATE_MS, 1001 + LATE_MS); /* the gone cell expires */
    order_assert_row(&bed, "old", "r", "f:kw:w=1000@1000 f:a=1@1000 f:b=2@1000");
    order_bed_free(&bed);
}

/* While a key rule changes, gone cells do not expire. */
KW_TEST(test_absent_kept, "/order/derived/absent, kept")
{
    order_bed bed = bed_new();
    putting put;
    prepare(&put, "1", NULL, &keeping);
    start(&bed, &put);
    assert_ok(&bed, &put);
    kw_simulated_set_time_ms(bed.rows, 1001 + LATE_MS, 1001 + LATE_MS);
    order_assert_row(&bed, "old", "r", "f:kw:cf:b=999@1000 f:kw:w=1000@1000 f:a=1@1000");
    order_bed_free(&bed);
}

/* A full put with a lower stamp arrives after the derived write: nothing of it may show, because the hint of
 * what would show does not exist. */
static void
put_that_is_late(bool compacted)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    order_bed bed = bed_new();
    putting put;
    kw_write full = order_put(arena, NULL, "r", "a=8 b=9");
    full.timestamp = 995;
    prepare(&put, "1", NULL, &ordered);
    start(&bed, &put);
    assert_ok(&bed, &put);
    if (compacted)
        kw_simulated_purge(bed.rows); /* the delete marker is lost */
    g_assert_cmpint(kw_sync_write(&bed.sync, &full).outcome, ==, KW_OUTCOME_OK);
    g_autofree char *record = visible(&bed);
    g_assert_cmpstr(record, ==, "f:a=1@1000");
    order_bed_free(&bed);
}

KW_TEST(test_late_put, "/order/derived/late put")
{
    put_that_is_late(false);
    put_that_is_late(true);
}

/* One with the same stamp shows whole. */
KW_TEST(test_equal_put, "/order/derived/put with the same stamp")
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    order_bed bed = bed_new();
    putting put;
    kw_write full = order_put(arena, NULL, "r", "a=8 b=9");
    full.timestamp = 1000;
    prepare(&put, "1", NULL, &ordered);
    start(&bed, &put);
    assert_ok(&bed, &put);
    g_assert_cmpint(kw_sync_write(&bed.sync, &full).outcome, ==, KW_OUTCOME_OK);
    g_autofree char *record = visible(&bed);
    g_assert_cmpstr(record, ==, "f:a=8@1000 f:b=9@1000");
    order_bed_free(&bed);
}

KW_TEST(test_others, "/order/derived/others")
{
    static const kw_row_target other = {KW_BYTES_LITERAL("new"), KW_BYTES_LITERAL("n"), 0};
    order_bed bed = bed_new();
    plan with = {.fate = KW_FATE_ANSWERED};
    putting put;
    order_write_row(&bed, "old", "r", "f:b=2@900 f:kw:w=900@900");
    kw_simulated_set_fate(bed.rows, fate_of, &with);
    prepare(&put, "1", NULL, &ordered);
    put.write.others = &other;
    put.write.others_count = 1;
    start(&bed, &put);
    assert_ok(&bed, &put);
    g_assert_cmpstr(with.calls, ==, "read hint compare other");
    order_assert_row(&bed, "new", "n", "f:kw:w=1000@1000 f:a=1@1000 f:b=2@1000");
    order_bed_free(&bed);
}

/* Removed values are absent, and stay so. */
KW_TEST(test_removed, "/order/derived/removed")
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    order_bed bed = bed_new();
    order_answer removal = {0};
    kw_write write = order_removal(arena, &ordered, "r", "");
    putting put;
    order_write_row(&bed, "old", "r", "f:a=1@900 f:b=2@900 f:kw:w=900@900");
    kw_store_handle_write(bed.sync.handle, &write, order_on_write, &removal);
    order_run(&bed);
    kw_simulated_set_time_ms(bed.rows, 1001, 1001);
    order_await(&bed, &removal);
    prepare(&put, "5", NULL, &ordered);
    start(&bed, &put);
    order_run(&bed);
    kw_simulated_set_time_ms(bed.rows, 1003, 1003);
    assert_ok(&bed, &put);
    g_autofree char *record = visible(&bed);
    g_assert_true(g_str_has_prefix(record, "f:a=5@"));
    g_assert_null(strstr(record, "f:b"));
    order_bed_free(&bed);
}

/* --- trouble --------------------------------------------------------------------------------------- */

/* A write that comes between the read and the compare is noticed. The write is derived again, with a hint of
 * the new tuple. */
KW_TEST(test_write_in_between, "/order/derived/write in between")
{
    order_bed bed = bed_new();
    plan with = {.of = COMPARE, .at = 1, .fate = KW_FATE_HELD};
    putting put;
    order_write_row(&bed, "old", "r", "f:a=1@900 f:b=2@900 f:kw:w=900@900");
    kw_simulated_set_fate(bed.rows, fate_of, &with);
    prepare(&put, "5", NULL, &ordered);
    start(&bed, &put);
    while (with.counts[COMPARE] == 0)
        order_run_ms(&bed, 0);
    kw_simulated_set_fate(bed.rows, NULL, NULL);
    order_write_row(&bed, "old", "r", "f:b=3@950 f:a=4@950 f:kw:w=950@950");
    kw_simulated_set_fate(bed.rows, fate_of, &with);
    kw_simulated_release(bed.rows);
    assert_ok(&bed, &put);
    g_assert_cmpuint(put.toy.derived, ==, 2);
    g_assert_cmpstr(with.calls, ==, "read hint compare read hint compare");
    g_autofree char *record = visible(&bed);
    g_assert_cmpstr(record, ==, "f:a=5@1000 f:b=3@1000");
    g_autofree char *hint = kw_simulated_row(bed.rows, "hints", "5/3");
    g_assert_cmpstr(hint, !=, "");
    order_bed_free(&bed);
}

/* If a hint is possibly not in the store, the row is not sent, and the outcome is certain. */
KW_TEST(test_hint_fails, "/order/derived/hint fails")
{
    static const kw_fate fates[] = {KW_FATE_FAILED, KW_FATE_LOST, KW_FATE_DROPPED, KW_FATE_LATE};
    for (size_t i = 0; i < G_N_ELEMENTS(fates); i++) {
        order_bed bed = bed_new();
        plan with = {.of = HINT, .at = 1, .fate = fates[i]};
        putting put;
        order_write_row(&bed, "old", "r", "f:b=2@900 f:kw:w=900@900");
        kw_simulated_set_fate(bed.rows, fate_of, &with);
        prepare(&put, "5", NULL, &ordered);
        start(&bed, &put);
        assert_error(&bed, &put, KW_OUTCOME_FAILED, KW_UNAVAILABLE, "the record was not written");
        g_assert_cmpstr(with.calls, ==, "read hint");
        order_assert_row(&bed, "old", "r", "f:kw:w=900@900 f:b=2@900");
        order_bed_free(&bed);
    }
}

/* The outcome of a compare that got no answer is found out as for other atomic operations. */
KW_TEST(test_compare_in_doubt, "/order/derived/compare in doubt")
{
    static const kw_fate fates[] = {KW_FATE_LOST, KW_FATE_DROPPED};
    for (size_t i = 0; i < G_N_ELEMENTS(fates); i++) {
        order_bed bed = bed_new();
        plan with = {.of = COMPARE, .at = 1, .fate = fates[i]};
        putting put;
        order_write_row(&bed, "old", "r", "f:b=2@900 f:kw:w=900@900");
        kw_simulated_set_fate(bed.rows, fate_of, &with);
        prepare(&put, "5", NULL, &ordered);
        start(&bed, &put);
        assert_ok(&bed, &put);
        g_autofree char *record = visible(&bed);
        g_assert_cmpstr(record, ==, "f:a=5@1000 f:b=2@1000");
        order_bed_free(&bed);
    }
}

/* Waits until a compare is held, and changes the row before it. */
static void
interfere(order_bed *bed, int64_t stamp_ms)
{
    while (kw_simulated_held(bed->rows) == 0)
        order_run_ms(bed, 0);
    kw_simulated_set_fate(bed->rows, NULL, NULL);
    g_autofree char *cells = g_strdup_printf("f:kw:w=%d@%d", (int)stamp_ms, (int)stamp_ms);
    order_write_row(bed, "old", "r", cells);
}

static kw_fate
hold_compares(void *user, const kw_simulated_call *call)
{
    (void)user;
    return call->check ? KW_FATE_HELD : KW_FATE_ANSWERED;
}

/* It gives up if others write the record again and again, because each attempt writes hints. */
KW_TEST(test_tries, "/order/derived/tries")
{
    order_bed bed = bed_new();
    putting put;
    order_write_row(&bed, "old", "r", "f:b=2@900 f:kw:w=900@900");
    prepare(&put, "5", NULL, &ordered);
    kw_simulated_set_fate(bed.rows, hold_compares, NULL);
    start(&bed, &put);
    for (int64_t i = 1; i <= KW_ORDER_TRIES_MAX; i++) {
        interfere(&bed, 900 + i);
        kw_simulated_set_fate(bed.rows, hold_compares, NULL);
        kw_simulated_release(bed.rows);
    }
    assert_error(&bed, &put, KW_OUTCOME_FAILED, KW_BUSY,
                 "written too often, each time between the read and the write of this call; try again later");
    g_assert_cmpuint(put.toy.derived, ==, KW_ORDER_TRIES_MAX);
    order_bed_free(&bed);
}

static uint64_t passed_ns;

static uint64_t
mono_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec + passed_ns;
}

/* The answer of a hint arrives so late that a cleaner could delete the hint: it is written again. */
KW_TEST(test_window, "/order/derived/window")
{
    kw_clock_inject(NULL, mono_ns);
    order_bed bed = bed_new();
    plan with = {.of = HINT, .at = 1, .fate = KW_FATE_HELD};
    putting put;
    order_write_row(&bed, "old", "r", "f:b=2@900 f:kw:w=900@900");
    kw_simulated_set_fate(bed.rows, fate_of, &with);
    prepare(&put, "5", NULL, &ordered);
    start(&bed, &put);
    while (kw_simulated_held(bed.rows) == 0)
        order_run_ms(&bed, 0);
    passed_ns += (KW_ORDER_WINDOW_MS + 1) * UINT64_C(1000000);
    kw_simulated_release(bed.rows);
    assert_ok(&bed, &put);
    g_assert_cmpstr(with.calls, ==, "read hint read hint compare");
    order_bed_free(&bed);
    kw_clock_inject(NULL, NULL);
}

/* --- refusals -------------------------------------------------------------------------------------- */

KW_TEST(test_error, "/order/derived/error")
{
    order_bed bed = bed_new();
    plan with = {.fate = KW_FATE_ANSWERED};
    putting put;
    kw_simulated_set_fate(bed.rows, fate_of, &with);
    prepare(&put, "5", NULL, &ordered);
    put.toy.fails = true;
    start(&bed, &put);
    assert_error(&bed, &put, KW_OUTCOME_FAILED, KW_INVALID, "the values do not fit");
    g_assert_cmpstr(with.calls, ==, "read");
    order_bed_free(&bed);
}

/* A row with a tuple so large that it could not be a key. */
KW_TEST(test_too_large, "/order/derived/too large")
{
    order_bed bed = bed_new();
    putting put;
    g_autofree char *half = g_strnfill(KW_STORE_DERIVED_BYTES_MAX / 2, 'x');
    kw_simulated_put(bed.rows, "old", "r", "a", half, 900);
    kw_simulated_put(bed.rows, "old", "r", "b", half, 900);
    prepare(&put, "5", NULL, &ordered);
    start(&bed, &put);
    assert_error(&bed, &put, KW_OUTCOME_FAILED, KW_LIMIT, "more than 16777216 bytes");
    g_assert_cmpuint(put.toy.derived, ==, 0);
    order_bed_free(&bed);
}

/* The store handle closes while writes wait. */
KW_TEST(test_close, "/order/derived/close")
{
    order_bed bed = bed_new();
    putting puts[3];
    for (int i = 0; i < 3; i++) {
        prepare(&puts[i], "5", NULL, &ordered);
        start(&bed, &puts[i]);
    }
    order_bed_free(&bed);
    for (int i = 0; i < 3; i++)
        g_assert_true(puts[i].answer.base.done);
}
