/* An HTTP server by libmicrohttpd with few threads, few connections and short timeouts: a flood on this port
 * affects neither client ports nor health checks. It opens the listening socket itself, to report why that
 * fails. */
#include "http/http.h"

#include "base/clock.h"
#include "base/thread.h"
#include "http/pages.h"

#include <errno.h>
#include <glib.h>
#include <microhttpd.h>
#include <netdb.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

/* libmicrohttpd stops accepting connections at its limit, so idle connections could block all others.
 * Therefore, when more than OPEN_MAX connections are open, those that have been idle longest are closed. A
 * connection has GRACE_MS to send its request before it can be closed, unless more than BURST_MAX are
 * open. */
#define OPEN_MAX 48
#define BURST_MAX (4 * OPEN_MAX)
#define GRACE_MS 1000
#define THREADS 4
/* libmicrohttpd divides its limit among its threads, and one thread can accept most of a burst. */
#define CONNECTIONS_MAX (THREADS * BURST_MAX)
/* libmicrohttpd closes a connection that has been inactive for this time. In addition, whenever a connection
 * is accepted, this file closes those that have been idle for this time: since they were accepted, or since
 * their last request was answered. */
#define TIMEOUT_SECONDS 10
#define CONNECTION_MEMORY ((size_t)32 * 1024)

typedef struct client {
    GList link;
    int socket;
    uint64_t since_ns; /* when it was accepted, or its last request was answered */
    bool shut;
} client;

struct kw_http {
    struct MHD_Daemon *daemon;
    kw_http_sources sources;
    kw_mutex lock;  /* guards the clients */
    GQueue clients; /* the one idle longest first */
};

typedef struct page {
    const char *path;
    const char *type;
    unsigned (*write)(const kw_http_sources *sources, kw_buffer *body);
} page;

static const page pages[] = {
    {"/livez", "application/json", kw_page_live},
    {"/readyz", "application/json", kw_page_ready},
    {"/metrics", "text/plain; version=0.0.4; charset=utf-8", kw_page_metrics},
    {"/", "text/html; charset=utf-8", kw_page_index},
};

/* --- clients ------------------------------------------------------------------------------------- */

/* Shuts the socket down, so that the daemon closes the connection. With the lock held. */
static void
shut_down(client *old)
{
    if (!old->shut)
        shutdown(old->socket, SHUT_RDWR);
    old->shut = true;
}

static void
close_idle(kw_http *http)
{
    uint64_t now_ns = kw_clock_mono_ns();
    guint left = http->clients.length;
    for (GList *at = http->clients.head; at; at = at->next, left--) {
        client *old = at->data;
        uint64_t waited_ms = (now_ns - old->since_ns) / 1000000;
        bool must_close =
            left > BURST_MAX || waited_ms >= (left > OPEN_MAX ? GRACE_MS : TIMEOUT_SECONDS * 1000);
        if (!must_close)
            return;
        shut_down(old);
    }
}

static void
mark_idle(kw_http *http, client *one)
{
    one->since_ns = kw_clock_mono_ns();
    g_queue_push_tail_link(&http->clients, &one->link);
}

static void
on_connection(void *user, struct MHD_Connection *connection, void **context,
              enum MHD_ConnectionNotificationCode what)
{
    kw_http *http = user;
    kw_mutex_lock(&http->lock);
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        client *created = g_new0(client, 1);
        created->link.data = created;
        created->socket = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
        *context = created;
        mark_idle(http, created);
        close_idle(http);
    } else {
        client *gone = *context;
        g_queue_unlink(&http->clients, &gone->link);
        g_free(gone);
    }
    kw_mutex_unlock(&http->lock);
}

static void
on_answered(void *user, struct MHD_Connection *connection, void **request,
            enum MHD_RequestTerminationCode how)
{
    (void)request, (void)how;
    kw_http *http = user;
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    kw_mutex_lock(&http->lock);
    client *one = info->socket_context;
    g_queue_unlink(&http->clients, &one->link);
    mark_idle(http, one);
    kw_mutex_unlock(&http->lock);
}

/* --- requests ------------------------------------------------------------------------------------ */

static enum MHD_Result
respond(struct MHD_Connection *connection, unsigned status, const char *type, kw_buffer *body)
{
    struct MHD_Response *response =
        MHD_create_response_from_buffer(body->size, body->data, MHD_RESPMEM_MUST_COPY);
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
        MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
    enum MHD_Result queued = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    kw_buffer_clear(body);
    return queued;
}

