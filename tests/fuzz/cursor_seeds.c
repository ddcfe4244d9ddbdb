/* Writes the seeds of fuzz_cursor: cursor_seeds FOLDER. Scans of the built-in table, each as a sealed cursor,
 * as the body of the cursor, and as the query in it. */
#include "fuzz/fuzz_cursor.h"

#include "verb/page.h"

#include <stdio.h>
#include <stdlib.h>

static const char *folder;
static unsigned written;

static void
write_seed(uint8_t kind, kw_bytes bytes)
{
    g_autofree char *path = g_strdup_printf("%s/%03u", folder, written++);
    g_autoptr(GError) error = NULL;
    kw_buffer out = KW_BUFFER_EMPTY;
    kw_buffer_append_byte(&out, kind);
    kw_buffer_append(&out, bytes);
    if (!g_file_set_contents(path, (const char *)out.data, (gssize)out.size, &error)) {
        fprintf(stderr, "%s\n", error->message);
        exit(1);
    }
    kw_buffer_clear(&out);
}

static void
write_seeds(kw_scan_request request, uint32_t range)
{
    static const kw_pick picks[] = {{.field = 2}, {.field = 4}};
    kw_bytes key = FUZZ_CURSOR_KEY;
    g_autoptr(kw_arena) arena = kw_arena_new();
    kw_call call = {.arena = arena, .policy = fuzz_cursor_policy(), .keyring = kw_keyring_new(&key, 1)};
    const kw_plan *plan;
    kw_error error;
    request.picks = picks;
    request.picks_count = range % 3;
    request.page_rows = 10;
    if (!kw_page_plan(&call, &request, arena, &plan, &error)) {
        fprintf(stderr, "%s\n", error.text);
        exit(1);
    }
    kw_gathered page = {.count = 10,
                        .position = {.started = true,
                                     .group = plan->ranges[range].group,
                                     .range = range,
                                     .suffix = KW_BYTES_LITERAL("\x80\x01\x02\x03\x04\x05\x06\x07order")}};
    kw_bytes sealed = kw_page_cursor(&call, &request, plan, &page, false);
    write_seed(FUZZ_CURSOR_SEALED, sealed);
    write_seed(FUZZ_CURSOR_BODY, kw_bytes_of(sealed.data, sealed.size - FUZZ_CURSOR_MAC));
    kw_buffer query = KW_BUFFER_EMPTY;
    kw_record_query_encode(plan->query, &query);
    write_seed(FUZZ_CURSOR_QUERY, kw_buffer_bytes(&query));
    kw_buffer_clear(&query);
    kw_keyring_unref(call.keyring);
}

int
main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: cursor_seeds FOLDER\n");
        return 2;
    }
    folder = argv[1];
    const kw_table *table = kw_policy_table(fuzz_cursor_policy(), 0);
    kw_value orders[] = {{.kind = KW_VALUE_TEXT, .bytes = KW_BYTES_LITERAL("A1")},
                         {.kind = KW_VALUE_TEXT, .bytes = KW_BYTES_LITERAL("A2")}};
    kw_bound bounds[8] = {{0}};
    kw_scan_request request = {
        .query = {.table = table, .path = 1, .bounds = bounds, .range_field = -1, .full_scan = true}};
    write_seeds(request, 7);
    request.query.range_field = 1;
    request.query.from = (kw_value){.kind = KW_VALUE_NUMBER, .number = 1000};
    request.query.to = (kw_value){.kind = KW_VALUE_NUMBER, .number = 2000};
    request.query.from_inclusive = true;
    request.query.order = KW_ORDER_DESCENDING;
    request.filter = KW_BYTES_LITERAL("PrefixFilter('a')");
    request.limit = 100;
    write_seeds(request, 4);
    request.query.path = 0;
    bounds[0] = (kw_bound){.values = orders, .count = 2};
    write_seeds(request, 0);
    kw_policy_unref(fuzz_cursor_policy());
    return 0;
}
