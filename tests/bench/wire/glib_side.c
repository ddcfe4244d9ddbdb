/* Thrift C GLib as its documentation shows it: a protocol on a memory buffer, and a new object for every row.
 * Filling the buffer takes as long as copying from a socket. */
#include "glib_side.h"

#include "keyway_hbase_hbase2_types.h"
#include <thrift/c_glib/protocol/thrift_binary_protocol.h>
#include <thrift/c_glib/protocol/thrift_compact_protocol.h>
#include <thrift/c_glib/transport/thrift_memory_buffer.h>

struct glib_side {
    ThriftMemoryBuffer *buffer;
    ThriftProtocol *protocol;
    KeywayHbaseTResult *row;
    GByteArray *encoded;
};

static GByteArray *
byte_array(const char *text, unsigned size)
{
    GByteArray *array = g_byte_array_new();
    g_byte_array_append(array, (const guint8 *)text, size);
    return array;
}

static KeywayHbaseTResult *
row_new(unsigned cells, unsigned value_bytes)
{
    g_autofree char *value = g_strnfill(value_bytes, 'v');
    KeywayHbaseTResult *row = g_object_new(KEYWAY_HBASE_TYPE_T_RESULT, NULL);
    row->row = byte_array("0123456789abcdef", 16);
    row->__isset_row = TRUE;
    for (unsigned index = 0; index < cells; index++) {
        KeywayHbaseTColumnValue *cell = g_object_new(KEYWAY_HBASE_TYPE_T_COLUMN_VALUE, NULL);
        cell->family = byte_array("d", 1);
        cell->qualifier = byte_array("column", 6);
        cell->value = byte_array(value, value_bytes);
        cell->timestamp = 1700000000000;
        cell->__isset_timestamp = TRUE;
        g_ptr_array_add(row->columnValues, cell);
    }
    return row;
}

glib_side *
glib_side_new(kw_wire_protocol protocol, unsigned cells, unsigned value_bytes)
{
    glib_side *side = g_new0(glib_side, 1);
    GType type = protocol == KW_WIRE_BINARY ? THRIFT_TYPE_BINARY_PROTOCOL : THRIFT_TYPE_COMPACT_PROTOCOL;
    side->buffer = g_object_new(THRIFT_TYPE_MEMORY_BUFFER, NULL);
    side->protocol = g_object_new(type, "transport", side->buffer, NULL);
    side->row = row_new(cells, value_bytes);
    side->encoded = g_byte_array_new();
    glib_side_encode(side);
    return side;
}

void
glib_side_free(glib_side *side)
{
    g_object_unref(side->row);
    g_object_unref(side->protocol);
    g_object_unref(side->buffer);
    g_byte_array_unref(side->encoded);
    g_free(side);
}

void
glib_side_encode(glib_side *side)
{
    g_byte_array_set_size(side->buffer->buf, 0);
    if (thrift_struct_write(THRIFT_STRUCT(side->row), side->protocol, NULL) < 0)
        g_error("Thrift C GLib cannot write a row");
    if (side->encoded->len == 0)
        g_byte_array_append(side->encoded, side->buffer->buf->data, side->buffer->buf->len);
}

void
glib_side_decode(glib_side *side)
{
    g_byte_array_set_size(side->buffer->buf, 0);
    g_byte_array_append(side->buffer->buf, side->encoded->data, side->encoded->len);
    KeywayHbaseTResult *row = g_object_new(KEYWAY_HBASE_TYPE_T_RESULT, NULL);
    if (thrift_struct_read(THRIFT_STRUCT(row), side->protocol, NULL) < 0)
        g_error("Thrift C GLib cannot read a row");
    g_object_unref(row);
}

kw_bytes
glib_side_bytes(const glib_side *side)
{
    return kw_bytes_of(side->encoded->data, side->encoded->len);
}
