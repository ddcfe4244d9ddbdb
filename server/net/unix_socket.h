/* Internal to net: sockets in the file system, and who is at their other end.
 *
 * The file PATH.lock, which stays, shows that a gateway uses PATH: only a process that holds the lock on it
 * removes a socket that an earlier process left, and only if no process listens at the socket. Any thread. */
#pragma once

#include "access/principal.h"
#include "base/error.h"

#include <sys/types.h>

typedef struct kw_unix_socket {
    char *path;
    int lock;     /* descriptor of PATH.lock */
    dev_t device; /* this and the next one: of the socket's file */
    ino_t inode;
} kw_unix_socket;

/* Binds a socket to the path, with the permissions `mode` of its file, and does not listen yet. UNAVAILABLE,
 * which names the path, if another process uses it, if it is something else than a socket, or if it cannot be
 * created. */
bool kw_unix_socket_bind(const char *path, mode_t mode, kw_unix_socket *ret_socket, int *ret_bound,
                         kw_error *ret_error);

/* Removes the socket from the file system, unless another file has its path now, and gives up the lock. */
void kw_unix_socket_remove(kw_unix_socket *socket);

/* The peer of a connected Unix socket, when it connected. NULL if the kernel does not say. If its groups do
 * not all fit into a principal, it has only its own group. */
kw_principal *kw_unix_socket_peer(int connected);
