/* Maps have a column for each entry, also in a family with other fields. All verbs are tested on them. */
#include "desk.h"

#include "path/cells.h"

static const char policy[] = "store: {kind: embedded}\n"
                             "limits: {frame: 64KiB}\n"
                             "tables:\n"
                             "  lists:\n"
                             "    fields:\n"
                             "      user: string\n"
                             "      note: {type: string, column: 'd:note'}\n"
                             "      zone: {type: string, column: 'd:zone'}\n"
                             "      edge: {type: int, column: 'd:note_', counter: true}\n"
                             "      n: {type: map, of: int, column: 'd:note_*', counter: true}\n"
                             "      all: {type: map, of: string, max_bytes: 60000, column: 'f:*'}\n"
                             "    key: [field: user]\n"
                             "  bare:\n"
                             "    fields: {user: string, likes: {type: map, of: int}}\n"
                             "    key: [field: user]\n";

#define ROW KW_BYTES_LITERAL("ann")

static kw_bytes
cell(desk *self, const char *table, const char *family, const char *qualifier)
{
    return kw_memory_store_cell(self->store, table, ROW, family, qualifier);
}

#define ASSERT_TEXT(text, part)                                                                              \
    G_STMT_START                                                                                             \
    {                                                                                                        \
        if (!strstr((text), part))                                                                           \
            g_error("\"%s\" does not say \"%s\"", (text), (part));                                           \
    }                                                                                                        \
    G_STMT_END

KW_TEST(test_put_get, "/verb/maps/put_get")
{
    desk *self = desk_new(policy);
    desk_put(self, "lists", "user=ann n.b=2 n.a=1 all.x=one note=hi edge=9 zone=z");
    g_assert_cmpuint(cell(self, "lists", "d", "note_a").size, ==, 8);
    g_assert_true(kw_bytes_equal(cell(self, "lists", "f", "x"), KW_BYTES_LITERAL("one")));
    static const char whole[] = "user=ann note=hi zone=z edge=9 n.a=1 n.b=2 all.x=one";
    g_assert_cmpstr(desk_get(self, "lists", "user=ann", NULL), ==, whole);
    desk_put(self, "lists", "user=ann n.c=3 n.a=7"); /* the other entries do not change */
    g_assert_cmpstr(desk_get(self, "lists", "user=ann", "n"), ==, "user=ann n.a=7 n.b=2 n.c=3");
    g_assert_cmpstr(desk_get(self, "lists", "user=ann", "note"), ==, "user=ann note=hi");
    g_assert_cmpstr(desk_get(self, "lists", "user=ann", "n edge"), ==, "user=ann edge=9 n.a=7 n.b=2 n.c=3");
    /* Columns of no field and the bare prefix are not entries. */
    kw_memory_store_set(self->store, "lists", ROW, "d", "notes", KW_BYTES_LITERAL("?"), 1);
    kw_memory_store_set(self->store, "lists", ROW, "e", "x", KW_BYTES_LITERAL("?"), 1);
    kw_memory_store_set(self->store, "lists", ROW, "f", "", KW_BYTES_LITERAL("?"), 1);
    g_assert_cmpstr(desk_get(self, "lists", "user=ann", "n edge all"), ==,
                    "user=ann edge=9 n.a=7 n.b=2 n.c=3 all.x=one");
    desk_free(self);
}

KW_TEST(test_single_entries, "/verb/maps/single_entries")
{
    desk *self = desk_new(policy);
    desk_put(self, "lists", "user=ann n.a=1 n.b=2 n.c=3 all.x=one note=hi");
    uint64_t before = self->control->operations, cells = self->control->cells_got;
    g_assert_cmpstr(desk_get(self, "lists", "user=ann", "n.b"), ==, "user=ann n.b=2");
    g_assert_cmpuint(self->control->operations - before, ==, 1);
    g_assert_cmpuint(self->control->cells_got - cells, ==, 1); /* one column, not the whole row */
    g_assert_cmpstr(desk_get(self, "lists", "user=ann", "n.c note n.a"), ==, "user=ann note=hi n.a=1 n.c=3");
    g_assert_cmpstr(desk_get(self, "lists", "user=ann", "n.b n"), ==, "user=ann n.a=1 n.b=2 n.c=3");
    g_assert_cmpstr(desk_get(self, "lists", "user=ann", "n.b all"), ==, "user=ann n.b=2 all.x=one");
    /* The entries do not exist, but the record does: one cell shows it. */
    cells = self->control->cells_got;
    g_assert_cmpstr(desk_get(self, "lists", "user=ann", "n.z all.z"), ==, "user=ann");
    g_assert_cmpuint(self->control->cells_got - cells, ==, 1);
    g_assert_cmpstr(desk_get(self, "lists", "user=bob", "n.z"), ==, "none");
    desk_free(self);
}

