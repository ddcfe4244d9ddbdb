/* Slices over hints: writing all hints, looking for missing ones, and for stale ones. */
#include "reconcile/hint_slice.h"

#include "../verb/desk.h"
#include "hint/program.h"

static const char policy[] =
    "store: {kind: embedded}\n"
    "tables:\n"
    "  orders:\n"
    "    fields: {id: string, seller: string, n: int}\n"
    "    key: [hash: id, field: id]\n"
    "    paths: {by_seller: {key: [{field: {name: seller, encoding: terminated}}, field: id]}}\n";

#define HINTS "orders_by_seller"

typedef struct answer {
    bool done;
    kw_hint_slice_result result;
    kw_error error;
} answer;

static void
on_done(void *user, const kw_hint_slice_result *result, const kw_error *error)
{
    answer *self = user;
    self->done = true;
    self->result = result ? *result : (kw_hint_slice_result){0};
    self->error = error ? *error : KW_ERROR_NONE;
}

static const kw_placement *
placement_of(desk *at)
{
    return desk_table(at, "orders")->paths[1].placements;
}

static answer
slice(desk *at, kw_hint_slice_mode mode, bool repair, kw_bytes after, uint32_t max_rows)
{
    answer self = {0};
    kw_hint_slice_request request = {
        .mode = mode, .hints = placement_of(at), .after = after, .max_rows = max_rows, .repair = repair};
    kw_hint_slice(&at->call, &request, on_done, &self);
    while (!self.done)
        uv_run(kw_loop_uv(at->loop), UV_RUN_ONCE);
    return self;
}

static void
lost(void *user)
{
    desk *at = user;
    at->done = true;
}

/* Deletes the hint of a record, as a fault would. */
static void
lose(desk *at, const char *key)
{
    kw_column column = {.family = KW_BYTES_LITERAL("d")};
    kw_write write = {.kind = KW_WRITE_DELETE,
                      .table = KW_BYTES_LITERAL(HINTS),
                      .row = kw_bytes_of(key, 3),
                      .columns = &column,
                      .columns_count = 1,
                      .timestamp = KW_TIMESTAMP_NONE};
    const kw_write *list = &write;
    kw_written written;
    at->done = false;
    kw_store_handle_write_many(at->handle, &list, 1, &written, lost, at);
    desk_wait(at);
}

static desk *
desk_with_rows(void)
{
    desk *at = desk_new(policy);
    desk_put(at, "orders", "id=a seller=s");
    desk_put(at, "orders", "id=b seller=s n=1");
    desk_put(at, "orders", "id=c n=1");
    desk_put(at, "orders", "id=d seller=t");
    return at;
}

KW_TEST(test_check, "/reconcile/hints/check")
{
    desk *at = desk_with_rows();
    answer found = slice(at, KW_HINTS_CHECK, true, KW_BYTES_NONE, 100);
    g_assert_true(found.result.end);
    g_assert_cmpuint(found.result.missing_count, ==, 0);
    lose(at, "s\0b");
    g_assert_cmpuint(kw_memory_store_rows(at->store, HINTS), ==, 2);
    found = slice(at, KW_HINTS_CHECK, false, KW_BYTES_NONE, 100);
    g_assert_cmpuint(found.result.missing_count, ==, 1);
    g_assert_false(found.result.missing[0].repaired);
    g_assert_true(kw_bytes_equal(found.result.missing[0].key, KW_BYTES_LITERAL("s\0b")));
    g_assert_cmpuint(kw_memory_store_rows(at->store, HINTS), ==, 2);
    found = slice(at, KW_HINTS_CHECK, true, KW_BYTES_NONE, 100);
    g_assert_true(found.result.missing[0].repaired);
    g_assert_cmpuint(kw_memory_store_rows(at->store, HINTS), ==, 3);
    g_assert_cmpuint(slice(at, KW_HINTS_CHECK, false, KW_BYTES_NONE, 100).result.missing_count, ==, 0);
    desk_free(at);
}

