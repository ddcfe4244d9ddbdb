#include "contract/simulated_place.h"

#include "histories/sim/server.h"
#include "support/patient_hbase.h"

#include <arpa/inet.h>
#include <unistd.h>

/* A port that was free a moment ago. */
static uint16_t
free_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    g_assert_cmpint(bind(fd, (struct sockaddr *)&address, size), ==, 0);
    g_assert_cmpint(getsockname(fd, (struct sockaddr *)&address, &size), ==, 0);
    close(fd);
    return ntohs(address.sin_port);
}

void
kw_simulated_place_start(kw_model_hbase *settings)
{
    static kw_model_server server = {.host = "127.0.0.1"};
    uint16_t port = free_port();
    sim_servers_start(&port, 1, 1);
    server.port = port;
    settings->servers = &server;
    settings->servers_count = 1;
}

kw_store *
kw_simulated_place_open(void)
{
    static kw_model_hbase settings = {.tls = {.certificate = "", .key = "", .ca = "", .server_name = ""},
                                      .channels = 2,
                                      .client_pause_ms = 100,
                                      .max_clock_skew_ms = 20,
                                      .late_ms = 60000};
    if (!settings.servers)
        kw_simulated_place_start(&settings);
    return patient_hbase_open(&settings);
}
