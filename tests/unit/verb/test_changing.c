/* The verbs on a table whose key rules are being changed, in an embedded store: each path has two placements.
 * Every write reaches both; reads use one of them.
 *
 * The crash test runs this program as a child: test_verb_changing --child FOLDER. */
#include "changing.h"

#include "support/seeded.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const all_paths[] = {"primary", "second", "primary second", "primary static"};

static void
put(changing *self, const char *record)
{
    const kw_written_record *written = desk_put(self->desk, "t", record);
    if (written->outcome != KW_OUTCOME_OK)
        g_error("%s: %s", record, written->error.text);
}

static void
remove_columns(changing *self, const char *key, const char *columns)
{
    const kw_written_record *written = desk_remove(self->desk, "t", key, columns);
    if (written->outcome != KW_OUTCOME_OK)
        g_error("%s: %s", key, written->error.text);
}

static void
assert_record(changing *self, const char *key, const char *expected)
{
    g_assert_cmpstr(desk_get(self->desk, "t", key, NULL), ==, expected);
    g_autofree char *cells = changing_same_cells(self, key);
    g_assert_cmpint(g_str_equal(cells, ""), ==, g_str_equal(expected, "none"));
}

/* --- writes ---------------------------------------------------------------------------------------- */

static void
write_in(changing *self)
{
    put(self, "id=a n=1 note=x tags.one=1 tags.two=2");
    assert_record(self, "id=a", "id=a n=1 note=x tags.one=1 tags.two=2");
    put(self, "id=a note=y"); /* of one field */
    assert_record(self, "id=a", "id=a n=1 note=y tags.one=1 tags.two=2");
    put(self, "id=b");
    assert_record(self, "id=b", "id=b");
    remove_columns(self, "id=a", "note tags.one");
    assert_record(self, "id=a", "id=a n=1 tags.two=2");
    remove_columns(self, "id=a", "tags");
    assert_record(self, "id=a", "id=a n=1");
    changing_reopen(self);
    assert_record(self, "id=a", "id=a n=1");
    remove_columns(self, "id=a", NULL);
    assert_record(self, "id=a", "none");
    put(self, "id=a n=5");
    assert_record(self, "id=a", "id=a n=5");
    changing_serve(self, self->version == CHANGING_BOTH_OLD ? CHANGING_BOTH_NEW : CHANGING_BOTH_OLD);
    assert_record(self, "id=a", "id=a n=5");
    assert_record(self, "id=b", "id=b");
}

static void
test_writes(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(all_paths); i++)
        for (changing_version version = CHANGING_BOTH_OLD; version <= CHANGING_BOTH_NEW; version++) {
            changing self;
            changing_init(&self, all_paths[i]);
            changing_serve(&self, version);
            write_in(&self);
            changing_serve(&self, CHANGING_NEW);
            g_assert_cmpstr(desk_get(self.desk, "t", "id=a", NULL), ==, "id=a n=5");
            changing_serve(&self, CHANGING_OLD);
            g_assert_cmpstr(desk_get(self.desk, "t", "id=a", NULL), ==, "id=a n=5");
            changing_clear(&self);
        }
}

enum { RECORDS = 12, STEPS = 400 };

static char *
random_key(void)
{
    return g_strdup_printf("id=r%d", g_test_rand_int_range(0, RECORDS));
}

static char *
random_record(void)
{
    GString *text = g_string_new(NULL);
    g_string_append_printf(text, "id=r%d", g_test_rand_int_range(0, RECORDS));
    if (g_test_rand_int_range(0, 2))
        g_string_append_printf(text, " n=%d", g_test_rand_int_range(0, 100));
    if (g_test_rand_int_range(0, 2))
        g_string_append_printf(text, " note=x%d", g_test_rand_int_range(0, 100));
    for (int i = 0; i < 3; i++)
        if (g_test_rand_int_range(0, 3) == 0)
            g_string_append_printf(text, " tags.e%d=%d", i, g_test_rand_int_range(0, 100));
    return g_string_free(text, FALSE);
}

