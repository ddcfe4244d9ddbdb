/* Listening on a name with several addresses, and accepting. getaddrinfo is replaced: the name "several" has
 * the addresses in `names`. So is accept4: it fails once with `accept_problem`. */
#include "net/net.h"

#include "base/metrics.h"

#include <errno.h>
#include <glib.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

#define ABSENT "192.0.2.1" /* reserved for documentation: no machine has it */

static const char *const *names; /* NULL-terminated */

int __real_getaddrinfo(const char *host, const char *service, const struct addrinfo *hints,
                       struct addrinfo **ret_found);
int __wrap_getaddrinfo(const char *host, const char *service, const struct addrinfo *hints,
                       struct addrinfo **ret_found);

int
__wrap_getaddrinfo(const char *host, const char *service, const struct addrinfo *hints,
                   struct addrinfo **ret_found)
{
    struct addrinfo **to = ret_found;
    if (strcmp(host, "several") != 0)
        return __real_getaddrinfo(host, service, hints, ret_found);
    for (const char *const *name = names; *name; name++) {
        int failed = __real_getaddrinfo(*name, service, hints, to);
        g_assert_cmpint(failed, ==, 0);
        while (*to)
            to = &(*to)->ai_next;
    }
    return 0;
}

static _Atomic int accept_problem;

int __real_accept4(int listening, struct sockaddr *ret_address, socklen_t *size, int flags);
int __wrap_accept4(int listening, struct sockaddr *ret_address, socklen_t *size, int flags);

int
__wrap_accept4(int listening, struct sockaddr *ret_address, socklen_t *size, int flags)
{
    int problem = atomic_exchange(&accept_problem, 0);
    if (problem == 0)
        return __real_accept4(listening, ret_address, size, flags);
    errno = problem;
    return -1;
}

static bool
connects(const char *address, uint16_t port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = g_htons(port)};
    g_assert_cmpint(uv_inet_pton(AF_INET, address, &to.sin_addr), ==, 0);
    int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool good = connect(client, (struct sockaddr *)&to, sizeof to) == 0;
    close(client);
    return good;
}

/* --- a net without sessions ----------------------------------------------------------------------- */

typedef struct place {
    kw_net *net;
    kw_loop *main;
    kw_error error;
    uint16_t port;
} place;

static void *
on_loop_open(void *user, kw_loop *loop, unsigned index)
{
    (void)loop, (void)index;
    return user;
}

static void
on_request(void *state, kw_request *request)
{
    (void)state, (void)request;
    g_assert_not_reached();
}

static void
on_loop_close(void *state, void (*closed)(void *user), void *user)
{
    (void)state;
    closed(user);
}

static void
on_drained(void *user)
{
    kw_loop_stop(((place *)user)->main);
}

/* Makes a net with two loops, which does not listen yet. */
static void
place_new(place *at)
{
    kw_net_handler handler = {
        .user = at, .loop_open = on_loop_open, .request = on_request, .loop_close = on_loop_close};
    kw_net_limits limits = {
        .connections = 10, .peer_connections = 10, .frame_bytes = 4096, .in_flight = 1, .frame_ms = 10000};
    *at = (place){.main = kw_loop_new(), .net = kw_net_new(2, limits, &handler)};
}

/* Listens on `host` with two loops. Returns whether this succeeded. */
static bool
place_open(place *at, const char *host, uint16_t port)
{
    place_new(at);
    bool good = kw_net_listen(at->net, host, port, NULL, &at->port, &at->error);
    kw_net_start(at->net);
    return good;
}

static void
place_close(place *at)
{
    kw_net_drain(at->net, 0, at->main, on_drained, at);
    kw_loop_run(at->main);
    kw_net_free(at->net);
    kw_loop_free(at->main);
}

static bool
open_several(place *at, const char *const *addresses, uint16_t port)
{
    names = addresses;
    return place_open(at, "several", port);
}

/* --- tests ---------------------------------------------------------------------------------------- */

KW_TEST(every_address_of_a_name_is_used, "/net/listener/every")
{
    place at;
    g_assert_true(open_several(&at, (const char *const[]){"127.0.0.1", "127.0.0.2", NULL}, 0));
    g_assert_true(connects("127.0.0.1", at.port));
    g_assert_true(connects("127.0.0.2", at.port));
    place_close(&at);
}

/* As with localhost on a machine without IPv6, whichever address is the first. */
KW_TEST(an_absent_address_of_a_name_is_skipped, "/net/listener/absent")
{
    place at;
    g_assert_true(open_several(&at, (const char *const[]){ABSENT, "127.0.0.1", NULL}, 0));
    g_assert_true(connects("127.0.0.1", at.port));
    place_close(&at);
    g_assert_true(open_several(&at, (const char *const[]){"127.0.0.1", ABSENT, "127.0.0.2", NULL}, 0));
    g_assert_true(connects("127.0.0.1", at.port));
    g_assert_true(connects("127.0.0.2", at.port));
    place_close(&at);
}

