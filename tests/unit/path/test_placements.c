/* A path with two placements, as while its key rule changes: which rows each operation uses, where the writes
 * go, and which cursors continue. The policy gives each path one placement, so the test replaces them. */
#include "path/rows.h"
#include "two_placements.h"

static const kw_role new_only = {.put = 1, .remove = 1, .get = true, .scan = true};
static const kw_role unused;

/* --- rows ------------------------------------------------------------------------------------------ */

/* The new rule cannot encode times before 1970, nor ids above 65535; the old one cannot encode ids above
 * 9999. */
static const char time_rules[] =
    "tables:\n"
    "  now:\n"
    "    fields: {id: int, ts: {type: timestamp, column: 'd:ts'}}\n"
    "    key: [bits: {of: ts, parts: [seconds 48, id 16]}]\n"
    "    layout: 2\n"
    "  then:\n"
    "    fields: {id: int, ts: {type: timestamp, column: 'd:ts'}}\n"
    "    key: [field: {name: id, encoding: decimal, width: 4}, field: {name: ts, unit: s}]\n";

static void
found(void *user, const kw_record_rows *rows)
{
    const kw_record_rows **ret_rows = user;
    *ret_rows = rows;
}

/* The store tables of the rows, with spaces between them; " + " before that of the second row of a get. */
static char *
tables_of(desk *self, const kw_table *table, kw_rows_use use)
{
    const kw_record_rows *rows = NULL;
    kw_record record = desk_record(self, "now", "id=a n=1");
    const kw_record *records[] = {&record};
    kw_rows_find(&self->call, table, records, 1, use, KW_TIMESTAMP_NONE, found, &rows);
    g_assert_true(rows && !rows->error && rows->count > 0);
    g_assert_cmpuint(rows->count, ==, kw_rows_per_record(table, use));
    GString *text = g_string_new(NULL);
    for (size_t i = 0; i < rows->count; i++) {
        const kw_placed_row *row = &rows->rows[i];
        bool salted = row->placement == &placements[0];
        g_assert_cmpuint(row->key.size, ==, salted ? 2 : 1);
        g_string_append_printf(text, "%s%.*s", text->len ? " " : "", (int)row->placement->store_table.size,
                               (const char *)row->placement->store_table.data);
        if (row->other)
            g_string_append_printf(text, " + %.*s", (int)row->other->table.size,
                                   (const char *)row->other->table.data);
    }
    return g_string_free(text, FALSE);
}

static void
assert_tables(desk *self, const kw_table *table, kw_rows_use use, const char *expected)
{
    g_autofree char *found_tables = tables_of(self, table, use);
    g_assert_cmpstr(found_tables, ==, expected);
}

/* The roles of the versions from the old rule to the new one. */
KW_TEST(test_roles, "/path/placements/roles")
{
    static const struct {
        kw_role fresh, old;
        const char *get, *put, *remove;
    } versions[] = {
        {{0}, {1, 1, true, true}, "then", "then", "then"},
        {{0, 1, false, false}, {1, 2, true, true}, "then", "then", "now then"},
        {{1, 1, false, false}, {2, 2, true, true}, "then", "now then", "now then"},
        {{1, 1, true, false}, {2, 2, true, true}, "then + now", "now then", "now then"},
        {{2, 2, true, true}, {1, 1, true, false}, "now + then", "then now", "then now"},
        {{2, 2, true, true}, {1, 1, false, false}, "now", "then now", "then now"},
        {{1, 1, true, true}, {0}, "now", "now", "now"},
    };
    desk *self = desk_new(two_rules);
    for (size_t i = 0; i < G_N_ELEMENTS(versions); i++) {
        const kw_table *table = two_placements(self, versions[i].fresh, versions[i].old);
        assert_tables(self, table, KW_ROWS_GET, versions[i].get);
        assert_tables(self, table, KW_ROWS_PUT, versions[i].put);
        assert_tables(self, table, KW_ROWS_REMOVE, versions[i].remove);
        g_assert_true(kw_path_scanned(&table->paths[0]) == &placements[!versions[i].fresh.scan]);
    }
    desk_free(self);
}

/* The rows of each record that a get of both placements reads. */
static const kw_record_rows *
rows_to_get(desk *self, const kw_table *table, const kw_record *const *records, size_t count)
{
    const kw_record_rows *rows = NULL;
    kw_rows_find(&self->call, table, records, count, KW_ROWS_GET, KW_TIMESTAMP_NONE, found, &rows);
    return rows;
}

