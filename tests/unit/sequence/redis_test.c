/* Counters in a Redis whose name has several addresses. The Redis is a thread that answers SELECT and INCRBY.
 */
#include "sequence/backend.h"

#include "base/thread.h"
#include "support/black_hole.h"
#include "support/several_addresses.h"

#include <arpa/inet.h>
#include <glib.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#define DEADLINE_MS 60000

/* --- a Redis ------------------------------------------------------------------------------------------- */

typedef struct fake_redis {
    int listener;
    uint16_t port;
    unsigned closes;   /* how many connections it closes at once */
    const char *reply; /* to INCRBY; NULL: 7 */
    kw_thread thread;
} fake_redis;

static void
answer_commands(const fake_redis *self, int client)
{
    char read_bytes[1024];
    ssize_t size;
    while ((size = recv(client, read_bytes, sizeof read_bytes - 1, 0)) > 0) {
        read_bytes[size] = '\0';
        const char *reply = strstr(read_bytes, "SELECT") ? "+OK\r\n" : self->reply ? self->reply : ":7\r\n";
        g_assert_cmpint(send(client, reply, strlen(reply), MSG_NOSIGNAL), ==, (ssize_t)strlen(reply));
    }
}

static void
run_redis(void *user)
{
    fake_redis *self = user;
    int client;
    while ((client = accept(self->listener, NULL, NULL)) >= 0) {
        if (self->closes == 0)
            answer_commands(self, client);
        else
            self->closes--;
        close(client);
    }
}

static void
redis_start(fake_redis *self, uint16_t port, unsigned closes)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    socklen_t size = sizeof address;
    int one = 1;
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
    *self = (fake_redis){.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), .closes = closes};
    setsockopt(self->listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    g_assert_cmpint(bind(self->listener, (struct sockaddr *)&address, size), ==, 0);
    g_assert_cmpint(listen(self->listener, 10), ==, 0);
    getsockname(self->listener, (struct sockaddr *)&address, &size);
    self->port = ntohs(address.sin_port);
    kw_thread_start(&self->thread, "redis", run_redis, self);
}

static void
redis_stop(fake_redis *self)
{
    shutdown(self->listener, SHUT_RDWR);
    kw_thread_join(&self->thread);
    close(self->listener);
}

/* --- counters ------------------------------------------------------------------------------------------ */

typedef struct counters {
    kw_loop *loop;
    kw_sequence_backend *backend;
    bool done;
    int64_t after;
    kw_error error;
} counters;

static void
counters_wait(counters *self)
{
    while (!self->done)
        uv_run(kw_loop_uv(self->loop), UV_RUN_ONCE);
    self->done = false;
}

static void
counters_open(counters *self, uint16_t port, const several_address *addresses, size_t count)
{
    kw_model_sequences settings = {
        .table = "p_sequences", .redis_host = "several", .redis_port = port, .redis_user = ""};
    *self = (counters){.loop = kw_loop_new()};
    self->backend = kw_sequence_backend_open_redis(&settings, "", self->loop);
    several_addresses_set(addresses, count);
}

static void
on_counted(void *user, int64_t after, const kw_error *error)
{
    counters *self = user;
    self->after = after;
    self->error = error ? *error : KW_ERROR_NONE;
    self->done = true;
}

static void
add(counters *self, int64_t timeout_ms)
{
    kw_addition addition = {
        .name = KW_BYTES_LITERAL("n"), .amount = 7, .deadline = kw_deadline_in_ms(timeout_ms)};
    kw_sequence_backend_add(self->backend, &addition, on_counted, self);
    counters_wait(self);
}

static void
on_closed(void *user)
{
    ((counters *)user)->done = true;
}

static void
counters_close(counters *self)
{
    kw_sequence_backend_close(self->backend, on_closed, self);
    counters_wait(self);
    kw_sequence_backend_free(self->backend);
    kw_loop_free(self->loop);
}

static void
expect_counted(counters *self)
{
    add(self, DEADLINE_MS);
    g_assert_cmpstr(self->error.text, ==, "");
    g_assert_cmpint(self->after, ==, 7);
}

/* --- tests --------------------------------------------------------------------------------------------- */

static const several_address bad_then_good[] = {{"127.0.0.2", 0}, {"127.0.0.1", 0}};

