/* Rows as records: which columns a reader requests, and what it decodes from the cells of a row. The cells
 * are written as text, for example "d:note=hi d:n=#5" (#5: an integer in 8 bytes). */
#include "../verb/desk.h"
#include "path/cells.h"
#include "path/reader.h"
#include "path/reply_size.h"

#include <stdlib.h>

#define FRAME_BYTES ((size_t)64 * 1024)

/* The order of the fields is not that of their columns. "note" is a prefix of the map's columns. */
static const char policy[] =
    "store: {kind: embedded}\n"
    "limits: {frame: 64KiB}\n"
    "tables:\n"
    "  lists:\n"
    "    fields:\n"
    "      zone: {type: string, column: 'd:zone'}\n"
    "      id: string\n"
    "      all: {type: map, of: string, max_bytes: 65536, column: 'f:*'}\n"
    "      n: {type: map, of: int, column: 'd:note_*'}\n"
    "      edge: {type: int, column: 'd:note_'}\n"
    "      ts: {type: timestamp, column: 'd:ts'}\n"
    "      note: {type: string, column: 'd:note'}\n"
    "    key: [{field: ts}, {field: id}]\n"
    "  first:\n"
    "    fields: {id: string, map: {type: map, of: int, column: 'a:*'}, b: {type: int, "
    "column: 'd:b'}}\n"
    "    key: [field: id]\n"
    "  stored:\n"
    "    fields: {id: {type: string, column: 'd:id'}, b: {type: int, column: 'd:b'}}\n"
    "    key: [field: id]\n"
    "  plain:\n"
    "    fields: {id: string, a: string, b: string, c: string}\n"
    "    key: [field: id]\n"
    "  exact:\n"
    "    fields: {id: string, ts: {type: timestamp, column: 'd:ts'}, note: string}\n"
    "    key: [{field: id}, {field: ts}]\n"
    "  coarse:\n"
    "    fields: {id: string, ts: {type: timestamp, column: 'd:ts'}, note: string}\n"
    "    key: [{field: id}, {field: {name: ts, unit: s}}]\n"
    "  edges:\n"
    "    fields: {id: string, exact: {type: int, column: 'd:x_'}, m: {type: map, of: int, column: 'd:x_*'}}\n"
    "    key: [{field: id}]\n"
    "  last:\n"
    "    fields: {a: int, id: string}\n"
    "    key: [{field: id}]\n"
    "  times:\n"
    "    fields: {ts: {type: timestamp, column: 'd:ts'}, v: int}\n"
    "    key: [{field: {name: ts, unit: s}}]\n";

static kw_value
number(int64_t value)
{
    return (kw_value){.kind = KW_VALUE_NUMBER, .number = value};
}

/* --- rows and readers from text -------------------------------------------------------------------- */

static kw_cell
cell_from_text(desk *self, const char *text)
{
    g_auto(GStrv) sides = g_strsplit(text, "=", 2);
    g_auto(GStrv) names = g_strsplit(sides[0], ":", 2);
    kw_arena *arena = self->call.arena;
    kw_cell cell = {.family = kw_arena_copy(arena, kw_bytes_of_text(names[0])),
                    .qualifier = kw_arena_copy(arena, kw_bytes_of_text(names[1])),
                    .value = kw_arena_copy(arena, kw_bytes_of_text(sides[1])),
                    .timestamp = 1};
    if (sides[1][0] == '#') {
        uint8_t *bytes = kw_arena_alloc(arena, 8);
        kw_be64_store(bytes, (uint64_t)strtoll(sides[1] + 1, NULL, 10));
        cell.value = kw_bytes_of(bytes, 8);
    }
    return cell;
}

/* A row of the record "id=... ts=..." with these cells, which are in the order of a store. */
static kw_row
row_of(desk *self, const char *table, const char *key, const char *cells)
{
    kw_record record = desk_record(self, table, key);
    kw_buffer scratch = KW_BUFFER_EMPTY;
    kw_row row = {0};
    g_assert_true(
        kw_row_key(desk_table(self, table)->placements, &record, &scratch, self->call.arena, &row.key, NULL));
    kw_buffer_clear(&scratch);
    g_auto(GStrv) words = g_strsplit(cells, " ", -1);
    row.cells = KW_ARENA_ARRAY(self->call.arena, kw_cell, g_strv_length(words));
    for (char **word = words; *word && **word; word++)
        row.cells[row.cells_count++] = cell_from_text(self, *word);
    return row;
}

