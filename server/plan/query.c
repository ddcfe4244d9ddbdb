/* Encodes queries for cursors. Fields and paths are encoded by name, so that an older cursor either keeps its
 * meaning or is rejected.
 *
 *   version 1 | path | flags | [range field, from, to] | [window] | [widening] | count, { field, count, value ... } ...
 *
 * A window is its limit, least and most, 8 bytes each. A widening is the form of a window that is not exact
 * (one byte), and widened_for (8 bytes). Version and flags have one byte each. Counts and lengths are
 * unsigned LEB128, texts have their length before them. A value begins with its kind (one byte); a number or
 * double has 8 bytes.
 */
#include "plan/plan.h"

#include "rule/component.h"

#define VERSION 1

enum {
    FLAG_ORDER = 3, /* two bits */
    FLAG_FROM_INCLUSIVE = 4,
    FLAG_TO_INCLUSIVE = 8,
    FLAG_FULL_SCAN = 16,
    FLAG_RANGE = 32,
    FLAG_WINDOW = 64,
    FLAG_WIDENING = 128
};

/* --- writing --------------------------------------------------------------------------------------- */

static void
put_number(kw_buffer *out, uint64_t number)
{
    for (; number >= 0x80; number >>= 7)
        kw_buffer_append_byte(out, (uint8_t)(number | 0x80));
    kw_buffer_append_byte(out, (uint8_t)number);
}

static void
put_bytes(kw_buffer *out, kw_bytes bytes)
{
    put_number(out, bytes.size);
    kw_buffer_append(out, bytes);
}

static void
put_be64(kw_buffer *out, uint64_t bits)
{
    kw_be64_store(kw_buffer_reserve(out, 8), bits);
    out->size += 8;
}

static void
put_value(kw_buffer *out, kw_value value)
{
    uint64_t bits;
    kw_buffer_append_byte(out, (uint8_t)value.kind);
    switch (value.kind) {
    case KW_VALUE_NONE:
        return;
    case KW_VALUE_FLAG:
        kw_buffer_append_byte(out, value.flag);
        return;
    case KW_VALUE_NUMBER:
        put_be64(out, (uint64_t)value.number);
        return;
    case KW_VALUE_REAL:
        memcpy(&bits, &value.real, sizeof bits);
        put_be64(out, bits);
        return;
    case KW_VALUE_TEXT:
    case KW_VALUE_BYTES:
        put_bytes(out, value.bytes);
        return;
    case KW_VALUE_MAP:
        break; /* queries have no conditions on maps */
    }
    g_assert_not_reached();
}

/* A query without a window is planned as a whole. */
static kw_window_form
form_of(const kw_record_query *query)
{
    return query->window.limit > 0 ? query->window.form : KW_WINDOW_EXACT;
}

static uint8_t
flags_of(const kw_record_query *query)
{
    unsigned flags = (unsigned)query->order;
    flags |= query->from_inclusive ? FLAG_FROM_INCLUSIVE : 0;
    flags |= query->to_inclusive ? FLAG_TO_INCLUSIVE : 0;
    flags |= query->full_scan || query->limit > 0 ? FLAG_FULL_SCAN : 0;
    flags |= query->range_field >= 0 ? FLAG_RANGE : 0;
    flags |= query->window.limit > 0 ? FLAG_WINDOW : 0;
    flags |= form_of(query) != KW_WINDOW_EXACT || query->widened_for > 0 ? FLAG_WIDENING : 0;
    return (uint8_t)flags;
}

void
kw_record_query_encode(const kw_record_query *query, kw_buffer *out)
{
    g_assert(query->range_field < (int)query->table->fields_count);
    g_assert(query->path < (int)query->table->queried_paths_count);
    const kw_table *table = query->table;
    kw_buffer_append_byte(out, VERSION);
    put_bytes(out, kw_bytes_of_text(query->path < 0 ? "" : table->paths[query->path].name));
    kw_buffer_append_byte(out, flags_of(query));
    if (query->range_field >= 0) {
        put_bytes(out, kw_bytes_of_text(table->fields[query->range_field].name));
        put_value(out, query->from);
        put_value(out, query->to);
    }
    if (query->window.limit > 0) {
        put_be64(out, query->window.limit);
        put_be64(out, (uint64_t)query->window.least);
        put_be64(out, (uint64_t)query->window.most);
    }
    if (flags_of(query) & FLAG_WIDENING) {
        kw_buffer_append_byte(out, (uint8_t)form_of(query));
        put_be64(out, query->widened_for);
    }
    size_t bounds = 0;
    for (size_t field = 0; field < table->fields_count; field++)
        bounds += query->bounds[field].count > 0;
    put_number(out, bounds);
    for (size_t field = 0; field < table->fields_count; field++) {
        const kw_bound *bound = &query->bounds[field];
        if (bound->count == 0)
            continue;
        put_bytes(out, kw_bytes_of_text(table->fields[field].name));
        put_number(out, bound->count);
        for (size_t index = 0; index < bound->count; index++)
            put_value(out, bound->values[index]);
    }
}

