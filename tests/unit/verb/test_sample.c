/* The sample of rows that other programs wrote: rows that follow the rule, one that does not, rules that
 * differ. */
#include "desk.h"

#include "support/seeded.h"
#include "verb/sample.h"

#include <string.h>

#define POLICY(key)                                                                                          \
    "store: {kind: embedded}\ntables:\n  pay:\n    store_table: PAY\n    fields: {usr: {type: string, "      \
    "max_bytes: 40}, "                                                                                       \
    "ts: {type: timestamp, unit: ms}, amount: {type: double, form: raw}, tags: {type: map, of: int, form: "  \
    "raw}}\n    key: " key "\n"
#define SALTED(buckets)                                                                                      \
    "[{salt: {of: [usr], buckets: " buckets ", algorithm: crc32, as: decimal, width: 2}}, "                  \
    "{field: {name: usr, encoding: terminated, terminator: \"|\"}}, {field: {name: ts, encoding: "           \
    "max_minus}}]"
#define FIRST_MS INT64_C(1700000000000)

/* --- the table of the other program ---------------------------------------------------------------- */

typedef struct fixture {
    desk *judge;   /* with the policy that is checked */
    desk *program; /* whose policy has the rule of the rows */
    kw_sample_result result;
} fixture;

static void
created(void *user, bool is_new, const kw_error *error)
{
    g_assert_true(is_new && !error);
    ((desk *)user)->done = true;
}

static void
create_table(desk *self, size_t regions)
{
    kw_family_spec family = {.name = "d"};
    kw_bytes *cuts = KW_ARENA_ARRAY(self->call.arena, kw_bytes, regions);
    for (size_t i = 1; i < regions; i++)
        cuts[i - 1] = kw_bytes_of_text(kw_arena_printf(self->call.arena, "%02zu", i * 100 / regions));
    kw_table_spec spec = {.name = KW_BYTES_LITERAL("PAY"),
                          .families = &family,
                          .families_count = 1,
                          .split_keys = cuts,
                          .split_keys_count = regions - 1,
                          .deadline = KW_DEADLINE_NONE};
    kw_store_handle_create_table(self->handle, &spec, created, self);
    desk_wait(self);
}

static fixture
fixture_open(const char *rule, const char *policy, size_t regions)
{
    fixture self = {.judge = desk_new(policy), .program = desk_new(rule)};
    create_table(self.judge, regions);
    return self;
}

static void
fixture_close(fixture *self)
{
    desk_free(self->judge);
    desk_free(self->program);
}

static void
set_cell(fixture *self, kw_bytes row, const char *qualifier, kw_bytes value)
{
    kw_memory_store_set(self->judge->store, "PAY", row, "d", qualifier, value, 1);
}

/* Rows as the other program writes them. */
static void
write_rows(fixture *self, int count)
{
    const kw_table *table = desk_table(self->program, "pay");
    for (int i = 0; i < count; i++) {
        kw_buffer key = KW_BUFFER_EMPTY;
        kw_error error;
        kw_record record = kw_record_new(table, self->program->call.arena);
        g_autofree char *usr = g_strdup_printf("u%03d", i % 97);
        record.values[0] = (kw_value){.kind = KW_VALUE_TEXT, .bytes = kw_bytes_of_text(usr)};
        record.values[1] = (kw_value){.kind = KW_VALUE_NUMBER, .number = FIRST_MS + i};
        if (!kw_layout_encode(table->paths->layout, &record, &key, &error))
            g_error("%s", error.text);
        set_cell(self, kw_buffer_bytes(&key), "amount", KW_BYTES_LITERAL("\x40\x24\0\0\0\0\0\0"));
        set_cell(self, kw_buffer_bytes(&key), "tags.a", KW_BYTES_LITERAL("\0\0\0\0\0\0\0\1"));
        set_cell(self, kw_buffer_bytes(&key), "other", KW_BYTES_LITERAL("not a field"));
        kw_buffer_clear(&key);
    }
}

/* --- the check ------------------------------------------------------------------------------------- */

static void
sampled(void *user, const kw_sample_result *result, const kw_error *error)
{
    fixture *self = user;
    self->judge->error = error ? *error : KW_ERROR_NONE;
    self->result = *result;
    self->judge->done = true;
}

