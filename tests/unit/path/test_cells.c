/* Records as cells and keys: what is checked, which cells a put writes, how large a record is in a reply, and
 * which timestamps are accepted. */
#include "../verb/desk.h"
#include "path/cells.h"
#include "path/reply_size.h"
#include "path/stamp.h"

static const char policy[] = "store: {kind: embedded}\n"
                             "tables:\n"
                             "  things:\n"
                             "    fields:\n"
                             "      id: {type: string, generate: uuid4}\n"
                             "      ts: timestamp\n"
                             "      note: {type: string, max_bytes: 5}\n"
                             "      hits: {type: int, counter: true}\n"
                             "      tags: {type: map, of: string}\n"
                             "      seen: {type: map, of: int, counter: true}\n"
                             "    key: [{field: id}, {field: ts}]\n"
                             "  marked:\n"
                             "    families: {d: {}, e: {}}\n"
                             "    marker: 'e:m'\n"
                             "    marker_value: x\n"
                             "    fields: {id: string, note: string}\n"
                             "    key: [field: id]\n"
                             "  stored:\n"
                             "    marker: 'd:m'\n"
                             "    marker_value: x\n"
                             "    fields: {id: {type: int, column: 'd:id'}, n: int}\n"
                             "    key: [field: id]\n";

/* --- checks ---------------------------------------------------------------------------------------- */

typedef bool check(const kw_table *table, const kw_record *record, kw_error *ret_error);

/* The error of the check, or "ok". */
static const char *
checked(desk *self, check *applied, const char *text)
{
    kw_record record = desk_record(self, "things", text);
    kw_error error = KW_ERROR_NONE;
    if (applied(desk_table(self, "things"), &record, &error))
        return "ok";
    g_assert_cmpint(error.code, ==, KW_INVALID);
    return kw_arena_printf(self->call.arena, "%s", error.text);
}

KW_TEST(test_checks, "/path/cells/checks of records and keys")
{
    desk *self = desk_new(policy);
    g_assert_cmpstr(kw_identity_names(desk_table(self, "things"), self->call.arena), ==, "id, ts");
    g_assert_cmpstr(checked(self, kw_record_check, "id=a ts=1"), ==, "ok");
    g_assert_cmpstr(checked(self, kw_record_check, "id=a ts=1 note=12345 hits=2 tags.x=y"), ==, "ok");
    g_assert_cmpstr(checked(self, kw_record_check, "id=a note=x"), ==,
                    "table things: field ts is missing; the identity fields are id, ts");
    g_assert_cmpstr(checked(self, kw_record_check, "ts=1"), ==,
                    "table things: field id is missing (only puts generate it); the identity fields are id, "
                    "ts");
    g_assert_nonnull(strstr(checked(self, kw_record_check, "id=a ts=1 note=123456"), "field note"));
    g_assert_cmpstr(checked(self, kw_key_check, "id=a ts=1"), ==, "ok");
    g_assert_nonnull(strstr(checked(self, kw_key_check, "id=a"), "field ts is missing"));
    g_assert_cmpstr(checked(self, kw_key_check, "id=a ts=1 note=x"), ==,
                    "table things: field note is not part of the key; the identity fields are id, ts");
    g_assert_nonnull(strstr(checked(self, kw_key_check, "id=a ts=1 seen.x=1"), "field seen is not part"));
    desk_free(self);
}

/* --- cells ----------------------------------------------------------------------------------------- */

/* The columns of a put, with a "|" between its counters and its other cells. */
static const char *
columns_of(desk *self, const char *table, const char *text)
{
    kw_record record = desk_record(self, table, text);
    kw_write put = {.kind = KW_WRITE_PUT};
    g_autoptr(GString) columns = g_string_new(NULL);
    kw_record_cells(desk_table(self, table), &record, self->call.arena, &put);
    for (size_t i = 0; i < put.cells_count; i++) {
        const kw_cell *cell = &put.cells[i];
        g_string_append_printf(columns, "%s%.*s:%.*s", i == put.counters ? "| " : "", (int)cell->family.size,
                               (const char *)cell->family.data, (int)cell->qualifier.size,
                               (const char *)cell->qualifier.data);
        g_string_append(columns, i + 1 < put.cells_count ? " " : "");
    }
    return kw_arena_text(self->call.arena, kw_bytes_of(columns->str, columns->len));
}

