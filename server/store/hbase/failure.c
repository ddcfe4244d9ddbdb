/* See failure.h. A table lists the texts to look for in HBase's messages, the most specific first. */
#include "store/hbase/failure.h"

#include <string.h>

typedef struct known_text {
    const char *needle;
    kw_hbase_failure_kind kind;
    kw_code code;
    bool not_applied; /* it is certain that nothing was applied */
    const char *text; /* %s is the table; NULL: the plain text of the message */
} known_text;

/* Class and text as HBase 2.6 writes them. */
static const known_text known_texts[] = {
    {"TableNotFoundException", KW_HBASE_TABLE_MISSING, KW_NOT_FOUND, true,
     "the store has no table '%s'; `keyway create` creates the store tables of a table"},
    {"TableExistsException", KW_HBASE_TABLE_EXISTS, KW_REFUSED, true, "the store already has a table '%s'"},
    {"NamespaceExistException", KW_HBASE_NAMESPACE_EXISTS, KW_REFUSED, true, NULL},
    {"NamespaceNotFoundException", KW_HBASE_OTHER, KW_NOT_FOUND, true,
     "the namespace of table '%s' does not exist"},
    {" is disabled.", KW_HBASE_TABLE_DISABLED, KW_REFUSED, true, "table '%s' is disabled in the store"},
    {"TableNotEnabledException", KW_HBASE_TABLE_DISABLED, KW_REFUSED, true,
     "table '%s' is disabled in the store"},
    {"Field is not a long", KW_HBASE_OTHER, KW_INVALID, true,
     "a stored value in table '%s' is not 8 bytes long and cannot be incremented"},
    {"exceeds limit of", KW_HBASE_OTHER, KW_LIMIT, true, NULL},
    {"RowTooBigException", KW_HBASE_OTHER, KW_LIMIT, false,
     "a row in table '%s' is larger than the store can read at once"},
    {"AccessDeniedException", KW_HBASE_OTHER, KW_REFUSED, true,
     "the store denies the gateway access to table '%s'"},
    {"Read-only mode", KW_HBASE_OTHER, KW_REFUSED, true, "the Thrift2 server is in read-only mode"},
    /* HBase's own client sent an increment twice: it was applied. */
    {"OperationConflictException", KW_HBASE_OTHER, KW_UNAVAILABLE, false, NULL},
    {"RegionTooBusyException", KW_HBASE_TEMPORARY, KW_BUSY, false,
     "the store is too busy with a region of table '%s'"},
    {"CallQueueTooBigException", KW_HBASE_TEMPORARY, KW_BUSY, false, "the store has too many calls waiting"},
};

static bool
contains(kw_bytes text, const char *needle)
{
    return text.size && memmem(text.data, text.size, needle, strlen(needle)) != NULL;
}

/* True for a Java class name: letters, digits, `$` and `_` with at least two dots between them. */
static bool
is_class_name(const char *word, size_t size)
{
    size_t dots = 0;
    for (size_t i = 0; i < size; i++) {
        if (word[i] == '.')
            dots++;
        else if (!g_ascii_isalnum(word[i]) && word[i] != '$' && word[i] != '_')
            return false;
    }
    return dots >= 2 && size && g_ascii_isalpha(word[0]) && word[size - 1] != '.';
}

void
kw_hbase_plain_text(kw_bytes message, char *to, size_t size)
{
    g_assert(size > 0);
    const char *text = (const char *)message.data;
    const char *line_end = message.size ? memchr(text, '\n', message.size) : NULL;
    size_t end = line_end ? (size_t)(line_end - text) : message.size, used = 0;
    for (size_t at = 0, next; at < end; at = next + 1) {
        const char *space = memchr(text + at, ' ', end - at);
        next = space ? (size_t)(space - text) : end;
        size_t word = next - at, bare = word;
        while (bare && (text[at + bare - 1] == ':' || text[at + bare - 1] == ','))
            bare--;
        if (word == 0 || is_class_name(text + at, bare))
            continue;
        if (used + word + 2 > size)
            break;
        if (used)
            to[used++] = ' ';
        memcpy(to + used, text + at, word);
        used += word;
    }
    to[used] = '\0';
    g_strstrip(to);
}

