#include "contract/hbase_place.h"
#include "support/patient_hbase.h"

#include <stdlib.h>
#include <string.h>

/* The value of the line NAME=value, or NULL; free it with g_free. */
static char *
value_of(char **lines, const char *name)
{
    for (char **line = lines; *line; line++)
        if (g_str_has_prefix(*line, name) && (*line)[strlen(name)] == '=')
            return g_strdup(*line + strlen(name) + 1);
    return NULL;
}

/* host:port, or NULL and the reason if there is no HBase; free both with g_free. */
static char *
find_place(bool framed, char **ret_why)
{
    const char *given = getenv("KW_HBASE_THRIFT"), *file = getenv("KW_HBASE_ENV");
    if (given)
        return g_strdup(given);
    g_autofree char *text = NULL;
    if (!file || !g_file_get_contents(file, &text, NULL, NULL)) {
        *ret_why = g_strdup("neither KW_HBASE_THRIFT nor KW_HBASE_ENV gives the address of an HBase");
        return NULL;
    }
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    *ret_why = value_of(lines, "KW_HBASE_SKIP");
    return value_of(lines, framed ? "KW_HBASE_FRAMED" : "KW_HBASE_BUFFERED");
}

kw_hbase_place *
kw_hbase_place_find(bool framed)
{
    kw_hbase_place *place = g_new0(kw_hbase_place, 1);
    g_autofree char *text = find_place(framed, &place->why);
    const char *colon = text ? strrchr(text, ':') : NULL;
    if (colon) {
        place->host = g_strndup(text, (gsize)(colon - text));
        place->port = (uint16_t)strtoul(colon + 1, NULL, 10);
    } else if (!place->why) {
        place->why = g_strdup("no HBase");
    }
    return place;
}

void
kw_hbase_place_free(kw_hbase_place *place)
{
    g_free(place->host);
    g_free(place->why);
    g_free(place);
}

kw_store *
kw_hbase_place_open(const kw_hbase_place *place)
{
    static kw_model_server server;
    server.host = place->host;
    server.port = place->port;
    kw_model_hbase settings = {.servers = &server,
                               .servers_count = 1,
                               .tls = {.certificate = "", .key = "", .ca = "", .server_name = ""},
                               .channels = 2};
    return patient_hbase_open(&settings);
}
