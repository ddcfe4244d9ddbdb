/* A slice with clients that `thrift --gen c_glib` generated from the same IDL: one thread and one blocking
 * client per caller. These callers are slower than those of a caller_group; the ratios are similar. See
 * slice.h. */
#include "slice.h"

#include "base/thread.h"

#include "keyway_data.h"
#include "keyway_hbase_t_h_base_service.h"
#include <stdatomic.h>
#include <thrift/c_glib/protocol/thrift_binary_protocol.h>
#include <thrift/c_glib/protocol/thrift_compact_protocol.h>
#include <thrift/c_glib/transport/thrift_buffered_transport.h>
#include <thrift/c_glib/transport/thrift_framed_transport.h>
#include <thrift/c_glib/transport/thrift_socket.h>

typedef struct caller {
    kw_thread thread;
    bench_side *side;
    ThriftTransport *socket, *transport;
    ThriftProtocol *protocol;
    GObject *client;
    work what;
    unsigned number, callers;
    uint64_t from_ns, to_ns;
    kw_arena *arena;
    slice_samples samples;
    bool served;
} caller;

static void
must(bool ok, GError *error, const char *what)
{
    if (!ok)
        caller_group_fail(what, kw_bytes_of_text(error ? error->message : "was refused"));
}

static GByteArray *
byte_array(kw_bytes bytes)
{
    GByteArray *array = g_byte_array_sized_new((guint)bytes.size);
    return g_byte_array_append(array, bytes.data, (guint)bytes.size);
}

/* --- Thrift2 ---------------------------------------------------------------------------------- */

static GByteArray *
row_key(kw_arena *arena, uint64_t number)
{
    uint8_t bucket = (uint8_t)(number % BENCH_BUCKETS);
    kw_bytes id = bench_id(arena, number);
    GByteArray *key = byte_array(kw_bytes_of(&bucket, 1));
    return g_byte_array_append(key, id.data, (guint)id.size);
}

static void
direct_put(caller *of, GByteArray *table, uint64_t number)
{
    KeywayHbaseTPut *put = g_object_new(KEYWAY_HBASE_TYPE_T_PUT, NULL);
    KeywayHbaseTIOError *io = NULL;
    g_autoptr(GError) error = NULL;
    put->row = row_key(of->arena, number);
    for (unsigned i = 0; i < 3; i++) {
        KeywayHbaseTColumnValue *cell = g_object_new(KEYWAY_HBASE_TYPE_T_COLUMN_VALUE, NULL);
        cell->family = byte_array(KW_BYTES_LITERAL(BENCH_FAMILY));
        cell->qualifier = byte_array(kw_bytes_of("abc" + i, 1));
        cell->value = byte_array(bench_value(of->arena, number, of->side->generations[number] + 1, i));
        g_ptr_array_add(put->columnValues, cell);
    }
    must(keyway_hbase_t_h_base_service_client_put(KEYWAY_HBASE_T_H_BASE_SERVICE_IF(of->client), table, put,
                                                  &io, &error),
         error, "generated put");
    g_object_unref(put);
}

static void
direct_get(caller *of, GByteArray *table, uint64_t number)
{
    KeywayHbaseTGet *get = g_object_new(KEYWAY_HBASE_TYPE_T_GET, NULL);
    KeywayHbaseTResult *row = g_object_new(KEYWAY_HBASE_TYPE_T_RESULT, NULL);
    KeywayHbaseTIOError *io = NULL;
    g_autoptr(GError) error = NULL;
    get->row = row_key(of->arena, number);
    must(keyway_hbase_t_h_base_service_client_get(KEYWAY_HBASE_T_H_BASE_SERVICE_IF(of->client), &row, table,
                                                  get, &io, &error),
         error, "generated get");
    must(row->columnValues->len == 3, NULL, "generated get");
    g_object_unref(get);
    g_object_unref(row);
}

/* --- keywayd ---------------------------------------------------------------------------------- */

static void
add_text(GHashTable *record, const char *name, kw_bytes text)
{
    KeywayValue *value = g_object_new(KEYWAY_TYPE_VALUE, NULL);
    value->text = g_strndup((const char *)text.data, text.size);
    value->__isset_text = TRUE;
    g_hash_table_insert(record, (gpointer)name, value);
}

static GHashTable *
record_of(caller *of, uint64_t number, bool whole)
{
    static const char *const names[3] = {"a", "b", "c"};
    GHashTable *record = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, g_object_unref);
    add_text(record, "id", bench_id(of->arena, number));
    for (unsigned i = 0; i < 3 && whole; i++)
        add_text(record, names[i], bench_value(of->arena, number, of->side->generations[number] + 1, i));
    return record;
}

static void
gateway_put(caller *of, uint64_t number)
{
    KeywayWritten *written = g_object_new(KEYWAY_TYPE_WRITTEN, NULL);
    KeywayOptions *options = g_object_new(KEYWAY_TYPE_OPTIONS, NULL);
    KeywayKeywayError *failure = NULL;
    g_autoptr(GError) error = NULL;
    g_autoptr(GHashTable) record = record_of(of, number, true);
    must(keyway_data_client_put(KEYWAY_DATA_IF(of->client), &written, "bench", record, options, &failure,
                                &error) &&
             written->outcome == KEYWAY_OUTCOME_OK,
         error, "generated put");
    g_object_unref(options);
    g_object_unref(written);
}

