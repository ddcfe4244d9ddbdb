/* HBase's error texts and the resulting errors for callers: the code, maybe_applied, and never a class name
 * or a stack. */
#include "store/hbase/failure.h"

#include "support/seeded.h"

#include <string.h>

#define TABLE KW_BYTES_LITERAL("ns:orders")

static kw_hbase_failure
io(const char *message, bool can_retry, bool changes)
{
    kw_hbase_failure failure;
    kw_hbase_failure_of_io(kw_bytes_of_text(message), can_retry, TABLE, changes, &failure);
    g_assert_null(strstr(failure.error.text, "org.apache"));
    g_assert_null(strchr(failure.error.text, '\n'));
    g_assert_null(strstr(failure.error.text, "(HRegion.java"));
    return failure;
}

static const struct {
    const char *message;
    bool can_retry;
    kw_hbase_failure_kind kind;
    kw_code code;
    bool maybe_applied;
    const char *expected;
} known[] = {
    {"ns:orders", false, KW_HBASE_TABLE_MISSING, KW_NOT_FOUND, false,
     "the store has no table 'ns:orders'; `keyway create` creates the store tables of a table"},
    {"Failed 1 action: org.apache.hadoop.hbase.TableNotFoundException: ns:orders: 1 time", true,
     KW_HBASE_TABLE_MISSING, KW_NOT_FOUND, false,
     "the store has no table 'ns:orders'; `keyway create` creates the store tables of a table"},
    {"Failed 2 actions: ns:orders: 2 times, servers with issues: null", true, KW_HBASE_TABLE_MISSING,
     KW_NOT_FOUND, false,
     "the store has no table 'ns:orders'; `keyway create` creates the store tables of a table"},
    {"org.apache.hadoop.hbase.regionserver.NoSuchColumnFamilyException: Column family cf_1 does not "
     "exist in "
     "region ns:orders,,1.ab. in table 'ns:orders', {NAME => 'f'}\n\tat "
     "org.apache.hadoop.hbase.X.y(HRegion.java:1)",
     false, KW_HBASE_OTHER, KW_INVALID, false, "store table 'ns:orders' has no column family 'cf_1'"},
    {"ns:orders is disabled.", false, KW_HBASE_TABLE_DISABLED, KW_REFUSED, false,
     "table 'ns:orders' is disabled in the store"},
    {"org.apache.hadoop.hbase.DoNotRetryIOException: Field is not a long, it's 1 bytes wide\n\tat x", false,
     KW_HBASE_OTHER, KW_INVALID, false,
     "a stored value in table 'ns:orders' is not 8 bytes long and cannot be incremented"},
    {"org.apache.hadoop.hbase.RegionTooBusyException: Over memstore limit", true, KW_HBASE_TEMPORARY, KW_BUSY,
     true, "the store is too busy with a region of table 'ns:orders'"},
    {"Failed after attempts=2, exceptions: \n2026-11-21 RpcRetryingCaller{}", true, KW_HBASE_TEMPORARY,
     KW_UNAVAILABLE, true, "the store failed temporarily: Failed after attempts=2, exceptions:"},
    {"org.apache.hadoop.hbase.security.AccessDeniedException: Insufficient permissions", false,
     KW_HBASE_OTHER, KW_REFUSED, false, "the store denies the gateway access to table 'ns:orders'"},
    {"org.apache.hadoop.hbase.DoNotRetryIOException: java.lang.IllegalStateException: it is late, at "
     "a.b.C$1: no",
     false, KW_HBASE_OTHER, KW_REFUSED, false, "the store refused: it is late, at no"},
    {"", false, KW_HBASE_OTHER, KW_REFUSED, false, "the store refused: no reason given"},
    {"org.apache.hadoop.hbase.exceptions.OperationConflictException: The operation with nonce {1, 2} on "
     "row x",
     false, KW_HBASE_OTHER, KW_UNAVAILABLE, true,
     "the store refused: The operation with nonce {1, 2} on row x"},
    {"org.apache.hadoop.hbase.DoNotRetryIOException: Cell[x] with size 10485800 exceeds limit of "
     "10485760 bytes",
     false, KW_HBASE_OTHER, KW_LIMIT, false,
     "the store refused: Cell[x] with size 10485800 exceeds limit of 10485760 bytes"},
};

