/* Scans of hint paths over a store in memory: pages, stale hints, records that move while a query runs,
 * cursors, and what is refused. tests/scenario/hint_queries.py compares random queries with a model. */
#include "desk.h"

#include "base/metrics.h"
#include "gather/cursor.h"
#include "verb/scan.h"

static const char policy[] =
    "store: {kind: embedded}\n"
    "limits: {frame: 64KiB}\n"
    "tables:\n"
    "  jobs:\n"
    "    fields: {id: string, state: {type: string, values: [new, busy, done]}, due: int, note: string, "
    "more: string}\n"
    "    key: [field: id]\n"
    "    paths:\n"
    "      by_state:\n"
    "        key: [{field: {name: state, encoding: terminated}}, {field: {name: due, encoding: int, width: "
    "8}}, "
    "field: id]\n";

/* The time of the store and of the test. */
static int64_t now_ms;

static int64_t
test_time(void)
{
    return now_ms;
}

static desk *
desk_at(int64_t ms)
{
    now_ms = ms;
    kw_clock_inject(test_time, NULL);
    return desk_new(policy);
}

static void
leave(desk *self)
{
    desk_free(self);
    kw_clock_inject(NULL, NULL);
}

/* The clock advances with each put. */
static void
put(desk *self, const char *format, int number)
{
    g_autofree char *text = g_strdup_printf(format, number);
    const kw_written_record *written = desk_put(self, "jobs", text);
    if (written->outcome != KW_OUTCOME_OK)
        g_error("%s", written->error.text);
    now_ms++;
}

static void
put_jobs(desk *self, int count)
{
    for (int i = 0; i < count; i++)
        put(self, i % 2 ? "id=j%1$02d state=busy due=%1$d" : "id=j%1$02d state=new due=%1$d", i);
    now_ms += 1000;
}

static char *
ids_of_page(desk *self)
{
    GString *ids = g_string_new(NULL);
    for (size_t i = 0; i < self->page.count; i++) {
        kw_value id = self->page.rows[i].values[0];
        g_string_append_printf(ids, "%s%.*s", i ? " " : "", (int)id.bytes.size, (const char *)id.bytes.data);
    }
    return g_string_free(ids, FALSE);
}

static void
assert_page(desk *self, const char *ids, bool last)
{
    g_autofree char *found = ids_of_page(self);
    g_assert_cmpstr(self->error.text, ==, "");
    g_assert_cmpstr(found, ==, ids);
    g_assert_cmpint(self->page.cursor.size == 0, ==, last);
}

static void
next(desk *self)
{
    kw_bytes cursor = kw_arena_copy(self->call.arena, self->page.cursor);
    desk_next(self, cursor);
}

static void
assert_refused(desk *self, const char *query, kw_code code, const char *part)
{
    g_assert_false(desk_scan(self, query));
    g_assert_cmpint(self->error.code, ==, code);
    if (!strstr(self->error.text, part))
        g_error("got: %s", self->error.text);
}

KW_TEST(test_pages, "/verb/hint-scan/pages")
{
    desk *self = desk_at(1000);
    put_jobs(self, 12);
    int64_t returned = kw_metrics_read(KW_METRIC_rows_returned);
    g_assert_true(desk_scan(self, "jobs path=by_state state=new page=4"));
    assert_page(self, "j00 j02 j04 j06", false);
    g_assert_cmpint(kw_metrics_read(KW_METRIC_rows_returned) - returned, ==, 4);
    next(self);
    assert_page(self, "j08 j10", true);
    g_assert_true(desk_scan(self, "jobs path=by_state state=new order=desc limit=2"));
    assert_page(self, "j10 j08", true);
    g_assert_true(desk_scan(self, "jobs path=by_state state=new due=2..7"));
    assert_page(self, "j02 j04 j06", true);
    g_assert_true(desk_scan(self, "jobs path=by_state full"));
    assert_page(self, "j01 j03 j05 j07 j09 j11 j00 j02 j04 j06 j08 j10", true);
    g_assert_true(desk_scan(self, "jobs path=by_state state=new id=j04|j05|j06"));
    assert_page(self, "j04 j06", true);
    g_assert_true(desk_scan(self, "jobs path=by_state state=done"));
    assert_page(self, "", true);
    leave(self);
}

