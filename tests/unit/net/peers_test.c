/* The names of peers, and how many connections each has. */
#include "net/peers.h"

#include <arpa/inet.h>
#include <glib.h>
#include <sys/un.h>

static void
assert_name_of_six(const char *address, const char *name)
{
    char got[KW_PEER_ADDRESS_MAX];
    struct sockaddr_in6 six = {.sin6_family = AF_INET6};
    g_assert_cmpint(inet_pton(AF_INET6, address, &six.sin6_addr), ==, 1);
    kw_peers_name_of_address((struct sockaddr *)&six, got);
    g_assert_cmpstr(got, ==, name);
}

KW_TEST(test_names, "/net/peers/names")
{
    char name[KW_PEER_ADDRESS_MAX];
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_addr.s_addr = g_htonl(0x0a010203)};
    kw_peers_name_of_address((struct sockaddr *)&four, name);
    g_assert_cmpstr(name, ==, "10.1.2.3");
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    kw_peers_name_of_address((struct sockaddr *)&local, name);
    g_assert_cmpstr(name, ==, "unknown");
    assert_name_of_six("::ffff:10.1.2.3", "10.1.2.3");
    assert_name_of_six("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::");
    assert_name_of_six("2001:db8:1:2:ffff:ffff:ffff:ffff", "2001:db8:1:2::");
    assert_name_of_six("2001:db8:1:3:3:4:5:6", "2001:db8:1:3::");
}

KW_TEST(test_limit, "/net/peers/limit")
{
    kw_peers *peers = kw_peers_new();
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 3; i++)
            g_assert_true(kw_peers_enter(peers, "10.0.0.1", 3));
        g_assert_false(kw_peers_enter(peers, "10.0.0.1", 3));
        g_assert_true(kw_peers_enter(peers, "10.0.0.2", 3));
        kw_peers_leave(peers, "10.0.0.1");
        g_assert_true(kw_peers_enter(peers, "10.0.0.1", 3));
        g_assert_false(kw_peers_enter(peers, "10.0.0.1", 3));
        for (int i = 0; i < 3; i++)
            kw_peers_leave(peers, "10.0.0.1");
        kw_peers_leave(peers, "10.0.0.2");
    }
    g_assert_false(kw_peers_enter(peers, "10.0.0.3", 0));
    kw_peers_free(peers);
}