static kw_reader *
reader_of(desk *self, const char *table, const char *names, kw_arena *scratch)
{
    g_auto(GStrv) words = g_strsplit(names, " ", -1);
    kw_pick *picks = KW_ARENA_ARRAY(self->call.arena, kw_pick, g_strv_length(words));
    size_t count = 0;
    for (char **word = words; *word && **word; word++)
        picks[count++] = desk_pick(self, table, *word);
    const kw_table *of = desk_table(self, table);
    return kw_reader_new(&self->call, of, &of->paths[0], picks, count, scratch);
}

/* The record that the reader returns, or its error as text. */
static const char *
decoded(desk *self, kw_reader *reader, const char *table, const kw_row *row)
{
    const kw_record *record = NULL;
    kw_error error = KW_ERROR_NONE;
    const kw_table *of = desk_table(self, table);
    if (!kw_reader_decode(reader, &of->placements[0], row, &record, &error))
        return kw_arena_printf(self->call.arena, "%s: %s", kw_code_name(error.code), error.text);
    kw_record kept = kw_reader_keep(reader, self->call.arena);
    return desk_text(self, of, &kept);
}

/* --- columns --------------------------------------------------------------------------------------- */

static const char *
text_of_columns(desk *self, const kw_reader *reader)
{
    size_t count = 77;
    const kw_column *columns = kw_reader_columns(reader, &count);
    static const uint8_t others[512];
    kw_arena_copy(self->call.arena,
                  kw_bytes_of(others, sizeof others)); /* not in the memory of the columns */
    g_autoptr(GString) text = g_string_new(columns ? NULL : "whole row");
    g_assert_cmpuint(columns ? 1 : 0, ==, count > 0);
    for (size_t i = 0; i < count; i++)
        g_string_append_printf(text, "%s%.*s:%.*s", i ? " " : "", (int)columns[i].family.size,
                               (const char *)columns[i].family.data, (int)columns[i].qualifier.size,
                               (const char *)columns[i].qualifier.data);
    return kw_arena_text(self->call.arena, kw_bytes_of(text->str, text->len));
}

/* The columns of the picked fields in the order of the store, and the marker. The whole row is requested if a
 * map is read as a whole, and if only the key is needed: any cell shows that the record exists. */
KW_TEST(test_columns, "/path/reader/columns")
{
    static const struct {
        const char *table, *picks, *needed, *columns;
        bool reads_all;
    } cases[] = {
        {"lists", "", NULL, "whole row", true},
        {"lists", "", "note", "whole row", true},
        {"lists", "note", NULL, "d:note d:", false},
        {"lists", "zone note edge", NULL, "d:note d:note_ d:zone d:", false},
        {"lists", "id", NULL, "whole row", false},
        {"lists", "id ts", NULL, "whole row", false},
        {"lists", "id", "zone", "d:zone d:", false},
        {"lists", "note", "zone", "d:note d:zone d:", false},
        {"lists", "note", "n", "whole row", true},
        {"lists", "n", NULL, "whole row", true},
        {"lists", "all", NULL, "whole row", true},
        {"lists", "n.b", NULL, "d:note_b d:", false},
        {"lists", "n.c n.a n.b", NULL, "d:note_a d:note_b d:note_c d:", false},
        {"lists", "all.x n.b", NULL, "d:note_b f:x d:", false},
        {"lists", "n.b n", NULL, "whole row", true},
        {"lists", "n n.b", NULL, "whole row", true},
        {"lists", "n.b all", NULL, "whole row", true},
        {"lists", "zone n.b edge note all.b", NULL, "d:note d:note_ d:note_b d:zone f:b d:", false},
        {"first", "map", NULL, "whole row", true},
        {"first", "map b", NULL, "whole row", true},
        {"first", "b", NULL, "d:b d:", false},
        {"stored", "b", NULL, "d:b d:", false},
        {"stored", "id b", NULL, "d:b d:", false},
        {"stored", "id", NULL, "whole row", false},
        {"plain", "a b", NULL, "d:a d:b d:", false},
        {"plain", "c a b", NULL, "d:a d:b d:c d:", true},
        {"plain", "c a", "b", "d:a d:b d:c d:", true},
        {"edges", "m.a exact", NULL, "d:x_ d:x_a d:", false},
        {"times", "ts v", NULL, "d:ts d:v d:", true},
    };
    desk *self = desk_new(policy);
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        kw_reader *reader = reader_of(self, cases[i].table, cases[i].picks, NULL);
        if (cases[i].needed)
            kw_reader_need(reader, desk_field(self, cases[i].table, cases[i].needed));
        g_assert_cmpstr(text_of_columns(self, reader), ==, cases[i].columns);
        g_assert_cmpint(kw_reader_reads_all(reader), ==, cases[i].reads_all);
    }
    desk_free(self);
}

