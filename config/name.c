/* Names and addresses: Keyway's own rules for fields and tables, HBase's rules for store tables,
 * namespaces, families and columns (defined by org.apache.hadoop.hbase.TableName and
 * ColumnFamilyDescriptorBuilder). */
#include "config/parse.h"

#include <arpa/inet.h>
#include <string.h>

#define FIELD_BYTES_MAX 64
#define TABLE_BYTES_MAX 128
#define STORE_TABLE_BYTES_MAX 200
#define FAMILY_BYTES_MAX 127
#define COLUMN_BYTES_MAX 1000

static bool
refuse(kw_refusal *ret_refusal, const char *why, const char *hint)
{
    *ret_refusal = (kw_refusal){why, hint};
    return false;
}

static bool
only_of(const char *text, size_t size, const char *others)
{
    for (size_t i = 0; i < size; i++)
        if (!g_ascii_isalnum(text[i]) && !strchr(others, text[i]))
            return false;
    return true;
}

static bool
field_name(const char *text, kw_refusal *ret_refusal)
{
    size_t size = strlen(text);
    bool legal = size > 0 && !g_ascii_isdigit(text[0]);
    for (size_t i = 0; i < size; i++)
        legal = legal && (g_ascii_islower(text[i]) || g_ascii_isdigit(text[i]) || text[i] == '_');
    if (!legal)
        return refuse(ret_refusal, "is not a legal name",
                      "use a to z, 0 to 9 and _, and start with a letter or _: order_id");
    if (size > FIELD_BYTES_MAX)
        return refuse(ret_refusal, "is too long for a name", "at most 64 characters");
    return true;
}

static bool
table_qualifier(const char *text, size_t size, size_t most, kw_refusal *ret_refusal)
{
    if (size == 0 || !only_of(text, size, "_.-") || text[0] == '.' || text[0] == '-')
        return refuse(ret_refusal, "is not a legal table name",
                      "use letters, digits, '_', '.' and '-', and do not start with '.' or '-'");
    if (size > most)
        return refuse(ret_refusal, "is too long for a table name", "at most 128 bytes; 200 for store tables");
    if (size == strlen("zookeeper") && memcmp(text, "zookeeper", size) == 0)
        return refuse(ret_refusal, "is a name that HBase reserves", NULL);
    return true;
}

static bool
store_table_name(const char *text, kw_refusal *ret_refusal)
{
    const char *colon = strchr(text, ':');
    if (!colon)
        return table_qualifier(text, strlen(text), STORE_TABLE_BYTES_MAX, ret_refusal);
    size_t size = (size_t)(colon - text);
    if (size == 0 || !only_of(text, size, "_"))
        return refuse(ret_refusal, "has an illegal namespace",
                      "namespace:table; a namespace has letters, digits and '_'");
    if ((size == 5 && memcmp(text, "hbase", 5) == 0) || (size == 9 && memcmp(text, "zookeeper", 9) == 0))
        return refuse(ret_refusal, "is in a namespace that HBase reserves", NULL);
    if (size >= STORE_TABLE_BYTES_MAX)
        return refuse(ret_refusal, "is too long for a table name", "at most 200 bytes");
    return table_qualifier(colon + 1, strlen(colon + 1), STORE_TABLE_BYTES_MAX - size - 1, ret_refusal);
}

static bool
family_name(const char *text, size_t size, kw_refusal *ret_refusal)
{
    bool legal = size > 0 && text[0] != '.';
    for (size_t i = 0; i < size; i++)
        legal = legal && !g_ascii_iscntrl(text[i]) && !strchr(":/\\", text[i]);
    if (!legal)
        return refuse(ret_refusal, "is not a legal column family",
                      "use a short name such as d, without control characters, ':', '/' or '\\', and do not "
                      "start with '.'");
    if (size > FAMILY_BYTES_MAX)
        return refuse(ret_refusal, "is too long for a column family",
                      "at most 127 bytes; one letter is best");
    if (size == strlen("recovered.edits") && memcmp(text, "recovered.edits", size) == 0)
        return refuse(ret_refusal, "is a name that HBase reserves", NULL);
    return true;
}

bool
kw_parse_binary(const char *text, uint8_t *out, size_t *ret_size)
{
    size_t size = 0;
    while (*text) {
        if (*text != '\\') {
            out[size++] = (uint8_t)*text++;
            continue;
        }
        if (text[1] != 'x' || !g_ascii_isxdigit(text[2]) || !g_ascii_isxdigit(text[3]))
            return false;
        out[size++] = (uint8_t)(g_ascii_xdigit_value(text[2]) * 16 + g_ascii_xdigit_value(text[3]));
        text += 4;
    }
    *ret_size = size;
    return true;
}

static bool
escaped_bytes(const char *text, kw_refusal *ret_refusal)
{
    g_autofree uint8_t *bytes = g_malloc(strlen(text) + 1);
    size_t size;
    if (!kw_parse_binary(text, bytes, &size))
        return refuse(ret_refusal, "has a bad escape",
                      "write a byte as \\xNN with two hex digits, and a backslash as \\x5c");
    return true;
}

static bool
column_name(const char *text, kw_refusal *ret_refusal)
{
    const char *colon = strchr(text, ':');
    if (!colon || !colon[1])
        return refuse(ret_refusal, "is not a column", "write family:qualifier, such as d:status");
    if (strlen(colon + 1) > COLUMN_BYTES_MAX)
        return refuse(ret_refusal, "is too long for a column", "at most 1000 bytes after the ':'");
    return family_name(text, (size_t)(colon - text), ret_refusal) && escaped_bytes(colon + 1, ret_refusal);
}

