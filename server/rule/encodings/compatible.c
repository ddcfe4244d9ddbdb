/* Encodings of other libraries. The encodings of one library, for all types of fields, share one name.
 *
 *   phoenix  Phoenix's columns: TINYINT, SMALLINT, INTEGER, BIGINT (and times as BIGINT) in 1, 2, 4 or 8
 *            bytes, FLOAT and DOUBLE in 4 or 8, BOOLEAN. Its VARCHAR is `terminated`, at the key's end `raw`
 *   ordered  HBase's OrderedBytes: a header byte that names the type, then int8 to int64 (width 2, 3, 5, 9),
 *            float32 or float64 (5, 9), strings ended by 0x00, bytes as blob_var (without order: see
 *            seven.c). Descending inverts all bytes
 *
 * Both use another encoding, the inner one, and add a header or a bias.
 */
#include "rule/encoding.h"

#define NUMBER_TYPES (KW_TYPE_BIT(KW_FIELD_INT) | KW_TYPE_BIT(KW_FIELD_TIMESTAMP))
#define TEXT_TYPES (KW_TYPE_BIT(KW_FIELD_STRING) | KW_TYPE_BIT(KW_FIELD_BYTES))

/* OrderedBytes' names of its types. */
enum {
    HEADER_INT8 = 0x29,
    HEADER_INT16 = 0x2a,
    HEADER_INT32 = 0x2b,
    HEADER_INT64 = 0x2c,
    HEADER_FLOAT32 = 0x30,
    HEADER_FLOAT64 = 0x31,
    HEADER_TEXT = 0x34,
    HEADER_BLOB_VAR = 0x37,
};

static bool
width_error(const kw_site *site, const char *allowed)
{
    return kw_diagnostics_add(site->diagnostics, kw_site_mark(site, "width"), NULL,
                              "field: this encoding needs %s here", allowed);
}

/* The form for the inner encoding: without the header. */
static kw_form
inner_form(const kw_form *form)
{
    kw_form inner = *form;
    if (form->header && form->width)
        inner.width--;
    return inner;
}

static bool
prepare_inner(const kw_site *site, kw_form *form, const kw_encoding *inner)
{
    form->inner = inner;
    if (!inner->prepare(site, form))
        return false;
    if (form->header && form->width)
        form->width++;
    return true;
}

/* --- phoenix --------------------------------------------------------------------------------------- */

static bool
prepare_phoenix(const kw_site *site, kw_form *form)
{
    if (form->type == KW_FIELD_INT || form->type == KW_FIELD_TIMESTAMP)
        return prepare_inner(site, form, &kw_encoding_int);
    if (form->type == KW_FIELD_BOOL) {
        form->bias = 1;
        return prepare_inner(site, form, &kw_encoding_bool);
    }
    if (form->width != 0 && form->width != 4 && form->width != 8)
        return width_error(site, "a width of 4 (FLOAT) or 8 (DOUBLE) bytes");
    form->bias = 1;
    return prepare_inner(site, form, form->width == 4 ? &kw_encoding_float : &kw_encoding_double);
}

/* --- ordered --------------------------------------------------------------------------------------- */

static bool
prepare_ordered_number(const kw_site *site, kw_form *form)
{
    form->width = form->width ? form->width : 9;
    form->header = form->width == 2   ? HEADER_INT8
                   : form->width == 3 ? HEADER_INT16
                   : form->width == 5 ? HEADER_INT32
                   : form->width == 9 ? HEADER_INT64
                                      : 0;
    if (!form->header)
        return width_error(site, "a width of 2, 3, 5 or 9 bytes (int8, int16, int32 or int64 and a header)");
    form->width--;
    return prepare_inner(site, form, &kw_encoding_int);
}