/* A page reads hints until it is full. Rows are read once for each batch. */
KW_TEST(test_stale, "/verb/hint-scan/stale")
{
    desk *self = desk_at(1000);
    put_jobs(self, 40);
    for (int i = 0; i < 40; i += 4)
        put(self, "id=j%1$02d state=done due=%1$d", i);
    now_ms += 1000;
    uint64_t rows = self->control->rows_got;
    g_assert_true(desk_scan(self, "jobs path=by_state state=new page=4"));
    assert_page(self, "j02 j06 j10 j14", false);
    g_assert_cmpuint(self->page.scanned, >=, 14);
    g_assert_cmpuint(self->control->rows_got - rows, <=, 8 + 4);
    next(self);
    assert_page(self, "j18 j22 j26 j30", false);
    next(self);
    assert_page(self, "j34 j38", true);
    g_assert_true(desk_scan(self, "jobs path=by_state state=done limit=3"));
    assert_page(self, "j00 j04 j08", true);
    leave(self);
}

KW_TEST(test_absent, "/verb/hint-scan/absent")
{
    desk *self = desk_at(1000);
    put_jobs(self, 6);
    desk_remove(self, "jobs", "id=j00", NULL);
    desk_remove(self, "jobs", "id=j02", "due");
    put(self, "id=j%02d note=x", 9);
    g_assert_true(desk_scan(self, "jobs path=by_state state=new"));
    assert_page(self, "j04", true);
    g_assert_true(desk_scan(self, "jobs path=by_state state=new columns=note"));
    assert_page(self, "j04", true);
    g_assert_cmpstr(desk_text(self, desk_table(self, "jobs"), &self->page.rows[0]), ==, "id=j04");
    leave(self);
}

/* A record has a stale hint and the one of its tuple in one batch; the page ends between them. */
KW_TEST(test_end_in_batch, "/verb/hint-scan/end-in-batch")
{
    for (int moved_first = 0; moved_first < 2; moved_first++) {
        desk *self = desk_at(1000);
        put(self, "id=j%02d state=new due=1", 1);
        put(self, "id=j%02d state=new due=2", 2);
        put(self, moved_first ? "id=j%02d state=new due=3" : "id=j%02d state=new due=0", 1);
        now_ms += 1000;
        g_assert_true(desk_scan(self, "jobs path=by_state state=new bytes=1"));
        assert_page(self, moved_first ? "j02" : "j01", false);
        next(self);
        assert_page(self, moved_first ? "j01" : "j02", true);
        leave(self);
    }
}

/* --- records that move ------------------------------------------------------------------------------- */

typedef struct move {
    desk *desk;
    const char *record;
    unsigned left; /* reads before it */
} move;

/* Writes the record's hint and row without the loop. */
static void
move_now(void *user)
{
    move *what = user;
    desk *self = what->desk;
    if (!what->record || what->left--)
        return;
    g_auto(kw_buffer) key = KW_BUFFER_EMPTY;
    kw_error error;
    const kw_table *table = desk_table(self, "jobs");
    kw_record record = desk_record(self, "jobs", what->record);
    what->record = NULL;
    g_assert_true(kw_layout_encode(table->paths[1].layout, &record, &key, &error));
    kw_memory_store_set(self->store, "jobs_by_state", kw_buffer_bytes(&key), "d", "", KW_BYTES_NONE, now_ms);
    for (size_t field = 1; field < 3; field++)
        kw_memory_store_set(
            self->store, "jobs", record.values[0].bytes, "d", table->fields[field].name,
            kw_field_encode_cell(&table->fields[field], record.values[field], self->call.arena), now_ms);
}

