/* Every loop has its own socket on the same port, so that the kernel distributes connections and no loop
 * waits for another. Other processes of the same user could share such a port. So a probe first binds the
 * port without sharing, which fails if another process listens there already.
 *
 * A Unix socket cannot be shared like that: every loop has a descriptor of the same socket. */
#include "net/listener.h"

#include "base/log.h"
#include "net/session.h"
#include "net/unix_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#define BACKLOG 1024
#define ADDRESS_TEXT_SIZE 64
/* Per loop iteration, so that a flood of connections does not delay calls. */
#define ACCEPTS_MAX 64

/* --- accepting ----------------------------------------------------------------------------------- */

static void on_ready(uv_poll_t *ready, int status, int events);

static void
on_back_off_over(uv_timer_t *again)
{
    kw_listen_socket *socket = again->data;
    uv_poll_start(&socket->ready, UV_READABLE, on_ready);
}

/* Pauses accepting. Waiting connections stay in the kernel's queue until a descriptor is free. */
static void
back_off(kw_listen_socket *socket, int problem)
{
    kw_net_worker *worker = socket->worker;
    uint64_t unlogged;
    kw_metrics_add(KW_METRIC_accepts_failed, 1);
    if (kw_log_limit_allows(&worker->accept_logged, KW_NET_WORKER_LOG_MAX, &unlogged))
        kw_log(KW_LOG_ERROR, "net", "cannot accept connections", KW_LOG_FACT("reason", g_strerror(problem)),
               KW_LOG_FACT("unlogged", unlogged));
    uv_poll_stop(&socket->ready);
    uv_timer_start(&socket->again, on_back_off_over, KW_NET_WORKER_BACK_OFF_MS, 0);
}

/* True if only this connection failed, rather than the process lacking resources. */
static bool
was_lost(int problem)
{
    return problem == EINTR || problem == ECONNABORTED || problem == EPROTO || problem == EPERM;
}

