/* Sockets and threads of the fake. Like Thrift2, it has one thread that accepts and one per connection. */
#include "support/thrift2_fake.h"

#include "base/clock.h"
#include "base/thread.h"
#include "support/thrift2_fake_rows.h"
#include "wire/table.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

#define FRAME_MAX ((size_t)64 * 1024 * 1024)
#define CLOCK_TABLE KW_BYTES_LITERAL("keyway_clock")

typedef struct connection {
    thrift2_fake *fake;
    kw_thread thread;
    int fd;
    uint32_t number;
    SSL *tls;
    bool finished; /* the thread has finished */
} connection;

struct thrift2_fake {
    kw_wire_form form;
    SSL_CTX *tls;
    int listener;
    kw_mutex mutex; /* guards all members below */
    kw_condition gate_opened;
    int gate; /* the highest open gate */
    uint16_t port;
    bool stopping;
    bool no_reads;
    bool no_replies;
    bool listening;
    kw_thread thread;
    GPtrArray *connections;
    uint32_t accepted;
    uint32_t live;
    uint32_t pings;
    uint32_t calls[KW_HB_METHOD_COUNT];
    uint32_t items[KW_HB_METHOD_COUNT];
    fake_script script;
    void *user;
    fake_rows rows;
    fake_rows clock; /* the heartbeat table */
};

/* --- bytes ------------------------------------------------------------------------------------ */

static ssize_t
receive(connection *from, uint8_t *to, size_t size)
{
    if (from->tls)
        return SSL_read(from->tls, to, (int)size);
    ssize_t got;
    do {
        got = read(from->fd, to, size);
    } while (got < 0 && errno == EINTR);
    return got;
}

static bool
transmit(connection *to, const uint8_t *data, size_t size)
{
    while (size) {
        ssize_t sent = to->tls ? SSL_write(to->tls, data, (int)size) : send(to->fd, data, size, MSG_NOSIGNAL);
        if (sent <= 0)
            return false;
        data += sent;
        size -= (size_t)sent;
    }
    return true;
}

/* --- one call --------------------------------------------------------------------------------- */

static bool
is_heartbeat(kw_hb_method method, const void *args)
{
    if (method == KW_HB_THBaseService_put)
        return kw_bytes_equal(((const kw_hb_THBaseService_put_args *)args)->table, CLOCK_TABLE);
    if (method == KW_HB_THBaseService_deleteSingle)
        return kw_bytes_equal(((const kw_hb_THBaseService_deleteSingle_args *)args)->table, CLOCK_TABLE);
    return method == KW_HB_THBaseService_get &&
           kw_bytes_equal(((const kw_hb_THBaseService_get_args *)args)->table, CLOCK_TABLE);
}

/* Applies the script and the rows. Called with the lock. */
static void
decide(connection *self, kw_hb_method method, const void *args, kw_arena *arena, fake_answer *ret_answer)
{
    thrift2_fake *fake = self->fake;
    bool heartbeat = is_heartbeat(method, args);
    bool own = heartbeat || method == KW_HB_THBaseService_getThriftServerType;
    if (method == KW_HB_THBaseService_getThriftServerType)
        fake->pings++;
    if (!own) {
        fake_call call = {.method = method,
                          .args = args,
                          .nth = ++fake->calls[method],
                          .connection = self->number,
                          .arena = arena};
        fake->items[method] += fake_rows_items(method, args);
        if (fake->script)
            fake->script(&call, ret_answer, fake->user);
    }
    if (fake->no_replies)
        *ret_answer = (fake_answer){.kind = FAKE_SILENCE, .do_nothing = true};
    if (!ret_answer->do_nothing) {
        const void *result = heartbeat ? fake_rows_answer_heartbeat(&fake->clock, method, args, arena)
                                       : fake_rows_answer(&fake->rows, method, args, arena);
        if (!ret_answer->result)
            ret_answer->result = result;
    }
}