/* The record has moved between the hints and the rows of the first batch. */
static char *
scan_moving(desk *self, const char *query, const char *record)
{
    move what = {.desk = self, .record = record};
    self->control->before_gets = move_now;
    self->control->before_gets_user = &what;
    g_assert_true(desk_scan(self, query));
    g_assert_null(what.record);
    return ids_of_page(self);
}

KW_TEST(test_moves, "/verb/hint-scan/moves")
{
    static const char *const states[] = {"new", "done"};
    for (size_t i = 0; i < G_N_ELEMENTS(states); i++) {
        desk *self = desk_at(1000);
        put_jobs(self, 8);
        /* to a place that was passed, and to one that was not */
        g_autofree char *record = g_strdup_printf("id=j05 state=%s due=%d", i ? "new" : "busy", i ? 9 : 0);
        g_autofree char *found = scan_moving(self, "jobs path=by_state state=new|busy", record);
        g_auto(GStrv) ids = g_strsplit(found, " ", -1);
        g_assert_cmpuint(g_strv_length(ids), ==, 8);
        g_assert_true(g_strv_contains((const char *const *)ids, "j05"));
        leave(self);
    }
}

/* A record that was written just before the query is in its place, although a stale hint of it comes first.
 */
KW_TEST(test_recent, "/verb/hint-scan/recent")
{
    static const char *const queries[] = {"jobs path=by_state state=new limit=3",
                                          "jobs path=by_state state=new page=1",
                                          "jobs path=by_state state=new page=2"};
    for (size_t i = 0; i < G_N_ELEMENTS(queries); i++) {
        desk *self = desk_at(1000);
        put_jobs(self, 8);
        move what = {.desk = self, .record = "id=j00 state=new due=5"};
        move_now(&what);
        g_autofree char *rows = desk_scan_all(self, queries[i]);
        g_auto(GStrv) lines = g_strsplit(rows, "\n", -1);
        static const char *const ids[] = {"id=j02", "id=j04", "id=j00", "id=j06"};
        g_assert_cmpuint(g_strv_length(lines), ==, i ? 5 : 4);
        for (size_t line = 0; *lines[line]; line++)
            g_assert_true(g_str_has_prefix(lines[line], ids[line]));
        leave(self);
    }
}

/* It leaves the ranges, or does not match any more. */
KW_TEST(test_leaves, "/verb/hint-scan/leaves")
{
    static const char *const records[] = {"id=j04 state=done due=4", "id=j04 state=new due=40"};
    for (size_t i = 0; i < G_N_ELEMENTS(records); i++) {
        desk *self = desk_at(1000);
        put_jobs(self, 8);
        g_autofree char *found = scan_moving(self, "jobs path=by_state state=new due=0..10", records[i]);
        g_assert_cmpstr(found, ==, "j00 j02 j06");
        leave(self);
    }
}

/* A row that is too large to be read has moved to a place that was passed. The page fails, because it has to
 * return the row, whatever its other fields are. */
KW_TEST(test_large_moves, "/verb/hint-scan/large-moves")
{
    static const char *const queries[] = {"jobs path=by_state state=new|busy",
                                          "jobs path=by_state state=new|busy more=x|y"};
    for (size_t i = 0; i < G_N_ELEMENTS(queries); i++) {
        desk *self = desk_at(1000);
        g_autofree char *large = g_strnfill(50000, 'x');
        put_jobs(self, 8);
        static const char *const fields[] = {"note", "more"};
        for (size_t field = 0; field < 2; field++) {
            g_autofree char *record = g_strdup_printf("id=j05 %s=%s", fields[field], large);
            g_assert_cmpint(desk_put(self, "jobs", record)->outcome, ==, KW_OUTCOME_OK);
        }
        move what = {.desk = self, .record = "id=j05 state=busy due=0"};
        self->control->omits_large_rows = true;
        self->control->before_gets = move_now;
        self->control->before_gets_user = &what;
        for (bool good = desk_scan(self, queries[i]); good; good = desk_next(self, self->page.cursor))
            g_assert_cmpuint(self->page.cursor.size, >, 0);
        g_assert_cmpint(self->error.code, ==, KW_LIMIT);
        leave(self);
    }
}

