/* See thrift2_fake_rows.h. A row has one cell; a put of several cells keeps the last. As in HBase, a write
 * with a timestamp lower than the row's changes nothing; it is counted. */
#include "support/thrift2_fake_rows.h"

#include "base/clock.h"

typedef struct fake_row {
    GBytes *key;
    GBytes *value;
    int64_t timestamp;
    uint32_t writes;
    bool deleted;
} fake_row;

typedef struct fake_scanner {
    bool reversed;
    GBytes *at; /* the next row is at or after it */
    GBytes *stop;
    bool after; /* the next row is after `at` */
} fake_scanner;

static kw_bytes
bytes_of(GBytes *bytes)
{
    gsize size = 0;
    const void *data = bytes ? g_bytes_get_data(bytes, &size) : NULL;
    return kw_bytes_of(data, size);
}

static void
row_free(gpointer data)
{
    fake_row *row = data;
    g_bytes_unref(row->key);
    g_bytes_unref(row->value);
    g_free(row);
}

static void
bytes_free(gpointer data)
{
    g_bytes_unref(data);
}

static void
scanner_free(gpointer data)
{
    fake_scanner *scanner = data;
    if (!scanner)
        return;
    g_bytes_unref(scanner->at);
    g_bytes_unref(scanner->stop);
    g_free(scanner);
}

void
fake_rows_init(fake_rows *rows)
{
    rows->rows = g_ptr_array_new_with_free_func(row_free);
    rows->scanners = g_ptr_array_new_with_free_func(scanner_free);
    rows->boundaries = g_ptr_array_new_with_free_func(bytes_free);
}

void
fake_rows_clear(fake_rows *rows)
{
    g_ptr_array_unref(rows->rows);
    g_ptr_array_unref(rows->scanners);
    g_ptr_array_unref(rows->boundaries);
}

void
fake_rows_set_boundaries(fake_rows *rows, const kw_bytes *keys, size_t count)
{
    g_ptr_array_set_size(rows->boundaries, 0);
    for (size_t i = 0; i < count; i++)
        g_ptr_array_add(rows->boundaries, g_bytes_new(keys[i].data, keys[i].size));
}

void
fake_rows_forget_scanners(fake_rows *rows, bool restarted)
{
    rows->id_base = restarted ? 0 : rows->id_base + (int32_t)rows->scanners->len;
    g_ptr_array_set_size(rows->scanners, 0);
    rows->open_scanners = 0;
}