/* Small slices visit each row once. */
KW_TEST(test_fill, "/reconcile/hints/fill")
{
    desk *at = desk_with_rows();
    lose(at, "s\0a");
    lose(at, "s\0b");
    lose(at, "t\0d");
    g_assert_cmpuint(kw_memory_store_rows(at->store, HINTS), ==, 0);
    answer found = {0};
    kw_bytes after = KW_BYTES_NONE;
    for (size_t slices = 0; !found.result.end; slices++) {
        found = slice(at, KW_HINTS_FILL, false, after, 1);
        g_assert_cmpint(found.error.code, ==, KW_OK);
        g_assert_cmpuint(slices, <, 10);
        after = found.result.after;
    }
    g_assert_cmpuint(kw_memory_store_rows(at->store, HINTS), ==, 3);
    desk_free(at);
}

KW_TEST(test_fill_fails, "/reconcile/hints/fill fails")
{
    desk *at = desk_with_rows();
    at->control->fail_at = at->control->operations + 2;
    answer found = slice(at, KW_HINTS_FILL, false, KW_BYTES_NONE, 100);
    g_assert_cmpint(found.error.code, ==, KW_UNAVAILABLE);
    g_assert_nonnull(strstr(found.error.text, "path by_seller"));
    desk_free(at);
}

static void
old_hint(desk *at)
{
    kw_memory_store_set(at->store, HINTS, KW_BYTES_LITERAL("z\0d"), "d", "", KW_BYTES_NONE, 1);
}

/* A hint without a row, and one whose row has other values. */
KW_TEST(test_stale, "/reconcile/hints/stale")
{
    desk *at = desk_with_rows();
    kw_memory_store_share(at->store); /* its time is known */
    desk_put(at, "orders", "id=a seller=u");
    desk_remove(at, "orders", "id=d", NULL);
    answer found = slice(at, KW_HINTS_STALE, true, KW_BYTES_NONE, 100);
    g_assert_cmpuint(found.result.rows, ==, 4);
    g_assert_cmpuint(found.result.stale, ==, 2);
    g_assert_cmpuint(kw_memory_store_rows(at->store, HINTS), ==, 4); /* they are too young */
    old_hint(at);
    found = slice(at, KW_HINTS_STALE, false, KW_BYTES_NONE, 100);
    g_assert_cmpuint(kw_memory_store_rows(at->store, HINTS), ==, 5);
    found = slice(at, KW_HINTS_STALE, true, KW_BYTES_NONE, 100);
    g_assert_cmpuint(kw_memory_store_rows(at->store, HINTS), ==, 4);
    desk_free(at);
}

/* A slice ends when it has deleted all that it can. */
KW_TEST(test_many_stale, "/reconcile/hints/many-stale")
{
    desk *at = desk_with_rows();
    desk_remove(at, "orders", "id=d", NULL);
    for (int i = 0; i < 900; i++) {
        char key[] = "z000\0d";
        g_snprintf(key, 5, "z%03d", i);
        kw_memory_store_set(at->store, HINTS, kw_bytes_of(key, sizeof key - 1), "d", "", KW_BYTES_NONE, 1);
    }
    answer found = slice(at, KW_HINTS_STALE, true, KW_BYTES_NONE, 1000);
    g_assert_cmpuint(found.result.stale, ==, 901);
    g_assert_cmpuint(kw_memory_store_rows(at->store, HINTS), ==, 3);
    desk_free(at);
}

/* A store whose time nobody needed lately begins to read its clock only when a slice waits for it. */
KW_TEST(test_time, "/reconcile/hints/time")
{
    desk *at = desk_with_rows();
    kw_memory_store_share(at->store);
    at->control->time_on_demand = true;
    desk_remove(at, "orders", "id=d", NULL);
    old_hint(at);
    at->control->time_unknown = true;
    answer found = slice(at, KW_HINTS_STALE, false, KW_BYTES_NONE, 100);
    g_assert_cmpint(found.error.code, ==, KW_OK);
    g_assert_true(at->control->time_unknown); /* hints are only counted */
    g_assert_cmpuint(found.result.stale, ==, 2);
    found = slice(at, KW_HINTS_STALE, true, KW_BYTES_NONE, 100);
    g_assert_cmpint(found.error.code, ==, KW_OK);
    g_assert_cmpuint(kw_memory_store_rows(at->store, HINTS), ==, 3);
    desk_free(at);
}