KW_TEST(test_get_both, "/path/placements/get of both")
{
    desk *self = desk_new(two_rules);
    const kw_table *table = two_placements(self, (kw_role){1, 1, true, false}, (kw_role){2, 2, true, true});
    kw_record records[2] = {desk_record(self, "now", "id=a"), desk_record(self, "now", "id=bc")};
    const kw_record_rows *rows =
        rows_to_get(self, table, (const kw_record *[]){&records[0], &records[1]}, G_N_ELEMENTS(records));
    for (size_t i = 0; i < G_N_ELEMENTS(records); i++) {
        const kw_placed_row *row = rows[i].rows;
        g_assert_cmpuint(rows[i].count, ==, 1);
        g_assert_true(row->placement == &placements[1] && row->other);
        g_assert_true(kw_bytes_equal(row->other->table, placements[0].store_table));
        g_assert_cmpuint(row->key.size, ==, i + 1);
        g_assert_cmpuint(row->other->row.size, ==, i + 2);
        kw_bytes other = row->other->row;
        g_assert_true(kw_bytes_equal(kw_bytes_of(other.data + 1, other.size - 1), row->key));
    }
    desk_free(self);
}

/* A record that one of the rules cannot encode has one row. */
static void
assert_only_row(bool old_first, const char *record, const kw_placement *expected)
{
    static const kw_role scanned = {2, 2, true, true}, other = {1, 1, true, false};
    desk *self = desk_new(time_rules);
    const kw_table *table = two_placements(self, old_first ? other : scanned, old_first ? scanned : other);
    kw_record key = desk_record(self, "now", record);
    const kw_record_rows *rows = rows_to_get(self, table, (const kw_record *[]){&key}, 1);
    if (!expected) {
        g_assert_nonnull(rows->error);
        g_assert_true(g_str_has_prefix(rows->error->text, "the key rule of path primary is being changed"));
    } else {
        g_assert_null(rows->error);
        g_assert_cmpuint(rows->count, ==, 1);
        g_assert_true(rows->rows[0].placement == expected && !rows->rows[0].other);
    }
    desk_free(self);
}

KW_TEST(test_get_only_row, "/path/placements/get of the only row")
{
    for (int old_first = 0; old_first < 2; old_first++) {
        assert_only_row(old_first, "id=1 ts=-5000", &placements[1]);
        assert_only_row(old_first, "id=20000 ts=5000", &placements[0]);
        assert_only_row(old_first, "id=20000 ts=-5000", NULL);
    }
}

KW_TEST(test_key_too_long, "/path/placements/key too long")
{
    desk *self = desk_new(two_rules);
    const kw_table *table = two_placements(self, new_only, unused);
    const kw_record_rows *rows = NULL;
    kw_record records[2] = {desk_record(self, "now", "id=a"), desk_record(self, "now", "id=b")};
    uint8_t *large = kw_arena_alloc0(self->call.arena, 40000);
    records[0].values[desk_field(self, "now", "id")].bytes = kw_bytes_of(large, 40000);
    const kw_record *list[] = {&records[0], &records[1]};
    kw_rows_find(&self->call, table, list, 2, KW_ROWS_PUT, KW_TIMESTAMP_NONE, found, &rows);
    g_assert_nonnull(rows[0].error);
    g_assert_cmpuint(rows[0].count, ==, 0);
    g_assert_null(rows[1].error);
    g_assert_cmpuint(rows[1].count, ==, 1);
    desk_free(self);
}

/* --- writes and reads ------------------------------------------------------------------------------ */

static size_t
rows_in(desk *self, const char *table)
{
    size_t count = 0;
    kw_bytes salted[] = {KW_BYTES_LITERAL("\x00"
                                          "a"),
                         KW_BYTES_LITERAL("\x01"
                                          "a"),
                         KW_BYTES_LITERAL("\x02"
                                          "a"),
                         KW_BYTES_LITERAL("\x03"
                                          "a"),
                         KW_BYTES_LITERAL("a")};
    for (size_t i = 0; i < G_N_ELEMENTS(salted); i++)
        count += kw_memory_store_cell(self->store, table, salted[i], "d", "n").data != NULL;
    return count;
}

