/* libkeyway against the gateway of fake_gateway.py, whose address test_library.py passes in KW_TEST_GATEWAY
 * (KW_TEST_FORM: framed and compact). The gateway at KW_TEST_CLOSING closes every connection after a reply.
 */
#include "keyway.h"

#include "support/black_hole.h"

#include <malloc.h>
#include <netdb.h>
#include <string.h>

#define TABLE "order_events"

static kw_client *
open_client(const char *variable)
{
    const char *form = g_getenv("KW_TEST_FORM");
    const kw_client_options options = {.framed = strstr(form, "framed") != NULL,
                                       .compact = strstr(form, "compact") != NULL};
    g_autoptr(GError) error = NULL;
    kw_client *client = kw_client_open(g_getenv(variable), &options, &error);

    g_assert_no_error(error);
    return client;
}

static kw_record *
event(const char *order_id, gint64 ts, const char *status)
{
    kw_record *record = kw_record_new();

    kw_record_set(record, "order_id", kw_text(order_id));
    kw_record_set(record, "ts", kw_number(ts));
    if (status != NULL)
        kw_record_set(record, "status", kw_text(status));
    return record;
}

static void
put(kw_client *client, const char *order_id, gint64 ts, const char *status)
{
    g_autoptr(kw_record) record = event(order_id, ts, status);
    g_autoptr(GError) error = NULL;

    kw_client_put(client, TABLE, record, NULL, NULL, &error);
    g_assert_no_error(error);
}

static void
test_record(void)
{
    g_autoptr(kw_record) record = kw_record_new();
    g_autofree const char **fields = NULL;

    kw_record_set(record, "b", kw_flag(true));
    kw_record_set(record, "a", kw_number(G_MININT64));
    kw_record_set(record, "c", kw_bytes_of("x\0y", 3));
    kw_record_set(record, "d", kw_real(0.1));
    kw_record_set(record, "b", kw_text("again"));
    kw_record_set(record, "d", (kw_value){.kind = KW_VALUE_NONE});
    fields = kw_record_fields(record);
    g_assert_cmpuint(kw_record_size(record), ==, 3);
    g_assert_cmpstr(fields[0], ==, "a");
    g_assert_cmpstr(fields[2], ==, "c");
    g_assert_null(fields[3]);
    g_assert_cmpstr(kw_record_get(record, "b").text, ==, "again");
    g_assert_cmpint(kw_record_get(record, "a").number, ==, G_MININT64);
    g_assert_cmpuint(kw_record_get(record, "c").bytes.size, ==, 3);
    g_assert_true(memcmp(kw_record_get(record, "c").bytes.data, "x\0y", 3) == 0);
    g_assert_cmpint(kw_record_get(record, "d").kind, ==, KW_VALUE_NONE);
}

static void
test_points(void)
{
    g_autoptr(kw_client) client = open_client("KW_TEST_GATEWAY");
    g_autoptr(GPtrArray) keys = g_ptr_array_new_with_free_func((GDestroyNotify)kw_record_unref);
    g_autoptr(GPtrArray) found = NULL;
    g_autoptr(kw_record) record = NULL;
    g_autoptr(kw_record) generated = NULL;
    g_autoptr(GError) error = NULL;
    const char *const columns[] = {"status", NULL};

    put(client, "P", 1, "new");
    g_ptr_array_add(keys, event("P", 1, "makes"));
    g_ptr_array_add(keys, event("none", 1, NULL));
    g_assert_true(kw_client_get(client, TABLE, keys->pdata[0], columns, NULL, &record, &error));
    g_assert_cmpstr(kw_record_get(record, "status").text, ==, "new");
    g_clear_pointer(&record, kw_record_unref);
    g_assert_true(kw_client_get(client, TABLE, keys->pdata[1], NULL, NULL, &record, &error));
    g_assert_null(record);
    g_assert_true(kw_client_get_many(client, TABLE, keys, NULL, NULL, &found, &error));
    g_assert_nonnull(((kw_found *)found->pdata[0])->record);
    g_assert_null(((kw_found *)found->pdata[1])->record);
    g_assert_true(kw_client_put(client, TABLE, keys->pdata[0], NULL, &generated, &error));
    g_assert_cmpint(kw_record_get(generated, "visits").number, ==, 7);
    g_assert_true(kw_client_remove(client, TABLE, keys->pdata[0], NULL, NULL, &error));
    g_assert_true(kw_client_get(client, TABLE, keys->pdata[0], NULL, NULL, &record, &error));
    g_assert_null(record);
}

