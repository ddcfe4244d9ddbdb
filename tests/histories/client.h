/* One caller of a gateway: a connection with one call at a time, through the Thrift interface, as services
 * use it. */
#pragma once

#include "histories/operation.h"

typedef struct client client;

/* "host:port". Connects before the first call. */
client *client_new(const char *address, int deadline_ms);
void client_free(client *of);
/* The next call connects again. */
void client_hang_up(client *of);

/* The table of the records. */
typedef struct client_table {
    const char *name;
    const char *second_path; /* or NULL */
    bool has_map;            /* the texts are entries of a map */
    bool has_sides;          /* it has hint paths: see operation.h */
    unsigned prefix;         /* of this history's record names */
} client_table;

/* Executes the operation in *of (kind, record, view, fields, on, expected, values) and fills its outcome,
 * times and results. False: it was not sent, or a read got no reply; then it is not part of the history. */
bool client_do(client *with, const client_table *table, operation *of);

/* Executes puts of different records in one call, and fills their outcomes and times. False if the call was
 * not sent. */
bool client_put_many(client *with, const client_table *table, operation *puts, unsigned count);

/* Scans the records from `from` (inclusive) to `to` (exclusive), page by page; appends the rows and then the
 * scan itself. filter "": none. False if it got no reply. */
bool client_scan(client *with, const client_table *table, operation scan, unsigned from, unsigned to,
                 int page_rows, const char *filter, operations *to_rows);

/* Scans the records in a hint path, page by page: of->view, on and expected say what the scan binds. other:
 * also reads pages, or NULL. Appends as client_scan does. */
bool client_scan_path(client *with, client *other, const client_table *table, operation of, int page_rows,
                      operations *to_rows);

/* Reads at most `most` versions of the record of *of; appends them and then the read itself, of which *of has
 * the number (`scan`). False if it got no reply. */
bool client_versions(client *with, const client_table *table, operation of, int most, operations *to_rows);

/* The error message of the last failed call; "" if it got no reply. */
const char *client_why(const client *of);