static void
sample_for(fixture *self, int64_t time_ms)
{
    desk_clear(self->judge);
    self->judge->done = false;
    kw_sample_request request = {.placement = desk_table(self->judge, "pay")->paths->placements,
                                 .time_ms = time_ms};
    kw_verb_sample(&self->judge->call, &request, sampled, self);
    desk_wait(self->judge);
}

static void
sample(fixture *self)
{
    sample_for(self, 60000);
    g_assert_cmpstr(self->judge->error.text, ==, "");
}

static void
assert_refused(fixture *self, const char *part, ...)
{
    va_list parts;
    g_assert_cmpint(self->result.refusal.code, ==, KW_REFUSED);
    va_start(parts, part);
    for (; part; part = va_arg(parts, const char *))
        if (!strstr(self->result.refusal.text, part))
            g_error("got: %s\nnot: %s", self->result.refusal.text, part);
    va_end(parts);
}

/* --- tests ----------------------------------------------------------------------------------------- */

static void
test_fits(void)
{
    fixture self = fixture_open(POLICY(SALTED("16")), POLICY(SALTED("16")), 1);
    sample(&self); /* an empty table */
    g_assert_cmpuint(self.result.rows, ==, 0);
    g_assert_true(self.result.all_rows);
    write_rows(&self, 12);
    sample(&self);
    g_assert_cmpuint(self.result.rows, ==, 12);
    g_assert_true(self.result.all_rows);
    write_rows(&self, 5000);
    uint64_t before = self.judge->control->operations;
    sample(&self);
    g_assert_cmpint(self.result.refusal.code, ==, KW_OK);
    g_assert_false(self.result.all_rows);
    g_assert_cmpuint(self.result.rows, >, 512 + 20); /* random keys rarely find the same rows */
    g_assert_cmpuint(self.judge->control->operations - before, <=, 1 + 2 + 64);
    fixture_close(&self);
}

static void
test_regions(void)
{
    fixture self = fixture_open(POLICY(SALTED("16")), POLICY(SALTED("16")), 10);
    write_rows(&self, 5000); /* in the first two regions */
    sample(&self);
    g_assert_cmpint(self.result.refusal.code, ==, KW_OK);
    g_assert_cmpuint(self.result.regions, ==, 10);
    g_assert_cmpuint(self.result.regions_all, ==, 10);
    g_assert_cmpuint(self.result.rows, >, 2 * (32 + 30));
    g_assert_cmpuint(self.judge->control->most_fetches_in_flight, >, 1);
    fixture_close(&self);
}

/* The number of buckets of the policy is wrong. */
static void
test_other_buckets(void)
{
    fixture self = fixture_open(POLICY(SALTED("16")), POLICY(SALTED("8")), 1);
    write_rows(&self, 600);
    sample(&self);
    assert_refused(&self, "table pay, path primary: row ",
                   " of store table PAY does not follow the key rule: salt(crc32 of usr, modulo 8 ",
                   " for the other parts of this key",
                   " checked rows do not fit, and all fit with salt: {buckets: 16}",
                   "set accept_unverified: true", NULL);
    fixture_close(&self);
}

/* Every eight bytes can be read as a time, but not as one of this age. */
static void
test_other_order(void)
{
#define UNSALTED(encoding)                                                                                   \
    "[{field: {name: usr, encoding: terminated, terminator: \"|\"}}, {field: {name: ts, encoding: " encoding \
    "}}]"
    fixture self = fixture_open(POLICY(UNSALTED("max_minus")), POLICY(UNSALTED("raw_int")), 1);
    write_rows(&self, 600);
    sample(&self);
    assert_refused(&self, "in all ",
                   "the time ts in the row key is not between 1970 and 2200, but it is with field ts: "
                   "{encoding: max_minus}",
                   NULL);
    fixture_close(&self);
}