KW_TEST(test_time_unknown, "/reconcile/hints/time-unknown")
{
    desk *at = desk_with_rows();
    kw_memory_store_share(at->store);
    at->control->time_unknown = true;
    at->call.deadline = kw_deadline_in_ms(30);
    old_hint(at);
    answer found = slice(at, KW_HINTS_STALE, true, KW_BYTES_NONE, 100);
    g_assert_cmpint(found.error.code, ==, KW_UNAVAILABLE);
    g_assert_nonnull(strstr(found.error.text, "clock is not known"));
    g_assert_cmpint(found.error.retry_after_ms, >, 0);
    desk_free(at);
}

KW_TEST(test_foreign, "/reconcile/hints/foreign")
{
    desk *at = desk_with_rows();
    kw_memory_store_set(at->store, HINTS, KW_BYTES_LITERAL("x"), "d", "", KW_BYTES_NONE, 1);
    answer found = slice(at, KW_HINTS_STALE, true, KW_BYTES_NONE, 100);
    g_assert_cmpuint(found.result.undecodable, ==, 1);
    g_assert_true(kw_bytes_equal(found.result.example, KW_BYTES_LITERAL("x")));
    g_assert_nonnull(found.result.why);
    g_assert_cmpuint(found.result.stale, ==, 0);
    desk_free(at);
}

/* --- scrub ------------------------------------------------------------------------------------------- */

typedef struct scrub_answer {
    bool done;
    kw_scrub_result result;
    kw_error error;
} scrub_answer;

static void
on_scrubbed(void *user, const kw_scrub_result *result, const kw_error *error)
{
    scrub_answer *self = user;
    self->done = true;
    self->result = result ? *result : (kw_scrub_result){0};
    self->error = error ? *error : KW_ERROR_NONE;
}

typedef struct scrub_sum {
    size_t slices;
    uint64_t rows, missing, repaired, stale, extra;
} scrub_sum;

static scrub_sum
scrub_all(desk *at, uint32_t max_records, bool repair)
{
    scrub_sum sum = {0};
    scrub_answer found = {0};
    double progress = 0;
    do {
        kw_scrub_request request = {.table = desk_table(at, "orders"),
                                    .cursor = found.result.cursor,
                                    .max_records = max_records,
                                    .max_differences = 10,
                                    .repair = repair};
        found = (scrub_answer){0};
        kw_scrub(&at->call, &request, on_scrubbed, &found);
        while (!found.done)
            uv_run(kw_loop_uv(at->loop), UV_RUN_ONCE);
        g_assert_cmpint(found.error.code, ==, KW_OK);
        g_assert_cmpfloat(found.result.progress, >=, progress);
        progress = found.result.progress;
        sum.slices++;
        sum.rows += found.result.rows;
        sum.missing += found.result.missing;
        sum.repaired += found.result.repaired;
        sum.stale += found.result.stale;
        sum.extra += found.result.extra;
        g_assert_cmpuint(found.result.differences_count, ==, found.result.missing);
    } while (found.result.cursor.size);
    return sum;
}

KW_TEST(test_scrub, "/reconcile/hints/scrub")
{
    desk *at = desk_with_rows();
    lose(at, "s\0b");
    desk_put(at, "orders", "id=a seller=u");
    for (uint32_t max_records = 1; max_records <= 100; max_records += 99) {
        scrub_sum sum = scrub_all(at, max_records, false);
        g_assert_cmpuint(sum.missing, ==, 1);
        g_assert_cmpuint(sum.repaired, ==, 0);
        g_assert_cmpuint(sum.stale, ==, 1);
        g_assert_cmpuint(sum.extra, ==, 0);
    }
    scrub_sum sum = scrub_all(at, 2, true);
    g_assert_cmpuint(sum.repaired, ==, 1);
    g_assert_cmpuint(scrub_all(at, 2, false).missing, ==, 0);
    desk_free(at);
}
