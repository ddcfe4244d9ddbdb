/* Sequences: blocks, several gateways on one counter, the end of a range, wrap, failures of the store. */
#include "bed.h"

#include <stdlib.h>

#define SEQ "seq: {type: int, generate: {kind: sequence, block: 10}}"

KW_TEST(test_counts, "/sequence/counts")
{
    bed *self = bed_new("", SEQ);
    g_assert_true(bed_open(self, 0));
    for (int i = 1; i <= 35; i++)
        g_assert_cmpint(bed_number(self, 0, "key=a", "seq"), ==, i);
    g_assert_cmpstr(bed_fill(self, 0, "key=a seq=7"), ==, ""); /* the caller's value is kept */
    g_assert_cmpint(bed_number(self, 0, "key=a", "seq"), ==, 36);
    bed_free(self);
}

/* Each gateway has its own blocks, no number is assigned twice, and the numbers held by a gateway that
 * died are not reused. */
KW_TEST(test_gateways_share_a_counter, "/sequence/gateways")
{
    bed *self = bed_new("", SEQ);
    g_autoptr(GHashTable) seen = g_hash_table_new(g_direct_hash, g_direct_equal);
    for (int round = 0; round < 40; round++) {
        size_t gateway = (size_t)(round % BED_GATEWAYS);
        if (self->gateways[gateway].generator && round % 7 == 0)
            bed_close(self, gateway);
        g_assert_true(bed_open(self, gateway));
        for (int i = 0; i < 17; i++) {
            int64_t number = bed_number(self, gateway, "key=a", "seq");
            g_assert_true(g_hash_table_add(seen, GSIZE_TO_POINTER((gsize)number)));
        }
    }
    g_assert_cmpuint(g_hash_table_size(seen), ==, 40 * 17);
    bed_free(self);
}

KW_TEST(test_given_values, "/sequence/given")
{
    bed *self = bed_new("", "seq: {type: int, generate: {kind: sequence, given: refuse}}");
    g_assert_true(bed_open(self, 0));
    g_assert_cmpstr(bed_fill(self, 0, "key=a seq=7"), ==,
                    "INVALID: table t, field seq: the gateway generates its values; leave it out");
    g_assert_cmpstr(bed_fill(self, 0, "key=a"), ==, "seq=1");
    bed_free(self);
}

KW_TEST(test_end, "/sequence/end")
{
    bed *self = bed_new("", "seq: {type: int, generate: {kind: sequence, from: 5, to: 27, block: 10}}");
    g_assert_true(bed_open(self, 0));
    for (int i = 5; i <= 27; i++)
        g_assert_cmpint(bed_number(self, 0, "key=a", "seq"), ==, i);
    uint64_t operations = 0;
    for (int i = 0; i < 3; i++) {
        g_assert_cmpstr(bed_fill(self, 0, "key=a"), ==,
                        "LIMIT: table t, field seq: the numbers 5 to 27 are used up");
        g_assert_cmpstr(bed_allocate(self, 0, "seq", 1, ""), ==,
                        "LIMIT: table t, field seq: the numbers 5 to 27 are used up");
        if (operations)
            g_assert_cmpuint(self->plan.operations, ==,
                             operations); /* the end is known: no further call to the store */
        operations = self->plan.operations;
    }
    g_assert_true(bed_open(self, 1));
    g_assert_cmpstr(bed_fill(self, 1, "key=a"), ==,
                    "LIMIT: table t, field seq: the numbers 5 to 27 are used up");
    /* A wider range continues after the end of the old one. */
    bed_reload(self, "", "seq: {type: int, generate: {kind: sequence, from: 5, to: 100, block: 10}}");
    int64_t next = bed_number(self, 0, "key=a", "seq");
    g_assert_cmpint(next, >=, 28);
    g_assert_cmpint(next, <=, 100);
    bed_free(self);
}