KW_TEST(test_an_address_that_refuses, "/sequence/redis/refuses")
{
    fake_redis redis;
    counters numbers;
    redis_start(&redis, 0, 0);
    counters_open(&numbers, redis.port, bad_then_good, 2);
    expect_counted(&numbers);
    counters_close(&numbers);
    redis_stop(&redis);
}

KW_TEST(test_an_address_that_does_not_answer, "/sequence/redis/drops")
{
    fake_redis redis;
    counters numbers;
    redis_start(&redis, 0, 0);
    black_hole hole = black_hole_open("127.0.0.2", redis.port);
    counters_open(&numbers, redis.port, bad_then_good, 2);
    expect_counted(&numbers);
    counters_close(&numbers);
    black_hole_close(&hole);
    redis_stop(&redis);
}

/* A server that accepts the connection but never answers the first command. */
KW_TEST(test_an_address_that_is_silent, "/sequence/redis/silent")
{
    fake_redis redis;
    counters numbers;
    redis_start(&redis, 0, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(redis.port)};
    int silent = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    inet_pton(AF_INET, "127.0.0.2", &address.sin_addr);
    g_assert_cmpint(bind(silent, (struct sockaddr *)&address, sizeof address), ==, 0);
    g_assert_cmpint(listen(silent, 10), ==, 0);
    counters_open(&numbers, redis.port, bad_then_good, 2);
    expect_counted(&numbers);
    counters_close(&numbers);
    close(silent);
    redis_stop(&redis);
}

KW_TEST(test_an_address_that_closes, "/sequence/redis/closes")
{
    static const several_address twice[] = {{"127.0.0.1", 0}, {"127.0.0.1", 0}};
    fake_redis redis;
    counters numbers;
    redis_start(&redis, 0, 1);
    counters_open(&numbers, redis.port, twice, 2);
    expect_counted(&numbers);
    counters_close(&numbers);
    redis_stop(&redis);
}

/* The error is that of the last address. The next addition tries all addresses again. */
KW_TEST(test_every_address_fails, "/sequence/redis/all")
{
    fake_redis redis;
    counters numbers;
    redis_start(&redis, 0, 0);
    redis_stop(&redis);
    counters_open(&numbers, redis.port, bad_then_good, 2);
    add(&numbers, DEADLINE_MS);
    g_assert_cmpint(numbers.error.code, ==, KW_UNAVAILABLE);
    g_assert_cmpstr(numbers.error.text, ==, "Redis cannot be reached"); /* the reason is in the log */
    redis_start(&redis, redis.port, 0);
    expect_counted(&numbers);
    counters_close(&numbers);
    redis_stop(&redis);
}

/* Callers get texts of our own, whatever Redis writes. */
KW_TEST(test_foreign_texts, "/sequence/redis/foreign-texts")
{
    static const struct {
        const char *reply, *text;
        kw_code code;
    } replies[] = {
        {"-ERR value is not an integer or out of range\r\n", "the counter in Redis is not a number",
         KW_REFUSED},
        {"-LOADING Redis is loading the dataset in memory\r\n", "Redis is reading its data", KW_UNAVAILABLE},
        {"-NOPERM this user has no permissions\r\n", "Redis denies the gateway access", KW_REFUSED},
        {"-MOVED 3999 redis7.example.com:6381 \033]0;x\a\r\n",
         "Redis rejected a command: the log of the gateway has the reason", KW_REFUSED},
        {"+redis7.example.com\r\n", "Redis returned something else than a number", KW_CORRUPT},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(replies); i++) {
        static const several_address one[] = {{"127.0.0.1", 0}};
        fake_redis redis;
        counters numbers;
        redis_start(&redis, 0, 0);
        redis.reply = replies[i].reply;
        counters_open(&numbers, redis.port, one, 1);
        add(&numbers, DEADLINE_MS);
        g_assert_cmpstr(numbers.error.text, ==, replies[i].text);
        g_assert_cmpint(numbers.error.code, ==, replies[i].code);
        counters_close(&numbers);
        redis_stop(&redis);
    }
}

KW_TEST(test_close_while_connecting, "/sequence/redis/close")
{
    counters numbers;
    black_hole hole = black_hole_open("127.0.0.2", 0);
    counters_open(&numbers, hole.port, bad_then_good, 2);
    add(&numbers, 300);
    g_assert_cmpint(numbers.error.code, ==, KW_TIMEOUT);
    counters_close(&numbers);
    black_hole_close(&hole);
}
