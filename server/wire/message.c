/* Message heads, the frame around a message, and TApplicationException, a struct that every Thrift runtime
 * knows without an IDL.
 *
 *   binary   80 01 00 type | name length (4) | name | sequence id (4)
 *   compact  82 | type << 5 | 1 | sequence id (varint) | name length (varint) | name
 */
#include "wire/table.h"
#include "wire/varint.h"

#include <glib.h>
#include <string.h>

#define BINARY_MARK 0x80
#define BINARY_VERSION 0x01
#define COMPACT_MARK 0x82
#define COMPACT_VERSION 0x01
#define NAME_MAX_BYTES 255
#define FRAME_HEAD 4

static bool
type_known(unsigned type)
{
    return type >= KW_WIRE_CALL && type <= KW_WIRE_ONEWAY;
}

static bool
truncated(kw_error *ret_error)
{
    return kw_error_set(ret_error, KW_INVALID, "the message ends inside its head");
}

static bool
binary_head(kw_bytes payload, kw_wire_message *ret_message, kw_error *ret_error)
{
    const uint8_t *at = payload.data;
    if (payload.size < 8)
        return truncated(ret_error);
    if (at[0] != BINARY_MARK || at[1] != BINARY_VERSION || at[2] != 0)
        return kw_error_set(ret_error, KW_INVALID,
                            "not a strict binary message: it starts with %02x %02x %02x", at[0], at[1],
                            at[2]);
    if (!type_known(at[3]))
        return kw_error_set(ret_error, KW_INVALID, "message type %u does not exist", at[3]);
    uint32_t name_size = kw_be32_load(at + 4);
    if (name_size > NAME_MAX_BYTES)
        return kw_error_set(ret_error, KW_INVALID, "a method name of %u bytes is longer than %d", name_size,
                            NAME_MAX_BYTES);
    if (payload.size < 12 + (size_t)name_size)
        return truncated(ret_error);
    *ret_message = (kw_wire_message){.name = kw_bytes_of(at + 8, name_size),
                                     .type = (kw_wire_message_type)at[3],
                                     .sequence_id = (int32_t)kw_be32_load(at + 8 + name_size),
                                     .body = kw_bytes_skip(payload, 12 + name_size)};
    return true;
}

/* Reads a varint of the head and moves *at past it. */
static bool
head_varint(kw_bytes payload, size_t *at, uint32_t *ret_value, kw_error *ret_error)
{
    int read = kw_varint_load32(payload.data + *at, payload.size - *at, ret_value);
    if (read == KW_VARINT_SHORT)
        return truncated(ret_error);
    if (read == KW_VARINT_BROKEN)
        return kw_error_set(ret_error, KW_INVALID, "a number in the message head has more than 32 bits");
    *at += (size_t)read;
    return true;
}

static bool
compact_head(kw_bytes payload, kw_wire_message *ret_message, kw_error *ret_error)
{
    uint32_t sequence_id, name_size;
    size_t at = 2;
    if (payload.size < 4)
        return truncated(ret_error);
    if (payload.data[0] != COMPACT_MARK || (payload.data[1] & 0x1f) != COMPACT_VERSION)
        return kw_error_set(ret_error, KW_INVALID, "not a compact message: it starts with %02x %02x",
                            payload.data[0], payload.data[1]);
    unsigned type = payload.data[1] >> 5;
    if (!type_known(type))
        return kw_error_set(ret_error, KW_INVALID, "message type %u does not exist", type);
    if (!head_varint(payload, &at, &sequence_id, ret_error) ||
        !head_varint(payload, &at, &name_size, ret_error))
        return false;
    if (name_size > NAME_MAX_BYTES)
        return kw_error_set(ret_error, KW_INVALID, "a method name of %u bytes is longer than %d", name_size,
                            NAME_MAX_BYTES);
    if (payload.size - at < name_size)
        return truncated(ret_error);
    *ret_message = (kw_wire_message){.name = kw_bytes_of(payload.data + at, name_size),
                                     .type = (kw_wire_message_type)type,
                                     .sequence_id = (int32_t)sequence_id,
                                     .body = kw_bytes_skip(payload, at + name_size)};
    return true;
}

bool
kw_wire_message_decode(kw_wire_protocol protocol, kw_bytes payload, kw_wire_message *ret_message,
                       kw_error *ret_error)
{
    if (protocol == KW_WIRE_BINARY)
        return binary_head(payload, ret_message, ret_error);
    return compact_head(payload, ret_message, ret_error);
}

