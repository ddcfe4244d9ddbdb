/* See client.h. Framed and compact; blocking sockets. */
#include "histories/client.h"

#include "base/clock.h"
#include "thrift/keyway_wire.h"
#include "wire/table.h"
#include "wire/wire.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MESSAGE_MAX ((size_t)64 * 1024 * 1024)
#define CONNECT_MS 2000
#define GRACE_MS 5000 /* after the deadline: a gateway that has not replied by then is gone */

static const kw_wire_form form = {KW_WIRE_COMPACT, true};
static const char *const field_names[OPERATION_FIELDS] = {"a", "b", "n", "m"};

typedef __typeof__(*((kw_api_Record *)0)->items) item;
typedef __typeof__(*((kw_api_Data_increment_args *)0)->amounts.items) amount;

struct client {
    char *host;
    uint16_t port;
    int fd;
    int deadline_ms;
    int32_t sequence_id;
    kw_arena *arena;
    kw_buffer bytes;
    char why[300];
};

client *
client_new(const char *address, int deadline_ms)
{
    client *made = g_new0(client, 1);
    const char *colon = strrchr(address, ':');
    made->host = g_strndup(address, (gsize)(colon - address));
    made->port = (uint16_t)atoi(colon + 1);
    made->fd = -1;
    made->deadline_ms = deadline_ms;
    made->arena = kw_arena_new();
    return made;
}

static void
hang_up(client *with)
{
    if (with->fd >= 0)
        close(with->fd);
    with->fd = -1;
}

void
client_free(client *of)
{
    hang_up(of);
    kw_arena_free(of->arena);
    kw_buffer_clear(&of->bytes);
    g_free(of->host);
    g_free(of);
}

const char *
client_why(const client *of)
{
    return of->why;
}

/* --- bytes ------------------------------------------------------------------------------------ */

static bool
ensure_connected(client *with)
{
    if (with->fd >= 0)
        return true;
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(with->port)};
    int on = 1, failed = 0;
    socklen_t size = sizeof failed;
    inet_pton(AF_INET, with->host, &to.sin_addr);
    with->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (connect(with->fd, (struct sockaddr *)&to, sizeof to) && errno == EINPROGRESS) {
        struct pollfd done = {.fd = with->fd, .events = POLLOUT};
        failed = poll(&done, 1, CONNECT_MS) == 1 ? 0 : ETIMEDOUT;
    }
    if (failed || getsockopt(with->fd, SOL_SOCKET, SO_ERROR, &failed, &size) || failed) {
        hang_up(with);
        return false;
    }
    setsockopt(with->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return true;
}

static bool
await(const client *with, short events, uint64_t until_ns)
{
    uint64_t now = kw_clock_mono_ns();
    struct pollfd wanted = {.fd = with->fd, .events = events};
    int left_ms = now < until_ns ? (int)((until_ns - now) / 1000000) + 1 : 0;
    return poll(&wanted, 1, left_ms) == 1;
}

static bool
transmit(client *with, uint64_t until_ns)
{
    for (size_t sent = 0; sent < with->bytes.size;) {
        ssize_t more = send(with->fd, with->bytes.data + sent, with->bytes.size - sent, MSG_NOSIGNAL);
        if (more > 0)
            sent += (size_t)more;
        else if (errno != EAGAIN || !await(with, POLLOUT, until_ns))
            return false;
    }
    return true;
}

static bool
receive(client *with, size_t size, uint64_t until_ns)
{
    with->bytes.size = 0;
    while (with->bytes.size < size) {
        uint8_t *space = kw_buffer_reserve(&with->bytes, size - with->bytes.size);
        ssize_t got = recv(with->fd, space, size - with->bytes.size, 0);
        if (got > 0)
            with->bytes.size += (size_t)got;
        else if (got == 0 || errno != EAGAIN || !await(with, POLLIN, until_ns))
            return false;
    }
    return true;
}

/* --- calls ------------------------------------------------------------------------------------ */

typedef enum sent { NOT_SENT, NO_ANSWER, ANSWERED } sent;

