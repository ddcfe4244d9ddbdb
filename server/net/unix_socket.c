#include "net/unix_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static bool
refuse(const char *path, const char *reason, kw_error *ret_error)
{
    return kw_error_set(ret_error, KW_UNAVAILABLE, "cannot listen on unix:%s: %s", path, reason);
}

/* --- binding ------------------------------------------------------------------------------------- */

static bool
take_lock(const char *path, int *ret_lock, kw_error *ret_error)
{
    g_autofree char *name = g_strconcat(path, ".lock", NULL);
    int lock = open(name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) == 0) {
        *ret_lock = lock;
        return true;
    }
    g_autofree char *reason = errno == EWOULDBLOCK ? g_strdup("another process listens there")
                                                   : g_strdup_printf("%s: %s", name, g_strerror(errno));
    if (lock >= 0)
        close(lock);
    return refuse(path, reason, ret_error);
}

static bool
set_address(const char *path, struct sockaddr_un *ret_address, kw_error *ret_error)
{
    *ret_address = (struct sockaddr_un){.sun_family = AF_UNIX};
    return g_strlcpy(ret_address->sun_path, path, sizeof ret_address->sun_path) <
               sizeof ret_address->sun_path ||
           refuse(path, "the path is too long", ret_error);
}

/* True if no process listens at the socket. The lock does not show this for a process of another program. */
static bool
is_stale(const char *path, const struct sockaddr_un *address, kw_error *ret_error)
{
    int client = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    bool answers = client >= 0 && connect(client, (const struct sockaddr *)address, sizeof *address) == 0;
    int problem = errno;
    if (client >= 0)
        close(client);
    if (answers || problem == EAGAIN)
        return refuse(path, "another process listens there", ret_error);
    return problem == ECONNREFUSED || problem == ENOENT || refuse(path, g_strerror(problem), ret_error);
}

/* Removes the socket of a process that has ended. */
static bool
remove_stale(const char *path, const struct sockaddr_un *address, kw_error *ret_error)
{
    struct stat found;
    if (lstat(path, &found) != 0)
        return errno == ENOENT || refuse(path, g_strerror(errno), ret_error);
    if (!S_ISSOCK(found.st_mode))
        return refuse(path, "there is a file that is not a socket", ret_error);
    if (!is_stale(path, address, ret_error))
        return false;
    return unlink(path) == 0 || errno == ENOENT || refuse(path, g_strerror(errno), ret_error);
}

static bool
bind_to(const char *path, const struct sockaddr_un *address, mode_t mode, int *ret_bound,
        struct stat *ret_file, kw_error *ret_error)
{
    int created = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (created >= 0 && bind(created, (const struct sockaddr *)address, sizeof *address) == 0 &&
        chmod(path, mode) == 0 && lstat(path, ret_file) == 0) {
        *ret_bound = created;
        return true;
    }
    refuse(path, g_strerror(errno), ret_error);
    if (created >= 0)
        close(created);
    return false;
}

bool
kw_unix_socket_bind(const char *path, mode_t mode, kw_unix_socket *ret_socket, int *ret_bound,
                    kw_error *ret_error)
{
    int lock = -1;
    struct sockaddr_un address;
    struct stat file;
    if (!set_address(path, &address, ret_error) || !take_lock(path, &lock, ret_error))
        return false;
    if (!remove_stale(path, &address, ret_error) ||
        !bind_to(path, &address, mode, ret_bound, &file, ret_error)) {
        close(lock);
        return false;
    }
    *ret_socket =
        (kw_unix_socket){.path = g_strdup(path), .lock = lock, .device = file.st_dev, .inode = file.st_ino};
    return true;
}

void
kw_unix_socket_remove(kw_unix_socket *socket)
{
    struct stat found;
    if (lstat(socket->path, &found) == 0 && found.st_dev == socket->device && found.st_ino == socket->inode)
        unlink(socket->path);
    close(socket->lock);
    g_free(socket->path);
}

/* --- the peer ------------------------------------------------------------------------------------ */

static void
add_id(kw_principal *principal, const char *kind, unsigned id)
{
    g_autofree char *number = g_strdup_printf("%s:%u", kind, id);
    g_autofree char *root = g_strdup_printf("%s:root", kind);
    if (id == 0)
        kw_principal_add(principal, root);
    kw_principal_add(principal, number);
}

static void
add_groups(kw_principal *principal, int connected, gid_t own)
{
    gid_t groups[KW_PRINCIPAL_NAMES_MAX / 2];
    socklen_t size = sizeof groups;
    add_id(principal, "unix-group", own);
    if (getsockopt(connected, SOL_SOCKET, SO_PEERGROUPS, groups, &size) != 0)
        return;
    for (size_t i = 0; i < size / sizeof *groups; i++)
        if (groups[i] != own)
            add_id(principal, "unix-group", groups[i]);
}

kw_principal *
kw_unix_socket_peer(int connected)
{
    struct ucred peer;
    socklen_t size = sizeof peer;
    if (getsockopt(connected, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
        return NULL;
    kw_principal *principal = kw_principal_new(KW_PRINCIPAL_UNIX);
    add_id(principal, "unix", peer.uid);
    add_groups(principal, connected, peer.gid);
    return principal;
}
