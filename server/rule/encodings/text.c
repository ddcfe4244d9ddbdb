/* Strings and bytes in keys.
 *
 *   raw         the bytes themselves. Keeps order only as the last component: otherwise the next component
 *               is compared with the rest of longer values ("A1" + next against "A1x" + next)
 *   terminated  the bytes, then a byte that they must not contain. Keeps order if that byte is 0x00
 *   fixed       a fixed width; shorter strings are padded with 0x00 on the right (so they must not end
 *               with it), bytes must have exactly that width
 *
 * Descending order inverts every byte, including the terminator.
 */
#include "rule/encoding.h"

#include "base/utf8.h"

#include <stdio.h>

#define TEXT_TYPES (KW_TYPE_BIT(KW_FIELD_STRING) | KW_TYPE_BIT(KW_FIELD_BYTES))

static void
append(const kw_form *form, kw_bytes bytes, kw_buffer *out)
{
    if (bytes.size == 0)
        return;
    uint8_t *to = kw_buffer_reserve(out, bytes.size);
    memcpy(to, bytes.data, bytes.size);
    if (form->descending) {
        for (size_t index = 0; index < bytes.size; index++)
            to[index] = (uint8_t)~to[index];
    }
    out->size += bytes.size;
}

static kw_value
value_of(const kw_form *form, kw_bytes bytes)
{
    return (kw_value){.kind = kw_field_value_kind(form->type), .bytes = bytes};
}

/* Converts the bytes of a piece back to those of the value. */
static bool
restore(const kw_form *form, kw_bytes bytes, kw_arena *arena, kw_value *ret_value, kw_error *ret_error)
{
    if (form->descending && bytes.size > 0) {
        uint8_t *inverted = kw_arena_alloc(arena, bytes.size);
        for (size_t index = 0; index < bytes.size; index++)
            inverted[index] = (uint8_t)~bytes.data[index];
        bytes.data = inverted;
    }
    if (form->type == KW_FIELD_STRING && !kw_utf8_valid(bytes))
        return kw_error_set(ret_error, KW_CORRUPT, "is not UTF-8");
    *ret_value = value_of(form, bytes);
    return true;
}

/* --- raw ------------------------------------------------------------------------------------------- */

static bool
prepare_raw(const kw_site *site, kw_form *form)
{
    if (form->descending)
        return kw_diagnostics_add(site->diagnostics, kw_site_mark(site, "order"),
                                  "use encoding: terminated, or fixed with a width",
                                  "field: a raw string cannot be in descending order (a string would come "
                                  "before its own continuations)");
    form->direction = site->last ? 1 : 0;
    return true;
}

static bool
encode_raw(const kw_form *form, kw_value value, kw_buffer *out, kw_error *ret_error)
{
    (void)ret_error;
    append(form, value.bytes, out);
    return true;
}

static bool
edge_raw(const kw_form *form, kw_value value, bool lower, kw_arena *arena, kw_edge *ret_edge)
{
    (void)form;
    (void)lower;
    (void)arena;
    *ret_edge = (kw_edge){.bytes = value.bytes};
    return true;
}

const kw_encoding kw_encoding_raw = {
    .name = "raw",
    .types = TEXT_TYPES,
    .prepare = prepare_raw,
    .encode = encode_raw,
    .decode = restore,
    .edge = edge_raw,
};

/* --- terminated ------------------------------------------------------------------------------------ */

static bool
prepare_terminated(const kw_site *site, kw_form *form)
{
    (void)site;
    form->delimited = true;
    form->direction = form->terminator != 0 ? 0 : form->descending ? -1 : 1;
    return true;
}

/* The value up to a terminator inside it. */
static kw_bytes
before_terminator(const kw_form *form, kw_bytes bytes)
{
    const uint8_t *found = bytes.size ? memchr(bytes.data, form->terminator, bytes.size) : NULL;
    return found ? kw_bytes_of(bytes.data, (size_t)(found - bytes.data)) : bytes;
}

static bool
encode_terminated(const kw_form *form, kw_value value, kw_buffer *out, kw_error *ret_error)
{
    if (before_terminator(form, value.bytes).size != value.bytes.size)
        return kw_error_set(ret_error, KW_INVALID, "contains the byte 0x%02X that ends it in the row key",
                            form->terminator);
    append(form, value.bytes, out);
    append(form, kw_bytes_of(&form->terminator, 1), out);
    return true;
}

