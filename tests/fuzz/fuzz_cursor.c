/* Cursors from untrusted callers: as received (rejected unless signed); with a body that the target signs
 * (tests the parser after the signature, and everything that a verb does with it); and the query in the body
 * alone. */
#include "fuzz/fuzz_cursor.h"

#include "gather/bounds.h"
#include "verb/page.h"

#include <openssl/hmac.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static kw_keyring *
keyring(void)
{
    static kw_keyring *made;
    kw_bytes key = FUZZ_CURSOR_KEY;
    if (!made)
        made = kw_keyring_new(&key, 1);
    return made;
}

static volatile uint8_t seen;

/* Reads every byte. */
static void
touch(kw_bytes bytes)
{
    for (size_t i = 0; i < bytes.size; i++)
        seen ^= bytes.data[i];
}

static void
touch_value(kw_value value)
{
    if (value.kind == KW_VALUE_TEXT || value.kind == KW_VALUE_BYTES)
        touch(value.bytes);
}

/* Encoding and decoding a decoded query changes nothing. The query can be planned, or it is rejected. */
static void
check_query(const kw_record_query *query, kw_arena *arena)
{
    for (size_t field = 0; field < query->table->fields_count; field++)
        for (size_t i = 0; i < query->bounds[field].count; i++)
            touch_value(query->bounds[field].values[i]);
    touch_value(query->from);
    touch_value(query->to);
    kw_buffer first = KW_BUFFER_EMPTY, second = KW_BUFFER_EMPTY;
    kw_record_query again;
    size_t used;
    kw_error error;
    kw_record_query_encode(query, &first);
    bool good = kw_record_query_decode(query->table, kw_buffer_bytes(&first), arena, &again, &used, &error);
    g_assert(good && used == first.size);
    kw_record_query_encode(&again, &second);
    g_assert(kw_bytes_equal(kw_buffer_bytes(&first), kw_buffer_bytes(&second)));
    kw_buffer_clear(&first);
    kw_buffer_clear(&second);
    kw_record_query bounded = *query;
    const kw_plan *plan;
    bounded.planned = false;
    bounded.range_limit = 1000;
    bounded.window.limit = MIN(bounded.window.limit, 1000);
    if (kw_plan_make(&bounded, arena, &plan, &error))
        g_assert(plan->ranges_count <= 1000);
    else
        g_assert(error.code == KW_INVALID || error.code == KW_LIMIT);
}

static void
open_query(kw_bytes bytes)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    kw_record_query query;
    size_t used;
    kw_error error;
    if (kw_record_query_decode(kw_policy_table(fuzz_cursor_policy(), 0), bytes, arena, &query, &used,
                               &error)) {
        g_assert(used <= bytes.size);
        check_query(&query, arena);
    } else {
        g_assert(error.code == KW_INVALID);
    }
}

/* Continues the scan as kw_verb_next does, for the caller named in the cursor. */
static void
continue_scan(kw_bytes sealed, const kw_cursor *cursor)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    kw_call call = {
        .arena = arena, .policy = fuzz_cursor_policy(), .keyring = keyring(), .identity = cursor->caller};
    kw_scan_request request;
    kw_position position;
    const kw_plan *plan;
    kw_error error;
    if (!kw_page_open_cursor(&call, sealed, &request, &position, &error)) {
        g_assert(error.code == KW_INVALID);
        return;
    }
    check_query(&request.query, arena);
    for (size_t i = 0; i < request.picks_count; i++)
        g_assert(request.picks[i].field < request.query.table->fields_count);
    if (!kw_page_plan(&call, &request, arena, &plan, &error) || !kw_position_fits(plan, &position))
        return;
    for (uint32_t i = 0; i < plan->ranges_count && i < 100; i++) {
        kw_bytes start, stop;
        if (!kw_range_left(plan, i, &position, arena, &start, &stop))
            continue;
        g_assert(start.size <= KW_STORE_ROW_KEY_MAX && stop.size <= KW_STORE_ROW_KEY_MAX);
        g_assert(stop.size == 0 || kw_bytes_compare(start, stop) < 0);
    }
}

static bool
open_sealed(kw_bytes sealed)
{
    kw_cursor cursor;
    kw_error error;
    if (!kw_cursor_open(keyring(), sealed, 0, INT64_MAX, &cursor, &error)) {
        g_assert(error.code == KW_INVALID);
        return false;
    }
    const kw_bytes parts[] = {cursor.table, cursor.path,    cursor.layouts, cursor.caller,
                              cursor.query, cursor.columns, cursor.filter,  cursor.position.suffix};
    for (size_t i = 0; i < G_N_ELEMENTS(parts); i++)
        touch(parts[i]);
    continue_scan(sealed, &cursor);
    return true;
}

static void
open_body(kw_bytes body)
{
    kw_buffer signed_text = KW_BUFFER_EMPTY, sealed = KW_BUFFER_EMPTY;
    uint8_t mac[FUZZ_CURSOR_MAC];
    unsigned mac_size = 0;
    kw_buffer_append_text(&signed_text, "keyway cursor");
    kw_buffer_append(&signed_text, body);
    HMAC(EVP_sha256(), FUZZ_CURSOR_KEY.data, (int)FUZZ_CURSOR_KEY.size, signed_text.data, signed_text.size,
         mac, &mac_size);
    g_assert(mac_size == FUZZ_CURSOR_MAC);
    kw_buffer_append(&sealed, body);
    kw_buffer_append(&sealed, kw_bytes_of(mac, mac_size));
    open_sealed(kw_buffer_bytes(&sealed));
    kw_buffer_clear(&signed_text);
    kw_buffer_clear(&sealed);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    kw_bytes rest = kw_bytes_of(data + 1, size - 1);
    switch (data[0] % FUZZ_CURSOR_KINDS) {
    case FUZZ_CURSOR_SEALED:
        open_sealed(rest);
        break;
    case FUZZ_CURSOR_BODY:
        open_body(rest);
        break;
    default:
        open_query(rest);
    }
    return 0;
}