KW_TEST(test_write_both, "/path/placements/write both")
{
    desk *self = desk_new(two_rules);
    two_placements(self, (kw_role){1, 1, false, false}, (kw_role){2, 2, true, true});
    g_assert_cmpint(desk_put(self, "now", "id=a n=7")->outcome, ==, KW_OUTCOME_OK);
    g_assert_cmpuint(rows_in(self, "now"), ==, 1);
    g_assert_cmpuint(rows_in(self, "then"), ==, 1);
    g_assert_cmpstr(desk_get(self, "now", "id=a", NULL), ==, "id=a n=7");
    two_placements(self, new_only, unused);
    g_assert_cmpstr(desk_get(self, "now", "id=a", NULL), ==, "id=a n=7");
    two_placements(self, (kw_role){2, 2, true, true}, (kw_role){1, 1, false, false});
    g_assert_cmpint(desk_remove(self, "now", "id=a", NULL)->outcome, ==, KW_OUTCOME_OK);
    g_assert_cmpuint(rows_in(self, "now"), ==, 0);
    g_assert_cmpuint(rows_in(self, "then"), ==, 0);
    desk_free(self);
}

/* One of the two writes fails: the record is neither certainly written nor certainly not. */
KW_TEST(test_one_fails, "/path/placements/one of two writes fails")
{
    desk *self = desk_new(two_rules);
    two_placements(self, (kw_role){1, 1, false, false}, (kw_role){2, 2, true, true});
    g_assert_cmpint(desk_put(self, "now", "id=a n=7")->outcome, ==, KW_OUTCOME_OK);
    self->control->fail_at = self->control->operations + 1;
    const kw_written_record *written = desk_put(self, "now", "id=a n=8");
    g_assert_cmpint(written->outcome, !=, KW_OUTCOME_OK);
    g_assert_nonnull(strstr(written->error.text, "was to fail"));
    desk_free(self);
}

/* --- cursors --------------------------------------------------------------------------------------- */

/* A scan that began in the old placement continues there, although new scans read the new one. */
KW_TEST(test_cursor_of_old_placement, "/path/placements/cursor of the old placement")
{
    desk *self = desk_new(two_rules);
    two_placements(self, (kw_role){1, 1, false, false}, (kw_role){2, 2, true, true});
    for (char id = 'a'; id < 'g'; id++) {
        g_autofree char *record = g_strdup_printf("id=%c n=%d", id, id);
        g_assert_cmpint(desk_put(self, "now", record)->outcome, ==, KW_OUTCOME_OK);
    }
    g_assert_true(desk_scan(self, "now full page=2"));
    g_autofree char *first = desk_page_text(self);
    g_assert_cmpstr(first, ==, "id=a n=97\nid=b n=98\n");
    kw_bytes cursor = self->page.cursor;

    two_placements(self, (kw_role){2, 2, true, true}, (kw_role){1, 1, false, false});
    uint64_t scanned = 2;
    for (; cursor.size; cursor = self->page.cursor) {
        g_assert_true(desk_next(self, cursor));
        scanned += self->page.count;
        g_autofree char *text = desk_page_text(self);
        g_assert_cmpint(text[3], ==, (char)('a' + scanned - self->page.count));
    }
    g_assert_cmpuint(scanned, ==, 6);
    desk_free(self);
}

KW_TEST(test_cursor_of_lost_placement, "/path/placements/cursor of a removed placement")
{
    desk *self = desk_new(two_rules);
    kw_table *table = two_placements(self, (kw_role){1, 1, false, false}, (kw_role){2, 2, true, true});
    for (char id = 'a'; id < 'g'; id++) {
        g_autofree char *record = g_strdup_printf("id=%c n=%d", id, id);
        desk_put(self, "now", record);
    }
    g_assert_true(desk_scan(self, "now full page=2"));
    kw_bytes cursor = self->page.cursor;
    two_placements(self, new_only, unused);
    ((kw_path *)&table->paths[0])->placements_count = table->placements_count = 1;
    g_assert_false(desk_next(self, cursor));
    g_assert_nonnull(strstr(self->error.text,
                            "cursor was made under layout 1 of table now, path primary, which "
                            "has layout 2 now; start the scan again"));
    desk_free(self);
}

/* Old rows have times that the new rule cannot encode. Queries that read the old placement find these rows.
 */
KW_TEST(test_time_of_old_rule, "/path/placements/a time that only the old rule encodes")
{
    desk *self = desk_new(time_rules);
    two_placements(self, unused, new_only);
    g_assert_cmpint(desk_put(self, "now", "id=1 ts=-5000")->outcome, ==, KW_OUTCOME_OK);
    two_placements(self, (kw_role){1, 1, false, false}, new_only);
    g_autofree char *rows = desk_scan_all(self, "now full ts=-5000");
    g_assert_cmpstr(rows, ==, "id=1 ts=-5000\n");
    g_assert_cmpstr(desk_get(self, "now", "id=1 ts=-5000", NULL), ==, "id=1 ts=-5000");
    desk_free(self);
}