static void
test_many(void)
{
    g_autoptr(kw_client) client = open_client("KW_TEST_GATEWAY");
    g_autoptr(GPtrArray) records = g_ptr_array_new_with_free_func((GDestroyNotify)kw_record_unref);
    g_autoptr(GPtrArray) written = NULL;
    g_autoptr(GPtrArray) removed = NULL;
    g_autoptr(GError) error = NULL;
    const GError *failure;

    g_ptr_array_add(records, event("M", 1, "new"));
    g_ptr_array_add(records, event("M", 2, "unknown"));
    g_ptr_array_add(records, event("M", 3, "busy"));
    g_assert_true(kw_client_put_many(client, TABLE, records, NULL, &written, &error));
    g_assert_cmpuint(written->len, ==, 3);
    g_assert_null(((kw_written *)written->pdata[0])->failure);
    failure = ((kw_written *)written->pdata[1])->failure;
    g_assert_error(failure, KW_CLIENT_ERROR, KW_CLIENT_TIMEOUT);
    g_assert_true(kw_client_error_maybe_applied(failure));
    failure = ((kw_written *)written->pdata[2])->failure;
    g_assert_error(failure, KW_CLIENT_ERROR, KW_CLIENT_BUSY);
    g_assert_false(kw_client_error_maybe_applied(failure));
    g_assert_cmpint(kw_client_error_retry_after_ms(failure), ==, 5);
    g_ptr_array_set_size(records, 1);
    g_assert_true(kw_client_remove_many(client, TABLE, records, NULL, NULL, &removed, &error));
    g_assert_cmpuint(removed->len, ==, 1);
}

static void
test_conditions(void)
{
    g_autoptr(kw_client) client = open_client("KW_TEST_GATEWAY");
    g_autoptr(kw_record) key = event("C", 1, NULL);
    g_autoptr(kw_record) amounts = kw_record_new();
    g_autoptr(kw_record) values = NULL;
    g_autoptr(GError) error = NULL;
    const kw_condition absent = {.field = "status", .compare = KW_COMPARE_EQUAL};
    const kw_condition is_new = {.field = "status", .compare = KW_COMPARE_EQUAL, .value = kw_text("new")};
    g_autoptr(kw_record) record = event("C", 1, "new");
    g_autoptr(kw_record) with_generated = event("C", 1, "makes");
    g_autoptr(kw_record) generated = NULL;
    bool done = false;
    gint64 first = 0, count = 0;

    g_assert_true(kw_client_put_if(client, TABLE, record, &absent, NULL, &done, &error));
    g_assert_true(done);
    g_assert_true(kw_client_put_if(client, TABLE, record, &absent, NULL, &done, &error));
    g_assert_false(done);
    g_assert_true(kw_client_put_if(client, TABLE, record, &is_new, NULL, &done, &error));
    g_assert_true(done);
    g_assert_true(
        kw_client_compare_and_put(client, TABLE, with_generated, &absent, NULL, &done, &generated, &error));
    g_assert_false(done);
    g_assert_null(generated);
    g_assert_true(kw_client_compare_and_put(client, TABLE, record, &is_new, NULL, &done, &generated, &error));
    g_assert_true(done);
    g_assert_null(generated);
    g_assert_true(
        kw_client_compare_and_put(client, TABLE, with_generated, &is_new, NULL, &done, &generated, &error));
    g_assert_true(done);
    g_assert_cmpint(kw_record_get(generated, "visits").number, ==, 7);
    g_assert_true(
        kw_client_compare_and_put(client, TABLE, with_generated, &is_new, NULL, &done, NULL, &error));
    g_assert_false(done);
    kw_record_set(amounts, "visits", kw_number(-4));
    g_assert_true(kw_client_increment(client, TABLE, key, amounts, NULL, &values, &error));
    g_assert_cmpint(kw_record_get(values, "visits").number, ==, -4);
    kw_record_set(amounts, "visits", kw_text("4"));
    g_assert_false(kw_client_increment(client, TABLE, key, amounts, NULL, &values, &error));
    g_assert_error(error, KW_CLIENT_ERROR, KW_CLIENT_INVALID);
    g_clear_error(&error);
    g_assert_true(kw_client_allocate(client, TABLE, "visits", NULL, 5, NULL, &first, &count, &error));
    g_assert_cmpint(first, ==, 100);
    g_assert_cmpint(count, ==, 5);
    g_assert_true(kw_client_allocate(client, TABLE, "visits", key, 6, NULL, &first, &count, &error));
    g_assert_cmpint(count, ==, 6);
}

