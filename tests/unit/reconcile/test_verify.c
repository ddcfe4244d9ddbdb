/* The verification of all rows of a path: every row is judged once, however large the slices are. */
#include "unit/verb/desk.h"

#include "reconcile/verify.h"
#include "rule/layout.h"

#define ROWS 3000
#define STRAYS 40
#define DAY_MS INT64_C(86400000)

static const char policy[] =
    "store: {kind: embedded}\n"
    "tables:\n"
    "  pay:\n"
    "    store_table: PAY\n"
    "    families: {d: {ttl: 10d}}\n"
    "    fields: {usr: {type: string, max_bytes: 40}, ts: {type: timestamp, unit: ms}, amount: double}\n"
    "    key: [{salt: {of: [usr], buckets: 16, as: decimal, width: 2}}, "
    "{field: {name: usr, encoding: terminated, terminator: \"|\"}}, {field: ts}]\n";

typedef struct fixture {
    desk *desk;
    uint64_t rows, foreign, undecodable, expired, future, fields, buckets, first_bytes, slices;
    double progress;
    kw_verify_result last;
} fixture;

static void
set_cell(fixture *self, kw_bytes row, kw_bytes value, int64_t timestamp)
{
    kw_memory_store_set(self->desk->store, "PAY", row, "d", "amount", value, timestamp);
}

static void
write_row(fixture *self, int number, kw_bytes value, int64_t timestamp)
{
    g_auto(kw_buffer) key = KW_BUFFER_EMPTY;
    g_autofree char *text = g_strdup_printf("usr=u%03d ts=%d", number % 97, number);
    kw_record record = desk_record(self->desk, "pay", text);
    kw_error error;
    g_assert_true(kw_layout_encode(desk_table(self->desk, "pay")->paths->layout, &record, &key, &error));
    set_cell(self, kw_buffer_bytes(&key), value, timestamp);
}

static void
set_up(fixture *self, bool strays)
{
    int64_t now_ms = kw_clock_wall_ms();
    *self = (fixture){.desk = desk_new(policy)};
    desk_create(self->desk, "pay");
    for (int i = 0; i < ROWS; i++)
        write_row(self, i, KW_BYTES_LITERAL("12345678"), now_ms - (i % 10) * DAY_MS - 1000);
    for (int i = 0; strays && i < STRAYS; i++) {
        g_autofree char *key = g_strdup_printf("%02du%03d|x%d", i % 16, i % 97, i);
        set_cell(self, kw_bytes_of_text(key), KW_BYTES_LITERAL("x"), now_ms);
        write_row(self, ROWS + i, KW_BYTES_LITERAL("123"), now_ms);
    }
    desk_clear(self->desk);
}

static void
verified(void *user, const kw_verify_result *result, const kw_error *error)
{
    fixture *self = user;
    self->desk->error = error ? *error : KW_ERROR_NONE;
    self->last = result ? *result : (kw_verify_result){0};
    self->desk->done = true;
}

/* Reads one slice and adds its counts. False: an error. */
static bool
slice(fixture *self, kw_bytes cursor, uint32_t max_rows)
{
    kw_verify_request request = {.path = desk_table(self->desk, "pay")->paths,
                                 .cursor = cursor,
                                 .max_rows = max_rows,
                                 .max_examples = 3};
    self->desk->done = false;
    kw_verify(&self->desk->call, &request, verified, self);
    desk_wait(self->desk);
    const kw_verify_result *last = &self->last;
    if (self->desk->error.code != KW_OK)
        return false;
    self->slices++;
    self->rows += last->rows;
    self->foreign += last->foreign;
    self->undecodable += last->undecodable;
    self->expired += last->expired;
    self->future += last->future;
    self->fields += last->undecodable_fields[desk_field(self->desk, "pay", "amount")];
    for (size_t i = 0; i < last->buckets_count; i++)
        self->buckets += last->buckets[i].rows;
    for (size_t i = 0; i < last->first_bytes_count; i++)
        self->first_bytes += last->first_bytes[i].rows;
    g_assert_cmpuint(last->examples_count, <=, 3);
    g_assert_cmpfloat(last->progress, >=, self->progress);
    self->progress = last->progress;
    return true;
}

static void
read_all(fixture *self, uint32_t max_rows)
{
    kw_bytes cursor = KW_BYTES_NONE;
    do {
        g_assert_true(slice(self, cursor, max_rows));
        g_autofree uint8_t *copy = g_memdup2(self->last.cursor.data, self->last.cursor.size);
        size_t size = self->last.cursor.size;
        desk_clear(self->desk);
        cursor = kw_arena_copy(self->desk->call.arena, kw_bytes_of(copy, size));
    } while (cursor.size);
}

