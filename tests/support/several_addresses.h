/* Makes the host name "several" have the addresses that a test chooses. Link the test with
 * -Wl,--wrap=uv_getaddrinfo. One thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef struct several_address {
    const char *ip;
    uint16_t port; /* 0: the port that is resolved with the name */
} several_address;

/* `list` must live until the next call; count >= 1. */
void several_addresses_set(const several_address *list, size_t count);
