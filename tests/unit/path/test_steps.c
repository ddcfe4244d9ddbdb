/* The rows of a record are written in the order of its placements' roles: a row of a later step only after
 * those of the earlier steps were written. The store is store/order over a memory store. */
#include "store/order/order.h"
#include "two_placements.h"

static const kw_order_settings settings = {.clock_width_ms = 50, .max_clock_skew_ms = 20, .late_ms = 1000};
static const kw_role first = {1, 1, false, false}, second = {2, 2, true, true};

typedef struct bed {
    desk *desk;
    kw_store *memory;
    kw_memory_control *control;
} bed;

/* Writes have callers' timestamps, which the clock has passed, so that they are written at once. */
static bed
bed_new(void)
{
    bed self = {.memory = kw_memory_store_open()};
    kw_memory_store_share(self.memory);
    self.control = kw_memory_store_control(self.memory);
    self.desk = desk_new_over(kw_order_store_new(self.memory, &settings), two_rules);
    self.desk->options = (kw_write_options){.has_timestamp = true, .timestamp = 1700000000000};
    return self;
}

typedef struct failure {
    const char *what;
    uint64_t at;  /* the operation that fails, counted from the put; 0: none */
    bool applied; /* it is applied all the same, and its outcome is unknown */
    kw_outcome outcome;
    size_t fresh, old; /* rows afterwards */
} failure;

static const failure failures[] = {
    {"none", 0, false, KW_OUTCOME_OK, 1, 1},
    {"the first row certainly not written", 1, false, KW_OUTCOME_FAILED, 0, 0},
    {"the first row possibly written", 1, true, KW_OUTCOME_UNKNOWN, 1, 0},
    {"the second row certainly not written", 2, false, KW_OUTCOME_UNKNOWN, 1, 0},
    {"the second row possibly written", 2, true, KW_OUTCOME_UNKNOWN, 1, 1},
};

static void
set_failure(bed *self, const failure *expected)
{
    self->control->fail_at = expected->at ? self->control->operations + expected->at : 0;
    self->control->fail_applied = expected->applied;
}

KW_TEST(test_put, "/path/steps/put")
{
    for (size_t i = 0; i < G_N_ELEMENTS(failures); i++) {
        bed self = bed_new();
        g_test_message("%s", failures[i].what);
        two_placements(self.desk, first, second);
        set_failure(&self, &failures[i]);
        const kw_written_record *written = desk_put(self.desk, "now", "id=a n=7");
        g_assert_cmpint(written->outcome, ==, failures[i].outcome);
        g_assert_cmpint(written->error.code == KW_OK, ==, failures[i].at == 0);
        g_assert_cmpint(written->error.maybe_applied, ==, failures[i].outcome == KW_OUTCOME_UNKNOWN);
        g_assert_cmpuint(kw_memory_store_rows(self.memory, "now"), ==, failures[i].fresh);
        g_assert_cmpuint(kw_memory_store_rows(self.memory, "then"), ==, failures[i].old);
        desk_free(self.desk);
    }
}

/* The roles determine which row is first, not the order of the placements. */
KW_TEST(test_other_order, "/path/steps/other order")
{
    bed self = bed_new();
    two_placements(self.desk, second, first);
    set_failure(&self, &failures[3]);
    g_assert_cmpint(desk_put(self.desk, "now", "id=a n=7")->outcome, ==, KW_OUTCOME_UNKNOWN);
    g_assert_cmpuint(kw_memory_store_rows(self.memory, "then"), ==, 1);
    g_assert_cmpuint(kw_memory_store_rows(self.memory, "now"), ==, 0);
    desk_free(self.desk);
}

KW_TEST(test_remove, "/path/steps/remove")
{
    bed self = bed_new();
    two_placements(self.desk, first, second);
    g_assert_cmpint(desk_put(self.desk, "now", "id=a n=7")->outcome, ==, KW_OUTCOME_OK);
    self.desk->options.timestamp++;
    set_failure(&self, &failures[3]);
    g_assert_cmpint(desk_remove(self.desk, "now", "id=a", NULL)->outcome, ==, KW_OUTCOME_UNKNOWN);
    g_assert_cmpuint(kw_memory_store_rows(self.memory, "now"), ==, 0);
    g_assert_cmpuint(kw_memory_store_rows(self.memory, "then"), ==, 1);
    desk_free(self.desk);
}

/* --- many records ------------------------------------------------------------------------------ */

#define MANY 20 /* enough that each step is one multi-write */

/* Puts MANY records; `large` of them have a key that no row can have. Returns how many were written. */
static size_t
put_many(bed *self, size_t large)
{
    desk *on = self->desk;
    kw_item *items = KW_ARENA_ARRAY(on->call.arena, kw_item, MANY);
    uint8_t *key = kw_arena_alloc0(on->call.arena, KW_STORE_ROW_KEY_MAX + 1);
    for (size_t i = 0; i < MANY; i++) {
        g_autofree char *text = g_strdup_printf("id=r%zu n=1", i);
        items[i] = (kw_item){.record = desk_record(on, "now", text)};
        if (i < large)
            items[i].record.values[desk_field(on, "now", "id")].bytes =
                kw_bytes_of(key, KW_STORE_ROW_KEY_MAX + 1);
    }
    on->done = false;
    kw_verb_put(&on->call, desk_table(on, "now"), items, MANY, on->options, desk_done, on);
    desk_wait(on);
    size_t written = 0;
    for (size_t i = 0; i < MANY; i++) {
        g_assert_cmpint(on->written[i].outcome, !=, KW_OUTCOME_UNKNOWN);
        written += on->written[i].outcome == KW_OUTCOME_OK;
    }
    return written;
}

KW_TEST(test_many, "/path/steps/many")
{
    bed self = bed_new();
    two_placements(self.desk, first, second);
    uint64_t before = self.control->operations;
    g_assert_cmpuint(put_many(&self, 0), ==, MANY);
    g_assert_cmpuint(self.control->operations - before, ==, 2);
    g_assert_cmpuint(kw_memory_store_rows(self.memory, "now"), ==, MANY);
    g_assert_cmpuint(kw_memory_store_rows(self.memory, "then"), ==, MANY);
    desk_free(self.desk);
}

/* Records that cannot be written do not change the steps of the others. */
KW_TEST(test_many_and_refused, "/path/steps/many and refused")
{
    bed self = bed_new();
    two_placements(self.desk, first, second);
    g_assert_cmpuint(put_many(&self, 3), ==, MANY - 3);
    g_assert_cmpuint(kw_memory_store_rows(self.memory, "now"), ==, MANY - 3);
    g_assert_cmpuint(kw_memory_store_rows(self.memory, "then"), ==, MANY - 3);
    desk_free(self.desk);
}

/* The multi-write of the first step fails for a part of the records: the second step has the others only. */
KW_TEST(test_many_fail, "/path/steps/many fail")
{
    bed self = bed_new();
    two_placements(self.desk, first, second);
    set_failure(&self, &failures[1]);
    size_t written = put_many(&self, 0);
    g_assert_cmpuint(written, >, 0);
    g_assert_cmpuint(written, <, MANY);
    g_assert_cmpuint(kw_memory_store_rows(self.memory, "now"), ==, written);
    g_assert_cmpuint(kw_memory_store_rows(self.memory, "then"), ==, written);
    desk_free(self.desk);
}
