/* The least that any process in front of Thrift2 costs: forwards bytes unchanged between callers and Thrift2,
 * with a connection to Thrift2 for each caller, on one thread with one epoll.
 *
 *   bare_proxy PORT     prints its own port, then forwards to 127.0.0.1:PORT until it is killed
 *
 * A forwarded call costs six system calls: epoll_wait, read and write for the request, and the same for the
 * reply. It writes at once; if a socket does not accept all bytes, it waits for the socket. That is enough
 * for small calls, for which the benchmark uses it.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define BUFFER_BYTES (256 * 1024)
#define CONNECT_MS 20
#define CONNECT_TRIES 250

/* One of the two sockets of a caller. */
typedef struct end {
    int fd;
    struct end *other;
    struct end *next_dead; /* closed; freed after the present events */
    int is_dead;
} end;

static char buffer[BUFFER_BYTES];
static end *dead;

static void
fail(const char *what)
{
    perror(what);
    exit(1);
}

static struct sockaddr_in
loopback(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

static end *
end_new(int events, int fd)
{
    int on = 1;
    end *made = calloc(1, sizeof *made);
    struct epoll_event wanted = {.events = EPOLLIN, .data.ptr = made};
    if (!made)
        fail("calloc");
    made->fd = fd;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (epoll_ctl(events, EPOLL_CTL_ADD, fd, &wanted))
        fail("epoll_ctl");
    return made;
}

/* Returns -1 if the connection is not there within CONNECT_MS. */
static int
try_connect(const struct sockaddr_in *to)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        fail("socket");
    if (connect(fd, (const struct sockaddr *)to, sizeof *to) == 0)
        return fd;
    struct pollfd done = {.fd = fd, .events = POLLOUT};
    if (errno != EINPROGRESS)
        fail("connect");
    if (poll(&done, 1, CONNECT_MS) == 1 && !(done.revents & (POLLERR | POLLHUP)))
        return fd;
    close(fd);
    return -1;
}

/* Thrift2 accepts connections one by one, and the kernel repeats a lost SYN only after a second. Without the
 * short tries, a slice with many callers would measure that second instead of the proxy. */
static int
connect_upstream(int port)
{
    struct sockaddr_in to = loopback(port);
    for (int i = 0; i < CONNECT_TRIES; i++) {
        int fd = try_connect(&to);
        if (fd >= 0)
            return fd;
    }
    fail("connect");
    return -1;
}

static void
welcome(int events, int listener, int port)
{
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0)
        return;
    end *caller = end_new(events, fd), *server = end_new(events, connect_upstream(port));
    caller->other = server;
    server->other = caller;
}

/* Closes both sockets. The present events can contain either end, so they are freed later. */
static void
bury(end *one)
{
    end *both[2] = {one, one->other};
    for (int i = 0; i < 2; i++) {
        close(both[i]->fd);
        both[i]->is_dead = 1;
        both[i]->next_dead = dead;
        dead = both[i];
    }
}

static void
forward(end *from)
{
    ssize_t got = recv(from->fd, buffer, sizeof buffer, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0) {
        bury(from);
        return;
    }
    for (ssize_t sent = 0, more; sent < got; sent += more) {
        more = send(from->other->fd, buffer + sent, (size_t)(got - sent), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (more >= 0)
            continue;
        struct pollfd space = {.fd = from->other->fd, .events = POLLOUT};
        if ((errno != EAGAIN && errno != EINTR) || poll(&space, 1, -1) < 0) {
            bury(from);
            return;
        }
        more = 0;
    }
}

static void
free_dead(void)
{
    while (dead) {
        end *next = dead->next_dead;
        free(dead);
        dead = next;
    }
}

static int
listen_anywhere(void)
{
    struct sockaddr_in at = loopback(0);
    socklen_t size = sizeof at;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (listener < 0 || bind(listener, (struct sockaddr *)&at, size) || listen(listener, 1024) ||
        getsockname(listener, (struct sockaddr *)&at, &size))
        fail("listen");
    printf("%d\n", ntohs(at.sin_port));
    fflush(stdout);
    return listener;
}

int
main(int argc, char **argv)
{
    int port = argc == 2 ? atoi(argv[1]) : 0;
    if (port <= 0) {
        fprintf(stderr, "usage: bare_proxy PORT\n");
        return 2;
    }
    int listener = listen_anywhere(), events = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event some[128], wanted = {.events = EPOLLIN};
    if (epoll_ctl(events, EPOLL_CTL_ADD, listener, &wanted))
        fail("epoll_ctl");
    for (;;) {
        int count = epoll_wait(events, some, sizeof some / sizeof *some, -1);
        for (int i = 0; i < count; i++) {
            end *from = some[i].data.ptr;
            if (!from)
                welcome(events, listener, port);
            else if (!from->is_dead)
                forward(from);
        }
        free_dead();
    }
}
