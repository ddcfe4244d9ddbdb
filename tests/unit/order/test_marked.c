/* Derived writes with order: store, in tables with kw:w: each write of another caller that comes in between
 * is noticed. The record has the fields a and b; the row "A/B" in table "hints" precedes it. */
#include "order_bed.h"

#include "contract/derivation.h"
#include "store/control.h"
#include "store/order/order_internal.h"

static const kw_ordering marked = {
    .regime = {.order = KW_WRITE_ORDER_STORE, .atomics = KW_ATOMICS_NATIVE, .marks = true},
    .counters = true,
    .family = {(const uint8_t *)"f", 1}};

/* --- operations ------------------------------------------------------------------------------------ */

/* A derived write in progress. */
typedef struct putting {
    kw_toy toy;
    kw_derivation derivation;
    kw_write write;
    order_answer answer;
} putting;

static void
on_derived(void *user, kw_outcome outcome, bool applied, const kw_error *error)
{
    putting *put = user;
    g_assert_true(applied || error);
    order_on_write(&put->answer, outcome, error);
}

static void
start(order_bed *bed, putting *put, const char *a, const char *b)
{
    *put = (putting){
        .toy = {.family = KW_BYTES_LITERAL("f"), .hints = KW_BYTES_LITERAL("hints"), .a = a, .b = b}};
    put->derivation = kw_toy_derivation(&put->toy);
    put->write = kw_toy_write(&put->toy, KW_BYTES_LITERAL("old"), "r", &marked);
    kw_store_handle_write_derived(bed->sync.handle, &put->write, &put->derivation, on_derived, put);
}

static void
assert_outcome(order_bed *bed, order_answer *answer, kw_outcome outcome)
{
    order_await(bed, answer);
    if (outcome == KW_OUTCOME_OK)
        g_assert_cmpstr(answer->written[0].error.text, ==, "");
    g_assert_cmpint(answer->written[0].outcome, ==, outcome);
}

static order_bed
bed_new(void)
{
    order_bed bed = order_bed_new();
    kw_simulated_create_table(bed.rows, "hints", 0);
    kw_simulated_follow_clock(bed.rows, 1, 1, 0);
    return bed;
}

static kw_rows *
read_row(order_bed *bed, const kw_ordering *ordering)
{
    kw_get get = {.table = KW_BYTES_LITERAL("old"), .row = KW_BYTES_LITERAL("r"), .ordering = ordering};
    return kw_sync_get(&bed->sync, &get, NULL);
}

/* The record as callers see it: "a=1 b=2". */
static void
assert_record(order_bed *bed, const char *expected)
{
    g_autoptr(GString) text = g_string_new(NULL);
    kw_rows *rows = read_row(bed, &marked);
    for (uint32_t i = 0; i < rows->rows[0].cells_count; i++)
        g_string_append_printf(text, "%s%s=%s", i ? " " : "", kw_show(rows->rows[0].cells[i].qualifier).text,
                               kw_show(rows->rows[0].cells[i].value).text);
    kw_rows_free(rows);
    g_assert_cmpstr(text->str, ==, expected);
}

/* The newest kw:w of the record, or kw:g. Free it; NULL: there is none. */
static char *
control_cell(order_bed *bed, kw_bytes qualifier)
{
    kw_rows *rows = read_row(bed, NULL);
    const kw_cell *cell = kw_control_find(&marked, &rows->rows[0], qualifier);
    char *text = NULL;
    if (cell) {
        text = g_strdup("");
        for (size_t i = 0; i < cell->value.size; i++) {
            char *longer = g_strdup_printf("%s%02x", text, cell->value.data[i]);
            g_free(text);
            text = longer;
        }
    }
    kw_rows_free(rows);
    return text;
}

static void
assert_hint(order_bed *bed, const char *key)
{
    g_autofree char *hint = kw_simulated_row(bed->rows, "hints", key);
    g_assert_cmpstr(hint, !=, "");
}

/* --- the writes of others -------------------------------------------------------------------------- */

typedef enum other {
    PUT,
    PUT_MANY,
    PUT_STAMPED,
    PUT_IF,
    PUT_COUNTER,
    REMOVE,
    REMOVE_A,
    REMOVE_STAMPED,
    OTHERS
} other;

static kw_write
other_write(other of, kw_arena *arena)
{
    kw_write put = order_put(arena, &marked, "r", of == PUT_COUNTER ? "n=00000001" : "b=7");
    if (of == REMOVE || of == REMOVE_A || of == REMOVE_STAMPED)
        put = order_removal(arena, &marked, "r", of == REMOVE_A ? "a" : "");
    if (of == PUT_STAMPED)
        put = order_put(arena, &marked, "r", "c=7");
    if (of == PUT_STAMPED || of == REMOVE_STAMPED)
        put.timestamp = kw_clock_wall_ms() - 1;
    put.counters = of == PUT_COUNTER;
    return put;
}

static void
on_written_if(void *user, kw_outcome outcome, bool applied, const kw_error *error)
{
    g_assert_true(applied);
    order_on_write(user, outcome, error);
}

