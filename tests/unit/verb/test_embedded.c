/* The verbs on the embedded store, which has threads and delete markers; the store in memory does not. */
#include "desk.h"
#include "gone.h"
#include "renewed.h"

#include "store/embedded/embedded.h"

#include <glib/gstdio.h>
#include <time.h>

typedef struct fixture {
    desk *desk;
    char *folder;
} fixture;

static void
open_store(fixture *self)
{
    kw_model_embedded settings = {.path = self->folder, .cache_bytes = 8 << 20};
    kw_error error;
    kw_store *store = kw_embedded_open(&settings, &error);
    if (!store)
        g_error("%s", error.text);
    self->desk = desk_new_over(store, desk_policy);
    desk_create(self->desk, "orders");
    desk_create(self->desk, "counters");
    desk_create(self->desk, "marks");
}

static void
set_up(fixture *self)
{
    g_autofree char *folder = g_dir_make_tmp("verbs-XXXXXX", NULL);
    self->folder = g_build_filename(folder, "data", NULL);
    open_store(self);
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
tear_down(fixture *self)
{
    desk_free(self->desk);
    g_autofree char *parent = g_path_get_dirname(self->folder);
    remove_folder(parent);
    g_free(self->folder);
}

KW_TEST(test_records, "/verb/embedded/records")
{
    fixture self;
    set_up(&self);
    desk *target = self.desk;
    g_assert_cmpint(desk_put(target, "orders", "order_id=A1 ts=5 status=new amount=1.5")->outcome, ==,
                    KW_OUTCOME_OK);
    desk_put(target, "orders", "order_id=A1 ts=6");
    g_assert_cmpstr(desk_get(target, "orders", "order_id=A1 ts=5", NULL), ==,
                    "order_id=A1 ts=5 status=new amount=1.5");
    g_assert_cmpstr(desk_get(target, "orders", "order_id=A1 ts=5", "city"), ==, "order_id=A1 ts=5");
    g_assert_cmpstr(desk_get(target, "orders", "order_id=A1 ts=6", "city"), ==, "order_id=A1 ts=6");
    g_assert_cmpstr(desk_get(target, "orders", "order_id=A1 ts=7", "city"), ==, "none");
    desk_free(target); /* read the rows again from the disk */
    open_store(&self);
    g_autofree char *rows = desk_scan_all(self.desk, "orders order_id=A1 page=1");
    g_assert_cmpstr(rows, ==, "order_id=A1 ts=6\norder_id=A1 ts=5 status=new amount=1.5\n");
    tear_down(&self);
}

/* A put after an acknowledged remove is never hidden by the delete marker. */
KW_TEST(test_put_after_remove, "/verb/embedded/put after remove")
{
    fixture self;
    set_up(&self);
    for (int i = 0; i < 30; i++) {
        g_assert_cmpint(desk_put(self.desk, "orders", "order_id=A1 ts=5 city=Rome")->outcome, ==,
                        KW_OUTCOME_OK);
        g_assert_cmpstr(desk_get(self.desk, "orders", "order_id=A1 ts=5", NULL), ==,
                        "order_id=A1 ts=5 city=Rome");
        const char *column = i % 2 ? "city" : NULL;
        const kw_written_record *removed = desk_remove(self.desk, "orders", "order_id=A1 ts=5", column);
        g_assert_cmpint(removed->outcome, ==, KW_OUTCOME_OK);
        g_assert_cmpstr(desk_get(self.desk, "orders", "order_id=A1 ts=5", NULL), ==, "none");
        desk_clear(self.desk);
    }
    tear_down(&self);
}

static void
decrement_on_written(void *user, const kw_written_record *results, size_t count)
{
    g_assert_cmpuint(count, ==, 1);
    g_assert_cmpint(results[0].outcome, ==, KW_OUTCOME_OK);
    --*(int *)user;
}

/* The same for a put that a caller sends after the remove in the same millisecond, without waiting for it. */
KW_TEST(test_put_sent_after_remove, "/verb/embedded/put sent after remove")
{
    fixture self;
    set_up(&self);
    desk *target = self.desk;
    for (int i = 0; i < 50; i++) {
        int pending = 4;
        kw_item items[] = {{.record = desk_record(target, "orders", "order_id=A1 ts=5 city=old")},
                           {.record = desk_record(target, "orders", "order_id=A1 ts=5 city=new")},
                           {.record = desk_record(target, "orders", "order_id=A1 ts=5")}};
        const kw_table *table = desk_table(target, "orders");
        kw_verb_put(&target->call, table, &items[0], 1, target->options, decrement_on_written, &pending);
        kw_verb_remove(&target->call, table, &items[2], 1, NULL, 0, target->options, decrement_on_written,
                       &pending);
        kw_verb_remove(&target->call, table, &items[2], 1, NULL, 0, target->options, decrement_on_written,
                       &pending);
        kw_verb_put(&target->call, table, &items[1], 1, target->options, decrement_on_written, &pending);
        while (pending)
            uv_run(kw_loop_uv(target->loop), UV_RUN_ONCE);
        g_assert_cmpstr(desk_get(target, "orders", "order_id=A1 ts=5", NULL), ==,
                        "order_id=A1 ts=5 city=new");
        desk_clear(target);
    }
    tear_down(&self);
}

KW_TEST(test_scan, "/verb/embedded/scan")
{
    fixture self;
    set_up(&self);
    desk *target = self.desk;
    kw_item items[400] = {0};
    for (size_t i = 0; i < G_N_ELEMENTS(items); i++) {
        g_autofree char *text = g_strdup_printf("order_id=o%zu ts=%zu city=c", i % 40, i);
        items[i].record = desk_record(target, "orders", text);
    }
    target->done = false;
    kw_verb_put(&target->call, desk_table(target, "orders"), items, G_N_ELEMENTS(items), target->options,
                desk_done, target);
    desk_wait(target);
    for (size_t i = 0; i < G_N_ELEMENTS(items); i++)
        g_assert_cmpint(target->written[i].outcome, ==, KW_OUTCOME_OK);
    static const char *const orders[] = {"asc", "desc"};
    for (size_t direction = 0; direction < 2; direction++)
        for (unsigned page = 1; page < 500; page = 3 * page + 4) {
            g_autofree char *query = g_strdup_printf(
                "orders path=by_time full order=%s page=%u columns=order_id", orders[direction], page);
            g_autofree char *rows = desk_scan_all(target, query);
            g_autoptr(GString) expected = g_string_new(NULL);
            for (size_t i = 0; i < G_N_ELEMENTS(items); i++) {
                size_t n = direction ? G_N_ELEMENTS(items) - 1 - i : i;
                g_string_append_printf(expected, "order_id=o%zu ts=%zu\n", n % 40, n);
            }
            g_assert_cmpstr(rows, ==, expected->str);
        }
    g_assert_true(desk_scan(target, "orders order_id=o7 limit=1"));
    g_assert_cmpuint(target->page.scanned, ==, 1);
    g_assert_true(desk_scan(target, "orders path=by_time full order=desc limit=20"));
    g_assert_cmpuint(target->page.scanned, <=, 60);
    tear_down(&self);
}

typedef void (*store_test)(kw_store *store, const char *name);

static void
run_on_embedded_store(store_test run)
{
    g_autofree char *parent = g_dir_make_tmp("verbs-XXXXXX", NULL);
    g_autofree char *folder = g_build_filename(parent, "data", NULL);
    kw_model_embedded settings = {.path = folder, .cache_bytes = 8 << 20};
    kw_error error;
    kw_store *store = kw_embedded_open(&settings, &error);
    if (!store)
        g_error("%s", error.text);
    run(store, "test");
    remove_folder(parent);
}

/* A record and its association are removed together, whichever operation fails. */
KW_TEST(test_removals_with_association, "/verb/embedded/removals with association")
{
    run_on_embedded_store(gone_integration_test);
}

KW_TEST(test_renewals, "/verb/embedded/renewals")
{
    run_on_embedded_store(renewed_integration_test);
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
run_over_days(kw_store *store, const char *name)
{
    renewed_days_integration_test(store, name, move_clock);
}

/* A row key in an association exists as long as the records that need it, and expires after them. */
KW_TEST(test_renewals_over_days, "/verb/embedded/renewals over days")
{
    kw_clock_inject(moved_clock, NULL);
    run_on_embedded_store(run_over_days);
    kw_clock_inject(NULL, NULL);
}
