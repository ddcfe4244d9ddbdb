#include "apart_fixture.h"

#include "store/control.h"
#include "store/order/order.h"

static const char policy[] = "store: {kind: embedded, path: /tmp/unused}\n"
                             "cursor: {keys: [\"000102030405060708090a0b0c0d0e0f\"]}\n"
                             "tables:\n"
                             "  now:\n"
                             "    fields: {id: string, n: int, note: string, tags: {type: map, of: int}}\n"
                             "    order: stamp\n"
                             "    key: [salt: {buckets: 4, of: [id]}, field: id, field: n]\n"
                             "  then:\n"
                             "    fields: {id: string, n: int, note: string, tags: {type: map, of: int}}\n"
                             "    order: stamp\n"
                             "    key: [field: id, field: n]\n"
                             "  coarse_now:\n"
                             "    fields: {id: string, ts: {type: timestamp, column: 'd:ts'}, note: string}\n"
                             "    order: stamp\n"
                             "    key: [field: {name: ts, unit: s}, field: id]\n"
                             "  coarse_then:\n"
                             "    fields: {id: string, ts: {type: timestamp, column: 'd:ts'}, note: string}\n"
                             "    order: stamp\n"
                             "    key: [field: id, field: {name: ts, unit: s}]\n";

static const kw_order_settings settings = {
    .clock_width_ms = 1000, .max_clock_skew_ms = 20, .late_ms = 1000, .client_pause_ms = 100};

/* The roles under version 2. */
static void
write_to(apart_fixture *self, apart_side sides)
{
    self->placements[0].role = (kw_role){.put = (sides & NEW) != 0, .remove = (sides & NEW) != 0};
    self->placements[1].role =
        (kw_role){.put = (sides & OLD) != 0, .remove = sides & OLD ? 2 : 0, .get = true, .scan = true};
}

void
apart_fixture_open(apart_fixture *self, const char *table)
{
    kw_store *memory = kw_memory_store_open();
    kw_memory_store_share(memory);
    apart_fixture_open_over(self, table, memory);
    self->control = kw_memory_store_control(memory);
}

void
apart_fixture_open_over(apart_fixture *self, const char *table, kw_store *inner)
{
    *self = (apart_fixture){.desk = desk_new_over(kw_order_store_new(inner, &settings), policy)};
    const char *then = g_str_equal(table, "now") ? "then" : "coarse_then";
    const kw_path *old = &desk_table(self->desk, then)->paths[0];
    self->table = (kw_table *)(uintptr_t)desk_table(self->desk, table);
    self->path = (kw_path *)(uintptr_t)&self->table->paths[0];
    self->placements[0] = self->path->placements[0];
    self->placements[1] = (kw_placement){
        .path = self->path, .number = 1, .layout = old->layout, .store_table = old->store_table};
    write_to(self, BOTH);
    self->path->placements = self->table->placements = self->placements;
    self->path->placements_count = self->table->placements_count = 2;
    self->table->change = KW_TABLE_MOVES;
    self->table->ordering.regime.keeps_gone = true;
}

void
apart_fixture_close(apart_fixture *self)
{
    desk_free(self->desk);
}

void
apart_put(apart_fixture *self, apart_side sides, const char *record, int64_t timestamp)
{
    write_to(self, sides);
    self->desk->options = (kw_write_options){.has_timestamp = timestamp > 0, .timestamp = timestamp};
    self->table->ordering.regime.keeps_gone = timestamp == 0 || self->traces;
    g_assert_cmpstr(desk_put(self->desk, self->table->name, record)->error.text, ==, "");
    self->table->ordering.regime.keeps_gone = true;
    write_to(self, BOTH);
}

void
apart_remove(apart_fixture *self, apart_side sides, const char *key, const char *columns)
{
    write_to(self, sides);
    self->desk->options = (kw_write_options){0};
    g_assert_cmpstr(desk_remove(self->desk, self->table->name, key, columns)->error.text, ==, "");
    write_to(self, BOTH);
}

void
apart_wait(void)
{
    int64_t now_ms = kw_clock_wall_ms();
    while (kw_clock_wall_ms() == now_ms)
        g_usleep(100);
}

static void
print_cell(const kw_ordering *ordering, const kw_cell *cell, GString *to)
{
    kw_marker marker;
    bool gone = kw_control_marker(ordering, cell, &marker);
    kw_bytes name = gone ? marker.column.qualifier : cell->qualifier;
    g_string_append(to, gone ? " gone" : " d");
    if (!gone || !marker.whole_row)
        g_string_append_printf(to, ":%.*s", (int)name.size, (const char *)name.data);
    if (!gone && cell->value.size == 8)
        g_string_append_printf(to, "=%d", (int)(int64_t)kw_be64_load(cell->value.data));
    else if (!gone)
        g_string_append_printf(to, "=%.*s", (int)cell->value.size, (const char *)cell->value.data);
    if (cell->timestamp < 1000000)
        g_string_append_printf(to, "@%lld", (long long)cell->timestamp);
}

typedef struct reading {
    kw_rows *rows;
    bool done;
} reading;

static void
on_rows(void *user, kw_rows *rows, const kw_error *error)
{
    reading *of = user;
    if (error)
        g_error("%s", error->text);
    of->rows = rows;
    of->done = true;
}

char *
apart_rows(apart_fixture *self, apart_side side)
{
    kw_range_scan_spec spec = {.table = self->placements[side == OLD].store_table, .max_versions = 1};
    kw_range_scan *scan = kw_store_handle_open_range_scan(self->desk->handle, &spec);
    reading all = {0};
    GString *text = g_string_new(NULL);
    kw_range_scan_fetch(scan, 1000, 1 << 20, false, kw_deadline_in_ms(60000), on_rows, &all);
    while (!all.done)
        uv_run(kw_loop_uv(self->desk->loop), UV_RUN_ONCE);
    g_assert_true(all.rows->end);
    for (size_t i = 0; i < all.rows->count; i++) {
        const kw_row *row = &all.rows->rows[i];
        g_string_append_printf(text, "row %zu:", i);
        for (uint32_t j = 0; j < row->cells_count; j++)
            print_cell(&self->table->ordering, &row->cells[j], text);
        g_string_append_c(text, '\n');
    }
    kw_rows_free(all.rows);
    kw_range_scan_close(scan);
    return g_string_free(text, FALSE);
}