KW_TEST(test_wrap, "/sequence/wrap")
{
    bed *self =
        bed_new("", "seq: {type: int, generate: {kind: sequence, from: 3, to: 9, block: 4, at_end: wrap}}");
    g_assert_true(bed_open(self, 0));
    for (int i = 0; i < 50; i++)
        g_assert_cmpint(bed_number(self, 0, "key=a", "seq"), ==, 3 + i % 7);
    bed_free(self);
}

/* A gateway is idle with numbers in its block, and another one uses up the whole range. Then both get
 * requests within one second: no number is assigned twice. */
KW_TEST(test_wrap_after_idle_time, "/sequence/wrap_after_idle_time")
{
    bed *self = bed_new("", "seq: {type: int, generate: {kind: sequence, from: 0, to: 99, block: 20, "
                            "at_end: wrap}}");
    bool seen[100] = {false};
    bed_inject_clock();
    g_assert_true(bed_open(self, 0) && bed_open(self, 1));
    g_assert_cmpint(bed_number(self, 0, "key=a", "seq"), ==, 0);
    for (int i = 0; i < 81; i++)
        bed_number(self, 1, "key=a", "seq");
    bed_pass_ms(2000);
    for (int i = 0; i < 20; i++) {
        int64_t number = bed_number(self, (size_t)i % 2, "key=a", "seq");
        g_assert_false(seen[number]);
        seen[number] = true;
    }
    bed_free(self);
    kw_clock_inject(NULL, NULL);
}

KW_TEST(test_largest_numbers, "/sequence/largest")
{
    bed *self = bed_new(
        "",
        "seq: {type: int, generate: {kind: sequence, from: 9223372036854775805, to: 9223372036854775807}}\n"
        "all: {type: int, generate: {kind: sequence, from: 0}}");
    g_assert_true(bed_open(self, 0));
    g_assert_cmpstr(bed_fill(self, 0, "key=a"), ==, "seq=9223372036854775805 all=0");
    g_assert_cmpstr(bed_fill(self, 0, "key=a"), ==, "seq=9223372036854775806 all=1");
    g_assert_cmpstr(bed_fill(self, 0, "key=a"), ==, "seq=9223372036854775807 all=2");
    g_assert_cmpstr(
        bed_fill(self, 0, "key=a"), ==,
        "LIMIT: table t, field seq: the numbers 9223372036854775805 to 9223372036854775807 are used up");
    bed_free(self);
}

KW_TEST(test_allocate, "/sequence/allocate")
{
    bed *self = bed_new("", "seq: {type: int, generate: {kind: sequence, to: 1000, block: 10}}\n"
                            "ring: {type: int, generate: {kind: sequence, to: 8, block: 3, at_end: wrap}}\n"
                            "id: {type: string, generate: uuid4}\nplain: int");
    g_assert_true(bed_open(self, 0));
    g_assert_cmpstr(bed_allocate(self, 0, "seq", 100, ""), ==, "1+100");
    g_assert_cmpint(bed_number(self, 0, "key=a", "seq"), ==, 101);
    g_assert_cmpstr(bed_allocate(self, 0, "seq", 3, ""), ==, "102+3"); /* from the current block */
    g_assert_cmpstr(bed_allocate(self, 0, "seq", 800, ""), ==, "111+800");
    g_assert_cmpstr(bed_allocate(self, 0, "seq", 200, ""), ==, "911+90"); /* the remaining numbers */
    g_assert_cmpstr(bed_allocate(self, 0, "seq", 200, ""), ==,
                    "LIMIT: table t, field seq: the numbers 1 to 1000 are used up");
    g_assert_cmpstr(bed_allocate(self, 0, "seq", 1001, ""), ==,
                    "LIMIT: table t, field seq: there are only 1000 numbers");
    g_assert_cmpstr(bed_allocate(self, 0, "ring", 6, ""), ==, "4+5"); /* the put allocated 1 to 3 */
    g_assert_cmpstr(bed_allocate(self, 0, "id", 1, ""), ==,
                    "INVALID: table t, field id: is neither a sequence nor a snowflake");
    g_assert_cmpstr(bed_allocate(self, 0, "plain", 1, ""), ==,
                    "INVALID: table t, field plain: is neither a sequence nor a snowflake");
    g_assert_cmpstr(bed_allocate(self, 0, "seq", 0, ""), ==,
                    "INVALID: table t, field seq: 0 numbers at once; 1 to 1000000000 are allowed");
    bed_free(self);
}