/* Five rows in pages of two; a row with a reference outlives its page. */
static void
test_scan(void)
{
    g_autoptr(kw_client) client = open_client("KW_TEST_GATEWAY");
    g_autoptr(kw_query) query = kw_query_new(TABLE);
    g_autoptr(kw_scan) scan = NULL;
    g_autoptr(kw_scan) resumed = NULL;
    g_autoptr(kw_record) kept = NULL;
    g_autoptr(GBytes) cursor = NULL;
    g_autoptr(GError) error = NULL;
    const kw_record *record;
    gint64 count = 0;

    for (gint64 i = 0; i < 5; i++)
        put(client, "S", i, "s");
    kw_query_where(query, "order_id", kw_text("S"));
    scan = kw_client_scan(client, query, &error);
    g_assert_no_error(error);
    cursor = g_bytes_ref(kw_scan_cursor(scan));
    for (; kw_scan_next(scan, &record, &error); count++) {
        g_assert_cmpint(kw_record_get(record, "ts").number, ==, count);
        if (count == 0)
            kept = kw_record_ref((kw_record *)record);
    }
    g_assert_no_error(error);
    g_assert_cmpint(count, ==, 5);
    g_assert_cmpint(kw_scan_rows_returned(scan), ==, 5);
    g_assert_cmpint(kw_scan_rows_scanned(scan), ==, 10);
    g_assert_null(kw_scan_cursor(scan));
    g_assert_cmpint(kw_record_get(kept, "ts").number, ==, 0);
    g_assert_cmpstr(kw_record_get(kept, "order_id").text, ==, "S");
    kw_query_order(query, true);
    kw_query_limit(query, 1);
    g_clear_pointer(&scan, kw_scan_free);
    scan = kw_client_latest(client, query, &error);
    g_assert_true(kw_scan_next(scan, &record, &error));
    g_assert_cmpint(kw_record_get(record, "ts").number, ==, 4);
    g_assert_false(kw_scan_next(scan, &record, &error));
    /* The fake gateway forgets a used cursor; an invalid one is an error, and there is no scan. */
    resumed =
        kw_client_resume(client, g_bytes_get_data(cursor, NULL), g_bytes_get_size(cursor), NULL, &error);
    g_assert_null(resumed);
    g_assert_error(error, KW_CLIENT_ERROR, KW_CLIENT_INVALID);
}

