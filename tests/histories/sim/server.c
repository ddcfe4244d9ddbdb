/* See server.h. */
#include "histories/sim/server.h"

#include "base/clock.h"
#include "base/thread.h"
#include "wire/table.h"
#include "wire/wire.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define FRAME_MAX ((size_t)64 * 1024 * 1024)
#define PAUSE_MS 100 /* of HBase's client before a retry */

static const kw_wire_form form = {KW_WIRE_COMPACT, true};

typedef struct server {
    sim_servers *all;
    uint16_t port;
    int listener;
    bool stopped;
    sim_faults faults;
    uint32_t life;       /* incremented when it is killed; connections of an earlier life are dead */
    GHashTable *sockets; /* of connections: GINT_TO_POINTER(fd) */
    kw_thread thread;
} server;

struct sim_servers {
    kw_mutex lock; /* everything below; rows are used under it */
    kw_condition changed;
    sim_rows *rows;
    sim_placements *placements;
    GRand *random;
    int patience_ms;
    server *servers;
    size_t count;
};

typedef struct connection {
    server *of;
    uint32_t life;
    int fd;
    int64_t arrived_us; /* when the present call arrived: wall clock of the kernel */
    kw_thread thread;
} connection;

/* --- one call --------------------------------------------------------------------------------- */

static sim_fate
draw(const connection *of, kw_hb_method method, const void *args)
{
    sim_servers *all = of->of->all;
    kw_mutex_lock(&all->lock);
    sim_fate drawn =
        sim_fate_draw(&of->of->faults, all->random, all->placements, all->patience_ms, method, args);
    kw_mutex_unlock(&all->lock);
    return drawn;
}

static void
sleep_us(int us)
{
    if (us > 0)
        g_usleep((gulong)us);
}

static bool
is_too_late(const connection *of, kw_hb_method method)
{
    int patience_ms = of->of->all->patience_ms;
    return patience_ms && sim_is_write(method) &&
           g_get_real_time() - of->arrived_us > (int64_t)patience_ms * 1000;
}

/* NULL if the call is given up instead. */
static const void *
apply(connection *of, kw_hb_method method, const void *args, kw_arena *arena)
{
    sim_servers *all = of->of->all;
    kw_mutex_lock(&all->lock);
    const void *result = is_too_late(of, method) ? NULL : sim_rows_answer(all->rows, method, args, arena);
    kw_mutex_unlock(&all->lock);
    return result;
}

/* False if the server was killed during the wait. */
static bool
wait_while_stopped(connection *of)
{
    sim_servers *all = of->of->all;
    kw_mutex_lock(&all->lock);
    while (of->of->stopped && of->of->life == of->life)
        kw_condition_wait(&all->changed, &all->lock);
    bool alive = of->of->life == of->life;
    kw_mutex_unlock(&all->lock);
    return alive;
}

static bool
transmit(int fd, kw_bytes bytes)
{
    while (bytes.size) {
        ssize_t sent = send(fd, bytes.data, bytes.size, MSG_NOSIGNAL);
        if (sent <= 0)
            return false;
        bytes = kw_bytes_skip(bytes, (size_t)sent);
    }
    return true;
}

static bool
answer(const connection *of, const kw_wire_message *message, const kw_wire_method *method, const void *result)
{
    kw_buffer out = KW_BUFFER_EMPTY;
    size_t mark = kw_wire_frame_begin(&out, form);
    kw_wire_message_encode(&out, form.protocol, message->name, KW_WIRE_REPLY, message->sequence_id);
    kw_wire_struct_encode(&out, form.protocol, method->result, result);
    kw_wire_frame_end(&out, form, mark);
    bool good = transmit(of->fd, kw_buffer_bytes(&out));
    kw_buffer_clear(&out);
    return good;
}

/* Closes the connection without a reply. */
static void
hang_up(const connection *of)
{
    shutdown(of->fd, SHUT_RDWR);
}