/* The counter has reached the end of the range, and the last numbers are in the current block: they are
 * assigned before any call is rejected. */
KW_TEST(test_allocate_last, "/sequence/allocate_last")
{
    bed *self = bed_new("", "seq: {type: int, generate: {kind: sequence, to: 10, block: 10}}");
    g_assert_true(bed_open(self, 0));
    g_assert_cmpint(bed_number(self, 0, "key=a", "seq"), ==, 1);
    g_assert_cmpstr(bed_allocate(self, 0, "seq", 5, ""), ==, "2+5");
    g_assert_cmpstr(bed_allocate(self, 0, "seq", 5, ""), ==, "7+4");
    g_assert_cmpstr(bed_allocate(self, 0, "seq", 5, ""), ==,
                    "LIMIT: table t, field seq: the numbers 1 to 10 are used up");
    bed_free(self);
}

/* --- many at once ------------------------------------------------------------------------------------- */

typedef struct waiters {
    size_t open;
    bool done;
} waiters;

static void
one_done(void *user)
{
    waiters *all = user;
    all->done = --all->open == 0;
}

/* One call with many records fetches one block for all of them; many waiting calls are served in their
 * order. */
KW_TEST(test_one_block_per_call, "/sequence/one_block")
{
    bed *self = bed_new("", SEQ);
    g_assert_true(bed_open(self, 0));
    waiters all = {.open = 1};
    kw_filling *fillings = KW_ARENA_ARRAY(self->arena, kw_filling, 1000);
    for (size_t i = 0; i < 1000; i++)
        fillings[i].values = bed_record(self, "key=a");
    fillings[500].error.code = KW_INVALID; /* already failed: skipped */
    uint64_t before = self->plan.operations;
    kw_generator_fill(self->gateways[0].generator, self->arena, self->table, fillings, 1000,
                      kw_deadline_in_ms(BED_PATIENCE_MS), one_done, &all);
    bed_run_until(self, &all.done);
    g_assert_cmpuint(self->plan.operations - before, <=,
                     3); /* the first block, one for all records, one ahead */
    int field = kw_table_find_field(self->table, KW_BYTES_LITERAL("seq"));
    int64_t expected = 1;
    for (size_t i = 0; i < 1000; i++) {
        g_assert_true((fillings[i].generated == NULL) == (i == 500));
        if (i != 500)
            g_assert_cmpint(fillings[i].values[field].number, ==, expected++);
    }
    bed_free(self);
}

KW_TEST(test_queue_order, "/sequence/queue_order")
{
    bed *self = bed_new("", SEQ);
    g_assert_true(bed_open(self, 0));
    waiters all = {.open = 300};
    kw_filling *fillings = KW_ARENA_ARRAY(self->arena, kw_filling, 300);
    for (size_t i = 0; i < 300; i++) {
        fillings[i].values = bed_record(self, "key=a");
        kw_generator_fill(self->gateways[0].generator, self->arena, self->table, &fillings[i], 1,
                          kw_deadline_in_ms(BED_PATIENCE_MS), one_done, &all);
    }
    bed_run_until(self, &all.done);
    int field = kw_table_find_field(self->table, KW_BYTES_LITERAL("seq"));
    for (size_t i = 0; i < 300; i++)
        g_assert_cmpint(fillings[i].values[field].number, ==, (int64_t)i + 1);
    bed_free(self);
}

/* --- failures ----------------------------------------------------------------------------------------- */