static void
write_other(order_bed *bed, other of)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    order_answer answer = {0};
    kw_write write = other_write(of, arena);
    const kw_write *list[] = {&write, &write};
    kw_check check = {.family = KW_BYTES_LITERAL("f"),
                      .qualifier = KW_BYTES_LITERAL("b"),
                      .compare = KW_COMPARE_EQUAL,
                      .has_value = true,
                      .value = KW_BYTES_LITERAL("2")};
    if (of == PUT_IF)
        kw_store_handle_write_if(bed->sync.handle, &write, &check, on_written_if, &answer);
    else if (of == PUT_MANY)
        kw_store_handle_write_many(bed->sync.handle, list, 2, answer.written, order_on_many, &answer);
    else
        kw_store_handle_write(bed->sync.handle, &write, order_on_write, &answer);
    assert_outcome(bed, &answer, KW_OUTCOME_OK);
}

/* --- tests ----------------------------------------------------------------------------------------- */

/* Which call is held, lost, or late. `calls` counts those of this kind. */
typedef struct plan {
    bool removals; /* of the delete of a removal; otherwise of the compare of a put */
    unsigned at, calls;
    kw_fate fate;
} plan;

static kw_fate
fate_of(void *user, const kw_simulated_call *call)
{
    plan *with = user;
    bool counts = call->check && (call->write->kind == KW_WRITE_DELETE) == with->removals;
    return counts && ++with->calls == with->at ? with->fate : KW_FATE_ANSWERED;
}

static void
hold_compare(order_bed *bed, plan *with)
{
    *with = (plan){.at = 1, .fate = KW_FATE_HELD};
    kw_simulated_set_fate(bed->rows, fate_of, with);
}

static void
wait_until_held(order_bed *bed)
{
    while (kw_simulated_held(bed->rows) == 0)
        order_run_ms(bed, 0);
}

KW_TEST(test_merges, "/order/marked/merges")
{
    order_bed bed = bed_new();
    putting put;
    start(&bed, &put, "1", NULL);
    assert_outcome(&bed, &put.answer, KW_OUTCOME_OK);
    assert_record(&bed, "a=1");
    start(&bed, &put, NULL, "2");
    assert_outcome(&bed, &put.answer, KW_OUTCOME_OK);
    assert_record(&bed, "a=1 b=2");
    assert_hint(&bed, "1/2");
    order_bed_free(&bed);
}

/* Each kind of write leaves a new kw:w, so a derived write that has read before it is derived again. */
KW_TEST(test_in_between, "/order/marked/in-between")
{
    static const char *const records[] = {[PUT] = "a=5 b=7",
                                          [PUT_MANY] = "a=5 b=7",
                                          [PUT_STAMPED] = "a=5 b=2 c=7",
                                          [PUT_IF] = "a=5 b=7",
                                          [REMOVE] = "a=5",
                                          [REMOVE_A] = "a=5 b=2",
                                          [REMOVE_STAMPED] = "a=5",
                                          [PUT_COUNTER] = "a=5 b=2 n=00000001"};
    for (other of = 0; of < OTHERS; of++) {
        order_bed bed = bed_new();
        putting first, put;
        plan with;
        start(&bed, &first, "1", "2");
        assert_outcome(&bed, &first.answer, KW_OUTCOME_OK);
        order_run_ms(&bed, 4);
        hold_compare(&bed, &with);
        start(&bed, &put, "5", NULL);
        wait_until_held(&bed);
        g_autofree char *before = control_cell(&bed, KW_CONTROL_WRITER);
        write_other(&bed, of);
        g_autofree char *after = control_cell(&bed, KW_CONTROL_WRITER);
        g_assert_cmpstr(before, !=, after);
        kw_simulated_release(bed.rows);
        assert_outcome(&bed, &put.answer, KW_OUTCOME_OK);
        g_assert_cmpuint(put.toy.derived, ==, 2);
        assert_record(&bed, records[of]);
        order_bed_free(&bed);
    }
}

/* A removal that has read before a derived write removes what this has written, too. */
KW_TEST(test_removal_begins_again, "/order/marked/removal")
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    order_bed bed = bed_new();
    putting put;
    order_answer removal = {0};
    plan with = {.removals = true, .at = 1, .fate = KW_FATE_HELD};
    kw_write removes = order_removal(arena, &marked, "r", "");
    start(&bed, &put, "1", "2");
    assert_outcome(&bed, &put.answer, KW_OUTCOME_OK);
    kw_simulated_set_fate(bed.rows, fate_of, &with);
    kw_store_handle_write(bed.sync.handle, &removes, order_on_write, &removal);
    wait_until_held(&bed);
    start(&bed, &put, "5", NULL);
    assert_outcome(&bed, &put.answer, KW_OUTCOME_OK);
    kw_simulated_release(bed.rows);
    assert_outcome(&bed, &removal, KW_OUTCOME_OK);
    g_assert_cmpuint(with.calls, ==, 2);
    assert_record(&bed, "");
    order_bed_free(&bed);
}