/* Applies the call, perhaps twice, and replies, or not. False: the connection must be closed. */
static bool
carry_out(connection *of, const kw_wire_message *message, const kw_wire_method *method, const void *args,
          kw_arena *arena)
{
    kw_hb_method number = (kw_hb_method)(method - kw_hb_methods);
    sim_fate drawn = draw(of, number, args);
    if (drawn.late || drawn.drop)
        hang_up(of);
    if (drawn.drop)
        return false;
    sleep_us(drawn.before_us);
    if (drawn.late)
        sleep_us(drawn.late_ms * 1000);
    if (!wait_while_stopped(of)) {
        if (draw(of, number, args).before_us % 2 == 0)
            apply(of, number, args, arena);
        return false;
    }
    const void *result = apply(of, number, args, arena);
    if (drawn.repeat && result) {
        sleep_us(PAUSE_MS * 1000);
        result = apply(of, number, args, arena);
    }
    sleep_us(drawn.after_us);
    if (drawn.lose || !result)
        hang_up(of);
    return !drawn.late && !drawn.lose && result && wait_while_stopped(of) &&
           answer(of, message, method, result);
}

static bool
serve(connection *of, kw_bytes payload)
{
    kw_wire_message message;
    kw_wire_limits limits = {.decoded_bytes = FRAME_MAX * 4, .depth = KW_WIRE_DEPTH_DEFAULT};
    g_autoptr(kw_arena) arena = kw_arena_new();
    if (!kw_wire_message_decode(form.protocol, payload, &message, NULL))
        return false;
    const kw_wire_method *method = kw_wire_method_find(kw_hb_methods, KW_HB_METHOD_COUNT, message.name);
    if (!method)
        return false;
    void *args = kw_arena_alloc0(arena, method->args->size);
    return kw_wire_struct_decode(method->args, form.protocol, message.body, limits, arena, args, NULL) &&
           carry_out(of, &message, method, args, arena);
}

/* --- connections ------------------------------------------------------------------------------ */

/* When the bytes arrived, by the kernel; this thread can be late. */
static int64_t
arrival_of(struct msghdr *message)
{
    struct timespec when;
    for (struct cmsghdr *at = CMSG_FIRSTHDR(message); at; at = CMSG_NXTHDR(message, at)) {
        if (at->cmsg_level != SOL_SOCKET || at->cmsg_type != SCM_TIMESTAMPNS)
            continue;
        memcpy(&when, CMSG_DATA(at), sizeof when);
        return (int64_t)when.tv_sec * 1000000 + when.tv_nsec / 1000;
    }
    return g_get_real_time();
}

static ssize_t
receive(connection *of, uint8_t *to, size_t size)
{
    _Alignas(struct cmsghdr) uint8_t control[CMSG_SPACE(sizeof(struct timespec)) * 2];
    struct iovec bytes = {.iov_base = to, .iov_len = size};
    struct msghdr message = {
        .msg_iov = &bytes, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    ssize_t got = recvmsg(of->fd, &message, 0);
    if (got > 0)
        of->arrived_us = arrival_of(&message);
    return got;
}

static void
serve_all(connection *of)
{
    kw_buffer in = KW_BUFFER_EMPTY;
    kw_wire_reader *reader = kw_wire_reader_new(FRAME_MAX);
    for (bool good = true; good;) {
        kw_bytes payload;
        size_t consumed;
        kw_wire_progress progress =
            kw_wire_reader_next(reader, kw_buffer_bytes(&in), &payload, &consumed, NULL, NULL);
        if (progress == KW_WIRE_MESSAGE) {
            good = kw_wire_reader_form(reader).framed && serve(of, payload);
            kw_buffer_consume(&in, consumed);
            continue;
        }
        uint8_t *space = kw_buffer_reserve(&in, 65536);
        ssize_t got = progress == KW_WIRE_MORE ? receive(of, space, 65536) : -1;
        good = got > 0;
        in.size += good ? (size_t)got : 0;
    }
    kw_wire_reader_free(reader);
    kw_buffer_clear(&in);
}

/* Threads of connections are never joined; they end with the process. */
static void
connection_main(void *user)
{
    connection *of = user;
    serve_all(of);
    kw_mutex_lock(&of->of->all->lock);
    g_hash_table_remove(of->of->sockets, GINT_TO_POINTER(of->fd));
    kw_mutex_unlock(&of->of->all->lock);
    close(of->fd);
    pthread_detach(pthread_self());
    g_free(of);
}

static void
welcome(server *to, int fd)
{
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on);
    connection *made = g_new0(connection, 1);
    kw_mutex_lock(&to->all->lock);
    *made = (connection){.of = to, .life = to->life, .fd = fd};
    g_hash_table_add(to->sockets, GINT_TO_POINTER(fd));
    kw_thread_start(&made->thread, "sim-call", connection_main, made);
    kw_mutex_unlock(&to->all->lock);
}