static void
test_administration(void)
{
    g_autoptr(kw_client) client = open_client("KW_TEST_GATEWAY");
    g_autoptr(GError) error = NULL;
    g_auto(GStrv) tables = kw_client_tables(client, &error);
    g_autoptr(kw_table_info) table = kw_client_describe(client, TABLE, &error);
    g_autoptr(kw_policy_info) policy = kw_client_policy(client, &error);
    g_autoptr(GHashTable) stats = kw_client_stats(client, &error);
    g_autoptr(GPtrArray) problems = kw_client_check(client, "kye: 1", &error);
    g_autoptr(GPtrArray) created = kw_client_create_table(client, TABLE, NULL, &error);
    g_autoptr(kw_record) record = event("A", 1, NULL);
    g_autoptr(kw_explanation) keys = kw_client_explain_put(client, TABLE, record, &error);
    g_autoptr(kw_query) query = kw_query_new(TABLE);
    g_autoptr(kw_explanation) plan = kw_client_explain(client, query, &error);

    g_assert_no_error(error);
    g_assert_cmpstr(tables[0], ==, TABLE);
    g_assert_true(kw_table_info_field(table, "ts")->key);
    g_assert_cmpstr(kw_table_info_field(table, "ts")->unit, ==, "ms");
    g_assert_null(kw_table_info_field(table, "tss"));
    g_assert_cmpint(policy->loaded_at, ==, G_GINT64_CONSTANT(1795255200000));
    g_assert_cmpfloat(*(double *)g_hash_table_lookup(stats, "store_calls"), ==, 12);
    g_assert_cmpint(((kw_problem *)problems->pdata[0])->column, ==, 7);
    g_assert_true(((kw_created_table *)created->pdata[0])->created);
    g_assert_cmpuint(g_bytes_get_size(((kw_explained_key *)keys->keys->pdata[0])->row_key), ==, 2);
    g_assert_cmpstr(plan->path, ==, "primary");
    g_assert_cmpstr(plan->notes[0], ==, "nothing fans out");
    g_assert_true(kw_client_reload(client, &error));
    g_assert_false(kw_client_reload(client, &error));
    g_assert_error(error, KW_CLIENT_ERROR, KW_CLIENT_REFUSED);
    g_assert_false(kw_client_error_maybe_applied(error));
}

static void
test_get_versions(void)
{
    g_autoptr(kw_client) client = open_client("KW_TEST_GATEWAY");
    g_autoptr(GError) error = NULL;
    g_autoptr(kw_record) key = event("A", 1, NULL);
    const char *const columns[] = {"status", NULL};
    g_autoptr(GPtrArray) versions = kw_client_get_versions(client, TABLE, key, columns, 9, NULL, &error);
    g_autoptr(GPtrArray) newest = kw_client_get_versions(client, TABLE, key, NULL, 1, NULL, &error);
    const kw_record_version *older;

    g_assert_no_error(error);
    g_assert_cmpuint(newest->len, ==, 1);
    g_assert_cmpuint(versions->len, ==, 2);
    older = versions->pdata[1];
    g_assert_cmpint(older->timestamp, ==, 5);
    g_assert_cmpstr(kw_record_get(older->record, "order_id").text, ==, "A");
    g_assert_cmpstr(kw_record_get(older->record, "status").text, ==, "new");
    g_assert_null(kw_client_get_versions(client, "nowhere", key, NULL, 1, NULL, &error));
    g_assert_error(error, KW_CLIENT_ERROR, KW_CLIENT_NOT_FOUND);
}

static void
test_decode_key(void)
{
    g_autoptr(kw_client) client = open_client("KW_TEST_GATEWAY");
    g_autoptr(GError) error = NULL;
    g_autoptr(GBytes) good = g_bytes_new("k1", 2);
    g_autoptr(GBytes) bad = g_bytes_new("k", 1);
    g_autoptr(GPtrArray) decoded = kw_client_decode_key(client, TABLE, good, NULL, NULL, &error);
    g_autoptr(GPtrArray) wrong = kw_client_decode_key(client, TABLE, bad, "primary", NULL, &error);
    const kw_decoded_key *key;

    g_assert_no_error(error);
    key = decoded->pdata[0];
    g_assert_cmpstr(key->store_table, ==, TABLE);
    g_assert_null(key->reason);
    g_assert_null(key->component);
    g_assert_cmpstr(kw_record_get(key->key, "order_id").text, ==, "A");
    g_assert_cmpint(kw_record_get(key->key, "ts").number, ==, 1);
    key = wrong->pdata[0];
    g_assert_cmpstr(key->component, ==, "field(ts)");
    g_assert_cmpstr(key->reason, ==, "too short");
    g_assert_cmpuint(key->pieces->len, ==, 1);
    g_assert_cmpuint(kw_record_size(key->key), ==, 1);
    g_assert_null(kw_client_decode_key(client, "nowhere", good, NULL, NULL, &error));
    g_assert_error(error, KW_CLIENT_ERROR, KW_CLIENT_NOT_FOUND);
}

