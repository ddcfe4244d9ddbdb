/* See black_hole.h. A listening socket whose queue of connections is full drops further ones. */
#include "support/black_hole.h"

#include <arpa/inet.h>
#include <glib.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

black_hole
black_hole_open(const char *ip, uint16_t port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    socklen_t size = sizeof address;
    black_hole hole = {.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0),
                       .filler = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    g_assert_cmpint(inet_pton(AF_INET, ip, &address.sin_addr), ==, 1);
    g_assert_cmpint(bind(hole.listener, (struct sockaddr *)&address, size), ==, 0);
    g_assert_cmpint(listen(hole.listener, 0), ==, 0);
    g_assert_cmpint(getsockname(hole.listener, (struct sockaddr *)&address, &size), ==, 0);
    hole.port = ntohs(address.sin_port);
    g_assert_cmpint(connect(hole.filler, (struct sockaddr *)&address, size), ==, 0); /* fills the queue */
    return hole;
}

void
black_hole_close(black_hole *hole)
{
    close(hole->filler);
    close(hole->listener);
}
