/* Encoding of one struct: the way in, and room in the buffer. */
#include "wire/encode.h"

uint8_t *
kw_encoder_grow(kw_encoder *encoder, uint8_t *at, size_t more)
{
    kw_buffer *out = encoder->out;
    out->size = (size_t)(at - out->data);
    at = kw_buffer_reserve(out, more);
    encoder->end = out->data + out->capacity;
    return at;
}

void
kw_wire_struct_encode(kw_buffer *out, kw_wire_protocol protocol, const kw_wire_struct *table,
                      const void *value)
{
    uint8_t *at = kw_buffer_reserve(out, KW_ENCODER_ROOM);
    kw_encoder encoder = {.out = out, .end = out->data + out->capacity};
    at = protocol == KW_WIRE_BINARY ? kw_encode_binary(&encoder, at, table, value)
                                    : kw_encode_compact(&encoder, at, table, value);
    out->size = (size_t)(at - out->data);
}