static void
test_errors(void)
{
    g_autoptr(kw_client) client = open_client("KW_TEST_GATEWAY");
    g_autoptr(GError) error = NULL;
    g_autoptr(GError) foreign = g_error_new_literal(G_FILE_ERROR, G_FILE_ERROR_NOENT, "no file");

    g_assert_null(kw_client_describe(client, "nowhere", &error));
    g_assert_error(error, KW_CLIENT_ERROR, KW_CLIENT_NOT_FOUND);
    g_assert_cmpstr(kw_client_error_request_id(error), ==, "r-1");
    g_assert_cmpint(kw_client_error_retry_after_ms(error), ==, 0);
    g_assert_false(kw_client_error_maybe_applied(foreign));
    g_assert_null(kw_client_error_request_id(foreign));
    put(client, "after an error the connection works", 1, "s");
}

/* The gateway closes after each reply: the next call opens a new connection. */
static void
test_reconnects(void)
{
    g_autoptr(kw_client) client = open_client("KW_TEST_CLOSING");

    for (gint64 i = 0; i < 20; i++)
        put(client, "R", i, "s");
}

/* The host "several" has the address 127.0.0.2, and then that of the gateway. */
int __real_getaddrinfo(const char *host, const char *service, const struct addrinfo *hints,
                       struct addrinfo **ret_found);
int __wrap_getaddrinfo(const char *host, const char *service, const struct addrinfo *hints,
                       struct addrinfo **ret_found);

int
__wrap_getaddrinfo(const char *host, const char *service, const struct addrinfo *hints,
                   struct addrinfo **ret_found)
{
    if (strcmp(host, "several") != 0)
        return __real_getaddrinfo(host, service, hints, ret_found);
    g_assert_cmpint(__real_getaddrinfo("127.0.0.2", service, hints, ret_found), ==, 0);
    return __real_getaddrinfo("127.0.0.1", service, hints, &(*ret_found)->ai_next);
}

/* An address that does not answer leaves time for the next one. */
static void
test_several_addresses(void)
{
    const char *form = g_getenv("KW_TEST_FORM");
    const kw_client_options options = {.framed = strstr(form, "framed") != NULL,
                                       .compact = strstr(form, "compact") != NULL,
                                       .connect_timeout_ms = 2000};
    const char *port = strrchr(g_getenv("KW_TEST_GATEWAY"), ':') + 1;
    g_autofree char *address = g_strdup_printf("several:%s", port);
    g_autoptr(GError) error = NULL;
    black_hole hole = black_hole_open("127.0.0.2", (guint16)g_ascii_strtoull(port, NULL, 10));
    g_autoptr(kw_client) client = kw_client_open(address, &options, &error);

    g_assert_no_error(error);
    put(client, "several", 1, "s");
    black_hole_close(&hole);
}

/* The generated finalizers would leak 48 bytes for each object (see chain_finalizers.py), six objects per
 * put. */
static void
test_nothing_leaks(void)
{
    g_autoptr(kw_client) client = open_client("KW_TEST_GATEWAY");
    const gint64 puts = 10000;
    gsize before;

    for (gint64 i = 0; i < 200; i++)
        put(client, "L", 1, "warm");
    before = mallinfo2().uordblks;
    for (gint64 i = 0; i < puts; i++)
        put(client, "L", 1, "put");
    g_assert_cmpuint(mallinfo2().uordblks, <, before + 8192);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/library/record", test_record);
    g_test_add_func("/library/points", test_points);
    g_test_add_func("/library/many", test_many);
    g_test_add_func("/library/conditions", test_conditions);
    g_test_add_func("/library/scan", test_scan);
    g_test_add_func("/library/administration", test_administration);
    g_test_add_func("/library/decode-key", test_decode_key);
    g_test_add_func("/library/get-versions", test_get_versions);
    g_test_add_func("/library/errors", test_errors);
    g_test_add_func("/library/reconnects", test_reconnects);
    g_test_add_func("/library/several-addresses", test_several_addresses);
    g_test_add_func("/library/nothing-leaks", test_nothing_leaks);
    return g_test_run();
}