KW_TEST(test_record_with_only_a_map, "/verb/maps/record_with_only_a_map")
{
    desk *self = desk_new(policy);
    desk_put(self, "bare", "user=ann");
    g_assert_nonnull(cell(self, "bare", "d", "").data);
    desk_put(self, "bare", "user=ann likes.x=5");
    g_assert_cmpuint(cell(self, "bare", "d", "likes.x").size, ==, 8);
    g_assert_cmpstr(desk_get(self, "bare", "user=ann", NULL), ==, "user=ann likes.x=5");
    kw_record record = desk_record(self, "bare", "user=bob");
    record.values[1] = (kw_value){.kind = KW_VALUE_MAP}; /* a map without entries has no cells */
    kw_write put = {.kind = KW_WRITE_PUT};
    kw_record_cells(desk_table(self, "bare"), &record, self->call.arena, &put);
    g_assert_cmpuint(put.cells_count, ==, 1);
    g_assert_cmpuint(put.cells[0].qualifier.size, ==, 0);
    desk_free(self);
}

KW_TEST(test_remove, "/verb/maps/remove")
{
    desk *self = desk_new(policy);
    desk_put(self, "lists", "user=ann n.a=1 n.b=2 all.x=one all.y=two note=hi");
    g_assert_cmpint(desk_remove(self, "lists", "user=ann", "n.a all.x n.none")->outcome, ==, KW_OUTCOME_OK);
    g_assert_cmpstr(desk_get(self, "lists", "user=ann", NULL), ==, "user=ann note=hi n.b=2 all.y=two");
    const kw_written_record *rejected = desk_remove(self, "lists", "user=ann", "n");
    g_assert_cmpint(rejected->outcome, ==, KW_OUTCOME_FAILED);
    ASSERT_TEXT(rejected->error.text, "map n is not all of a column family");
    desk_remove(self, "lists", "user=ann", "all"); /* this map has its own family */
    g_assert_cmpstr(desk_get(self, "lists", "user=ann", NULL), ==, "user=ann note=hi n.b=2");
    desk_remove(self, "lists", "user=ann", NULL);
    g_assert_cmpstr(desk_get(self, "lists", "user=ann", NULL), ==, "none");
    desk_free(self);
}

KW_TEST(test_bad_rows, "/verb/maps/bad_rows")
{
    desk *self = desk_new(policy);
    kw_memory_store_set(self->store, "lists", ROW, "d", "note_a", KW_BYTES_LITERAL("four"), 1);
    ASSERT_TEXT(desk_get(self, "lists", "user=ann", NULL),
                "CORRUPT: table lists, path primary, row ann: entry a: ");
    g_assert_cmpstr(desk_get(self, "lists", "user=ann", "note"), ==, "user=ann");
    kw_memory_store_set(self->store, "lists", ROW, "f", "\xff\xfe", KW_BYTES_LITERAL("x"), 1);
    ASSERT_TEXT(desk_get(self, "lists", "user=ann", "all"),
                "field all: the name of the entry \\xFF\\xFE is not UTF-8");
    desk_free(self);
}

/* A row that is too large for an answer. */
KW_TEST(test_too_wide, "/verb/maps/too_wide")
{
    desk *self = desk_new(policy);
    g_autofree char *big = g_strnfill(40000, 'x');
    g_autofree char *first = g_strdup_printf("user=ann all.a=%s", big);
    g_autofree char *second = g_strdup_printf("user=ann all.b=%s n.a=1", big);
    desk_put(self, "lists", first);
    g_assert_true(g_str_has_prefix(desk_get(self, "lists", "user=ann", NULL), "user=ann all.a=xxx"));
    desk_put(self, "lists", second);
    ASSERT_TEXT(
        desk_get(self, "lists", "user=ann", NULL),
        "LIMIT: table lists, path primary, row ann: the entries of field all have more than 65536 bytes");
    g_assert_cmpstr(desk_get(self, "lists", "user=ann", "n"), ==, "user=ann n.a=1");
    g_assert_true(g_str_has_prefix(desk_get(self, "lists", "user=ann", "all.b"), "user=ann all.b=xxx"));
    g_assert_false(desk_scan(self, "lists full"));
    g_assert_cmpint(self->error.code, ==, KW_LIMIT);
    g_assert_true(desk_scan(self, "lists full columns=n.a,all.a"));
    desk_free(self);
}