static void
accept_main(void *user)
{
    server *of = user;
    int fd;
    while ((fd = accept4(of->listener, NULL, NULL, SOCK_CLOEXEC)) >= 0 || errno == EINTR ||
           errno == ECONNABORTED)
        if (fd >= 0)
            welcome(of, fd);
}

static void
open_listener(server *of)
{
    int on = 1;
    struct sockaddr_in where = {.sin_family = AF_INET, .sin_port = htons(of->port)};
    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    of->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(of->listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(of->listener, (struct sockaddr *)&where, sizeof where) || listen(of->listener, 50))
        g_error("port %u: %s", of->port, g_strerror(errno));
    kw_thread_start(&of->thread, "sim-accept", accept_main, of);
}

/* --- all --------------------------------------------------------------------------------------- */

sim_servers *
sim_servers_start(const uint16_t *ports, size_t count, uint32_t seed)
{
    sim_servers *all = g_new0(sim_servers, 1);
    kw_mutex_init(&all->lock);
    kw_condition_init(&all->changed);
    all->rows = sim_rows_new();
    all->placements = sim_placements_new();
    all->random = g_rand_new_with_seed(seed);
    all->servers = g_new0(server, count);
    all->count = count;
    for (size_t i = 0; i < count; i++) {
        all->servers[i] = (server){.all = all, .port = ports[i], .sockets = g_hash_table_new(NULL, NULL)};
        open_listener(&all->servers[i]);
    }
    return all;
}

#define LOCKED(all, statement)                                                                               \
    kw_mutex_lock(&(all)->lock);                                                                             \
    statement;                                                                                               \
    kw_condition_broadcast(&(all)->changed);                                                                 \
    kw_mutex_unlock(&(all)->lock)

void
sim_servers_set_faults(sim_servers *servers, size_t number, const sim_faults *faults)
{
    for (size_t i = 0; i < servers->count; i++) {
        if (number == SIM_ALL || number % servers->count == i) {
            LOCKED(servers, servers->servers[i].faults = *faults);
        }
    }
}

void
sim_servers_set_patience(sim_servers *servers, int patience_ms)
{
    LOCKED(servers, servers->patience_ms = patience_ms);
}

void
sim_servers_set_clock(sim_servers *servers, sim_region region, int64_t offset_ms)
{
    LOCKED(servers, sim_rows_set_clock(servers->rows, region, offset_ms));
}

void
sim_servers_purge(sim_servers *servers, int64_t markers_ms)
{
    LOCKED(servers, sim_rows_purge(servers->rows, markers_ms));
}

void
sim_servers_dump(sim_servers *servers, const char *table)
{
    LOCKED(servers, sim_rows_dump(servers->rows, table));
}

void
sim_servers_print_ties(sim_servers *servers)
{
    LOCKED(servers, sim_rows_print_ties(servers->rows));
}

void
sim_servers_stop(sim_servers *servers, size_t number)
{
    LOCKED(servers, servers->servers[number % servers->count].stopped = true);
}

void
sim_servers_go_on(sim_servers *servers, size_t number)
{
    LOCKED(servers, servers->servers[number % servers->count].stopped = false);
}

static void
end_sockets(server *of)
{
    GHashTableIter iter;
    gpointer fd;
    g_hash_table_iter_init(&iter, of->sockets);
    while (g_hash_table_iter_next(&iter, &fd, NULL))
        shutdown(GPOINTER_TO_INT(fd), SHUT_RDWR);
}

void
sim_servers_kill(sim_servers *servers, size_t number)
{
    server *of = &servers->servers[number % servers->count];
    if (of->listener < 0)
        return;
    shutdown(of->listener, SHUT_RDWR);
    kw_thread_join(&of->thread);
    close(of->listener);
    of->listener = -1;
    LOCKED(servers, (of->life++, of->stopped = false, end_sockets(of)));
}

void
sim_servers_start_again(sim_servers *servers, size_t number)
{
    server *of = &servers->servers[number % servers->count];
    if (of->listener < 0)
        open_listener(of);
}