static size_t
measure_terminated(const kw_form *form, kw_bytes bytes)
{
    uint8_t end = (uint8_t)(form->descending ? ~form->terminator : form->terminator);
    const uint8_t *found = bytes.size ? memchr(bytes.data, end, bytes.size) : NULL;
    return found ? (size_t)(found - bytes.data) + 1 : SIZE_MAX;
}

static bool
decode_terminated(const kw_form *form, kw_bytes piece, kw_arena *arena, kw_value *ret_value,
                  kw_error *ret_error)
{
    return restore(form, kw_bytes_of(piece.data, piece.size - 1), arena, ret_value, ret_error);
}

static bool
edge_terminated(const kw_form *form, kw_value value, bool lower, kw_arena *arena, kw_edge *ret_edge)
{
    (void)lower;
    kw_bytes head = before_terminator(form, value.bytes);
    kw_buffer out = {.data = kw_arena_alloc(arena, head.size + 1), .capacity = head.size + 1};
    append(form, head, &out);
    append(form, kw_bytes_of(&form->terminator, 1), &out);
    *ret_edge = (kw_edge){.bytes = kw_buffer_bytes(&out), .side = head.size != value.bytes.size};
    return true;
}

const kw_encoding kw_encoding_terminated = {
    .name = "terminated",
    .types = TEXT_TYPES,
    .accepts_terminator = true,
    .prepare = prepare_terminated,
    .encode = encode_terminated,
    .decode = decode_terminated,
    .measure = measure_terminated,
    .edge = edge_terminated,
};

/* --- fixed ----------------------------------------------------------------------------------------- */

static bool
prepare_fixed(const kw_site *site, kw_form *form)
{
    (void)site;
    form->delimited = true;
    form->direction = form->descending ? -1 : 1;
    return true;
}

static void
append_filled(const kw_form *form, kw_bytes bytes, kw_buffer *out)
{
    append(form, bytes, out);
    size_t fill = form->width - bytes.size;
    memset(kw_buffer_reserve(out, fill), form->descending ? 0xff : 0, fill);
    out->size += fill;
}

static bool
encode_fixed(const kw_form *form, kw_value value, kw_buffer *out, kw_error *ret_error)
{
    size_t size = value.bytes.size;
    if (size > form->width)
        return kw_error_set(ret_error, KW_INVALID, "has %zu bytes; the row key can hold %u", size,
                            form->width);
    if (form->type == KW_FIELD_BYTES && size != form->width)
        return kw_error_set(ret_error, KW_INVALID, "has %zu bytes; the row key needs exactly %u", size,
                            form->width);
    if (form->type == KW_FIELD_STRING && size > 0 && value.bytes.data[size - 1] == 0)
        return kw_error_set(ret_error, KW_INVALID,
                            "ends with the byte 0x00, which is the padding in the row key");
    append_filled(form, value.bytes, out);
    return true;
}

static kw_bytes
without_fill(kw_bytes bytes, uint8_t fill)
{
    while (bytes.size > 0 && bytes.data[bytes.size - 1] == fill)
        bytes.size--;
    return bytes;
}

static bool
decode_fixed(const kw_form *form, kw_bytes piece, kw_arena *arena, kw_value *ret_value, kw_error *ret_error)
{
    if (form->type == KW_FIELD_STRING)
        piece = without_fill(piece, form->descending ? 0xff : 0);
    return restore(form, piece, arena, ret_value, ret_error);
}

/* Longer values are after their first `width` bytes, strings that end with 0x00 are after the string without
 * it, shorter bytes are before their padded form. */
static bool
edge_fixed(const kw_form *form, kw_value value, bool lower, kw_arena *arena, kw_edge *ret_edge)
{
    (void)lower;
    kw_bytes head = kw_bytes_of(value.bytes.data, MIN(value.bytes.size, form->width));
    int side = head.size < value.bytes.size;
    if (form->type == KW_FIELD_STRING) {
        kw_bytes bare = without_fill(head, 0);
        side |= bare.size < head.size;
        head = bare;
    } else if (head.size < form->width) {
        side = -1;
    }
    kw_buffer out = {.data = kw_arena_alloc(arena, form->width), .capacity = form->width};
    append_filled(form, head, &out);
    *ret_edge = (kw_edge){.bytes = kw_buffer_bytes(&out), .side = side};
    return true;
}

const kw_encoding kw_encoding_fixed = {
    .name = "fixed",
    .types = TEXT_TYPES,
    .needs_width = true,
    .prepare = prepare_fixed,
    .encode = encode_fixed,
    .decode = decode_fixed,
    .edge = edge_fixed,
};
