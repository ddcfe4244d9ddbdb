/* The contract, held by the hbase store against a real HBase:
 *
 *   KW_HBASE_THRIFT=127.0.0.1:9090 test_contract_hbase [--framed] [--compact] [GLib's test options]
 *
 * The options say how that Thrift2 server was started. Without KW_HBASE_THRIFT the place is taken from
 * the fixture's file in KW_HBASE_ENV; without that, too, the test is skipped (77).
 */
#include "contract/contract.h"
#include "store/hbase/hbase.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define SKIPPED 77

static kw_model_server server;
static kw_model_hbase settings = {.servers = &server,
                                  .servers_count = 1,
                                  .tls = {.certificate = "", .key = "", .ca = "", .server_name = ""},
                                  .channels = 4,
                                  .pipeline = 1,
                                  .connect_timeout_ms = 2000,
                                  .ping_ms = 20000,
                                  .rest_ms = 1000,
                                  .batch_bytes = 1 << 20,
                                  .retry_percent = 20};

static kw_store *
open_store(void)
{
    kw_error error;
    kw_store *store = kw_hbase_open(&settings, &error);
    if (!store)
        g_error("%s", error.text);
    return store;
}

/* Takes our own options out of the arguments. */
static void
take_options(int *argc, char **argv)
{
    int kept = 1;
    for (int i = 1; i < *argc; i++) {
        if (strcmp(argv[i], "--framed") == 0)
            settings.framed = true;
        else if (strcmp(argv[i], "--compact") == 0)
            settings.compact = true;
        else
            argv[kept++] = argv[i];
    }
    argv[kept] = NULL;
    *argc = kept;
}

/* The line NAME=value, NULL when there is none; to be freed. */
static char *
value_of(char **lines, const char *name)
{
    for (char **line = lines; *line; line++)
        if (g_str_has_prefix(*line, name) && (*line)[strlen(name)] == '=')
            return g_strdup(*line + strlen(name) + 1);
    return NULL;
}

/* host:port; NULL when there is no HBase, and then why, both to be freed. */
static char *
find_place(char **ret_why)
{
    const char *given = getenv("KW_HBASE_THRIFT"), *file = getenv("KW_HBASE_ENV");
    if (given)
        return g_strdup(given);
    g_autofree char *text = NULL;
    if (!file || !g_file_get_contents(file, &text, NULL, NULL)) {
        *ret_why = g_strdup("neither KW_HBASE_THRIFT nor KW_HBASE_ENV says where an HBase is");
        return NULL;
    }
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    *ret_why = value_of(lines, "KW_HBASE_SKIP");
    return value_of(lines, settings.framed ? "KW_HBASE_FRAMED" : "KW_HBASE_BUFFERED");
}

int
main(int argc, char **argv)
{
    take_options(&argc, argv);
    g_autofree char *why = NULL;
    g_autofree char *place = find_place(&why);
    const char *colon = place ? strrchr(place, ':') : NULL;
    if (!colon) {
        printf("1..0 # SKIP %s\n", why ? why : "no HBase");
        return SKIPPED;
    }
    g_autofree char *host = g_strndup(place, (size_t)(colon - place));
    server.host = host;
    server.port = (uint16_t)strtoul(colon + 1, NULL, 10);
    g_test_init(&argc, &argv, NULL);
    g_autofree char *prefix = g_strdup_printf("kwc_%d_%08x", (int)getpid(), (unsigned)kw_random_u64());
    kw_contract_add_tests(prefix, open_store);
    int failed = g_test_run();
    kw_contract_finish();
    return failed;
}
