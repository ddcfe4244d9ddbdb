#include "load.h"

#include "base/clock.h"
#include "base/counters.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define ANSWER_MAX 65536
#define WARM_UP_SECONDS 0.3

typedef struct connection {
    int socket;
    size_t got; /* of the answer */
    uint8_t head[4];
    uint64_t sent_ns;
} connection;

typedef struct load {
    int events;
    connection *connections;
    unsigned count;
    kw_bytes frame;
    kw_histogram latency;
    uint64_t calls;
    bool counting;
} load;

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
    if (all->counting) {
        kw_histogram_add_us(&all->latency, (kw_clock_mono_ns() - from->sent_ns) / 1000);
        all->calls++;
    }
    send_call(all, from);
}

static void
turn_for(load *all, double seconds)
{
    uint64_t end_ns = kw_clock_mono_ns() + (uint64_t)(seconds * 1e9);
    struct epoll_event ready[256];
    while (kw_clock_mono_ns() < end_ns) {
        int count = epoll_wait(all->events, ready, G_N_ELEMENTS(ready), 100);
        for (int i = 0; i < count; i++)
            receive(all, ready[i].data.ptr);
    }
}

/* CPU time that the process has taken, in microseconds. */
static double
cpu_us(int process)
{
    g_autofree char *file = g_strdup_printf("/proc/%d/stat", process);
    g_autofree char *text = NULL;
    unsigned long user = 0, kernel = 0;
    must(g_file_get_contents(file, &text, NULL, NULL), file);
    const char *behind_name = strrchr(text, ')');
    must(behind_name && sscanf(behind_name + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user,
                               &kernel) == 2,
         "reading the server's CPU time");
    return (double)(user + kernel) * 1e6 / (double)sysconf(_SC_CLK_TCK);
}

load_result
load_run(uint16_t port, unsigned connections, double seconds, kw_bytes frame, int server)
{
    load all = {.events = epoll_create1(EPOLL_CLOEXEC), .count = connections, .frame = frame};
    all.connections = g_new0(connection, connections);
    connect_all(&all, port);
    for (unsigned i = 0; i < connections; i++)
        send_call(&all, &all.connections[i]);
    turn_for(&all, WARM_UP_SECONDS);
    double cpu_before = cpu_us(server);
    uint64_t began_ns = kw_clock_mono_ns();
    all.counting = true;
    turn_for(&all, seconds);
    double took = (double)(kw_clock_mono_ns() - began_ns) / 1e9;
    double cpu = cpu_us(server) - cpu_before;
    for (unsigned i = 0; i < connections; i++)
        close(all.connections[i].socket);
    close(all.events);
    g_free(all.connections);
    must(all.calls > 0, "no call was answered");
    return (load_result){.calls_per_second = (double)all.calls / took,
                         .p50_us = (double)kw_histogram_quantile_us(&all.latency, 0.5),
                         .p99_us = (double)kw_histogram_quantile_us(&all.latency, 0.99),
                         .server_us = cpu / (double)all.calls};
}
