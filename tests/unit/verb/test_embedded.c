/* The verbs over the embedded store, whose threads and delete markers the store in memory does not have. */
#include "desk.h"
#include "gone.h"
#include "renewed.h"

#include "store/embedded/embedded.h"

#include <glib/gstdio.h>
#include <time.h>

typedef struct shop {
    desk *desk;
    char *folder;
} shop;

static void
answered(void *user, const kw_error *error)
{
    desk *self = user;
    self->done = true;
    self->error = error ? *error : KW_ERROR_NONE;
}

static void
created(void *user, const kw_created_table *tables, size_t count, const kw_error *error)
{
    (void)tables;
    (void)count;
    answered(user, error);
}

static void
create(desk *self, const char *table)
{
    kw_create_request request = {.table = desk_table(self, table), .path = -1, .if_absent = true};
    self->done = false;
    kw_verb_create_table(&self->call, &request, created, self);
    desk_wait(self);
    g_assert_cmpstr(self->error.text, ==, "");
}

static void
open_shop(shop *self)
{
    kw_model_embedded settings = {.path = self->folder, .cache_bytes = 8 << 20, .readers = 2};
    kw_error error;
    kw_store *store = kw_embedded_open(&settings, &error);
    if (!store)
        g_error("%s", error.text);
    self->desk = desk_new_over(store, desk_policy);
    create(self->desk, "orders");
    create(self->desk, "counters");
    create(self->desk, "marks");
}

static void
set_up(shop *self)
{
    g_autofree char *folder = g_dir_make_tmp("verbs-XXXXXX", NULL);
    self->folder = g_build_filename(folder, "data", NULL);
    open_shop(self);
}

static void
remove_folder(const char *folder)
{
    g_autoptr(GDir) files = g_dir_open(folder, 0, NULL);
    for (const char *name = NULL; files && (name = g_dir_read_name(files));) {
        g_autofree char *path = g_build_filename(folder, name, NULL);
        if (g_file_test(path, G_FILE_TEST_IS_DIR))
            remove_folder(path);
        else
            g_unlink(path);
    }
    g_rmdir(folder);
}

static void
tear_down(shop *self)
{
    desk_free(self->desk);
    g_autofree char *above = g_path_get_dirname(self->folder);
    remove_folder(above);
    g_free(self->folder);
}

static void
test_records(void)
{
    shop self;
    set_up(&self);
    desk *at = self.desk;
    g_assert_cmpint(desk_put(at, "orders", "order_id=A1 ts=5 status=new amount=1.5")->outcome, ==,
                    KW_OUTCOME_OK);
    desk_put(at, "orders", "order_id=A1 ts=6");
    g_assert_cmpstr(desk_get(at, "orders", "order_id=A1 ts=5", NULL), ==,
                    "order_id=A1 ts=5 status=new amount=1.5");
    g_assert_cmpstr(desk_get(at, "orders", "order_id=A1 ts=5", "city"), ==, "order_id=A1 ts=5");
    g_assert_cmpstr(desk_get(at, "orders", "order_id=A1 ts=6", "city"), ==, "order_id=A1 ts=6");
    g_assert_cmpstr(desk_get(at, "orders", "order_id=A1 ts=7", "city"), ==, "none");
    desk_free(at); /* and again, from the disk */
    open_shop(&self);
    g_autofree char *rows = desk_scan_all(self.desk, "orders order_id=A1 page=1");
    g_assert_cmpstr(rows, ==, "order_id=A1 ts=6\norder_id=A1 ts=5 status=new amount=1.5\n");
    tear_down(&self);
}

/* A put that follows an acknowledged remove is never hidden by the delete marker. */
static void
test_put_after_remove(void)
{
    shop self;
    set_up(&self);
    for (int i = 0; i < 30; i++) {
        g_assert_cmpint(desk_put(self.desk, "orders", "order_id=A1 ts=5 city=Rome")->outcome, ==,
                        KW_OUTCOME_OK);
        g_assert_cmpstr(desk_get(self.desk, "orders", "order_id=A1 ts=5", NULL), ==,
                        "order_id=A1 ts=5 city=Rome");
        const char *column = i % 2 ? "city" : NULL;
        const kw_written_record *gone = desk_remove(self.desk, "orders", "order_id=A1 ts=5", column);
        g_assert_cmpint(gone->outcome, ==, KW_OUTCOME_OK);
        g_assert_cmpstr(desk_get(self.desk, "orders", "order_id=A1 ts=5", NULL), ==, "none");
        desk_clear(self.desk);
    }
    tear_down(&self);
}

static void
written_too(void *user, const kw_written_record *results, size_t count)
{
    g_assert_cmpuint(count, ==, 1);
    g_assert_cmpint(results[0].outcome, ==, KW_OUTCOME_OK);
    --*(int *)user;
}