/* The index of the first row at or after the key. */
static guint
position(const fake_rows *rows, kw_bytes key)
{
    guint low = 0, high = rows->rows->len;
    while (low < high) {
        guint middle = (low + high) / 2;
        fake_row *row = rows->rows->pdata[middle];
        if (kw_bytes_compare(bytes_of(row->key), key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static fake_row *
find(const fake_rows *rows, kw_bytes key)
{
    guint at = position(rows, key);
    fake_row *row = at < rows->rows->len ? rows->rows->pdata[at] : NULL;
    return row && kw_bytes_equal(bytes_of(row->key), key) ? row : NULL;
}

static void
write_row(fake_rows *rows, kw_bytes key, kw_bytes value, int64_t timestamp, bool deleted)
{
    fake_row *row = find(rows, key);
    if (!row) {
        row = g_new0(fake_row, 1);
        row->key = g_bytes_new(key.data, key.size);
        row->value = g_bytes_new(NULL, 0);
        row->timestamp = INT64_MIN;
        g_ptr_array_insert(rows->rows, (gint)position(rows, key), row);
    }
    row->writes++;
    if (timestamp < row->timestamp)
        return;
    g_bytes_unref(row->value);
    row->value = g_bytes_new(value.data, value.size);
    row->timestamp = timestamp;
    row->deleted = deleted;
}

void
fake_rows_set(fake_rows *rows, kw_bytes key, kw_bytes value)
{
    fake_row *row = find(rows, key);
    if (row)
        row->timestamp = INT64_MIN;
    write_row(rows, key, value, 1, false);
}

uint32_t
fake_rows_writes(const fake_rows *rows, kw_bytes key)
{
    const fake_row *row = find(rows, key);
    return row ? row->writes : 0;
}

/* --- answers ---------------------------------------------------------------------------------- */

static void
put(fake_rows *rows, const kw_hb_TPut *put)
{
    const kw_hb_TColumnValue *last = &put->columnValues.items[put->columnValues.count - 1];
    int64_t now = kw_clock_wall_ms() + rows->clock_offset_ms;
    write_row(rows, put->row, last->value, put->has_timestamp ? put->timestamp : now, false);
}

static void delete (fake_rows *rows, const kw_hb_TDelete *tdelete)
{
    int64_t now = kw_clock_wall_ms() + rows->clock_offset_ms;
    write_row(rows, tdelete->row, KW_BYTES_NONE, tdelete->has_timestamp ? tdelete->timestamp : now, true);
}

/* The value is always 1; the timestamps increase as HBase's do. */
static void
answer_increment(fake_rows *rows, const kw_hb_TIncrement *increment, kw_arena *arena, void *result)
{
    int64_t now = kw_clock_wall_ms() + rows->clock_offset_ms;
    rows->incremented_ms = MAX(rows->incremented_ms + 1, now);
    kw_hb_TColumnValue *cell = KW_ARENA_NEW(arena, kw_hb_TColumnValue);
    *cell = (kw_hb_TColumnValue){.family = increment->columns.items[0].family,
                                 .qualifier = increment->columns.items[0].qualifier,
                                 .value = KW_BYTES_LITERAL("\0\0\0\0\0\0\0\1"),
                                 .has_timestamp = true,
                                 .timestamp = rows->incremented_ms};
    kw_hb_TResult *answer = KW_ARENA_NEW(arena, kw_hb_TResult);
    *answer = (kw_hb_TResult){.has_row = true, .row = increment->row};
    answer->columnValues.items = cell;
    answer->columnValues.count = 1;
    *(kw_hb_THBaseService_increment_result *)result =
        (kw_hb_THBaseService_increment_result){.has_success = true, .success = answer};
}

/* The heartbeat row has several cells: each is a fake row whose key is the qualifier. */
static void
put_cell(fake_rows *rows, const kw_hb_TPut *put)
{
    const kw_hb_TColumnValue *cell = &put->columnValues.items[0];
    write_row(rows, cell->qualifier, cell->value, kw_clock_wall_ms() + rows->clock_offset_ms, false);
}

static void
get_cells(const fake_rows *rows, const kw_hb_TGet *get, kw_arena *arena, void *result)
{
    kw_hb_TResult *answer = KW_ARENA_NEW(arena, kw_hb_TResult);
    kw_hb_TColumnValue *cells = KW_ARENA_ARRAY(arena, kw_hb_TColumnValue, rows->rows->len + 1);
    *answer = (kw_hb_TResult){.has_row = true, .row = get->row};
    answer->columnValues.items = cells;
    for (guint i = 0; i < rows->rows->len; i++) {
        const fake_row *row = rows->rows->pdata[i];
        if (row->timestamp == INT64_MIN)
            continue;
        cells[answer->columnValues.count++] =
            (kw_hb_TColumnValue){.family = KW_BYTES_LITERAL("t"),
                                 .qualifier = kw_arena_copy(arena, bytes_of(row->key)),
                                 .value = kw_arena_copy(arena, bytes_of(row->value)),
                                 .has_timestamp = true,
                                 .timestamp = rows->shifts ? row->timestamp + rows->lie_ms
                                              : rows->lies ? rows->lie_ms
                                                           : row->timestamp};
    }
    *(kw_hb_THBaseService_get_result *)result =
        (kw_hb_THBaseService_get_result){.has_success = true, .success = answer};
}

/* Deletes one version of a cell. */
static void
delete_cell(fake_rows *rows, const kw_hb_TDelete *tdelete)
{
    fake_row *row = find(rows, tdelete->columns.items[0].qualifier);
    if (row && row->timestamp == tdelete->columns.items[0].timestamp)
        row->timestamp = INT64_MIN; /* the next put replaces it */
}

const void *
fake_rows_answer_heartbeat(fake_rows *rows, kw_hb_method method, const void *args, kw_arena *arena)
{
    void *result = kw_arena_alloc0(arena, 512);
    if (method == KW_HB_THBaseService_put)
        put_cell(rows, ((const kw_hb_THBaseService_put_args *)args)->tput);
    else if (method == KW_HB_THBaseService_deleteSingle)
        delete_cell(rows, ((const kw_hb_THBaseService_deleteSingle_args *)args)->tdelete);
    else
        get_cells(rows, ((const kw_hb_THBaseService_get_args *)args)->tget, arena, result);
    return result;
}

/* Every table has the family of the fake rows. */
static void
answer_describe(const kw_hb_TTableName *name, kw_arena *arena, void *result)
{
    kw_hb_TColumnFamilyDescriptor *family = KW_ARENA_NEW(arena, kw_hb_TColumnFamilyDescriptor);
    *family = (kw_hb_TColumnFamilyDescriptor){.name = KW_BYTES_LITERAL("f")};
    kw_hb_TTableDescriptor *table = KW_ARENA_NEW(arena, kw_hb_TTableDescriptor);
    *table = (kw_hb_TTableDescriptor){.tableName = name, .has_columns = true};
    table->columns.items = family;
    table->columns.count = 1;
    *(kw_hb_THBaseService_getTableDescriptor_result *)result =
        (kw_hb_THBaseService_getTableDescriptor_result){.has_success = true, .success = table};
}

static void
fill(const fake_row *row, kw_arena *arena, kw_hb_TResult *ret_result)
{
    kw_hb_TColumnValue *cell = KW_ARENA_NEW(arena, kw_hb_TColumnValue);
    *cell = (kw_hb_TColumnValue){.family = KW_BYTES_LITERAL("f"),
                                 .qualifier = KW_BYTES_LITERAL("q"),
                                 .value = kw_arena_copy(arena, bytes_of(row->value)),
                                 .has_timestamp = true,
                                 .timestamp = row->timestamp};
    *ret_result = (kw_hb_TResult){.has_row = true, .row = kw_arena_copy(arena, bytes_of(row->key))};
    ret_result->columnValues.items = cell;
    ret_result->columnValues.count = 1;
}

static void
get(const fake_rows *rows, const kw_hb_TGet *get, kw_arena *arena, kw_hb_TResult *ret_result)
{
    const fake_row *row = find(rows, get->row);
    if (row && !row->deleted)
        fill(row, arena, ret_result);
}

static fake_scanner *
scanner_new(const kw_hb_TScan *scan)
{
    fake_scanner *scanner = g_new0(fake_scanner, 1);
    scanner->reversed = scan->has_reversed && scan->reversed;
    scanner->at = g_bytes_new(scan->startRow.data, scan->has_startRow ? scan->startRow.size : 0);
    scanner->stop = g_bytes_new(scan->stopRow.data, scan->has_stopRow ? scan->stopRow.size : 0);
    return scanner;
}

/* The next row in the scanner's direction, NULL at its end. */
static const fake_row *
next(const fake_rows *rows, const fake_scanner *scanner)
{
    kw_bytes at = bytes_of(scanner->at), stop = bytes_of(scanner->stop);
    bool from_top = scanner->reversed && at.size == 0;
    guint index = from_top ? rows->rows->len : position(rows, at);
    bool here =
        index < rows->rows->len && kw_bytes_equal(bytes_of(((fake_row *)rows->rows->pdata[index])->key), at);
    if (here && scanner->after && !scanner->reversed)
        index++;
    else if (scanner->reversed && !(here && !scanner->after))
        index--; /* below zero it wraps to a number that is out of range */
    for (; index < rows->rows->len; index += scanner->reversed ? -1U : 1U) {
        const fake_row *row = rows->rows->pdata[index];
        int order = kw_bytes_compare(bytes_of(row->key), stop);
        if (stop.size && (scanner->reversed ? order <= 0 : order >= 0))
            return NULL;
        if (!row->deleted)
            return row;
    }
    return NULL;
}

static uint32_t
scan(const fake_rows *rows, fake_scanner *scanner, int32_t count, kw_arena *arena,
     kw_hb_TResult **ret_results)
{
    kw_hb_TResult *results = KW_ARENA_ARRAY(arena, kw_hb_TResult, (size_t)count);
    uint32_t found = 0;
    const fake_row *row;
    while (found < (uint32_t)count && (row = next(rows, scanner))) {
        fill(row, arena, &results[found++]);
        g_bytes_unref(scanner->at);
        scanner->at = g_bytes_ref(row->key);
        scanner->after = true;
    }
    *ret_results = results;
    return found;
}

static void
answer_scan(fake_rows *rows, const kw_hb_THBaseService_getScannerResults_args *args, kw_arena *arena,
            kw_hb_THBaseService_getScannerResults_result *ret_result)
{
    fake_scanner *scanner = scanner_new(args->tscan);
    ret_result->has_success = true;
    ret_result->success.count = scan(rows, scanner, args->numRows, arena, &ret_result->success.items);
    scanner_free(scanner);
}

static void
answer_rows(fake_rows *rows, const kw_hb_THBaseService_getScannerRows_args *args, kw_arena *arena,
            kw_hb_THBaseService_getScannerRows_result *ret_result)
{
    guint id = (guint)(args->scannerId - rows->id_base);
    fake_scanner *scanner = id < rows->scanners->len ? rows->scanners->pdata[id] : NULL;
    if (scanner) {
        ret_result->has_success = true;
        ret_result->success.count = scan(rows, scanner, args->numRows, arena, &ret_result->success.items);
        return;
    }
    kw_hb_TIllegalArgument *bad = KW_ARENA_NEW(arena, kw_hb_TIllegalArgument);
    bad->has_message = true;
    bad->message = KW_BYTES_LITERAL("Invalid scanner Id");
    ret_result->has_ia = true;
    ret_result->ia = bad;
}

static void
close_scanner(fake_rows *rows, int32_t scanner_id)
{
    guint id = (guint)(scanner_id - rows->id_base);
    if (id >= rows->scanners->len || !rows->scanners->pdata[id])
        return;
    scanner_free(rows->scanners->pdata[id]);
    rows->scanners->pdata[id] = NULL;
    rows->open_scanners--;
}

static void
answer_get_multiple(fake_rows *rows, const kw_hb_THBaseService_getMultiple_args *args, kw_arena *arena,
                    kw_hb_THBaseService_getMultiple_result *ret_result)
{
    ret_result->has_success = true;
    ret_result->success.items = KW_ARENA_ARRAY(arena, kw_hb_TResult, args->tgets.count);
    ret_result->success.count = args->tgets.count;
    for (uint32_t i = 0; i < args->tgets.count; i++)
        get(rows, &args->tgets.items[i], arena, &ret_result->success.items[i]);
}

static void
answer_get(fake_rows *rows, const kw_hb_TGet *tget, kw_arena *arena,
           kw_hb_THBaseService_get_result *ret_result)
{
    kw_hb_TResult *row = KW_ARENA_NEW(arena, kw_hb_TResult);
    get(rows, tget, arena, row);
    ret_result->has_success = true;
    ret_result->success = row;
}

static void
answer_open(fake_rows *rows, const kw_hb_TScan *tscan, kw_hb_THBaseService_openScanner_result *ret_result)
{
    g_ptr_array_add(rows->scanners, scanner_new(tscan));
    rows->open_scanners++;
    ret_result->has_success = true;
    ret_result->success = rows->id_base + (int32_t)rows->scanners->len - 1;
}

/* The result lists the deletes that failed: none. */
static void
answer_delete_multiple(fake_rows *rows, const kw_hb_THBaseService_deleteMultiple_args *args,
                       kw_hb_THBaseService_deleteMultiple_result *ret_result)
{
    for (uint32_t i = 0; i < args->tdeletes.count; i++)
        delete (rows, &args->tdeletes.items[i]);
    ret_result->has_success = true;
}

static void
answer_regions(const fake_rows *rows, const kw_hb_THBaseService_getAllRegionLocations_args *args,
               kw_arena *arena, kw_hb_THBaseService_getAllRegionLocations_result *ret_result)
{
    guint count = rows->boundaries->len + 1;
    kw_hb_THRegionLocation *regions = KW_ARENA_ARRAY(arena, kw_hb_THRegionLocation, count);
    kw_hb_TServerName *server = KW_ARENA_NEW(arena, kw_hb_TServerName);
    *server = (kw_hb_TServerName){.hostName = KW_BYTES_LITERAL("127.0.0.1"), .has_port = true, .port = 16020};
    for (guint i = 0; i < count; i++) {
        kw_hb_THRegionInfo *info = KW_ARENA_NEW(arena, kw_hb_THRegionInfo);
        *info = (kw_hb_THRegionInfo){.regionId = (int64_t)i + 1,
                                     .tableName = kw_arena_copy(arena, args->table),
                                     .has_startKey = true,
                                     .has_endKey = true};
        if (i > 0)
            info->startKey = kw_arena_copy(arena, bytes_of(rows->boundaries->pdata[i - 1]));
        if (i + 1 < count)
            info->endKey = kw_arena_copy(arena, bytes_of(rows->boundaries->pdata[i]));
        regions[i] = (kw_hb_THRegionLocation){.serverName = server, .regionInfo = info};
    }
    ret_result->has_success = true;
    ret_result->success.items = regions;
    ret_result->success.count = count;
}

uint32_t
fake_rows_items(kw_hb_method method, const void *args)
{
    switch ((int)method) {
    case KW_HB_THBaseService_putMultiple:
        return ((const kw_hb_THBaseService_putMultiple_args *)args)->tputs.count;
    case KW_HB_THBaseService_deleteMultiple:
        return ((const kw_hb_THBaseService_deleteMultiple_args *)args)->tdeletes.count;
    case KW_HB_THBaseService_getMultiple:
        return ((const kw_hb_THBaseService_getMultiple_args *)args)->tgets.count;
    default:
        return 1;
    }
}

const void *
fake_rows_answer(fake_rows *rows, kw_hb_method method, const void *args, kw_arena *arena)
{
    void *result = kw_arena_alloc0(arena, 512); /* every result struct is smaller */
    switch ((int)method) {
    case KW_HB_THBaseService_getThriftServerType:
        *(kw_hb_THBaseService_getThriftServerType_result *)result =
            (kw_hb_THBaseService_getThriftServerType_result){.has_success = true,
                                                             .success = KW_HB_TThriftServerType_TWO};
        break;
    case KW_HB_THBaseService_put:
        put(rows, ((const kw_hb_THBaseService_put_args *)args)->tput);
        break;
    case KW_HB_THBaseService_putMultiple:
        for (uint32_t i = 0; i < ((const kw_hb_THBaseService_putMultiple_args *)args)->tputs.count; i++)
            put(rows, &((const kw_hb_THBaseService_putMultiple_args *)args)->tputs.items[i]);
        break;
    case KW_HB_THBaseService_deleteSingle:
        delete (rows, ((const kw_hb_THBaseService_deleteSingle_args *)args)->tdelete);
        break;
    case KW_HB_THBaseService_deleteMultiple:
        answer_delete_multiple(rows, args, result);
        break;
    case KW_HB_THBaseService_getAllRegionLocations:
        answer_regions(rows, args, arena, result);
        break;
    case KW_HB_THBaseService_get:
        answer_get(rows, ((const kw_hb_THBaseService_get_args *)args)->tget, arena, result);
        break;
    case KW_HB_THBaseService_getMultiple:
        answer_get_multiple(rows, args, arena, result);
        break;
    case KW_HB_THBaseService_increment:
        answer_increment(rows, ((const kw_hb_THBaseService_increment_args *)args)->tincrement, arena, result);
        break;
    case KW_HB_THBaseService_getTableDescriptor:
        answer_describe(((const kw_hb_THBaseService_getTableDescriptor_args *)args)->table, arena, result);
        break;
    case KW_HB_THBaseService_getScannerResults:
        answer_scan(rows, args, arena, result);
        break;
    case KW_HB_THBaseService_openScanner:
        answer_open(rows, ((const kw_hb_THBaseService_openScanner_args *)args)->tscan, result);
        break;
    case KW_HB_THBaseService_getScannerRows:
        answer_rows(rows, args, arena, result);
        break;
    case KW_HB_THBaseService_closeScanner:
        close_scanner(rows, ((const kw_hb_THBaseService_closeScanner_args *)args)->scannerId);
        break;
    default:
        break; /* an empty result; scripts can set another */
    }
    return result;
}
