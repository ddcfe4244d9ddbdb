/* Checks the settings of sequences: parses the URL of Redis. Its password must not get into a message, so no
 * message contains a part of the URL. */
#include "config/check.h"

#include "config/read.h"

#include <string.h>

#define PORT_DEFAULT 6379
#define DATABASE_MAX 65535

static const char form[] = "write redis://HOST:PORT/DATABASE, such as redis://127.0.0.1:6379/0; a user and a "
                           "password are redis://USER:PASSWORD@HOST, with %40 for @, %3A for : and %2F for /";

static const char *
copy(kw_read *read, const char *text)
{
    return text ? kw_memory_text(read->memory, text, strlen(text)) : "";
}

/* "", "/" or "/NUMBER". */
static bool
parse_database(const char *path, int64_t *ret_database)
{
    guint64 number = 0;
    if (*path == '/')
        path++;
    bool good = !*path || g_ascii_string_to_unsigned(path, 10, 0, DATABASE_MAX, &number, NULL);
    *ret_database = (int64_t)number;
    return good;
}

static bool
copy_url(kw_read *read, GUri *url, kw_model_sequences *sequences)
{
    int port = g_uri_get_port(url);
    const char *host = g_uri_get_host(url);
    if (!g_str_equal(g_uri_get_scheme(url), "redis") || !host || !*host || port == 0 ||
        g_uri_get_query(url) || g_uri_get_fragment(url) ||
        !parse_database(g_uri_get_path(url), &sequences->redis_database))
        return false;
    sequences->redis = true;
    sequences->redis_host = copy(read, host);
    sequences->redis_port = port < 0 ? PORT_DEFAULT : (uint16_t)port;
    sequences->redis_user = copy(read, g_uri_get_user(url));
    sequences->redis_password = copy(read, g_uri_get_password(url));
    return true;
}

static void
read_url(kw_read *read, const kw_node *node, kw_model_sequences *sequences)
{
    size_t place = kw_read_enter(read, "redis", 0);
    bool tls = g_ascii_strncasecmp(sequences->redis_url, "rediss:", strlen("rediss:")) == 0;
    GUri *url = tls ? NULL : g_uri_parse(sequences->redis_url, G_URI_FLAGS_HAS_PASSWORD, NULL);
    if (tls)
        kw_read_problem(read, node->mark,
                        "write redis://, and let a TLS terminator on this machine connect to Redis",
                        "TLS to Redis is not supported");
    else if (!url || !copy_url(read, url, sequences))
        kw_read_problem(read, node->mark, form, "is not the URL of a Redis");
    if (url)
        g_uri_unref(url);
    kw_read_leave(read, place);
    if (*sequences->redis_password) {
        kw_secret_span span = {node->start, node->end};
        g_array_append_val(read->secrets, span);
    }
}

void
kw_check_sequences(kw_read *read, const kw_node *node, void *section)
{
    kw_model_sequences *sequences = &((kw_draft *)section)->model.sequences;
    sequences->redis_host = sequences->redis_user = sequences->redis_password = "";
    if (!node)
        return;
    if (*sequences->redis_url)
        read_url(read, kw_node_find(node, "redis"), sequences);
    const kw_node *file = kw_node_find(node, "redis_password_file");
    if (file && *sequences->redis_password)
        kw_read_problem(read, file->mark, "remove one of them",
                        "has both redis_password_file and a password in redis");
}

const char *
kw_sequences_table_name(kw_memory *memory, const char *catalog)
{
    static const char end[] = "_catalog";
    size_t size = strlen(catalog) - (g_str_has_suffix(catalog, end) ? strlen(end) : 0);
    return kw_memory_printf(memory, "%.*s_sequences", (int)size, catalog);
}
