#include "net/peers.h"

#include "base/thread.h"

#include <arpa/inet.h>
#include <glib.h>
#include <netinet/in.h>
#include <string.h>

struct kw_peers {
    kw_mutex lock;
    GHashTable *counts; /* name -> connections */
};

kw_peers *
kw_peers_new(void)
{
    kw_peers *peers = g_new0(kw_peers, 1);
    kw_mutex_init(&peers->lock);
    peers->counts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    return peers;
}

void
kw_peers_free(kw_peers *peers)
{
    g_assert(g_hash_table_size(peers->counts) == 0);
    g_hash_table_destroy(peers->counts);
    kw_mutex_clear(&peers->lock);
    g_free(peers);
}

static void
name_ipv6(const struct sockaddr_in6 *ipv6, char *to)
{
    struct in6_addr network = ipv6->sin6_addr;
    if (IN6_IS_ADDR_V4MAPPED(&network)) {
        inet_ntop(AF_INET, &network.s6_addr[12], to, KW_PEER_ADDRESS_MAX);
        return;
    }
    memset(&network.s6_addr[8], 0, 8);
    inet_ntop(AF_INET6, &network, to, KW_PEER_ADDRESS_MAX);
}

void
kw_peers_name_of_address(const struct sockaddr *address, char *to)
{
    if (address->sa_family == AF_INET6)
        name_ipv6((const struct sockaddr_in6 *)(const void *)address, to);
    else if (address->sa_family == AF_INET)
        inet_ntop(AF_INET, &((const struct sockaddr_in *)(const void *)address)->sin_addr, to,
                  KW_PEER_ADDRESS_MAX);
    else
        g_strlcpy(to, "unknown", KW_PEER_ADDRESS_MAX);
}

bool
kw_peers_enter(kw_peers *peers, const char *name, size_t most)
{
    kw_mutex_lock(&peers->lock);
    size_t count = GPOINTER_TO_SIZE(g_hash_table_lookup(peers->counts, name));
    bool allowed = count < most;
    if (allowed)
        g_hash_table_insert(peers->counts, g_strdup(name), GSIZE_TO_POINTER(count + 1));
    kw_mutex_unlock(&peers->lock);
    return allowed;
}

void
kw_peers_leave(kw_peers *peers, const char *name)
{
    kw_mutex_lock(&peers->lock);
    size_t count = GPOINTER_TO_SIZE(g_hash_table_lookup(peers->counts, name));
    g_assert(count > 0);
    if (count > 1)
        g_hash_table_insert(peers->counts, g_strdup(name), GSIZE_TO_POINTER(count - 1));
    else
        g_hash_table_remove(peers->counts, name);
    kw_mutex_unlock(&peers->lock);
}
