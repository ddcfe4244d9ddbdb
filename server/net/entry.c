/* Admission of connections: limits of the process and of each peer. A connection beyond a limit is closed,
 * because it costs a descriptor. A few at a time stay open until their first call arrives, which is answered
 * with the reason.
 *
 * A connection counts for its peer's address, or at a Unix socket for the user of the process. After the TLS
 * handshake it counts for its client certificate instead, if it has one: so callers that share an address
 * have separate limits.
 */
#include "net/session.h"

#include "base/log.h"
#include "net/unix_socket.h"

#include <glib.h>
#include <stdarg.h>
#include <stdatomic.h>

#define KEEPALIVE_SECONDS 60
/* Refused connections that stay open to be answered: how many at a time, for how long, and the maximum size
 * of the message that is answered. */
#define REFUSED_MAX 64
#define REFUSED_MS 500
#define REFUSED_FRAME_BYTES ((size_t)16 * 1024)
#define RETRY_MS 1000

/* Sets the principal of a connection of a Unix socket. Its first name is the peer that is counted. */
static void
name_unix_peer(kw_session *session, char *key)
{
    uv_os_fd_t connected = -1;
    uv_fileno((uv_handle_t *)&session->handle, &connected);
    kw_principal *principal = kw_unix_socket_peer(connected);
    if (!principal)
        return;
    g_strlcpy(session->peer, kw_principal_name(principal), sizeof session->peer);
    g_strlcpy(key, session->peer, KW_PEER_ADDRESS_MAX);
    kw_session_set_principal(session, principal);
}

static void
name_peer(kw_session *session, char *key)
{
    struct sockaddr_storage address;
    int size = sizeof address;
    char host[46] = "?";
    g_strlcpy(session->peer, "unknown", sizeof session->peer);
    g_strlcpy(key, "unknown", KW_PEER_ADDRESS_MAX);
    if (uv_tcp_getpeername(&session->handle, (struct sockaddr *)&address, &size) != 0)
        return;
    if (address.ss_family == AF_UNIX) {
        name_unix_peer(session, key);
        return;
    }
    uv_ip_name((struct sockaddr *)&address, host, sizeof host);
    unsigned port = g_ntohs(address.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&address)->sin6_port
                                                          : ((struct sockaddr_in *)&address)->sin_port);
    g_snprintf(session->peer, sizeof session->peer, "%s:%u", host, port);
    kw_peers_name_of_address((struct sockaddr *)&address, key);
}

/* --- refusals ------------------------------------------------------------------------------------ */

static void
log_refused(kw_session *session, const char *reason)
{
    kw_net_worker *worker = session->worker;
    uint64_t unlogged;
    kw_metrics_add(KW_METRIC_connections_refused, 1);
    if (!kw_log_limit_allows(&worker->refused_logged, KW_NET_WORKER_LOG_MAX, &unlogged))
        return;
    if (unlogged > 0)
        kw_log(KW_LOG_WARN, "net", "connections refused, not logged", KW_LOG_FACT("count", unlogged));
    kw_log(KW_LOG_WARN, "net", "connection refused", KW_LOG_FACT("peer", session->peer),
           KW_LOG_FACT("reason", reason));
}

static void __attribute__((format(printf, 2, 3))) refuse(kw_session *session, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *text = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    kw_error *error = g_new0(kw_error, 1);
    kw_error_set(error, KW_BUSY, "%s", text);
    error->retry_after_ms = RETRY_MS;
    log_refused(session, text);
    session->own_refusal = error;
    session->refusal = error;
}

/* --- counting ------------------------------------------------------------------------------------ */

/* Counts the connection. False if a limit is reached; then the session's refusal is set. */
static bool
count(kw_session *session, const char *peer)
{
    kw_net *net = session->worker->net;
    const kw_net_limits *limits = &session->worker->limits;
    if (atomic_fetch_add(&net->connections, 1) >= limits->connections) {
        atomic_fetch_sub(&net->connections, 1);
        refuse(session, "there are %zu connections already (limits.connections)", limits->connections);
        return false;
    }
    if (!kw_peers_enter(net->peers, peer, limits->peer_connections)) {
        atomic_fetch_sub(&net->connections, 1);
        kw_metrics_add(KW_METRIC_connections_refused_peer, 1);
        refuse(session, "%s has %zu connections already (limits.peer_connections)", peer,
               limits->peer_connections);
        return false;
    }
    session->counted = true;
    session->counted_peer = g_strdup(peer);
    kw_metrics_add(KW_METRIC_connections_accepted, 1);
    kw_metrics_add(KW_METRIC_connections_open, 1);
    return true;
}