static const void *
decode(client *with, const kw_wire_method *method)
{
    kw_wire_limits limits = {.decoded_bytes = MESSAGE_MAX, .depth = KW_WIRE_DEPTH_DEFAULT};
    kw_wire_message message;
    kw_error error = KW_ERROR_NONE;
    void *result = kw_arena_alloc0(with->arena, method->result->size);
    kw_bytes payload = kw_arena_copy(with->arena, kw_buffer_bytes(&with->bytes));
    if (!kw_wire_message_decode(form.protocol, payload, &message, &error) ||
        message.sequence_id != with->sequence_id || message.type != KW_WIRE_REPLY ||
        !kw_wire_struct_decode(method->result, form.protocol, message.body, limits, with->arena, result,
                               &error))
        g_error("%s: the reply is invalid: %s", method->name, error.text);
    return result;
}

static sent
exchange(client *with, const kw_wire_method *method, const void *args, operation *of, const void **ret_result)
{
    if (!ensure_connected(with))
        return NOT_SENT;
    with->bytes.size = 0;
    size_t mark = kw_wire_frame_begin(&with->bytes, form);
    kw_wire_message_encode(&with->bytes, form.protocol, kw_bytes_of_text(method->name), KW_WIRE_CALL,
                           ++with->sequence_id);
    kw_wire_struct_encode(&with->bytes, form.protocol, method->args, args);
    kw_wire_frame_end(&with->bytes, form, mark);
    of->begin_ns = kw_clock_mono_ns();
    uint64_t until_ns = of->begin_ns + (uint64_t)(with->deadline_ms + GRACE_MS) * 1000000;
    bool good = transmit(with, until_ns) && receive(with, 4, until_ns) &&
                receive(with, kw_be32_load(with->bytes.data), until_ns);
    of->end_ns = kw_clock_mono_ns();
    with->why[0] = '\0';
    if (!good) {
        hang_up(with);
        return NO_ANSWER;
    }
    *ret_result = decode(with, method);
    return ANSWERED;
}

/* --- records ---------------------------------------------------------------------------------- */

static kw_api_Value
text_value(client *with, const char *text)
{
    return (kw_api_Value){.has_text = true, .text = kw_arena_copy(with->arena, kw_bytes_of_text(text))};
}

static kw_api_Value
value_of(client *with, int field, int64_t value)
{
    char text[32];
    if (field >= 2)
        return (kw_api_Value){.has_number = true, .number = value};
    snprintf(text, sizeof text, "%" PRId64, value);
    return text_value(with, text);
}

static void
add_item(kw_api_Record *to, const char *name, kw_api_Value value)
{
    item *added = (item *)(void *)to->items + to->count++;
    added->key = kw_bytes_of_text(name);
    added->value = value;
}

static char *
id_of(client *with, const client_table *table, unsigned record)
{
    return kw_arena_printf(with->arena, "h%06u-%04u", table->prefix, record);
}

/* The key as a record that has space for the fields. */
static kw_api_Record
key_of(client *with, const client_table *table, unsigned record)
{
    kw_api_Record key = {.items = (void *)KW_ARENA_ARRAY(with->arena, item, 2 + OPERATION_FIELDS)};
    add_item(&key, "id", text_value(with, id_of(with, table, record)));
    if (table->second_path)
        add_item(&key, "part", text_value(with, kw_arena_printf(with->arena, "p%u", record % 7)));
    return key;
}

static kw_api_Record
record_of(client *with, const client_table *table, const operation *of)
{
    kw_api_Record made = key_of(with, table, of->record);
    for (int i = 0; i < OPERATION_FIELDS; i++)
        if (of->fields >> i & 1)
            add_item(&made, field_names[i], value_of(with, i, of->values[i]));
    return made;
}

static kw_bytes *
columns_of(client *with, uint8_t fields, uint32_t *ret_count)
{
    kw_bytes *columns = KW_ARENA_ARRAY(with->arena, kw_bytes, OPERATION_FIELDS);
    *ret_count = 0;
    for (int i = 0; i < OPERATION_FIELDS; i++)
        if (fields >> i & 1)
            columns[(*ret_count)++] = kw_bytes_of_text(field_names[i]);
    return columns;
}

