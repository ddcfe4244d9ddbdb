/* A blocking connection that speaks Thrift through our codec. Thrift2 and the gateway get the same client, so
 * that only the servers differ. For loading, queries and scans; closed loops of many callers use a
 * caller_group (support/caller_group.h). One thread. Any failure ends the program. */
#pragma once

#include "support/caller_group.h"

typedef struct link link_to;

link_to *link_open(const group_server *where);
void link_close(link_to *link);

/* The result struct of the method, valid until the next call. */
const void *link_call(link_to *link, const kw_wire_method *method, const void *args);

/* The two halves of link_call, for calls on several links at once. */
void link_start(link_to *link, const kw_wire_method *method, const void *args);
const void *link_finish(link_to *link, const kw_wire_method *method);