static bool
looks_numeric(const char *text)
{
    return *text && strspn(text, "0123456789.") == strlen(text);
}

static bool
host_name(const char *text, kw_refusal *ret_refusal)
{
    struct in_addr ipv4;
    size_t size = strlen(text), label = 0;
    if (size == 0)
        return refuse(ret_refusal, "has no host",
                      "use 0.0.0.0 for all interfaces, or 127.0.0.1 for this machine only");
    if (looks_numeric(text) && inet_pton(AF_INET, text, &ipv4) != 1)
        return refuse(ret_refusal, "is not an IPv4 address", "write four numbers from 0 to 255: 127.0.0.1");
    bool legal = size <= 253 && only_of(text, size, "-._");
    for (size_t i = 0; i < size; i++) {
        legal = legal && !(label == 0 && (text[i] == '.' || text[i] == '-'));
        label = text[i] == '.' ? 0 : label + 1;
        legal = legal && label <= 63;
    }
    if (!legal)
        return refuse(ret_refusal, "has an illegal host",
                      "write a name, an IPv4 address, or an IPv6 address in brackets");
    return true;
}

static bool
port_number(const char *text, uint16_t *ret_port, kw_refusal *ret_refusal)
{
    int64_t port;
    if (!kw_parse_int(text, &port, ret_refusal) || port < 0 || port > 65535 || *text == '-')
        return refuse(ret_refusal, "has an illegal port", "write a port from 0 to 65535 after the last ':'");
    *ret_port = (uint16_t)port;
    return true;
}

static bool
ipv6_address(kw_memory *memory, const char *text, uint16_t default_port, const char **ret_host,
             uint16_t *ret_port, kw_refusal *ret_refusal)
{
    struct in6_addr ipv6;
    const char *close = strchr(text, ']');
    if (!close || (close[1] && close[1] != ':'))
        return refuse(ret_refusal, "is not an address", "write an IPv6 address in brackets: [::1]:9595");
    char *host = kw_memory_text(memory, text + 1, (size_t)(close - text) - 1);
    if (inet_pton(AF_INET6, host, &ipv6) != 1)
        return refuse(ret_refusal, "is not an IPv6 address",
                      "such as [::1]:9595; zones (%eth0) are not supported");
    if (!close[1] && !default_port)
        return refuse(ret_refusal, "has no port", "write host:port, such as [::1]:9595");
    *ret_host = host;
    *ret_port = default_port;
    return !close[1] || port_number(close + 2, ret_port, ret_refusal);
}

bool
kw_parse_address(kw_memory *memory, const char *text, uint16_t default_port, const char **ret_host,
                 uint16_t *ret_port, kw_refusal *ret_refusal)
{
    if (*text == '[')
        return ipv6_address(memory, text, default_port, ret_host, ret_port, ret_refusal);
    const char *colon = strchr(text, ':');
    if (colon && strchr(colon + 1, ':'))
        return refuse(ret_refusal, "is not an address", "write an IPv6 address in brackets: [::1]:9595");
    if (!colon && !default_port)
        return refuse(ret_refusal, "has no port", "write host:port, such as 127.0.0.1:9595");
    char *host = kw_memory_text(memory, text, colon ? (size_t)(colon - text) : strlen(text));
    if (!host_name(host, ret_refusal))
        return false;
    *ret_host = host;
    *ret_port = default_port;
    return !colon || port_number(colon + 1, ret_port, ret_refusal);
}

bool
kw_parse_name(kw_name_rule rule, const char *text, kw_refusal *ret_refusal)
{
    switch (rule) {
    case KW_NAME_ANY:
        return true;
    case KW_NAME_FIELD:
        return field_name(text, ret_refusal);
    case KW_NAME_TABLE:
        return table_qualifier(text, strlen(text), TABLE_BYTES_MAX, ret_refusal);
    case KW_NAME_STORE_TABLE:
        return store_table_name(text, ret_refusal);
    case KW_NAME_FAMILY:
        return family_name(text, strlen(text), ret_refusal);
    case KW_NAME_COLUMN:
        return column_name(text, ret_refusal);
    case KW_NAME_SPLIT_KEY:
        return escaped_bytes(text, ret_refusal);
    case KW_NAME_HOST:
        return host_name(text, ret_refusal);
    }
    g_assert_not_reached();
}

typedef struct name_form {
    const char *pattern;
    const char *words;
} name_form;

static const name_form name_forms[] = {
    [KW_NAME_ANY] = {NULL, "string"},
    [KW_NAME_FIELD] = {"^[a-z_][a-z0-9_]{0,63}$", "name of a-z, 0-9 and _"},
    [KW_NAME_TABLE] = {"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$", "name of letters, digits, _, . and -"},
    [KW_NAME_STORE_TABLE] = {"^([A-Za-z0-9_]+:)?[A-Za-z0-9_][A-Za-z0-9_.-]*$",
                             "HBase table, name or namespace:name"},
    [KW_NAME_FAMILY] = {"^[^.:/\\\\][^:/\\\\]*$", "HBase column family"},
    [KW_NAME_COLUMN] = {"^[^.:/\\\\][^:/\\\\]*:([^\\\\]|\\\\x[0-9A-Fa-f]{2})+$", "column, family:qualifier"},
    [KW_NAME_SPLIT_KEY] = {"^([^\\\\]|\\\\x[0-9A-Fa-f]{2})+$", "bytes, as text with \\xNN escapes"},
    [KW_NAME_HOST] = {"^[A-Za-z0-9._-]+$", "host name"},
};

const char *
kw_name_pattern(kw_name_rule rule)
{
    return name_forms[rule].pattern;
}

const char *
kw_name_words(kw_name_rule rule)
{
    return name_forms[rule].words;
}
