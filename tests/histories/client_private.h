/* Shared by the files of a client. */
#pragma once

#include "histories/client.h"

#include "thrift/keyway_wire.h"
#include "wire/table.h"
#include "wire/wire.h"

struct client {
    char *host;
    uint16_t port;
    int fd;
    int deadline_ms;
    int32_t sequence_id;
    kw_arena *arena; /* of the present call */
    kw_buffer bytes;
    char why[300];
};

typedef __typeof__(*((kw_api_Record *)0)->items) item;

/* --- client_connection.c ---------------------------------------------------------------------- */

typedef enum client_reply { NOT_SENT, NO_ANSWER, ANSWERED } client_reply;

/* Calls the method; fills in when *of began and ended. The result is in the client's arena. */
client_reply client_exchange(client *with, const kw_wire_method *method, const void *args, operation *of,
                             const void **ret_result);
kw_api_Options *client_options(client *with);

/* --- client_record.c -------------------------------------------------------------------------- */

kw_api_Value client_text(client *with, const char *text);
kw_api_Value client_value(client *with, int field, int64_t value);
char *client_id(client *with, const client_table *table, unsigned record);
/* The key as a record that has space for the fields. */
kw_api_Record client_key(client *with, const client_table *table, unsigned record);
kw_api_Record client_record(client *with, const client_table *table, const operation *of);
/* The fields of the key of a hint path that the query binds. A find binds all of them. */
kw_api_Record client_place(client *with, const client_table *table, const operation *query);
/* The name of a hint path. */
const char *client_path_name(uint32_t view);
const char *client_field_name(const client_table *table, int field);
/* The names of fields, for calls that list them. */
kw_bytes *client_columns(client *with, const client_table *table, uint8_t fields, uint32_t *ret_count);
/* The values of the fields, each of which can be absent. */
void client_read_record(const client_table *table, const kw_api_Record *from, int64_t *ret_values);

/* --- client.c --------------------------------------------------------------------------------- */

/* The call failed. True if the operation is part of the history: it can have changed something. */
bool client_refused(client *with, operation *of, const kw_api_KeywayError *error);
