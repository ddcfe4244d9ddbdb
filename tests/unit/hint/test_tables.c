/* What a write of a record means for its hint paths, the steps of each write, and when a hint can be cleaned.
 */
#include "hint/claim.h"
#include "hint/clean.h"
#include "hint/page.h"
#include "hint/program.h"
#include "hint/tuple.h"

#include <glib.h>
#include <string.h>

#define STATUS 1u
#define CREATED 2u
#define BUYER 4u
#define AMOUNT 8u

/* --- tuples ----------------------------------------------------------------------------------------- */

KW_TEST(test_parts, "/hint/tables/parts")
{
    g_assert_cmpint(kw_hint_part_of(STATUS | CREATED, STATUS | CREATED | AMOUNT), ==, KW_HINT_FULL);
    g_assert_cmpint(kw_hint_part_of(STATUS | CREATED, STATUS | AMOUNT), ==, KW_HINT_PARTIAL);
    g_assert_cmpint(kw_hint_part_of(STATUS | CREATED, AMOUNT), ==, KW_HINT_OUTSIDE);
}

/* Paths that share a field are touched together. */
KW_TEST(test_puts, "/hint/tables/puts")
{
    const kw_hint_fields tuples[] = {STATUS | CREATED, CREATED | BUYER, AMOUNT};
    kw_hint_put status = kw_hint_put_of(tuples, 3, STATUS), amount = kw_hint_put_of(tuples, 3, AMOUNT);
    kw_hint_put all = kw_hint_put_of(tuples, 3, STATUS | CREATED | BUYER),
                none = kw_hint_put_of(tuples, 3, 16);
    kw_hint_put both = kw_hint_put_of(tuples, 3, STATUS | CREATED);
    g_assert_true(status.part == KW_HINT_PARTIAL && status.touched == (STATUS | CREATED | BUYER));
    g_assert_true(both.part == KW_HINT_PARTIAL && both.touched == (STATUS | CREATED | BUYER));
    g_assert_true(amount.part == KW_HINT_FULL && amount.touched == AMOUNT);
    g_assert_true(all.part == KW_HINT_FULL && all.touched == (STATUS | CREATED | BUYER));
    g_assert_true(none.part == KW_HINT_OUTSIDE && none.touched == 0);
    kw_hint_put mixed = kw_hint_put_of(tuples, 3, AMOUNT | STATUS);
    g_assert_true(mixed.part == KW_HINT_PARTIAL && mixed.touched == (STATUS | CREATED | BUYER | AMOUNT));
    g_assert_cmpint(kw_hint_put_of(NULL, 0, STATUS).part, ==, KW_HINT_OUTSIDE);
}

static kw_hint_mutation
mutation(unsigned field, kw_hint_fields seen, kw_write_order order)
{
    kw_hint_put put = {.part = KW_HINT_PARTIAL, .touched = STATUS | CREATED};
    return kw_hint_mutation_of(put, field, STATUS | AMOUNT, seen, order);
}

KW_TEST(test_mutations, "/hint/tables/mutations")
{
    g_assert_cmpint(mutation(0, 0, KW_WRITE_ORDER_STORE), ==, KW_HINT_WRITE_GIVEN);
    g_assert_cmpint(mutation(1, CREATED, KW_WRITE_ORDER_STORE), ==, KW_HINT_WRITE_SEEN);
    g_assert_cmpint(mutation(1, 0, KW_WRITE_ORDER_STORE), ==, KW_HINT_LEAVE);
    g_assert_cmpint(mutation(1, 0, KW_WRITE_ORDER_STAMP), ==, KW_HINT_WRITE_GONE);
    g_assert_cmpint(mutation(2, BUYER, KW_WRITE_ORDER_STAMP), ==, KW_HINT_LEAVE);
    g_assert_cmpint(mutation(3, 0, KW_WRITE_ORDER_STAMP), ==, KW_HINT_WRITE_GIVEN);
    kw_hint_put full = {.part = KW_HINT_FULL, .touched = STATUS};
    g_assert_cmpint(kw_hint_mutation_of(full, 1, STATUS, 0, KW_WRITE_ORDER_STAMP), ==, KW_HINT_LEAVE);
    g_assert_cmpint(kw_hint_gone_until(1000), ==, 999);
}

