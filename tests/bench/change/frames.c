/* Requests of the service Data, encoded once. Their records have marks in the place of numbers. */
#include "bench.h"

#include "thrift/keyway_wire.h"

#include <string.h>

#define ID_SIZE 16
#define CELLS 3
#define CELL_SIZE 100
#define ID_MARK "id of the record"
#define TIME_MARK INT64_C(0x7a6d6b7574696d65)
#define FIRST_TIME INT64_C(1700000000000)

static void
set(kw_api_Record *record, const char *name, kw_api_Value value)
{
    record->items[record->count].key = kw_bytes_of_text(name);
    record->items[record->count++].value = value;
}

/* cells: false for a key. */
static void
fill_record(kw_api_Record *record, bool cells, kw_arena *arena)
{
    uint8_t *cell = kw_arena_alloc0(arena, CELL_SIZE);
    kw_bytes bytes = kw_bytes_of(cell, CELL_SIZE);
    record->items = kw_arena_alloc0(arena, 5 * sizeof *record->items);
    set(record, "id", (kw_api_Value){.has_text = true, .text = KW_BYTES_LITERAL(ID_MARK)});
    set(record, "ts", (kw_api_Value){.has_number = true, .number = TIME_MARK});
    if (!cells)
        return;
    set(record, "a", (kw_api_Value){.has_bytes = true, .bytes = bytes});
    set(record, "b", (kw_api_Value){.has_bytes = true, .bytes = bytes});
    set(record, "c", (kw_api_Value){.has_bytes = true, .bytes = bytes});
}

static void
add_message(kw_buffer *out, size_t method, const void *args)
{
    kw_wire_form form = {KW_WIRE_BINARY, true};
    size_t mark = kw_wire_frame_begin(out, form);
    kw_wire_message_encode(out, KW_WIRE_BINARY, kw_bytes_of_text(kw_api_methods[method].name), KW_WIRE_CALL,
                           1);
    kw_wire_struct_encode(out, KW_WIRE_BINARY, kw_api_methods[method].args, args);
    kw_wire_frame_end(out, form, mark);
}

static void
add_put_many(kw_buffer *out, kw_bytes table, kw_arena *arena)
{
    kw_api_Data_putMany_args args = {.has_table = true, .table = table, .has_records = true};
    args.records.items = kw_arena_alloc0(arena, BENCH_BATCH * sizeof *args.records.items);
    args.records.count = BENCH_BATCH;
    for (size_t i = 0; i < BENCH_BATCH; i++)
        fill_record(&args.records.items[i], true, arena);
    add_message(out, KW_API_Data_putMany, &args);
}

/* Rows in the order of the key, merged from all buckets. How many calls a scan needs depends on how its rows
 * are spread over the buckets. The tables differ in that, so the scans begin at different rows. */
static void
add_scan(kw_buffer *out, kw_bytes table, bool by_time)
{
    kw_api_Value id = {.has_text = true, .text = KW_BYTES_LITERAL(ID_MARK)};
    kw_api_Value time = {.has_number = true, .number = TIME_MARK};
    kw_api_Range range = {.field = by_time ? KW_BYTES_LITERAL("ts") : KW_BYTES_LITERAL("id"),
                          .has_from_value = true,
                          .from_value = by_time ? &time : &id};
    kw_api_Query query = {.table = table,
                          .has_range = true,
                          .range = &range,
                          .has_limit = true,
                          .limit = BENCH_SCAN_ROWS,
                          .has_page_rows = true,
                          .page_rows = BENCH_SCAN_ROWS};
    kw_api_Data_scan_args args = {.has_query = true, .query = &query};
    add_message(out, KW_API_Data_scan, &args);
}

