#include "order_bed.h"

#include "store/control.h"
#include "store/refuse.h"

#include <string.h>

#define TABLE "old"
#define RUN_MS 4

static const kw_order_settings settings = {
    .clock_width_ms = 50, .max_clock_skew_ms = SKEW_MS, .late_ms = LATE_MS, .client_pause_ms = 100};

order_bed
order_bed_new(void)
{
    static const char *const tables[] = {TABLE, "new"};
    order_bed bed = {.rows = kw_simulated_store_open(tables, G_N_ELEMENTS(tables))};
    kw_sync_open(&bed.sync, kw_order_store_new(bed.rows, &settings));
    return bed;
}

void
order_bed_free(order_bed *bed)
{
    kw_store *store = bed->sync.store;
    kw_sync_close(&bed->sync);
    kw_store_free(store);
}

void
order_on_write(void *user, kw_outcome outcome, const kw_error *error)
{
    order_answer *answer = user;
    g_assert_false(answer->done);
    answer->done = true;
    answer->written[0].outcome = outcome;
    answer->written[0].error = error ? *error : (kw_error)KW_ERROR_NONE;
}

void
order_on_many(void *user)
{
    order_answer *answer = user;
    g_assert_false(answer->done);
    answer->done = true;
}

void
order_on_rows(void *user, kw_rows *rows, const kw_error *error)
{
    order_answer *answer = user;
    g_assert_false(answer->done);
    answer->done = true;
    answer->rows = rows;
    answer->error = error ? *error : (kw_error)KW_ERROR_NONE;
}

void
order_await(order_bed *bed, order_answer *answer)
{
    kw_sync_wait(&bed->sync, &answer->done);
}

static void
set_flag(void *flag)
{
    *(bool *)flag = true;
}

void
order_run(order_bed *bed)
{
    order_run_ms(bed, RUN_MS);
}

void
order_run_ms(order_bed *bed, unsigned ms)
{
    uint64_t until_ns = kw_clock_mono_ns() + ms * UINT64_C(1000000);
    for (int i = 0; i < 10 || kw_clock_mono_ns() < until_ns; i++) {
        bool done = false;
        kw_complete_later(bed->sync.handle, set_flag, &done);
        kw_sync_wait(&bed->sync, &done);
    }
}

/* --- writes ------------------------------------------------------------------------------------- */

kw_write
order_put(kw_arena *arena, const kw_ordering *ordering, const char *row, const char *cells)
{
    g_auto(GStrv) words = g_strsplit(cells, " ", -1);
    size_t count = g_strv_length(words);
    kw_cell *made = KW_ARENA_ARRAY(arena, kw_cell, count);
    for (size_t i = 0; i < count; i++) {
        char *value = strchr(words[i], '=');
        *value++ = '\0';
        made[i] = (kw_cell){.family = KW_BYTES_LITERAL("f"),
                            .qualifier = kw_arena_copy(arena, kw_bytes_of_text(words[i])),
                            .value = kw_arena_copy(arena, kw_bytes_of_text(value))};
    }
    return (kw_write){.kind = KW_WRITE_PUT,
                      .table = KW_BYTES_LITERAL(TABLE),
                      .row = kw_bytes_of_text(row),
                      .cells = made,
                      .cells_count = count,
                      .timestamp = KW_TIMESTAMP_NONE,
                      .deadline = kw_deadline_in_ms(60000),
                      .ordering = ordering};
}

kw_write
order_removal(kw_arena *arena, const kw_ordering *ordering, const char *row, const char *columns)
{
    g_auto(GStrv) words = g_strsplit(columns, " ", -1);
    size_t count = g_strv_length(words);
    kw_column *made = KW_ARENA_ARRAY(arena, kw_column, count);
    for (size_t i = 0; i < count; i++)
        made[i] = (kw_column){.family = KW_BYTES_LITERAL("f"),
                              .qualifier = kw_arena_copy(arena, kw_bytes_of_text(words[i]))};
    return (kw_write){.kind = KW_WRITE_DELETE,
                      .table = KW_BYTES_LITERAL(TABLE),
                      .row = kw_bytes_of_text(row),
                      .columns = made,
                      .columns_count = columns[0] ? count : 0,
                      .timestamp = KW_TIMESTAMP_NONE,
                      .deadline = kw_deadline_in_ms(60000),
                      .ordering = ordering};
}

