/* Runs the contract's tests on the hbase store with the simulated HBase of tests/histories, which other tests
 * trust: its rows, versions, delete markers and descriptions of tables must be those of HBase. CMakeLists.txt
 * names the tests of what it does not simulate.
 */
#include "contract/contract.h"
#include "contract/simulated_place.h"
#include "support/seeded.h"

#include <unistd.h>

int
main(int argc, char **argv)
{
    seeded_init(&argc, &argv);
    g_autofree char *prefix = g_strdup_printf("kws_%d", (int)getpid());
    kw_contract_loses_attributes = true;
    kw_contract_add_tests(prefix, kw_simulated_place_open);
    int failed = g_test_run();
    kw_contract_finish();
    return failed;
}
