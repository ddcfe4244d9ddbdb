#include "verb/page.h"

#include "base/guard.h"
#include "plan/pace.h"

#include <glib.h>

kw_page_limits
kw_page_limits_of(const kw_call *call, const kw_scan_request *request)
{
    const kw_model_limits *limits = &kw_policy_model(call->policy)->limits;
    uint64_t rows = (uint64_t)limits->page_rows, bytes = (uint64_t)kw_limits_page_bytes(limits);
    if (request->page_rows)
        rows = MIN(rows, request->page_rows);
    if (request->page_bytes)
        bytes = MIN(bytes, request->page_bytes);
    return (kw_page_limits){.rows = (uint32_t)CLAMP(rows, 1, UINT32_MAX),
                            .bytes = (size_t)MAX(bytes, 1),
                            .frame_bytes = (size_t)limits->frame_bytes};
}

/* --- planning -------------------------------------------------------------------------------------- */

typedef struct planning {
    const kw_record_query *query;
    kw_effort *effort;
    kw_arena *arena;
    const kw_plan **ret_plan;
    kw_error *ret_error;
    bool good;
} planning;

static void
make_plan(void *user)
{
    planning *what = user;
    what->good = kw_plan_make_within(what->query, what->effort, what->arena, what->ret_plan, what->ret_error);
}

/* There is no memory for the plan. */
static bool
refuse_plan(const kw_record_query *query, const kw_error *shortage, kw_error *ret_error)
{
    if (shortage->code == KW_LIMIT)
        return kw_error_set(ret_error, KW_LIMIT,
                            "table %s: the plan of the query needs more than %" G_GINT64_FORMAT
                            " bytes of memory, the most that one call can use (half of limits.memory without "
                            "the cache); query fewer values at once, or shorter ones",
                            query->table->name, kw_budget_call_share());
    *ret_error = *shortage;
    return false;
}

bool
kw_page_plan_within(const kw_call *call, const kw_scan_request *request, kw_effort *effort, kw_arena *arena,
                    const kw_plan **ret_plan, kw_error *ret_error)
{
    kw_record_query *query = KW_ARENA_NEW(arena, kw_record_query);
    kw_error shortage;
    *query = request->query;
    query->limit = request->limit;
    query->records_only = request->filter.size > 0;
    query->range_limit = (size_t)kw_policy_model(call->policy)->limits.ranges;
    planning what = {query, effort, arena, ret_plan, ret_error, false};
    if (!kw_guard_run(arena, make_plan, &what, &shortage))
        return refuse_plan(query, &shortage, ret_error);
    return what.good;
}

bool
kw_page_plan(const kw_call *call, const kw_scan_request *request, kw_arena *arena, const kw_plan **ret_plan,
             kw_error *ret_error)
{
    return kw_page_plan_within(call, request, NULL, arena, ret_plan, ret_error);
}

/* A layout as cursors store it. */
static void
encode_layout(const kw_layout *layout, uint8_t ret_bytes[KW_CURSOR_LAYOUT_SIZE])
{
    const char *digits = kw_layout_fingerprint(layout);
    g_assert(strlen(digits) >= 2 * KW_CURSOR_FINGERPRINT_SIZE);
    kw_be32_store(ret_bytes, kw_layout_number(layout));
    for (size_t i = 0; i < KW_CURSOR_FINGERPRINT_SIZE; i++)
        ret_bytes[4 + i] =
            (uint8_t)(g_ascii_xdigit_value(digits[2 * i]) << 4 | g_ascii_xdigit_value(digits[2 * i + 1]));
}

static kw_bytes
encode_layouts(const kw_plan *plan, kw_arena *arena)
{
    size_t size = plan->placements_count * KW_CURSOR_LAYOUT_SIZE;
    uint8_t *bytes = kw_arena_alloc(arena, size);
    for (size_t i = 0; i < plan->placements_count; i++)
        encode_layout(plan->placements[i]->layout, bytes + i * KW_CURSOR_LAYOUT_SIZE);
    return kw_bytes_of(bytes, size);
}

/* Encodes fields by name, because a later policy can list them in another order. */
static void
encode_picks(const kw_scan_request *request, kw_buffer *out)
{
    for (size_t i = 0; i < request->picks_count; i++) {
        kw_bytes name = kw_bytes_of_text(request->query.table->fields[request->picks[i].field].name);
        kw_bytes entry = request->picks[i].entry;
        size_t size = name.size + (entry.size ? 1 + entry.size : 0);
        g_assert(size <= UINT16_MAX);
        kw_be16_store(kw_buffer_reserve(out, 2), (uint16_t)size);
        out->size += 2;
        kw_buffer_append(out, name);
        if (entry.size)
            kw_buffer_append_byte(out, '.');
        kw_buffer_append(out, entry);
    }
}