/* Counters come first. Identity fields are only in the key. A record without stored values gets the marker,
 * and a table that names a marker writes it with every record. */
KW_TEST(test_cells, "/path/cells/columns of a put")
{
    static const struct {
        const char *table, *record, *columns;
    } cases[] = {
        {"things", "id=a ts=1", "| d:"},
        {"things", "id=a ts=1 note=x", "| d:note"},
        {"things", "id=a ts=1 hits=2", "d:hits"},
        {"things", "id=a ts=1 note=x hits=2", "d:hits | d:note"},
        {"things", "id=a ts=1 tags.b=x tags.a=y tags.c=z", "| d:tags.a d:tags.b d:tags.c"},
        {"things", "id=a ts=1 note=x tags.b=x seen.z=1 seen.y=2 hits=1",
         "d:hits d:seen.y d:seen.z | d:note d:tags.b"},
        {"marked", "id=a", "| e:m"},
        {"marked", "id=a note=x", "| d:note e:m"},
    };
    desk *self = desk_new(policy);
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
        g_assert_cmpstr(columns_of(self, cases[i].table, cases[i].record), ==, cases[i].columns);
    desk_free(self);
}

KW_TEST(test_cell_values, "/path/cells/values of a put")
{
    desk *self = desk_new(policy);
    kw_record record = desk_record(self, "things", "id=a ts=1 note=hi hits=258 tags.b=bee tags.a=ay");
    kw_write put = {.kind = KW_WRITE_PUT};
    kw_record_cells(desk_table(self, "things"), &record, self->call.arena, &put);
    g_assert_cmpuint(put.cells_count, ==, 4);
    g_assert_true(kw_bytes_equal(put.cells[0].value, KW_BYTES_LITERAL("\0\0\0\0\0\0\1\2")));
    g_assert_true(kw_bytes_equal(put.cells[1].value, KW_BYTES_LITERAL("hi")));
    g_assert_true(kw_bytes_equal(put.cells[2].value, KW_BYTES_LITERAL("ay")));
    g_assert_true(kw_bytes_equal(put.cells[3].value, KW_BYTES_LITERAL("bee")));
    record = desk_record(self, "stored", "id=3 n=4"); /* a cell for every field, and the marker */
    kw_record_cells(desk_table(self, "stored"), &record, self->call.arena, &put);
    g_assert_cmpuint(put.cells_count, ==, 3);
    g_assert_true(kw_bytes_equal(put.cells[0].value, KW_BYTES_LITERAL("\0\0\0\0\0\0\0\3")));
    g_assert_true(kw_bytes_equal(put.cells[1].value, KW_BYTES_LITERAL("\0\0\0\0\0\0\0\4")));
    g_assert_true(kw_bytes_equal(put.cells[2].value, KW_BYTES_LITERAL("x")));
    record = desk_record(self, "marked", "id=a");
    kw_record_cells(desk_table(self, "marked"), &record, self->call.arena, &put);
    g_assert_true(kw_bytes_equal(put.cells[0].value, KW_BYTES_LITERAL("x")));
    desk_free(self);
}

KW_TEST(test_columns, "/path/cells/columns of picks and of the marker")
{
    desk *self = desk_new(policy);
    kw_column column =
        kw_pick_column(desk_table(self, "things"), desk_pick(self, "things", "tags.blue"), self->call.arena);
    g_assert_true(kw_bytes_equal(column.family, KW_BYTES_LITERAL("d")));
    g_assert_true(kw_bytes_equal(column.qualifier, KW_BYTES_LITERAL("tags.blue")));
    g_assert_false(column.whole_family);
    column = kw_marker_column(desk_table(self, "marked"));
    g_assert_true(kw_bytes_equal(column.family, KW_BYTES_LITERAL("e")));
    g_assert_true(kw_bytes_equal(column.qualifier, KW_BYTES_LITERAL("m")));
    desk_free(self);
}