/* A reader of the identity needs no column of another field, wherever the identity is among the fields. */
KW_TEST(test_columns_of_the_identity, "/path/reader/columns of the identity")
{
    static const char *const tables[] = {"plain", "last"};
    desk *self = desk_new(policy);
    for (size_t i = 0; i < G_N_ELEMENTS(tables); i++) {
        const kw_table *table = desk_table(self, tables[i]);
        const kw_reader *reader = kw_reader_new_identity(&self->call, table, &table->paths[0]);
        g_assert_cmpstr(text_of_columns(self, reader), ==, "whole row");
        g_assert_false(kw_reader_reads_all(reader));
    }
    desk_free(self);
}

/* A column for each of many entries, more than the table has fields. */
KW_TEST(test_many_entries, "/path/reader/columns of many entries")
{
    desk *self = desk_new(policy);
    g_autoptr(GString) picks = g_string_new(NULL);
    for (int i = 99; i >= 0; i--)
        g_string_append_printf(picks, "%sn.%02d", i < 99 ? " " : "", i);
    size_t count;
    const kw_column *columns = kw_reader_columns(reader_of(self, "lists", picks->str, NULL), &count);
    g_assert_cmpuint(count, ==, 101);
    for (int i = 0; i < 100; i++) {
        g_autofree char *qualifier = g_strdup_printf("note_%02d", i);
        g_assert_true(kw_bytes_equal(columns[i].qualifier, kw_bytes_of_text(qualifier)));
    }
    desk_free(self);
}

/* A field needs its column unless the keys of all placements hold it exactly. */
KW_TEST(test_columns_of_key_fields, "/path/reader/columns of key fields")
{
    static const char *const layouts[][2] = {
        {"exact", "exact"}, {"exact", "coarse"}, {"coarse", "exact"}, {"coarse", "coarse"}};
    desk *self = desk_new(policy);
    const kw_table *table = desk_table(self, "exact");
    kw_pick pick = desk_pick(self, "exact", "ts");
    for (size_t i = 0; i < G_N_ELEMENTS(layouts); i++) {
        kw_placement placements[2] = {table->placements[0], table->placements[0]};
        for (size_t p = 0; p < 2; p++)
            placements[p].layout = desk_table(self, layouts[i][p])->placements[0].layout;
        kw_path path = table->paths[0];
        path.placements = placements;
        path.placements_count = 2;
        kw_reader *reader = kw_reader_new(&self->call, table, &path, &pick, 1, NULL);
        g_assert_cmpstr(text_of_columns(self, reader), ==, i == 0 ? "whole row" : "d:ts d:");
    }
    desk_free(self);
}

/* --- decoding -------------------------------------------------------------------------------------- */

#define WHOLE_CELLS                                                                                          \
    "d:note=hi d:note_=#9 d:note_a=#1 d:note_b=#2 d:note_c=#3 d:ts=#7000 d:zone=z f:x=one f:y=two"
