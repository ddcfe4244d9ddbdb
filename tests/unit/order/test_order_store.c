/* `order: store`, explored exhaustively: right with all safeguards, wrong without any one of them. */
#include "store_model.h"

#include <glib.h>

#define STATES_MAX 400000000

static explored
search(const store_model *model)
{
    explored found = store_model_explore(model, STATES_MAX);
    g_test_message("%" G_GUINT64_FORMAT " states: %s", found.states, found.wrong ? found.wrong : "right");
    return found;
}

static void
is_right(store_model model)
{
    model.calls = (int)explore_bound((uint64_t)model.calls, (uint64_t)model.calls + 1);
    explored found = search(&model);
    g_assert_true(found.complete);
    g_assert_null(found.wrong);
}

static void
is_wrong(store_model model)
{
    explored found = search(&model);
    g_assert_nonnull(found.wrong);
    g_free(found.wrong);
}

#define PLAIN (STORE_PUT | STORE_REMOVE | STORE_GET)
#define COMPARED (PLAIN | STORE_PUT_IF)
#define COUNTED (STORE_INCREMENT | STORE_PUT_COUNTER | STORE_REMOVE | STORE_GET)
#define MIXED (STORE_INCREMENT | STORE_PUT | STORE_PUT_WITH_COUNTER)

/* --- puts and removals ------------------------------------------------------------------------ */

static const store_model plain = {.kinds = PLAIN, .calls = 4, .callers = 2, .ticks = 2};

KW_TEST(test_plain, "/order/store/puts-and-removals")
{
    is_right(plain);
    is_right((store_model){.kinds = PLAIN, .calls = 3, .callers = 3, .ticks = 2, .unknown = 1});
    is_right((store_model){.kinds = PLAIN, .calls = 3, .callers = 2, .ticks = 3, .unknown = 2});
}

KW_TEST(test_plain_without_safeguards, "/order/store/removal-unstamped-or-at-once-is-wrong")
{
    store_model unstamped = plain, at_once = plain;
    unstamped.delete_unstamped = true;
    is_wrong(unstamped);
    at_once.no_wait = true;
    is_wrong(at_once);
}

/* A delete with unknown outcome is sent again with the same timestamp. If it started again with a get, it
 * would remove later puts. */
KW_TEST(test_delete_sent_again, "/order/store/delete-repeated-from-its-get-is-wrong")
{
    store_model again = plain;
    again.no_generation = true;
    is_right(again);
    again.repeat_from_get = true;
    is_wrong(again);
}

/* Behaviour of HBase itself that breaks the promise; the manual mentions it. */
KW_TEST(test_what_hbase_does, "/order/store/region-with-slow-clock-and-put-repeated-are-wrong")
{
    store_model moved = plain, repeated = plain;
    moved.moves_back = true;
    is_wrong(moved);
    repeated.repeats_put = true;
    is_wrong(repeated);
}

/* --- promises for a whole record -------------------------------------------------------------- */

/* A removal can reach one field before another while a put of part of the record is in progress. */
KW_TEST(test_parts, "/order/store/parts-of-a-record")
{
    store_model parts = {.kinds = STORE_PUT | STORE_PUT_BOTH | STORE_REMOVE | STORE_REMOVE_FIELD | STORE_GET,
                         .calls = 4,
                         .callers = 2,
                         .ticks = 2};
    is_right(parts);
    parts.kinds &= ~(unsigned)STORE_REMOVE_FIELD;
    parts.promise = STORE_RECORD;
    is_right(parts);
    parts.promise = STORE_WHOLE;
    is_wrong(parts);
    parts.kinds = STORE_PUT_BOTH | STORE_REMOVE | STORE_GET; /* whole records: one step */
    is_right(parts);
}

/* --- comparisons ------------------------------------------------------------------------------ */

static const store_model compared = {.kinds = COMPARED, .calls = 4, .callers = 2, .ticks = 2};