KW_TEST(test_slices, "/reconcile/verify/slices")
{
    for (uint32_t max_rows = 1000; max_rows <= 10000; max_rows *= 3) {
        fixture self;
        set_up(&self, true);
        read_all(&self, max_rows);
        g_assert_cmpuint(self.rows, ==, ROWS + 2 * STRAYS);
        g_assert_cmpuint(self.foreign, ==, STRAYS);
        g_assert_cmpuint(self.first_bytes, ==, STRAYS);
        g_assert_cmpuint(self.undecodable, ==, STRAYS);
        g_assert_cmpuint(self.fields, ==, STRAYS);
        g_assert_cmpuint(self.buckets, ==, ROWS);
        g_assert_cmpuint(self.slices, ==, (ROWS + 2 * STRAYS + max_rows - 1) / max_rows);
        g_assert_cmpfloat(self.progress, ==, 1);
        g_assert_false(self.last.all_fit);
        desk_free(self.desk);
    }
}

KW_TEST(test_all_fit, "/reconcile/verify/all_fit")
{
    fixture self;
    set_up(&self, false);
    read_all(&self, 700);
    g_assert_true(self.last.all_fit);
    g_assert_cmpuint(self.last.rows_so_far, ==, ROWS);
    g_assert_cmpuint(self.expired, ==, 0);
    g_assert_cmpuint(self.future, ==, 0);
    desk_free(self.desk);
}

/* The verdict is that of all slices, not of the last one. */
KW_TEST(test_one_stray_in_the_first_slice, "/reconcile/verify/one_stray_in_the_first_slice")
{
    fixture self;
    set_up(&self, false);
    set_cell(&self, KW_BYTES_LITERAL("!"), KW_BYTES_LITERAL("12345678"), 1);
    read_all(&self, 700);
    g_assert_cmpuint(self.foreign, ==, 1);
    g_assert_cmpuint(self.last.foreign, ==, 0);
    g_assert_false(self.last.all_fit);
    desk_free(self.desk);
}

KW_TEST(test_ages, "/reconcile/verify/ages")
{
    fixture self;
    int64_t now_ms = kw_clock_wall_ms();
    set_up(&self, false);
    write_row(&self, ROWS, KW_BYTES_LITERAL("12345678"), now_ms - 11 * DAY_MS);
    write_row(&self, ROWS + 1, KW_BYTES_LITERAL("12345678"), now_ms - 400 * DAY_MS);
    write_row(&self, ROWS + 2, KW_BYTES_LITERAL("12345678"), now_ms + DAY_MS);
    g_assert_true(slice(&self, KW_BYTES_NONE, 10000));
    g_assert_cmpuint(self.expired, ==, 2);
    g_assert_cmpuint(self.future, ==, 1);
    const uint64_t *ages = self.last.ages;
    g_assert_cmpuint(ages[0], ==, ROWS / 10 + 1);
    g_assert_cmpuint(ages[1], ==, 0);
    g_assert_cmpuint(ages[2], ==, ROWS * 6 / 10);
    g_assert_cmpuint(ages[3], ==, ROWS * 3 / 10 + 1);
    g_assert_cmpuint(ages[5], ==, 1);
    g_assert_cmpint(self.last.oldest_ms, ==, now_ms - 400 * DAY_MS);
    g_assert_cmpint(self.last.newest_ms, ==, now_ms + DAY_MS);
    g_assert_cmpuint(self.last.buckets_count, ==, 16);
    desk_free(self.desk);
}

/* An error of the store ends the slice, which can be repeated. */
KW_TEST(test_failures, "/reconcile/verify/failures")
{
    bool failed = true;
    for (uint64_t n = 1; failed && n < 100; n++) {
        fixture self;
        set_up(&self, false);
        self.desk->control->fail_at = self.desk->control->operations + n;
        failed = !slice(&self, KW_BYTES_NONE, 10000);
        g_assert_cmpint(self.desk->error.code, ==, failed ? KW_UNAVAILABLE : KW_OK);
        if (failed)
            g_assert_nonnull(strstr(self.desk->error.text, "table pay, path primary: "));
        g_assert_true(!failed || slice(&self, KW_BYTES_NONE, 10000));
        desk_free(self.desk);
    }
    g_assert_false(failed);
}

KW_TEST(test_cursors, "/reconcile/verify/cursors")
{
    fixture self;
    set_up(&self, false);
    g_assert_true(slice(&self, KW_BYTES_NONE, 500));
    size_t size = self.last.cursor.size;
    g_autofree uint8_t *cursor = g_memdup2(self.last.cursor.data, size);
    for (size_t cut = 1; cut < size; cut++) {
        g_assert_false(slice(&self, kw_bytes_of(cursor, cut), 500));
        g_assert_cmpint(self.desk->error.code, ==, KW_INVALID);
    }
    for (size_t at = 0; at < 9; at++) {
        cursor[at] ^= 1;
        g_assert_false(slice(&self, kw_bytes_of(cursor, size), 500));
        g_assert_cmpint(self.desk->error.code, ==, KW_INVALID);
        cursor[at] ^= 1;
    }
    g_assert_true(slice(&self, kw_bytes_of(cursor, size), 500));
    desk_free(self.desk);
}