/* With each page, a record moves to a place ahead: it is returned twice. The cursor remembers it; the cursors
 * of other paths and of queries without such records do not grow. */
KW_TEST(test_memory, "/verb/hint-scan/memory")
{
    desk *self = desk_at(1000);
    put_jobs(self, 20);
    g_assert_true(desk_scan(self, "jobs path=by_state state=new page=1"));
    assert_page(self, "j00", false);
    size_t size = self->page.cursor.size;
    unsigned times = 0, pages = 0;
    put(self, "id=j00 state=new due=%d", 100);
    for (; self->page.cursor.size; pages++) {
        put(self, "id=j00 state=new due=%d", 101 + (int)pages);
        next(self);
        g_autofree char *found = ids_of_page(self);
        times += g_str_equal(found, "j00");
        if (self->page.cursor.size)
            g_assert_cmpuint(self->page.cursor.size, ==, size + 8 * times);
    }
    g_assert_cmpuint(times, ==, 1);
    g_assert_cmpuint(pages, <, 100);
    leave(self);
}

static kw_cursor
opened(desk *self)
{
    kw_cursor cursor;
    kw_error error;
    g_assert_true(
        kw_cursor_open(self->keyring, self->page.cursor, kw_clock_wall_ms(), INT64_MAX, &cursor, &error));
    return cursor;
}

KW_TEST(test_cursors, "/verb/hint-scan/cursors")
{
    desk *self = desk_at(1000);
    put_jobs(self, 8);
    int64_t began_ms = now_ms;
    g_assert_true(desk_scan(self, "jobs path=by_state state=new page=1"));
    for (int i = 0; i < 2; i++) {
        kw_cursor cursor = opened(self);
        g_assert_cmpuint(cursor.hints.size, ==, 8);
        g_assert_cmpint((int64_t)kw_be64_load(cursor.hints.data), ==, began_ms);
        now_ms += 1000;
        next(self);
    }
    kw_cursor cursor = opened(self);
    g_auto(kw_buffer) damaged = KW_BUFFER_EMPTY;
    cursor.hints = KW_BYTES_NONE;
    kw_cursor_seal(self->keyring, &cursor, &damaged);
    g_assert_false(desk_next(self, kw_arena_copy(self->call.arena, kw_buffer_bytes(&damaged))));
    g_assert_cmpstr(self->error.text, ==, "cursor is damaged");
    g_assert_true(desk_scan(self, "jobs page=1 full"));
    g_assert_cmpuint(opened(self).hints.size, ==, 0);
    leave(self);
}

/* --- what is refused --------------------------------------------------------------------------------- */

KW_TEST(test_choice, "/verb/hint-scan/choice")
{
    desk *self = desk_at(1000);
    put_jobs(self, 8);
    assert_refused(self, "jobs path=by_state state=new filter=PageFilter(1)", KW_INVALID, "use conditions");
    assert_refused(self, "jobs state=new", KW_INVALID,
                   "name path by_state, which has the records with a value of due");
    assert_refused(self, "jobs state=new due=1..5 filter=PageFilter(1)", KW_INVALID,
                   "or allow full_scan; path by_state cannot be used with a filter");
    assert_refused(self, "jobs due=1..5", KW_INVALID,
                   "or allow full_scan; path by_state needs conditions on state, too");
    g_assert_true(desk_scan(self, "jobs state=new due=1..5"));
    assert_page(self, "j02 j04", true);
    uint64_t rows = self->control->rows_got;
    g_assert_true(desk_scan(self, "jobs state=new due=4 id=j04"));
    assert_page(self, "j04", true);
    g_assert_cmpuint(self->control->rows_got - rows, ==, 1); /* of the primary path */
    leave(self);
}

