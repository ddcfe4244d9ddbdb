/* Counts the connections of each peer, so that a limit keeps one peer from using up all connections. A peer
 * is the subject of a verified client certificate (its first name if the subject is empty), or without one an
 * IPv4 address or an IPv6 /64 network. A single host can use all addresses of a /64 network. Any thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

typedef struct kw_peers kw_peers;

#define KW_PEER_ADDRESS_MAX 64

kw_peers *kw_peers_new(void);
void kw_peers_free(kw_peers *peers);

/* Writes the name of the peer that an address belongs to; `to` has KW_PEER_ADDRESS_MAX bytes. */
void kw_peers_name_of_address(const struct sockaddr *address, char *to);

/* Counts one more connection of the peer. False if it already has `most`. */
bool kw_peers_enter(kw_peers *peers, const char *name, size_t most);
void kw_peers_leave(kw_peers *peers, const char *name);