static size_t
add_request(kw_buffer *out, bench_call call, kw_arena *arena)
{
    kw_bytes table = KW_BYTES_LITERAL("rows");
    if (call == BENCH_PUT_MANY) {
        add_put_many(out, table, arena);
        return KW_API_Data_putMany;
    }
    if (call == BENCH_SCAN || call == BENCH_SCAN_BY_TIME) {
        add_scan(out, table, call == BENCH_SCAN_BY_TIME);
        return KW_API_Data_scan;
    }
    if (call == BENCH_PUT) {
        kw_api_Data_put_args args = {.has_table = true, .table = table, .has_record = true};
        fill_record(&args.record, true, arena);
        add_message(out, KW_API_Data_put, &args);
        return KW_API_Data_put;
    }
    if (call == BENCH_GET) {
        kw_api_Data_get_args args = {.has_table = true, .table = table, .has_key = true};
        fill_record(&args.key, false, arena);
        add_message(out, KW_API_Data_get, &args);
        return KW_API_Data_get;
    }
    kw_api_Data_remove_args args = {.has_table = true, .table = table, .has_key = true};
    fill_record(&args.key, false, arena);
    add_message(out, KW_API_Data_remove, &args);
    return KW_API_Data_remove;
}

/* Returns the offset of the mark after `from`. */
static size_t
find_mark(const bench_frame *frame, size_t from, const void *mark, size_t size)
{
    const uint8_t *found = memmem(frame->data + from, frame->size - from, mark, size);
    g_assert(found);
    return (size_t)(found - frame->data);
}

/* The cells follow the time. */
static void
find_cells(bench_frame *frame, size_t record)
{
    static const uint8_t mark[CELL_SIZE];
    size_t at = frame->times[record];
    for (size_t i = 0; i < CELLS; i++) {
        at = find_mark(frame, at, mark, CELL_SIZE);
        frame->cells[record][i] = at;
        at += CELL_SIZE;
    }
}

void
bench_frame_init(bench_frame *frame, bench_call call)
{
    kw_buffer out = KW_BUFFER_EMPTY;
    kw_arena *arena = kw_arena_new();
    uint8_t time[8];
    *frame = (bench_frame){.records = call == BENCH_PUT_MANY ? BENCH_BATCH : 1,
                           .scans = call == BENCH_SCAN || call == BENCH_SCAN_BY_TIME};
    frame->name_size = strlen(kw_api_methods[add_request(&out, call, arena)].name);
    frame->size = out.size;
    frame->data = g_memdup2(out.data, out.size);
    kw_buffer_clear(&out);
    kw_arena_free(arena);
    kw_be64_store(time, (uint64_t)TIME_MARK);
    for (size_t i = 0, id = 0, at = 0; i < frame->records; i++) {
        if (call != BENCH_SCAN_BY_TIME)
            frame->ids[i] = find_mark(frame, id, ID_MARK, ID_SIZE);
        if (call != BENCH_SCAN)
            frame->times[i] = find_mark(frame, at, time, sizeof time);
        if (call == BENCH_PUT || call == BENCH_PUT_MANY)
            find_cells(frame, i);
        id = frame->ids[i] + 1;
        at = frame->times[i] + 1;
    }
}

void
bench_frame_clear(bench_frame *frame)
{
    g_free(frame->data);
}

/* A permutation of 64-bit numbers: the finalizer of SplitMix64. */
static uint64_t
permute(uint64_t number)
{
    number = (number ^ (number >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    number = (number ^ (number >> 27)) * UINT64_C(0x94d049bb133111eb);
    return number ^ (number >> 31);
}

static void
write_id(uint8_t *to, uint64_t id)
{
    for (size_t digit = 0; digit < ID_SIZE; digit++)
        to[digit] = (uint8_t) "0123456789abcdef"[(id >> (60 - 4 * digit)) & 15];
}

/* Returns the seed of the next cell. The last bytes stay as they are. */
static uint64_t
write_cell(uint8_t *to, uint64_t seed)
{
    for (size_t at = 0; at + 8 <= CELL_SIZE; at += 8)
        kw_be64_store(to + at, seed = permute(seed + 1));
    return seed;
}

void
bench_frame_set_number(bench_frame *frame, uint64_t number)
{
    for (size_t i = 0; i < frame->records; i++, number++) {
        uint64_t id = permute(number + 1), seed = id;
        if (frame->ids[i])
            write_id(frame->data + frame->ids[i], frame->scans ? id / 2 : id);
        if (frame->times[i])
            kw_be64_store(frame->data + frame->times[i], (uint64_t)FIRST_TIME + number);
        for (size_t cell = 0; cell < CELLS && frame->cells[i][cell]; cell++)
            seed = write_cell(frame->data + frame->cells[i][cell], seed);
    }
}
