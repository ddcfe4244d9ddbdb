/* A port that accepts no connection and refuses none: connections to it neither succeed nor fail. */
#pragma once

#include <stdint.h>

typedef struct black_hole {
    int listener, filler;
    uint16_t port;
} black_hole;

/* Port 0 selects a free port. */
black_hole black_hole_open(const char *ip, uint16_t port);
void black_hole_close(black_hole *hole);
