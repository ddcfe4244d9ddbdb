/* Random values through the codec and back, with generated Thrift C GLib code: drive_glib PIPE SEED
 * ROUNDS. Generated objects cannot be compared, so the result is encoded again and must be
 * the same bytes as the value that was sent; maps have one entry, since a hash table has no order.
 */
#include "keyway_hbase_hbase2_types.h"
#include "keyway_keyway_types.h"
#include <thrift/c_glib/protocol/thrift_binary_protocol.h>
#include <thrift/c_glib/protocol/thrift_compact_protocol.h>
#include <thrift/c_glib/transport/thrift_memory_buffer.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static GRand *rand_state;
static FILE *to_pipe;
static FILE *from_pipe;

/* --- random values ---------------------------------------------------------------------------- */

static gboolean
chance(double share)
{
    return g_rand_double(rand_state) < share;
}

static gint64
number(void)
{
    static const gint64 special[] = {0,   1,          -1,         63,         64,        -64,
                                     -65, G_MAXINT32, G_MININT32, G_MAXINT64, G_MININT64};
    if (chance(0.3))
        return special[g_rand_int_range(rand_state, 0, G_N_ELEMENTS(special))];
    return (gint64)((guint64)g_rand_int(rand_state) << 32 | g_rand_int(rand_state));
}

static gchar *
text(void)
{
    static const gchar *const letters[] = {"a", "b", "z", "0", " ", "ä", "ß", "水", "😀"};
    GString *made = g_string_new("");
    for (gint32 left = g_rand_int_range(rand_state, 0, 20); left > 0; left--)
        g_string_append(made, letters[g_rand_int_range(rand_state, 0, G_N_ELEMENTS(letters))]);
    return g_string_free(made, FALSE);
}

static GByteArray *
blob(void)
{
    static const guint sizes[] = {0, 1, 5, 16, 17, 100, 300};
    GByteArray *made = g_byte_array_new();
    g_byte_array_set_size(made, sizes[g_rand_int_range(rand_state, 0, G_N_ELEMENTS(sizes))]);
    for (guint index = 0; index < made->len; index++)
        made->data[index] = (guint8)g_rand_int(rand_state);
    return made;
}

static gint32
count(void)
{
    static const gint32 counts[] = {0, 1, 2, 3, 15, 16};
    return counts[g_rand_int_range(rand_state, 0, G_N_ELEMENTS(counts))];
}

static void
set_bytes(GByteArray **member)
{
    if (*member)
        g_byte_array_unref(*member);
    *member = blob();
}

static KeywayValue *
value(void)
{
    KeywayValue *made = g_object_new(KEYWAY_TYPE_VALUE, NULL);
    switch (g_rand_int_range(rand_state, 0, 5)) {
    case 0:
        made->flag = chance(0.5);
        made->__isset_flag = TRUE;
        break;
    case 1:
        made->number = number();
        made->__isset_number = TRUE;
        break;
    case 2:
        made->real = g_rand_double_range(rand_state, -1e9, 1e9);
        made->__isset_real = TRUE;
        break;
    case 3:
        made->text = text();
        made->__isset_text = TRUE;
        break;
    default:
        set_bytes(&made->bytes);
        made->__isset_bytes = TRUE;
        break;
    }
    return made;
}

static GHashTable *
record(void)
{
    GHashTable *made = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_object_unref);
    if (chance(0.7))
        g_hash_table_insert(made, text(), value());
    return made;
}

static KeywayRange *
range(void)
{
    KeywayRange *made = g_object_new(KEYWAY_TYPE_RANGE, NULL);
    made->field = text();
    g_clear_object(&made->from_value);
    made->from_value = value();
    made->__isset_from_value = TRUE;
    made->to_inclusive = chance(0.5);
    made->__isset_to_inclusive = TRUE;
    return made;
}