static void
encode_answer(const connection *self, const kw_wire_message *message, const kw_wire_method *method,
              const fake_answer *answer, kw_buffer *out)
{
    kw_wire_form form = self->fake->form;
    size_t mark = kw_wire_frame_begin(out, form);
    kw_bytes name = answer->name ? kw_bytes_of_text(answer->name) : message->name;
    int32_t sequence_id = message->sequence_id + answer->sequence_shift;
    if (answer->kind == FAKE_EXCEPTION) {
        kw_wire_message_encode(out, form.protocol, name, KW_WIRE_EXCEPTION, sequence_id);
        kw_wire_exception_encode(out, form.protocol, answer->exception, answer->text ? answer->text : "");
    } else {
        kw_wire_message_encode(out, form.protocol, name, KW_WIRE_REPLY, sequence_id);
        kw_wire_struct_encode(out, form.protocol, method->result, answer->result);
    }
    kw_wire_frame_end(out, form, mark);
    if (answer->frame_bytes)
        kw_be32_store(out->data + mark, answer->frame_bytes);
}

static void
wait_at_gate(thrift2_fake *fake, int gate)
{
    kw_mutex_lock(&fake->mutex);
    while (fake->gate < gate)
        kw_condition_wait(&fake->gate_opened, &fake->mutex);
    kw_mutex_unlock(&fake->mutex);
}

/* Answers one call; false if the connection must be closed. */
static bool
serve(connection *self, kw_bytes payload)
{
    thrift2_fake *fake = self->fake;
    kw_wire_message message;
    kw_wire_limits limits = {.decoded_bytes = FRAME_MAX * 4, .depth = KW_WIRE_DEPTH_DEFAULT};
    g_autoptr(kw_arena) arena = kw_arena_new();
    if (!kw_wire_message_decode(fake->form.protocol, payload, &message, NULL))
        return false;
    const kw_wire_method *method = kw_wire_method_find(kw_hb_methods, KW_HB_METHOD_COUNT, message.name);
    if (!method)
        return false;
    void *args = kw_arena_alloc0(arena, 4096);
    if (!kw_wire_struct_decode(method->args, fake->form.protocol, message.body, limits, arena, args, NULL))
        return false;
    fake_answer answer = {0};
    kw_mutex_lock(&fake->mutex);
    decide(self, (kw_hb_method)(method - kw_hb_methods), args, arena, &answer);
    kw_mutex_unlock(&fake->mutex);
    if (answer.delay_ms)
        g_usleep((gulong)answer.delay_ms * 1000);
    wait_at_gate(fake, answer.gate);
    if (answer.kind == FAKE_CLOSE)
        return false;
    if (answer.kind == FAKE_SILENCE)
        return true;
    kw_buffer out = KW_BUFFER_EMPTY;
    encode_answer(self, &message, method, &answer, &out);
    size_t size = answer.cut ? MIN(answer.cut, out.size) : out.size;
    bool good = transmit(self, out.data, size) && (!answer.twice || transmit(self, out.data, size));
    kw_buffer_clear(&out);
    return good && !answer.cut;
}

/* --- connections ------------------------------------------------------------------------------ */

static bool
is_not_reading(thrift2_fake *fake)
{
    kw_mutex_lock(&fake->mutex);
    bool no_reads = fake->no_reads;
    kw_mutex_unlock(&fake->mutex);
    return no_reads;
}

/* Like a server of HBase that gets a message in another form: it closes the connection, or takes the length
 * of a frame for that of a name and waits. */
static bool
understands(connection *self, kw_wire_form form)
{
    kw_wire_form own = self->fake->form;
    uint8_t rest[256];
    if (form.framed == own.framed && form.protocol == own.protocol)
        return true;
    if (form.framed && !own.framed && own.protocol == KW_WIRE_BINARY)
        while (receive(self, rest, sizeof rest) > 0)
            ;
    return false;
}

