#include "unit/net/callers.h"

#include "base/thread.h"

#include <arpa/inet.h>
#include <errno.h>
#include <glib.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#define PATIENCE_MS 120000

struct net_host {
    kw_net *net;
    kw_loop *main, *loop;
    bool six;
    uint16_t port;
    bool draining, drained;
    bool closed; /* the loop's state was closed: no request can follow */
    kw_mutex lock;
    GPtrArray *requests;  /* NULL: ended */
    GArray *refused;      /* bool, for each request */
    GHashTable *answered; /* those that are answered and not ended */
    void (*left)(net_host *host, unsigned index);
    void (*answer_all)(net_host *host);
    _Atomic unsigned busy_us; /* the test sets it while loops read it */
};

static void
on_request(void *state, kw_request *request)
{
    net_host *host = state;
    g_assert_false(host->closed);
    kw_mutex_lock(&host->lock);
    bool refused = kw_request_refusal(request) != NULL;
    g_ptr_array_add(host->requests, request);
    g_array_append_val(host->refused, refused);
    kw_request_set_call(request, GUINT_TO_POINTER(host->requests->len - 1));
    kw_mutex_unlock(&host->lock);
    if (host->busy_us > 0)
        g_usleep(host->busy_us);
}

static void
on_left(void *state, kw_request *request)
{
    net_host *host = state;
    unsigned index = GPOINTER_TO_UINT(kw_request_call(request));
    g_assert_true(net_host_request(host, index) == request);
    g_assert_true(kw_account_client_is_gone(kw_request_account(request)));
    if (host->left)
        host->left(host, index);
}

static void
on_answer_all(void *state)
{
    net_host *host = state;
    if (host->answer_all)
        host->answer_all(host);
}

static void *
on_loop_open(void *user, kw_loop *loop, unsigned index)
{
    net_host *host = user;
    g_assert_cmpuint(index, ==, 0);
    host->loop = loop;
    return host;
}

static void
on_loop_close(void *state, void (*closed)(void *), void *closed_user)
{
    net_host *host = state;
    host->closed = true;
    for (guint i = 0; i < host->requests->len; i++) {
        kw_request *request = g_steal_pointer(&host->requests->pdata[i]);
        if (request && g_hash_table_contains(host->answered, request))
            kw_request_release(request);
        else if (request)
            kw_request_drop(request);
    }
    closed(closed_user);
}

kw_net_limits
net_host_limits(void)
{
    return (kw_net_limits){.connections = 100,
                           .peer_connections = 100,
                           .frame_bytes = 4 << 20,
                           .in_flight = 16,
                           .frame_ms = PATIENCE_MS};
}

net_host *
net_host_new(kw_net_limits limits, const char *name, kw_tls_context *tls)
{
    net_host *host = g_new0(net_host, 1);
    kw_error error = KW_ERROR_NONE;
    kw_mutex_init(&host->lock);
    host->requests = g_ptr_array_new();
    host->refused = g_array_new(FALSE, FALSE, sizeof(bool));
    host->answered = g_hash_table_new(NULL, NULL);
    host->main = kw_loop_new();
    host->six = strchr(name, ':') != NULL;
    kw_net_handler handler = {.user = host,
                              .loop_open = on_loop_open,
                              .request = on_request,
                              .left = on_left,
                              .answer_all = on_answer_all,
                              .loop_close = on_loop_close};
    host->net = kw_net_new(1, limits, &handler);
    if (!kw_net_listen(host->net, name, 0, tls, &host->port, &error))
        g_error("%s", error.text);
    kw_net_start(host->net);
    return host;
}

kw_net *
net_host_net(net_host *host)
{
    return host->net;
}

void
net_host_on_left(net_host *host, void (*left)(net_host *host, unsigned index))
{
    host->left = left;
}

void
net_host_on_answer_all(net_host *host, void (*answer_all)(net_host *host))
{
    host->answer_all = answer_all;
}

void
net_host_set_busy_us(net_host *host, unsigned busy_us)
{
    host->busy_us = busy_us;
}

uint16_t
net_host_port(const net_host *host)
{
    return host->port;
}

kw_loop *
net_host_loop(net_host *host)
{
    return host->loop;
}

/* --- the loop's thread ---------------------------------------------------------------------------------- */

typedef struct job {
    kw_task task;
    net_host *host;
    void (*run)(net_host *host, void *user);
    void *user;
    _Atomic bool done;
} job;

static void
run_job(kw_task *task)
{
    job *it = (job *)task;
    it->run(it->host, it->user);
    it->done = true;
}

