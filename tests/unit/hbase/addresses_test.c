/* A Thrift2 server whose name has several addresses. */
#include "fixture.h"
#include "support/black_hole.h"
#include "support/several_addresses.h"

#include <unistd.h>

/* A put must succeed although the addresses before the server's do not work. */
static void
expect_put(const several_address *bad, size_t bad_count)
{
    several_address all[4];
    fixture on;
    kw_model_hbase settings = fixture_init(&on, 1, FRAMED_COMPACT);
    on.bed.tuning.connect_timeout_ms = 3000;
    memcpy(all, bad, bad_count * sizeof *bad);
    all[bad_count] = (several_address){"127.0.0.1", thrift2_fake_port(on.fakes[0])};
    several_addresses_set(all, bad_count + 1);
    on.servers[0].host = "several";
    fixture_open(&on, &settings);
    fixture_ok(fixture_put(&on, "r", 5, 60000));
    fixture_stop(&on);
}

KW_TEST(test_an_address_that_refuses, "/hbase/addresses/refuses")
{
    black_hole free_port = black_hole_open("127.0.0.1", 0);
    black_hole_close(&free_port);
    expect_put(&(several_address){"127.0.0.1", free_port.port}, 1);
}

KW_TEST(test_addresses_that_do_not_answer, "/hbase/addresses/silent")
{
    black_hole one = black_hole_open("127.0.0.1", 0), two = black_hole_open("127.0.0.1", 0);
    expect_put((const several_address[]){{"127.0.0.1", one.port}, {"127.0.0.1", two.port}}, 2);
    black_hole_close(&one);
    black_hole_close(&two);
}

/* The store handle can be closed while an address does not answer. */
KW_TEST(test_close_while_connecting, "/hbase/addresses/close")
{
    black_hole hole = black_hole_open("127.0.0.1", 0);
    several_address all[] = {{"127.0.0.1", hole.port}, {"127.0.0.1", hole.port}};
    fixture on;
    kw_model_hbase settings = fixture_init(&on, 1, FRAMED_COMPACT);
    on.bed.tuning.connect_timeout_ms = 1000;
    several_addresses_set(all, 2);
    on.servers[0].host = "several";
    fixture_open(&on, &settings);
    fixture_failed(fixture_get(&on, "r", 800), 0, KW_TIMEOUT); /* during the second address */
    fixture_stop(&on);
    black_hole_close(&hole);
}
