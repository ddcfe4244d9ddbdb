/* A closed loop of callers on one thread, like load.c of bench_gateway, but with another record in each call,
 * and with the exact duration of each call. */
#include "bench.h"

#include "base/bytes.h"
#include "base/clock.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define REPLY_MAX (1 << 20)
/* Of a framed message in the binary protocol, without the name: length, version and type, length of the
 * name, sequence number; then the type and the number of the first field. */
#define MESSAGE_HEAD 16
#define FIELD_HEAD 3

typedef struct connection {
    int socket;
    size_t size; /* of the reply so far */
    uint8_t reply[REPLY_MAX];
    uint64_t since_ns; /* previous acknowledgement */
} connection;

struct bench_callers {
    int events;
    connection *connections;
    size_t count;
    bench_frame frames[BENCH_CALLS];
    size_t reply_sizes[BENCH_CALLS]; /* replies of the same kind have the same size */
    const bench_work *work;
    bench_frame *frame;
    size_t waiting; /* for a reply */
    uint64_t end_ns;
    GArray *replies;
};

static void
must(bool fine, const char *what)
{
    if (fine)
        return;
    fprintf(stderr, "bench_change: %s: %s\n", what, g_strerror(errno));
    exit(1);
}

bench_callers *
bench_callers_open(uint16_t port, size_t count)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = g_htons(port)};
    address.sin_addr.s_addr = g_htonl(INADDR_LOOPBACK);
    bench_callers *all = g_new0(bench_callers, 1);
    *all = (bench_callers){.events = epoll_create1(EPOLL_CLOEXEC), .count = count};
    all->connections = g_new0(connection, count);
    for (int call = 0; call < BENCH_CALLS; call++)
        bench_frame_init(&all->frames[call], (bench_call)call);
    for (size_t i = 0; i < count; i++) {
        connection *made = &all->connections[i];
        int one = 1;
        made->socket = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        must(made->socket >= 0 && connect(made->socket, (struct sockaddr *)&address, sizeof address) == 0,
             "connect");
        setsockopt(made->socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        struct epoll_event wanted = {.events = EPOLLIN, .data.ptr = made};
        must(epoll_ctl(all->events, EPOLL_CTL_ADD, made->socket, &wanted) == 0, "epoll_ctl");
    }
    return all;
}

void
bench_callers_close(bench_callers *all)
{
    for (size_t i = 0; i < all->count; i++)
        close(all->connections[i].socket);
    for (int call = 0; call < BENCH_CALLS; call++)
        bench_frame_clear(&all->frames[call]);
    close(all->events);
    g_free(all->connections);
    g_free(all);
}

static uint64_t
choose_number(const bench_work *work, size_t records)
{
    if (work->random_below)
        return (uint64_t)(g_random_double() * (double)work->random_below);
    *work->number += records;
    return *work->number - records;
}

static void
send_call(bench_callers *all, connection *to, uint64_t now_ns)
{
    bench_frame *frame = all->frame;
    bench_frame_set_number(frame, choose_number(all->work, frame->records));
    to->size = 0;
    to->since_ns = now_ns;
    ssize_t sent = send(to->socket, frame->data, frame->size, MSG_NOSIGNAL);
    must(sent == (ssize_t)frame->size, "send");
}

static bool
continues(const bench_callers *all, uint64_t now_ns)
{
    const bench_work *work = all->work;
    return now_ns < all->end_ns && (!work->end || *work->number < work->end) &&
           !(work->stop && g_atomic_int_get(work->stop));
}

/* The first field of a result is 0 if the call succeeded. The size shows whether its writes did, and whether
 * a get found the record. */
static void
check_reply(bench_callers *all, const connection *from)
{
    size_t *wanted = &all->reply_sizes[all->work->call], field = MESSAGE_HEAD + all->frame->name_size;
    if (*wanted == 0)
        *wanted = from->size;
    if (from->size == *wanted && from->size >= field + FIELD_HEAD && from->reply[field + 2] == 0)
        return;
    fprintf(stderr, "bench_change: a call of kind %d failed; its reply has %zu bytes instead of %zu: ",
            all->work->call, from->size, *wanted);
    for (size_t i = field; i < from->size; i++)
        fputc(g_ascii_isprint((char)from->reply[i]) ? from->reply[i] : '.', stderr);
    fputc('\n', stderr);
    exit(1);
}

static void
receive(bench_callers *all, connection *from)
{
    ssize_t got = recv(from->socket, from->reply + from->size, REPLY_MAX - from->size, MSG_DONTWAIT);
    if (got < 0 && errno == EAGAIN)
        return;
    must(got > 0, "the gateway closed a connection");
    from->size += (size_t)got;
    if (from->size < 4 || from->size < 4 + (size_t)kw_be32_load(from->reply))
        return;
    uint64_t now_ns = kw_clock_mono_ns();
    bench_reply reply = {now_ns, (double)(now_ns - from->since_ns) / 1000};
    check_reply(all, from);
    g_array_append_val(all->replies, reply);
    if (continues(all, now_ns))
        send_call(all, from, now_ns);
    else
        all->waiting--;
}

bench_slice
bench_callers_run(bench_callers *all, const bench_work *work)
{
    struct epoll_event ready[64];
    uint64_t began_ns = kw_clock_mono_ns();
    g_assert(work->callers <= all->count);
    all->work = work;
    all->frame = &all->frames[work->call];
    all->end_ns = began_ns + (uint64_t)(work->seconds * 1e9);
    all->replies = g_array_new(FALSE, FALSE, sizeof(bench_reply));
    all->waiting = work->callers;
    for (size_t i = 0; i < work->callers; i++)
        send_call(all, &all->connections[i], kw_clock_mono_ns());
    while (all->waiting > 0) {
        int count = epoll_wait(all->events, ready, G_N_ELEMENTS(ready), 100);
        for (int i = 0; i < count; i++)
            receive(all, ready[i].data.ptr);
    }
    double took_s = (double)(kw_clock_mono_ns() - began_ns) / 1e9;
    return (bench_slice){.replies = all->replies, .calls_per_s = all->replies->len / took_s};
}

static int
by_duration(const void *a, const void *b)
{
    double one = ((const bench_reply *)a)->took_us, other = ((const bench_reply *)b)->took_us;
    return (one > other) - (one < other);
}

double
bench_percentile_us(GArray *replies, double share)
{
    if (replies->len == 0)
        return 0;
    g_array_sort(replies, by_duration);
    guint place = (guint)(share * replies->len);
    return g_array_index(replies, bench_reply, MIN(place, replies->len - 1)).took_us;
}