/* The control cells of a removed record expire. */
KW_TEST(test_vanishes, "/order/marked/vanishes")
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    order_bed bed = bed_new();
    order_answer removal = {0};
    kw_write removes = order_removal(arena, &marked, "r", "");
    putting put;
    start(&bed, &put, "1", "2");
    assert_outcome(&bed, &put.answer, KW_OUTCOME_OK);
    kw_store_handle_write(bed.sync.handle, &removes, order_on_write, &removal);
    assert_outcome(&bed, &removal, KW_OUTCOME_OK);
    g_autofree char *writer = control_cell(&bed, KW_CONTROL_WRITER);
    g_assert_nonnull(writer);
    kw_simulated_follow_clock(bed.rows, 1, 1, 2 * LATE_MS + 3 * KW_ORDER_WINDOW_MS + 1000);
    order_assert_row(&bed, "old", "r", "");
    order_bed_free(&bed);
}

/* The delete of a removal got no answer, was sent again, and is applied a second time: it does not put its
 * kw:w above that of a later put. The record had no kw:g. */
KW_TEST(test_removal_twice, "/order/marked/removal-twice")
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    order_bed bed = bed_new();
    putting put, full;
    order_answer removal = {0};
    plan with = {.removals = true, .at = 1, .fate = KW_FATE_LATE};
    kw_write removes = order_removal(arena, &marked, "r", "");
    write_other(&bed, PUT);
    kw_simulated_set_fate(bed.rows, fate_of, &with);
    kw_store_handle_write(bed.sync.handle, &removes, order_on_write, &removal);
    assert_outcome(&bed, &removal, KW_OUTCOME_OK);
    g_assert_cmpuint(with.calls, ==, 2);
    hold_compare(&bed, &with);
    start(&bed, &put, "5", NULL);
    wait_until_held(&bed);
    start(&bed, &full, "8", "9"); /* waits for the first one */
    write_other(&bed, PUT);
    kw_simulated_apply_late(bed.rows);
    kw_simulated_release(bed.rows);
    assert_outcome(&bed, &put.answer, KW_OUTCOME_OK);
    g_assert_cmpuint(put.toy.derived, ==, 2);
    assert_hint(&bed, "5/7");
    assert_outcome(&bed, &full.answer, KW_OUTCOME_OK);
    assert_record(&bed, "a=8 b=9");
    order_bed_free(&bed);
}

/* The answer of a delete is lost. kw:g shows that the delete was applied. */
KW_TEST(test_removal_in_doubt, "/order/marked/removal-in-doubt")
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    order_bed bed = bed_new();
    putting put;
    order_answer removal = {0};
    plan with = {.removals = true, .at = 1, .fate = KW_FATE_LOST};
    kw_write removes = order_removal(arena, &marked, "r", "a");
    start(&bed, &put, "1", "2");
    assert_outcome(&bed, &put.answer, KW_OUTCOME_OK);
    kw_simulated_set_fate(bed.rows, fate_of, &with);
    kw_store_handle_write(bed.sync.handle, &removes, order_on_write, &removal);
    assert_outcome(&bed, &removal, KW_OUTCOME_OK);
    assert_record(&bed, "b=2");
    order_bed_free(&bed);
}

/* The answer of a compare is lost. */
static void
lose_compare(kw_fate fate)
{
    order_bed bed = bed_new();
    putting put;
    plan with = {.at = 1, .fate = fate};
    write_other(&bed, PUT);
    kw_simulated_set_fate(bed.rows, fate_of, &with);
    start(&bed, &put, "5", NULL);
    assert_outcome(&bed, &put.answer, KW_OUTCOME_OK);
    assert_record(&bed, "a=5 b=7");
    order_bed_free(&bed);
}

KW_TEST(test_compare_in_doubt, "/order/marked/compare-in-doubt")
{
    lose_compare(KW_FATE_LOST);
    lose_compare(KW_FATE_DROPPED);
}

/* A record from before its table left kw:w: its cells can have timestamps that the store's clock has not
 * surely passed. */
KW_TEST(test_old_record, "/order/marked/old-record")
{
    order_bed bed = bed_new();
    putting put;
    int64_t ahead_ms = kw_clock_wall_ms() + SKEW_MS / 2;
    kw_simulated_put(bed.rows, "old", "r", "a", "1", ahead_ms);
    kw_simulated_put(bed.rows, "old", "r", "b", "2", ahead_ms);
    start(&bed, &put, "5", NULL);
    assert_outcome(&bed, &put.answer, KW_OUTCOME_OK);
    g_assert_cmpint(kw_clock_wall_ms(), >, ahead_ms + SKEW_MS);
    assert_record(&bed, "a=5 b=2");
    order_bed_free(&bed);
}

KW_TEST(test_ahead, "/order/marked/ahead")
{
    order_bed bed = bed_new();
    putting put;
    kw_simulated_put(bed.rows, "old", "r", "a", "1", kw_clock_wall_ms() + 100000);
    start(&bed, &put, "5", NULL);
    assert_outcome(&bed, &put.answer, KW_OUTCOME_FAILED);
    g_assert_cmpint(put.answer.written[0].error.code, ==, KW_REFUSED);
    g_assert_nonnull(strstr(put.answer.written[0].error.text, "ahead of the store's clock"));
    order_bed_free(&bed);
}