/* The creation time of the next cursor. If new scans no longer read the placement of this scan, the next
 * cursor is as old as the one before. So all cursors of that placement have expired after a known time. */
static int64_t
created_ms_of(const kw_scan_request *request, const kw_plan *plan)
{
    bool is_old = plan->placements[0] != kw_path_scanned(plan->path);
    return is_old && request->created_ms > 0 ? request->created_ms : kw_clock_wall_ms();
}

/* In a cursor: start_ms, and the memory's hashes; numbers are big-endian. */
static kw_bytes
encode_hints(const kw_hint_query *hints, kw_arena *arena)
{
    size_t size = 8 * (1 + (size_t)hints->memory.count);
    uint8_t *bytes = kw_arena_alloc(arena, size);
    kw_be64_store(bytes, (uint64_t)hints->start_ms);
    for (size_t i = 0; i < hints->memory.count; i++)
        kw_be64_store(bytes + 8 * (1 + i), hints->memory.hashes[i]);
    return kw_bytes_of(bytes, size);
}

static bool
decode_hints(kw_bytes bytes, const kw_path *path, kw_hint_query *ret_hints, kw_error *ret_error)
{
    size_t numbers = bytes.size / 8;
    bool fits =
        path->content == KW_CONTENT_HINTS ? numbers >= 1 && numbers <= 1 + KW_HINT_MEMORY : bytes.size == 0;
    if (!fits || bytes.size % 8)
        return kw_error_set(ret_error, KW_INVALID, "cursor is damaged");
    *ret_hints = (kw_hint_query){.begun = numbers > 0};
    if (numbers == 0)
        return true;
    ret_hints->start_ms = (int64_t)kw_be64_load(bytes.data);
    for (size_t i = 1; i < numbers; i++)
        ret_hints->memory.hashes[ret_hints->memory.count++] = kw_be64_load(bytes.data + 8 * i);
    return true;
}

kw_bytes
kw_page_cursor(kw_call *call, const kw_scan_request *request, const kw_plan *plan, const kw_gathered *page,
               bool rest)
{
    g_assert(!request->limit || page->count < request->limit); /* 0 remaining records would mean no limit */
    static const kw_position at_the_start;
    g_auto(kw_buffer) query = KW_BUFFER_EMPTY, columns = KW_BUFFER_EMPTY, sealed = KW_BUFFER_EMPTY;
    kw_record_query asked = *plan->query;
    if (rest)
        asked.window = plan->rest;
    else if (!page->position.started)
        asked.window = kw_pace_again(plan);
    kw_record_query_encode(&asked, &query);
    encode_picks(request, &columns);
    kw_cursor cursor = {.table = kw_bytes_of_text(request->query.table->name),
                        .path = kw_bytes_of_text(plan->path->name),
                        .layouts = encode_layouts(plan, call->arena),
                        .caller = call->identity,
                        .created_ms = created_ms_of(request, plan),
                        .query = kw_buffer_bytes(&query),
                        .columns = kw_buffer_bytes(&columns),
                        .filter = request->filter,
                        .remaining = request->limit ? request->limit - page->count : 0,
                        .page_rows = request->page_rows,
                        .page_bytes = request->page_bytes,
                        .skip_undecodable = request->skip_undecodable,
                        .position = rest ? at_the_start : page->position};
    if (plan->path->content == KW_CONTENT_HINTS)
        cursor.hints = encode_hints(&request->hints, call->arena);
    kw_cursor_seal(call->keyring, &cursor, &sealed);
    return kw_arena_copy(call->arena, kw_buffer_bytes(&sealed));
}

/* --- opening --------------------------------------------------------------------------------------- */

static bool
find_path(kw_call *call, const kw_cursor *cursor, const kw_table **ret_table, int *ret_path,
          kw_error *ret_error)
{
    const kw_table *table = kw_policy_find_table(call->policy, cursor->table);
    if (!table)
        return kw_error_set(ret_error, KW_INVALID, "cursor is for table %s, which no longer exists",
                            kw_arena_text(call->arena, cursor->table));
    int path = kw_table_find_queried_path(table, cursor->path);
    if (path < 0)
        return kw_error_set(ret_error, KW_INVALID, "cursor is for path %s, which table %s no longer has",
                            kw_arena_text(call->arena, cursor->path), table->name);
    *ret_table = table;
    *ret_path = path;
    return true;
}