static void
serve_all(connection *self)
{
    kw_buffer in = KW_BUFFER_EMPTY;
    kw_wire_reader *reader = kw_wire_reader_new(FRAME_MAX);
    bool good = !self->tls || SSL_accept(self->tls) == 1;
    while (good) {
        kw_bytes payload;
        size_t consumed;
        kw_wire_progress progress =
            kw_wire_reader_next(reader, kw_buffer_bytes(&in), &payload, &consumed, NULL, NULL);
        if (progress == KW_WIRE_MESSAGE) {
            good = understands(self, kw_wire_reader_form(reader)) && serve(self, payload);
            kw_buffer_consume(&in, consumed);
            continue;
        }
        uint8_t *space = kw_buffer_reserve(&in, 65536);
        ssize_t got = progress == KW_WIRE_MORE ? receive(self, space, 65536) : -1;
        good = got > 0;
        in.size += good ? (size_t)got : 0;
    }
    kw_wire_reader_free(reader);
    kw_buffer_clear(&in);
}

static void
connection_main(void *user)
{
    connection *self = user;
    thrift2_fake *fake = self->fake;
    while (is_not_reading(fake)) {
        struct pollfd gone = {.fd = self->fd, .events = POLLRDHUP};
        if (poll(&gone, 1, 20) != 0)
            break;
    }
    if (fake->tls) {
        self->tls = SSL_new(fake->tls);
        SSL_set_fd(self->tls, self->fd);
    }
    serve_all(self);
    SSL_free(self->tls);
    kw_mutex_lock(&fake->mutex);
    shutdown(self->fd, SHUT_RDWR);
    close(self->fd);
    self->fd = -1;
    self->finished = true;
    fake->live--;
    kw_mutex_unlock(&fake->mutex);
}

static void
start_connection(thrift2_fake *fake, int fd)
{
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    connection *new_connection = g_new0(connection, 1);
    kw_mutex_lock(&fake->mutex);
    new_connection->fake = fake;
    new_connection->fd = fd;
    new_connection->number = ++fake->accepted;
    fake->live++;
    g_ptr_array_add(fake->connections, new_connection);
    kw_thread_start(&new_connection->thread, "fake-call", connection_main, new_connection);
    kw_mutex_unlock(&fake->mutex);
}

static void
accept_main(void *user)
{
    thrift2_fake *fake = user;
    int fd;
    while ((fd = accept4(fake->listener, NULL, NULL, SOCK_CLOEXEC)) >= 0 || errno == EINTR ||
           errno == ECONNABORTED) {
        if (fd >= 0)
            start_connection(fake, fd);
    }
}

static int
bind_to(uint16_t port)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
    struct sockaddr_in where = {.sin_family = AF_INET, .sin_port = htons(port)};
    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    g_assert_cmpint(bind(fd, (struct sockaddr *)&where, sizeof where), ==, 0);
    return fd;
}

/* A socket that is bound to a port and keeps it while it does not listen. */
static int
bind_port(uint16_t *port)
{
    struct sockaddr_in where;
    socklen_t size = sizeof where;
    int first = bind_to(*port);
    g_assert_cmpint(getsockname(first, (struct sockaddr *)&where, &size), ==, 0);
    *port = ntohs(where.sin_port);
    int second = bind_to(*port); /* allowed while neither socket listens */
    close(first);
    return second;
}

/* --- the fake --------------------------------------------------------------------------------- */

void
thrift2_fake_listen(thrift2_fake *fake)
{
    g_assert_false(fake->listening);
    g_assert_cmpint(listen(fake->listener, 50), ==, 0);
    fake->listening = true;
    kw_thread_start(&fake->thread, "fake-accept", accept_main, fake);
}

