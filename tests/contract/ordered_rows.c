#include "contract/ordered_rows.h"

#include "store/control.h"

const kw_ordering kw_ordered = {.regime.order = KW_WRITE_ORDER_STAMP,
                                .family = {(const uint8_t *)"d", 1},
                                .regime.waits_for_next_ms = true,
                                .regime.keeps_gone = true};

typedef struct row_text {
    kw_arena *arena;
    kw_cell cells[64];
    kw_marker markers[64];
    size_t cells_count, markers_count;
} row_text;

/* "gone", "gone:v" or "gone:d:a" */
static void
add_gone(row_text *to, char **parts, int64_t until_ms)
{
    kw_marker marker = {.whole_row = !parts[1], .until_ms = until_ms};
    kw_bytes name = KW_CONTROL_GONE;
    if (parts[1]) {
        marker.column.family = kw_arena_copy(to->arena, B(parts[1]));
        marker.column.qualifier = kw_arena_copy(to->arena, B(parts[2] ? parts[2] : ""));
        marker.column.whole_family = !parts[2];
        name = kw_control_gone_column(&marker.column, to->arena);
    }
    to->markers[to->markers_count++] = marker;
    to->cells[to->cells_count++] =
        kw_control_cell(&kw_ordered, name, (uint64_t)until_ms, until_ms + 1, to->arena);
}

static void
read_word(row_text *to, const char *word)
{
    g_auto(GStrv) sides = g_strsplit(word, "=", 2);
    g_auto(GStrv) parts = g_strsplit(sides[0], ":", 3);
    if (g_str_equal(parts[0], "gone")) {
        add_gone(to, parts, g_ascii_strtoll(sides[1], NULL, 10));
        return;
    }
    g_auto(GStrv) value = g_strsplit(sides[1], "@", 2);
    to->cells[to->cells_count++] = (kw_cell){.family = kw_arena_copy(to->arena, B(parts[0])),
                                             .qualifier = kw_arena_copy(to->arena, B(parts[1])),
                                             .value = kw_arena_copy(to->arena, B(value[0])),
                                             .timestamp = g_ascii_strtoll(value[1], NULL, 10)};
}

void
kw_put_row(kw_fixture *f, const char *row, const char *text)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    g_auto(GStrv) words = g_strsplit(text, " ", -1);
    row_text all = {.arena = arena};
    for (char **word = words; *word && **word; word++)
        read_word(&all, *word);
    kw_write write = {.kind = KW_WRITE_PUT,
                      .table = f->table,
                      .row = B(row),
                      .cells = all.cells,
                      .cells_count = all.cells_count,
                      .own_timestamps = true,
                      .markers = all.markers,
                      .markers_count = all.markers_count,
                      .deadline = kw_deadline_in_ms(60000)};
    if (all.cells_count == 0)
        return;
    kw_sync_written result = kw_sync_write(&f->sync, &write);
    if (result.outcome != KW_OUTCOME_OK)
        g_error("%s", result.error.text);
}

static void
print_cell(const kw_cell *cell, GString *to)
{
    kw_marker marker;
    g_string_append(to, to->len ? " " : "");
    if (!kw_control_marker(&kw_ordered, cell, &marker)) {
        g_string_append_printf(to, "%.*s:%.*s=%.*s@%lld", (int)cell->family.size, cell->family.data,
                               (int)cell->qualifier.size, cell->qualifier.data, (int)cell->value.size,
                               cell->value.data, (long long)cell->timestamp);
        return;
    }
    g_assert_cmpint(cell->timestamp, ==, marker.until_ms + 1);
    g_string_append(to, "gone");
    if (!marker.whole_row)
        g_string_append_printf(to, ":%.*s", (int)marker.column.family.size, marker.column.family.data);
    if (!marker.whole_row && !marker.column.whole_family)
        g_string_append_printf(to, ":%.*s", (int)marker.column.qualifier.size, marker.column.qualifier.data);
    g_string_append_printf(to, "=%lld", (long long)marker.until_ms);
}

char *
kw_stored_text(kw_fixture *f, const char *row)
{
    kw_asking asking;
    kw_ask(&asking, f, row, NULL);
    asking.get.max_versions = 10;
    kw_rows *rows = kw_sync_get(&f->sync, &asking.get, NULL);
    GString *text = g_string_new(NULL);
    for (uint32_t i = 0; i < rows->rows[0].cells_count; i++)
        print_cell(&rows->rows[0].cells[i], text);
    kw_rows_free(rows);
    return g_string_free(text, FALSE);
}

void
kw_expect_stored(kw_fixture *f, const char *row, const char *text)
{
    g_autofree char *found = kw_stored_text(f, row);
    g_assert_cmpstr(found, ==, text);
}
