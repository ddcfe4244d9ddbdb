/* Parses a reply while it arrives. The end of an unframed reply is found only in this way. */
#include "lib/message.h"

#include "lib/error.h"

#include <string.h>

#define DEPTH_MAX 64
#define CHUNK_BYTES 16384

typedef enum message_type { MESSAGE_REPLY = 2, MESSAGE_EXCEPTION = 3 } message_type;

/* Wire types of both protocols under common names. */
typedef enum wire_shape {
    SHAPE_STOP,
    SHAPE_BOOL,
    SHAPE_BYTE,
    SHAPE_I16,
    SHAPE_I32,
    SHAPE_I64,
    SHAPE_DOUBLE,
    SHAPE_STRING,
    SHAPE_STRUCT,
    SHAPE_MAP,
    SHAPE_LIST,
    SHAPE_UNKNOWN
} wire_shape;

typedef struct reply_walk {
    kw_connection *connection;
    GByteArray *data;
    gsize at;
    gsize limit;   /* maximum size of data */
    bool complete; /* all bytes have arrived */
    bool compact;
    gint64 deadline_us;
    GError **error; /* the caller's; never NULL */
} reply_walk;

static bool G_GNUC_PRINTF(2, 3) malformed(reply_walk *walk, const char *format, ...)
{
    va_list arguments;
    g_autofree char *what = NULL;

    va_start(arguments, format);
    what = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    kw_client_error_set(walk->error, KW_CLIENT_PROTOCOL, "invalid reply from the gateway: %s", what);
    return false;
}

/* --- bytes ------------------------------------------------------------------------------------ */

static bool
receive_some(reply_walk *walk, gsize size)
{
    gsize have = walk->data->len;
    gsize space = MIN(MAX(size, CHUNK_BYTES), walk->limit - have);
    gssize got;

    g_byte_array_set_size(walk->data, (guint)(have + space));
    got =
        kw_connection_read(walk->connection, walk->data->data + have, space, walk->deadline_us, walk->error);
    g_byte_array_set_size(walk->data, (guint)(have + (gsize)MAX(got, 0)));
    if (got == 0)
        kw_client_error_set(walk->error, KW_CLIENT_CONNECTION, "the gateway closed the connection %s%s",
                            have == 0 ? "before it replied" : "in the middle of a reply",
                            kw_connection_may_lack_tls(walk->connection)
                                ? "; if it expects TLS, connect with TLS (keyway --tls)"
                                : "");
    return got > 0;
}

/* Ensures that `size` bytes are available at `at`. */
static bool
need(reply_walk *walk, gsize size)
{
    if (walk->complete && size > walk->data->len - walk->at)
        return malformed(walk, "it ends early");
    if (size > walk->limit - walk->at) {
        kw_client_error_set(walk->error, KW_CLIENT_PROTOCOL,
                            "the reply is longer than %" G_GSIZE_FORMAT " bytes; use smaller pages",
                            walk->limit);
        return false;
    }
    while (walk->data->len - walk->at < size)
        if (!receive_some(walk, size - (walk->data->len - walk->at)))
            return false;
    return true;
}

static bool
skip(reply_walk *walk, gsize size)
{
    if (!need(walk, size))
        return false;
    walk->at += size;
    return true;
}

static bool
read_byte(reply_walk *walk, guint8 *ret_byte)
{
    if (!need(walk, 1))
        return false;
    *ret_byte = walk->data->data[walk->at++];
    return true;
}

static bool
read_u32(reply_walk *walk, guint32 *ret_number)
{
    guint32 number;

    if (!need(walk, sizeof number))
        return false;
    memcpy(&number, walk->data->data + walk->at, sizeof number);
    walk->at += sizeof number;
    *ret_number = GUINT32_FROM_BE(number);
    return true;
}