KW_TEST(test_needed, "/hint/tables/needed")
{
    const kw_hint_fields tuple = STATUS | CREATED;
    g_assert_true(kw_hint_is_needed(tuple, 0, tuple, 0, false));
    g_assert_true(kw_hint_is_needed(tuple, tuple, STATUS, STATUS, false));
    g_assert_true(kw_hint_is_needed(tuple, CREATED, STATUS, STATUS, false));
    g_assert_false(kw_hint_is_needed(tuple, tuple, STATUS, 0, false));
    g_assert_true(kw_hint_is_needed(tuple, tuple, STATUS, 0, true));
    g_assert_false(kw_hint_is_needed(tuple, 0, STATUS, STATUS, true));
    g_assert_false(kw_hint_is_needed(tuple, tuple, AMOUNT, AMOUNT, false));
}

/* --- programs --------------------------------------------------------------------------------------- */

static int
place_of(const kw_hint_program *program, kw_hint_step step)
{
    for (int i = 0; i < KW_HINT_STEPS_MAX && program->steps[i]; i++)
        if (program->steps[i] == step)
            return i;
    return -1;
}

/* Hints come before every step that writes the row, the stamp right before it, and it is the last one. */
static void
check_program(kw_write_order order, kw_hint_operation operation)
{
    const kw_hint_program program = kw_hint_program_of(order, operation, true);
    int count = 0, compare = place_of(&program, KW_HINT_STEP_COMPARE);
    while (program.steps[count])
        count++;
    g_assert_cmpint(count, >, 0);
    g_assert_cmpint(count, <, KW_HINT_STEPS_MAX);
    kw_hint_next doubtful = kw_hint_next_after(program.steps[count - 1], KW_HINT_REPLY_DOUBTFUL);
    g_assert_cmpint(doubtful, ==, KW_HINT_NEXT_UNKNOWN);
    for (int i = 0; i + 1 < count; i++) {
        g_assert_cmpint(kw_hint_next_after(program.steps[i], KW_HINT_REPLY_DOUBTFUL), ==,
                        KW_HINT_NEXT_FAILED);
        g_assert_cmpint(kw_hint_next_after(program.steps[i], KW_HINT_REPLY_FAILED), ==, KW_HINT_NEXT_FAILED);
    }
    if (order == KW_WRITE_ORDER_STAMP)
        g_assert_cmpint(place_of(&program, KW_HINT_STEP_STAMP), ==, count - 2);
    g_assert_true(compare < 0 || (compare == count - 1 && program.steps[0] == KW_HINT_STEP_READ));
    g_assert_true(program.leaves_writer);
    g_assert_true(compare < 0 || program.needs_atomics);
    g_assert_true(!program.leaves_generation || program.needs_atomics);
}

KW_TEST(test_programs, "/hint/tables/programs")
{
    for (kw_hint_operation operation = 0; operation < KW_HINT_OPERATIONS; operation++) {
        check_program(KW_WRITE_ORDER_STORE, operation);
        check_program(KW_WRITE_ORDER_STAMP, operation);
        g_assert_false(kw_hint_program_of(KW_WRITE_ORDER_STORE, operation, false).leaves_writer);
    }
    for (kw_write_order order = KW_WRITE_ORDER_STORE; order <= KW_WRITE_ORDER_STAMP; order++) {
        kw_hint_program partial = kw_hint_program_of(order, KW_HINT_PUT_IF_PARTIAL, true);
        kw_hint_program increment = kw_hint_program_of(order, KW_HINT_INCREMENT, true);
        g_assert_true(memcmp(&partial, &increment, sizeof partial) == 0);
    }
}

KW_TEST(test_replies, "/hint/tables/replies")
{
    g_assert_cmpint(kw_hint_next_after(KW_HINT_STEP_HINTS, KW_HINT_REPLY_OK), ==, KW_HINT_NEXT_STEP);
    g_assert_cmpint(kw_hint_next_after(KW_HINT_STEP_REMOVE, KW_HINT_REPLY_NOT_MET), ==, KW_HINT_NEXT_AGAIN);
    g_assert_cmpint(kw_hint_next_after(KW_HINT_STEP_COMPARE, KW_HINT_REPLY_NOT_MET), ==, KW_HINT_NEXT_AGAIN);
    g_assert_cmpint(kw_hint_next_after(KW_HINT_STEP_NATIVE, KW_HINT_REPLY_NOT_MET), ==, KW_HINT_NEXT_NOT_MET);
    g_assert_cmpint(kw_hint_next_after(KW_HINT_STEP_PUT, KW_HINT_REPLY_FAILED), ==, KW_HINT_NEXT_FAILED);
}