static ThriftStruct *
query(void)
{
    KeywayQuery *made = g_object_new(KEYWAY_TYPE_QUERY, NULL);
    made->table = text();
    if ((made->__isset_bound = chance(0.6))) {
        g_hash_table_unref(made->bound);
        made->bound = record();
    }
    if ((made->__isset_bound_any = chance(0.6))) {
        GPtrArray *values = g_ptr_array_new_with_free_func(g_object_unref);
        for (gint32 left = count(); left > 0; left--)
            g_ptr_array_add(values, value());
        g_hash_table_insert(made->bound_any, text(), values);
    }
    if ((made->__isset_range = chance(0.6))) {
        g_clear_object(&made->range);
        made->range = range();
    }
    if ((made->__isset_columns = chance(0.6))) {
        for (gint32 left = count(); left > 0; left--)
            g_ptr_array_add(made->columns, text());
    }
    if ((made->__isset_limit = chance(0.6)))
        made->limit = number();
    if ((made->__isset_page_rows = chance(0.6)))
        made->page_rows = (gint32)number();
    if ((made->__isset_full_scan = chance(0.6)))
        made->full_scan = chance(0.5);
    if ((made->__isset_skip_undecodable = chance(0.6)))
        made->skip_undecodable = chance(0.5);
    return THRIFT_STRUCT(made);
}

static ThriftStruct *
page(void)
{
    KeywayPage *made = g_object_new(KEYWAY_TYPE_PAGE, NULL);
    for (gint32 left = count(); left > 0; left--)
        g_ptr_array_add(made->rows, record());
    if ((made->__isset_cursor = chance(0.6)))
        set_bytes(&made->cursor);
    made->rows_scanned = number();
    made->rows_returned = number();
    if ((made->__isset_undecodable = chance(0.6)))
        made->undecodable = number();
    return THRIFT_STRUCT(made);
}

static void
add_cells(GPtrArray *cells)
{
    for (gint32 left = count(); left > 0; left--) {
        KeywayHbaseTColumnValue *cell = g_object_new(KEYWAY_HBASE_TYPE_T_COLUMN_VALUE, NULL);
        set_bytes(&cell->family);
        set_bytes(&cell->qualifier);
        set_bytes(&cell->value);
        if ((cell->__isset_timestamp = chance(0.6)))
            cell->timestamp = number();
        if ((cell->__isset_tags = chance(0.3)))
            set_bytes(&cell->tags);
        if ((cell->__isset_type = chance(0.3)))
            cell->type = (gint8)number();
        g_ptr_array_add(cells, cell);
    }
}

static ThriftStruct *
put(void)
{
    KeywayHbaseTPut *made = g_object_new(KEYWAY_HBASE_TYPE_T_PUT, NULL);
    set_bytes(&made->row);
    add_cells(made->columnValues);
    if ((made->__isset_timestamp = chance(0.6)))
        made->timestamp = number();
    if ((made->__isset_attributes = chance(0.6)))
        g_hash_table_insert(made->attributes, blob(), blob());
    if ((made->__isset_durability = chance(0.6)))
        made->durability = KEYWAY_HBASE_T_DURABILITY_ASYNC_WAL;
    return THRIFT_STRUCT(made);
}

static ThriftStruct *
result(void)
{
    KeywayHbaseTResult *made = g_object_new(KEYWAY_HBASE_TYPE_T_RESULT, NULL);
    if ((made->__isset_row = chance(0.6)))
        set_bytes(&made->row);
    add_cells(made->columnValues);
    if ((made->__isset_stale = chance(0.6)))
        made->stale = chance(0.5);
    return THRIFT_STRUCT(made);
}

/* --- there and back --------------------------------------------------------------------------- */

static ThriftProtocol *
protocol_new(int protocol, ThriftMemoryBuffer *buffer)
{
    GType type = protocol ? THRIFT_TYPE_COMPACT_PROTOCOL : THRIFT_TYPE_BINARY_PROTOCOL;
    return g_object_new(type, "transport", buffer, NULL);
}

static GByteArray *
encode(ThriftStruct *made, int protocol)
{
    g_autoptr(GError) error = NULL;
    ThriftMemoryBuffer *buffer = g_object_new(THRIFT_TYPE_MEMORY_BUFFER, NULL);
    ThriftProtocol *out = protocol_new(protocol, buffer);
    if (thrift_struct_write(made, out, &error) < 0)
        g_error("cannot write: %s", error ? error->message : "?");
    GByteArray *bytes = g_byte_array_ref(buffer->buf);
    g_object_unref(out);
    g_object_unref(buffer);
    return bytes;
}