void
net_host_run(net_host *host, void (*run)(net_host *host, void *user), void *user)
{
    job it = {.task.run = run_job, .host = host, .run = run, .user = user};
    kw_loop_post(host->loop, &it.task);
    for (int i = 0; i < PATIENCE_MS && !it.done; i++)
        g_usleep(1000);
    g_assert_true(it.done);
}

static void
block_loop(kw_task *task)
{
    net_host_block *block = (net_host_block *)task;
    block->entered = true;
    while (!block->go)
        g_usleep(1000);
}

void
net_host_block_loop(net_host *host, net_host_block *block)
{
    *block = (net_host_block){.task.run = block_loop};
    kw_loop_post(host->loop, &block->task);
    while (!block->entered)
        g_usleep(1000);
}

unsigned
net_host_seen(net_host *host)
{
    kw_mutex_lock(&host->lock);
    unsigned seen = host->requests->len;
    kw_mutex_unlock(&host->lock);
    return seen;
}

void
net_host_wait(net_host *host, unsigned count)
{
    for (int i = 0; i < PATIENCE_MS && net_host_seen(host) < count; i++)
        g_usleep(1000);
    g_assert_cmpuint(net_host_seen(host), ==, count);
}

kw_request *
net_host_request(net_host *host, unsigned index)
{
    kw_mutex_lock(&host->lock);
    kw_request *request = host->requests->pdata[index];
    kw_mutex_unlock(&host->lock);
    g_assert_nonnull(request);
    return request;
}

bool
net_host_was_refused(net_host *host, unsigned index)
{
    kw_mutex_lock(&host->lock);
    bool refused = g_array_index(host->refused, bool, index);
    kw_mutex_unlock(&host->lock);
    return refused;
}

static void
end_request(net_host *host, unsigned index)
{
    kw_mutex_lock(&host->lock);
    host->requests->pdata[index] = NULL;
    kw_mutex_unlock(&host->lock);
}

/* --- replies -------------------------------------------------------------------------------------------- */

typedef struct reply {
    unsigned index;
    size_t size;
    char fill;
    bool given;
} reply;

static void
append_reply(kw_buffer *out, const reply *it)
{
    uint8_t *to = kw_buffer_reserve(out, 4 + it->size);
    kw_be32_store(to, (uint32_t)it->size);
    memset(to + 4, it->fill, it->size);
    out->size += 4 + it->size;
}

static void
write_reply(kw_request *request, const reply *it)
{
    if (!it->given) {
        append_reply(kw_request_reply(request), it);
        return;
    }
    kw_buffer own = KW_BUFFER_EMPTY;
    append_reply(&own, it);
    kw_request_pass_reply(request, &own);
    g_assert_cmpuint(own.capacity, ==, 0);
}

static void
run_reply(net_host *host, void *user)
{
    const reply *it = user;
    kw_request *request = net_host_request(host, it->index);
    end_request(host, it->index);
    write_reply(request, it);
    kw_request_replied(request);
}

static void
run_answer(net_host *host, void *user)
{
    const reply *it = user;
    kw_request *request = net_host_request(host, it->index);
    write_reply(request, it);
    g_hash_table_add(host->answered, request);
    kw_request_answered(request);
}

static void
run_release(net_host *host, void *user)
{
    unsigned index = *(const unsigned *)user;
    kw_request *request = net_host_request(host, index);
    end_request(host, index);
    g_hash_table_remove(host->answered, request);
    kw_request_release(request);
}

void
net_host_reply(net_host *host, unsigned index, size_t size, char fill, bool given)
{
    net_host_run(host, run_reply, &(reply){index, size, fill, given});
}

void
net_host_answer(net_host *host, unsigned index, size_t size, char fill)
{
    net_host_run(host, run_answer, &(reply){index, size, fill, false});
}

void
net_host_reply_here(net_host *host, unsigned index, size_t size, char fill)
{
    run_reply(host, &(reply){index, size, fill, false});
}

void
net_host_answer_here(net_host *host, unsigned index, size_t size, char fill)
{
    run_answer(host, &(reply){index, size, fill, false});
}

void
net_host_release(net_host *host, unsigned index)
{
    net_host_run(host, run_release, &index);
}

typedef struct drop {
    kw_task task;
    net_host *host;
    unsigned index;
} drop;

static void
run_drop(kw_task *task)
{
    drop *it = (drop *)task;
    kw_request *request = net_host_request(it->host, it->index);
    end_request(it->host, it->index);
    kw_request_drop(request);
    g_free(it);
}

void
net_host_post_drop(net_host *host, unsigned index)
{
    drop *it = g_new0(drop, 1);
    *it = (drop){.task.run = run_drop, .host = host, .index = index};
    kw_loop_post(host->loop, &it->task);
}

/* --- the end -------------------------------------------------------------------------------------------- */

static void
on_drained(void *user)
{
    net_host *host = user;
    host->drained = true;
    kw_loop_stop(host->main);
}

