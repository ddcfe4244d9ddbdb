/* A socket with deadlines, optionally with TLS.
 *
 * The socket never blocks; a call that cannot continue waits in poll() until its deadline. With TLS, a
 * read can need to write and a write to read, so both directions use the same kind of loop: step, wait for
 * what the step needs, repeat. */
#include "lib/connection.h"

#include "lib/error.h"
#include "lib/tls.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

struct kw_connection {
    int socket;
    kw_tls *tls;   /* NULL: plain */
    bool received; /* any byte */
};

bool
kw_address_split(const char *address, char **ret_host, char **ret_port, GError **error)
{
    g_autofree char *host = NULL;
    g_autofree char *port = NULL;
    const char *colon = strrchr(address, ':');
    const char *bracket = strrchr(address, ']');
    guint64 number = 0;

    if (g_str_has_prefix(address, "unix:/")) {
        *ret_host = g_strdup(address);
        *ret_port = g_strdup("");
        return true;
    }
    if (address[0] == '[' && bracket != NULL && (bracket[1] == ':' || bracket[1] == '\0')) {
        host = g_strndup(address + 1, (gsize)(bracket - address - 1));
        port = g_strdup(bracket[1] == ':' ? bracket + 2 : "9595");
    } else if (colon != NULL && strchr(address, ':') == colon) {
        host = g_strndup(address, (gsize)(colon - address));
        port = g_strdup(colon + 1);
    } else {
        host = g_strdup(address);
        port = g_strdup("9595");
    }
    if (host[0] == '\0' || !g_ascii_string_to_unsigned(port, 10, 1, 65535, &number, NULL)) {
        kw_client_error_set(
            error, KW_CLIENT_INVALID,
            "\"%s\" is not an address; write HOST:PORT, for example 127.0.0.1:9595, or unix:/PATH", address);
        return false;
    }
    *ret_host = g_steal_pointer(&host);
    *ret_port = g_steal_pointer(&port);
    return true;
}

/* Waits until the socket is ready for `events`, or until the deadline. */
static bool
wait_for(int socket, short events, gint64 deadline_us, GError **error)
{
    struct pollfd poll_for = {.fd = socket, .events = events};

    for (;;) {
        gint64 left_ms = (deadline_us - g_get_monotonic_time() + 999) / 1000;
        int ready = left_ms <= 0 ? 0 : poll(&poll_for, 1, (int)MIN(left_ms, 60000));

        if (ready > 0)
            return true;
        if (left_ms <= 0) {
            kw_client_error_set(error, KW_CLIENT_TIMEOUT, "the gateway did not reply in time");
            return false;
        }
        if (ready < 0 && errno != EINTR) {
            kw_client_error_set(error, KW_CLIENT_CONNECTION, "poll: %s", g_strerror(errno));
            return false;
        }
    }
}

/* Connects to a Unix socket, which does not wait: a full queue of connections is an error. */
static int
connect_unix(const char *path, GError **error)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    bool fits = g_strlcpy(to.sun_path, path, sizeof to.sun_path) < sizeof to.sun_path;
    int fd = fits ? socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0) : -1;
    int failure = fits ? errno : ENAMETOOLONG;

    if (fd >= 0 && connect(fd, (const struct sockaddr *)&to, sizeof to) == 0)
        return fd;
    if (fd >= 0) {
        failure = errno;
        close(fd);
    }
    kw_client_error_set(error, KW_CLIENT_CONNECTION, "cannot reach a gateway at unix:%s: %s", path,
                        g_strerror(failure));
    return -1;
}

static int
connect_one(const struct addrinfo *to, gint64 deadline_us, GError **error)
{
    int on = 1;
    int failure = 0;
    socklen_t size = sizeof failure;
    int fd = socket(to->ai_family, to->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, to->ai_protocol);

    if (fd < 0) {
        kw_client_error_set(error, KW_CLIENT_CONNECTION, "socket: %s", g_strerror(errno));
        return -1;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connect(fd, to->ai_addr, to->ai_addrlen) != 0)
        failure = errno;
    if (failure == EINPROGRESS) {
        if (!wait_for(fd, POLLOUT, deadline_us, error)) {
            close(fd);
            return -1;
        }
        getsockopt(fd, SOL_SOCKET, SO_ERROR, &failure, &size);
    }
    if (failure == 0)
        return fd;
    kw_client_error_set(error, KW_CLIENT_CONNECTION, "%s", g_strerror(failure));
    close(fd);
    return -1;
}

/* The deadline of the first of the addresses: an equal part of the time that is left, so that an address that
 * does not answer leaves time for the others. */
static gint64
first_deadline_us(const struct addrinfo *addresses, gint64 deadline_us)
{
    gint64 now_us = g_get_monotonic_time();
    gint64 count = 0;

    for (const struct addrinfo *one = addresses; one != NULL; one = one->ai_next)
        count++;
    return now_us >= deadline_us ? deadline_us : now_us + (deadline_us - now_us) / count;
}