thrift2_fake *
thrift2_fake_start(kw_wire_form form, uint16_t port, SSL_CTX *tls)
{
    thrift2_fake *fake = g_new0(thrift2_fake, 1);
    fake->form = form;
    fake->port = port;
    fake->tls = tls;
    fake->connections = g_ptr_array_new_with_free_func(g_free);
    kw_mutex_init(&fake->mutex);
    kw_condition_init(&fake->gate_opened);
    fake_rows_init(&fake->rows);
    fake_rows_init(&fake->clock);
    fake->listener = bind_port(&fake->port);
    thrift2_fake_listen(fake);
    return fake;
}

uint16_t
thrift2_fake_port(const thrift2_fake *fake)
{
    return fake->port;
}

void
thrift2_fake_close_connections(thrift2_fake *fake)
{
    kw_mutex_lock(&fake->mutex);
    for (guint i = 0; i < fake->connections->len; i++) {
        connection *self = fake->connections->pdata[i];
        if (!self->finished)
            shutdown(self->fd, SHUT_RDWR);
    }
    kw_mutex_unlock(&fake->mutex);
}

void
thrift2_fake_stop_listening(thrift2_fake *fake)
{
    shutdown(fake->listener, SHUT_RDWR);
    kw_thread_join(&fake->thread);
    fake->listening = false;
    thrift2_fake_close_connections(fake);
}

void
thrift2_fake_restart(thrift2_fake *fake)
{
    kw_mutex_lock(&fake->mutex);
    fake_rows_forget_scanners(&fake->rows, true);
    kw_mutex_unlock(&fake->mutex);
    thrift2_fake_close_connections(fake);
}

void
thrift2_fake_stop(thrift2_fake *fake)
{
    thrift2_fake_set_no_reads(fake, false);
    thrift2_fake_open_gates(fake, INT_MAX);
    if (fake->listening)
        thrift2_fake_stop_listening(fake);
    thrift2_fake_close_connections(fake);
    close(fake->listener);
    for (guint i = 0; i < fake->connections->len; i++)
        kw_thread_join(&((connection *)fake->connections->pdata[i])->thread);
    g_ptr_array_unref(fake->connections);
    fake_rows_clear(&fake->rows);
    fake_rows_clear(&fake->clock);
    kw_condition_clear(&fake->gate_opened);
    kw_mutex_clear(&fake->mutex);
    g_free(fake);
}

#define LOCKED(fake, statement)                                                                              \
    kw_mutex_lock(&(fake)->mutex);                                                                           \
    statement;                                                                                               \
    kw_mutex_unlock(&(fake)->mutex)

void
thrift2_fake_set_script(thrift2_fake *fake, fake_script script, void *user)
{
    LOCKED(fake, (fake->script = script, fake->user = user));
}

void
thrift2_fake_open_gates(thrift2_fake *fake, int gate)
{
    LOCKED(fake, (fake->gate = gate, kw_condition_broadcast(&fake->gate_opened)));
}

void
thrift2_fake_set_no_reads(thrift2_fake *fake, bool no_reads)
{
    LOCKED(fake, fake->no_reads = no_reads);
}

void
thrift2_fake_set_no_replies(thrift2_fake *fake, bool no_replies)
{
    LOCKED(fake, fake->no_replies = no_replies);
}

void
thrift2_fake_expire_scanners(thrift2_fake *fake)
{
    LOCKED(fake, fake_rows_forget_scanners(&fake->rows, false));
}

void
thrift2_fake_set_row(thrift2_fake *fake, const char *key, const char *value)
{
    LOCKED(fake, fake_rows_set(&fake->rows, kw_bytes_of_text(key), kw_bytes_of_text(value)));
}

void
thrift2_fake_set_boundary_bytes(thrift2_fake *fake, const kw_bytes *keys, size_t count)
{
    LOCKED(fake, fake_rows_set_boundaries(&fake->rows, keys, count));
}