/* The last row of the table, a row in the middle, and a row with a value that cannot be decoded. */
static void
test_single_rows(void)
{
    fixture self = fixture_open(POLICY(SALTED("16")), POLICY(SALTED("16")), 1);
    write_rows(&self, 3000);
    set_cell(&self, KW_BYTES_LITERAL("zz-config"), "amount", KW_BYTES_LITERAL("x"));
    sample(&self);
    assert_refused(&self, "row zz-config of store table PAY does not follow the key rule: ",
                   "does not end within the 7 bytes", NULL);
    g_assert_cmpuint(self.result.misfits, ==, 1);
    g_assert_null(strstr(self.result.refusal.text, "all fit with"));
    fixture_close(&self);

    self = fixture_open(POLICY(SALTED("16")), POLICY(SALTED("16")), 1);
    write_rows(&self, 3);
    kw_bytes key = kw_memory_store_key(self.judge->store, "PAY", 1);
    set_cell(&self, key, "tags.b", KW_BYTES_LITERAL("abc"));
    sample(&self);
    assert_refused(&self, "has a value that cannot be decoded: ", "tags",
                   "1 of the 3 checked rows does not fit", NULL);
    fixture_close(&self);
}

/* One row in five is wrong, and none of them is at an end of the table. */
static void
test_rows_in_between(void)
{
    fixture self = fixture_open(POLICY(SALTED("16")), POLICY(SALTED("16")), 1);
    write_rows(&self, 4000);
    for (int i = 0; i < 1000; i++) {
        g_autofree char *key = g_strdup_printf("%02du%03d|x%d", 3 + i % 10, i % 97, i);
        set_cell(&self, kw_bytes_of_text(key), "amount", KW_BYTES_LITERAL("x"));
    }
    sample(&self);
    assert_refused(&self, "does not follow the key rule", NULL);
    fixture_close(&self);
}

/* A region whose first and last rows overlap has no other rows, so random keys are not read. */
static void
test_few_rows(void)
{
    for (int rows = 1; rows < 540; rows += rows < 40 || (rows > 500 && rows < 520) ? 1 : 23) {
        fixture self = fixture_open(POLICY(SALTED("16")), POLICY(SALTED("16")), 1);
        write_rows(&self, rows);
        uint64_t before = self.judge->control->fetches;
        sample(&self);
        uint64_t fetches = self.judge->control->fetches - before;
        g_assert_cmpint(self.result.all_rows, ==, rows < 512);
        g_assert_true(self.result.all_rows ? fetches <= 2 && self.result.rows == (uint64_t)rows
                                           : fetches >= 60);
        fixture_close(&self);
    }
}

static void
test_no_table(void)
{
    fixture self = {.judge = desk_new(POLICY(SALTED("16"))), .program = desk_new(POLICY(SALTED("16")))};
    sample(&self);
    g_assert_cmpuint(self.result.rows, ==, 0);
    g_assert_cmpint(self.result.refusal.code, ==, KW_OK);
    fixture_close(&self);
}

/* The check ends in time, with the error of the store. */
static void
test_failures(void)
{
    bool failed = true;
    for (uint64_t n = 1; failed && n < 200; n++) {
        fixture self = fixture_open(POLICY(SALTED("16")), POLICY(SALTED("16")), 1);
        write_rows(&self, 1000);
        uint64_t before = self.judge->control->operations;
        self.judge->control->fail_at = before + n;
        sample_for(&self, 60000);
        failed = self.judge->control->operations >= before + n;
        /* without the list of regions, the table is read as one region */
        g_assert_cmpint(self.judge->error.code, ==, failed && n > 1 ? KW_UNAVAILABLE : KW_OK);
        fixture_close(&self);
    }
    g_assert_false(failed);
    fixture self = fixture_open(POLICY(SALTED("16")), POLICY(SALTED("16")), 1);
    write_rows(&self, 1000);
    sample_for(&self, 0);
    g_assert_cmpint(self.judge->error.code, ==, KW_TIMEOUT);
    fixture_close(&self);
}

int
main(int argc, char **argv)
{
    seeded_init(&argc, &argv);
    g_test_add_func("/verb/sample/fits", test_fits);
    g_test_add_func("/verb/sample/regions", test_regions);
    g_test_add_func("/verb/sample/other-buckets", test_other_buckets);
    g_test_add_func("/verb/sample/other-order", test_other_order);
    g_test_add_func("/verb/sample/single-rows", test_single_rows);
    g_test_add_func("/verb/sample/rows-in-between", test_rows_in_between);
    g_test_add_func("/verb/sample/few-rows", test_few_rows);
    g_test_add_func("/verb/sample/no-table", test_no_table);
    g_test_add_func("/verb/sample/failures", test_failures);
    return g_test_run();
}