static void
read_record(const kw_api_Record *from, int64_t *ret_values)
{
    for (int field = 0; field < OPERATION_FIELDS; field++) {
        ret_values[field] = OPERATION_ABSENT;
        for (uint32_t i = 0; i < from->count; i++) {
            const item *at = (const item *)(const void *)from->items + i;
            char text[32] = "";
            if (!kw_bytes_equal(at->key, kw_bytes_of_text(field_names[field])))
                continue;
            if (at->value.text.size)
                memcpy(text, at->value.text.data, MIN(at->value.text.size, sizeof text - 1));
            ret_values[field] = at->value.has_number ? at->value.number : g_ascii_strtoll(text, NULL, 10);
        }
    }
}

/* --- outcomes --------------------------------------------------------------------------------- */

static void
note_why(client *with, kw_bytes message)
{
    snprintf(with->why, sizeof with->why, "%.*s", (int)message.size, (const char *)message.data);
}

static bool
refused(client *with, operation *of, const kw_api_KeywayError *error)
{
    bool maybe = error->has_maybe_applied && error->maybe_applied;
    note_why(with, error->message);
    of->outcome = maybe ? OPERATION_UNKNOWN : OPERATION_FAILED;
    return of->kind != OPERATION_GET && of->kind != OPERATION_SCAN;
}

static bool
written(client *with, operation *of, const kw_api_KeywayError *error, const kw_api_Written *result)
{
    if (error)
        return refused(with, of, error);
    of->outcome = (operation_outcome)result->outcome;
    if (result->outcome != KW_API_Outcome_OK)
        note_why(with, result->failure->message);
    return true;
}

static bool
unanswered(operation *of, sent how)
{
    of->outcome = OPERATION_UNKNOWN;
    of->end_ns = OPERATION_NEVER;
    return how == NO_ANSWER && of->kind != OPERATION_GET;
}

/* --- one operation ---------------------------------------------------------------------------- */

static kw_api_Options *
options_of(client *with)
{
    kw_api_Options *options = KW_ARENA_NEW(with->arena, kw_api_Options);
    *options = (kw_api_Options){.has_deadline_ms = true, .deadline_ms = with->deadline_ms};
    return options;
}

static bool
do_put(client *with, const client_table *table, operation *of)
{
    kw_api_Data_put_args args = {.has_table = true,
                                 .table = kw_bytes_of_text(table->name),
                                 .has_record = true,
                                 .record = record_of(with, table, of),
                                 .has_options = true,
                                 .options = options_of(with)};
    const kw_api_Data_put_result *result;
    sent how = exchange(with, &kw_api_methods[KW_API_Data_put], &args, of, (const void **)&result);
    return how == ANSWERED ? written(with, of, result->failure, result->success) : unanswered(of, how);
}

static bool
do_remove(client *with, const client_table *table, operation *of)
{
    kw_api_Data_remove_args args = {.has_table = true,
                                    .table = kw_bytes_of_text(table->name),
                                    .has_key = true,
                                    .key = key_of(with, table, of->record),
                                    .has_options = true,
                                    .options = options_of(with)};
    if (!of->last && of->fields != (1u << OPERATION_FIELDS) - 1) {
        args.has_columns = true;
        args.columns.items = columns_of(with, of->fields, &args.columns.count);
    }
    const kw_api_Data_remove_result *result;
    sent how = exchange(with, &kw_api_methods[KW_API_Data_remove], &args, of, (const void **)&result);
    return how == ANSWERED ? written(with, of, result->failure, result->success) : unanswered(of, how);
}

static bool
do_get(client *with, const client_table *table, operation *of)
{
    kw_api_Data_get_args args = {.has_table = true,
                                 .table = kw_bytes_of_text(table->name),
                                 .has_key = true,
                                 .key = key_of(with, table, of->record),
                                 .has_options = true,
                                 .options = options_of(with)};
    bool all = of->fields == (1u << OPERATION_FIELDS) - 1;
    if (!all) {
        args.has_columns = true;
        args.columns.items = columns_of(with, of->fields, &args.columns.count);
    }
    const kw_api_Data_get_result *result;
    sent how = exchange(with, &kw_api_methods[KW_API_Data_get], &args, of, (const void **)&result);
    if (how != ANSWERED)
        return unanswered(of, how);
    if (result->failure)
        return refused(with, of, result->failure);
    if (result->success->failure) {
        note_why(with, result->success->failure->message);
        return false;
    }
    of->outcome = OPERATION_OK;
    of->applied = all && result->success->has_record;
    read_record(&result->success->record, of->values);
    return true;
}