static enum MHD_Result
on_request(void *user, struct MHD_Connection *connection, const char *path, const char *method,
           const char *version, const char *upload, size_t *upload_size, void **request)
{
    (void)version, (void)upload, (void)upload_size, (void)request;
    const kw_http *http = user;
    kw_buffer body = KW_BUFFER_EMPTY;
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0) {
        kw_buffer_append_text(&body, "this port accepts only GET and HEAD\n");
        return respond(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "text/plain", &body);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(pages); i++) {
        if (strcmp(path, pages[i].path) != 0)
            continue;
        unsigned status = pages[i].write(&http->sources, &body);
        return respond(connection, status, pages[i].type, &body);
    }
    kw_buffer_append_text(&body, "no such page; / lists the pages\n");
    return respond(connection, MHD_HTTP_NOT_FOUND, "text/plain", &body);
}

/* A listening socket on the host's first address that can be bound, or -errno. */
static int
listening_socket(const struct addrinfo *found)
{
    int failed = -EADDRNOTAVAIL;
    for (const struct addrinfo *at = found; at; at = at->ai_next) {
        int one = 1;
        int created = socket(at->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        if (created >= 0 && setsockopt(created, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) == 0 &&
            bind(created, at->ai_addr, at->ai_addrlen) == 0 && listen(created, CONNECTIONS_MAX) == 0)
            return created;
        failed = -errno;
        if (created >= 0)
            close(created);
    }
    return failed;
}

static uint16_t
port_of(int listening)
{
    struct sockaddr_storage address;
    socklen_t size = sizeof address;
    getsockname(listening, (struct sockaddr *)&address, &size);
    return g_ntohs(address.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&address)->sin6_port
                                                 : ((struct sockaddr_in *)&address)->sin_port);
}

/* Blocks all signals while threads are created, because they inherit the mask: only the main thread handles
 * signals. */
static struct MHD_Daemon *
start_daemon(kw_http *http, int listening)
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    struct MHD_Daemon *created = MHD_start_daemon(
        MHD_USE_AUTO | MHD_USE_INTERNAL_POLLING_THREAD, 0, NULL, NULL, on_request, http,
        MHD_OPTION_LISTEN_SOCKET, listening, MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS_MAX,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)TIMEOUT_SECONDS, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        CONNECTION_MEMORY, MHD_OPTION_THREAD_POOL_SIZE, (unsigned)THREADS, MHD_OPTION_NOTIFY_CONNECTION,
        on_connection, http, MHD_OPTION_NOTIFY_COMPLETED, on_answered, http, MHD_OPTION_END);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return created;
}

kw_http *
kw_http_start(const char *host, uint16_t port, const kw_http_sources *sources, uint16_t *ret_port,
              kw_error *ret_error)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    struct addrinfo *found = NULL;
    char service[8];
    g_snprintf(service, sizeof service, "%u", port);
    int failed = getaddrinfo(host, service, &hints, &found);
    if (failed) {
        kw_error_set(ret_error, KW_UNAVAILABLE, "admin: cannot listen on %s:%u: %s", host, port,
                     gai_strerror(failed));
        return NULL;
    }
    int listening = listening_socket(found);
    freeaddrinfo(found);
    if (listening < 0) {
        kw_error_set(ret_error, KW_UNAVAILABLE, "admin: cannot listen on %s:%u: %s", host, port,
                     g_strerror(-listening));
        return NULL;
    }
    kw_http *http = g_new0(kw_http, 1);
    http->sources = *sources;
    kw_mutex_init(&http->lock);
    g_queue_init(&http->clients);
    *ret_port = port_of(listening);
    http->daemon = start_daemon(http, listening);
    if (http->daemon)
        return http;
    close(listening);
    kw_mutex_clear(&http->lock);
    g_free(http);
    kw_error_set(ret_error, KW_UNAVAILABLE, "admin: cannot serve HTTP on %s:%u", host, port);
    return NULL;
}

void
kw_http_stop(kw_http *http)
{
    if (!http)
        return;
    MHD_stop_daemon(http->daemon);
    kw_mutex_clear(&http->lock);
    g_free(http);
}