#define WHOLE_TEXT "zone=z id=a all.x=one all.y=two n.a=1 n.b=2 n.c=3 edge=9 ts=7000 note=hi"

/* True if a part "note=hi" or "n.a=1" of the record is returned for these picks. */
static bool
is_returned(const char *part, const char *const *picks, size_t count)
{
    g_auto(GStrv) sides = g_strsplit(part, "=", 2);
    g_auto(GStrv) names = g_strsplit(sides[0], ".", 2);
    bool returned = g_str_equal(names[0], "id") || g_str_equal(names[0], "ts");
    for (size_t i = 0; i < count; i++)
        returned |= g_str_equal(picks[i], sides[0]) || g_str_equal(picks[i], names[0]);
    return returned;
}

static char *
expected_text(const char *const *picks, size_t count)
{
    GString *text = g_string_new(NULL);
    g_auto(GStrv) parts = g_strsplit(WHOLE_TEXT, " ", -1);
    for (char **part = parts; *part; part++)
        if (count == 0 || is_returned(*part, picks, count))
            g_string_append_printf(text, "%s%s", text->len ? " " : "", *part);
    return g_string_free(text, FALSE);
}

/* The cells that a store returns for these columns. */
static kw_row
with_columns(desk *self, kw_row row, const kw_column *columns, size_t count)
{
    kw_row part = row;
    if (count == 0)
        return row;
    part.cells = KW_ARENA_ARRAY(self->call.arena, kw_cell, row.cells_count);
    part.cells_count = 0;
    for (uint32_t i = 0; i < row.cells_count; i++)
        for (size_t at = 0; at < count; at++)
            if (kw_bytes_equal(row.cells[i].family, columns[at].family) &&
                kw_bytes_equal(row.cells[i].qualifier, columns[at].qualifier))
                part.cells[part.cells_count++] = row.cells[i];
    return part;
}

/* For every combination of picks, the requested columns give the picked fields of the record. The whole row
 * gives the same. */
KW_TEST(test_every_combination, "/path/reader/every combination of picks")
{
    static const char *const names[] = {"zone", "all", "all.y", "n", "n.c", "n.a", "n.none", "edge", "note"};
    enum { COUNT = G_N_ELEMENTS(names) };
    for (unsigned mask = 0; mask < 1u << COUNT; mask++) {
        const char *picks[COUNT];
        size_t count = 0;
        g_autoptr(GString) text = g_string_new(NULL);
        desk *self = desk_new(policy);
        for (size_t i = 0; i < COUNT; i++)
            if (mask >> i & 1)
                picks[count++] = names[i];
        for (size_t i = 0; i < count; i++)
            g_string_append_printf(text, "%s%s", i ? " " : "", picks[i]);
        g_autofree char *expected = expected_text(picks, count);
        kw_row row = row_of(self, "lists", "id=a ts=7000", WHOLE_CELLS);
        kw_reader *reader = reader_of(self, "lists", text->str, NULL);
        g_assert_cmpstr(decoded(self, reader, "lists", &row), ==, expected);
        size_t columns_count;
        const kw_column *columns = kw_reader_columns(reader, &columns_count);
        kw_row part = with_columns(self, row, columns, columns_count);
        g_assert_cmpstr(decoded(self, reader, "lists", &part), ==, expected);
        desk_free(self);
    }
}