/* --- rows --------------------------------------------------------------------------------------- */

void
order_assert_row(order_bed *bed, const char *table, const char *row, const char *cells)
{
    g_autofree char *found = kw_simulated_row(bed->rows, table, row);
    g_assert_cmpstr(found, ==, cells);
}

/* "f:a=1@10" */
static kw_cell
read_cell(kw_arena *arena, const char *text)
{
    g_auto(GStrv) parts = g_strsplit_set(text, "=@", -1);
    g_assert_cmpuint(g_strv_length(parts), ==, 3);
    const char *name = strchr(parts[0], ':') + 1;
    kw_cell cell = {.family =
                        kw_arena_copy(arena, kw_bytes_of((uint8_t *)parts[0], (size_t)(name - parts[0] - 1))),
                    .qualifier = kw_arena_copy(arena, kw_bytes_of_text(name)),
                    .value = kw_arena_copy(arena, kw_bytes_of_text(parts[1])),
                    .timestamp = g_ascii_strtoll(parts[2], NULL, 10)};
    if (!g_str_has_prefix(name, "kw:"))
        return cell;
    size_t size = g_str_equal(name, "kw:w") ? KW_CONTROL_WRITER_BYTES : 8;
    uint8_t *qualifier = kw_arena_alloc0(arena, strlen(name) + 1), *value = kw_arena_alloc0(arena, size);
    memcpy(qualifier + 1, name, strlen(name));
    kw_be64_store(value, g_ascii_strtoull(parts[1], NULL, 10));
    cell.qualifier = kw_bytes_of(qualifier, strlen(name) + 1);
    cell.value = kw_bytes_of(value, size);
    return cell;
}

kw_row
order_row(kw_arena *arena, const char *cells)
{
    g_auto(GStrv) words = g_strsplit(cells, " ", -1);
    size_t count = cells[0] ? g_strv_length(words) : 0;
    kw_row row = {.key = KW_BYTES_LITERAL("r"), .cells = KW_ARENA_ARRAY(arena, kw_cell, count)};
    for (size_t i = 0; i < count; i++)
        row.cells[row.cells_count++] = read_cell(arena, words[i]);
    return row;
}

void
order_write_row(order_bed *bed, const char *table, const char *key, const char *cells)
{
    static const kw_ordering marked = {.regime.order = KW_WRITE_ORDER_STAMP,
                                       .family = {(const uint8_t *)"f", 1}};
    g_autoptr(kw_arena) arena = kw_arena_new();
    kw_row row = order_row(arena, cells);
    kw_marker *markers = KW_ARENA_ARRAY(arena, kw_marker, row.cells_count);
    kw_write write = {.kind = KW_WRITE_PUT,
                      .table = kw_bytes_of_text(table),
                      .row = kw_bytes_of_text(key),
                      .cells = row.cells,
                      .cells_count = row.cells_count,
                      .own_timestamps = true,
                      .markers = markers};
    for (uint32_t i = 0; i < row.cells_count; i++)
        write.markers_count += kw_control_marker(&marked, &row.cells[i], &markers[write.markers_count]);
    if (row.cells_count)
        g_assert_cmpint(kw_sync_write(&bed->sync, &write).outcome, ==, KW_OUTCOME_OK);
}

char *
order_print(const kw_row *row)
{
    GString *text = g_string_new(NULL);
    for (uint32_t i = 0; i < row->cells_count; i++)
        kw_simulated_print(text, &row->cells[i]);
    return g_string_free(text, FALSE);
}