static void
on_ready(uv_poll_t *ready, int status, int events)
{
    (void)status, (void)events;
    kw_listen_socket *socket = ready->data;
    for (int i = 0; i < ACCEPTS_MAX; i++) {
        int accepted = accept4(socket->socket, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (accepted >= 0) {
            kw_session_accept(socket->worker, accepted, socket->tls);
        } else if (!was_lost(errno)) {
            if (errno != EAGAIN && errno != EWOULDBLOCK)
                back_off(socket, errno);
            return;
        }
    }
}

/* --- opening and closing ------------------------------------------------------------------------- */

static void
on_handle_closed(uv_handle_t *handle)
{
    kw_listen_socket *socket = handle->data;
    kw_net_worker *worker = socket->worker;
    if (--socket->handles > 0)
        return;
    close(socket->socket);
    worker->open_sockets--;
    g_free(socket);
    kw_net_worker_settle(worker);
}

void
kw_listener_close_all(kw_net_worker *worker)
{
    while (worker->sockets) {
        kw_listen_socket *socket = worker->sockets;
        worker->sockets = socket->next;
        uv_close((uv_handle_t *)&socket->ready, on_handle_closed);
        uv_close((uv_handle_t *)&socket->again, on_handle_closed);
    }
}

static uint16_t
port_of(const struct sockaddr *address)
{
    return g_ntohs(address->sa_family == AF_INET6
                       ? ((const struct sockaddr_in6 *)(const void *)address)->sin6_port
                       : ((const struct sockaddr_in *)(const void *)address)->sin_port);
}

static void
set_port(struct sockaddr *address, uint16_t port)
{
    if (address->sa_family == AF_INET6)
        ((struct sockaddr_in6 *)(void *)address)->sin6_port = g_htons(port);
    else
        ((struct sockaddr_in *)(void *)address)->sin_port = g_htons(port);
}

/* A bound socket, or -errno. */
static int
bound_socket(const struct sockaddr *address, socklen_t size, bool shared)
{
    int one = 1;
    int created = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (created < 0)
        return -errno;
    bool ok = setsockopt(created, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) == 0;
    if (ok && shared)
        ok = setsockopt(created, SOL_SOCKET, SO_REUSEPORT, &one, sizeof one) == 0;
    if (ok && address->sa_family == AF_INET6)
        ok = setsockopt(created, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof one) == 0;
    if (ok)
        ok = bind(created, address, size) == 0;
    if (ok)
        return created;
    int failed = -errno;
    close(created);
    return failed;
}

/* Adds a bound socket, which it owns, to a worker. Returns 0 or -errno. */
static int
add_socket(kw_net_worker *worker, int bound, kw_tls_context *tls)
{
    uv_loop_t *loop = kw_loop_uv(worker->loop);
    kw_listen_socket *socket = g_new0(kw_listen_socket, 1);
    socket->worker = worker;
    socket->tls = tls;
    socket->socket = bound;
    socket->ready.data = socket->again.data = socket;
    int failed = listen(bound, BACKLOG) == 0 ? uv_poll_init(loop, &socket->ready, bound) : -errno;
    if (failed) {
        close(bound);
        g_free(socket);
        return failed;
    }
    uv_timer_init(loop, &socket->again);
    socket->handles = 2;
    socket->next = worker->sockets;
    worker->sockets = socket;
    worker->open_sockets++;
    return uv_poll_start(&socket->ready, UV_READABLE, on_ready);
}

/* Listens on one address on every loop. If *port is 0, it is set to the port that the kernel chose. Returns 0
 * or -errno. */
static int
listen_on(kw_net *net, struct sockaddr *address, socklen_t size, kw_tls_context *tls, uint16_t *port)
{
    set_port(address, *port);
    if (*port != 0) {
        int probe = bound_socket(address, size, false);
        if (probe < 0)
            return probe;
        close(probe);
    }
    for (unsigned i = 0; i < net->workers_count; i++) {
        int bound = bound_socket(address, size, true);
        if (bound < 0)
            return bound;
        if (*port == 0) {
            getsockname(bound, address, &size);
            *port = port_of(address);
        }
        int failed = add_socket(&net->workers[i], bound, tls);
        if (failed)
            return failed;
    }
    return 0;
}

/* What is known about the addresses of one host name. */
typedef struct listening {
    kw_net *net;
    const char *host;
    kw_tls_context *tls;
    uint16_t port;                   /* 0 until the kernel has chosen one */
    bool opened;                     /* true if it listens on at least one address */
    char address[ADDRESS_TEXT_SIZE]; /* the one that failed last */
    int problem;                     /* its -errno */
} listening;

/* True if the machine does not have the address, for example an IPv6 address while IPv6 is turned off. */
static bool
is_unavailable(int problem)
{
    return problem == -EADDRNOTAVAIL || problem == -EAFNOSUPPORT;
}

/* True if an earlier entry has the same address. Resolvers return an address several times, for example if
 * two lines of /etc/hosts have it. */
static bool
is_repeated(const struct addrinfo *first, const struct addrinfo *at)
{
    for (; first != at; first = first->ai_next)
        if (first->ai_addrlen == at->ai_addrlen &&
            kw_bytes_equal(kw_bytes_of(first->ai_addr, first->ai_addrlen),
                           kw_bytes_of(at->ai_addr, at->ai_addrlen)))
            return true;
    return false;
}

static void
log_skipped(const listening *self)
{
    kw_log(KW_LOG_WARN, "net", "not listening on an address that this machine does not have",
           KW_LOG_FACT("host", self->host), KW_LOG_FACT("address", self->address),
           KW_LOG_FACT("reason", g_strerror(-self->problem)));
}

/* Listens on the addresses, except on those that the machine does not have. False if an address fails for
 * another reason: clients that reach it would find no gateway, or another program. Also false if no address
 * is left. */
static bool
listen_on_addresses(listening *self, const struct addrinfo *found)
{
    for (const struct addrinfo *at = found; at; at = at->ai_next) {
        struct sockaddr_storage address = {0};
        memcpy(&address, at->ai_addr, at->ai_addrlen);
        if (is_repeated(found, at))
            continue;
        int problem =
            listen_on(self->net, (struct sockaddr *)&address, at->ai_addrlen, self->tls, &self->port);
        if (!problem) {
            self->opened = true;
            continue;
        }
        self->problem = problem;
        uv_ip_name(at->ai_addr, self->address, sizeof self->address);
        if (!is_unavailable(problem))
            return false;
        if (found->ai_next)
            log_skipped(self);
    }
    return self->opened;
}

static bool
refuse_address(const listening *self, kw_error *ret_error)
{
    bool is_name = strcmp(self->host, self->address) != 0;
    kw_code code = is_unavailable(self->problem) ? KW_NOT_FOUND : KW_UNAVAILABLE;
    return kw_error_set(ret_error, code, "cannot listen on %s:%u%s%s: %s", self->host, self->port,
                        is_name ? ": its address " : "", is_name ? self->address : "",
                        g_strerror(-self->problem));
}

bool
kw_net_listen(kw_net *net, const char *host, uint16_t port, kw_tls_context *tls, uint16_t *ret_port,
              kw_error *ret_error)
{
    g_assert(!net->started);
    listening self = {.net = net, .host = host, .tls = tls, .port = port};
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    struct addrinfo *found = NULL;
    int failed = getaddrinfo(host, NULL, &hints, &found);
    if (failed)
        return kw_error_set(ret_error, KW_UNAVAILABLE, "cannot listen on %s:%u: %s", host, port,
                            gai_strerror(failed));
    bool good = listen_on_addresses(&self, found);
    freeaddrinfo(found);
    if (!good)
        return refuse_address(&self, ret_error);
    *ret_port = self.port;
    return true;
}

bool
kw_net_listen_unix(kw_net *net, const char *path, mode_t mode, kw_error *ret_error)
{
    kw_unix_socket file;
    int bound = -1;
    g_assert(!net->started);
    if (!kw_unix_socket_bind(path, mode, &file, &bound, ret_error))
        return false;
    g_array_append_val(net->unix_sockets, file);
    int failed = 0;
    for (unsigned i = 0; !failed && i < net->workers_count; i++) {
        int shared = fcntl(bound, F_DUPFD_CLOEXEC, 0);
        failed = shared < 0 ? -errno : add_socket(&net->workers[i], shared, NULL);
    }
    close(bound);
    return !failed ||
           kw_error_set(ret_error, KW_UNAVAILABLE, "cannot listen on unix:%s: %s", path, g_strerror(-failed));
}
