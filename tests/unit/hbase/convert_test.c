/* The estimated size of a write is never lower than the size of its Thrift2 struct on the wire, and at most
 * twice that size if the row key and the values are large. */
#include "store/hbase/thrift2/convert.h"

#include "wire/wire.h"

#include <string.h>

#define TABLE KW_BYTES_LITERAL("t")
#define STAMP_MS INT64_C(1795600800000)

typedef struct write_case {
    const char *what;
    kw_write_kind kind;
    size_t cells, columns, families; /* columns, and then whole families, of a delete */
    size_t extra, lasting;
    size_t markers;
    bool own_timestamps;
} write_case;

static const write_case cases[] = {
    {.what = "put", .kind = KW_WRITE_PUT, .cells = 1},
    {.what = "put of several cells", .kind = KW_WRITE_PUT, .cells = 9},
    {.what = "put with timestamps of its own", .kind = KW_WRITE_PUT, .cells = 9, .own_timestamps = true},
    {.what = "put with an extra cell", .kind = KW_WRITE_PUT, .cells = 1, .extra = 1},
    {.what = "put with markers", .kind = KW_WRITE_PUT, .cells = 2, .own_timestamps = true, .markers = 7},
    {.what = "markers alone", .kind = KW_WRITE_PUT, .own_timestamps = true, .markers = 1},
    {.what = "delete of a row", .kind = KW_WRITE_DELETE},
    {.what = "delete of columns", .kind = KW_WRITE_DELETE, .columns = 5},
    {.what = "delete of columns and families", .kind = KW_WRITE_DELETE, .columns = 1, .families = 1},
    {.what = "delete with gone cells", .kind = KW_WRITE_DELETE, .columns = 1, .extra = 2},
    {.what = "everything", .kind = KW_WRITE_DELETE, .columns = 2, .families = 2, .extra = 3, .lasting = 1},
};

static kw_cell *
cells_of(kw_arena *arena, size_t count, kw_bytes value)
{
    kw_cell *cells = KW_ARENA_ARRAY(arena, kw_cell, count);
    for (size_t i = 0; i < count; i++)
        cells[i] = (kw_cell){.family = KW_BYTES_LITERAL("d"),
                             .qualifier = KW_BYTES_LITERAL("q"),
                             .value = value,
                             .timestamp = STAMP_MS};
    return cells;
}

static kw_column *
columns_of(kw_arena *arena, size_t columns, size_t families)
{
    kw_column *all = KW_ARENA_ARRAY(arena, kw_column, columns + families);
    for (size_t i = 0; i < columns + families; i++) {
        all[i] = (kw_column){.family = KW_BYTES_LITERAL("d"), .whole_family = i >= columns};
        all[i].qualifier = i < columns ? KW_BYTES_LITERAL("q") : KW_BYTES_NONE;
    }
    return all;
}

static kw_marker *
markers_of(kw_arena *arena, size_t count)
{
    kw_marker *markers = KW_ARENA_ARRAY(arena, kw_marker, count);
    for (size_t i = 0; i < count; i++)
        markers[i] = (kw_marker){
            .column = *columns_of(arena, i % 2, (i + 1) % 2), .whole_row = i % 3 == 2, .until_ms = STAMP_MS};
    return markers;
}

static kw_write
write_of(const write_case *of, kw_arena *arena, kw_bytes row, kw_bytes value)
{
    return (kw_write){.kind = of->kind,
                      .table = TABLE,
                      .row = row,
                      .cells = cells_of(arena, of->cells, value),
                      .cells_count = of->cells,
                      .columns = columns_of(arena, of->columns, of->families),
                      .columns_count = of->columns + of->families,
                      .timestamp = STAMP_MS,
                      .extra_cells = cells_of(arena, of->extra, value),
                      .extra_cells_count = of->extra,
                      .extra_cells_ttl_ms = 90000,
                      .lasting_cells_count = of->lasting,
                      .own_timestamps = of->own_timestamps,
                      .markers = markers_of(arena, of->markers),
                      .markers_count = of->markers};
}

/* The size of the struct in which the write is sent. */
static size_t
size_of(const kw_write *write, kw_wire_protocol protocol, kw_arena *arena)
{
    kw_buffer out = KW_BUFFER_EMPTY;
    kw_hb_TPut put;
    kw_hb_TDelete removal;
    switch (kw_hbase_shape_of(write)) {
    case KW_HBASE_SHAPE_PUT:
        kw_hbase_to_put(arena, write, KW_DURABILITY_FSYNC_WAL, &put);
        kw_wire_struct_encode(&out, protocol, &kw_hb_TPut_wire, &put);
        break;
    case KW_HBASE_SHAPE_DELETE:
        kw_hbase_to_delete(arena, write, KW_DURABILITY_FSYNC_WAL, &removal);
        kw_wire_struct_encode(&out, protocol, &kw_hb_TDelete_wire, &removal);
        break;
    case KW_HBASE_SHAPE_MUTATIONS:
        kw_wire_struct_encode(&out, protocol, &kw_hb_TRowMutations_wire,
                              kw_hbase_to_mutations(arena, write, KW_DURABILITY_FSYNC_WAL));
        break;
    }
    size_t size = out.size;
    kw_buffer_clear(&out);
    return size;
}

static void
check(const write_case *of, size_t row_size, size_t value_size)
{
    static const kw_wire_protocol protocols[] = {KW_WIRE_BINARY, KW_WIRE_COMPACT};
    g_autoptr(kw_arena) arena = kw_arena_new();
    g_autofree uint8_t *zeros = g_malloc0(MAX(row_size, value_size) + 1);
    kw_write write = write_of(of, arena, kw_bytes_of(zeros, row_size), kw_bytes_of(zeros, value_size));
    size_t estimate = kw_hbase_write_bytes(&write);
    for (size_t i = 0; i < G_N_ELEMENTS(protocols); i++) {
        size_t size = size_of(&write, protocols[i], arena);
        g_test_message("%s, row of %zu bytes, values of %zu: %zu bytes, estimated %zu", of->what, row_size,
                       value_size, size, estimate);
        g_assert_cmpuint(estimate, >=, size);
        if (row_size > 1 && value_size > 0)
            g_assert_cmpuint(estimate, <=, 2 * size);
    }
}

KW_TEST(test_write_bytes, "/hbase/convert/write-bytes")
{
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        check(&cases[i], 1, 0);
        check(&cases[i], 32767, 0);
        check(&cases[i], 1, 100000);
        check(&cases[i], 1000, 1000);
    }
}