/* Reports why no complete placement of the path has the cursor's layout. */
static bool
refuse_layout(const kw_path *path, uint32_t number, kw_error *ret_error)
{
    const char *table = path->table->name;
    for (size_t i = 0; i < path->placements_count; i++)
        if (kw_layout_number(path->placements[i].layout) == number)
            return kw_error_set(
                ret_error, KW_INVALID,
                "cursor was made under another key rule of table %s, path %s; start the scan again", table,
                path->name);
    return kw_error_set(ret_error, KW_INVALID,
                        "cursor was made under layout %u of table %s, path %s, which has layout %u now; "
                        "start the scan again",
                        number, table, path->name, kw_layout_number(path->layout));
}

/* Finds the complete placement with the cursor's layout. A plan reads one placement of a path, so the cursor
 * has one layout. */
static bool
find_placement(const kw_cursor *cursor, const kw_path *path, const kw_placement **ret_placement,
               kw_error *ret_error)
{
    uint8_t bytes[KW_CURSOR_LAYOUT_SIZE];
    if (cursor->layouts.size != sizeof bytes)
        return kw_error_set(ret_error, KW_INVALID, "cursor is damaged");
    for (size_t i = 0; i < path->placements_count; i++) {
        encode_layout(path->placements[i].layout, bytes);
        *ret_placement = &path->placements[i];
        if (path->placements[i].complete && memcmp(bytes, cursor->layouts.data, sizeof bytes) == 0)
            return true;
    }
    return refuse_layout(path, kw_be32_load(cursor->layouts.data), ret_error);
}

static bool
decode_picks(kw_call *call, const kw_cursor *cursor, const kw_table *table, kw_scan_request *request,
             kw_error *ret_error)
{
    kw_bytes rest = cursor->columns;
    kw_pick *picks = KW_ARENA_ARRAY(call->arena, kw_pick, rest.size / 2);
    size_t count = 0;
    while (rest.size) {
        size_t size = rest.size < 2 ? SIZE_MAX - 2 : kw_be16_load(rest.data);
        if (size + 2 > rest.size ||
            !kw_table_find_pick(table, kw_bytes_of(rest.data + 2, size), &picks[count++]))
            return kw_error_set(ret_error, KW_INVALID, "cursor names a field that table %s no longer has",
                                table->name);
        rest = kw_bytes_skip(rest, size + 2);
    }
    request->picks = picks;
    request->picks_count = count;
    return true;
}

bool
kw_page_open_cursor(kw_call *call, kw_bytes sealed, kw_scan_request *ret_request, kw_position *ret_position,
                    kw_error *ret_error)
{
    kw_cursor cursor;
    const kw_table *table = NULL;
    const kw_placement *placement = NULL;
    int path = 0;
    int64_t expiry_ms = kw_policy_model(call->policy)->cursor.expiry_ms;
    if (!kw_cursor_open(call->keyring, sealed, kw_clock_wall_ms(), expiry_ms, &cursor, ret_error))
        return false;
    if (!kw_bytes_equal(cursor.caller, call->identity))
        return kw_error_set(ret_error, KW_INVALID, "cursor was issued to another caller");
    if (!find_path(call, &cursor, &table, &path, ret_error) ||
        !find_placement(&cursor, &table->paths[path], &placement, ret_error))
        return false;
    kw_scan_request request = {.created_ms = cursor.created_ms,
                               .filter = cursor.filter,
                               .limit = cursor.remaining,
                               .page_rows = cursor.page_rows,
                               .page_bytes = cursor.page_bytes,
                               .skip_undecodable = cursor.skip_undecodable};
    size_t used;
    if (!kw_record_query_decode(table, cursor.query, call->arena, &request.query, &used, ret_error))
        return kw_error_prefix(ret_error, "cursor");
    if (used != cursor.query.size)
        return kw_error_set(ret_error, KW_INVALID, "cursor has extra bytes after its query");
    if (!decode_picks(call, &cursor, table, &request, ret_error) ||
        !decode_hints(cursor.hints, &table->paths[path], &request.hints, ret_error))
        return false;
    request.query.path = path;
    request.query.placement = placement;
    *ret_request = request;
    *ret_position = cursor.position;
    return true;
}