/* The scratch buffer's earlier content is not part of the next key, and a key is a copy. */
KW_TEST(test_row_keys, "/path/cells/row keys")
{
    desk *self = desk_new(policy);
    const kw_path *path = &desk_table(self, "marked")->paths[0];
    kw_buffer scratch = KW_BUFFER_EMPTY;
    kw_bytes first, second;
    kw_error error = KW_ERROR_NONE;
    kw_record record = desk_record(self, "marked", "id=first");
    g_assert_true(kw_row_key(path->placements, &record, &scratch, self->call.arena, &first, &error));
    record = desk_record(self, "marked", "id=other");
    g_assert_true(kw_row_key(path->placements, &record, &scratch, self->call.arena, &second, &error));
    g_assert_true(kw_bytes_equal(first, KW_BYTES_LITERAL("first")));
    g_assert_true(kw_bytes_equal(second, KW_BYTES_LITERAL("other")));
    record.values[0] = KW_VALUE_ABSENT;
    g_assert_false(kw_row_key(path->placements, &record, &scratch, self->call.arena, &second, &error));
    g_assert_cmpint(error.code, ==, KW_INVALID);
    kw_buffer_clear(&scratch);
    desk_free(self);
}

/* --- sizes in a reply ------------------------------------------------------------------------------ */

/* 16 bytes for the record, 5 and its length for each name, 16 and its length for each value. */
KW_TEST(test_reply_sizes, "/path/cells/sizes in a reply")
{
    static const struct {
        const char *record;
        size_t bytes;
    } cases[] = {
        {"", 16},
        {"hits=7", 16 + 5 + 4 + 16},
        {"id=abc", 16 + 5 + 2 + 16 + 3},
        {"id=abc ts=1 hits=7", (16) + (5 + 2 + 16 + 3) + (5 + 2 + 16) + (5 + 4 + 16)},
        {"tags.red=abc tags.x=", 16 + (5 + 4 + 16) + (5 + 3 + 16 + 3) + (5 + 1 + 16)},
        {"seen.x=5 note=hi", 16 + (5 + 4 + 16) + (5 + 1 + 16) + (5 + 4 + 16 + 2)},
    };
    desk *self = desk_new(policy);
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        kw_record record = desk_record(self, "things", cases[i].record);
        g_assert_cmpuint(kw_record_reply_bytes(desk_table(self, "things"), &record), ==, cases[i].bytes);
    }
    kw_value raw = {.kind = KW_VALUE_BYTES, .bytes = KW_BYTES_LITERAL("12345678")};
    g_assert_cmpuint(kw_value_reply_bytes(raw), ==, 16 + 8);
    desk_free(self);
}

/* --- timestamps ------------------------------------------------------------------------------------ */

KW_TEST(test_stamps, "/path/cells/timestamps")
{
    static const struct {
        bool given;
        int64_t timestamp;
        bool accepted;
    } cases[] = {{true, 0, true},
                 {true, 1, true},
                 {true, KW_STAMP_MAX, true},
                 {true, -1, false},
                 {true, KW_STAMP_MAX + 1, false},
                 {false, -1, true},
                 {false, KW_STAMP_MAX + 1, true}};
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        kw_write_options options = {.has_timestamp = cases[i].given, .timestamp = cases[i].timestamp};
        int64_t stamp;
        kw_error error = KW_ERROR_NONE;
        g_assert_cmpint(kw_stamp_of(&options, &stamp, &error), ==, cases[i].accepted);
        g_assert_cmpint(error.code, ==, cases[i].accepted ? KW_OK : KW_INVALID);
        g_assert_cmpint(stamp, ==, cases[i].given ? cases[i].timestamp : KW_TIMESTAMP_NONE);
    }
}