/* Columns of no field, older versions of a cell, and entries without a name change nothing. */
KW_TEST(test_cells_to_skip, "/path/reader/cells to skip")
{
    static const struct {
        const char *picks, *cells, *text;
    } cases[] = {
        {"", "", "id=a ts=7000"},
        {"", "a:x=1 d:=1 d:apple=1 d:notes=1 d:zonf=1 e:x=1 g:x=1", "id=a ts=7000"},
        {"", "d:note=new d:note=old d:zone=new d:zone=old", "zone=new id=a ts=7000 note=new"},
        {"", "d:note_a=#1 d:note_a=#2 d:note_b=#3 d:note_b=#4", "id=a n.a=1 n.b=3 ts=7000"},
        {"", "d:note_=#1 d:note_=#2 d:note_a=#3", "id=a n.a=3 edge=1 ts=7000"},
        {"", "f:=empty f:x=one", "id=a all.x=one ts=7000"},
        {"", "f:=empty", "id=a ts=7000"},
        {"n.b", "d:note_a=#1 d:note_b=#2 d:note_b=#3 d:note_c=#4", "id=a n.b=2 ts=7000"},
        {"n.z", "d:note_a=#1 d:note_b=#2", "id=a ts=7000"},
        {"n.a", "d:note_b=#2 d:note_c=#2", "id=a ts=7000"},
        {"n.a n.c n.e", "d:note_a=#1 d:note_b=#2 d:note_c=#3 d:note_d=#4 d:note_e=#5",
         "id=a n.a=1 n.c=3 n.e=5 ts=7000"},
        {"note", "d:note=hi d:note_a=bad d:zone=z f:x=bad", "id=a ts=7000 note=hi"},
        {"zone", "d:note_=bad d:note_a=bad d:zone=z", "zone=z id=a ts=7000"},
    };
    desk *self = desk_new(policy);
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        kw_row row = row_of(self, "lists", "id=a ts=7000", cases[i].cells);
        kw_reader *reader = reader_of(self, "lists", cases[i].picks, NULL);
        g_assert_cmpstr(decoded(self, reader, "lists", &row), ==, cases[i].text);
    }
    desk_free(self);
}

/* A reader of the identity returns no other field, wherever the identity fields are among the fields. */
KW_TEST(test_identity_only, "/path/reader/identity only")
{
    static const struct {
        const char *table, *key, *cells, *text;
    } cases[] = {{"lists", "id=a ts=7000", WHOLE_CELLS, "id=a ts=7000"},
                 {"stored", "id=a", "d:b=#5 d:id=a", "id=a"},
                 {"first", "id=a", "a:x=#1 d:b=#5", "id=a"}};
    desk *self = desk_new(policy);
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        const kw_table *table = desk_table(self, cases[i].table);
        kw_row row = row_of(self, cases[i].table, cases[i].key, cases[i].cells);
        kw_reader *reader = kw_reader_new_identity(&self->call, table, &table->paths[0]);
        g_assert_cmpstr(decoded(self, reader, cases[i].table, &row), ==, cases[i].text);
    }
    desk_free(self);
}

/* A row ends after its cells, whatever follows them in memory. */
KW_TEST(test_last_cell, "/path/reader/last cell")
{
    desk *self = desk_new(policy);
    kw_row row = row_of(self, "lists", "id=a ts=7000", "d:note_a=#1 d:note_b=#2 d:zone=z");
    row.cells_count = 1;
    g_assert_cmpstr(decoded(self, reader_of(self, "lists", "", NULL), "lists", &row), ==,
                    "id=a n.a=1 ts=7000");
    row.cells_count = 2;
    g_assert_cmpstr(decoded(self, reader_of(self, "lists", "", NULL), "lists", &row), ==,
                    "id=a n.a=1 n.b=2 ts=7000");
    desk_free(self);
}

/* A field that only a condition needs is decoded but not returned. */
KW_TEST(test_needed_fields, "/path/reader/needed fields")
{
    desk *self = desk_new(policy);
    kw_row row = row_of(self, "lists", "id=a ts=7000", WHOLE_CELLS);
    kw_reader *reader = reader_of(self, "lists", "note", NULL);
    kw_reader_need(reader, desk_field(self, "lists", "zone"));
    kw_reader_need(reader, desk_field(self, "lists", "note")); /* it is still returned */
    g_assert_cmpstr(decoded(self, reader, "lists", &row), ==, "id=a ts=7000 note=hi");
    const kw_record *record;
    kw_error error;
    const kw_table *table = desk_table(self, "lists");
    g_assert_true(kw_reader_decode(reader, &table->placements[0], &row, &record, &error));
    g_assert_cmpstr(desk_text(self, table, record), ==, "zone=z id=a ts=7000 note=hi");
    kw_record lent = kw_reader_borrow(reader);
    g_assert_cmpstr(desk_text(self, table, &lent), ==, "id=a ts=7000 note=hi");
    kw_record kept = kw_reader_keep(reader, self->call.arena);
    g_assert_cmpuint(kw_reader_reply_bytes(reader), ==, kw_record_reply_bytes(table, &kept));
    size_t note = desk_field(self, "lists", "note");
    g_assert_true(lent.values[note].bytes.data == row.cells[0].value.data);
    g_assert_true(kept.values[note].bytes.data != row.cells[0].value.data);
    desk_free(self);
}

