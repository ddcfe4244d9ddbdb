/* See frames.h. The keys are found by going backward from the end of the message: only the stop byte of the
 * argument list follows them. Each key is preceded by its length (four bytes, or a varint). */
#include "store/hbase/thrift2/frames.h"

#include <glib.h>

#define FRAME_HEADER 4

const kw_hb_THBaseService_createTable_args *
kw_hbase_frames_args(const kw_hb_THBaseService_createTable_args *args, kw_arena *arena)
{
    kw_hb_THBaseService_createTable_args *framed = KW_ARENA_NEW(arena, kw_hb_THBaseService_createTable_args);
    kw_hb_TTableDescriptor *table = KW_ARENA_NEW(arena, kw_hb_TTableDescriptor);
    *framed = *args;
    *table = *args->desc;
    framed->desc = table;
    table->columns.items = KW_ARENA_ARRAY(arena, kw_hb_TColumnFamilyDescriptor, table->columns.count);
    for (uint32_t i = 0; i < table->columns.count; i++) {
        table->columns.items[i] = args->desc->columns.items[i];
        table->columns.items[i].has_attributes = false;
    }
    return framed;
}

static size_t
length_bytes(kw_wire_protocol protocol, size_t size)
{
    if (protocol == KW_WIRE_BINARY)
        return 4;
    size_t bytes = 1;
    for (; size > 0x7f; size >>= 7)
        bytes++;
    return bytes;
}

static void
append_frame(kw_buffer *out, kw_bytes piece)
{
    kw_be32_store(kw_buffer_reserve(out, FRAME_HEADER), (uint32_t)piece.size);
    out->size += FRAME_HEADER;
    kw_buffer_append(out, piece);
}

void
kw_hbase_frames_cut(kw_buffer *out, size_t mark, kw_wire_protocol protocol, const kw_bytes *keys,
                    size_t count)
{
    g_assert(count > 0 && out->size > mark + FRAME_HEADER);
    size_t size = out->size - mark - FRAME_HEADER;
    g_autofree uint8_t *payload = g_memdup2(out->data + mark + FRAME_HEADER, size);
    g_autofree size_t *cuts = g_new(size_t, count);
    size_t end = size - 1; /* the stop byte */
    for (size_t i = count; i-- > 0;) {
        g_assert(keys[i].size && end > keys[i].size + FRAME_HEADER);
        g_assert(memcmp(payload + end - keys[i].size, keys[i].data, keys[i].size) == 0);
        cuts[i] = end - 1;
        end -= keys[i].size + length_bytes(protocol, keys[i].size);
    }
    out->size = mark;
    size_t from = 0;
    for (size_t i = 0; i < count; from = cuts[i++])
        append_frame(out, kw_bytes_of(payload + from, cuts[i] - from));
    append_frame(out, kw_bytes_of(payload + from, size - from));
}