/* Connects to the first address that accepts; on failure, returns the last address's error. */
static int
connect_any(const char *host, const char *port, gint64 deadline_us, GError **error)
{
    const struct addrinfo hints = {
        .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    int status = getaddrinfo(host, port, &hints, &found);
    g_autoptr(GError) last = NULL;
    int fd = -1;

    if (status != 0) {
        kw_client_error_set(error, KW_CLIENT_CONNECTION, "cannot resolve the host name %s: %s", host,
                            gai_strerror(status));
        return -1;
    }
    for (const struct addrinfo *one = found; one != NULL && fd < 0; one = one->ai_next) {
        g_clear_error(&last);
        fd = connect_one(one, first_deadline_us(one, deadline_us), &last);
    }
    freeaddrinfo(found);
    if (fd < 0)
        kw_client_error_set(error, KW_CLIENT_CONNECTION, "cannot reach a gateway at %s:%s: %s", host, port,
                            last->message);
    return fd;
}

/* Waits until a step, with or without TLS, can be repeated. */
static bool
wait_for_step(const kw_connection *connection, kw_io_step step, gint64 deadline_us, GError **error)
{
    return wait_for(connection->socket, step == KW_IO_WANTS_WRITE ? POLLOUT : POLLIN, deadline_us, error);
}

static bool
start_tls(kw_connection *connection, const char *host, const kw_client_options *options, gint64 deadline_us,
          GError **error)
{
    kw_io_step step;

    connection->tls = kw_tls_new(connection->socket, host, options, error);
    if (connection->tls == NULL)
        return false;
    while ((step = kw_tls_handshake(connection->tls, error)) == KW_IO_WANTS_READ || step == KW_IO_WANTS_WRITE)
        if (!wait_for_step(connection, step, deadline_us, error))
            return false;
    if (step == KW_IO_CLOSED)
        kw_client_error_set(error, KW_CLIENT_CONNECTION, "TLS: the gateway closed the connection");
    return step == KW_IO_DONE;
}

kw_connection *
kw_connection_open(const char *host, const char *port, const kw_client_options *options, GError **error)
{
    gint64 deadline_us = g_get_monotonic_time() + (gint64)options->connect_timeout_ms * 1000;
    kw_connection *connection;
    int fd = g_str_has_prefix(host, "unix:") ? connect_unix(host + strlen("unix:"), error)
                                             : connect_any(host, port, deadline_us, error);

    if (fd < 0)
        return NULL;
    connection = g_new0(kw_connection, 1);
    connection->socket = fd;
    if (!options->tls || start_tls(connection, host, options, deadline_us, error))
        return connection;
    kw_connection_close(connection);
    return NULL;
}

static kw_io_step
plain_step(ssize_t result, bool wants_write, GError **error)
{
    if (result > 0)
        return KW_IO_DONE;
    if (result == 0)
        return KW_IO_CLOSED;
    if (errno == EAGAIN || errno == EINTR)
        return wants_write ? KW_IO_WANTS_WRITE : KW_IO_WANTS_READ;
    kw_client_error_set(error, KW_CLIENT_CONNECTION, "the connection was lost: %s", g_strerror(errno));
    return KW_IO_FAILED;
}

static kw_io_step
write_step(kw_connection *connection, const void *data, gsize size, gsize *ret_written, GError **error)
{
    ssize_t sent;

    if (connection->tls != NULL)
        return kw_tls_write(connection->tls, data, size, ret_written, error);
    sent = send(connection->socket, data, size, MSG_NOSIGNAL);
    *ret_written = sent > 0 ? (gsize)sent : 0;
    return plain_step(sent, true, error);
}

static kw_io_step
read_step(kw_connection *connection, void *to, gsize size, gsize *ret_read, GError **error)
{
    ssize_t got;

    if (connection->tls != NULL)
        return kw_tls_read(connection->tls, to, size, ret_read, error);
    got = recv(connection->socket, to, size, 0);
    *ret_read = got > 0 ? (gsize)got : 0;
    return plain_step(got, false, error);
}

bool
kw_connection_write(kw_connection *connection, const void *data, gsize size, gint64 deadline_us,
                    GError **error)
{
    const guint8 *at = data;

    while (size > 0) {
        gsize written = 0;
        kw_io_step step = write_step(connection, at, size, &written, error);

        if (step == KW_IO_CLOSED)
            kw_client_error_set(error, KW_CLIENT_CONNECTION, "the gateway closed the connection");
        if (step == KW_IO_CLOSED || step == KW_IO_FAILED)
            return false;
        if (step == KW_IO_DONE) {
            at += written;
            size -= written;
        } else if (!wait_for_step(connection, step, deadline_us, error)) {
            return false;
        }
    }
    return true;
}

gssize
kw_connection_read(kw_connection *connection, void *to, gsize size, gint64 deadline_us, GError **error)
{
    for (;;) {
        gsize got = 0;
        kw_io_step step = read_step(connection, to, size, &got, error);

        connection->received = connection->received || step == KW_IO_DONE;
        if (step == KW_IO_DONE)
            return (gssize)got;
        if (step == KW_IO_CLOSED)
            return 0;
        if (step == KW_IO_FAILED || !wait_for_step(connection, step, deadline_us, error))
            return -1;
    }
}

bool
kw_connection_may_lack_tls(const kw_connection *connection)
{
    return connection->tls == NULL && !connection->received;
}

bool
kw_connection_is_stale(kw_connection *connection)
{
    g_autoptr(GError) ignored = NULL;
    guint8 byte;
    gsize got = 0;

    return read_step(connection, &byte, 1, &got, &ignored) != KW_IO_WANTS_READ;
}

void
kw_connection_close(kw_connection *connection)
{
    if (connection == NULL)
        return;
    kw_tls_free(connection->tls);
    close(connection->socket);
    g_free(connection);
}