static bool
prepare_ordered_real(const kw_site *site, kw_form *form)
{
    if (form->width != 0 && form->width != 5 && form->width != 9)
        return width_error(site, "a width of 5 or 9 bytes (float32 or float64 and a header)");
    form->header = form->width == 5 ? HEADER_FLOAT32 : HEADER_FLOAT64;
    return prepare_inner(site, form, form->width == 5 ? &kw_encoding_float : &kw_encoding_double);
}

static bool
prepare_ordered(const kw_site *site, kw_form *form)
{
    switch (form->type) {
    case KW_FIELD_INT:
    case KW_FIELD_TIMESTAMP:
        return prepare_ordered_number(site, form);
    case KW_FIELD_DOUBLE:
        return prepare_ordered_real(site, form);
    case KW_FIELD_STRING:
        form->header = HEADER_TEXT;
        return prepare_inner(site, form, &kw_encoding_terminated);
    case KW_FIELD_BYTES:
        form->header = HEADER_BLOB_VAR;
        return prepare_inner(site, form, &kw_encoding_seven);
    case KW_FIELD_BOOL:
    case KW_FIELD_MAP:
        break; /* not among the types */
    }
    g_assert_not_reached();
}

static uint8_t
header_byte(const kw_form *form)
{
    return (uint8_t)(form->descending ? ~form->header : form->header);
}

/* --- both ------------------------------------------------------------------------------------------ */

static bool
encode(const kw_form *form, kw_value value, kw_buffer *out, kw_error *ret_error)
{
    kw_form inner = inner_form(form);
    if (form->header)
        kw_buffer_append_byte(out, header_byte(form));
    return form->inner->encode(&inner, value, out, ret_error);
}

static bool
decode(const kw_form *form, kw_bytes piece, kw_arena *arena, kw_value *ret_value, kw_error *ret_error)
{
    kw_form inner = inner_form(form);
    if (form->header && piece.data[0] != header_byte(form))
        return kw_error_set(ret_error, KW_CORRUPT, "does not start with its header 0x%02X",
                            header_byte(form));
    return form->inner->decode(&inner, form->header ? kw_bytes_skip(piece, 1) : piece, arena, ret_value,
                               ret_error);
}

static size_t
measure(const kw_form *form, kw_bytes bytes)
{
    kw_form inner = inner_form(form);
    size_t size = bytes.size < 2 ? SIZE_MAX : form->inner->measure(&inner, kw_bytes_skip(bytes, 1));
    return size == SIZE_MAX ? SIZE_MAX : size + 1;
}

static bool
edge(const kw_form *form, kw_value value, bool lower, kw_arena *arena, kw_edge *ret_edge)
{
    kw_form inner = inner_form(form);
    if (!form->inner->edge(&inner, value, lower, arena, ret_edge))
        return false;
    if (form->header) {
        uint8_t *bytes = kw_arena_alloc(arena, ret_edge->bytes.size + 1);
        bytes[0] = header_byte(form);
        memcpy(bytes + 1, ret_edge->bytes.data, ret_edge->bytes.size);
        ret_edge->bytes = kw_bytes_of(bytes, ret_edge->bytes.size + 1);
    }
    return true;
}

const kw_encoding kw_encoding_phoenix = {
    .name = "phoenix",
    .types = NUMBER_TYPES | KW_TYPE_BIT(KW_FIELD_DOUBLE) | KW_TYPE_BIT(KW_FIELD_BOOL),
    .accepts_unit = true,
    .accepts_real_width = true,
    .prepare = prepare_phoenix,
    .encode = encode,
    .decode = decode,
    .measure = measure,
    .edge = edge,
};

const kw_encoding kw_encoding_ordered = {
    .name = "ordered",
    .types = NUMBER_TYPES | TEXT_TYPES | KW_TYPE_BIT(KW_FIELD_DOUBLE),
    .accepts_unit = true,
    .accepts_real_width = true,
    .prepare = prepare_ordered,
    .encode = encode,
    .decode = decode,
    .measure = measure,
    .edge = edge,
};