static bool
read_varint(reply_walk *walk, guint64 *ret_number)
{
    guint64 number = 0;
    guint8 byte = 0x80;

    for (guint shift = 0; (byte & 0x80) != 0; shift += 7) {
        if (shift > 63)
            return malformed(walk, "a number is too long");
        if (!read_byte(walk, &byte))
            return false;
        number |= (guint64)(byte & 0x7f) << shift;
    }
    *ret_number = number;
    return true;
}

/* Reads a length or count: never negative, and never more than the bytes that can follow. */
static bool
read_size(reply_walk *walk, gsize *ret_size)
{
    guint32 plain = 0;
    guint64 number = 0;

    if (walk->compact ? !read_varint(walk, &number) : !read_u32(walk, &plain))
        return false;
    if (!walk->compact)
        number = plain;
    if (number > G_MAXINT32 || number > (walk->complete ? walk->data->len : walk->limit) - walk->at)
        return malformed(walk, "a length of %" G_GINT64_FORMAT,
                         walk->compact ? (gint64)number : (gint64)(gint32)plain);
    *ret_size = (gsize)number;
    return true;
}

/* --- values ----------------------------------------------------------------------------------- */

static wire_shape
shape_of(const reply_walk *walk, guint8 type)
{
    static const guint8 binary[16] = {SHAPE_STOP,   SHAPE_UNKNOWN, SHAPE_BOOL, SHAPE_BYTE,
                                      SHAPE_DOUBLE, SHAPE_UNKNOWN, SHAPE_I16,  SHAPE_UNKNOWN,
                                      SHAPE_I32,    SHAPE_UNKNOWN, SHAPE_I64,  SHAPE_STRING,
                                      SHAPE_STRUCT, SHAPE_MAP,     SHAPE_LIST, SHAPE_LIST};
    static const guint8 compact[16] = {SHAPE_STOP,   SHAPE_BOOL,    SHAPE_BOOL,    SHAPE_BYTE,
                                       SHAPE_I16,    SHAPE_I32,     SHAPE_I64,     SHAPE_DOUBLE,
                                       SHAPE_STRING, SHAPE_LIST,    SHAPE_LIST,    SHAPE_MAP,
                                       SHAPE_STRUCT, SHAPE_UNKNOWN, SHAPE_UNKNOWN, SHAPE_UNKNOWN};

    return type >= 16 ? SHAPE_UNKNOWN : (wire_shape)(walk->compact ? compact : binary)[type];
}

static bool skip_struct(reply_walk *walk, guint depth);
static bool skip_value(reply_walk *walk, wire_shape shape, guint depth);

static bool
skip_number(reply_walk *walk, gsize binary_size)
{
    guint64 ignored;

    return walk->compact ? read_varint(walk, &ignored) : skip(walk, binary_size);
}

static bool
skip_string(reply_walk *walk)
{
    gsize size;

    return read_size(walk, &size) && skip(walk, size);
}

static bool
skip_items(reply_walk *walk, gsize count, wire_shape first, wire_shape second, guint depth)
{
    if (count > 0 && (first == SHAPE_STOP || second == SHAPE_STOP))
        return malformed(walk, "a container without an element type");
    for (gsize i = 0; i < count; i++)
        if (!skip_value(walk, first, depth + 1) ||
            (second != SHAPE_UNKNOWN && !skip_value(walk, second, depth + 1)))
            return false;
    return true;
}

static bool
skip_list(reply_walk *walk, guint depth)
{
    guint8 head;
    gsize count;

    if (!read_byte(walk, &head))
        return false;
    count = head >> 4;
    if ((!walk->compact || count == 15) && !read_size(walk, &count))
        return false;
    return skip_items(walk, count, shape_of(walk, walk->compact ? head & 15 : head), SHAPE_UNKNOWN, depth);
}