static void
gateway_get(caller *of, uint64_t number)
{
    KeywayFound *found = g_object_new(KEYWAY_TYPE_FOUND, NULL);
    KeywayOptions *options = g_object_new(KEYWAY_TYPE_OPTIONS, NULL);
    KeywayKeywayError *failure = NULL;
    g_autoptr(GError) error = NULL;
    g_autoptr(GHashTable) key = record_of(of, number, false);
    g_autoptr(GPtrArray) columns = g_ptr_array_new();
    must(keyway_data_client_get(KEYWAY_DATA_IF(of->client), &found, "bench", key, columns, options, &failure,
                                &error) &&
             found->__isset_record && g_hash_table_size(found->record) == 4,
         error, "generated get");
    g_object_unref(options);
    g_object_unref(found);
}

/* --- a caller --------------------------------------------------------------------------------- */

static void
call_loop(void *user)
{
    caller *of = user;
    bool direct = of->side->way != &way_gateway;
    uint64_t rows = of->side->rows / of->callers;
    g_autoptr(GByteArray) table = byte_array(KW_BYTES_LITERAL("kw_bench_direct"));
    for (uint64_t start = kw_clock_mono_ns(); start < of->to_ns || !of->served; start = kw_clock_mono_ns()) {
        uint64_t number = of->number + of->callers * (kw_random_u64() % rows);
        kw_arena_reset(of->arena);
        if (of->what == WORK_PUT)
            direct ? direct_put(of, table, number) : gateway_put(of, number);
        else
            direct ? direct_get(of, table, number) : gateway_get(of, number);
        uint64_t end = kw_clock_mono_ns();
        if (of->what == WORK_PUT)
            of->side->generations[number]++; /* only this caller writes the row */
        of->served = true;
        if (end >= of->from_ns && end < of->to_ns)
            slice_samples_add(&of->samples, end - start);
    }
}

static void
caller_open(caller *of, bench_side *side)
{
    const group_server *where = &side->place;
    bool framed = where->form.framed, compact = where->form.protocol == KW_WIRE_COMPACT;
    g_autoptr(GError) error = NULL;
    of->side = side;
    of->arena = kw_arena_new();
    of->socket = g_object_new(THRIFT_TYPE_SOCKET, "hostname", "127.0.0.1", "port", where->port, NULL);
    of->transport = g_object_new(framed ? THRIFT_TYPE_FRAMED_TRANSPORT : THRIFT_TYPE_BUFFERED_TRANSPORT,
                                 "transport", of->socket, NULL);
    of->protocol = g_object_new(compact ? THRIFT_TYPE_COMPACT_PROTOCOL : THRIFT_TYPE_BINARY_PROTOCOL,
                                "transport", of->transport, NULL);
    must(thrift_transport_open(of->transport, &error), error, where->name);
    of->client = g_object_new(side->way == &way_gateway ? KEYWAY_TYPE_DATA_CLIENT
                                                        : KEYWAY_HBASE_TYPE_T_H_BASE_SERVICE_CLIENT,
                              "input_protocol", of->protocol, "output_protocol", of->protocol, NULL);
}

static void
caller_close(caller *of)
{
    thrift_transport_close(of->transport, NULL);
    g_object_unref(of->client);
    g_object_unref(of->protocol);
    g_object_unref(of->transport);
    g_object_unref(of->socket);
    kw_arena_free(of->arena);
    slice_samples_clear(&of->samples);
}

slice_result
slice_run_generated(bench_side *side, work what, unsigned callers, int ms)
{
    g_autofree caller *all = g_new0(caller, callers);
    slice_result result = {.callers = callers, .connected = callers};
    slice_samples samples = {0};
    for (unsigned i = 0; i < callers; i++)
        caller_open(&all[i], side);
    uint64_t now = kw_clock_mono_ns(), from = now + (uint64_t)ms * 200000, to = now + (uint64_t)ms * 1000000;
    for (unsigned i = 0; i < callers; i++) {
        all[i].what = what;
        all[i].number = i;
        all[i].callers = callers;
        all[i].from_ns = from;
        all[i].to_ns = to;
        kw_thread_start(&all[i].thread, "caller", call_loop, &all[i]);
    }
    for (unsigned i = 0; i < callers; i++) {
        kw_thread_join(&all[i].thread);
        result.served += all[i].served;
        for (size_t j = 0; j < all[i].samples.count; j++)
            slice_samples_add(&samples, all[i].samples.ns[j]);
        caller_close(&all[i]);
    }
    result.calls = samples.count;
    result.per_second = (double)samples.count * 1e9 / (double)(to - from);
    slice_samples_summarize(&samples, &result);
    slice_samples_clear(&samples);
    return result;
}
