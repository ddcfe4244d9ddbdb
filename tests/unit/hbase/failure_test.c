/* HBase's error texts and the resulting errors for callers: the code, maybe_applied, and only words of our
 * own. */
#include "store/hbase/link/failure.h"

#include "support/seeded.h"

#include <string.h>

#define TABLE KW_BYTES_LITERAL("ns:orders")

/* A put to the families cf_1 and cf_2. */
static const kw_hb_TColumnValue values[] = {{.family = KW_BYTES_LITERAL("cf_1")},
                                            {.family = KW_BYTES_LITERAL("cf_2")}};
static const kw_hb_TPut put = {.row = KW_BYTES_LITERAL("row"),
                               .columnValues = {(kw_hb_TColumnValue *)(uintptr_t)values, 2}};
static const kw_hb_THBaseService_put_args put_args = {.table = TABLE, .tput = &put};

static kw_hbase_failure
io(const char *message, bool can_retry, bool changes)
{
    const kw_hbase_call call = {
        .method = KW_HB_THBaseService_put, .args = &put_args, .table = TABLE, .changes = changes};
    kw_hbase_failure failure;
    kw_hbase_failure_of_io(kw_bytes_of_text(message), can_retry, &call, &failure);
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
     KW_UNAVAILABLE, true, "the store failed temporarily: several attempts failed"},
    {"org.apache.hadoop.hbase.NotServingRegionException: ns:orders,,1.ab. is not online on "
     "rs7.example.com,16020,1700000000000",
     true, KW_HBASE_TEMPORARY, KW_UNAVAILABLE, true,
     "the store failed temporarily: a region is moving, or is not online"},
    {"org.apache.hadoop.hbase.security.AccessDeniedException: Insufficient permissions", false,
     KW_HBASE_OTHER, KW_REFUSED, false, "the store denies the gateway access to table 'ns:orders'"},
    {"org.apache.hadoop.hbase.DoNotRetryIOException: java.lang.IllegalStateException: it is late, at "
     "a.b.C$1: no",
     false, KW_HBASE_OTHER, KW_REFUSED, false, "the store refused the call: see the log of the gateway"},
    {"org.apache.hadoop.hbase.DoNotRetryIOException: Reverse scan with loading CFs on demand is not "
     "supported",
     false, KW_HBASE_OTHER, KW_REFUSED, false,
     "the store cannot apply this filter to table 'ns:orders' in descending order"},
    {"", false, KW_HBASE_OTHER, KW_REFUSED, false, "the store refused the call: see the log of the gateway"},
    {"org.apache.hadoop.hbase.exceptions.OperationConflictException: The operation with nonce {1, 2} on "
     "row x",
     false, KW_HBASE_OTHER, KW_UNAVAILABLE, true,
     "the store received the same operation on table 'ns:orders' twice"},
    {"org.apache.hadoop.hbase.DoNotRetryIOException: Cell[x] with size 10485800 exceeds limit of "
     "10485760 bytes",
     false, KW_HBASE_OTHER, KW_LIMIT, false, "a cell is larger than the store allows for table 'ns:orders'"},
    {"NoSuchColumnFamilyException: Column family \033]0;on rs7.example.com\a does not exist in region", false,
     KW_HBASE_OTHER, KW_INVALID, false,
     "store table 'ns:orders' does not have all column families of the call"},
    {"NoSuchColumnFamilyException: rs7.example.com", false, KW_HBASE_OTHER, KW_INVALID, false,
     "store table 'ns:orders' does not have all column families of the call"},
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
    kw_hbase_call call = {
        .method = KW_HB_THBaseService_put, .args = &put_args, .table = KW_BYTES_LITERAL("default:t")};
    kw_hbase_failure_of_io(KW_BYTES_LITERAL("t"), false, &call, &failure);
    g_assert_cmpint(failure.kind, ==, KW_HBASE_TABLE_MISSING);
    call.table = KW_BYTES_LITERAL("t");
    kw_hbase_failure_of_io(KW_BYTES_LITERAL("t"), true, &call, &failure);
    g_assert_cmpint(failure.kind, ==, KW_HBASE_TEMPORARY);
}

static void
test_exceptions(void)
{
    kw_hbase_failure failure;
    kw_hbase_failure_of_exception(KW_WIRE_EXCEPTION_INTERNAL_ERROR, KW_HB_THBaseService_put, true, &failure);
    g_assert_cmpint(failure.kind, ==, KW_HBASE_INTERNAL_ERROR);
    g_assert_cmpstr(failure.error.text, ==, "the Thrift2 server failed in put without a reason; see its log");
    g_assert_true(failure.error.maybe_applied);
    kw_hbase_failure_of_exception(KW_WIRE_EXCEPTION_UNKNOWN_METHOD, KW_HB_THBaseService_put, true, &failure);
    g_assert_cmpint(failure.error.code, ==, KW_REFUSED);
    g_assert_false(failure.error.maybe_applied);
    kw_hbase_failure_of_exception(KW_WIRE_EXCEPTION_PROTOCOL_ERROR, KW_HB_THBaseService_put, true, &failure);
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
    g_assert_cmpstr(failure.error.text, ==, "the store refused the call: see the log of the gateway");
}

/* Whatever HBase writes between the words that we look for, no part of it gets to callers. */
static void
test_any_text(void)
{
    static const char *const parts[] = {"Column family ",
                                        " does not exist",
                                        "NoSuchColumnFamilyException",
                                        "Failed ",
                                        " is disabled.",
                                        "TableNotFoundException",
                                        "exceeds limit of",
                                        "ZZ\033[31m\n",
                                        "ZZ.example.com,16020",
                                        "OperationConflictException",
                                        "\xff",
                                        "ConnectException"};
    guint32 seed = (guint32)g_test_rand_int();
    g_test_message("seed %u", seed);
    g_autoptr(GRand) random = g_rand_new_with_seed(seed);
    for (int round = 0; round < 20000; round++) {
        g_autoptr(GString) message = g_string_new(NULL);
        for (int count = g_rand_int_range(random, 0, 6); count > 0; count--)
            g_string_append(message, parts[g_rand_int_range(random, 0, G_N_ELEMENTS(parts))]);
        kw_hbase_failure failure = io(message->str, g_rand_boolean(random), true);
        g_assert_null(strstr(failure.error.text, "ZZ"));
        g_assert_true(g_str_is_ascii(failure.error.text));
        kw_hbase_failure_of_argument(kw_bytes_of_text(message->str), &failure);
        g_assert_null(strstr(failure.error.text, "ZZ"));
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