static void
test_known(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(known); i++) {
        kw_hbase_failure failure = io(known[i].message, known[i].can_retry, true);
        g_assert_cmpstr(failure.error.text, ==, known[i].expected);
        g_assert_cmpint(failure.kind, ==, known[i].kind);
        g_assert_cmpstr(kw_code_name(failure.error.code), ==, kw_code_name(known[i].code));
        g_assert_cmpint(failure.error.maybe_applied, ==, known[i].maybe_applied);
        g_assert_false(io(known[i].message, known[i].can_retry, false).error.maybe_applied);
    }
}

static void
test_default_namespace(void)
{
    kw_hbase_failure failure;
    kw_hbase_failure_of_io(KW_BYTES_LITERAL("t"), false, KW_BYTES_LITERAL("default:t"), false, &failure);
    g_assert_cmpint(failure.kind, ==, KW_HBASE_TABLE_MISSING);
    kw_hbase_failure_of_io(KW_BYTES_LITERAL("t"), true, KW_BYTES_LITERAL("t"), false, &failure);
    g_assert_cmpint(failure.kind, ==, KW_HBASE_TEMPORARY);
}

static void
test_exceptions(void)
{
    kw_hbase_failure failure;
    kw_hbase_failure_of_exception(KW_WIRE_EXCEPTION_INTERNAL_ERROR,
                                  KW_BYTES_LITERAL("Internal error processing put"), KW_HB_THBaseService_put,
                                  true, &failure);
    g_assert_cmpint(failure.kind, ==, KW_HBASE_INTERNAL_ERROR);
    g_assert_cmpstr(failure.error.text, ==, "the Thrift2 server failed in put without a reason; see its log");
    g_assert_true(failure.error.maybe_applied);
    kw_hbase_failure_of_exception(KW_WIRE_EXCEPTION_UNKNOWN_METHOD,
                                  KW_BYTES_LITERAL("Invalid method name: 'put'"), KW_HB_THBaseService_put,
                                  true, &failure);
    g_assert_cmpint(failure.error.code, ==, KW_REFUSED);
    g_assert_false(failure.error.maybe_applied);
    kw_hbase_failure_of_exception(KW_WIRE_EXCEPTION_PROTOCOL_ERROR,
                                  KW_BYTES_LITERAL("Required field 'row' was not present! Struct: TPut"),
                                  KW_HB_THBaseService_put, true, &failure);
    g_assert_cmpint(failure.error.code, ==, KW_INTERNAL);
    g_assert_false(failure.error.maybe_applied);
}

static void
test_scanner(void)
{
    kw_hbase_failure failure;
    kw_hbase_failure_of_argument(KW_BYTES_LITERAL("Invalid scanner Id"), &failure);
    g_assert_cmpint(failure.kind, ==, KW_HBASE_SCANNER_GONE);
    kw_hbase_failure_of_argument(KW_BYTES_LITERAL("something else"), &failure);
    g_assert_cmpint(failure.kind, ==, KW_HBASE_OTHER);
    g_assert_cmpstr(failure.error.text, ==, "the store refused: something else");
}

/* The texts are external input: any bytes, any length, any buffer size. */
static void
test_any_text(void)
{
    guint32 seed = (guint32)g_test_rand_int();
    g_test_message("seed %u", seed);
    g_autoptr(GRand) random = g_rand_new_with_seed(seed);
    for (int round = 0; round < 20000; round++) {
        uint8_t text[300];
        char plain[64];
        size_t size = (size_t)g_rand_int_range(random, 0, sizeof text),
               buffer_size = (size_t)g_rand_int_range(random, 1, sizeof plain);
        for (size_t i = 0; i < size; i++)
            text[i] = (uint8_t) " ..:ab$\n\xff\0"[g_rand_int_range(random, 0, 10)];
        kw_hbase_plain_text(kw_bytes_of(text, size), plain, buffer_size);
        g_assert_cmpuint(strlen(plain), <, buffer_size);
        g_assert_null(strchr(plain, '\n'));
    }
}

int
main(int argc, char **argv)
{
    seeded_init(&argc, &argv);
    g_test_add_func("/hbase/failure/known", test_known);
    g_test_add_func("/hbase/failure/default-namespace", test_default_namespace);
    g_test_add_func("/hbase/failure/exceptions", test_exceptions);
    g_test_add_func("/hbase/failure/scanner", test_scanner);
    g_test_add_func("/hbase/failure/any-text", test_any_text);
    return g_test_run();
}
