/* Decoding of one struct: the entry point, memory, and the slow paths of both decoders. */
#include "wire/decode.h"

#include "wire/skip.h"

#include <glib.h>

#define ALIGNMENT ((size_t)16) /* of the arena: allocations are rounded up to it */

const kw_wire_field kw_wire_no_fields[1] = {{.name = ""}};

void
kw_decoder_note(kw_decoder *decoder, kw_decode_error_kind kind, int64_t value, const uint8_t *at)
{
    decoder->fault = (kw_decode_error){.kind = kind, .value = value, .left = (size_t)(decoder->end - at)};
}

const uint8_t *
kw_decoder_report(kw_decoder *decoder, const kw_wire_struct *table, const kw_wire_field *field)
{
    if (decoder->reported)
        return NULL;
    decoder->reported = true;
    char text[160];
    kw_decode_error_text(decoder->fault, text, sizeof text);
    kw_error_set(decoder->error, kw_decode_error_code(decoder->fault), "%s%s%s: %s", table->name,
                 field ? "." : "", field ? field->name : "", text);
    return NULL;
}

const uint8_t *
kw_decoder_missing(kw_decoder *decoder, const kw_wire_struct *table, uint64_t seen)
{
    uint64_t missing = table->required_mask & ~seen;
    const kw_wire_field *field = &table->fields[__builtin_ctzll(missing)];
    decoder->reported = true;
    kw_error_set(decoder->error, KW_INVALID, "%s.%s: the required field is missing", table->name,
                 field->name);
    return NULL;
}

void *
kw_decoder_alloc(kw_decoder *decoder, size_t count, size_t size, const uint8_t *at)
{
    size_t total;
    if (__builtin_mul_overflow(count, size, &total) || total > decoder->memory_left) {
        kw_decoder_note(decoder, KW_DECODE_MEMORY, (int64_t)decoder->memory_limit, at);
        return NULL;
    }
    size_t charged = (total + ALIGNMENT) & ~(ALIGNMENT - 1);
    decoder->memory_left -= MIN(charged, decoder->memory_left);
    return kw_arena_alloc0(decoder->arena, total);
}

const uint8_t *
kw_decoder_skip(kw_decoder *decoder, const uint8_t *at, uint8_t type)
{
    kw_skip skip;
    size_t left = (size_t)(decoder->end - at), wanted;
    kw_skip_begin_value(&skip, decoder->protocol, type, left, decoder->depth_left);
    if (kw_skip_run(&skip, kw_bytes_of(at, left), &wanted) == KW_WIRE_MESSAGE)
        return at + skip.at;
    decoder->fault = skip.fault;
    if (decoder->fault.kind == KW_DECODE_DEPTH)
        decoder->fault.value = decoder->depth_limit;
    return NULL;
}

const kw_wire_field *
kw_decoder_find(const kw_wire_struct *table, int32_t id)
{
    for (uint32_t index = 0; index < table->field_count; index++) {
        if (table->fields[index].id == id)
            return &table->fields[index];
    }
    return NULL;
}

bool
kw_wire_struct_decode(const kw_wire_struct *table, kw_wire_protocol protocol, kw_bytes body,
                      kw_wire_limits limits, kw_arena *arena, void *ret_value, kw_error *ret_error)
{
    uint32_t depth = MIN(limits.depth, KW_SKIP_DEPTH_MAX);
    kw_decoder decoder = {.start = body.data,
                          .end = body.data + body.size,
                          .arena = arena,
                          .memory_left = limits.decoded_bytes,
                          .memory_limit = limits.decoded_bytes,
                          .depth_left = depth,
                          .depth_limit = depth,
                          .protocol = protocol,
                          .error = ret_error};
    if (body.size == 0)
        return kw_error_set(ret_error, KW_INVALID, "%s: the bytes end too early", table->name);
    memset(ret_value, 0, table->size);
    const uint8_t *at = protocol == KW_WIRE_BINARY ? kw_decode_binary(&decoder, body.data, table, ret_value)
                                                   : kw_decode_compact(&decoder, body.data, table, ret_value);
    if (at == decoder.end)
        return true;
    if (at)
        kw_error_set(ret_error, KW_INVALID, "%s: %zu bytes follow the end of the message", table->name,
                     (size_t)(decoder.end - at));
    memset(ret_value, 0, table->size);
    return false;
}