void
thrift2_fake_set_boundaries(thrift2_fake *fake, const char *const *keys, size_t count)
{
    g_autofree kw_bytes *bytes = g_new0(kw_bytes, count + 1);
    for (size_t i = 0; i < count; i++)
        bytes[i] = kw_bytes_of_text(keys[i]);
    thrift2_fake_set_boundary_bytes(fake, bytes, count);
}

static void
lie(thrift2_fake *fake, bool lies, bool shifts, int64_t ms)
{
    kw_mutex_lock(&fake->mutex);
    fake->clock.lies = lies;
    fake->clock.shifts = shifts;
    fake->clock.lie_ms = ms;
    kw_mutex_unlock(&fake->mutex);
}

void
thrift2_fake_report_time(thrift2_fake *fake, int64_t timestamp_ms)
{
    lie(fake, true, false, timestamp_ms);
}

void
thrift2_fake_shift_times(thrift2_fake *fake, int64_t by_ms)
{
    lie(fake, true, true, by_ms);
}

void
thrift2_fake_tell_true_times(thrift2_fake *fake)
{
    lie(fake, false, false, 0);
}

void
thrift2_fake_set_clock(thrift2_fake *fake, int64_t offset_ms)
{
    LOCKED(fake, fake->clock.clock_offset_ms = offset_ms);
}

uint32_t
thrift2_fake_writes(thrift2_fake *fake, const char *key)
{
    LOCKED(fake, uint32_t writes = fake_rows_writes(&fake->rows, kw_bytes_of_text(key)));
    return writes;
}

uint32_t
thrift2_fake_calls(thrift2_fake *fake, kw_hb_method method)
{
    LOCKED(fake, uint32_t calls = fake->calls[method]);
    return calls;
}

uint32_t
thrift2_fake_items(thrift2_fake *fake, kw_hb_method method)
{
    LOCKED(fake, uint32_t items = fake->items[method]);
    return items;
}

uint32_t
thrift2_fake_all_calls(thrift2_fake *fake)
{
    uint32_t calls = 0;
    for (int method = 0; method < KW_HB_METHOD_COUNT; method++)
        calls += thrift2_fake_calls(fake, (kw_hb_method)method);
    return calls;
}

void
thrift2_fake_reset_calls(thrift2_fake *fake)
{
    LOCKED(fake, memset(fake->calls, 0, sizeof fake->calls); memset(fake->items, 0, sizeof fake->items));
}

uint32_t
thrift2_fake_connections(thrift2_fake *fake)
{
    LOCKED(fake, uint32_t accepted = fake->accepted);
    return accepted;
}

uint32_t
thrift2_fake_open_connections(thrift2_fake *fake)
{
    LOCKED(fake, uint32_t live = fake->live);
    return live;
}

uint32_t
thrift2_fake_scanners(thrift2_fake *fake)
{
    LOCKED(fake, uint32_t open = fake->rows.open_scanners);
    return open;
}

uint32_t
thrift2_fake_pings(thrift2_fake *fake)
{
    LOCKED(fake, uint32_t pings = fake->pings);
    return pings;
}

/* --- for scripts ------------------------------------------------------------------------------ */

/* In nearly every result the member with id 1 is `io`. */
const void *
fake_io_error(const fake_call *call, const char *message, bool can_retry)
{
    const kw_wire_struct *table = kw_hb_methods[call->method].result;
    uint8_t *result = kw_arena_alloc0(call->arena, table->size);
    kw_hb_TIOError *error = KW_ARENA_NEW(call->arena, kw_hb_TIOError);
    *error = (kw_hb_TIOError){.has_message = true,
                              .message = kw_bytes_of_text(message),
                              .has_canRetry = true,
                              .canRetry = can_retry};
    for (uint32_t i = 0; i < table->field_count; i++) {
        if (table->fields[i].id == 1) {
            result[table->fields[i].flag] = true;
            memcpy(result + table->fields[i].offset, &error, sizeof error);
            return result;
        }
    }
    g_assert_not_reached();
}