static bool
skip_map(reply_walk *walk, guint depth)
{
    guint8 key = 0;
    guint8 value = 0;
    gsize count = 0;

    if (walk->compact) {
        if (!read_size(walk, &count) || (count > 0 && !read_byte(walk, &key)))
            return false;
        value = key & 15;
        key >>= 4;
    } else if (!read_byte(walk, &key) || !read_byte(walk, &value) || !read_size(walk, &count)) {
        return false;
    }
    if (count > 0 && shape_of(walk, value) == SHAPE_UNKNOWN)
        return malformed(walk, "an unknown type %u", value);
    return skip_items(walk, count, shape_of(walk, key), shape_of(walk, value), depth);
}

/* Skips a value in a container or of a field, which have the same form. Exception: in the compact protocol,
 * the type of a bool field is its value, so walk_field does not call this. */
static bool
skip_value(reply_walk *walk, wire_shape shape, guint depth)
{
    if (depth > DEPTH_MAX)
        return malformed(walk, "nested deeper than %d", DEPTH_MAX);
    switch (shape) {
    case SHAPE_BOOL:
    case SHAPE_BYTE:
        return skip(walk, 1);
    case SHAPE_I16:
        return skip_number(walk, 2);
    case SHAPE_I32:
        return skip_number(walk, 4);
    case SHAPE_I64:
        return skip_number(walk, 8);
    case SHAPE_DOUBLE:
        return skip(walk, 8);
    case SHAPE_STRING:
        return skip_string(walk);
    case SHAPE_STRUCT:
        return skip_struct(walk, depth);
    case SHAPE_MAP:
        return skip_map(walk, depth);
    case SHAPE_LIST:
        return skip_list(walk, depth);
    case SHAPE_STOP:
    case SHAPE_UNKNOWN:
        break;
    }
    return malformed(walk, "an unknown type");
}

/* --- structs ---------------------------------------------------------------------------------- */

typedef struct wire_field {
    wire_shape shape; /* SHAPE_STOP: end of the struct */
    gint id;
} wire_field;

static bool
read_compact_field(reply_walk *walk, gint last_id, wire_field *ret_field)
{
    guint8 head;
    guint64 zigzag;

    if (!read_byte(walk, &head))
        return false;
    ret_field->shape = shape_of(walk, head & 15);
    ret_field->id = last_id + (head >> 4);
    if (ret_field->shape == SHAPE_STOP || (head >> 4) != 0)
        return true;
    if (!read_varint(walk, &zigzag))
        return false;
    ret_field->id = (gint16)((zigzag >> 1) ^ (~(zigzag & 1) + 1));
    return true;
}

static bool
read_binary_field(reply_walk *walk, wire_field *ret_field)
{
    guint8 type;

    if (!read_byte(walk, &type))
        return false;
    ret_field->shape = shape_of(walk, type);
    if (ret_field->shape == SHAPE_STOP)
        return true;
    if (!need(walk, 2))
        return false;
    ret_field->id = (gint16)(walk->data->data[walk->at] << 8 | walk->data->data[walk->at + 1]);
    walk->at += 2;
    return true;
}

/* Skips one field with its value. seen: the ids 0 to 63 found in the struct so far. */
static bool
walk_field(reply_walk *walk, wire_field *field, guint64 *seen, guint depth)
{
    if (walk->compact ? !read_compact_field(walk, field->id, field) : !read_binary_field(walk, field))
        return false;
    if (field->shape == SHAPE_STOP)
        return true;
    if (field->id >= 0 && field->id < 64) {
        if ((*seen & (G_GUINT64_CONSTANT(1) << field->id)) != 0)
            return malformed(walk, "field %d occurs twice", field->id);
        *seen |= G_GUINT64_CONSTANT(1) << field->id;
    }
    if (walk->compact && field->shape == SHAPE_BOOL)
        return true;
    return skip_value(walk, field->shape, depth + 1);
}

static bool
skip_struct(reply_walk *walk, guint depth)
{
    wire_field field = {0};
    guint64 seen = 0;

    do {
        if (!walk_field(walk, &field, &seen, depth))
            return false;
    } while (field.shape != SHAPE_STOP);
    return true;
}

