/* See failure.h. Tables list the texts to look for in HBase's messages, the most specific first. */
#include "store/hbase/link/failure.h"

#include "store/check.h"
#include "wire/wire.h"

#include <string.h>

typedef struct known_text {
    const char *needle;
    kw_hbase_failure_kind kind;
    kw_code code;
    bool not_applied; /* it is certain that nothing was applied */
    const char *text; /* %s is the table */
} known_text;

/* Class and text as HBase 2.6 writes them. */
static const known_text known_texts[] = {
    {"TableNotFoundException", KW_HBASE_TABLE_MISSING, KW_NOT_FOUND, true,
     "the store has no table '%s'; `keyway create` creates the store tables of a table"},
    {"TableExistsException", KW_HBASE_TABLE_EXISTS, KW_REFUSED, true, "the store already has a table '%s'"},
    {"NamespaceExistException", KW_HBASE_NAMESPACE_EXISTS, KW_REFUSED, true,
     "the store already has the namespace of table '%s'"},
    {"NamespaceNotFoundException", KW_HBASE_OTHER, KW_NOT_FOUND, true,
     "the namespace of table '%s' does not exist"},
    {" is disabled.", KW_HBASE_TABLE_DISABLED, KW_REFUSED, true, "table '%s' is disabled in the store"},
    {"TableNotEnabledException", KW_HBASE_TABLE_DISABLED, KW_REFUSED, true,
     "table '%s' is disabled in the store"},
    {"Field is not a long", KW_HBASE_OTHER, KW_INVALID, true,
     "a stored value in table '%s' is not 8 bytes long and cannot be incremented"},
    {"exceeds limit of", KW_HBASE_OTHER, KW_LIMIT, true,
     "a cell is larger than the store allows for table '%s'"},
    {"RowTooBigException", KW_HBASE_OTHER, KW_LIMIT, false,
     "a row in table '%s' is larger than the store can read at once"},
    {"AccessDeniedException", KW_HBASE_OTHER, KW_REFUSED, true,
     "the store denies the gateway access to table '%s'"},
    {"Reverse scan with loading CFs on demand", KW_HBASE_OTHER, KW_REFUSED, true,
     "the store cannot apply this filter to table '%s' in descending order"},
    {"Read-only mode", KW_HBASE_OTHER, KW_REFUSED, true, "the Thrift2 server is in read-only mode"},
    /* HBase's own client sent an increment twice: it was applied. */
    {"OperationConflictException", KW_HBASE_OTHER, KW_UNAVAILABLE, false,
     "the store received the same operation on table '%s' twice"},
    {"RegionTooBusyException", KW_HBASE_TEMPORARY, KW_BUSY, false,
     "the store is too busy with a region of table '%s'"},
    {"CallQueueTooBigException", KW_HBASE_TEMPORARY, KW_BUSY, false, "the store has too many calls waiting"},
};

/* Reasons that do not change what the caller can do. */
static const struct {
    const char *needle, *reason;
} reasons[] = {
    {"CallTimeoutException", "a region server did not answer in time"},
    {"SocketTimeoutException", "a region server did not answer in time"},
    {"ConnectException", "a region server cannot be reached"},
    {"NotServingRegionException", "a region is moving, or is not online"},
    {"RegionMovedException", "a region is moving, or is not online"},
    {"RegionOpeningException", "a region is moving, or is not online"},
    {"ServerNotRunningYetException", "a server of HBase is starting"},
    {"PleaseHoldException", "a server of HBase is starting"},
    {"RegionServerStoppedException", "a region server is stopping"},
    {"Compression algorithm", "its servers cannot use the compression of a column family"},
    {"Failed after attempts", "several attempts failed"},
};

static bool
contains(kw_bytes text, const char *needle)
{
    return text.size && memmem(text.data, text.size, needle, strlen(needle)) != NULL;
}

static void
set_known(const known_text *known, kw_bytes table, kw_hbase_failure *ret_failure)
{
    ret_failure->kind = known->kind;
    g_autofree char *name = g_strndup((const char *)table.data, table.size);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    kw_error_set(&ret_failure->error, known->code, known->text, name);
#pragma GCC diagnostic pop
}

/* True if the bytes are a whole string in the arguments of the call. Strings in Thrift's binary protocol
 * follow their length. */
static bool
is_of_call(const kw_hbase_call *call, kw_bytes bytes)
{
    kw_buffer args = KW_BUFFER_EMPTY, needle = KW_BUFFER_EMPTY;
    uint8_t size[4];
    kw_be32_store(size, (uint32_t)bytes.size);
    kw_buffer_append(&needle, kw_bytes_of(size, sizeof size));
    kw_buffer_append(&needle, bytes);
    kw_wire_struct_encode(&args, KW_WIRE_BINARY, kw_hb_methods[call->method].args, call->args);
    bool found = memmem(args.data, args.size, needle.data, needle.size) != NULL;
    kw_buffer_clear(&args);
    kw_buffer_clear(&needle);
    return found;
}

/* Recognizes "...NoSuchColumnFamilyException: Column family x does not exist in region ...". The caller gets
 * the name only if it is one that the call contains. */