void
kw_session_uncount(kw_session *session)
{
    kw_net *net = session->worker->net;
    if (session->counted) {
        kw_peers_leave(net->peers, session->counted_peer);
        atomic_fetch_sub(&net->connections, 1);
        kw_metrics_add(KW_METRIC_connections_open, -1);
    } else if (session->end_ms > 0) {
        atomic_fetch_sub(&net->refused_open, 1);
    }
    session->counted = false;
    g_clear_pointer(&session->counted_peer, g_free);
}

/* The principal of a verified client certificate. Names that cannot be those of a principal are left out.
 * NULL if no name is left. */
static const kw_principal *
set_principal(kw_session *session, const char *const *names)
{
    kw_principal *principal = kw_principal_new(KW_PRINCIPAL_CERTIFICATE);
    for (size_t i = 0; names[i]; i++)
        kw_principal_add(principal, names[i]);
    if (principal->count > 0) {
        kw_session_set_principal(session, principal);
        return principal;
    }
    kw_principal_free(principal);
    return NULL;
}

/* A certificate without a subject counts by its first alternative name; one without any name does not count,
 * like no certificate. */
void
kw_session_identify(kw_session *session)
{
    kw_net *net = session->worker->net;
    size_t most = session->worker->limits.peer_connections;
    const char *const *names = kw_tls_peer_names(session->tls);
    const kw_principal *principal = names ? set_principal(session, names) : NULL;
    const char *subject = kw_tls_peer(session->tls);
    if (!subject && principal)
        subject = kw_principal_name(principal);
    if (!subject)
        return;
    char *name = g_strconcat("certificate ", subject, NULL);
    if (!kw_peers_enter(net->peers, name, most)) {
        kw_metrics_add(KW_METRIC_connections_refused_peer, 1);
        refuse(session, "%s has %zu connections already (limits.peer_connections)", name, most);
        session->end_ms = uv_now(session->handle.loop) + REFUSED_MS;
        g_free(name);
        return;
    }
    kw_peers_leave(net->peers, session->counted_peer);
    g_free(session->counted_peer);
    session->counted_peer = name;
}

/* --- accepting ----------------------------------------------------------------------------------- */

/* Lets a refused connection stay open to be answered: counts it and sets its end_ms. False if there are too
 * many of them, or if it uses TLS, whose handshake costs too much. */
static bool
can_wait(kw_session *session, kw_tls_context *tls)
{
    kw_net *net = session->worker->net;
    if (tls)
        return false;
    if (atomic_fetch_add(&net->refused_open, 1) >= REFUSED_MAX) {
        atomic_fetch_sub(&net->refused_open, 1);
        return false;
    }
    session->end_ms = uv_now(session->handle.loop) + REFUSED_MS;
    return true;
}

void
kw_session_accept(kw_net_worker *worker, int accepted, kw_tls_context *tls)
{
    char peer[KW_PEER_ADDRESS_MAX];
    kw_session *session = kw_session_new(worker);
    int failed = uv_tcp_open(&session->handle, accepted);
    session->state = KW_SESSION_OPEN;
    if (failed) {
        close(accepted);
        kw_session_close(session);
        return;
    }
    name_peer(session, peer);
    bool counted = count(session, peer);
    if (!counted && !can_wait(session, tls)) {
        kw_session_close(session);
        return;
    }
    uv_tcp_nodelay(&session->handle, 1);
    uv_tcp_keepalive(&session->handle, 1, KEEPALIVE_SECONDS);
    session->reader = kw_wire_reader_new(counted ? worker->limits.frame_bytes : REFUSED_FRAME_BYTES);
    if (tls) {
        kw_session_set_tls(session, kw_tls_new_server(tls));
        session->state = KW_SESSION_HANDSHAKE;
        session->message_ms = session->active_ms;
    }
    kw_session_start(session);
}