static wire_shape
shape_of_result(kw_result_kind result)
{
    switch (result) {
    case KW_RESULT_VOID:
        return SHAPE_STOP;
    case KW_RESULT_BOOL:
        return SHAPE_BOOL;
    case KW_RESULT_STRUCT:
        return SHAPE_STRUCT;
    case KW_RESULT_LIST:
        return SHAPE_LIST;
    case KW_RESULT_MAP:
        return SHAPE_MAP;
    case KW_RESULT_TEXT:
        return SHAPE_STRING;
    }
    g_assert_not_reached();
}

/* Field 0 is the result, field 1 the declared exception; one of them must be present unless the result is
 * VOID. */
static bool
walk_result(reply_walk *walk, kw_result_kind result)
{
    bool answered = result == KW_RESULT_VOID;
    wire_field field = {0};
    guint64 seen = 0;

    do {
        if (!walk_field(walk, &field, &seen, 0))
            return false;
        if (field.shape == SHAPE_STOP)
            break;
        answered |= field.id == 0 && field.shape == shape_of_result(result);
        answered |= field.id == 1 && field.shape == SHAPE_STRUCT;
    } while (true);
    return answered || malformed(walk, "it has no result");
}

/* --- messages --------------------------------------------------------------------------------- */

static bool
read_head(reply_walk *walk, guint8 *ret_type)
{
    guint32 version;
    guint8 protocol;
    guint8 kind;
    guint64 sequence;

    if (!walk->compact) {
        if (!read_u32(walk, &version))
            return false;
        *ret_type = (guint8)version;
        return (version & 0xffffff00U) == 0x80010000U ||
               malformed(walk, "it does not use the binary protocol");
    }
    if (!read_byte(walk, &protocol) || !read_byte(walk, &kind) || !read_varint(walk, &sequence))
        return false;
    *ret_type = kind >> 5;
    return (protocol == 0x82 && (kind & 31) == 1) || malformed(walk, "it does not use the compact protocol");
}

static bool
check_method(reply_walk *walk, const char *method)
{
    gsize size;

    if (!read_size(walk, &size) || !skip(walk, size))
        return false;
    if (size == strlen(method) && memcmp(walk->data->data + walk->at - size, method, size) == 0)
        return true;
    return malformed(walk, "it is not for the method %s", method);
}

static bool
walk_message(reply_walk *walk, const kw_expected_reply *expected)
{
    guint8 type;

    if (!read_head(walk, &type) || !check_method(walk, expected->method))
        return false;
    if (!walk->compact && !skip(walk, 4))
        return false;
    if (type == MESSAGE_EXCEPTION)
        return skip_struct(walk, 0);
    if (type != MESSAGE_REPLY)
        return malformed(walk, "message type %u", type);
    return walk_result(walk, expected->result);
}

static bool
receive_frame(reply_walk *walk)
{
    guint32 size;

    if (!need(walk, 4) || !read_u32(walk, &size))
        return false;
    if (size == 0 || size > G_MAXINT32)
        return malformed(walk, "a frame of %d bytes", (gint32)size);
    if (!need(walk, size))
        return false;
    if (walk->data->len != 4 + size)
        return malformed(walk, "more than one frame");
    g_byte_array_remove_range(walk->data, 0, 4);
    walk->at = 0;
    walk->complete = true;
    return true;
}

bool
kw_message_receive(kw_connection *connection, const kw_message_form *form, const kw_expected_reply *expected,
                   GByteArray *message, GError **error)
{
    g_autoptr(GError) failure = NULL;
    reply_walk walk = {.connection = connection,
                       .data = message,
                       .limit = form->limit_bytes,
                       .compact = form->compact,
                       .deadline_us = expected->deadline_us,
                       .error = &failure};

    g_byte_array_set_size(message, 0);
    if ((!form->framed || receive_frame(&walk)) && walk_message(&walk, expected) && walk.at != message->len)
        malformed(&walk, "more bytes follow it");
    if (failure == NULL)
        return true;
    g_propagate_error(error, g_steal_pointer(&failure));
    return false;
}
