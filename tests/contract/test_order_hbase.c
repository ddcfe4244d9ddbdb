/* Runs the tests of copies, sweeps and atomic operations on store/order over the hbase store:
 *
 *   test_order_hbase --simulated          over the simulated HBase, in this process
 *   test_order_hbase [--framed]           over a real HBase
 *
 * The address of the real one comes from KW_HBASE_THRIFT, or from the fixture's file in KW_HBASE_ENV; without
 * both, the test is skipped (77).
 */
#include "contract/contract.h"
#include "contract/hbase_place.h"
#include "contract/simulated_place.h"
#include "store/order/order.h"
#include "support/patient_hbase.h"
#include "support/seeded.h"

#include <stdio.h>
#include <unistd.h>

#define SKIPPED 77

static kw_model_server server;
static kw_model_hbase settings = {.servers = &server,
                                  .servers_count = 1,
                                  .tls = {.certificate = "", .key = "", .ca = "", .server_name = ""},
                                  .channels = 4,
                                  .client_pause_ms = 100,
                                  .max_clock_skew_ms = 20,
                                  .late_ms = 60000};

static kw_store *
open_store(void)
{
    static const kw_order_settings order = {
        .clock_width_ms = 1000, .max_clock_skew_ms = 20, .late_ms = 60000, .client_pause_ms = 100};
    return kw_order_store_new(patient_hbase_open(&settings), &order);
}

static bool
find_hbase(bool framed)
{
    kw_hbase_place *place = kw_hbase_place_find(framed); /* lives as long as the process */
    server = (kw_model_server){.host = place->host, .port = place->port};
    if (!place->host)
        printf("1..0 # SKIP %s\n", place->why);
    return place->host;
}

int
main(int argc, char **argv)
{
    bool given = argc > 1, simulated = given && g_str_equal(argv[1], "--simulated"),
         framed = given && g_str_equal(argv[1], "--framed");
    if (simulated || framed) {
        memmove(argv + 1, argv + 2, (size_t)(argc - 1) * sizeof *argv);
        argc--;
    }
    if (simulated)
        kw_simulated_place_start(&settings);
    else if (!find_hbase(framed))
        return SKIPPED;
    seeded_init(&argc, &argv);
    g_autofree char *prefix = g_strdup_printf("kwo_%d_%08x", (int)getpid(), (unsigned)kw_random_u64());
    kw_contract_add_tests_of_order(prefix, open_store);
    int failed = g_test_run();
    kw_contract_finish();
    return failed;
}
