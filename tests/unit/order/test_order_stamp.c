/* `order: stamp`, explored exhaustively: right with all safeguards and any error of the clock, wrong without
 * any one of them. */
#include "stamp_model.h"

#include <glib.h>

#define STATES_MAX 400000000
#define WHOLE_ROWS (STAMP_PUT | STAMP_REMOVE | STAMP_GET)
#define PARTS (WHOLE_ROWS | STAMP_PUT_BOTH | STAMP_REMOVE_FIELD | STAMP_GET_FIELD)

static explored
search(const stamp_model *model)
{
    explored found = stamp_model_explore(model, STATES_MAX);
    g_test_message("%" G_GUINT64_FORMAT " states: %s", found.states, found.wrong ? found.wrong : "right");
    return found;
}

static void
is_right(stamp_model model)
{
    model.calls = (int)explore_bound((uint64_t)model.calls, (uint64_t)model.calls + 1);
    explored found = search(&model);
    g_assert_true(found.complete);
    g_assert_null(found.wrong);
}

static void
is_wrong(stamp_model model)
{
    explored found = search(&model);
    g_assert_nonnull(found.wrong);
    g_free(found.wrong);
}

static const stamp_model one = {
    .kinds = WHOLE_ROWS, .calls = 4, .callers = 2, .ticks = 2, .placements = 1, .error = 1};

KW_TEST(test_one_placement, "/order/stamp/one-placement")
{
    for (int error = 0; error <= 2; error++) {
        stamp_model model = one;
        model.error = error;
        is_right(model);
        model.callers = model.calls = 3;
        is_right(model);
    }
}

KW_TEST(test_two_placements, "/order/stamp/two-placements")
{
    for (int error = 0; error <= 2; error++) {
        stamp_model model = one;
        model.error = error;
        model.calls = 3;
        model.placements = 2;
        is_right(model);
    }
}

KW_TEST(test_unknown_outcomes, "/order/stamp/unknown-outcomes")
{
    stamp_model late = one, in_doubt = one;
    late.calls = 3;
    late.unknown = 1;
    is_right(late);
    in_doubt.doubts = 1;
    in_doubt.calls = 3;
    in_doubt.placements = 2;
    is_right(in_doubt);
}

KW_TEST(test_parts_of_a_record, "/order/stamp/parts-of-a-record")
{
    stamp_model parts = one, both = one;
    parts.kinds = PARTS;
    parts.calls = 3;
    is_right(parts);
    parts.placements = 2;
    is_right(parts);
    both.kinds = STAMP_PUT_BOTH | STAMP_REMOVE | STAMP_GET; /* whole records: one step */
    both.whole = true;
    is_right(both);
    both.kinds = STAMP_PUT_BOTH | STAMP_PUT | STAMP_GET;
    is_wrong(both);
}

KW_TEST(test_no_waiting, "/order/stamp/not-waiting-is-wrong")
{
    stamp_model writes = one, reads = one;
    writes.eager_writes = true;
    is_wrong(writes);
    reads.eager_reads = true;
    is_wrong(reads);
}

KW_TEST(test_gone_cells, "/order/stamp/without-gone-cells-is-wrong")
{
    stamp_model none = one, low = one, early = one, part = one;
    none.no_gone = true;
    is_wrong(none);
    low.gone_too_low = true;
    is_wrong(low);
    early.early_removal = true;
    is_wrong(early);
    part.kinds = PARTS;
    part.short_read = true;
    is_wrong(part);
}

KW_TEST(test_each_row_its_own_stamp, "/order/stamp/no-common-stamp-is-wrong")
{
    stamp_model none = one;
    none.placements = 2;
    none.no_stamp = true;
    is_wrong(none);
}

/* The first attempt can arrive after the answer to the second. If two puts have the same millisecond, the
 * first attempt of the one that lost would then win. A removal can be sent again. */
KW_TEST(test_sent_again, "/order/stamp/put-sent-again-is-wrong")
{
    stamp_model again = one;
    again.repeats = 1;
    is_right(again);
    again.repeats_puts = true;
    is_wrong(again);
}

/* A compaction drops delete markers: late puts and removals that were sent twice still do not show removed
 * values. */
KW_TEST(test_compactions, "/order/stamp/compactions")
{
    stamp_model dropped = one;
    dropped.calls = 3;
    dropped.unknown = dropped.purges = dropped.repeats = 1;
    is_right(dropped);
}
