/* The form of a server is found with the first ping: whatever it is, after it changes, and beside servers
 * that answer in no form. */
#include "fixture.h"
#include "store/hbase/hbase_store.h"
#include "store/hbase/link/forms.h"

#include "base/thread.h"

#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* A bed on one fake, whose form the store does not know. */
static void
start(fixture *on, uint8_t form)
{
    kw_model_hbase settings = fixture_init(on, 1, kw_hbase_form(form));
    on->bed.form = 0;
    fixture_open_quiet(on, &settings);
    fixture_ok(fixture_put(on, "r", 1, 60000));
}

KW_TEST(test_each_form, "/hbase/forms/each")
{
    for (uint8_t form = 0; form < KW_HBASE_FORMS; form++) {
        fixture on;
        start(&on, form);
        g_assert_cmpuint(thrift2_fake_connections(on.fakes[0]), ==, form + 1u);
        g_assert_cmpuint(thrift2_fake_pings(on.fakes[0]), ==, 1);
        fixture_stop(&on);
    }
}

KW_TEST(test_form_is_remembered, "/hbase/forms/remembered")
{
    fixture on;
    start(&on, 3);
    uint32_t before = thrift2_fake_connections(on.fakes[0]);
    thrift2_fake_close_connections(on.fakes[0]);
    fixture_ok(fixture_put(&on, "r", 1, 60000));
    g_assert_cmpuint(thrift2_fake_connections(on.fakes[0]), ==, before + 1);
    fixture_stop(&on);
}

/* A server restarts in another form. A buffered binary server does not close the connection if the ping is
 * framed, so the store notices this only after its timeout. */
KW_TEST(test_other_form, "/hbase/forms/other")
{
    for (uint8_t pair = 0; pair < KW_HBASE_FORMS * KW_HBASE_FORMS; pair++) {
        uint8_t first = pair / KW_HBASE_FORMS, second = pair % KW_HBASE_FORMS;
        fixture on;
        kw_model_hbase settings = fixture_init(&on, 1, kw_hbase_form(first));
        on.bed.tuning.connect_timeout_ms = 2000;
        fixture_open_quiet(&on, &settings);
        fixture_ok(fixture_put(&on, "r", 1, 60000));
        uint16_t port = thrift2_fake_port(on.fakes[0]);
        thrift2_fake_stop(on.fakes[0]);
        on.fakes[0] = thrift2_fake_start(kw_hbase_form(second), port, NULL);
        fixture_ok(fixture_put(&on, "r", 1, 60000));
        g_assert_cmpuint(atomic_load(&((kw_hbase_store *)on.bed.store)->forms[0]), ==, second);
        fixture_stop(&on);
    }
}

/* --- servers that answer in no form --------------------------------------------------------------- */

/* Sends `reply` on each connection, and closes it. */
typedef struct closing_server {
    int listener;
    const char *reply;
    _Atomic uint32_t accepted;
    kw_thread thread;
} closing_server;

static void
accept_all(void *user)
{
    closing_server *server = user;
    for (int fd; (fd = accept(server->listener, NULL, NULL)) >= 0; close(fd)) {
        uint8_t ping[256];
        if (recv(fd, ping, sizeof ping, 0) > 0)
            send(fd, server->reply, strlen(server->reply), MSG_NOSIGNAL);
        atomic_fetch_add(&server->accepted, 1);
    }
}

/* The error of a store that cannot be reached, when it has all these words. */
static void
await_error(fixture *on, const char *const *words, size_t count)
{
    kw_error error = KW_ERROR_NONE;
    for (size_t i = 0; i < count; i++)
        BED_UNTIL(&on->bed, !kw_store_ready(on->bed.store, &error) && strstr(error.text, words[i]));
}

static uint16_t
listen_anywhere(closing_server *server)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    server->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    g_assert_cmpint(bind(server->listener, (struct sockaddr *)&address, size), ==, 0);
    g_assert_cmpint(listen(server->listener, 10), ==, 0);
    g_assert_cmpint(getsockname(server->listener, (struct sockaddr *)&address, &size), ==, 0);
    return ntohs(address.sin_port);
}

static void
expect_error(const char *reply, const char *const *words, size_t count)
{
    closing_server server = {.reply = reply};
    fixture on;
    kw_model_hbase settings = fixture_init(&on, 0, FRAMED_COMPACT);
    on.bed.form = 0;
    on.servers[0] = (kw_model_server){.host = "127.0.0.1", .port = listen_anywhere(&server)};
    settings.servers_count = 1;
    kw_thread_start(&server.thread, "server", accept_all, &server);
    fixture_open_quiet(&on, &settings);
    await_error(&on, words, count);
    fixture_failed(fixture_put(&on, "r", UNSTAMPED, 300), KW_OUTCOME_FAILED, KW_TIMEOUT);
    g_assert_cmpuint(atomic_load(&server.accepted), >=, 4);
    g_assert_cmpuint(atomic_load(&server.accepted), <, 40); /* four at a time, between backoffs */
    fixture_stop(&on);
    shutdown(server.listener, SHUT_RDWR);
    kw_thread_join(&server.thread);
    close(server.listener);
}

KW_TEST(test_closes_at_once, "/hbase/forms/closes")
{
    static const char *const words[] = {"no answer to a ping: buffered binary (closed by the server)",
                                        "buffered compact (closed by the server)",
                                        "framed binary (closed by the server)",
                                        "framed compact (closed by the server)"};
    expect_error("", words, G_N_ELEMENTS(words));
}

KW_TEST(test_other_protocol, "/hbase/forms/http")
{
    static const char *const words[] = {"buffered binary (", "framed compact ("};
    expect_error("HTTP/1.1 400 Bad Request\r\n\r\n", words, G_N_ELEMENTS(words));
    expect_error("\x80\x01", words, G_N_ELEMENTS(words));
}

/* Without any answer, the next form is tried after a backoff. */
KW_TEST(test_never_answers, "/hbase/forms/silent")
{
    static const char *const words[] = {"buffered binary (silent, or too many connections)",
                                        "buffered compact (silent", "framed binary (silent",
                                        "framed compact (silent"};
    fixture on;
    kw_model_hbase settings = fixture_init(&on, 1, BUFFERED_BINARY);
    on.bed.tuning.connect_timeout_ms = 300;
    thrift2_fake_set_no_reads(on.fakes[0], true);
    fixture_open_quiet(&on, &settings);
    await_error(&on, words, G_N_ELEMENTS(words));
    thrift2_fake_set_no_reads(on.fakes[0], false);
    fixture_ok(fixture_put(&on, "r", 1, 60000));
    fixture_stop(&on);
}