/* The same for a put that a caller sends after the remove without waiting for it, within one millisecond. */
static void
test_put_sent_after_remove(void)
{
    shop self;
    set_up(&self);
    desk *at = self.desk;
    for (int i = 0; i < 50; i++) {
        int left = 4;
        kw_item items[] = {{.record = desk_record(at, "orders", "order_id=A1 ts=5 city=old")},
                           {.record = desk_record(at, "orders", "order_id=A1 ts=5 city=new")},
                           {.record = desk_record(at, "orders", "order_id=A1 ts=5")}};
        const kw_table *table = desk_table(at, "orders");
        kw_verb_put(&at->call, table, &items[0], 1, at->options, written_too, &left);
        kw_verb_remove(&at->call, table, &items[2], 1, NULL, 0, at->options, written_too, &left);
        kw_verb_remove(&at->call, table, &items[2], 1, NULL, 0, at->options, written_too, &left);
        kw_verb_put(&at->call, table, &items[1], 1, at->options, written_too, &left);
        while (left)
            uv_run(kw_loop_uv(at->loop), UV_RUN_ONCE);
        g_assert_cmpstr(desk_get(at, "orders", "order_id=A1 ts=5", NULL), ==, "order_id=A1 ts=5 city=new");
        desk_clear(at);
    }
    tear_down(&self);
}

static void
test_scan(void)
{
    shop self;
    set_up(&self);
    desk *at = self.desk;
    kw_item items[400] = {0};
    for (size_t i = 0; i < G_N_ELEMENTS(items); i++) {
        g_autofree char *text = g_strdup_printf("order_id=o%zu ts=%zu city=c", i % 40, i);
        items[i].record = desk_record(at, "orders", text);
    }
    at->done = false;
    kw_verb_put(&at->call, desk_table(at, "orders"), items, G_N_ELEMENTS(items), at->options, desk_done, at);
    desk_wait(at);
    for (size_t i = 0; i < G_N_ELEMENTS(items); i++)
        g_assert_cmpint(at->written[i].outcome, ==, KW_OUTCOME_OK);
    static const char *const orders[] = {"asc", "desc"};
    for (size_t direction = 0; direction < 2; direction++)
        for (unsigned page = 1; page < 500; page = 3 * page + 4) {
            g_autofree char *question = g_strdup_printf(
                "orders path=by_time full order=%s page=%u columns=order_id", orders[direction], page);
            g_autofree char *rows = desk_scan_all(at, question);
            g_autoptr(GString) expected = g_string_new(NULL);
            for (size_t i = 0; i < G_N_ELEMENTS(items); i++) {
                size_t n = direction ? G_N_ELEMENTS(items) - 1 - i : i;
                g_string_append_printf(expected, "order_id=o%zu ts=%zu\n", n % 40, n);
            }
            g_assert_cmpstr(rows, ==, expected->str);
        }
    g_assert_true(desk_scan(at, "orders order_id=o7 limit=1"));
    g_assert_cmpuint(at->page.scanned, ==, 1);
    g_assert_true(desk_scan(at, "orders path=by_time full order=desc limit=20"));
    g_assert_cmpuint(at->page.scanned, <=, 60);
    tear_down(&self);
}

typedef void (*store_play)(kw_store *store, const char *name);

static void
play_at_store(store_play play)
{
    g_autofree char *above = g_dir_make_tmp("verbs-XXXXXX", NULL);
    g_autofree char *folder = g_build_filename(above, "data", NULL);
    kw_model_embedded settings = {.path = folder, .cache_bytes = 8 << 20, .readers = 2};
    kw_error error;
    kw_store *store = kw_embedded_open(&settings, &error);
    if (!store)
        g_error("%s", error.text);
    play(store, "played");
    remove_folder(above);
}

/* A record and its association go together, whatever fails on the way. */
static void
test_gone(void)
{
    play_at_store(gone_play);
}

static void
test_renewed(void)
{
    play_at_store(renewed_play);
}

static _Atomic int64_t moved_ms;

static int64_t
moved_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000 + moved_ms;
}

static void
move_clock(int64_t by_ms)
{
    moved_ms += by_ms;
}

static void
play_days(kw_store *store, const char *name)
{
    renewed_days_play(store, name, move_clock);
}

/* What an association tells lives as long as the records that need it, and then ends by itself. */
static void
test_days(void)
{
    kw_clock_inject(moved_clock, NULL);
    play_at_store(play_days);
    kw_clock_inject(NULL, NULL);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/verb/embedded/records", test_records);
    g_test_add_func("/verb/embedded/put after remove", test_put_after_remove);
    g_test_add_func("/verb/embedded/put sent after remove", test_put_sent_after_remove);
    g_test_add_func("/verb/embedded/scan", test_scan);
    g_test_add_func("/verb/embedded/gone", test_gone);
    g_test_add_func("/verb/embedded/renewed", test_renewed);
    g_test_add_func("/verb/embedded/days", test_days);
    return g_test_run();
}