/* --- the cleaner ------------------------------------------------------------------------------------ */

static const kw_hint_limits limits = {
    .window_ms = 30, .late_ms = 40, .clock_difference_ms = 30, .keep_ms = 600};

KW_TEST(test_age, "/hint/tables/age")
{
    kw_hint_limits unknown = limits;
    unknown.late_ms = KW_HINT_NO_TIME;
    g_assert_cmpint(kw_hint_grace_ms(&limits), ==, 100);
    g_assert_cmpint(kw_hint_grace_ms(&unknown), ==, KW_HINT_NO_TIME);
    g_assert_true(kw_hint_is_old(1000, 1101, &limits));
    g_assert_false(kw_hint_is_old(1000, 1100, &limits));
    g_assert_false(kw_hint_is_old(1000, KW_HINT_NO_TIME, &limits));
    g_assert_false(kw_hint_is_old(1000, 5000, &unknown));
}

KW_TEST(test_cleaning, "/hint/tables/cleaning")
{
    kw_hint_facts facts = {.hint_ms = 1000, .earliest_ms = 2000, .newest_ms = 1399};
    g_assert_true(kw_hint_can_be_cleaned(&facts, &limits));
    facts.newest_ms = 1400;
    g_assert_false(kw_hint_can_be_cleaned(&facts, &limits));
    facts.newest_ms = INT64_MAX;
    g_assert_false(kw_hint_can_be_cleaned(&facts, &limits));
    facts.newest_ms = KW_HINT_NO_TIME;
    g_assert_true(kw_hint_can_be_cleaned(&facts, &limits));
    facts.has_tuple = true;
    g_assert_false(kw_hint_can_be_cleaned(&facts, &limits));
    facts.has_tuple = false;
    facts.earliest_ms = KW_HINT_NO_TIME;
    g_assert_false(kw_hint_can_be_cleaned(&facts, &limits));
}

KW_TEST(test_lag, "/hint/tables/lag")
{
    kw_hint_facts facts = {.hint_ms = 1000, .earliest_ms = 2000, .newest_ms = 1399};
    kw_hint_limits lagging = limits;
    lagging.lag_ms = kw_hint_lag_ms(KW_WRITE_ORDER_STORE, 20, 30, 40);
    g_assert_cmpint(lagging.lag_ms, ==, 20);
    g_assert_cmpint(kw_hint_lag_ms(KW_WRITE_ORDER_STAMP, 20, 30, 40), ==, 90);
    g_assert_false(kw_hint_can_be_cleaned(&facts, &lagging));
    facts.newest_ms = 1379;
    g_assert_true(kw_hint_can_be_cleaned(&facts, &lagging));
}

KW_TEST(test_expiry, "/hint/tables/expiry")
{
    const int64_t ttls_s[] = {60, 3600, 0};
    g_assert_cmpint(kw_hint_ttl_s(ttls_s, 2, false), ==, 3600 + 86400);
    g_assert_cmpint(kw_hint_ttl_s(ttls_s, 3, false), ==, 0);
    g_assert_cmpint(kw_hint_ttl_s(ttls_s, 2, true), ==, 0);
    g_assert_cmpint(kw_hint_ttl_s(ttls_s, 0, false), ==, 0);
}

/* --- pages ------------------------------------------------------------------------------------------ */