static bool
is_missing_family(kw_bytes message, const kw_hbase_call *call, kw_hbase_failure *ret_failure)
{
    static const char before[] = "Column family ", after[] = " does not exist";
    if (!contains(message, "NoSuchColumnFamilyException"))
        return false;
    const char *end = (const char *)message.data + message.size;
    const char *from = memmem(message.data, message.size, before, sizeof before - 1);
    from = from ? from + sizeof before - 1 : end;
    const char *to = memmem(from, (size_t)(end - from), after, sizeof after - 1);
    kw_bytes name = kw_bytes_of(from, to ? (size_t)(to - from) : 0);
    ret_failure->kind = KW_HBASE_OTHER;
    if (name.size && is_of_call(call, name))
        kw_error_set(&ret_failure->error, KW_INVALID, "store table '%.*s' has no column family '%s'",
                     (int)call->table.size, (const char *)call->table.data, kw_show(name).text);
    else
        kw_error_set(&ret_failure->error, KW_INVALID,
                     "store table '%.*s' does not have all column families of the call",
                     (int)call->table.size, (const char *)call->table.data);
    return true;
}

/* "default:t" and "t" are the same table; HBase's messages say "t". */
static kw_bytes
without_default(kw_bytes table)
{
    static const kw_bytes space = {(const uint8_t *)"default:", 8};
    return kw_bytes_starts_with(table, space) ? kw_bytes_skip(table, space.size) : table;
}

static bool
is_name_of(kw_bytes message, kw_bytes table)
{
    table = without_default(table);
    return table.size && kw_bytes_equal(message, table);
}

/* "Failed 2 actions: t: 2 times, servers with issues: null": a multi-call to the unknown table t. */
static bool
is_multi_of_unknown(kw_bytes message, kw_bytes table)
{
    if (!kw_bytes_starts_with(message, KW_BYTES_LITERAL("Failed ")) || table.size == 0)
        return false;
    g_autofree char *needle = g_strdup_printf(": %.*s: ", (int)table.size, (const char *)table.data);
    return contains(message, needle);
}

static void
set_unknown(kw_bytes message, bool can_retry, kw_error *ret_error)
{
    const char *reason = NULL;
    for (size_t i = 0; i < G_N_ELEMENTS(reasons) && !reason; i++)
        if (contains(message, reasons[i].needle))
            reason = reasons[i].reason;
    kw_error_set(ret_error, can_retry ? KW_UNAVAILABLE : KW_REFUSED, "the store %s%s",
                 can_retry ? "failed temporarily: " : "refused the call: ",
                 reason ? reason : "see the log of the gateway");
}

void
kw_hbase_failure_of_io(kw_bytes message, bool can_retry, const kw_hbase_call *call,
                       kw_hbase_failure *ret_failure)
{
    *ret_failure = (kw_hbase_failure){.kind = KW_HBASE_OTHER};
    if (is_missing_family(message, call, ret_failure))
        return;
    /* For an unknown table the message is only its name. */
    if ((!can_retry && is_name_of(message, call->table)) ||
        is_multi_of_unknown(message, without_default(call->table))) {
        set_known(&known_texts[0], call->table, ret_failure);
        return;
    }
    for (size_t i = 0; i < G_N_ELEMENTS(known_texts); i++) {
        if (contains(message, known_texts[i].needle)) {
            set_known(&known_texts[i], call->table, ret_failure);
            ret_failure->error.maybe_applied = call->changes && !known_texts[i].not_applied;
            return;
        }
    }
    ret_failure->kind = can_retry ? KW_HBASE_TEMPORARY : KW_HBASE_OTHER;
    set_unknown(message, can_retry, &ret_failure->error);
    ret_failure->error.maybe_applied = call->changes && can_retry;
}

void
kw_hbase_timeout_error(bool sent, bool changes, kw_error *ret_error)
{
    kw_error_set(ret_error, KW_TIMEOUT, "the deadline passed %s",
                 sent ? "before the store answered" : "while the call waited for the store");
    ret_error->maybe_applied = sent && changes;
}

void
kw_hbase_failure_of_argument(kw_bytes message, kw_hbase_failure *ret_failure)
{
    bool gone = contains(message, "Invalid scanner Id");
    *ret_failure = (kw_hbase_failure){.kind = gone ? KW_HBASE_SCANNER_GONE : KW_HBASE_OTHER};
    if (gone)
        kw_error_set(&ret_failure->error, KW_UNAVAILABLE, "the scan expired in the store");
    else
        set_unknown(message, false, &ret_failure->error);
}

void
kw_hbase_failure_of_exception(kw_wire_exception_type type, kw_hb_method method, bool changes,
                              kw_hbase_failure *ret_failure)
{
    const char *name = kw_hb_methods[method].name;
    *ret_failure = (kw_hbase_failure){.kind = KW_HBASE_OTHER};
    switch (type) {
    case KW_WIRE_EXCEPTION_UNKNOWN_METHOD:
        kw_error_set(&ret_failure->error, KW_REFUSED, "the Thrift2 server does not support %s", name);
        return;
    case KW_WIRE_EXCEPTION_INTERNAL_ERROR:
        ret_failure->kind = KW_HBASE_INTERNAL_ERROR;
        kw_error_set(&ret_failure->error, KW_REFUSED,
                     "the Thrift2 server failed in %s without a reason; see its log", name);
        break;
    case KW_WIRE_EXCEPTION_PROTOCOL_ERROR:
    case KW_WIRE_EXCEPTION_INVALID_MESSAGE_TYPE:
    case KW_WIRE_EXCEPTION_WRONG_METHOD_NAME:
    case KW_WIRE_EXCEPTION_BAD_SEQUENCE_ID:
    case KW_WIRE_EXCEPTION_MISSING_RESULT:
    case KW_WIRE_EXCEPTION_UNKNOWN:
        kw_error_set(&ret_failure->error, KW_INTERNAL,
                     "the Thrift2 server did not understand %s; the log of the gateway has its answer", name);
        break;
    }
    ret_failure->error.maybe_applied = changes && type != KW_WIRE_EXCEPTION_PROTOCOL_ERROR;
}