/* Puts or removes several records in one call; some of them occur twice. */
static void
write_many(changing *self, bool puts)
{
    desk *on = self->desk;
    enum { MANY = 9 };
    kw_item *items = KW_ARENA_ARRAY(on->call.arena, kw_item, MANY);
    for (int i = 0; i < MANY; i++) {
        g_autofree char *text = puts ? random_record() : random_key();
        items[i] = (kw_item){.record = desk_record(on, "t", text)};
    }
    on->done = false;
    if (puts)
        kw_verb_put(&on->call, desk_table(on, "t"), items, MANY, on->options, desk_done, on);
    else
        kw_verb_remove(&on->call, desk_table(on, "t"), items, MANY, NULL, 0, on->options, desk_done, on);
    desk_wait(on);
    for (int i = 0; i < MANY; i++)
        g_assert_cmpint(on->written[i].outcome, ==, KW_OUTCOME_OK);
}

static void
random_write(changing *self)
{
    static const char *const columns[] = {NULL, "note", "n note", "tags", "tags.e1"};
    g_autofree char *key = random_key(), *record = random_record();
    int kind = g_test_rand_int_range(0, 10);
    kw_write_options before = self->desk->options;
    if (g_test_rand_int_range(0, 5) == 0)
        self->desk->options = (kw_write_options){
            .has_timestamp = true,
            .timestamp = kw_clock_wall_ms() + g_test_rand_int_range(-1000, 1),
        };
    if (kind < 5)
        put(self, record);
    else if (kind < 8)
        remove_columns(self, key, columns[g_test_rand_int_range(0, G_N_ELEMENTS(columns))]);
    else
        write_many(self, kind == 8);
    self->desk->options = before;
}

/* Whatever is written in either version, the rows of a record stay equal. */
static void
test_random_writes(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(all_paths); i++) {
        changing self;
        changing_init(&self, all_paths[i]);
        for (int step = 0; step < STEPS; step++) {
            random_write(&self);
            if (step % 50 == 20)
                changing_serve(&self,
                               self.version == CHANGING_BOTH_OLD ? CHANGING_BOTH_NEW : CHANGING_BOTH_OLD);
            if (step % 100 == 70)
                changing_reopen(&self);
            for (int id = 0; id < RECORDS; id++) {
                g_autofree char *key = g_strdup_printf("id=r%d", id);
                g_free(changing_same_cells(&self, key));
            }
            desk_clear(self.desk);
        }
        changing_clear(&self);
    }
}

/* --- records that only one of the rules can encode --------------------------------------------------- */

#define LONG "id=longer-than-8"

static void
test_only_old_rule(void)
{
    changing self;
    changing_init(&self, "primary");
    changing_serve(&self, CHANGING_OLD);
    put(&self, LONG " n=1");
    changing_serve(&self, CHANGING_BOTH_OLD);
    g_assert_cmpstr(desk_get(self.desk, "t", LONG, NULL), ==, LONG " n=1");
    const kw_written_record *written = desk_put(self.desk, "t", LONG " n=2");
    g_assert_cmpint(written->outcome, ==, KW_OUTCOME_FAILED);
    g_assert_cmpint(written->error.code, ==, KW_INVALID);
    g_assert_true(g_str_has_prefix(
        written->error.text, "the key rule of path primary is being changed; layout 2: table t, field id"));
    g_assert_cmpstr(desk_get(self.desk, "t", LONG, NULL), ==, LONG " n=1");
    remove_columns(&self, LONG, NULL);
    g_assert_cmpstr(desk_get(self.desk, "t", LONG, NULL), ==, "none");
    changing_clear(&self);
}

/* --- a store table that is missing ------------------------------------------------------------------- */

static void
dropped(void *user, const kw_error *error)
{
    desk *self = user;
    g_assert_null(error);
    self->done = true;
}

/* If one of the rows of a record cannot be written, none is. */
static void
test_all_or_nothing(void)
{
    changing self;
    changing_init(&self, "primary");
    put(&self, "id=a n=1");
    self.desk->done = false;
    kw_store_handle_drop_table(self.desk->handle, KW_BYTES_LITERAL("t_L2"), KW_DEADLINE_NONE, dropped,
                               self.desk);
    desk_wait(self.desk);
    const kw_written_record *written = desk_put(self.desk, "t", "id=a n=2");
    g_assert_cmpint(written->outcome, ==, KW_OUTCOME_FAILED);
    g_assert_false(written->error.maybe_applied);
    g_assert_cmpstr(desk_get(self.desk, "t", "id=a", NULL), ==, "id=a n=1");
    changing_clear(&self);
}

/* --- reads ----------------------------------------------------------------------------------------- */

enum { SCANNED = 60 };