KW_TEST(test_scan, "/verb/maps/scan")
{
    desk *self = desk_new(policy);
    desk_put(self, "lists", "user=ann n.a=1 n.b=2 all.x=one note=hi");
    desk_put(self, "lists", "user=bob n.b=5");
    desk_put(self, "lists", "user=eve note=yo");
    g_autofree char *all = desk_scan_all(self, "lists full page=1");
    g_assert_cmpstr(all, ==, "user=ann note=hi n.a=1 n.b=2 all.x=one\nuser=bob n.b=5\nuser=eve note=yo\n");
    g_autofree char *one = desk_scan_all(self, "lists full columns=n.b,all.x page=1");
    g_assert_cmpstr(one, ==, "user=ann n.b=2 all.x=one\nuser=bob n.b=5\nuser=eve\n");
    g_autofree char *map = desk_scan_all(self, "lists full columns=n");
    g_assert_cmpstr(map, ==, "user=ann n.a=1 n.b=2\nuser=bob n.b=5\nuser=eve\n");
    g_autofree char *some = desk_scan_all(self, "lists full filter=ColumnPrefixFilter('note_')");
    g_assert_cmpstr(some, ==, "user=ann n.a=1 n.b=2\nuser=bob n.b=5\n");
    g_autofree char *page = desk_scan_all(self, "lists full filter=ColumnPaginationFilter(1,1)");
    g_assert_cmpstr(page, ==, "user=ann n.a=1\n");
    g_autofree char *range =
        desk_scan_all(self, "lists full filter=ColumnRangeFilter('note_b',true,'x',false)");
    g_assert_cmpstr(range, ==, "user=ann n.b=2\nuser=bob n.b=5\n");
    desk_free(self);
}

/* Cursors hold the names of the requested entries. */
KW_TEST(test_cursor, "/verb/maps/cursor")
{
    desk *self = desk_new(policy);
    desk_put(self, "lists", "user=ann n.a=1 n.b=2 all.x.y=one");
    desk_put(self, "lists", "user=bob n.a=3 n.b=4 all.x.y=two");
    g_assert_true(desk_scan(self, "lists full columns=n.b,all.x.y page=1"));
    g_assert_true(desk_next(self, self->page.cursor));
    g_autofree char *text = desk_page_text(self);
    g_assert_cmpstr(text, ==, "user=bob n.b=4 all.x.y=two\n");
    desk_free(self);
}

/* --- atomic writes -------------------------------------------------------------------------------- */

static void
decided(void *user, bool applied, kw_record generated, const kw_error *error)
{
    desk *self = user;
    g_assert_null(generated.values);
    self->done = true;
    self->applied = applied;
    self->error = error ? *error : KW_ERROR_NONE;
}

static bool
put_if(desk *self, const char *record, const char *field, kw_compare compare, kw_value value)
{
    kw_record *values = KW_ARENA_NEW(self->call.arena, kw_record);
    kw_condition_on_field *condition = KW_ARENA_NEW(self->call.arena, kw_condition_on_field);
    *values = desk_record(self, "lists", record);
    *condition = (kw_condition_on_field){desk_pick(self, "lists", field), compare, value};
    self->done = false;
    kw_verb_put_if(&self->call, desk_table(self, "lists"), values, condition, self->options, decided, self);
    desk_wait(self);
    return self->error.code == KW_OK && self->applied;
}

KW_TEST(test_put_if, "/verb/maps/put_if")
{
    desk *self = desk_new(policy);
    kw_value one = {.kind = KW_VALUE_NUMBER, .number = 1};
    g_assert_true(put_if(self, "user=ann n.a=1", "n.a", KW_COMPARE_EQUAL, KW_VALUE_ABSENT));
    g_assert_false(put_if(self, "user=ann n.a=2", "n.a", KW_COMPARE_EQUAL, KW_VALUE_ABSENT));
    g_assert_true(put_if(self, "user=ann n.b=2", "n.a", KW_COMPARE_EQUAL, one));
    g_assert_cmpstr(desk_get(self, "lists", "user=ann", NULL), ==, "user=ann n.a=1 n.b=2");
    g_assert_false(put_if(self, "user=ann n.a=2", "n", KW_COMPARE_EQUAL, KW_VALUE_ABSENT));
    ASSERT_TEXT(self->error.text, "a condition needs an entry of the map n (n.NAME)");
    desk_free(self);
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

KW_TEST(test_increment, "/verb/maps/increment")
{
    desk *self = desk_new(policy);
    const kw_pick picks[] = {desk_pick(self, "lists", "n.b"), desk_pick(self, "lists", "edge"),
                             desk_pick(self, "lists", "n.a"), desk_pick(self, "lists", "n")};
    const int64_t amounts[] = {5, 7, -1, 1};
    kw_record key = desk_record(self, "lists", "user=ann");
    self->done = false;
    kw_verb_increment(&self->call, desk_table(self, "lists"), &key, picks, amounts, 3, self->options,
                      incremented, self);
    desk_wait(self);
    g_assert_cmpint(self->error.code, ==, KW_OK);
    g_assert_cmpstr(desk_get(self, "lists", "user=ann", NULL), ==, "user=ann edge=7 n.a=-1 n.b=5");
    g_assert_cmpstr(desk_text(self, desk_table(self, "lists"), &self->values), ==, "edge=7 n.b=5 n.a=-1");
    self->done = false;
    kw_verb_increment(&self->call, desk_table(self, "lists"), &key, &picks[3], &amounts[3], 1, self->options,
                      incremented, self);
    desk_wait(self);
    ASSERT_TEXT(self->error.text, "field n is not an int");
    desk_free(self);
}
