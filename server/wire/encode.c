/* Encoding of one struct: the entry points, and space in the buffer. */
#include "wire/encode.h"

uint8_t *
kw_encoder_grow(kw_encoder *encoder, uint8_t *at, size_t more)
{
    kw_buffer *out = encoder->out;
    out->size = (size_t)(at - out->data);
    encoder->over |= out->size - encoder->start > encoder->most ||
                     more > encoder->most - (out->size - encoder->start) + KW_ENCODER_TOKEN_MAX;
    if (encoder->over) {
        out->size = encoder->start;
        more = KW_ENCODER_TOKEN_MAX;
    }
    at = kw_buffer_reserve(out, more);
    encoder->end = out->data + out->capacity;
    return at;
}

static kw_encoder
encoder_on(kw_buffer *out, size_t most, uint8_t **ret_at)
{
    *ret_at = kw_buffer_reserve(out, KW_ENCODER_TOKEN_MAX);
    return (kw_encoder){.out = out, .end = out->data + out->capacity, .start = out->size, .most = most};
}

static bool
end(const kw_encoder *encoder, const uint8_t *at)
{
    kw_buffer *out = encoder->out;
    out->size = (size_t)(at - out->data);
    if (!encoder->over && out->size - encoder->start <= encoder->most)
        return true;
    out->size = encoder->start;
    return false;
}

static uint8_t *
encode(kw_encoder *encoder, uint8_t *at, kw_wire_protocol protocol, const kw_wire_struct *table,
       const void *value)
{
    return protocol == KW_WIRE_BINARY ? kw_encode_binary(encoder, at, table, value)
                                      : kw_encode_compact(encoder, at, table, value);
}

bool
kw_wire_struct_encode_within(kw_buffer *out, kw_wire_protocol protocol, const kw_wire_struct *table,
                             const void *value, size_t most)
{
    uint8_t *at;
    kw_encoder encoder = encoder_on(out, most, &at);
    return end(&encoder, encode(&encoder, at, protocol, table, value));
}

bool
kw_wire_struct_encode_around(kw_buffer *out, kw_wire_protocol protocol, const kw_wire_struct *table,
                             const void *value, kw_wire_hole hole, size_t most, size_t *ret_at)
{
    uint8_t *at;
    kw_encoder encoder = encoder_on(out, most, &at);
    encoder.open = hole.list;
    encoder.open_count = hole.count;
    if (!end(&encoder, encode(&encoder, at, protocol, table, value)))
        return false;
    g_assert(encoder.opened > 0);
    *ret_at = encoder.opened;
    return true;
}

bool
kw_wire_items_encode(kw_buffer *out, kw_wire_protocol protocol, const kw_wire_container *list,
                     const void *items, uint32_t count, size_t most)
{
    uint8_t *at;
    kw_encoder encoder = encoder_on(out, most, &at);
    return end(&encoder, protocol == KW_WIRE_BINARY
                             ? kw_encode_items_binary(&encoder, at, list, items, count)
                             : kw_encode_items_compact(&encoder, at, list, items, count));
}

void
kw_wire_struct_encode(kw_buffer *out, kw_wire_protocol protocol, const kw_wire_struct *table,
                      const void *value)
{
    bool fits = kw_wire_struct_encode_within(out, protocol, table, value, SIZE_MAX / 4);
    g_assert(fits);
}
