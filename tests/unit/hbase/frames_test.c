/* Tests that a createTable message is cut into frames: without the frame headers the bytes are the same, and
 * no frame contains a whole key. */
#include "store/hbase/thrift2/frames.h"

#include "support/seeded.h"
#include "thrift/hbase2_wire.h"

#include <glib.h>

#define KEYS 40

static void
encode(kw_buffer *out, kw_wire_form form, kw_bytes *keys, uint32_t count)
{
    kw_hb_TTableName name = {.qualifier = KW_BYTES_LITERAL("t")};
    kw_hb_TTableDescriptor table = {.tableName = &name};
    kw_hb_THBaseService_createTable_args args = {.desc = &table, .has_splitKeys = true};
    args.splitKeys.items = keys;
    args.splitKeys.count = count;
    size_t mark = kw_wire_frame_begin(out, form);
    kw_wire_message_encode(out, form.protocol, KW_BYTES_LITERAL("createTable"), KW_WIRE_CALL, 1);
    kw_wire_struct_encode(out, form.protocol, &kw_hb_THBaseService_createTable_args_wire, &args);
    kw_wire_frame_end(out, form, mark);
}

/* Removes the frame headers; ends[] are the positions in the stream where frames end. */
static size_t
join(kw_bytes frames, kw_buffer *ret_stream, size_t *ends)
{
    size_t count = 0;
    while (frames.size) {
        uint32_t size = kw_be32_load(frames.data);
        g_assert_cmpuint(size, >, 0);
        g_assert_cmpuint(size + 4, <=, frames.size);
        kw_buffer_append(ret_stream, kw_bytes_of(frames.data + 4, size));
        frames = kw_bytes_skip(frames, size + 4);
        ends[count++] = ret_stream->size;
    }
    return count;
}

static void
check(kw_wire_protocol protocol, kw_bytes *keys, uint32_t count)
{
    kw_wire_form form = {protocol, true};
    kw_buffer whole = KW_BUFFER_EMPTY, cut = KW_BUFFER_EMPTY, stream = KW_BUFFER_EMPTY;
    size_t ends[KEYS + 1], mark = 5;
    kw_buffer_append_text(&cut, "other"); /* bytes already in the buffer stay */
    encode(&whole, form, keys, count);
    encode(&cut, form, keys, count);
    kw_hbase_frames_cut(&cut, mark, protocol, keys, count);
    g_assert_true(kw_bytes_equal(kw_bytes_of(cut.data, mark), KW_BYTES_LITERAL("other")));
    size_t frames = join(kw_bytes_skip(kw_buffer_bytes(&cut), mark), &stream, ends);
    g_assert_cmpuint(frames, ==, count + 1);
    g_assert_true(kw_bytes_equal(kw_buffer_bytes(&stream), kw_bytes_skip(kw_buffer_bytes(&whole), 4)));
    for (uint32_t i = 0; i < count; i++)
        g_assert_cmpuint(stream.data[ends[i]], ==, keys[i].data[keys[i].size - 1]);
    kw_buffer_clear(&whole);
    kw_buffer_clear(&cut);
    kw_buffer_clear(&stream);
}

static void
test_cut(void)
{
    guint32 seed = (guint32)g_test_rand_int();
    g_test_message("seed %u", seed);
    g_autoptr(GRand) random = g_rand_new_with_seed(seed);
    static uint8_t bytes[KEYS][20000];
    static const int sizes[] = {1, 2, 3, 127, 128, 300, 16383, 16384, 20000};
    for (int round = 0; round < 200; round++) {
        kw_bytes keys[KEYS];
        uint32_t count = (uint32_t)g_rand_int_range(random, 1, KEYS);
        for (uint32_t i = 0; i < count; i++) {
            size_t size = (size_t)sizes[g_rand_int_range(random, 0, G_N_ELEMENTS(sizes))];
            for (size_t k = 0; k < size; k++)
                bytes[i][k] = (uint8_t)g_rand_int_range(random, 0, 3);
            keys[i] = kw_bytes_of(bytes[i], size);
        }
        check(KW_WIRE_BINARY, keys, count);
        check(KW_WIRE_COMPACT, keys, count);
    }
}

int
main(int argc, char **argv)
{
    seeded_init(&argc, &argv);
    g_test_add_func("/hbase/frames/cut", test_cut);
    return g_test_run();
}