/* Nothing of one row is left in the next one, and what was kept does not change. The second arena is small
 * again after each row. */
KW_TEST(test_next_row, "/path/reader/next row")
{
    desk *self = desk_new(policy);
    g_autoptr(kw_arena) scratch = kw_arena_new();
    kw_reader *reader = reader_of(self, "lists", "", scratch);
    kw_row full = row_of(self, "lists", "id=a ts=7000", WHOLE_CELLS);
    kw_row small = row_of(self, "lists", "id=b ts=8", "d:note=x");
    const kw_record *record;
    const kw_table *table = desk_table(self, "lists");
    g_assert_true(kw_reader_decode(reader, &table->placements[0], &full, &record, NULL));
    kw_record kept = kw_reader_keep(reader, self->call.arena);
    g_assert_cmpuint(kw_reader_reply_bytes(reader), ==, kw_record_reply_bytes(table, &kept));
    size_t bytes = kw_arena_used(scratch);
    for (int i = 0; i < 1000; i++)
        g_assert_true(kw_reader_decode(reader, &table->placements[0], &full, &record, NULL));
    g_assert_cmpuint(kw_arena_used(scratch), ==, bytes);
    g_assert_cmpstr(decoded(self, reader, "lists", &small), ==, "id=b ts=8 note=x");
    g_assert_cmpstr(desk_text(self, table, &kept), ==, WHOLE_TEXT);
    g_assert_true(kw_reader_decode_cells(reader, &full, &record, NULL));
    g_assert_cmpstr(desk_text(self, table, record), ==,
                    "zone=z all.x=one all.y=two n.a=1 n.b=2 n.c=3 edge=9 ts=7000 note=hi");
    desk_free(self);
}

/* --- damaged rows ---------------------------------------------------------------------------------- */

static void
assert_error(desk *self, const char *picks, const kw_row *row, const char *expected)
{
    const char *text = decoded(self, reader_of(self, "lists", picks, NULL), "lists", row);
    if (!strstr(text, expected))
        g_error("\"%s\" does not contain \"%s\"", text, expected);
}

KW_TEST(test_damaged_rows, "/path/reader/damaged rows")
{
    desk *self = desk_new(policy);
    kw_row row = row_of(self, "lists", "id=a ts=7000", "d:ts=#7001");
    assert_error(self, "", &row, "CORRUPT: table lists, path primary, row ");
    assert_error(self, "", &row, "field ts is 7000 in the row key and 7001 in its column");
    row = row_of(self, "lists", "id=a ts=7000", "d:note_a=four");
    assert_error(self, "", &row, "CORRUPT: table lists, path primary, row ");
    assert_error(self, "n", &row, "entry a: ");
    row = row_of(self, "lists", "id=a ts=7000", "d:note_=four");
    assert_error(self, "edge", &row, "field edge");
    row = row_of(self, "lists", "id=a ts=7000", "f:\xff\xfe=x");
    assert_error(self, "all", &row, "field all: the name of the entry \\xFF\\xFE is not UTF-8");
    row.key = KW_BYTES_LITERAL("short");
    assert_error(self, "", &row, "CORRUPT: table lists, path primary, row short: ");
    desk_free(self);
}

