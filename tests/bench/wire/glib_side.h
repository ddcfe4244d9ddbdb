/* The reference: rows through the code that `thrift --gen c_glib` generates, on its standard memory buffer.
 */
#pragma once

#include "wire/wire.h"

typedef struct glib_side glib_side;

/* Rows of `cells` cells of value_bytes each. */
glib_side *glib_side_new(kw_wire_protocol protocol, unsigned cells, unsigned value_bytes);
void glib_side_free(glib_side *side);

/* Encodes one row into an empty buffer / decodes one row from a buffer that was just filled with `encoded`.
 */
void glib_side_encode(glib_side *side);
void glib_side_decode(glib_side *side);

/* The bytes of the last encoded row. */
kw_bytes glib_side_bytes(const glib_side *side);
