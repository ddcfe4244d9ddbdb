/* Gets, scans and cursors of a table whose key rules are being changed: each path has two placements, and
 * reads use one of them. */
#include "changing_writes.h"

#include "support/seeded.h"

#include <stdlib.h>

enum { SCANNED = 60 };

static void
put_numbered(changing *self)
{
    for (int i = 0; i < SCANNED; i++) {
        g_autofree char *record = g_strdup_printf("id=%02d n=%d", i, i);
        changing_put(self, record);
    }
}

static int
compare_lines(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static char *
sorted(const char *text)
{
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    qsort(lines, g_strv_length(lines), sizeof *lines, compare_lines);
    return g_strjoinv("\n", lines);
}

static char *
expected_lines(void)
{
    GString *text = g_string_new(NULL);
    for (int i = 0; i < SCANNED; i++)
        g_string_append_printf(text, "\nid=%02d n=%d", i, i);
    return g_string_free(text, FALSE);
}

static void
test_scans(void)
{
    for (size_t i = 0; i < CHANGING_ALL_PATHS; i++) {
        changing self;
        changing_init(&self, changing_all_paths[i]);
        put_numbered(&self);
        g_autofree char *expected = expected_lines();
        for (changing_version version = CHANGING_OLD; version <= CHANGING_NEW; version++) {
            changing_serve(&self, version);
            for (size_t path = 0; path < desk_table(self.desk, "t")->paths_count; path++) {
                g_autofree char *request =
                    g_strdup_printf("t full page=7 path=%s", desk_table(self.desk, "t")->paths[path].name);
                g_autofree char *rows = desk_scan_all(self.desk, request), *lines = sorted(rows);
                g_assert_cmpstr(lines, ==, expected);
            }
            g_autofree char *one = desk_scan_all(self.desk, "t id=07|09");
            g_autofree char *lines = sorted(one);
            g_assert_cmpstr(lines, ==, "\nid=07 n=7\nid=09 n=9");
        }
        changing_clear(&self);
    }
}

/* Scans begin in the placement that the version reads. */
static void
test_scanned_placement(void)
{
    changing self;
    changing_init(&self, "primary");
    put_numbered(&self);
    for (changing_version version = CHANGING_BOTH_OLD; version <= CHANGING_BOTH_NEW; version++) {
        changing_serve(&self, version);
        kw_scan_request request = desk_request(self.desk, "t full");
        const kw_plan *plan;
        kw_error error;
        g_assert_true(kw_verb_explain(&self.desk->call, &request, NULL, &plan, &error));
        g_assert_cmpuint(kw_layout_number(plan->placements[0]->layout), ==,
                         version == CHANGING_BOTH_OLD ? 1 : 2);
        request = desk_request(self.desk, "t id=05 id=10..20"); /* no record can match */
        g_assert_true(kw_verb_explain(&self.desk->call, &request, NULL, &plan, &error));
        g_assert_cmpuint(kw_layout_number(plan->placements[0]->layout), ==,
                         version == CHANGING_BOTH_OLD ? 1 : 2);
        g_autofree char *rows = desk_scan_all(self.desk, "t full page=100");
        g_autofree char *lines = sorted(rows);
        g_autofree char *by_id = g_strconcat("\n", rows, NULL);
        by_id[strlen(by_id) - 1] = '\0';
        g_assert_cmpint(g_str_equal(by_id, lines), ==, version == CHANGING_BOTH_OLD);
    }
    changing_clear(&self);
}

/* A scan that began in the old placement continues there in both versions: it returns each record once. */
static void
test_cursors(void)
{
    changing self;
    changing_init(&self, "primary");
    put_numbered(&self);
    g_autofree char *whole = desk_scan_all(self.desk, "t full page=100");
    g_assert_true(desk_scan(self.desk, "t full page=7"));
    g_autofree char *page = desk_page_text(self.desk);
    g_autoptr(GString) rows = g_string_new(page);
    while (self.desk->page.cursor.size) {
        kw_bytes cursor = kw_arena_copy(self.desk->call.arena, self.desk->page.cursor);
        changing_serve(&self, self.version == CHANGING_BOTH_OLD ? CHANGING_BOTH_NEW : CHANGING_BOTH_OLD);
        g_assert_true(desk_next(self.desk, cursor));
        g_autofree char *more = desk_page_text(self.desk);
        g_string_append(rows, more);
    }
    g_assert_cmpstr(rows->str, ==, whole);
    changing_clear(&self);
}

/* While the new placement can lack rows, its cursors are rejected. They stay valid. */
static void
test_new_cursors(void)
{
    changing self;
    changing_init(&self, "primary");
    changing_serve(&self, CHANGING_BOTH_NEW);
    put_numbered(&self);
    g_autofree char *whole = desk_scan_all(self.desk, "t full page=100");
    g_assert_true(desk_scan(self.desk, "t full page=50"));
    g_autofree char *first = desk_page_text(self.desk);
    kw_bytes cursor = kw_arena_copy(self.desk->call.arena, self.desk->page.cursor);
    changing_serve(&self, CHANGING_BOTH_OLD);
    g_assert_false(desk_next(self.desk, cursor));
    g_assert_cmpstr(self.desk->error.text, ==,
                    "cursor was made under another key rule of table t, path primary; start the scan again");
    static const changing_version later[] = {CHANGING_BOTH_NEW, CHANGING_NEW};
    for (size_t i = 0; i < G_N_ELEMENTS(later); i++) {
        changing_serve(&self, later[i]);
        g_assert_true(desk_next(self.desk, cursor));
        g_autofree char *rest = desk_page_text(self.desk), *both = g_strconcat(first, rest, NULL);
        g_assert_cmpstr(both, ==, whole);
    }
    changing_clear(&self);
}

static void
test_put_before_cursor(void)
{
    changing self;
    changing_init(&self, "primary");
    put_numbered(&self);
    g_assert_true(desk_scan(self.desk, "t full page=7"));
    kw_bytes cursor = kw_arena_copy(self.desk->call.arena, self.desk->page.cursor);
    changing_serve(&self, CHANGING_BOTH_NEW);
    changing_put(&self, "id=07a n=1");
    changing_remove(&self, "id=08", NULL);
    g_assert_true(desk_next(self.desk, cursor));
    g_autofree char *rows = desk_page_text(self.desk);
    g_assert_true(g_str_has_prefix(rows, "id=07 n=7\nid=07a n=1\nid=09 n=9\n"));
    cursor = kw_arena_copy(self.desk->call.arena, self.desk->page.cursor);
    changing_serve(&self, CHANGING_NEW);
    g_assert_false(desk_next(self.desk, cursor));
    g_assert_cmpstr(
        self.desk->error.text, ==,
        "cursor was made under layout 1 of table t, path primary, which has layout 2 now; start the "
        "scan again");
    changing_clear(&self);
}

static void
test_get_many(void)
{
    changing self;
    changing_init(&self, "primary second");
    put_numbered(&self);
    for (changing_version version = CHANGING_OLD; version <= CHANGING_NEW; version++) {
        changing_serve(&self, version);
        desk *on = self.desk;
        kw_item keys[3] = {{.record = desk_record(on, "t", "id=05")},
                           {.record = desk_record(on, "t", "id=none")},
                           {.record = desk_record(on, "t", "id=41")}};
        on->done = false;
        kw_verb_get(&on->call, desk_table(on, "t"), keys, 3, NULL, 0, desk_got, on);
        desk_wait(on);
        g_assert_cmpstr(desk_text(on, desk_table(on, "t"), &on->found[0].record), ==, "id=05 n=5");
        g_assert_null(on->found[1].record.values);
        g_assert_cmpstr(desk_text(on, desk_table(on, "t"), &on->found[2].record), ==, "id=41 n=41");
    }
    changing_clear(&self);
}

int
main(int argc, char **argv)
{
    seeded_init(&argc, &argv);
    g_test_add_func("/verb/changing-reads/scans", test_scans);
    g_test_add_func("/verb/changing-reads/scanned-placement", test_scanned_placement);
    g_test_add_func("/verb/changing-reads/cursors", test_cursors);
    g_test_add_func("/verb/changing-reads/new-cursors", test_new_cursors);
    g_test_add_func("/verb/changing-reads/put-before-cursor", test_put_before_cursor);
    g_test_add_func("/verb/changing-reads/get-many", test_get_many);
    return g_test_run();
}