/* Reads the record by its second path, with a query that binds the whole identity. */
static bool
do_query(client *with, const client_table *table, operation *of)
{
    kw_api_Query query = {.table = kw_bytes_of_text(table->name),
                          .has_bound = true,
                          .bound = key_of(with, table, of->record),
                          .has_path = true,
                          .path = kw_bytes_of_text(table->second_path),
                          .has_deadline_ms = true,
                          .deadline_ms = with->deadline_ms};
    kw_api_Data_scan_args args = {.has_query = true, .query = &query};
    const kw_api_Data_scan_result *result;
    sent how = exchange(with, &kw_api_methods[KW_API_Data_scan], &args, of, (const void **)&result);
    if (how != ANSWERED)
        return unanswered(of, how);
    if (result->failure)
        return refused(with, of, result->failure);
    of->outcome = OPERATION_OK;
    kw_api_Record none = {.count = 0};
    of->applied = result->success->rows.count > 0;
    read_record(of->applied ? &result->success->rows.items[0] : &none, of->values);
    return true;
}

static bool
do_put_if(client *with, const client_table *table, operation *of)
{
    kw_api_Value expected = {0};
    kw_api_Condition condition = {.field = kw_bytes_of_text(field_names[of->on]),
                                  .op = KW_API_CompareOp_EQUAL};
    if (of->expected != OPERATION_ABSENT) {
        expected = value_of(with, of->on, of->expected);
        condition.has_value = true;
        condition.value = &expected;
    }
    kw_api_Data_putIf_args args = {.has_table = true,
                                   .table = kw_bytes_of_text(table->name),
                                   .has_record = true,
                                   .record = record_of(with, table, of),
                                   .has_condition = true,
                                   .condition = &condition,
                                   .has_options = true,
                                   .options = options_of(with)};
    const kw_api_Data_putIf_result *result;
    sent how = exchange(with, &kw_api_methods[KW_API_Data_putIf], &args, of, (const void **)&result);
    if (how != ANSWERED)
        return unanswered(of, how);
    if (result->failure)
        return refused(with, of, result->failure);
    of->outcome = OPERATION_OK;
    of->applied = result->success;
    return true;
}

static bool
do_increment(client *with, const client_table *table, operation *of)
{
    amount amounts[OPERATION_FIELDS];
    kw_api_Data_increment_args args = {.has_table = true,
                                       .table = kw_bytes_of_text(table->name),
                                       .has_key = true,
                                       .key = key_of(with, table, of->record),
                                       .has_amounts = true,
                                       .has_options = true,
                                       .options = options_of(with)};
    args.amounts.items = (void *)amounts;
    for (int i = 0; i < OPERATION_FIELDS; i++)
        if (of->fields >> i & 1)
            amounts[args.amounts.count++] =
                (amount){.key = kw_bytes_of_text(field_names[i]), .value = of->values[i]};
    const kw_api_Data_increment_result *result;
    sent how = exchange(with, &kw_api_methods[KW_API_Data_increment], &args, of, (const void **)&result);
    if (how != ANSWERED)
        return unanswered(of, how);
    if (result->failure)
        return refused(with, of, result->failure);
    of->outcome = OPERATION_OK;
    read_record(&result->success, of->results);
    return true;
}

static bool
do_number(client *with, const client_table *table, operation *of)
{
    kw_api_Data_put_args args = {.has_table = true,
                                 .table = kw_bytes_of_text(table->name),
                                 .has_record = true,
                                 .has_options = true,
                                 .options = options_of(with)};
    item one;
    args.record.items = (void *)&one;
    add_item(&args.record, "id", text_value(with, id_of(with, table, of->record)));
    const kw_api_Data_put_result *result;
    sent how = exchange(with, &kw_api_methods[KW_API_Data_put], &args, of, (const void **)&result);
    if (how != ANSWERED)
        return unanswered(of, how);
    if (!written(with, of, result->failure, result->success) || of->outcome == OPERATION_FAILED ||
        !result->success)
        return false;
    const kw_api_Record *made = &result->success->made;
    for (uint32_t i = 0; result->success->has_made && i < made->count; i++)
        of->values[0] = ((const item *)(const void *)made->items + i)->value.number;
    return result->success->has_made;
}