KW_TEST(a_repeated_address_is_used_once, "/net/listener/repeated")
{
    place at;
    g_assert_true(open_several(&at, (const char *const[]){"127.0.0.1", "127.0.0.2", "127.0.0.1", NULL}, 0));
    g_assert_true(connects("127.0.0.1", at.port));
    place_close(&at);
}

static void
expect_failure(place *at, bool listened, kw_code code, const char *text)
{
    g_assert_false(listened);
    g_assert_cmpint(at->error.code, ==, code);
    g_assert_cmpstr(at->error.text, ==, text);
    place_close(at);
}

KW_TEST(a_name_without_a_usable_address_is_an_error, "/net/listener/none")
{
    place at;
    expect_failure(&at, open_several(&at, (const char *const[]){"192.0.2.9", ABSENT, NULL}, 7), KW_NOT_FOUND,
                   "cannot listen on several:7: its address " ABSENT ": Cannot assign requested address");
    expect_failure(&at, place_open(&at, ABSENT, 7), KW_NOT_FOUND,
                   "cannot listen on " ABSENT ":7: Cannot assign requested address");
}

/* Clients of this address would reach the other program. */
KW_TEST(an_address_in_use_is_an_error, "/net/listener/in_use")
{
    place other, at;
    g_assert_true(place_open(&other, "127.0.0.2", 0));
    g_autofree char *text = g_strdup_printf(
        "cannot listen on several:%u: its address 127.0.0.2: Address already in use", other.port);
    bool listened = open_several(&at, (const char *const[]){"127.0.0.1", "127.0.0.2", NULL}, other.port);
    expect_failure(&at, listened, KW_UNAVAILABLE, text);
    place_close(&other);
}

/* Connects, and waits until the connection is accepted. */
static void
connect_after(const place *at, int problem)
{
    int64_t accepted = kw_metrics_read(KW_METRIC_connections_accepted);
    atomic_store(&accept_problem, problem);
    g_assert_true(connects("127.0.0.1", at->port));
    for (int tries = 0; kw_metrics_read(KW_METRIC_connections_accepted) == accepted; tries++) {
        g_assert_cmpint(tries, <, 60000);
        g_usleep(1000);
    }
    g_assert_cmpint(atomic_load(&accept_problem), ==, 0);
}

/* A connection can get the descriptor 0. */
KW_TEST(every_descriptor_is_accepted, "/net/listener/descriptors")
{
    place at;
    int64_t accepted = kw_metrics_read(KW_METRIC_connections_accepted);
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = g_htonl(INADDR_LOOPBACK)};
    g_assert_true(place_open(&at, "127.0.0.1", 0));
    to.sin_port = g_htons(at.port);
    int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), input = dup(STDIN_FILENO);
    close(STDIN_FILENO);
    g_assert_cmpint(connect(client, (struct sockaddr *)&to, sizeof to), ==, 0);
    for (int tries = 0; kw_metrics_read(KW_METRIC_connections_accepted) == accepted; tries++) {
        g_assert_cmpint(tries, <, 60000);
        g_usleep(1000);
    }
    close(client);
    place_close(&at);
    g_assert_cmpint(dup2(input, STDIN_FILENO), ==, STDIN_FILENO);
    close(input);
}

/* A listening socket can get the descriptor 0: that of a program whose standard input is closed. The
 * connection is accepted before the socket is closed: libuv opens a descriptor with the first connection, and
 * aborts when it closes one that is 0. */
KW_TEST(a_listener_can_have_every_descriptor, "/net/listener/descriptor-0")
{
    place at;
    place_new(&at);
    int input = dup(STDIN_FILENO);
    close(STDIN_FILENO);
    g_assert_true(kw_net_listen(at.net, "127.0.0.1", 0, NULL, &at.port, &at.error));
    kw_net_start(at.net);
    connect_after(&at, 0);
    place_close(&at);
    g_assert_cmpint(dup2(input, STDIN_FILENO), ==, STDIN_FILENO);
    close(input);
}

/* A connection that ends before it is accepted does not stop others; without a descriptor, the listener
 * pauses. */
KW_TEST(lost_connections_do_not_pause_a_listener, "/net/listener/lost")
{
    static const int lost[] = {EINTR, ECONNABORTED, EPROTO, EPERM};
    place at;
    g_assert_true(place_open(&at, "127.0.0.1", 0));
    int64_t failed = kw_metrics_read(KW_METRIC_accepts_failed);
    for (size_t i = 0; i < G_N_ELEMENTS(lost); i++)
        connect_after(&at, lost[i]);
    g_assert_cmpint(kw_metrics_read(KW_METRIC_accepts_failed), ==, failed);
    connect_after(&at, ENFILE);
    g_assert_cmpint(kw_metrics_read(KW_METRIC_accepts_failed), ==, failed + 1);
    place_close(&at);
}