static void
set_known(const known_text *known, kw_bytes message, kw_bytes table, kw_hbase_failure *ret_failure)
{
    ret_failure->kind = known->kind;
    g_autofree char *name = g_strndup((const char *)table.data, table.size);
    if (known->text) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        kw_error_set(&ret_failure->error, known->code, known->text, name);
#pragma GCC diagnostic pop
        return;
    }
    char plain[300];
    kw_hbase_plain_text(message, plain, sizeof plain);
    kw_error_set(&ret_failure->error, known->code, "the store refused: %s", plain);
}

/* Recognizes "...NoSuchColumnFamilyException: Column family x does not exist in region ...". */
static bool
is_missing_family(kw_bytes message, kw_bytes table, kw_hbase_failure *ret_failure)
{
    static const char before[] = "Column family ", after[] = " does not exist";
    if (!contains(message, "NoSuchColumnFamilyException"))
        return false;
    const char *end = (const char *)message.data + message.size;
    const char *from = memmem(message.data, message.size, before, sizeof before - 1);
    from = from ? from + sizeof before - 1 : end;
    const char *to = memmem(from, (size_t)(end - from), after, sizeof after - 1);
    int size = to ? (int)MIN(to - from, 200) : 0;
    ret_failure->kind = KW_HBASE_OTHER;
    kw_error_set(&ret_failure->error, KW_INVALID, "store table '%.*s' has no column family '%.*s'",
                 (int)table.size, (const char *)table.data, size, size ? from : "");
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

void
kw_hbase_failure_of_io(kw_bytes message, bool can_retry, kw_bytes table, bool changes,
                       kw_hbase_failure *ret_failure)
{
    *ret_failure = (kw_hbase_failure){.kind = KW_HBASE_OTHER};
    if (is_missing_family(message, table, ret_failure))
        return;
    /* For an unknown table the message is only its name. */
    if ((!can_retry && is_name_of(message, table)) || is_multi_of_unknown(message, without_default(table))) {
        set_known(&known_texts[0], message, table, ret_failure);
        return;
    }
    for (size_t i = 0; i < G_N_ELEMENTS(known_texts); i++) {
        if (contains(message, known_texts[i].needle)) {
            set_known(&known_texts[i], message, table, ret_failure);
            ret_failure->error.maybe_applied = changes && !known_texts[i].not_applied;
            return;
        }
    }
    char plain[300];
    kw_hbase_plain_text(message, plain, sizeof plain);
    ret_failure->kind = can_retry ? KW_HBASE_TEMPORARY : KW_HBASE_OTHER;
    kw_error_set(&ret_failure->error, can_retry ? KW_UNAVAILABLE : KW_REFUSED, "the store %s: %s",
                 can_retry ? "failed temporarily" : "refused", *plain ? plain : "no reason given");
    ret_failure->error.maybe_applied = changes && can_retry;
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
    char plain[300];
    kw_hbase_plain_text(message, plain, sizeof plain);
    bool gone = contains(message, "Invalid scanner Id");
    *ret_failure = (kw_hbase_failure){.kind = gone ? KW_HBASE_SCANNER_GONE : KW_HBASE_OTHER};
    kw_error_set(&ret_failure->error, gone ? KW_UNAVAILABLE : KW_REFUSED,
                 gone ? "the scan expired in the store" : "the store refused: %s", plain);
}

void
kw_hbase_failure_of_exception(kw_wire_exception_type type, kw_bytes text, kw_hb_method method, bool changes,
                              kw_hbase_failure *ret_failure)
{
    const char *name = kw_hb_methods[method].name;
    char plain[200];
    kw_hbase_plain_text(text, plain, sizeof plain);
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
        kw_error_set(&ret_failure->error, KW_INTERNAL, "the Thrift2 server did not understand %s: %s", name,
                     plain);
        break;
    }
    ret_failure->error.maybe_applied = changes && type != KW_WIRE_EXCEPTION_PROTOCOL_ERROR;
}
