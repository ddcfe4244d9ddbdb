/* Removals and renewals with their association, with faults, on a real HBase (see gone.h and renewed.h in
 * tests/unit/verb). KW_HBASE_THRIFT is its address, or KW_HBASE_ENV the fixture's file; otherwise the test is
 * skipped (77). */
#include "contract/hbase_place.h"
#include "unit/verb/gone.h"
#include "unit/verb/renewed.h"

#include <stdio.h>
#include <unistd.h>

#define SKIPPED 77

static kw_hbase_place *place;

static void
test_gone(void)
{
    g_autofree char *name = g_strdup_printf("gone_%d_%08x", (int)getpid(), (unsigned)kw_random_u64());
    gone_integration_test(kw_hbase_place_open(place), name);
}

static void
test_renewed(void)
{
    g_autofree char *name = g_strdup_printf("renewed_%d_%08x", (int)getpid(), (unsigned)kw_random_u64());
    renewed_integration_test(kw_hbase_place_open(place), name);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    place = kw_hbase_place_find(false);
    if (!place->host) {
        printf("1..0 # SKIP %s\n", place->why);
        return SKIPPED;
    }
    g_test_add_func("/verb/hbase/gone", test_gone);
    g_test_add_func("/verb/hbase/renewed", test_renewed);
    int failed = g_test_run();
    kw_hbase_place_free(place);
    return failed;
}