void
net_host_drain(net_host *host, uint64_t drain_ms)
{
    host->draining = true;
    kw_net_drain(host->net, drain_ms, host->main, on_drained, host);
}

void
net_host_drain_wait(net_host *host)
{
    if (!host->drained)
        kw_loop_run(host->main);
    g_assert_true(host->drained);
}

void
net_host_free(net_host *host)
{
    if (!host->draining)
        net_host_drain(host, 0);
    net_host_drain_wait(host);
    kw_net_free(host->net);
    kw_loop_free(host->main);
    g_ptr_array_free(host->requests, TRUE);
    g_array_free(host->refused, TRUE);
    g_hash_table_destroy(host->answered);
    kw_mutex_clear(&host->lock);
    g_free(host);
    g_assert_cmpint(kw_metrics_read(KW_METRIC_connections_open), ==, 0);
    g_assert_cmpint(kw_metrics_read(KW_METRIC_memory_frames), ==, 0);
    g_assert_cmpint(kw_metrics_read(KW_METRIC_memory_replies), ==, 0);
}

/* --- clients -------------------------------------------------------------------------------------------- */

int
client_open(const net_host *host)
{
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = g_htons(host->port)};
    struct sockaddr_in6 six = {
        .sin6_family = AF_INET6, .sin6_port = g_htons(host->port), .sin6_addr = in6addr_loopback};
    four.sin_addr.s_addr = g_htonl(INADDR_LOOPBACK);
    int client = socket(host->six ? AF_INET6 : AF_INET, SOCK_STREAM, 0);
    const void *address = host->six ? (const void *)&six : (const void *)&four;
    g_assert_cmpint(connect(client, address, host->six ? sizeof six : sizeof four), ==, 0);
    struct timeval patience = {.tv_sec = PATIENCE_MS / 1000};
    setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    return client;
}

void
client_send(int client, const void *bytes, size_t size)
{
    for (size_t sent = 0; sent < size;) {
        ssize_t part = send(client, (const char *)bytes + sent, size - sent, MSG_NOSIGNAL);
        g_assert_cmpint(part, >, 0);
        sent += (size_t)part;
    }
}

uint8_t *
client_call_bytes(size_t size, size_t *ret_size)
{
    kw_buffer out = KW_BUFFER_EMPTY;
    kw_wire_form form = {KW_WIRE_BINARY, true};
    size_t mark = kw_wire_frame_begin(&out, form);
    kw_wire_message_encode(&out, form.protocol, KW_BYTES_LITERAL("call"), KW_WIRE_CALL, 7);
    uint8_t head[7] = {11, 0, 1};
    kw_be32_store(head + 3, (uint32_t)size);
    kw_buffer_append(&out, kw_bytes_of(head, sizeof head));
    memset(kw_buffer_reserve(&out, size), 'x', size);
    out.size += size;
    kw_buffer_append_byte(&out, 0);
    kw_wire_frame_end(&out, form, mark);
    uint8_t *bytes = g_memdup2(out.data, out.size);
    *ret_size = out.size;
    kw_buffer_clear(&out);
    return bytes;
}

void
client_call(int client, size_t size)
{
    size_t bytes_count;
    g_autofree uint8_t *bytes = client_call_bytes(size, &bytes_count);
    client_send(client, bytes, bytes_count);
}

/* Reads until `size` bytes have arrived, or fewer if the connection ends. */
static size_t
receive(int client, void *to, size_t size)
{
    size_t got = 0;
    while (got < size) {
        ssize_t part = recv(client, (char *)to + got, size - got, 0);
        if (part == 0 || (part < 0 && errno == ECONNRESET))
            break;
        g_assert_cmpint(part, >, 0);
        got += (size_t)part;
    }
    return got;
}

void
client_expect(int client, size_t size, char fill)
{
    g_autofree uint8_t *got = g_malloc(4 + size);
    g_assert_cmpuint(receive(client, got, 4 + size), ==, 4 + size);
    g_assert_cmpuint(kw_be32_load(got), ==, size);
    for (size_t i = 0; i < size; i++)
        g_assert_cmpint(got[4 + i], ==, fill);
}

void
client_expect_end(int client)
{
    char byte;
    g_assert_cmpuint(receive(client, &byte, 1), ==, 0);
    close(client);
}

void
client_reset(int client)
{
    struct linger reset = {.l_onoff = 1};
    setsockopt(client, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    close(client);
}

void
wait_for_metric(kw_metric metric, int64_t value)
{
    for (int i = 0; i < PATIENCE_MS && kw_metrics_read(metric) != value; i++)
        g_usleep(1000);
    g_assert_cmpint(kw_metrics_read(metric), ==, value);
}
