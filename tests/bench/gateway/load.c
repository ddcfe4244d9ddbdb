#include "load.h"

#include "base/clock.h"
#include "base/metrics.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define ANSWER_MAX 65536

typedef struct connection {
    int socket;
    size_t got; /* bytes of the reply */
    uint8_t head[4];
    uint64_t sent_ns;
} connection;

struct load {
    int events;
    int server;
    connection *connections;
    unsigned count;
    unsigned waiting; /* for a reply */
    kw_bytes frame;
    kw_histogram latency;
    uint64_t calls;
    uint64_t end_ns; /* of the slice */
};

static void
must(bool fine, const char *what)
{
    if (fine)
        return;
    fprintf(stderr, "load: %s: %s\n", what, g_strerror(errno));
    exit(1);
}

static void
send_call(load *all, connection *to)
{
    to->got = 0;
    to->sent_ns = kw_clock_mono_ns();
    ssize_t sent = send(to->socket, all->frame.data, all->frame.size, MSG_NOSIGNAL);
    must(sent == (ssize_t)all->frame.size, "send");
}

static void
connect_all(load *all, uint16_t port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = g_htons(port)};
    address.sin_addr.s_addr = g_htonl(INADDR_LOOPBACK);
    for (unsigned i = 0; i < all->count; i++) {
        connection *made = &all->connections[i];
        int one = 1;
        made->socket = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        must(made->socket >= 0 && connect(made->socket, (struct sockaddr *)&address, sizeof address) == 0,
             "connect");
        setsockopt(made->socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        fcntl(made->socket, F_SETFL, O_NONBLOCK);
        struct epoll_event wanted = {.events = EPOLLIN, .data.ptr = made};
        must(epoll_ctl(all->events, EPOLL_CTL_ADD, made->socket, &wanted) == 0, "epoll_ctl");
    }
}

static void
receive(load *all, connection *from)
{
    static uint8_t answer[ANSWER_MAX];
    ssize_t got = recv(from->socket, answer, sizeof answer, 0);
    if (got < 0 && errno == EAGAIN)
        return;
    must(got > 0, "the server closed a connection");
    for (size_t at = from->got; at < 4 && at - from->got < (size_t)got; at++)
        from->head[at] = answer[at - from->got];
    from->got += (size_t)got;
    if (from->got < 4 || from->got < 4 + (size_t)kw_be32_load(from->head))
        return;
    uint64_t now_ns = kw_clock_mono_ns();
    kw_histogram_add_us(&all->latency, (now_ns - from->sent_ns) / 1000);
    all->calls++;
    if (now_ns < all->end_ns)
        send_call(all, from);
    else
        all->waiting--;
}

/* CPU time of the process in microseconds. */
static double
cpu_us(int process)
{
    clockid_t clock;
    struct timespec taken;
    int failed = clock_getcpuclockid(process, &clock);
    must(!failed && clock_gettime(clock, &taken) == 0, "reading the server's CPU time");
    return (double)taken.tv_sec * 1e6 + (double)taken.tv_nsec / 1e3;
}

load *
load_open(uint16_t port, unsigned connections, kw_bytes frame, int server)
{
    load *all = g_new0(load, 1);
    *all = (load){
        .events = epoll_create1(EPOLL_CLOEXEC), .server = server, .count = connections, .frame = frame};
    all->connections = g_new0(connection, connections);
    connect_all(all, port);
    return all;
}

load_result
load_slice(load *all, double seconds)
{
    struct epoll_event ready[256];
    double cpu_before = cpu_us(all->server);
    uint64_t began_ns = kw_clock_mono_ns();
    all->calls = 0;
    all->end_ns = began_ns + (uint64_t)(seconds * 1e9);
    all->waiting = all->count;
    for (unsigned i = 0; i < all->count; i++)
        send_call(all, &all->connections[i]);
    while (all->waiting > 0) {
        int count = epoll_wait(all->events, ready, G_N_ELEMENTS(ready), 100);
        for (int i = 0; i < count; i++)
            receive(all, ready[i].data.ptr);
    }
    double took = (double)(kw_clock_mono_ns() - began_ns) / 1e9;
    return (load_result){.calls_per_second = (double)all->calls / took,
                         .server_us = (cpu_us(all->server) - cpu_before) / (double)all->calls};
}

double
load_latency_us(const load *all, double share)
{
    return (double)kw_histogram_quantile_us(&all->latency, share);
}

void
load_forget(load *all)
{
    all->latency = (kw_histogram){0};
}

void
load_close(load *all)
{
    for (unsigned i = 0; i < all->count; i++)
        close(all->connections[i].socket);
    close(all->events);
    g_free(all->connections);
    g_free(all);
}