/* --- reading --------------------------------------------------------------------------------------- */

typedef struct kw_reading {
    const kw_table *table;
    kw_bytes left;
    kw_arena *arena;
    kw_error *error;
} kw_reading;

static bool
malformed(kw_reading *reading)
{
    return kw_error_set(reading->error, KW_INVALID, "the query of the cursor is malformed");
}

static bool
take_byte(kw_reading *reading, uint8_t *ret_byte)
{
    if (reading->left.size == 0)
        return malformed(reading);
    *ret_byte = reading->left.data[0];
    reading->left = kw_bytes_skip(reading->left, 1);
    return true;
}

/* Reads a count or length, which cannot exceed the number of bytes left. */
static bool
take_count(kw_reading *reading, size_t *ret_count)
{
    uint64_t number = 0;
    uint8_t byte = 0x80;
    for (unsigned shift = 0; byte & 0x80; shift += 7) {
        if (shift > 28 || !take_byte(reading, &byte))
            return malformed(reading);
        number |= (uint64_t)(byte & 0x7f) << shift;
    }
    if (number > reading->left.size)
        return malformed(reading);
    *ret_count = (size_t)number;
    return true;
}

static bool
take_bytes(kw_reading *reading, kw_bytes *ret_bytes)
{
    size_t size;
    if (!take_count(reading, &size))
        return false;
    *ret_bytes = kw_bytes_of(reading->left.data, size);
    reading->left = kw_bytes_skip(reading->left, size);
    return true;
}

static bool
take_be64(kw_reading *reading, uint64_t *ret_bits)
{
    if (reading->left.size < 8)
        return malformed(reading);
    *ret_bits = kw_be64_load(reading->left.data);
    reading->left = kw_bytes_skip(reading->left, 8);
    return true;
}

static bool
take_value(kw_reading *reading, kw_value *ret_value)
{
    uint8_t kind = 0, flag = 0;
    uint64_t bits = 0;
    bool good = false;
    if (!take_byte(reading, &kind) || kind > KW_VALUE_BYTES)
        return malformed(reading);
    kw_value value = {.kind = (kw_value_kind)kind};
    switch (value.kind) {
    case KW_VALUE_NONE:
        good = true;
        break;
    case KW_VALUE_FLAG:
        good = take_byte(reading, &flag) && flag <= 1;
        value.flag = flag == 1;
        break;
    case KW_VALUE_NUMBER:
        good = take_be64(reading, &bits);
        value.number = (int64_t)bits;
        break;
    case KW_VALUE_REAL:
        good = take_be64(reading, &bits);
        memcpy(&value.real, &bits, sizeof bits);
        break;
    case KW_VALUE_TEXT:
    case KW_VALUE_BYTES:
        good = take_bytes(reading, &value.bytes);
        break;
    case KW_VALUE_MAP:
        break;
    }
    *ret_value = value;
    return good || malformed(reading);
}

static bool
take_field(kw_reading *reading, size_t *ret_field)
{
    kw_bytes name;
    if (!take_bytes(reading, &name))
        return false;
    int field = kw_table_find_field(reading->table, name);
    if (field < 0)
        return kw_error_set(reading->error, KW_INVALID,
                            "the query names field %.*s, which table %s does not have", (int)name.size,
                            (const char *)name.data, reading->table->name);
    *ret_field = (size_t)field;
    return true;
}

static bool
check_end(kw_reading *reading, size_t field, kw_value end)
{
    kw_value_kind wanted = kw_field_value_kind(reading->table->fields[field].type);
    bool good = end.kind == KW_VALUE_NONE || end.kind == wanted ||
                (wanted == KW_VALUE_REAL && end.kind == KW_VALUE_NUMBER);
    return good || malformed(reading);
}

