/* How many connections each peer has, for a limit that keeps one of them from taking all. A peer is the
 * subject of a verified client certificate, or else an address: of IPv6 the network of 64 bits, since one
 * host has all addresses of it. Any thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

typedef struct kw_peers kw_peers;

#define KW_PEER_NAME_MAX 64

kw_peers *kw_peers_new(void);
void kw_peers_free(kw_peers *peers);

/* The peer that an address belongs to, as text; to has KW_PEER_NAME_MAX bytes. */
void kw_peers_name(const struct sockaddr *address, char *to);

/* One more connection of the peer; false: it has `most` already. */
bool kw_peers_enter(kw_peers *peers, const char *name, size_t most);
void kw_peers_leave(kw_peers *peers, const char *name);