/* Whichever operation fails, and however it fails: all numbers are assigned, none of them twice. */
KW_TEST(test_faults, "/sequence/faults")
{
    static const kw_fault faults[] = {KW_FAULT_FAILED, KW_FAULT_UNKNOWN_APPLIED, KW_FAULT_UNKNOWN_LOST,
                                      KW_FAULT_TIMEOUT};
    for (size_t kind = 0; kind < G_N_ELEMENTS(faults); kind++) {
        bool failed = true;
        for (uint64_t n = 1; failed; n++) {
            bed *self = bed_new("", SEQ);
            g_autoptr(GHashTable) seen = g_hash_table_new(g_direct_hash, g_direct_equal);
            g_assert_true(bed_open(self, 0));
            self->plan.failed = 0;
            self->plan.fault = (int)faults[kind];
            self->plan.fail_at = n;
            for (int i = 0; i < 25; i++)
                g_assert_true(
                    g_hash_table_add(seen, GSIZE_TO_POINTER((gsize)bed_number(self, 0, "key=a", "seq"))));
            failed = self->plan.failed > 0;
            bed_free(self);
        }
    }
}

KW_TEST(test_refused_by_store, "/sequence/refused")
{
    bed *self = bed_new("", SEQ);
    g_assert_true(bed_open(self, 0));
    self->control->fail_at = self->control->operations + 1;
    self->control->fail_code = KW_REFUSED;
    const char *reply = bed_fill(self, 0, "key=a");
    g_assert_true(g_str_has_prefix(reply, "REFUSED: table t, field seq: its counter: "));
    g_assert_cmpstr(bed_fill(self, 0, "key=a"), ==, "seq=1");
    bed_free(self);
}

KW_TEST(test_deadline, "/sequence/deadline")
{
    bed *self = bed_new("", SEQ);
    g_assert_true(bed_open(self, 0));
    self->control->never_answer = true;
    waiters all = {.open = 1};
    kw_filling *filling = KW_ARENA_NEW(self->arena, kw_filling);
    filling->values = bed_record(self, "key=a");
    kw_generator_fill(self->gateways[0].generator, self->arena, self->table, filling, 1,
                      kw_deadline_in_ms(30), one_done, &all);
    g_assert_false(all.done);
    bed_run_until(self, &all.done);
    g_assert_cmpint(filling->error.code, ==, KW_TIMEOUT);
    g_assert_cmpstr(filling->error.text, ==, "table t, field seq: no number within the deadline");
    bed_free(self);
}

/* Calls that wait when the gateway closes fail. */
KW_TEST(test_close, "/sequence/close")
{
    bed *self = bed_new("", SEQ);
    g_assert_true(bed_open(self, 0));
    self->control->never_answer = true;
    waiters all = {.open = 2};
    kw_filling *fillings = KW_ARENA_ARRAY(self->arena, kw_filling, 2);
    for (size_t i = 0; i < 2; i++) {
        fillings[i].values = bed_record(self, "key=a");
        kw_generator_fill(self->gateways[0].generator, self->arena, self->table, &fillings[i], 1,
                          KW_DEADLINE_NONE, one_done, &all);
    }
    bed_close(self, 0);
    g_assert_true(all.done);
    g_assert_cmpint(fillings[1].error.code, ==, KW_UNAVAILABLE);
    bed_free(self);
}

/* The stored counter was damaged. */
KW_TEST(test_damaged_counter, "/sequence/damaged")
{
    bed *self = bed_new("", SEQ);
    g_assert_true(bed_open(self, 0));
    uint8_t value[8];
    kw_be64_store(value, (uint64_t)-5);
    kw_cell cell = {.family = KW_BYTES_LITERAL("n"), .qualifier = KW_BYTES_LITERAL("n"), .value = {value, 8}};
    kw_write write = {.kind = KW_WRITE_PUT,
                      .table = KW_BYTES_LITERAL("keyway_sequences"),
                      .row = KW_BYTES_LITERAL("t/seq"),
                      .cells = &cell,
                      .cells_count = 1,
                      .timestamp = KW_TIMESTAMP_NONE,
                      .deadline = KW_DEADLINE_NONE};
    bed_write(self, &write);
    g_assert_cmpstr(bed_fill(self, 0, "key=a"), ==,
                    "CORRUPT: table t, field seq: its counter is at 5, which is not a valid count");
    bed_free(self);
}