KW_TEST(test_time_unknown, "/verb/hint-scan/time-unknown")
{
    desk *self = desk_at(1000);
    put_jobs(self, 2);
    self->control->time_unknown = true;
    self->call.deadline = kw_deadline_in_ms(20);
    assert_refused(self, "jobs path=by_state state=new", KW_UNAVAILABLE, "clock is not known");
    g_assert_cmpint(self->error.retry_after_ms, >, 0);
    self->call.deadline = KW_DEADLINE_NONE;
    g_assert_true(desk_scan(self, "jobs page=1 full"));
    leave(self);
}

KW_TEST(test_undecodable, "/verb/hint-scan/undecodable")
{
    desk *self = desk_at(1000);
    put_jobs(self, 6);
    put(self, "id=j02 state=new due=%d", 9); /* two hints */
    now_ms += 1000;
    kw_memory_store_set(self->store, "jobs_by_state", KW_BYTES_LITERAL("new\0\x80x"), "d", "", KW_BYTES_NONE,
                        1);
    assert_refused(self, "jobs path=by_state state=new", KW_CORRUPT, "path by_state");
    g_assert_true(desk_scan(self, "jobs path=by_state state=new skip"));
    assert_page(self, "j00 j04 j02", true);
    g_assert_cmpuint(self->page.undecodable, ==, 1);
    kw_memory_store_set(self->store, "jobs", KW_BYTES_LITERAL("j02"), "d", "due", KW_BYTES_LITERAL("bad"),
                        now_ms);
    g_assert_true(desk_scan(self, "jobs path=by_state state=new skip"));
    assert_page(self, "j00 j04", true);
    g_assert_cmpuint(self->page.undecodable, ==, 2);
    leave(self);
}

/* --- ends -------------------------------------------------------------------------------------------- */

static void
never(void *user, const kw_scan_page *page, const kw_error *error)
{
    (void)user, (void)page, (void)error;
    g_assert_not_reached();
}

static void
turn(desk *self, int times)
{
    for (int i = 0; i < times; i++)
        uv_run(kw_loop_uv(self->loop), UV_RUN_NOWAIT);
}

/* The scan is freed after any number of iterations of the loop: while it reads hints, while it reads rows, or
 * while it waits for the store's time. */
KW_TEST(test_freed, "/verb/hint-scan/freed")
{
    for (int turns = 0; turns < 4; turns++)
        for (int unknown = 0; unknown < 2; unknown++) {
            kw_error error;
            desk *self = desk_at(1000);
            put_jobs(self, 6);
            self->control->time_unknown = unknown;
            kw_scan_request request = desk_request(self, "jobs path=by_state state=new");
            kw_scan *scan = kw_scan_of_request(&self->call, &request, &error);
            self->control->fail_at = 0;
            self->control->never_answer = turns == 3;
            kw_scan_next(scan, &self->call, never, NULL);
            turn(self, MIN(turns, 1));
            if (turns == 2 && !unknown) /* the hints have arrived */
                self->control->never_answer = true;
            kw_scan_free(scan);
            self->control->never_answer = false;
            turn(self, 20);
            leave(self);
        }
}

/* An operation of a query fails: the query fails, or returns the records that it has. */
KW_TEST(test_failures, "/verb/hint-scan/failures")
{
    for (uint64_t at = 1; at <= 4; at++) {
        desk *self = desk_at(1000);
        put_jobs(self, 8);
        self->control->fail_at = self->control->operations + at;
        bool good = desk_scan(self, "jobs path=by_state state=new page=4");
        bool failed = self->control->operations >= self->control->fail_at;
        g_assert_cmpint(good, ==, !failed);
        if (!good)
            g_assert_cmpint(self->error.code, ==, KW_UNAVAILABLE);
        leave(self);
    }
}