KW_TEST(test_compared, "/order/store/comparisons")
{
    is_right(compared);
    is_right((store_model){.kinds = COMPARED, .calls = 3, .callers = 3, .ticks = 1, .unknown = 1});
    is_right((store_model){
        .kinds = STORE_PUT_IF | STORE_REMOVE_FIELD | STORE_GET, .calls = 4, .callers = 2, .ticks = 2});
}

KW_TEST(test_compared_without_generation, "/order/store/comparison-without-generation-is-wrong")
{
    store_model bare = compared;
    bare.no_generation = true;
    is_wrong(bare);
}

/* HBase's client can send a comparison again, and returns the result of the second one. */
KW_TEST(test_compared_again, "/order/store/comparison-sent-again")
{
    store_model again = compared;
    again.repeats_compare = true;
    again.unknown = 1;
    again.calls = 3;
    is_right(again);
    again.believe_refusals = true;
    is_wrong(again);
    again.kinds = PLAIN | STORE_INCREMENT; /* the removal's comparison of kw:g */
    again.calls = 4;
    is_wrong(again);
    again.believe_refusals = false;
    again.calls = 3;
    is_right(again);
}

/* --- counters --------------------------------------------------------------------------------- */

static const store_model counted = {.kinds = COUNTED, .calls = 4, .callers = 2, .ticks = 2};

KW_TEST(test_counters, "/order/store/counters")
{
    is_right(counted);
    is_right((store_model){.kinds = COUNTED, .calls = 3, .callers = 2, .ticks = 2, .unknown = 1});
}

KW_TEST(test_counters_without_safeguards, "/order/store/counters-without-safeguards-are-wrong")
{
    store_model bare = counted, plain_put = counted, at_once = counted;
    bare.no_generation = true;
    is_wrong(bare);
    plain_put.plain_counter_put = true;
    is_wrong(plain_put);
    at_once.no_wait = true;
    is_wrong(at_once);
}

/* A put of a counter and other fields writes all of them with the same timestamp. It must not be ahead of the
 * clock that stamps later puts of the other fields. */
KW_TEST(test_mixed_put, "/order/store/put-with-counter")
{
    store_model mixed = {.kinds = MIXED, .calls = 4, .callers = 2, .ticks = 2}, valued;
    is_right(mixed);
    mixed.calls = 5;
    valued = mixed;
    valued.kinds |= STORE_REMOVE;
    mixed.eager_counter_put = true;
    is_wrong(mixed);
    valued.value_counter_put =
        true; /* the counter can have its old value again after others have changed it */
    if (explore_bound(0, 1))
        is_wrong(valued);
}

KW_TEST(test_comparison_of_counter, "/order/store/comparison-of-counter")
{
    store_model comparison = {.kinds = STORE_INCREMENT | STORE_PUT | STORE_PUT_IF_COUNTER | STORE_GET,
                              .calls = 4,
                              .callers = 2,
                              .ticks = 2};
    comparison.promise = STORE_RECORD;
    is_right(comparison);
    comparison.calls = 5;
    comparison.native_counter_if = true;
    comparison.kinds &= ~(unsigned)STORE_GET;
    is_wrong(comparison);
}

/* The gateway rejects this: the counter could be ahead of the put. */
KW_TEST(test_comparison_writes_counter, "/order/store/comparison-that-writes-counter-is-wrong")
{
    store_model model = {
        .kinds = STORE_INCREMENT | STORE_PUT_IF_TO_COUNTER, .calls = 4, .callers = 2, .ticks = 2};
    is_wrong(model);
}

/* The removal of a field also uses kw:g's timestamp: otherwise the id of a comparison would be hidden. */
KW_TEST(test_field_of_record_with_counter, "/order/store/field-of-record-with-counter")
{
    store_model model = {.kinds = STORE_INCREMENT | STORE_PUT_IF | STORE_REMOVE_FIELD | STORE_GET,
                         .calls = 5,
                         .callers = 2,
                         .ticks = 1};
    is_right(model);
    model.short_removal = true;
    is_wrong(model);
}