static void
put_numbered(changing *self)
{
    for (int i = 0; i < SCANNED; i++) {
        g_autofree char *record = g_strdup_printf("id=%02d n=%d", i, i);
        put(self, record);
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
    for (size_t i = 0; i < G_N_ELEMENTS(all_paths); i++) {
        changing self;
        changing_init(&self, all_paths[i]);
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
    put(&self, "id=07a n=1");
    remove_columns(&self, "id=08", NULL);
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

/* --- the other verbs -------------------------------------------------------------------------------- */

static void
explained(void *user, const kw_explained_key *keys, size_t count, const kw_error *error)
{
    desk *self = user;
    static const char *const tables[] = {"t_L2", "t", "t_second_L2", "t_second"};
    g_assert_null(error);
    g_assert_cmpuint(count, ==, G_N_ELEMENTS(tables));
    for (size_t i = 0; i < count; i++) {
        kw_buffer key = KW_BUFFER_EMPTY;
        kw_error ignored;
        kw_record record = desk_record(self, "t", "id=a");
        g_assert_cmpstr(kw_layout_store_table(keys[i].placement->layout), ==, tables[i]);
        g_assert_true(kw_layout_encode(keys[i].placement->layout, &record, &key, &ignored));
        g_assert_true(kw_bytes_equal(kw_buffer_bytes(&key), keys[i].row_key));
        g_assert_true(keys[i].has_region);
        bool split = keys[i].region_start.size || keys[i].region_stop.size;
        g_assert_cmpint(split, ==, i == 0); /* only the new rule's store table has several regions */
        kw_buffer_clear(&key);
    }
    self->done = true;
}

static void
test_explain_put(void)
{
    changing self;
    changing_init(&self, "primary second");
    kw_record record = desk_record(self.desk, "t", "id=a n=1");
    self.desk->done = false;
    kw_verb_explain_put(&self.desk->call, desk_table(self.desk, "t"), &record, explained, self.desk);
    desk_wait(self.desk);
    changing_clear(&self);
}

static void
decided(void *user, bool applied, kw_record made, const kw_error *error)
{
    desk *self = user;
    (void)made;
    self->done = true;
    self->applied = applied;
    self->error = error ? *error : KW_ERROR_NONE;
}

static void
incremented(void *user, const kw_record *values, const kw_error *error)
{
    desk *self = user;
    self->done = true;
    self->error = error ? *error : KW_ERROR_NONE;
    if (values)
        self->values = *values;
}

/* Adds to field n, and returns its new value. */
static int64_t
increment(changing *self, const char *key, int64_t amount)
{
    desk *on = self->desk;
    kw_record record = desk_record(on, "t", key);
    kw_pick pick = desk_pick(on, "t", "n");
    kw_write_options options = {0}; /* no timestamp */
    on->done = false;
    kw_verb_increment(&on->call, desk_table(on, "t"), &record, &pick, &amount, 1, options, incremented, on);
    desk_wait(on);
    if (on->error.code != KW_OK)
        g_error("%s: %s", key, on->error.text);
    return on->values.values[desk_field(on, "t", "n")].number;
}

/* condition: a value of `note`, or NULL if it must be absent. */
static bool
put_if(changing *self, const char *record, const char *condition)
{
    desk *on = self->desk;
    kw_record values = desk_record(on, "t", record);
    kw_condition_on_field expected = {.pick = desk_pick(on, "t", "note"), .compare = KW_COMPARE_EQUAL};
    if (condition)
        expected.value = (kw_value){.kind = KW_VALUE_TEXT, .bytes = kw_bytes_of_text(condition)};
    on->done = false;
    kw_verb_put_if(&on->call, desk_table(on, "t"), &values, &expected, on->options, decided, on);
    desk_wait(on);
    if (on->error.code != KW_OK)
        g_error("%s: %s", record, on->error.text);
    return on->applied;
}

static void
change_in(changing *self)
{
    for (changing_version version = CHANGING_BOTH_OLD; version <= CHANGING_BOTH_NEW; version++) {
        int64_t sum = version == CHANGING_BOTH_OLD ? 1 : 8;
        changing_serve(self, version);
        g_assert_cmpint(increment(self, "id=a", 1), ==, sum);
        g_assert_cmpint(increment(self, "id=a", 5), ==, sum + 5);
        g_assert_true(put_if(self, "id=a note=x", NULL));
        g_assert_false(put_if(self, "id=a note=y", NULL));
        g_assert_true(put_if(self, "id=a note=y tags.one=7", "x"));
        g_autofree char *expected = g_strdup_printf("id=a n=%d note=y tags.one=7", (int)sum + 5);
        assert_record(self, "id=a", expected);
        remove_columns(self, "id=a", "note");
        g_assert_cmpint(increment(self, "id=a", 1), ==, sum + 6);
    }
    changing_reopen(self);
    assert_record(self, "id=a", "id=a n=14 tags.one=7");
}

/* Increments and conditional puts write all rows of a record in each version, and read one of them. */
static void
test_atomics(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(all_paths); i++) {
        changing self;
        changing_init(&self, all_paths[i]);
        change_in(&self);
        changing_serve(&self, CHANGING_NEW);
        g_assert_cmpint(increment(&self, "id=a", 1), ==, 15);
        changing_serve(&self, CHANGING_OLD);
        bool moved = strstr(all_paths[i], "primary") != NULL; /* then the old row lacks the last one */
        g_assert_cmpint(increment(&self, "id=a", 1), ==, moved ? 15 : 16);
        changing_clear(&self);
    }
}

/* The row that gets read decides, although the other placement has no row yet. */
static void
test_atomics_read_one_row(void)
{
    changing self;
    changing_init(&self, "primary");
    changing_serve(&self, CHANGING_OLD);
    put(&self, "id=a n=10 note=x"); /* not yet copied */
    changing_serve(&self, CHANGING_BOTH_OLD);
    g_assert_cmpint(increment(&self, "id=a", 1), ==, 11);
    g_assert_true(put_if(&self, "id=a note=y", "x"));
    g_assert_cmpstr(desk_get(self.desk, "t", "id=a", NULL), ==, "id=a n=11 note=y");
    changing_serve(&self, CHANGING_BOTH_NEW);
    g_assert_cmpstr(desk_get(self.desk, "t", "id=a", NULL), ==, "id=a n=11 note=y");
    changing_clear(&self);
}

/* If one of the rows of a record cannot be written, none is. */
static void
test_atomics_all_or_nothing(void)
{
    changing self;
    changing_init(&self, "primary");
    desk *on = self.desk;
    put(&self, "id=a n=1 note=x");
    on->done = false;
    kw_store_handle_drop_table(on->handle, KW_BYTES_LITERAL("t_L2"), KW_DEADLINE_NONE, dropped, on);
    desk_wait(on);
    kw_record record = desk_record(on, "t", "id=a");
    kw_pick pick = desk_pick(on, "t", "n");
    int64_t one = 1;
    on->done = false;
    kw_verb_increment(&on->call, desk_table(on, "t"), &record, &pick, &one, 1, on->options, incremented, on);
    desk_wait(on);
    g_assert_cmpint(on->error.code, ==, KW_NOT_FOUND);
    g_assert_false(on->error.maybe_applied);
    g_assert_cmpstr(desk_get(on, "t", "id=a", NULL), ==, "id=a n=1 note=x");
    changing_clear(&self);
}

static void
random_atomic(changing *self)
{
    g_autofree char *key = random_key();
    g_autofree char *note = g_strdup_printf("x%d", g_test_rand_int_range(0, 3));
    g_autofree char *noted = g_strdup_printf("%s note=x%d tags.e1=1", key, g_test_rand_int_range(0, 3));
    if (g_test_rand_int_range(0, 2))
        increment(self, key, g_test_rand_int_range(-5, 6));
    else
        put_if(self, noted, g_test_rand_int_range(0, 2) ? note : NULL);
}

static void
mix_writes(changing *self)
{
    for (int step = 0; step < STEPS; step++) {
        if (g_test_rand_int_range(0, 2))
            random_atomic(self);
        else
            random_write(self);
        if (step % 40 == 39)
            changing_serve(self, self->version == CHANGING_BOTH_OLD ? CHANGING_BOTH_NEW : CHANGING_BOTH_OLD);
        if (step == STEPS / 2)
            changing_reopen(self);
    }
}

/* After any mix of writes the rows of a record are equal. */
static void
test_random_atomics(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(all_paths); i++) {
        changing self;
        changing_init(&self, all_paths[i]);
        mix_writes(&self);
        size_t some = 0;
        for (int record = 0; record < RECORDS; record++) {
            g_autofree char *key = g_strdup_printf("id=r%d", record);
            g_autofree char *cells = changing_same_cells(&self, key);
            some += *cells != '\0';
        }
        g_assert_cmpuint(some, >, 0);
        changing_clear(&self);
    }
}

/* --- crashes ---------------------------------------------------------------------------------------- */

enum { CRASHED = 40, WRITES = 3000 };

/* Writes records of changing content, with one byte per acknowledged write to the parent. */
static void
run_child(const char *folder)
{
    changing self;
    changing_open(&self, folder, "primary second");
    for (int i = 0;; i++) {
        g_autofree char *key = g_strdup_printf("id=c%d", i % CRASHED);
        g_autofree char *record = g_strdup_printf("%s n=%d note=w%d", key, i, i);
        g_autofree char *noted = g_strdup_printf("%s note=w%d", key, i);
        if (i % 7 == 6)
            remove_columns(&self, key, i % 2 ? NULL : "note");
        else if (i % 5 == 4)
            write_many(&self, true);
        else if (i % 5 == 3)
            increment(&self, key, i);
        else if (i % 5 == 2)
            put_if(&self, noted, NULL);
        else
            put(&self, record);
        if (write(STDOUT_FILENO, "w", 1) != 1)
            _exit(1);
        desk_clear(self.desk);
    }
}

static const char *program;

static void
kill_child(const char *folder)
{
    const char *const command[] = {program, "--child", folder, NULL};
    GPid child;
    int from_child, status;
    g_autoptr(GError) failed = NULL;
    if (!g_spawn_async_with_pipes(NULL, (char **)(uintptr_t)command, NULL, G_SPAWN_DO_NOT_REAP_CHILD, NULL,
                                  NULL, &child, NULL, &from_child, NULL, &failed))
        g_error("%s", failed->message);
    char byte;
    for (int i = 0; i < WRITES / 10 + g_test_rand_int_range(0, WRITES / 10); i++)
        g_assert_cmpint(read(from_child, &byte, 1), ==, 1);
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    g_assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    close(from_child);
}

static void
test_crash(void)
{
    g_autofree char *parent = g_dir_make_tmp("changing-XXXXXX", NULL);
    g_autofree char *folder = g_build_filename(parent, "data", NULL);
    changing self;
    for (int round = 0; round < 3; round++) {
        kill_child(folder);
        changing_open(&self, folder, "primary second");
        size_t some = 0;
        for (int i = 0; i < CRASHED; i++) {
            g_autofree char *key = g_strdup_printf("id=c%d", i);
            g_autofree char *cells = changing_same_cells(&self, key);
            some += *cells != '\0';
        }
        g_assert_cmpuint(some, >, CRASHED / 2);
        if (round < 2) {
            changing_close(&self);
            g_free(self.folder);
        }
    }
    changing_clear(&self);
}

int
main(int argc, char **argv)
{
    const char *folder = argc == 3 && g_str_equal(argv[1], "--child") ? argv[2] : NULL;
    program = argv[0];
    argc = folder ? 1 : argc;
    seeded_init(&argc, &argv);
    if (folder)
        run_child(folder);
    g_test_add_func("/verb/changing/writes", test_writes);
    g_test_add_func("/verb/changing/random-writes", test_random_writes);
    g_test_add_func("/verb/changing/only-old-rule", test_only_old_rule);
    g_test_add_func("/verb/changing/all-or-nothing", test_all_or_nothing);
    g_test_add_func("/verb/changing/scans", test_scans);
    g_test_add_func("/verb/changing/scanned-placement", test_scanned_placement);
    g_test_add_func("/verb/changing/cursors", test_cursors);
    g_test_add_func("/verb/changing/new-cursors", test_new_cursors);
    g_test_add_func("/verb/changing/put-before-cursor", test_put_before_cursor);
    g_test_add_func("/verb/changing/get-many", test_get_many);
    g_test_add_func("/verb/changing/explain-put", test_explain_put);
    g_test_add_func("/verb/changing/atomics", test_atomics);
    g_test_add_func("/verb/changing/atomics-read-one-row", test_atomics_read_one_row);
    g_test_add_func("/verb/changing/atomics-all-or-nothing", test_atomics_all_or_nothing);
    g_test_add_func("/verb/changing/random-atomics", test_random_atomics);
    g_test_add_func("/verb/changing/crash", test_crash);
    return g_test_run();
}