void
kw_wire_message_encode(kw_buffer *out, kw_wire_protocol protocol, kw_bytes name, kw_wire_message_type type,
                       int32_t sequence_id)
{
    g_assert(name.size <= NAME_MAX_BYTES && type_known(type));
    uint8_t *start = kw_buffer_reserve(out, 12 + name.size);
    uint8_t *at = start;
    *at++ = protocol == KW_WIRE_BINARY ? BINARY_MARK : COMPACT_MARK;
    if (protocol == KW_WIRE_BINARY) {
        *at++ = BINARY_VERSION;
        *at++ = 0;
        *at++ = (uint8_t)type;
        kw_be32_store(at, (uint32_t)name.size);
        at += 4;
    } else {
        *at++ = (uint8_t)((unsigned)type << 5 | COMPACT_VERSION);
        at = kw_varint_store64(at, (uint32_t)sequence_id);
        at = kw_varint_store64(at, name.size);
    }
    if (name.size)
        memcpy(at, name.data, name.size);
    at += name.size;
    if (protocol == KW_WIRE_BINARY) {
        kw_be32_store(at, (uint32_t)sequence_id);
        at += 4;
    }
    out->size += (size_t)(at - start);
}

size_t
kw_wire_frame_begin(kw_buffer *out, kw_wire_form form)
{
    size_t mark = out->size;
    if (form.framed) {
        memset(kw_buffer_reserve(out, FRAME_HEAD), 0, FRAME_HEAD);
        out->size += FRAME_HEAD;
    }
    return mark;
}

void
kw_wire_frame_end(kw_buffer *out, kw_wire_form form, size_t mark)
{
    if (!form.framed)
        return;
    size_t size = out->size - mark - FRAME_HEAD;
    g_assert(size <= INT32_MAX);
    kw_be32_store(out->data + mark, (uint32_t)size);
}

/* --- TApplicationException ----------------------------------------------------------------------- */

typedef struct application_exception {
    bool has_text;
    bool has_type;
    int32_t type;
    kw_bytes text;
} application_exception;

static const kw_wire_field application_exception_fields[] = {
    {{KW_WIRE_KIND_TEXT, 11, 8, sizeof(kw_bytes), {NULL}},
     1,
     offsetof(application_exception, text),
     offsetof(application_exception, has_text),
     "message"},
    {{KW_WIRE_KIND_I32, 8, 5, sizeof(int32_t), {NULL}},
     2,
     offsetof(application_exception, type),
     offsetof(application_exception, has_type),
     "type"},
};

static const kw_wire_struct application_exception_wire = {
    .name = "TApplicationException",
    .fields = application_exception_fields,
    .field_count = G_N_ELEMENTS(application_exception_fields),
    .size = sizeof(application_exception),
};

void
kw_wire_exception_encode(kw_buffer *out, kw_wire_protocol protocol, kw_wire_exception_type type,
                         const char *text)
{
    application_exception value = {
        .has_text = true, .text = kw_bytes_of_text(text), .has_type = true, .type = (int32_t)type};
    kw_wire_struct_encode(out, protocol, &application_exception_wire, &value);
}

bool
kw_wire_exception_decode(kw_wire_protocol protocol, kw_bytes body, kw_wire_exception_type *ret_type,
                         kw_bytes *ret_text, kw_error *ret_error)
{
    application_exception value;
    kw_wire_limits limits = {.decoded_bytes = 0, .depth = KW_WIRE_DEPTH_DEFAULT};
    /* No member allocates memory, so no arena is needed. */
    if (!kw_wire_struct_decode(&application_exception_wire, protocol, body, limits, NULL, &value, ret_error))
        return false;
    *ret_type = (kw_wire_exception_type)value.type;
    *ret_text = value.text;
    return true;
}

/* --- methods ------------------------------------------------------------------------------------- */

static bool
name_is(const char *expected, kw_bytes name)
{
    return strlen(expected) == name.size && memcmp(expected, name.data, name.size) == 0;
}

const kw_wire_method *
kw_wire_method_find(const kw_wire_method *methods, size_t count, kw_bytes name)
{
    const uint8_t *colon = name.size ? memchr(name.data, ':', name.size) : NULL;
    kw_bytes service = colon ? kw_bytes_of(name.data, (size_t)(colon - name.data)) : KW_BYTES_NONE;
    kw_bytes method = colon ? kw_bytes_skip(name, service.size + 1) : name;
    if (method.size == 0)
        return NULL;
    for (size_t index = 0; index < count; index++) {
        const kw_wire_method *row = &methods[index];
        if (row->name[0] == (char)method.data[0] && name_is(row->name, method) &&
            (!colon || name_is(row->service, service)))
            return row;
    }
    return NULL;
}
