/* Encodes the seeds of the codec's fuzz targets: wire_seeds FOLDER. They are the same in every run. */
#include "fuzz/fuzz_wire.h"

#include "thrift/keyway_wire.h"
#include "unit/wire/value.h"

#include <stdio.h>
#include <stdlib.h>

#define VALUES_PER_TABLE 3

static const char *folder;
static unsigned written;

static void
write_seed(const char *target, kw_buffer *out)
{
    g_autofree char *path = g_strdup_printf("%s/%s/%03u", folder, target, written++);
    g_autoptr(GError) error = NULL;
    if (!g_file_set_contents(path, (const char *)out->data, (gssize)out->size, &error)) {
        fprintf(stderr, "%s\n", error->message);
        exit(1);
    }
    kw_buffer_clear(out);
}

static void
decode_seeds(test_random *random, kw_wire_protocol protocol)
{
    for (unsigned index = 0; index < FUZZ_TABLES * VALUES_PER_TABLE; index++) {
        const kw_wire_struct *table = fuzz_tables[index % FUZZ_TABLES];
        g_autoptr(kw_arena) arena = kw_arena_new();
        void *value = kw_arena_alloc0(arena, table->size);
        test_value_fill(table, random, 1 + index / FUZZ_TABLES, arena, value);
        kw_buffer out = KW_BUFFER_EMPTY;
        kw_buffer_append_byte(&out, fuzz_choice(protocol, index % FUZZ_TABLES));
        kw_wire_struct_encode(&out, protocol, table, value);
        if (out.size > 4000)
            kw_buffer_clear(&out); /* small seeds are mutated more effectively */
        else
            write_seed("wire_decode", &out);
    }
}

static void
stream_seed(test_random *random, kw_wire_form form)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    kw_buffer out = KW_BUFFER_EMPTY;
    kw_buffer_append_byte(&out, (uint8_t)test_random_below(random, 64));
    for (unsigned message = 0; message < 3; message++) {
        kw_api_Data_put_args args;
        test_value_fill(&kw_api_Data_put_args_wire, random, 2, arena, &args);
        size_t mark = kw_wire_frame_begin(&out, form);
        kw_wire_message_encode(&out, form.protocol, KW_BYTES_LITERAL("put"), KW_WIRE_CALL, (int32_t)message);
        kw_wire_struct_encode(&out, form.protocol, &kw_api_Data_put_args_wire, &args);
        kw_wire_frame_end(&out, form, mark);
    }
    write_seed("wire_reader", &out);
}

static void
message_seeds(kw_wire_protocol protocol)
{
    kw_buffer out = KW_BUFFER_EMPTY;
    kw_wire_message_encode(&out, protocol, KW_BYTES_LITERAL("putMany"), KW_WIRE_CALL, 300);
    kw_buffer_append_byte(&out, 0);
    write_seed("wire_message", &out);
    kw_wire_exception_encode(&out, protocol, KW_WIRE_EXCEPTION_UNKNOWN_METHOD, "no such method");
    write_seed("wire_message", &out);
}

int
main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    folder = argv[1];
    test_random random = {42};
    for (int protocol = KW_WIRE_BINARY; protocol <= KW_WIRE_COMPACT; protocol++) {
        decode_seeds(&random, (kw_wire_protocol)protocol);
        message_seeds((kw_wire_protocol)protocol);
        for (int round = 0; round < 3; round++) {
            stream_seed(&random, (kw_wire_form){(kw_wire_protocol)protocol, false});
            stream_seed(&random, (kw_wire_form){(kw_wire_protocol)protocol, true});
        }
    }
    return 0;
}
