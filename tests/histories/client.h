/* One caller of a gateway: a connection, one call at a time, through the Thrift interface as services use it.
 */
#pragma once

#include "histories/operation.h"

typedef struct client client;

/* "host:port"; connects when it is needed. */
client *client_new(const char *address, int deadline_ms);
void client_free(client *of);

/* Where the records are. */
typedef struct client_table {
    const char *name;
    const char *second_path; /* NULL: there is none */
    unsigned prefix;         /* of this history's records */
} client_table;

/* Does what *of says (kind, record, view, fields, on, expected, values) and fills outcome, times and what was
 * told. False: it was not sent, or a read got no answer; then it is not part of the history. */
bool client_do(client *with, const client_table *table, operation *of);

/* A scan of the records `from` (inclusive) to `to` (exclusive), page by page; its rows and then the scan
 * itself are appended. filter "": none. False: it got no answer. */
bool client_scan(client *with, const client_table *table, operation scan, unsigned from, unsigned to,
                 int page_rows, const char *filter, operations *to_rows);

/* What the last call that failed was told; "" when it was not answered. */
const char *client_why(const client *of);
