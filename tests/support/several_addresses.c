#include "support/several_addresses.h"

#include <arpa/inet.h>
#include <glib.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <uv.h>

static const several_address *addresses;
static size_t addresses_count;
static uv_getaddrinfo_cb resolved;

int __real_uv_getaddrinfo(uv_loop_t *loop, uv_getaddrinfo_t *request, uv_getaddrinfo_cb callback,
                          const char *host, const char *service, const struct addrinfo *hints);
int __wrap_uv_getaddrinfo(uv_loop_t *loop, uv_getaddrinfo_t *request, uv_getaddrinfo_cb callback,
                          const char *host, const char *service, const struct addrinfo *hints);

void
several_addresses_set(const several_address *list, size_t count)
{
    addresses = list;
    addresses_count = count;
}

/* Sets the address of an entry that was resolved for another one. */
static void
set_address(struct addrinfo *entry, several_address to)
{
    struct sockaddr_in *address = (struct sockaddr_in *)(void *)entry->ai_addr;
    g_assert_cmpint(entry->ai_family, ==, AF_INET);
    g_assert_cmpint(inet_pton(AF_INET, to.ip, &address->sin_addr), ==, 1);
    if (to.port)
        address->sin_port = htons(to.port);
}

/* Adds an entry for each address after the first. */
static void
on_resolved(uv_getaddrinfo_t *request, int status, struct addrinfo *found)
{
    struct addrinfo *last = found;
    if (status == 0) {
        uint16_t port = ntohs(((const struct sockaddr_in *)(const void *)found->ai_addr)->sin_port);
        set_address(found, addresses[0]);
        for (size_t i = 1; i < addresses_count; i++) {
            struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
            g_assert_cmpint(getaddrinfo("127.0.0.1", NULL, &hints, &last->ai_next), ==, 0);
            last = last->ai_next;
            several_address to = addresses[i];
            to.port = to.port ? to.port : port;
            set_address(last, to);
        }
    }
    resolved(request, status, found);
}

int
__wrap_uv_getaddrinfo(uv_loop_t *loop, uv_getaddrinfo_t *request, uv_getaddrinfo_cb callback,
                      const char *host, const char *service, const struct addrinfo *hints)
{
    if (strcmp(host, "several") != 0)
        return __real_uv_getaddrinfo(loop, request, callback, host, service, hints);
    resolved = callback;
    return __real_uv_getaddrinfo(loop, request, on_resolved, "127.0.0.1", service, hints);
}
