/* Runs the contract's tests on the hbase store with a real HBase:
 *
 *   KW_HBASE_THRIFT=127.0.0.1:9090 test_contract_hbase [--framed] [GLib's test options]
 *
 * Without KW_HBASE_THRIFT the address comes from the fixture's file in KW_HBASE_ENV: that of the framed
 * compact server with --framed, else of the buffered binary one. Without both, the test is skipped (77).
 */
#include "contract/contract.h"
#include "contract/hbase_place.h"
#include "support/patient_hbase.h"
#include "support/seeded.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SKIPPED 77

static kw_model_server server;
static kw_model_hbase settings = {.servers = &server,
                                  .servers_count = 1,
                                  .tls = {.certificate = "", .key = "", .ca = "", .server_name = ""},
                                  .channels = 4};

static kw_store *
open_store(void)
{
    return patient_hbase_open(&settings);
}

int
main(int argc, char **argv)
{
    bool framed = argc > 1 && strcmp(argv[1], "--framed") == 0;
    if (framed)
        memmove(argv + 1, argv + 2, (size_t)(argc-- - 1) * sizeof *argv);
    g_autoptr(kw_hbase_place) place = kw_hbase_place_find(framed);
    if (!place->host) {
        printf("1..0 # SKIP %s\n", place->why);
        return SKIPPED;
    }
    kw_contract_loses_attributes = framed;
    server.host = place->host;
    server.port = place->port;
    seeded_init(&argc, &argv);
    g_autofree char *prefix = g_strdup_printf("kwc_%d_%08x", (int)getpid(), (unsigned)kw_random_u64());
    kw_contract_add_tests(prefix, open_store);
    int failed = g_test_run();
    kw_contract_finish();
    return failed;
}