static ThriftStruct *
decode(GType type, const guint8 *bytes, guint size, int protocol)
{
    g_autoptr(GError) error = NULL;
    ThriftMemoryBuffer *buffer = g_object_new(THRIFT_TYPE_MEMORY_BUFFER, NULL);
    g_byte_array_append(buffer->buf, bytes, size);
    ThriftProtocol *in = protocol_new(protocol, buffer);
    ThriftStruct *made = g_object_new(type, NULL);
    if (thrift_struct_read(made, in, &error) < 0)
        g_error("cannot read: %s", error ? error->message : "?");
    if (buffer->buf->len != 0)
        g_error("%u bytes are left after the value", buffer->buf->len);
    g_object_unref(in);
    g_object_unref(buffer);
    return made;
}

static GByteArray *
through(guint8 table, int from, int to, const GByteArray *bytes)
{
    guint32 size = GUINT32_TO_BE(bytes->len);
    guint8 head[7] = {table, (guint8)from, (guint8)to};
    memcpy(head + 3, &size, sizeof size);
    if (fwrite(head, sizeof head, 1, to_pipe) != 1 ||
        fwrite(bytes->data, 1, bytes->len, to_pipe) != bytes->len || fflush(to_pipe) != 0)
        g_error("the codec does not read");
    guint8 answer[5];
    if (fread(answer, sizeof answer, 1, from_pipe) != 1)
        g_error("the codec does not answer");
    memcpy(&size, answer + 1, sizeof size);
    GByteArray *body = g_byte_array_new();
    g_byte_array_set_size(body, GUINT32_FROM_BE(size));
    if (fread(body->data, 1, body->len, from_pipe) != body->len)
        g_error("the codec's answer ends too early");
    if (answer[0] != 0)
        g_error("the codec refused: %.*s", (int)body->len, (const char *)body->data);
    return body;
}

static void
round_trip(guint8 table, ThriftStruct *made, int from, int to)
{
    GByteArray *sent = encode(made, from);
    GByteArray *received = through(table, from, to, sent);
    ThriftStruct *back = decode(G_OBJECT_TYPE(made), received->data, received->len, to);
    GByteArray *again = encode(back, from);
    if (again->len != sent->len || memcmp(again->data, sent->data, sent->len) != 0)
        g_error("a value of table %u came back different (%d to %d)", table, from, to);
    g_object_unref(back);
    g_byte_array_unref(sent);
    g_byte_array_unref(received);
    g_byte_array_unref(again);
}

static void
start_pipe(char *program)
{
    char *arguments[] = {program, NULL};
    int in, out;
    g_autoptr(GError) error = NULL;
    if (!g_spawn_async_with_pipes(NULL, arguments, NULL, G_SPAWN_DEFAULT, NULL, NULL, NULL, &in, &out, NULL,
                                  &error))
        g_error("%s", error->message);
    to_pipe = fdopen(in, "wb");
    from_pipe = fdopen(out, "rb");
}

int
main(int argc, char **argv)
{
    static ThriftStruct *(*const makers[])(void) = {query, page, put, result};
    if (argc != 4)
        return 2;
    rand_state = g_rand_new_with_seed((guint32)strtoul(argv[2], NULL, 10));
    start_pipe(argv[1]);
    unsigned trips = 0;
    for (unsigned long left = strtoul(argv[3], NULL, 10); left > 0; left--) {
        for (guint8 table = 0; table < G_N_ELEMENTS(makers); table++) {
            ThriftStruct *made = makers[table]();
            for (int trip = 0; trip < 4; trip++, trips++)
                round_trip(table, made, trip / 2, trip % 2);
            g_object_unref(made);
        }
    }
    fclose(to_pipe);
    fclose(from_pipe);
    g_rand_free(rand_state);
    printf("%u round trips\n", trips);
    return 0;
}