static bool
take_range(kw_reading *reading, kw_record_query *query)
{
    size_t field;
    if (!take_field(reading, &field) || !take_value(reading, &query->from) ||
        !take_value(reading, &query->to) || !check_end(reading, field, query->from) ||
        !check_end(reading, field, query->to))
        return false;
    query->range_field = (int)field;
    return true;
}

/* Windows need a timestamp field with a range. */
static bool
take_window(kw_reading *reading, kw_record_query *query)
{
    uint64_t limit = 0, least = 0, most = 0;
    if (!take_be64(reading, &limit) || !take_be64(reading, &least) || !take_be64(reading, &most))
        return false;
    bool timed =
        query->range_field >= 0 && reading->table->fields[query->range_field].type == KW_FIELD_TIMESTAMP;
    if (!timed || limit == 0 || limit > KW_PLAN_RANGES_MAX || (int64_t)least > (int64_t)most)
        return malformed(reading);
    query->window = (kw_window){(size_t)limit, (int64_t)least, (int64_t)most, KW_WINDOW_EXACT};
    return true;
}

static bool
take_widening(kw_reading *reading, kw_record_query *query)
{
    uint8_t form = 0;
    uint64_t widened_for = 0;
    if (!take_byte(reading, &form) || !take_be64(reading, &widened_for))
        return false;
    bool good = form <= KW_WINDOW_OPEN && (form == KW_WINDOW_EXACT || query->window.limit > 0) &&
                widened_for <= KW_PLAN_RANGES_MAX && (form != KW_WINDOW_EXACT || widened_for > 0);
    query->window.form = (kw_window_form)form;
    query->widened_for = (size_t)widened_for;
    return good || malformed(reading);
}

static bool
take_bound(kw_reading *reading, kw_bound *bounds)
{
    size_t field, count;
    if (!take_field(reading, &field) || !take_count(reading, &count))
        return false;
    if (count == 0 || bounds[field].count > 0)
        return malformed(reading);
    kw_value *values = KW_ARENA_ARRAY(reading->arena, kw_value, count);
    for (size_t index = 0; index < count; index++) {
        if (!take_value(reading, &values[index]) ||
            !kw_table_check_value(reading->table, field, values[index], reading->error))
            return false;
    }
    bounds[field] = (kw_bound){.values = values, .count = count};
    return true;
}

static bool
take_head(kw_reading *reading, kw_record_query *query, uint8_t *ret_flags)
{
    uint8_t version = 0;
    kw_bytes path;
    if (!take_byte(reading, &version) || version != VERSION || !take_bytes(reading, &path) ||
        !take_byte(reading, ret_flags) || (*ret_flags & FLAG_ORDER) > KW_ORDER_DESCENDING)
        return malformed(reading);
    if (path.size == 0)
        return true;
    query->path = kw_table_find_queried_path(reading->table, path);
    return query->path >= 0 ||
           kw_error_set(reading->error, KW_INVALID, "the query names path %.*s, which table %s does not have",
                        (int)path.size, (const char *)path.data, reading->table->name);
}

bool
kw_record_query_decode(const kw_table *table, kw_bytes bytes, kw_arena *arena, kw_record_query *ret_query,
                       size_t *ret_used, kw_error *ret_error)
{
    kw_reading reading = {.table = table, .left = bytes, .arena = arena, .error = ret_error};
    kw_bound *bounds = KW_ARENA_ARRAY(arena, kw_bound, table->fields_count);
    kw_record_query query = {
        .table = table, .path = -1, .bounds = bounds, .range_field = -1, .planned = true};
    uint8_t flags = 0;
    size_t count;
    if (!take_head(&reading, &query, &flags))
        return false;
    query.order = (kw_order)(flags & FLAG_ORDER);
    query.from_inclusive = flags & FLAG_FROM_INCLUSIVE;
    query.to_inclusive = flags & FLAG_TO_INCLUSIVE;
    query.full_scan = flags & FLAG_FULL_SCAN;
    if (flags & FLAG_RANGE && !take_range(&reading, &query))
        return false;
    if (flags & FLAG_WINDOW && !take_window(&reading, &query))
        return false;
    if (flags & FLAG_WIDENING && !take_widening(&reading, &query))
        return false;
    if (!take_count(&reading, &count))
        return false;
    for (; count > 0; count--) {
        if (!take_bound(&reading, bounds))
            return false;
    }
    *ret_query = query;
    *ret_used = bytes.size - reading.left.size;
    return true;
}