bool
client_do(client *with, const client_table *table, operation *of)
{
    kw_arena_reset(with->arena);
    switch (of->kind) {
    case OPERATION_PUT:
        return do_put(with, table, of);
    case OPERATION_REMOVE:
        return do_remove(with, table, of);
    case OPERATION_GET:
        return of->view ? do_query(with, table, of) : do_get(with, table, of);
    case OPERATION_PUT_IF:
        return do_put_if(with, table, of);
    case OPERATION_INCREMENT:
        return do_increment(with, table, of);
    case OPERATION_NUMBER:
        return do_number(with, table, of);
    case OPERATION_ROW:
    case OPERATION_SCAN:
    case OPERATION_KINDS:
        break;
    }
    g_assert_not_reached();
}

/* --- scans ------------------------------------------------------------------------------------ */

static unsigned
number_of(const kw_api_Record *row)
{
    for (uint32_t i = 0; i < row->count; i++) {
        const item *at = (const item *)(const void *)row->items + i;
        if (kw_bytes_equal(at->key, KW_BYTES_LITERAL("id")) && at->value.text.size == 12)
            return (unsigned)g_ascii_strtoull((const char *)at->value.text.data + 8, NULL, 10);
    }
    g_error("a scan returned a record of another history");
}

static void
add_rows(const kw_api_Page *page, const operation *scan, operations *to)
{
    for (uint32_t i = 0; i < page->rows.count; i++) {
        operation row = *scan;
        row.kind = OPERATION_ROW;
        row.record = number_of(&page->rows.items[i]);
        row.fields = (1u << OPERATION_FIELDS) - 1;
        row.outcome = OPERATION_OK;
        read_record(&page->rows.items[i], row.values);
        g_array_append_val(to, row);
    }
}

static const kw_api_Page *
first_page(client *with, const client_table *table, operation *scan, unsigned from, unsigned to,
           int page_rows, const char *filter)
{
    kw_api_Value low = text_value(with, id_of(with, table, from)),
                 high = text_value(with, id_of(with, table, to));
    kw_api_Range range = {.field = KW_BYTES_LITERAL("id"),
                          .has_from_value = true,
                          .from_value = &low,
                          .has_to_value = true,
                          .to_value = &high};
    kw_api_Query query = {.table = kw_bytes_of_text(table->name),
                          .has_range = true,
                          .range = &range,
                          .has_page_rows = true,
                          .page_rows = page_rows,
                          .has_filter = *filter != '\0',
                          .filter = kw_bytes_of_text(filter),
                          .has_deadline_ms = true,
                          .deadline_ms = with->deadline_ms};
    kw_api_Data_scan_args args = {.has_query = true, .query = &query};
    const kw_api_Data_scan_result *result;
    if (exchange(with, &kw_api_methods[KW_API_Data_scan], &args, scan, (const void **)&result) != ANSWERED)
        return NULL;
    if (result->failure)
        refused(with, scan, result->failure);
    return result->failure ? NULL : result->success;
}

static const kw_api_Page *
next_page(client *with, kw_bytes cursor, operation *scan)
{
    kw_api_Data_nextPage_args args = {
        .has_cursor = true, .cursor = cursor, .has_options = true, .options = options_of(with)};
    const kw_api_Data_nextPage_result *result;
    if (exchange(with, &kw_api_methods[KW_API_Data_nextPage], &args, scan, (const void **)&result) !=
        ANSWERED)
        return NULL;
    if (result->failure)
        refused(with, scan, result->failure);
    return result->failure ? NULL : result->success;
}

bool
client_scan(client *with, const client_table *table, operation scan, unsigned from, unsigned to,
            int page_rows, const char *filter, operations *to_rows)
{
    guint before = to_rows->len;
    kw_arena_reset(with->arena);
    const kw_api_Page *page = first_page(with, table, &scan, from, to, page_rows, filter);
    uint64_t begin_ns = scan.begin_ns;
    while (page) {
        add_rows(page, &scan, to_rows);
        if (!page->has_cursor)
            break;
        page = next_page(with, page->cursor, &scan);
    }
    if (!page) {
        g_array_set_size(to_rows, before);
        return false;
    }
    scan.begin_ns = begin_ns;
    scan.outcome = OPERATION_OK;
    scan.values[0] = to_rows->len - before;
    g_array_append_val(to_rows, scan);
    return true;
}