KW_TEST(test_returned, "/hint/tables/returned")
{
    kw_hint_limits lagging = {.lag_ms = 10};
    g_assert_cmpint(kw_hint_query_start_ms(100, &lagging), ==, 90);
    kw_hint_row unmoved = {.has_tuple = true, .is_in_ranges = true, .newest_ms = 50};
    kw_hint_row moved = {.is_in_ranges = true, .newest_ms = 90}, on_page = moved, outside = moved;
    kw_hint_row after = moved, remembered = moved, stale = moved;
    g_assert_true(kw_hint_is_returned(&unmoved, 90));
    unmoved.is_remembered = true;
    g_assert_true(kw_hint_is_returned(&unmoved, 90));
    g_assert_true(kw_hint_is_returned(&moved, 90));
    on_page.is_on_page = true;
    outside.is_in_ranges = false;
    after.is_after = true;
    remembered.is_remembered = true;
    stale.newest_ms = 89;
    g_assert_false(kw_hint_is_returned(&on_page, 90));
    g_assert_false(kw_hint_is_returned(&outside, 90));
    g_assert_false(kw_hint_is_returned(&after, 90));
    g_assert_false(kw_hint_is_returned(&remembered, 90));
    g_assert_false(kw_hint_is_returned(&stale, 90));
    remembered.has_tuple = true;
    g_assert_false(kw_hint_is_returned(&remembered, 90));
}

KW_TEST(test_memory, "/hint/tables/memory")
{
    kw_hint_memory memory = {.count = 0};
    for (uint64_t hash = 1; hash <= KW_HINT_MEMORY; hash++)
        kw_hint_memory_add(&memory, hash);
    kw_hint_memory_add(&memory, 5);
    g_assert_true(kw_hint_memory_has(&memory, 1));
    kw_hint_memory_add(&memory, 1000);
    g_assert_false(kw_hint_memory_has(&memory, 1));
    g_assert_true(kw_hint_memory_has(&memory, 2) && kw_hint_memory_has(&memory, 1000));
    g_assert_cmpuint(memory.count, ==, KW_HINT_MEMORY);
}

/* --- claims ------------------------------------------------------------------------------------------ */

static kw_hint_claim_step
claim_next(kw_hint_claim_step step, bool atomics, bool is_other, bool is_old, bool holds)
{
    kw_hint_claim_facts facts = {
        .atomics = atomics, .met = true, .is_other = is_other, .is_old = is_old, .holds = holds};
    return kw_hint_claim_next(step, &facts);
}

KW_TEST(test_claims, "/hint/tables/claims")
{
    const kw_hint_claim_facts not_met = {.atomics = true};
    g_assert_cmpint(claim_next(KW_HINT_CLAIM_READ, true, false, false, false), ==, KW_HINT_CLAIM_WRITE);
    g_assert_cmpint(claim_next(KW_HINT_CLAIM_READ, true, true, false, false), ==, KW_HINT_CLAIM_LOOK);
    g_assert_cmpint(claim_next(KW_HINT_CLAIM_LOOK, true, true, false, false), ==, KW_HINT_CLAIM_FENCE);
    g_assert_cmpint(claim_next(KW_HINT_CLAIM_LOOK, true, true, true, true), ==, KW_HINT_CLAIM_REFUSED);
    g_assert_cmpint(claim_next(KW_HINT_CLAIM_LOOK, false, true, true, false), ==, KW_HINT_CLAIM_WRITE);
    g_assert_cmpint(claim_next(KW_HINT_CLAIM_LOOK, false, true, false, false), ==, KW_HINT_CLAIM_BUSY);
    g_assert_cmpint(claim_next(KW_HINT_CLAIM_FENCE, true, true, false, false), ==, KW_HINT_CLAIM_WRITE);
    g_assert_cmpint(claim_next(KW_HINT_CLAIM_WRITE, true, true, false, false), ==, KW_HINT_CLAIM_ROW);
    g_assert_cmpint(claim_next(KW_HINT_CLAIM_ROW, true, true, false, false), ==, KW_HINT_CLAIM_OK);
    for (kw_hint_claim_step step = KW_HINT_CLAIM_FENCE; step <= KW_HINT_CLAIM_ROW; step++)
        g_assert_cmpint(kw_hint_claim_next(step, &not_met), ==, KW_HINT_CLAIM_READ);
    kw_hint_facts facts = {.hint_ms = 1000, .earliest_ms = 1101, .newest_ms = 1100};
    g_assert_true(kw_hint_claim_can_be_cleaned(&facts, &limits));
    facts.has_tuple = true;
    g_assert_false(kw_hint_claim_can_be_cleaned(&facts, &limits));
    facts.has_tuple = false;
    facts.earliest_ms = 1100;
    g_assert_false(kw_hint_claim_can_be_cleaned(&facts, &limits));
}