/* A message shows at most 79 bytes of a value in the key, and of one in a column. */
KW_TEST(test_long_values_in_messages, "/path/reader/long values in messages")
{
    desk *self = desk_new(policy);
    g_autofree char *key = g_strnfill(90, 'k'), *column = g_strnfill(90, 'c');
    g_autofree char *record = g_strdup_printf("id=%s", key), *cells = g_strdup_printf("d:id=%s", column);
    g_autofree char *expected = g_strdup_printf(
        "field id is \"%.73s...\" in the row key and \"%.73s...\" in its column", key, column);
    kw_row row = row_of(self, "stored", record, cells);
    const char *text = decoded(self, reader_of(self, "stored", "", NULL), "stored", &row);
    if (!strstr(text, expected))
        g_error("\"%s\" does not contain \"%s\"", text, expected);
    desk_free(self);
}

/* A message shows at most 64 bytes of a key and of the name of an entry. */
KW_TEST(test_long_names_in_messages, "/path/reader/long names in messages")
{
    desk *self = desk_new(policy);
    for (size_t size = 63; size <= 66; size++) {
        g_autofree char *name = g_strnfill(size, 'k');
        g_autofree char *shown = g_strnfill(MIN(size, 64), 'k');
        g_autofree char *in_key = g_strdup_printf("row %s%s: ", shown, size > 64 ? "..." : "");
        g_autofree char *in_entry = g_strdup_printf("entry %s: ", shown);
        g_autofree char *not_text =
            g_strdup_printf("entry \\xFF%.*s is not UTF-8", (int)MIN(size - 1, 63), shown);
        g_autofree char *cell = g_strdup_printf("d:note_%s=four", name);
        kw_row row = row_of(self, "plain", "id=a", "d:a=\xff");
        row.key = kw_bytes_of_text(name);
        const char *text = decoded(self, reader_of(self, "plain", "", NULL), "plain", &row);
        g_assert_nonnull(strstr(text, in_key));
        row = row_of(self, "lists", "id=a ts=7000", cell);
        assert_error(self, "", &row, in_entry);
        name[0] = '\xff';
        g_autofree char *broken = g_strdup_printf("d:note_%s=#1", name);
        row = row_of(self, "lists", "id=a ts=7000", broken);
        assert_error(self, "", &row, not_text);
    }
    desk_free(self);
}

/* The entries of a map count with their names, their values and 8 bytes each: together at most one frame. */
KW_TEST(test_size_of_a_map, "/path/reader/size of a map")
{
    for (size_t more = 0; more < 2; more++) {
        desk *self = desk_new(policy);
        g_autofree char *half = g_strnfill(FRAME_BYTES / 2 - 2 - 8, 'v');
        g_autofree char *rest = g_strnfill(FRAME_BYTES / 2 - 2 - 8 + more, 'v');
        g_autofree char *cells = g_strdup_printf("d:note=hi f:aa=%s f:bb=%s", half, rest);
        kw_row row = row_of(self, "lists", "id=a ts=7000", cells);
        if (more)
            assert_error(self, "", &row, "LIMIT: table lists, path primary, row ");
        else
            assert_error(self, "", &row, "id=a all.aa=vvv");
        assert_error(self, "all.bb", &row, "id=a all.bb=vvv");
        assert_error(self, "all.none", &row, "id=a ts=7000");
        assert_error(self, "note", &row, "id=a ts=7000 note=hi");
        desk_free(self);
    }
}

/* Values of the key and of the columns as they are, not only as text. */
KW_TEST(test_values, "/path/reader/values")
{
    desk *self = desk_new(policy);
    kw_row row = row_of(self, "lists", "id=a ts=7000", WHOLE_CELLS);
    const kw_record *record;
    const kw_table *table = desk_table(self, "lists");
    kw_reader *reader = reader_of(self, "lists", "", NULL);
    g_assert_true(kw_reader_decode(reader, &table->placements[0], &row, &record, NULL));
    g_assert_true(kw_value_equal(record->values[desk_field(self, "lists", "ts")], number(7000)));
    g_assert_true(kw_value_equal(record->values[desk_field(self, "lists", "edge")], number(9)));
    kw_value map = record->values[desk_field(self, "lists", "n")];
    g_assert_cmpuint(map.entries_count, ==, 3);
    for (size_t i = 0; i < 3; i++)
        g_assert_true(kw_value_equal(map.entries[i].value, number((int64_t)i + 1)));
    desk_free(self);
}
