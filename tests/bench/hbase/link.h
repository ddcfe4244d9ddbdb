/* A blocking connection that speaks Thrift through our codec: the same client for Thrift2 and for the
 * gateway, so that what differs is what is behind it. One thread. Any failure ends the program. */
#pragma once

#include "wire/wire.h"

typedef struct link link_to;

typedef struct place {
    const char *name; /* for messages */
    uint16_t port;    /* of 127.0.0.1 */
    kw_wire_form form;
} place;

link_to *link_open(const place *where);
void link_close(link_to *link);

/* The result struct of the method, valid until the next call. */
const void *link_call(link_to *link, const kw_wire_method *method, const void *args);

/* Ends the program: "what: text". */
void bench_die(const char *what, kw_bytes text) __attribute__((noreturn));
